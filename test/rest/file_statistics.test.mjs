// SPDX-License-Identifier: Apache-2.0
// A share's usage is the sum of its files' sizes, under concurrent clients, after a crash and with snapshots; and its
// quota is enforced.
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { startServer, uniqueName } from './lib.mjs';

const VERSION = '2026-10-06';
let server;
before(async () => {
    server = await startServer({ services: ['file'] });
});
after(() => server.stop());

const send = (method, path, query = '', headers = {}, body = undefined) =>
    server.request('file', method, path, { query, headers: { 'x-ms-version': VERSION, ...headers }, body });

async function newShare(headers = {}) {
    const share = `/${uniqueName()}`;
    assert.equal((await send('PUT', share, 'restype=share', headers)).status, 201);
    return share;
}

async function usage(share) {
    const { text } = await send('GET', share, 'restype=share&comp=stats');
    return Number(/<ShareUsageBytes>(\d+)</.exec(text)[1]);
}

/** The sizes of all files, by listings. */
async function sum(share, directory = '') {
    const { text } = await send('GET', share + directory, 'restype=directory&comp=list');
    let total = 0;
    for (const [, size] of text.matchAll(/<Content-Length>(\d+)</g))
        total += Number(size);
    for (const [, name] of text.matchAll(/<Directory><Name>([^<]*)</g))
        total += await sum(share, `${directory}/${name}`);
    return total;
}

/** A stream of numbers that is the same every time. */
function random(seed) {
    let state = seed;
    return (below) => {
        state = (Math.imul(state, 1103515245) + 12345) >>> 0;
        return (state >>> 8) % below;
    };
}

const OPERATIONS = [
    (s, pick, name) => send('PUT', s + name(), '', { 'x-ms-type': 'file', 'x-ms-content-length': pick(100000) }),
    (s, pick, name) => send('PUT', s + name(), '', { 'x-ms-type': 'file', 'x-ms-content-length': 20000 }, Buffer.alloc(pick(20000))),
    (s, pick, name) => send('PUT', s + name(), 'comp=properties', { 'x-ms-content-length': pick(100000) }),
    (s, pick, name) => send('PUT', s + name(), 'comp=range', { 'x-ms-range': 'bytes=0-4095', 'x-ms-write': 'update' }, Buffer.alloc(4096, 1)),
    (s, pick, name) => send('PUT', s + name(), 'comp=range', { 'x-ms-range': 'bytes=512-9000', 'x-ms-write': 'clear' }),
    (s, pick, name) => send('DELETE', s + name()),
    (s, pick, name) => send('PUT', s + name(), 'comp=rename', {
        'x-ms-file-rename-source': `${server.url('file')}${s}${name()}`, 'x-ms-file-rename-replace-if-exists': 'true' }),
    (s, pick, name) => send('PUT', s + name(), '', { 'x-ms-copy-source': `${server.url('file')}${s}${name()}` }),
    (s, pick, name) => pick(8) === 0 ? send('PUT', s, 'restype=share&comp=snapshot') : send('GET', s + name()),
];

/** Many workers at once, each with its own stream of operations on the same few files. */
async function work(share, { workers, steps, seed }) {
    const statuses = new Set();
    await Promise.all(Array.from({ length: workers }, async (_, worker) => {
        const pick = random(seed * 1000 + worker);
        const name = () => `${['', '/d1', '/d2'][pick(3)]}/f${pick(6)}`;
        for (let i = 0; i < steps; i++) {
            const answer = await OPERATIONS[pick(OPERATIONS.length)](share, pick, name);
            statuses.add(answer.status);
        }
    }));
    return statuses;
}

it('usage is the sum of the sizes after concurrent writes, a restart and a crash', { timeout: 300000 }, async () => {
    const share = await newShare();
    for (const d of ['/d1', '/d2'])
        await send('PUT', share + d, 'restype=directory');
    for (let round = 1; round <= 3; round++) {
        const statuses = await work(share, { workers: 16, steps: 40, seed: round });
        assert.ok([...statuses].every((status) => status < 500), [...statuses].join());
        assert.ok(statuses.has(200) && statuses.has(201) && statuses.has(202) && statuses.has(404));
        assert.equal(await usage(share), await sum(share));
        await server.restart({ crash: round > 1 });
        assert.equal(await usage(share), await sum(share));
    }
    const { text } = await send('GET', '/', `comp=list&include=snapshots&prefix=${share.slice(1)}`);
    const snapshots = [...text.matchAll(/<Snapshot>([^<]*)</g)].map((m) => m[1]);
    assert.ok(snapshots.length > 0);
    const before = await usage(share);
    for (const sharesnapshot of snapshots)
        assert.equal((await server.request('file', 'DELETE', share, { query: { restype: 'share', sharesnapshot } })).status, 202);
    assert.equal(await usage(share), before);
});

it('a crash in the midst of writes leaves the sum right', { timeout: 300000 }, async () => {
    const share = await newShare();
    for (const d of ['/d1', '/d2'])
        await send('PUT', share + d, 'restype=directory');
    const writing = work(share, { workers: 16, steps: 1000, seed: 9 }).catch((error) => error);
    await new Promise((done) => setTimeout(done, 700));
    await server.kill();
    assert.ok(await writing instanceof Error);
    await server.start();
    assert.equal(await usage(share), await sum(share));
});

it('a quota holds against many at once, to the byte', async () => {
    const share = await newShare({ 'x-ms-share-quota': 1 });
    const size = 100 << 20;
    const make = (i) => send('PUT', `${share}/f${i}`, '', { 'x-ms-type': 'file', 'x-ms-content-length': size });
    const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => make(i)));
    assert.equal(answers.filter((a) => a.status === 201).length, 10);
    for (const answer of answers.filter((a) => a.status !== 201))
        assert.equal(answer.headers['x-ms-error-code'], 'ShareSizeLimitReached');
    const left = (1 << 30) - 10 * size;
    const made = answers.findIndex((a) => a.status === 201);
    const grow = (more) => send('PUT', `${share}/f${made}`, 'comp=properties', { 'x-ms-content-length': size + more });
    assert.equal((await grow(left + 1)).headers['x-ms-error-code'], 'ShareSizeLimitReached');
    assert.equal((await grow(left)).status, 200);
    assert.equal(await usage(share), 1 << 30);
    const copy = await send('PUT', `${share}/copy`, '', { 'x-ms-copy-source': `${server.url('file')}${share}/f${made}` });
    assert.equal(copy.headers['x-ms-error-code'], 'ShareSizeLimitReached');
    await send('DELETE', `${share}/f${made}`);
    assert.equal(await usage(share), await sum(share));
    await send('PUT', share, 'restype=share&comp=properties', { 'x-ms-share-quota': 2 });
    assert.equal((await make(100)).status, 201);
});
