// SPDX-License-Identifier: Apache-2.0
// Structured bodies (XSM/1.0) both ways, for blobs and files.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { assertError, startServer } from './lib.mjs';

const STRUCTURED = 'XSM/1.0; properties=crc64';
let server;
before(async () => {
    server = await startServer({ services: ['blob', 'file'] });
    await server.request('blob', 'PUT', '/cont', { query: 'restype=container' });
    await server.request('file', 'PUT', '/share', { query: 'restype=share' });
    const file = { 'x-ms-type': 'file', 'x-ms-content-length': '4096' };
    assert.equal((await server.request('file', 'PUT', '/share/f', { headers: file })).status, 201);
});
after(() => server.stop());

// ---- the framing ----------------------------------------------------------------------------------------------------

const TABLE = Array.from({ length: 256 }, (_, i) => {
    let c = BigInt(i);
    for (let k = 0; k < 8; k++)
        c = (c & 1n) === 1n ? (c >> 1n) ^ 0x9A6C9329AC4BC9B5n : c >> 1n;
    return c;
});

function crc64(bytes) {
    let c = 0xFFFFFFFFFFFFFFFFn;
    for (const byte of bytes)
        c = (c >> 8n) ^ TABLE[Number((c ^ BigInt(byte)) & 0xFFn)];
    return c ^ 0xFFFFFFFFFFFFFFFFn;
}

const u16 = (n) => { const b = Buffer.alloc(2); b.writeUInt16LE(n); return b; };
const u64 = (n) => { const b = Buffer.alloc(8); b.writeBigUInt64LE(BigInt(n)); return b; };

function wrap(content, segment = 1000) {
    const parts = [];
    for (let at = 0; at < content.length || at === 0; at += segment) {
        const part = content.subarray(at, at + segment);
        parts.push(Buffer.concat([u16(parts.length + 1), u64(part.length), part, u64(crc64(part))]));
    }
    const rest = Buffer.concat([...parts, u64(crc64(content))]);
    return Buffer.concat([Buffer.from([1]), u64(13 + rest.length), u16(1), u16(parts.length), rest]);
}

function unwrap(message) {
    assert.equal(message[0], 1);
    assert.equal(Number(message.readBigUInt64LE(1)), message.length);
    assert.equal(message.readUInt16LE(9), 1);
    const count = message.readUInt16LE(11);
    const parts = [];
    let at = 13;
    for (let i = 1; i <= count; i++) {
        assert.equal(message.readUInt16LE(at), i);
        const length = Number(message.readBigUInt64LE(at + 2));
        parts.push(message.subarray(at + 10, at + 10 + length));
        at += 10 + length;
        assert.equal(message.readBigUInt64LE(at), crc64(parts.at(-1)));
        at += 8;
    }
    const content = Buffer.concat(parts);
    assert.equal(message.readBigUInt64LE(at), crc64(content));
    assert.equal(at + 8, message.length);
    return content;
}

const framed = (length, more = {}) =>
    ({ 'x-ms-structured-body': STRUCTURED, 'x-ms-structured-content-length': String(length), ...more });

function upload(path, content, { query = '', headers = {}, body = wrap(content), service = 'blob' } = {}) {
    return server.request(service, 'PUT', path, { query, body, headers: framed(content.length, headers) });
}

const BLOCK = { 'x-ms-blob-type': 'BlockBlob' };

// ---- tests ----------------------------------------------------------------------------------------------------------

test('every upload takes it, and says so', async () => {
    const content = randomBytes(2560);
    const said = (answer) => {
        assert.equal(answer.status, 201, answer.text);
        assert.equal(answer.headers['x-ms-structured-body'], STRUCTURED);
        assert.equal(answer.headers['x-ms-content-crc64'], u64(crc64(content)).toString('base64'));
    };
    said(await upload('/cont/block', content, { headers: BLOCK }));
    said(await upload('/cont/blocks', content, { query: 'comp=block&blockid=AAAA' }));
    await server.request('blob', 'PUT', '/cont/append', { headers: { 'x-ms-blob-type': 'AppendBlob' } });
    said(await upload('/cont/append', content, { query: 'comp=appendblock' }));
    await server.request('blob', 'PUT', '/cont/page',
        { headers: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '5120' } });
    said(await upload('/cont/page', content,
        { query: 'comp=page', headers: { 'x-ms-page-write': 'update', 'x-ms-range': 'bytes=512-3071' } }));
    const range = await upload('/share/f', content,
        { service: 'file', query: 'comp=range', headers: { 'x-ms-write': 'update', 'x-ms-range': 'bytes=10-2569' } });
    assert.equal(range.status, 201, range.text);
    assert.equal(range.headers['x-ms-structured-body'], STRUCTURED);
    for (const [name, from] of [['block', 0], ['append', 0], ['page', 512]]) {
        const plain = await server.request('blob', 'GET', `/cont/${name}`);
        assert.deepEqual(plain.bytes.subarray(from, from + 2560), content);
    }
    const file = await server.request('file', 'GET', '/share/f', { headers: { 'x-ms-structured-body': STRUCTURED } });
    assert.deepEqual(unwrap(file.bytes).subarray(10, 2570), content);
});

test('answers are framed when asked for', async () => {
    const content = Buffer.concat([randomBytes(1 << 20), Buffer.alloc((4 << 20) - 1, 'x'), randomBytes(77)]);
    await server.request('blob', 'PUT', '/cont/large', { headers: BLOCK, body: content });
    const ask = (headers, path = '/cont/large') =>
        server.request('blob', 'GET', path, { headers: { 'x-ms-structured-body': STRUCTURED, ...headers } });
    const whole = await ask({});
    assert.equal(whole.status, 200);
    assert.equal(whole.headers['x-ms-structured-body'], STRUCTURED);
    assert.equal(whole.headers['x-ms-structured-content-length'], String(content.length));
    assert.equal(whole.headers['content-length'], String(13 + 2 * 18 + content.length + 8));
    assert.deepEqual(unwrap(whole.bytes), content);
    const part = await ask({ 'x-ms-range': 'bytes=100-70099' });
    assert.equal(part.status, 206);
    assert.equal(part.headers['content-range'], `bytes 100-70099/${content.length}`);
    assert.deepEqual(unwrap(part.bytes), content.subarray(100, 70100));
    await server.request('blob', 'PUT', '/cont/empty', { headers: BLOCK, body: '' });
    assert.equal(unwrap((await ask({}, '/cont/empty')).bytes).length, 0);
    assertError(await server.request('blob', 'GET', '/cont/large', { headers: { 'x-ms-structured-body': 'XSM/9' } }),
        400, 'InvalidHeaderValue');
    assertError(await ask({}, '/cont/none'), 404, 'BlobNotFound');
});

test('a bad frame or checksum changes nothing', async () => {
    const old = Buffer.from('old');
    await server.request('blob', 'PUT', '/cont/kept', { headers: BLOCK, body: old });
    const content = randomBytes(100000);
    const good = wrap(content, 30000);
    const flip = (at) => { const bytes = Buffer.from(good); bytes[at] ^= 1; return bytes; };
    const put = (body, headers = {}) => upload('/cont/kept', content, { body, headers: { ...BLOCK, ...headers } });
    assertError(await put(flip(0)), 400, 'InvalidInput');
    assertError(await put(flip(1)), 400, 'InvalidInput');
    assertError(await put(flip(9)), 400, 'InvalidInput');
    assertError(await put(flip(11)), 400, 'InvalidInput');
    assertError(await put(flip(13)), 400, 'InvalidInput');
    assertError(await put(flip(20)), 400, 'InvalidInput');
    assertError(await put(flip(50)), 400, 'Crc64Mismatch');
    assertError(await put(flip(good.length - 1)), 400, 'Crc64Mismatch');
    assertError(await put(good.subarray(0, 90000)), 400, 'InvalidInput');
    assertError(await put(Buffer.concat([good, Buffer.from('x')])), 400, 'InvalidInput');
    assertError(await put(''), 400, 'InvalidInput');
    assertError(await put(good, { 'x-ms-structured-content-length': '99999' }), 400, 'InvalidInput');
    assertError(await put(good, { 'x-ms-structured-content-length': undefined }), 400, 'MissingRequiredHeader');
    assertError(await put(good, { 'x-ms-structured-content-length': 'x' }), 400, 'InvalidHeaderValue');
    assertError(await put(good, { 'x-ms-structured-body': 'XSM/1.0; properties=md5' }), 400, 'InvalidHeaderValue');
    assertError(await put(good, { 'x-ms-structured-content-length': String(6000 * 2 ** 20) }), 413, 'RequestBodyTooLarge');
    assertError(await upload('/cont/kept', content, { query: 'comp=block&blockid=AAAA', body: flip(50) }), 400, 'Crc64Mismatch');
    assert.deepEqual((await server.request('blob', 'GET', '/cont/kept')).bytes, old);
    const blocks = await server.request('blob', 'GET', '/cont/kept', { query: 'comp=blocklist&blocklisttype=all' });
    assert.deepEqual(blocks.xml('Name'), []);
    assertError(await upload('/share/f', content.subarray(0, 512), {
        service: 'file', query: 'comp=range', body: wrap(content.subarray(0, 512)).fill(0, 20, 30),
        headers: { 'x-ms-write': 'update', 'x-ms-range': 'bytes=0-511' },
    }), 400, 'Crc64Mismatch');
});
