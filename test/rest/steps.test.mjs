// SPDX-License-Identifier: Apache-2.0
// One driver for all requests: in every mode of an operation, `timeout` is checked again after a wait, and a
// disconnecting client ends the wait without leaks.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { ask, startAdmin } from '../admin/admin_lib.mjs';
import { ACCOUNT, assertError, BIN, sign, STORE_IN_FOLDER, until, VERSION, xmlTexts } from './lib.mjs';
import { batchBody } from './table_lib.mjs';

const LARGE = 'x'.repeat(600000); // stored by a bulk thread

let server;
before(async () => {
    server = await startAdmin({ inMemory: false, args: ['--test-control'] });
    await put('blob', '/cont', { query: 'restype=container' });
    await put('blob', '/cont/b', { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'hello' });
    await put('queue', '/queue');
    await server.request('queue', 'POST', '/queue/messages', { body: '<QueueMessage><MessageText>m</MessageText></QueueMessage>' });
    await server.request('table', 'POST', '/Tables', { headers: { 'Content-Type': 'application/json' }, body: '{"TableName":"tab"}' });
    await put('file', '/share', { query: 'restype=share' });
    await put('file', '/share/f', { headers: FILE });
});
// Clients that left must not leave extents, pins or rows behind.
after(async () => {
    await server.endWell();
    if (STORE_IN_FOLDER) {
        const checked = spawnSync(BIN, ['check', '--data', server.data], { encoding: 'utf8', timeout: 60000 });
        assert.equal(checked.status, 0, checked.stdout + checked.stderr);
    }
    server.remove();
});

const FILE = { 'x-ms-type': 'file', 'x-ms-content-length': '5' };
const put = async (service, path, options) =>
    assert.equal((await server.request(service, 'PUT', path, options)).status, 201, path);
const exists = (service, path) => async () => (await server.request(service, 'HEAD', path)).status === 200;
const isGot = async () => {
    const peeked = await server.request('queue', 'GET', '/queue/messages', { query: 'peekonly=true' });
    return peeked.xml('DequeueCount')[0] !== '0';
};
const isInserted = async () => (await server.request('table', 'GET', "/tab(PartitionKey='p',RowKey='new')")).status === 200;
const batch = () => ({
    headers: { 'Content-Type': 'multipart/mixed; boundary=batch_1', Accept: 'application/json' },
    body: batchBody(server, [['POST', '/tab', {}, { PartitionKey: 'p', RowKey: 'new' }]]),
});

/** For each mode: an operation, its request, and a check that it took effect. */
const MODES = [
    ['a read', 'GetBlob', 'blob', 'GET', '/cont/b', {}],
    ['without a transaction', 'GetAccountInformation', 'blob', 'GET', '', { query: 'restype=account&comp=properties' }],
    ['a write', 'PutBlob', 'blob', 'PUT', '/cont/new', { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'new' }, exists('blob', '/cont/new')],
    ['a large body', 'PutBlob', 'blob', 'PUT', '/cont/large', { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: LARGE }, exists('blob', '/cont/large')],
    ['a read and a write', 'GetMessages', 'queue', 'GET', '/queue/messages', {}, isGot],
    ['a batch', 'EntityGroupTransaction', 'table', 'POST', '/$batch', batch, isInserted],
    ['work in the pool around it', 'CopyBlob', 'blob', 'PUT', '/cont/copy',
        () => ({ headers: { 'x-ms-copy-source': `${server.url('blob')}/cont/b` } }), exists('blob', '/cont/copy')],
    ['a write to a file', 'CreateFile', 'file', 'PUT', '/share/new', { headers: FILE }, exists('file', '/share/new')],
    ['a read of a file', 'GetFile', 'file', 'GET', '/share/f', {}],
];

async function control(method, path, body) {
    const answer = await ask(server, method, `/_lazuli/control/v1/${path}`,
        { headers: { 'x-lazuli-control': '1' }, body: body === undefined ? undefined : JSON.stringify(body) });
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.json();
}

/** Sends the request of a mode, which test control holds. The client's request, and the promise of its answer. */
function send(service, method, path, { query = '', headers = {}, body = '' }) {
    const all = { 'x-ms-version': VERSION, 'x-ms-date': new Date().toUTCString(), 'Content-Length': Buffer.byteLength(body), ...headers };
    const signed = sign(method, `/${ACCOUNT}${path}`, query, all, { table: service === 'table' });
    const request = http.request({
        host: '127.0.0.1', port: server.ports[service], path: `/${ACCOUNT}${path}${query && `?${query}`}`, method,
        headers: [['Host', `127.0.0.1:${server.ports[service]}`], ...signed].flat(), setHost: false, agent: false,
    });
    const answer = new Promise((resolve, reject) => {
        request.on('error', reject);
        request.on('response', async (response) => {
            const parts = [];
            for await (const part of response)
                parts.push(part);
            const text = Buffer.concat(parts).toString();
            resolve({ status: response.statusCode, headers: response.headers, text, method, service, bytes: Buffer.from(text), json: () => JSON.parse(text), xml: (name) => xmlTexts(text, name) });
        });
    });
    answer.catch(() => {});
    request.end(body);
    return { request, answer };
}

/** Holds the operation at a point while `work` runs with its request. */
async function held(mode, at, query, work) {
    const [, operation, service, method, path, given] = mode;
    const options = typeof given === 'function' ? given() : given;
    const { id } = await control('POST', 'holds', { match: { operation }, at });
    const sent = send(service, method, path, { ...options, query: [options.query, query].filter(Boolean).join('&') });
    await control('GET', `holds/${id}?arrived=1`);
    await work(sent, () => control('GET', `holds/${id}`));
    await control('DELETE', `holds/${id}`);
}

for (const mode of MODES) {
    const [name, operation, , , , , done] = mode;
    test(`${name} (${operation}): not past its timeout`, async () => {
        await held(mode, 'before', 'timeout=5', async ({ answer }) => {
            server.advance(6000);
            const late = await answer;
            if (operation === 'EntityGroupTransaction')
                assert.equal(late.json()['odata.error'].code, 'OperationTimedOut');
            else
                assertError(late, 500, 'OperationTimedOut');
        });
        if (done !== undefined)
            assert.equal(await done(), false);
    });

    for (const leave of ['destroy', 'resetAndDestroy']) {
        test(`${name} (${operation}): a client that leaves (${leave}) before it is done`, async () => {
            await held(mode, 'before', '', async ({ request }, hold) => {
                request.socket[leave]();
                await until(async () => (await hold()).waiting === 0);
            });
            if (done !== undefined)
                assert.equal(await done(), false);
        });
    }
}

// A committed change stays, even if its client has left.
for (const mode of MODES) {
    const [name, operation, , , , , done] = mode;
    test(`${name} (${operation}): a client that leaves after the commit`, async () => {
        await held(mode, 'after-commit', 'timeout=5', async ({ request }, hold) => {
            request.socket.destroy();
            await until(async () => (await hold()).waiting === 0);
        });
        if (done !== undefined)
            assert.equal(await done(), true);
    });
}
