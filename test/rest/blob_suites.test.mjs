// SPDX-License-Identifier: Apache-2.0
// Blob behaviour that the suites of Azure's SDKs and of Azurite assert, and that recordings of the cloud show.
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

test('an ETag with something behind its closing quote matches nothing', async () => {
    const { etag } = await container.getBlockBlobClient('etag').upload('a', 1);
    assertError(await raw('GET', at('etag'), { headers: { 'If-Match': `${etag}2` } }), 412, 'ConditionNotMet');
    assertError(await put('etag', 'b', { 'If-Match': `${etag}2` }), 412, 'ConditionNotMet');
    assert.equal((await raw('GET', at('etag'), { headers: { 'If-Match': `"x" , ${etag}` } })).status, 200);
    assert.equal((await put('etag', 'b', { 'If-None-Match': `${etag}2` })).status, 201);
});

test('SetBlobProperties and creations keep an MD5 of any length; PutBlob compares it with the content', async () => {
    const four = Buffer.from([1, 2, 3, 4]);
    await container.getBlockBlobClient('md5').upload('a', 1);
    await container.getBlobClient('md5').setHTTPHeaders({ blobContentMD5: four });
    assert.deepEqual(Buffer.from((await container.getBlobClient('md5').getProperties()).contentMD5), four);
    await container.getAppendBlobClient('md5-append').create({ blobHTTPHeaders: { blobContentMD5: four } });
    await container.getPageBlobClient('md5-page').create(512, { blobHTTPHeaders: { blobContentMD5: four } });
    assert.deepEqual(Buffer.from((await container.getBlobClient('md5-page').getProperties()).contentMD5), four);
    assertError(await put('md5', 'a', { 'x-ms-blob-content-md5': 'AQIDBA==' }), 400, 'InvalidMd5');
    assertError(await put('md5', 'a', { 'x-ms-blob-content-md5': 'A'.repeat(88) }), 400, 'InvalidMd5');
    // The MD5 to keep decides, not the one of the transfer.
    assert.equal((await put('md5', 'a', { 'Content-MD5': md5('b'), 'x-ms-blob-content-md5': md5('a') })).status, 201);
    assertError(await put('md5', 'a', { 'Content-MD5': md5('a'), 'x-ms-blob-content-md5': md5('b') }), 400, 'Md5Mismatch');
});

test('SetBlobProperties without any leaves no content type', async () => {
    const blob = container.getBlockBlobClient('bare');
    await blob.upload('a', 1);
    assert.equal((await blob.getProperties()).contentType, 'application/octet-stream');
    await blob.setHTTPHeaders({});
    assert.equal((await blob.getProperties()).contentType, undefined);
    assert.equal((await raw('GET', at('bare'))).bytes.toString(), 'a');
});

test('an error of a HEAD has no content type', async () => {
    const answer = await raw('HEAD', at('never'));
    assert.equal(answer.status, 404);
    assert.equal(answer.headers['x-ms-error-code'], 'BlobNotFound');
    assert.equal(answer.headers['content-type'], undefined);
});

test('GetBlob: the checksum of an open range', async () => {
    await container.getBlockBlobClient('open').upload('abcdef', 6);
    const answer = await raw('GET', at('open'), { headers: { 'x-ms-range': 'bytes=3-', 'x-ms-range-get-content-md5': 'true' } });
    assert.equal(answer.status, 206);
    assert.equal(answer.headers['content-md5'], md5('def'));
    const big = Buffer.alloc((4 << 20) + 1);
    await container.getBlockBlobClient('open').upload(big, big.length);
    const range = (from) => ({ headers: { 'x-ms-range': `bytes=${from}-`, 'x-ms-range-get-content-md5': 'true' } });
    assertError(await raw('GET', at('open'), range(0)), 400, 'OutOfRangeInput');
    assert.equal((await raw('GET', at('open'), range(1))).status, 206);
});

test('a backslash in a name is a slash', async () => {
    const blob = container.getBlockBlobClient('back\\slash\\name');
    await blob.upload('a', 1);
    assert.equal((await container.getBlobClient('back/slash/name').downloadToBuffer()).toString(), 'a');
    const names = [];
    for await (const item of container.listBlobsFlat({ prefix: 'back/' }))
        names.push(item.name);
    assert.deepEqual(names, ['back/slash/name']);
    await blob.delete();
});

test('names of the wrong length are told so', async () => {
    for (const name of ['ab', 'a'.repeat(64)]) {
        const error = await service.getContainerClient(name).create().catch((e) => e);
        assert.equal(error.statusCode, 400);
        assert.match(error.message, /^The specified resource name length is not within the permissible limits\./);
    }
});

test('a preflight without its method says what is missing', async () => {
    const answer = await raw('OPTIONS', '/', { auth: 'none', headers: { Origin: 'https://a.test' } });
    assertError(answer, 400, 'InvalidHeaderValue');
    assert.match(answer.text, /A required CORS header is not present\./);
});

test('conditions by tags: long ones, and characters that no tag can have', async () => {
    const blob = container.getBlockBlobClient('tags');
    await blob.upload('a', 1, { tags: { tag1: 'val1' } });
    let long = "tag1 <> 'v0' ";
    for (let i = 1; i < 700; i++)
        long += `and tag1 <> 'v${i}'`;
    assert.deepEqual((await blob.getTags({ conditions: { tagConditions: long } })).tags, { tag1: 'val1' });
    for (const text of ["tag1='value$$##'", "tag--1='a'", "@container='a'"])
        await assertRejects(blob.getTags({ conditions: { tagConditions: text } }), 400, 'InvalidHeaderValue');
    await assertRejects(blob.getTags({ conditions: { tagConditions: `${'k'.repeat(140)}<>'a'` } }), 412, 'ConditionNotMet');
});

test('FindBlobsByTags tells where a query is none', async () => {
    const find = (where) => service.findBlobsByTags(where).byPage().next();
    for (const [where, text] of [['astring', 'expected an operator'], ["k='@'", 'not permitted in tag name or value'],
        [`${'k'.repeat(129)}='v'`, 'tag must be between 1 and 128 characters'],
        [`k='${'v'.repeat(257)}'`, 'tag value must be between 0 and 256 characters'], ["'k'='v'", 'expected a tag'],
        ["@containers='v'", 'unsupported parameter']]) {
        const error = await find(where).catch((e) => e);
        assert.equal(error.code, 'InvalidQueryParameterValue', where);
        assert.match(error.message, /^Error parsing query at or near character position \d+: /);
        assert.ok(error.message.includes(text), error.message);
    }
    const tags = (count) => Array.from({ length: count }, (_, i) => `k${i}='v'`).join(' and ');
    const many = await find(tags(11)).catch((e) => e);
    assert.equal(many.code, 'InvalidQueryParameterValue');
    assert.match(many.message, /^Error parsing query: there can be at most 10 unique tags in a query/);
    await find(`${tags(10)} and @container='abc'`);
});

test('BreakLease tells the time that is left to the nearest second', async () => {
    const blob = container.getBlockBlobClient('lease');
    await blob.upload('a', 1);
    const lease = blob.getBlobLeaseClient();
    await lease.acquireLease(15);
    assert.equal((await lease.breakLease(3)).leaseTime, 3);
    server.advance(2600);
    const again = await lease.breakLease(3);
    assert.equal(again.leaseTime, 0);
    assert.equal((await blob.getProperties()).leaseState, 'breaking');
});

test('a policy that says nothing has only its id', async () => {
    await container.setAccessPolicy(undefined, [{ id: 'empty', accessPolicy: {} }]);
    const answer = await raw('GET', `/${container.containerName}`, { query: { restype: 'container', comp: 'acl' } });
    assert.match(answer.text, /<SignedIdentifier><Id>empty<\/Id><\/SignedIdentifier>/);
    await container.setAccessPolicy(undefined, []);
});

test('a SAS without a start that is over says so', async () => {
    const url = await container.generateSasUrl({ permissions: 'r', expiresOn: new Date(Date.now() - 86400000) });
    const answer = await raw('GET', `/${container.containerName}`, { query: `restype=container&${new URL(url).search.slice(1)}`, auth: 'none' });
    assertError(answer, 403, 'AuthenticationFailed');
    assert.match(answer.text, /<AuthenticationErrorDetail>Signed expiry time \[.* GMT\] has to be after signed start time \[/);
});

test('a listing tells of uncommitted blobs only what there is', async () => {
    await container.getBlockBlobClient('staged/a').stageBlock(Buffer.from('1').toString('base64'), 'Hello', 5);
    const answer = await raw('GET', `/${container.containerName}`,
        { query: { restype: 'container', comp: 'list', include: 'uncommittedblobs', prefix: 'staged/' } });
    assert.match(answer.text, /<Properties><Content-Length>0<\/Content-Length><BlobType>BlockBlob<\/BlobType><AccessTier>Hot<\/AccessTier>/);
    assert.ok(!answer.text.includes('Content-MD5') && !answer.text.includes('Etag'));
});
