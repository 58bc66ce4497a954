// SPDX-License-Identifier: Apache-2.0
// Persistent handles: they survive a kill or stop of the server, with their share modes, locks and pending deletes;
// until their client reconnects they block others, over SMB and REST.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { assertRejects, freePorts, startServer, uniqueName } from '../rest/lib.mjs';
import {
    DELETE, DELETE_PENDING, FILE_CLOSED, LOCK_NOT_GRANTED, NOT_AVAILABLE, NOT_FOUND, OK, READ, SHARING_VIOLATION, SmbClient, WRITE,
} from './client.mjs';

let server, port, share;
const SMB3 = 0x0300;
const CREATE = 2;
const DELETE_ON_CLOSE = 0x1000;

before(async () => {
    [port] = await freePorts(1);
    server = await startServer({ args: ['--smb-port', String(port)] });
    share = (await server.shares()).getShareClient('share1');
    await share.create();
});
after(() => server.stop());

const connect = (guid) => SmbClient.connect(port, 'share1', guid, SMB3);
const fileOf = (name) => share.rootDirectoryClient.getFileClient(name);

/** A client with a persistent handle on a new file. */
async function hold(how = {}) {
    const holder = { client: await connect(), name: uniqueName('p'), guid: randomBytes(16), how };
    const opened = await holder.client.tryOpen(holder.name, {
        access: READ | WRITE | DELETE, share: '', disposition: CREATE, contexts: [SmbClient.persistent(holder.guid, how.timeout)], ...how,
    });
    assert.equal(opened.status, OK);
    assert.ok(opened.body.includes('DH2Q'));
    holder.id = opened.id;
    return holder;
}

/** The same client, over a new connection. */
async function comeBack(holder, change = {}) {
    const client = await connect(holder.client.guid);
    const opened = await client.tryOpen(holder.name, {
        contexts: [SmbClient.comingBack(change.guid ?? holder.guid, holder.id)], lease: holder.how.lease,
    });
    return { client, opened };
}

const restart = (how) => server.restart({ crash: how === 'kill' });

for (const how of ['kill', 'stop']) {
    test(`a persistent handle outlives the server (${how})`, async () => {
        const holder = await hold();
        assert.equal(await holder.client.write(holder.id, 0, Buffer.from('before')), OK);
        await restart(how);
        const { client, opened } = await comeBack(holder);
        assert.equal(opened.status, OK);
        assert.deepEqual(opened.id.subarray(0, 8), holder.id.subarray(0, 8));
        assert.equal((await client.read(opened.id, 0, 100)).toString(), 'before');
        assert.equal(await client.write(opened.id, 6, Buffer.from(' after')), OK);
        assert.equal(await client.close(opened.id), OK);
        assert.equal((await fileOf(holder.name).downloadToBuffer()).toString(), 'before after');
        client.cut();
    });
}

test('until its client is back, its share mode holds against SMB and REST', async () => {
    const holder = await hold();
    await restart('kill');
    const other = await connect();
    assert.equal((await other.tryOpen(holder.name, { access: READ })).status, NOT_AVAILABLE);
    await assertRejects(fileOf(holder.name).download(), 409, 'SharingViolation');
    await assertRejects(fileOf(holder.name).delete(), 409, 'SharingViolation');
    const { client, opened } = await comeBack(holder);
    assert.equal(opened.status, OK);
    assert.equal((await other.tryOpen(holder.name, { access: READ })).status, SHARING_VIOLATION);
    assert.equal(await client.close(opened.id), OK);
    assert.equal((await other.tryOpen(holder.name, { access: READ })).status, OK);
    client.cut();
    other.cut();
});

test('its byte-range locks hold as well, and it can give them back', async () => {
    const holder = await hold({ share: 'rwd' });
    assert.equal(await holder.client.write(holder.id, 0, Buffer.alloc(100)), OK);
    assert.equal(await holder.client.lock(holder.id, 0, 10, 'exclusive'), OK);
    assert.equal(await holder.client.lock(holder.id, 20, 10, 'exclusive'), OK);
    assert.equal(await holder.client.lock(holder.id, 20, 10, 'unlock'), OK);
    await restart('kill');
    await assertRejects(fileOf(holder.name).uploadRange('x', 0, 1), 409, 'FileLockConflict');
    const other = await connect();
    const id = await other.open(holder.name, { access: READ | WRITE });
    assert.equal(await other.lock(id, 5, 1, 'exclusive'), LOCK_NOT_GRANTED);
    assert.equal(await other.lock(id, 25, 1, 'exclusive'), OK);
    const { client, opened } = await comeBack(holder);
    assert.equal(await client.lock(opened.id, 0, 10, 'unlock'), OK);
    assert.equal(await other.lock(id, 5, 1, 'exclusive'), OK);
    client.cut();
    other.cut();
});

test('its lease comes back with it', async () => {
    const lease = { key: randomBytes(16), state: 'rwh' };
    const holder = await hold({ share: 'rwd', lease });
    await restart('kill');
    const other = await connect();
    assert.equal((await other.tryOpen(holder.name, { access: READ })).status, NOT_AVAILABLE);
    const { client, opened } = await comeBack(holder);
    assert.equal(opened.status, OK);
    const opening = other.tryOpen(holder.name, { access: READ });
    assert.deepEqual((await client.nextBreak()).key, lease.key);
    assert.equal(await client.ackLease(lease.key, 'rh'), OK);
    assert.equal((await opening).status, OK);
    client.cut();
    other.cut();
});

test('what is to be deleted on close is, and a closed one does not come back', async () => {
    const doomed = await hold({ options: DELETE_ON_CLOSE });
    const marked = await hold();
    const spared = await hold();
    const closed = await hold();
    assert.equal(await marked.client.setDelete(marked.id, true), OK);
    assert.equal(await spared.client.setDelete(spared.id, true), OK);
    assert.equal(await spared.client.setDelete(spared.id, false), OK);
    assert.equal(await closed.client.close(closed.id), OK);
    await restart('kill');
    assert.equal((await comeBack(closed)).opened.status, NOT_FOUND);
    assert.equal((await fileOf(closed.name).getProperties()).contentLength, 0);
    for (const holder of [doomed, marked, spared]) {
        const { client, opened } = await comeBack(holder);
        assert.equal(opened.status, OK);
        assert.equal(await client.close(opened.id), OK);
        assert.equal(await client.close(opened.id), FILE_CLOSED);
        assert.equal(await fileOf(holder.name).exists(), holder === spared);
    }
});

/** Opens a holder's file for deletion, through a handle that does not survive. */
const openToDelete = (client, holder, options = 0) => client.open(holder.name, { access: READ | DELETE, options });

/** Nobody gets at the holder's file, and when the holder closes it, it is gone. */
async function assertDoomed(holder) {
    const reader = await connect();
    assert.equal((await reader.tryOpen(holder.name)).status, DELETE_PENDING);
    await assertRejects(fileOf(holder.name).getProperties(), 409, 'SMBDeletePending');
    const { client, opened } = await comeBack(holder);
    assert.equal(opened.status, OK);
    assert.equal(await client.close(opened.id), OK);
    assert.equal(await fileOf(holder.name).exists(), false);
    reader.cut();
    client.cut();
}

test('that a file is to be deleted outlives the handle that said so', async () => {
    const marked = await hold({ share: 'rwd' }), closed = await hold({ share: 'rwd' }), spared = await hold({ share: 'rwd' });
    const other = await connect();
    assert.equal(await other.setDelete(await openToDelete(other, marked), true), OK);
    assert.equal(await other.close(await openToDelete(other, closed, DELETE_ON_CLOSE)), OK);
    const id = await openToDelete(other, spared, DELETE_ON_CLOSE);
    assert.equal(await other.setDelete(id, false), OK);
    assert.equal(await other.close(id), OK);
    await restart('kill');
    await assertDoomed(marked);
    await assertDoomed(closed);
    const { client, opened } = await comeBack(spared);
    assert.equal(await client.close(opened.id), OK);
    assert.equal(await fileOf(spared.name).exists(), true);
    client.cut();
});

test('the same of a handle whose client is cut off', async () => {
    const holder = await hold({ share: 'rwd' });
    const other = await connect();
    await openToDelete(other, holder, DELETE_ON_CLOSE);
    other.cut();
    const looker = await connect();
    while ((await looker.tryOpen(holder.name)).status !== DELETE_PENDING)
        await new Promise((resolve) => setTimeout(resolve, 10));
    await restart('stop'); // nobody waited for it to be on disk, so it need not outlive a kill
    await assertDoomed(holder);
});

test('only its own client gets it, and only with its GUID', async () => {
    const holder = await hold();
    await restart('kill');
    assert.equal((await comeBack(holder, { guid: randomBytes(16) })).opened.status, NOT_FOUND);
    assert.equal((await comeBack(holder)).opened.status, OK);
});

test('when its time is over it is closed', async () => {
    const timeout = 1000;
    const holder = await hold({ timeout });
    const before = Date.now();
    await restart('kill');
    const other = await connect();
    const tryIt = async () => (await other.tryOpen(holder.name, { access: READ })).status;
    // On a busy machine it may be over before the first look, but never before its time.
    let status = await tryIt();
    for (; status !== OK; status = await tryIt()) {
        assert.equal(status, NOT_AVAILABLE);
        await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.ok(Date.now() - before >= timeout);
    // The handle's row is deleted without a flush; the next durable update, here by REST, takes it along.
    await fileOf(uniqueName('flush')).create(1);
    await restart('kill');
    assert.equal((await comeBack(holder)).opened.status, NOT_FOUND);
});

test('a CREATE whose answer was lost is answered when it is sent again', async () => {
    const holder = await hold();
    await restart('kill');
    const client = await connect(holder.client.guid);
    const again = { access: READ | WRITE | DELETE, share: '', disposition: CREATE, contexts: [SmbClient.persistent(holder.guid)] };
    const opened = await client.tryOpen(holder.name, { ...again, replay: true });
    assert.equal(opened.status, OK);
    assert.deepEqual(opened.id.subarray(0, 8), holder.id.subarray(0, 8));
    client.cut();
});
