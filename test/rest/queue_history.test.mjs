// SPDX-License-Identifier: Apache-2.0
// 64 producers and consumers on one queue, random visibility times, with the server killed (kill -9) and restarted;
// every request is recorded, and the history is then checked against the rules:
//   - what was acknowledged is not lost, and what was deleted does not come back;
//   - a message is with one client at a time while it is invisible (rule_Q1), and comes back when the time is over;
//   - only the latest receipt deletes or updates.
// LAZULI_HISTORY_SECONDS sets how long it runs (default 12).
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sign, startServer, VERSION, xmlTexts, ACCOUNT } from './lib.mjs';

const SECONDS = Number(process.env.LAZULI_HISTORY_SECONDS ?? 12);
const CLIENTS = 64;
const QUEUE = 'history';
const VISIBILITY_MAX = 3;

let server;
const agent = new http.Agent({ keepAlive: true, maxSockets: CLIENTS });

before(async () => {
    server = await startServer({ services: ['queue'] });
});
after(async () => {
    producing = false;
    consuming = false;
    agent.destroy();
    await server.stop();
});

/** One request; the answer, or null when its outcome is not known. start and end are when it was under way. */
async function call(method, path, query = '', body = undefined) {
    const target = `/${ACCOUNT}/${QUEUE}${path}`;
    const headers = { 'x-ms-version': VERSION, 'x-ms-date': new Date().toUTCString() };
    if (body !== undefined)
        headers['Content-Length'] = Buffer.byteLength(body);
    const signed = sign(method, target, query, headers);
    const start = Date.now();
    return new Promise((resolve) => {
        const unknown = () => resolve({ answer: null, start, end: Date.now() });
        const request = http.request({
            host: '127.0.0.1', port: server.ports.queue, method, agent, path: query === '' ? target : `${target}?${query}`,
            headers: Object.fromEntries(signed),
        }, (response) => {
            const parts = [];
            response.on('data', (part) => parts.push(part));
            response.on('error', unknown);
            response.on('aborted', unknown);
            response.on('end', () => {
                if (!response.complete || response.statusCode >= 500)
                    return unknown();
                resolve({ answer: { status: response.statusCode, headers: response.headers, text: Buffer.concat(parts).toString() }, start, end: Date.now() });
            });
        });
        request.on('error', unknown);
        request.end(body);
    });
}

const messages = new Map(); // text → { put, deliveries, updates, deletes }
const late = []; // deletes that wait until their time is over
let producing = true;
let consuming = true;

function record(text) {
    if (!messages.has(text))
        messages.set(text, { put: null, deliveries: [], updates: [], deletes: [] });
    return messages.get(text);
}

async function producer(name) {
    for (let n = 0; producing; n++) {
        const text = `${name}-${n}`;
        const visibility = Math.random() < 0.1 ? 1 : 0;
        const { answer, start, end } = await call('POST', '/messages', `visibilitytimeout=${visibility}`,
            `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`);
        record(text).put = { acknowledged: answer !== null, visibility, start, end };
        if (answer === null)
            await sleep(20);
        else
            assert.equal(answer.status, 201, answer.text);
        await sleep(Math.random() * 60);
    }
}

async function remove(m, delivery) {
    const { answer, start, end } = await call('DELETE', `/messages/${delivery.id}`, `popreceipt=${encodeURIComponent(delivery.receipt)}`);
    m.deletes.push({ receipt: delivery.receipt, start, end, status: answer?.status ?? null });
}

async function update(m, delivery) {
    const visibility = Math.floor(Math.random() * VISIBILITY_MAX);
    const { answer, start, end } = await call('PUT', `/messages/${delivery.id}`,
        `popreceipt=${encodeURIComponent(delivery.receipt)}&visibilitytimeout=${visibility}`);
    m.updates.push({ receipt: delivery.receipt, visibility, start, end, status: answer?.status ?? null });
    return answer?.status === 204 ? { ...delivery, receipt: answer.headers['x-ms-popreceipt'] } : null;
}

/** What a consumer does with a message: mostly delete it, else keep it too long, update it, or forget it. */
async function handle(m, delivery) {
    const chance = producing ? Math.random() : 0;
    if (chance < 0.75)
        return remove(m, delivery);
    if (chance < 0.85) {
        late.push(sleep(delivery.visibility * 1000 + Math.random() * 500).then(() => remove(m, delivery)));
        return;
    }
    if (chance < 0.95) {
        const updated = await update(m, delivery);
        if (updated !== null && Math.random() < 0.5)
            await remove(m, updated);
    }
}

async function consumer() {
    while (consuming) {
        const visibility = 1 + Math.floor(Math.random() * VISIBILITY_MAX);
        const count = 1 + Math.floor(Math.random() * 8);
        const { answer, start, end } = await call('GET', '/messages', `numofmessages=${count}&visibilitytimeout=${visibility}`);
        if (answer === null) {
            await sleep(20);
            continue;
        }
        assert.equal(answer.status, 200, answer.text);
        const [texts, ids, receipts, dequeues] = ['MessageText', 'MessageId', 'PopReceipt', 'DequeueCount'].map((e) => xmlTexts(answer.text, e));
        const got = texts.map((text, i) => ({ text, id: ids[i], receipt: receipts[i], dequeues: Number(dequeues[i]), visibility, start, end }));
        for (const delivery of got)
            record(delivery.text).deliveries.push(delivery);
        await Promise.all(got.map((delivery) => handle(record(delivery.text), delivery)));
        if (got.length === 0)
            await sleep(30);
    }
}

async function crasher(until) {
    let crashes = 0;
    while (Date.now() < until) {
        await sleep(2000 + Math.random() * 1500);
        await server.restart({ crash: true });
        crashes++;
    }
    return crashes;
}

async function countLeft() {
    const { answer } = await call('GET', '', 'comp=metadata');
    return answer === null ? null : Number(answer.headers['x-ms-approximate-messages-count']);
}

// ---- the rules --------------------------------------------------------------------------------------------------

/** All that says when a message became visible again: deliveries and updates, in the order of their starts. */
function checkExclusive(text, m) {
    const deliveries = m.deliveries.toSorted((a, b) => a.dequeues - b.dequeues);
    for (let i = 1; i < deliveries.length; i++) {
        const [a, b] = [deliveries[i - 1], deliveries[i]];
        assert.ok(b.dequeues > a.dequeues, `${text}: two deliveries have the dequeue count ${a.dequeues}`);
        assert.ok(b.end >= a.start, `${text}: delivery ${b.dequeues} came before ${a.dequeues}`);
        // An update with a's receipt, or one that followed it, sets another time; then only that is known.
        const updated = m.updates.some((u) => u.status === null || u.status === 204);
        if (!updated)
            assert.ok(b.end >= a.start + a.visibility * 1000,
                `${text}: delivered again ${b.end - a.start} ms after a delivery with ${a.visibility} s`);
    }
    for (const u of m.updates.filter((x) => x.status === 204))
        for (const d of deliveries.filter((x) => x.start > u.end))
            if (!m.updates.some((other) => other !== u && (other.status === null || other.start > u.start)))
                assert.ok(d.end >= u.start + u.visibility * 1000, `${text}: delivered before the time that an update set`);
}

function checkDeleted(text, m) {
    const gone = m.deletes.filter((d) => d.status === 204);
    assert.ok(gone.length <= 1, `${text}: deleted ${gone.length} times`);
    for (const { end } of gone)
        for (const d of m.deliveries)
            assert.ok(d.start <= end, `${text}: delivered after it was deleted`);
}

/** A receipt is over once the message was handed out again or updated. */
function checkReceipts(text, m) {
    for (const d of m.deletes.concat(m.updates)) {
        const mine = m.deliveries.find((x) => x.receipt === d.receipt);
        if (mine === undefined)
            continue;
        const later = m.deliveries.some((x) => x.dequeues > mine.dequeues && x.end < d.start);
        if (later && d.status !== null)
            assert.ok([400, 404].includes(d.status), `${text}: a stale receipt was taken (${d.status})`);
        const touched = m.deliveries.some((x) => x.dequeues > mine.dequeues) || m.updates.some((u) => u !== d) ||
            m.deletes.some((x) => x !== d);
        // A get whose answer was lost in a crash takes the receipt away too: only before the time is over is it sure.
        if (!touched && d.status !== null && d.end < mine.start + mine.visibility * 1000)
            assert.equal(d.status, 204, `${text}: the latest receipt was refused (${d.status})`);
    }
}

function checkKept(text, m) {
    if (m.put === null || !m.put.acknowledged)
        return;
    assert.ok(m.deliveries.length > 0, `${text}: acknowledged, and never delivered`);
    assert.ok(m.deletes.some((d) => d.status === 204 || d.status === null), `${text}: gone without a delete`);
    for (const d of m.deliveries)
        assert.ok(d.end >= m.put.start + m.put.visibility * 1000, `${text}: delivered before its delay was over`);
}

test('a history of 64 producers and consumers with crashes', { timeout: (SECONDS + 240) * 1000 }, async () => {
    assert.equal((await server.request('queue', 'PUT', `/${QUEUE}`)).status, 201);
    const until = Date.now() + SECONDS * 1000;
    const producers = Array.from({ length: CLIENTS / 2 }, (_, i) => producer(`p${i}`));
    const consumers = Array.from({ length: CLIENTS / 2 }, () => consumer());
    const crashes = await crasher(until).finally(() => { producing = false; });
    await Promise.all(producers);
    const deadline = Date.now() + 180000;
    while ((await countLeft()) !== 0) {
        assert.ok(Date.now() < deadline, 'the queue does not become empty');
        await sleep(100);
    }
    consuming = false;
    await Promise.all(consumers);
    await Promise.all(late);

    const deliveries = [...messages.values()].reduce((sum, m) => sum + m.deliveries.length, 0);
    assert.ok(messages.size > 200 && crashes >= 2, `only ${messages.size} messages and ${crashes} crashes`);
    for (const [text, m] of messages) {
        assert.ok(m.put !== null, `${text} was delivered, and nobody put it`);
        checkKept(text, m);
        checkDeleted(text, m);
        checkExclusive(text, m);
        checkReceipts(text, m);
    }
    console.log(`# ${messages.size} messages, ${deliveries} deliveries, ${crashes} crashes`);
});
