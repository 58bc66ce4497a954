// SPDX-License-Identifier: Apache-2.0
// Authorization for paths: tokens with roles, tokens with rights only from access control lists, user delegation SAS
// with saoid and suoid, directory SAS, and rights to both paths of a rename.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createSign, generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import * as lakes from '@azure/storage-file-datalake';
import { ACCOUNT, BIN, KEY, startServer, uniqueName } from './lib.mjs';

process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
process.removeAllListeners('warning');

const folder = mkdtempSync(join(tmpdir(), 'lazuli-lake-'));
const file = (name) => join(folder, name);
const noRetry = { retryOptions: { maxTries: 1 } };
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const [owner, contributor, reader, nobody, team] = Array.from({ length: 5 }, () => randomUUID());
const name = uniqueName();

let server, root, key;

before(async () => {
    execFileSync(BIN, ['cert', file('cert.pem'), file('key.pem')]);
    writeFileSync(file('keys.json'), JSON.stringify({ keys: [{ ...rsa.publicKey.export({ format: 'jwk' }), kid: 'r', use: 'sig' }] }));
    writeFileSync(file('roles'), `${owner} * * owner\n${contributor} * * contributor\n${reader} * * reader\n`);
    server = await startServer({
        inMemory: true, services: ['blob'], dfs: true,
        args: ['--hns', ACCOUNT, '--cert', file('cert.pem'), '--key', file('key.pem'), '--oauth',
            `jwks=${file('keys.json')},issuer=https://issuer.test/,audience=https://lazuli.test,roles=${file('roles')}`],
    });
    root = as(owner);
    key = (await server.lake()).getFileSystemClient(name);
    await root.create();
});
after(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true });
});

const seconds = () => Math.floor(Date.now() / 1000);
const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
function token(claims) {
    const times = { iat: seconds(), nbf: seconds() - 5, exp: seconds() + 600, iss: 'https://issuer.test/', aud: 'https://lazuli.test' };
    const text = `${part({ typ: 'JWT', alg: 'RS256', kid: 'r' })}.${part({ ...times, tid: 't', ...claims })}`;
    return `${text}.${createSign('sha256').update(text).sign(rsa.privateKey).toString('base64url')}`;
}
const url = () => server.url('dfs').replace('http:', 'https:');
const service = (oid, claims) => new lakes.DataLakeServiceClient(url(),
    { getToken: async () => ({ token: token({ oid, ...claims }), expiresOnTimestamp: Date.now() + 600e3 }) }, noRetry);
const as = (oid, claims = {}) => service(oid, claims).getFileSystemClient(name);

async function refused(promise, status = 403, code = 'AuthorizationPermissionMismatch') {
    await assert.rejects(promise, (error) => {
        assert.equal(error.statusCode, status, error.message);
        assert.equal(error.code ?? error.details?.errorCode, code, error.message);
        return true;
    });
}
const grant = (fs, path, entries) => fs.getDirectoryClient(path).updateAccessControlRecursive(entries.map(([type, id, bits, defaultScope = false]) => ({
    accessControlType: type, entityId: id, defaultScope,
    permissions: { read: bits.includes('r'), write: bits.includes('w'), execute: bits.includes('x') },
})));

test('roles: who has one needs no list, and who makes a path owns it', async () => {
    await root.getFileClient('roles/f').upload(Buffer.from('abc'));
    assert.equal((await root.getFileClient('roles/f').getAccessControl()).owner, owner);
    assert.equal((await as(reader).getFileClient('roles/f').readToBuffer()).toString(), 'abc');
    await refused(as(reader).getFileClient('roles/g').create());
    await as(contributor).getFileClient('roles/g').create();
    // Only owners change lists: a role that may write is none.
    await refused(as(contributor).getFileClient('roles/f').setPermissions({ owner: { read: true }, group: {}, other: {}, stickyBit: false, extendedAcls: false }));
    await as(contributor).getFileClient('roles/g').setPermissions({ owner: { read: true }, group: {}, other: {}, stickyBit: false, extendedAcls: false });
});

test('lists: every directory on the way, by user and by group', async () => {
    await root.getFileClient('way/in/f').upload(Buffer.from('abc'));
    const me = as(nobody);
    await refused(me.getFileClient('way/in/f').readToBuffer());
    await root.getDirectoryClient('').updateAccessControlRecursive([{ accessControlType: 'user', entityId: nobody, defaultScope: false, permissions: { read: false, write: false, execute: true } }], { maxBatches: 1, batchSize: 1 });
    await grant(root, 'way', [['user', nobody, 'x']]);
    await refused(me.getFileClient('way/in/f').readToBuffer());
    await grant(root, 'way', [['user', nobody, 'rx']]);
    assert.equal((await me.getFileClient('way/in/f').readToBuffer()).toString(), 'abc');
    await refused(me.getFileClient('way/in/new').create());
    await refused(me.getFileClient('way/in/f').delete());
    await refused(me.getDirectoryClient('way').delete(true));
    await grant(root, 'way/in', [['group', team, 'rwx']]);
    await refused(as(nobody).getFileClient('way/in/new').create());
    // A named user's entry stands before the groups'.
    await grant(root, 'way', [['user', nobody, 'rwx']]);
    await me.getFileClient('way/in/new').create();
    assert.equal((await root.getFileClient('way/in/new').getAccessControl()).owner, nobody);
    const other = as(randomUUID(), { groups: [team] });
    await refused(other.getFileClient('way/in/more').create());
    // Container operations know roles alone.
    await refused(as(nobody).delete());
});

test('lists: a listing needs read and execute', async () => {
    await root.getFileClient('listed/f').create();
    const me = as(nobody);
    const pages = () => me.listPaths({ path: 'listed' }).byPage().next();
    await refused(pages());
    await grant(root, 'listed', [['user', nobody, 'rx']]);
    await pages();
});

test('recursive changes report what they could not change', async () => {
    await root.getFileClient('mixed/theirs').create();
    await root.getDirectoryClient('mixed').setAccessControl([
        { accessControlType: 'user', entityId: '', defaultScope: false, permissions: { read: true, write: true, execute: true } },
        { accessControlType: 'group', entityId: '', defaultScope: false, permissions: { read: true, write: true, execute: true } },
        { accessControlType: 'other', entityId: '', defaultScope: false, permissions: { read: true, write: true, execute: true } }],
    { owner: nobody });
    await as(nobody).getFileClient('mixed/mine').create();
    const entry = [{ accessControlType: 'user', entityId: 'x', defaultScope: false, permissions: { read: true, write: false, execute: false } }];
    const through = await as(nobody).getDirectoryClient('mixed').updateAccessControlRecursive(entry, { continueOnFailure: true });
    assert.deepEqual([through.counters.changedDirectoriesCount, through.counters.changedFilesCount, through.counters.failedChangesCount], [1, 1, 1]);
    const stopped = await as(nobody).getDirectoryClient('mixed').updateAccessControlRecursive(entry);
    assert.equal(stopped.counters.failedChangesCount, 1);
});

test('user delegation SAS: the delegator\'s rights, suoid and saoid', async () => {
    await root.getFileClient('deleg/f').upload(Buffer.from('abc'));
    const starts = new Date(Date.now() - 60e3), ends = new Date(Date.now() + 3600e3);
    const delegation = await service(owner).getUserDelegationKey(starts, ends);
    const with_ = (options) => {
        const sas = lakes.generateDataLakeSASQueryParameters({
            fileSystemName: name, permissions: lakes.FileSystemSASPermissions.parse('racwdlmeop'), startsOn: starts, expiresOn: ends, version: '2020-12-06', ...options,
        }, delegation, ACCOUNT);
        return new lakes.DataLakeFileSystemClient(`${url()}/${name}?${sas}`, undefined, noRetry);
    };
    assert.equal((await with_({}).getFileClient('deleg/f').readToBuffer()).toString(), 'abc');
    assert.equal((await with_({ correlationId: randomUUID() }).getFileClient('deleg/f').readToBuffer()).toString(), 'abc');
    const user = randomUUID();
    await refused(with_({ agentObjectId: user }).getFileClient('deleg/f').readToBuffer());
    const agent = with_({ preauthorizedAgentObjectId: user });
    await agent.getFileClient('deleg/by-agent').create();
    assert.equal((await root.getFileClient('deleg/by-agent').getAccessControl()).owner, user);
    await grant(root, 'deleg', [['user', user, 'rwx']]);
    await root.getDirectoryClient('').updateAccessControlRecursive([{ accessControlType: 'user', entityId: user, defaultScope: false, permissions: { read: false, write: false, execute: true } }], { maxBatches: 1, batchSize: 1 });
    assert.equal((await with_({ agentObjectId: user }).getFileClient('deleg/f').readToBuffer()).toString(), 'abc');
});

test('a directory SAS reaches what is below, and a rename needs rights to both places', async () => {
    await root.getFileClient('sas/in/f').upload(Buffer.from('abc'));
    await root.getFileClient('sas/out/g').create();
    const credential = new lakes.StorageSharedKeyCredential(ACCOUNT, KEY);
    const sas = lakes.generateDataLakeSASQueryParameters({
        fileSystemName: name, pathName: 'sas/in', isDirectory: true, directoryDepth: 2,
        permissions: lakes.DirectorySASPermissions.parse('racwdlme'), expiresOn: new Date(Date.now() + 3600e3), version: '2020-12-06',
    }, credential);
    const fs = new lakes.DataLakeFileSystemClient(`${url()}/${name}?${sas}`, undefined, noRetry);
    assert.equal((await fs.getFileClient('sas/in/f').readToBuffer()).toString(), 'abc');
    await assert.rejects(fs.getFileClient('sas/out/g').readToBuffer(), { statusCode: 403 });
    const rename = (from, to) => fetch(`${url()}/${name}/${to}?${sas}`, {
        method: 'PUT', headers: { 'x-ms-version': '2023-11-03', 'x-ms-rename-source': `/${name}/${from}`, 'Content-Length': '0' } });
    assert.equal((await rename('sas/in/f', 'sas/in/h')).status, 201);
    assert.equal((await rename('sas/out/g', 'sas/in/stolen')).status, 403);
    assert.equal((await rename('sas/in/h', 'sas/out/dropped')).status, 403);
    assert.equal(await root.getFileClient('sas/out/g').exists(), true);
});

test('a rename between file systems needs rights on both sides: lists and SAS', async () => {
    const second = uniqueName();
    const there = (who) => service(who).getFileSystemClient(second);
    await there(owner).create();
    await root.getFileClient('across/f').upload(Buffer.from('abc'));
    await there(owner).getDirectoryClient('to').create();
    const move = (who, from, to) => fetch(`${url()}/${second}/${to}`, { method: 'PUT', headers: { authorization: `Bearer ${token({ oid: who })}`,
        'x-ms-version': '2023-11-03', 'x-ms-rename-source': `/${name}/${from}`, 'content-length': '0' } });
    const expect = async (answer, status, code) => assert.deepEqual([(await answer).status, (await answer).headers.get('x-ms-error-code')], [status, code]);
    for (const fs of [root, there(owner)])
        await fs.getDirectoryClient('').updateAccessControlRecursive([{ accessControlType: 'user', entityId: nobody, defaultScope: false, permissions: { read: false, write: false, execute: true } }], { maxBatches: 1, batchSize: 1 });
    await expect(move(nobody, 'across/f', 'to/f'), 403, 'AuthorizationPermissionMismatch');
    await grant(root, 'across', [['user', nobody, 'wx']]);
    await expect(move(nobody, 'across/f', 'to/f'), 403, 'AuthorizationPermissionMismatch');
    assert.equal((await root.getFileClient('across/f').readToBuffer()).toString(), 'abc');
    await grant(there(owner), 'to', [['user', nobody, 'wx']]);
    await expect(move(nobody, 'across/f', 'to/f'), 201, null);
    // What the path had comes along: its owner, and the content.
    assert.equal((await there(owner).getFileClient('to/f').getAccessControl()).owner, owner);
    assert.equal((await there(owner).getFileClient('to/f').readToBuffer()).toString(), 'abc');
    assert.equal(await root.getFileClient('across/f').exists(), false);
    // A SAS of one file system moves nothing out of it into another, nor the other way.
    await root.getFileClient('across/g').create();
    const credential = new lakes.StorageSharedKeyCredential(ACCOUNT, KEY);
    const sas = (fs) => lakes.generateDataLakeSASQueryParameters({ fileSystemName: fs, permissions: lakes.FileSystemSASPermissions.parse('racwdlmeop'), expiresOn: new Date(Date.now() + 3600e3) }, credential);
    const moveBy = (to, from) => fetch(`${url()}/${second}/to/g?${to}`, { method: 'PUT', headers: { 'x-ms-version': '2023-11-03', 'x-ms-rename-source': `/${name}/across/g${from === '' ? '' : `?${from}`}`, 'content-length': '0' } });
    assert.equal((await moveBy(sas(second), '')).status, 403);
    assert.equal((await moveBy(sas(name), sas(name))).status, 403);
    assert.equal((await moveBy(sas(second), sas(second))).status, 403);
    assert.equal((await moveBy(sas(second), sas(name))).status, 201);
});
