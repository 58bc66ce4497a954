// SPDX-License-Identifier: Apache-2.0
// How long do small updates wait for long ones? One connection puts 1 KiB blobs into a separate container while another
// client runs a long operation. Printed: its p50, p99 and longest wait; the server's longest turn of its committer (CPU
// time) and of a loop; and the longest write and fdatasync of the bare disk in the same seconds, because no update can be
// faster. Values are upper bounds of histogram buckets: "25" means between 10 and 25 ms.
//
//     BENCH_RUN='chrt -f 10' node bench/held.mjs [part...]      parts: blocks extents blobs tables queues files datalake
//     HELD_COUNT=50000: how many blocks, entities, messages and files
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ask, DISK, FIRST, histogram, largestBetween, load, scratch, startLazuli } from './kit.mjs';

const COUNT = Number(process.env.HELD_COUNT ?? 50000);
const COMMITTER = 'lazuli_committer_turn_cpu_seconds';
const LOOPS = 'lazuli_loop_turn_duration_seconds';
const ACCOUNT = '/devstoreaccount1';

const server = await startLazuli();
const { blob, dfs, file, queue, table } = server.base;
const folder = scratch();

function fill(base, count, op, extra = {}) {
    return load(base, { requests: count, keys: count, 'in-order': true, connections: 32, seconds: 600, 'warm-up': 0, ...extra }, [op]);
}

async function many(count, one) {
    let next = 0;
    await Promise.all(Array.from({ length: 32 }, async () => {
        while (next < count)
            await one(next++);
    }));
}

function disk(seconds) {
    const [program, ...args] = [...FIRST, DISK, folder, String(seconds)];
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.on('data', (part) => (text += part));
    return once(child, 'close').then(() => JSON.parse(text));
}

/** Runs the work while one connection puts small blobs. */
async function beside(name, work, seconds = 3) {
    const before = [await histogram(server, COMMITTER), await histogram(server, LOOPS)];
    const bare = disk(seconds);
    const small = load(blob, { connections: 1, seconds, 'warm-up': 0, keys: 100, pid: server.pid }, [
        { op: `PUT ${ACCOUNT}/small/k{key}`, headers: ['x-ms-blob-type: BlockBlob'], bytes: 1024 }]);
    await new Promise((done) => setTimeout(done, 300));
    const begun = process.hrtime.bigint();
    await work();
    const tookMs = Number(process.hrtime.bigint() - begun) / 1e6;
    const result = await small;
    const after = [await histogram(server, COMMITTER), await histogram(server, LOOPS)];
    const held = before.map((h, i) => largestBetween(h, after[i]) * 1000);
    const figures = [tookMs.toFixed(0), result.p50Ms.toFixed(2), result.p99Ms.toFixed(2), result.longestMs.toFixed(1), held[0], held[1], (await bare).longestMs.toFixed(1)];
    console.log(`| ${name} | ${figures.join(' | ')} |`);
}

const id = (i) => Buffer.from(String(i).padStart(8, '0')).toString('base64');
const list = (kind, count) => `<BlockList>${Array.from({ length: count }, (_, i) => `<${kind}>${id(i)}</${kind}>`).join('')}</BlockList>`;
const blockBlob = { 'x-ms-blob-type': 'BlockBlob' };
const copy = (from) => ({ headers: { 'x-ms-copy-source': `${blob}${ACCOUNT}${from}` } });

async function blocks(name, bytes, count) {
    await beside(`Put Block ${bytes} B, ${count} times`, () => fill(blob, count, { op: `PUT ${ACCOUNT}/big/${name}?comp=block&blockid={key64}`, bytes }), 6);
    await beside(`Put Block List of ${count} uncommitted`, () => ask(blob, 'PUT', `/big/${name}?comp=blocklist`, { body: list('Latest', count) }));
    await beside(`Put Block List of ${count} committed`, () => ask(blob, 'PUT', `/big/${name}?comp=blocklist`, { body: list('Committed', count) }));
    await beside('Copy Blob of it', () => ask(blob, 'PUT', `/big/${name}2`, copy(`/big/${name}`)));
    await beside('Copy Blob of it to another container', () => ask(blob, 'PUT', `/other/${name}`, copy(`/big/${name}`)));
    await beside('Put Blob over a copy', () => ask(blob, 'PUT', `/big/${name}2`, { headers: blockBlob, body: 'x' }));
    await beside('Delete Blob', () => ask(blob, 'DELETE', `/big/${name}`));
    await beside('Delete Blob of the other copy', () => ask(blob, 'DELETE', `/other/${name}`));
}

const json = { 'content-type': 'application/json', accept: 'application/json;odata=nometadata' };
const parts = {
    blocks: () => blocks('b', 16, COUNT),
    extents: () => blocks('e', 70000, COUNT / 5),
    async blobs() {
        await ask(blob, 'PUT', '/many?restype=container');
        await beside(`Put Blob, ${COUNT} times`, () => fill(blob, COUNT, { op: `PUT ${ACCOUNT}/many/k{key}`, headers: ['x-ms-blob-type: BlockBlob'], bytes: 100 }), 6);
        await beside('List Blobs, all pages', async () => {
            for (let marker = ''; ;) {
                const { text } = await ask(blob, 'GET', `/many?restype=container&comp=list${marker}`);
                const next = /<NextMarker>([^<]+)</.exec(text);
                if (next === null)
                    return;
                marker = `&marker=${encodeURIComponent(next[1])}`;
            }
        });
        await beside('Delete Container', () => ask(blob, 'DELETE', '/many?restype=container'), 5);
        await ask(blob, 'PUT', '/big/disk', { headers: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': String(2 ** 40) } });
        await beside(`Put Page 4 KiB, ${COUNT / 10} scattered`, () => many(COUNT / 10, (i) => ask(blob, 'PUT', '/big/disk?comp=page', { headers: { 'x-ms-page-write': 'update', 'x-ms-range': `bytes=${i * 1048576}-${i * 1048576 + 4095}` }, body: Buffer.alloc(4096, 1) })), 6);
        await beside('Snapshot Blob of the pages', () => ask(blob, 'PUT', '/big/disk?comp=snapshot'));
        await beside('Clear Pages, all', () => ask(blob, 'PUT', '/big/disk?comp=page', { headers: { 'x-ms-page-write': 'clear', 'x-ms-range': `bytes=0-${2 ** 40 - 1}` } }));
        await beside('Delete Blob of pages with its snapshot', () => ask(blob, 'DELETE', '/big/disk', { headers: { 'x-ms-delete-snapshots': 'include' } }));
    },
    async tables() {
        await ask(table, 'POST', '/Tables', { table: true, headers: json, body: '{"TableName":"held"}' });
        const row = { op: `POST ${ACCOUNT}/held`, headers: ['Content-Type: application/json', 'Accept: application/json;odata=nometadata', 'Prefer: return-no-content'], body: '{"PartitionKey":"p","RowKey":"{seq}","Name":"value"}' };
        await beside(`Insert Entity, ${COUNT} times`, () => fill(table, COUNT, row, { table: true }), 5);
        const text = 'x'.repeat(20000);
        const entities = Array.from({ length: 100 }, (_, i) => `--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nPOST ${table}${ACCOUNT}/held HTTP/1.1\r\nContent-Type: application/json\r\nPrefer: return-no-content\r\n\r\n{"PartitionKey":"b","RowKey":"${i}","T":"${text}"}\r\n`).join('');
        await beside('a change set of 100 entities, 2 MB', () => ask(table, 'POST', '/$batch', { table: true, headers: { 'content-type': 'multipart/mixed; boundary=b', accept: 'application/json' },
            body: `--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n${entities}--c--\r\n--b--\r\n` }));
        await beside('a query over all, nothing found', () => ask(table, 'GET', `/held()?$filter=Name%20eq%20'none'`, { table: true, headers: { accept: json.accept } }));
        await beside('Delete Table', () => ask(table, 'DELETE', "/Tables('held')", { table: true, headers: { accept: json.accept } }));
    },
    async queues() {
        await ask(queue, 'PUT', '/held');
        const message = { op: `POST ${ACCOUNT}/held/messages`, body: '<QueueMessage><MessageText>text</MessageText></QueueMessage>' };
        await beside(`Put Message, ${COUNT} times`, () => fill(queue, COUNT, message), 5);
        await beside('Clear Messages', () => ask(queue, 'DELETE', '/held/messages'));
        await beside(`Put Message, ${COUNT} times`, () => fill(queue, COUNT, message), 5);
        await beside('Delete Queue', () => ask(queue, 'DELETE', '/held'));
    },
    async files() {
        await ask(file, 'PUT', '/held?restype=share');
        await ask(file, 'PUT', '/held/d?restype=directory');
        await beside(`Create File, ${COUNT} times`, () => fill(file, COUNT, { op: `PUT ${ACCOUNT}/held/d/f{key}`, headers: ['x-ms-type: file', 'x-ms-content-length: 0'] }), 6);
        await beside('Rename Directory of them', () => ask(file, 'PUT', '/held/e?restype=directory&comp=rename', { headers: { 'x-ms-file-rename-source': `${file}${ACCOUNT}/held/d` } }));
        await ask(file, 'PUT', '/held/big', { headers: { 'x-ms-type': 'file', 'x-ms-content-length': String(2 ** 40) } });
        await beside(`Put Range 4 KiB, ${COUNT / 10} scattered`, () => many(COUNT / 10, (i) => ask(file, 'PUT', '/held/big?comp=range', { headers: { 'x-ms-write': 'update', 'x-ms-range': `bytes=${i * 1048576}-${i * 1048576 + 4095}` }, body: Buffer.alloc(4096, 1) })), 6);
        await beside('Clear Range, all', () => ask(file, 'PUT', '/held/big?comp=range', { headers: { 'x-ms-write': 'clear', 'x-ms-range': `bytes=0-${2 ** 40 - 1}` } }));
        await beside('Delete File', () => ask(file, 'DELETE', '/held/big'));
        await beside('Delete Share', () => ask(file, 'DELETE', '/held?restype=share'), 5);
    },
    async datalake() {
        await ask(dfs, 'PUT', '/lake?resource=filesystem');
        await ask(dfs, 'PUT', '/lake/d?resource=directory');
        await beside(`Path Create, ${COUNT / 5} times`, () => fill(dfs, COUNT / 5, { op: `PUT ${ACCOUNT}/lake/d/f{key}?resource=file` }), 6);
        await beside('Path Rename of the directory', () => ask(dfs, 'PUT', '/lake/e', { headers: { 'x-ms-rename-source': `${ACCOUNT}/lake/d` } }));
        await ask(dfs, 'PUT', '/lake/appended?resource=file');
        await beside(`Path Append, ${COUNT / 5} times`, () => many(COUNT / 5, (i) => ask(dfs, 'PATCH', `/lake/appended?action=append&position=${i * 100}`, { body: 'x'.repeat(100) })), 8);
        await beside('Path Flush of them', () => ask(dfs, 'PATCH', `/lake/appended?action=flush&position=${(COUNT / 5) * 100}`));
        await beside('Path Delete of the directory', () => ask(dfs, 'DELETE', '/lake/e?recursive=true'));
        await beside('Delete Filesystem', () => ask(dfs, 'DELETE', '/lake?resource=filesystem'));
    },
};

for (const container of ['small', 'big', 'other'])
    await ask(blob, 'PUT', `/${container}?restype=container`);
console.log('| what runs beside | took ms | p50 ms | p99 ms | longest ms | committer computed, at most ms | a loop held, at most ms | bare disk, longest ms |\n|---|---|---|---|---|---|---|---|');
await beside('nothing', async () => {}, 2);
for (const part of process.argv.length > 2 ? process.argv.slice(2) : Object.keys(parts)) {
    try {
        await parts[part]();
    } catch (error) {
        console.log(`${part}: ${error.message}`);
    }
}
await server.stop();
