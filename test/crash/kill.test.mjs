// SPDX-License-Identifier: Apache-2.0
// kill -9 under load, again and again on the same folder: what was acknowledged is there after the restart, what was
// not is there whole or not at all, and `lazuli check` finds nothing wrong.
//
// Each worker owns one resource and writes to it one request after the other. So at the kill it knows the last value
// that was acknowledged and the one that may have been on its way, and the resource must hold one of the two.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { BIN, startServer } from '../rest/lib.mjs';

const ROUNDS = 4;
const LOAD_MS = 700;
const MESSAGE_VISIBLE_MS = 30000;
const JSON_HEADERS = { 'Content-Type': 'application/json', Accept: 'application/json;odata=nometadata' };

const server = await startServer({ services: ['blob', 'queue', 'table'], args: ['--silent'] });
after(() => server.stop());

/** A request whose answer was read is acknowledged; one that the kill cut off was not, and gives null. */
async function tried(...request) {
    try {
        return await server.request(...request);
    } catch {
        return null;
    }
}

async function acknowledged(status, ...request) {
    const answer = await tried(...request);
    if (answer !== null)
        assert.equal(answer.status, status, `${request.slice(0, 3).join(' ')}: ${answer.status} ${answer.text}`);
    return answer !== null;
}

/** Content that says which it is, at a length of its own: a mixture of two is no content of any number. */
function content(number, bytes) {
    const line = `${number}\n`;
    return line.repeat(Math.ceil(bytes / line.length)).slice(0, Math.floor(bytes / line.length) * line.length);
}

const blockId = (n) => Buffer.from(String(n).padStart(8, '0')).toString('base64');

/** Overwrites one blob, whole. */
class PutWorker {
    constructor(name, bytes) {
        Object.assign(this, { path: `/crash/${name}`, bytes, done: 0, begun: 0 });
    }

    async step() {
        this.begun = this.done + 1;
        const body = content(this.begun, this.bytes);
        const sent = { headers: { 'x-ms-blob-type': 'BlockBlob' }, body };
        if (await acknowledged(201, 'blob', 'PUT', this.path, sent))
            this.done = this.begun;
    }

    async verify() {
        const answer = await server.request('blob', 'GET', this.path);
        if (answer.status === 404 && this.done === 0)
            return;
        assert.equal(answer.status, 200);
        const number = Number.parseInt(answer.text, 10);
        assert.ok(number === this.done || number === this.begun, `${this.path}: ${number}, not ${this.done}`);
        assert.ok(answer.text === content(number, this.bytes), `${this.path} is not what was written`);
        this.done = number;
    }
}

/** Grows a blob by one block at a time. */
class BlockWorker {
    constructor(name, bytes) {
        Object.assign(this, { path: `/crash/${name}`, bytes, done: 0, begun: 0 });
    }

    async step() {
        const next = this.done + 1;
        const query = { comp: 'block', blockid: blockId(next) };
        if (!await acknowledged(201, 'blob', 'PUT', this.path, { query, body: content(next, this.bytes) }))
            return;
        this.begun = next;
        const ids = Array.from({ length: next }, (_, i) => `<Latest>${blockId(i + 1)}</Latest>`).join('');
        const body = `<?xml version="1.0" encoding="utf-8"?><BlockList>${ids}</BlockList>`;
        if (await acknowledged(201, 'blob', 'PUT', this.path, { query: { comp: 'blocklist' }, body }))
            this.done = next;
    }

    async verify() {
        const answer = await server.request('blob', 'GET', this.path);
        if (answer.status === 404 && this.done === 0)
            return;
        assert.equal(answer.status, 200);
        let number = this.done;
        const expected = (n) => Array.from({ length: n }, (_, i) => content(i + 1, this.bytes)).join('');
        if (answer.text !== expected(number))
            number = this.begun;
        assert.ok(answer.text === expected(number), `${this.path} is neither ${this.done} nor ${this.begun} blocks`);
        this.done = number;
    }
}

/** Appends lines to an append blob. */
class AppendWorker {
    constructor(name) {
        Object.assign(this, { path: `/crash/${name}`, made: false, done: 0, begun: 0 });
    }

    async step() {
        if (!this.made) {
            this.made = await acknowledged(201, 'blob', 'PUT', this.path, { headers: { 'x-ms-blob-type': 'AppendBlob' } });
            return;
        }
        this.begun = this.done + 1;
        const sent = { query: { comp: 'appendblock' }, body: `${this.begun}\n` };
        if (await acknowledged(201, 'blob', 'PUT', this.path, sent))
            this.done = this.begun;
    }

    async verify() {
        const answer = await server.request('blob', 'GET', this.path);
        if (answer.status === 404 && !this.made)
            return;
        assert.equal(answer.status, 200);
        const lines = answer.text.split('\n').slice(0, -1).map(Number);
        assert.deepEqual(lines, lines.map((_, i) => i + 1));
        assert.ok([this.done, this.begun].includes(lines.length), `${this.path}: ${lines.length}, not ${this.done}`);
        this.done = lines.length;
    }
}

/** Counts in one entity, and inserts another for each number, both in one transaction of the entity group. */
class EntityWorker {
    constructor(name) {
        Object.assign(this, { partition: name, done: 0, begun: 0 });
    }

    batch(number) {
        const operation = (method, row, value) => [
            '--c', 'Content-Type: application/http', 'Content-Transfer-Encoding: binary', '',
            `${method} ${server.url('table')}/crash(PartitionKey='${this.partition}',RowKey='${row}') HTTP/1.1`,
            'Content-Type: application/json', 'Accept: application/json', '', JSON.stringify({ Number: value }),
        ];
        return ['--b', 'Content-Type: multipart/mixed; boundary=c', '', ...operation('PUT', 'count', number),
            ...operation('PUT', `r${number}`, number), '--c--', '', '--b--', ''].join('\r\n');
    }

    async step() {
        this.begun = this.done + 1;
        const headers = { 'Content-Type': 'multipart/mixed; boundary=b', Accept: 'application/json' };
        const answer = await tried('table', 'POST', '/$batch', { headers, body: this.batch(this.begun) });
        if (answer === null)
            return;
        assert.equal(answer.status, 202, answer.text);
        assert.equal(answer.text.match(/HTTP\/1\.1 204/g)?.length, 2, answer.text);
        this.done = this.begun;
    }

    async verify() {
        const rows = [];
        let more = {};
        do {
            const query = { $filter: `PartitionKey eq '${this.partition}'`, ...more };
            const answer = await server.request('table', 'GET', '/crash()', { headers: JSON_HEADERS, query });
            assert.equal(answer.status, 200, answer.text);
            rows.push(...answer.json().value);
            more = {
                NextPartitionKey: answer.headers['x-ms-continuation-nextpartitionkey'],
                NextRowKey: answer.headers['x-ms-continuation-nextrowkey'],
            };
        } while (more.NextPartitionKey !== undefined);
        const count = rows.find(({ RowKey }) => RowKey === 'count')?.Number ?? 0;
        assert.ok(count === this.done || count === this.begun, `${this.partition}: ${count}, not ${this.done}`);
        assert.equal(rows.length, count === 0 ? 0 : count + 1, 'both writes of a transaction, or neither');
        this.done = count;
    }
}

// Messages that were put, by number, and those of them that were deleted: 'sent' is not yet acknowledged.
const put = new Map();
const deleted = new Map();

class PutMessageWorker {
    constructor(name) {
        Object.assign(this, { name, count: 0 });
    }

    async step() {
        const text = `${this.name}-${++this.count}`;
        put.set(text, 'sent');
        const body = `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`;
        if (await acknowledged(201, 'queue', 'POST', '/crash/messages', { body }))
            put.set(text, 'done');
    }

    async verify() {}
}

class DeleteMessageWorker {
    async step() {
        const got = await tried('queue', 'GET', '/crash/messages');
        if (got === null || got.xml('MessageText').length === 0)
            return;
        const [[text], [id], [receipt]] = ['MessageText', 'MessageId', 'PopReceipt'].map((name) => got.xml(name));
        assert.notEqual(deleted.get(text), 'done', `${text} is back`);
        deleted.set(text, 'sent');
        if (await acknowledged(204, 'queue', 'DELETE', `/crash/messages/${id}`, { query: { popreceipt: receipt } }))
            deleted.set(text, 'done');
    }

    async verify() {}
}

/** Empties the queue: every acknowledged message comes once, unless its deletion was asked for. */
async function verifyQueue() {
    const found = new Set();
    server.advance(MESSAGE_VISIBLE_MS + 1000);
    for (;;) {
        const query = { numofmessages: 32, visibilitytimeout: 3600 };
        const got = await server.request('queue', 'GET', '/crash/messages', { query });
        assert.equal(got.status, 200);
        const texts = got.xml('MessageText');
        if (texts.length === 0)
            break;
        for (const text of texts) {
            assert.ok(put.has(text) && !found.has(text), `${text} was never put, or is there twice`);
            assert.notEqual(deleted.get(text), 'done', `${text} is back`);
            found.add(text);
        }
    }
    for (const [text, state] of put)
        assert.ok(state === 'sent' || deleted.has(text) || found.has(text), `${text} is lost`);
}

test('kill -9 loses nothing that was acknowledged', async () => {
    const made = [
        await server.request('blob', 'PUT', '/crash', { query: 'restype=container' }),
        await server.request('queue', 'PUT', '/crash'),
        await server.request('table', 'POST', '/Tables', { headers: JSON_HEADERS, body: '{"TableName":"crash"}' }),
    ];
    assert.deepEqual(made.map(({ status }) => status), [201, 201, 201]);
    const workers = [
        new PutWorker('small', 100), new PutWorker('row', 5000), new PutWorker('large', 300000),
        new BlockWorker('blocks', 20000), new AppendWorker('appended'), new EntityWorker('p'), new EntityWorker('q'),
        new PutMessageWorker('a'), new PutMessageWorker('b'), new DeleteMessageWorker(),
    ];
    for (let round = 0; round < ROUNDS; round++) {
        let running = true;
        const loops = workers.map(async (worker) => {
            while (running)
                await worker.step();
        });
        // Not at the same moment of a batch each time.
        await sleep(LOAD_MS + round * 37);
        await server.kill();
        running = false;
        await Promise.all(loops);
        execFileSync(BIN, ['check', '--data', server.data]);
        await server.start();
        for (const worker of workers)
            await worker.verify();
    }
    await verifyQueue();
    const writes = workers.map(({ done }) => done).filter((done) => done !== undefined);
    assert.ok(writes.every((done) => done > 0), `every worker got something done: ${writes.join(' ')}`);
});
