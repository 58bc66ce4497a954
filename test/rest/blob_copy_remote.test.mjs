// SPDX-License-Identifier: Apache-2.0
// Copies from other servers: a second Lazuli, and servers with unusual behaviour.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BIN, assertError, assertRejects, startServer, uniqueName, until } from './lib.mjs';

let far;
let near;
let away;
let container;
let closed;
before(async () => {
    far = await startServer({ services: ['blob'], inMemory: true });
    near = await startServer({ services: ['blob'], args: ['--copy-sources', '127.0.0.0/8'] });
    closed = await startServer({ services: ['blob'], inMemory: true });
    away = (await far.blobs()).getContainerClient('away');
    await away.create({ access: 'blob' });
    container = (await near.blobs()).getContainerClient('copies');
    await container.create();
    await (await closed.blobs()).getContainerClient('copies').create();
});
after(() => Promise.all([far.stop(), near.stop(), closed.stop()]));

const bytes = (n, seed = 1) => Buffer.from(Array.from({ length: n }, (_, i) => (i * 31 + (i >> 8) + seed) & 255));
const POLL = { intervalInMs: 50 };

async function source(content, options = {}) {
    const client = away.getBlockBlobClient(uniqueName('src'));
    await client.upload(content, content.length, options);
    return client;
}

/** A server of the test's own; `answer(request, response)`. */
async function serve(t, answer) {
    const server = http.createServer(answer).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => { server.closeAllConnections(); server.close(); });
    return `http://127.0.0.1:${server.address().port}`;
}

test('Copy Blob of a block blob on another server', async () => {
    const content = Buffer.alloc(40 << 20, bytes(65537));
    const from = await source(content, { metadata: { a: '1' }, blobHTTPHeaders: { blobContentType: 'text/x' } });
    const to = container.getBlobClient(uniqueName('dst'));
    const poller = await to.beginCopyFromURL(from.url, POLL);
    const result = await poller.pollUntilDone();
    assert.equal(result.copyStatus, 'success');
    assert.ok((await to.downloadToBuffer()).equals(content));
    const properties = await to.getProperties();
    assert.equal(properties.contentType, 'text/x');
    assert.deepEqual(properties.metadata, { a: '1' });
    assert.equal(properties.copyProgress, `${content.length}/${content.length}`);
    assert.equal(properties.copySource, from.url);
});

test('Copy Blob of page and append blobs on another server', async () => {
    const page = away.getPageBlobClient(uniqueName('page'));
    await page.create(1 << 30, { blobSequenceNumber: 9 });
    await page.uploadPages(bytes(4096), 8192, 4096);
    await page.uploadPages(bytes(4 << 20, 7), 512 << 20, 4 << 20);
    const to = container.getPageBlobClient(uniqueName('page'));
    assert.equal((await (await to.beginCopyFromURL(page.url, POLL)).pollUntilDone()).copyStatus, 'success');
    assert.equal((await to.getProperties()).contentLength, 1 << 30);
    assert.equal((await to.getProperties()).blobSequenceNumber, 9);
    assert.equal((await to.getPageRanges()).pageRange.length, 2);
    assert.deepEqual(await to.downloadToBuffer(512 << 20, 4 << 20), bytes(4 << 20, 7));
    const log = away.getAppendBlobClient(uniqueName('log'));
    await log.create();
    await log.appendBlock('abc', 3);
    const log2 = container.getAppendBlobClient(uniqueName('log'));
    assert.equal((await (await log2.beginCopyFromURL(log.url, POLL)).pollUntilDone()).copyStatus, 'success');
    assert.equal((await log2.downloadToBuffer()).toString(), 'abc');
    const empty = await source(Buffer.alloc(0));
    const to2 = container.getBlobClient(uniqueName('dst'));
    assert.equal((await (await to2.beginCopyFromURL(empty.url, POLL)).pollUntilDone()).copyStatus, 'success');
});

test('content from a URL of another server', async () => {
    const content = bytes(300000, 5);
    const from = await source(content, { blobHTTPHeaders: { blobContentType: 'text/x' } });
    const to = container.getBlockBlobClient(uniqueName('dst'));
    await to.syncCopyFromURL(from.url);
    assert.deepEqual(await to.downloadToBuffer(), content);
    await to.syncUploadFromURL(from.url);
    assert.deepEqual(await to.downloadToBuffer(), content);
    assert.equal((await to.getProperties()).contentType, 'text/x');
    const id = Buffer.from('1').toString('base64');
    await to.stageBlockFromURL(id, from.url, 1000, 200000);
    await to.commitBlockList([id]);
    assert.deepEqual(await to.downloadToBuffer(), content.subarray(1000, 201000));
    const log = container.getAppendBlobClient(uniqueName('log'));
    await log.create();
    await log.appendBlockFromURL(from.url, 5, 10);
    assert.deepEqual(await log.downloadToBuffer(), content.subarray(5, 15));
    const page = container.getPageBlobClient(uniqueName('page'));
    await page.create(8192);
    await page.uploadPagesFromURL(from.url, 1024, 512, 4096);
    assert.deepEqual(await page.downloadToBuffer(512, 4096), content.subarray(1024, 5120));
    await assertRejects(page.uploadPagesFromURL(from.url, 299800, 0, 512), 416, 'InvalidRange');
    await assertRejects(to.stageBlockFromURL(id, from.url, 1 << 20, 10), 416, 'InvalidRange');
    await assertRejects(to.syncCopyFromURL(from.url, { sourceContentMD5: Buffer.alloc(16) }), 400, 'Md5Mismatch');
});

test('conditions, permissions and absence are the source\'s to tell', async () => {
    const from = await source(Buffer.from('x'));
    const to = container.getBlockBlobClient(uniqueName('dst'));
    const { etag } = await from.getProperties();
    await to.syncCopyFromURL(from.url, { sourceConditions: { ifMatch: etag } });
    for (const copy of [(o) => to.syncCopyFromURL(from.url, o), (o) => to.beginCopyFromURL(from.url, o)]) {
        await assertRejects(copy({ sourceConditions: { ifMatch: '"0x1"' } }), 412, 'SourceConditionNotMet');
        await assertRejects(copy({ sourceConditions: { ifNoneMatch: etag } }), 412, 'SourceConditionNotMet');
        await assertRejects(copy({ sourceConditions: { ifUnmodifiedSince: new Date(0) } }), 412, 'SourceConditionNotMet');
    }
    const absent = await to.beginCopyFromURL(away.getBlobClient('absent').url).catch((error) => error);
    assert.equal(absent.statusCode, 404);
    assert.equal(absent.code, 'CannotVerifyCopySource');
    assert.equal(absent.response.headers.get('x-ms-copy-source-error-code'), 'BlobNotFound');
    const own = (await far.blobs()).getContainerClient('own');
    await own.create();
    const hidden = own.getBlockBlobClient('b');
    await hidden.upload('secret', 6);
    const refused = await to.syncCopyFromURL(hidden.url).catch((error) => error);
    assert.equal(refused.code, 'CannotVerifyCopySource');
    assert.ok([401, 404].includes(refused.statusCode));
    const { BlobSASPermissions } = await import('@azure/storage-blob');
    const url = await hidden.generateSasUrl({
        permissions: BlobSASPermissions.parse('r'), expiresOn: new Date(Date.now() + 3600000),
    });
    await (await to.beginCopyFromURL(url, POLL)).pollUntilDone();
    assert.equal((await to.downloadToBuffer()).toString(), 'secret');
    assert.equal((await to.getProperties()).copySource, hidden.url);
});

test('tags of a source on another server', async () => {
    const from = await source(Buffer.from('x'), { tags: { color: 'red', 'a b': 'c/d' } });
    const { BlobSASPermissions } = await import('@azure/storage-blob');
    const sas = (letters) => from.generateSasUrl({ permissions: BlobSASPermissions.parse(letters), expiresOn: new Date(Date.now() + 3600e3) });
    const to = container.getBlockBlobClient(uniqueName('dst'));
    await to.syncCopyFromURL(await sas('rt'), { copySourceTags: 'COPY' });
    assert.deepEqual((await to.getTags()).tags, { color: 'red', 'a b': 'c/d' });
    await to.syncUploadFromURL(await sas('rt'), { copySourceTags: 'COPY', conditions: { ifMatch: '*' } });
    assert.deepEqual((await to.getTags()).tags, { color: 'red', 'a b': 'c/d' });
    await assertRejects(to.syncCopyFromURL(await sas('r'), { copySourceTags: 'COPY' }), 403, 'CannotVerifyCopySource');
    await to.syncCopyFromURL(await sas('r'));
    assert.deepEqual((await to.getTags()).tags, {});
});

test('a server that was not told so reaches no other', async () => {
    const from = await source(Buffer.from('x'));
    const to = (await closed.blobs()).getContainerClient('copies').getBlockBlobClient('b');
    await assertRejects(to.beginCopyFromURL(from.url), 403, 'CannotVerifyCopySource');
    await assertRejects(to.syncCopyFromURL(from.url), 403, 'CannotVerifyCopySource');
    await assertRejects(to.syncUploadFromURL('http://169.254.169.254/metadata'), 403, 'CannotVerifyCopySource');
    // What is in reach is a matter of addresses: this one may go to loopback, and nowhere else.
    const other = container.getBlockBlobClient(uniqueName('dst'));
    await assertRejects(other.syncUploadFromURL('http://192.0.2.1/x'), 403, 'CannotVerifyCopySource');
    assert.equal(await to.exists(), false);
});

test('a source that takes longer than the timeout', async (t) => {
    const url = await serve(t, (request, response) => {
        near.advance(5000);
        response.writeHead(200, { 'Content-Length': 10 }).end('plain text');
    });
    for (const [headers, query] of [[{ 'x-ms-blob-type': 'BlockBlob' }, {}], [{ 'x-ms-requires-sync': 'true' }, {}],
        [{}, { comp: 'block', blockid: 'MQ==' }], [{}, {}]]) {
        const path = `/copies/${uniqueName('dst')}`;
        const ask = (timeout) => near.request('blob', 'PUT', path, { query: { ...query, timeout }, headers: { ...headers, 'x-ms-copy-source': `${url}/x` } });
        assertError(await ask(3), 500, 'OperationTimedOut');
        assert.equal((await near.request('blob', 'HEAD', path)).status, 404);
        assert.ok((await ask(30)).status < 300);
    }
});

test('answers that are none', async (t) => {
    const to = container.getBlockBlobClient(uniqueName('dst'));
    const url = await serve(t, (request, response) => {
        if (request.url === '/redirect')
            response.writeHead(302, { Location: `${away.url}/x` }).end();
        else if (request.url === '/busy')
            response.writeHead(503).end();
        else if (request.url === '/short')
            response.writeHead(200, { 'Content-Length': 100 }).write('abc', () => response.socket.destroy());
        else if (request.url === '/plain')
            response.end('plain text');
        else
            response.socket.end('nonsense\r\n\r\n');
    });
    await assertRejects(to.syncUploadFromURL(`${url}/redirect`), 400, 'CannotVerifyCopySource');
    await assertRejects(to.syncUploadFromURL(`${url}/busy`), 503, 'CannotVerifyCopySource');
    await assertRejects(to.syncUploadFromURL(`${url}/short`), 500, 'CannotVerifyCopySource');
    await assertRejects(to.syncUploadFromURL(`${url}/nonsense`), 500, 'CannotVerifyCopySource');
    await assertRejects(to.syncUploadFromURL('http://127.0.0.1:1/x'), 500, 'CannotVerifyCopySource');
    assert.equal(await to.exists(), false);
    await to.syncUploadFromURL(`${url}/plain`);
    assert.equal((await to.downloadToBuffer()).toString(), 'plain text');
});

test('over HTTPS: with a certificate that is trusted, and for the host', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'lazuli-copy-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    execFileSync(BIN, ['cert', cert, key]);
    const options = { services: ['blob'], inMemory: true };
    const safe = await startServer({ ...options, args: ['--cert', cert, '--key', key] });
    const trusting = await startServer({
        ...options, args: ['--copy-sources', '127.0.0.0/8'], env: { SSL_CERT_FILE: cert },
    });
    t.after(() => Promise.all([safe.stop(), trusting.stop()]));
    const from = (await safe.blobs()).getContainerClient('copies');
    await from.create({ access: 'blob' });
    const content = bytes(100000, 3);
    await from.getBlockBlobClient('b').upload(content, content.length);
    const url = `${from.url}/b`.replace('http:', 'https:');
    const into = (await trusting.blobs()).getContainerClient('copies');
    await into.create();
    const to = into.getBlockBlobClient('b');
    await to.syncCopyFromURL(url);
    assert.deepEqual(await to.downloadToBuffer(), content);
    await (await to.beginCopyFromURL(url, POLL)).pollUntilDone();
    assert.deepEqual(await to.downloadToBuffer(), content);
    // One that does not know the certificate's authority does not take it.
    const other = container.getBlockBlobClient(uniqueName('dst'));
    await assertRejects(other.syncCopyFromURL(url), 500, 'CannotVerifyCopySource');
});

/** A source whose bytes come only when they are let go; hands out what it is asked for. */
function slowSource(content, state) {
    return (request, response) => {
        const headers = { ETag: '"tag"', 'Accept-Ranges': 'bytes' };
        if (request.method === 'HEAD') {
            response.writeHead(200, { ...headers, 'Content-Length': content.length }).end();
            return;
        }
        if (state.changed) {
            response.writeHead(412, { 'x-ms-error-code': 'ConditionNotMet' }).end();
            return;
        }
        const [, first, last] = /bytes=(\d+)-(\d+)/.exec(request.headers.range);
        const part = content.subarray(Number(first), Number(last) + 1);
        state.asked = (state.asked ?? 0) + 1;
        if (!state.open)
            return; // never answered
        response.writeHead(206, {
            ...headers, 'Content-Length': part.length, 'Content-Range': `bytes ${first}-${last}/${content.length}`,
        }).end(part);
    };
}

test('a pending copy: nobody writes its destination; Abort Copy Blob ends it', async (t) => {
    const state = {};
    const url = await serve(t, slowSource(bytes(100000), state));
    const to = container.getBlockBlobClient(uniqueName('dst'));
    await to.upload('old', 3);
    const lease = to.getBlobLeaseClient();
    await lease.acquireLease(-1);
    const held = { conditions: { leaseId: lease.leaseId } };
    const poller = await to.beginCopyFromURL(`${url}/x`, { ...POLL, ...held });
    const { copyId } = poller.getOperationState();
    const properties = await to.getProperties();
    assert.equal(properties.copyStatus, 'pending');
    assert.equal(properties.copyProgress, '0/100000');
    assert.equal(properties.contentLength, 0);
    assert.equal(properties.copyCompletedOn, undefined);
    await assertRejects(to.upload('new', 3, held), 409, 'PendingCopyOperation');
    await assertRejects(to.setMetadata({}, held), 409, 'PendingCopyOperation');
    await assertRejects(to.setHTTPHeaders({}, held), 409, 'PendingCopyOperation');
    await assertRejects(to.delete(held), 409, 'PendingCopyOperation');
    await assertRejects(to.stageBlock('MQ==', 'x', 1, held), 409, 'PendingCopyOperation');
    await assertRejects(to.createSnapshot(), 409, 'PendingCopyOperation');
    await assertRejects(to.beginCopyFromURL(`${url}/x`, held), 409, 'PendingCopyOperation');
    await assertRejects(lease.releaseLease(), 409, 'PendingCopyOperation');
    await assertRejects(lease.breakLease(0), 409, 'PendingCopyOperation');
    await assertRejects(to.abortCopyFromURL(copyId), 412, 'LeaseIdMissing');
    await assertRejects(to.abortCopyFromURL('6a2b2b7e-0000-4000-8000-000000000000', held), 409, 'CopyIdMismatch');
    const abort = (headers) => near.request('blob', 'PUT', `/copies/${to.name}`, {
        query: { comp: 'copy', copyid: copyId }, headers: { 'x-ms-lease-id': lease.leaseId, ...headers },
    });
    assertError(await abort({}), 400, 'MissingRequiredHeader');
    assert.equal((await abort({ 'x-ms-copy-action': 'abort' })).status, 204);
    assert.equal((await to.getProperties()).copyStatus, 'aborted');
    assert.equal((await to.getProperties()).contentLength, 0);
    await assertRejects(to.abortCopyFromURL(copyId, held), 409, 'NoPendingCopyOperation');
    await to.upload('new', 3, held);
    assert.equal((await to.getProperties()).copyStatus, undefined);
});

test('a copy whose source changes fails', async (t) => {
    const state = { changed: true };
    const url = await serve(t, slowSource(bytes(100000), state));
    const to = container.getBlockBlobClient(uniqueName('dst'));
    await to.beginCopyFromURL(`${url}/x`, POLL);
    const properties = await until(async () => {
        const now = await to.getProperties();
        return now.copyStatus !== 'pending' && now;
    });
    assert.equal(properties.copyStatus, 'failed');
    assert.match(properties.copyStatusDescription, /^412 /);
    assert.equal(properties.contentLength, 0);
});

test('a copy goes on after a restart', async (t) => {
    const state = {};
    const content = bytes(100000, 8);
    const url = await serve(t, slowSource(content, state));
    const to = container.getBlockBlobClient(uniqueName('dst'));
    await to.beginCopyFromURL(`${url}/x`, POLL);
    await until(() => state.asked > 0);
    assert.equal((await to.getProperties()).copyStatus, 'pending');
    state.open = true;
    await near.restart({ crash: true });
    assert.equal((await to.getProperties()).copyId.length, 36);
    await until(async () => (await to.getProperties()).copyStatus === 'success');
    assert.deepEqual(await to.downloadToBuffer(), content);
    // Also when it is stopped in good order.
    state.open = false;
    const again = container.getBlockBlobClient(uniqueName('dst'));
    await again.beginCopyFromURL(`${url}/x`, POLL);
    state.open = true;
    await near.restart();
    await until(async () => (await again.getProperties()).copyStatus === 'success');
    assert.deepEqual(await again.downloadToBuffer(), content);
});
