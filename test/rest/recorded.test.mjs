// SPDX-License-Identifier: Apache-2.0
// Recorded answers of the cloud where its documentation is silent or differs: the recordings once shipped with the
// suites of the Python SDKs, replayed request by request against this server.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { BlobSASPermissions, ContainerSASPermissions } from '@azure/storage-blob';
import { assertError, assertRejects, startServer, uniqueName } from './lib.mjs';

let server;
let service;
let share;

before(async () => {
    server = await startServer({ inMemory: true, services: ['blob', 'file', 'table'] });
    service = await server.blobs();
    share = (await server.shares()).getShareClient(uniqueName('s'));
    await share.create();
});
after(() => server.stop());

const A = 'aaaaaaaa-0000-4000-8000-000000000001';
const B = 'bbbbbbbb-0000-4000-8000-000000000002';

async function freshContainer() {
    const container = service.getContainerClient(uniqueName('c'));
    await container.create();
    return container;
}

// Python's upload_blob sends If-None-Match: * unless it is told to overwrite, also when it is given a lease.
test('If-None-Match: * of a create, and the lease', async () => {
    const blob = (await freshContainer()).getBlockBlobClient('b');
    const upload = (text, conditions) => blob.upload(text, text.length, { conditions: { ifNoneMatch: '*', ...conditions } });
    await upload('first');
    await assertRejects(upload('second'), 409, 'BlobAlreadyExists');
    await assertRejects(upload('second', { leaseId: A }), 412, 'LeaseNotPresentWithBlobOperation');
    await blob.getBlobLeaseClient(A).acquireLease(15);
    await assertRejects(upload('second'), 412, 'LeaseIdMissing');
    await assertRejects(upload('second', { leaseId: B }), 412, 'LeaseIdMismatchWithBlobOperation');
    await upload('third', { leaseId: A });
    await blob.stageBlock('MQ==', 'fourth', 6, { conditions: { leaseId: A } });
    await blob.commitBlockList(['MQ=='], { conditions: { ifNoneMatch: '*', leaseId: A } });
    assert.equal((await blob.downloadToBuffer()).toString(), 'fourth');
    await assertRejects(upload('fifth', { leaseId: A, tagConditions: '"a"=\'b\'' }), 412, 'ConditionNotMet');
    server.advance(16000);
    await assertRejects(upload('fifth', { leaseId: A }), 412, 'LeaseLost');
    await assertRejects(upload('fifth'), 409, 'BlobAlreadyExists');
});

test('the id of a container\'s or share\'s lease that is over: LeaseLost', async () => {
    const container = await freshContainer();
    const lease = container.getBlobLeaseClient(A);
    await lease.acquireLease(15);
    await lease.breakLease(5);
    server.advance(6000);
    await assertRejects(container.delete({ conditions: { leaseId: A } }), 412, 'LeaseLost');
    await container.delete();
    const path = `/${share.name}`;
    const leaseShare = (headers) => server.request('file', 'PUT', path, { query: { restype: 'share', comp: 'lease' }, headers });
    assert.equal((await leaseShare({ 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '15', 'x-ms-proposed-lease-id': A })).status, 201);
    const get = (id) => server.request('file', 'GET', path, { query: { restype: 'share' }, headers: { 'x-ms-lease-id': id } });
    assertError(await get(B), 412, 'LeaseIdMismatchWithContainerOperation');
    assert.equal((await get(A)).status, 200);
    server.advance(16000);
    assertError(await get(A), 412, 'LeaseLost');
});

test('from 2026-10-06 the CRC64 comes with the MD5 that was sent', async () => {
    const container = await freshContainer();
    const pages = Buffer.alloc(512, 'p');
    const page = container.getPageBlobClient('p');
    await page.create(512);
    await container.getAppendBlobClient('a').create();
    const md5 = (bytes) => createHash('md5').update(bytes).digest('base64');
    const sas = await page.generateSasUrl({ permissions: BlobSASPermissions.parse('r'), expiresOn: new Date(Date.now() + 3600e3) });
    const write = { 'x-ms-page-write': 'update', 'x-ms-range': 'bytes=0-511' };
    const from = { 'x-ms-copy-source': sas, 'x-ms-source-content-md5': md5(pages) };
    const cases = [
        ['p', 'comp=page', { ...write, 'Content-MD5': md5(pages) }, pages],
        ['a', 'comp=appendblock', { 'Content-MD5': md5('x') }, 'x'],
        ['b', 'comp=block&blockid=MQ==', { 'Content-MD5': md5('x') }, 'x'],
        ['b', 'comp=blocklist', { 'Content-MD5': md5('<BlockList/>') }, '<BlockList/>'],
        ['p', 'comp=page', { ...write, ...from, 'x-ms-source-range': 'bytes=0-511' }],
        ['a', 'comp=appendblock', from],
        ['b', 'comp=block&blockid=Mg==', from],
    ];
    for (const [name, query, headers, body] of cases) {
        const put = (version) => server.request('blob', 'PUT', `/${container.containerName}/${name}`,
            { query, headers: { 'x-ms-version': version, ...headers }, body });
        for (const [version, both] of [['2026-06-06', false], ['2026-10-06', true]]) {
            const answer = await put(version);
            assert.equal(answer.status, 201, answer.text);
            assert.ok(answer.headers['content-md5'], query);
            assert.equal(answer.headers['x-ms-content-crc64'] !== undefined, both, `${query} ${version}`);
        }
    }
});

test('account information by a container\'s SAS, MaxResults of a search, retention that is off', async () => {
    const container = await freshContainer();
    const expiresOn = new Date(Date.now() + 3600e3);
    const url = await container.generateSasUrl({ permissions: ContainerSASPermissions.parse('r'), expiresOn });
    const info = await fetch(`${url}&restype=account&comp=properties`);
    assert.equal(info.status, 200);
    assert.equal(info.headers.get('x-ms-account-kind'), 'StorageV2');
    const found = await server.request('blob', 'GET', '/', { query: { comp: 'blobs', where: "a='b'", maxresults: '2' } });
    assert.match(found.text, /<Where>[^<]*<\/Where><MaxResults>2<\/MaxResults><Blobs/);
    const properties = await server.request('blob', 'GET', '/', { query: { restype: 'service', comp: 'properties' } });
    assert.match(properties.text, /<DeleteRetentionPolicy><Enabled>false<\/Enabled><AllowPermanentDelete>false<\/AllowPermanentDelete>/);
});

test('files: a permission that is none, a copy over a read-only file, a snapshot that is not there', async () => {
    const { FileSystemAttributes } = await import('@azure/storage-file-share');
    const directory = share.rootDirectoryClient;
    await assertRejects(directory.getFileClient('f').create(1024, { filePermission: 'abcde' }), 400, 'FileInvalidPermission');
    const source = directory.getFileClient('source');
    const target = directory.getFileClient('target');
    await source.create(3);
    await target.create(3, { fileAttributes: FileSystemAttributes.parse('ReadOnly') });
    await assertRejects(target.startCopyFromURL(source.url), 409, 'ReadOnlyAttribute');
    await target.startCopyFromURL(source.url, { copyFileSmbInfo: { ignoreReadOnly: true } });
    const query = { restype: 'share', sharesnapshot: '2017-07-19T06:53:46.0000000Z' };
    assertError(await server.request('file', 'GET', `/${share.name}`, { query }), 404, 'ShareNotFound');
});

test('tables: keys are texts, whatever type they are said to have', async () => {
    const table = uniqueName('t').replaceAll('-', '');
    await (await server.tables()).createTable(table);
    const insert = (type) => server.request('table', 'POST', `/${table}`, {
        headers: { 'Content-Type': 'application/json', Accept: 'application/json;odata=nometadata' },
        body: JSON.stringify({ PartitionKey: '2022-04-01T09:30:45Z', 'PartitionKey@odata.type': type, RowKey: 'r' }),
    });
    assertError(await insert('Edm.DateTime'), 400, 'InvalidInput');
    assert.equal((await insert('Edm.String')).status, 201);
});

// A client that backs up permissions compares the bytes that it gave with those that it gets.
test('files: a descriptor in binary form comes back as Windows lays it out', async () => {
    const binary = 'AQAUhGwAAACIAAAAAAAAABQAAAACAFgAAwAAAAAAFAD/AR8AAQEAAAAAAAUSAAAAAAAYAP8BHwABAgAAAAAABSAAAAAgAgAAAAAkAKkAEgABBQAAAAAABRUA' +
        'AABZUbgXZnJdJWRjOwuMmS4AAQUAAAAAAAUVAAAAoGXPfnhLm1/nfIdwr/1IAQEFAAAAAAAFFQAAAKBlz354S5tf53yHcAECAAA=';
    const query = { restype: 'share', comp: 'filepermission' };
    const made = await server.request('file', 'PUT', `/${share.name}`, {
        query, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ permission: binary, format: 'binary' }),
    });
    assert.equal(made.status, 201, made.text);
    const headers = { 'x-ms-file-permission-key': made.headers['x-ms-file-permission-key'], 'x-ms-file-permission-format': 'binary' };
    const got = await server.request('file', 'GET', `/${share.name}`, { query, headers });
    assert.equal(JSON.parse(got.text).permission, binary);
});

test('what an error says: both MD5s, how long things may be kept', async () => {
    const container = await freshContainer();
    const md5 = (text) => createHash('md5').update(text).digest('base64');
    const put = (service, path, query, headers, body) => server.request(service, 'PUT', path, { query, headers: { 'Content-MD5': md5('other'), ...headers }, body });
    const file = share.rootDirectoryClient.getFileClient('checked');
    await file.create(4);
    await container.getPageBlobClient('p').create(512);
    const pages = 'p'.repeat(512);
    const answers = [
        ['body', await put('blob', `/${container.containerName}/b`, '', { 'x-ms-blob-type': 'BlockBlob' }, 'body')],
        ['<BlockList/>', await put('blob', `/${container.containerName}/b`, 'comp=blocklist', {}, '<BlockList/>')],
        [pages, await put('blob', `/${container.containerName}/p`, 'comp=page', { 'x-ms-page-write': 'update', 'x-ms-range': 'bytes=0-511' }, pages)],
        ['body', await put('file', `/${share.name}/checked`, 'comp=range', { 'x-ms-write': 'update', 'x-ms-range': 'bytes=0-3' }, 'body')],
    ];
    for (const [text, answer] of answers) {
        assertError(answer, 400, 'Md5Mismatch');
        assert.ok(answer.text.includes(`<UserSpecifiedMd5>${md5('other')}</UserSpecifiedMd5><ServerCalculatedMd5>${md5(text)}</ServerCalculatedMd5>`), answer.text);
    }
    for (const days of [0, 366]) {
        const body = `<StorageServiceProperties><DeleteRetentionPolicy><Enabled>true</Enabled><Days>${days}</Days></DeleteRetentionPolicy></StorageServiceProperties>`;
        const set = await server.request('blob', 'PUT', '/', { query: { restype: 'service', comp: 'properties' }, body });
        assertError(set, 400, 'InvalidXmlDocument');
        assert.match(set.text, /<Reason>Retention days must be/);
    }
});

test('files: a share of SMB that squashes no root', async () => {
    const set = (squash) => server.request('file', 'PUT', `/${share.name}`, { query: 'restype=share&comp=properties', headers: { 'x-ms-root-squash': squash } });
    assert.equal((await set('NoRootSquash')).status, 200);
    assertError(await set('AllSquash'), 400, 'InvalidInput');
});
