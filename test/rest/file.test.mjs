// SPDX-License-Identifier: Apache-2.0
// The file service through the official SDK and through raw requests.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { assertError, readable, startServer, uniqueName } from './lib.mjs';

let server, service;
before(async () => {
    server = await startServer({ inMemory: true, services: ['file'] });
    service = await server.shares();
});
after(() => server.stop());

async function newShare(options) {
    const share = service.getShareClient(uniqueName());
    await share.create(options);
    return share;
}

async function rejects(promise, status, code) {
    await assert.rejects(promise, (e) => {
        assert.equal(e.statusCode, status, e.message);
        if (code !== undefined)
            assert.equal(e.code ?? e.details?.errorCode, code);
        return true;
    });
}

async function collect(iterator) {
    const all = [];
    for await (const item of iterator)
        all.push(item);
    return all;
}

// The SDK's own rename forgets the account of a path-style URL.
function rename(share, from, to, { headers = {}, restype } = {}) {
    return server.request('file', 'PUT', `/${share.name}/${to}`, {
        query: { comp: 'rename', restype },
        headers: { 'x-ms-file-rename-source': `${server.url('file')}/${share.name}/${from}`, ...headers },
    });
}

async function fileWith(share, name, bytes) {
    const file = share.getDirectoryClient('').getFileClient(name);
    await file.create(bytes.length);
    if (bytes.length > 0)
        await file.uploadRange(bytes, 0, bytes.length);
    return file;
}

describe('shares', () => {
    it('CreateShare, GetShareProperties, SetShareProperties, GetShareStats, DeleteShare', async () => {
        const share = await newShare({ quota: 10, metadata: { a: 'b' }, accessTier: 'Hot' });
        await rejects(share.create(), 409, 'ShareAlreadyExists');
        let properties = await share.getProperties();
        assert.equal(properties.quota, 10);
        assert.equal(properties.accessTier, 'Hot');
        assert.deepEqual(properties.metadata, { a: 'b' });
        assert.equal(properties.leaseState, 'available');
        await share.setProperties({ quotaInGB: 20 });
        properties = await share.getProperties();
        assert.equal(properties.quota, 20);
        await fileWith(share, 'f', randomBytes(1000));
        assert.equal((await share.getStatistics()).shareUsageBytes, 1000);
        await share.delete();
        await rejects(share.getProperties(), 404, 'ShareNotFound');
        await share.create();
    });

    it('GetShareMetadata, SetShareMetadata, GetShareACL, SetShareACL', async () => {
        const share = await newShare();
        await share.setMetadata({ One: 'x' });
        assert.deepEqual((await share.getProperties()).metadata, { one: 'x' });
        await share.setAccessPolicy([{
            id: 'p', accessPolicy: { startsOn: new Date(0), expiresOn: new Date(2e12), permissions: 'rwd' },
        }]);
        const acl = await share.getAccessPolicy();
        assert.equal(acl.signedIdentifiers[0].accessPolicy.permissions, 'rwd');
        const raw = await server.request('file', 'GET', `/${share.name}`, { query: 'restype=share&comp=metadata' });
        assert.equal(raw.headers['x-ms-meta-one'], 'x');
    });

    it('ListShares with snapshots, metadata, prefix and pages', async () => {
        const prefix = uniqueName('list');
        for (const name of ['a', 'b', 'c'])
            await service.getShareClient(prefix + name).create({ metadata: { n: name } });
        await service.getShareClient(`${prefix}b`).createSnapshot();
        const all = await collect(service.listShares({ prefix, includeMetadata: true, includeSnapshots: true }));
        assert.deepEqual(all.map((s) => s.name.slice(-1) + (s.snapshot ? '@' : '')), ['a', 'b@', 'b', 'c']);
        assert.deepEqual(all[0].metadata, { n: 'a' });
        const pages = await collect(service.listShares({ prefix }).byPage({ maxPageSize: 2 }));
        assert.deepEqual(pages.map((p) => p.shareItems.length), [2, 1]);
    });

    it('LeaseShare guards deleting and setting', async () => {
        const share = await newShare();
        const lease = share.getShareLeaseClient();
        await lease.acquireLease(15);
        await rejects(share.delete(), 412, 'LeaseIdMissing');
        await rejects(share.setMetadata({ a: 'b' }), 412, 'LeaseIdMissing');
        await share.setMetadata({ a: 'b' }, { leaseAccessConditions: { leaseId: lease.leaseId } });
        const renewed = await server.request('file', 'PUT', `/${share.name}`, {
            query: 'restype=share&comp=lease', headers: { 'x-ms-lease-action': 'renew', 'x-ms-lease-id': lease.leaseId } });
        assert.equal(renewed.status, 200, renewed.text);
        assert.equal((await share.getProperties()).leaseState, 'leased');
        await lease.releaseLease();
        await share.delete();
    });

    it('SnapshotShare: reads of a snapshot, no writes to it', async () => {
        const share = await newShare();
        const file = await fileWith(share, 'f', Buffer.from('before'));
        const { snapshot } = await share.createSnapshot();
        await file.uploadRange('after!', 0, 6);
        const past = share.withSnapshot(snapshot).getDirectoryClient('').getFileClient('f');
        assert.equal((await past.downloadToBuffer()).toString(), 'before');
        assert.equal((await file.downloadToBuffer()).toString(), 'after!');
        assert.equal((await share.withSnapshot(snapshot).getProperties()).quota, 5120);
        await rejects(share.delete(), 409, 'ShareHasSnapshots');
        const answer = await server.request('file', 'PUT', `/${share.name}/f`, {
            query: { comp: 'range', sharesnapshot: snapshot },
            headers: { 'x-ms-range': 'bytes=0-0', 'x-ms-write': 'update' }, body: 'x',
        });
        assertError(answer, 400, 'InvalidQueryParameterValue');
        await share.delete({ deleteSnapshots: 'include' });
    });

    it('RestoreShare brings back what soft delete has kept', async () => {
        await service.setProperties({});
        const raw = await server.request('file', 'PUT', '/', {
            query: 'restype=service&comp=properties',
            body: '<?xml version="1.0"?><StorageServiceProperties><ShareDeleteRetentionPolicy><Enabled>true</Enabled>'
                + '<Days>3</Days></ShareDeleteRetentionPolicy></StorageServiceProperties>',
        });
        assert.equal(raw.status, 202, raw.text);
        const share = await newShare();
        await fileWith(share, 'f', Buffer.from('kept'));
        await share.delete();
        const deleted = (await collect(service.listShares({ includeDeleted: true, prefix: share.name })))[0];
        assert.equal(deleted.deleted, true);
        await service.undeleteShare(share.name, deleted.version);
        assert.equal((await share.getDirectoryClient('').getFileClient('f').downloadToBuffer()).toString(), 'kept');
    });

    it('CreatePermission and GetPermission', async () => {
        const share = await newShare();
        const sddl = 'O:S-1-5-21-2127521184-1604012920-1887927527-21560751G:S-1-5-21-2127521184-1604012920-1887927527-513'
            + 'D:AI(A;;FA;;;SY)(A;;FA;;;BA)(A;;0x1200a9;;;S-1-5-21-397955417-626881126-188441444-3053964)'
            + 'S:NO_ACCESS_CONTROL';
        const { filePermissionKey } = await share.createPermission(sddl);
        assert.match(filePermissionKey, /^\d+\*\d+$/);
        assert.equal((await share.getPermission(filePermissionKey)).permission, sddl);
        await rejects(share.createPermission('nonsense'), 400, 'FileInvalidPermission');
        await rejects(share.getPermission('1*2'), 404);
        const file = share.getDirectoryClient('').getFileClient('f');
        await file.create(0, { filePermissionKey });
        assert.equal((await file.getProperties()).filePermissionKey, filePermissionKey);
    });

    it('GetFileServiceProperties and SetFileServiceProperties', async () => {
        await service.setProperties({
            cors: [{ allowedOrigins: '*', allowedMethods: 'GET', allowedHeaders: '', exposedHeaders: '', maxAgeInSeconds: 5 }],
            protocol: { smb: { multichannel: { enabled: true } } },
        });
        const properties = await service.getProperties();
        assert.equal(properties.cors[0].maxAgeInSeconds, 5);
        assert.equal(properties.protocol.smb.multichannel.enabled, true);
    });
});

describe('directories', () => {
    it('CreateDirectory, GetDirectoryProperties, SetDirectoryProperties, DeleteDirectory', async () => {
        const share = await newShare();
        const directory = share.getDirectoryClient('Dir');
        const made = await directory.create({ metadata: { a: 'b' } });
        assert.equal(made.fileAttributes, 'Directory');
        assert.equal(made.fileParentId, '0');
        await rejects(directory.create(), 409, 'ResourceAlreadyExists');
        await rejects(share.getDirectoryClient('x/y').create(), 404, 'ParentNotFound');
        await rejects(share.getDirectoryClient('a:b').create(), 400, 'InvalidResourceName');
        const properties = await share.getDirectoryClient('DIR').getProperties();
        assert.equal(properties.fileId, made.fileId);
        assert.deepEqual(properties.metadata, { a: 'b' });
        await directory.setProperties({ creationTime: new Date('2020-01-02T03:04:05Z') });
        assert.equal((await directory.getProperties()).fileCreatedOn.toISOString(), '2020-01-02T03:04:05.000Z');
        await directory.createFile('f', 0);
        await rejects(directory.delete(), 409, 'DirectoryNotEmpty');
        await directory.deleteFile('f');
        await directory.delete();
        await rejects(directory.getProperties(), 404, 'ResourceNotFound');
    });

    it('GetDirectoryMetadata, SetDirectoryMetadata, also of the root', async () => {
        const share = await newShare();
        for (const name of ['', 'd']) {
            const directory = share.getDirectoryClient(name);
            await directory.createIfNotExists();
            await directory.setMetadata({ k: 'v' });
            const raw = await server.request('file', 'GET', `/${share.name}/${name}`,
                { query: 'restype=directory&comp=metadata' });
            assert.equal(raw.headers['x-ms-meta-k'], 'v', raw.text);
        }
    });

    it('ListDirectoriesAndFiles with every include, prefix and marker', async () => {
        const share = await newShare();
        const root = share.getDirectoryClient('');
        for (const name of ['b', 'D', 'A'])
            await root.createSubdirectory(name);
        await fileWith(share, "c&'.txt", Buffer.from('12345'));
        const items = await collect(root.listFilesAndDirectories({
            includeTimestamps: true, includeEtag: true, includeAttributes: true, includePermissionKey: true,
            includeExtendedInfo: true,
        }));
        // The SDK gives the files of a page first.
        assert.deepEqual(items.map((i) => i.name), ["c&'.txt", 'A', 'b', 'D']);
        assert.deepEqual(items.map((i) => i.kind), ['file', 'directory', 'directory', 'directory']);
        assert.equal(items[0].properties.contentLength, 5);
        assert.ok(items[0].properties.creationTime instanceof Date && items[0].fileId && items[0].permissionKey);
        assert.equal(items[0].attributes, 'Archive');
        const pages = await collect(root.listFilesAndDirectories().byPage({ maxPageSize: 3 }));
        assert.deepEqual(pages.map((p) => p.segment.directoryItems.length + p.segment.fileItems.length), [3, 1]);
        assert.deepEqual((await collect(root.listFilesAndDirectories({ prefix: 'd' }))).map((i) => i.name), ['D']);
    });

    it('RenameDirectory takes all below along', async () => {
        const share = await newShare();
        const directory = share.getDirectoryClient('from');
        await directory.create();
        await (await directory.createSubdirectory('sub')).directoryClient.createFile('f', 3);
        const answer = await rename(share, 'from', 'to', { restype: 'directory' });
        assert.equal(answer.status, 200, answer.text);
        assert.equal((await share.getDirectoryClient('to/sub').getFileClient('f').getProperties()).contentLength, 3);
        await rejects(directory.getProperties(), 404);
        // A file in the way goes when it is told to, as the service has it.
        const { FileSystemAttributes } = await import('@azure/storage-file-share');
        await share.rootDirectoryClient.getFileClient('file').create(1024, { fileAttributes: FileSystemAttributes.parse('ReadOnly') });
        const headers = {};
        const again = () => rename(share, 'to', 'file', { restype: 'directory', headers });
        assertError(await again(), 409, 'ResourceAlreadyExists');
        headers['x-ms-file-rename-replace-if-exists'] = 'true';
        assertError(await again(), 409, 'ReadOnlyAttribute');
        headers['x-ms-file-rename-ignore-readonly'] = 'true';
        assert.equal((await again()).status, 200);
        await share.getDirectoryClient('file').getProperties();
    });
});

describe('files', () => {
    it('CreateFile, GetFileProperties, SetFileProperties, DeleteFile', async () => {
        const share = await newShare();
        const file = share.getDirectoryClient('').getFileClient('F.txt');
        const made = await file.create(1024, {
            fileHttpHeaders: { fileContentType: 'text/plain', fileCacheControl: 'none' }, metadata: { a: 'b' },
            fileAttributes: 'Hidden|Archive',
        });
        assert.equal(made.fileAttributes, 'Hidden | Archive');
        const properties = await share.getDirectoryClient('').getFileClient('f.TXT').getProperties();
        assert.equal(properties.contentLength, 1024);
        assert.equal(properties.contentType, 'text/plain');
        assert.equal(properties.fileId, made.fileId);
        assert.deepEqual(properties.metadata, { a: 'b' });
        await file.resize(2048);
        await file.setHttpHeaders({ fileContentLanguage: 'de' });
        const after = await file.getProperties();
        assert.equal(after.contentLength, 2048);
        assert.equal(after.contentLanguage, 'de');
        assert.equal(after.contentType, undefined);
        assert.equal(after.cacheControl, undefined);
        const oddDigest = Buffer.from([1, 2, 3, 4]);
        await file.setHttpHeaders({ fileContentMD5: oddDigest, fileContentType: 'a/b' });
        await file.resize(2048);
        const kept = await file.getProperties();
        assert.deepEqual(Buffer.from(kept.contentMD5), oddDigest);
        assert.equal(kept.contentType, 'a/b');
        await file.setProperties();
        const cleared = await file.getProperties();
        assert.equal(cleared.contentType, undefined);
        assert.equal(cleared.contentMD5, undefined);
        assert.notEqual(after.etag, properties.etag);
        await file.delete();
        await rejects(file.getProperties(), 404);
        assertError(await server.request('file', 'PUT', `/${share.name}/big`, {
            headers: { 'x-ms-type': 'file', 'x-ms-content-length': String(2 ** 42 + 1) } }), 400, 'InvalidHeaderValue');
        await rejects(share.getDirectoryClient('CON').create(), 400, 'InvalidFileOrDirectoryPathName');
    });

    it('GetFileMetadata, SetFileMetadata', async () => {
        const share = await newShare();
        const file = await fileWith(share, 'f', Buffer.from('x'));
        await file.setMetadata({ k: 'v' });
        const raw = await server.request('file', 'GET', `/${share.name}/f`, { query: 'comp=metadata' });
        assert.equal(raw.headers['x-ms-meta-k'], 'v');
    });

    it('PutRange, GetFile and ListRanges', async () => {
        const share = await newShare();
        const bytes = randomBytes(5 << 20);
        const file = share.getDirectoryClient('').getFileClient('f');
        await file.uploadData(bytes, { rangeSize: 1 << 20 });
        assert.deepEqual(await file.downloadToBuffer(), bytes);
        await file.uploadRange('small', 4095, 5);
        bytes.write('small', 4095);
        assert.deepEqual(await file.downloadToBuffer(4000, 200), bytes.subarray(4000, 4200));
        await file.clearRange(8192, 8192);
        const list = await file.getRangeList();
        assert.deepEqual(list.rangeList.map((r) => [r.start, r.end]), [[0, 8191], [16384, (5 << 20) - 1]]);
        const part = await server.request('file', 'GET', `/${share.name}/f`, {
            headers: { 'x-ms-range': 'bytes=10-19', 'x-ms-range-get-content-md5': 'true' } });
        assert.equal(part.status, 206);
        assert.equal(part.headers['content-range'], `bytes 10-19/${5 << 20}`);
        assert.ok(part.headers['content-md5']);
        assertError(await server.request('file', 'GET', `/${share.name}/f`,
            { headers: { 'x-ms-range': `bytes=${5 << 20}-` } }), 416, 'InvalidRange');
        assertError(await server.request('file', 'PUT', `/${share.name}/f`, {
            query: 'comp=range', body: 'xy',
            headers: { 'x-ms-range': `bytes=${(5 << 20) - 1}-${5 << 20}`, 'x-ms-write': 'update' } }), 416, 'InvalidRange');
        assertError(await server.request('file', 'PUT', `/${share.name}/f`, {
            query: 'comp=range', body: 'xy', headers: {
                'x-ms-range': 'bytes=0-1', 'x-ms-write': 'update', 'Content-MD5': 'AAAAAAAAAAAAAAAAAAAAAA==' } }),
        400, 'Md5Mismatch');
    });

    it('ListRanges since a snapshot', async () => {
        const share = await newShare();
        const file = await fileWith(share, 'f', Buffer.alloc(8192, 1));
        const { snapshot } = await share.createSnapshot();
        await file.uploadRange(Buffer.alloc(512, 2), 0, 512);
        await file.clearRange(4096, 512);
        const diff = await file.getRangeListDiff(snapshot);
        assert.deepEqual(diff.ranges, [{ start: 0, end: 511 }]);
        assert.deepEqual(diff.clearRanges, [{ start: 4096, end: 4607 }]);
    });

    it('PutRangeFromURL and CopyFile', async () => {
        const share = await newShare();
        const source = await fileWith(share, 'source', randomBytes(100000));
        const bytes = await source.downloadToBuffer();
        const target = share.getDirectoryClient('').getFileClient('target');
        await target.create(50000);
        const raw = await server.request('file', 'PUT', `/${share.name}/target`, {
            query: 'comp=range', headers: {
                'x-ms-range': 'bytes=0-49999', 'x-ms-source-range': 'bytes=1000-50999', 'x-ms-write': 'update',
                'x-ms-copy-source': readable(source.url) } });
        assert.equal(raw.status, 201, raw.text);
        assert.deepEqual(await target.downloadToBuffer(), bytes.subarray(1000, 51000));
        const copy = share.getDirectoryClient('').getFileClient('copy');
        const started = await copy.startCopyFromURL(source.url, { metadata: { c: 'd' } });
        assert.equal(started.copyStatus, 'success');
        assert.deepEqual(await copy.downloadToBuffer(), bytes);
        assert.equal((await copy.getProperties()).copyProgress, '100000/100000');
        await rejects(copy.abortCopyFromURL(started.copyId), 409, 'NoPendingCopyOperation');
        await rejects(copy.startCopyFromURL(`${source.url}none`), 404, 'CannotVerifyCopySource');
    });

    it('AbortCopyFile of what is no copy', async () => {
        const share = await newShare();
        const file = await fileWith(share, 'f', Buffer.from('x'));
        await rejects(file.abortCopyFromURL('9b8d5c3e-0000-0000-0000-000000000000'), 409, 'NoPendingCopyOperation');
    });

    it('RenameFile with replace and metadata', async () => {
        const share = await newShare();
        await fileWith(share, 'a', Buffer.from('one'));
        const target = await fileWith(share, 'b', Buffer.from('two'));
        assertError(await rename(share, 'a', 'b'), 409, 'ResourceAlreadyExists');
        assertError(await rename(share, 'none', 'c'), 404, 'ResourceNotFound');
        const answer = await rename(share, 'a', 'b', {
            headers: { 'x-ms-file-rename-replace-if-exists': 'true', 'x-ms-meta-m': 'n' } });
        assert.equal(answer.status, 200, answer.text);
        assert.equal((await target.downloadToBuffer()).toString(), 'one');
        assert.deepEqual((await target.getProperties()).metadata, { m: 'n' });
    });

    it('LeaseFile', async () => {
        const share = await newShare();
        const file = await fileWith(share, 'f', Buffer.from('x'));
        const lease = file.getShareLeaseClient();
        await lease.acquireLease();
        await rejects(file.uploadRange('y', 0, 1), 412, 'LeaseIdMissing');
        await file.uploadRange('y', 0, 1, { leaseAccessConditions: { leaseId: lease.leaseId } });
        await lease.changeLease('9b8d5c3e-0000-0000-0000-000000000001');
        assert.equal((await file.getProperties()).leaseState, 'leased');
        await lease.breakLease();
        await file.delete();
    });

    it('ListHandles and ForceCloseHandles with nothing open', async () => {
        const share = await newShare();
        const file = await fileWith(share, 'f', Buffer.from('x'));
        assert.deepEqual(await collect(file.listHandles()), []);
        assert.equal((await file.forceCloseAllHandles()).closedHandlesCount, 0);
        assert.deepEqual(await collect(share.getDirectoryClient('').listHandles({ recursive: true })), []);
    });

    it('CreateSymbolicLink, GetSymbolicLink and CreateHardLink on an NFS share, refused on others', async () => {
        const share = await newShare({ protocols: { nfsEnabled: true } });
        const link = (path, restype, headers) => server.request('file', 'PUT', `/${share.name}/${path}`,
            { query: { restype }, headers });
        const made = await server.request('file', 'PUT', `/${share.name}/f`,
            { headers: { 'x-ms-type': 'file', 'x-ms-content-length': '3', 'x-ms-mode': '0600' } });
        assert.equal(made.status, 201, made.text);
        assert.equal(made.headers['x-ms-mode'], '0600');
        assert.equal((await link('l', 'symboliclink', { 'x-ms-link-text': '..%2Fx' })).status, 201);
        const got = await server.request('file', 'GET', `/${share.name}/l`, { query: 'restype=symboliclink' });
        assert.equal(decodeURIComponent(got.headers['x-ms-link-text']), '../x');
        const hard = await link('h', 'hardlink', { 'x-ms-type': 'file', 'x-ms-file-target-file': `f` });
        assert.equal(hard.status, 201, hard.text);
        assert.equal(hard.headers['x-ms-link-count'], '2');
        const smb = await newShare();
        assertError(await server.request('file', 'PUT', `/${smb.name}/l`,
            { query: 'restype=symboliclink', headers: { 'x-ms-link-text': 'x' } }), 400, 'InvalidOperation');
    });

    it('rule_S1: no conditions, the last writer wins', async () => {
        const share = await newShare();
        const file = await fileWith(share, 'f', Buffer.from('x'));
        const answer = await server.request('file', 'PUT', `/${share.name}/f`, {
            query: 'comp=range', body: 'y',
            headers: { 'x-ms-range': 'bytes=0-0', 'x-ms-write': 'update', 'If-Match': '"0x1"' } });
        assertError(answer, 400, 'ConditionHeadersNotSupported');
        await Promise.all(Array.from({ length: 20 }, (_, i) => file.uploadRange(String(i % 10), 0, 1)));
        assert.match((await file.downloadToBuffer()).toString(), /^\d$/);
    });

    it('bad ranges, sizes and paths change nothing', async () => {
        const share = await newShare();
        const file = await fileWith(share, 'f', Buffer.from('12345'));
        const put = (headers, body = '') => server.request('file', 'PUT', `/${share.name}/f`,
            { query: 'comp=range', headers, body });
        assertError(await put({ 'x-ms-write': 'update' }, 'x'), 400, 'MissingRequiredHeader');
        assertError(await put({ 'x-ms-range': 'bytes=0-0' }, 'x'), 400, 'MissingRequiredHeader');
        assertError(await put({ 'x-ms-range': 'bytes=0-', 'x-ms-write': 'update' }, 'x'), 400, 'InvalidHeaderValue');
        assertError(await put({ 'x-ms-range': 'bytes=0-3', 'x-ms-write': 'update' }, 'x'), 400, 'InvalidHeaderValue');
        assertError(await put({ 'x-ms-range': 'bytes=0-3', 'x-ms-write': 'other' }), 400, 'InvalidHeaderValue');
        const deep = Array.from({ length: 251 }, () => 'a').join('/');
        assertError(await server.request('file', 'GET', `/${share.name}/${deep}`), 400, 'InvalidFileOrDirectoryPathName');
        assertError(await server.request('file', 'GET', `/${share.name}/${'n'.repeat(256)}`), 400, 'InvalidResourceName');
        assert.equal((await file.downloadToBuffer()).toString(), '12345');
    });
});
