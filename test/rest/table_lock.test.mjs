// SPDX-License-Identifier: Apache-2.0
// Rule T4: a reserved, leased blob is a pessimistic lock for a table.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertRejects, startServer } from './lib.mjs';
import { newTable } from './table_lib.mjs';
import { tableLock } from './table_lock.mjs';

let server;

before(async () => {
    server = await startServer({ inMemory: true, services: ['table', 'blob'] });
});
after(() => server.stop());

test('rule_T4: clients that hold the lease change the table one after the other', async () => {
    const table = await newTable(server);
    await table.insert({ PartitionKey: 'p', RowKey: 'counter', n: 0 });
    const lock = await tableLock(await server.blobs(), 'locks', 'counter');
    const ROUNDS = 5;
    const CLIENTS = 6;
    let inside = 0;
    const client = async () => {
        for (let round = 0; round < ROUNDS; round++) {
            await lock.hold(async () => {
                assert.equal(++inside, 1, 'two are inside');
                const { n } = (await table.get('p', 'counter')).json();
                // Unconditional: it is the lock that keeps the others out.
                assert.equal((await table.put('p', 'counter', { n: n + 1 }, { 'If-Match': '*' })).status, 204);
                inside--;
            });
        }
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    assert.equal((await table.get('p', 'counter')).json().n, ROUNDS * CLIENTS);
});

test('rule_T4: a holder that dies is locked out when its lease ends', async () => {
    const lock = await tableLock(await server.blobs(), 'locks', 'orphan');
    await lock.blob.getBlobLeaseClient().acquireLease(15);
    await assertRejects(lock.blob.getBlobLeaseClient().acquireLease(15), 409, 'LeaseAlreadyPresent');
    server.advance(16_000);
    let held = false;
    await lock.hold(async () => { held = true; });
    assert.ok(held);
});
