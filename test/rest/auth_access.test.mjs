// SPDX-License-Identifier: Apache-2.0
// Public containers, cross-origin requests, accounts of a running server, and secrets that must not be in the log.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import {
    AccountSASPermissions, ContainerSASPermissions, generateAccountSASQueryParameters, generateBlobSASQueryParameters,
    StorageSharedKeyCredential,
} from '@azure/storage-blob';
import { ACCOUNT, assertError, assertRejects, BIN, KEY, send, startServer, uniqueName } from './lib.mjs';

const run = promisify(execFile);
let server;
let service;

before(async () => {
    server = await startServer({ services: ['blob', 'queue'] });
    service = await server.blobs();
});
after(() => server.stop());

const anonymous = (method, path, query = '', headers = {}) => server.request('blob', method, path, { query, headers, auth: 'none' });

// ---- anonymous ------------------------------------------------------------------------------------------------------

test('anybody reads a public container, as far as it is public', async () => {
    const name = uniqueName('c');
    const container = service.getContainerClient(name);
    await container.create();
    await container.getBlockBlobClient('b').upload('hello', 5);
    const blob = () => anonymous('GET', `/${name}/b`);
    const list = () => anonymous('GET', `/${name}`, 'restype=container&comp=list');
    const write = () => anonymous('PUT', `/${name}/b`, '', { 'x-ms-blob-type': 'BlockBlob' });

    assertError(await blob(), 401, 'NoAuthenticationInformation');
    await container.setAccessPolicy('blob');
    assert.equal((await blob()).text, 'hello');
    assert.equal((await anonymous('HEAD', `/${name}/b`)).status, 200);
    assertError(await list(), 401, 'NoAuthenticationInformation');
    await container.setAccessPolicy('container');
    assert.equal((await list()).status, 200);
    assert.equal((await anonymous('GET', `/${name}`, 'restype=container')).status, 200);
    assertError(await write(), 401, 'NoAuthenticationInformation');
    assertError(await anonymous('DELETE', `/${name}/b`), 401, 'NoAuthenticationInformation');
    assertError(await anonymous('GET', `/${name}`, 'restype=container&comp=acl'), 401, 'NoAuthenticationInformation');
    assertError(await anonymous('GET', '', 'comp=list'), 401, 'NoAuthenticationInformation');
    await container.setAccessPolicy(undefined);
    assertError(await blob(), 401, 'NoAuthenticationInformation');
    // A missing container looks like a private one.
    assertError(await anonymous('GET', '/nosuchcontainer/b'), 401, 'NoAuthenticationInformation');
});

// ---- CORS -----------------------------------------------------------------------------------------------------------

const rule = (origins, methods, headers, exposed, age) => ({
    allowedOrigins: origins, allowedMethods: methods, allowedHeaders: headers, exposedHeaders: exposed, maxAgeInSeconds: age,
});
const preflight = (headers, path = '/c/b', query = '') =>
    send(server.ports.blob, 'blob', 'OPTIONS', `/${ACCOUNT}${path}${query}`, headers);
const asks = (origin, method, headers) =>
    ({ Origin: origin, 'Access-Control-Request-Method': method, 'Access-Control-Request-Headers': headers });

test('Preflight: by the first rule for origin and method', async () => {
    await service.setProperties({ cors: [] });
    assertError(await preflight(asks('https://a.test', 'GET')), 403, 'CorsPreflightFailure');
    await service.setProperties({ cors: [
        rule('https://a.test,https://*.b.test', 'GET,PUT', 'x-ms-date,x-ms-meta-*', 'x-ms-request-id,x-ms-meta-*', 60),
        rule('*', 'GET', '*', 'ETag', 5),
    ] });
    const yes = await preflight(asks('https://a.test', 'PUT', 'x-ms-date, X-Ms-Meta-Color'), '/c/b', '?comp=block&blockid=AA');
    assert.equal(yes.status, 200, yes.text);
    assert.equal(yes.headers['access-control-allow-origin'], 'https://a.test');
    assert.equal(yes.headers['access-control-allow-methods'], 'PUT');
    assert.equal(yes.headers['access-control-allow-headers'], 'x-ms-date, X-Ms-Meta-Color');
    assert.equal(yes.headers['access-control-max-age'], '60');
    assert.equal(yes.headers['access-control-allow-credentials'], 'true');
    for (const headers of [asks('https://x.b.test', 'GET'), asks('https://elsewhere.test', 'GET', 'anything')])
        assert.equal((await preflight(headers)).status, 200);
    for (const headers of [asks('https://a.test', 'DELETE'), asks('https://a.test', 'GET', 'x-other'), asks('https://elsewhere.test', 'PUT')])
        assertError(await preflight(headers), 403, 'CorsPreflightFailure');
    assertError(await preflight({ 'Access-Control-Request-Method': 'GET' }), 400, 'InvalidHeaderValue');
    assertError(await preflight({ Origin: 'https://a.test' }), 400, 'InvalidHeaderValue');
});

test('cross-origin headers of actual requests, good and bad', async () => {
    const name = uniqueName('c');
    const container = service.getContainerClient(name);
    await container.create();
    await container.getBlockBlobClient('b').upload('x', 1, { metadata: { color: 'blue' } });
    const get = (origin, path = `/${name}/b`) => server.request('blob', 'GET', path, { headers: { Origin: origin } });
    const known = await get('https://a.test');
    assert.equal(known.headers['access-control-allow-origin'], 'https://a.test');
    assert.equal(known.headers['access-control-allow-credentials'], 'true');
    assert.equal(known.headers['access-control-expose-headers'], 'x-ms-request-id,x-ms-meta-color');
    assert.equal(known.headers.vary, 'Origin');
    const any = await get('https://elsewhere.test');
    assert.equal(any.headers['access-control-allow-origin'], '*');
    assert.ok(!('access-control-allow-credentials' in any.headers) && !('vary' in any.headers));
    const missing = await get('https://a.test', `/${name}/none`);
    assertError(missing, 404, 'BlobNotFound');
    assert.equal(missing.headers['access-control-allow-origin'], 'https://a.test');
    const unmatched = await server.request('blob', 'HEAD', `/${name}/b`, { headers: { Origin: 'https://elsewhere.test' } });
    assert.ok(!('access-control-allow-origin' in unmatched.headers));
    assert.equal(unmatched.headers.vary, 'Origin');
    assert.ok(!('vary' in (await server.request('blob', 'GET', `/${name}/b`)).headers));
    // Each service has its own rules.
    const queue = await server.request('queue', 'GET', '/', { query: 'comp=list', headers: { Origin: 'https://a.test' } });
    assert.ok(!('access-control-allow-origin' in queue.headers));
});

// ---- accounts -------------------------------------------------------------------------------------------------------

const account = (...words) => run(BIN, ['account', ...words, '--data', server.data]);
async function refused(...words) {
    try {
        await account(...words);
    } catch (error) {
        assert.equal(error.code, 1);
        return error.stderr;
    }
    return assert.fail(`account ${words.join(' ')} succeeded`);
}
const keysOf = (output) => Object.fromEntries(output.trim().split('\n').map((line) => line.split(' ').slice(1)));
const canList = (name, key) => server.request('blob', 'GET', '/', { query: 'comp=list', account: name, key });

test('accounts are added, rotated and deleted while the server runs, and are there after a crash', async () => {
    assert.equal(statSync(join(server.data, 'control.sock')).mode & 0o777, 0o600);
    assert.equal((await account('list')).stdout, `${ACCOUNT}\n`);
    const made = keysOf((await account('add', 'newaccount')).stdout);
    assert.equal(Buffer.from(made.key1, 'base64').length, 64);
    assert.notEqual(made.key1, made.key2);
    assert.match(await refused('add', 'newaccount'), /already exists/);
    assert.match(await refused('add', 'Bad-Name'), /lower-case letters and digits/);
    for (const key of [made.key1, made.key2])
        assert.equal((await canList('newaccount', key)).status, 200);

    const rotated = keysOf((await account('rotate-key', 'newaccount', '1')).stdout);
    assert.equal(rotated.key2, made.key2);
    assertError(await canList('newaccount', made.key1), 403, 'AuthenticationFailed');
    assert.equal((await canList('newaccount', rotated.key1)).status, 200);
    const clients = await server.blobs({ account: 'newaccount', key: made.key2 });
    await clients.getContainerClient('kept').create({ access: 'blob' });
    await clients.getContainerClient('kept').getBlockBlobClient('b').upload('x', 1);
    const anybody = () => server.request('blob', 'GET', '/kept/b', { account: 'newaccount', auth: 'none' });
    assert.equal((await anybody()).status, 200);

    await server.restart({ crash: true });
    assert.equal((await account('list')).stdout, `${ACCOUNT}\nnewaccount\n`);
    assert.equal((await canList('newaccount', rotated.key1)).status, 200);

    await account('delete', 'newaccount');
    assertError(await canList('newaccount', rotated.key1), 403, 'AuthenticationFailed');
    assertError(await anybody(), 401, 'NoAuthenticationInformation');
    assert.match(await refused('delete', 'newaccount'), /does not exist/);
    // Its data is still there when the account is added again.
    await account('add', 'newaccount', rotated.key1);
    assert.match((await canList('newaccount', rotated.key1)).text, /<Name>kept<\/Name>/);
    await account('delete', 'newaccount');
});

test('the well-known account can be taken away for good', async () => {
    const own = await startServer({ services: ['blob'] });
    const command = (...words) => run(BIN, ['account', ...words, '--data', own.data]);
    const list = () => own.request('blob', 'GET', '/', { query: 'comp=list' });
    try {
        await command('add', 'another');
        assert.equal((await list()).status, 200);
        await command('delete', ACCOUNT);
        assertError(await list(), 403, 'AuthenticationFailed');
        await own.restart();
        assertError(await list(), 403, 'AuthenticationFailed');
        assert.equal((await command('list')).stdout, 'another\n');
    } finally {
        await own.stop();
    }
});

test('the well-known key is not served beyond loopback', async () => {
    const folder = server.folder;
    const file = join(folder, 'accounts');
    writeFileSync(file, `# by hand\nanother:${KEY}\n`);
    for (const args of [[], ['--accounts', file]]) {
        const error = await run(BIN, ['--in-memory', '--host', '0.0.0.0', '--smb-port', 'off', ...args]).then(() => null, (e) => e);
        assert.notEqual(error, null);
        assert.match(error.stderr, /well-known key is served on loopback only/);
    }
});

test('no server, no accounts', async () => {
    const error = await run(BIN, ['account', 'list', '--data', server.folder]).then(() => null, (e) => e);
    assert.equal(error.code, 1);
    assert.match(error.stderr, /no server is running here/);
});

// ---- names and limits -----------------------------------------------------------------------------------------------

test('names never leave the store', async () => {
    const before = readdirSync(server.data).sort();
    const container = service.getContainerClient(uniqueName('c'));
    await container.create();
    const names = ['../../../../tmp/escaped', '..', '.', '/etc/passwd', '..\\..\\escaped', 'a/../../b', './a', 'C:\\escaped', 'control.sock'];
    for (const name of names) {
        const path = `/${container.containerName}/${encodeURIComponent(name)}`;
        const put = await server.request('blob', 'PUT', path, { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: name });
        assert.equal(put.status, 201, `${name}: ${put.text}`);
        assert.equal((await server.request('blob', 'GET', path)).text, name);
    }
    for (const name of ['..', '.', 'a%2Fb', '..%2F..', '%2e%2e', 'a%00b', '..%5C..'])
        assert.equal((await server.request('blob', 'PUT', `/${name}`, { query: 'restype=container' })).status, 400, name);
    // A signature for one container reaches no other by way of "..".
    const other = service.getContainerClient(uniqueName('c'));
    await other.create();
    await other.getBlockBlobClient('secret').upload('x', 1);
    const sas = generateBlobSASQueryParameters({ containerName: container.containerName, expiresOn: new Date(Date.now() + 600e3),
        permissions: ContainerSASPermissions.parse('r') }, new StorageSharedKeyCredential(ACCOUNT, KEY));
    const target = `/${ACCOUNT}/${container.containerName}/../${other.containerName}/secret?${sas}`;
    assertError(await send(server.ports.blob, 'blob', 'GET', target, {}), 404, 'BlobNotFound');
    assert.deepEqual(readdirSync(server.data).sort(), before);
});

test('connections of one address are limited when asked for', async () => {
    const own = await startServer({ inMemory: true, services: ['blob'], args: ['--max-connections-per-address', '3'] });
    const sockets = [];
    try {
        const open = async () => {
            const socket = net.connect(own.ports.blob, '127.0.0.1');
            sockets.push(socket);
            await once(socket, 'connect');
            socket.write(`GET /${ACCOUNT} HTTP/1.1\r\nHost: x\r\n\r\n`);
            const [bytes] = await once(socket, 'data');
            return bytes.toString().split(' ')[1];
        };
        assert.deepEqual([await open(), await open(), await open()].map((s) => s !== '503'), [true, true, true]);
        assert.equal(await open(), '503');
    } finally {
        sockets.forEach((socket) => socket.destroy());
        await own.stop();
    }
});

// ---- the log --------------------------------------------------------------------------------------------------------

test('keys and signatures are never in the log', async () => {
    const own = await startServer({ services: ['blob'], args: ['--log-level', 'debug'] });
    const sas = generateAccountSASQueryParameters({
        services: 'b', resourceTypes: 'sco', expiresOn: new Date(Date.now() + 3600e3),
        permissions: AccountSASPermissions.parse('rl'),
    }, new StorageSharedKeyCredential(ACCOUNT, KEY)).toString();
    const signature = sas.match(/sig=([^&]*)/)[1];
    const get = (target) => send(own.ports.blob, 'blob', 'GET', target, {});
    try {
        for (const query of [sas, sas.replace('sig=', 'SIG='), sas.replace('sig=', '%73ig='), `${sas}&comp=list`, `${sas}&sp=x`,
            `sig${sas}`, `url=http://x/?${sas}`, `url=${encodeURIComponent(`http://x/?${sas}`)}`])
            await get(`/${ACCOUNT}/?comp=list&${query}`);
        await get(`/${ACCOUNT}/c/%3F${sas}`);
        await get(`/${ACCOUNT}/c/${encodeURIComponent(`?${sas}`)}`);
        const escaped = `?${sas}`.replace('sig=', '%73%69g%3D');
        for (const target of [escaped, encodeURIComponent(escaped)])
            for (const place of ['c/', '?url='])
                await get(`/${ACCOUNT}/${place}${target.replaceAll('&', '%26').replace('?', '%3F')}`);
        const wrong = Buffer.from('a wrong key').toString('base64');
        await assertRejects((await own.blobs({ key: wrong })).getContainerClient('c').create(), 403, 'AuthenticationFailed');
        const { stdout } = await run(BIN, ['account', 'add', 'logged', '--data', own.data]);
        const secret = keysOf(stdout);
        await own.endWell();
        assert.ok(own.output.split('\n').filter((line) => line.includes(' GET ')).length >= 10, own.output);
        for (const text of [signature, decodeURIComponent(signature), encodeURIComponent(signature), KEY, wrong, secret.key1, secret.key2])
            assert.ok(!own.output.includes(text.slice(0, 20)), `a secret is in the log: ${own.output}`);
    } finally {
        await own.stop();
    }
});
