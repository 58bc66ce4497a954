// SPDX-License-Identifier: Apache-2.0
// `lazuli import azurite`: folders in Azurite's format, written here without Azurite, intact and damaged, into a separate
// store and into a running server; then the SDKs check the result.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ACCOUNT, BIN, startServer, until } from './lib.mjs';

const root = mkdtempSync(join(tmpdir(), 'lazuli-import-'));
after(() => rmSync(root, { recursive: true, force: true }));

// ---- a folder as Azurite writes it ----------------------------------------------------------------------------------

const TAIL = { idIndex: null, binaryIndices: {}, constraints: null, uniqueNames: [], transforms: {}, dirty: false, maxId: 0,
    DynamicViews: [], events: { insert: [], delete: [null] }, changes: [], dirtyIds: [] };

/** One LokiJS database. */
function loki(collections) {
    let id = 0;
    return JSON.stringify({
        filename: 'x', collections: Object.entries(collections).map(([name, data]) => ({
            name, data: data.map((d) => ({ ...d, meta: { revision: 0, created: 1, version: 0 }, $loki: ++id })), ...TAIL,
        })), databaseVersion: 1.5, engineVersion: 1.5, autosave: true,
    });
}

/** Bytes go one behind the other into extents of a few KiB. */
class Extents {
    constructor(folder, limit = 4096) {
        mkdirSync(folder, { recursive: true });
        Object.assign(this, { folder, limit, bytes: Buffer.alloc(0), id: '' });
    }

    put(content) {
        const bytes = Buffer.from(content);
        if (this.id === '' || this.bytes.length > this.limit) {
            const hex = randomBytes(16).toString('hex');
            this.id = [8, 4, 4, 4, 12].map((n, i, a) => { const at = a.slice(0, i).reduce((x, y) => x + y, 0); return hex.slice(at, at + n); }).join('-');
            this.bytes = Buffer.alloc(0);
        }
        const persistency = { id: this.id, offset: this.bytes.length, count: bytes.length };
        this.bytes = Buffer.concat([this.bytes, bytes]);
        writeFileSync(join(this.folder, this.id), this.bytes);
        return persistency;
    }
}

const md5Object = (bytes) => Object.fromEntries([...createHash('md5').update(bytes).digest()].map((b, i) => [i, b]));
const b64 = (text) => Buffer.from(text).toString('base64');
const AT = { accountName: ACCOUNT, containerName: 'pictures' };

function blobDocument(name, more = {}, properties = {}) {
    return { deleted: false, ...AT, name, snapshot: '', isCommitted: true, ...more,
        properties: { creationTime: '2024-01-01T00:00:00.000Z', lastModified: '2024-01-01T00:00:00.000Z', etag: '"0x1"',
            contentLength: 0, contentType: 'application/octet-stream', blobType: 'BlockBlob', leaseStatus: 'unlocked',
            accessTier: 'Hot', accessTierInferred: true, ...properties } };
}

const plain = (extents, name, content, more, properties) => blobDocument(name, { persistency: extents.put(content), ...more },
    { contentLength: Buffer.byteLength(content), ...properties });
const PAGE = Buffer.alloc(512, 3);
const BLOCKS = [randomBytes(3000), randomBytes(5000), randomBytes(10)];

function blobDocuments(extents) {
    const block = (bytes, i) => ({ ...AT, blobName: 'blocks', isCommitted: false, name: b64(`id${i}`), size: bytes.length, persistency: extents.put(bytes) });
    const line = (text) => ({ ...AT, blobName: 'log', isCommitted: true, name: '', size: text.length, persistency: extents.put(text) });
    return [
        plain(extents, 'a/cat.txt', 'now', {}, { contentType: 'text/plain' }),
        plain(extents, 'a/cat.txt', 'first', { snapshot: '2024-01-01T00:00:00.0000000Z', metadata: { age: 'one' } }),
        plain(extents, 'a/cat.txt', 'second', { snapshot: '2024-01-02T00:00:00.0000000Z' }),
        plain(extents, 'tagged ü+%', 'x', { metadata: { k: 'v' }, blobTags: { blobTagSet: [{ key: 'colour', value: 'red' }] } },
            { cacheControl: 'no-cache', contentMD5: md5Object('x'), accessTier: 'Cool', accessTierInferred: false }),
        blobDocument('blocks', { committedBlocksInOrder: BLOCKS.map(block) }, { contentLength: 8010 }),
        blobDocument('empty', { persistency: { id: '', offset: 0, count: 0 } }),
        blobDocument('disk', { pageRangesInOrder: [
            { start: 512, end: 1023, persistency: extents.put(PAGE) },
            { start: 2048, end: 2559, persistency: { id: '*ZERO*', offset: 0, count: 512 } },
        ] }, { blobType: 'PageBlob', contentLength: 4096, blobSequenceNumber: 7 }),
        blobDocument('log', { committedBlocksInOrder: [line('one\n'), line('two\n')] }, { blobType: 'AppendBlob', contentLength: 8, isSealed: true }),
        blobDocument('staged', { isCommitted: false }),
    ];
}

function blobDatabase(folder) {
    const extents = new Extents(join(folder, '__blobstorage__'));
    return loki({
        $SERVICES_COLLECTION$: [],
        $CONTAINERS_COLLECTION$: [{ accountName: ACCOUNT, name: 'pictures', metadata: { one: '1' },
            properties: { etag: '"0x1"', publicAccess: 'container', leaseState: 'leased' }, leaseId: 'x',
            containerAcl: [{ id: 'p1', accessPolicy: { start: '2024-01-01T00:00:00.0000000Z', expiry: '2034-01-01T00:00:00.0000000Z', permission: 'r' } }] }],
        $BLOBS_COLLECTION$: blobDocuments(extents),
        $BLOCKS_COLLECTION$: [{ ...AT, blobName: 'staged', isCommitted: false, name: b64('s0'), size: 4, persistency: extents.put('half') }],
    });
}

function queueDatabase(folder, now = Date.now()) {
    const extents = new Extents(join(folder, '__queuestorage__'));
    const message = (text, visible, expires) => ({ accountName: ACCOUNT, queueName: 'work', messageId: randomBytes(4).toString('hex'),
        popReceipt: 'r', timeNextVisible: visible, insertionTime: new Date(now).toISOString(), expirationTime: new Date(expires).toISOString(),
        dequeueCount: 2, persistency: extents.put(text) });
    return loki({
        $SERVICES_COLLECTION$: [],
        $QUEUES_COLLECTION$: [{ accountName: ACCOUNT, name: 'work', metadata: { m: 'n' } }],
        $MESSAGES_COLLECTION$: [message('one ü<&>', now - 1000, now + 3600e3), message('two', now - 500, now + 3600e3),
            message('later', now + 600e3, Date.parse('9999-12-31T23:59:59.000Z')), message('over', now - 9000, now - 1000)],
    });
}

const entity = (pk, rk, properties) => ({ PartitionKey: pk, RowKey: rk, eTag: 'W/"x"', lastModifiedTime: '2024-01-01T00:00:00.0000000Z',
    properties: { PartitionKey: pk, RowKey: rk, ...properties, Timestamp: '2024-01-01T00:00:00.0000000Z', 'Timestamp@odata.type': 'Edm.DateTime' } });
const GUID = '12345678-1234-1234-1234-123456789012';

function tableDatabase() {
    return loki({
        $TABLES_COLLECTION$: [{ account: ACCOUNT, table: 'People' }],
        $SERVICES_COLLECTION$: [],
        [`${ACCOUNT}$People`]: [
            entity('p', 'all', { s: 'text', i: 42, d: 3, 'd@odata.type': 'Edm.Double', l: '9007199254740993', 'l@odata.type': 'Edm.Int64',
                b: true, g: b64(GUID), 'g@odata.type': 'Edm.Guid', t: '2024-05-06T07:08:09.123Z', 't@odata.type': 'Edm.DateTime',
                bin: 'AQID', 'bin@odata.type': 'Edm.Binary' }),
            ...Array.from({ length: 20 }, (_, i) => entity(`p${i % 3}`, `k${i}`, { n: i })),
            entity('bad/key', 'x', {}),
        ],
    });
}

let made = 0;
function azuriteFolder() {
    const folder = join(root, `azurite${made++}`);
    mkdirSync(folder);
    writeFileSync(join(folder, '__azurite_db_blob__.json'), blobDatabase(folder));
    writeFileSync(join(folder, '__azurite_db_queue__.json'), queueDatabase(folder));
    writeFileSync(join(folder, '__azurite_db_table__.json'), tableDatabase());
    return folder;
}

// ---- what comes of it -----------------------------------------------------------------------------------------------

/** {blobs: {taken, there, left, damaged}, …} and the lines before the table. */
function run(...words) {
    const done = spawnSync(BIN, ['import', 'azurite', ...words], { encoding: 'utf8' });
    const rows = {};
    for (const line of done.stdout.split('\n')) {
        const row = /^([a-z ]+?) +(\d+) +(\d+) +(\d+) +(\d+)$/.exec(line);
        if (row !== null)
            rows[row[1]] = { taken: +row[2], there: +row[3], left: +row[4], damaged: +row[5] };
    }
    return { ...done, rows, lines: done.stdout.split('\n').filter((l) => /^(left out|damaged): /.test(l)) };
}

const bytesOf = (client) => client.downloadToBuffer();

async function checkBlobs(server) {
    const container = (await server.blobs()).getContainerClient('pictures');
    const acl = await container.getAccessPolicy();
    assert.equal((await container.getProperties()).metadata.one, '1');
    assert.equal(acl.blobPublicAccess, 'container');
    assert.equal(acl.signedIdentifiers[0].accessPolicy.permissions, 'r');
    const tagged = container.getBlobClient('tagged ü+%');
    const properties = await tagged.getProperties();
    assert.deepEqual([properties.cacheControl, properties.metadata, properties.accessTier, properties.contentMD5],
        ['no-cache', { k: 'v' }, 'Cool', createHash('md5').update('x').digest()]);
    assert.deepEqual((await tagged.getTags()).tags, { colour: 'red' });
    assert.deepEqual(await bytesOf(container.getBlobClient('blocks')), Buffer.concat(BLOCKS));
    assert.equal((await container.getBlockBlobClient('blocks').getBlockList('committed')).committedBlocks.length, 3);
    assert.equal((await container.getBlobClient('empty').getProperties()).contentLength, 0);
    assert.equal((await bytesOf(container.getBlobClient('log'))).toString(), 'one\ntwo\n');
    assert.equal((await container.getBlobClient('log').getProperties()).isSealed, true);
    const staged = await container.getBlockBlobClient('staged').getBlockList('uncommitted');
    assert.deepEqual(staged.uncommittedBlocks.map((b) => [b.name, b.size]), [[b64('s0'), 4]]);
}

async function checkHistory(server) {
    const container = (await server.blobs()).getContainerClient('pictures');
    const cat = container.getBlobClient('a/cat.txt');
    const snapshots = [];
    for await (const item of container.listBlobsFlat({ prefix: 'a/', includeSnapshots: true }))
        if (item.snapshot)
            snapshots.push((await bytesOf(cat.withSnapshot(item.snapshot))).toString());
    assert.deepEqual(snapshots, ['first', 'second']);
    assert.equal((await bytesOf(cat)).toString(), 'now');
    const disk = container.getPageBlobClient('disk');
    // The SDK's count is one less than that of the bytes.
    assert.deepEqual((await disk.getPageRanges()).pageRange, [{ offset: 512, count: 511 }]);
    assert.deepEqual((await bytesOf(disk)).subarray(512, 1024), PAGE);
    assert.equal((await disk.getProperties()).blobSequenceNumber, 7);
}

async function checkRest(server) {
    const queue = (await server.queues()).getQueueClient('work');
    const properties = await queue.getProperties();
    assert.deepEqual([properties.metadata, properties.approximateMessagesCount], [{ m: 'n' }, 3]);
    const got = await queue.peekMessages({ numberOfMessages: 32 });
    assert.deepEqual(got.peekedMessageItems.map((m) => m.messageText), ['one ü<&>', 'two']);
    const table = await server.table('People');
    const all = await table.getEntity('p', 'all');
    assert.deepEqual([all.s, all.i, all.d, all.l, all.b, all.g.value, all.t.toISOString(), Buffer.from(all.bin).toString('hex')],
        ['text', 42, 3, 9007199254740993n, true, GUID, '2024-05-06T07:08:09.123Z', '010203']);
    let count = 0;
    for await (const one of table.listEntities())
        count += one.partitionKey.startsWith('p') ? 1 : 0;
    assert.equal(count, 21);
}

async function checkAll(server) {
    await checkBlobs(server);
    await checkHistory(server);
    await checkRest(server);
}

/** Every file with its bytes and times: an import changes none. */
const fingerprint = (folder) => readdirSync(folder, { recursive: true }).sort().map((name) => {
    const info = statSync(join(folder, name));
    return `${name} ${info.size} ${info.mtimeMs} ${info.isFile() ? createHash('md5').update(readFileSync(join(folder, name))).digest('hex') : ''}`;
});

/** A server on a store that an import has made. */
const serverOn = (data) => startServer({ args: ['--data', data] });

const WHOLE = { containers: 1, blobs: 6, snapshots: 2, 'uncommitted blocks': 1, queues: 1, messages: 3, tables: 1, entities: 21, files: 3 };

test('a whole folder, twice: everything is taken once, the source stays as it is', async () => {
    const folder = azuriteFolder();
    const data = join(root, 'whole');
    const before = fingerprint(folder);
    const first = run(folder, data);
    assert.equal(first.status, 0, first.stderr);
    assert.deepEqual(Object.fromEntries(Object.entries(first.rows).map(([k, v]) => [k, v.taken])), WHOLE, first.stdout);
    assert.deepEqual([first.rows.messages.left, first.rows.entities.left], [1, 1]);
    const second = run(folder, data);
    assert.deepEqual([second.rows.blobs.there, second.rows.snapshots.there, second.rows.messages.there, second.rows.entities.there], [6, 2, 4, 21]);
    assert.equal(second.rows.blobs.taken, 0);
    assert.deepEqual(fingerprint(folder), before);
    assert.equal(spawnSync(BIN, ['check', data]).status, 0);
    const server = await serverOn(data);
    await checkAll(server);
    await server.stop();
});

test('into a running server, which goes on serving', async () => {
    const folder = azuriteFolder();
    const server = await startServer();
    const done = run(folder, '--data', server.data);
    assert.equal(done.status, 0, done.stderr);
    assert.equal(done.rows.blobs.taken, 6);
    await checkAll(server);
    await server.kill();
    await server.start();
    await checkAll(server);
    await server.stop();
});

test('an import that was cut off makes anew what it was in the middle of', async () => {
    const folder = azuriteFolder();
    const data = join(root, 'cut');
    run(folder, data);
    for (const name of ['pictures/a/cat.txt', 'work', 'pictures/log']) {
        writeFileSync(join(data, 'import.pending'), `${ACCOUNT}/${name}`);
        const again = run(folder, data);
        assert.equal(again.status, 0, again.stderr);
        assert.equal(again.rows.blobs.taken + again.rows.queues.taken, 1, `${name}: ${again.stdout}`);
    }
    const server = await serverOn(data);
    await checkAll(server);
    await server.stop();
});

test('a database that ends early: what is before its end is taken; NAME~ only when it is whole', () => {
    const folder = azuriteFolder();
    const file = join(folder, '__azurite_db_table__.json');
    const text = readFileSync(file, 'utf8');
    truncateSync(file, text.indexOf('"k7"'));
    const cut = run(folder, join(root, 'early'));
    assert.equal(cut.status, 0, cut.stderr);
    assert.deepEqual([cut.rows.entities.taken, cut.rows.files.damaged], [8, 1], cut.stdout);
    assert.match(cut.stdout, /damaged: file at byte \d+: the file ends early/);
    writeFileSync(`${file}~`, text);
    assert.equal(run(folder, join(root, 'spare')).rows.entities.taken, 21);
    writeFileSync(file, '');
    assert.equal(run(folder, join(root, 'empty')).rows.entities.taken, 21);
});

test('garbage in the middle costs the documents that it hits', () => {
    const folder = azuriteFolder();
    const file = join(folder, '__azurite_db_table__.json');
    const bytes = readFileSync(file);
    bytes.fill(0, bytes.indexOf('"k5"'), bytes.indexOf('"k5"') + 60);
    writeFileSync(file, bytes);
    const done = run(folder, join(root, 'zeros'));
    assert.equal(done.status, 0, done.stderr);
    assert.equal(done.rows.entities.taken, 20, done.stdout);
    const blobs = join(folder, '__azurite_db_blob__.json');
    const text = readFileSync(blobs, 'utf8').replace('"name":"log"', '"name\u0000:"log"');
    writeFileSync(blobs, text);
    const other = run(folder, join(root, 'quote'));
    assert.equal(other.rows.blobs.taken, 5, other.stdout);
    assert.ok(other.rows.files.damaged >= 1);
});

test('extents that are gone or too short: their blobs are listed, the others taken', () => {
    const folder = azuriteFolder();
    const storage = join(folder, '__blobstorage__');
    const database = JSON.parse(readFileSync(join(folder, '__azurite_db_blob__.json')));
    const blobs = database.collections.find((c) => c.name === '$BLOBS_COLLECTION$').data;
    blobs.find((b) => b.name === 'tagged ü+%').persistency.id = '../../../../etc/passwd';
    blobs.find((b) => b.name === 'disk').pageRangesInOrder[0].persistency.offset = 1 << 20;
    blobs.find((b) => b.name === 'blocks').committedBlocksInOrder[1].persistency.id = '00000000-0000-0000-0000-000000000000';
    writeFileSync(join(folder, '__azurite_db_blob__.json'), JSON.stringify(database));
    const done = run(folder, join(root, 'gone'));
    assert.equal(done.status, 0, done.stderr);
    assert.deepEqual([done.rows.blobs.taken, done.rows.blobs.damaged], [3, 3], done.stdout);
    assert.match(done.stdout, /damaged: blob devstoreaccount1\/pictures\/disk: the file of its extent is too short/);
    assert.match(done.stdout, /blocks: the file of its extent is missing/);
    assert.equal(spawnSync(BIN, ['check', join(root, 'gone')]).status, 0);
    assert.ok(readdirSync(storage).length > 0);
});

test('what names no file of the folder is damaged: zeros without end, files elsewhere', () => {
    for (const id of ['*ZERO*', '../../../../../../etc/passwd', '/etc/passwd', '..', '']) {
        const folder = azuriteFolder();
        for (const kind of ['blob', 'queue']) {
            const file = join(folder, `__azurite_db_${kind}__.json`);
            const far = (key, value) => (key === 'persistency' ? { id, offset: 0, count: 2 ** 52 } : value);
            writeFileSync(file, JSON.stringify(JSON.parse(readFileSync(file, 'utf8'), far)));
        }
        const done = run(folder, '--data', join(root, `far${made}`));
        assert.equal(done.rows.messages.taken, 0, done.stdout);
        assert.ok(done.rows.blobs.damaged >= 3, done.stdout);
        assert.ok(!done.stdout.includes('root:'), done.stdout);
    }
});

test('links in the folder are not followed, whatever they stand for', () => {
    const elsewhere = join(root, 'elsewhere');
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, 'secret'), 'root:x:0:0');
    const linked = (name, make) => {
        const folder = azuriteFolder();
        make(folder);
        const done = run(folder, '--data', join(root, `linked${made}`));
        assert.ok((done.rows.blobs?.taken ?? 0) <= 1, `${name}: ${done.stdout}`); // an empty blob has no bytes anywhere
        return done;
    };
    const point = (folder, id) => {
        const file = join(folder, '__azurite_db_blob__.json');
        writeFileSync(file, JSON.stringify(JSON.parse(readFileSync(file, 'utf8'), (key, value) => (key === 'persistency' ? { id, offset: 0, count: 10 } : value))));
    };
    linked('the folder of extents', (folder) => {
        rmSync(join(folder, '__blobstorage__'), { recursive: true });
        symlinkSync(elsewhere, join(folder, '__blobstorage__'));
        point(folder, 'secret');
    });
    linked('an extent', (folder) => {
        symlinkSync(join(elsewhere, 'secret'), join(folder, '__blobstorage__', 'secret'));
        point(folder, 'secret');
    });
    linked('a database', (folder) => {
        renameSync(join(folder, '__azurite_db_blob__.json'), join(elsewhere, 'db'));
        symlinkSync(join(elsewhere, 'db'), join(folder, '__azurite_db_blob__.json'));
    });
    linked('an extent that is a folder', (folder) => {
        mkdirSync(join(folder, '__blobstorage__', 'secret'));
        point(folder, 'secret');
    });
});

test('a server that is given Azurite\'s folder starts beside its data, and says how to take it over', async () => {
    const folder = azuriteFolder();
    const server = await startServer({ args: ['--location', folder] });
    const told = new RegExp(`has Azurite's data: the server's own is in ${folder}/lazuli\\. .lazuli import azurite ${folder} --data ${folder}. takes it over`);
    await until(() => told.test(server.output));
    const done = run(folder, '--data', folder);
    assert.deepEqual([done.status, done.rows.blobs.taken], [0, 6], done.stderr);
    await checkAll(server);
    await server.stop();
});

test('a folder that is none of Azurite\'s is refused', () => {
    const folder = join(root, 'none');
    mkdirSync(folder);
    const done = run(folder, join(root, 'nothing'));
    assert.equal(done.status, 1);
    assert.match(done.stderr, /no database of Azurite/);
    assert.equal(run().status, 1);
});
