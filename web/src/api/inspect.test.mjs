// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { perSecond, resourceOf, whyOf } from './inspect.js';

const maker = { operation: 'PutBlob', userAgent: 'azsdk-js/12 node', address: '127.0.0.1', time: '2026-01-01T00:00:00.000Z', current: true };

test('a failed condition is told with what was met and who made it so', () => {
    const said = whyOf({ check: 'If-Match', sent: '"0xA"', met: { exists: true, etag: '"0xB"' }, madeBy: maker, time: '2026-01-01T00:00:00.004Z' }).join(' ');
    assert.equal(said, 'If-Match "0xA" was asked for. The ETag was "0xB". Made so by: PutBlob by azsdk-js/12 from 127.0.0.1, 4 ms before.');
    assert.match(whyOf({ met: { exists: false } }).join(), /nothing of that name/);
});

test('a lease is told with its state and time left', () => {
    assert.equal(whyOf({ met: { lease: 'leased', leaseSecondsLeft: 12, leaseId: 'missing' } })[0], 'It is leased, 12 s left; no lease id was sent.');
});

test('resources and rates', () => {
    assert.equal(resourceOf({ container: 'c', object: 'a/b' }), 'c/a/b');
    assert.equal(resourceOf({ container: 'c' }), 'c');
    const [times, counts] = perSecond([{ time: '2026-01-01T00:00:09.5Z' }, { time: '2026-01-01T00:00:09.9Z' }, { time: '2025-01-01T00:00:00Z' }], 5, Date.parse('2026-01-01T00:00:10Z'));
    assert.equal(times.length, 5);
    assert.deepEqual(counts, [0, 0, 0, 2, 0]);
});
