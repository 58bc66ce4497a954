// SPDX-License-Identifier: Apache-2.0
// Tags and tiers through the SDK.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { AnonymousCredential, BlobSASPermissions, BlockBlobClient } from '@azure/storage-blob';
import { assertError, startServer } from './lib.mjs';

let server;
let service;
let container;
before(async () => {
    server = await startServer({ services: ['blob'] });
    service = await server.blobs();
    container = service.getContainerClient('tagged');
    await container.create();
});
after(() => server.stop());

const put = async (name, tags, where = container) => {
    const blob = where.getBlockBlobClient(name);
    await blob.upload('x', 1, { tags });
    return blob;
};
const all = async (iterator) => {
    const found = [];
    for await (const item of iterator) found.push(item);
    return found;
};
const rejected = (promise, status, code) =>
    assert.rejects(promise, (e) => e.statusCode === status && e.code === code);

test('tags: set, get, count, clear, and no new ETag', async () => {
    const blob = await put('one', { project: 'a b+c', 'x/y:z=_.-': '' });
    assert.deepEqual((await blob.getTags()).tags, { project: 'a b+c', 'x/y:z=_.-': '' });
    const before = await blob.getProperties();
    assert.equal(before.tagCount, 2);
    await blob.setTags({ only: '1' });
    const now = await blob.getProperties();
    assert.equal(now.tagCount, 1);
    assert.equal(now.etag, before.etag);
    assert.equal((await blob.download()).tagCount, 1);
    await blob.setTags({});
    assert.deepEqual((await blob.getTags()).tags, {});
    assert.equal((await blob.getProperties()).tagCount, undefined);
});

test('tags: what is refused', async () => {
    const blob = await put('bad', { k: '1' });
    const eleven = Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`k${i}`, '']));
    await rejected(blob.setTags(eleven), 400, 'TagsTooLarge');
    await rejected(blob.setTags({ k: 'a&b' }), 400, 'InvalidTag');
    await rejected(blob.setTags({ '': 'v' }), 400, 'EmptyTagName');
    await rejected(blob.setTags({ k: 'v'.repeat(257) }), 400, 'TagsTooLarge');
    await rejected(put('bad', { k: 'é' }), 400, 'InvalidTag');
    assert.deepEqual((await blob.getTags()).tags, { k: '1' });
    await rejected(container.getBlobClient('none').getTags(), 404, 'BlobNotFound');
});

test('tags: conditions, snapshots, every type of blob', async () => {
    const blob = await put('cond', { stage: 'draft' });
    await rejected(blob.setTags({ stage: 'x' }, { conditions: { tagConditions: "stage = 'final'" } }), 412, 'ConditionNotMet');
    await blob.setTags({ stage: 'final' }, { conditions: { tagConditions: "stage = 'draft'" } });
    const { snapshot } = await blob.createSnapshot();
    await blob.upload('y', 1);
    assert.deepEqual((await blob.getTags()).tags, {});
    assert.deepEqual((await blob.withSnapshot(snapshot).getTags()).tags, { stage: 'final' });
    await container.getAppendBlobClient('append').create({ tags: { type: 'append' } });
    await container.getPageBlobClient('page').create(512, { tags: { type: 'page' } });
    const blocks = container.getBlockBlobClient('blocks');
    await blocks.stageBlock('AAAA', 'x', 1);
    await blocks.commitBlockList(['AAAA'], { tags: { type: 'blocks' } });
    const names = (await all(service.findBlobsByTags("type >= 'a'"))).map((b) => b.name);
    assert.deepEqual(names, ['append', 'blocks', 'page']);
});

test('tags: listing shows them when asked', async () => {
    await put('listed', { a: '1', b: '2' });
    const [plain] = await all(container.listBlobsFlat({ prefix: 'listed' }));
    assert.equal(plain.properties.tagCount, 2);
    assert.equal(plain.tags, undefined);
    const [full] = await all(container.listBlobsFlat({ prefix: 'listed', includeTags: true }));
    assert.deepEqual(full.tags, { a: '1', b: '2' });
});

test('tags: finding, in pages, in an account and in a container', async () => {
    const other = service.getContainerClient('tagged-too');
    await other.create();
    for (let i = 0; i < 5; i++) await put(`f${i}`, { find: 'me', n: `${i}` });
    await put('g', { find: 'me' }, other);
    const everywhere = await all(service.findBlobsByTags("find = 'me'"));
    assert.deepEqual(everywhere.map((b) => `${b.containerName}/${b.name}`),
        ['tagged/f0', 'tagged/f1', 'tagged/f2', 'tagged/f3', 'tagged/f4', 'tagged-too/g']);
    assert.equal(everywhere[0].tagValue, 'me');
    const some = await all(container.findBlobsByTags("find = 'me' AND n >= '2' AND n < '4'"));
    assert.deepEqual(some.map((b) => b.name), ['f2', 'f3']);
    assert.deepEqual(some[0].tags, { find: 'me', n: '2' });
    const one = await all(service.findBlobsByTags("@container = 'tagged-too' AND find = 'me'"));
    assert.deepEqual(one.map((b) => b.name), ['g']);
    const pages = await all(service.findBlobsByTags("find = 'me'").byPage({ maxPageSize: 2 }));
    assert.deepEqual(pages.map((p) => p.blobs.length), [2, 2, 2]);
    await container.getBlobClient('f0').delete();
    assert.equal((await all(container.findBlobsByTags("find = 'me'"))).length, 4);
    for (const bad of ["find <> 'me'", "find = 'a' OR find = 'b'", 'find', "@container = 'tagged'", "find = 'a' AND"])
        await rejected(all(service.findBlobsByTags(bad)), 400, 'InvalidQueryParameterValue');
    await rejected(all(service.getContainerClient('absent').findBlobsByTags("a = '1'")), 404, 'ContainerNotFound');
});

test('tags: a SAS needs the letter t', async () => {
    const blob = await put('sas', { k: '1' });
    const as = async (letters) => new BlockBlobClient(await blob.generateSasUrl({
        permissions: BlobSASPermissions.parse(letters), expiresOn: new Date(Date.now() + 3600e3),
    }), new AnonymousCredential());
    const writer = await as('rw');
    await rejected(writer.upload('y', 1, { tags: { k: '2' } }), 403, 'AuthorizationPermissionMismatch');
    await rejected(writer.getTags(), 403, 'AuthorizationPermissionMismatch');
    await rejected(writer.download(0, 1, { conditions: { tagConditions: "k = '1'" } }), 403, 'AuthorizationPermissionMismatch');
    assert.deepEqual((await blob.getTags()).tags, { k: '1' });
    const tagger = await as('rwt');
    await tagger.upload('y', 1, { tags: { k: '2' } });
    assert.deepEqual((await tagger.getTags()).tags, { k: '2' });
});

test('tiers: block blobs, the archive and back', async () => {
    const blob = await put('tiers', { k: '1' });
    assert.equal((await blob.setAccessTier('Cool'))._response.status, 200);
    const cool = await blob.getProperties();
    assert.equal(cool.accessTier, 'Cool');
    assert.ok(cool.accessTierChangedOn instanceof Date);
    await blob.setAccessTier('Archive');
    await rejected(blob.download(), 409, 'BlobArchived');
    await rejected(blob.upload('y', 1), 409, 'BlobArchived');
    await blob.setTags({ still: 'works' });
    assert.equal((await blob.setAccessTier('Hot', { rehydratePriority: 'High' }))._response.status, 202);
    const hot = await blob.getProperties();
    assert.equal(hot.accessTier, 'Hot');
    assert.equal(hot.archiveStatus, undefined);
    assert.equal((await blob.downloadToBuffer()).toString(), 'x');
    await rejected(blob.setAccessTier('P10'), 400, 'InvalidBlobTier');
});

test('tiers: a rehydration that takes its time', async () => {
    const slow = await startServer({ services: ['blob'], args: ['--rehydrate-seconds', '3600'] });
    try {
        const place = (await slow.blobs()).getContainerClient('slow');
        await place.create();
        const blob = place.getBlockBlobClient('b');
        await blob.upload('x', 1, { tier: 'Archive' });
        assert.equal((await blob.setAccessTier('Cool'))._response.status, 202);
        const pending = await blob.getProperties();
        assert.equal(pending.accessTier, 'Archive');
        assert.equal(pending.archiveStatus, 'rehydrate-pending-to-cool');
        assert.equal(pending.rehydratePriority, 'Standard');
        const [listed] = await all(place.listBlobsFlat());
        assert.equal(listed.properties.archiveStatus, 'rehydrate-pending-to-cool');
        await rejected(blob.setAccessTier('Hot'), 409, 'BlobBeingRehydrated');
    } finally {
        await slow.stop();
    }
});

test('tiers: page blobs have their own', async () => {
    const page = container.getPageBlobClient('premium');
    await page.create(1 << 20, { tier: 'P6' });
    assert.equal((await page.getProperties()).accessTier, 'P6');
    await page.setAccessTier('P20');
    await rejected(page.setAccessTier('P10'), 409, 'CannotChangeToLowerTier');
    await rejected(page.setAccessTier('Cool'), 400, 'InvalidBlobTier');
    await rejected(page.resize(600 * 2 ** 30), 409, 'BlobTierInadequateForContentLength');
});

const xmlOf = (tags) => `<?xml version="1.0" encoding="utf-8"?><Tags><TagSet>${
    tags.map(([key, value]) => `<Tag><Key>${key}</Key><Value>${value}</Value></Tag>`).join('')}</TagSet></Tags>`;
const raw = (method, name, comp, headers = {}, body = undefined) =>
    server.request('blob', method, `/tagged/${name}`, { query: `comp=${comp}`, headers, body });

test('tags: bad bodies and headers change nothing', async () => {
    const blob = await put('raw', { k: '1' });
    assertError(await raw('PUT', 'raw', 'tags', {}, '<Tags>'), 400, 'InvalidXmlDocument');
    assertError(await raw('PUT', 'raw', 'tags', {}, '<Tags></Tags>'), 400, 'InvalidXmlDocument');
    assertError(await raw('PUT', 'raw', 'tags', {}, '<Tags><TagSet><Tag><Key>a</Key></Tag></TagSet></Tags>'), 400, 'InvalidXmlDocument');
    assertError(await raw('PUT', 'raw', 'tags', {}, xmlOf([['a', '1'], ['a', '2']])), 400, 'DuplicateTagNames');
    assertError(await raw('PUT', 'raw', 'tags', { 'Content-MD5': 'AAAAAAAAAAAAAAAAAAAAAA==' }, xmlOf([])), 400, 'Md5Mismatch');
    assertError(await raw('PUT', 'raw', 'tags', { 'If-Match': '*' }, xmlOf([])), 400, 'ConditionHeadersNotSupported');
    const upload = (tags) => server.request('blob', 'PUT', '/tagged/raw',
        { headers: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-tags': tags }, body: 'y' });
    assertError(await upload('a=1&a=2'), 400, 'DuplicateTagNames');
    assertError(await upload('=1'), 400, 'EmptyTagName');
    assertError(await upload('a=%zz'), 400, 'InvalidHeaderValue');
    assertError(await upload(`a=${'%20'.repeat(700)}`), 400, 'TagsTooLarge');
    assert.deepEqual((await blob.getTags()).tags, { k: '1' });
    assert.equal((await upload('a+b=c%2Bd&e=')).status, 201);
    assert.deepEqual((await blob.getTags()).tags, { 'a b': 'c+d', e: '' });
});

test('tags: conditions on the blob, from 2026-02-06 on', async () => {
    const blob = await put('newer', { k: '1' });
    const { etag } = await blob.getProperties();
    const version = { 'x-ms-version': '2026-02-06' };
    assertError(await raw('PUT', 'newer', 'tags', { ...version, 'x-ms-blob-if-match': '"0x1"' }, xmlOf([])), 412, 'ConditionNotMet');
    assert.equal((await raw('GET', 'newer', 'tags', { ...version, 'x-ms-blob-if-none-match': etag })).status, 304);
    assert.equal((await raw('PUT', 'newer', 'tags', { ...version, 'x-ms-blob-if-match': etag }, xmlOf([['k', '2']]))).status, 204);
    assert.deepEqual((await raw('GET', 'newer', 'tags', { ...version, 'x-ms-blob-if-match': etag })).xml('Value'), ['2']);
});

test('tags: what a search refuses', async () => {
    const find = (query) => server.request('blob', 'GET', '', { query: { comp: 'blobs', ...query } });
    assertError(await find({}), 400, 'MissingRequiredQueryParameter');
    assertError(await find({ where: "a = '1'", maxresults: '0' }), 400, 'OutOfRangeQueryParameterValue');
    assertError(await find({ where: "a = '1'", marker: '!' }), 400, 'InvalidQueryParameterValue');
    assertError(await find({ where: '"a&b" = \'1\'' }), 400, 'InvalidQueryParameterValue');
    assertError(await find({ where: Array.from({ length: 12 }, () => "a = '1'").join(' AND ') }), 400, 'InvalidQueryParameterValue');
    const answer = await find({ where: "a >= '<'", marker: Buffer.from('zz\0zz').toString('base64') });
    assertError(answer, 400, 'InvalidQueryParameterValue');
    assert.equal((await find({ where: "a >= '0'", marker: Buffer.alloc(300, 255).toString('base64') })).status, 200);
});

test('tiers: bad headers', async () => {
    await put('bad-tier', {});
    assertError(await raw('PUT', 'bad-tier', 'tier'), 400, 'MissingRequiredHeader');
    assertError(await raw('PUT', 'bad-tier', 'tier', { 'x-ms-access-tier': 'Warm' }), 400, 'InvalidHeaderValue');
    assertError(await raw('PUT', 'bad-tier', 'tier', { 'x-ms-access-tier': 'Cool', 'x-ms-rehydrate-priority': 'Low' }), 400, 'InvalidHeaderValue');
    assertError(await raw('PUT', 'bad-tier', 'tier', { 'x-ms-access-tier': 'Cool', 'If-Match': '*' }), 400, 'ConditionHeadersNotSupported');
    assertError(await server.request('blob', 'PUT', '/tagged/bad-tier',
        { headers: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-access-tier': 'P10' }, body: 'x' }), 400, 'InvalidHeaderValue');
});
