// SPDX-License-Identifier: Apache-2.0
// A lost update and its cure, the same on every run. See README.md.
import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';

const ADMIN = process.env.LAZULI_URL ?? 'http://127.0.0.1:10004';

async function control(method, path, body) {
    const answer = await fetch(`${ADMIN}/_lazuli/control/v1/${path}`, {
        method, headers: { 'x-lazuli-control': '1' }, body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text);
}

// An account of our own: other tests may run at the same time.
const account = await control('POST', 'accounts', {});
const state = `${account.name}-start`;
const endpoint = account.connectionString.match(/BlobEndpoint=([^;]+)/)[1];

/** A signed request to the blob service; the SDKs do the same. */
async function blob(method, path, { query = '', headers = {}, body = '' } = {}) {
    const all = { 'x-ms-date': new Date().toUTCString(), 'x-ms-version': '2025-11-05', 'x-ms-client-request-id': randomUUID(), ...headers };
    const names = Object.keys(all).filter((name) => name.startsWith('x-ms-')).sort();
    const resource = `/${account.name}/${account.name}${path}` +
        query.split('&').filter(Boolean).sort().map((pair) => `\n${pair.replace('=', ':')}`).join('');
    const text = [method, '', '', body.length || '', '', all['content-type'] ?? '', '', '', all['if-match'] ?? '', '', '', '',
        ...names.map((name) => `${name}:${all[name]}`), resource].join('\n');
    const signature = createHmac('sha256', Buffer.from(account.keys[0], 'base64')).update(text).digest('base64');
    return fetch(`${endpoint}${path}${query && `?${query}`}`, {
        method, headers: { ...all, Authorization: `SharedKey ${account.name}:${signature}` },
        body: method === 'PUT' ? Buffer.from(body) : undefined, // a text would get a Content-Type of its own
    });
}

const put = (value, headers = {}) => blob('PUT', '/box/counter', {
    body: String(value), headers: { 'x-ms-blob-type': 'BlockBlob', 'content-type': 'text/plain', ...headers } });
async function read() {
    const answer = await blob('GET', '/box/counter');
    return { value: Number(await answer.text()), etag: answer.headers.get('etag') };
}

/** Both writes wait at the door until both are there; then Alice's goes first, Bob's second. */
const race = () => control('POST', 'holds', { match: { operation: 'PutBlob', object: 'counter' }, at: 'before', parties: 2, order: ['alice', 'bob'] });
const as = (name) => ({ 'x-ms-client-request-id': name });

try {
    await blob('PUT', '/box', { query: 'restype=container' });

    // 1. Last writer wins (rule B4): both add one, and one of the two is lost.
    await put(0);
    await control('PUT', `snapshots/${state}`, { account: account.name });
    let [alice, bob] = [await read(), await read()];
    await race();
    await Promise.all([put(bob.value + 1, as('bob')), put(alice.value + 1, as('alice'))]);
    assert.equal((await read()).value, 1);
    console.log('without a condition: 0 + 1 + 1 = 1, an update is lost');

    // 2. The cure (rule B2): If-Match, and whoever is refused reads again. From the same state: saved above, put back in milliseconds.
    const atFirst = alice.etag;
    await control('POST', `snapshots/${state}/restore`);
    [alice, bob] = [await read(), await read()];
    assert.deepEqual([alice.value, alice.etag], [0, atFirst], 'all is as it was, ETags too');
    await race();
    const [second, first] = await Promise.all([
        put(bob.value + 1, { ...as('bob'), 'if-match': bob.etag }), put(alice.value + 1, { ...as('alice'), 'if-match': alice.etag }),
    ]);
    assert.deepEqual([first.status, second.status], [201, 412]);
    const again = await read();
    assert.equal((await put(again.value + 1, { 'if-match': again.etag })).status, 201);
    assert.equal((await read()).value, 2);
    console.log('with If-Match: 201 and 412, then again: 0 + 1 + 1 = 2');

    // 3. The write is durable, and the client is not told: a retry must not count twice.
    const before = await read();
    await control('POST', 'faults', { match: { operation: 'PutBlob', account: account.name }, when: { times: 1 }, at: 'after-commit', do: { reset: true } });
    await assert.rejects(put(before.value + 1, { 'if-match': before.etag }));
    assert.equal((await put(before.value + 1, { 'if-match': before.etag })).status, 412);
    assert.equal((await read()).value, before.value + 1);
    console.log('cut after the commit: the retry gets 412 and does not count twice');
} finally {
    await control('PUT', 'faults', []);
    await control('DELETE', `snapshots/${state}`).catch(() => {});
    await control('DELETE', `accounts/${account.name}`);
}
