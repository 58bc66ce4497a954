// SPDX-License-Identifier: Apache-2.0
// The program around the operations: flags, start, stop, the format of errors, headers in every answer.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test, before, after } from 'node:test';
import { promisify } from 'node:util';
import { assertError, BIN, hmac, KEY, send, SERVICES, startServer, stringToSign, VERSION } from './lib.mjs';

const run = promisify(execFile);

async function fails(args) {
    try {
        await run(BIN, args);
    } catch (error) {
        return error;
    }
    return assert.fail(`lazuli ${args.join(' ')} succeeded`);
}

test('--help and --version answer at once', async () => {
    const help = await run(BIN, ['--help']);
    assert.match(help.stdout, /--data DIR/);
    assert.match(help.stdout, /UseDevelopmentStorage=true/);
    assert.match((await run(BIN, ['--version'])).stdout, /^lazuli \d+\.\d+\.\d+\ncommit \S+\nlibraries .*\nfeatures blob queue table file smb .*\n$/);
});

test('docs/operations.md is what --ops prints (else: make docs)', async () => {
    const { stdout } = await run(BIN, ['--ops']);
    assert.equal(readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8'), stdout);
});

test('a flag that is not known is said, with status 2', async () => {
    const error = await fails(['--no-such-flag']);
    assert.equal(error.code, 2);
    assert.match(error.stderr, /no-such-flag/);
    assert.equal((await fails(['--blob-port', 'x'])).code, 2);
    assert.equal((await fails(['--blob-port', '65536'])).code, 2);
});

test('the well-known key is refused beyond loopback', async () => {
    const error = await fails(['--in-memory', '--host', '0.0.0.0']);
    assert.notEqual(error.code, 0);
    assert.match(error.stderr, /well-known key/);
});

test('a port that is taken is said, with a status', async () => {
    const server = await startServer({ inMemory: true });
    const { blob } = server.ports;
    const off = ['--queue-port', 'off', '--table-port', 'off', '--file-port', 'off', '--smb-port', 'off'];
    const error = await fails(['--in-memory', '--blob-port', String(blob), ...off]);
    assert.match(error.stderr, new RegExp(`${blob}.*in use`, 'i'));
    await server.stop();
});

test('SIGINT stops it too, and status 0 says that all went well', async () => {
    const server = await startServer({ inMemory: true, services: ['blob'] });
    assert.deepEqual(await server.end('SIGINT'), { code: 0, signal: null });
    await server.stop();
});

test('a service whose port is off is not served', async () => {
    const server = await startServer({ inMemory: true, services: ['queue'] });
    assert.deepEqual(SERVICES.filter((s) => server.ports[s] !== 0), ['queue']);
    const answer = await server.request('queue', 'GET', '/', { query: 'comp=list' });
    assert.equal(answer.headers.server.split('/')[0], 'Lazuli');
    await server.stop();
});

let server;
before(async () => { server = await startServer({ inMemory: true }); });
after(() => server.stop());

test('every answer carries its id, its version and the date', async () => {
    for (const service of SERVICES) {
        const headers = { 'x-ms-client-request-id': 'my-id-1' };
        const answer = await server.request(service, 'GET', '', { query: 'comp=nonsense', headers });
        assert.match(answer.headers['x-ms-request-id'], /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
        assert.equal(answer.headers['x-ms-version'], VERSION);
        assert.equal(answer.headers['x-ms-client-request-id'], 'my-id-1');
        assert.ok(Math.abs(new Date(answer.headers.date) - Date.now()) < 5000);
        assert.ok(answer.status >= 400 && answer.status < 500);
        assertError(answer, answer.status, answer.headers['x-ms-error-code']);
    }
});

test('an id from the client that cannot stand in a header is not echoed', async () => {
    const headers = { 'x-ms-client-request-id': 'x'.repeat(1025) };
    const answer = await server.request('blob', 'GET', '', { query: 'comp=nonsense', headers });
    assert.equal(answer.headers['x-ms-client-request-id'], undefined);
});

test('a version that is none is refused', async () => {
    for (const version of ['yesterday', '2011-13-45']) {
        const headers = { 'x-ms-version': version };
        const answer = await server.request('blob', 'GET', '', { query: 'comp=list', headers });
        assertError(answer, 400, 'InvalidHeaderValue');
    }
});

test('a newer version than any known is served as the newest', async () => {
    const headers = { 'x-ms-version': '2031-01-01' };
    const answer = await server.request('blob', 'GET', '', { query: 'comp=list', headers });
    assert.equal(answer.status, 200, answer.text);
});

test('an error of HEAD has no body', async () => {
    const answer = await server.request('blob', 'HEAD', '/nobody/nothing');
    assertError(answer, 404, 'ContainerNotFound');
});

test('a signature by another key, or over another date, is refused', async () => {
    const list = { query: 'comp=list' };
    const other = Buffer.alloc(64, 1).toString('base64');
    assertError(await server.request('blob', 'GET', '', { ...list, key: other }), 403, 'AuthenticationFailed');
    const headers = { 'x-ms-date': new Date(Date.now() - 16 * 60000).toUTCString() };
    assertError(await server.request('blob', 'GET', '', { ...list, headers }), 403, 'AuthenticationFailed');
    assertError(await server.request('blob', 'GET', '', { ...list, auth: () => [['x-ms-version', VERSION],
        ['Authorization', 'SharedKey nonsense']] }), 400, 'InvalidAuthenticationInfo');
    assert.equal((await server.request('blob', 'GET', '', list)).status, 200);
    assert.equal((await server.request('blob', 'GET', '', { ...list, auth: 'lite' })).status, 200);
});

test('the account may be named by the host', async () => {
    const headers = { 'x-ms-date': new Date().toUTCString(), 'x-ms-version': VERSION };
    headers.Host = 'devstoreaccount1.blob.localhost';
    const text = stringToSign('GET', '/', 'comp=list', headers);
    headers.Authorization = `SharedKey devstoreaccount1:${hmac(text, KEY)}`;
    const answer = await send(server.ports.blob, 'blob', 'GET', '/?comp=list', headers);
    assert.equal(answer.status, 200, answer.text);
});

test('the clock file moves the server, and the signatures that it takes', async () => {
    const own = await startServer({ inMemory: true, services: ['blob'] });
    const headers = { 'x-ms-date': new Date().toUTCString() };
    own.advance(3600_000);
    assert.equal((await own.request('blob', 'GET', '', { query: 'comp=list' })).status, 200);
    const late = await own.request('blob', 'GET', '', { query: 'comp=list', headers });
    assertError(late, 403, 'AuthenticationFailed');
    await own.stop();
});

test('the access log has one line a request, without the signature', async () => {
    const own = await startServer({ inMemory: true, services: ['blob'] });
    await own.request('blob', 'GET', '', { query: 'comp=list&sig=very-secret', auth: 'none' });
    await own.endWell();
    assert.match(own.output, /GET .*comp=list/);
    assert.doesNotMatch(own.output, /very-secret/);
    await own.stop();
});
