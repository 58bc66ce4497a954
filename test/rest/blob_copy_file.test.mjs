// SPDX-License-Identifier: Apache-2.0
// Blobs copied from files of this server: by the account's key, by a SAS, from a share's snapshot.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { assertRejects, fileShareSdk, readable, startServer, uniqueName } from './lib.mjs';

let server;
let container;
let share;
before(async () => {
    server = await startServer({ services: ['blob', 'file'] });
    container = (await server.blobs()).getContainerClient('copies');
    await container.create();
    share = (await server.shares()).getShareClient('files');
    await share.create();
});
after(() => server.stop());

const bytes = (n, seed = 1) => Buffer.from(Array.from({ length: n }, (_, i) => (i * 31 + (i >> 8) + seed) & 255));

/** A file with a hole in its middle. */
async function file(size, options = {}) {
    const client = share.rootDirectoryClient.getFileClient(uniqueName('f'));
    await client.create(size, options);
    const part = Math.min(size >> 1, 1 << 20);
    const content = Buffer.alloc(size);
    bytes(part, 5).copy(content, 0);
    if (part > 0)
        await client.uploadRange(content.subarray(0, part), 0, part);
    return { client, content };
}

async function withSas(client, letters) {
    const { FileSASPermissions } = await fileShareSdk();
    return client.generateSasUrl({ permissions: FileSASPermissions.parse(letters), expiresOn: new Date(Date.now() + 3600e3) });
}

test('Copy Blob of a file: content, properties, metadata and the copy headers', async () => {
    const { client, content } = await file(300000, { metadata: { a: '1' }, fileHttpHeaders: { fileContentType: 'text/x' } });
    const to = container.getBlobClient(uniqueName('dst'));
    const result = await (await to.beginCopyFromURL(client.url)).pollUntilDone();
    assert.equal(result.copyStatus, 'success');
    assert.deepEqual(await to.downloadToBuffer(), content);
    const properties = await to.getProperties();
    assert.deepEqual([properties.blobType, properties.contentType, properties.metadata, properties.copySource, properties.copyProgress],
        ['BlockBlob', 'text/x', { a: '1' }, client.url, '300000/300000']);
    const empty = await file(0);
    await (await to.beginCopyFromURL(empty.client.url)).pollUntilDone();
    assert.equal((await to.getProperties()).contentLength, 0);
});

test('content from the URL of a file', async () => {
    const { client, content } = await file(9 << 20);
    const url = await withSas(client, 'r');
    const to = container.getBlockBlobClient(uniqueName('dst'));
    await to.syncUploadFromURL(url);
    assert.ok((await to.downloadToBuffer()).equals(content));
    await to.syncCopyFromURL(url, { sourceContentMD5: createHash('md5').update(content).digest() });
    assert.ok((await to.downloadToBuffer()).equals(content));
    const id = Buffer.from('1').toString('base64');
    await to.stageBlockFromURL(id, url, 1000, 200000);
    await to.commitBlockList([id]);
    assert.deepEqual(await to.downloadToBuffer(), content.subarray(1000, 201000));
    const log = container.getAppendBlobClient(uniqueName('log'));
    await log.create();
    await log.appendBlockFromURL(url, 5, 10);
    assert.deepEqual(await log.downloadToBuffer(), content.subarray(5, 15));
    const page = container.getPageBlobClient(uniqueName('page'));
    await page.create(8192);
    await page.uploadPagesFromURL(url, 1024, 512, 4096);
    assert.deepEqual(await page.downloadToBuffer(512, 4096), content.subarray(1024, 5120));
    await assertRejects(to.stageBlockFromURL(id, url, 9 << 20, 10), 416, 'InvalidRange');
    await assertRejects(to.syncCopyFromURL(url, { sourceContentMD5: Buffer.alloc(16) }), 400, 'Md5Mismatch');
});

test('a file of a share\'s snapshot', async () => {
    const { client, content } = await file(5000);
    const { snapshot } = await share.createSnapshot();
    await client.uploadRange('changed', 0, 7);
    const to = container.getBlockBlobClient(uniqueName('dst'));
    await to.syncUploadFromURL(readable(`${client.url}?sharesnapshot=${snapshot}`));
    assert.deepEqual(await to.downloadToBuffer(), content);
});

test('files that may not be read, are not there, or are asked for with conditions', async () => {
    const { client } = await file(100);
    const to = container.getBlockBlobClient(uniqueName('dst'));
    await assertRejects(to.syncUploadFromURL(await withSas(client, 'w')), 403, 'CannotVerifyCopySource');
    await assertRejects(to.syncUploadFromURL(readable(`${share.url}/none`)), 404, 'CannotVerifyCopySource');
    await assertRejects(to.beginCopyFromURL(`${share.url}/none`), 404, 'CannotVerifyCopySource');
    await assertRejects(to.syncUploadFromURL(client.url), 401, 'CannotVerifyCopySource');
    for (const copy of [(o) => to.syncUploadFromURL(readable(client.url), o), (o) => to.beginCopyFromURL(client.url, o)])
        await assertRejects(copy({ sourceConditions: { ifMatch: '"0x1"' } }), 400, 'ConditionHeadersNotSupported');
    await assertRejects(to.syncUploadFromURL(readable(client.url), { copySourceTags: 'COPY' }), 400, 'InvalidHeaderValue');
    assert.equal(await to.exists(), false);
    // A destination that is refused leaves nothing behind, and the source is as it was.
    const lease = to.getBlobLeaseClient();
    await to.upload('old', 3);
    await lease.acquireLease(-1);
    await assertRejects(to.beginCopyFromURL(client.url), 412, 'LeaseIdMissing');
    assert.equal((await to.downloadToBuffer()).toString(), 'old');
});
