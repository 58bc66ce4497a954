// SPDX-License-Identifier: Apache-2.0
// Versions, soft delete of blobs and of containers, with the official SDK. What each operation does to each kind of blob
// is in blob_kinds.test.mjs.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, beforeEach, test } from 'node:test';
import { BlobSASPermissions, generateBlobSASQueryParameters, StorageSharedKeyCredential } from '@azure/storage-blob';
import { assertError, assertRejects, BIN, startServer, STORE_IN_FOLDER, uniqueName } from './lib.mjs';

const KEY = Buffer.alloc(64, 9).toString('base64');
const DAY_MS = 24 * 3600 * 1000;
const VERSION_ID = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z$/;
let server;
let plain;
let versioned;

before(async () => {
    server = await startServer({
        services: ['blob'],
        args: ['--blob-versioning', 'other,versioned', '--container-retention-days', '7'],
        env: { AZURITE_ACCOUNTS: `plain:${KEY};versioned:${KEY}` },
    });
    plain = await server.blobs({ account: 'plain', key: KEY });
    versioned = await server.blobs({ account: 'versioned', key: KEY });
});
after(() => server.stop());
beforeEach(() => Promise.all([retain(plain, 0), retain(versioned, 0)]));

async function retain(service, days) {
    const deleteRetentionPolicy = days > 0 ? { enabled: true, days } : { enabled: false };
    await service.setProperties({ deleteRetentionPolicy });
}

/** What this SDK cannot say. */
async function allowPermanentDelete(account, days) {
    const body = '<StorageServiceProperties><DeleteRetentionPolicy><Enabled>true</Enabled>' +
        `<Days>${days}</Days><AllowPermanentDelete>true</AllowPermanentDelete></DeleteRetentionPolicy>` +
        '</StorageServiceProperties>';
    const query = { restype: 'service', comp: 'properties' };
    assert.equal((await server.request('blob', 'PUT', '', { account, key: KEY, query, body })).status, 202);
}

async function newContainer(service) {
    const container = service.getContainerClient(uniqueName('c'));
    await container.create();
    return container;
}

async function collect(pages) {
    const items = [];
    for await (const item of pages)
        items.push(item);
    return items;
}

async function textOf(client) {
    return (await client.downloadToBuffer()).toString();
}

/** Waits until the background sweeper has done its work. */
async function eventually(holds) {
    for (let i = 0; i < 1000; i++) {
        if (await holds())
            return;
        await new Promise((done) => setTimeout(done, 50));
    }
    assert.fail('it never came to hold');
}

// ---- versions -------------------------------------------------------------------------------------------------------

test('version ids on every write that makes one, and on no other', async () => {
    const container = await newContainer(versioned);
    const blob = container.getBlockBlobClient('b');
    const ids = [];
    ids.push((await blob.upload('one', 3)).versionId);
    ids.push((await blob.upload('two', 3)).versionId);
    ids.push((await blob.setMetadata({ a: 'b' })).versionId);
    await blob.stageBlock('MQ==', 'three', 5);
    ids.push((await blob.commitBlockList(['MQ=='])).versionId);
    ids.push((await blob.createSnapshot()).versionId);
    const append = container.getAppendBlobClient('append');
    ids.push((await append.create()).versionId);
    assert.equal((await append.appendBlock('x', 1)).versionId, undefined);
    ids.push((await container.getPageBlobClient('page').create(512)).versionId);
    for (const id of ids)
        assert.match(id, VERSION_ID);
    assert.equal(new Set(ids).size, ids.length);
    assert.deepEqual([...ids].sort(), ids);
    assert.equal((await blob.setHTTPHeaders({ blobContentType: 'a/b' })).versionId, undefined);
    const properties = await blob.getProperties();
    assert.equal(properties.versionId, ids[4]);
    assert.equal(properties.isCurrentVersion, true);
});

test('no version ids without versions', async () => {
    const blob = (await newContainer(plain)).getBlockBlobClient('b');
    assert.equal((await blob.upload('one', 3)).versionId, undefined);
    const properties = await blob.getProperties();
    assert.equal(properties.versionId, undefined);
    assert.equal(properties.isCurrentVersion, undefined);
});

test('GetBlob and GetBlobProperties of a version', async () => {
    const blob = (await newContainer(versioned)).getBlockBlobClient('b');
    const { versionId } = await blob.upload('one', 3, { metadata: { n: '1' } });
    const { versionId: current } = await blob.upload('second', 6, { metadata: { n: '2' } });
    assert.equal(await textOf(blob.withVersion(versionId)), 'one');
    assert.equal(await textOf(blob.withVersion(current)), 'second');
    const old = await blob.withVersion(versionId).getProperties();
    assert.equal(old.versionId, versionId);
    assert.equal(old.isCurrentVersion, undefined);
    assert.equal(old.leaseState, undefined);
    assert.deepEqual(old.metadata, { n: '1' });
    const named = await blob.withVersion(current).getProperties();
    assert.deepEqual([named.isCurrentVersion, named.leaseState, named.leaseStatus], [true, undefined, undefined]);
    await assertRejects(blob.withVersion('2020-01-01T00:00:00.0000000Z').downloadToBuffer(), 404, 'BlobNotFound');
});

test('a versionid that is none', async () => {
    const container = await newContainer(versioned);
    await container.getBlockBlobClient('b').upload('one', 3);
    const path = `/${container.containerName}/b`;
    const options = { account: 'versioned', key: KEY };
    for (const query of ['versionid=yesterday', 'versionid=1'])
        assertError(await server.request('blob', 'GET', path, { ...options, query }), 400, 'InvalidQueryParameterValue');
    assertError(await server.request('blob', 'GET', path, { ...options, query: 'versionid=2020-01-01&snapshot=2020-01-01' }), 400,
        'MutuallyExclusiveQueryParameters');
    const headers = { 'x-ms-delete-snapshots': 'include' };
    const query = 'versionid=2020-01-01T00:00:00.0000000Z';
    assertError(await server.request('blob', 'DELETE', path, { ...options, query, headers }), 400, 'InvalidQueryParameterValue');
});

test('a deleted blob is a version, and comes back by writing over it', async () => {
    const container = await newContainer(versioned);
    const blob = container.getBlockBlobClient('b');
    const { versionId } = await blob.upload('one', 3);
    await blob.delete();
    assert.equal(await blob.exists(), false);
    assert.equal(await textOf(blob.withVersion(versionId)), 'one');
    const only = await collect(container.listBlobsFlat({ includeDeletedWithVersions: true }));
    assert.deepEqual(only.map((item) => [item.name, item.hasVersionsOnly, item.properties.contentLength]), [['b', true, 3]]);
    assert.equal(only[0].versionId, undefined);
    assert.deepEqual(await collect(container.listBlobsFlat()), []);
    await blob.upload('two', 3);
    const [current] = await collect(container.listBlobsFlat());
    assert.equal(current.isCurrentVersion, true);
    const items = await collect(container.listBlobsFlat({ includeVersions: true }));
    assert.equal(items[1].versionId, current.versionId);
    assert.deepEqual(items.map((item) => [item.name, item.isCurrentVersion]), [['b', undefined], ['b', true]]);
    assert.equal(items[0].versionId, versionId);
    await blob.withVersion(versionId).delete();
    await assertRejects(blob.withVersion(versionId).delete(), 404, 'BlobNotFound');
    await assertRejects(blob.withVersion(items[1].versionId).delete(), 403, 'OperationNotAllowedOnRootBlob');
    assert.equal(await textOf(blob), 'two');
});

test('listing versions in pages of every size', async () => {
    const container = await newContainer(versioned);
    for (const name of ['a', 'b', 'c'])
        for (let i = 0; i < 4; i++)
            await container.getBlockBlobClient(name).upload(String(i), 1);
    await container.getBlockBlobClient('b').delete();
    const whole = await collect(container.listBlobsFlat({ includeVersions: true }));
    const names = whole.map((item) => item.name + (item.isCurrentVersion ? '*' : ''));
    assert.deepEqual(names.join(' '), 'a a a a* b b b b c c c c*');
    for (let maxPageSize = 1; maxPageSize < 6; maxPageSize++) {
        const seen = [];
        for await (const page of container.listBlobsFlat({ includeVersions: true }).byPage({ maxPageSize }))
            seen.push(...page.segment.blobItems.map((item) => item.name + item.versionId));
        assert.deepEqual(seen, whole.map((item) => item.name + item.versionId));
    }
});

test('promotion: a version copied onto its blob', async () => {
    const container = await newContainer(versioned);
    const blob = container.getBlockBlobClient('b');
    const { versionId } = await blob.upload('one', 3, { metadata: { n: '1' } });
    await blob.upload('two', 3);
    const copied = await (await blob.beginCopyFromURL(blob.withVersion(versionId).url)).pollUntilDone();
    assert.match(copied.versionId, VERSION_ID);
    assert.equal(await textOf(blob), 'one');
    assert.deepEqual((await blob.getProperties()).metadata, { n: '1' });
    assert.equal((await collect(container.listBlobsFlat({ includeVersions: true }))).length, 3);
    await blob.delete();
    await (await blob.beginCopyFromURL(blob.withVersion(versionId).url)).pollUntilDone();
    assert.equal(await textOf(blob), 'one');
});

test('versions in a batch of deletions', async () => {
    const container = await newContainer(versioned);
    const blob = container.getBlockBlobClient('b');
    const { versionId } = await blob.upload('one', 3);
    await blob.upload('two', 3);
    const answer = await versioned.getBlobBatchClient().deleteBlobs([blob.withVersion(versionId), blob]);
    assert.deepEqual(answer.subResponses.map((part) => part.status), [202, 202]);
    const left = await collect(container.listBlobsFlat({ includeVersions: true }));
    assert.equal(left.length, 1);
    assert.notEqual(left[0].versionId, versionId);
});

test('x-ms-delete-snapshots is for the blob itself', async () => {
    const container = await newContainer(versioned);
    const blob = container.getBlockBlobClient('b');
    const { versionId } = await blob.upload('one', 3);
    await blob.upload('two', 3);
    await assertRejects(blob.withVersion(versionId).delete({ deleteSnapshots: 'include' }), 400, 'InvalidQueryParameterValue');
    const { snapshot } = await blob.createSnapshot();
    await assertRejects(blob.withSnapshot(snapshot).delete({ deleteSnapshots: 'include' }), 400, 'InvalidHeaderValue');
});

test('tags and tier of a version; only the current one is found by tags', async () => {
    const container = await newContainer(versioned);
    const blob = container.getBlockBlobClient('b');
    const { versionId } = await blob.upload('one', 3, { tags: { color: 'red' } });
    await blob.upload('two', 3, { tags: { color: 'blue' } });
    const old = blob.withVersion(versionId);
    assert.deepEqual((await old.getTags()).tags, { color: 'red' });
    assert.deepEqual(await collect(container.findBlobsByTags("color = 'red'")), []);
    await old.setTags({ color: 'green' });
    await old.setAccessTier('Cool');
    assert.equal((await old.getProperties()).accessTier, 'Cool');
    assert.equal((await blob.getProperties()).accessTier, 'Hot');
    assert.deepEqual(await collect(container.findBlobsByTags("color = 'green'")), []);
    assert.equal((await collect(container.findBlobsByTags("color = 'blue'"))).length, 1);
    const find = (include) => server.request('blob', 'GET', '', {
        account: 'versioned', key: KEY, query: { comp: 'blobs', where: "color = 'blue'", include },
    });
    assert.equal((await find('none')).status, 200);
    const all = await find('versions');
    assert.deepEqual(all.xml('VersionId'), [(await blob.getProperties()).versionId]);
    assert.deepEqual(all.xml('IsCurrentVersion'), ['true']);
    assertError(await find('others'), 400, 'InvalidQueryParameterValue');
    await blob.delete();
    assert.deepEqual(await collect(container.findBlobsByTags("color = 'blue'")), []);
    assert.equal((await find('versions')).xml('VersionId').length, 1);
    const old2 = await server.request('blob', 'GET', `/${container.containerName}`, {
        account: 'versioned', key: KEY, query: { restype: 'container', comp: 'blobs', where: "color >= 'a'", include: 'versions' },
    });
    assert.equal(old2.xml('VersionId').length, 2);
    assert.equal(old2.xml('VersionId')[1], versionId);
    assert.deepEqual(old2.xml('IsCurrentVersion'), []);
    assert.deepEqual(old2.xml('Value'), ['blue', 'green']);
});

test('a SAS of a version, and the letters of deleting one', async () => {
    const container = await newContainer(versioned);
    const blob = container.getBlockBlobClient('b');
    const { versionId } = await blob.upload('one', 3);
    await blob.upload('two', 3);
    const credential = new StorageSharedKeyCredential('versioned', KEY);
    const sas = (permissions) => generateBlobSASQueryParameters({
        containerName: container.containerName, blobName: 'b', versionId, expiresOn: new Date(Date.now() + 60000),
        permissions: BlobSASPermissions.parse(permissions),
    }, credential).toString();
    const send = (method, letters, more = '') => server.request('blob', method, `/${container.containerName}/b`, {
        account: 'versioned', auth: 'none', headers: { 'x-ms-date': undefined },
        query: `versionid=${encodeURIComponent(versionId)}${more}&${sas(letters)}`,
    });
    assert.equal((await send('GET', 'r')).text, 'one');
    assertError(await send('DELETE', 'd'), 403, 'AuthorizationPermissionMismatch');
    assertError(await send('DELETE', 'x', '&deletetype=permanent'), 403, 'AuthorizationPermissionMismatch');
    assert.equal((await send('DELETE', 'x')).status, 202);
    assertError(await send('GET', 'r'), 404, 'BlobNotFound');
});

// ---- soft delete ----------------------------------------------------------------------------------------------------

test('UndeleteBlob: the blob and its snapshots', async () => {
    await retain(plain, 3);
    const container = await newContainer(plain);
    const blob = container.getBlockBlobClient('b');
    await blob.upload('one', 3, { metadata: { a: 'b' }, tags: { color: 'red' } });
    const { snapshot } = await blob.createSnapshot();
    await assertRejects(blob.delete(), 409, 'SnapshotsPresent');
    const gone = await blob.delete({ deleteSnapshots: 'include' });
    assert.equal(gone._response.headers.get('x-ms-delete-type-permanent'), 'false');
    await assertRejects(blob.getProperties(), 404, 'BlobNotFound');
    await assertRejects(blob.withSnapshot(snapshot).downloadToBuffer(), 404, 'BlobNotFound');
    assert.deepEqual(await collect(container.findBlobsByTags("color = 'red'")), []);
    const listed = await collect(container.listBlobsFlat({ includeDeleted: true, includeSnapshots: true }));
    assert.deepEqual(listed.map((item) => [item.snapshot ?? '', item.deleted]), [[snapshot, true], ['', true]]);
    for (const item of listed) {
        assert.equal(item.properties.remainingRetentionDays, 2);
        assert.ok(Math.abs(item.properties.deletedOn - Date.now()) < 60000);
    }
    await blob.undelete();
    assert.equal(await textOf(blob), 'one');
    assert.equal(await textOf(blob.withSnapshot(snapshot)), 'one');
    assert.deepEqual((await blob.getProperties()).metadata, { a: 'b' });
    assert.equal((await collect(container.findBlobsByTags("color = 'red'"))).length, 1);
    await blob.undelete();
    await assertRejects(container.getBlobClient('none').undelete(), 404, 'BlobNotFound');
});

test('what is overwritten is a soft-deleted snapshot', async () => {
    await retain(plain, 1);
    const container = await newContainer(plain);
    const blob = container.getBlockBlobClient('b');
    await blob.upload('one', 3);
    await blob.upload('two', 3);
    const kinds = async () => (await collect(container.listBlobsFlat({ includeDeleted: true, includeSnapshots: true })))
        .map((item) => (item.snapshot ? 'snapshot' : 'blob') + (item.deleted ? '!' : ''));
    assert.deepEqual(await kinds(), ['snapshot!', 'blob']);
    await blob.undelete();
    assert.deepEqual(await kinds(), ['snapshot', 'blob']);
    const [snapshot] = await collect(container.listBlobsFlat({ includeSnapshots: true }));
    assert.equal(await textOf(blob.withSnapshot(snapshot.snapshot)), 'one');
});

test('soft-deleted versions: delete, undelete, permanent delete', async () => {
    await retain(versioned, 2);
    const container = await newContainer(versioned);
    const blob = container.getBlockBlobClient('b');
    const { versionId } = await blob.upload('one', 3);
    await blob.upload('two', 3);
    const old = blob.withVersion(versionId);
    await old.delete();
    const versions = async () => (await collect(container.listBlobsFlat({ includeDeleted: true, includeVersions: true })))
        .map((item) => item.versionId === versionId ? item.deleted === true : 'current');
    assert.deepEqual(await versions(), [true, 'current']);
    await blob.undelete();
    await allowPermanentDelete('versioned', 2);
    const now = { account: 'versioned', key: KEY, query: { versionid: versionId, deletetype: 'permanent' } };
    assertError(await server.request('blob', 'DELETE', `/${container.containerName}/b`, now), 409, 'BlobSnapshotNotSoftDeleted');
    await retain(versioned, 2);
    assert.equal(await textOf(old), 'one');
    await old.delete();
    const permanently = () => server.request('blob', 'DELETE', `/${container.containerName}/b`, {
        account: 'versioned', key: KEY, query: { versionid: versionId, deletetype: 'permanent' },
    });
    assertError(await permanently(), 409, 'PermanentDeleteIsOff');
    await allowPermanentDelete('versioned', 2);
    const done = await permanently();
    assert.equal(done.status, 202);
    assert.equal(done.headers['x-ms-delete-type-permanent'], 'true');
    assertError(await permanently(), 404, 'BlobNotFound');
    assert.deepEqual(await versions(), ['current']);
});

test('showonly', async () => {
    await retain(plain, 2);
    const container = await newContainer(plain);
    for (const name of ['a', 'd/x', 'gone'])
        await container.getBlockBlobClient(name).upload('x', 1);
    await container.deleteBlob('gone');
    const list = async (query) => {
        const response = await server.request('blob', 'GET', `/${container.containerName}`, {
            account: 'plain', key: KEY, query: { restype: 'container', comp: 'list', ...query },
        });
        return response.status === 200 ? response.xml('Name').join(' ') : response;
    };
    assert.equal(await list({}), 'a d/x');
    assert.equal(await list({ showonly: 'deleted' }), 'gone');
    assert.equal(await list({ showonly: 'files', delimiter: '/' }), 'a');
    assert.equal(await list({ showonly: 'directories', delimiter: '/' }), 'd/');
    assertError(await list({ showonly: 'others' }), 400, 'InvalidQueryParameterValue');
});

test('a crash loses nothing that was kept', async () => {
    await retain(plain, 2);
    const a = await newContainer(plain);
    const b = await newContainer(versioned);
    await a.getBlockBlobClient('b').upload('one', 3);
    await a.deleteBlob('b');
    const { versionId } = await b.getBlockBlobClient('b').upload('one', 3);
    await b.getBlockBlobClient('b').upload('two', 3);
    await server.kill();
    if (STORE_IN_FOLDER)
        execFileSync(BIN, ['check', '--data', server.data]);
    await server.start();
    await a.getBlobClient('b').undelete();
    assert.equal(await textOf(a.getBlobClient('b')), 'one');
    assert.equal(await textOf(b.getBlobClient('b').withVersion(versionId)), 'one');
});

// ---- containers -----------------------------------------------------------------------------------------------------

test('RestoreContainer', async () => {
    const container = await newContainer(plain);
    const name = container.containerName;
    await container.setMetadata({ a: 'b' });
    await container.getBlockBlobClient('b').upload('one', 3);
    const list = async () => (await collect(plain.listContainers({ includeDeleted: true, prefix: name })))
        .map(({ deleted, version, properties }) => ({ deleted, version, days: properties.remainingRetentionDays }));
    await container.delete();
    assert.equal(await container.exists(), false);
    const [{ deleted, version, days }] = await list();
    assert.equal(deleted, true);
    assert.equal(days, 6);
    assert.deepEqual(await collect(plain.listContainers({ prefix: name })), []);
    await container.create();
    await assertRejects(plain.undeleteContainer(name, version), 409, 'ContainerAlreadyExists');
    await container.delete();
    assert.equal((await list()).length, 2);
    await assertRejects(plain.undeleteContainer(name, '0000000000000001'), 404, 'ContainerNotFound');
    await assertRejects(plain.undeleteContainer(name, 'nonsense'), 400, 'InvalidHeaderValue');
    await plain.undeleteContainer(name, version);
    assert.equal(await textOf(container.getBlobClient('b')), 'one');
    assert.deepEqual((await container.getProperties()).metadata, { a: 'b' });
    assert.deepEqual((await list()).map((item) => item.deleted), [true, undefined]);
    for (const maxPageSize of [1, 2]) {
        const pages = [];
        for await (const page of plain.listContainers({ includeDeleted: true, prefix: name }).byPage({ maxPageSize }))
            pages.push(...page.containerItems.map((item) => item.deleted));
        assert.deepEqual(pages, [true, undefined]);
    }
});

// ---- retention runs out (last: the clock moves) -----------------------------------------------------------------------

test('retention runs out in the background, and the log says so', async () => {
    await retain(plain, 2);
    const container = await newContainer(plain);
    const blob = container.getBlockBlobClient('b');
    await blob.upload('one', 3);
    await blob.upload('two', 3);
    await blob.delete();
    const other = await newContainer(plain);
    await other.delete();
    const left = async () => (await collect(container.listBlobsFlat({ includeDeleted: true, includeSnapshots: true })))
        .length;
    server.advance(DAY_MS);
    assert.equal(await left(), 2);
    server.advance(DAY_MS);
    await eventually(async () => await left() === 0);
    await assertRejects(blob.undelete(), 404, 'BlobNotFound');
    server.advance(5 * DAY_MS);
    const deleted = () => collect(plain.listContainers({ includeDeleted: true, prefix: other.containerName }));
    await eventually(async () => (await deleted()).length === 0);
    await eventually(() => /what has expired/.test(server.output)); // the log follows the commit
});
