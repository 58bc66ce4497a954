// SPDX-License-Identifier: Apache-2.0
// Containers through the official SDK and through raw requests.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ACCOUNT, assertError, assertRejects, startServer, uniqueName } from './lib.mjs';

let server;
let service;

before(async () => {
    server = await startServer({ inMemory: true, services: ['blob'], args: ['--container-delete-seconds', '0'] });
    service = await server.blobs();
});
after(() => server.stop());

const raw = (method, path, options) => server.request('blob', method, path, options);
const container = { restype: 'container' };

async function newContainer(options) {
    const client = service.getContainerClient(uniqueName('c'));
    await client.create(options);
    return client;
}

test('CreateContainer: 201 with ETag and Last-Modified, then 409', async () => {
    const client = service.getContainerClient(uniqueName('c'));
    const made = await client.create({ metadata: { Color: 'blue' }, access: 'blob' });
    assert.equal(made._response.status, 201);
    assert.match(made.etag, /^"0x8[0-9A-F]{14}"$/);
    assert.ok(Math.abs(made.lastModified - Date.now()) < 60000);
    await assertRejects(client.create(), 409, 'ContainerAlreadyExists');
    const seen = await client.getProperties();
    assert.equal(seen.etag, made.etag);
    assert.equal(seen.blobPublicAccess, 'blob');
    assert.deepEqual(seen.metadata, { color: 'blue' });
});

test('CreateContainer: names', async () => {
    for (const [name, code] of [['ab', 'OutOfRangeInput'], ['a'.repeat(64), 'OutOfRangeInput'],
        ['Abc', 'InvalidResourceName'], ['a--b', 'InvalidResourceName'], ['-abc', 'InvalidResourceName'],
        ['abc-', 'InvalidResourceName'], ['a_b', 'InvalidResourceName'], ['%24other', 'InvalidResourceName']])
        assertError(await raw('PUT', `/${name}`, { query: container }), 400, code);
    for (const name of ['%24root', '%24web', 'a'.repeat(63), '1-2'.padEnd(3, '3')])
        assert.equal((await raw('PUT', `/${name}`, { query: container })).status, 201);
});

test('CreateContainer: bad headers change nothing', async () => {
    const name = uniqueName('c');
    for (const [header, value, code] of [['x-ms-meta-', 'v', 'EmptyMetadataKey'], ['x-ms-meta-a-b', 'v', 'InvalidMetadata'],
        ['x-ms-meta-1a', 'v', 'InvalidMetadata'], ['x-ms-meta-a', 'v'.repeat(8192), 'MetadataTooLarge'],
        ['x-ms-blob-public-access', 'all', 'InvalidHeaderValue'], ['x-ms-lease-id', 'nonsense', 'InvalidHeaderValue'],
        ['If-Match', '*', 'ConditionHeadersNotSupported'], ['If-Modified-Since', new Date().toUTCString(), 'ConditionHeadersNotSupported']])
        assertError(await raw('PUT', `/${name}`, { query: container, headers: { [header]: value } }), 400, code);
    const twice = [['x-ms-meta-a', '1'], ['x-ms-meta-A', '2'], ['x-ms-version', '2025-11-05'], ['x-ms-date', new Date().toUTCString()]];
    assert.equal((await raw('PUT', `/${name}`, { query: container, headers: twice })).status, 400);
    assertError(await raw('GET', `/${name}`, { query: container }), 404, 'ContainerNotFound');
});

test('GetContainerProperties, GetContainerMetadata: GET and HEAD', async () => {
    const client = await newContainer({ metadata: { a: '1' } });
    for (const method of ['GET', 'HEAD']) {
        const all = await raw(method, `/${client.containerName}`, { query: container });
        assert.equal(all.status, 200);
        assert.equal(all.headers['x-ms-meta-a'], '1');
        assert.equal(all.headers['x-ms-lease-state'], 'available');
        assert.equal(all.headers['x-ms-lease-status'], 'unlocked');
        assert.equal(all.headers['x-ms-has-legal-hold'], 'false');
        assert.equal(all.headers['x-ms-blob-public-access'], undefined);
        const meta = await raw(method, `/${client.containerName}`, { query: { ...container, comp: 'metadata' } });
        assert.equal(meta.headers['x-ms-meta-a'], '1');
        assert.equal(meta.headers.etag, all.headers.etag);
        assert.equal(meta.headers['x-ms-lease-state'], undefined);
        assertError(await raw(method, '/none1', { query: container }), 404, 'ContainerNotFound');
    }
});

test('SetContainerMetadata: replaces all, new ETag', async () => {
    const client = await newContainer({ metadata: { a: '1' } });
    const before = await client.getProperties();
    const set = await client.setMetadata({ b: '2' });
    assert.notEqual(set.etag, before.etag);
    assert.deepEqual((await client.getProperties()).metadata, { b: '2' });
    await client.setMetadata();
    assert.deepEqual((await client.getProperties()).metadata, {});
});

test('GetContainerACL, SetContainerACL: policies and public access', async () => {
    const client = await newContainer();
    const start = new Date(Date.UTC(2024, 0, 2, 3, 4, 5));
    const set = await client.setAccessPolicy('container', [
        { id: 'one', accessPolicy: { startsOn: start, expiresOn: new Date(+start + 1e6), permissions: 'rl' } },
        { id: 'two', accessPolicy: { permissions: 'w' } }]);
    const got = await client.getAccessPolicy();
    assert.equal(got.etag, set.etag);
    assert.equal(got.blobPublicAccess, 'container');
    assert.deepEqual(got.signedIdentifiers.map((s) => s.id), ['one', 'two']);
    assert.deepEqual(got.signedIdentifiers[0].accessPolicy.startsOn, start);
    await client.setAccessPolicy();
    assert.deepEqual((await client.getAccessPolicy()).signedIdentifiers, []);
    assert.equal((await client.getAccessPolicy()).blobPublicAccess, undefined);
});

test('SetContainerACL: bad bodies change nothing', async () => {
    const client = await newContainer();
    const before = await client.getAccessPolicy();
    const put = (body) => raw('PUT', `/${client.containerName}`, { query: { ...container, comp: 'acl' }, body });
    const one = (id) => `<SignedIdentifier><Id>${id}</Id></SignedIdentifier>`;
    const all = (inner) => `<SignedIdentifiers>${inner}</SignedIdentifiers>`;
    assertError(await put('<SignedIdentifiers>'), 400, 'InvalidXmlDocument');
    assertError(await put('<!DOCTYPE a><SignedIdentifiers/>'), 400, 'InvalidXmlDocument');
    assertError(await put(all([1, 2, 3, 4, 5, 6].map(one).join(''))), 400, 'InvalidXmlDocument');
    assertError(await put(all(one('x'.repeat(65)))), 400, 'InvalidXmlDocument');
    assert.equal((await client.getAccessPolicy()).etag, before.etag);
    assert.equal((await put(all([1, 2, 3, 4, 5].map(one).join('')))).status, 200);
});

test('public access: what anybody may read', async () => {
    const client = await newContainer();
    await client.getBlockBlobClient('b').upload('open', 4);
    const path = `/${client.containerName}`;
    const anonymous = (method, p, query) => raw(method, p, { query, auth: 'none' });
    const refused = async (method, p, query) => {
        const answer = await anonymous(method, p, query);
        assert.ok([401, 403, 404].includes(answer.status), `${method} ${p}: ${answer.status}`);
    };
    await refused('GET', `${path}/b`);
    await client.setAccessPolicy('blob');
    assert.equal((await anonymous('GET', `${path}/b`)).text, 'open');
    assert.equal((await anonymous('HEAD', `${path}/b`)).status, 200);
    await refused('GET', path, { ...container, comp: 'list' });
    await refused('PUT', `${path}/b`, { comp: 'metadata' });
    await client.setAccessPolicy('container');
    assert.equal((await anonymous('GET', path, { ...container, comp: 'list' })).status, 200);
    assert.equal((await anonymous('GET', path, container)).status, 200);
    await refused('GET', path, { ...container, comp: 'acl' });
    await client.setAccessPolicy();
    await refused('GET', `${path}/b`);
});

test('DeleteContainer: 202, gone, and free again at once', async () => {
    const client = await newContainer();
    await client.getBlockBlobClient('b').upload('x', 1);
    assert.equal((await client.delete())._response.status, 202);
    await assertRejects(client.delete(), 404, 'ContainerNotFound');
    await assertRejects(client.getBlockBlobClient('b').download(), 404, 'ContainerNotFound');
    await client.create();
    await assertRejects(client.getBlockBlobClient('b').download(), 404, 'BlobNotFound');
});

test('DeleteContainer: the being-deleted window', async () => {
    const slow = await startServer({ inMemory: true, services: ['blob'], args: ['--container-delete-seconds', '30'] });
    try {
        const client = (await slow.blobs()).getContainerClient('window');
        await client.create();
        await client.delete();
        await assertRejects(client.create(), 409, 'ContainerBeingDeleted');
        await assertRejects(client.getProperties(), 404, 'ContainerNotFound');
        slow.advance(31000);
        await client.create();
    } finally {
        await slow.stop();
    }
});

test('LeaseContainer: the five actions, and what guards', async () => {
    const client = await newContainer();
    const etag = (await client.getProperties()).etag;
    const lease = client.getBlobLeaseClient();
    assert.equal((await lease.acquireLease(15))._response.status, 201);
    const seen = await client.getProperties();
    assert.deepEqual([seen.leaseState, seen.leaseStatus, seen.leaseDuration, seen.etag], ['leased', 'locked', 'fixed', etag]);
    await client.setMetadata({ a: '1' });
    await assertRejects(client.delete(), 412, 'LeaseIdMissing');
    await assertRejects(client.delete({ conditions: { leaseId: '00000000-0000-0000-0000-000000000001' } }), 412,
        'LeaseIdMismatchWithContainerOperation');
    assert.equal((await lease.renewLease())._response.status, 200);
    const other = '6b1f7a5c-31a9-4c7a-9c1b-0a8f1c3f7d10';
    assert.equal((await lease.changeLease(other)).leaseId, other);
    assert.equal((await lease.releaseLease())._response.status, 200);
    await lease.acquireLease(-1);
    assert.equal((await client.getProperties()).leaseDuration, 'infinite');
    const broken = await lease.breakLease(10);
    assert.deepEqual([broken._response.status, broken.leaseTime], [202, 10]);
    assert.equal((await client.getProperties()).leaseState, 'breaking');
    server.advance(10000);
    assert.equal((await client.getProperties()).leaseState, 'broken');
    await client.delete();
});

test('ListContainers: prefix, pages, metadata, system', async () => {
    const prefix = uniqueName('l');
    for (const i of [1, 2, 3, 4, 5])
        await service.getContainerClient(`${prefix}-${i}`).create({ metadata: { n: String(i) } });
    const names = [];
    for await (const page of service.listContainers({ prefix, includeMetadata: true }).byPage({ maxPageSize: 2 })) {
        assert.ok(page.containerItems.length <= 2);
        for (const item of page.containerItems) {
            names.push(item.name);
            assert.equal(item.metadata.n, item.name.at(-1));
            assert.match(item.properties.etag, /^"0x8[0-9A-F]{14}"$/);
            assert.equal(item.properties.leaseState, 'available');
        }
    }
    assert.deepEqual(names, [1, 2, 3, 4, 5].map((i) => `${prefix}-${i}`));
    const plain = await raw('GET', '', { query: { comp: 'list', prefix, maxresults: 5000 } });
    assert.equal(plain.xml('MaxResults')[0], '5000');
    assert.equal(plain.xml('Prefix')[0], prefix);
    assert.equal(plain.text.includes('<Metadata>'), false);
    assert.match(plain.text, new RegExp(`ServiceEndpoint="http://127.0.0.1:\\d+/${ACCOUNT}/"`));
    for (const [query, code] of [[{ maxresults: 0 }, 'OutOfRangeQueryParameterValue'], [{ maxresults: -1 }, 'OutOfRangeQueryParameterValue'],
        [{ maxresults: 'x' }, 'InvalidQueryParameterValue'], [{ include: 'nonsense' }, 'InvalidQueryParameterValue']])
        assertError(await raw('GET', '', { query: { comp: 'list', ...query } }), 400, code);
    assert.equal((await raw('GET', '', { query: { comp: 'list', include: 'metadata,deleted,system' } })).status, 200);
});

test('GetBlobServiceProperties, SetBlobServiceProperties: omitted parts stay', async () => {
    const cors = [{ allowedOrigins: 'http://a', allowedMethods: 'GET', allowedHeaders: '*', exposedHeaders: '*', maxAgeInSeconds: 60 }];
    assert.equal((await service.setProperties({ cors }))._response.status, 202);
    await service.setProperties({ deleteRetentionPolicy: { enabled: false } });
    assert.deepEqual((await service.getProperties()).cors, cors);
    await service.setProperties({ cors: [] });
    assert.deepEqual((await service.getProperties()).cors ?? [], []);
});

test('GetAccountInformation: at every level', async () => {
    const info = await service.getAccountInfo();
    assert.deepEqual([info.skuName, info.accountKind], ['Standard_RAGRS', 'StorageV2']);
    const query = { restype: 'account', comp: 'properties' };
    for (const path of ['', '/none1', '/none1/blob'])
        for (const method of ['GET', 'HEAD'])
            assert.equal((await raw(method, path, { query })).headers['x-ms-is-hns-enabled'], 'false');
});

test('GetBlobServiceStats: on the secondary only', async () => {
    assertError(await raw('GET', '', { query: { restype: 'service', comp: 'stats' } }), 400, 'InvalidQueryParameterValue');
});
