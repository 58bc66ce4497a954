// SPDX-License-Identifier: Apache-2.0
// The table of operations and kinds in docs/blob-kinds.md is the list of these tests: each cell is one, named by its operation and kind,
// and gives the expected status (and error code).
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { readTable } from './blob_lib.mjs';
import { assertError, startServer, uniqueName } from './lib.mjs';

const KEY = Buffer.alloc(64, 7).toString('base64');
// One server: an account without versions and one with them. Both soft-delete.
const PLAIN = 'plain';
const VERSIONED = 'versioned';
const CONTAINER = uniqueName('kinds');
let server;

async function send(account, method, path, query = {}, headers = {}, body = undefined) {
    return server.request('blob', method, path, { account, key: KEY, query, headers, body });
}

async function good(...request) {
    const response = await send(...request);
    assert.ok(response.status < 300, `${request.slice(0, 4).join(' ')}: ${response.status} ${response.text}`);
    return response.headers;
}

const PROPERTIES = `<?xml version="1.0"?><StorageServiceProperties><DeleteRetentionPolicy><Enabled>true</Enabled>
<Days>7</Days><AllowPermanentDelete>true</AllowPermanentDelete></DeleteRetentionPolicy></StorageServiceProperties>`;

before(async () => {
    server = await startServer({
        inMemory: true,
        services: ['blob'],
        args: ['--blob-versioning', VERSIONED],
        env: { AZURITE_ACCOUNTS: `${PLAIN}:${KEY};${VERSIONED}:${KEY}` },
    });
    for (const account of [PLAIN, VERSIONED]) {
        await good(account, 'PUT', '', { restype: 'service', comp: 'properties' }, {}, PROPERTIES);
        await good(account, 'PUT', `/${CONTAINER}`, { restype: 'container' });
    }
});
after(() => server.stop());

// ---- kinds: each makes a blob, and says by which account and query the kind of it is named ----

const CREATE = {
    block: { 'x-ms-blob-type': 'BlockBlob' },
    append: { 'x-ms-blob-type': 'AppendBlob' },
    page: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': 512 },
};

async function create(account, path, type) {
    const body = type === 'block' ? 'content' : undefined;
    return good(account, 'PUT', path, {}, CREATE[type], body);
}

async function withSnapshot(path, type) {
    await create(PLAIN, path, type);
    const snapshot = (await good(PLAIN, 'PUT', path, { comp: 'snapshot' }))['x-ms-snapshot'];
    return { account: PLAIN, query: { snapshot } };
}

async function withVersion(path, type) {
    const versionid = (await create(VERSIONED, path, type))['x-ms-version-id'];
    await create(VERSIONED, path, type);
    return { account: VERSIONED, query: { versionid } };
}

async function deleted(kind, path) {
    await good(kind.account, 'DELETE', path, kind.query);
    return kind;
}

const KINDS = {
    'blob': async (path, type) => {
        await create(PLAIN, path, type);
        return { account: PLAIN, query: {} };
    },
    'current version by its id': async (path, type) => {
        const versionid = (await create(VERSIONED, path, type))['x-ms-version-id'];
        return { account: VERSIONED, query: { versionid } };
    },
    'snapshot': withSnapshot,
    'previous version': withVersion,
    'soft-deleted blob': async (path, type) => {
        await create(PLAIN, path, type);
        return deleted({ account: PLAIN, query: {} }, path);
    },
    'soft-deleted snapshot': async (path, type) => deleted(await withSnapshot(path, type), path),
    'soft-deleted version': async (path, type) => deleted(await withVersion(path, type), path),
};

// ---- operations: [type of blob, method, query, headers, body] ----

const TAGS = '<Tags><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tags>';
const OPERATIONS = {
    'Put Blob': ['block', 'PUT', {}, CREATE.block, 'new'],
    'Put Block': ['block', 'PUT', { comp: 'block', blockid: 'MQ==' }, {}, 'block'],
    'Put Block List': ['block', 'PUT', { comp: 'blocklist' }, {}, '<BlockList></BlockList>'],
    'Append Block': ['append', 'PUT', { comp: 'appendblock' }, {}, 'block'],
    'Append Blob Seal': ['append', 'PUT', { comp: 'seal' }],
    'Put Page': ['page', 'PUT', { comp: 'page' }, { 'x-ms-page-write': 'clear', 'x-ms-range': 'bytes=0-511' }],
    'Get Blob': ['block', 'GET', {}],
    'Get Blob Properties': ['block', 'HEAD', {}],
    'Get Blob Metadata': ['block', 'GET', { comp: 'metadata' }],
    'Get Block List': ['block', 'GET', { comp: 'blocklist' }],
    'Get Page Ranges': ['page', 'GET', { comp: 'pagelist' }],
    'Get Blob Tags': ['block', 'GET', { comp: 'tags' }],
    'Set Blob Properties': ['block', 'PUT', { comp: 'properties' }, { 'x-ms-blob-content-type': 'a/b' }],
    'Set Blob Metadata': ['block', 'PUT', { comp: 'metadata' }, { 'x-ms-meta-a': 'b' }],
    'Set Blob Tags': ['block', 'PUT', { comp: 'tags' }, {}, TAGS],
    'Set Blob Tier': ['block', 'PUT', { comp: 'tier' }, { 'x-ms-access-tier': 'Cool' }],
    'Lease Blob': ['block', 'PUT', { comp: 'lease' }, { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': 15 }],
    'Snapshot Blob': ['block', 'PUT', { comp: 'snapshot' }],
    'Delete Blob': ['block', 'DELETE', {}],
    'Delete Blob, permanently': ['block', 'DELETE', { deletetype: 'permanent' }],
    'Undelete Blob': ['block', 'PUT', { comp: 'undelete' }],
};

// ---- the table ----

const ROWS = readTable(readFileSync(new URL('../../docs/blob-kinds.md', import.meta.url), 'utf8'), 'operation', 'blob');
const kinds = Object.keys(ROWS[0]).slice(1);
const rows = ROWS.map((row) => Object.values(row));

test('docs/blob-kinds.md has all operations and kinds', () => {
    assert.deepEqual(kinds, Object.keys(KINDS));
    assert.deepEqual(rows.map(([name]) => name), Object.keys(OPERATIONS));
});

for (const [operation, ...cells] of rows) {
    for (const [i, cell] of cells.entries()) {
        const kind = kinds[i];
        test(`${operation} of a ${kind}: ${cell}`, async () => {
            const [type, method, query, headers, body] = OPERATIONS[operation];
            const path = `/${CONTAINER}/${uniqueName('blob')}`;
            const { account, query: which } = await KINDS[kind](path, type);
            const response = await send(account, method, path, { ...query, ...which }, headers, body);
            const [status, code] = cell.split(' ');
            if (code !== undefined)
                assertError(response, Number(status), code);
            else
                assert.equal(response.status, Number(status), response.text);
        });
    }
}
