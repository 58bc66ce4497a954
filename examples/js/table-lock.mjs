// SPDX-License-Identifier: Apache-2.0
// A lock for something that has none, here a table: a blob is set aside for it, and whoever leases the blob has the lock.
import { TableClient } from '@azure/data-tables';
import { BlobServiceClient } from '@azure/storage-blob';
import { connection, expect, newName } from './common.mjs';

const table = TableClient.fromConnectionString(connection, newName('accounts'), { allowInsecureConnection: true });
await table.createTable();
const locks = BlobServiceClient.fromConnectionString(connection).getContainerClient(newName('locks'));
await locks.create();
await locks.getBlockBlobClient('accounts').upload('', 0);

const set = (name, money) => table.upsertEntity({ partitionKey: 'p', rowKey: name, money }, 'Replace');
const get = async (name) => (await table.getEntity('p', name)).money;

/** Moves money in four requests; in between anything can happen. */
async function transfer(from, to, amount) {
    const [a, b] = [await get(from), await get(to)];
    await set(from, a - amount);
    await set(to, b + amount);
}

/** Runs the work while holding the lease. A holder who dies loses it after 15 seconds. */
async function locked(work) {
    const lease = locks.getBlobClient('accounts').getBlobLeaseClient();
    for (;;) {
        try {
            await lease.acquireLease(15);
            break;
        } catch (error) {
            if (error.statusCode !== 409)
                throw error;
            await new Promise((done) => { setTimeout(done, 10 + Math.random() * 20); });
        }
    }
    try {
        await work();
    } finally {
        await lease.releaseLease();
    }
}

// The problem: ten transfers at once; whoever reads the same sums loses the others' work.
await set('ann', 100);
await set('bob', 0);
await Promise.all(Array.from({ length: 10 }, () => transfer('ann', 'bob', 1)));
const moved = await get('bob');
console.log(`ten transfers of 1 at once, without a lock: Bob has ${moved}`);
expect('transfers were lost', moved < 10, true);

// The cure.
await set('ann', 100);
await set('bob', 0);
await Promise.all(Array.from({ length: 10 }, () => locked(() => transfer('ann', 'bob', 1))));
expect('with the lock, Bob has', await get('bob'), 10);
expect('and Ann', await get('ann'), 90);
await table.deleteTable();
await locks.delete();
