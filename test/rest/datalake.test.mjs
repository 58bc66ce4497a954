// SPDX-License-Identifier: Apache-2.0
// Data Lake Storage with its official SDK, on the blob port and on the Data Lake port, in hierarchical and in flat
// accounts.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ACCOUNT, assertError, startServer, uniqueName } from './lib.mjs';

const text = async (response) => {
    const chunks = [];
    for await (const chunk of response.readableStreamBody)
        chunks.push(chunk);
    return Buffer.concat(chunks).toString();
};

const all = async (pages) => {
    const found = [];
    for await (const one of pages)
        found.push(one);
    return found;
};

const names = async (fs, options = { recursive: true }) => (await all(fs.listPaths(options))).map((p) => p.name);

async function refused(promise, status, code) {
    await assert.rejects(promise, (error) => {
        assert.equal(error.statusCode, status, error.message);
        assert.equal(error.code ?? error.details?.errorCode, code, error.message);
        return true;
    });
}

for (const where of ['blob', 'dfs']) {
    describe(`a hierarchical account on the ${where} port`, () => {
        let server, lake, fs;

        before(async () => {
            server = await startServer({ inMemory: true, services: ['blob'], dfs: true, args: ['--hns', ACCOUNT] });
            lake = await server.lake({ service: where });
            fs = lake.getFileSystemClient(uniqueName());
            await fs.create();
        });
        after(() => server.stop());

        test('CreateFilesystem, GetFilesystemProperties, DeleteFilesystem', async () => {
            const other = lake.getFileSystemClient(uniqueName());
            await other.create({ metadata: { a: 'b' } });
            assert.equal((await other.getProperties()).metadata.a, 'b');
            await refused(other.create(), 409, 'ContainerAlreadyExists');
            await other.delete();
            assert.equal(await other.exists(), false);
        });

        test('CreatePath, AppendPath, FlushPath, ReadPath', async () => {
            const file = fs.getFileClient('a/b/c.txt');
            await file.create();
            const created = await file.getProperties();
            await file.append('hello ', 0, 6);
            await file.append('world', 6, 5);
            const before = await file.getProperties();
            assert.equal(before.contentLength, 0);
            assert.equal(before.etag, created.etag);
            const flushed = await file.flush(11);
            const properties = await file.getProperties();
            assert.equal(properties.contentLength, 11);
            assert.equal(properties.etag, flushed.etag);
            assert.equal(await text(await file.read()), 'hello world');
            assert.equal(await text(await file.read(6, 3)), 'wor');
            assert.deepEqual(await names(fs), ['a', 'a/b', 'a/b/c.txt']);
        });

        test('upload in parallel pieces, and a larger file', async () => {
            const file = fs.getFileClient('big/one.bin');
            const bytes = Buffer.alloc(3 << 20, 'abcdefghij');
            await file.upload(bytes, { chunkSize: 256 << 10, maxConcurrency: 4, metadata: { k: 'v' } });
            const back = await file.readToBuffer();
            assert.ok(back.equals(bytes));
            const properties = await file.getProperties();
            assert.equal(properties.metadata.k, 'v');
        });

        test('flush refuses gaps and wrong ends', async () => {
            const file = fs.getFileClient('gaps');
            await file.create();
            await file.append('0123456', 0, 7);
            await refused(file.flush(4), 400, 'InvalidFlushPosition');
            await refused(file.flush(8), 400, 'InvalidFlushPosition');
            await file.append('xyz', 10, 3);
            await refused(file.flush(13), 400, 'InvalidFlushPosition');
            await file.flush(7, { retainUncommittedData: true });
            await file.append('789', 7, 3);
            await file.flush(13);
            assert.equal(await text(await file.read()), '0123456789xyz');
        });

        test('the last append to a place wins', async () => {
            const file = fs.getFileClient('again');
            await file.create();
            await file.append('first', 0, 5);
            await file.append('other', 0, 5);
            await file.flush(5);
            assert.equal(await text(await file.read()), 'other');
            await file.append('ov', 1, 2, { flush: false });
            await file.append('more', 5, 4);
            await file.flush(9);
            assert.equal(await text(await file.read()), 'oovermore');
        });

        test('RenamePath: a file, a directory, onto what is there', async () => {
            await fs.getFileClient('ren/x/one').create();
            const file = fs.getFileClient('ren/x/one');
            const { etag } = await file.getProperties();
            await file.move('ren/x/two');
            assert.equal(await fs.getFileClient('ren/x/one').exists(), false);
            assert.equal((await fs.getFileClient('ren/x/two').getProperties()).etag, etag);
            await fs.getDirectoryClient('ren/x').move('ren/y');
            assert.equal((await fs.getFileClient('ren/y/two').getProperties()).etag, etag);
            await refused(fs.getDirectoryClient('ren/x').move('ren/z'), 404, 'SourcePathNotFound');
            await refused(fs.getDirectoryClient('ren/y').move('nowhere/z'), 404, 'RenameDestinationParentPathNotFound');
            await refused(fs.getDirectoryClient('ren').move('ren/y/deep'), 409, 'InvalidRenameSourcePath');
            await fs.getDirectoryClient('ren/full').create();
            await fs.getFileClient('ren/full/f').create();
            await refused(fs.getDirectoryClient('ren/y').move('ren/full'), 409, 'PathAlreadyExists');
            await fs.getDirectoryClient('ren/empty').create();
            await fs.getDirectoryClient('ren/y').move('ren/empty');
            assert.deepEqual(await names(fs, { path: 'ren', recursive: true }),
                ['ren/empty', 'ren/empty/two', 'ren/full', 'ren/full/f']);
        });

        test('DeletePath: not empty, recursively, what is not there', async () => {
            await fs.getFileClient('del/a/b').create();
            await refused(fs.getDirectoryClient('del').delete(false), 409, 'DirectoryNotEmpty');
            await fs.getDirectoryClient('del').delete(true);
            assert.equal(await fs.getFileClient('del/a/b').exists(), false);
            await refused(fs.getDirectoryClient('del').delete(true), 404, 'PathNotFound');
        });

        test('ListPaths: pages, one level, order', async () => {
            const dir = 'list';
            for (const name of ['b', 'a-b', 'a/x', 'a/y/z', 'a.c/q', 'A', 'a0'])
                await fs.getFileClient(`${dir}/${name}`).create();
            const expected = ['list/A', 'list/a', 'list/a-b', 'list/a.c', 'list/a.c/q', 'list/a/x', 'list/a/y', 'list/a/y/z',
                'list/a0', 'list/b'];
            assert.deepEqual(await names(fs, { path: dir, recursive: true }), expected);
            assert.deepEqual(await names(fs, { path: dir, recursive: false }),
                ['list/A', 'list/a', 'list/a-b', 'list/a.c', 'list/a0', 'list/b']);
            for (let size = 1; size < 5; size++) {
                const found = [];
                for await (const page of fs.listPaths({ path: dir, recursive: true }).byPage({ maxPageSize: size })) {
                    assert.ok(page.pathItems.length <= size);
                    found.push(...page.pathItems.map((p) => p.name));
                }
                assert.deepEqual(found, expected);
            }
            const [entry] = await all(fs.listPaths({ path: 'list/a' }));
            assert.equal(entry.isDirectory ?? false, false);
            assert.equal(entry.owner, '$superuser');
            assert.equal(entry.permissions.toString?.() !== undefined, true);
            await refused(names(fs, { path: 'list/none' }), 404, 'PathNotFound');
        });

        test('access control: defaults, set, inherit', async () => {
            const dir = fs.getDirectoryClient('acl');
            await dir.create();
            const first = await dir.getAccessControl();
            assert.equal(first.owner, '$superuser');
            assert.equal(first.permissions.group.read, true);
            assert.equal(first.permissions.other.read, false);
            const before = await dir.getProperties();
            await dir.setAccessControl([
                { accessControlType: 'user', entityId: '', defaultScope: false, permissions: { read: true, write: true, execute: true } },
                { accessControlType: 'group', entityId: '', defaultScope: false, permissions: { read: true, write: false, execute: false } },
                { accessControlType: 'other', entityId: '', defaultScope: false, permissions: { read: false, write: false, execute: false } },
                { accessControlType: 'user', entityId: '7a8f8a6f-0000-4000-8000-000000000001', defaultScope: true, permissions: { read: true, write: true, execute: true } },
            ]);
            assert.equal((await dir.getProperties()).etag, before.etag);
            const child = fs.getDirectoryClient('acl/child');
            await child.create();
            const inherited = await child.getAccessControl();
            assert.ok(inherited.acl.some((e) => !e.defaultScope && e.entityId === '7a8f8a6f-0000-4000-8000-000000000001'));
            assert.ok(inherited.acl.some((e) => e.defaultScope && e.entityId === '7a8f8a6f-0000-4000-8000-000000000001'));
            assert.ok(inherited.permissions.extendedAcls);
            const file = fs.getFileClient('acl/file');
            await file.create({ permissions: '0777', umask: '0057' });
        });

        test('SetPathAccessControlRecursive: set, update, remove, in pages', async () => {
            const dir = fs.getDirectoryClient('rec');
            for (const name of ['a/1', 'a/2', 'b/3', '4'])
                await fs.getFileClient(`rec/${name}`).create();
            const entry = (permissions, defaultScope = false) => ({ accessControlType: 'user', entityId: 'me', defaultScope, permissions });
            const rx = { read: true, write: false, execute: true };
            const pages = [];
            const result = await dir.updateAccessControlRecursive([entry(rx), entry(rx, true)], { batchSize: 2, onProgress: (p) => pages.push(p) });
            assert.equal(result.counters.changedDirectoriesCount, 3);
            assert.equal(result.counters.changedFilesCount, 4);
            assert.equal(result.counters.failedChangesCount, 0);
            assert.equal(pages.length, 4);
            const file = await fs.getFileClient('rec/a/1').getAccessControl();
            assert.ok(file.acl.some((e) => e.entityId === 'me' && !e.defaultScope));
            assert.ok(!file.acl.some((e) => e.defaultScope));
            await dir.removeAccessControlRecursive([{ accessControlType: 'user', entityId: 'me', defaultScope: false }]);
            assert.ok(!(await fs.getFileClient('rec/a/1').getAccessControl()).acl.some((e) => e.entityId === 'me'));
        });

        test('SetPathAccessControlRecursive: one call is several transactions', async () => {
            const dir = fs.getDirectoryClient('many');
            const names = Array.from({ length: 250 }, (_, i) => `many/${i % 2 === 0 ? 'even/' : ''}${1000 + i}`);
            await Promise.all(names.map((name) => fs.getFileClient(name).create()));
            const entry = [{ accessControlType: 'user', entityId: 'me', defaultScope: false, permissions: { read: true, write: false, execute: true } }];
            const all = await dir.updateAccessControlRecursive(entry, { maxBatches: 1 });
            assert.deepEqual(all.counters, { changedDirectoriesCount: 2, changedFilesCount: 250, failedChangesCount: 0 });
            assert.ok(!all.continuationToken);
            for (const name of names)
                assert.ok((await fs.getFileClient(name).getAccessControl()).acl.some((e) => e.entityId === 'me'), name);
            const first = await dir.updateAccessControlRecursive(entry, { batchSize: 150, maxBatches: 1 });
            const rest = await dir.updateAccessControlRecursive(entry, { batchSize: 150, maxBatches: 1, continuationToken: first.continuationToken });
            assert.equal(first.counters.changedDirectoriesCount + first.counters.changedFilesCount, 150);
            assert.equal(rest.counters.changedDirectoriesCount + rest.counters.changedFilesCount, 102);
            assert.ok(first.continuationToken && !rest.continuationToken);
        });

        test('LeasePath, and lease actions on the way', async () => {
            const file = fs.getFileClient('leased');
            await file.create();
            const lease = file.getDataLakeLeaseClient();
            await lease.acquireLease(15);
            await refused(file.append('abc', 0, 3), 412, 'LeaseIdMissing');
            await refused(file.delete(), 412, 'LeaseIdMissing');
            await file.append('abc', 0, 3, { conditions: { leaseId: lease.leaseId } });
            await file.flush(3, { conditions: { leaseId: lease.leaseId }, leaseAction: 'release' });
            assert.equal((await file.getProperties()).leaseState, 'available');
            await file.append('d', 3, 1, { leaseAction: 'acquire', proposedLeaseId: '5e5ed9bc-0000-4000-8000-00000000000a', leaseDurationInSeconds: 15, flush: true });
            assert.equal((await file.getProperties()).leaseState, 'leased');
        });

        test('SetExpiry, and metadata', async () => {
            const file = fs.getFileClient('passing');
            await file.create({ metadata: { one: '1' } });
            await file.setMetadata({ two: '2' });
            assert.deepEqual((await file.getProperties()).metadata, { two: '2' });
            await file.setExpiry('RelativeToNow', { timeToExpireInMs: 60e3 });
            assert.equal(await file.exists(), true);
            server.advance(61e3);
            assert.equal(await file.exists(), false);
        });

        test('soft delete of a directory, and its restoration', async () => {
            const blobs = await server.blobs();
            await blobs.setProperties({ deleteRetentionPolicy: { enabled: true, days: 3 } });
            await fs.getFileClient('soft/x/f').upload(Buffer.from('kept'));
            const { etag } = await fs.getFileClient('soft/x/f').getProperties();
            await fs.getDirectoryClient('soft').delete(true);
            assert.equal(await fs.getDirectoryClient('soft').exists(), false);
            const deleted = await all(fs.listDeletedPaths({ prefix: 'soft' }));
            assert.deepEqual(deleted.map((p) => p.name), ['soft']);
            await fs.undeletePath('soft', deleted[0].deletionId);
            assert.equal((await fs.getFileClient('soft/x/f').getProperties()).etag, etag);
            assert.equal(await text(await fs.getFileClient('soft/x/f').read()), 'kept');
            await blobs.setProperties({ deleteRetentionPolicy: { enabled: false } });
        });

        test('the same data by the Blob API', async () => {
            const container = (await server.blobs()).getContainerClient(fs.name);
            await fs.getFileClient('both/f').create();
            await fs.getFileClient('both/f').append('abc', 0, 3);
            await fs.getFileClient('both/f').flush(3);
            const blob = container.getBlockBlobClient('both/f');
            assert.equal((await blob.downloadToBuffer()).toString(), 'abc');
            await container.getBlockBlobClient('both/new/g').upload('xyz', 3);
            assert.equal(await text(await fs.getFileClient('both/new/g').read()), 'xyz');
            const directory = await container.getBlobClient('both').getProperties();
            assert.equal(directory.metadata.hdi_isfolder, 'true');
            assert.equal(directory.contentLength, 0);
            assert.deepEqual((await all(container.listBlobsFlat({ prefix: 'both' }))).map((b) => b.name),
                ['both', 'both/f', 'both/new', 'both/new/g']);
            const level = await all(container.listBlobsByHierarchy('/', { prefix: 'both/' }));
            assert.deepEqual(level.map((b) => `${b.kind} ${b.name}`).sort(), ['blob both/f', 'prefix both/new/']);
            await refused(container.getBlobClient('both').delete(), 409, 'DirectoryIsNotEmpty');
            await refused(container.getBlockBlobClient('both').upload('x', 1), 409, 'PathConflict');
            await refused(container.getBlockBlobClient('both/f/below').upload('x', 1), 409, 'PathConflict');
            await refused(container.getPageBlobClient('both/p').create(512), 409,
                'FeatureNotYetSupportedForHierarchicalNamespaceAccounts');
            assert.equal((await (await server.blobs()).getAccountInfo()).isHierarchicalNamespaceEnabled, true);
        });
    });
}

describe('a flat account', () => {
    let server, fs;

    before(async () => {
        server = await startServer({ inMemory: true, services: ['blob'], dfs: true });
        fs = (await server.lake()).getFileSystemClient(uniqueName());
        await fs.create();
    });
    after(() => server.stop());

    test('files and directories, which are blobs with a mark', async () => {
        await fs.getDirectoryClient('d').create();
        const file = fs.getFileClient('d/f');
        await file.create();
        await file.append('abc', 0, 3);
        await file.flush(3);
        assert.equal(await text(await file.read()), 'abc');
        assert.deepEqual(await names(fs), ['d', 'd/f']);
        await fs.getDirectoryClient('d').move('e');
        assert.deepEqual(await names(fs), ['e', 'e/f']);
        await refused(fs.getDirectoryClient('e').delete(false), 409, 'DirectoryNotEmpty');
        await fs.getDirectoryClient('e').delete(true);
        assert.deepEqual(await names(fs), []);
    });

    test('access control is refused', async () => {
        await fs.getFileClient('f').create();
        await refused(fs.getFileClient('f').getAccessControl(), 400, 'HierarchicalNamespaceNotEnabled');
        await refused(fs.getFileClient('g').create({ permissions: '0777' }), 400, 'HierarchicalNamespaceNotEnabled');
        assert.equal((await (await server.blobs()).getAccountInfo()).isHierarchicalNamespaceEnabled, false);
    });
});
