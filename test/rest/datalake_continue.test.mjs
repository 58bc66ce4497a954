// SPDX-License-Identifier: Apache-2.0
// Recursive operations that continue page by page: with a restarted client, with a server killed in between, and never
// past unchecked paths.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createSign, generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import https from 'node:https';
import { ACCOUNT, BIN, KEY, startServer } from './lib.mjs';

const folder = mkdtempSync(join(tmpdir(), 'lazuli-continue-'));
const file = (name) => join(folder, name);
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const [user, stranger] = [randomUUID(), randomUUID()];
const FLAT = 'flataccount';
let server; // plain
let secure; // with tokens, which are taken over TLS only
before(async () => {
    execFileSync(BIN, ['cert', file('cert.pem'), file('key.pem')]);
    writeFileSync(file('keys.json'), JSON.stringify({ keys: [{ ...rsa.publicKey.export({ format: 'jwk' }), kid: 'r', use: 'sig' }] }));
    writeFileSync(file('roles'), '');
    server = await startServer({
        services: ['blob'], env: { AZURITE_ACCOUNTS: `${ACCOUNT}:${KEY};${FLAT}:${KEY}` }, args: ['--silent', '--hns', ACCOUNT],
    });
    secure = await startServer({
        services: ['blob'],
        args: ['--silent', '--hns', ACCOUNT, '--cert', file('cert.pem'), '--key', file('key.pem'), '--oauth',
            `jwks=${file('keys.json')},issuer=https://issuer.test/,audience=https://lazuli.test,roles=${file('roles')}`],
    });
});
after(async () => {
    await server?.stop();
    await secure?.stop();
    rmSync(folder, { recursive: true });
});

function token(oid) {
    const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const now = Math.floor(Date.now() / 1000);
    const text = `${part({ typ: 'JWT', alg: 'RS256', kid: 'r' })}.${part({ iss: 'https://issuer.test/', aud: 'https://lazuli.test',
        tid: 't', oid, iat: now, nbf: now - 60, exp: now + 3600 })}`;
    return `${text}.${createSign('sha256').update(text).sign(rsa.privateKey).toString('base64url')}`;
}

/** By the key, or by a token. */
function ask(method, path, query = {}, { headers = {}, body, oid, account = ACCOUNT, at = server } = {}) {
    const text = new URLSearchParams(query).toString();
    const all = { 'x-ms-version': '2023-11-03', 'Content-Length': Buffer.byteLength(body ?? ''), ...headers };
    if (oid === undefined)
        return at.request('blob', method, path, { query: text, headers, body: body ?? (['PUT', 'PATCH'].includes(method) ? '' : undefined), account });
    return new Promise((resolve, reject) => {
        const request = https.request({ host: '127.0.0.1', port: secure.ports.blob, method, path: `/${account}${path}?${text}`, rejectUnauthorized: false,
            headers: { ...all, Authorization: `Bearer ${token(oid)}` } }, (response) => {
            response.resume().on('end', () => resolve({ status: response.statusCode, headers: response.headers }));
        });
        request.on('error', reject).end(body);
    });
}

const must = async (status, ...args) => {
    const answer = await ask(...args);
    assert.equal(answer.status, status, `${args.slice(0, 2).join(' ')}: ${answer.status} ${answer.headers['x-ms-error-code']}`);
    return answer;
};

const listed = async (fs, { account, at } = {}) => {
    const names = [];
    for (let more; more !== null;) {
        const answer = await must(200, 'GET', `/${fs}`, { resource: 'filesystem', recursive: 'true', maxResults: '7', ...more }, { account, at });
        names.push(...answer.json().paths.map(({ name }) => name));
        const continuation = answer.headers['x-ms-continuation'];
        more = continuation === undefined ? null : { continuation };
    }
    return names;
};

test('SetPathAccessControlRecursive goes on after kill -9 of the server between pages', async () => {
    await must(201, 'PUT', '/acl', { resource: 'filesystem' });
    for (let i = 0; i < 25; i++)
        await must(201, 'PUT', `/acl/d/s${i % 5}/f${i}`, { resource: 'file' });
    let changed = 0;
    let pages = 0;
    for (let more = {}; more !== null; pages++) {
        const answer = await must(200, 'PATCH', '/acl/d', { action: 'setAccessControlRecursive', mode: 'modify', maxRecords: '4', ...more },
            { headers: { 'x-ms-acl': `user:${user}:rwx` } });
        const { directoriesSuccessful, filesSuccessful, failureCount } = answer.json();
        assert.equal(failureCount, 0);
        changed += directoriesSuccessful + filesSuccessful;
        const continuation = answer.headers['x-ms-continuation'];
        more = continuation === undefined ? null : { continuation };
        if (pages % 3 === 0)
            await server.restart({ crash: true });
    }
    assert.equal(changed, 31);
    assert.ok(pages >= 8);
    for (const path of ['d', 'd/s3', 'd/s3/f23'])
        assert.match((await must(200, 'HEAD', `/acl/${path}`, { action: 'getAccessControl' })).headers['x-ms-acl'], new RegExp(`user:${user}:rwx`));
});

test('ListPaths goes on after kill -9', async () => {
    const first = await must(200, 'GET', '/acl', { resource: 'filesystem', recursive: 'true', maxResults: '10' });
    await server.restart({ crash: true });
    const rest = await must(200, 'GET', '/acl', { resource: 'filesystem', recursive: 'true', continuation: first.headers['x-ms-continuation'] });
    assert.deepEqual([...first.json().paths, ...rest.json().paths].map(({ name }) => name), await listed('acl'));
});

// More directories than one call looks at (PATH_CHECK_MAX): 50 that are 51 deep.
const CHAINS = Array.from({ length: 50 }, (_, i) => `d/n${String(i).padStart(2, '0')}`);

test('DeletePath by somebody whom only lists let in: in pages, and all at once with the last', async () => {
    const at = secure;
    await must(201, 'PUT', '/del', { resource: 'filesystem' }, { at });
    const rights = (id) => `user::rwx,user:${id}:rwx,group::r-x,other::---,default:user::rwx,default:user:${id}:rwx,default:group::r-x,default:other::---`;
    await must(200, 'PATCH', '/del/', { action: 'setAccessControl' }, { headers: { 'x-ms-acl': rights(user) }, at });
    for (const chain of CHAINS)
        await must(201, 'PUT', `/del/${chain}${'/x'.repeat(50)}`, { resource: 'directory' }, { at });
    const query = { recursive: 'true', paginated: 'true' };
    const first = await must(200, 'DELETE', '/del/d', query, { oid: user });
    const continuation = first.headers['x-ms-continuation'];
    assert.ok(continuation !== undefined, 'not all of it in one call');
    await must(200, 'HEAD', '/del/d/n00', { action: 'getStatus' }, { at });
    // Made up, changed, for another path, by another caller: refused, and nothing goes.
    const other = Buffer.from(continuation, 'base64');
    other[other.length - 1] ^= 1;
    await must(201, 'PUT', '/del/e/x', { resource: 'directory' }, { at });
    for (const [path, made, oid] of [['d', Buffer.from('d/n49').toString('base64'), user], ['d', other.toString('base64'), user],
        ['e', continuation, user], ['d', continuation, stranger]]) {
        const answer = await ask('DELETE', `/del/${path}`, { ...query, continuation: made }, { oid });
        assert.ok([400, 403].includes(answer.status), `${path} ${made}: ${answer.status}`);
    }
    secure.advance(11 * 60_000);
    assert.equal((await ask('DELETE', '/del/d', { ...query, continuation }, { oid: user })).status, 400, 'not for ever');
    await must(200, 'HEAD', '/del/d/n49', { action: 'getStatus' }, { at });
    const again = await must(200, 'DELETE', '/del/d', query, { oid: user });
    await secure.restart({ crash: true });
    let pages = 1;
    for (let more = again.headers['x-ms-continuation']; more !== undefined; pages++)
        more = (await must(200, 'DELETE', '/del/d', { ...query, continuation: more }, { oid: user })).headers['x-ms-continuation'];
    assert.equal(pages, 2);
    assert.deepEqual(await listed('del', { at }), ['e', 'e/x']);
});

test('a flat account moves and deletes directories in pages, after kill -9 too', async () => {
    await must(201, 'PUT', '/flat', { resource: 'filesystem' }, { account: FLAT });
    const makes = Array.from({ length: 16 }, async (_, worker) => {
        for (let i = worker; i < 1500; i += 16)
            await must(201, 'PUT', `/flat/d/f${i}`, { resource: 'file' }, { account: FLAT });
    });
    await Promise.all(makes);
    const pages = async (method, path, query, headers) => {
        let count = 0;
        for (let more = {}; more !== null; count++) {
            const answer = await ask(method, path, { ...query, ...more }, { headers, account: FLAT });
            assert.ok(answer.status < 300, `${answer.status} ${answer.text}`);
            const continuation = answer.headers['x-ms-continuation'];
            more = continuation === undefined ? null : { continuation };
            await server.restart({ crash: true });
        }
        return count;
    };
    assert.equal(await pages('PUT', '/flat/e', { mode: 'legacy' }, { 'x-ms-rename-source': '/flat/d' }), 2);
    const moved = await listed('flat', { account: FLAT });
    assert.equal(moved.length, 1500);
    assert.ok(moved.every((name) => name.startsWith('e/')));
    assert.equal(await pages('DELETE', '/flat/e', { recursive: 'true' }, {}), 2);
    assert.deepEqual(await listed('flat', { account: FLAT }), []);
});

test('a continuation that was made up deletes and moves no less, and finds no path that is not there', async () => {
    const of = (text) => ({ continuation: Buffer.from(text).toString('base64') });
    const flat = { account: FLAT };
    await must(201, 'PUT', '/madeup', { resource: 'filesystem' }, flat);
    for (const name of ['d/a', 'd/b', 'd/c'])
        await must(201, 'PUT', `/madeup/${name}`, { resource: 'file' }, flat);
    const rename = (from) => ({ ...flat, headers: { 'x-ms-rename-source': `/madeup/${from}` } });
    for (const token of ['none/a', 'elsewhere', 'd/b']) {
        const answer = await must(404, 'DELETE', '/madeup/none', { recursive: 'true', ...of(token) }, flat);
        assert.equal(answer.json().error.code, 'PathNotFound');
        await must(404, 'PUT', '/madeup/new', { mode: 'legacy', ...of(token) }, rename('none'));
    }
    await must(400, 'DELETE', '/madeup/d', { recursive: 'true', ...of('elsewhere') }, flat);
    await must(400, 'PUT', '/madeup/e', { mode: 'legacy', ...of('elsewhere') }, rename('d'));
    await must(201, 'PUT', '/madeup/e', { mode: 'legacy', ...of('d/b') }, rename('d'));
    assert.deepEqual(await listed('madeup', flat), ['e/a', 'e/b', 'e/c']);
    await must(200, 'DELETE', '/madeup/e', { recursive: 'true', ...of('e/z') }, flat);
    assert.deepEqual(await listed('madeup', flat), []);
});

test('what was appended survives kill -9 before each flush', async () => {
    await must(201, 'PUT', '/appended', { resource: 'filesystem' });
    const sizes = [10, 4096, 4000, 9000, 100];
    let [position, expected] = [0, ''];
    await must(201, 'PUT', '/appended/d/f', { resource: 'file' });
    for (const [i, size] of sizes.entries()) {
        const body = String.fromCharCode(97 + i).repeat(size);
        await must(202, 'PATCH', '/appended/d/f', { action: 'append', position: String(position) }, { body });
        await server.restart({ crash: true });
        assert.equal((await ask('GET', '/appended/d/f')).text, i < 3 ? '' : expected.slice(0, 8106 + (i > 3 ? 9000 : 0)), `before flush ${i}`);
        position += size;
        expected += body;
        if (i >= 2)
            await must(200, 'PATCH', '/appended/d/f', { action: 'flush', position: String(position) });
        await server.restart({ crash: true });
    }
    assert.equal((await ask('GET', '/appended/d/f')).text, expected);
});

test('a file system that was there before the account became hierarchical stays flat', async () => {
    const old = await startServer({ services: ['blob'], dfs: true });
    const names = async (query) => (await old.request('dfs', 'GET', '/old', { query: `resource=filesystem&${query}` })).json().paths;
    try {
        await old.request('dfs', 'PUT', '/old', { query: 'resource=filesystem', body: '' });
        for (const path of ['a/b/f', 'a/f', 'f'])
            assert.equal((await old.request('dfs', 'PUT', `/old/${path}`, { query: 'resource=file', body: '' })).status, 201);
        old.options.args = ['--hns', 'on'];
        await old.restart();
        assert.deepEqual((await names('recursive=false')).map(({ name }) => name), ['a', 'f']);
        assert.deepEqual((await names('recursive=false&directory=a')).map(({ name }) => name), ['a/b', 'a/f']);
        assert.ok((await names('recursive=true')).every((path) => !('owner' in path)));
        const blobs = await old.request('blob', 'GET', '/old', { query: 'restype=container&comp=list' });
        assert.ok(!blobs.text.includes('<ResourceType>'));
        assert.equal((await old.request('dfs', 'HEAD', '/old/', { query: 'action=getAccessControl' })).status, 400);
    } finally {
        await old.stop();
    }
});
