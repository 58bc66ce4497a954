// SPDX-License-Identifier: Apache-2.0
// Shared Key and Shared Key Lite from outside: accepted requests, refused ones, and their error codes.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ContainerSASPermissions, generateBlobSASQueryParameters, StorageSharedKeyCredential } from '@azure/storage-blob';
import { ACCOUNT, assertError, assertRejects, hmac, KEY, send, sign, startServer, stringToSign, uniqueName } from './lib.mjs';

const OTHER = 'otheraccount';
const OTHER_KEY_1 = Buffer.from('the first key of the other account').toString('base64');
const OTHER_KEY_2 = Buffer.from('the second key of the other account').toString('base64');

let server;
let container;

before(async () => {
    server = await startServer({
        inMemory: true, services: ['blob', 'queue'],
        env: { AZURITE_ACCOUNTS: `${ACCOUNT}:${KEY};${OTHER}:${OTHER_KEY_1}:${OTHER_KEY_2}` },
    });
    container = (await server.blobs()).getContainerClient(uniqueName('c'));
    await container.create();
});
after(() => server.stop());

const path = () => `/${container.containerName}`;
const props = { query: { restype: 'container' } };
const get = (options = {}) => server.request('blob', 'GET', path(), { ...props, ...options });
/** Signs with the lib, then changes what it signed. */
const tampered = (change) => get({
    auth: (headers) => change(sign('GET', `/${ACCOUNT}${path()}`, 'restype=container', headers)),
});
const replaceSignature = (text) => (headers) =>
    headers.map(([name, value]) => [name, name === 'Authorization' ? value.replace(/:.*/, `:${text(value.split(':')[1])}`) : value]);

test('both schemes and both keys are let in', async () => {
    assert.equal((await get()).status, 200);
    assert.equal((await get({ auth: 'lite' })).status, 200);
    for (const key of [OTHER_KEY_1, OTHER_KEY_2]) {
        const answer = await server.request('blob', 'GET', '/', { query: 'comp=list', account: OTHER, key });
        assert.equal(answer.status, 200, answer.text);
    }
});

test('the account in the host name, and the secondary endpoint, by key and by SAS', async () => {
    const target = `${path()}?restype=container`;
    const date = new Date().toUTCString();
    const at = (host, signedPath) => {
        const headers = { 'x-ms-version': '2021-08-06', 'x-ms-date': date };
        const signed = sign('GET', signedPath, 'restype=container', headers);
        return (sent) => send(server.ports.blob, 'blob', 'GET', sent, [['Host', host], ...signed]);
    };
    const local = `${ACCOUNT}.blob.localhost:${server.ports.blob}`;
    assert.equal((await at(local, path())(target)).status, 200);
    assert.equal((await at(`${ACCOUNT}.blob.core.windows.net`, path())(target)).status, 200);
    assert.equal((await at(`${ACCOUNT}-secondary.blob.localhost`, path())(target)).status, 200);
    // The path is signed as it was sent: the form for the other style does not do.
    assertError(await at(local, `/${ACCOUNT}${path()}`)(target), 403, 'AuthenticationFailed');
    const secondary = `/${ACCOUNT}-secondary${target}`;
    assert.equal((await at('127.0.0.1', `/${ACCOUNT}-secondary${path()}`)(secondary)).status, 200);
    assert.equal((await at('127.0.0.1', `/${ACCOUNT}${path()}`)(secondary)).status, 200);
    const sas = generateBlobSASQueryParameters({ containerName: container.containerName, expiresOn: new Date(Date.now() + 600e3),
        permissions: ContainerSASPermissions.parse('l') }, new StorageSharedKeyCredential(ACCOUNT, KEY));
    const list = (prefix) => `${prefix}${path()}?restype=container&comp=list&${sas}`;
    assert.equal((await send(server.ports.blob, 'blob', 'GET', list(''), { Host: local })).status, 200);
    assert.equal((await send(server.ports.blob, 'blob', 'GET', list(`/${ACCOUNT}-secondary`), {})).status, 200);
    // Another account's host does not make it another account's signature.
    assertError(await send(server.ports.blob, 'blob', 'GET', list(''), { Host: `${OTHER}.blob.localhost` }), 403, 'AuthenticationFailed');
});

test('metadata whose names sort differently by collation and by bytes', async () => {
    const blob = container.getBlockBlobClient('collated');
    const metadata = { ab: '1', a_c: '2', a1: '3', a_: '4', aB_2: '5', b: 'two  spaces' };
    await blob.upload('x', 1, { metadata });
    assert.deepEqual((await blob.getProperties()).metadata,
        Object.fromEntries(Object.entries(metadata).map(([k, v]) => [k.toLowerCase(), v])));
});

test('names with characters that must be escaped', async () => {
    for (const name of ['a b', 'ü/é', 'a+b&c=d?e#f', "it's", '100%', 'a//b', '(1)', '日本']) {
        const blob = container.getBlockBlobClient(name);
        await blob.upload(name, Buffer.byteLength(name));
        assert.equal((await blob.downloadToBuffer()).toString(), name);
    }
});

test('a wrong key, account or signature is AuthenticationFailed', async () => {
    assertError(await get({ key: OTHER_KEY_1 }), 403, 'AuthenticationFailed');
    assertError(await tampered(replaceSignature((s) => s.slice(0, -1))), 403, 'AuthenticationFailed');
    assertError(await tampered(replaceSignature((s) => s.slice(0, -2) + '='.repeat(2))), 403, 'AuthenticationFailed');
    assertError(await tampered(replaceSignature((s) => s + s)), 403, 'AuthenticationFailed');
    assertError(await tampered(replaceSignature((s) => s.toLowerCase())), 403, 'AuthenticationFailed');
    assertError(await tampered(replaceSignature((s) => 'A'.repeat(20000))), 403, 'AuthenticationFailed');
    const other = (headers) => headers.map(([n, v]) => [n, n === 'Authorization' ? v.replace(ACCOUNT, OTHER) : v]);
    assertError(await tampered(other), 403, 'AuthenticationFailed');
});

test('what was signed cannot be changed', async () => {
    const changed = (name, value) => (headers) => headers.map(([n, v]) => [n, n === name ? value : v]);
    assertError(await tampered(changed('x-ms-version', '2020-02-10')), 403, 'AuthenticationFailed');
    assertError(await tampered((headers) => [...headers, ['x-ms-lease-id', 'x']]), 403, 'AuthenticationFailed');
    assertError(await tampered((headers) => [...headers, ['If-Match', '*']]), 403, 'AuthenticationFailed');
    const answer = await get({
        query: { restype: 'container', comp: 'list' },
        auth: (headers) => sign('GET', `/${ACCOUNT}${path()}`, 'restype=container', headers),
    });
    assertError(answer, 403, 'AuthenticationFailed');
});

test('the answer shows what the server signed, and not what would have been right', async () => {
    const answer = await get({ key: OTHER_KEY_1 });
    const [detail] = answer.xml('AuthenticationErrorDetail');
    assert.match(detail, /Server used following string to sign: 'GET\n\n\n/);
    assert.match(detail, new RegExp(`/${ACCOUNT}/${ACCOUNT}${path()}\nrestype:container'\\.$`));
    const date = detail.match(/x-ms-date:(.*)/)[1];
    const text = stringToSign('GET', `/${ACCOUNT}${path()}`, 'restype=container',
        { 'x-ms-version': detail.match(/x-ms-version:(.*)/)[1], 'x-ms-date': date });
    assert.ok(!answer.text.includes(hmac(text)) && !answer.text.includes(KEY));
});

test('a date that is too old, too new, missing or none', async () => {
    const at = (minutes) => new Date(Date.now() + minutes * 60000).toUTCString();
    for (const minutes of [-14, 14])
        assert.equal((await get({ headers: { 'x-ms-date': at(minutes) } })).status, 200);
    for (const date of [at(-16), at(16), 'yesterday', '', undefined, '2026-01-01T00:00:00Z'])
        assertError(await get({ headers: { 'x-ms-date': date } }), 403, 'AuthenticationFailed');
    assert.equal((await get({ headers: { 'x-ms-date': undefined, Date: at(0) } })).status, 200);
});

test('a request that was recorded is refused when it is old', async () => {
    let recorded;
    const keep = (headers) => recorded = sign('GET', `/${ACCOUNT}${path()}`, 'restype=container', headers);
    assert.equal((await get({ auth: keep })).status, 200);
    assert.equal((await get({ auth: () => recorded })).status, 200);
    server.advance(16 * 60000);
    assertError(await get({ auth: () => recorded }), 403, 'AuthenticationFailed');
});

test('a malformed Authorization is InvalidAuthenticationInfo', async () => {
    for (const value of ['SharedKey', `SharedKey ${ACCOUNT}`, 'SharedKey :x', 'Basic YTpi', 'Digest x'])
        assertError(await get({ auth: (h) => [...Object.entries(h), ['Authorization', value]] }), 400,
            'InvalidAuthenticationInfo');
    const twice = (headers) => { const all = sign('GET', `/${ACCOUNT}${path()}`, 'restype=container', headers);
        return [...all, all.at(-1)]; };
    assertError(await get({ auth: twice }), 400, 'InvalidAuthenticationInfo');
});

test('a signed header that is there twice is refused', async () => {
    assertError(await get({ headers: { 'x-ms-meta-a': ['1', '2'] } }), 400, 'InvalidHeaderValue');
    assertError(await get({ headers: { 'Content-Type': ['a/b', 'a/b'] } }), 400, 'InvalidHeaderValue');
});

test('nobody without credentials: 401 with a challenge, 404 for old clients', async () => {
    const now = await get({ auth: 'none' });
    assertError(now, 401, 'NoAuthenticationInformation');
    assert.match(now.headers['www-authenticate'], /^Bearer authorization_uri=https:\S+ resource_id=https:\S+$/);
    assertError(await get({ auth: 'none', headers: { 'x-ms-version': '2019-07-07' } }), 404, 'ResourceNotFound');
    assertError(await server.request('queue', 'GET', '/', { query: 'comp=list', auth: 'none' }), 401,
        'NoAuthenticationInformation');
});

test('an account that there is not', async () => {
    assertError(await server.request('blob', 'GET', '/', { query: 'comp=list', account: 'nobody' }), 403,
        'AuthenticationFailed');
    await assertRejects((await server.blobs({ account: 'nobody' })).getContainerClient('c').create(), 403,
        'AuthenticationFailed');
});

test('a client cannot write headers into an error', async () => {
    for (const query of ['comp=x%0A%40Set-Cookie%09a%3Db', 'comp=x%0D%0ASet-Cookie%3A%20a%3Db',
        'restype=container&comp=%0A@X-Injected%09yes'])
        for (const auth of ['key', 'none']) {
            const answer = await get({ query, auth });
            assert.ok(answer.status >= 400);
            assert.ok(!('set-cookie' in answer.headers) && !('x-injected' in answer.headers));
        }
});

test('metadata without a value counts only where it is signed', async () => {
    const blob = `${path()}/labelled`;
    const stored = async (version) => {
        const headers = { 'x-ms-version': version, 'x-ms-blob-type': 'BlockBlob', 'x-ms-meta-signed': 'yes' };
        const signed = (all) => [...sign('PUT', `/${ACCOUNT}${blob}`, '', all), ['x-ms-meta-added', '']];
        const answer = await server.request('blob', 'PUT', blob, { headers, body: 'x', auth: signed });
        return { status: answer.status, names: (await server.request('blob', 'HEAD', blob)).rawHeaders.filter((name) => name.startsWith('x-ms-meta-')) };
    };
    // Versions before 2016-05-31 leave empty headers out of what is signed.
    assert.deepEqual(await stored('2015-12-11'), { status: 201, names: ['x-ms-meta-signed'] });
    assert.equal((await stored('2016-05-31')).status, 403);
});

test('what was signed without a body is not good for one in chunks', async () => {
    const blob = `${path()}/signed`;
    assert.equal((await server.request('blob', 'PUT', blob, { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'kept' })).status, 201);
    const queue = `/${uniqueName('q')}`;
    assert.equal((await server.request('queue', 'PUT', queue)).status, 201);
    const acl = '<SignedIdentifiers></SignedIdentifiers>';
    for (const [service, method, target, query, headers, body] of [
        ['blob', 'PUT', blob, '', { 'x-ms-blob-type': 'BlockBlob' }, 'another'],
        ['blob', 'PUT', blob, 'comp=block&blockid=AAAA', {}, 'another'],
        ['blob', 'PUT', blob, 'comp=blocklist', {}, '<BlockList></BlockList>'],
        ['blob', 'PUT', blob, 'comp=tags', {}, '<Tags><TagSet></TagSet></Tags>'],
        ['blob', 'PUT', path(), 'restype=container&comp=acl', { 'x-ms-blob-public-access': 'container' }, acl],
        ['blob', 'PUT', '/', 'restype=service&comp=properties', {}, '<StorageServiceProperties></StorageServiceProperties>'],
        ['blob', 'POST', '/', 'comp=batch', { 'Content-Type': 'multipart/mixed; boundary=b' }, '--b--'],
        ['queue', 'PUT', queue, 'comp=acl', {}, acl],
        ['queue', 'POST', `${queue}/messages`, '', {}, '<QueueMessage><MessageText>x</MessageText></QueueMessage>'],
    ]) {
        const answer = await server.request(service, method, target, {
            query, headers, body,
            auth: (all) => {
                const empty = { ...all, 'Content-Length': '0' };
                const signed = sign(method, `/${ACCOUNT}${target}`, query, empty);
                return [...signed.filter(([name]) => name !== 'Content-Length'), ['Transfer-Encoding', 'chunked']];
            },
        });
        assertError(answer, 411, 'MissingContentLengthHeader');
    }
    assert.equal((await server.request('blob', 'GET', blob)).text, 'kept');
});

test('a plus in a query: what was signed, a space or a plus, is what is done', async () => {
    for (const name of ['a b/x', 'a+b/x'])
        await container.getBlockBlobClient(name).upload('x', 1);
    const list = async (sent, signed) => {
        const query = (prefix) => `comp=list&prefix=${prefix}&restype=container`;
        const answer = await get({
            query: query(sent), auth: (headers) => sign('GET', `/${ACCOUNT}${path()}`, query(signed), headers),
        });
        return answer.status === 200 ? answer.xml('Name') : answer.status;
    };
    assert.deepEqual(await list('a+b%2F', 'a%20b%2F'), ['a b/x']);
    assert.deepEqual(await list('a%20b%2F', 'a%20b%2F'), ['a b/x']);
    assert.deepEqual(await list('a+b%2F', 'a%2Bb%2F'), ['a+b/x']);
    assert.deepEqual(await list('a%2Bb%2F', 'a%2Bb%2F'), ['a+b/x']);
    assert.equal(await list('a%2Bb%2F', 'a%20b%2F'), 403);
    assert.equal(await list('a%20b%2F', 'a%2Bb%2F'), 403);
    // Not one of each.
    assert.equal(await list('a+b+', 'a%20b%2B'), 403);
});

test('an empty header is an absent one, and signed as it was sent', async () => {
    const blob = `${path()}/empty`;
    const put = (headers) => server.request('blob', 'PUT', blob, { headers: { 'x-ms-blob-type': 'BlockBlob', ...headers }, body: 'x' });
    const call = (method, query, headers) => server.request('blob', method, query.includes('restype') ? path() : blob, { query, headers });
    const empties = (...names) => Object.fromEntries(names.map((name) => [name, '']));
    const conditions = ['If-Match', 'If-None-Match', 'If-Modified-Since', 'If-Unmodified-Since', 'x-ms-if-tags'];
    for (const auth of [['x-ms-version', '2025-11-05'], ['x-ms-version', '2015-12-11']].map((pair) => Object.fromEntries([pair])))
        for (const name of [...conditions.slice(0, 4), 'x-ms-lease-id', 'x-ms-access-tier', 'x-ms-tags', 'Content-MD5', 'x-ms-blob-content-md5',
            'x-ms-copy-source', 'x-ms-content-crc64', 'x-ms-encryption-scope', 'x-ms-immutability-policy-until-date', 'x-ms-structured-body', 'Range',
            'Origin', 'Expect', 'x-ms-client-request-id']) {
            if (auth['x-ms-version'] < '2016' && name.startsWith('x-ms-'))
                continue; // the version that did not sign them yet, see the unit tests
            const answer = await put({ ...auth, [name]: '' });
            assert.equal(answer.status, 201, `${name}: ${answer.text}`);
        }
    assert.equal((await call('GET', '', empties(...conditions, 'Range', 'x-ms-range', 'x-ms-lease-id', 'x-ms-range-get-content-md5'))).status, 200);
    const lease = await call('PUT', 'comp=lease', { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '15', 'x-ms-proposed-lease-id': '', 'If-Match': '' });
    assert.equal(lease.status, 201, lease.text);
    assertError(await put({ 'x-ms-lease-id': '' }), 412, 'LeaseIdMissing');
    assert.equal((await call('PUT', 'comp=lease', { 'x-ms-lease-action': 'break', 'x-ms-lease-break-period': '', 'x-ms-lease-id': '' })).status, 202);
    const acl = await server.request('blob', 'PUT', path(), {
        query: 'restype=container&comp=acl', headers: { 'x-ms-blob-public-access': '', 'x-ms-lease-id': '' }, body: '<SignedIdentifiers />',
    });
    assert.equal(acl.status, 200, acl.text);
    assertError(await put({ 'x-ms-blob-type': '' }), 400, 'MissingRequiredHeader');
    assertError(await get({ auth: (h) => [...Object.entries(h), ['Authorization', '']] }), 401, 'NoAuthenticationInformation');
});
