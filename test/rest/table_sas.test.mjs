// SPDX-License-Identifier: Apache-2.0
// Shared access signatures of tables: letters, key ranges, stored policies, batches.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { AzureNamedKeyCredential, AzureSASCredential, generateAccountSas, generateTableSas, TableClient } from '@azure/data-tables';
import { ACCOUNT, assertError, assertRejects, KEY, startServer } from './lib.mjs';
import { batchBody, batchParts, entityPath, json, newTable, sendBatch } from './table_lib.mjs';

let server;
const credential = new AzureNamedKeyCredential(ACCOUNT, KEY);

before(async () => {
    server = await startServer({ inMemory: true, services: ['table'] });
});
after(() => server.stop());

const client = (name, sas) => new TableClient(server.url('table'), name, new AzureSASCredential(sas), { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } });
const expiresOn = () => new Date(Date.now() + 3600_000);

async function filled() {
    const table = await newTable(server);
    for (const [pk, rk] of [['a', '1'], ['a', '2'], ['b', '1'], ['c', '1']])
        await table.insert({ PartitionKey: pk, RowKey: rk });
    return table;
}

test('each operation asks for its letters', async () => {
    const table = await filled();
    const sas = (permissions) => client(table.name, generateTableSas(table.name, credential, { permissions, expiresOn: expiresOn() }));
    const operations = {
        query: (c) => c.getEntity('a', '1'),
        add: (c) => c.createEntity({ partitionKey: 'n', rowKey: `${Math.random()}` }),
        update: (c) => c.updateEntity({ partitionKey: 'a', rowKey: '1' }, 'Merge'),
        delete: (c) => c.deleteEntity('c', '1'),
    };
    for (const [name, run] of Object.entries(operations)) {
        const others = Object.fromEntries(Object.keys(operations).filter((o) => o !== name).map((o) => [o, true]));
        await assertRejects(run(sas(others)), 403, 'AuthorizationPermissionMismatch');
        await run(sas({ [name]: true }));
    }
    const upsert = (permissions) => sas(permissions).upsertEntity({ partitionKey: 'u', rowKey: 'u' }, 'Replace');
    await assertRejects(upsert({ add: true }), 403, 'AuthorizationPermissionMismatch');
    await assertRejects(upsert({ update: true }), 403, 'AuthorizationPermissionMismatch');
    await upsert({ add: true, update: true });
});

test('a SAS is for its table', async () => {
    const table = await filled();
    const other = await filled();
    const sas = generateTableSas(table.name, credential, { permissions: { query: true, add: true }, expiresOn: expiresOn() });
    await client(table.name, sas).getEntity('a', '1');
    const error = await client(other.name, sas).getEntity('a', '1').catch((e) => e);
    assert.equal(error.statusCode, 403);
    const body = batchBody(server, [['POST', `/${other.name}`, {}, { PartitionKey: 'x', RowKey: 'x' }]]);
    const answer = await sendBatch(server, body, {}, { auth: 'none', query: sas });
    assert.equal(answer.status, 202, answer.text);
    assert.equal(batchParts(answer)[0].status, 403, answer.text);
});

test('a range of keys: queries are clipped, the rest is refused', async () => {
    const table = await filled();
    const sas = generateTableSas(table.name, credential, {
        permissions: { query: true, add: true, update: true, delete: true }, expiresOn: expiresOn(),
        startPartitionKey: 'a', startRowKey: '2', endPartitionKey: 'b', endRowKey: '1',
    });
    const ranged = client(table.name, sas);
    const seen = [];
    for await (const e of ranged.listEntities())
        seen.push(`${e.partitionKey}/${e.rowKey}`);
    assert.deepEqual(seen, ['a/2', 'b/1']);
    await ranged.getEntity('a', '2');
    await assertRejects(ranged.getEntity('a', '1'), 403, 'AuthorizationFailure');
    await assertRejects(ranged.createEntity({ partitionKey: 'b', rowKey: '2' }), 403, 'AuthorizationFailure');
    await assertRejects(ranged.deleteEntity('c', '1'), 403, 'AuthorizationFailure');
    await ranged.createEntity({ partitionKey: 'aa', rowKey: 'zzz' });
    const put = (rk) => ['PUT', entityPath(table.name, 'a', rk), {}, {}];
    const inside = await sendBatch(server, batchBody(server, [put('2'), put('3')]), {}, { auth: 'none', query: sas });
    assert.deepEqual(batchParts(inside).map((p) => p.status), [204, 204]);
    const outside = await sendBatch(server, batchBody(server, [put('4'), put('1')]), {}, { auth: 'none', query: sas });
    assert.deepEqual(batchParts(outside).map((p) => p.status), [403]);
    assertError(await table.get('a', '4'), 404, 'ResourceNotFound');
});

test('the parts of a batch ask for their own letters', async () => {
    const table = await filled();
    const sas = generateTableSas(table.name, credential, { permissions: { add: true }, expiresOn: expiresOn() });
    const insert = ['POST', `/${table.name}`, { Prefer: 'return-no-content' }, { PartitionKey: 'a', RowKey: 'new' }];
    const remove = ['DELETE', entityPath(table.name, 'a', '1'), { 'If-Match': '*' }];
    const parts = async (operations) => batchParts(await sendBatch(server, batchBody(server, operations), {}, { auth: 'none', query: sas })).map((p) => p.status);
    assert.deepEqual(await parts([insert, remove]), [403]);
    assertError(await table.get('a', 'new'), 404, 'ResourceNotFound');
    assert.deepEqual(await parts([insert]), [204]);
});

test('a stored policy gives the terms, until it is taken away', async () => {
    const table = await filled();
    const owner = await server.table(table.name);
    await owner.setAccessPolicy([{ id: 'readers', accessPolicy: { start: new Date(Date.now() - 60_000), expiry: expiresOn(), permission: 'r' } }]);
    const sas = generateTableSas(table.name, credential, { identifier: 'readers' });
    await client(table.name, sas).getEntity('a', '1');
    await assertRejects(client(table.name, sas).deleteEntity('a', '1'), 403, 'AuthorizationPermissionMismatch');
    await owner.setAccessPolicy([]);
    const error = await client(table.name, sas).getEntity('a', '1').catch((e) => e);
    assert.equal(error.statusCode, 403);
});

test('an account SAS reaches tables and entities by its letters and types', async () => {
    const table = await filled();
    const sas = (permissions, resourceTypes) => generateAccountSas(credential, { permissions, resourceTypes, expiresOn: expiresOn() });
    const raw = (method, path, query, body) => json(server, method, path, body, {}, { auth: 'none', query });
    assert.equal((await raw('GET', '/Tables', sas({ list: true }, 'c'))).status, 200);
    assert.equal((await raw('GET', '/Tables', sas({ list: true }, 'o'))).status, 403);
    assert.equal((await raw('GET', `/${table.name}()`, sas({ query: true }, 'o'))).status, 200);
    assert.equal((await raw('POST', `/${table.name}`, sas({ query: true }, 'o'), { PartitionKey: 'x', RowKey: 'y' })).status, 403);
    assert.equal((await raw('POST', '/Tables', sas({ write: true }, 'c'), { TableName: `${table.name}x` })).status, 201);
    assert.equal((await raw('DELETE', `/Tables('${table.name}x')`, sas({ delete: true }, 'c'))).status, 204);
});
