// SPDX-License-Identifier: Apache-2.0
// The open files of shares across gateways: one gateway has them, and the others forward connections to it. When it
// fails another takes over, with the handles that outlive a connection.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import tls from 'node:tls';
import { assertRejects, freePorts, startServer, uniqueName, until, xmlTexts } from '../rest/lib.mjs';
import { DELETE, FILE_CLOSED, LOCK_NOT_GRANTED, NOT_AVAILABLE, OK, READ, SHARING_VIOLATION, SmbClient, WRITE } from '../smb/client.mjs';
import { FULL, newStore, theCluster } from './lib.mjs';

const SMB3 = 0x0300;
const CREATE = 2;
const TAKEOVER_MS = 15_000;
let cluster, store, gateways;

async function startOne(where = store) {
    const [smb, hop] = await freePorts(2);
    const gateway = await startServer({
        services: ['blob', 'file'],
        args: ['--silent', '--smb-port', String(smb), '--gateway-port', String(hop), '--engine', 'cluster', ...where.flags],
    });
    return Object.assign(gateway, { smb, hop });
}

/** When the gateway last said that it has the open files; '' when it never did. */
const sinceWhen = (gateway) => [...gateway.output.matchAll(/^(\S+) INFO this gateway keeps the open files/mg)].at(-1)?.[1] ?? '';
const lives = (gateway) => gateway.child !== null;
const theHome = (among = gateways) => among.filter(lives).toSorted((a, b) => (sinceWhen(a) < sinceWhen(b) ? 1 : -1))[0];
const others = () => gateways.filter((gateway) => lives(gateway) && gateway !== theHome());
const readiness = async (gateway) => (await fetch(`http://127.0.0.1:${gateway.ports.file}/_lazuli/readyz`)).status;
const connect = (gateway, guid) => SmbClient.connect(gateway.smb, 'share1', guid, SMB3);
const fileOf = async (gateway, name) => (await gateway.shares()).getShareClient('share1').rootDirectoryClient.getFileClient(name);

before(async () => {
    cluster = await theCluster();
    store = newStore(cluster);
    gateways = [];
    for (let n = 0; n < 3; n++)
        gateways.push(await startOne());
    await (await gateways[2].shares()).getShareClient('share1').create();
});
after(async () => {
    await Promise.all((gateways ?? []).map((gateway) => gateway.stop()));
    await cluster?.down();
});

/** The client itself comes again until it is let in, as real ones do. */
async function connectSoon(gateway, guid, ms = TAKEOVER_MS) {
    const end = performance.now() + ms;
    for (;;) {
        const attempt = connect(gateway, guid);
        const client = await Promise.race([attempt.catch(() => null), sleep(Math.max(1, end - performance.now()), 'late')]);
        if (client !== null && client !== 'late')
            return client;
        assert.ok(performance.now() < end, `nobody let the client in within ${ms} ms`);
        await sleep(100);
    }
}

test('a share mode taken through one gateway holds at all of them, over REST and SMB', async () => {
    const name = uniqueName('f');
    for (const via of gateways) {
        const holder = await connect(via);
        const id = await holder.open(name, { access: READ | WRITE | DELETE, share: '', disposition: 3 });
        assert.equal(await holder.write(id, 0, Buffer.from('held')), OK);
        for (const gateway of gateways) {
            const file = await fileOf(gateway, name);
            await assertRejects(file.downloadToBuffer(), 409, 'SharingViolation');
            await assertRejects(file.uploadRange('x', 0, 1), 409, 'SharingViolation');
            await assertRejects(file.delete(), 409, 'SharingViolation');
            const other = await connect(gateway);
            assert.equal((await other.tryOpen(name, { access: READ })).status, SHARING_VIOLATION);
            other.cut();
        }
        assert.equal(await holder.close(id), OK);
        for (const gateway of gateways)
            assert.equal((await (await fileOf(gateway, name)).downloadToBuffer()).toString(), 'held');
        holder.cut();
    }
});

test('a byte range locked through one gateway is locked for all', async () => {
    const name = uniqueName('f');
    const holder = await connect(gateways[1]);
    const id = await holder.open(name, { access: READ | WRITE, disposition: CREATE });
    assert.equal(await holder.write(id, 0, Buffer.alloc(100)), OK);
    assert.equal(await holder.lock(id, 10, 10, 'exclusive'), OK);
    for (const gateway of gateways) {
        await assertRejects((await fileOf(gateway, name)).uploadRange(Buffer.alloc(64 << 10), 0, 64 << 10), 409, 'FileLockConflict');
        const other = await connect(gateway);
        const its = await other.open(name, { access: READ | WRITE });
        assert.equal(await other.lock(its, 15, 1, 'shared'), LOCK_NOT_GRANTED);
        assert.equal(await other.lock(its, 50, 1, 'shared'), OK);
        other.cut();
    }
    holder.cut();
    await until(async () => (await gateways[2].request('file', 'GET', `/share1/${name}`, { query: { comp: 'listhandles' } })).text.includes('<Handle>') === false);
});

test('handles are listed, and closed by force, through any gateway', async () => {
    const name = uniqueName('f');
    const holder = await connect(gateways[0]);
    const id = await holder.open(name, { access: READ | WRITE, disposition: CREATE });
    for (const gateway of gateways) {
        const list = await gateway.request('file', 'GET', `/share1/${name}`, { query: { comp: 'listhandles' } });
        assert.equal(list.status, 200);
        assert.equal(xmlTexts(list.text, 'HandleId').length, 1, list.text);
        assert.match(xmlTexts(list.text, 'ClientIp')[0], /^127\.0\.0\.1/);
    }
    const [away] = others();
    const closed = await away.request('file', 'PUT', `/share1/${name}`, { query: { comp: 'forceclosehandles' }, headers: { 'x-ms-handle-id': '*' } });
    assert.equal(closed.status, 200);
    assert.equal(closed.headers['x-ms-number-of-handles-closed'], '1');
    await until(async () => await holder.write(id, 0, Buffer.from('x')) === FILE_CLOSED);
    holder.cut();
});

test('shares that no SMB client has used are served by every gateway itself; large bodies go through the hop', async () => {
    const [away] = others();
    const shares = await away.shares();
    const bytes = randomBytes(4 << 20);
    for (const name of ['quiet', 'share1']) { // the second is used by SMB
        const share = shares.getShareClient(name);
        await share.createIfNotExists();
        const file = share.rootDirectoryClient.getFileClient('big');
        await file.create(bytes.length);
        await file.uploadRange(bytes, 0, bytes.length);
        assert.deepEqual(await file.downloadToBuffer(), bytes);
        // Only what went on to the other gateway is told there, with the address of the client.
        await file.delete();
    }
});

test('what is not signed is refused at the gateway that has the files, too', async () => {
    const [away] = others();
    for (const gateway of [theHome(), away]) {
        const answer = await gateway.request('file', 'GET', '/share1/none', { auth: 'none' });
        assert.ok([401, 403, 404].includes(answer.status), String(answer.status));
    }
});

test('nobody without the key of the store is heard on the port between gateways', async () => {
    const { hop } = theHome();
    const plain = net.connect(hop, '127.0.0.1');
    await once(plain, 'connect');
    const heard = [];
    plain.on('data', (bytes) => heard.push(bytes)).on('error', () => {});
    plain.write(Buffer.concat([Buffer.from('LZHOP1'), Buffer.from([5, 0, 4]), Buffer.alloc(18)]));
    await new Promise((resolve) => { plain.on('close', resolve); });
    assert.deepEqual(heard, []);
    const guess = (options) => new Promise((resolve) => {
        const socket = tls.connect({ host: '127.0.0.1', port: hop, rejectUnauthorized: false, ...options });
        socket.on('secureConnect', () => { socket.destroy(); resolve('in'); });
        socket.on('error', () => resolve('refused'));
    });
    assert.equal(await guess({}), 'refused');
    assert.equal(await guess({ minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' }), 'refused');
    assert.equal(await guess({ maxVersion: 'TLSv1.2', ciphers: 'PSK', pskCallback: () => ({ psk: randomBytes(32), identity: 'lazuli' }), checkServerIdentity: () => undefined }), 'refused');
});

/** Handles that outlive a connection: a persistent one with a lock, and a durable one with a lease. */
async function holdAll(gateway) {
    const holder = { client: await connect(gateway), persistent: uniqueName('p'), durable: uniqueName('d'), guids: [randomBytes(16), randomBytes(16)] };
    holder.lease = { key: randomBytes(16), state: 'rwh' };
    const persistent = await holder.client.tryOpen(holder.persistent, {
        access: READ | WRITE | DELETE, share: 'r', disposition: CREATE, contexts: [SmbClient.persistent(holder.guids[0])],
    });
    assert.equal(persistent.status, OK);
    const durable = await holder.client.tryOpen(holder.durable, {
        access: READ | WRITE, share: '', disposition: CREATE, lease: holder.lease, contexts: [SmbClient.durable(holder.guids[1])],
    });
    assert.equal(durable.status, OK);
    holder.ids = [persistent.id, durable.id];
    for (const id of holder.ids)
        assert.equal(await holder.client.write(id, 0, Buffer.from('before')), OK);
    assert.equal(await holder.client.lock(holder.ids[0], 0, 3, 'exclusive'), OK);
    return holder;
}

/** Another client finds all of it in force, then the first comes back for it. */
async function comeBack(holder, gateway) {
    const other = await connectSoon(gateway, undefined);
    assert.equal((await other.tryOpen(holder.persistent, { access: WRITE })).status, NOT_AVAILABLE);
    await assertRejects((await fileOf(gateway, holder.persistent)).uploadRange('x', 0, 1), 409, 'SharingViolation');
    const client = await connectSoon(gateway, holder.client.guid);
    const persistent = await client.tryOpen(holder.persistent, { contexts: [SmbClient.comingBack(holder.guids[0], holder.ids[0])] });
    assert.equal(persistent.status, OK);
    const durable = await client.tryOpen(holder.durable, { lease: holder.lease, contexts: [SmbClient.comingBackDurable(holder.guids[1], holder.ids[1])] });
    assert.equal(durable.status, OK, `durable: ${durable.status.toString(16)}`);
    assert.equal((await other.tryOpen(holder.persistent, { access: WRITE })).status, SHARING_VIOLATION);
    for (const opened of [persistent, durable]) {
        assert.equal((await client.read(opened.id, 0, 100)).toString(), 'before');
        assert.equal(await client.write(opened.id, 6, Buffer.from(' after')), OK);
        assert.equal(await client.close(opened.id), OK);
    }
    assert.equal((await (await fileOf(gateway, holder.persistent)).downloadToBuffer()).toString(), 'before after');
    other.cut();
    client.cut();
}

test('when the gateway with the files is killed, another takes over within 15 s, durable and persistent handles included', async () => {
    const dead = theHome();
    const [near, far] = others();
    const holder = await holdAll(far);
    await dead.kill();
    const killed = performance.now();
    (await connectSoon(near)).cut();
    assert.ok(performance.now() - killed < TAKEOVER_MS);
    assert.notEqual(theHome(), dead);
    await comeBack(holder, near);
    await dead.start();
    const back = await connect(dead);
    assert.equal((await back.tryOpen(holder.durable, { access: READ })).status, OK);
    back.cut();
});

test('when it stops in good order, another takes over at once', async () => {
    const old = theHome();
    const [near] = others();
    const holder = await holdAll(old);
    await old.endWell();
    await connectSoon(near).then((client) => client.cut());
    await comeBack(holder, near);
    await old.start();
});

test('of gateways that start at the same time one has the files', async () => {
    const fresh = newStore(cluster);
    const started = await Promise.all([0, 1, 2].map(() => startOne(fresh)));
    try {
        await until(() => started.some((gateway) => sinceWhen(gateway) !== '')); // it serves before it has said so
        await (await started[0].shares()).getShareClient('share1').create();
        const clients = await Promise.all(started.map((gateway) => connectSoon(gateway)));
        const opened = await Promise.all(clients.map((client) => client.tryOpen('one', { access: READ | WRITE, share: '', disposition: 3 })));
        assert.deepEqual(opened.map((o) => o.status).toSorted(), [OK, SHARING_VIOLATION, SHARING_VIOLATION]);
        assert.equal(started.filter((gateway) => sinceWhen(gateway) !== '').length, 1);
        for (const client of clients)
            client.cut();
    } finally {
        await Promise.all(started.map((gateway) => gateway.stop()));
    }
});

if (FULL) test('a gateway that was frozen finds the files gone: it writes nothing and answers nothing from what it knew', async () => {
    const frozen = theHome();
    const [near, far] = others();
    const name = uniqueName('f');
    const stale = await connect(frozen);
    const id = await stale.open(name, { access: READ | WRITE, share: '', disposition: CREATE });
    assert.equal(await stale.write(id, 0, Buffer.from('old')), OK);
    const through = await connect(far); // its connection ends when the other takes over
    const holder = await holdAll(frozen);
    frozen.child.kill('SIGSTOP');
    const stopped = performance.now();
    try {
        // Requests that arrive while it is frozen wait in its sockets.
        let answered = false;
        const late = stale.write(id, 0, Buffer.from('STALE'));
        const lock = stale.lock(id, 0, 1, 'exclusive');
        for (const one of [late, lock])
            one.then(() => { answered = true; });
        const next = await connectSoon(near, undefined, 20_000);
        assert.ok(performance.now() - stopped < TAKEOVER_MS, `${performance.now() - stopped} ms`);
        const its = await next.open(name, { access: READ | WRITE, share: '', disposition: 3 });
        assert.equal((await next.read(its, 0, 10)).toString(), 'old');
        assert.equal(await next.write(its, 0, Buffer.from('new')), OK);
        await comeBack(holder, far);
        await sleep(Math.max(0, 40_000 - (performance.now() - stopped)));
        frozen.child.kill('SIGCONT');
        await Promise.race([new Promise((resolve) => { stale.socket.on('close', resolve); }), sleep(20_000, undefined, { ref: false }).then(() => assert.fail('the stale connection stays'))]);
        assert.equal(answered, false);
        // Through the one that was frozen, too, the file is as the new one left it, and open there.
        await assertRejects((await fileOf(frozen, name)).downloadToBuffer(), 409, 'SharingViolation');
        assert.equal(await next.close(its), OK);
        for (const gateway of gateways)
            assert.equal((await (await fileOf(gateway, name)).downloadToBuffer()).toString(), 'new');
        const back = await connectSoon(frozen);
        assert.equal((await back.tryOpen(name, { access: READ })).status, OK);
        back.cut();
        next.cut();
    } finally {
        frozen.child.kill('SIGCONT');
        through.cut();
        stale.cut();
    }
});

if (FULL) test('while PostgreSQL is away for longer than a heartbeat may be late, clients of SMB wait: no connection is cut, no lock is lost', async () => {
    const home = theHome();
    const since = sinceWhen(home);
    const name = uniqueName('f');
    const holders = [];
    for (const [n, gateway] of [home, others()[0]].entries()) {
        const client = await connect(gateway);
        const id = await client.open(`${name}-${n}`, { access: READ | WRITE | DELETE, disposition: CREATE });
        assert.equal(await client.write(id, 0, Buffer.from('before')), OK);
        assert.equal(await client.lock(id, 0, 3, 'exclusive'), OK);
        const gone = new Promise((_, reject) => {
            client.socket.on('close', () => reject(new Error(`the connection was cut:\n${gateways.map((g) => g.output).join('\n')}`)));
        });
        gone.catch(() => {});
        holders.push({ client, id, name: `${name}-${n}`, gone });
    }
    const primary = await cluster.ctl('primary');
    await cluster.ctl('stop', primary);
    let answers, unlocked;
    try {
        await sleep(9000); // in doubt by now
        answers = holders.map(({ client, id, gone }) => Promise.race([gone, client.write(id, 6, Buffer.from(' after'))]));
        unlocked = Promise.race([holders[0].gone, holders[0].client.lock(holders[0].id, 10, 1, 'exclusive')]); // needs no row
        await sleep(3000);
        for (const gateway of gateways)
            assert.equal(await readiness(gateway), 503);
    } finally {
        await cluster.ctl('cont', primary);
    }
    for (const gateway of gateways)
        await until(async () => await readiness(gateway) === 200);
    for (const answer of [...answers, unlocked])
        assert.equal(await answer, OK);
    assert.equal(theHome(), home);
    assert.equal(sinceWhen(home), since);
    const other = await connectSoon(gateways[1]);
    for (const { client, id, name: path } of holders) {
        const its = await other.open(path, { access: READ | WRITE });
        assert.equal(await other.lock(its, 1, 1, 'shared'), LOCK_NOT_GRANTED);
        assert.equal((await client.read(id, 0, 100)).toString(), 'before after');
        assert.equal(await client.close(id), OK);
        client.cut();
    }
    other.cut();
});
