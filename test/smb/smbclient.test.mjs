// Debian's smbclient, rclone and REST against one server: each reads what the others write, in every dialect, plain,
// signed and encrypted.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { ACCOUNT, freePorts, KEY, startServer } from '../rest/lib.mjs';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'lazuli-smbclient-'));
const bytes = randomBytes(300_001);
let server, port, share;

before(async () => {
    [port] = await freePorts(1);
    server = await startServer({ args: ['--smb-port', String(port)] });
    share = (await server.shares()).getShareClient('share1');
    await share.create();
    writeFileSync(join(folder, 'local.bin'), bytes);
});
after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
});

/** smbclient's commands, one after the other; what it prints. An error is a line with NT_STATUS_. */
async function smb(commands, ...options) {
    const args = ['//127.0.0.1/share1', '-p', String(port), '-U', `AZURE\\${ACCOUNT}%${KEY}`, ...options, '-c', commands];
    const { stdout, stderr } = await run('smbclient', args, { cwd: folder }).catch((error) => error);
    return `${stdout}${stderr}`;
}

/** The same, and nothing fails. */
async function smbWell(commands, ...options) {
    const output = await smb(commands, ...options);
    assert.ok(!/NT_STATUS_|failed/.test(output), output);
    return output;
}

for (const dialect of ['SMB2_10', 'SMB3_00', 'SMB3_02', 'SMB3_11']) {
    for (const protection of ['off', 'sign', 'encrypt']) {
        if (dialect === 'SMB2_10' && protection === 'encrypt')
            continue; // there is no encryption before 3.0
        test(`put, get, list, rename, remove: ${dialect}, ${protection}`, async () => {
            const how = ['-m', dialect, `--client-protection=${protection}`];
            const output = await smbWell(
                'mkdir d; put local.bin d\\one; rename d\\one d\\two; get d\\two back.bin; ls d\\*; allinfo d\\two', ...how);
            assert.match(output, /two +A +300001 /);
            assert.ok(readFileSync(join(folder, 'back.bin')).equals(bytes));
            const file = share.getDirectoryClient('d').getFileClient('two');
            assert.ok((await file.downloadToBuffer()).equals(bytes));
            await smbWell('rm d\\two; rmdir d', ...how);
            assert.match(await smb('ls d'), /NO_SUCH_FILE/);
        });
    }
}

test('shares are listed', async () => {
    const args = ['-L', '127.0.0.1', '-p', String(port), '-U', `${ACCOUNT}%${KEY}`, '-g'];
    const { stdout } = await run('smbclient', args);
    assert.match(stdout, /Disk\|share1\|/);
    assert.match(stdout, /IPC\|IPC\$\|/);
});

test('a wrong key, no key and an unknown share are refused', async () => {
    const wrong = Buffer.from(KEY, 'base64').reverse().toString('base64');
    const call = (user, name) => run('smbclient', [`//127.0.0.1/${name}`, '-p', String(port), '-U', user, '-c', 'ls'])
        .catch((error) => error);
    assert.match((await call(`${ACCOUNT}%${wrong}`, 'share1')).stdout, /NT_STATUS_LOGON_FAILURE/);
    assert.match((await call('%', 'share1')).stdout, /NT_STATUS_(LOGON_FAILURE|ACCESS_DENIED)/);
    assert.match((await call(`${ACCOUNT}%${KEY}`, 'nosuch')).stdout, /NT_STATUS_BAD_NETWORK_NAME/);
});

test('a tree of directories is put, listed and got whole', async () => {
    for (const name of ['tree/a/b', 'tree/c', 'back'])
        mkdirSync(join(folder, name), { recursive: true });
    for (let i = 0; i < 50; i++)
        writeFileSync(join(folder, `tree/${['a', 'a/b', 'c'][i % 3]}/f${i}`), `file ${i}\n`.repeat(i * 10));
    await smbWell('recurse ON; prompt OFF; mput tree');
    await smbWell('recurse ON; prompt OFF; lcd back; mget tree');
    await run('diff', ['-r', join(folder, 'tree'), join(folder, 'back/tree')]);
    await smbWell('deltree tree');
});

test('a directory of thousands of files is listed over many pages', async () => {
    const directory = share.getDirectoryClient('many');
    await directory.create();
    for (let i = 0; i < 3000; i += 50)
        await Promise.all(Array.from({ length: 50 }, (_, k) =>
            directory.getFileClient(`file with a rather long name ${i + k}.dat`).create(0)));
    const output = await smbWell('ls many\\*');
    assert.equal((output.match(/rather long name \d+\.dat/g)).length, 3000);
    assert.equal((await smbWell('ls many\\*77.d*')).match(/\.dat/g).length, 30);
    await smbWell('deltree many');
});

test('what REST writes SMB reads at once, and the other way round', async () => {
    const file = share.getDirectoryClient('').getFileClient('shared.txt');
    await file.create(5);
    await file.uploadRange('hello', 0, 5);
    await smbWell('get shared.txt shared.back');
    assert.equal(readFileSync(join(folder, 'shared.back'), 'utf8'), 'hello');
    writeFileSync(join(folder, 'shared.new'), 'from SMB');
    await smbWell('put shared.new shared.txt');
    assert.equal((await file.downloadToBuffer()).toString(), 'from SMB');
    await file.delete();
    assert.match(await smb('get shared.txt x'), /OBJECT_NAME_NOT_FOUND/);
});

test('previous versions are the snapshots of the share', async () => {
    writeFileSync(join(folder, 'old'), 'old');
    writeFileSync(join(folder, 'new'), 'new');
    await smbWell('put old versioned');
    const { snapshot } = await share.createSnapshot();
    await smbWell('put new versioned');
    const token = `@GMT-${snapshot.slice(0, 19).replace('T', '-').replaceAll(':', '.').replaceAll('-', '.').replace(/^(\d+\.\d+\.\d+)\./, '$1-')}`;
    assert.match(await smbWell('allinfo versioned'), new RegExp(token));
    await smbWell(`get ${token}\\versioned versioned.old; get versioned versioned.new`);
    assert.equal(readFileSync(join(folder, 'versioned.old'), 'utf8'), 'old');
    assert.equal(readFileSync(join(folder, 'versioned.new'), 'utf8'), 'new');
    await share.delete({ deleteSnapshots: 'include' });
    await share.create();
});

test('the server copies by itself', async () => {
    await smbWell('put local.bin source; scopy source copy; get copy copy.back');
    assert.ok(readFileSync(join(folder, 'copy.back')).equals(bytes));
    await smbWell('rm source; get copy copy.back');
    assert.ok(readFileSync(join(folder, 'copy.back')).equals(bytes));
});

test('rclone copies to and fro', async () => {
    const obscured = (await run('rclone', ['obscure', KEY])).stdout.trim();
    const remote = `:smb,host=127.0.0.1,port=${port},user=${ACCOUNT},pass=${obscured}:share1`;
    mkdirSync(join(folder, 'cloud/inner'), { recursive: true });
    writeFileSync(join(folder, 'cloud/one'), bytes);
    writeFileSync(join(folder, 'cloud/inner/two'), 'two');
    const rclone = (...args) => run('rclone', ['--config', '/dev/null', ...args]);
    await rclone('copy', join(folder, 'cloud'), `${remote}/cloud`);
    await rclone('copy', `${remote}/cloud`, join(folder, 'cloud.back'));
    await run('diff', ['-r', join(folder, 'cloud'), join(folder, 'cloud.back')]);
    assert.match((await rclone('lsf', '-R', `${remote}/cloud`)).stdout, /inner\/two/);
    await rclone('purge', `${remote}/cloud`);
});

test('the size of the volume is the quota of the share', async () => {
    await share.setQuota(7);
    assert.match(await smbWell('du'), /1835008 blocks of size 4096/);
    await share.setQuota(5120);
});

test('after a crash of the server its clients go on', async () => {
    await smbWell('put local.bin durable.bin');
    await server.restart({ crash: true });
    const output = await smb('ls durable.bin');
    assert.ok(/durable\.bin/.test(output) || /NO_SUCH_FILE/.test(output), output);
    await smbWell('put local.bin again.bin; get again.bin again.back');
    assert.ok(readFileSync(join(folder, 'again.back')).equals(bytes));
});
