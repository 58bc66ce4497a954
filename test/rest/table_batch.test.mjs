// SPDX-License-Identifier: Apache-2.0
// Entity group transactions.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { TableTransaction } from '@azure/data-tables';
import { assertError, assertRejects, startServer } from './lib.mjs';
import { batchBody, batchParts, entityPath, newTable, sendBatch } from './table_lib.mjs';

let server;

before(async () => {
    server = await startServer({ inMemory: true, services: ['table'] });
});
after(() => server.stop());

const quiet = { Prefer: 'return-no-content' };
const send = (operations, names) => sendBatch(server, batchBody(server, operations, names));

/** A batch that is answered with 202 and the error of one of its operations. */
function assertPartError(answer, index, status, code) {
    assert.equal(answer.status, 202, answer.text);
    const parts = batchParts(answer);
    assert.equal(parts.length, 1, answer.text);
    assert.equal(parts[0].status, status, answer.text);
    const error = JSON.parse(parts[0].body)['odata.error'];
    assert.equal(error.code, code, answer.text);
    assert.ok(error.message.value.startsWith(`${index}:`), error.message.value);
}

test('EntityGroupTransaction: every operation, in order, with its own answer', async () => {
    const table = await newTable(server);
    const path = (rk) => entityPath(table.name, 'p', rk);
    const { etag } = (await table.insert({ PartitionKey: 'p', RowKey: 'old', a: 1 })).headers;
    await table.insert({ PartitionKey: 'p', RowKey: 'gone' });
    await table.insert({ PartitionKey: 'p', RowKey: 'merged', a: 1 });
    const answer = await send([
        ['POST', `/${table.name}`, quiet, { PartitionKey: 'p', RowKey: "it's", n: 1 }],
        ['POST', `/${table.name}`, { Accept: 'application/json;odata=nometadata', Prefer: 'return-content' }, { PartitionKey: 'p', RowKey: 'echo', n: 2 }],
        ['PUT', path('old'), { 'If-Match': etag }, { b: 2 }],
        ['MERGE', path('merged'), { 'If-Match': '*' }, { b: 2 }],
        ['DELETE', path('gone'), { 'If-Match': '*' }],
        ['PUT', path('up'), {}, { c: 1 }],
        ['PATCH', path('up2'), {}, { c: 1 }],
        ['POST', path('up3'), { 'X-HTTP-Method': 'MERGE' }, { c: 1 }],
    ]);
    assert.equal(answer.status, 202, answer.text);
    assert.match(answer.headers['content-type'], /^multipart\/mixed; boundary=batchresponse_[0-9a-f-]{36}$/);
    const parts = batchParts(answer);
    assert.deepEqual(parts.map((p) => p.status), [204, 201, 204, 204, 204, 204, 204, 204]);
    assert.equal(parts[0].headers['preference-applied'], 'return-no-content');
    assert.ok(parts[0].headers.dataserviceid.endsWith("RowKey='it%27%27s')"));
    assert.equal(JSON.parse(parts[1].body).n, 2);
    for (const i of [0, 1, 2, 3, 5, 6, 7])
        assert.match(parts[i].headers.etag, /^W\/"datetime'/);
    assert.equal(parts[4].headers.etag, undefined);
    const rows = (await table.query({ $select: 'RowKey,a,b,c,n' })).json().value;
    assert.deepEqual(rows, [
        { RowKey: 'echo', n: 2 }, { RowKey: "it's", n: 1 }, { RowKey: 'merged', a: 1, b: 2 },
        { RowKey: 'old', b: 2 }, { RowKey: 'up', c: 1 }, { RowKey: 'up2', c: 1 }, { RowKey: 'up3', c: 1 },
    ]);
});

test('EntityGroupTransaction: all or nothing, with the index and status of what failed', async () => {
    const table = await newTable(server);
    const path = (rk) => entityPath(table.name, 'p', rk);
    await table.insert({ PartitionKey: 'p', RowKey: 'there', a: 1 });
    const before = (await table.query()).text;
    const insert = (rk, entity = {}) => ['POST', `/${table.name}`, quiet, { PartitionKey: 'p', RowKey: rk, ...entity }];
    const stale = { 'If-Match': 'W/"datetime\'2015-01-01T23%3A14%3A33.4980000Z\'"' };
    assertPartError(await send([insert('x'), insert('there')]), 1, 409, 'EntityAlreadyExists');
    assertPartError(await send([insert('x'), ['DELETE', path('there'), { 'If-Match': '*' }], ['DELETE', path('none'), { 'If-Match': '*' }]]), 2, 404, 'ResourceNotFound');
    assertPartError(await send([['PUT', path('there'), stale, {}], insert('x')]), 0, 412, 'UpdateConditionNotSatisfied');
    assertPartError(await send([insert('x'), ['DELETE', path('there')]]), 1, 400, 'MissingRequiredHeader');
    assertPartError(await send([insert('x'), insert('x')]), 1, 400, 'InvalidDuplicateRow');
    assertPartError(await send([insert('x'), ['POST', `/${table.name}`, quiet, { PartitionKey: 'q', RowKey: 'x' }]]), 1, 400, 'CommandsInBatchActOnDifferentPartitions');
    assertPartError(await send([insert('x'), ['POST', `/${table.name}`, quiet, '{bad']]), 1, 400, 'InvalidInput');
    assertPartError(await send([insert('x'), ['POST', `/${table.name}`, quiet, { PartitionKey: 'p', RowKey: 'a/b' }]]), 1, 400, 'OutOfRangeInput');
    assertPartError(await send([insert('x'), ['GET', path('there')]]), 1, 400, 'InvalidInput');
    assertPartError(await send([insert('x'), ['POST', '/Tables', quiet, { TableName: 'nope' }]]), 1, 400, 'InvalidInput');
    assertPartError(await send([['POST', '/missing', quiet, { PartitionKey: 'p', RowKey: 'x' }]]), 0, 404, 'TableNotFound');
    assert.equal((await table.query()).text, before);
});

test('EntityGroupTransaction: 100 operations, not 101, not 4 MiB', async () => {
    const table = await newTable(server);
    const many = (n, extra = {}) => Array.from({ length: n }, (_, i) => ['POST', `/${table.name}`, quiet, { PartitionKey: 'p', RowKey: `r${i}`, ...extra }]);
    assertPartError(await send(many(101)), 99, 400, 'InvalidInput');
    assertError(await send(many(100, { text: 'x'.repeat(32000), more: 'y'.repeat(32000) })), 413, 'RequestBodyTooLarge');
    assert.deepEqual((await table.query()).json().value, []);
    const answer = await send(many(100));
    assert.deepEqual(batchParts(answer).map((p) => p.status), Array(100).fill(204));
});

test('EntityGroupTransaction: one query alone', async () => {
    const table = await newTable(server);
    await table.insert({ PartitionKey: 'p', RowKey: 'r', n: 5 });
    const query = (path) => sendBatch(server, `--batch_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nGET ${server.url('table')}${path} HTTP/1.1\r\nAccept: application/json;odata=nometadata\r\n\r\n\r\n--batch_1--\r\n`);
    const one = batchParts(await query(entityPath(table.name, 'p', 'r')));
    assert.equal(one[0].status, 200);
    assert.equal(JSON.parse(one[0].body).n, 5);
    const many = batchParts(await query(`/${table.name}()?$filter=n%20eq%205`));
    assert.equal(JSON.parse(many[0].body).value.length, 1);
    assertPartError(await query(entityPath(table.name, 'p', 'none')), 0, 404, 'ResourceNotFound');
    assertPartError(await query(`/${table.name}()?$filter=n%20eq`), 0, 400, 'InvalidInput');
});

test('EntityGroupTransaction: the multipart itself', async () => {
    const table = await newTable(server);
    const good = batchBody(server, [['POST', `/${table.name}`, quiet, { PartitionKey: 'p', RowKey: 'r' }]]);
    const bad = [
        ['', 'empty'], ['--batch_1--\r\n', 'no part'], [good.replaceAll('batch_1', 'other'), 'another boundary'],
        [good.replace('--batch_1--', ''), 'no end'], [good.replace('--changeset_1--', ''), 'no end of the set'],
        [good.replace(' HTTP/1.1', ''), 'no version'], [good.replace('application/http', 'text/plain'), 'no HTTP part'],
        [good.replace('--batch_1--', good), 'two change sets'], [good.slice(0, 200), 'cut'],
    ];
    for (const [body, what] of bad)
        assert.equal((await sendBatch(server, body)).status, 400, what);
    assertError(await sendBatch(server, good, { 'Content-Type': 'application/json' }), 400, 'InvalidInput');
    assertError(await sendBatch(server, good, { 'Content-Type': 'multipart/mixed' }), 400, 'InvalidInput');
    assert.deepEqual((await table.query()).json().value, []);
    // Quoted boundaries, bare line feeds, numbered parts and other hosts are fine.
    const numbered = good.replace('Content-Transfer-Encoding: binary', 'Content-Transfer-Encoding: binary\r\nContent-ID: 7');
    const answer = await sendBatch(server, numbered.replaceAll('\r\n', '\n').replace('127.0.0.1', 'localhost'), { 'Content-Type': 'multipart/mixed; boundary="batch_1"' });
    assert.equal(answer.status, 202, answer.text);
    assert.equal(batchParts(answer)[0].status, 204, answer.text);
    assert.equal(batchParts(answer)[0].headers['content-id'], '7');
});

test('EntityGroupTransaction: with the SDK', async () => {
    const table = await server.table((await newTable(server)).name);
    const transaction = new TableTransaction();
    for (let i = 0; i < 10; i++)
        transaction.createEntity({ partitionKey: "p's", rowKey: `r${i}`, n: i });
    const { status, subResponses } = await table.submitTransaction(transaction.actions);
    assert.equal(status, 202);
    assert.deepEqual(subResponses.map((r) => [r.status, r.rowKey]), Array.from({ length: 10 }, (_, i) => [204, `r${i}`]));
    await assertRejects(table.submitTransaction([['create', { partitionKey: "p's", rowKey: 'x' }], ['create', { partitionKey: "p's", rowKey: 'r0' }]]), 409, 'EntityAlreadyExists');
    await table.submitTransaction([
        ['update', { partitionKey: "p's", rowKey: 'r0', m: 1 }, 'Merge'],
        ['update', { partitionKey: "p's", rowKey: 'r1', m: 1 }, 'Replace'],
        ['upsert', { partitionKey: "p's", rowKey: 'new', m: 1 }, 'Merge'],
        ['delete', { partitionKey: "p's", rowKey: 'r2' }],
    ]);
    assert.equal((await table.getEntity("p's", 'r0')).n, 0);
    assert.equal((await table.getEntity("p's", 'r1')).n, undefined);
    await assertRejects(table.getEntity("p's", 'r2'), 404, 'ResourceNotFound');
    const missing = await server.table('missing');
    await assertRejects(missing.submitTransaction(transaction.actions), 404, 'TableNotFound');
});

test('EntityGroupTransaction: queries never see one half done', async () => {
    const table = await newTable(server);
    const write = (value) => send(Array.from({ length: 20 }, (_, i) => ['PUT', entityPath(table.name, 'p', `r${i}`), {}, { value }]));
    await write(0);
    let done = false;
    const writer = (async () => {
        for (let value = 1; value <= 60; value++)
            assert.equal((await write(value)).status, 202);
        done = true;
    })();
    const reader = async () => {
        let last = 0;
        while (!done) {
            const { value } = (await table.query({ $select: 'value' })).json();
            const seen = new Set(value.map((e) => e.value));
            assert.equal(seen.size, 1, [...seen].join());
            assert.ok([...seen][0] >= last, 'time does not run back');
            [last] = seen;
        }
    };
    await Promise.all([writer, reader(), reader(), reader()]);
});
