// SPDX-License-Identifier: Apache-2.0
// SetBlobImmutabilityPolicy, DeleteBlobImmutabilityPolicy, SetBlobLegalHold, SetBlobExpiry, encryption scopes, and
// requests refused as not implemented (QueryBlobContents, client-provided keys, Arrow listings).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertError, assertRejects, startServer, uniqueName } from './lib.mjs';

let server;
let blobs;
let sdk;
before(async () => {
    server = await startServer({ services: ['blob'] });
    blobs = await server.blobs();
    sdk = await import('@azure/storage-blob');
});
after(() => server.stop());

const BLOCK = { 'x-ms-blob-type': 'BlockBlob' };
const HOUR = 3600e3;
const later = (ms) => new Date(Math.floor((Date.now() + ms) / 1000) * 1000);

async function newContainer(options) {
    const container = blobs.getContainerClient(uniqueName('protect'));
    await container.create(options);
    return container;
}

async function newBlob(name = 'b') {
    const blob = (await newContainer()).getBlockBlobClient(name);
    await blob.upload('old', 3);
    return blob;
}

const raw = (blob, method, options) => server.request('blob', method, `/${blob.containerName}/${blob.name}`, options);

async function refuses(blob, code) {
    await assertRejects(blob.upload('new', 3), 409, code);
    await assertRejects(blob.delete({ deleteSnapshots: 'include' }), 409, code);
    await assertRejects(blob.setMetadata({ a: 'b' }), 409, code);
    await blob.stageBlock('AAAA', 'x', 1);
    await assertRejects(blob.commitBlockList(['AAAA']), 409, code);
    await blob.setHTTPHeaders({ blobContentType: 'text/plain' });
    assert.equal((await blob.downloadToBuffer()).toString(), 'old');
}

test('policies: set, extend, lock, delete', async () => {
    const blob = await newBlob();
    const expiriesOn = later(HOUR);
    const set = await blob.setImmutabilityPolicy({ expiriesOn, policyMode: 'Unlocked' });
    assert.equal(set.immutabilityPolicyMode, 'unlocked');
    assert.deepEqual(set.immutabilityPolicyExpiry, expiriesOn);
    const properties = await blob.getProperties();
    assert.deepEqual(properties.immutabilityPolicyExpiresOn, expiriesOn);
    assert.equal(properties.immutabilityPolicyMode, 'unlocked');
    const download = await blob.download();
    assert.deepEqual(download.immutabilityPolicyExpiresOn, expiriesOn);
    await refuses(blob, 'BlobImmutableDueToPolicy');
    await blob.deleteImmutabilityPolicy();
    assert.equal((await blob.getProperties()).immutabilityPolicyMode, undefined);
    await blob.setImmutabilityPolicy({ expiriesOn, policyMode: 'Locked' });
    await assertRejects(blob.deleteImmutabilityPolicy(), 409, 'BlobImmutableDueToPolicy');
    await assertRejects(blob.setImmutabilityPolicy({ expiriesOn: later(HOUR / 2), policyMode: 'Locked' }), 409, 'BlobImmutableDueToPolicy');
    await assertRejects(blob.setImmutabilityPolicy({ expiriesOn: later(2 * HOUR), policyMode: 'Unlocked' }), 409, 'BlobImmutableDueToPolicy');
    await blob.setImmutabilityPolicy({ expiriesOn: later(2 * HOUR), policyMode: 'Locked' });
    await assertRejects(blobs.getContainerClient(blob.containerName).delete(), 409, 'BlobImmutableDueToPolicy');
});

test('policies end by themselves', async () => {
    const blob = await newBlob();
    await blob.setImmutabilityPolicy({ expiriesOn: later(HOUR), policyMode: 'Locked' });
    server.advance(HOUR + 2000);
    await blob.upload('new', 3);
    await blob.delete();
});

test('legal holds', async () => {
    const blob = await newBlob();
    assert.equal((await blob.setLegalHold(true)).legalHold, true);
    assert.equal((await blob.getProperties()).legalHold, true);
    await refuses(blob, 'BlobImmutableDueToLegalHold');
    const container = blobs.getContainerClient(blob.containerName);
    const [listed] = (await container.listBlobsFlat({ includeLegalHold: true, includeImmutabilityPolicy: true }).byPage().next())
        .value.segment.blobItems;
    assert.equal(listed.properties.legalHold, true);
    const [plain] = (await container.listBlobsFlat().byPage().next()).value.segment.blobItems;
    assert.equal(plain.properties.legalHold, undefined);
    assert.equal((await blob.setLegalHold(false)).legalHold, false);
    await blob.delete();
});

test('protection from the first write on', async () => {
    const container = await newContainer();
    const immutabilityPolicy = { expiriesOn: later(HOUR), policyMode: 'Unlocked' };
    const put = container.getBlockBlobClient('put');
    await put.upload('old', 3, { immutabilityPolicy, legalHold: true });
    await refuses(put, 'BlobImmutableDueToLegalHold');
    await put.setLegalHold(false);
    await refuses(put, 'BlobImmutableDueToPolicy');
    const list = container.getBlockBlobClient('list');
    await list.stageBlock('AAAA', 'old', 3);
    await list.commitBlockList(['AAAA'], { immutabilityPolicy });
    await refuses(list, 'BlobImmutableDueToPolicy');
    const append = container.getAppendBlobClient('append');
    await append.create({ immutabilityPolicy });
    await assertRejects(append.appendBlock('x', 1), 409, 'BlobImmutableDueToPolicy');
    const page = container.getPageBlobClient('page');
    await page.create(1024, { legalHold: true });
    await assertRejects(page.uploadPages(Buffer.alloc(512), 0, 512), 409, 'BlobImmutableDueToLegalHold');
    await assertRejects(page.resize(512), 409, 'BlobImmutableDueToLegalHold');
    const [first] = (await container.listBlobsFlat({ includeImmutabilityPolicy: true, prefix: 'list' }).byPage().next())
        .value.segment.blobItems;
    assert.equal(first.properties.immutabilityPolicyMode, 'unlocked');
});

test('policies: bad requests, conditions, permissions', async () => {
    const blob = await newBlob();
    const query = 'comp=immutabilityPolicies';
    const until = { 'x-ms-immutability-policy-until-date': later(HOUR).toUTCString() };
    assertError(await raw(blob, 'PUT', { query }), 400, 'MissingRequiredHeader');
    for (const value of ['tomorrow', later(-HOUR).toUTCString()])
        assertError(await raw(blob, 'PUT', { query, headers: { 'x-ms-immutability-policy-until-date': value } }), 400, 'InvalidHeaderValue');
    assertError(await raw(blob, 'PUT', { query, headers: { ...until, 'x-ms-immutability-policy-mode': 'Mutable' } }), 400, 'InvalidHeaderValue');
    assertError(await raw(blob, 'PUT', { query: 'comp=legalhold' }), 400, 'MissingRequiredHeader');
    assertError(await raw(blob, 'PUT', { query: 'comp=legalhold', headers: { 'x-ms-legal-hold': 'yes' } }), 400, 'InvalidHeaderValue');
    assertError(await raw(blob, 'PUT', { query, headers: { ...until, 'If-Unmodified-Since': later(-HOUR).toUTCString() } }), 412, 'ConditionNotMet');
    assertError(await raw(blob, 'PUT', { query, headers: { ...until, 'If-Match': '*' } }), 400, 'ConditionHeadersNotSupported');
    const sas = async (letters) => new sdk.BlockBlobClient(await blob.generateSasUrl(
        { permissions: sdk.BlobSASPermissions.parse(letters), expiresOn: later(HOUR) }));
    const writer = await sas('w');
    await assertRejects(writer.setLegalHold(true), 403, 'AuthorizationPermissionMismatch');
    await assertRejects(writer.upload('x', 1, { legalHold: true }), 403, 'AuthorizationPermissionMismatch');
    await (await sas('i')).setLegalHold(true);
    assert.equal((await blob.getProperties()).legalHold, true);
});

test('SetBlobExpiry: every option; expired blobs are gone at once, and swept', async () => {
    const blob = await newBlob();
    const expire = (option, time) => raw(blob, 'PUT', { query: 'comp=expiry', headers: { 'x-ms-expiry-option': option, 'x-ms-expiry-time': time } });
    const before = await blob.getProperties();
    const at = later(HOUR).toUTCString();
    const answer = await expire('Absolute', at);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.etag, before.etag);
    assert.equal((await raw(blob, 'HEAD')).headers['x-ms-expiry-time'], at);
    const list = await server.request('blob', 'GET', `/${blob.containerName}`, { query: 'restype=container&comp=list' });
    assert.deepEqual(list.xml('Expiry-Time'), [at]);
    assert.equal((await expire('NeverExpire')).status, 200);
    assert.equal((await raw(blob, 'HEAD')).headers['x-ms-expiry-time'], undefined);
    assert.equal((await expire('RelativeToCreation', '7200000')).status, 200);
    assert.equal((await expire('RelativeToNow', '5000')).status, 200);
    assertError(await expire('Sometime', '1'), 400, 'InvalidHeaderValue');
    assertError(await expire(undefined, '1'), 400, 'MissingRequiredHeader');
    assertError(await expire('RelativeToNow'), 400, 'MissingRequiredHeader');
    assertError(await expire('RelativeToNow', 'x'), 400, 'InvalidHeaderValue');
    assertError(await expire('NeverExpire', '1'), 400, 'InvalidHeaderValue');
    assertError(await expire('Absolute', later(-HOUR).toUTCString()), 400, 'InvalidHeaderValue');
    server.advance(6000);
    assertError(await raw(blob, 'GET'), 404, 'BlobNotFound');
    assertError(await expire('NeverExpire'), 404, 'BlobNotFound');
    const empty = await server.request('blob', 'GET', `/${blob.containerName}`, { query: 'restype=container&comp=list' });
    assert.deepEqual(empty.xml('Name'), []);
    await blob.upload('new', 3);
    assert.equal((await raw(blob, 'HEAD')).headers['x-ms-expiry-time'], undefined);
});

test('encryption scopes are kept, checked and told', async () => {
    const scoped = await newContainer({ containerEncryptionScope: { defaultEncryptionScope: 'usual', preventEncryptionScopeOverride: true } });
    const properties = await scoped.getProperties();
    assert.equal(properties.defaultEncryptionScope, 'usual');
    assert.equal(properties.denyEncryptionScopeOverride, true);
    const blob = scoped.getBlockBlobClient('b');
    assert.equal((await blob.upload('x', 1)).encryptionScope, 'usual');
    await blob.upload('x', 1, { encryptionScope: 'usual' });
    await assertRejects(blob.upload('x', 1, { encryptionScope: 'other' }), 403, 'RequestForbiddenByContainerEncryptionPolicy');
    await assertRejects(blob.stageBlock('AAAA', 'x', 1, { encryptionScope: 'other' }), 403, 'RequestForbiddenByContainerEncryptionPolicy');
    const open = await newContainer();
    assert.equal((await open.getProperties()).defaultEncryptionScope, '$account-encryption-key');
    const log = open.getAppendBlobClient('log');
    assert.equal((await log.create({ encryptionScope: 'mine' })).encryptionScope, 'mine');
    assert.equal((await log.appendBlock('x', 1, { encryptionScope: 'mine' })).encryptionScope, 'mine');
    await assertRejects(log.appendBlock('x', 1, { encryptionScope: 'other' }), 409, 'BlobCustomerSpecifiedEncryptionMismatch');
    // A write must name the scope, unless it is the default of the container; reads need not.
    for (const write of [() => log.appendBlock('x', 1), () => log.setMetadata({ a: '1' }), () => log.createSnapshot()])
        await assertRejects(write(), 409, 'BlobUsesCustomerSpecifiedEncryption');
    await log.setMetadata({ a: '1' }, { encryptionScope: 'mine' });
    await log.createSnapshot({ encryptionScope: 'mine' });
    await blob.setMetadata({ a: '1' });
    await blob.createSnapshot();
    assert.equal((await log.getProperties()).encryptionScope, 'mine');
    assert.equal((await raw(log, 'GET')).headers['x-ms-encryption-scope'], 'mine');
    const [listed] = (await open.listBlobsFlat().byPage().next()).value.segment.blobItems;
    assert.equal(listed.properties.encryptionScope, 'mine');
    assertError(await server.request('blob', 'PUT', `/${uniqueName('bad')}`,
        { query: 'restype=container', headers: { 'x-ms-deny-encryption-scope-override': 'true' } }), 400, 'MissingRequiredHeader');
});

test('what is not there says so', async () => {
    const blob = await newBlob();
    assertError(await raw(blob, 'POST', { query: 'comp=query', body: '<QueryRequest/>' }), 501, 'NotImplemented');
    const key = Buffer.alloc(32, 1).toString('base64');
    const headers = { ...BLOCK, 'x-ms-encryption-key': key, 'x-ms-encryption-key-sha256': key, 'x-ms-encryption-algorithm': 'AES256' };
    assertError(await raw(blob, 'PUT', { headers, body: 'x' }), 501, 'NotImplemented');
    assertError(await raw(blob, 'GET', { headers }), 501, 'NotImplemented');
    assertError(await server.request('blob', 'GET', `/${blob.containerName}`, {
        query: 'restype=container&comp=list', headers: { Accept: 'application/vnd.apache.arrow.stream' },
    }), 501, 'NotImplemented');
    const none = await server.request('blob', 'GET', `/${blob.containerName}`,
        { query: 'restype=container&comp=list&endBefore=!', headers: { 'x-ms-version': '2026-10-06' } });
    assert.doesNotMatch(none.text, /<Blob>/);
    assert.equal((await raw(blob, 'GET')).text, 'old');
});

test('a copy can be protected from the start, and a protected blob is no destination', async () => {
    const source = await newBlob('source');
    const container = blobs.getContainerClient(source.containerName);
    const copy = container.getBlockBlobClient('copy');
    const url = await source.generateSasUrl({ permissions: sdk.BlobSASPermissions.parse('r'), expiresOn: later(HOUR) });
    await copy.syncCopyFromURL(url, { immutabilityPolicy: { expiriesOn: later(HOUR), policyMode: 'Unlocked' } });
    assert.equal((await copy.getProperties()).immutabilityPolicyMode, 'unlocked');
    await assertRejects(copy.syncCopyFromURL(url), 409, 'BlobImmutableDueToPolicy');
    await assertRejects(copy.syncUploadFromURL(url), 409, 'BlobImmutableDueToPolicy');
    await refuses(copy, 'BlobImmutableDueToPolicy');
});
