// SPDX-License-Identifier: Apache-2.0
// A load of 64 clients over several gateways of one store, with every request recorded, and the rules that the record must
// satisfy. During faults a request may end with a status of 500 or above or without an answer. Its outcome is then unknown,
// but no acknowledged write may be lost, and nothing may happen twice.
//
//   entities  read, change and write the same few entities by ETag: linearizable, one winner each round
//   queue     put, get and delete messages: each goes to one consumer, none is lost, none comes back
//   blobs     write blobs, in rows and in extents, and read and list them at once through another gateway
//   appends   append to a few blobs: each block is there once
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ACCOUNT, KEY, xmlTexts } from '../rest/lib.mjs';
import { checkHistory } from '../rest/table_history.mjs';
import { Client, REQUEST_MS_MAX, wants } from './lib.mjs';

const JSON_HEADERS = { 'Content-Type': 'application/json', Accept: 'application/json;odata=nometadata', 'x-ms-version': '2019-02-02' };
const ENTITIES = 4;
const APPENDED = 4;
// Longer than any run, so that no message is due again before the end.
const VISIBILITY_SECONDS = 3600;
const THINK_MS = 20;
const RECOVERY_MS_MAX = 120_000;
const SIZES = [3000, 150_000];

const unknown = (answer) => answer.status === null || answer.status >= 500;
const think = () => sleep(Math.random() * THINK_MS);

export class History {
    constructor(gateways, { clients = 64 } = {}) {
        assert.ok(ACCOUNT && KEY);
        this.gateways = gateways;
        this.clients = Array.from({ length: clients }, () => new Client(gateways));
        this.running = true;
        this.failures = [];
        this.answers = { good: 0, refused: 0, failed: 0 };
        this.entities = Array.from({ length: ENTITIES }, () => ({ first: null, events: [] }));
        this.messages = new Map(); // text → {put, deliveries, deletes}
        this.blobs = new Map(); // name → hash
        this.appends = Array.from({ length: APPENDED }, () => []);
        this.lost = 0; // gets whose answer is not known: what they took stays invisible
    }

    async prepare() {
        const c = this.clients[0];
        wants(await c.call(0, 'table', 'POST', '/Tables', { headers: JSON_HEADERS, body: '{"TableName":"things"}' }), 201);
        for (const [i, entity] of this.entities.entries()) {
            const made = wants(await c.call(0, 'table', 'POST', '/things', { headers: JSON_HEADERS,
                body: JSON.stringify({ PartitionKey: 'p', RowKey: `e${i}`, by: 'first' }) }), 201);
            entity.first = { etag: made.headers.etag, value: 'first' };
        }
        wants(await c.call(0, 'queue', 'PUT', '/line'), 201);
        wants(await c.call(0, 'blob', 'PUT', '/box', { query: 'restype=container' }), 201);
        for (let i = 0; i < APPENDED; i++)
            wants(await c.call(0, 'blob', 'PUT', `/box/log-${i}`, { headers: { 'x-ms-blob-type': 'AppendBlob' } }), 201);
    }

    start() {
        const kinds = [this.entityClient, this.queueClient, this.blobClient, this.appendClient];
        this.loops = this.clients.map((client, id) => kinds[id % kinds.length].call(this, client, id)
            .catch((error) => { this.failures.push(error); this.running = false; }));
    }

    note(answer) {
        this.answers[unknown(answer) ? 'failed' : answer.status >= 400 ? 'refused' : 'good']++;
        return answer;
    }

    /** After a request whose outcome is not known, a client waits a little. */
    async pause(answer) {
        await (unknown(answer) ? sleep(100) : think());
    }

    // ---- what clients do ----

    async entityClient(client, id) {
        for (let round = 0; this.running; round++) {
            const at = (id + round) % ENTITIES;
            const path = `/things(PartitionKey='p',RowKey='e${at}')`;
            const { events } = this.entities[at];
            const seen = this.note(await client.call(id + round, 'table', 'GET', path, { headers: JSON_HEADERS }));
            if (unknown(seen)) {
                await this.pause(seen);
                continue;
            }
            const { by } = JSON.parse(wants(seen, 200).text);
            events.push({ kind: 'read', called: seen.called, answered: seen.answered, etag: seen.headers.etag, value: by });
            const value = `${id}-${round}`;
            // Through another gateway than the one that was read from.
            const done = this.note(await client.call(id + round + 1, 'table', 'PUT', path, {
                headers: { ...JSON_HEADERS, 'If-Match': seen.headers.etag }, body: JSON.stringify({ by: value }) }));
            if (!unknown(done))
                wants(done, 204, 412);
            events.push({ kind: unknown(done) ? 'unknown' : done.status === 204 ? 'write' : 'refused', called: done.called,
                answered: done.answered, from: seen.headers.etag, to: done.headers.etag, value });
            await this.pause(done);
        }
    }

    async queueClient(client, id) {
        for (let round = 0; this.running; round++) {
            const text = `${id}-${round}`;
            const put = this.note(await client.call(id + round, 'queue', 'POST', '/line/messages', {
                body: `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>` }));
            if (!unknown(put))
                wants(put, 201);
            this.messageOf(text).put = put;
            await this.pause(put);
            await this.consume(client, id + round + 1);
        }
    }

    async consume(client, n) {
        const got = this.note(await client.call(n, 'queue', 'GET', '/line/messages', {
            query: `numofmessages=2&visibilitytimeout=${VISIBILITY_SECONDS}` }));
        if (unknown(got)) {
            this.lost++;
            return this.pause(got);
        }
        const [texts, ids, receipts] = ['MessageText', 'MessageId', 'PopReceipt'].map((e) => xmlTexts(wants(got, 200).text, e));
        for (const [i, text] of texts.entries()) {
            const message = this.messageOf(text);
            message.deliveries.push({ id: ids[i], called: got.called, answered: got.answered });
            const gone = this.note(await client.call(n + 1 + i, 'queue', 'DELETE', `/line/messages/${ids[i]}`, {
                query: `popreceipt=${encodeURIComponent(receipts[i])}` }));
            if (!unknown(gone))
                wants(gone, 204);
            message.deletes.push({ known: !unknown(gone), answered: gone.answered });
        }
    }

    /** A message may be delivered before the answer to its put has come. */
    messageOf(text) {
        if (!this.messages.has(text))
            this.messages.set(text, { put: { status: null }, deliveries: [], deletes: [] });
        return this.messages.get(text);
    }

    async blobClient(client, id) {
        for (let round = 0; this.running; round++) {
            const name = `blob-${id}-${round}`;
            const body = randomBytes(SIZES[round % SIZES.length]);
            const put = this.note(await client.call(id + round, 'blob', 'PUT', `/box/${name}`, { body, headers: { 'x-ms-blob-type': 'BlockBlob' } }));
            if (unknown(put)) {
                await this.pause(put);
                continue;
            }
            wants(put, 201);
            const hash = createHash('sha256').update(body).digest('hex');
            this.blobs.set(name, hash);
            const got = this.note(await client.call(id + round + 1, 'blob', 'GET', `/box/${name}`));
            if (!unknown(got))
                assert.equal(createHash('sha256').update(wants(got, 200).bytes).digest('hex'), hash, `${name} through another gateway`);
            const listed = this.note(await client.call(id + round + 2, 'blob', 'GET', '/box', { query: `restype=container&comp=list&prefix=${name}` }));
            if (!unknown(listed))
                assert.ok(wants(listed, 200).text.includes(`<Name>${name}</Name>`), `${name} was acknowledged and is not listed`);
            await this.pause(listed);
        }
    }

    async appendClient(client, id) {
        for (let round = 0; this.running; round++) {
            const at = (id + round) % APPENDED;
            const line = `${id}-${round}`;
            const done = this.note(await client.call(id + round, 'blob', 'PUT', `/box/log-${at}`, { query: 'comp=appendblock', body: `${line}\n` }));
            if (!unknown(done))
                wants(done, 201);
            this.appends[at].push({ line, known: !unknown(done) });
            await this.pause(done);
            await think();
        }
    }

    // ---- the end ----

    /** Every gateway (but those in `except`) takes writes of every kind again, without a restart. */
    async recovered(except = []) {
        const client = new Client(this.gateways);
        const deadline = performance.now() + RECOVERY_MS_MAX;
        for (const [n, gateway] of this.gateways.entries()) {
            if (except.includes(gateway))
                continue;
            const attempts = [
                () => client.call(n, 'blob', 'PUT', '/box/probe', { body: randomBytes(150_000), headers: { 'x-ms-blob-type': 'BlockBlob' } }),
                () => client.call(n, 'blob', 'GET', '/box/probe'),
                () => client.call(n, 'queue', 'GET', '/line/messages', { query: 'peekonly=true' }),
            ];
            for (const attempt of attempts)
                for (;;) {
                    const answer = await attempt();
                    if (!unknown(answer))
                        break;
                    assert.ok(performance.now() < deadline, `gateway ${n} does not recover: ${answer.status} ${answer.text}`);
                    await sleep(200);
                }
        }
        client.close();
    }

    async stop() {
        this.running = false;
        await Promise.all(this.loops);
        if (this.failures.length > 0)
            throw this.failures[0];
        const late = this.clients.reduce((sum, client) => sum + client.late, 0);
        assert.equal(late, 0, `${late} requests had no end after ${REQUEST_MS_MAX} ms`);
    }

    longest() {
        return Math.max(...this.clients.map((client) => client.longest));
    }

    close() {
        for (const client of this.clients)
            client.close();
    }

    // ---- the rules ----

    /** Call when nothing is under way. */
    async check() {
        const counts = { ...this.checkEntities(), ...await this.checkQueue(), ...await this.checkBlobs(), ...await this.checkAppends() };
        return { ...counts, ...this.answers, longest: Math.round(this.longest()) };
    }

    /** A write whose outcome is not known has happened when somebody has seen it. */
    checkEntities() {
        let writes = 0, refused = 0, resolved = 0;
        for (const { first, events } of this.entities) {
            const seen = new Map(events.filter((e) => e.kind === 'read').map((e) => [e.value, e]));
            const settled = events.flatMap((event) => {
                if (event.kind !== 'unknown')
                    return [event];
                const read = seen.get(event.value);
                if (read === undefined)
                    return [];
                resolved++;
                return [{ ...event, kind: 'write', to: read.etag, answered: Infinity }];
            });
            const sum = checkHistory(settled, first);
            writes += sum.writes;
            refused += sum.refused;
        }
        return { writes, refusedWrites: refused, resolved };
    }

    async checkQueue() {
        await this.drain();
        let acknowledged = 0;
        for (const [text, m] of this.messages) {
            const ids = new Set(m.deliveries.map((d) => d.id));
            assert.ok(ids.size <= 1, `${text} was put once and is there ${ids.size} times`);
            assert.ok(m.deliveries.length <= 1, `${text} was delivered ${m.deliveries.length} times`);
            const found = m.drained ?? 0;
            assert.ok(found <= 1, `${text} was there ${found} times at the end`);
            const deleted = m.deletes.some((d) => d.known);
            assert.ok(!(deleted && found > 0), `${text} was deleted and came back`);
            if (m.put.status !== 201)
                continue;
            acknowledged++;
            assert.ok(found === 1 || m.deletes.length > 0, `${text} was acknowledged, and is gone without a delete`);
        }
        return { messages: acknowledged };
    }

    /** What was taken by a get whose answer is not known becomes visible when its time is over: the clocks of all are moved. */
    async drain() {
        const [first, ...others] = this.gateways;
        const client = new Client(this.gateways);
        first.advance(2 * VISIBILITY_SECONDS * 1000);
        for (const other of others)
            writeFileSync(other.clockFile, readFileSync(first.clockFile), { flag: 'r+' });
        for (let empty = 0, n = 0; empty < this.gateways.length; n++) {
            const got = await client.call(n, 'queue', 'GET', '/line/messages', { query: `numofmessages=32&visibilitytimeout=${VISIBILITY_SECONDS}` });
            const texts = xmlTexts(wants(got, 200).text, 'MessageText');
            empty = texts.length === 0 ? empty + 1 : 0;
            for (const text of texts) {
                const message = this.messageOf(text);
                message.drained = (message.drained ?? 0) + 1;
            }
        }
        client.close();
    }

    async checkBlobs() {
        const client = new Client(this.gateways);
        const listed = new Set();
        for (let marker = '', n = 0; n === 0 || marker !== ''; n++) {
            const page = wants(await client.call(n, 'blob', 'GET', '/box', { query: `restype=container&comp=list&maxresults=500&marker=${encodeURIComponent(marker)}` }), 200);
            for (const name of xmlTexts(page.text, 'Name'))
                listed.add(name);
            marker = xmlTexts(page.text, 'NextMarker')[0] ?? '';
        }
        for (const [i, [name, hash]] of [...this.blobs].entries()) {
            assert.ok(listed.has(name), `${name} was acknowledged and is not listed`);
            const got = wants(await client.call(i, 'blob', 'GET', `/box/${name}`), 200);
            assert.equal(createHash('sha256').update(got.bytes).digest('hex'), hash, name);
        }
        client.close();
        return { blobs: this.blobs.size };
    }

    async checkAppends() {
        const client = new Client(this.gateways);
        let lines = 0;
        for (const [at, events] of this.appends.entries()) {
            const got = wants(await client.call(at, 'blob', 'GET', `/box/log-${at}`), 200);
            const there = new Map();
            for (const line of got.text.split('\n').filter((l) => l !== ''))
                there.set(line, (there.get(line) ?? 0) + 1);
            for (const { line, known } of events) {
                const times = there.get(line) ?? 0;
                assert.ok(times <= 1, `${line} was appended once and is there ${times} times`);
                assert.ok(times === 1 || !known, `${line} was acknowledged and is not there`);
                there.delete(line);
            }
            assert.equal(there.size, 0, 'nobody appended what is there');
            lines += events.filter((e) => e.known).length;
        }
        client.close();
        return { appends: lines };
    }
}
