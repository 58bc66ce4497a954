// SPDX-License-Identifier: Apache-2.0
// Backup and restore of rows and contents together, as docs/CLUSTER.md describes, while clients write, replace and delete:
// the restored store has every write acknowledged before the backup began, and all its contents can be read.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { xmlTexts } from '../rest/lib.mjs';
import { Client, newStore, startGateways, stopGateways, theCluster, wants } from './lib.mjs';

const run = promisify(execFile);
const bin = (name) => `/usr/lib/postgresql/15/bin/${name}`;
const COLLECTOR_TURN_MS = 15_000;
const folder = mkdtempSync(join(tmpdir(), 'lazuli-cluster-backup-'));
let cluster;
before(async () => { cluster = await theCluster(); });
after(async () => {
    await cluster?.down();
    rmSync(folder, { recursive: true, force: true });
});

const psql = (rows, ...statements) => run(bin('psql'), ['-Xq', rows, ...statements.flatMap((sql) => ['-c', sql])]);
const put = (client, n, name, body) => client.call(n, 'blob', 'PUT', `/box/${name}`, { body, headers: { 'x-ms-blob-type': 'BlockBlob' } });
const hash = (bytes) => createHash('sha256').update(bytes).digest('hex');

test('rows and contents are restored to one point in time', async () => {
    const store = newStore(cluster);
    const gateways = await startGateways(store, 2);
    const client = new Client(gateways);
    const kept = new Map();
    let running = true;
    let loops = [];
    try {
        wants(await client.call(0, 'blob', 'PUT', '/box', { query: 'restype=container' }), 201);
        for (let n = 0; n < 20; n++) {
            const body = randomBytes(n % 2 === 0 ? 100_000 : 500);
            wants(await put(client, n, `kept-${n}`, body), 201);
            kept.set(`kept-${n}`, hash(body));
        }
        // Contents come and go all the while.
        loops = Array.from({ length: 4 }, async (_, who) => {
            for (let n = 0; running; n++) {
                wants(await put(client, n, `churn-${who}-${n % 5}`, randomBytes(80_000)), 201);
                if (n % 3 === 0)
                    wants(await client.call(n + 1, 'blob', 'DELETE', `/box/churn-${who}-${n % 5}`), 202);
            }
        });
        await psql(store.rows, `update leases set holder = -1, until = now() + interval '6 hours' where name = 'collector'`);
        await sleep(COLLECTOR_TURN_MS);
        await run(bin('pg_dump'), ['-Fc', '-n', store.name, '-f', join(folder, 'rows.dump'), cluster.rows]);
        await sleep(1000);
        // Of this namespace alone: `rados export` takes the whole pool.
        await cluster.ctl('copy', store.name, `${store.name}_restored`);
        await psql(store.rows, `update leases set until = now() where name = 'collector'`);
        running = false;
        await Promise.all(loops);
        await stopGateways(gateways);

        const database = `restored_${store.name}`;
        // A client that tries the standby first stops there if the standby does not have the database yet.
        await psql(cluster.rows, 'set synchronous_commit = remote_apply', `create database ${database}`);
        await run(bin('pg_restore'), ['-d', cluster.rows.replace('/lazuli?', `/${database}?`), join(folder, 'rows.dump')]);
        const restored = { name: store.name, rows: store.rows.replace('/lazuli?', `/${database}?`), extents: `${store.extents}_restored` };
        restored.flags = ['--rows', restored.rows, '--extents', restored.extents];
        await psql(restored.rows, `update leases set until = now() where name = 'collector'`);
        const again = await startGateways(restored, 1);
        const reader = new Client(again);
        try {
            const names = xmlTexts(wants(await reader.call(0, 'blob', 'GET', '/box', { query: 'restype=container&comp=list' }), 200).text, 'Name');
            assert.ok(names.length >= kept.size);
            for (const name of names) {
                const got = wants(await reader.call(0, 'blob', 'GET', `/box/${name}`), 200);
                if (kept.has(name))
                    assert.equal(hash(got.bytes), kept.get(name), name);
            }
            for (const name of kept.keys())
                assert.ok(names.includes(name), name);
            wants(await put(reader, 0, 'after', randomBytes(100_000)), 201);
        } finally {
            reader.close();
            await stopGateways(again);
        }
    } finally {
        running = false;
        await Promise.allSettled(loops);
        client.close();
        await stopGateways(gateways.filter((g) => g.child !== null));
    }
});
