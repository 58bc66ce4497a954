// SPDX-License-Identifier: Apache-2.0
// The inspector of files that SMB clients have open: the list of opens and locks, and REST refusals with the conflicting
// open (rules S2 and S3).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { freePorts, testOfFolder, until } from '../rest/lib.mjs';
import { DELETE, READ, SmbClient, WRITE } from '../smb/client.mjs';
import { ask, askSigned, startAdmin } from './admin_lib.mjs';

let server, client, smbPort;
before(async () => {
    const [port] = await freePorts(1);
    smbPort = port;
    server = await startAdmin({ args: ['--smb-port', String(port), '--test-control'] });
    await server.request('file', 'PUT', '/share1', { query: { restype: 'share' } });
    for (const name of ['busy', 'locked', 'going'])
        await server.request('file', 'PUT', `/share1/${name}`, { headers: { 'x-ms-type': 'file', 'x-ms-content-length': 1024 } });
    client = await SmbClient.connect(port, 'share1');
});
after(async () => {
    client.cut();
    await server.stop();
});

async function inspect(path) {
    const answer = await askSigned(server, 'GET', `/api/v1/inspect/${path}`);
    assert.equal(answer.status, 200, answer.text);
    return answer.json();
}

test('rule S2: an open that shares nothing, on the board and in the refusal', async () => {
    const handle = await client.open('busy', { access: READ | WRITE, share: '' });
    const { opens } = await inspect('opens');
    const open = opens.find(({ path }) => path === 'busy');
    assert.deepEqual([open.share, open.access, open.sharing, open.lockCount, open.address], ['share1', 'rw', '', 0, '127.0.0.1']);
    assert.equal((await server.request('file', 'GET', '/share1/busy')).status, 409);
    const { events: [event] } = await inspect('events?limit=1&resource=share1/busy');
    assert.deepEqual([event.rule, event.error, event.operation], ['S2', 'SharingViolation', 'GetFile']);
    assert.match(event.met.holder, /^SMB client 127\.0\.0\.1, access rw, shares , 0 locks/);
    const metrics = (await ask(server, 'GET', '/metrics')).text;
    assert.match(metrics, /^lazuli_smb_opens 1$/m);
    assert.match(metrics, /^lazuli_smb_sessions 1$/m);
    assert.match(metrics, /^lazuli_smb_requests_total\{command="Create",result="success"\} 1$/m);
    await client.close(handle);
    assert.deepEqual((await inspect('opens')).opens, []);
});

test('rule S2: a locked range', async () => {
    const handle = await client.open('locked', { access: READ | WRITE });
    await client.lock(handle, 0, 100, 'exclusive');
    const { opens: [open] } = await inspect('opens');
    assert.deepEqual(open.locks, [{ offset: 0, length: 100, exclusive: true }]);
    assert.match((await ask(server, 'GET', '/metrics')).text, /^lazuli_smb_locks 1$/m);
    await client.close(handle);
});

test('SMB refusals are events too: a share mode, a lock, a lease of REST, and who holds', async () => {
    const other = await SmbClient.connect(smbPort, 'share1');
    try {
        const last = async (name) => (await inspect(`events?limit=1&resource=share1/${name}`)).events[0];
        const handle = await client.open('busy', { access: READ | WRITE, share: '' });
        await assert.rejects(other.open('busy', { access: READ }));
        const shared = await last('busy');
        assert.deepEqual([shared.operation, shared.error, shared.rule, shared.status], ['SMB Create', 'SharingViolation', 'S2', 409]);
        assert.match(shared.sent, /^access r, shares /);
        assert.match(shared.met.holder, /^SMB client 127\.0\.0\.1, access rw, shares , 0 locks/);
        assert.equal(shared.request.address, '127.0.0.1');
        await client.close(handle);

        const mine = await client.open('locked', { access: READ | WRITE });
        const theirs = await other.open('locked', { access: READ | WRITE });
        await client.lock(mine, 0, 100, 'exclusive');
        assert.equal(await other.lock(theirs, 10, 5, 'exclusive'), 0xC0000055);
        const locked = await last('locked');
        assert.deepEqual([locked.operation, locked.error, locked.rule], ['SMB Lock', 'FileLockConflict', 'S2']);
        assert.match(locked.met.holder, /1 locks/);
        await client.close(mine);
        await other.close(theirs);

        const lease = (action, headers = {}) => server.request('file', 'PUT', '/share1/going', { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': action, ...headers } });
        assert.equal((await lease('acquire', { 'x-ms-lease-duration': '-1', 'User-Agent': 'the-holder/1' })).status, 201);
        await assert.rejects(other.open('going', { access: READ | WRITE }));
        const leased = await last('going');
        assert.deepEqual([leased.operation, leased.error], ['SMB Create', 'SharingViolation']);
        assert.equal(leased.madeBy?.userAgent, 'the-holder/1');
        assert.match((await ask(server, 'GET', '/metrics')).text, /^lazuli_leases_held\{kind="file"\} 1$/m);
        assert.match((await ask(server, 'GET', '/metrics')).text, /^lazuli_conflicts_total\{service="file",rule="S2"\} [4-9]/m);
        await lease('break');
    } finally {
        other.cut();
    }
});

test("SMB clients' writes and reads are in a file's timeline, of a handle once a second at most", async () => {
    const timeline = () => inspect('events?kind=refusal,write,read&resource=share1/timeline');
    await timeline(); // from now on reads are kept
    const handle = await client.open('timeline', { access: READ | WRITE, disposition: 3 });
    for (let i = 0; i < 20; i++)
        await client.write(handle, i * 5, Buffer.from('hello'));
    await client.read(handle, 0, 5);
    await client.close(handle);
    const again = await client.open('timeline', { access: READ });
    await client.read(again, 0, 5);
    await client.close(again);
    assert.equal((await server.request('file', 'GET', '/share1/timeline')).status, 200);
    const { events } = await timeline();
    const told = events.map(({ kind, operation }) => `${kind} ${operation}`);
    assert.deepEqual([told.includes('write SMB Create'), told.includes('read SMB Create'), told.includes('read GetFile')], [true, true, true], told.join());
    assert.ok(told.filter((text) => text.startsWith('write ')).length < 10, told.join());
    assert.equal(events[0].request.address, '127.0.0.1');

    // The next write through the handle, a second later, reports the last writer; REST's refusals name it.
    await until(async () => {
        const slow = await client.open('timeline', { access: READ | WRITE });
        await client.write(slow, 0, Buffer.from('again'));
        await client.close(slow);
        return (await timeline()).events.some((event) => event.kind === 'write' && event.operation === 'SMB Write');
    });
});

testOfFolder('a reset by test control closes what SMB clients have open', async () => {
    await client.open('busy', { access: READ | WRITE });
    assert.equal((await inspect('opens')).opens.length, 1);
    const kept = await ask(server, 'PUT', '/_lazuli/control/v1/snapshots/before', { headers: { 'x-lazuli-control': '1' }, body: '{}' });
    assert.equal(kept.status, 201, kept.text);
    const restored = await ask(server, 'POST', '/_lazuli/control/v1/snapshots/before/restore', { headers: { 'x-lazuli-control': '1' } });
    assert.equal(restored.status, 200, restored.text);
    await until(async () => (await inspect('opens')).opens.length === 0);
    assert.equal((await server.request('file', 'GET', '/share1/busy')).status, 200);
});

test('rule S3: a file that is to be deleted', async () => {
    const other = await client.open('going', { access: READ });
    const handle = await client.open('going', { access: READ | DELETE, options: 0x1000 });
    await client.close(handle);
    const answer = await server.request('file', 'GET', '/share1/going');
    assert.equal(answer.headers['x-ms-error-code'], 'SMBDeletePending');
    const { events: [event] } = await inspect('events?limit=1&resource=share1/going');
    assert.equal(event.rule, 'S3');
    assert.equal((await inspect('opens')).opens[0].deletePending, true);
    await client.close(other);
});
