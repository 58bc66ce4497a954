// SPDX-License-Identifier: Apache-2.0
// The content of error replies besides their code.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertError, startServer, uniqueName } from './lib.mjs';

let server;
let path;
before(async () => {
    server = await startServer({ inMemory: true, services: ['blob'] });
    const container = (await server.blobs()).getContainerClient(uniqueName('c'));
    await container.create();
    await container.getBlockBlobClient('b').upload('hello', 5);
    path = `/${container.containerName}/b`;
});
after(() => server.stop());

test('a container without a name', async () => {
    for (const method of ['PUT', 'DELETE'])
        assertError(await server.request('blob', method, '/', { query: 'restype=container' }), 400, 'InvalidQueryParameterValue');
});

test('a 304 names the state that the client has', async () => {
    const first = await server.request('blob', 'GET', path);
    for (const method of ['GET', 'HEAD']) {
        const again = await server.request('blob', method, path, { headers: { 'If-None-Match': first.headers.etag } });
        assert.equal(again.status, 304);
        assert.equal(again.headers.etag, first.headers.etag);
        assert.equal(again.headers['last-modified'], first.headers['last-modified']);
        assert.equal(again.headers['x-ms-error-code'], 'ConditionNotMet');
    }
});

test('a 416 names the size', async () => {
    const answer = await server.request('blob', 'GET', path, { headers: { 'x-ms-range': 'bytes=5-' } });
    assert.equal(answer.status, 416);
    assert.equal(answer.headers['content-range'], 'bytes */5');
});
