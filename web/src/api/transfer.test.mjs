// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { batchFailures } from './blob.js';
import { StorageError } from './client.js';
import { blockId, piecesOf, Transfers } from './transfer.js';

test('pieces cover the whole, and there are never more than 50,000', () => {
    for (const size of [0, 1, 100, 101, 10 ** 9, 10 ** 13]) {
        const pieces = piecesOf(size, 100 + (size > 10 ** 8 ? 4 << 20 : 0));
        assert.equal(pieces.reduce((sum, piece) => sum + piece.size, 0), size);
        assert.ok(pieces.length <= 50000);
    }
    assert.equal(new Set([0, 9, 10, 49999].map((index) => blockId(index).length)).size, 1);
});

test('a paused transfer stops and goes on; a cancelled one ends', async () => {
    const transfers = new Transfers();
    const seen = [];
    const item = transfers.add({ what: 'x', size: 40 });
    transfers.pause(item);
    const running = transfers.finish(item, () => transfers.run(item, piecesOf(40, 10), async (piece) => { seen.push(piece.index); }));
    await new Promise((go) => setImmediate(go));
    assert.deepEqual(seen, []);
    transfers.resume(item);
    assert.equal(await running, true);
    assert.deepEqual(seen, [0, 1, 2, 3]);
    assert.equal(item.done, 40);
    const other = transfers.add({ what: 'y', size: 10 });
    transfers.pause(other);
    const ended = transfers.finish(other, () => transfers.run(other, piecesOf(10, 10), async () => { throw new Error('must not run'); }));
    transfers.cancel(other);
    assert.equal(await ended, false);
    assert.equal(other.state, 'cancelled');
});

test('passing faults are tried again, refusals are not', async () => {
    const transfers = new Transfers();
    let tries = 0;
    const item = transfers.add({ what: 'x', size: 1 });
    assert.equal(await transfers.again(item, async () => { if (++tries < 2) throw new StorageError(503, 'ServerBusy', ''); return 7; }), 7);
    tries = 0;
    await assert.rejects(transfers.again(item, async () => { tries++; throw new StorageError(412, 'ConditionNotMet', ''); }), { code: 'ConditionNotMet' });
    assert.equal(tries, 1);
});

test('an append goes piece by piece', async () => {
    const transfers = new Transfers();
    let under = 0;
    let most = 0;
    const item = transfers.add({ what: 'x', size: 50 });
    await transfers.run(item, piecesOf(50, 10), async () => { most = Math.max(most, ++under); await new Promise((go) => setImmediate(go)); under--; }, 1);
    assert.equal(most, 1);
});

test('refused parts of a batch are found by their id', () => {
    const text = '--batchresponse_1\r\nContent-Type: application/http\r\nContent-ID: 0\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n\r\n--batchresponse_1\r\nContent-Type: application/http\r\nContent-ID: 1\r\n\r\nHTTP/1.1 412 x\r\nx-ms-error-code: ConditionNotMet\r\n\r\n\r\n--batchresponse_1--';
    assert.deepEqual(batchFailures(text, [{ blob: 'a' }, { blob: 'b' }]), [{ blob: 'b', status: 412, code: 'ConditionNotMet' }]);
});
