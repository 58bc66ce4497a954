// SPDX-License-Identifier: Apache-2.0
// Other updates wait while the committer runs one. So no update may run for long: long ones are split into steps. The
// server counts the CPU time of each turn of its committer (lazuli_committer_turn_cpu_seconds), which other work on the
// machine does not change. `node bench/held.mjs` measures elapsed time, for more operations.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startServer, BIN, SERVICES } from './lib.mjs';

const BLOCKS = 6000;
const CLIENTS = 16;
// In one transaction a list of committed blocks took 145 ms.
const LIMIT_SECONDS = /asan|tsan/.test(BIN) ? 0.25 : 0.025;

let server;

before(async () => {
    server = await startServer({ services: SERVICES.slice(0, 1), admin: true });
});
after(() => server.stop());

/** The upper bound of the bucket that the longest turn is in. */
async function longestTurn() {
    const text = await (await fetch(`http://127.0.0.1:${server.ports.admin}/metrics`)).text();
    let longest = 0;
    let below = 0;
    for (const [, bound, count] of text.matchAll(/^lazuli_committer_turn_cpu_seconds_bucket\{le="([^"]+)"\} (\d+)/gm)) {
        if (Number(count) > below)
            longest = bound === '+Inf' ? Infinity : Number(bound);
        below = Number(count);
    }
    assert.ok(below > 0, 'the committer has had turns');
    return longest;
}

const id = (i) => Buffer.from(String(i).padStart(6, '0')).toString('base64');

function list(kind, from = (i) => i) {
    const entries = Array.from({ length: BLOCKS }, (_, i) => `<${kind}>${id(from(i))}</${kind}>`);
    return `<?xml version="1.0" encoding="utf-8"?><BlockList>${entries.join('')}</BlockList>`;
}

async function commit(body) {
    const answer = await server.request('blob', 'PUT', '/held/b', { query: 'comp=blocklist', body });
    assert.equal(answer.status, 201, answer.text);
}

async function content() {
    return (await server.request('blob', 'GET', '/held/b')).text;
}

test('PutBlockList of many blocks does not hold the committer', async () => {
    assert.equal((await server.request('blob', 'PUT', '/held', { query: 'restype=container' })).status, 201);
    let next = 0;
    await Promise.all(Array.from({ length: CLIENTS }, async () => {
        while (next < BLOCKS) {
            const i = next++;
            const answer = await server.request('blob', 'PUT', '/held/b', { query: { comp: 'block', blockid: id(i) }, body: String(i).padStart(6, '0') });
            assert.equal(answer.status, 201, answer.text);
        }
    }));
    await commit(list('Latest'));
    const whole = Array.from({ length: BLOCKS }, (_, i) => String(i).padStart(6, '0'));
    assert.equal(await content(), whole.join(''));
    await commit(list('Committed', (i) => BLOCKS - 1 - i));
    assert.equal(await content(), whole.reverse().join(''));
    assert.equal((await server.request('blob', 'DELETE', '/held/b')).status, 202);
    const longest = await longestTurn();
    assert.ok(longest <= LIMIT_SECONDS, `a turn took up to ${longest * 1000} ms of CPU time`);
});
