// SPDX-License-Identifier: Apache-2.0
// The query parameter `timeout`, for every service: a request that takes longer has no effect.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ACCOUNT, assertError, sign, startServer, VERSION } from './lib.mjs';

let server;
before(async () => {
    server = await startServer();
    await server.request('blob', 'PUT', '/cont', { query: 'restype=container' });
    await server.request('queue', 'PUT', '/queue');
    await server.request('file', 'PUT', '/share', { query: 'restype=share' });
});
after(() => server.stop());

const LISTS = [['blob', 'comp=list'], ['queue', 'comp=list'], ['file', 'comp=list'], ['table', '']];

for (const [service, query] of LISTS) {
    test(`${service}: good and bad values`, async () => {
        const path = service === 'table' ? '/Tables' : '';
        const get = (timeout) => server.request(service, 'GET', path, { query: `${query}${query && '&'}timeout=${timeout}` });
        for (const good of ['1', '30', '100000'])
            assert.equal((await get(good)).status, 200, good);
        for (const bad of ['x', '1.5', ''])
            assertError(await get(bad), 400, 'InvalidQueryParameterValue');
        for (const bad of ['0', '-1', '99999999999'])
            assertError(await get(bad), 400, 'OutOfRangeQueryParameterValue');
    });
}

/** Sends half of the body, moves the clock, sends the rest. */
async function slowly(service, method, path, query, headers, body, ms) {
    const all = sign(method, `/${ACCOUNT}${path}`, query,
        { 'x-ms-version': VERSION, 'x-ms-date': new Date().toUTCString(), 'Content-Length': body.length, ...headers });
    const request = http.request({
        host: '127.0.0.1', port: server.ports[service], path: `/${ACCOUNT}${path}?${query}`, method,
        headers: [['Host', `127.0.0.1:${server.ports[service]}`], ...all].flat(), setHost: false, agent: false,
    });
    const answered = once(request, 'response');
    request.write(body.slice(0, 2));
    await sleep(50);
    server.advance(ms);
    request.end(body.slice(2));
    const [response] = await answered;
    let text = '';
    for await (const part of response.setEncoding('utf8'))
        text += part;
    return {
        status: response.statusCode, headers: response.headers, text, method, service, bytes: Buffer.from(text),
        xml: (name) => [...text.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, 'g'))].map(([, t]) => t),
    };
}

test('what came too late is not done', async () => {
    const block = { 'x-ms-blob-type': 'BlockBlob' };
    const put = (timeout, ms) => slowly('blob', 'PUT', '/cont/b', `timeout=${timeout}`, block, 'hello', ms);
    assertError(await put(10, 11000), 500, 'OperationTimedOut');
    assertError(await server.request('blob', 'GET', '/cont/b'), 404, 'BlobNotFound');
    assert.equal((await put(10, 5000)).status, 201);
    const message = '<QueueMessage><MessageText>x</MessageText></QueueMessage>';
    assertError(await slowly('queue', 'POST', '/queue/messages', 'timeout=3', {}, message, 4000), 500, 'OperationTimedOut');
    const peek = await server.request('queue', 'GET', '/queue/messages', { query: 'peekonly=true' });
    assert.deepEqual(peek.xml('MessageId'), []);
    // Without one it takes as long as it takes.
    assert.equal((await slowly('queue', 'POST', '/queue/messages', '', {}, message, 60000)).status, 201);
});
