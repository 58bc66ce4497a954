// SPDX-License-Identifier: Apache-2.0
// Query Entities: filters, select, pages.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertError, startServer } from './lib.mjs';
import { batchBody, newTable, sendBatch } from './table_lib.mjs';

let server;

before(async () => {
    server = await startServer({ inMemory: true, services: ['table'] });
});
after(() => server.stop());

const keys = (answer) => answer.json().value.map((e) => `${e.PartitionKey}/${e.RowKey}`);

/** Fills a table by entity group transactions. */
async function fill(table, entities, on = server) {
    const groups = new Map();
    for (const entity of entities)
        groups.set(entity.PartitionKey, [...(groups.get(entity.PartitionKey) ?? []), entity]);
    for (const group of groups.values()) {
        for (let i = 0; i < group.length; i += 100) {
            const operations = group.slice(i, i + 100).map((e) => ['POST', `/${table.name}`, { Prefer: 'return-no-content' }, e]);
            assert.equal((await sendBatch(on, batchBody(on, operations))).status, 202);
        }
    }
}

async function pageThrough(table, query) {
    const pages = [];
    let next = {};
    do {
        const answer = await table.query({ ...query, ...next });
        assert.equal(answer.status, 200, answer.text);
        pages.push(keys(answer));
        next = { NextPartitionKey: answer.headers['x-ms-continuation-nextpartitionkey'], NextRowKey: answer.headers['x-ms-continuation-nextrowkey'] };
        assert.ok(pages.length < 500);
    } while (next.NextPartitionKey !== undefined);
    return pages;
}

test('QueryEntities: filters of every type', async () => {
    const table = await newTable(server);
    const guid = (n) => `${n}`.repeat(8) + '-1111-1111-1111-111111111111';
    for (let i = 0; i < 5; i++) {
        await table.insert({
            PartitionKey: `p${i % 2}`, RowKey: `r${i}`, s: `text${i}`, i, d: i + 0.5, b: i > 2,
            'l@odata.type': 'Edm.Int64', l: `${BigInt(i) + 9007199254740992n}`, 'g@odata.type': 'Edm.Guid', g: guid(i),
            't@odata.type': 'Edm.DateTime', t: `202${i}-01-01T00:00:00Z`, 'x@odata.type': 'Edm.Binary', x: Buffer.from([i]).toString('base64'),
            ...(i === 4 ? { only: "it's" } : {}),
        });
    }
    const finds = async ($filter, want) => {
        const answer = await table.query({ $filter });
        assert.equal(answer.status, 200, `${$filter}: ${answer.text}`);
        assert.deepEqual(answer.json().value.map((e) => Number(e.RowKey[1])), want, $filter);
    };
    await finds('', [0, 2, 4, 1, 3]);
    await finds("PartitionKey eq 'p1'", [1, 3]);
    await finds("s gt 'text1' and s le 'text3'", [2, 3]);
    await finds('i ge 3', [4, 3]);
    await finds('3 le i', [4, 3]);
    await finds('i eq 2 or i eq 4', [2, 4]);
    await finds('d lt 2', [0, 1]);
    await finds('d eq 2.5', [2]);
    await finds('l eq 9007199254740993L', [1]);
    await finds('l gt 9007199254740993L and l lt 9007199254740996', [2, 3]);
    await finds('b', [4, 3]);
    await finds('not b', [0, 2, 1]);
    await finds('b eq True', [4, 3]);
    await finds(`g eq guid'${guid(3)}'`, [3]);
    await finds(`g lt guid'${guid(1)}'`, [0]);
    await finds(`g eq '${guid(3)}'`, []);
    await finds("t ge datetime'2023-01-01T00:00:00Z'", [4, 3]);
    await finds("x eq X'02'", [2]);
    await finds("x eq binary'02' or x eq X'03'", [2, 3]);
    await finds("only eq 'it''s'", [4]);
    await finds("only ne 'x'", [4]);
    await finds("not (only eq 'x')", [0, 2, 4, 1, 3]);
    await finds("i eq 'text'", []);
    await finds("(PartitionKey eq 'p0' and RowKey ge 'r2') or (PartitionKey eq 'p1' and RowKey lt 'r2')", [2, 4, 1]);
    await finds("not (PartitionKey lt 'p1')", [1, 3]);
    await finds("Timestamp gt datetime'2020-01-01T00:00:00Z' and RowKey eq 'r0'", [0]);
    await finds("(true and RowKey eq 'r1')and(PartitionKey eq 'p1')", [1]);
});

test('QueryEntities: what is not a filter', async () => {
    const table = await newTable(server);
    for (const $filter of ['(1 === 1)', '(1)', '(1 1 1)', '("a" eq "a")', "PartitionKey eq 'a' eq 5", "a eq eq 'x'", 'a eq', "a eq 'x", '((a eq 1)',
        'a eq null', 'a eq 99999999999999999999', "a eq datetime'x'", '('.repeat(2000), 'not '.repeat(2000)])
        assertError(await table.query({ $filter }), 400, 'InvalidInput');
    for (const $filter of ['a eq b', "startswith(a,'x')", 'a add 1 eq 2'])
        assertError(await table.query({ $filter }), 501, 'NotImplemented');
    for (const query of [{ $top: 1001 }, { $top: '-1' }, { NextPartitionKey: 'x' }, { NextPartitionKey: '1!4!AA' }])
        assertError(await table.query(query), 400, 'InvalidInput');
    for (const query of [{ $orderby: 'a' }, { $skip: 1 }, { $expand: 'a' }])
        assertError(await table.query(query), 501, 'NotImplemented');
});

test('QueryEntities: select and metadata', async () => {
    const table = await newTable(server);
    await table.insert({ PartitionKey: 'p', RowKey: 'r', a: 1, 'b@odata.type': 'Edm.Int64', b: '2' });
    assert.deepEqual((await table.query({ $select: 'a,b,missing' })).json(), { value: [{ a: 1, b: '2' }] });
    const some = (await table.query({ $select: 'b' }, { Accept: 'application/json;odata=minimalmetadata' })).json();
    assert.equal(some['odata.metadata'], `${server.url('table')}/$metadata#${table.name}`);
    assert.deepEqual(Object.keys(some.value[0]), ['odata.etag', 'b@odata.type', 'b']);
    const all = (await table.query({}, { Accept: 'application/json;odata=fullmetadata' })).json().value[0];
    assert.equal(all['odata.editLink'], `${table.name}(PartitionKey='p',RowKey='r')`);
});

test('QueryEntities: pages in order, of $top or 1000', async () => {
    const table = await newTable(server);
    const all = [];
    for (let i = 0; i < 2300; i++)
        all.push({ PartitionKey: `p${i % 3}`, RowKey: `r${String(i).padStart(5, '0')}`, odd: i % 2 === 1 });
    await fill(table, all);
    const want = all.map((e) => `${e.PartitionKey}/${e.RowKey}`).sort();
    const pages = await pageThrough(table, {});
    assert.deepEqual(pages.map((p) => p.length), [1000, 1000, 300]);
    assert.deepEqual(pages.flat(), want);
    assert.deepEqual((await pageThrough(table, { $top: 100 })).flat(), want);
    const odd = await pageThrough(table, { $top: 200, $filter: 'odd eq true' });
    assert.deepEqual(odd.flat(), all.filter((e) => e.odd).map((e) => `${e.PartitionKey}/${e.RowKey}`).sort());
    const client = await server.table(table.name);
    const seen = [];
    for await (const page of client.listEntities({ queryOptions: { filter: "PartitionKey eq 'p1'" } }).byPage({ maxPageSize: 77 }))
        seen.push(...page.map((e) => e.rowKey));
    assert.equal(seen.length, all.filter((e) => e.PartitionKey === 'p1').length);
    assert.deepEqual(seen, [...seen].sort());
});

test('QueryEntities: tokens hold across writes and restarts', async () => {
    const other = await startServer({ services: ['table'] });
    try {
        const table = await newTable(other);
        await fill(table, Array.from({ length: 30 }, (_, i) => ({ PartitionKey: '日本', RowKey: `r${String(i).padStart(2, '0')}` })), other);
        const first = await table.query({ $top: 10 });
        const next = { NextPartitionKey: first.headers['x-ms-continuation-nextpartitionkey'], NextRowKey: first.headers['x-ms-continuation-nextrowkey'] };
        await table.delete('日本', 'r10', { 'If-Match': '*' });
        await table.insert({ PartitionKey: '日本', RowKey: 'r115' });
        await table.insert({ PartitionKey: '日本', RowKey: 'r05x' });
        await other.restart();
        const second = await table.query({ $top: 3, ...next });
        assert.deepEqual(keys(second), ['日本/r11', '日本/r115', '日本/r12']);
    } finally {
        await other.stop();
    }
});

test('QueryEntities: a page of large entities ends before its thousand', async () => {
    const table = await newTable(server);
    const text = 'x'.repeat(32000);
    for (let i = 0; i < 20; i++)
        await table.insert({ PartitionKey: 'p', RowKey: `r${String(i).padStart(2, '0')}`, ...Object.fromEntries(Array.from({ length: 10 }, (_, k) => [`p${k}`, text])) });
    const pages = await pageThrough(table, {});
    assert.ok(pages.length > 1);
    assert.equal(pages.flat().length, 20);
});

test('QueryEntities: a long scan does not hold up others', async () => {
    const table = await newTable(server);
    await fill(table, Array.from({ length: 20000 }, (_, i) => ({ PartitionKey: `p${i % 20}`, RowKey: `r${i}`, n: i })));
    const scan = table.query({ $filter: 'n eq 19999' });
    const point = await table.get('p1', 'r1');
    assert.equal(point.json().n, 1);
    const found = await scan;
    assert.deepEqual(keys(found), ['p19/r19999']);
});
