// SPDX-License-Identifier: Apache-2.0
// How long may one request delay all others? The server counts the CPU time of each turn of its committer, and the time
// of each turn of its event loops, in histograms (docs/admin-api.md). The tests run long operations and check that no
// turn exceeds a limit. CPU time depends less on other work on the machine than elapsed time; still each gets three
// attempts. bench/held.mjs measures the same with more data.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before, test } from 'node:test';
import { startServer, uniqueName } from '../rest/lib.mjs';
import { batchBody, batchParts, newTable, sendBatch } from '../rest/table_lib.mjs';

const COMMITTER = ['lazuli_committer_turn_cpu_seconds', 0.025];
const LOOPS = ['lazuli_loop_turn_duration_seconds', 0.5];
const CHANCES = 3;
const AT_ONCE = 32;
let server;

before(async () => (server = await startServer({ admin: true, dfs: true })));
after(() => server.stop());

/** The buckets of a histogram, summed over its labels: upper bound in seconds, and how many values up to it. */
async function buckets(name) {
    const text = await (await fetch(`http://127.0.0.1:${server.ports.admin}/metrics`)).text();
    const sums = new Map();
    for (const [, bound, count] of text.matchAll(new RegExp(`^${name}_bucket\\{[^}]*le="([^"]+)"\\} (\\S+)`, 'gm'))) {
        const key = bound === '+Inf' ? Infinity : Number(bound);
        sums.set(key, (sums.get(key) ?? 0) + Number(count));
    }
    assert.ok(sums.size > 5, name);
    return sums;
}

/** How many values above the limit came between two readings. */
const above = (earlier, later, limit) =>
    [later, earlier].map((sums) => sums.get(Infinity) - sums.get(limit)).reduce((a, b) => a - b);

async function ask(service, method, path, options = {}) {
    const answer = await server.request(service, method, path, options);
    assert.ok(answer.status >= 200 && answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
    return answer;
}

async function many(count, one) {
    let next = 0;
    await Promise.all(Array.from({ length: AT_ONCE }, async () => {
        while (next < count)
            await one(next++);
    }));
}

/** `prepare` makes what `work` is then done to; of both no turn may be long, nor of what follows in the background. */
function held(name, prepare, work, backgroundMs = 0) {
    test(name, async () => {
        for (let chance = 1; ; chance++) {
            const made = await prepare();
            const earlier = await Promise.all([COMMITTER, LOOPS].map(([metric]) => buckets(metric)));
            await work(made);
            await sleep(backgroundMs);
            const later = await Promise.all([COMMITTER, LOOPS].map(([metric]) => buckets(metric)));
            const long = [COMMITTER, LOOPS].map(([, limit], i) => above(earlier[i], later[i], limit));
            if (long.every((count) => count === 0))
                return;
            assert.ok(chance < CHANCES, `${long[0]} turns of the committer computed for more than ${COMMITTER[1]} s, ${long[1]} of a loop took more than ${LOOPS[1]} s`);
        }
    });
}

const id = (i) => Buffer.from(String(i).padStart(8, '0')).toString('base64');

async function container() {
    const name = `/${uniqueName('c')}`;
    await ask('blob', 'PUT', name, { query: { restype: 'container' } });
    return name;
}

held('PutBlockList and DeleteBlob of 4,000 blocks', async () => {
    const blob = `${await container()}/blob`;
    await many(4000, (i) => ask('blob', 'PUT', blob, { query: { comp: 'block', blockid: id(i) }, body: 'x' }));
    return blob;
}, async (blob) => {
    const body = `<BlockList>${Array.from({ length: 4000 }, (_, i) => `<Latest>${id(i)}</Latest>`).join('')}</BlockList>`;
    await ask('blob', 'PUT', blob, { query: { comp: 'blocklist' }, body });
    await ask('blob', 'PUT', blob, { query: { comp: 'blocklist' }, body });
    await ask('blob', 'DELETE', blob);
}, 1000);

held('CopyBlob of 4,000 blocks to another container, and DeleteContainer', async () => {
    const blob = `${await container()}/blob`;
    const body = `<BlockList>${Array.from({ length: 4000 }, (_, i) => `<Latest>${id(i)}</Latest>`).join('')}</BlockList>`;
    await many(4000, (i) => ask('blob', 'PUT', blob, { query: { comp: 'block', blockid: id(i) }, body: 'x' }));
    await ask('blob', 'PUT', blob, { query: { comp: 'blocklist' }, body });
    return blob;
}, async (blob) => {
    const to = await container();
    await ask('blob', 'PUT', `${to}/copy`, { headers: { 'x-ms-copy-source': `${server.url('blob')}${blob}` } });
    assert.equal((await ask('blob', 'HEAD', `${to}/copy`)).headers['content-length'], '4000');
    await ask('blob', 'DELETE', to, { query: { restype: 'container' } });
}, 1000);

held('DeleteContainer of 3,000 blobs', async () => {
    const name = await container();
    await many(3000, (i) => ask('blob', 'PUT', `${name}/b${i}`, { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'x' }));
    return name;
}, (name) => ask('blob', 'DELETE', name, { query: { restype: 'container' } }), 2000);

held('a change set of 100 entities of 30 KB, and DeleteTable of 3,000 entities', async () => {
    const table = await newTable(server);
    await many(3000, (i) => table.insert({ PartitionKey: 'p', RowKey: String(i), Name: 'value' }));
    return table;
}, async ({ name }) => {
    const Text = 'x'.repeat(30000);
    const inserts = Array.from({ length: 100 }, (_, i) => ['POST', `/${name}`, { Prefer: 'return-no-content' }, { PartitionKey: 'b', RowKey: String(i), Text }]);
    const answer = await sendBatch(server, batchBody(server, inserts));
    assert.deepEqual(batchParts(answer).map((part) => part.status), Array(100).fill(204));
    await ask('table', 'DELETE', `/Tables('${name}')`, { headers: { Accept: 'application/json;odata=nometadata' } });
}, 2000);

held('RenamePath and DeletePath of a directory of 3,000 files', async () => {
    const system = `/${uniqueName('f')}`;
    await ask('dfs', 'PUT', system, { query: { resource: 'filesystem' }, body: '' });
    await ask('dfs', 'PUT', `${system}/d`, { query: { resource: 'directory' }, body: '' });
    await many(3000, (i) => ask('dfs', 'PUT', `${system}/d/f${i}`, { query: { resource: 'file' }, body: '' }));
    return system;
}, async (system) => {
    for (let continuation = {}; continuation !== undefined;) { // a long rename takes several requests
        const { headers } = await ask('dfs', 'PUT', `${system}/e`, { query: continuation, headers: { 'x-ms-rename-source': `${system}/d` }, body: '' });
        const more = headers['x-ms-continuation'];
        continuation = more === undefined ? undefined : { continuation: more };
    }
    await ask('dfs', 'HEAD', `${system}/e/f2999`);
    await ask('dfs', 'DELETE', `${system}/e`, { query: { recursive: 'true' } });
}, 1000);

held('ClearPages of 2,000 scattered pages that a snapshot keeps', async () => {
    const blob = `${await container()}/disk`;
    await ask('blob', 'PUT', blob, { headers: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': String(2 ** 40) } });
    const page = (i) => ({ 'x-ms-page-write': 'update', 'x-ms-range': `bytes=${i * 2 ** 24}-${i * 2 ** 24 + 4095}` });
    await many(2000, (i) => ask('blob', 'PUT', blob, { query: { comp: 'page' }, headers: page(i), body: Buffer.alloc(4096, 1) }));
    await ask('blob', 'PUT', blob, { query: { comp: 'snapshot' } });
    return blob;
}, async (blob) => {
    await ask('blob', 'PUT', blob, { query: { comp: 'page' }, headers: { 'x-ms-page-write': 'clear', 'x-ms-range': `bytes=0-${2 ** 40 - 1}` } });
    await ask('blob', 'DELETE', blob, { headers: { 'x-ms-delete-snapshots': 'include' } });
}, 1000);

held('RenameDirectory and DeleteShare of 3,000 files', async () => {
    const share = `/${uniqueName('s')}`;
    await ask('file', 'PUT', share, { query: { restype: 'share' } });
    await ask('file', 'PUT', `${share}/d`, { query: { restype: 'directory' } });
    await many(3000, (i) => ask('file', 'PUT', `${share}/d/f${i}`, { headers: { 'x-ms-type': 'file', 'x-ms-content-length': '0' } }));
    return share;
}, async (share) => {
    const source = `http://127.0.0.1:${server.ports.file}/devstoreaccount1${share}/d`;
    await ask('file', 'PUT', `${share}/e`, { query: { restype: 'directory', comp: 'rename' }, headers: { 'x-ms-file-rename-source': source } });
    await ask('file', 'DELETE', share, { query: { restype: 'share' } });
}, 3000);

held('ClearMessages and DeleteQueue of 3,000 messages', async () => {
    const queue = `/${uniqueName('q')}`;
    await ask('queue', 'PUT', queue);
    await many(3000, () => ask('queue', 'POST', `${queue}/messages`, { body: '<QueueMessage><MessageText>text</MessageText></QueueMessage>' }));
    return queue;
}, async (queue) => {
    await ask('queue', 'DELETE', `${queue}/messages`);
    await ask('queue', 'DELETE', queue);
}, 1000);

held('FlushPath of 4,000 appends, and DeletePath', async () => {
    const system = `/${uniqueName('f')}`;
    await ask('dfs', 'PUT', system, { query: { resource: 'filesystem' }, body: '' });
    await ask('dfs', 'PUT', `${system}/file`, { query: { resource: 'file' }, body: '' });
    await many(4000, (i) => ask('dfs', 'PATCH', `${system}/file`, { query: { action: 'append', position: String(i * 4096) }, body: Buffer.alloc(4096, 1) }));
    return `${system}/file`;
}, async (file) => {
    await ask('dfs', 'PATCH', file, { query: { action: 'flush', position: String(4000 * 4096) }, body: '' });
    assert.equal((await ask('dfs', 'HEAD', file)).headers['content-length'], String(4000 * 4096));
    await ask('dfs', 'DELETE', file);
}, 1000);
