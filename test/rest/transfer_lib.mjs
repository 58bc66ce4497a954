// SPDX-License-Identifier: Apache-2.0
// For the tests of export, import and copy: the commands, and accounts with all kinds of data.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { BIN, fileShareSdk } from './lib.mjs';

/** Runs a command of the program; returns its exit status and output. */
export function start(words, options = {}) {
    const child = spawn(BIN, words, { stdio: ['ignore', 'pipe', 'pipe'], ...options, env: { ...process.env, ...options.env } });
    const said = { out: '', err: '' };
    child.stdout?.setEncoding('utf8').on('data', (text) => { said.out += text; });
    child.stderr?.setEncoding('utf8').on('data', (text) => { said.err += text; });
    const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, ...said }));
    return { child, ended };
}

export async function command(words, options) {
    const done = await start(words, options).ended;
    assert.equal(done.code, 0, `lazuli ${words.join(' ')}: ${done.code ?? done.signal}\n${done.out}${done.err}`);
    return done;
}

export const sha = (path) => createHash('sha256').update(readFileSync(path)).digest('hex');

/** Numbers that are the same for the same seed. */
export function numbers(seed) {
    let state = seed >>> 0 || 1;
    return (below) => {
        state ^= state << 13;
        state ^= state >>> 17;
        state ^= state << 5;
        return (state >>> 0) % below;
    };
}

const NAMES = ['plain.txt', 'a', 'a/b', 'a/b/c.json', 'a-b', 'Ünïcode/страница 1', '100%', 'back\\slash', 'q?x=1&y#z', './dot', 'dir//twice',
    'trailing.', `${'long'.repeat(60)}/${'name'.repeat(60)}`, 'x%.json', 'a b+c', '\u{1F600}', '~tilde', 'lazuli-archive.json'];

function bytes(draw, n) {
    const out = Buffer.alloc(n);
    for (let i = 0; i < n; i++)
        out[i] = draw(256);
    return out;
}

const headers = (draw) => ({
    blobContentType: ['text/plain', 'application/json', 'image/png'][draw(3)],
    ...(draw(3) === 0 && { blobContentEncoding: 'gzip', blobContentLanguage: 'de', blobCacheControl: 'no-cache' }),
    ...(draw(4) === 0 && { blobContentDisposition: 'attachment; filename="x.bin"' }),
});
const metadata = (draw) => (draw(2) === 0 ? {} : { project: `p${draw(9)}`, Mixed_Case: 'Wert 1', empty: '' });
const tags = (draw) => (draw(3) === 0 ? { tags: { kind: `k${draw(5)}`, 'a b': 'c/d' } } : {});

async function putBlock(container, name, draw) {
    const blob = container.getBlockBlobClient(name);
    const options = { metadata: metadata(draw), blobHTTPHeaders: headers(draw), ...tags(draw) };
    if (draw(2) === 0) {
        const content = bytes(draw, draw(5000));
        await blob.upload(content, content.length, { ...options, ...(draw(4) === 0 && { tier: 'Cool' }) });
        return;
    }
    const ids = [];
    for (let i = 0; i < 1 + draw(4); i++) {
        ids.push(Buffer.from(`block-${i}`).toString('base64'));
        const content = bytes(draw, 1 + draw(3000));
        await blob.stageBlock(ids.at(-1), content, content.length);
    }
    await blob.commitBlockList(ids, options);
}

async function putPages(container, name, draw) {
    const blob = container.getPageBlobClient(name);
    const pages = 8 + draw(200);
    await blob.create(pages * 512, { metadata: metadata(draw), blobHTTPHeaders: headers(draw), blobSequenceNumber: draw(50), ...tags(draw) });
    for (let i = 0; i < draw(5); i++) {
        const first = draw(pages);
        const count = 1 + draw(Math.min(4, pages - first));
        await blob.uploadPages(bytes(draw, count * 512), first * 512, count * 512);
    }
}

async function putAppend(container, name, draw) {
    const blob = container.getAppendBlobClient(name);
    await blob.create({ metadata: metadata(draw), blobHTTPHeaders: headers(draw), ...tags(draw) });
    for (let i = 0; i < draw(4); i++) {
        const content = bytes(draw, 1 + draw(2000));
        await blob.appendBlock(content, content.length);
    }
    if (draw(3) === 0)
        await blob.seal();
}

const KINDS = [putBlock, putBlock, putPages, putAppend];

/** One blob through some states: written over, changed, snapshots taken. */
async function fillBlob(container, name, draw) {
    const put = KINDS[draw(KINDS.length)];
    await put(container, name, draw);
    const blob = container.getBlobClient(name);
    for (let i = 0; i < draw(5); i++) {
        switch (draw(6)) {
        case 0: case 1:
            await blob.createSnapshot();
            break;
        case 2:
            await put(container, name, draw);
            break;
        case 3:
            await blob.setMetadata(metadata(draw)).catch(() => {}); // a sealed one may refuse
            break;
        case 4:
            await blob.setTags({ later: `t${draw(9)}` });
            break;
        default:
            await blob.setHTTPHeaders({ blobContentType: `text/x-${draw(9)}` });
        }
    }
}

async function fillContainers(server, draw) {
    const service = await server.blobs();
    for (const [i, name] of ['first', '$root', 'second-one'].entries()) {
        const container = service.getContainerClient(name);
        await container.create({ metadata: i === 0 ? { owner: 'me' } : undefined, access: i === 0 ? 'blob' : undefined });
        if (i === 0)
            await container.setAccessPolicy('blob', [{ id: 'readers', accessPolicy: { startsOn: new Date('2026-01-01T00:00:00Z'), expiresOn: new Date('2036-01-01T00:00:00Z'), permissions: 'rl' } },
                { id: 'nothing', accessPolicy: {} }]);
        for (const blob of name === '$root' ? ['root.txt'] : NAMES)
            if (i === 0 || draw(2) === 0)
                await fillBlob(container, blob, draw);
    }
    await service.getContainerClient('empty-one').create();
}

async function fillQueues(server, draw) {
    const service = await server.queues();
    const queue = service.getQueueClient('work');
    await queue.create({ metadata: { team: 'x' } });
    await queue.setAccessPolicy([{ id: 'adders', accessPolicy: { permissions: 'a', expiresOn: new Date('2036-01-01T00:00:00Z') } }]);
    for (let i = 0; i < 40 + draw(30); i++)
        await queue.sendMessage(`message ${i} <&> ${'é'.repeat(draw(20))}`, { messageTimeToLive: [-1, 86400 + draw(1000), 7000000][draw(3)], ...(draw(5) === 0 && { visibilityTimeout: 3600 + draw(3600) }) });
    await service.getQueueClient('nothing-in-it').create();
}

async function fillTables(server, draw) {
    const service = await server.tables();
    await service.createTable('People');
    await service.createTable('Empty1');
    const table = await server.table('People');
    await table.setAccessPolicy([{ id: 'q', accessPolicy: { permission: 'r', expiry: new Date('2036-01-01T00:00:00Z') } }]);
    for (let i = 0; i < 30 + draw(20); i++)
        await table.createEntity({ partitionKey: `p'${draw(4)} é`, rowKey: `r ${i}%`, text: 'line\nand "quotes" \\', small: draw(1000), whole: { type: 'Double', value: '3' },
            fraction: 1.5, yes: draw(2) === 0, big: 9007199254740993n, when: new Date('2026-05-05T05:05:05.123Z'), id: { type: 'Guid', value: 'c9da6455-213d-42c9-9a79-3e9149a57833' },
            data: new Uint8Array(bytes(draw, draw(60))), odd: { type: 'Double', value: 'NaN' } });
}

const { FileSystemAttributes } = await fileShareSdk();
const attributes = (...names) => Object.assign(new FileSystemAttributes(), Object.fromEntries(names.map((name) => [name, true])));
const SDDL = 'O:BAG:SYD:(A;;FA;;;BA)(A;;FA;;;SY)(A;;0x1200a9;;;BU)';

async function fillShares(server, draw) {
    const service = await server.shares();
    const share = service.getShareClient('disk');
    await share.create({ quota: 77, metadata: { where: 'attic' } });
    await share.setAccessPolicy([{ id: 'w', accessPolicy: { permissions: 'rwdl', expiresOn: new Date('2036-01-01T00:00:00Z') } }]);
    for (const path of ['docs', 'docs/deep', 'docs/deep/deeper', 'Leer']) {
        const directory = share.getDirectoryClient(path);
        await directory.create({ metadata: { depth: String(path.length) }, filePermission: SDDL, fileAttributes: attributes('hidden', 'directory') });
    }
    for (const path of ['top.bin', 'docs/ä file.txt', 'docs/deep/sparse', 'docs/deep/deeper/read-only', 'docs/empty']) {
        const file = share.getDirectoryClient(path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '').getFileClient(path.split('/').at(-1));
        const size = path.endsWith('empty') ? 0 : path.endsWith('sparse') ? 3 << 20 : 1 + draw(5000);
        await file.create(size, { fileHttpHeaders: { fileContentType: 'text/x-y', fileContentLanguage: 'en' }, metadata: metadata(draw),
            creationTime: new Date('2021-02-03T04:05:06Z'), lastWriteTime: new Date('2022-03-04T05:06:07Z') });
        if (path.endsWith('sparse')) {
            await file.uploadRange(bytes(draw, 4096), 8192, 4096);
            await file.uploadRange(bytes(draw, 512), (2 << 20) + 1024, 512);
        } else if (size > 0) {
            await file.uploadRange(bytes(draw, size), 0, size);
        }
        if (path.endsWith('read-only'))
            await file.setProperties({ fileAttributes: attributes('readonly', 'archive') });
    }
    await service.getShareClient('bare').create();
}

async function setProperties(server) {
    const service = await server.blobs();
    await service.setProperties({ cors: [{ allowedOrigins: 'https://a.example', allowedMethods: 'GET,PUT', allowedHeaders: '*', exposedHeaders: '', maxAgeInSeconds: 60 }],
        deleteRetentionPolicy: { enabled: false }, staticWebsite: { enabled: true, indexDocument: 'index.html', errorDocument404Path: '404.html' } });
}

/** Something of everything, drawn by the seed. */
export async function fill(server, seed) {
    const draw = numbers(seed);
    await setProperties(server);
    await fillContainers(server, draw);
    await fillQueues(server, draw);
    await fillTables(server, draw);
    await fillShares(server, draw);
}
