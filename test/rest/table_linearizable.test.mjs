// SPDX-License-Identifier: Apache-2.0
// rule_T1 under load: 64 clients read, change and write the same few entities with their ETags for a while; exactly one
// wins each round, and the whole recorded history is linearizable. LAZULI_LONG=1 makes it a minute.
import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from 'node:test';
import { sign, startServer } from './lib.mjs';
import { checkHistory } from './table_history.mjs';
import { entityPath, newTable } from './table_lib.mjs';

const CLIENTS = 64;
const ENTITIES = 4;
const RUN_MS = process.env.LAZULI_LONG ? 60_000 : 2_500;
// On a slow or busy machine it continues until there were enough conflicts to check, up to this limit.
const RUN_MS_MAX = RUN_MS + 60_000;
const CONTEST_MIN = 10;

/** A connection of its own that keeps alive, as a client has it. */
function connection(server) {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const call = (method, path, headers = {}, body = undefined) => new Promise((resolve, reject) => {
        const all = { 'x-ms-version': '2019-02-02', 'x-ms-date': new Date().toUTCString(), Accept: 'application/json;odata=nometadata', ...headers };
        if (body !== undefined)
            Object.assign(all, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) });
        const full = `/devstoreaccount1${path}`;
        const pairs = [['Host', `127.0.0.1:${server.ports.table}`], ...sign(method, full, '', all, { table: true })];
        const request = http.request({ host: '127.0.0.1', port: server.ports.table, path: full, method, agent, headers: pairs.flat(), setHost: false }, (response) => {
            let text = '';
            response.setEncoding('utf8').on('data', (part) => { text += part; })
                .on('end', () => resolve({ status: response.statusCode, etag: response.headers.etag, text }));
        });
        request.on('error', reject);
        request.end(body);
    });
    return { call, close: () => agent.destroy() };
}

/** True if every entity had more than CONTEST_MIN successful and more than CONTEST_MIN refused writes. */
function wasContested(histories) {
    return histories.every((history) => ['write', 'refused']
        .every((kind) => history.filter((event) => event.kind === kind).length > CONTEST_MIN));
}

function goesOn(started, histories) {
    const ms = performance.now() - started;
    return ms < RUN_MS || (ms < RUN_MS_MAX && !wasContested(histories));
}

async function client(server, table, id, started, histories) {
    const { call, close } = connection(server);
    for (let round = 0; goesOn(started, histories); round++) {
        const entity = (id + round) % ENTITIES;
        const path = entityPath(table.name, 'p', `e${entity}`);
        const history = histories[entity];
        const read = { kind: 'read', called: performance.now() };
        const seen = await call('GET', path);
        assert.equal(seen.status, 200, seen.text);
        read.answered = performance.now();
        read.etag = seen.etag;
        read.value = JSON.parse(seen.text).n;
        history.push(read);
        const write = { from: seen.etag, value: read.value + 1, called: performance.now() };
        const method = round % 2 === 0 ? 'PUT' : 'MERGE';
        const done = await call(method, path, { 'If-Match': seen.etag }, JSON.stringify({ n: write.value, by: id }));
        write.answered = performance.now();
        assert.ok(done.status === 204 || done.status === 412, `${done.status} ${done.text}`);
        history.push({ ...write, kind: done.status === 204 ? 'write' : 'refused', to: done.etag });
    }
    close();
}

async function run(inMemory) {
    const server = await startServer({ inMemory, services: ['table'] });
    try {
        const table = await newTable(server);
        const first = [];
        for (let i = 0; i < ENTITIES; i++) {
            const made = await table.insert({ PartitionKey: 'p', RowKey: `e${i}`, n: 0 });
            first.push({ etag: made.headers.etag, value: 0 });
        }
        const histories = first.map(() => []);
        const started = performance.now();
        await Promise.all(Array.from({ length: CLIENTS }, (_, id) => client(server, table, id, started, histories)));
        for (const [i, history] of histories.entries()) {
            const { writes, refused } = checkHistory(history, first[i]);
            assert.ok(writes > CONTEST_MIN && refused > CONTEST_MIN, `${writes} writes, ${refused} refused: no contest`);
            // As many rounds were won as the counter says: none was lost, none counted twice.
            assert.equal((await table.get('p', `e${i}`)).json().n, writes);
        }
    } finally {
        await server.stop();
    }
}

test('rule_T1: 64 clients in memory, linearizable', () => run(true));
test('rule_T1: 64 clients with full durability, linearizable', () => run(false));

// ---- the checker itself: it must find what is wrong -----------------------------------------------------------------

const start = { etag: 'e0', value: 0 };
const write = (from, to, value, called, answered) => ({ kind: 'write', from, to, value, called, answered });
const read = (etag, value, called, answered) => ({ kind: 'read', etag, value, called, answered });
const refused = (from, called, answered) => ({ kind: 'refused', from, called, answered });

test('the checker takes what is right', () => {
    checkHistory([
        read('e0', 0, 0, 1), write('e0', 'e1', 1, 2, 5), refused('e0', 3, 6), read('e1', 1, 4, 6), read('e0', 0, 3, 4),
        write('e1', 'e2', 2, 6, 8), read('e2', 2, 9, 10), refused('e1', 9, 10),
    ], start);
});

test('the checker finds what is wrong', () => {
    const wrong = {
        'both won': [write('e0', 'e1', 1, 0, 1), write('e0', 'e2', 1, 0, 2)],
        'a lost update': [write('e0', 'e1', 1, 0, 1), write('e5', 'e6', 2, 2, 3)],
        'a stale read': [write('e0', 'e1', 1, 0, 1), read('e0', 0, 2, 3)],
        'a read of the future': [read('e1', 1, 0, 1), write('e0', 'e1', 1, 2, 3)],
        'a read of what nobody wrote': [read('e9', 9, 0, 1)],
        'a torn read': [write('e0', 'e1', 1, 0, 1), read('e1', 0, 2, 3)],
        'refused without cause': [refused('e0', 0, 1), write('e0', 'e1', 1, 2, 3)],
        'an order that time forbids': [write('e1', 'e2', 2, 0, 1), write('e0', 'e1', 1, 2, 3)],
    };
    for (const [what, history] of Object.entries(wrong))
        assert.throws(() => checkHistory(history, start), Error, what);
});
