// SPDX-License-Identifier: Apache-2.0
// The requests of Hadoop's ABFS driver, as its sources make them: PATCH sent as PUT with a method override, empty content
// types, `timeout`, octal permissions, and the codes and headers that it relies on.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ACCOUNT, startServer, uniqueName } from './lib.mjs';

let server;
const fs = uniqueName();
before(async () => {
    server = await startServer({ inMemory: true, services: ['blob'], dfs: true, args: ['--hns', ACCOUNT] });
});
after(() => server.stop());

/** One request as the driver sends it. */
async function abfs(method, path, query = {}, { headers = {}, body = '' } = {}) {
    const patch = method === 'PATCH';
    const all = { 'x-ms-version': '2023-08-03', 'Content-Type': '', 'Accept-Charset': 'utf-8', ...headers };
    if (patch)
        all['X-HTTP-Method-Override'] = 'PATCH';
    const sent = patch ? 'PUT' : method;
    return server.request('dfs', sent, `/${fs}${path}`, { query: { ...query, timeout: '90' }, headers: all, body: sent === 'PUT' ? body : undefined });
}

const code = (answer) => answer.headers['x-ms-error-code'];

test('initialize: a missing file system is 404 where access control is asked for, and is made then', async () => {
    assert.equal((await abfs('HEAD', '/', { action: 'getAccessControl', upn: 'false' })).status, 404);
    assert.equal((await abfs('PUT', '', { resource: 'filesystem' })).status, 201);
    const again = await abfs('PUT', '', { resource: 'filesystem' });
    assert.equal(again.status, 409);
    assert.equal(code(again), 'FilesystemAlreadyExists');
    assert.equal(again.json().error.code, 'FilesystemAlreadyExists');
    const probe = await abfs('HEAD', '/', { action: 'getAccessControl', upn: 'false' });
    assert.equal(probe.status, 200);
    assert.equal(probe.headers['x-ms-permissions'], 'rwxr-x---');
});

test('create, and overwrite by ETag (CreatePath, GetPathStatus)', async () => {
    const only = { 'If-None-Match': '*', 'x-ms-permissions': '0644', 'x-ms-umask': '0022' };
    assert.equal((await abfs('PUT', '/c/f', { resource: 'file' }, { headers: only })).status, 201);
    const there = await abfs('PUT', '/c/f', { resource: 'file' }, { headers: only });
    assert.equal(there.status, 409);
    assert.equal(code(there), 'PathAlreadyExists');
    assert.equal(there.headers['x-ms-existing-resource-type'], 'file');
    const status = await abfs('HEAD', '/c/f', { action: 'getStatus', upn: 'false' });
    assert.equal(status.headers['x-ms-resource-type'], 'file');
    assert.equal(status.headers['x-ms-permissions'], 'rw-r--r--');
    assert.equal((await abfs('PUT', '/c/f', { resource: 'file' }, { headers: { 'If-Match': status.headers.etag } })).status, 201);
    const parallel = await abfs('PUT', '/c/f', { resource: 'file' }, { headers: { 'If-Match': status.headers.etag } });
    assert.equal(parallel.status, 412);
});

test('mkdirs twice, also over what is there', async () => {
    assert.equal((await abfs('PUT', '/m/n', { resource: 'directory' }, { headers: { 'x-ms-permissions': '0755', 'x-ms-umask': '0022' } })).status, 201);
    assert.equal((await abfs('PUT', '/m/n/f', { resource: 'file' })).status, 201);
    const again = await abfs('PUT', '/m/n', { resource: 'directory' }, { headers: { 'If-None-Match': '*' } });
    assert.equal(again.status, 409);
    assert.equal(again.headers['x-ms-existing-resource-type'], 'directory');
    assert.equal((await abfs('PUT', '/m/n', { resource: 'directory' })).status, 201);
    assert.equal((await abfs('HEAD', '/m/n/f', { action: 'getStatus' })).status, 200);
    assert.equal((await abfs('PUT', '/m/n/f', { resource: 'directory' })).status, 409);
});

test('write, hflush, close, read with the ETag', async () => {
    await abfs('PUT', '/w', { resource: 'file' });
    assert.equal((await abfs('PATCH', '/w', { action: 'append', position: '0' }, { body: 'hello ' })).status, 202);
    assert.equal((await abfs('PATCH', '/w', { action: 'flush', position: '6', retainUncommittedData: 'true', close: 'false' })).status, 200);
    assert.equal((await abfs('PATCH', '/w', { action: 'append', position: '6', flush: 'true', close: 'true' }, { body: 'world' })).status, 202);
    const bad = await abfs('PATCH', '/w', { action: 'flush', position: '99', close: 'true' });
    assert.equal(bad.status, 400);
    assert.equal(code(bad), 'InvalidFlushPosition');
    const head = await abfs('HEAD', '/w');
    assert.equal(head.headers['content-length'], '11');
    const range = await abfs('GET', '/w', {}, { headers: { Range: 'bytes=6-10', 'If-Match': head.headers.etag } });
    assert.equal(range.status, 206);
    assert.equal(range.text, 'world');
    assert.equal((await abfs('GET', '/w', {}, { headers: { Range: 'bytes=0-1', 'If-Match': '"0x1"' } })).status, 412);
    assert.equal(code(await abfs('PATCH', '/none', { action: 'append', position: '0' }, { body: 'x' })), 'PathNotFound');
});

test('listStatus in pages', async () => {
    for (const name of ['1', '2', '3', 'd/4'])
        await abfs('PUT', `/l/${name}`, { resource: 'file' });
    const found = [];
    let continuation = '';
    do {
        const page = await abfs('GET', '', { resource: 'filesystem', recursive: 'false', directory: 'l', maxResults: '2', upn: 'false', continuation });
        assert.equal(page.status, 200);
        found.push(...page.json().paths);
        continuation = page.headers['x-ms-continuation'] ?? '';
    } while (continuation !== '');
    assert.deepEqual(found.map((p) => p.name), ['l/1', 'l/2', 'l/3', 'l/d']);
    assert.equal(found[3].isDirectory, 'true');
    assert.equal(found[0].contentLength, '0');
    assert.match(found[0].etag, /^0x/);
});

test('rename: into a directory, and the codes that mean false', async () => {
    const rename = (from, to, headers = {}) => abfs('PUT', to, {}, { headers: { 'x-ms-rename-source': `/${fs}${from}`, ...headers } });
    await abfs('PUT', '/r/src/f', { resource: 'file' });
    await abfs('PUT', '/r/dst', { resource: 'directory' });
    assert.equal((await rename('/r/src', '/r/dst', { 'If-None-Match': '*' })).status, 201);
    assert.equal((await abfs('HEAD', '/r/dst/src/f', { action: 'getStatus' })).status, 200);
    for (const [from, to, status, wanted] of [
        ['/r/none', '/r/x', 404, 'SourcePathNotFound'],
        ['/r/dst', '/nowhere/x', 404, 'RenameDestinationParentPathNotFound'],
        ['/r/dst', '/r/dst/src/in', 409, 'InvalidRenameSourcePath'],
        ['/r/dst', '/r/dst/src/f', 409, 'InvalidRenameSourcePath'],
    ]) {
        const answer = await rename(from, to, { 'If-None-Match': '*' });
        assert.equal(answer.status, status, `${from} ${to}`);
        assert.equal(code(answer), wanted);
    }
    await abfs('PUT', '/r/file', { resource: 'file' });
    await abfs('PUT', '/r/file2', { resource: 'file' });
    assert.equal(code(await rename('/r/file', '/r/file2', { 'If-None-Match': '*' })), 'PathAlreadyExists');
});

test('delete, xattr, acl, access, lease (SetPathProperties, GetPathProperties, GetPathAccessControl, CheckPathAccess)', async () => {
    await abfs('PUT', '/x/f', { resource: 'file' });
    const value = Buffer.from('v').toString('base64');
    assert.equal((await abfs('PATCH', '/x/f', { action: 'setProperties' }, { headers: { 'x-ms-properties': `k=${value}` } })).status, 200);
    assert.equal((await abfs('HEAD', '/x/f')).headers['x-ms-properties'], `k=${value}`);
    const acl = 'user::rwx,user:abc:r--,group::r-x,mask::r-x,other::---';
    assert.equal((await abfs('PATCH', '/x/f', { action: 'setAccessControl', upn: 'false' }, { headers: { 'x-ms-acl': acl } })).status, 200);
    const read = await abfs('HEAD', '/x/f', { action: 'getAccessControl', upn: 'false' });
    assert.equal(read.headers['x-ms-acl'], acl);
    assert.equal(read.headers['x-ms-permissions'], 'rwxr-x---+');
    assert.equal((await abfs('PATCH', '/x/f', { action: 'setAccessControl' }, { headers: { 'x-ms-permissions': '0640' } })).status, 200);
    assert.equal((await abfs('PATCH', '/x/f', { action: 'setAccessControl' }, { headers: { 'x-ms-owner': 'me', 'x-ms-group': 'us' } })).status, 200);
    assert.equal((await abfs('HEAD', '/x/f', { action: 'checkAccess', fsAction: 'r--' })).status, 200);
    const lease = await server.request('dfs', 'POST', `/${fs}/x/f`, { headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1', 'x-ms-proposed-lease-id': '5e5ed9bc-0000-4000-8000-00000000000b' } });
    assert.equal(lease.status, 201);
    assert.equal(code(await abfs('PATCH', '/x/f', { action: 'append', position: '0' }, { body: 'x' })), 'LeaseIdMissing');
    assert.equal(code(await abfs('DELETE', '/x', { recursive: 'false' })), 'DirectoryNotEmpty');
    assert.equal((await abfs('DELETE', '/x', { recursive: 'true' })).status, 200);
    const gone = await abfs('DELETE', '/x', { recursive: 'true' });
    assert.equal(gone.status, 404);
    assert.match(gone.json().error.message, /^The specified path does not exist\./);
});

test('ListFilesystems, SetFilesystemProperties', async () => {
    const value = Buffer.from('blue').toString('base64');
    assert.equal((await abfs('PATCH', '', { resource: 'filesystem' }, { headers: { 'x-ms-properties': `colour=${value}` } })).status, 200);
    const head = await abfs('HEAD', '', { resource: 'filesystem' });
    assert.equal(head.headers['x-ms-properties'], `colour=${value}`);
    const stale = { 'x-ms-properties': `colour=${value}`, 'If-Unmodified-Since': 'Mon, 01 Jan 2001 00:00:00 GMT' };
    assert.equal((await abfs('PATCH', '', { resource: 'filesystem' }, { headers: stale })).status, 412);
    const list = await server.request('dfs', 'GET', '/', { query: { resource: 'account', prefix: fs } });
    assert.equal(list.status, 200);
    assert.deepEqual(JSON.parse(list.text).filesystems.map((one) => one.name), [fs]);
});
