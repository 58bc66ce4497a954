// SPDX-License-Identifier: Apache-2.0
// List Blobs through the official SDK and through raw requests.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ACCOUNT, assertError, startServer, uniqueName } from './lib.mjs';

let server;
let container;
const NAMES = ['a', 'a/1', 'a/2', 'a/b/3', 'b', 'c/x', 'Z', 'ä', '😀', '～'];
const ORDERED = ['Z', 'a', 'a/1', 'a/2', 'a/b/3', 'b', 'c/x', 'ä', '😀', '～'];

before(async () => {
    server = await startServer({ inMemory: true, services: ['blob'] });
    container = (await server.blobs()).getContainerClient(uniqueName('c'));
    await container.create();
    for (const name of NAMES)
        await container.getBlockBlobClient(name).upload('x', 1, { metadata: { Name: encodeURIComponent(name) } });
});
after(() => server.stop());

const raw = (query, headers) => server.request('blob', 'GET', `/${container.containerName}`,
    { query: { restype: 'container', comp: 'list', ...query }, headers });

async function flat(options, size) {
    const names = [];
    for await (const page of container.listBlobsFlat(options).byPage({ maxPageSize: size }))
        names.push(...page.segment.blobItems.map((item) => item.name));
    return names;
}

async function tree(delimiter, options, size) {
    const names = [];
    for await (const page of container.listBlobsByHierarchy(delimiter, options).byPage({ maxPageSize: size })) {
        const all = [...(page.segment.blobPrefixes ?? []), ...page.segment.blobItems].map((item) => item.name);
        assert.ok(size === undefined || all.length <= size);
        names.push(...all);
    }
    return names.sort();
}

test('ListBlobs: order, prefix, pages of every size', async () => {
    for (const size of [undefined, 1, 2, 3, 10, 11]) {
        assert.deepEqual(await flat({}, size), ORDERED);
        assert.deepEqual(await flat({ prefix: 'a' }, size), ['a', 'a/1', 'a/2', 'a/b/3']);
        assert.deepEqual(await flat({ prefix: 'none' }, size), []);
    }
});

test('ListBlobs: by delimiter', async () => {
    for (const size of [undefined, 1, 2, 3]) {
        assert.deepEqual(await tree('/', {}, size), ['Z', 'a', 'a/', 'b', 'c/', 'ä', '😀', '～'].sort());
        assert.deepEqual(await tree('/', { prefix: 'a/' }, size), ['a/1', 'a/2', 'a/b/']);
        assert.deepEqual(await tree('/b/', { prefix: 'a' }, size), ['a', 'a/1', 'a/2', 'a/b/']);
    }
});

test('ListBlobs: what is said of a blob', async () => {
    const { text } = await raw({ prefix: 'b' });
    assert.match(text, new RegExp(`^<\\?xml version="1.0" encoding="utf-8"\\?><EnumerationResults ServiceEndpoint="http://127.0.0.1:\\d+/${ACCOUNT}/" ContainerName="${container.containerName}"><Prefix>b</Prefix><Blobs>`));
    for (const part of ['<Name>b</Name>', '<Content-Length>1</Content-Length>', '<Content-Type>application/octet-stream</Content-Type>',
        '<Content-Encoding />', '<Cache-Control />', '<BlobType>BlockBlob</BlobType>', '<AccessTier>Hot</AccessTier><AccessTierInferred>true</AccessTierInferred>',
        '<LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState>', '<ServerEncrypted>true</ServerEncrypted>', '</Blobs><NextMarker /></EnumerationResults>'])
        assert.ok(text.includes(part), `${part} in ${text}`);
    assert.match(text, /<Etag>0x8[0-9A-F]{14}<\/Etag>/);
    assert.match(text, /<Content-MD5>[A-Za-z0-9+/]{22}==<\/Content-MD5>/);
    assert.equal(text.includes('Metadata'), false);
    const echoed = await raw({ prefix: 'a', delimiter: '/', maxresults: 1 });
    assert.deepEqual([echoed.xml('Delimiter'), echoed.xml('MaxResults')], [['/'], ['1']]);
    assert.notEqual(echoed.xml('NextMarker')[0], '');
    assert.equal((await raw({ marker: echoed.xml('NextMarker')[0] })).xml('Marker')[0], echoed.xml('NextMarker')[0]);
});

test('ListBlobs: include', async () => {
    const blob = container.getBlockBlobClient('inc');
    await blob.upload('x', 1, { metadata: { K: 'v' } });
    const { snapshot } = await blob.createSnapshot();
    await container.getBlockBlobClient('inc2').stageBlock('MQ==', 'x', 1);
    const lease = blob.getBlobLeaseClient();
    await lease.acquireLease(-1);
    assert.deepEqual((await raw({ prefix: 'inc' })).xml('Name'), ['inc']);
    const all = await raw({ prefix: 'inc', include: 'snapshots,metadata,uncommittedblobs,copy,deleted,tags,versions,immutabilitypolicy,legalhold,deletedwithversions' });
    assert.deepEqual(all.xml('Name'), ['inc', 'inc', 'inc2']);
    assert.deepEqual(all.xml('Snapshot'), [snapshot]);
    assert.deepEqual(all.xml('K'), ['v', 'v']);
    assert.deepEqual(all.xml('LeaseDuration'), ['infinite']);
    assert.equal(all.xml('LeaseState').length, 2, 'a snapshot has none');
    assert.equal(all.xml('Last-Modified').length, 2, 'an uncommitted blob has none');
    await lease.releaseLease();
    assertError(await raw({ include: 'snapshots', delimiter: '/' }), 400, 'InvalidQueryParameterValue');
    assertError(await raw({ include: 'everything' }), 400, 'InvalidQueryParameterValue');
});

test('ListBlobs: bad parameters', async () => {
    for (const [query, code] of [[{ maxresults: 0 }, 'OutOfRangeQueryParameterValue'], [{ maxresults: '-5' }, 'OutOfRangeQueryParameterValue'],
        [{ maxresults: 'many' }, 'InvalidQueryParameterValue'], [{ marker: 'not ours' }, 'InvalidQueryParameterValue']])
        assertError(await raw(query), 400, code);
    assert.equal((await raw({ maxresults: 100000 })).status, 200);
    assertError(await raw({}, { 'If-Match': '*' }), 400, 'ConditionHeadersNotSupported');
    const none = await server.request('blob', 'GET', '/none1', { query: { restype: 'container', comp: 'list' } });
    assertError(none, 404, 'ContainerNotFound');
});

test('ListBlobs: names that XML cannot hold are encoded', async () => {
    const name = 'odd\uFFFE';
    await server.request('blob', 'PUT', `/${container.containerName}/${encodeURIComponent(name)}`,
        { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } });
    assert.ok((await raw({ prefix: 'odd' })).text.includes(`<Name Encoded="true">${encodeURIComponent(name)}</Name>`));
    await container.getBlockBlobClient('amp&<>').upload('x', 1);
    assert.ok((await raw({ prefix: 'amp' })).text.includes('<Name>amp&amp;&lt;&gt;</Name>'));
});

test('ListBlobs: startFrom', async () => {
    const seen = await raw({ startFrom: 'a/2', prefix: 'a' }, { 'x-ms-version': '2026-02-06' });
    assert.deepEqual(seen.xml('Name').slice(0, 2), ['a/2', 'a/b/3']);
});

test('ListBlobs: 5,000 in a page, and the rest in the next', async () => {
    const many = (await server.blobs()).getContainerClient(uniqueName('many'));
    await many.create();
    for (let i = 0; i < 5100; i += 100)
        await Promise.all(Array.from({ length: 100 }, (_, k) => many.getBlockBlobClient(`n${String(i + k).padStart(5, '0')}`).upload('', 0)));
    const pages = [];
    for await (const page of many.listBlobsFlat().byPage())
        pages.push(page.segment.blobItems.length);
    assert.deepEqual(pages, [5000, 100]);
});
