// SPDX-License-Identifier: Apache-2.0
// The concurrency inspector: for each refusal the rule, the request, the state it met, and the request that caused that
// state.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { ACCOUNT, BIN, KEY, uniqueName, until } from '../rest/lib.mjs';
import { ask, askSigned, askStorage, startAdmin } from './admin_lib.mjs';

const OTHER = { account: 'otheraccount', key: Buffer.alloc(32, 7).toString('base64') };
let server;
let container;
before(async () => {
    server = await startAdmin({ env: { AZURITE_ACCOUNTS: `${ACCOUNT}:${KEY};${OTHER.account}:${OTHER.key}` } });
    container = uniqueName();
    await server.request('blob', 'PUT', `/${container}`, { query: { restype: 'container' } });
});
after(() => server.stop());

async function inspect(path, options = {}) {
    const answer = await askSigned(server, 'GET', `/api/v1/inspect/${path}`, options);
    assert.equal(answer.status, 200, answer.text);
    return answer.json();
}

/** The newest event of a blob, or of another resource. */
async function last(resource, kind = 'refusal') {
    const { events } = await inspect(`events?limit=1&kind=${kind}&resource=${encodeURIComponent(resource)}`);
    return events[0];
}

const agent = (name) => ({ 'User-Agent': name, 'x-ms-client-request-id': randomUUID() });
const put = (name, headers, body = 'x') =>
    server.request('blob', 'PUT', `/${container}/${name}`, { headers: { 'x-ms-blob-type': 'BlockBlob', ...headers }, body });

test('rule B2: a lost race tells who won it', async () => {
    const first = await put('race', agent('alice/1.0'));
    const winner = agent('bob/2.0');
    const second = await put('race', { ...winner, 'If-Match': first.headers.etag });
    const loser = agent('carol/3.0');
    const lost = await put('race', { ...loser, 'If-Match': first.headers.etag });
    assert.equal(lost.status, 412);
    const event = await last(`${container}/race`);
    assert.equal(event.rule, 'B2');
    assert.equal(event.status, 412);
    assert.equal(event.error, 'ConditionNotMet');
    assert.equal(event.operation, 'PutBlob');
    assert.equal(event.check, 'If-Match');
    assert.equal(event.sent, first.headers.etag);
    assert.equal(event.met.etag, second.headers.etag);
    assert.equal(event.request.userAgent, 'carol/3.0');
    assert.equal(event.request.requestId, lost.headers['x-ms-request-id']);
    assert.equal(event.request.clientRequestId, loser['x-ms-client-request-id']);
    assert.equal(event.madeBy.requestId, second.headers['x-ms-request-id']);
    assert.equal(event.madeBy.clientRequestId, winner['x-ms-client-request-id']);
    assert.equal(event.madeBy.userAgent, 'bob/2.0');
    assert.equal(event.madeBy.operation, 'PutBlob');
    assert.equal(event.madeBy.address, '127.0.0.1');
    assert.equal(event.madeBy.current, true);
});

test('rule B3: 304 and If-None-Match: *', async () => {
    const made = await put('none-match', agent('maker/1'));
    assert.equal((await server.request('blob', 'GET', `/${container}/none-match`, { headers: { 'If-None-Match': made.headers.etag } })).status, 304);
    const notModified = await last(`${container}/none-match`);
    assert.deepEqual([notModified.rule, notModified.status, notModified.check], ['B3', 304, 'If-None-Match']);
    assert.equal((await put('none-match', { 'If-None-Match': '*' })).status, 409);
    const exists = await last(`${container}/none-match`);
    assert.deepEqual([exists.rule, exists.error, exists.sent], ['B3', 'BlobAlreadyExists', '*']);
    assert.equal(exists.madeBy.userAgent, 'maker/1');
});

test('rules L2, L3, L4, L5: the lease that was met, how long it lasts, who took it', async () => {
    await put('leased');
    const lease = (action, headers = {}) => server.request('blob', 'PUT', `/${container}/leased`,
        { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': action, ...headers } });
    const holder = agent('holder/1');
    const taken = await lease('acquire', { 'x-ms-lease-duration': 30, ...holder });
    const id = taken.headers['x-ms-lease-id'];
    assert.equal((await lease('acquire', { 'x-ms-lease-duration': 15 })).status, 409);
    const busy = await last(`${container}/leased`);
    assert.equal(busy.rule, 'L2');
    assert.equal(busy.met.lease, 'leased');
    assert.ok(busy.met.leaseSecondsLeft > 0 && busy.met.leaseSecondsLeft <= 30);
    assert.equal(busy.madeBy.userAgent, 'holder/1');
    assert.equal(busy.madeBy.requestId, taken.headers['x-ms-request-id']);
    assert.equal((await put('leased')).status, 412);
    const missing = await last(`${container}/leased`);
    assert.deepEqual([missing.rule, missing.error, missing.met.leaseId], ['L3', 'LeaseIdMissing', 'missing']);
    assert.equal((await put('leased', { 'x-ms-lease-id': randomUUID() })).status, 412);
    assert.deepEqual((({ rule, met }) => [rule, met.leaseId])(await last(`${container}/leased`)), ['L3', 'other']);
    assert.equal((await server.request('blob', 'GET', `/${container}/leased`, { headers: { 'x-ms-lease-id': randomUUID() } })).status, 412);
    assert.equal((await last(`${container}/leased`)).rule, 'L5');
    // Nothing that was kept has the id.
    const all = await askSigned(server, 'GET', '/api/v1/inspect/events?limit=1000&kind=refusal,write,read');
    assert.ok(!all.text.includes(id));
    const board = (await inspect('leases')).leases.find(({ object }) => object === 'leased');
    assert.deepEqual([board.service, board.container, board.state, board.duration], ['blob', container, 'leased', 'fixed']);
    assert.ok(board.secondsLeft > 0 && board.secondsLeft <= 30);
    assert.equal(board.madeBy.userAgent, 'holder/1');
    server.advance(31000);
    assert.equal((await put('leased', { 'x-ms-lease-id': id })).status, 412);
    const expired = await last(`${container}/leased`);
    assert.deepEqual([expired.rule, expired.error, expired.met.lease, expired.met.leaseId], ['L4', 'LeaseLost', 'expired', 'same']);
    assert.equal((await inspect('leases')).leases.find(({ object }) => object === 'leased'), undefined);
});

test('rule L7: a leased container', async () => {
    const name = uniqueName();
    await server.request('blob', 'PUT', `/${name}`, { query: { restype: 'container' } });
    await server.request('blob', 'PUT', `/${name}`, { query: { restype: 'container', comp: 'lease' },
        headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': -1, ...agent('boxer/1') } });
    assert.equal((await server.request('blob', 'DELETE', `/${name}`, { query: { restype: 'container' } })).status, 412);
    const event = await last(name);
    assert.deepEqual([event.rule, event.madeBy.userAgent, event.met.leaseEnds], ['L7', 'boxer/1', undefined]);
    const board = (await inspect('leases')).leases.find((lease) => lease.container === name);
    assert.deepEqual([board.duration, board.object], ['infinite', undefined]);
});

test('rules T1 and T2: entities, by themselves and in a batch', async () => {
    const name = `t${uniqueName()}`;
    const json = { 'Content-Type': 'application/json', Accept: 'application/json;odata=nometadata' };
    await server.request('table', 'POST', '/Tables', { headers: json, body: JSON.stringify({ TableName: name }) });
    const entity = JSON.stringify({ PartitionKey: 'p', RowKey: 'r', n: 1 });
    const insert = (headers) => server.request('table', 'POST', `/${name}`, { headers: { ...json, ...headers }, body: entity });
    const made = await insert(agent('inserter/1'));
    assert.equal(made.status, 201, made.text);
    assert.equal((await insert()).status, 409);
    const exists = await last(`${name}/p/r`);
    assert.deepEqual([exists.rule, exists.madeBy.userAgent], ['T1', 'inserter/1']);
    assert.equal(exists.met.etag, made.headers.etag);
    const update = (headers) => server.request('table', 'PUT', `/${name}(PartitionKey='p',RowKey='r')`, { headers: { ...json, ...headers }, body: entity });
    const renewed = await update({ 'If-Match': made.headers.etag, ...agent('updater/1') });
    assert.equal(renewed.status, 204, renewed.text);
    assert.equal((await update({ 'If-Match': made.headers.etag })).status, 412);
    const stale = await last(`${name}/p/r`);
    assert.deepEqual([stale.rule, stale.sent, stale.met.etag, stale.madeBy.userAgent],
        ['T2', made.headers.etag, renewed.headers.etag, 'updater/1']);
});

test('rule Q1: a stale receipt, and messages in flight', async () => {
    const name = uniqueName();
    await server.request('queue', 'PUT', `/${name}`);
    await server.request('queue', 'POST', `/${name}/messages`, { body: '<QueueMessage><MessageText>x</MessageText></QueueMessage>' });
    const got = await server.request('queue', 'GET', `/${name}/messages`, { query: { visibilitytimeout: 5 } });
    const [id] = got.xml('MessageId');
    const [receipt] = got.xml('PopReceipt');
    const { messages, total } = await inspect(`messages?queue=${name}`);
    assert.equal(total, 1);
    assert.deepEqual([messages[0].id, messages[0].state, messages[0].dequeueCount], [id, 'invisible', 1]);
    assert.ok(messages[0].secondsLeft > 0 && messages[0].secondsLeft <= 5);
    assert.ok(messages[0].receiptAgeSeconds >= 0);
    assert.equal(messages[0].text, undefined);
    assert.equal((await inspect(`messages?queue=${name}&text=1`)).messages[0].text, 'x');
    server.advance(6000);
    await server.request('queue', 'GET', `/${name}/messages`);
    const late = await server.request('queue', 'DELETE', `/${name}/messages/${id}`, { query: { popreceipt: receipt } });
    assert.equal(late.status, 400, late.text);
    const event = await last(name);
    assert.deepEqual([event.rule, event.error], ['Q1', 'PopReceiptMismatch']);
    const all = await askSigned(server, 'GET', '/api/v1/inspect/events?limit=1000&kind=refusal,write,read');
    assert.ok(!all.text.includes(receipt));
});

test('a timeline of writes, refusals and, while somebody looks, reads', async () => {
    const { next } = await inspect(`events?kind=read&resource=${container}/line`);
    await put('line', agent('writer/1'));
    await server.request('blob', 'GET', `/${container}/line`, { headers: agent('reader/1') });
    await put('line', { 'If-None-Match': '*' });
    const { events } = await inspect(`events?kind=refusal,write,read&after=${next}&resource=${container}/line`);
    assert.deepEqual(events.map(({ kind }) => kind), ['write', 'read', 'refusal']);
    assert.ok(events[0].id < events[1].id && events[1].id < events[2].id);
    assert.equal(events[0].etag, events[1].etag);
    assert.equal(events[1].request.userAgent, 'reader/1');
});

test('contention: the hottest resources first', async () => {
    await put('hot');
    for (let i = 0; i < 20; i++)
        await put('hot', { 'If-None-Match': '*' });
    const { hottest } = await inspect('contention');
    assert.equal(hottest[0].object, 'hot');
    assert.ok(hottest[0].refusals >= 20);
    assert.ok(hottest[0].rules.B3 >= 20);
    const metrics = (await ask(server, 'GET', '/metrics')).text;
    const [, count] = metrics.match(/^lazuli_conflicts_total\{service="blob",rule="B3"\} (\d+)$/m);
    assert.ok(Number(count) >= 20);
});

test('a request waits for events', async () => {
    const { next } = await inspect(`events?resource=${container}/awaited`);
    const waiting = inspect(`events?after=${next}&resource=${container}/awaited&wait=20`);
    await put('awaited');
    await put('awaited', { 'If-None-Match': '*' });
    const { events } = await waiting;
    assert.equal(events.length, 1);
    assert.equal(events[0].object, 'awaited');
    // Of another account nothing comes: it waits its second out.
    const none = await inspect(`events?after=${next}&wait=1`, OTHER);
    assert.deepEqual(none.events, []);
});

test('an account that waits a lot does not keep another from waiting', async () => {
    const { next } = await inspect('events');
    const path = `events?after=${next}&resource=${container}/crowd&wait=20`;
    const crowd = Array.from({ length: 80 }, () => askSigned(server, 'GET', `/api/v1/inspect/${path}`));
    await until(async () => (await askSigned(server, 'GET', `/api/v1/inspect/events?after=${next}&resource=none&wait=1`)).status === 503);
    assert.deepEqual((await inspect(`events?after=${next}&wait=1`, OTHER)).events, []);
    await put('crowd');
    await put('crowd', { 'If-None-Match': '*' });
    const statuses = (await Promise.all(crowd)).map(({ status }) => status);
    assert.ok(statuses.includes(200) && statuses.includes(503), statuses.join());
});

test('an account sees its own alone', async () => {
    await put('private');
    await put('private', { 'If-None-Match': '*' });
    assert.deepEqual((await inspect('events?limit=1000&kind=refusal,write,read', OTHER)).events, []);
    assert.deepEqual((await inspect('leases', OTHER)).leases, []);
    assert.deepEqual((await inspect('contention', OTHER)).hottest, []);
    assert.deepEqual((await inspect('opens', OTHER)).opens, []);
    assert.equal((await askSigned(server, 'GET', `/api/v1/inspect/messages?queue=${container}`, OTHER)).status, 404);
    for (const path of ['events', 'leases', 'opens', 'contention', 'messages?queue=x']) {
        assert.equal((await ask(server, 'GET', `/api/v1/inspect/${path}`)).status, 401);
        assert.equal((await askSigned(server, 'GET', `/api/v1/inspect/${path}`, { key: OTHER.key })).status, 403);
        assert.equal((await askSigned(server, 'GET', `/_lazuli/api/v1/inspect/${path}`, { port: server.ports.blob })).status, 404);
    }
});

test('bad input gets a clear error', async () => {
    for (const query of ['after=x', 'after=-1', 'limit=100000', 'wait=1000', 'service=disk', 'kind=all', 'kind=']) {
        const answer = await askSigned(server, 'GET', `/api/v1/inspect/events?${query}`);
        assert.equal(answer.status, 400, query);
        assert.equal(answer.json().error.code, 'InvalidQueryParameterValue');
    }
    for (const queue of ['', '?queue=', '?queue=a%2Fb', `?queue=${'x'.repeat(100)}`])
        assert.equal((await askSigned(server, 'GET', `/api/v1/inspect/messages${queue}`)).status, 400);
    assert.equal((await askSigned(server, 'GET', '/api/v1/inspect/messages?queue=nosuchqueue')).status, 404);
});

test('what clients send cannot break out of the JSON', async () => {
    const nasty = '"}],<script>alert(1)</script>\\';
    await put('nasty"<b>', {});
    await put('nasty%22%3Cb%3E', { 'If-Match': '"x"', 'User-Agent': nasty, 'x-ms-client-request-id': nasty });
    const { events } = await inspect('events?limit=1');
    assert.equal(events[0].object, 'nasty"<b>');
    assert.equal(events[0].request.userAgent, nasty);
});

test('through the console\'s own origin it is the same', async () => {
    const answer = await askStorage(server, 'blob', 'PUT', `/${ACCOUNT}/${container}/mounted`, {
        headers: { 'x-ms-blob-type': 'BlockBlob', 'If-Match': '"0x1"' }, body: 'x' });
    assert.equal(answer.status, 412);
    assert.equal((await last(`${container}/mounted`)).rule, 'B2');
});

test('lazuli inspect prints the same, and follows', async () => {
    const flags = ['--admin-port', String(server.ports.admin)];
    await put('shown', agent('printed/1'));
    await put('shown', { 'If-Match': '"0x1"' });
    // The clock was moved above; a command has that of the machine.
    server.advance(-37000);
    const once_ = spawnSync(BIN, ['inspect', `${container}/shown`, ...flags], { encoding: 'utf8', timeout: 30000 });
    assert.equal(once_.status, 0, once_.stderr);
    assert.match(once_.stdout, /412 ConditionNotMet PutBlob \/\w+\/shown +rule B2/);
    assert.match(once_.stdout, /made by PutBlob, .*printed\/1 from 127\.0\.0\.1/);
    const timeline = spawnSync(BIN, ['inspect', '--timeline', `${container}/shown`, ...flags], { encoding: 'utf8', timeout: 30000 });
    assert.match(timeline.stdout, /201 write PutBlob \/\w+\/shown +ETag "0x\w+"\n +request .*printed\/1 from 127\.0\.0\.1\n.* 412 ConditionNotMet PutBlob/);
    const follower = spawn(BIN, ['inspect', '--follow', `${container}/followed`, ...flags]);
    let seen = '';
    follower.stdout.setEncoding('utf8').on('data', (text) => { seen += text; });
    await put('followed');
    await until(async () => {
        await put('followed', { 'If-None-Match': '*' });
        return seen.includes('BlobAlreadyExists');
    });
    follower.kill('SIGKILL');
    await once(follower, 'exit');
    const refused = spawnSync(BIN, ['inspect', ...flags], { encoding: 'utf8', env: { ...process.env, AZURE_STORAGE_KEY: OTHER.key } });
    assert.equal(refused.status, 1);
    assert.match(refused.stderr, /AuthenticationFailed/);
});

test('--explain: an answer names its event, and lazuli inspect --explain tells of it', async () => {
    const open = await startAdmin({ args: ['--explain'] });
    try {
        const write = (headers = {}) => open.request('blob', 'PUT', '/explained/b', { headers: { 'x-ms-blob-type': 'BlockBlob', ...headers }, body: 'x' });
        await open.request('blob', 'PUT', '/explained', { query: { restype: 'container' } });
        assert.equal((await write({ 'User-Agent': 'winner/1' })).headers['x-lazuli-explain'], undefined);
        const refused = await write({ 'If-None-Match': '*' });
        const id = refused.headers['x-lazuli-explain'];
        assert.match(id ?? '', /^\d+$/);
        await write({ 'If-Match': '"0x1"' });
        const { events } = (await askSigned(open, 'GET', `/api/v1/inspect/events?id=${id}`)).json();
        assert.deepEqual(events.map((event) => [String(event.id), event.error, event.madeBy.userAgent]), [[id, 'BlobAlreadyExists', 'winner/1']]);
        const flags = ['--admin-port', String(open.ports.admin)];
        const told = spawnSync(BIN, ['inspect', '--explain', id, ...flags], { encoding: 'utf8', timeout: 30000 });
        assert.equal(told.status, 0, told.stderr);
        assert.match(told.stdout, /409 BlobAlreadyExists PutBlob/);
        assert.doesNotMatch(told.stdout, /ConditionNotMet/);
        assert.equal(spawnSync(BIN, ['inspect', '--explain', ...flags], { encoding: 'utf8' }).status, 2);
        assert.equal((await askSigned(open, 'GET', '/api/v1/inspect/events?id=x')).status, 400);
    } finally {
        await open.stop();
    }
    const { headers } = await put('shown', { 'If-Match': '"0x1"' });
    assert.equal(headers['x-lazuli-explain'], undefined, 'only who asks for it gets it');
});

test('--no-inspector keeps nothing', async () => {
    const without = await startAdmin({ args: ['--no-inspector'] });
    try {
        const answer = await askSigned(without, 'GET', '/api/v1/inspect/events');
        assert.equal(answer.status, 404);
        assert.equal(answer.json().error.code, 'InspectorOff');
        assert.equal((await askSigned(without, 'GET', '/api/v1/inspect/leases')).status, 200);
        assert.equal((await ask(without, 'GET', '/metrics')).status, 200);
    } finally {
        await without.stop();
    }
});

// At the end: another server sets the clock of this process anew.
test('leases of files are on the board, in folders too, and after a crash as before', async () => {
    const own = await startAdmin({ inMemory: false });
    try {
        const board = async () => (await askSigned(own, 'GET', '/api/v1/inspect/leases')).json();
        await own.request('file', 'PUT', '/share', { query: { restype: 'share' } });
        await own.request('file', 'PUT', '/share/folder', { query: { restype: 'directory' } });
        for (const path of ['top', 'folder/below', 'folder/free']) {
            await own.request('file', 'PUT', `/share/${path}`, { headers: { 'x-ms-type': 'file', 'x-ms-content-length': 1 } });
            if (path !== 'folder/free')
                assert.equal((await own.request('file', 'PUT', `/share/${path}`, { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1', 'User-Agent': 'holder/1' } })).status, 201);
        }
        const seen = async () => (await board()).leases.map(({ container: share, object, state, duration, madeBy }) => [share, object, state, duration, madeBy?.userAgent]).sort();
        assert.deepEqual(await seen(), [['share', 'folder/below', 'leased', 'infinite', 'holder/1'], ['share', 'top', 'leased', 'infinite', 'holder/1']]);
        await own.restart({ crash: true });
        assert.deepEqual(await seen(), [['share', 'folder/below', 'leased', 'infinite', undefined], ['share', 'top', 'leased', 'infinite', undefined]]);
        assert.equal((await own.request('file', 'PUT', '/share/top', { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': 'break' } })).status, 202);
        assert.deepEqual((await seen()).map(([, object]) => object), ['folder/below']);
    } finally {
        await own.stop();
    }
});
