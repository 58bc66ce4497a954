// SPDX-License-Identifier: Apache-2.0
// Blocks through the official SDK and through raw requests.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { assertError, assertRejects, startServer, uniqueName } from './lib.mjs';

let server;
let container;

before(async () => {
    server = await startServer({ inMemory: true, services: ['blob'] });
    container = (await server.blobs()).getContainerClient(uniqueName('c'));
    await container.create();
});
after(() => server.stop());

const raw = (method, path, options) => server.request('blob', method, path, options);
const at = (name) => `/${container.containerName}/${name}`;
const id = (n) => Buffer.from(String(n).padStart(6, '0')).toString('base64');
const md5 = (data) => createHash('md5').update(data).digest('base64');
const stage = (name, blockid, body, headers = {}) => raw('PUT', at(name), { query: { comp: 'block', blockid }, body, headers });
const commit = (name, inner, headers = {}) =>
    raw('PUT', at(name), { query: { comp: 'blocklist' }, body: `<?xml version="1.0" encoding="utf-8"?><BlockList>${inner}</BlockList>`, headers });
const text = async (name) => (await raw('GET', at(name))).text;

test('PutBlock, PutBlockList, GetBlockList: a blob of blocks', async () => {
    const blob = container.getBlockBlobClient('made');
    const parts = [Buffer.alloc(100, 'a'), Buffer.alloc(5 << 20, 'b'), Buffer.alloc(300, 'c')];
    for (const [i, part] of parts.entries())
        await blob.stageBlock(id(i), part, part.length);
    await assertRejects(blob.getProperties(), 404, 'BlobNotFound');
    const staged = await blob.getBlockList('all');
    assert.deepEqual(staged.uncommittedBlocks.map((b) => [b.name, b.size]), parts.map((p, i) => [id(i), p.length]));
    assert.deepEqual([staged.committedBlocks, staged.etag, staged.lastModified], [[], undefined, undefined]);
    const done = await blob.commitBlockList([id(2), id(0), id(1)], { metadata: { m: '1' }, blobHTTPHeaders: { blobContentType: 'x/y' } });
    assert.equal(done._response.status, 201);
    assert.ok((await blob.downloadToBuffer()).equals(Buffer.concat([parts[2], parts[0], parts[1]])));
    const listed = await blob.getBlockList('all');
    assert.deepEqual(listed.committedBlocks.map((b) => b.name), [id(2), id(0), id(1)]);
    assert.deepEqual([listed.uncommittedBlocks, listed.etag, listed.blobContentLength], [[], done.etag, 400 + (5 << 20)]);
    const seen = await blob.getProperties();
    assert.deepEqual([seen.metadata, seen.contentType, seen.contentMD5], [{ m: '1' }, 'x/y', undefined]);
});

test('the SDK uploads a large blob in blocks', async () => {
    const content = Buffer.alloc(20 << 20);
    for (let i = 0; i < content.length; i += 997)
        content[i] = i & 255;
    const blob = container.getBlockBlobClient('parallel');
    await blob.uploadData(content, { blockSize: 1 << 20, maxSingleShotSize: 1 << 20, concurrency: 8 });
    assert.ok((await blob.downloadToBuffer(0, undefined, { blockSize: 3 << 20, concurrency: 4 })).equals(content));
});

test('PutBlock: what it answers and checks', async () => {
    const plain = await stage('answers', id(1), 'hello');
    assert.deepEqual([plain.status, plain.headers['content-md5'], plain.headers.etag, plain.headers['x-ms-request-server-encrypted']],
        [201, undefined, undefined, 'true']);
    assert.ok(plain.headers['x-ms-content-crc64']);
    const summed = await stage('answers', id(1), 'hello', { 'Content-MD5': md5('hello') });
    assert.deepEqual([summed.headers['content-md5'], summed.headers['x-ms-content-crc64']], [md5('hello'), undefined]);
    assertError(await stage('answers', id(1), 'other', { 'Content-MD5': md5('hello') }), 400, 'Md5Mismatch');
    assertError(await stage('answers', id(1), 'other', { 'x-ms-content-crc64': 'AAAAAAAAAAA=' }), 400, 'Crc64Mismatch');
    assertError(await stage('answers', id(1), ''), 400, 'InvalidHeaderValue');
    assertError(await stage('answers', 'not base64!', 'x'), 400, 'InvalidQueryParameterValue');
    assertError(await stage('answers', Buffer.alloc(65).toString('base64'), 'x'), 400, 'InvalidQueryParameterValue');
    assertError(await raw('PUT', at('answers'), { query: { comp: 'block' }, body: 'x' }), 400, 'MissingRequiredQueryParameter');
    assertError(await stage('answers', Buffer.from('short').toString('base64'), 'x'), 400, 'InvalidBlobOrBlock');
    assertError(await stage('answers', id(1), 'x', { 'If-Match': '*' }), 400, 'ConditionHeadersNotSupported');
    assertError(await stage('answers', id(1), 'x', { 'x-ms-version': '2019-07-07', 'Content-Length': String((100 << 20) + 1) }), 413, 'RequestBodyTooLarge');
    await commit('answers', `<Latest>${id(1)}</Latest>`);
    assert.equal(await text('answers'), 'hello');
});

test('PutBlock does not touch the blob', async () => {
    const blob = container.getBlockBlobClient('untouched');
    await blob.upload('x', 1);
    const before = await blob.getProperties();
    await blob.stageBlock(id(1), 'y', 1);
    const now = await blob.getProperties();
    assert.deepEqual([now.etag, now.lastModified], [before.etag, before.lastModified]);
    assert.equal(await text('untouched'), 'x');
    await blob.upload('z', 1);
    assert.deepEqual((await blob.getBlockList('uncommitted')).uncommittedBlocks, []);
});

test('PutBlockList: where blocks are looked for', async () => {
    await stage('places', id(1), 'one');
    await commit('places', `<Latest>${id(1)}</Latest>`);
    await stage('places', id(1), 'two');
    assertError(await commit('places', `<Uncommitted>${id(2)}</Uncommitted>`), 400, 'InvalidBlockList');
    assertError(await commit('places', `<Committed>${id(1)}</Committed><Uncommitted>${id(1)}</Uncommitted>`), 400, 'InvalidBlockList');
    assert.equal(await text('places'), 'one');
    await commit('places', `<Committed>${id(1)}</Committed><Committed>${id(1)}</Committed>`);
    assert.equal(await text('places'), 'oneone');
    assertError(await commit('places', `<Uncommitted>${id(1)}</Uncommitted>`), 400, 'InvalidBlockList');
    await stage('places', id(1), 'two');
    await commit('places', `<Latest>${id(1)}</Latest><Latest>${id(1)}</Latest>`);
    assert.equal(await text('places'), 'twotwo');
    await commit('places', '');
    assert.equal((await raw('HEAD', at('places'))).headers['content-length'], '0');
});

test('PutBlockList: bad bodies change nothing', async () => {
    await stage('bodies', id(1), 'kept');
    await commit('bodies', `<Latest>${id(1)}</Latest>`);
    const put = (body, headers) => raw('PUT', at('bodies'), { query: { comp: 'blocklist' }, body, headers });
    assertError(await put('<BlockList>'), 400, 'InvalidXmlDocument');
    assertError(await put(''), 400, 'InvalidXmlDocument');
    assertError(await put('<Other/>'), 400, 'InvalidXmlDocument');
    assertError(await put(`<BlockList><Other>${id(1)}</Other></BlockList>`), 400, 'InvalidXmlDocument');
    assertError(await put('<BlockList><Latest>!</Latest></BlockList>'), 400, 'InvalidBlockList');
    assertError(await put(`<BlockList>${`<Latest>${id(1)}</Latest>`.repeat(50001)}</BlockList>`), 400, 'BlockListTooLong');
    assertError(await put('<BlockList/>', { 'Content-MD5': md5('other') }), 400, 'Md5Mismatch');
    assert.equal(await text('bodies'), 'kept');
});

test('PutBlockList: 50,000 blocks', async () => {
    await stage('many', id(1), 'ab');
    const put = await commit('many', `<Latest>${id(1)}</Latest>`.repeat(50000));
    assert.equal(put.status, 201);
    const seen = await raw('GET', at('many'));
    assert.equal(seen.text, 'ab'.repeat(50000));
    assert.equal((await raw('GET', at('many'), { query: { comp: 'blocklist' } })).xml('Size').length, 50000);
    const part = await raw('GET', at('many'), { headers: { Range: 'bytes=70001-70004' } });
    assert.equal(part.text, 'baba');
});

test('PutBlockList: the answer\'s checksums are of the list', async () => {
    const body = '<BlockList/>';
    const put = (headers) => raw('PUT', at('sums'), { query: { comp: 'blocklist' }, body, headers });
    assert.ok((await put({})).headers['x-ms-content-crc64']);
    assert.equal((await put({ 'Content-MD5': md5(body) })).headers['content-md5'], md5(body));
});

test('GetBlockList: types', async () => {
    await stage('types', id(1), 'one');
    await commit('types', `<Latest>${id(1)}</Latest>`);
    await stage('types', id(2), 'four');
    const list = (blocklisttype) => raw('GET', at('types'), { query: { comp: 'blocklist', blocklisttype } });
    assert.deepEqual((await list()).xml('Name'), [id(1)]);
    assert.deepEqual((await list('committed')).xml('Name'), [id(1)]);
    assert.deepEqual((await list('uncommitted')).xml('Size'), ['4']);
    assert.deepEqual((await list('ALL')).xml('Name'), [id(1), id(2)]);
    assertError(await list('some'), 400, 'InvalidQueryParameterValue');
    assertError(await raw('GET', at('none'), { query: { comp: 'blocklist' } }), 404, 'BlobNotFound');
});

test('uncommitted blocks go after a week', async () => {
    await stage('week', id(1), 'x');
    server.advance(8 * 86400 * 1000);
    // The sweeper comes round every second or so.
    for (let i = 0; i < 100 && (await raw('GET', at('week'), { query: { comp: 'blocklist', blocklisttype: 'all' } })).status !== 404; i++)
        await new Promise((done) => setTimeout(done, 100));
    assertError(await raw('GET', at('week'), { query: { comp: 'blocklist' } }), 404, 'BlobNotFound');
});
