// SPDX-License-Identifier: Apache-2.0
// Entities: the SDK's updateEntity overwrites unless it is given the ETag.
import { TableClient } from '@azure/data-tables';
import { connection, expect, newName, outcome } from './common.mjs';

const table = TableClient.fromConnectionString(connection, newName('seats'), { allowInsecureConnection: true });
await table.createTable();
const key = { partitionKey: 'flight', rowKey: 'lh400' };
const read = () => table.getEntity(key.partitionKey, key.rowKey);
const write = (free, options) => table.updateEntity({ ...key, free }, 'Replace', options);

// The problem: two agents sell one seat each; one sale is lost.
await table.createEntity({ ...key, free: 10 });
let ann = await read();
let bob = await read();
await write(ann.free - 1);
await write(bob.free - 1);
expect('10 - 1 - 1 without an ETag', (await read()).free, 9);

// The cure.
ann = await read();
bob = await read();
await write(ann.free - 1, { etag: ann.etag });
expect("Bob's update with his old ETag", await outcome(write(bob.free - 1, { etag: bob.etag })), '412 UpdateConditionNotSatisfied');
bob = await read();
await write(bob.free - 1, { etag: bob.etag });
expect('9 - 1 - 1 with ETags', (await read()).free, 7);

// Upserts send no ETag: the last writer wins, always.
await table.upsertEntity({ ...key, free: 100 }, 'Replace');
expect('after an upsert', (await read()).free, 100);
expect('an insert where there is one', await outcome(table.createEntity({ ...key, free: 1 })), '409 EntityAlreadyExists');

// A transaction is all or nothing.
const stale = { ...key, free: 0 };
const batch = [['create', { ...key, rowKey: 'lh401', free: 5 }], ['update', stale, 'Replace', { etag: bob.etag }]];
expect('a transaction with an old ETag', (await outcome(table.submitTransaction(batch))).slice(0, 3), '412');
expect('its insert', (await outcome(table.getEntity('flight', 'lh401'))).slice(0, 3), '404');
await table.deleteTable();
