// SPDX-License-Identifier: Apache-2.0
// For tests: a Parquet file made by hand.
import { gzipSync } from 'node:zlib';

const varint = (n) => (n < 128 ? [n] : [(n & 127) | 128, ...varint(Math.floor(n / 128))]);
const int = (n) => [5, varint(n * 2)];
const long = (n) => [6, varint(n * 2)];
const text = (words) => [8, [...varint(Buffer.byteLength(words)), ...Buffer.from(words)]];
const list = (type, items) => [9, [(items.length << 4) | type, ...items.flat()]];
/** Thrift's compact struct of {field: [type, bytes]}. */
function bytesOf(fields) {
    let last = 0;
    return [...Object.entries(fields).flatMap(([id, [type, bytes]]) => {
        const step = Number(id) - last;
        last = Number(id);
        return [(step << 4) | type, ...bytes];
    }), 0];
}
const struct = (fields) => [12, bytesOf(fields)];

/** Literals alone, which is Snappy too. */
const snappy = (bytes) => Buffer.from([...varint(bytes.length), (bytes.length - 1) << 2, ...bytes]);
const PACK = [(bytes) => bytes, snappy, gzipSync];

function page(header, body, codec) {
    const packed = PACK[codec](body);
    return Buffer.concat([Buffer.from(bytesOf({ 1: header.type, 2: int(body.length), 3: int(packed.length), ...header.more })), packed]);
}

/** A Parquet file of three rows: "id" is 1 to 3, "name" is Ann, nothing and Bob; `codec` 0: none, 1: Snappy, 2: gzip. */
export function parquetFile(codec = 0) {
    const ids = Buffer.alloc(24);
    [1n, 2n, 3n].forEach((id, i) => ids.writeBigInt64LE(id, i * 8));
    const names = Buffer.concat(['Ann', 'Bob'].map((name) => Buffer.from([name.length, 0, 0, 0, ...Buffer.from(name)])));
    const data = (values, encoding) => ({ type: int(0), more: { 5: struct({ 1: int(values), 2: int(encoding), 3: int(3), 4: int(3) }) } });
    // Which rows have a name: one group of eight bits, 101. Then the names' numbers, by one bit each: 0, 1.
    const chosen = Buffer.from([2, 0, 0, 0, 3, 0b101, 1, 3, 0b10]);
    const first = page(data(3, 0), ids, codec);
    const dictionary = page({ type: int(2), more: { 7: struct({ 1: int(2), 2: int(0) }) } }, names, codec);
    const second = Buffer.concat([dictionary, page(data(3, 8), chosen, codec)]);
    const chunk = (type, name, bytes, at, dictionaryAt) => struct({ 2: long(at), 3: struct({ 1: int(type), 2: list(5, [varint(0)]), 3: list(8, [text(name)[1]]), 4: int(codec), 5: long(3), 6: long(bytes), 7: long(bytes), 9: long(at), ...dictionaryAt ? { 11: long(dictionaryAt) } : {} }) })[1];
    const group = bytesOf({ 1: list(12, [chunk(2, 'id', first.length, 4), chunk(6, 'name', second.length, 4 + first.length + dictionary.length, 4 + first.length)]), 2: long(100), 3: long(3) });
    const schema = [bytesOf({ 4: text('schema'), 5: int(2) }), bytesOf({ 1: int(2), 3: int(0), 4: text('id') }), bytesOf({ 1: int(6), 3: int(1), 4: text('name'), 6: int(0) })];
    const footer = Buffer.from(bytesOf({ 1: int(1), 2: list(12, schema), 3: long(3), 4: list(12, [group]), 6: text('by hand') }));
    const length = Buffer.alloc(4);
    length.writeUInt32LE(footer.length);
    return Buffer.concat([Buffer.from('PAR1'), first, second, footer, length, Buffer.from('PAR1')]);
}
