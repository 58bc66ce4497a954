// SPDX-License-Identifier: Apache-2.0
// The rules of the concurrency model as a client sees them: docs/concurrency/rules.md B1 to B6 and L1 to L7, and docs/protocol/facts.md §1
// and §2 on the wire. Unit tests check every cell of the lease tables; these tests check the requests that lead to them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertError, assertRejects, startServer, uniqueName } from './lib.mjs';

let server;
let service;

before(async () => {
    server = await startServer({ inMemory: true, services: ['blob'] });
    service = await server.blobs();
});
after(() => server.stop());

const raw = (method, path, options) => server.request('blob', method, path, options);
const A = 'aaaaaaaa-0000-4000-8000-000000000001';
const B = 'bbbbbbbb-0000-4000-8000-000000000002';
const PAST = 'Mon, 01 Jan 2001 00:00:00 GMT';
const future = () => new Date(Date.now() + 86400000).toUTCString();
const XML = '<BlockList/>';

async function fresh() {
    const container = service.getContainerClient(uniqueName('c'));
    await container.create();
    const blob = container.getBlockBlobClient('b');
    await blob.upload('content', 7);
    return { container, blob, path: `/${container.containerName}/b`, home: `/${container.containerName}` };
}

// Every operation on a blob: [name, method, query, headers, body, returns an ETag, kind].
const BLOB_OPERATIONS = [
    ['PutBlob', 'PUT', {}, { 'x-ms-blob-type': 'BlockBlob' }, 'new', true, 'create'],
    ['GetBlob', 'GET', {}, {}, undefined, true, 'read'],
    ['GetBlobProperties', 'HEAD', {}, {}, undefined, true, 'read'],
    ['SetBlobProperties', 'PUT', { comp: 'properties' }, {}, undefined, true, 'write'],
    ['GetBlobMetadata', 'GET', { comp: 'metadata' }, {}, undefined, true, 'read'],
    ['SetBlobMetadata', 'PUT', { comp: 'metadata' }, {}, undefined, true, 'write'],
    ['LeaseBlob', 'PUT', { comp: 'lease' }, { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '15' }, undefined, true, 'write'],
    ['SnapshotBlob', 'PUT', { comp: 'snapshot' }, {}, undefined, true, 'write'],
    ['PutBlockList', 'PUT', { comp: 'blocklist' }, {}, XML, true, 'create'],
    ['DeleteBlob', 'DELETE', {}, {}, undefined, false, 'write'],
];
const UNCONDITIONAL = [
    ['PutBlock', 'PUT', { comp: 'block', blockid: 'MQ==' }, {}, 'x', false],
    ['GetBlockList', 'GET', { comp: 'blocklist' }, {}, undefined, true],
];

test('rule_B1: the ETag is in the ETag header and replaced on every update', async () => {
    const { blob, path } = await fresh();
    const seen = new Set();
    for (let i = 0; i < 20; i++)
        seen.add((await blob.setMetadata({ i: String(i) })).etag);
    assert.equal(seen.size, 20);
    assert.ok(seen.has((await raw('HEAD', path)).headers.etag));
});

test('rule_B2: read, then write with If-Match', async () => {
    const { blob } = await fresh();
    const { etag } = await blob.getProperties();
    const first = await blob.upload('one', 3, { conditions: { ifMatch: etag } });
    assert.notEqual(first.etag, etag);
    await assertRejects(blob.upload('two', 3, { conditions: { ifMatch: etag } }), 412, 'ConditionNotMet');
    assert.equal((await blob.downloadToBuffer()).toString(), 'one');
    assert.equal((await blob.getProperties()).etag, first.etag);
});

test('rule_B2: of many who read the same state, one writes', async () => {
    const { blob } = await fresh();
    const { etag } = await blob.getProperties();
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, (_, i) =>
        blob.upload(String(i).padStart(2, '0'), 2, { conditions: { ifMatch: etag } })));
    assert.equal(outcomes.filter((o) => o.status === 'fulfilled').length, 1);
    assert.ok(outcomes.filter((o) => o.status === 'rejected').every((o) => o.reason.statusCode === 412));
});

test('rule_B3: of many who create if absent, one does', async () => {
    const { container } = await fresh();
    const blob = container.getBlockBlobClient('only-one');
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => blob.upload('x', 1, { conditions: { ifNoneMatch: '*' } })));
    assert.equal(outcomes.filter((o) => o.status === 'fulfilled').length, 1);
    assert.ok(outcomes.filter((o) => o.status === 'rejected').every((o) => o.reason.statusCode === 409));
});

test('rule_B6: which operation on a blob returns an ETag', async () => {
    for (const [name, method, query, headers, body, returns] of [...BLOB_OPERATIONS, ...UNCONDITIONAL]) {
        const { path } = await fresh();
        const answer = await raw(method, path, { query, headers, body });
        assert.ok(answer.status < 300, `${name}: ${answer.status} ${answer.text}`);
        assert.equal('etag' in answer.headers, returns, name);
    }
});

test('rule_B6: which operation on a blob takes conditions, and how they fail', async () => {
    for (const [name, method, query, headers, body, , kind] of BLOB_OPERATIONS) {
        const { path } = await fresh();
        const { etag } = (await raw('HEAD', path)).headers;
        const ask = (condition) => raw(method, path, { query, headers: { ...headers, ...condition }, body });
        const said = kind === 'read' ? 304 : 412;
        for (const [condition, status] of [[{ 'If-Match': '"0x1"' }, 412], [{ 'If-None-Match': etag }, said],
            [{ 'If-Modified-Since': future() }, said], [{ 'If-Unmodified-Since': PAST }, 412], [{ 'x-ms-if-tags': "a = 'b'" }, 412]])
            assertError(await ask(condition), status, 'ConditionNotMet');
        assertError(await ask({ 'If-None-Match': '*' }), { read: 400, write: 412, create: 409 }[kind],
            { read: 'UnsatisfiableCondition', write: 'ConditionNotMet', create: 'BlobAlreadyExists' }[kind]);
        assert.equal((await raw('HEAD', path)).headers.etag, etag, `${name} changed something`);
        const good = await ask({ 'If-Match': etag });
        assert.ok(good.status < 300, `${name} with the right ETag: ${good.status}`);
    }
});

test('rule_B6: conditions where none are taken', async () => {
    const { path } = await fresh();
    for (const [name, method, query, headers, body] of UNCONDITIONAL)
        for (const header of ['If-Match', 'If-None-Match'])
            assert.equal((await raw(method, path, { query, headers: { ...headers, [header]: '*' }, body })).headers['x-ms-error-code'],
                'ConditionHeadersNotSupported', name);
});

test('rule_B3: combinations on reads', async () => {
    const { path } = await fresh();
    const { etag } = (await raw('HEAD', path)).headers;
    const get = async (headers) => (await raw('GET', path, { headers })).status;
    assert.equal(await get({ 'If-None-Match': etag, 'If-Modified-Since': PAST }), 200);
    assert.equal(await get({ 'If-None-Match': '"0x1"', 'If-Modified-Since': future() }), 200);
    assert.equal(await get({ 'If-None-Match': etag, 'If-Modified-Since': future() }), 304);
    assert.equal(await get({ 'If-Match': etag, 'If-None-Match': etag }), 304);
    assert.equal(await get({ 'If-Match': '"0x1"', 'If-None-Match': etag }), 412);
    assert.equal(await get({ 'If-Match': `"0x1", ${etag}` }), 200);
    assert.equal(await get({ 'If-Match': etag.replaceAll('"', '') }), 200);
    assert.equal(await get({ 'If-None-Match': `"0x1",${etag}` }), 304);
    assert.equal(await get({ 'If-Match': '*' }), 200);
    assertError(await raw('GET', `${path}x`, { headers: { 'If-Match': '*' } }), 412, 'ConditionNotMet');
    assertError(await raw('GET', `${path}x`), 404, 'BlobNotFound');
});

test('rule_B3: combinations on writes', async () => {
    const { path } = await fresh();
    const set = (headers) => raw('PUT', path, { query: { comp: 'metadata' }, headers });
    const { etag } = (await raw('HEAD', path)).headers;
    for (const headers of [{ 'If-Match': etag, 'If-None-Match': '"0x1"' }, { 'If-Match': etag, 'If-Modified-Since': PAST },
        { 'If-Modified-Since': PAST, 'If-Unmodified-Since': future() }, { 'If-None-Match': '"0x1"', 'If-Unmodified-Since': future() },
        { 'If-Match': `${etag},"0x1"` }])
        assertError(await set(headers), 400, 'MultipleConditionHeadersNotSupported');
    assert.equal((await set({ 'If-Match': etag, 'If-Unmodified-Since': PAST })).status, 200, 'the ETag decides');
    assert.equal((await set({ 'If-None-Match': etag, 'If-Modified-Since': future() })).status, 200, 'the ETag decides');
});

test('rule_B3: dates have the grain of a second', async () => {
    const { blob, path } = await fresh();
    await blob.setMetadata({ a: '1' });
    const modified = (await raw('HEAD', path)).headers['last-modified'];
    assert.equal((await raw('GET', path, { headers: { 'If-Unmodified-Since': modified } })).status, 200);
    assert.equal((await raw('GET', path, { headers: { 'If-Modified-Since': modified } })).status, 304);
    const before = new Date(Date.parse(modified) - 1000).toUTCString();
    assert.equal((await raw('GET', path, { headers: { 'If-Modified-Since': before } })).status, 200);
    assert.equal((await raw('GET', path, { headers: { 'If-Unmodified-Since': before } })).status, 412);
});

test('rule_B4: with no condition the last writer wins', async () => {
    const { blob } = await fresh();
    await Promise.all(Array.from({ length: 20 }, (_, i) => blob.upload(String(i).padStart(2, '0'), 2)));
    await blob.upload('zz', 2);
    assert.equal((await blob.downloadToBuffer()).toString(), 'zz');
});

test('rule_B5: containers, what returns an ETag and what takes conditions', async () => {
    const query = (comp) => ({ restype: 'container', ...(comp === undefined ? {} : { comp }) });
    const acquire = { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '15' };
    for (const [name, method, comp, headers, etag, conditions] of [
        ['GetContainerProperties', 'GET', undefined, {}, true, ''], ['GetContainerMetadata', 'GET', 'metadata', {}, true, ''],
        ['SetContainerMetadata', 'PUT', 'metadata', {}, true, 'S'], ['GetContainerACL', 'GET', 'acl', {}, true, ''],
        ['SetContainerACL', 'PUT', 'acl', {}, true, 'SU'], ['LeaseContainer', 'PUT', 'lease', acquire, true, 'SU'],
        ['ListBlobs', 'GET', 'list', {}, false, ''], ['DeleteContainer', 'DELETE', undefined, {}, false, 'SU']]) {
        const { home } = await fresh();
        const ask = (condition = {}) => raw(method, home, { query: query(comp), headers: { ...headers, ...condition } });
        for (const [letter, header, value] of [['S', 'If-Modified-Since', future()], ['U', 'If-Unmodified-Since', PAST]])
            assertError(await ask({ [header]: value }), conditions.includes(letter) ? 412 : 400,
                conditions.includes(letter) ? 'ConditionNotMet' : 'ConditionHeadersNotSupported');
        assertError(await ask({ 'If-Match': '*' }), 400, 'ConditionHeadersNotSupported');
        const answer = await ask(conditions.includes('S') ? { 'If-Modified-Since': PAST } : {});
        assert.ok(answer.status < 300, `${name}: ${answer.status} ${answer.text}`);
        assert.equal('etag' in answer.headers, etag, name);
    }
    const made = await raw('PUT', `/${uniqueName('c')}`, { query: { restype: 'container' } });
    assert.ok('etag' in made.headers);
});

test('rule_B5: a container\'s ETag does not move with its blobs or its lease', async () => {
    const { container, blob } = await fresh();
    const { etag } = await container.getProperties();
    await blob.upload('x', 1);
    await container.getBlobLeaseClient().acquireLease(15);
    await blob.delete();
    assert.equal((await container.getProperties()).etag, etag);
});

// ---- leases ----

const lease = (path, action, headers = {}) => raw('PUT', path, { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': action, ...headers } });
const acquire = (path, id, seconds = 15) => lease(path, 'acquire', { 'x-ms-lease-duration': String(seconds), 'x-ms-proposed-lease-id': id });

test('rule_L1: 15 to 60 seconds or without end; renewed, released, over by itself', async () => {
    const { path } = await fresh();
    for (const seconds of [0, 14, 61, -2, 'x'])
        assertError(await acquire(path, A, seconds), 400, 'InvalidHeaderValue');
    assertError(await lease(path, 'acquire'), 400, 'MissingRequiredHeader');
    for (const seconds of [15, 60, -1]) {
        const got = await acquire(path, A, seconds);
        assert.deepEqual([got.status, got.headers['x-ms-lease-id']], [201, A]);
        assert.equal((await raw('HEAD', path)).headers['x-ms-lease-duration'], seconds === -1 ? 'infinite' : 'fixed');
        assert.equal((await lease(path, 'release', { 'x-ms-lease-id': A })).status, 200);
    }
    await acquire(path, A, 15);
    server.advance(14000);
    assert.equal((await lease(path, 'renew', { 'x-ms-lease-id': A })).status, 200);
    server.advance(14000);
    assert.equal((await raw('HEAD', path)).headers['x-ms-lease-state'], 'leased');
    server.advance(2000);
    const over = await raw('HEAD', path);
    assert.deepEqual([over.headers['x-ms-lease-state'], over.headers['x-ms-lease-status'], over.headers['x-ms-lease-duration']],
        ['expired', 'unlocked', undefined]);
});

test('rule_L1: lease requests that are not well-formed', async () => {
    const { path } = await fresh();
    for (const [action, headers, code] of [['renew', {}, 'MissingRequiredHeader'], ['release', {}, 'MissingRequiredHeader'],
        ['change', { 'x-ms-lease-id': A }, 'MissingRequiredHeader'], ['seize', {}, 'InvalidHeaderValue'],
        ['renew', { 'x-ms-lease-id': 'x' }, 'InvalidHeaderValue'], ['break', { 'x-ms-lease-break-period': '61' }, 'InvalidHeaderValue'],
        ['break', { 'x-ms-lease-duration': '15' }, 'InvalidHeaderValue'],
        ['acquire', { 'x-ms-lease-duration': '15', 'x-ms-proposed-lease-id': 'x' }, 'InvalidHeaderValue']])
        assertError(await lease(path, action, headers), 400, code);
    assertError(await raw('PUT', path, { query: { comp: 'lease' } }), 400, 'MissingRequiredHeader');
    assertError(await raw('PUT', path, { query: { comp: 'lease', snapshot: '2024-01-01T00:00:00.0000000Z' },
        headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '15' } }), 400, 'InvalidQueryParameterValue');
    assert.equal((await raw('HEAD', path)).headers['x-ms-lease-state'], 'available');
    const forms = [`{${A}}`, `(${A})`, A.replaceAll('-', ''), A.toUpperCase()];
    for (const form of forms) {
        assert.equal((await acquire(path, form)).headers['x-ms-lease-id'], A);
        assert.equal((await lease(path, 'release', { 'x-ms-lease-id': form })).status, 200);
    }
    assert.match((await lease(path, 'acquire', { 'x-ms-lease-duration': '-1' })).headers['x-ms-lease-id'], /^[0-9a-f-]{36}$/);
});

test('rule_L2: acquiring where a valid lease exists: 409', async () => {
    const { path } = await fresh();
    await acquire(path, A);
    assertError(await acquire(path, B), 409, 'LeaseAlreadyPresent');
    const outcomes = await Promise.all(Array.from({ length: 10 }, (_, i) => acquire(`${path}`, B.replace('2', String(i)), 15)));
    assert.ok(outcomes.every((o) => o.status === 409));
});

// Each operation that honours leases: [name, method, query, headers, body, is a write].
const HONOUR = [
    ['PutBlob', 'PUT', {}, { 'x-ms-blob-type': 'BlockBlob' }, 'new', true], ['GetBlob', 'GET', {}, {}, undefined, false],
    ['GetBlobProperties', 'HEAD', {}, {}, undefined, false], ['SetBlobProperties', 'PUT', { comp: 'properties' }, {}, undefined, true],
    ['GetBlobMetadata', 'GET', { comp: 'metadata' }, {}, undefined, false], ['SetBlobMetadata', 'PUT', { comp: 'metadata' }, {}, undefined, true],
    ['PutBlock', 'PUT', { comp: 'block', blockid: 'MQ==' }, {}, 'x', true], ['PutBlockList', 'PUT', { comp: 'blocklist' }, {}, XML, true],
    ['GetBlockList', 'GET', { comp: 'blocklist' }, {}, undefined, false], ['SnapshotBlob', 'PUT', { comp: 'snapshot' }, {}, undefined, false],
    ['DeleteBlob', 'DELETE', {}, {}, undefined, true],
];

test('rule_L3, rule_L5, rule_L6: each operation with the id, another, and none, while leased', async () => {
    for (const [name, method, query, headers, body, writes] of HONOUR) {
        const { path } = await fresh();
        await acquire(path, A, 60);
        const ask = (id) => raw(method, path, { query, headers: { ...headers, 'x-ms-lease-id': id }, body });
        assertError(await ask(B), 412, 'LeaseIdMismatchWithBlobOperation');
        const none = await ask(undefined);
        if (writes)
            assertError(none, 412, 'LeaseIdMissing');
        else
            assert.ok(none.status < 300, `${name} without an id: ${none.status}`);
        if (name === 'DeleteBlob')
            assertError(await raw(method, path, { headers: { 'x-ms-lease-id': B } }), 412, 'LeaseIdMismatchWithBlobOperation');
        const good = await ask(A);
        assert.ok(good.status < 300, `${name} with the id: ${good.status} ${good.text}`);
    }
});

test('rule_L4: each operation with the id of a lease that has expired', async () => {
    for (const [, method, query, headers, body] of HONOUR) {
        const { path } = await fresh();
        await acquire(path, A, 15);
        server.advance(15000);
        assertError(await raw(method, path, { query, headers: { ...headers, 'x-ms-lease-id': A }, body }), 412, 'LeaseLost');
    }
});

test('rule_L5: an id where there is no lease', async () => {
    for (const [, method, query, headers, body] of HONOUR) {
        const { path } = await fresh();
        assertError(await raw(method, path, { query, headers: { ...headers, 'x-ms-lease-id': A }, body }), 412, 'LeaseNotPresentWithBlobOperation');
    }
});

test('rule_L1: breaking', async () => {
    const { path } = await fresh();
    assertError(await lease(path, 'break'), 409, 'LeaseNotPresentWithLeaseOperation');
    await acquire(path, A, -1);
    const later = await lease(path, 'break', { 'x-ms-lease-break-period': '20' });
    assert.deepEqual([later.status, later.headers['x-ms-lease-time'], later.headers['x-ms-lease-id']], [202, '20', undefined]);
    assertError(await lease(path, 'renew', { 'x-ms-lease-id': A }), 409, 'LeaseIsBrokenAndCannotBeRenewed');
    assertError(await lease(path, 'change', { 'x-ms-lease-id': A, 'x-ms-proposed-lease-id': B }), 409, 'LeaseIsBreakingAndCannotBeChanged');
    assertError(await acquire(path, A), 409, 'LeaseIsBreakingAndCannotBeAcquired');
    assert.equal((await raw('PUT', path, { query: { comp: 'metadata' }, headers: { 'x-ms-lease-id': A } })).status, 200);
    server.advance(20000);
    assert.equal((await raw('HEAD', path)).headers['x-ms-lease-state'], 'broken');
    assert.equal((await acquire(path, B)).status, 201);
});

test('rule_L7: a container\'s lease guards its deletion alone', async () => {
    const { container, home } = await fresh();
    const query = { restype: 'container' };
    await raw('PUT', home, { query: { ...query, comp: 'lease' }, headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '60', 'x-ms-proposed-lease-id': A } });
    for (const [method, comp] of [['GET', undefined], ['GET', 'metadata'], ['PUT', 'metadata'], ['GET', 'acl'], ['PUT', 'acl']]) {
        const ask = (id) => raw(method, home, { query: { ...query, comp }, headers: { 'x-ms-lease-id': id } });
        assert.equal((await ask(undefined)).status, 200);
        assert.equal((await ask(A)).status, 200);
        assertError(await ask(B), 412, 'LeaseIdMismatchWithContainerOperation');
    }
    await container.getBlockBlobClient('free').upload('x', 1);
    assertError(await raw('DELETE', home, { query }), 412, 'LeaseIdMissing');
    assert.equal((await raw('DELETE', home, { query, headers: { 'x-ms-lease-id': A } })).status, 202);
});

test('a leased blob is a lock for anything: the pattern of rule_T4', async () => {
    const { blob } = await fresh();
    let inside = 0;
    let most = 0;
    async function work() {
        for (;;) {
            const mine = blob.getBlobLeaseClient();
            try {
                await mine.acquireLease(60);
            } catch (error) {
                assert.equal(error.statusCode, 409);
                continue;
            }
            most = Math.max(most, ++inside);
            await new Promise((done) => setImmediate(done));
            inside--;
            await mine.releaseLease();
            return;
        }
    }
    await Promise.all(Array.from({ length: 8 }, work));
    assert.equal(most, 1);
});
