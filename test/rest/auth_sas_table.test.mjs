// SPDX-License-Identifier: Apache-2.0
// Shared access signatures of tables, made by the official SDK's own generators, with and without key ranges.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as tables from '@azure/data-tables';
import { ACCOUNT, assertError, assertRejects, KEY, send, startServer, uniqueName } from './lib.mjs';

let server;
let name;
let whole;
const key = new tables.AzureNamedKeyCredential(ACCOUNT, KEY);
const soon = () => new Date(Date.now() + 3600e3);
const insecure = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };

before(async () => {
    server = await startServer({ inMemory: true, services: ['table'] });
    name = uniqueName('T');
    whole = await server.table(name);
    await whole.createTable();
    for (const partitionKey of ['a', 'b', 'c', 'd'])
        for (const rowKey of ['1', '2', '3'])
            await whole.createEntity({ partitionKey, rowKey, value: 1 });
});
after(() => server.stop());

const at = (permissions, more = {}, table = name) => new tables.TableClient(server.url('table'), table,
    new tables.AzureSASCredential(tables.generateTableSas(more.signedTable ?? table, key, { permissions, expiresOn: soon(), ...more })), insecure);
async function keysSeen(client, options) {
    const seen = [];
    for await (const { partitionKey, rowKey } of client.listEntities(options))
        seen.push(partitionKey + rowKey);
    return seen.join(' ');
}
const entity = (partitionKey, rowKey) => ({ partitionKey, rowKey, value: 2 });

test('table SAS of every version', async () => {
    for (const version of ['2015-04-05', '2018-03-28', '2019-02-02', '2020-12-06', '2026-10-06'])
        assert.match(await keysSeen(at({ query: true }, { version })), /^a1 a2 /);
});

test('letters: one for each operation, both for upserts', async () => {
    await at({ add: true }).createEntity(entity('x', '1'));
    await at({ update: true }).updateEntity(entity('x', '1'), 'Replace');
    await at({ update: true }).updateEntity(entity('x', '1'), 'Merge');
    await at({ add: true, update: true }).upsertEntity(entity('x', '2'), 'Replace');
    await at({ add: true, update: true }).upsertEntity(entity('x', '2'), 'Merge');
    await at({ delete: true }).deleteEntity('x', '1');
    await at({ delete: true }).deleteEntity('x', '2');
    const refused = (promise) => assertRejects(promise, 403, 'AuthorizationPermissionMismatch');
    await refused(keysSeen(at({ add: true, update: true, delete: true })));
    await refused(at({ query: true, update: true, delete: true }).createEntity(entity('x', '1')));
    await refused(at({ query: true, add: true, delete: true }).updateEntity(entity('a', '1')));
    await refused(at({ update: true }).upsertEntity(entity('x', '1')));
    await refused(at({ add: true }).upsertEntity(entity('x', '1')));
    await refused(at({ query: true, add: true, update: true }).deleteEntity('a', '1'));
    await assertRejects(at({ query: true, add: true, update: true, delete: true }).deleteTable(), 403, 'AuthorizationFailure');
    await assertRejects(at({ query: true, add: true, update: true, delete: true }).getAccessPolicy(), 403, 'AuthorizationFailure');
});

test('the table that was signed, in any case of its name', async () => {
    assert.match(await keysSeen(at({ query: true }, {}, name.toUpperCase())), /^a1 /);
    await assertRejects(keysSeen(at({ query: true }, { signedTable: uniqueName('Other') })), 403, 'AuthenticationFailed');
});

test('a key range is the same whether an empty end of it is sent or left out', async () => {
    await whole.createEntity({ partitionKey: '', rowKey: 'm', value: 1 });
    await whole.createEntity({ partitionKey: '', rowKey: 'z', value: 1 });
    const seen = async (more, change) => {
        const sas = tables.generateTableSas(name, key, { permissions: { query: true }, expiresOn: soon(), ...more });
        return keysSeen(new tables.TableClient(server.url('table'), name, new tables.AzureSASCredential(change(sas)), insecure));
    };
    const changes = [(sas) => sas.replace(/&?[se]pk=(?=&|$)/g, ''), (sas) => `${sas.replace(/&?[se]pk=(?=&|$)/g, '')}&epk=&spk=`];
    for (const change of changes) {
        // A row key alone is of the partition without a name.
        assert.equal(await seen({ endRowKey: 'p' }, change), 'm');
        assert.match(await seen({ startRowKey: 'p' }, change), /^z a1 .* d3$/);
        assert.match(await seen({}, change), /^m z a1 .* d3$/);
    }
    for (const rowKey of ['m', 'z'])
        await whole.deleteEntity('', rowKey);
});

test('a key range clips queries and refuses the rest', async () => {
    const all = { query: true, add: true, update: true, delete: true };
    const range = { startPartitionKey: 'b', startRowKey: '2', endPartitionKey: 'c', endRowKey: '2' };
    const client = at(all, range);
    assert.equal(await keysSeen(client), 'b2 b3 c1 c2');
    assert.equal(await keysSeen(client, { queryOptions: { filter: "PartitionKey eq 'a'" } }), '');
    assert.equal(await keysSeen(at(all, { startPartitionKey: 'c' })), 'c1 c2 c3 d1 d2 d3');
    assert.equal(await keysSeen(at(all, { endPartitionKey: 'a' })), 'a1 a2 a3');
    assert.equal((await client.getEntity('b', '2')).value, 1);
    for (const [partitionKey, rowKey] of [['b', '1'], ['c', '3'], ['a', '1'], ['d', '1']]) {
        const outside = (promise) => assert.rejects(promise, (error) => error.statusCode === 403, `${partitionKey}${rowKey}`);
        await outside(client.getEntity(partitionKey, rowKey));
        await outside(client.updateEntity(entity(partitionKey, rowKey)));
        await outside(client.deleteEntity(partitionKey, rowKey));
        await outside(client.upsertEntity(entity(partitionKey, rowKey)));
        await outside(client.createEntity(entity(partitionKey, `${rowKey}x`.replace('1x', '0').replace('3x', '9'))));
    }
    // In a batch too.
    await client.submitTransaction([['update', entity('c', '1'), 'Merge'], ['update', entity('c', '2'), 'Merge']]);
    await assert.rejects(client.submitTransaction([['update', entity('c', '2'), 'Merge'], ['update', entity('c', '3'), 'Merge']]));
    assert.equal((await whole.getEntity('c', '3')).value, 1);
});

test('a batch needs the letter of each of its parts, and stays in its table', async () => {
    await assert.rejects(at({ add: true }).submitTransaction([['create', entity('y', '1')], ['delete', entity('y', '2')]]));
    await at({ add: true }).submitTransaction([['create', entity('y', '1')], ['create', entity('y', '2')]]);
    const other = await server.table(uniqueName('Other'));
    await other.createTable();
    const astray = at({ add: true }, { signedTable: name }, other.tableName);
    await assert.rejects(astray.submitTransaction([['create', entity('z', '1')]]));
    assert.equal(await keysSeen(other), '');
});

test('stored policies, times and addresses', async () => {
    await whole.setAccessPolicy([{ id: 'reads', accessPolicy: { start: new Date(Date.now() - 60e3), expiry: soon(), permission: 'r' } }]);
    const byPolicy = new tables.TableClient(server.url('table'), name,
        new tables.AzureSASCredential(tables.generateTableSas(name, key, { identifier: 'reads' })), insecure);
    assert.match(await keysSeen(byPolicy), /^a1 /);
    await assertRejects(byPolicy.createEntity(entity('x', '1')), 403, 'AuthorizationPermissionMismatch');
    await assertRejects(keysSeen(at({ query: true }, { expiresOn: new Date(Date.now() - 1000) })), 403, 'AuthenticationFailed');
    await assertRejects(keysSeen(at({ query: true }, { ipRange: { start: '10.1.1.1' } })), 403, 'AuthorizationSourceIPMismatch');
    await assertRejects(keysSeen(at({ query: true }, { protocol: 'https' })), 403, 'AuthorizationProtocolMismatch');
});

test('tn cannot be changed, ranges cannot be dropped', async () => {
    const sas = tables.generateTableSas(name, key, { permissions: { query: true }, expiresOn: soon(), startPartitionKey: 'b' });
    const get = (query, table = name) => send(server.ports.table, 'table', 'GET', `/${ACCOUNT}/${table}()?${query}`, { Accept: 'application/json' });
    assert.equal((await get(sas)).status, 200);
    for (const changed of [sas.replace(/&spk=[^&]*/, ''), sas.replace('spk=b', 'spk=a'), `${sas}&epk=z`, sas.replace(/tn=[^&]*/, 'tn=other'), `${sas}&spk=a`])
        assertError(await get(changed), 403, 'AuthenticationFailed');
});

test('account SAS', async () => {
    const service = (letters, resourceTypes = 'sco') => new tables.TableServiceClient(server.url('table'), new tables.AzureSASCredential(
        tables.generateAccountSas(key, {
            permissions: Object.fromEntries([...letters].map((l) => [{ l: 'list', w: 'write', r: 'query', d: 'delete' }[l], true])),
            services: { table: true }, resourceTypes, expiresOn: soon(),
        })), insecure);
    const names = [];
    for await (const table of service('l').listTables())
        names.push(table.name);
    assert.ok(names.includes(name));
    const made = uniqueName('Made');
    await service('w').createTable(made);
    await assertRejects(service('l').deleteTable(made), 403, 'AuthorizationPermissionMismatch');
    await assertRejects(service('wd', 'so').createTable(uniqueName('No')), 403, 'AuthorizationResourceTypeMismatch');
    await service('d').deleteTable(made);
});
