// SPDX-License-Identifier: Apache-2.0
// lazuli export, import and copy: the data is the same byte by byte, and interrupted transfers resume.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { startServer, testOfFolder } from './lib.mjs';
import { command, fill, numbers, sha, start } from './transfer_lib.mjs';

const folder = mkdtempSync(join(tmpdir(), 'lazuli-transfer-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const at = (name) => join(folder, name);
const SEED = Number(process.env.SEED ?? (process.env.FULL === '1' ? Date.now() % 1e9 : 7));

async function servers(count, options) {
    const all = [];
    for (let i = 0; i < count; i++)
        all.push(await startServer({ inMemory: true, ...options }));
    after(async () => { for (const server of all) await server.stop(); });
    return all;
}

for (const versions of [false, true])
    test(`export, import, export: the same bytes${versions ? ', with versions' : ''} (seed ${SEED})`, { timeout: 240000 }, async () => {
        const args = versions ? ['--blob-versioning', 'on'] : [];
        const [from, to] = await servers(2, { args });
        await fill(from, SEED + versions);
        await command(['export', at('one.tar'), from.connectionString()]);
        await command(['import', at('one.tar'), to.connectionString()]);
        await command(['export', at('two.tar'), to.connectionString()]);
        assertSame(at('one.tar'), at('two.tar'));
        await command(['copy', 'env:FROM', 'env:TO'], { env: { FROM: from.connectionString(), TO: to.connectionString() }, cwd: folder });
        await command(['export', at('three.tar'), to.connectionString()]);
        assertSame(at('one.tar'), at('three.tar'));
        for (const name of ['one.tar', 'two.tar', 'three.tar'])
            rmSync(at(name));
    });

/** Says which entry differs. */
function assertSame(one, two) {
    if (sha(one) === sha(two))
        return;
    const script = `import sys, tarfile
def entries(p):
    t = tarfile.open(p)
    return [(m.name, t.extractfile(m).read()) for m in t]
a, b = entries(sys.argv[1]), entries(sys.argv[2])
for x, y in zip(a, b):
    if x != y: print("first difference:", x[0], x[1][:3000], "\\n", y[0], y[1][:3000]); break
else: print("lengths", len(a), len(b), (a + b)[min(len(a), len(b))][0])`;
    assert.fail(spawnSync('python3', ['-c', script, one, two], { encoding: 'utf8' }).stdout);
}

test('an archive is a tar of plain files that tar and Python read', async () => {
    const [server] = await servers(1, { inMemory: false, args: ['--durability', 'relaxed'] });
    await fill(server, 3);
    await command(['export', at('plain.tar'), server.data]);
    const out = mkdtempSync(join(folder, 'out-'));
    const done = spawnSync('tar', ['-xf', at('plain.tar'), '-C', out], { encoding: 'utf8' });
    assert.equal(done.stderr, '');
    const container = (await server.blobs()).getContainerClient('first');
    assert.deepEqual(readFileSync(join(out, 'devstoreaccount1/blob/first/plain.txt')), await container.getBlobClient('plain.txt').downloadToBuffer());
    const share = (await server.shares()).getShareClient('disk');
    assert.deepEqual(readFileSync(join(out, 'devstoreaccount1/file/disk/docs/deep/sparse')), await share.getDirectoryClient('docs/deep').getFileClient('sparse').downloadToBuffer());
    const described = JSON.parse(readFileSync(join(out, 'devstoreaccount1/table/People/entities-000001%.json'), 'utf8'));
    assert.equal(described.entities[0]['big@odata.type'], 'Edm.Int64');
});

testOfFolder('folders without a server, another account, standard input and output', { timeout: 120000 }, async () => {
    const [server] = await servers(1, { inMemory: false, args: ['--durability', 'relaxed'] });
    await fill(server, 4);
    await command(['account', 'add', 'second1', '--data', server.data]);
    await server.endWell();
    await command(['export', at('a.tar'), server.data]);
    await command(['import', at('a.tar'), at('made')]);
    await command(['export', at('b.tar'), '--data', at('made')]);
    assertSame(at('a.tar'), at('b.tar'));
    assert.ok(readFileSync(at('b.tar')).includes('second1%.json'));
    const pipe = spawnSync('sh', ['-c', `"$0" export - "$1" | "$0" import - "$2"`, process.env.LAZULI_BIN ?? new URL('../../build/lazuli', import.meta.url).pathname, at('made'), at('piped')], { encoding: 'utf8' });
    assert.equal(pipe.status, 0, pipe.stderr);
    await command(['export', at('c.tar'), at('piped')]);
    assertSame(at('a.tar'), at('c.tar'));
    assert.match((await start(['export', at('d.tar'), at('nowhere')]).ended).err, /no store here/);
    await server.start();
});

test('hierarchical accounts keep folders, owners and rights', async () => {
    const [from, to] = await servers(2, { args: ['--hns', 'on'] });
    const lake = (await from.lake()).getFileSystemClient('lake');
    await lake.create();
    await lake.getDirectoryClient('raw/2026').create({ metadata: { kept: 'yes' } });
    const file = lake.getFileClient('raw/2026/day.csv');
    await file.create();
    await file.append('a,b\n', 0, 4);
    await file.flush(4);
    await file.setAccessControl([{ accessControlType: 'user', entityId: '', defaultScope: false, permissions: { read: true, write: true, execute: false } },
        { accessControlType: 'user', entityId: 'c9da6455-213d-42c9-9a79-3e9149a57833', defaultScope: false, permissions: { read: true, write: false, execute: false } },
        { accessControlType: 'group', entityId: '', defaultScope: false, permissions: { read: true, write: false, execute: false } },
        { accessControlType: 'mask', entityId: '', defaultScope: false, permissions: { read: true, write: false, execute: false } },
        { accessControlType: 'other', entityId: '', defaultScope: false, permissions: { read: false, write: false, execute: false } }], { owner: 'someone' });
    await command(['export', at('lake1.tar'), from.connectionString()]);
    await command(['import', at('lake1.tar'), to.connectionString()]);
    await command(['export', at('lake2.tar'), to.connectionString()]);
    assertSame(at('lake1.tar'), at('lake2.tar'));
    const read = await (await to.lake()).getFileSystemClient('lake').getFileClient('raw/2026/day.csv').getAccessControl();
    assert.equal(read.owner, 'someone');
    assert.ok(read.acl.some((entry) => entry.entityId.startsWith('c9da')));
});

test('an export, an import and a copy that were killed go on', { timeout: 240000 }, async () => {
    const [from, to] = await servers(2);
    const container = (await from.blobs()).getContainerClient('many');
    await container.create();
    const draw = numbers(5);
    await Promise.all(Array.from({ length: 400 }, (_, i) => container.getBlockBlobClient(`blob-${String(i).padStart(4, '0')}`).upload(`content ${i} ${draw(1e6)}`, `content ${i} ${draw(1e6)}`.length).catch(() => {})));
    await fill(from, 6);
    await command(['export', at('whole.tar'), from.connectionString()]);
    await killed(['export', at('cut.tar'), from.connectionString()], () => existsSync(at('cut.tar.part')) && statSync(at('cut.tar.part')).size > 200000);
    assert.ok(!existsSync(at('cut.tar')), 'it was killed too late');
    const again = await command(['export', at('cut.tar'), from.connectionString()]);
    assert.match(again.err, /earlier run/);
    assertSame(at('whole.tar'), at('cut.tar'));
    await killed(['import', at('whole.tar'), to.connectionString(), '--parallel', '2'], () => existsSync(at('whole.tar.progress')));
    assert.match((await command(['import', at('whole.tar'), to.connectionString()])).err, /earlier run/);
    assert.ok(!existsSync(at('whole.tar.progress')));
    await command(['export', at('imported.tar'), to.connectionString()]);
    assertSame(at('whole.tar'), at('imported.tar'));
    const [other] = await servers(1);
    const here = mkdtempSync(join(folder, 'copy-'));
    const words = ['copy', from.connectionString(), other.connectionString(), '--parallel', '2'];
    const state = () => spawnSync('sh', ['-c', `ls ${here}/lazuli-copy-*.progress`]).status === 0;
    await killed(words, state, { cwd: here });
    assert.match((await command(words, { cwd: here })).err, /earlier run/);
    assert.ok(!state());
    await command(['export', at('copied.tar'), other.connectionString()]);
    assertSame(at('whole.tar'), at('copied.tar'));
});

/** Kills the command once the condition holds. */
async function killed(words, condition, options) {
    const { child, ended } = start(words, options);
    const gone = ended.then(() => true);
    while (!condition() && !(await Promise.race([gone, new Promise((r) => { setTimeout(() => r(false), 2); })])))
        ;
    child.kill('SIGKILL');
    await ended;
}

test('a copy whose source changes takes no torn blob', { timeout: 120000 }, async () => {
    const [from, to] = await servers(2);
    const source = (await from.blobs()).getContainerClient('torn');
    await source.create();
    const size = 9 << 20;
    const blob = source.getBlockBlobClient('big');
    await blob.upload(Buffer.alloc(size, 0), size);
    let stop = false;
    const writing = (async () => {
        for (let i = 1; !stop; i++) {
            await blob.upload(Buffer.alloc(size, i % 256), size);
            await new Promise((r) => { setTimeout(r, 40); });
        }
    })();
    const done = await start(['copy', from.connectionString(), to.connectionString(), '--only', 'blob'], { cwd: folder }).ended;
    stop = true;
    await writing;
    if (done.code !== 0) {
        assert.match(done.err, /changes faster/);
        return;
    }
    const got = await (await to.blobs()).getContainerClient('torn').getBlobClient('big').downloadToBuffer();
    assert.ok(got.every((byte) => byte === got[0]), 'it is of two states');
});

test('parts can be chosen, damage is said', async () => {
    const [from, to] = await servers(2);
    await fill(from, 8);
    await command(['export', at('some.tar'), from.connectionString(), '--only', 'blob/first,table']);
    const listed = spawnSync('tar', ['-tf', at('some.tar')], { encoding: 'utf8' }).stdout;
    assert.ok(listed.includes('blob/first/plain.txt') && listed.includes('table/People') && !listed.includes('second-one') && !listed.includes('/queue'));
    const bytes = readFileSync(at('some.tar'));
    writeFileSync(at('short.tar'), bytes.subarray(0, bytes.length - 30000));
    const short = await start(['import', at('short.tar'), to.connectionString()]).ended;
    assert.equal(short.code, 1);
    assert.match(short.err, /ends early/);
    bytes[1024 + 148] ^= 1;
    writeFileSync(at('bad.tar'), bytes);
    assert.match((await start(['import', at('bad.tar'), to.connectionString()]).ended).err, /damaged|no archive/);
    writeFileSync(at('no.tar'), 'hello');
    assert.match((await start(['import', at('no.tar'), to.connectionString()]).ended).err, /no archive/);
    assert.match((await start(['copy', 'AccountName=a', 'x=y;'], { cwd: folder }).ended).err, /connection string|no store/);
});

/** An import that is stopped by an item that the server refuses, behind some that it takes: what it has reached stays noted. */
async function stopped(archive, to, words = []) {
    const done = await start(['import', archive, ...to, ...words]).ended;
    assert.equal(done.code, 1, done.err);
    assert.match(done.err, /left out/);
    return done;
}

/** An archive with a container, a good blob in it, and one whose metadata no server takes. */
function badArchive(name, container, good) {
    const script = `import io, json, sys, tarfile
path, container, good = sys.argv[1:]
t = tarfile.open(path, 'w')
def put(name, data):
    info = tarfile.TarInfo(name); info.size = len(data); t.addfile(info, io.BytesIO(data))
a = 'devstoreaccount1'
put('lazuli-archive.json', b'{"format":1}\\n')
put(a + '%.json', json.dumps({'kind': 'account', 'account': a, 'hierarchical': False}).encode())
put(a + '/blob/' + container + '%.json', json.dumps({'kind': 'container', 'account': a, 'name': container}).encode())
for blob, meta in ((good, {'a': 'b'}), ('zz', {'no name': 'x'})):
    state = {'is': 'current', 'type': 'BlockBlob', 'size': 2, 'metadata': meta}
    put(f'{a}/blob/{container}/{blob}%.json', json.dumps({'kind': 'blob', 'account': a, 'container': container, 'name': blob, 'states': [state]}).encode())
    put(f'{a}/blob/{container}/{blob}', b'hi')
t.close()`;
    const made = spawnSync('python3', ['-c', script, at(name), container, good], { encoding: 'utf8' });
    assert.equal(made.status, 0, made.stderr);
    return at(name);
}

test('an import goes on with the same archive to the same place alone', { timeout: 120000 }, async () => {
    const [one, two] = await servers(2);
    const archive = badArchive('bad.tar', 'first', 'good');
    const has = async (server, container, blob) => (await server.blobs()).getContainerClient(container).getBlobClient(blob).exists();
    await stopped(archive, [one.connectionString()]);
    assert.match((await stopped(archive, [one.connectionString()])).err, /earlier run/);
    // Another server, which has nothing of it yet.
    assert.doesNotMatch((await stopped(archive, [two.connectionString()])).err, /earlier run/);
    assert.ok(await has(two, 'first', 'good'));
    // Another archive of the same name and size.
    const size = statSync(archive).size;
    await stopped(archive, [one.connectionString()]);
    badArchive('bad.tar', 'other', 'nice');
    assert.equal(statSync(archive).size, size);
    assert.doesNotMatch((await stopped(archive, [one.connectionString()])).err, /earlier run/);
    assert.ok(await has(one, 'other', 'nice'));
    // Other things of it.
    badArchive('bad.tar', 'third', 'good');
    await stopped(archive, [one.connectionString()], ['--only', 'blob/third']);
    await (await one.blobs()).getContainerClient('third').getBlobClient('good').delete();
    assert.doesNotMatch((await stopped(archive, [one.connectionString()])).err, /earlier run/);
    assert.ok(await has(one, 'third', 'good'));
    // The same server, which was emptied meanwhile.
    await (await one.blobs()).getContainerClient('third').delete();
    assert.doesNotMatch((await stopped(archive, [one.connectionString()])).err, /earlier run/);
    assert.ok(await has(one, 'third', 'good'));
    // A folder, and another store in its place.
    const store = mkdtempSync(join(folder, 'store-'));
    await stopped(archive, [store]);
    rmSync(store, { recursive: true });
    assert.doesNotMatch((await stopped(archive, [store])).err, /earlier run/);
    await command(['export', at('store.tar'), store]);
    assert.match(spawnSync('tar', ['-tf', at('store.tar')], { encoding: 'utf8' }).stdout, /blob\/third\/good\n/);
});

test('an export does not go on with what another one has left', { timeout: 120000 }, async () => {
    const [one, two] = await servers(2);
    await (await one.blobs()).getContainerClient('of-one').create();
    await (await two.blobs()).getContainerClient('of-two').create();
    // As a killed export of the first server leaves it.
    await command(['export', at('mixed.tar'), one.connectionString()]);
    renameSync(at('mixed.tar'), at('mixed.tar.part'));
    await command(['export', at('mixed.tar'), two.connectionString()]);
    const names = spawnSync('tar', ['-tf', at('mixed.tar')], { encoding: 'utf8' }).stdout;
    assert.match(names, /of-two/);
    assert.doesNotMatch(names, /of-one/);
});

test('a copy of a part does not let a copy of all begin in the middle', { timeout: 120000 }, async () => {
    const [from, to] = await servers(2);
    const here = mkdtempSync(join(folder, 'part-'));
    await (await from.blobs()).getContainerClient('pictures').create();
    const share = (await from.shares()).getShareClient('documents');
    await share.create();
    await Promise.all(['a', 'b', 'c'].map((name) => share.rootDirectoryClient.getFileClient(name).create(1)));
    // One that cannot be replaced stops the copy of the files.
    const there = (await to.shares()).getShareClient('documents');
    await there.create();
    await there.rootDirectoryClient.getFileClient('c').create(1);
    const lease = there.rootDirectoryClient.getFileClient('c').getShareLeaseClient();
    await lease.acquireLease();
    const words = ['copy', from.connectionString(), to.connectionString()];
    assert.equal((await start([...words, '--only', 'file'], { cwd: here }).ended).code, 1);
    await lease.releaseLease();
    await command(words, { cwd: here });
    assert.ok(await (await to.blobs()).getContainerClient('pictures').exists());
});

test('all metadata are moved', { timeout: 120000 }, async () => {
    const [from, to] = await servers(2);
    const metadata = Object.fromEntries(Array.from({ length: 105 }, (_, i) => [`name${i}`, `value ${i}`]));
    const container = (await from.blobs()).getContainerClient('meta');
    await container.create();
    await container.getBlockBlobClient('much').upload('x', 1, { metadata });
    await command(['export', at('meta.tar'), from.connectionString()]);
    await command(['import', at('meta.tar'), to.connectionString()]);
    const read = await (await to.blobs()).getContainerClient('meta').getBlobClient('much').getProperties();
    assert.deepEqual(read.metadata, metadata);
});

test('a copy of a folder to one account says which', { timeout: 120000 }, async () => {
    const [from] = await servers(1, { inMemory: false, args: ['--durability', 'relaxed'] });
    const [to] = await servers(1);
    const here = mkdtempSync(join(folder, 'which-'));
    await (await from.blobs()).getContainerClient('pictures').create();
    await command(['account', 'add', 'another', '--data', from.data]);
    await command(['copy', from.data, to.connectionString()], { cwd: here });
    assert.ok(await (await to.blobs()).getContainerClient('pictures').exists());
    await command(['account', 'delete', 'devstoreaccount1', '--data', from.data]);
    await command(['account', 'add', 'yetanother', '--data', from.data]);
    const done = await start(['copy', from.data, to.connectionString()], { cwd: here }).ended;
    assert.equal(done.code, 1);
    assert.match(done.err, /several accounts/);
});

test('--only that picks nothing says so', { timeout: 120000 }, async () => {
    const [server] = await servers(1);
    await (await server.blobs()).getContainerClient('pictures').create();
    for (const only of ['blobs', 'Blob', ' blob', '', 'blob,,table', 'blob/', 'blob/pictures/x', 'blob/nosuch', 'blob/nosuch,table/none']) {
        const done = await start(['export', at('only.tar'), server.connectionString(), '--only', only]).ended;
        assert.equal(done.code, 1, `'${only}': ${done.err}`);
        assert.match(done.err, /--only/);
    }
    for (const only of ['blob', 'queue', 'blob/pictures', 'blob/pictures,table/none'])
        await command(['export', at('only.tar'), server.connectionString(), '--only', only]);
});
