// SPDX-License-Identifier: Apache-2.0
// The footer of a Parquet file: columns, rows, row groups, and where the first rows lie. The footer is Thrift's compact protocol; only
// what is shown is kept.

const TYPES = ['BOOLEAN', 'INT32', 'INT64', 'INT96', 'FLOAT', 'DOUBLE', 'BYTE_ARRAY', 'FIXED_LEN_BYTE_ARRAY'];
const REPETITIONS = ['required', 'optional', 'repeated'];
const CONVERTED = ['UTF8', 'MAP', 'MAP_KEY_VALUE', 'LIST', 'ENUM', 'DECIMAL', 'DATE', 'TIME_MILLIS', 'TIME_MICROS', 'TIMESTAMP_MILLIS', 'TIMESTAMP_MICROS',
    'UINT_8', 'UINT_16', 'UINT_32', 'UINT_64', 'INT_8', 'INT_16', 'INT_32', 'INT_64', 'JSON', 'BSON', 'INTERVAL'];
const FOOTER_MAX = 16 << 20;
const DEPTH_MAX = 32;

export class Reader {
    constructor(bytes) {
        this.bytes = bytes;
        this.at = 0;
    }

    byte() {
        if (this.at >= this.bytes.length)
            throw new Error('The Parquet footer ends early.');
        return this.bytes[this.at++];
    }

    varint() {
        let value = 0n;
        for (let shift = 0n; shift < 70n; shift += 7n) {
            const byte = this.byte();
            value |= BigInt(byte & 127) << shift;
            if (byte < 128)
                return value;
        }
        throw new Error('A number of the Parquet footer is too long.');
    }

    int() {
        const value = this.varint();
        return Number((value >> 1n) ^ -(value & 1n));
    }

    text() {
        const length = Number(this.varint());
        if (length > this.bytes.length - this.at)
            throw new Error('The Parquet footer ends early.');
        const text = new TextDecoder().decode(this.bytes.subarray(this.at, this.at + length));
        this.at += length;
        return text;
    }

    /** A value of a compact type: structs as {field: value}, lists as arrays. */
    value(type, depth) {
        if (depth > DEPTH_MAX)
            throw new Error('The Parquet footer is nested too deeply.');
        switch (type) {
        case 1: return true;
        case 2: return false;
        case 3: return this.byte();
        case 4: case 5: case 6: return this.int();
        case 7: this.at += 8; return null;
        case 8: return this.text();
        case 9: case 10: return this.list(depth);
        case 11: return this.map(depth);
        case 12: return this.struct(depth);
        default: throw new Error('The Parquet footer has an unknown type.');
        }
    }

    list(depth) {
        const head = this.byte();
        const count = head >> 4 === 15 ? Number(this.varint()) : head >> 4;
        if (count > this.bytes.length)
            throw new Error('A list of the Parquet footer is too long.');
        const type = head & 15;
        return Array.from({ length: count }, () => (type === 1 || type === 2 ? this.byte() === 1 : this.value(type, depth + 1)));
    }

    map(depth) {
        const count = Number(this.varint());
        const types = count > 0 ? this.byte() : 0;
        for (let i = 0; i < count; i++) {
            this.value(types >> 4, depth + 1);
            this.value(types & 15, depth + 1);
        }
        return null;
    }

    struct(depth) {
        const fields = {};
        let id = 0;
        for (let head; (head = this.byte()) !== 0;) {
            id = head >> 4 === 0 ? this.int() : id + (head >> 4);
            fields[id] = this.value(head & 15, depth + 1);
        }
        return fields;
    }
}

/** Where the column's chunk of the first row group lies, and what is needed to read it; `reason`: why it cannot be read. */
function place(element, depth, chunk) {
    if (depth > 0 || element[3] === 2)
        return { reason: 'they are nested' };
    if (chunk === undefined)
        return { reason: 'the footer does not say where they are' };
    return { physical: element[1], length: element[2] ?? 0, scale: element[7] ?? 0, optional: element[3] === 1, codec: chunk[4],
        from: Math.min(chunk[9], chunk[11] > 0 ? chunk[11] : chunk[9]), bytes: chunk[7] };
}

/** `read(from, to)` gives bytes of the file, both ends included. */
export async function parquetSchema(size, read) {
    if (size < 12)
        throw new Error('This is no Parquet file: it is too short.');
    const tail = await read(size - 8, size - 1);
    if (new TextDecoder().decode(tail.subarray(4)) !== 'PAR1')
        throw new Error('This is no Parquet file: it does not end with PAR1.');
    const length = new DataView(tail.buffer, tail.byteOffset, 4).getUint32(0, true);
    if (length + 8 > size || length > FOOTER_MAX)
        throw new Error('The Parquet footer has an impossible length.');
    const footer = new Reader(await read(size - 8 - length, size - 9)).struct(0);
    const columns = [];
    const stack = [];
    for (const element of (footer[2] ?? []).slice(1)) {
        const name = [...stack.map((one) => one.name), element[4]].join('.');
        while (stack.length > 0 && stack.at(-1).left === 0)
            stack.pop();
        if (stack.length > 0)
            stack.at(-1).left--;
        if (element[5] > 0)
            stack.push({ name: element[4], left: element[5] });
        else
            columns.push({ name, type: CONVERTED[element[6]] ?? TYPES[element[1]] ?? '?', repetition: REPETITIONS[element[3]] ?? '', ...place(element, stack.length, footer[4]?.[0]?.[1]?.[columns.length]?.[3]) });
        while (stack.length > 0 && stack.at(-1).left === 0)
            stack.pop();
    }
    return { firstGroupRows: footer[4]?.[0]?.[3], rows: footer[3], groups: (footer[4] ?? []).length, createdBy: footer[6], columns };
}
