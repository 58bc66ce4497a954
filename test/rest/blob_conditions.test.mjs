// SPDX-License-Identifier: Apache-2.0
// The tables of docs/blob-conditions.md are the list of these tests: each cell is one test per operation it covers, and
// gives the expected answer. A refused request must change nothing.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { asBatch, readTable } from './blob_lib.mjs';
import { queryText, readable, startServer, uniqueName, until } from './lib.mjs';

const A = 'aaaaaaaa-0000-4000-8000-000000000001';
const B = 'bbbbbbbb-0000-4000-8000-000000000002';
const HOME = '/conditions';
const PAGE = Buffer.alloc(512, 7);
const SOURCES = { block: `${HOME}/source`, page: `${HOME}/pages`, absent: `${HOME}/none` };
let server;
let stalled; // a server whose blobs never come: copies of them stay pending
let sourceState;

const send = (method, path, query = {}, headers = {}, body = undefined) =>
    server.request('blob', method, path, { query, headers, body });

async function good(...request) {
    const answer = await send(...request);
    assert.ok(answer.status < 300, `${request.slice(0, 3).map((r) => JSON.stringify(r)).join(' ')}: ${answer.status} ${answer.text}`);
    return answer.headers;
}

before(async () => {
    server = await startServer({ inMemory: true, services: ['blob'], args: ['--copy-sources', '127.0.0.0/8'] });
    stalled = http.createServer((request, response) => {
        if (request.method === 'HEAD')
            response.writeHead(200, { ETag: '"tag"', 'Accept-Ranges': 'bytes', 'Content-Length': 1000 }).end();
    }).listen(0, '127.0.0.1');
    await once(stalled, 'listening');
    await good('PUT', HOME, { restype: 'container' });
    await good('PUT', SOURCES.block, {}, { 'x-ms-blob-type': 'BlockBlob', 'x-ms-tags': 'of=source' }, 'new');
    await good('PUT', SOURCES.page, {}, { 'x-ms-blob-type': 'BlockBlob', 'x-ms-tags': 'of=source' }, PAGE);
    sourceState = await good('HEAD', SOURCES.block);
});
after(async () => {
    await server.stop();
    stalled.closeAllConnections();
    stalled.close();
});

// ---- operations ------------------------------------------------------------------------------------------------------

const urlOf = (path) => `${server.url('blob')}${path}`;
const TAGS = { 'x-ms-tags': 'of=blob' };
const CREATE = {
    block: (path, headers) => good('PUT', path, {}, { 'x-ms-blob-type': 'BlockBlob', ...TAGS, ...headers }, 'old'),
    page: (path, headers) => good('PUT', path, {}, { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': 512,
        'x-ms-blob-sequence-number': 5, ...TAGS, ...headers }),
    append: async (path, headers) => {
        await good('PUT', path, {}, { 'x-ms-blob-type': 'AppendBlob', ...TAGS, ...headers });
        return good('PUT', path, { comp: 'appendblock' }, {}, 'old');
    },
    // A follower of snapshots; a lease is taken before it is followed on with.
    incremental: async (path) => {
        await good('PUT', path, { comp: 'incrementalcopy' }, { 'x-ms-copy-source': await nextSnapshot(path) });
        return until(async () => {
            const headers = await good('HEAD', path);
            return headers['x-ms-copy-status'] === 'success' && headers;
        });
    },
};

async function nextSnapshot(path) {
    const disk = `${path}-disk`;
    if ((await send('HEAD', disk)).status === 404)
        await CREATE.page(disk);
    return `${urlOf(disk)}?snapshot=${(await good('PUT', disk, { comp: 'snapshot' }))['x-ms-snapshot']}`;
}

const RANGE = { 'x-ms-range': 'bytes=0-511' };
const put = (query, headers = {}, body = undefined) => () => ({ method: 'PUT', query, headers, body });
const copy = (query, headers, source = 'block') => (path, from = SOURCES[source]) =>
    ({ method: 'PUT', query, headers: { ...headers, 'x-ms-copy-source': readable(urlOf(from)) } });
const SOON = () => new Date(Date.now() + 86400e3).toUTCString();

// Each: the type of the blob that it is tried on, and the request for one at a path (from a source).
const OPERATIONS = {
    'Put Blob, append': ['append', put({}, { 'x-ms-blob-type': 'AppendBlob' })],
    'Put Blob, page': ['page', put({}, { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': 512 })],
    'Append Block': ['append', put({ comp: 'appendblock' }, {}, 'new')],
    'Append Block From URL': ['append', copy({ comp: 'appendblock' }, {})],
    'Append Blob Seal': ['append', put({ comp: 'seal' })],
    'Put Page': ['page', put({ comp: 'page' }, { 'x-ms-page-write': 'update', ...RANGE }, PAGE)],
    'Put Page, clear': ['page', put({ comp: 'page' }, { 'x-ms-page-write': 'clear', ...RANGE })],
    'Put Page From URL': ['page', copy({ comp: 'page' }, { 'x-ms-page-write': 'update', 'x-ms-source-range': 'bytes=0-511', ...RANGE }, 'page')],
    'Set Blob Properties, size': ['page', put({ comp: 'properties' }, { 'x-ms-blob-content-length': 1024 })],
    'Set Blob Properties, sequence number': ['page', put({ comp: 'properties' }, { 'x-ms-sequence-number-action': 'increment' })],
    'Get Page Ranges': ['page', () => ({ method: 'GET', query: { comp: 'pagelist' } })],
    'Get Page Ranges, difference': ['page', async (path) => {
        const { headers } = await send('PUT', path, { comp: 'snapshot' });
        return { method: 'GET', query: { comp: 'pagelist', prevsnapshot: headers['x-ms-snapshot'] ?? '2024-01-01T00:00:00.0000000Z' } };
    }],
    'Copy Blob': ['block', copy({}, {})],
    'Copy Blob From URL': ['block', copy({}, { 'x-ms-requires-sync': 'true' })],
    'Put Blob From URL': ['block', copy({}, { 'x-ms-blob-type': 'BlockBlob' })],
    'Put Block From URL': ['block', copy({ comp: 'block', blockid: 'MQ==' }, {})],
    'Incremental Copy Blob': ['incremental', async (path) =>
        ({ method: 'PUT', query: { comp: 'incrementalcopy' }, headers: { 'x-ms-copy-source': await nextSnapshot(path) } })],
    'Abort Copy Blob': ['block', async (path, from, lease) => {
        const there = (await send('HEAD', path)).status === 200;
        const { headers } = !there ? { headers: { 'x-ms-copy-id': A } } : await send('PUT', path, {}, { 'x-ms-copy-source': `http://127.0.0.1:${stalled.address().port}/x`,
            'x-ms-lease-id': lease });
        return { method: 'PUT', query: { comp: 'copy', copyid: headers['x-ms-copy-id'] }, headers: { 'x-ms-copy-action': 'abort' } };
    }],
    'Undelete Blob': ['block', put({ comp: 'undelete' })],
    'Set Blob Tier': ['block', put({ comp: 'tier' }, { 'x-ms-access-tier': 'Cool' })],
    'Get Blob Tags': ['block', () => ({ method: 'GET', query: { comp: 'tags' } })],
    'Set Blob Tags': ['block', put({ comp: 'tags' }, {}, '<Tags><TagSet></TagSet></Tags>')],
    'Set Blob Expiry': ['block', put({ comp: 'expiry' }, { 'x-ms-expiry-option': 'RelativeToNow', 'x-ms-expiry-time': 86400e3 })],
    'Set Blob Immutability Policy': ['block', () =>
        put({ comp: 'immutabilityPolicies' }, { 'x-ms-immutability-policy-until-date': SOON() })()],
    'Delete Blob Immutability Policy': ['block', () => ({ method: 'DELETE', query: { comp: 'immutabilityPolicies' } })],
    'Set Blob Legal Hold': ['block', put({ comp: 'legalhold' }, { 'x-ms-legal-hold': 'true' })],
    'Delete Blob, in a batch': ['block', () => ({ method: 'DELETE', batch: true })],
    'Set Blob Tier, in a batch': ['block', () =>
        ({ method: 'PUT', query: { comp: 'tier' }, headers: { 'x-ms-access-tier': 'Cool' }, batch: true })],
};

/** Does the operation; its answer, and what it has changed of the blob. */
async function perform(name, path, headers, { from, lease } = {}) {
    const request = await OPERATIONS[name][1](path, from, lease);
    const all = { ...request.headers, ...headers };
    const query = request.query ?? {};
    const look = async () => (await send('HEAD', path)).headers;
    const before = await look();
    const answer = request.batch ? await asBatch(server, request.method, path, queryText(query), all)
        : await send(request.method, path, query, all, request.body);
    const after = await look();
    const state = (h) => [h.etag, h['x-ms-lease-state'], h['x-ms-access-tier'], h['x-ms-tag-count'], h['x-ms-expiry-time'],
        h['x-ms-immutability-policy-until-date'], h['x-ms-legal-hold'], h['x-ms-copy-status']];
    return { answer, after, changed: state(before).join() !== state(after).join(), renewed: before.etag !== after.etag };
}

/** Checks what was performed against a cell: 'ok', or a status and a code. */
function check({ answer, changed }, cell) {
    const code = answer.headers['x-ms-error-code'];
    if (cell === 'ok') {
        assert.ok(answer.status < 300, `${answer.status} ${code} ${answer.text}`);
        return;
    }
    assert.equal(`${answer.status} ${code}`, cell, answer.text);
    assert.ok(!changed, 'it was refused, and changed something');
}

// ---- the tables ------------------------------------------------------------------------------------------------------

const TEXT = readFileSync(new URL('../../docs/blob-conditions.md', import.meta.url), 'utf8');
const ROWS = readTable(TEXT, 'operation', 'kind');
const NOT_TAKEN = '400 ConditionHeadersNotSupported';
const LETTERS = { 'If-Match': 'M', 'If-None-Match': 'N', 'If-Modified-Since': 'S', 'If-Unmodified-Since': 'U', 'x-ms-if-tags': 'T' };

test('docs/blob-conditions.md has all operations', () => {
    assert.deepEqual(ROWS.map((row) => row.operation), Object.keys(OPERATIONS));
});

/** The value that a cell of a table means, for what has that ETag and was written then. */
function valueOf(text, { etag, 'last-modified': modified }, tag) {
    const day = 86400e3;
    return {
        'its ETag': etag,
        'its ETag without quotes': etag?.replaceAll('"', ''),
        'another ETag': '"0x1"',
        'before': new Date(Date.now() - day).toUTCString(),
        'when it was written': modified,
        'after': new Date(Date.now() + day).toUTCString(),
        'no date': 'yesterday',
        'holds': `of = '${tag}'`,
        'does not hold': "of = 'nobody'",
        'no expression': 'of =',
    }[text] ?? text;
}

function headersOf({ header, value }, state, tag) {
    const values = value.split(', ');
    return Object.fromEntries(header.split(', ').map((name, i) => [name, valueOf(values[i], state, tag)]));
}

const newPath = () => `${HOME}/${uniqueName('b')}`;

// ---- conditions ----

function wanted(row, cell) {
    const names = cell.header.split(', ');
    if (names.some((name) => !row.conditions.includes(LETTERS[name])))
        return NOT_TAKEN;
    const answer = cell[row.kind];
    // A follower of snapshots has no tags, and can be given none.
    if (row.operation === 'Incremental Copy Blob' && names.includes('x-ms-if-tags'))
        return answer.replace(/^ok$/, '412 ConditionNotMet');
    return row.operation === 'Put Blob From URL' && names.includes('If-Match') && !cell.header.includes('tags')
        ? answer.replace(/^412 ConditionNotMet$/, '412 TargetConditionNotMet') : answer;
}

for (const row of ROWS)
    for (const cell of readTable(TEXT, 'header', 'value', 'blob')) {
        const answer = wanted(row, cell);
        test(`${row.operation}; ${cell.header}: ${cell.value}; the blob is ${cell.blob}: ${answer}`, async () => {
            const path = newPath();
            const type = OPERATIONS[row.operation][0];
            if (cell.blob === 'there')
                await CREATE[type](path);
            // What is pending has another ETag than what was there before it.
            const state = row.operation === 'Abort Copy Blob' ? {} : (await send('HEAD', path)).headers;
            const done = await perform(row.operation, path, headersOf(cell, state, 'blob'));
            check(done, answer);
            if (answer === 'ok' && row['new ETag'] !== '')
                assert.equal(done.renewed, row['new ETag'] === 'yes', 'new ETag');
        });
    }

// ---- conditions of the source ----

const SOURCE_LETTERS = { match: 'M', 'none-match': 'N', 'modified-since': 'S', 'unmodified-since': 'U', tags: 'T' };

function wantedOfSource(row, cell) {
    const letter = SOURCE_LETTERS[cell.header.replace('x-ms-source-if-', '')];
    if (!row['of the source'].includes(letter))
        return NOT_TAKEN;
    if (row.operation === 'Copy Blob' && letter === 'T')
        return cell.answer.replace('412 SourceConditionNotMet', '412 ConditionNotMet');
    return row.operation === 'Put Blob From URL' && 'SU'.includes(letter)
        ? cell.answer.replace('412 SourceConditionNotMet', '412 CannotVerifyCopySource') : cell.answer;
}

for (const row of ROWS.filter((r) => r['of the source'] !== ''))
    for (const cell of readTable(TEXT, 'header', 'value', 'source')) {
        const answer = wantedOfSource(row, cell);
        test(`${row.operation}; ${cell.header}: ${cell.value}; the source is ${cell.source}: ${answer}`, async () => {
            const path = newPath();
            const from = row.operation === 'Put Page From URL' ? SOURCES.page : SOURCES.block;
            await CREATE[OPERATIONS[row.operation][0]](path);
            const headers = headersOf(cell, await good('HEAD', from), 'source');
            check(await perform(row.operation, path, headers, { from: cell.source === 'there' ? from : SOURCES.absent }), answer);
        });
    }

// ---- leases ----

const lease = (path, action, headers) => good('PUT', path, { comp: 'lease' }, { 'x-ms-lease-action': action, ...headers });
const acquire = (path, seconds) => lease(path, 'acquire', { 'x-ms-lease-duration': seconds, 'x-ms-proposed-lease-id': A });
const STATES = {
    Available: async () => {},
    Leased: (path) => acquire(path, -1),
    Breaking: async (path) => {
        await acquire(path, -1);
        await lease(path, 'break', { 'x-ms-lease-break-period': 60 });
    },
    Broken: async (path) => {
        await acquire(path, -1);
        await lease(path, 'break', { 'x-ms-lease-break-period': 0 });
    },
    Expired: async (path) => {
        await acquire(path, 15);
        server.advance(16000);
    },
};
const IDS = { none: undefined, A, B };

/** What the lease is after the operation went well. */
function stateAfter(row, state) {
    const over = state === 'Broken' || state === 'Expired';
    return (over && row['new ETag'] === 'yes' ? 'Available' : state).toLowerCase();
}

for (const row of ROWS)
    for (const cell of readTable(TEXT, 'lease id', 'given').filter((c) => c['lease id'] === row['lease id']))
        for (const state of Object.keys(STATES)) {
            // No lease of these states is on a blob that is being copied to.
            if (row.operation === 'Abort Copy Blob' && !['Available', 'Leased'].includes(state))
                continue;
            test(`${row.operation}; ${state}; lease id: ${cell.given}: ${cell[state]}`, async () => {
                const path = newPath();
                await CREATE[OPERATIONS[row.operation][0]](path);
                await STATES[state](path);
                const done = await perform(row.operation, path, { 'x-ms-lease-id': IDS[cell.given] },
                    { lease: state === 'Leased' ? A : undefined });
                check(done, cell[state]);
                if (cell[state] === 'ok' && row['new ETag'] !== '')
                    assert.equal(done.after['x-ms-lease-state'], stateAfter(row, state));
            });
        }

for (const row of ROWS) {
    const makes = row.kind === 'create' || row.kind === 'stage';
    const answer = makes ? '412 LeaseNotPresentWithBlobOperation' : '404 BlobNotFound';
    test(`${row.operation}; the blob is absent; lease id: A: ${answer}`, async () => {
        check(await perform(row.operation, newPath(), { 'x-ms-lease-id': A }), answer);
    });
    if (makes)
        test(`${row.operation}; the blob is absent; no lease id: ok`, async () => check(await perform(row.operation, newPath(), {}), 'ok'));
}

test('Copy Blob; a lease with an end, and its id: 412 InfiniteLeaseDurationRequired', async () => {
    const path = newPath();
    await CREATE.block(path);
    await acquire(path, 60);
    check(await perform('Copy Blob', path, { 'x-ms-lease-id': A }), '412 InfiniteLeaseDurationRequired');
    check(await perform('Copy Blob From URL', path, { 'x-ms-lease-id': A }), 'ok');
    check(await perform('Put Blob From URL', path, { 'x-ms-lease-id': A }), 'ok');
});

test('the lease of a source does not count', async () => {
    const from = newPath();
    await CREATE.block(from);
    await acquire(from, -1);
    for (const name of ['Copy Blob', 'Copy Blob From URL', 'Put Blob From URL', 'Put Block From URL'])
        check(await perform(name, newPath(), {}, { from }), 'ok');
    assert.equal((await good('HEAD', from))['x-ms-lease-state'], 'leased');
});

// ---- conditions of their own ----

for (const cell of readTable(TEXT, 'operation', 'header', 'value'))
    test(`${cell.operation}; ${cell.header}: ${cell.value}: ${cell.answer}`, async () => {
        const path = newPath();
        await CREATE[OPERATIONS[cell.operation][0]](path);
        check(await perform(cell.operation, path, headersOf(cell, sourceState)), cell.answer);
    });
