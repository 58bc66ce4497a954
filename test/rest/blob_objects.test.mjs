// SPDX-License-Identifier: Apache-2.0
// Block blobs through the official SDK and through raw requests.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { assertError, assertRejects, startServer, uniqueName } from './lib.mjs';

let server;
let service;
let container;

before(async () => {
    server = await startServer({ inMemory: true, services: ['blob'] });
    service = await server.blobs();
    container = service.getContainerClient(uniqueName('c'));
    await container.create();
});
after(() => server.stop());

const raw = (method, path, options) => server.request('blob', method, path, options);
const at = (name) => `/${container.containerName}/${encodeURIComponent(name)}`;
const md5 = (data) => createHash('md5').update(data).digest('base64');
const put = (name, body, headers = {}) => raw('PUT', at(name), { body, headers: { 'x-ms-blob-type': 'BlockBlob', ...headers } });
const bytes = (n, seed = 1) => Buffer.from(Uint8Array.from({ length: n }, (_, i) => (i * 31 + (i >> 8) + seed) & 255));

test('PutBlob, GetBlob: content of every size', async () => {
    for (const size of [0, 1, 8192, 8193, 1 << 20, (4 << 20) + 1, 9 << 20]) {
        const blob = container.getBlockBlobClient(`size-${size}`);
        const content = bytes(size, size);
        await blob.upload(content, size);
        const back = await raw('GET', at(`size-${size}`));
        assert.equal(back.status, 200);
        assert.ok(back.bytes.equals(content), `size ${size}`);
        assert.equal(back.headers['content-length'], String(size));
    }
});

test('PutBlob: what it answers', async () => {
    const answer = await put('answers', 'hello');
    assert.equal(answer.status, 201);
    assert.match(answer.headers.etag, /^"0x8[0-9A-F]{14}"$/);
    assert.ok(Date.parse(answer.headers['last-modified']) > 0);
    assert.equal(answer.headers['content-md5'], md5('hello'));
    assert.equal(answer.headers['x-ms-request-server-encrypted'], 'true');
    assert.equal(answer.bytes.length, 0);
});

test('PutBlob: checksums are checked', async () => {
    const check = '123456789';
    const crc64 = Buffer.from('8898790a86148bae', 'hex').toString('base64');
    assert.equal((await put('sums', check, { 'Content-MD5': md5(check) })).status, 201);
    const good = await put('sums', check, { 'x-ms-content-crc64': crc64 });
    assert.equal(good.status, 201);
    assert.equal(good.headers['x-ms-content-crc64'], crc64);
    for (const [headers, code] of [[{ 'Content-MD5': md5('other') }, 'Md5Mismatch'], [{ 'Content-MD5': 'short' }, 'InvalidMd5'],
        [{ 'x-ms-content-crc64': 'AAAAAAAAAAA=' }, 'Crc64Mismatch'], [{ 'x-ms-content-crc64': 'AAAA' }, 'InvalidHeaderValue'],
        [{ 'Content-MD5': md5(check), 'x-ms-content-crc64': crc64 }, 'BothCrc64AndMd5HeaderPresent'],
        [{ 'x-ms-blob-content-md5': 'short' }, 'InvalidMd5']])
        assertError(await put('sums', 'other content', headers), 400, code);
    assert.equal((await raw('GET', at('sums'))).text, check);
});

test('PutBlob: properties, both spellings', async () => {
    await put('props', 'x', { 'Content-Type': 'text/a', 'Content-Encoding': 'gzip', 'Content-Language': 'de', 'Cache-Control': 'no-store' });
    let seen = await raw('HEAD', at('props'));
    assert.deepEqual(['content-type', 'content-encoding', 'content-language', 'cache-control'].map((n) => seen.headers[n]),
        ['text/a', 'gzip', 'de', 'no-store']);
    await put('props', 'x', { 'Content-Type': 'text/a', 'x-ms-blob-content-type': 'text/b', 'x-ms-blob-content-disposition': 'inline' });
    seen = await raw('HEAD', at('props'));
    assert.equal(seen.headers['content-type'], 'text/b');
    assert.equal(seen.headers['content-disposition'], 'inline');
    assert.equal(seen.headers['content-encoding'], undefined);
    await put('props', 'x');
    assert.equal((await raw('HEAD', at('props'))).headers['content-type'], 'application/octet-stream');
    assertError(await put('props', 'x', { 'x-ms-blob-content-md5': md5('of something else') }), 400, 'Md5Mismatch');
    assert.equal((await raw('HEAD', at('props'))).headers['content-md5'], md5('x'));
});

test('PutBlob: tier', async () => {
    await put('tier', 'x');
    let seen = await raw('HEAD', at('tier'));
    assert.deepEqual([seen.headers['x-ms-access-tier'], seen.headers['x-ms-access-tier-inferred']], ['Hot', 'true']);
    await put('tier', 'x', { 'x-ms-access-tier': 'Cool' });
    seen = await raw('HEAD', at('tier'));
    assert.deepEqual([seen.headers['x-ms-access-tier'], seen.headers['x-ms-access-tier-inferred']], ['Cool', undefined]);
    assert.ok(seen.headers['x-ms-access-tier-change-time']);
    assertError(await put('tier', 'x', { 'x-ms-access-tier': 'Warm' }), 400, 'InvalidHeaderValue');
});

test('PutBlob: bad requests change nothing', async () => {
    await put('bad', 'kept');
    for (const [headers, status, code] of [[{ 'x-ms-blob-type': undefined }, 400, 'MissingRequiredHeader'],
        [{ 'x-ms-blob-type': 'NoBlob' }, 400, 'InvalidHeaderValue'], [{ 'x-ms-meta-a-b': 'v' }, 400, 'InvalidMetadata'],
        [{ 'x-ms-blob-content-length': '512' }, 400, 'InvalidHeaderValue'],
        [{ 'x-ms-structured-body': 'XSM/1.0; properties=crc64' }, 400, 'MissingRequiredHeader'],
        [{ 'x-ms-structured-body': 'XSM/2.0' }, 400, 'InvalidHeaderValue'],
        [{ 'If-Modified-Since': 'yesterday' }, 400, 'InvalidHeaderValue'], [{ 'x-ms-if-tags': 'a =' }, 400, 'InvalidHeaderValue'],
        [{ 'x-ms-lease-id': 'x' }, 400, 'InvalidHeaderValue'],
        [{ 'Content-Length': String(5001 * 2 ** 20), 'x-ms-version': '2025-11-05' }, 413, 'RequestBodyTooLarge']])
        assertError(await put('bad', 'lost', headers), status, code);
    assertError(await raw('PUT', at('bad'), { query: { snapshot: '2024-01-01T00:00:00.0000000Z' }, body: 'lost', headers: { 'x-ms-blob-type': 'BlockBlob' } }),
        400, 'InvalidQueryParameterValue');
    assertError(await raw('PUT', '/none1/b', { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } }), 404, 'ContainerNotFound');
    assert.equal((await raw('GET', at('bad'))).text, 'kept');
});

test('PutBlob: limits by version', async () => {
    const over = (version, mib) => put('limit', 'x', { 'x-ms-version': version, 'Content-Length': String(mib * 2 ** 20 + 1) });
    assertError(await over('2019-07-07', 256), 413, 'RequestBodyTooLarge');
    assertError(await over('2019-12-12', 5000), 413, 'RequestBodyTooLarge');
});

test('blob names', async () => {
    for (const name of ['a', 'with space', 'ä/ö', '日本語', '😀', 'a//b', 'UPPER', 'x'.repeat(1024), '%', 'a+b', "quote'", 'q?x=1', '#'])
        assert.equal((await container.getBlockBlobClient(name).upload('n', 1))._response.status, 201, name);
    for (const name of ['a', 'with space', 'ä/ö', '😀', '%', 'a+b', 'q?x=1', '#'])
        assert.equal((await container.getBlockBlobClient(name).downloadToBuffer()).toString(), 'n');
    assertError(await put('x'.repeat(1025), 'x'), 400, 'InvalidUri');
    assertError(await raw('PUT', `/${container.containerName}/${'a/'.repeat(254)}b`, { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } }), 400, 'InvalidUri');
    assertError(await put('a\x01', 'x'), 400, 'InvalidResourceName');
});

test('$root: a blob without a container', async () => {
    const path = '/rootblob';
    assertError(await raw('GET', path), 404, 'ContainerNotFound');
    await service.getContainerClient('$root').createIfNotExists();
    assert.equal((await raw('PUT', path, { body: 'r', headers: { 'x-ms-blob-type': 'BlockBlob' } })).status, 201);
    assert.equal((await raw('GET', path)).text, 'r');
    assert.equal((await raw('GET', '/%24root/rootblob')).text, 'r');
    assert.equal((await raw('DELETE', path)).status, 202);
});

test('GetBlob: ranges', async () => {
    const content = bytes(3 << 20);
    await container.getBlockBlobClient('ranges').upload(content, content.length);
    const get = (headers) => raw('GET', at('ranges'), { headers });
    for (const [range, from, to] of [['bytes=0-0', 0, 1], ['bytes=100-199', 100, 200], ['bytes=3145727-', 3145727, 3145728],
        ['bytes=3145700-9999999', 3145700, 3145728], ['bytes=1000-', 1000, 3145728]]) {
        for (const name of ['Range', 'x-ms-range']) {
            const part = await get({ [name]: range });
            assert.equal(part.status, 206);
            assert.equal(part.headers['content-range'], `bytes ${from}-${to - 1}/3145728`);
            assert.ok(part.bytes.equals(content.subarray(from, to)));
            assert.equal(part.headers['content-md5'], undefined);
            assert.equal(part.headers['x-ms-blob-content-md5'], md5(content));
        }
    }
    const own = await get({ Range: 'bytes=0-9', 'x-ms-range': 'bytes=10-19' });
    assert.ok(own.bytes.equals(content.subarray(10, 20)));
    for (const range of ['bytes=-5', 'bytes=5-1', 'bytes=a-b', 'items=0-1', 'bytes=0-1,3-4'])
        assert.equal((await get({ Range: range })).status, 200, range);
    assert.equal((await get({ 'x-ms-range': 'bytes=-1-' })).status, 200);
    assertError(await get({ 'x-ms-range': 'bytes=5-1' }), 400, 'InvalidHeaderValue');
    assertError(await get({ Range: 'bytes=3145728-' }), 416, 'InvalidRange');
    await container.getBlockBlobClient('empty').upload('', 0);
    assertError(await raw('GET', at('empty'), { headers: { Range: 'bytes=0-' } }), 416, 'InvalidRange');
    assert.equal((await raw('GET', at('empty'))).status, 200);
});

test('GetBlob: checksums of ranges', async () => {
    const content = bytes(5 << 20);
    await container.getBlockBlobClient('sums').upload(content, content.length);
    const get = (headers) => raw('GET', at('sums'), { headers });
    const part = await get({ Range: 'bytes=10-1000009', 'x-ms-range-get-content-md5': 'true' });
    assert.equal(part.headers['content-md5'], md5(content.subarray(10, 1000010)));
    assert.ok(part.bytes.equals(content.subarray(10, 1000010)));
    await container.getBlockBlobClient('check').upload('0123456789', 10);
    const crc = await raw('GET', at('check'), { headers: { Range: 'bytes=1-9', 'x-ms-range-get-content-crc64': 'true' } });
    assert.equal(crc.headers['x-ms-content-crc64'], Buffer.from('8898790a86148bae', 'hex').toString('base64'));
    assertError(await get({ 'x-ms-range-get-content-md5': 'true' }), 400, 'InvalidHeaderValue');
    assertError(await get({ Range: 'bytes=0-', 'x-ms-range-get-content-md5': 'true' }), 400, 'OutOfRangeInput');
    assertError(await get({ Range: `bytes=0-${4 << 20}`, 'x-ms-range-get-content-md5': 'true' }), 400, 'OutOfRangeInput');
    assert.equal((await get({ Range: `bytes=0-${(4 << 20) - 1}`, 'x-ms-range-get-content-md5': 'true' })).status, 206);
    assertError(await get({ Range: 'bytes=0-9', 'x-ms-range-get-content-md5': 'true', 'x-ms-range-get-content-crc64': 'true' }), 400, 'BothCrc64AndMd5RangeHeaderPresent');
});

test('GetBlobProperties, GetBlobMetadata', async () => {
    await put('head', 'hello', { 'x-ms-meta-Key': 'Value' });
    const head = await raw('HEAD', at('head'));
    assert.equal(head.status, 200);
    assert.equal(head.headers['content-length'], '5');
    assert.equal(head.headers['content-md5'], md5('hello'));
    assert.equal(head.headers['x-ms-blob-type'], 'BlockBlob');
    assert.equal(head.headers['accept-ranges'], 'bytes');
    assert.equal(head.headers['x-ms-server-encrypted'], 'true');
    assert.equal(head.headers['x-ms-meta-key'], 'Value');
    assert.ok(head.rawHeaders.includes('x-ms-meta-Key'), 'the name as it was sent');
    assert.ok(Date.parse(head.headers['x-ms-creation-time']) > 0);
    for (const method of ['GET', 'HEAD']) {
        const meta = await raw(method, at('head'), { query: { comp: 'metadata' } });
        assert.deepEqual([meta.status, meta.headers['x-ms-meta-key'], meta.headers.etag, meta.bytes.length], [200, 'Value', head.headers.etag, 0]);
    }
    for (const query of ['', 'comp=metadata'])
        assertError(await raw('HEAD', at('none'), { query }), 404, 'BlobNotFound');
});

test('SetBlobProperties: replaced as a set', async () => {
    const blob = container.getBlockBlobClient('setprops');
    await blob.upload('x', 1, { blobHTTPHeaders: { blobContentType: 'a/b', blobCacheControl: 'no-cache' } });
    await blob.setHTTPHeaders({ blobContentLanguage: 'fr', blobContentMD5: createHash('md5').update('y').digest() });
    const seen = await blob.getProperties();
    assert.deepEqual([seen.contentLanguage, seen.cacheControl, seen.contentType], ['fr', undefined, undefined]);
    await assertRejects(container.getBlockBlobClient('none').setHTTPHeaders({}), 404, 'BlobNotFound');
});

test('SetBlobMetadata: replaces all', async () => {
    const blob = container.getBlockBlobClient('setmeta');
    await blob.upload('x', 1, { metadata: { a: '1', b: '2' } });
    await blob.setMetadata({ c: '3' });
    assert.deepEqual((await blob.getProperties()).metadata, { c: '3' });
    assertError(await raw('PUT', at('setmeta'), { query: { comp: 'metadata' }, headers: { 'x-ms-meta-a': 'v'.repeat(8192) } }), 400, 'MetadataTooLarge');
    assert.deepEqual((await blob.getProperties()).metadata, { c: '3' });
});

test('SnapshotBlob: read, list, delete', async () => {
    const blob = container.getBlockBlobClient('snap');
    await blob.upload('one', 3, { metadata: { a: '1' } });
    const first = await blob.createSnapshot();
    assert.match(first.snapshot, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z$/);
    await blob.upload('two', 3);
    const own = await blob.createSnapshot({ metadata: { s: '1' } });
    const old = blob.withSnapshot(first.snapshot);
    assert.equal((await old.downloadToBuffer()).toString(), 'one');
    const seen = await old.getProperties();
    assert.deepEqual([seen.etag, seen.metadata, seen.leaseState], [first.etag, { a: '1' }, undefined]);
    assert.notEqual(own.etag, (await blob.getProperties()).etag);
    const listed = [];
    for await (const item of container.listBlobsFlat({ prefix: 'snap', includeSnapshots: true }))
        listed.push(item.snapshot);
    assert.deepEqual(listed, [first.snapshot, own.snapshot, undefined]);
    assertError(await raw('PUT', at('snap'), { query: { comp: 'metadata', snapshot: first.snapshot } }), 400, 'InvalidQueryParameterValue');
    assertError(await raw('GET', at('snap'), { query: { snapshot: 'x' } }), 400, 'InvalidQueryParameterValue');
    assertError(await raw('GET', at('snap'), { query: { snapshot: '2001-01-01T00:00:00.0000000Z' } }), 404, 'BlobNotFound');
    await assertRejects(blob.delete(), 409, 'SnapshotsPresent');
    assertError(await raw('DELETE', at('snap'), { query: { snapshot: first.snapshot }, headers: { 'x-ms-delete-snapshots': 'only' } }), 400, 'InvalidHeaderValue');
    assertError(await raw('DELETE', at('snap'), { headers: { 'x-ms-delete-snapshots': 'all' } }), 400, 'InvalidHeaderValue');
    await old.delete();
    await blob.delete({ deleteSnapshots: 'only' });
    const gone = await blob.delete();
    assert.deepEqual([gone._response.status, gone._response.headers.get('x-ms-delete-type-permanent')], [202, 'true']);
    await assertRejects(blob.delete(), 404, 'BlobNotFound');
});

test('rule_F3: a long GET of a blob that is replaced and deleted delivers the old content', async () => {
    const content = bytes(24 << 20);
    const blob = container.getBlockBlobClient('long');
    await blob.upload(content, content.length);
    const download = await blob.download();
    const reader = download.readableStreamBody;
    const parts = [];
    for await (const part of reader) {
        if (parts.length === 0) {
            await blob.upload('replaced', 8);
            await blob.delete();
        }
        parts.push(part);
    }
    assert.ok(Buffer.concat(parts).equals(content));
});

test('a body that ends early changes nothing', async () => {
    await put('early', 'kept');
    const net = await import('node:net');
    const socket = net.connect(server.ports.blob, '127.0.0.1');
    socket.write(`PUT /devstoreaccount1${at('early')} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf`);
    socket.destroy();
    assert.equal((await raw('GET', at('early'))).text, 'kept');
});
