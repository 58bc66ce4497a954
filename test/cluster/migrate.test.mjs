// SPDX-License-Identifier: Apache-2.0
// `lazuli migrate` from a folder to the cluster and back: everything visible is unchanged, even if the command is killed in
// the middle.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BIN, startServer } from '../rest/lib.mjs';
import { checkLease, dump, fill } from '../rest/migrate_lib.mjs';
import { FULL, newStore, startGateways, stopGateways, theCluster, untilRows } from './lib.mjs';

const LARGE = FULL ? 64 : 12;
const folder = mkdtempSync(join(tmpdir(), 'lazuli-migrate-'));
let cluster;
let source;
let expected;

before(async () => {
    cluster = await theCluster();
    source = await startServer({ args: ['--silent'] });
    await fill(source, LARGE);
    expected = await dump(source);
    await source.endWell();
});
after(async () => {
    await source?.stop();
    await cluster?.down();
    rmSync(folder, { recursive: true, force: true });
});

/** Runs it, and kills it again and again, each time a little later, until it ends by itself. */
async function migrate(kills, ...words) {
    let killed = 0;
    for (let ms = 200; ; ms += 300) {
        const child = spawn(BIN, ['migrate', ...words], { stdio: ['ignore', 'ignore', 'pipe'] });
        let said = '';
        child.stderr.setEncoding('utf8').on('data', (text) => { said += text; });
        const timer = killed < kills ? setTimeout(() => child.kill('SIGKILL'), ms) : undefined;
        const [status] = await once(child, 'close');
        clearTimeout(timer);
        if (status === null) {
            killed++;
            continue;
        }
        // The kill before may have come when all was done and only the exit was left.
        assert.ok(status === 0 || (killed > 0 && /the destination is not empty/.test(said)), said);
        return killed;
    }
}

test('a store goes to the cluster and back, killed on the way', async () => {
    const store = newStore(cluster);
    await migrate(4, '--from', source.data, '--to', 'cluster', ...store.flags);
    const gateways = await startGateways(store, 2);
    try {
        for (const gateway of gateways)
            assert.equal(await dump(gateway), expected);
    } finally {
        await stopGateways(gateways);
    }
    const back = join(folder, 'back');
    await migrate(3, '--from', 'cluster', '--to', back, ...store.flags);
    const checked = spawnSync(BIN, ['check', back], { encoding: 'utf8' });
    assert.equal(checked.status, 0, checked.stdout);
    source.data = back;
    await source.start();
    assert.equal(await dump(source), expected);
    await checkLease(source);
    await source.endWell();
});

test('a half store in the cluster is not served', async () => {
    const store = newStore(cluster);
    const child = spawn(BIN, ['migrate', '--from', source.data, '--to', 'cluster', ...store.flags], { stdio: 'ignore' });
    const ended = once(child, 'exit');
    await untilRows(store);
    child.kill('SIGKILL');
    assert.deepEqual(await ended, [null, 'SIGKILL']);
    const serving = spawnSync(BIN, ['--engine', 'cluster', ...store.flags, '--silent', '--smb-port', 'off', '--admin-port', 'off', '--dfs-port', 'off',
        ...['blob', 'queue', 'table', 'file'].flatMap((s) => [`--${s}-port`, '0'])], { encoding: 'utf8', timeout: 60_000 });
    assert.match(serving.stderr, /a migration into this store has not ended; run the same `lazuli migrate` again/);
});
