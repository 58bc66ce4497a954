// SPDX-License-Identifier: Apache-2.0
// Rules S1-S4: SMB and REST over the same shares respect each other, in both directions, with a client that really
// holds files open.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ACCOUNT, assertRejects, fileShareSdk, freePorts, KEY, startServer, uniqueName } from '../rest/lib.mjs';
import {
    DELETE, DELETE_PENDING, FILE_CLOSED, leaseState, LOCK_NOT_GRANTED, NOT_FOUND, OK, READ, SHARING_VIOLATION, SmbClient, WRITE,
} from './client.mjs';

let server, port, share, client;

before(async () => {
    [port] = await freePorts(1);
    server = await startServer({ args: ['--smb-port', String(port)] });
    share = (await server.shares()).getShareClient('share1');
    await share.create();
    client = await SmbClient.connect(port, 'share1');
});
after(async () => {
    client.cut();
    await server.stop();
});

const root = () => share.rootDirectoryClient;
async function newFile(size = 1024) {
    const name = uniqueName('f');
    const file = root().getFileClient(name);
    await file.create(size);
    return { name, file };
}

async function lease(file) {
    const { ShareLeaseClient } = await fileShareSdk();
    return new ShareLeaseClient(file);
}

/** The operations of docs/protocol/smb.md's table, by its names. What succeeds is undone. */
const OPERATIONS = {
    Create: (file) => file.create(1024),
    Get: async (file) => (await file.download()).readableStreamBody.resume(), // also of an empty file
    'List Ranges': (file) => file.getRangeList(),
    'Set Properties': (file) => file.resize(1024), // so that there is a range to put
    'Set Metadata': (file) => file.setMetadata({ a: 'b' }),
    'Put Range': (file) => file.uploadRange('x', 0, 1),
    Lease: async (file) => {
        const leases = await lease(file);
        await leases.acquireLease();
        await leases.releaseLease();
    },
    Delete: (file) => file.delete(),
};
const FREE = { 'Get Properties': (file) => file.getProperties(), 'Get Metadata': getMetadata, List: () => names() };

/** Which the SDK does not have. */
async function getMetadata(at, query = {}) {
    const { status, headers } = await server.request('file', 'GET', `/share1/${at.path}`, { query: { comp: 'metadata', ...query } });
    if (status !== 200)
        throw Object.assign(new Error('refused'), { statusCode: status, code: headers['x-ms-error-code'] });
}

async function names() {
    const found = [];
    for await (const entry of root().listFilesAndDirectories())
        found.push(entry.name);
    return found;
}

const ALL = Object.keys(OPERATIONS);
const FAILS = {
    '': ALL,
    r: ALL.filter((name) => name !== 'Get' && name !== 'List Ranges'),
    w: ['Create', 'Get', 'List Ranges', 'Delete', 'Lease'],
    d: ALL,
    rw: ['Create', 'Delete', 'Lease'],
    rd: ['Create', 'Set Properties', 'Set Metadata', 'Put Range', 'Delete', 'Lease'],
    wd: ['Get', 'List Ranges', 'Delete', 'Lease'],
    rwd: ['Delete'],
};

async function checkShareMode(file, fails) {
    for (const [name, run] of Object.entries(FREE))
        await assert.doesNotReject(run(file), name);
    for (const [name, run] of Object.entries(OPERATIONS)) {
        if (fails.includes(name))
            await assertRejects(run(file), 409, 'SharingViolation');
        else
            await assert.doesNotReject(run(file), name);
    }
}

for (const [mode, fails] of Object.entries(FAILS)) {
    test(`rule_S2: an SMB handle that shares '${mode}' against every REST operation`, async () => {
        const { name, file } = await newFile();
        const handle = await client.open(name, { access: READ, share: mode });
        await checkShareMode(file, fails);
        assert.equal(await client.close(handle), OK);
        await checkShareMode(file, []);
    });
}

test('rule_S2: files that smbtorture holds in all eight share modes', async (t) => {
    const user = `AZURE\\${ACCOUNT}%${KEY}`;
    const torture = spawn('smbtorture', ['//127.0.0.1/share1', '-p', String(port), '-U', user, 'smb2.hold-sharemode']);
    const directory = share.getDirectoryClient('sharemode_hold_test');
    const letters = { N: '', R: 'r', W: 'w', D: 'd', RW: 'rw', RD: 'rd', WD: 'wd', RWD: 'rwd' };
    const held = async () => {
        const found = [];
        for await (const handle of share.rootDirectoryClient.listHandles({ recursive: true }))
            found.push(handle.path);
        return found.filter((path) => path.startsWith('sharemode_hold_test/')).length;
    };
    t.after(() => torture.kill('SIGKILL'));
    const listed = async () => {
        let count = 0;
        for await (const entry of directory.listFilesAndDirectories())
            count += entry.kind === 'file' ? 1 : 0;
        return count;
    };
    // It opens them one after the other; a handle is there a moment before its new file is committed.
    while (await held() < 8 || await listed() < 8);
    const seen = [];
    for await (const entry of directory.listFilesAndDirectories()) {
        if (entry.kind !== 'file')
            continue;
        const mode = letters[entry.name];
        assert.notEqual(mode, undefined, entry.name);
        // Its handles may write and delete, so that there is no lease to be had.
        await checkShareMode(directory.getFileClient(entry.name), [...FAILS[mode], 'Lease']);
        seen.push(entry.name);
    }
    assert.equal(seen.length, 8);
});

test('rule_S2: a REST lease keeps SMB from writing and deleting, and the other way round', async () => {
    const { name, file } = await newFile();
    const leases = await lease(file);
    for (const access of [WRITE, DELETE]) {
        const handle = await client.open(name, { access });
        await assertRejects(leases.acquireLease(), 409, 'SharingViolation');
        await client.close(handle);
    }
    await leases.acquireLease();
    for (const access of [WRITE, DELETE, READ | WRITE])
        assert.equal((await client.tryOpen(name, { access })).status, SHARING_VIOLATION);
    const reader = await client.open(name, { access: READ });
    await client.close(reader);
    await leases.releaseLease();
    await client.close(await client.open(name, { access: WRITE }));
});

test('rule_S1: last writer wins, and each reads at once what the other wrote', async () => {
    const { name, file } = await newFile(4);
    const handle = await client.open(name, { access: READ | WRITE });
    assert.equal(await client.write(handle, 0, Buffer.from('smb!')), OK);
    assert.equal((await file.downloadToBuffer()).toString(), 'smb!');
    await file.uploadRange('rest', 0, 4);
    assert.equal((await client.read(handle, 0, 4)).toString(), 'rest');
    assert.equal(await client.write(handle, 2, Buffer.from('!!')), OK);
    assert.equal((await file.downloadToBuffer()).toString(), 're!!');
    await client.close(handle);
});

test('rule_S3: pending delete: every operation but those on handles, no listing, taken back, then gone', async () => {
    const { name, file } = await newFile();
    const handle = await client.open(name, { access: READ | DELETE });
    const other = await client.open(name, { access: READ });
    assert.equal(await client.setDelete(handle, true), OK);
    for (const run of [...Object.values(OPERATIONS), FREE['Get Properties'], FREE['Get Metadata']])
        await assertRejects(run(file), 409, 'SMBDeletePending');
    assert.ok(!(await names()).includes(name));
    assert.equal((await client.tryOpen(name)).status, DELETE_PENDING);
    assert.equal((await file.listHandles().next()).value.path, name);
    assert.equal(await client.setDelete(handle, false), OK);
    assert.ok((await names()).includes(name));
    await file.setMetadata({ still: 'there' });
    assert.equal(await client.setDelete(handle, true), OK);
    await client.close(handle);
    await assertRejects(file.getProperties(), 409, 'SMBDeletePending');
    await client.close(other);
    await assertRejects(file.getProperties(), 404, 'ResourceNotFound');
});

test('rule_S3: the same of directories, which nobody needs a share mode to look at', async () => {
    const directory = share.getDirectoryClient(uniqueName('d'));
    const looks = [() => directory.getProperties(), () => getMetadata(directory, { restype: 'directory' }),
        () => directory.listFilesAndDirectories().next()];
    await directory.create();
    for (const mode of Object.keys(FAILS)) {
        const handle = await client.open(directory.name, { access: READ | DELETE, options: 1, share: mode });
        for (const look of looks)
            await look();
        await assertRejects(directory.delete(), 409, 'SharingViolation');
        if (mode === 'rwd') {
            assert.equal(await client.setDelete(handle, true), OK);
            for (const look of looks)
                await assertRejects(look(), 409, 'SMBDeletePending');
        }
        await client.close(handle);
    }
    await assertRejects(directory.getProperties(), 404, 'ResourceNotFound');
});

test('rule_S4: a REST delete is done or not, and never pending', async () => {
    const { name, file } = await newFile();
    const handle = await client.open(name);
    await assertRejects(file.delete(), 409, 'SharingViolation');
    await file.getProperties();
    await client.close(handle);
    await file.delete();
    await assertRejects(file.getProperties(), 404, 'ResourceNotFound');
    assert.equal((await client.tryOpen(name)).status, NOT_FOUND);
});

// ---- caches ---------------------------------------------------------------------------------------------------------

const LEASES = [
    ['Get Properties', 'rhw', 'rh', true], ['Get Properties', 'rh', 'rh', false], ['Get Properties', 'rw', 'r', true],
    ['Get Metadata', 'rhw', 'rh', true], ['Get Metadata', 'rh', 'rh', false], ['Get Metadata', 'rw', 'r', true],
    ['Get', 'rhw', 'rh', true], ['Get', 'rh', 'rh', false], ['Get', 'rw', 'r', true],
    ['List Ranges', 'rhw', 'rh', true],
    ['Put Range', 'rhw', '', true], ['Put Range', 'rh', '', false], ['Put Range', 'rw', '', true],
    ['Set Metadata', 'rhw', '', true], ['Set Properties', 'rh', '', false],
];

for (const [name, before, to, waits] of LEASES) {
    test(`rule_S2: ${name} against a lease of ${before}: ${waits ? 'waits for' : 'goes on;'} ${to || 'none'}`, async () => {
        const { name: path, file } = await newFile();
        const key = randomBytes(16);
        const handle = await client.open(path, { access: READ | WRITE, lease: { key, state: before } });
        let ended = false;
        const run = (OPERATIONS[name] ?? FREE[name])(file).then(() => { ended = true; });
        if (before !== to) {
            const told = await client.nextBreak();
            assert.ok(told.key.equals(key) && told.from === leaseState(before) && told.to === leaseState(to));
            if (!waits)
                await run;
            assert.equal(ended, !waits);
            assert.equal(await client.ackLease(key, to), OK);
        }
        await run;
        assert.equal(client.breaks, 0);
        await client.close(handle);
    });
}

test('rule_S2: Delete asks the handle lease, and a client that closes lets it go on', async () => {
    const { name, file } = await newFile();
    const key = randomBytes(16);
    const handle = await client.open(name, { lease: { key, state: 'rh' } });
    const run = file.delete();
    assert.equal((await client.nextBreak()).to, leaseState('r'));
    await client.close(handle);
    await run;
});

test('rule_S2: a client that does not answer is waited for as long as the request has time', async () => {
    const { name, file } = await newFile();
    const key = randomBytes(16);
    const handle = await client.open(name, { access: READ | WRITE, lease: { key, state: 'rhw' } });
    const begun = performance.now();
    const answer = await server.request('file', 'GET', `/share1/${name}`, { query: { timeout: 1 } });
    assert.equal(answer.headers['x-ms-error-code'], 'ClientCacheFlushDelay');
    assert.ok(performance.now() - begun >= 900 && performance.now() - begun < 10000);
    assert.equal((await client.nextBreak()).to, leaseState('rh'));
    assert.equal(await client.ackLease(key, 'rh'), OK);
    await file.downloadToBuffer();
    await client.close(handle);
});

test('rule_S2: however long the request may take, a client is waited for 30 seconds', async () => {
    const { name, file } = await newFile();
    const key = randomBytes(16);
    const handle = await client.open(name, { access: READ | WRITE, lease: { key, state: 'rhw' } });
    let ended = false;
    const run = server.request('file', 'PUT', `/share1/${name}`, {
        query: { comp: 'range', timeout: 600 }, headers: { 'x-ms-write': 'update', 'x-ms-range': 'bytes=0-0' }, body: 'x',
    }).finally(() => { ended = true; });
    assert.equal((await client.nextBreak()).to, leaseState(''));
    server.advance(28000);
    await sleep(1200);
    assert.equal(ended, false);
    server.advance(2000);
    const answer = await run;
    assert.equal(answer.headers['x-ms-error-code'], 'ClientCacheFlushDelay');
    assert.equal(await client.ackLease(key, ''), OK);
    await file.uploadRange('x', 0, 1);
    await client.close(handle);
});

// ---- locks, handles, changes ----------------------------------------------------------------------------------------

test('rule_S2: byte-range locks: FileLockConflict; a lock that waits', async () => {
    const { name, file } = await newFile();
    const handle = await client.open(name, { access: READ | WRITE });
    const other = await client.open(name, { access: READ | WRITE });
    assert.equal(await client.lock(handle, 0, 1, 'exclusive'), OK);
    assert.equal(await client.lock(other, 0, 1, 'shared'), LOCK_NOT_GRANTED);
    await assertRejects(file.uploadRange('x', 100, 1), 409, 'FileLockConflict');
    await assertRejects(file.downloadToBuffer(), 409, 'FileLockConflict');
    await file.getProperties();
    let waited;
    await new Promise((resolve) => { waited = client.lock(other, 0, 1, 'exclusive', resolve); });
    assert.equal(await client.lock(handle, 0, 1, 'unlock'), OK);
    assert.equal(await waited, OK);
    await client.close(other);
    await client.close(handle);
    await file.uploadRange('x', 100, 1);
});

test('List Handles and Force Close Handles: address, session, rights, directory', async () => {
    const directory = share.getDirectoryClient(uniqueName('d'));
    await directory.create();
    const file = directory.getFileClient('file');
    await file.create(1);
    const path = `${directory.name}\\file`;
    const handles = [await client.open(path), await client.open(path, { access: READ | WRITE | DELETE })];
    const found = [];
    for await (const handle of file.listHandles())
        found.push(handle);
    const { fileId: parentId } = await directory.getProperties();
    assert.equal(found.length, 2);
    for (const handle of found) {
        assert.equal(handle.clientIp.split(':')[0], '127.0.0.1');
        assert.equal(handle.clientName, 'TESTER');
        assert.equal(BigInt(handle.sessionId), client.session);
        assert.equal(handle.parentId, parentId);
        assert.equal(handle.path, `${directory.name}/file`);
    }
    assert.deepEqual([...found[1].accessRightList].sort(), ['Delete', 'Read', 'Write']);
    assert.equal((await file.forceCloseHandle(found[0].handleId)).closedHandlesCount, 1);
    while (await client.close(handles[0]) !== FILE_CLOSED); // it is asked for, and comes
    assert.equal((await file.forceCloseAllHandles()).closedHandlesCount, 1);
    assert.equal((await file.listHandles().next()).done, true);
});

test('an SMB client that watches a directory hears of what REST does', async () => {
    const directory = share.getDirectoryClient(uniqueName('d'));
    await directory.create();
    const watched = await client.open(directory.name, { options: 1 });
    let next;
    await new Promise((resolve) => { next = client.changes(watched, true, resolve); });
    await directory.createFile('made', 10);
    assert.deepEqual(await next, [[1, 'made']]);
    await directory.getFileClient('made').delete();
    assert.deepEqual(await client.changes(watched, true), [[2, 'made']]);
    await client.close(watched);
});

test('and of copies, also when these end long after they were begun', async () => {
    const directory = share.getDirectoryClient(uniqueName('d'));
    await directory.create();
    const source = root().getFileClient(uniqueName('f'));
    await source.uploadData(Buffer.alloc(5000, 'x'));
    const watched = await client.open(directory.name, { options: 1 });
    let next;
    await new Promise((resolve) => { next = client.changes(watched, true, resolve); });
    await directory.getFileClient('copy').startCopyFromURL(source.url);
    const heard = await next;
    while (!heard.some(([action]) => action === 3))
        heard.push(...await client.changes(watched, true));
    assert.deepEqual(heard, [[1, 'copy'], [3, 'copy']]);
    await client.close(watched);
});

test('a durable handle outlives its connection, and shares as before meanwhile', async () => {
    const { name, file } = await newFile();
    const key = randomBytes(16);
    const guid = randomBytes(16);
    const first = await SmbClient.connect(port, 'share1', guid);
    const lease = { key, state: 'rh' };
    const handle = await first.open(name, { access: READ, share: 'r', lease, contexts: [['DHnQ', Buffer.alloc(16)]] });
    first.cut();
    const second = await SmbClient.connect(port, 'share1', guid);
    let back;
    do // until the server has noticed the cut
        back = await second.tryOpen(name, { lease, contexts: [['DHnC', handle]] });
    while (back.status === NOT_FOUND);
    assert.equal(back.status, OK);
    const { value } = await file.listHandles().next();
    assert.ok(value.lastReconnectTime instanceof Date);
    assert.equal(await second.close(back.id), OK);
    second.cut();
});
