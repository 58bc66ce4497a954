// SPDX-License-Identifier: Apache-2.0
// CSV, table files, metrics text, Parquet files.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCsv } from './csv.js';
import { buckets, parseMetrics, quantile, sum } from './metrics.js';
import { parquetSchema } from './parquet.js';
import { hybrid, parquetRows, unsnappy } from './parquet_rows.js';
import { parquetFile } from './parquet_sample.mjs';
import { groupByPartition, jsonOf, jsonValue } from './table.js';
import { fromCsv, fromJson, toCsv, toJson } from './table_file.js';

test('CSV: quotes, line ends and commas inside them, and a limit', () => {
    assert.deepEqual(parseCsv('a,b\r\n"x, ""y""\nz",2\n', 10), [['a', 'b'], ['x, "y"\nz', '2']]);
    assert.equal(parseCsv('1\n2\n3\n4\n', 2).length, 2);
    assert.deepEqual(parseCsv('', 5), []);
});

const entity = { pk: 'p', rk: 'r,"1"', properties: { Age: { type: 'Edm.Int32', value: '31' }, Big: { type: 'Edm.Int64', value: '9007199254740993' }, Text: { type: 'Edm.String', value: 'a\nb' } } };

test('entities go through CSV and JSON and come back as they were', () => {
    const plain = ({ pk, rk, properties }) => ({ pk, rk, properties });
    assert.deepEqual(fromCsv(toCsv([entity])).map(plain), [entity]);
    assert.deepEqual(fromJson(toJson([entity])).map(plain), [entity]);
});

test('files that do not fit are refused with the place', () => {
    assert.throws(() => fromCsv('a,b\n1,2\n'), /PartitionKey and RowKey/);
    assert.throws(() => fromCsv('PartitionKey,RowKey\n1\n'), /Line 2 has 1 fields/);
    assert.throws(() => fromJson('{"a":1}'), /list of entities/);
    assert.throws(() => fromJson('[{"PartitionKey":"a"}]'), /Entity 1/);
});

test('values are checked against their type', () => {
    assert.throws(() => jsonValue({ type: 'Edm.Int32', value: '3000000000' }), /32-bit/);
    assert.throws(() => jsonValue({ type: 'Edm.Boolean', value: 'yes' }), /true or false/);
    assert.throws(() => jsonValue({ type: 'Edm.Double', value: '' }), /number/);
    assert.equal(jsonValue({ type: 'Edm.Double', value: 'NaN' }), 'NaN');
    assert.equal(JSON.parse(jsonOf(entity))['Big@odata.type'], 'Edm.Int64');
});

test('change sets hold 100 entities of one partition at most', () => {
    const rows = Array.from({ length: 250 }, (_, i) => ({ pk: i % 2 ? 'a' : 'b', rk: String(i) }));
    const groups = groupByPartition(rows);
    assert.deepEqual(groups.map((group) => group.length).sort((a, b) => b - a), [100, 100, 25, 25]);
    assert.ok(groups.every((group) => new Set(group.map((row) => row.pk)).size === 1));
});

test('metrics: labels with escapes, sums, quantiles of what happened in between', () => {
    const text = (a, b) => `# HELP x y\nx_total{service="blob",error="a\\"b"} 3 1700000000\nx_total{service="queue"} 4\nh_bucket{le="0.1"} ${a}\nh_bucket{le="1"} ${b}\nh_bucket{le="+Inf"} ${b}\n`;
    const one = parseMetrics(text(10, 10));
    assert.equal(sum(one, 'x_total'), 7);
    assert.equal(sum(one, 'x_total', ({ error }) => error === 'a"b'), 3);
    const before = buckets(one, 'h');
    assert.equal(quantile(before, before, 0.5), null);
    const now = buckets(parseMetrics(text(10, 20)), 'h');
    assert.ok(Math.abs(quantile(before, now, 0.5) - 0.55) < 1e-9);
});

const readOf = (file) => async (from, to) => new Uint8Array(file.subarray(from, to + 1));

test('Parquet: columns, rows and the writer from the footer', async () => {
    const file = parquetFile();
    const { rows, groups, createdBy, columns } = await parquetSchema(file.length, readOf(file));
    assert.deepEqual([rows, groups, createdBy], [3, 1, 'by hand']);
    assert.deepEqual(columns.map(({ name, type, repetition }) => [name, type, repetition]), [['id', 'INT64', 'required'], ['name', 'UTF8', 'optional']]);
});

test('Parquet: the first rows, plain and by a dictionary, with nulls, in three compressions; what cannot be read says why', async () => {
    for (const codec of [0, 1, 2]) {
        const file = parquetFile(codec);
        const schema = await parquetSchema(file.length, readOf(file));
        assert.deepEqual(await parquetRows(schema, readOf(file)), [{ name: 'id', values: ['1', '2', '3'] }, { name: 'name', values: ['Ann', null, 'Bob'] }], `codec ${codec}`);
        assert.deepEqual((await parquetRows(schema, readOf(file), { rows: 2, columns: 1 })), [{ name: 'id', values: ['1', '2'] }]);
    }
    const file = parquetFile();
    const schema = await parquetSchema(file.length, readOf(file));
    schema.columns[0].codec = 6;
    assert.match((await parquetRows(schema, readOf(file)))[0].reason, /ZSTD/);
});

test('Parquet: packed numbers and Snappy', () => {
    assert.deepEqual(hybrid(new Uint8Array([8, 3, 3, 0x88, 0xc6, 0xfa]), 3, 12), [3, 3, 3, 3, 0, 1, 2, 3, 4, 5, 6, 7]);
    // "ab", then eight bytes that begin two back: a copy reads what it has written.
    assert.equal(Buffer.from(unsnappy(new Uint8Array([10, 1 << 2, 0x61, 0x62, ((8 - 4) << 2) | 1, 2]), 10)).toString(), 'ababababab');
    assert.throws(() => unsnappy(new Uint8Array([10, 1 << 2, 0x61, 0x62, 1, 9]), 10), /Snappy/);
});

test('Parquet: a file that was cut or changed is an error, never a hang', async () => {
    const file = parquetFile();
    await assert.rejects(parquetSchema(4, readOf(file)), /too short/);
    for (let i = 4; i < file.length; i++) {
        for (const value of [0, 0x7f, 0xff]) {
            const bad = Buffer.from(file);
            bad[i] = value;
            await parquetSchema(bad.length, readOf(bad)).then((schema) => parquetRows(schema, readOf(bad))).catch((error) => assert.ok(error instanceof Error));
        }
    }
});
