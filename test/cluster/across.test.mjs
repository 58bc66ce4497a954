// SPDX-License-Identifier: Apache-2.0
// Several gateways of one store: a write acknowledged by one is visible through all.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { BIN, xmlTexts } from '../rest/lib.mjs';
import { Client, FULL, newStore, startGateways, stopGateways, theCluster, wants } from './lib.mjs';
import { History } from './history.mjs';

const GATEWAYS = 3;
const LOAD_MS = FULL ? 60_000 : 8_000;
const LEASE = '11111111-2222-3333-4444-555555555555';
let cluster;
let store;
let gateways;
let client;

before(async () => {
    cluster = await theCluster();
    store = newStore(cluster);
    gateways = await startGateways(store, GATEWAYS);
    client = new Client(gateways);
    wants(await client.call(0, 'blob', 'PUT', '/box', { query: 'restype=container' }), 201);
});
after(async () => {
    client?.close();
    await stopGateways(gateways ?? []);
    await cluster?.down();
});

const BLOCK = { 'x-ms-blob-type': 'BlockBlob' };
const each = (count, f) => Promise.all(Array.from({ length: count }, (_, i) => f(i)));

test('a race of writes with one ETag has one winner', async () => {
    for (let round = 0; round < 10; round++) {
        const made = wants(await client.call(round, 'blob', 'PUT', '/box/race', { body: 'x', headers: BLOCK }), 201);
        const answers = await each(24, (n) => client.call(n, 'blob', 'PUT', '/box/race', {
            body: `winner ${n}`, headers: { ...BLOCK, 'If-Match': made.headers.etag } }));
        const won = answers.map((a, n) => [wants(a, 201, 412).status, n]).filter(([status]) => status === 201);
        assert.equal(won.length, 1);
        for (let n = 0; n < GATEWAYS; n++) {
            const seen = wants(await client.call(n, 'blob', 'GET', '/box/race'), 200);
            assert.equal(seen.text, `winner ${won[0][1]}`);
            assert.equal(seen.headers.etag, answers[won[0][1]].headers.etag);
        }
    }
});

test('a lease that was taken through one gateway is enforced by all, and is released through another', async () => {
    wants(await client.call(0, 'blob', 'PUT', '/box/leased', { body: 'x', headers: BLOCK }), 201);
    const lease = (n, action, headers = {}) => client.call(n, 'blob', 'PUT', '/box/leased', { query: 'comp=lease', headers: { 'x-ms-lease-action': action, ...headers } });
    wants(await lease(0, 'acquire', { 'x-ms-lease-duration': '60', 'x-ms-proposed-lease-id': LEASE }), 201);
    for (let n = 0; n < GATEWAYS; n++) {
        wants(await client.call(n, 'blob', 'PUT', '/box/leased', { body: 'y', headers: BLOCK }), 412);
        wants(await client.call(n, 'blob', 'DELETE', '/box/leased'), 412);
        wants(await client.call(n, 'blob', 'PUT', '/box/leased', { body: `y${n}`, headers: { ...BLOCK, 'x-ms-lease-id': LEASE } }), 201);
    }
    wants(await lease(1, 'release', { 'x-ms-lease-id': LEASE }), 200);
    wants(await client.call(2, 'blob', 'PUT', '/box/leased', { body: 'z', headers: BLOCK }), 201);
    const acquired = await each(12, (n) => lease(n, 'acquire', { 'x-ms-lease-duration': '15' }));
    assert.equal(acquired.filter((a) => wants(a, 201, 409).status === 201).length, 1, 'one of twelve acquires it');
});

test('a message goes to one consumer, and its receipt holds everywhere', async () => {
    wants(await client.call(0, 'queue', 'PUT', '/line'), 201);
    await each(60, (n) => client.call(n, 'queue', 'POST', '/line/messages', { body: `<QueueMessage><MessageText>m${n}</MessageText></QueueMessage>` }));
    const got = [];
    await each(12, async (n) => {
        for (let round = 0; ; round++) {
            const answer = wants(await client.call(n + round, 'queue', 'GET', '/line/messages', { query: 'numofmessages=3&visibilitytimeout=600' }), 200);
            const [texts, ids, receipts] = ['MessageText', 'MessageId', 'PopReceipt'].map((e) => xmlTexts(answer.text, e));
            if (texts.length === 0)
                return;
            got.push(...texts);
            for (const [i, id] of ids.entries())
                wants(await client.call(n + round + 1, 'queue', 'DELETE', `/line/messages/${id}`, { query: `popreceipt=${encodeURIComponent(receipts[i])}` }), 204);
        }
    });
    assert.equal(got.length, 60);
    assert.equal(new Set(got).size, 60);
});

test('a listing through one gateway shows what another has just acknowledged', async () => {
    await each(8, async (who) => {
        for (let i = 0; i < 25; i++) {
            const name = `listed-${who}-${String(i).padStart(3, '0')}`;
            wants(await client.call(who + i, 'blob', 'PUT', `/box/${name}`, { body: 'x', headers: BLOCK }), 201);
            const page = wants(await client.call(who + i + 1, 'blob', 'GET', '/box', { query: `restype=container&comp=list&prefix=listed-${who}-` }), 200);
            assert.equal(xmlTexts(page.text, 'Name').length, i + 1, `${name} through the next gateway`);
            if (i % 5 !== 4)
                continue;
            wants(await client.call(who + i, 'blob', 'PUT', `/box/gone-${who}`, { body: 'x', headers: BLOCK }), 201);
            wants(await client.call(who + i + 1, 'blob', 'DELETE', `/box/gone-${who}`), 202);
            wants(await client.call(who + i + 2, 'blob', 'GET', `/box/gone-${who}`), 404);
        }
    });
});

test('ETags of one blob grow, whichever gateway writes it', async () => {
    let last = 0n;
    for (let n = 0; n < 30; n++) {
        const made = wants(await client.call(n, 'blob', 'PUT', '/box/growing', { body: String(n), headers: BLOCK }), 201);
        const etag = BigInt(made.headers.etag.replaceAll('"', ''));
        assert.ok(etag > last, `${last} then ${etag}`);
        last = etag;
    }
});

test('an account that one gateway makes is known to all', async () => {
    const made = spawnSync(BIN, ['account', 'add', 'newcomer', '--data', gateways[0].data], { encoding: 'utf8' });
    assert.equal(made.status, 0, made.stderr);
    const [key] = made.stdout.match(/[A-Za-z0-9+/]{86}==/);
    for (let n = 0; n < GATEWAYS; n++) {
        let answer;
        for (let tries = 0; tries < 100; tries++) {
            answer = await gateways[n].request('blob', 'GET', '', { query: 'comp=list', account: 'newcomer', key });
            if (answer.status === 200)
                break;
            await sleep(200);
        }
        assert.equal(answer.status, 200, `gateway ${n}: ${answer.text}`);
    }
});

test('lazuli cluster status names every gateway', () => {
    const said = spawnSync(BIN, ['cluster', 'status', ...store.flags], { encoding: 'utf8' });
    assert.equal(said.status, 0, said.stderr);
    assert.ok(said.stdout.split('\n').filter((line) => /heard .* s ago/.test(line)).length >= GATEWAYS, said.stdout);
});

// A gateway that is silent for two minutes is taken for dead: its rows go, as the collector removes them. The names of objects
// that it had reserved are of no use then.
test('a gateway that was taken for dead goes on without a restart', async () => {
    const last = store.sql('SELECT max(id) FROM gateways');
    store.sql('WITH d AS (DELETE FROM gateways) DELETE FROM slots');
    while (Number(store.sql(`SELECT count(*) FROM gateways WHERE id > ${last}`)) < GATEWAYS)
        await sleep(100);
    for (let n = 0; n < 2 * GATEWAYS; n++) {
        const body = Buffer.alloc(100_000, n);
        wants(await client.call(n, 'blob', 'PUT', `/box/anew${n}`, { body, headers: BLOCK }), 201);
        const read = wants(await client.call(n + 1, 'blob', 'GET', `/box/anew${n}`), 200);
        assert.ok(read.bytes.equals(body));
    }
});

test('a URI that cannot be parsed is refused in one line that does not show its password', () => {
    for (const uri of ['postgresql://u:hidden@[::1/x', 'postgresql://u:hidden%zz@127.0.0.1/x', 'postgresql://u:hidden@127.0.0.1:1/x', 'postgresql://u:hidden@127.0.0.1/x?a']) {
        const said = spawnSync(BIN, ['cluster', 'status', '--rows', uri], { encoding: 'utf8' });
        assert.equal(said.status, 1);
        assert.match(said.stderr, /^[^\n]+\n$/);
        assert.doesNotMatch(said.stdout + said.stderr, /hidden/);
    }
});

test('a request is repeated when PostgreSQL has ended the connections meanwhile', async () => {
    const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'lazuli' AND state LIKE 'idle%'`;
    const requests = [
        ['blob', 'GET', '/', { query: 'comp=list' }], ['queue', 'GET', '/', { query: 'comp=list' }], ['file', 'GET', '/', { query: 'comp=list' }],
        ['table', 'GET', '/Tables', {}], ['blob', 'GET', '/box', { query: 'restype=container&comp=list' }], ['blob', 'GET', '/box/growing', {}],
        ['blob', 'PUT', '/box/again', { body: 'x', headers: BLOCK }],
    ];
    for (const request of requests) {
        await client.call(1, ...request); /* its connection is there */
        store.sql(end);
        wants(await client.call(1, ...request), 200, 201);
    }
});

test('stores that share a pool do not touch the contents of each other', async () => {
    const stores = [0, 1].map(() => newStore(cluster, { shares: true }));
    const pairs = [];
    try {
        const bodies = stores.map((_, n) => Buffer.alloc(100_000, n + 1));
        for (const [n, one] of stores.entries()) {
            pairs.push(await startGateways(one, 2));
            const user = new Client(pairs[n]);
            wants(await user.call(0, 'blob', 'PUT', '/box', { query: 'restype=container' }), 201);
            for (let i = 0; i < 5; i++)
                wants(await user.call(0, 'blob', 'PUT', `/box/b${i}`, { body: bodies[n], headers: BLOCK }), 201);
            user.close();
        }
        for (const n of stores.keys()) {
            const user = new Client(pairs[n]);
            for (let i = 0; i < 5; i++) { /* through the other gateway, which has nothing cached */
                const read = wants(await user.call(1, 'blob', 'GET', `/box/b${i}`), 200);
                assert.ok(read.bytes.equals(bodies[n]));
            }
            user.close();
        }
    } finally {
        await stopGateways(pairs.flat());
    }
});

test('histories of 64 clients over three gateways are linearizable', async () => {
    const own = newStore(cluster);
    const three = await startGateways(own, GATEWAYS);
    const history = new History(three);
    try {
        await history.prepare();
        history.start();
        await sleep(LOAD_MS);
        await history.stop();
        const counts = await history.check();
        console.log(`# ${JSON.stringify(counts)}`);
        assert.equal(counts.failed, 0, 'nothing was in the way');
        assert.ok(counts.writes > 20 && counts.messages > 20 && counts.blobs > 20 && counts.appends > 20, JSON.stringify(counts));
    } finally {
        history.close();
        await stopGateways(three);
    }
});
