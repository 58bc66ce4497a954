// SPDX-License-Identifier: Apache-2.0
// kill -9 under load, repeatedly on the same folder: acknowledged writes are there after the restart, others are there
// completely or not at all, and `lazuli check` finds no error.
//
// Each worker owns one resource and writes to it one request at a time. So at the kill it knows the last acknowledged
// value and the one that may have been in flight, and the resource must hold one of the two.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ACCOUNT, BIN, KEY as ACCOUNT_KEY, startServer } from '../rest/lib.mjs';

const ROUNDS = 4;
const LOAD_MS = 700;
const MESSAGE_VISIBLE_MS = 30000;
const JSON_HEADERS = { 'Content-Type': 'application/json', Accept: 'application/json;odata=nometadata' };

const SLOTS = 16;
const SLOT_BYTES = 4096;
// Accounts of their own: what they keep of each overwrite would be too much for the other workers.
const KEY = Buffer.alloc(64, 9).toString('base64');
const VERSIONED = { account: 'versioned', key: KEY };
const RETAINED = { account: 'retained', key: KEY };

const server = await startServer({
    services: ['blob', 'queue', 'table', 'file'],
    args: ['--silent', '--blob-versioning', 'versioned'],
    env: { AZURITE_ACCOUNTS: `${ACCOUNT}:${ACCOUNT_KEY};versioned:${KEY};retained:${KEY}` },
});
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

/** The content of a slot of a file: zeros for none. */
function slotOf(number) {
    const line = number === 0 ? '\0' : `${number}\n`;
    return line.repeat(SLOT_BYTES).slice(0, SLOT_BYTES);
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

/** Overwrites and deletes one blob of an account that keeps versions: every content that was acknowledged stays. */
class VersionWorker {
    constructor(name) {
        Object.assign(this, { path: `/crash/${name}`, versions: new Map(), done: 0, begun: 0, current: 0, deleting: false });
    }

    async step() {
        if (this.done > 0 && this.done % 5 === 0 && this.current !== 0) {
            this.deleting = true;
            if (await acknowledged(202, 'blob', 'DELETE', this.path, { ...VERSIONED }))
                Object.assign(this, { current: 0, deleting: false });
            return;
        }
        this.begun = this.done + 1;
        const sent = { ...VERSIONED, headers: { 'x-ms-blob-type': 'BlockBlob' }, body: content(this.begun, 100) };
        const answer = await tried('blob', 'PUT', this.path, sent);
        if (answer === null)
            return;
        assert.equal(answer.status, 201, answer.text);
        this.versions.set(this.begun, answer.headers['x-ms-version-id']);
        this.done = this.current = this.begun;
    }

    async readVersion(number) {
        const query = { versionid: this.versions.get(number) };
        const answer = await server.request('blob', 'GET', this.path, { ...VERSIONED, query });
        assert.equal(answer.status, 200, `version ${number} of ${this.path} is lost`);
        assert.equal(answer.text, content(number, 100));
    }

    async verify() {
        const query = { restype: 'container', comp: 'list', include: 'versions', prefix: this.path.slice(7) };
        const listed = (await server.request('blob', 'GET', '/crash', { ...VERSIONED, query })).xml('VersionId');
        for (const id of this.versions.values())
            assert.ok(listed.includes(id), `version ${id} of ${this.path} is not listed`);
        for (let number = Math.max(1, this.done - 5); number <= this.done; number++)
            await this.readVersion(number);
        const answer = await server.request('blob', 'GET', this.path, VERSIONED);
        const number = answer.status === 404 ? 0 : Number.parseInt(answer.text, 10);
        const allowed = [this.current, ...(this.deleting ? [0] : []), ...(this.begun > this.done ? [this.begun] : [])];
        assert.ok(allowed.includes(number), `${this.path}: ${number}, not one of ${allowed}`);
        assert.ok(listed.length - this.versions.size <= 1, 'no more than the one on its way came on top');
        if (number > this.done)
            this.versions.set(number, answer.headers['x-ms-version-id']);
        else if (listed.length > this.versions.size)
            assert.fail('a version that is not the current one came from nowhere');
        Object.assign(this, { done: Math.max(this.done, number), current: number, deleting: false });
        this.begun = this.done;
    }
}

/** Puts, deletes and brings back one blob of an account that retains what was deleted. */
class SoftDeleteWorker {
    constructor(name) {
        Object.assign(this, { path: `/crash/${name}`, done: 0, begun: 0 });
    }

    /** What the blob is after so many steps: put, deleted, back again. */
    state(steps) {
        return steps === 0 || steps % 3 === 2 ? null : content(Math.floor((steps + 2) / 3), 3000);
    }

    async step() {
        this.begun = this.done + 1;
        const put = { ...RETAINED, headers: { 'x-ms-blob-type': 'BlockBlob' }, body: this.state(this.begun) ?? undefined };
        const steps = [
            () => acknowledged(200, 'blob', 'PUT', this.path, { ...RETAINED, query: { comp: 'undelete' } }),
            () => acknowledged(201, 'blob', 'PUT', this.path, put),
            () => acknowledged(202, 'blob', 'DELETE', this.path, { ...RETAINED, headers: { 'x-ms-delete-snapshots': 'include' } }),
        ];
        if (await steps[this.begun % 3]())
            this.done = this.begun;
    }

    async verify() {
        const answer = await server.request('blob', 'GET', this.path, RETAINED);
        const found = answer.status === 404 ? null : answer.text;
        if (found !== this.state(this.done))
            this.done = this.begun;
        assert.ok(found === this.state(this.done), `${this.path} is neither ${this.done} nor ${this.begun} steps on`);
        const query = { restype: 'container', comp: 'list', include: 'deleted', prefix: this.path.slice(7) };
        const listed = await server.request('blob', 'GET', '/crash', { ...RETAINED, query });
        assert.equal(listed.xml('Name').length > 0, this.done > 0, 'deleted or not, it is listed');
    }
}

/** Writes and clears ranges of one file. */
class RangeWorker {
    constructor(name) {
        Object.assign(this, { path: `/crash/${name}`, made: false, count: 0, slots: new Array(SLOTS).fill(0), begun: null });
    }

    async step() {
        if (!this.made) {
            const headers = { 'x-ms-type': 'file', 'x-ms-content-length': String(SLOTS * SLOT_BYTES) };
            this.made = await acknowledged(201, 'file', 'PUT', this.path, { headers });
            return;
        }
        // One that the kill cut off is tried until the server is back: it alone may have come through.
        if (this.begun === null)
            this.begun = { slot: (++this.count * 7) % SLOTS, number: this.count % 5 === 0 ? 0 : this.count };
        const { slot, number } = this.begun;
        const range = `bytes=${slot * SLOT_BYTES}-${(slot + 1) * SLOT_BYTES - 1}`;
        const headers = { 'x-ms-write': number === 0 ? 'clear' : 'update', 'x-ms-range': range };
        const body = number === 0 ? undefined : slotOf(number);
        if (await acknowledged(201, 'file', 'PUT', this.path, { query: { comp: 'range' }, headers, body })) {
            this.slots[slot] = number;
            this.begun = null;
        }
    }

    async verify() {
        const answer = await server.request('file', 'GET', this.path);
        if (answer.status === 404 && !this.made)
            return;
        this.made = true;
        assert.equal(answer.text.length, SLOTS * SLOT_BYTES);
        for (let slot = 0; slot < SLOTS; slot++) {
            const found = answer.text.slice(slot * SLOT_BYTES, (slot + 1) * SLOT_BYTES);
            if (this.begun?.slot === slot && found === slotOf(this.begun.number))
                this.slots[slot] = this.begun.number;
            assert.ok(found === slotOf(this.slots[slot]), `${this.path}: slot ${slot} is not ${this.slots[slot]}`);
        }
        this.begun = null;
        const listed = await server.request('file', 'GET', this.path, { query: { comp: 'rangelist' } });
        const bytes = listed.xml('End').reduce((sum, end, i) => sum + Number(end) + 1 - Number(listed.xml('Start')[i]), 0);
        assert.equal(bytes, this.slots.filter((number) => number !== 0).length * SLOT_BYTES);
    }

    get done() {
        return this.slots.filter((number) => number !== 0).length;
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
    const retain = '<StorageServiceProperties><DeleteRetentionPolicy><Enabled>true</Enabled><Days>7</Days>' +
        '</DeleteRetentionPolicy></StorageServiceProperties>';
    const policy = { ...RETAINED, query: 'restype=service&comp=properties', body: retain };
    assert.equal((await server.request('blob', 'PUT', '', policy)).status, 202);
    const made = [
        await server.request('blob', 'PUT', '/crash', { query: 'restype=container' }),
        await server.request('blob', 'PUT', '/crash', { ...VERSIONED, query: 'restype=container' }),
        await server.request('blob', 'PUT', '/crash', { ...RETAINED, query: 'restype=container' }),
        await server.request('file', 'PUT', '/crash', { query: 'restype=share' }),
        await server.request('queue', 'PUT', '/crash'),
        await server.request('table', 'POST', '/Tables', { headers: JSON_HEADERS, body: '{"TableName":"crash"}' }),
    ];
    assert.deepEqual(made.map(({ status }) => status), [201, 201, 201, 201, 201, 201]);
    const workers = [
        new PutWorker('small', 100), new PutWorker('row', 5000), new PutWorker('large', 300000),
        new BlockWorker('blocks', 20000), new AppendWorker('appended'), new EntityWorker('p'), new EntityWorker('q'),
        new VersionWorker('versions'), new SoftDeleteWorker('deleted'), new RangeWorker('ranges'),
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
