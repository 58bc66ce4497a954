// SPDX-License-Identifier: Apache-2.0
// The admin listener: access rules, the storage services on its origin, and protection against pages of other sites.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { after, before, test } from 'node:test';
import { ACCOUNT, BIN, SERVICES, assertError, freePorts, uniqueName } from '../rest/lib.mjs';
import { ask, askSigned, askStorage, startAdmin } from './admin_lib.mjs';

let server;
before(async () => { server = await startAdmin(); });
after(() => server.stop());

test('the root answers, with headers that keep other sites and inline code out', async () => {
    const answer = await ask(server, 'GET', '/');
    assert.equal(answer.status, 200);
    const policy = answer.headers['content-security-policy'];
    assert.match(policy, /default-src 'none'; script-src 'self'/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /unsafe|http:|\*/);
    assert.equal(answer.headers['x-frame-options'], 'DENY');
    assert.equal(answer.headers['x-content-type-options'], 'nosniff');
    assert.equal(answer.headers['referrer-policy'], 'no-referrer');
    assert.equal(answer.headers['cross-origin-opener-policy'], 'same-origin');
    assert.equal(answer.headers['cross-origin-resource-policy'], 'same-origin');
});

test('a file that is not there, a path that is none, another method', async () => {
    assert.equal((await ask(server, 'GET', '/nothing.js')).status, 404);
    assert.equal((await ask(server, 'GET', '/../etc/passwd')).status, 404);
    assert.equal((await ask(server, 'POST', '/api/v1/server', { body: '{}' })).status, 405);
    assert.equal((await ask(server, 'PUT', '/', { body: 'x' })).status, 404);
});

test('what the page has to know before anybody signs in', async () => {
    const info = (await ask(server, 'GET', '/api/v1/server')).json();
    assert.equal(info.name, 'lazuli');
    for (const service of ['blob', 'queue', 'table', 'file'])
        assert.deepEqual(info.services[service], { port: server.ports[service], path: `/${service}` });
    assert.equal(info.wellKnownAccount, true);
});

test('a key signs in, another key and none do not', async () => {
    const answer = await askSigned(server, 'GET', '/api/v1/account');
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.json(), { name: ACCOUNT });
    const wrong = await askSigned(server, 'GET', '/api/v1/account', { key: Buffer.alloc(64).toString('base64') });
    assert.equal(wrong.status, 403);
    assert.equal(wrong.json().error.code, 'AuthenticationFailed');
    assert.equal((await ask(server, 'GET', '/api/v1/account')).status, 401);
    const other = await askSigned(server, 'GET', '/api/v1/account', { account: 'nobody' });
    assert.equal(other.status, 403);
});

test('a Host that is not of this machine is refused (DNS rebinding)', async () => {
    for (const host of ['evil.example', 'evil.example:10004', '127.0.0.1.evil.example', 'localhost.evil.example', '128.0.0.1', '127.0.0.256'])
        for (const path of ['/', '/api/v1/server', `/blob/${ACCOUNT}?comp=list`])
            assert.equal((await ask(server, 'GET', path, { headers: { Host: host } })).status, 421, host + path);
    for (const host of ['localhost', `localhost:${server.ports.admin}`, '127.0.0.1', '127.1.2.3:99', '[::1]:10004'])
        assert.equal((await ask(server, 'GET', '/api/v1/server', { headers: { Host: host } })).status, 200, host);
});

test('requests that a page of another site sends are refused', async () => {
    const own = `http://127.0.0.1:${server.ports.admin}`;
    const refused = [
        { Origin: 'http://evil.example' }, { Origin: 'null' }, { Origin: `${own}.evil.example` },
        { Origin: `https://127.0.0.1:${server.ports.admin}` },
        { 'Sec-Fetch-Site': 'cross-site' }, { 'Sec-Fetch-Site': 'same-site' },
        { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'no-cors' },
    ];
    for (const headers of refused)
        for (const [method, path] of [['GET', '/api/v1/server'], ['PUT', `/blob/${ACCOUNT}/c?restype=container`]]) {
            const answer = await ask(server, method, path, { headers });
            assert.equal(answer.status, 403, JSON.stringify(headers));
            assert.equal(answer.json().error.code, 'CrossSiteRequest');
        }
    for (const headers of [{ Origin: own }, { 'Sec-Fetch-Site': 'same-origin' }, { 'Sec-Fetch-Site': 'none' }, {}])
        assert.equal((await ask(server, 'GET', '/api/v1/server', { headers })).status, 200, JSON.stringify(headers));
    // A link on another page may open the console.
    const link = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' };
    assert.equal((await ask(server, 'GET', '/', { headers: link })).status, 200);
    assert.equal((await ask(server, 'GET', `/blob/${ACCOUNT}/c/b`, { headers: link })).status, 403);
});

test('the storage services answer on this origin, with the signatures of their own', async () => {
    const name = uniqueName();
    const made = await askStorage(server, 'blob', 'PUT', `/${ACCOUNT}/${name}?restype=container`);
    assert.equal(made.status, 201, made.text);
    const put = await askStorage(server, 'blob', 'PUT', `/${ACCOUNT}/${name}/a%20b.html`, {
        headers: { 'x-ms-blob-type': 'BlockBlob', 'Content-Type': 'text/html' }, body: '<script>1</script>',
    });
    assert.equal(put.status, 201, put.text);
    const got = await askStorage(server, 'blob', 'GET', `/${ACCOUNT}/${name}/a%20b.html`);
    assert.equal(got.text, '<script>1</script>');
    // Stored content cannot act as the console's page.
    assert.match(got.headers['content-security-policy'], /^sandbox;/);
    assert.equal(got.headers['x-content-type-options'], 'nosniff');
    const direct = await server.request('blob', 'GET', `/${name}/a%20b.html`);
    assert.equal(direct.text, got.text);
    assert.equal(direct.headers['content-security-policy'], undefined);
    const queue = await askStorage(server, 'queue', 'PUT', `/${ACCOUNT}/${name}`);
    assert.equal(queue.status, 201, queue.text);
    const share = await askStorage(server, 'file', 'PUT', `/${ACCOUNT}/${name}?restype=share`);
    assert.equal(share.status, 201, share.text);
    const table = await askStorage(server, 'table', 'POST', `/${ACCOUNT}/Tables`, {
        headers: { 'Content-Type': 'application/json', Accept: 'application/json;odata=fullmetadata' },
        body: JSON.stringify({ TableName: name }),
    });
    assert.equal(table.status, 201, table.text);
    // URLs in bodies lead to where the request came from.
    assert.match(table.json()['odata.metadata'], new RegExp(`^http://127.0.0.1:${server.ports.admin}/table/${ACCOUNT}/`));
    const list = await askStorage(server, 'blob', 'GET', `/${ACCOUNT}?comp=list&prefix=${name}`);
    assert.match(list.text, new RegExp(`ServiceEndpoint="http://127.0.0.1:${server.ports.admin}/blob/${ACCOUNT}/"`));
});

test('without credentials or with wrong ones the services refuse here as there', async () => {
    assertError({ ...await ask(server, 'GET', `/blob/${ACCOUNT}?comp=list`, { headers: { 'x-ms-version': '2025-11-05' } }), service: 'blob' },
        401, 'NoAuthenticationInformation');
    // A signature that covers the mount is none.
    const answer = await askSigned(server, 'GET', `/blob/${ACCOUNT}?comp=list`);
    assertError({ ...answer, service: 'blob' }, 403, 'AuthenticationFailed');
    // Hosts name no account here: this is the account "c", which is not served.
    const styled = await ask(server, 'GET', '/blob/c?comp=list', { headers: { Host: `localhost:${server.ports.admin}` } });
    assert.notEqual(styled.status, 200);
});

test('only health, metrics and control are on the services\' ports', async () => {
    for (const path of ['/_lazuli/', '/_lazuli/api/v1/server', '/_lazuli/index.html', '/_lazuli/blob/x']) {
        const answer = await ask(server, 'GET', path, { port: server.ports.blob });
        assert.equal(answer.status, 404, path);
    }
});

test('a port that was asked for and is in use ends the server', async () => {
    const ports = (await freePorts(4)).flatMap((port, i) => [`--${SERVICES[i]}-port`, String(port)]);
    const args = ['--in-memory', '--smb-port', 'off', ...ports, '--admin-port', String(server.ports.admin)];
    const ended = spawnSync(BIN, args, { encoding: 'utf8', timeout: 60000 });
    assert.equal(ended.status, 1, ended.stderr);
    assert.match(ended.stderr, /admin .*in use/i);
});

test('a usual port that is in use is named in a warning, and the rest is served', async () => {
    const holder = net.createServer().listen(10005, '127.0.0.1');
    await once(holder, 'listening').catch(() => {}); // then another program holds it
    const ports = (await freePorts(4)).flatMap((port, i) => [`--${SERVICES[i]}-port`, String(port)]);
    const child = spawn(BIN, ['--in-memory', '--smb-port', 'off', '--admin-port', 'off', ...ports], { stdio: ['ignore', 'ignore', 'pipe'], timeout: 60000 });
    let said = '';
    for await (const part of child.stderr)
        if (/dfs \S+ is in use/.test((said += part)))
            break;
    child.kill();
    holder.close();
    assert.match(said, /dfs 127\.0\.0\.1:10005 is in use: not served \(--dfs-port picks another\)/);
});
