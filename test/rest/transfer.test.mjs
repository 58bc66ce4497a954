// SPDX-License-Identifier: Apache-2.0
// lazuli export, import and copy: what comes out again is what went in, byte by byte, and what is cut off goes on.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { startServer } from './lib.mjs';
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

test('folders without a server, another account, standard input and output', { timeout: 120000 }, async () => {
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

test('parts can be chosen, damage is said, SAS is enough', async () => {
    const [from, to] = await servers(2);
    await fill(from, 8);
    await command(['export', at('some.tar'), from.connectionString(), '--only', 'blob/first,table']);
    const listed = spawnSync('tar', ['-tf', at('some.tar')], { encoding: 'utf8' }).stdout;
    assert.ok(listed.includes('blob/first/plain.txt') && listed.includes('table/People') && !listed.includes('second-one') && !listed.includes('/queue'));
    const service = await from.blobs();
    const { AccountSASPermissions } = await import('@azure/storage-blob');
    const sas = service.generateAccountSasUrl(new Date(Date.now() + 3600e3), AccountSASPermissions.parse('rwdlacuptfxi'), 'sco').split('?')[1];
    const by = (server) => ['blob', 'table'].map((s) => `${s[0].toUpperCase()}${s.slice(1)}Endpoint=${server.url(s)}`).join(';');
    await command(['copy', `${by(from)};SharedAccessSignature=${sas}`, to.connectionString(), '--only', 'table/Empty1,blob/empty-one'], { cwd: folder }).catch((e) => assert.match(e.message, /service|acl/i));
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
