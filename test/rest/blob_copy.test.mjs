// SPDX-License-Identifier: Apache-2.0
// Copies within one server, through the SDK and by raw requests.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { KEY, assertError, assertRejects, readable, startServer, uniqueName } from './lib.mjs';

const OTHER = { account: 'other', key: KEY };
let server;
let blobs;
let container;
let foreign;
before(async () => {
    const env = { AZURITE_ACCOUNTS: `devstoreaccount1:${KEY};other:${KEY}` };
    server = await startServer({ services: ['blob'], env, args: ['--rehydrate-seconds', '3600'] });
    blobs = await server.blobs();
    container = blobs.getContainerClient('copies');
    await container.create();
    foreign = (await server.blobs(OTHER)).getContainerClient('foreign');
    await foreign.create();
});
after(() => server.stop());

const bytes = (n, seed = 1) => Buffer.from(Array.from({ length: n }, (_, i) => (i * 31 + (i >> 8) + seed) & 255));
const sasOf = (client, permissions) => client.generateSasUrl({
    permissions, expiresOn: new Date(Date.now() + 3600000),
});

async function source(content, options = {}, where = container) {
    const client = where.getBlockBlobClient(uniqueName('src'));
    await client.upload(content, content.length, options);
    return client;
}

async function permissions(text) {
    const { BlobSASPermissions } = await import('@azure/storage-blob');
    return BlobSASPermissions.parse(text);
}

test('Copy Blob: content, properties, metadata and the copy headers', async () => {
    const content = bytes(300000);
    const from = await source(content, {
        blobHTTPHeaders: { blobContentType: 'text/x', blobContentLanguage: 'en', blobCacheControl: 'no-store' },
        metadata: { a: '1' }, tags: { t: 'x' },
    });
    const to = container.getBlobClient(uniqueName('dst'));
    const poller = await to.beginCopyFromURL(from.url);
    const result = await poller.pollUntilDone();
    assert.equal(result.copyStatus, 'success');
    assert.deepEqual(await to.downloadToBuffer(), content);
    const properties = await to.getProperties();
    assert.equal(properties.contentType, 'text/x');
    assert.equal(properties.contentLanguage, 'en');
    assert.equal(properties.cacheControl, 'no-store');
    assert.deepEqual(properties.metadata, { a: '1' });
    assert.equal(properties.copyStatus, 'success');
    assert.equal(properties.copyId, result.copyId);
    assert.equal(properties.copyProgress, '300000/300000');
    assert.equal(properties.copySource, from.url);
    assert.ok(properties.copyCompletedOn instanceof Date);
    assert.equal(properties.tagCount, undefined);
    assert.deepEqual(Buffer.from(properties.contentMD5), createHash('md5').update(content).digest());
    const listed = [];
    for await (const item of container.listBlobsFlat({ includeCopy: true, prefix: to.name }))
        listed.push(item);
    assert.equal(listed[0].properties.copyStatus, 'success');
    assert.equal(listed[0].properties.copySource, from.url);
    // Another write takes the headers away.
    await to.setMetadata({ b: '2' });
    assert.equal((await to.getProperties()).copyId, undefined);
});

test('Copy Blob: metadata, tags and tier of its own; conditions on both sides', async () => {
    const from = await source(Buffer.from('x'), { metadata: { a: '1' }, tags: { t: 'x' } });
    const to = container.getBlobClient(uniqueName('dst'));
    await (await to.beginCopyFromURL(from.url, { metadata: { b: '2' }, tags: { u: 'y' }, tier: 'Cool' })).pollUntilDone();
    const properties = await to.getProperties();
    assert.deepEqual(properties.metadata, { b: '2' });
    assert.equal(properties.accessTier, 'Cool');
    assert.deepEqual((await to.getTags()).tags, { u: 'y' });
    const etag = (await from.getProperties()).etag;
    const start = (options) => to.beginCopyFromURL(from.url, options);
    await start({ sourceConditions: { ifMatch: etag } });
    await start({ sourceConditions: { tagConditions: "t = 'x'" } });
    await assertRejects(start({ sourceConditions: { tagConditions: "t = 'z'" } }), 412, 'ConditionNotMet');
    await assertRejects(start({ sourceConditions: { ifMatch: '"0x1"' } }), 412, 'SourceConditionNotMet');
    await assertRejects(start({ sourceConditions: { ifNoneMatch: etag } }), 412, 'SourceConditionNotMet');
    await assertRejects(start({ sourceConditions: { ifModifiedSince: new Date(Date.now() + 86400000) } }), 412,
        'SourceConditionNotMet');
    await assertRejects(start({ sourceConditions: { ifUnmodifiedSince: new Date(0) } }), 412, 'SourceConditionNotMet');
    await assertRejects(start({ conditions: { ifMatch: '"0x1"' } }), 412, 'ConditionNotMet');
    await assertRejects(start({ conditions: { ifNoneMatch: '*' } }), 409, 'BlobAlreadyExists');
    await assertRejects(start({ conditions: { ifUnmodifiedSince: new Date(0) } }), 412, 'ConditionNotMet');
    await assertRejects(start({ conditions: { tagConditions: "u = 'n'" } }), 412, 'ConditionNotMet');
});

test('Copy Blob: leases of the destination', async () => {
    const from = await source(Buffer.from('x'));
    const to = await source(Buffer.from('old'));
    const lease = to.getBlobLeaseClient();
    await lease.acquireLease(15);
    await assertRejects(to.beginCopyFromURL(from.url), 412, 'LeaseIdMissing');
    await assertRejects(to.beginCopyFromURL(from.url, { conditions: { leaseId: lease.leaseId } }), 412,
        'InfiniteLeaseDurationRequired');
    await lease.releaseLease();
    await lease.acquireLease(-1);
    await to.beginCopyFromURL(from.url, { conditions: { leaseId: lease.leaseId } });
    assert.equal((await to.getProperties()).leaseState, 'leased');
    // A copy that is made at once takes any lease.
    await lease.releaseLease();
    await lease.acquireLease(15);
    await to.syncCopyFromURL(readable(from.url), { conditions: { leaseId: lease.leaseId } });
    await assertRejects(to.syncCopyFromURL(readable(from.url)), 412, 'LeaseIdMissing');
});

test('Copy Blob: snapshots, promotion, page and append blobs', async () => {
    const blob = await source(Buffer.from('first'));
    const snapshot = await blob.createSnapshot();
    await blob.upload('second', 6);
    await (await blob.beginCopyFromURL(blob.withSnapshot(snapshot.snapshot).url)).pollUntilDone();
    assert.equal((await blob.downloadToBuffer()).toString(), 'first');
    assert.match((await blob.getProperties()).copySource, /snapshot=/);

    const page = container.getPageBlobClient(uniqueName('page'));
    await page.create(1 << 30);
    await page.uploadPages(bytes(8192), 512 << 10, 8192);
    await page.uploadPages(bytes(4 << 20, 9), 512 << 20, 4 << 20);
    const copied = container.getPageBlobClient(uniqueName('page'));
    await (await copied.beginCopyFromURL(page.url)).pollUntilDone();
    assert.equal((await copied.getProperties()).contentLength, 1 << 30);
    assert.equal((await copied.getPageRanges()).pageRange.length, 2);
    assert.deepEqual(await copied.downloadToBuffer(512 << 20, 4 << 20), bytes(4 << 20, 9));
    // Neither shows the other's writes.
    await page.clearPages(512 << 10, 8192);
    await copied.uploadPages(bytes(512, 4), 0, 512);
    assert.deepEqual(await copied.downloadToBuffer(512 << 10, 8192), bytes(8192));
    assert.equal((await page.downloadToBuffer(0, 1))[0], 0);

    const log = container.getAppendBlobClient(uniqueName('log'));
    await log.create();
    await log.appendBlock('abc', 3);
    const log2 = container.getAppendBlobClient(uniqueName('log'));
    await (await log2.beginCopyFromURL(log.url, { sealBlob: true })).pollUntilDone();
    assert.equal((await log2.getProperties()).isSealed, true);
    await assertRejects(blob.beginCopyFromURL(log.url), 409, 'InvalidBlobType');
});

test('Copy Blob: archived sources come back in the copy', async () => {
    const from = await source(Buffer.from('cold'));
    await from.setAccessTier('Archive');
    const to = container.getBlobClient(uniqueName('dst'));
    await assertRejects(to.beginCopyFromURL(from.url), 409, 'BlobArchived');
    await assertRejects(to.syncCopyFromURL(readable(from.url)), 409, 'BlobArchived');
    await to.beginCopyFromURL(from.url, { tier: 'Hot', rehydratePriority: 'High' });
    const properties = await to.getProperties();
    assert.equal(properties.archiveStatus, 'rehydrate-pending-to-hot');
    assert.equal(properties.rehydratePriority, 'High');
    await assertRejects(to.download(), 409, 'BlobBeingRehydrated');
});

test('sources of another account want a SAS or public access', async () => {
    const content = bytes(100000, 5);
    const from = await source(content, {}, foreign);
    const to = container.getBlockBlobClient(uniqueName('dst'));
    const refused = await to.beginCopyFromURL(from.url).catch((error) => error);
    assert.equal(refused.statusCode, 401);
    assert.equal(refused.code, 'CannotVerifyCopySource');
    assert.equal(refused.response.headers.get('x-ms-copy-source-status-code'), '401');
    const url = await sasOf(from, await permissions('r'));
    await (await to.beginCopyFromURL(url)).pollUntilDone();
    assert.deepEqual(await to.downloadToBuffer(), content);
    // The signature is not told on.
    assert.equal((await to.getProperties()).copySource, from.url);
    await assertRejects(to.beginCopyFromURL(await sasOf(from, await permissions('w'))), 403, 'CannotVerifyCopySource');
    await assertRejects(to.beginCopyFromURL(`${url}x`), 403, 'CannotVerifyCopySource');
    await foreign.setAccessPolicy('blob');
    await (await to.beginCopyFromURL(from.url)).pollUntilDone();
    await foreign.setAccessPolicy();
});

test('what is wrong with a source', async () => {
    const to = container.getBlobClient(uniqueName('dst'));
    const absent = await to.beginCopyFromURL(container.getBlobClient('absent').url).catch((error) => error);
    assert.equal(absent.statusCode, 404);
    assert.equal(absent.code, 'CannotVerifyCopySource');
    assert.equal(absent.response.headers.get('x-ms-copy-source-error-code'), 'BlobNotFound');
    const put = (headers) => server.request('blob', 'PUT', `/copies/${to.name}`, { headers });
    assertError(await put({ 'x-ms-copy-source': 'ftp://x/y' }), 400, 'InvalidHeaderValue');
    assertError(await put({ 'x-ms-copy-source': 'nonsense' }), 400, 'InvalidHeaderValue');
    assertError(await put({ 'x-ms-copy-source': `${container.url}/${'x'.repeat(2100)}` }), 400, 'InvalidHeaderValue');
    assertError(await put({ 'x-ms-copy-source': 'http://192.0.2.1/a/b/c' }), 403, 'CannotVerifyCopySource');
    assertError(await put({ 'x-ms-copy-source': container.getBlobClient('a').url, 'x-ms-source-if-match': '*' }), 404,
        'CannotVerifyCopySource');
    for (const query of ['snapshot=never', 'snapshot=', 'versionid='])
        assertError(await put({ 'x-ms-copy-source': `${container.url}/a?${query}` }), 400, 'InvalidHeaderValue');
    assert.equal(await to.exists(), false);
});

test('credentials for HTTPS only are not taken over HTTP, however the source is written', async () => {
    const { SASProtocol } = await import('@azure/storage-blob');
    const from = await source(Buffer.from('x'), {}, foreign);
    const sas = await from.generateSasUrl({
        permissions: await permissions('r'), protocol: SASProtocol.Https, expiresOn: new Date(Date.now() + 3600000),
    });
    const https = (url) => url.replace('http:', 'https:');
    for (const url of [sas, https(sas), https(sas).replace(/[^/]*\/other/, 'other.blob.core.windows.net')])
        for (const kind of [{}, { 'x-ms-requires-sync': 'true' }, { 'x-ms-blob-type': 'BlockBlob' }]) {
            const headers = { 'x-ms-copy-source': url, ...kind };
            assertError(await server.request('blob', 'PUT', '/copies/never', { headers }), 403, 'CannotVerifyCopySource');
        }
    for (const url of [from.url, https(from.url), 'https://192.0.2.1/a/b'])
        assertError(await server.request('blob', 'PUT', '/copies/never', {
            headers: { 'x-ms-copy-source': url, 'x-ms-requires-sync': 'true', 'x-ms-copy-source-authorization': 'Bearer x' },
        }), 403, 'CannotVerifyCopySource');
    assert.equal(await container.getBlobClient('never').exists(), false);
});

test('Abort Copy Blob', async () => {
    const from = await source(Buffer.from('x'));
    const to = container.getBlobClient(uniqueName('dst'));
    const result = await (await to.beginCopyFromURL(from.url)).pollUntilDone();
    await assertRejects(to.abortCopyFromURL(result.copyId), 409, 'NoPendingCopyOperation');
    await assertRejects(to.abortCopyFromURL('nonsense'), 400, 'InvalidQueryParameterValue');
    await assertRejects(container.getBlobClient('absent').abortCopyFromURL(result.copyId), 404, 'BlobNotFound');
});

test('Incremental Copy Blob', async () => {
    const from = container.getPageBlobClient(uniqueName('disk'));
    await from.create(16 << 20);
    await from.uploadPages(bytes(4096, 1), 0, 4096);
    await from.uploadPages(bytes(65536, 2), 8 << 20, 65536);
    const snap = async () => from.withSnapshot((await from.createSnapshot()).snapshot);
    const first = await snap();
    const to = container.getPageBlobClient(uniqueName('follow'));
    await assertRejects(to.startCopyIncremental(from.url), 409, 'IncrementalCopySourceMustBeSnapshot');
    const started = await to.startCopyIncremental(first.url);
    assert.equal(started.copyStatus, 'success');
    const properties = await to.getProperties();
    assert.equal(properties.isIncrementalCopy, true);
    assert.equal(properties.copyStatus, 'success');
    const one = to.withSnapshot(properties.destinationSnapshot);
    assert.deepEqual(await one.downloadToBuffer(0, 4096), bytes(4096, 1));
    // The blob itself is neither read nor written.
    await assertRejects(to.download(), 409, 'OperationNotAllowedOnIncrementalCopyBlob');
    await assertRejects(to.uploadPages(bytes(512), 0, 512), 409, 'OperationNotAllowedOnIncrementalCopyBlob');
    await assertRejects(to.setMetadata({}), 409, 'OperationNotAllowedOnIncrementalCopyBlob');
    // The next copy brings what has changed, clears and sizes included.
    await from.uploadPages(bytes(512, 3), 1024, 512);
    await from.clearPages(8 << 20, 32768);
    await from.resize(9 << 20);
    const second = await snap();
    await to.startCopyIncremental(second.url);
    const two = to.withSnapshot((await to.getProperties()).destinationSnapshot);
    assert.deepEqual(await two.downloadToBuffer(), await second.downloadToBuffer());
    assert.deepEqual(await one.downloadToBuffer(), await first.downloadToBuffer());
    const ranges = await two.getPageRangesDiff(0, 9 << 20, properties.destinationSnapshot);
    assert.deepEqual(ranges.pageRange, [{ offset: 1024, count: 511 }]);
    assert.deepEqual(ranges.clearRange, [{ offset: 8 << 20, count: 32767 }]);
    await assertRejects(to.startCopyIncremental(first.url), 409, 'IncrementalCopyOfEarlierSnapshotNotAllowed');
    await assertRejects(to.startCopyIncremental(second.url), 409, 'IncrementalCopyOfEarlierSnapshotNotAllowed');
    const other = container.getPageBlobClient(uniqueName('disk'));
    await other.create(512);
    const foreignSnapshot = other.withSnapshot((await other.createSnapshot()).snapshot);
    await assertRejects(to.startCopyIncremental(foreignSnapshot.url), 409, 'IncrementalCopyBlobMismatch');
    await assertRejects(other.startCopyIncremental(second.url), 409, 'IncrementalCopyBlobMismatch');
    const block = await source(Buffer.from('x'));
    const blockSnapshot = block.withSnapshot((await block.createSnapshot()).snapshot);
    await assertRejects(container.getPageBlobClient('new').startCopyIncremental(blockSnapshot.url), 409,
        'InvalidSourceBlobType');
    await assertRejects(to.startCopyIncremental((await snap()).url, { conditions: { ifMatch: '"0x1"' } }), 412,
        'ConditionNotMet');
    await to.delete({ deleteSnapshots: 'include' });
});

test('CopyBlobFromURL', async () => {
    const content = bytes(70000, 3);
    const from = await source(content, { metadata: { a: '1' }, tags: { t: 'x' } });
    const to = container.getBlockBlobClient(uniqueName('dst'));
    const md5 = createHash('md5').update(content).digest();
    const result = await to.syncCopyFromURL(readable(from.url), { sourceContentMD5: md5, copySourceTags: 'COPY' });
    assert.equal(result.copyStatus, 'success');
    assert.deepEqual(Buffer.from(result.contentMD5), md5);
    assert.deepEqual(await to.downloadToBuffer(), content);
    assert.deepEqual((await to.getTags()).tags, { t: 'x' });
    const properties = await to.getProperties();
    assert.deepEqual(properties.metadata, { a: '1' });
    assert.equal(properties.copyStatus, 'success');
    await assertRejects(to.syncCopyFromURL(readable(from.url), { sourceContentMD5: Buffer.alloc(16) }), 400, 'Md5Mismatch');
    await assertRejects(to.syncCopyFromURL(readable(from.url), { sourceConditions: { ifMatch: '"0x1"' } }), 412,
        'SourceConditionNotMet');
    // Whatever it is made of, it is a block blob.
    const page = container.getPageBlobClient(uniqueName('page'));
    await page.create(4096);
    await page.uploadPages(bytes(512), 512, 512);
    await to.syncCopyFromURL(readable(page.url));
    assert.equal((await to.getProperties()).blobType, 'BlockBlob');
    assert.deepEqual(await to.downloadToBuffer(), Buffer.concat([Buffer.alloc(512), bytes(512), Buffer.alloc(3072)]));
});

test('PutBlobFromURL', async () => {
    const content = bytes(70000, 3);
    const from = await source(content, {
        blobHTTPHeaders: { blobContentType: 'text/x', blobContentLanguage: 'en' }, tags: { t: 'x' },
    });
    const to = container.getBlockBlobClient(uniqueName('dst'));
    await to.syncUploadFromURL(readable(from.url), { blobHTTPHeaders: { blobContentType: 'text/y' }, metadata: { m: '1' } });
    assert.deepEqual(await to.downloadToBuffer(), content);
    let properties = await to.getProperties();
    assert.equal(properties.contentType, 'text/y');
    assert.equal(properties.contentLanguage, 'en');
    assert.deepEqual(properties.metadata, { m: '1' });
    assert.equal(properties.copyId, undefined);
    await to.syncUploadFromURL(readable(from.url), { copySourceBlobProperties: false, copySourceTags: 'COPY', tier: 'Cool' });
    properties = await to.getProperties();
    assert.equal(properties.contentType, 'application/octet-stream');
    assert.equal(properties.accessTier, 'Cool');
    assert.deepEqual((await to.getTags()).tags, { t: 'x' });
    const put = (options) => to.syncUploadFromURL(readable(from.url), options);
    await assertRejects(put({ conditions: { ifMatch: '"0x1"' } }), 412, 'TargetConditionNotMet');
    await assertRejects(put({ conditions: { ifNoneMatch: '*' } }), 409, 'BlobAlreadyExists');
    await assertRejects(put({ conditions: { ifUnmodifiedSince: new Date(0) } }), 412, 'ConditionNotMet');
    await assertRejects(put({ sourceConditions: { ifMatch: '"0x1"' } }), 412, 'SourceConditionNotMet');
    await assertRejects(put({ sourceConditions: { ifUnmodifiedSince: new Date(0) } }), 412, 'CannotVerifyCopySource');
    await assertRejects(put({ sourceContentMD5: Buffer.alloc(16) }), 400, 'Md5Mismatch');
    const lease = to.getBlobLeaseClient();
    await lease.acquireLease(15);
    await assertRejects(put({ conditions: { leaseId: '9260fd2d-34c1-42b5-9217-8fb7c6484bfb' } }), 412,
        'LeaseIdMismatchWithBlobOperation');
    await put({ conditions: { leaseId: lease.leaseId } });
});

test('PutBlockFromURL', async () => {
    const content = bytes(9 << 20, 3);
    const from = await source(content);
    const to = container.getBlockBlobClient(uniqueName('dst'));
    const id = (n) => Buffer.from(`block-${n}`).toString('base64');
    await to.stageBlockFromURL(id(0), readable(from.url));
    await to.stageBlockFromURL(id(1), readable(from.url), 5 << 20, 1 << 20);
    await to.stageBlockFromURL(id(2), readable(from.url), 100, 200);
    await to.commitBlockList([id(0), id(1), id(2)]);
    const wanted = Buffer.concat([content, content.subarray(5 << 20, 6 << 20), content.subarray(100, 300)]);
    assert.ok((await to.downloadToBuffer()).equals(wanted));
    await from.delete();
    assert.ok((await to.downloadToBuffer()).equals(wanted));
    await assertRejects(to.stageBlockFromURL(id(3), readable(from.url)), 404, 'CannotVerifyCopySource');
    await assertRejects(to.stageBlockFromURL(id(3), readable(to.url), 1 << 30, 10), 416, 'InvalidRange');
    await assertRejects(to.stageBlockFromURL(id(3), readable(to.url), 0, 10, { sourceContentMD5: Buffer.alloc(16) }), 400,
        'Md5Mismatch');
    await assertRejects(to.stageBlockFromURL(id(3), readable(to.url), 0, 10, { sourceContentCrc64: Buffer.alloc(8, 1) }), 400,
        'Crc64Mismatch');
    const put = (headers) => server.request('blob', 'PUT', `/copies/${to.name}`, {
        query: { comp: 'block', blockid: id(3) }, headers: { 'x-ms-copy-source': readable(to.url), ...headers },
    });
    assertError(await put({ 'x-ms-source-if-match': '"0x1"' }), 412, 'SourceConditionNotMet');
    assertError(await put({ 'x-ms-source-if-tags': "a='b'" }), 400, 'ConditionHeadersNotSupported');
    assertError(await put({ 'x-ms-source-range': 'bytes=9-1' }), 400, 'InvalidHeaderValue');
    assertError(await put({ 'If-Match': '*' }), 400, 'ConditionHeadersNotSupported');
    assertError(await put({ 'x-ms-lease-id': '9260fd2d-34c1-42b5-9217-8fb7c6484bfb' }), 412,
        'LeaseNotPresentWithBlobOperation');
    assert.equal((await put({})).status, 201);
});

test('AppendBlockFromURL', async () => {
    const content = bytes(100000, 3);
    const from = await source(content);
    const to = container.getAppendBlobClient(uniqueName('log'));
    await to.create();
    const first = await to.appendBlockFromURL(readable(from.url), 0, 100000);
    assert.equal(first.blobAppendOffset, '0');
    const second = await to.appendBlockFromURL(readable(from.url), 10, 20);
    assert.equal(second.blobAppendOffset, '100000');
    assert.equal(second.blobCommittedBlockCount, 2);
    assert.deepEqual(await to.downloadToBuffer(), Buffer.concat([content, content.subarray(10, 30)]));
    await assertRejects(to.appendBlockFromURL(readable(from.url), 0, 10, { conditions: { appendPosition: 5 } }), 412,
        'AppendPositionConditionNotMet');
    await assertRejects(to.appendBlockFromURL(readable(from.url), 0, 10, { conditions: { maxSize: 5 } }), 412,
        'MaxBlobSizeConditionNotMet');
    await assertRejects(to.appendBlockFromURL(readable(from.url), 0, 10, { conditions: { ifMatch: '"0x1"' } }), 412,
        'ConditionNotMet');
    await assertRejects(to.appendBlockFromURL(readable(from.url), 0, 10, { sourceConditions: { ifNoneMatch: '*' } }), 400,
        'UnsatisfiableCondition');
});

test('PutPageFromURL', async () => {
    const content = bytes(8192, 3);
    const from = await source(content);
    const to = container.getPageBlobClient(uniqueName('page'));
    await to.create(1 << 20, { blobSequenceNumber: 5 });
    await to.uploadPagesFromURL(readable(from.url), 512, 1024, 4096);
    assert.deepEqual(await to.downloadToBuffer(1024, 4096), content.subarray(512, 4608));
    const put = (options, offset = 0) => to.uploadPagesFromURL(readable(from.url), 0, offset, 512, options);
    await assertRejects(put({ conditions: { ifSequenceNumberLessThan: 5 } }), 412, 'SequenceNumberConditionNotMet');
    await assertRejects(put({ conditions: { ifMatch: '"0x1"' } }), 412, 'ConditionNotMet');
    await assertRejects(put({ sourceConditions: { ifMatch: '"0x1"' } }), 412, 'SourceConditionNotMet');
    await assertRejects(put({ sourceContentMD5: Buffer.alloc(16) }), 400, 'Md5Mismatch');
    await assertRejects(put({}, 1 << 20), 416, 'InvalidPageRange');
    await assertRejects(to.uploadPagesFromURL(readable(from.url), 8000, 0, 512), 416, 'InvalidRange');
    const lease = to.getBlobLeaseClient();
    await lease.acquireLease(15);
    await assertRejects(put({}), 412, 'LeaseIdMissing');
    await put({ conditions: { leaseId: lease.leaseId } });
});

test('a SAS that may only create does not overwrite by copying', async () => {
    const from = await source(Buffer.from('x'));
    const { BlockBlobClient } = await import('@azure/storage-blob');
    const name = uniqueName('dst');
    const url = await sasOf(container.getBlobClient(name), await permissions('c'));
    const create = new BlockBlobClient(url);
    await create.syncCopyFromURL(readable(from.url));
    await assertRejects(create.syncCopyFromURL(readable(from.url)), 403, 'UnauthorizedBlobOverwrite');
    // The request's SAS says nothing of the source.
    await assertRejects(create.syncCopyFromURL(from.url), 401, 'CannotVerifyCopySource');
});

test('From URL: but for a copy, the account key signs for the destination alone, also within one account', async () => {
    const from = await source(bytes(1024));
    const to = container.getBlockBlobClient(uniqueName('dst'));
    const log = container.getAppendBlobClient(uniqueName('log'));
    const page = container.getPageBlobClient(uniqueName('page'));
    await log.create();
    await page.create(1024);
    for (const copy of [
        (url) => to.syncUploadFromURL(url), (url) => to.stageBlockFromURL('MQ==', url),
        (url) => log.appendBlockFromURL(url, 0, 512), (url) => page.uploadPagesFromURL(url, 0, 0, 512),
    ]) {
        const error = await copy(from.url).catch((refused) => refused);
        assert.equal(error.statusCode, 401);
        assert.equal(error.code, 'CannotVerifyCopySource');
        assert.equal(error.response.headers.get('x-ms-copy-source-status-code'), '401');
        assert.equal(error.response.headers.get('x-ms-copy-source-error-code'), 'NoAuthenticationInformation');
        const wrong = await copy(await sasOf(from, await permissions('d'))).catch((refused) => refused);
        assert.equal(Number(wrong.details.copySourceStatusCode), 403);
        assert.equal(wrong.details.copySourceErrorCode, 'AuthorizationPermissionMismatch');
        assert.equal(wrong.details.copySourceErrorMessage,
            'This request is not authorized to perform this operation using this permission.');
        await copy(readable(from.url));
    }
    await (await to.beginCopyFromURL(from.url)).pollUntilDone();
    await to.syncCopyFromURL(from.url);
    await assertRejects(to.syncCopyFromURL(await sasOf(from, await permissions('d'))), 403, 'CannotVerifyCopySource');
});
