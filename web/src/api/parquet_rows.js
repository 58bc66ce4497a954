// SPDX-License-Identifier: Apache-2.0
// The first rows of a Parquet file: flat columns, plain or with a dictionary, uncompressed or by Snappy or gzip. What else there is
// is said of the column, not guessed at. Numbers of the file are never trusted: every read has an end.
import { Reader } from './parquet.js';

const CHUNK_MAX = 4 << 20;
const PAGE_MAX = 32 << 20;
const CODECS = ['none', 'SNAPPY', 'GZIP', 'LZO', 'BROTLI', 'LZ4', 'ZSTD', 'LZ4_RAW'];
const [BOOLEAN, INT32, INT64, INT96, FLOAT, DOUBLE, BYTE_ARRAY, FIXED] = [0, 1, 2, 3, 4, 5, 6, 7];
const [DATA_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2] = [0, 2, 3];
const [PLAIN, PLAIN_DICTIONARY, RLE, RLE_DICTIONARY] = [0, 2, 3, 8];

/** Snappy's block format. */
export function unsnappy(bytes, size) {
    const out = new Uint8Array(size);
    let at = 0;
    let to = 0;
    while (bytes[at++] >= 128);
    const copy = (length, offset) => {
        if (offset === 0 || offset > to || to + length > size)
            throw new Error('a page is not what Snappy makes');
        for (let i = 0; i < length; i++, to++)
            out[to] = out[to - offset];
    };
    while (at < bytes.length && to < size) {
        const tag = bytes[at++];
        if ((tag & 3) === 0) {
            let length = tag >> 2;
            const extra = length - 59;
            if (extra > 0) {
                length = 0;
                for (let i = 0; i < extra; i++)
                    length += bytes[at++] * 2 ** (8 * i);
            }
            length++;
            if (length > bytes.length - at || length > size - to)
                throw new Error('a page is not what Snappy makes');
            out.set(bytes.subarray(at, at + length), to);
            at += length;
            to += length;
        } else if ((tag & 3) === 1) {
            copy(((tag >> 2) & 7) + 4, ((tag >> 5) << 8) | bytes[at++]);
        } else if ((tag & 3) === 2) {
            copy((tag >> 2) + 1, bytes[at] | (bytes[at + 1] << 8));
            at += 2;
        } else {
            copy((tag >> 2) + 1, (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16)) + bytes[at + 3] * 2 ** 24);
            at += 4;
        }
    }
    return out;
}

async function unpack(bytes, codec, size) {
    if (size > PAGE_MAX)
        throw new Error('their first page is too large');
    if (codec === 0)
        return bytes;
    if (codec === 1)
        return unsnappy(bytes, size);
    if (codec === 2) {
        // Read piece by piece: what unpacks to more than the header says is not read to its end.
        const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip')).getReader();
        const out = new Uint8Array(size);
        for (let to = 0; to < size;) {
            const { value, done } = await reader.read();
            if (done)
                break;
            out.set(value.subarray(0, size - to), to);
            to += value.length;
        }
        await reader.cancel().catch(() => {});
        return out;
    }
    throw new Error(`they are compressed by ${CODECS[codec] ?? 'an unknown method'}`);
}

/** Runs and bit-packed groups of small numbers, `count` of them. */
export function hybrid(bytes, width, count) {
    const out = [];
    const reader = new Reader(bytes);
    while (out.length < count && reader.at < bytes.length) {
        const head = Number(reader.varint());
        if ((head & 1) === 0) {
            let value = 0;
            for (let i = 0; i < Math.ceil(width / 8); i++)
                value += reader.byte() * 2 ** (8 * i);
            for (let left = Math.min(head >>> 1, count - out.length); left > 0; left--)
                out.push(value);
            continue;
        }
        const base = reader.at * 8;
        const many = Math.min((head >>> 1) * 8, count - out.length);
        for (let i = 0; i < many; i++) {
            let value = 0;
            for (let bit = 0; bit < width; bit++) {
                const place = base + i * width + bit;
                value += ((bytes[place >> 3] >> (place & 7)) & 1) * 2 ** bit;
            }
            out.push(value);
        }
        reader.at += (head >>> 1) * width;
    }
    return out;
}

function plain(bytes, column, count) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const out = [];
    let at = 0;
    const take = (size) => {
        if (size > bytes.length - at)
            throw new Error('their first page ends early');
        at += size;
        return at - size;
    };
    for (let i = 0; i < count; i++) {
        switch (column.physical) {
        case BOOLEAN: out.push(((bytes[i >> 3] >> (i & 7)) & 1) === 1); break;
        case INT32: out.push(view.getInt32(take(4), true)); break;
        case INT64: out.push(view.getBigInt64(take(8), true)); break;
        case INT96: take(12); out.push({ nanos: view.getBigUint64(at - 12, true), day: view.getUint32(at - 4, true) }); break;
        case FLOAT: out.push(view.getFloat32(take(4), true)); break;
        case DOUBLE: out.push(view.getFloat64(take(8), true)); break;
        case BYTE_ARRAY: { const size = view.getUint32(take(4), true); out.push(bytes.subarray(take(size), at)); break; }
        case FIXED: out.push(bytes.subarray(take(column.length), at)); break;
        default: throw new Error('their type is not known');
        }
    }
    return out;
}

/** A dictionary; each of its entries takes a byte at least. */
const entries = (bytes, column, count) => plain(bytes, column, Math.min(count, bytes.length));

const iso = (ms) => new Date(ms).toISOString();

/** A decimal's digits with its point; BigInt in. */
function decimal(value, scale) {
    const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0');
    return `${value < 0n ? '-' : ''}${digits.slice(0, digits.length - scale)}${scale > 0 ? `.${digits.slice(-scale)}` : ''}`;
}

function shown(value, column) {
    if (value === null || value === undefined)
        return null;
    if (column.type === 'DECIMAL') {
        const whole = value instanceof Uint8Array ? BigInt.asIntN(value.length * 8, value.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n)) : BigInt(value);
        return decimal(whole, column.scale);
    }
    if (column.type === 'DATE')
        return iso(value * 86400000).slice(0, 10);
    if (column.type === 'TIMESTAMP_MILLIS' || column.type === 'TIMESTAMP_MICROS')
        return iso(Number(column.type === 'TIMESTAMP_MILLIS' ? value : value / 1000n));
    if (column.physical === INT96)
        return iso((value.day - 2440588) * 86400000 + Number(value.nanos / 1000000n));
    if (value instanceof Uint8Array) {
        const hex = () => [...value.subarray(0, 32)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
        try {
            const text = new TextDecoder('utf-8', { fatal: true }).decode(value.subarray(0, 1000));
            return /[\0-\x08\x0e-\x1f]/.test(text) ? hex() : text;
        } catch {
            return hex();
        }
    }
    return String(column.physical === FLOAT ? Number(value.toPrecision(7)) : value);
}

/** The values of a data page, with nulls; null when it is a page of another kind. */
async function page(head, bytes, column, dictionary, count) {
    const second = head[1] === DATA_PAGE_V2;
    const about = second ? head[8] : head[5];
    const levels = second ? (about[5] ?? 0) + (about[6] ?? 0) : 0;
    let body = second && about[7] === false ? bytes.subarray(levels) : await unpack(bytes.subarray(levels), column.codec, head[2] - levels);
    const many = Math.min(about[1], count);
    let present = null;
    if (column.optional) {
        let given = bytes.subarray(about[6] ?? 0, levels);
        if (!second) {
            const size = new DataView(body.buffer, body.byteOffset, 4).getUint32(0, true);
            given = body.subarray(4, 4 + size);
            body = body.subarray(4 + size);
        }
        present = hybrid(given, 1, many);
    }
    const wanted = present === null ? many : present.filter((level) => level === 1).length;
    const encoding = second ? about[4] : about[2];
    let values;
    if (encoding === PLAIN)
        values = plain(body, column, wanted);
    else if ((encoding === PLAIN_DICTIONARY || encoding === RLE_DICTIONARY) && dictionary !== null)
        values = hybrid(body.subarray(1), Math.min(body[0], 32), wanted).map((index) => dictionary[index]);
    else if (encoding === RLE && column.physical === BOOLEAN)
        values = hybrid(body.subarray(4), 1, wanted).map((bit) => bit === 1);
    else
        throw new Error(`their encoding (${encoding}) is not known here`);
    return present === null ? values : present.map((level) => (level === 1 ? values.shift() : null));
}

async function columnRows(column, read, count) {
    if (column.reason)
        throw new Error(column.reason);
    const bytes = await read(column.from, column.from + Math.min(column.bytes, CHUNK_MAX) - 1);
    const out = [];
    let dictionary = null;
    for (let at = 0; out.length < count && at < bytes.length;) {
        const reader = new Reader(bytes.subarray(at));
        const head = reader.struct(0);
        const body = bytes.subarray(at + reader.at, at + reader.at + head[3]);
        if (!(head[3] >= 0) || body.length < head[3])
            throw new Error('their first page is too large');
        if (head[1] === DICTIONARY_PAGE)
            dictionary = entries(await unpack(body, column.codec, head[2]), column, head[7]?.[1] ?? 0);
        else if (head[1] === DATA_PAGE || head[1] === DATA_PAGE_V2)
            out.push(...await page(head, body, column, dictionary, count - out.length));
        at += reader.at + head[3];
    }
    return out.map((value) => shown(value, column));
}

/** Of the first columns: {name, values} or {name, reason}. `read` as in parquetSchema. */
export async function parquetRows(schema, read, { rows = 50, columns = 40 } = {}) {
    const count = Math.min(rows, schema.firstGroupRows ?? 0);
    if (count === 0)
        return [];
    return Promise.all(schema.columns.slice(0, columns).map(async (column) => {
        try {
            return { name: column.name, values: await columnRows(column, read, count) };
        } catch (problem) {
            return { name: column.name, reason: problem.message };
        }
    }));
}
