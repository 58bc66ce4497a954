// SPDX-License-Identifier: Apache-2.0
// Shared access signatures of files and shares, made by the official SDK's own generators.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as files from '@azure/storage-file-share';
import { ACCOUNT, assertRejects, KEY, startServer, uniqueName } from './lib.mjs';

const VERSIONS = ['2015-04-05', '2018-11-09', '2020-12-06', '2025-11-05', '2026-10-06'];

let server;
let share;
let name;
const key = new files.StorageSharedKeyCredential(ACCOUNT, KEY);
const soon = () => new Date(Date.now() + 3600e3);
const noRetry = { retryOptions: { maxTries: 1 } };

before(async () => {
    server = await startServer({ inMemory: true, services: ['file'] });
    name = uniqueName('s');
    share = (await server.shares()).getShareClient(name);
    await share.create();
    await share.getDirectoryClient('dir').create();
    const file = share.getDirectoryClient('dir').getFileClient('a file.txt');
    await file.create(5);
    await file.uploadRange('hello', 0, 5);
});
after(() => server.stop());

const sas = (values) => files.generateFileSASQueryParameters({ shareName: name, expiresOn: soon(), ...values }, key).toString();
const ofFile = (letters, more = {}) => sas({ filePath: 'dir/a file.txt', permissions: files.FileSASPermissions.parse(letters), ...more });
const ofShare = (letters, more = {}) => sas({ permissions: files.ShareSASPermissions.parse(letters), ...more });
const ofAccount = (letters, more = {}) => files.generateAccountSASQueryParameters({
    services: 'f', resourceTypes: 'sco', expiresOn: soon(), permissions: files.AccountSASPermissions.parse(letters), ...more,
}, key).toString();
const fileAt = (query, path = 'dir/a file.txt') =>
    new files.ShareFileClient(`${share.url}/${path.split('/').map(encodeURIComponent).join('/')}?${query}`, undefined, noRetry);
const shareAt = (query) => new files.ShareClient(`${share.url}?${query}`, undefined, noRetry);

async function listed(client) {
    const names = [];
    for await (const entry of client.getDirectoryClient('dir').listFilesAndDirectories())
        names.push(entry.name);
    return names;
}

test('file, share and account SAS of every version', async () => {
    for (const version of VERSIONS) {
        for (const query of [ofFile('r', { version }), ofShare('r', { version }), ofAccount('r', { version })])
            assert.equal((await fileAt(query).downloadToBuffer()).toString(), 'hello', version);
        assert.deepEqual(await listed(shareAt(ofShare('l', { version }))), ['a file.txt']);
        assert.deepEqual(await listed(shareAt(ofAccount('l', { version }))), ['a file.txt']);
    }
});

test('a file SAS is for that file only', async () => {
    await assertRejects(fileAt(ofFile('r'), 'dir/other.txt').getProperties(), 403, 'AuthenticationFailed');
    await assertRejects(listed(shareAt(ofFile('r'))), 403, 'AuthenticationFailed');
});

test('the letters count', async () => {
    await assertRejects(fileAt(ofFile('w')).downloadToBuffer(), 403, 'AuthorizationPermissionMismatch');
    await assertRejects(fileAt(ofFile('r')).uploadRange('x', 0, 1), 403, 'AuthorizationPermissionMismatch');
    await assertRejects(fileAt(ofFile('rw')).delete(), 403, 'AuthorizationPermissionMismatch');
    await assertRejects(listed(shareAt(ofShare('r'))), 403, 'AuthorizationPermissionMismatch');
    await fileAt(ofFile('w')).uploadRange('J', 0, 1);
    await fileAt(ofShare('w')).uploadRange('h', 0, 1);
    await fileAt(ofShare('cd'), 'dir/new.txt').create(1);
    await fileAt(ofShare('cd'), 'dir/new.txt').delete();
});

test('time, address and service count', async () => {
    await assertRejects(fileAt(ofFile('r', { expiresOn: new Date(Date.now() - 60e3) })).getProperties(), 403, 'AuthenticationFailed');
    await assertRejects(fileAt(ofFile('r', { startsOn: new Date(Date.now() + 600e3) })).getProperties(), 403, 'AuthenticationFailed');
    await assertRejects(fileAt(ofFile('r', { ipRange: { start: '10.0.0.1' } })).downloadToBuffer(), 403, 'AuthorizationSourceIPMismatch');
    await assertRejects(fileAt(ofAccount('r', { services: 'b' })).downloadToBuffer(), 403, 'AuthorizationServiceMismatch');
    await assertRejects(fileAt(ofAccount('r', { resourceTypes: 's' })).downloadToBuffer(), 403, 'AuthorizationResourceTypeMismatch');
});

test('a stored policy gives and takes', async () => {
    await share.setAccessPolicy([{ id: 'reads', accessPolicy: { startsOn: new Date(Date.now() - 60e3), expiresOn: soon(), permissions: 'r' } }]);
    const query = files.generateFileSASQueryParameters({ shareName: name, filePath: 'dir/a file.txt', identifier: 'reads' }, key).toString();
    assert.equal((await fileAt(query).downloadToBuffer()).toString(), 'hello');
    await assertRejects(fileAt(query).uploadRange('x', 0, 1), 403, 'AuthorizationPermissionMismatch');
    await share.setAccessPolicy([]);
    await assertRejects(fileAt(query).downloadToBuffer(), 403, 'AuthorizationFailure');
});

test('response headers of a SAS', async () => {
    const properties = await fileAt(ofFile('r', { contentType: 'text/x-own', cacheControl: 'no-store' })).download();
    assert.equal(properties.contentType, 'text/x-own');
    assert.equal(properties.cacheControl, 'no-store');
});
