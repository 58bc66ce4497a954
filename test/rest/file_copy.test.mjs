// SPDX-License-Identifier: Apache-2.0
// Files copied from blobs, from files of other accounts, and from other servers.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import http from 'node:http';
import { once } from 'node:events';
import { KEY, assertError, assertRejects, readable, startServer, uniqueName, until } from './lib.mjs';

let server;
let far;
let share;
let blobs;
let away;
before(async () => {
    const env = { AZURITE_ACCOUNTS: `devstoreaccount1:${KEY};other:${KEY}` };
    server = await startServer({ services: ['blob', 'file'], env, args: ['--copy-sources', '127.0.0.0/8'] });
    far = await startServer({ services: ['blob', 'file'], inMemory: true });
    share = (await server.shares()).getShareClient('share');
    await share.create();
    blobs = (await server.blobs()).getContainerClient('blobs');
    await blobs.create();
    away = (await far.blobs()).getContainerClient('away');
    await away.create({ access: 'blob' });
});
after(() => Promise.all([server.stop(), far.stop()]));

const bytes = (n, seed = 1) => Buffer.from(Array.from({ length: n }, (_, i) => (i * 31 + (i >> 8) + seed) & 255));
const file = () => share.rootDirectoryClient.getFileClient(uniqueName('f'));

const ended = (client) => until(async () => {
    const properties = await client.getProperties();
    return properties.copyStatus !== 'pending' && properties;
});

async function readBack(client, content) {
    const got = await client.downloadToBuffer();
    assert.ok(got.equals(content), `${got.length} bytes`);
}

test('Copy File of a blob of this server', async () => {
    const content = Buffer.alloc(11 << 20, bytes(65537));
    const blob = blobs.getBlockBlobClient('block');
    await blob.upload(content, content.length,
        { metadata: { a: '1' }, blobHTTPHeaders: { blobContentType: 'text/x' } });
    const to = file();
    const started = await to.startCopyFromURL(blob.url);
    assert.equal(started.copyStatus, 'success');
    await readBack(to, content);
    const properties = await to.getProperties();
    assert.deepEqual(properties.metadata, { a: '1' });
    assert.equal(properties.contentType, 'text/x');
    assert.equal(properties.copySource, blob.url);
    assert.equal(properties.copyProgress, `${content.length}/${content.length}`);
    // Either may change or go without the other.
    await to.uploadRange(Buffer.from('new'), 0, 3);
    await readBack(to, Buffer.concat([Buffer.from('new'), content.subarray(3)]));
    assert.ok((await blob.downloadToBuffer()).equals(content));
    await blob.delete();
    await readBack(to, Buffer.concat([Buffer.from('new'), content.subarray(3)]));

    const small = blobs.getBlockBlobClient('small');
    await small.upload('abc', 3);
    const snapshot = small.withSnapshot((await small.createSnapshot()).snapshot);
    await small.upload('later', 5);
    assert.equal((await to.startCopyFromURL(snapshot.url)).copyStatus, 'success');
    await readBack(to, Buffer.from('abc'));
    const empty = blobs.getBlockBlobClient('empty');
    await empty.upload('', 0);
    assert.equal((await to.startCopyFromURL(empty.url)).copyStatus, 'success');
    await readBack(to, Buffer.alloc(0));
});

test('Copy File of page and append blobs', async () => {
    const page = blobs.getPageBlobClient('page');
    await page.create(64 << 20);
    await page.uploadPages(bytes(512), 512, 512);
    await page.uploadPages(bytes(4 << 20, 3), 10 << 20, 4 << 20);
    const to = file();
    assert.equal((await to.startCopyFromURL(page.url)).copyStatus, 'success');
    await readBack(to, await page.downloadToBuffer());
    const ranges = await to.getRangeList();
    assert.equal(ranges.rangeList.length, 2);
    const log = blobs.getAppendBlobClient('log');
    await log.create();
    for (let i = 0; i < 20; i++)
        await log.appendBlock(bytes(700, i), 700);
    assert.equal((await to.startCopyFromURL(log.url)).copyStatus, 'success');
    await readBack(to, await log.downloadToBuffer());
});

test('who may: another account\'s source wants a SAS or public access', async () => {
    const other = (await server.blobs({ account: 'other' })).getContainerClient('theirs');
    await other.create();
    const blob = other.getBlockBlobClient('b');
    await blob.upload('theirs', 6);
    const to = file();
    const refused = await to.startCopyFromURL(blob.url).catch((error) => error);
    assert.equal(refused.statusCode, 401);
    assert.equal(refused.code, 'CannotVerifyCopySource');
    await assertRejects(to.startCopyFromURL(`${blobs.url}/absent`), 404, 'CannotVerifyCopySource');
    await other.setAccessPolicy('blob');
    assert.equal((await to.startCopyFromURL(blob.url)).copyStatus, 'success');
    await readBack(to, Buffer.from('theirs'));
    const theirShare = (await server.shares({ account: 'other' })).getShareClient('theirs');
    await theirShare.create();
    const theirFile = theirShare.rootDirectoryClient.getFileClient('f');
    await theirFile.create(3);
    await theirFile.uploadRange('xyz', 0, 3);
    await assertRejects(to.startCopyFromURL(theirFile.url), 401, 'CannotVerifyCopySource');
    const { FileSASPermissions } = await import('@azure/storage-file-share');
    const url = await theirFile.generateSasUrl({
        permissions: FileSASPermissions.parse('r'), expiresOn: new Date(Date.now() + 3600000),
    });
    assert.equal((await to.startCopyFromURL(url)).copyStatus, 'success');
    await readBack(to, Buffer.from('xyz'));
    assert.equal((await to.getProperties()).copySource, theirFile.url);
});

test('Copy File of what another server has', async () => {
    const content = Buffer.alloc(10 << 20, bytes(65537, 4));
    const blob = away.getBlockBlobClient('b');
    await blob.upload(content, content.length, { metadata: { m: '1' } });
    const to = file();
    await to.startCopyFromURL(blob.url);
    const properties = await ended(to);
    assert.equal(properties.copyStatus, 'success');
    assert.deepEqual(properties.metadata, { m: '1' });
    await readBack(to, content);
    const page = away.getPageBlobClient('p');
    await page.create(64 << 20);
    await page.uploadPages(bytes(4096), 8 << 20, 4096);
    await to.startCopyFromURL(page.url);
    assert.equal((await ended(to)).copyStatus, 'success');
    assert.equal((await to.getRangeList()).rangeList.length, 1);
    await assertRejects(to.startCopyFromURL(away.getBlobClient('absent').url), 404, 'CannotVerifyCopySource');
    await assertRejects(to.startCopyFromURL('http://192.0.2.1/x'), 403, 'CannotVerifyCopySource');
});

test('a pending copy to a file: aborted, and gone on with after a restart', async (t) => {
    const content = bytes(100000, 6);
    const state = {};
    const source = http.createServer((request, response) => {
        if (request.method === 'HEAD') {
            response.writeHead(200, { ETag: '"t"', 'Content-Length': content.length }).end();
        } else if (state.open) {
            const [, first, last] = /bytes=(\d+)-(\d+)/.exec(request.headers.range);
            response.writeHead(206, { 'Content-Range': `bytes ${first}-${last}/${content.length}` })
                .end(content.subarray(Number(first), Number(last) + 1));
        }
    }).listen(0, '127.0.0.1');
    await once(source, 'listening');
    t.after(() => { source.closeAllConnections(); source.close(); });
    const url = `http://127.0.0.1:${source.address().port}/x`;
    const to = file();
    const { copyId, copyStatus } = await to.startCopyFromURL(url);
    assert.equal(copyStatus, 'pending');
    await assertRejects(to.startCopyFromURL(url), 409, 'PendingCopyOperation');
    await assertRejects(to.abortCopyFromURL('6a2b2b7e-0000-4000-8000-000000000000'), 409, 'CopyIdMismatch');
    await to.abortCopyFromURL(copyId);
    assert.equal((await to.getProperties()).copyStatus, 'aborted');
    const again = file();
    await again.startCopyFromURL(url);
    state.open = true;
    await server.restart({ crash: true });
    assert.equal((await ended(again)).copyStatus, 'success');
    await readBack(again, content);
});

test('Put Range From URL of blobs, and of what another server has', async () => {
    const content = bytes(300000, 9);
    const near = blobs.getBlockBlobClient('ranges');
    await near.upload(content, content.length);
    const there = away.getBlockBlobClient('ranges');
    await there.upload(content, content.length);
    const to = file();
    await to.create(300000);
    for (const blob of [near, there]) {
        await to.clearRange(0, 300000);
        await to.uploadRangeFromURL(readable(blob.url), 1000, 0, 200000);
        assert.deepEqual(await to.downloadToBuffer(0, 200000), content.subarray(1000, 201000));
        const raw = (headers) => server.request('file', 'PUT', `/share/${to.name}`, {
            query: 'comp=range', headers: {
                'x-ms-write': 'update', 'x-ms-range': 'bytes=0-99', 'x-ms-source-range': 'bytes=0-99',
                'x-ms-copy-source': readable(blob.url), ...headers,
            },
        });
        const done = await raw({});
        assert.equal(done.status, 201);
        const crc64 = done.headers['x-ms-content-crc64'];
        const wrong = Buffer.alloc(8, 1).toString('base64');
        assert.equal((await raw({ 'x-ms-source-content-crc64': crc64 })).status, 201);
        assertError(await raw({ 'x-ms-source-content-crc64': wrong }), 400, 'Crc64Mismatch');
        assert.equal((await raw({ 'x-ms-source-if-match-crc64': crc64 })).status, 201);
        assertError(await raw({ 'x-ms-source-if-match-crc64': wrong }), 412, 'SourceConditionNotMet');
        assertError(await raw({ 'x-ms-source-if-none-match-crc64': crc64 }), 412, 'SourceConditionNotMet');
        assertError(await raw({ 'x-ms-source-if-match': '"0x1"' }), 412, 'SourceConditionNotMet');
        assertError(await raw({ 'x-ms-source-range': 'bytes=299990-300089' }), 416, 'InvalidRange');
        assertError(await raw({ 'x-ms-source-range': 'bytes=0-5' }), 400, 'InvalidHeaderValue');
        assertError(await raw({ 'x-ms-copy-source': readable(`${blob.url}x`) }), 404, 'CannotVerifyCopySource');
    }
    const other = file();
    await other.create(100);
    await other.uploadRange(bytes(100, 2), 0, 100);
    await assertRejects(to.uploadRangeFromURL(other.url, 0, 50, 100), 401, 'CannotVerifyCopySource');
    await to.uploadRangeFromURL(readable(other.url), 0, 50, 100);
    assert.deepEqual(await to.downloadToBuffer(50, 100), bytes(100, 2));
});

test('sources by the names that accounts have in the cloud', async () => {
    const cloud = (url) => url.replace(/^http:\/\/[^/]+\/(\w+)\//, (_, account) =>
        `https://${account}.${url.includes(`:${server.ports.blob}/`) ? 'blob' : 'file'}.core.windows.net/`);
    const from = file();
    await from.uploadData(bytes(5000, 8));
    const blob = blobs.getBlockBlobClient('in the cloud');
    await blob.upload('abc', 3);
    const to = file();
    assert.equal((await to.startCopyFromURL(cloud(from.url))).copyStatus, 'success');
    await readBack(to, bytes(5000, 8));
    assert.equal((await to.startCopyFromURL(cloud(blob.url))).copyStatus, 'success');
    await readBack(to, Buffer.from('abc'));
    const copy = blobs.getBlockBlobClient('copied');
    await (await copy.beginCopyFromURL(cloud(blob.url))).pollUntilDone();
    assert.equal((await copy.downloadToBuffer()).toString(), 'abc');
    await to.uploadRangeFromURL(cloud(readable(from.url)), 0, 0, 3);
    // The name opens nothing: another account's source wants its own credentials.
    const theirShare = (await server.shares({ account: 'other' })).getShareClient('theirs');
    await theirShare.createIfNotExists();
    const theirs = theirShare.rootDirectoryClient.getFileClient('secret');
    await theirs.uploadData(Buffer.from('theirs'));
    await assertRejects(to.startCopyFromURL(cloud(theirs.url)), 401, 'CannotVerifyCopySource');
    const { FileSASPermissions, SASProtocol } = await import('@azure/storage-file-share');
    const sas = (protocol) => theirs.generateSasUrl({
        permissions: FileSASPermissions.parse('r'), expiresOn: new Date(Date.now() + 3600000), protocol,
    });
    // A SAS for https came here over http, whatever its URL begins with.
    const secret = await sas(SASProtocol.Https);
    await assertRejects(to.startCopyFromURL(secret), 403, 'CannotVerifyCopySource');
    await assertRejects(to.startCopyFromURL(cloud(secret)), 403, 'CannotVerifyCopySource');
    assert.equal((await to.startCopyFromURL(cloud(await sas()))).copyStatus, 'success');
    await readBack(to, Buffer.from('theirs'));
    // Nor is every such name ours; this one is nobody's either.
    const strange = cloud(from.url).replace('devstoreaccount1', 'nobodys-here');
    assert.equal((await to.startCopyFromURL(strange).catch((error) => error)).code, 'CannotVerifyCopySource');
});
