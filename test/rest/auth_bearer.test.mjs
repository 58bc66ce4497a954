// SPDX-License-Identifier: Apache-2.0
// Bearer tokens over HTTPS, user delegation keys, roles, and what TLS accepts.
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { createSign, generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import * as blobs from '@azure/storage-blob';
import * as queues from '@azure/storage-queue';
import { ACCOUNT, assertRejects, BIN, KEY, startServer, uniqueName } from './lib.mjs';

// The certificate is the server's own; that it is checked is the business of test/http/tls.test.mjs.
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
process.removeAllListeners('warning');

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'lazuli-bearer-'));
const file = (name) => join(folder, name);
const noRetry = { retryOptions: { maxTries: 1 } };
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 });
const owner = randomUUID();
const reader = randomUUID();
const delegator = randomUUID();

let basic;
let strict;

before(async () => {
    execFileSync(BIN, ['cert', file('cert.pem'), file('key.pem')]);
    const jwk = (pair, kid) => ({ ...pair.publicKey.export({ format: 'jwk' }), kid, use: 'sig' });
    writeFileSync(file('keys.json'), JSON.stringify({ keys: [jwk(rsa, 'r'), jwk(ec, 'e')] }));
    writeFileSync(file('roles'), `${owner} * * owner\n${reader} ${ACCOUNT} readable reader\nteam ${ACCOUNT} readable reader\n` +
        `${delegator} ${ACCOUNT} * delegator\n`);
    const tls = ['--cert', file('cert.pem'), '--key', file('key.pem')];
    basic = await startServer({ services: ['blob', 'queue', 'file'], args: [...tls, '--oauth', 'basic'] });
    strict = await startServer({
        inMemory: true, services: ['blob'],
        args: [...tls, '--oauth', `jwks=${file('keys.json')},issuer=https://issuer.test/,audience=https://lazuli.test,roles=${file('roles')}`],
    });
});
after(async () => {
    await basic?.stop();
    await strict?.stop();
    rmSync(folder, { recursive: true });
});

const seconds = () => Math.floor(Date.now() / 1000);
const part = (value) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
function token(claims, { alg = 'RS256', kid = 'r', pair = rsa } = {}) {
    const text = `${part({ typ: 'JWT', alg, kid })}.${part({ iat: seconds(), nbf: seconds() - 5, exp: seconds() + 600, ...claims })}`;
    if (pair === null)
        return `${text}.`;
    const key = alg === 'ES256' ? { key: pair.privateKey, dsaEncoding: 'ieee-p1363' } : pair.privateKey;
    return `${text}.${createSign('sha256').update(text).sign(key).toString('base64url')}`;
}
const credential = (text) => ({ getToken: async () => ({ token: text, expiresOnTimestamp: Date.now() + 600e3 }) });
const httpsUrl = (server, service = 'blob') => server.url(service).replace('http:', 'https:');
const client = (server, text) => new blobs.BlobServiceClient(httpsUrl(server), credential(text), noRetry);
const azure = { iss: 'https://sts.windows.net/a-tenant/', aud: 'https://storage.azure.com', oid: 'an-oid', tid: 'a-tenant' };
const unsigned = (claims = {}) => token({ ...azure, ...claims }, { pair: null, alg: 'none' });
const list = (service) => service.listContainers().next();

// ---- basic ----------------------------------------------------------------------------------------------------------

test('basic: claims are checked, signatures are not', async () => {
    const service = client(basic, unsigned());
    const container = service.getContainerClient(uniqueName('c'));
    await container.create();
    await container.getBlockBlobClient('b').upload('hello', 5);
    assert.equal((await container.getBlockBlobClient('b').downloadToBuffer()).toString(), 'hello');
    const policy = { id: 'p', accessPolicy: { permissions: 'r', startsOn: new Date(0), expiresOn: new Date(Date.now() + 600e3) } };
    await container.setAccessPolicy(undefined, [policy]);
    assert.equal((await container.getAccessPolicy()).signedIdentifiers[0].id, 'p');
    for (const claims of [{ exp: seconds() - 1 }, { nbf: seconds() + 60 }, { aud: 'https://other.test' }, { iss: 'https://other.test/' },
        { aud: 'https://another.blob.core.windows.net' }, { exp: undefined }, { aud: undefined }, { exp: 'soon' }])
        await assertRejects(list(client(basic, unsigned(claims))), 401, 'InvalidAuthenticationInfo');
    for (const text of ['', 'x', 'a.b.c', `${part('{}')}.${part('{}')}.`])
        await assertRejects(list(client(basic, text)), 401, 'InvalidAuthenticationInfo');
});

test('the file service wants to know what a token is used for', async () => {
    const { ShareServiceClient } = await import('@azure/storage-file-share');
    const shares = (options) => new ShareServiceClient(httpsUrl(basic, 'file'), credential(unsigned()), { ...noRetry, ...options });
    const name = uniqueName('s');
    await assertRejects(shares({ fileRequestIntent: 'fun' }).getShareClient(name).create(), 400, 'InvalidHeaderValue');
    const share = shares({ fileRequestIntent: 'backup' }).getShareClient(name);
    await share.create();
    await shares({}).getShareClient(name).getProperties();
    await assertRejects(shares({}).getShareClient(name).getDirectoryClient('d').create(), 400, 'MissingRequiredHeader');
    await assertRejects(shares({}).getShareClient(name).createPermission('O:SY'), 400, 'MissingRequiredHeader');
    const file = share.getDirectoryClient('').getFileClient('f');
    await file.create(5);
    await file.uploadRange('hello', 0, 5);
    assert.equal((await file.downloadToBuffer()).toString(), 'hello');
});

test('a token is not taken over HTTP, nor by a server that was not told to', async () => {
    const headers = { Authorization: `Bearer ${unsigned()}` };
    const plain = await basic.request('blob', 'GET', '/', { query: 'comp=list', auth: (h) => ({ ...h, ...headers }) });
    assert.equal(plain.status, 403);
    assert.match(plain.text, /Authentication scheme Bearer is not allowed with HTTP/);
    assert.match(plain.headers['www-authenticate'], /^Bearer authorization_uri=/);
});

// As the cloud was recorded to answer, and as every SDK wants it to get a new token by itself.
test('a token that is refused is asked for again, for the audience of the challenge', async () => {
    const asked = [];
    const renewing = (server, aud, make) => new blobs.BlobServiceClient(httpsUrl(server), {
        getToken: async (scopes) => {
            asked.push([scopes].flat()[0]);
            return { token: asked.length === 1 ? make({ aud: 'https://disk.compute.azure.com' }) : make({ aud }), expiresOnTimestamp: Date.now() + 3600e3 };
        },
    }, noRetry);
    await list(renewing(basic, 'https://storage.azure.com', unsigned));
    assert.deepEqual(asked.splice(0), ['https://storage.azure.com/.default', 'https://storage.azure.com/.default']);
    await list(renewing(strict, ours.aud, (claims) => token({ ...ours, oid: owner, ...claims })));
    assert.deepEqual(asked.splice(0), ['https://storage.azure.com/.default', `${ours.aud}/.default`]);
});

// ---- delegation -----------------------------------------------------------------------------------------------------

test('GetUserDelegationKey, and a SAS made with it', async () => {
    const service = client(basic, unsigned());
    const container = service.getContainerClient(uniqueName('c'));
    await container.create();
    await container.getBlockBlobClient('b').upload('hello', 5);
    const [start, end] = [new Date(Date.now() - 60e3), new Date(Date.now() + 3600e3)];
    const key = await service.getUserDelegationKey(start, end);
    assert.equal(key.signedObjectId, azure.oid);
    assert.equal(key.signedTenantId, azure.tid);
    const at = (values, with_ = key) => new blobs.BlockBlobClient(`${container.url}/b?${blobs.generateBlobSASQueryParameters(
        { containerName: container.containerName, expiresOn: end, ...values }, with_, ACCOUNT)}`, undefined, noRetry);
    for (const version of ['2018-11-09', '2020-02-10', '2020-12-06', '2025-07-05', '2026-04-06', undefined]) {
        const common = { blobName: 'b', permissions: blobs.BlobSASPermissions.parse('r'), version };
        assert.equal((await at(common).downloadToBuffer()).toString(), 'hello', version);
        assert.equal((await at({ ...common, blobName: undefined, permissions: blobs.ContainerSASPermissions.parse('r') }).getProperties()).contentLength, 5);
    }
    const readable = { blobName: 'b', permissions: blobs.BlobSASPermissions.parse('r') };
    await assertRejects(at(readable).upload('x', 1), 403, 'AuthorizationPermissionMismatch');
    await assertRejects(at(readable, { ...key, signedObjectId: 'another' }).download(), 403, 'AuthenticationFailed');
    await assertRejects(at(readable, { ...key, signedExpiresOn: new Date(Date.now() + 86400e3) }).download(), 403, 'AuthenticationFailed');
    // For one user only, whose own token must come along.
    const mine = at({ ...readable, delegatedUserObjectId: azure.oid });
    await assertRejects(mine.download(), 403, 'AuthenticationFailed');
    const withToken = (oid) => new blobs.BlockBlobClient(mine.url, credential(unsigned({ oid })), noRetry);
    assert.equal((await withToken(azure.oid).downloadToBuffer()).toString(), 'hello');
    await assertRejects(withToken('another').download(), 403, 'AuthenticationFailed');
    // Rotating the account's key takes it all back.
    await run(BIN, ['account', 'rotate-key', ACCOUNT, '1', '--data', basic.data]);
    await assertRejects(at(readable).download(), 403, 'AuthenticationFailed');
    const fresh = await service.getUserDelegationKey(start, end);
    assert.equal((await at(readable, fresh).downloadToBuffer()).toString(), 'hello');
});

test('GetUserDelegationKey: times', async () => {
    const service = client(basic, unsigned());
    const at = (ms) => new Date(Date.now() + ms);
    await assertRejects(service.getUserDelegationKey(at(0), at(8 * 86400e3)), 400, 'InvalidXmlNodeValue');
    await assertRejects(service.getUserDelegationKey(at(-7200e3), at(-3600e3)), 400, 'InvalidXmlNodeValue');
    await assertRejects(service.getUserDelegationKey(at(3600e3), at(60e3)), 400, 'InvalidXmlNodeValue');
    const keyed = await strict.blobs();
    await assertRejects(keyed.getUserDelegationKey(at(0), at(60e3)), 403, 'AuthenticationFailed');
});

test('a queue SAS by delegation', async () => {
    const service = new queues.QueueServiceClient(httpsUrl(basic, 'queue'), credential(unsigned()), noRetry);
    const queueName = uniqueName('q');
    await service.createQueue(queueName);
    const end = new Date(Date.now() + 3600e3);
    const key = await service.getUserDelegationKey(new Date(Date.now() - 60e3), end);
    const sas = queues.generateQueueSASQueryParameters({ queueName, expiresOn: end, permissions: queues.QueueSASPermissions.parse('a') }, key, ACCOUNT);
    const queue = new queues.QueueClient(`${httpsUrl(basic, 'queue')}/${queueName}?${sas}`, undefined, noRetry);
    await queue.sendMessage('m');
    await assertRejects(queue.peekMessages(), 403, 'AuthorizationPermissionMismatch');
});

// ---- signed tokens and roles ----------------------------------------------------------------------------------------

const ours = { iss: 'https://issuer.test', aud: 'https://lazuli.test' };

test('jwks: only what one of the keys signed', async () => {
    for (const options of [{}, { alg: 'ES256', kid: 'e', pair: ec }])
        await list(client(strict, token({ ...ours, oid: owner }, options)));
    for (const options of [{ pair: stranger }, { kid: 'unknown' }, { pair: null, alg: 'none' }, { pair: null }, { alg: 'HS256' },
        { alg: 'ES256', kid: 'e', pair: rsa }, { alg: 'ES256', kid: 'r', pair: ec }])
        await assertRejects(list(client(strict, token({ ...ours, oid: owner }, options))), 401, 'InvalidAuthenticationInfo');
    for (const claims of [{ iss: azure.iss }, { aud: azure.aud }, { exp: seconds() - 1 }])
        await assertRejects(list(client(strict, token({ ...ours, oid: owner, ...claims }))), 401, 'InvalidAuthenticationInfo');
    const good = token({ ...ours, oid: owner });
    const [header, claims, signature] = good.split('.');
    const forged = `${header}.${part({ ...JSON.parse(Buffer.from(claims, 'base64url')), oid: 'king' })}.${signature}`;
    await assertRejects(list(client(strict, forged)), 401, 'InvalidAuthenticationInfo');
});

test('roles: reader, owner, delegator, group, nobody', async () => {
    const as = (claims) => client(strict, token({ ...ours, ...claims }));
    const all = as({ oid: owner });
    await all.createContainer('readable');
    await all.createContainer('other');
    await all.getContainerClient('readable').getBlockBlobClient('b').upload('hello', 5);
    await all.getContainerClient('readable').setAccessPolicy();
    for (const service of [as({ oid: reader }), as({ groups: ['team'] })]) {
        const blob = service.getContainerClient('readable').getBlockBlobClient('b');
        assert.equal((await blob.downloadToBuffer()).toString(), 'hello');
        await assertRejects(blob.upload('x', 1), 403, 'AuthorizationPermissionMismatch');
        await assertRejects(blob.delete(), 403, 'AuthorizationPermissionMismatch');
        await assertRejects(service.getContainerClient('other').getBlockBlobClient('b').download(), 403, 'AuthorizationPermissionMismatch');
        await assertRejects(list(service), 403, 'AuthorizationPermissionMismatch');
        await assertRejects(service.getContainerClient('readable').getAccessPolicy(), 403, 'AuthorizationPermissionMismatch');
        await assertRejects(service.getContainerClient('readable').setAccessPolicy('blob'), 403, 'AuthorizationPermissionMismatch');
        await assertRejects(service.getUserDelegationKey(new Date(), new Date(Date.now() + 60e3)), 403, 'AuthorizationPermissionMismatch');
    }
    await assertRejects(list(as({ oid: 'nobody' })), 403, 'AuthorizationPermissionMismatch');
    // A delegator can make keys but has nothing to delegate.
    const [start, end] = [new Date(Date.now() - 60e3), new Date(Date.now() + 600e3)];
    const sasOf = async (claims) => blobs.generateBlobSASQueryParameters({ containerName: 'readable', blobName: 'b', expiresOn: end,
        permissions: blobs.BlobSASPermissions.parse('rw') }, await as(claims).getUserDelegationKey(start, end), ACCOUNT);
    const read = (sas) => new blobs.BlockBlobClient(`${httpsUrl(strict)}/readable/b?${sas}`, undefined, noRetry).getProperties();
    await assertRejects(list(as({ oid: delegator })), 403, 'AuthorizationPermissionMismatch');
    await assert.rejects(read(await sasOf({ oid: delegator })), (error) => error.statusCode === 403);
    await read(await sasOf({ oid: owner }));
});

// ---- TLS ------------------------------------------------------------------------------------------------------------

test('a SAS for https is taken over https', async () => {
    const sas = blobs.generateAccountSASQueryParameters({ services: 'b', resourceTypes: 's', protocol: 'https',
        expiresOn: new Date(Date.now() + 600e3), permissions: blobs.AccountSASPermissions.parse('l') },
        new blobs.StorageSharedKeyCredential(ACCOUNT, KEY));
    await list(new blobs.BlobServiceClient(`${httpsUrl(strict)}?${sas}`, undefined, noRetry));
    await assertRejects(list(new blobs.BlobServiceClient(`${strict.url('blob')}?${sas}`, undefined, noRetry)), 403, 'AuthorizationProtocolMismatch');
});

test('openssl s_client: TLS 1.2 and 1.3, nothing older, no renegotiation', () => {
    const request = `GET /${ACCOUNT}?comp=list HTTP/1.1\r\nHost: x\r\nx-ms-version: 2021-08-06\r\nConnection: close\r\n\r\n`;
    const connect = (...args) => spawnSync('openssl', ['s_client', '-connect', `127.0.0.1:${basic.ports.blob}`, '-CAfile', file('cert.pem'),
        '-verify_return_error', '-quiet', '-ign_eof', ...args], { input: request, encoding: 'utf8', timeout: 90000 });
    for (const version of ['-tls1_2', '-tls1_3'])
        assert.match(connect(version).stdout, /^HTTP\/1\.1 401 /, version);
    for (const version of ['-tls1', '-tls1_1'])
        assert.doesNotMatch(connect(version, '-cipher', 'ALL:@SECLEVEL=0').stdout, /HTTP/, version);
    assert.doesNotMatch(connect('-tls1_2', '-cipher', 'aNULL:eNULL:RC4:3DES:@SECLEVEL=0').stdout, /HTTP/);
});

test('settings that make no sense are refused at the start', async () => {
    for (const oauth of ['advanced', 'jwks=/nowhere', `jwks=${file('keys.json')},issuer=i,audience=a`,
        `jwks=${file('roles')},issuer=i,audience=a,roles=${file('roles')}`, `jwks=${file('keys.json')},issuer=i,audience=a,roles=${file('keys.json')}`,
        `jwks=http://example.org/keys,issuer=i,audience=a,roles=${file('roles')}`]) {
        const error = await run(BIN, ['--in-memory', '--oauth', oauth]).then(() => null, (e) => e);
        assert.notEqual(error, null, oauth);
        assert.match(error.stderr, /--oauth/);
    }
});
