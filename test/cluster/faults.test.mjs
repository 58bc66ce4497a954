// SPDX-License-Identifier: Apache-2.0
// Faults while histories run (history.mjs): acknowledged writes are there, nothing happens twice, every request ends, and
// service continues without a restart. FULL=1 (make test-full) adds the slow faults.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { existsSync } from 'node:fs';
import { Client, FULL, newStore, startGateways, stopGateways, theCluster, wants } from './lib.mjs';
import { History } from './history.mjs';
import { PgProxy } from './pg_proxy.mjs';

const GATEWAYS = 3;
const BEFORE_MS = 3000;
const AFTER_MS = 3000;
const FROZEN_MS = 40_000;
// The longest time that a request may take: the server's own time-out is 30 s, the rest is for a machine that is busy.
const REQUEST_MS = 60_000;
const FAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1';
let cluster;

before(async () => { cluster = await theCluster(); });
after(async () => { await cluster?.down(); });

/** Runs a history while `fault(gateways, history)` does its harm and takes it back; then holds it to the rules. */
async function under(fault, { store = newStore(cluster), start = startGateways, clients = 64, except = () => [] } = {}) {
    const gateways = await start(store, GATEWAYS);
    const history = new History(gateways, { clients });
    try {
        await history.prepare();
        history.start();
        await sleep(BEFORE_MS);
        const said = await fault(gateways, history);
        await history.recovered(except(gateways));
        await sleep(AFTER_MS);
        await history.stop();
        const counts = await history.check();
        console.log(`# ${JSON.stringify({ ...counts, ...said })}`);
        assert.ok(counts.writes > 10 && counts.messages > 10 && counts.blobs > 10 && counts.appends > 10, JSON.stringify(counts));
        assert.ok(counts.longest < REQUEST_MS, `a request took ${counts.longest} ms`);
        return counts;
    } finally {
        history.running = false;
        history.close();
        await stopGateways(gateways);
    }
}

const long = { timeout: 600_000 };
const fullOnly = (name, run) => { if (FULL) test(name, long, run); };

test('kill -9 of a gateway', long, () => under(async (gateways) => {
    for (let round = 0; round < 2; round++) {
        await gateways[round].kill();
        await sleep(1500);
        await gateways[round].start();
        await sleep(500);
    }
}));

fullOnly('kill -9 of PostgreSQL, and its restart', () => under(async () => {
    const primary = await cluster.ctl('primary');
    await cluster.ctl('kill', primary);
    await sleep(2000);
    await cluster.ctl('start', primary);
}));

test('fail-over to the standby', long, () => under(async () => {
    await cluster.ctl('promote');
    await sleep(1000);
    await cluster.ctl('rejoin');
}));

test('kill -9 of one OSD of three', long, () => under(async () => {
    await cluster.ctl('kill', 'osd1');
    await sleep(4000);
    await cluster.ctl('start', 'osd1');
}));

for (const when of FULL ? ['before', 'after'] : ['after'])
    test(`a connection cut inside COMMIT, ${when} it is carried out`, long, async () => {
        const proxy = await PgProxy.start(cluster.ports);
        const rows = cluster.ports.reduce((uri, port, i) => uri.replace(`127.0.0.1:${port}`, `127.0.0.1:${proxy.ports[i]}`), cluster.rows);
        try {
            await under(async () => {
                for (let round = 0; round < 10; round++) {
                    proxy.cut(when, 5);
                    await sleep(400);
                }
                proxy.cut('never', 0);
                assert.ok(proxy.cuts > 10, `only ${proxy.cuts} commits were cut`);
                return { cuts: proxy.cuts };
            }, { store: newStore(cluster, { rows }) });
        } finally {
            await proxy.stop();
        }
    });

fullOnly('a gateway whose clock is five minutes ahead, one whose clock is five minutes behind', async () => {
    assert.ok(existsSync(FAKETIME), 'tools/deps.sh cluster installs faketime');
    const start = async (store) => [
        ...await startGateways(store, 1),
        ...await startGateways(store, 1, { env: { LD_PRELOAD: FAKETIME, FAKETIME: '+300', FAKETIME_DONT_FAKE_MONOTONIC: '1', DONT_FAKE_MONOTONIC: '1' } }),
        ...await startGateways(store, 1, { env: { LD_PRELOAD: FAKETIME, FAKETIME: '-300', FAKETIME_DONT_FAKE_MONOTONIC: '1', DONT_FAKE_MONOTONIC: '1' } }),
    ];
    const counts = await under(() => sleep(2000), { start });
    assert.equal(counts.failed, 0);
});

fullOnly('a full pool refuses what needs room, and serves again when there is some', () => under(async (gateways) => {
    const client = new Client(gateways);
    wants(await client.call(0, 'blob', 'PUT', '/box/there', { body: 'x'.repeat(150_000), headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
    await cluster.ctl('fill');
    try {
        const large = await client.call(0, 'blob', 'PUT', '/box/large', { body: 'x'.repeat(150_000), headers: { 'x-ms-blob-type': 'BlockBlob' } });
        assert.ok(large.status >= 500, `a write into a full pool is answered: ${large.status}`);
        assert.ok(large.answered - large.called < REQUEST_MS, `after ${large.answered - large.called} ms`);
        // Requests that need no space in the pool still work.
        wants(await client.call(1, 'blob', 'GET', '/box/there'), 200);
        wants(await client.call(2, 'blob', 'PUT', '/box/small', { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
        return { refusedWith: large.status, after: Math.round(large.answered - large.called) };
    } finally {
        client.close();
        await cluster.ctl('unfill');
    }
}));

for (const [what, name] of [['an OSD', 'osd0'], ['PostgreSQL', null]])
    fullOnly(`SIGSTOP of ${what} for 40 s`, () => under(async () => {
        const victim = name ?? await cluster.ctl('primary');
        await cluster.ctl('stop', victim);
        await sleep(FROZEN_MS);
        await cluster.ctl('cont', victim);
    }));

// Uploads and downloads of contents fail. Requests that need only rows do not wait for them, not even in the same container.
fullOnly('two OSDs of three hang: what needs only rows is served', async () => {
    const gateways = await startGateways(newStore(cluster), 2);
    const clients = [new Client(gateways), new Client(gateways)]; /* for contents, and for rows */
    clients[0].agent.maxSockets = 200;
    const headers = { 'x-ms-blob-type': 'BlockBlob' };
    const waits = { large: 0, middle: 0, rows: 0 };
    let running = true;
    const repeat = async (client, kind, ...request) => {
        while (running) {
            const answer = await client.call(...request);
            waits[kind] = Math.max(waits[kind], answer.answered - answer.called);
            if (kind === 'rows')
                wants(answer, 200, 201);
            await sleep(100);
        }
    };
    try {
        wants(await clients[0].call(0, 'blob', 'PUT', '/box', { query: 'restype=container' }), 201);
        wants(await clients[0].call(0, 'blob', 'PUT', '/box/there', { body: Buffer.alloc(8 << 20), headers }), 201);
        await cluster.ctl('stop', 'osd1');
        await cluster.ctl('stop', 'osd2');
        const large = Buffer.alloc(8 << 20, 1);
        const loads = [];
        for (let n = 0; n < 48; n++)
            loads.push(repeat(clients[0], 'large', n, 'blob', 'PUT', `/box/large${n}`, { body: large, headers }));
        for (let n = 0; n < 40; n++)
            loads.push(repeat(clients[0], 'large', n, 'blob', 'GET', '/box/there', { headers: { 'x-ms-range': `bytes=${n * 200_000}-` } }));
        for (let n = 0; n < 8; n++)
            loads.push(repeat(clients[0], 'middle', n, 'blob', 'PUT', `/box/middle${n}`, { body: large.subarray(0, 50_000), headers }));
        await sleep(5000);
        for (let n = 0; n < 4; n++) {
            loads.push(repeat(clients[1], 'rows', n, 'blob', 'PUT', `/box/small${n}`, { body: 'x', headers }));
            loads.push(repeat(clients[1], 'rows', n, 'blob', 'GET', '/box', { query: 'restype=container&comp=list' }));
        }
        await sleep(FROZEN_MS);
        await cluster.ctl('cont', 'osd1');
        await cluster.ctl('cont', 'osd2');
        running = false;
        await Promise.all(loads);
        console.log(`# ${JSON.stringify(waits)}`);
        assert.ok(waits.rows < 8000, `what needs only rows took ${waits.rows} ms`);
        assert.ok(waits.large < REQUEST_MS && waits.middle < REQUEST_MS, JSON.stringify(waits));
        let answer;
        for (let tries = 0; tries < 60 && answer?.status !== 201; tries++, await sleep(500))
            answer = await clients[0].call(tries, 'blob', 'PUT', '/box/after', { body: large, headers });
        wants(answer, 201);
    } finally {
        running = false;
        await cluster.ctl('cont', 'osd1');
        await cluster.ctl('cont', 'osd2');
        clients.forEach((client) => client.close());
        await stopGateways(gateways);
    }
});

fullOnly('SIGSTOP of a gateway for 40 s', () => under(async (gateways) => {
    gateways[1].child.kill('SIGSTOP');
    await sleep(FROZEN_MS);
    gateways[1].child.kill('SIGCONT');
}));
