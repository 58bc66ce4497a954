// SPDX-License-Identifier: Apache-2.0
// Settings from outside: their sources, how they are printed, what SIGHUP changes, and Azurite's flags.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { assertError, BIN, KEY, send, sign, startServer, until, VERSION } from './lib.mjs';

const run = promisify(execFile);
let folder;
before(() => { folder = mkdtempSync(join(tmpdir(), 'lazuli-config-')); });
after(() => rmSync(folder, { recursive: true, force: true }));

const OFF = ['--queue-port', 'off', '--table-port', 'off', '--file-port', 'off', '--smb-port', 'off', '--admin-port', 'off'];

/** The settings that `lazuli config` prints: name → [value, source]. */
async function settings(args, env = {}) {
    const { stdout } = await run(BIN, ['config', ...args], { env: { ...process.env, ...env } });
    return Object.fromEntries(stdout.split('\n').map((line) => line.match(/^([a-z-]+) = (.*?) +# (.*)$/))
        .filter((match) => match !== null).map(([, name, value, source]) => [name, [value, source]]));
}

/** Starts the program by a name, on free ports; until its line on stdout. */
async function start(args, { name = 'lazuli', env = {} } = {}) {
    const link = join(folder, name);
    if (!existsSync(link))
        symlinkSync(BIN, link);
    const child = spawn(link, args, { cwd: folder, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    child.unref();
    child.stdout.unref();
    child.stderr.unref();
    const server = { child, out: '', err: '', exited: once(child, 'exit') };
    child.stdout.setEncoding('utf8').on('data', (text) => { server.out += text; });
    child.stderr.setEncoding('utf8').on('data', (text) => { server.err += text; });
    process.on('exit', () => child.kill('SIGKILL'));
    await until(() => {
        assert.equal(child.exitCode, null, server.err);
        return /service (is successfully listening|successfully (listens|started))/.test(server.out);
    });
    server.stop = async () => {
        child.ref();
        child.kill('SIGTERM');
        const [code] = await server.exited;
        assert.equal(code, 0, server.err);
    };
    return server;
}

async function list(port, { account = 'devstoreaccount1', key = KEY } = {}) {
    const headers = sign('GET', `/${account}`, 'comp=list', { 'x-ms-version': VERSION, 'x-ms-date': new Date().toUTCString() },
        { account, key, lite: false, table: false });
    return send(port, 'blob', 'GET', `/${account}?comp=list`, headers);
}

const portOf = (server, service = 'Blob') => Number(server.out.match(new RegExp(`${service} service .*(?:listen|started).*:(\\d+)\n`))[1]);

test('flags win over variables, variables over the file; each says where it comes from', async () => {
    const file = join(folder, 'a.conf');
    writeFileSync(file, 'blob-port = 1\nqueue-port = 2\ntable-port = 3 # three\nmetrics-token = hush\n');
    const got = await settings(['--config', file, '--blobPort', '11'], { LAZULI_QUEUE_PORT: '12' });
    assert.deepEqual(got['blob-port'], ['11', 'flag --blob-port']);
    assert.deepEqual(got['queue-port'], ['12', 'variable LAZULI_QUEUE_PORT']);
    assert.deepEqual(got['table-port'], ['3', `${file}:3`]);
    assert.deepEqual(got['file-port'], ['10003', 'default']);
    const { stdout } = await run(BIN, ['config', '--config', file, '--pwd', 'hush']);
    assert.doesNotMatch(stdout, /hush/);
    // The output is a configuration file with the same settings.
    const copy = join(folder, 'copy.conf');
    writeFileSync(copy, (await run(BIN, ['config', '--blob-versioning', ' a#b ', '--host', '::1'])).stdout);
    const again = await settings(['--config', copy]);
    assert.equal(again['blob-versioning'][0], '" a#b "');
    assert.equal(again['smb-host'][0], '::1');
});

test('an unknown key is an error that names its line; an unknown variable is warned of', async () => {
    const file = join(folder, 'bad.conf');
    writeFileSync(file, '\nblob-prot = 1\n');
    await assert.rejects(run(BIN, ['config', '--config', file]), (error) => error.code === 2 &&
        error.stderr.includes(`${file}:2: blob-prot: no such setting`));
    const server = await start(['--in-memory', '--blob-port', '0', ...OFF], { env: { LAZULI_BLOB_PROT: '1' } });
    assert.match(server.err, /WARN LAZULI_BLOB_PROT: no such setting/);
    await server.stop();
});

test('COMMAND --help shows that command, --help names them all', async () => {
    const { stdout } = await run(BIN, ['--help']);
    const described = (await run(BIN, ['config', '--describe'])).stdout.split('\n').map((line) => line.split('\t'));
    const commands = described.filter(([kind]) => kind === 'command').map(([, name]) => name);
    assert.ok(['check', 'backup', 'account', 'cert', 'config'].every((name) => commands.includes(name)));
    for (const name of commands) {
        assert.match(stdout, new RegExp(`^  lazuli ${name}\\b`, 'm'));
        const help = (await run(BIN, [name, '--help'])).stdout;
        assert.match(help, new RegExp(`^lazuli ${name}`));
        assert.ok(help.split('\n').length < 20, 'only that command');
    }
    for (const [, name, , , , , , , , , , help] of described.filter(([kind]) => kind === 'flag'))
        assert.equal(stdout.includes(`  ${name}`), help !== '-', name);
    assert.match(readFileSync(new URL('../../README.md', import.meta.url), 'utf8'), /lazuli cert/);
});

test('settings that hardly go together are warned of', async () => {
    const server = await start(['--in-memory', '--data', 'x', '--blob-port', '0', '--oauth', 'basic', ...OFF]);
    assert.match(server.err, /--oauth without --cert: bearer tokens are taken over HTTPS only/);
    assert.match(server.err, /--in-memory: nothing is kept in --data x/);
    await server.stop();
    const nothing = spawn(BIN, ['--in-memory', '--blob-port', 'off', ...OFF, '--extentMemoryLimit', '5'], { cwd: folder });
    let text = '';
    nothing.stderr.setEncoding('utf8').on('data', (more) => { text += more; });
    try {
        await until(() => /every service is turned off/.test(text));
    } finally {
        nothing.kill('SIGTERM');
        await once(nothing, 'exit');
    }
    const disk = await start(['--blob-port', '0', '--extentMemoryLimit', '5', ...OFF]);
    assert.match(disk.err, /extentMemoryLimit\) means nothing without --in-memory/);
    await disk.stop();
});

test('a seed that is not there ends the server with a status of its own, and versions of no account are warned of', async () => {
    const seeded = spawn(BIN, ['--in-memory', '--blob-port', '0', ...OFF, '--seed', 'no-such-file'], { cwd: folder, stdio: 'ignore' });
    assert.deepEqual(await once(seeded, 'exit'), [1, null]);
    const server = await start(['--in-memory', '--blob-port', '0', ...OFF, '--blob-versioning', 'true', '--test-control-token', 'x']);
    assert.match(server.err, /--blob-versioning: 'true' is neither on, off nor an account here/);
    assert.match(server.err, /--test-control-token means nothing without --test-control/);
    await server.stop();
});

test('port 0 picks a free one, and the start lines, the log and --ports-file say which', async () => {
    const file = join(folder, 'ports.json');
    const server = await start(['--in-memory', '--blobPort', '0', '--queuePort=0', '--tablePort', 'off', '--file-port', '0',
        '--dfs-port', '0', '--smb-port', '0', '--admin-port', '0', '--ports-file', file]);
    const ports = JSON.parse(readFileSync(file, 'utf8'));
    assert.deepEqual(Object.keys(ports), ['blob', 'queue', 'file', 'dfs', 'smb', 'admin']);
    assert.equal(new Set(Object.values(ports).map(({ port }) => port)).size, 6);
    assert.equal(ports.blob.url, `http://127.0.0.1:${ports.blob.port}`);
    assert.equal(portOf(server), ports.blob.port);
    assert.match(server.err, new RegExp(`serving queue 127.0.0.1:${ports.queue.port}\n`));
    assert.equal((await list(ports.blob.port)).status, 200);
    await server.stop();
});

test('programs by name: their services, their start lines, their last words', async () => {
    const all = await start(['--inMemoryPersistence', '--silent', '--blobPort', '0', '--queuePort', '0', '--tablePort', '0'],
        { name: 'azurite' });
    for (const service of ['Blob', 'Queue', 'Table']) {
        assert.match(all.out, new RegExp(`^Azurite ${service} service is starting at http://127.0.0.1:0\n`
            + `Azurite ${service} service is successfully listening at http://127.0.0.1:\\d+\n`, 'm'));
    }
    // A second one beside it, which cannot have the ports that Azurite does not know.
    const second = await start(['--inMemoryPersistence', '--blobPort', '0', '--queuePort', '0', '--tablePort', '0'],
        { name: 'azurite' });
    await second.stop();
    await all.stop();
    assert.match(all.out, /Azurite Blob service is closing...\n(.*\n)*Azurite Blob service successfully closed\n/);
    const LINES = {
        'azurite-blob': /^Azurite Blob service is starting on 127.0.0.1:0\nAzurite Blob service successfully listens on http:\/\/127.0.0.1:\d+\n$/,
        'azurite-queue': /^Azurite Queue service is starting on 127.0.0.1:0\nAzurite Queue service successfully listens on http:\/\/127.0.0.1:\d+\n$/,
        'azurite-table': /^Azurite Table service is starting on 127.0.0.1:0\nAzurite Table service successfully started on 127.0.0.1:\d+\n$/,
    };
    for (const [name, lines] of Object.entries(LINES)) {
        const one = await start(['--inMemoryPersistence', `--${name.slice(8)}Port`, '0'], { name });
        assert.match(one.out, lines);
        await one.stop();
    }
});

test('the keep-alive times, and what SIGHUP changes: limits, log level, accounts, certificate', async () => {
    const file = join(folder, 'hup.conf');
    const accounts = join(folder, 'accounts');
    const keys = [1, 2].map((n) => Buffer.alloc(64, n).toString('base64'));
    const pem = (name) => join(folder, name);
    const makeCertificate = async () => {
        await run(BIN, ['cert', pem('new-cert'), pem('new-key')]);
        renameSync(pem('new-cert'), pem('cert.pem'));
        renameSync(pem('new-key'), pem('key.pem'));
    };
    await makeCertificate();
    writeFileSync(accounts, `first:${keys[0]}\nsecond:${keys[0]}\n`);
    const lines = (more) => `${more}accounts = ${accounts}\ncert = ${pem('cert.pem')}\nkey = ${pem('key.pem')}\n`;
    writeFileSync(file, lines('blobKeepAliveTimeout = 600\nmax-connections = 100\nthreads = 1\nlog-level = info\n'));
    const server = await start(['--in-memory', '--config', file, '--blob-port', '0', '--debug', pem('debug.log'), ...OFF]);
    const port = portOf(server);
    const fingerprint = async () => {
        const socket = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
        await once(socket, 'secureConnect');
        const { fingerprint256 } = socket.getPeerCertificate();
        socket.destroy();
        return fingerprint256;
    };
    const status = async (account, key) => (await list(port, { account, key })).status;
    const before = await fingerprint();
    assert.deepEqual([await status('first', keys[0]), await status('second', keys[0])], [200, 200]);

    // A connection that says nothing lives as long as it is told.
    const idle = net.connect(port, '127.0.0.1');
    let closed = false;
    idle.on('close', () => { closed = true; }).on('error', () => {});
    await once(idle, 'connect');

    await makeCertificate();
    renameSync(pem('debug.log'), pem('debug.old'));
    writeFileSync(accounts, `first:${keys[1]}\nthird:${keys[0]}\n`);
    writeFileSync(file, lines('blobKeepAliveTimeout = 1\nmax-connections = 8\nthreads = 2\nlog-level = debug\n'));
    server.child.kill('SIGHUP');
    await until(() => /configuration read again/.test(server.err));
    assert.match(server.err, /WARN these take effect at the next start only: --threads\n/);
    assert.match(server.err, /INFO changed: --blob-keep-alive, --log-level, --max-connections\n/);
    assert.notEqual(await fingerprint(), before);
    assert.deepEqual([await status('first', keys[0]), await status('first', keys[1]), await status('second', keys[0]),
        await status('third', keys[0])], [403, 200, 403, 200]);
    // After a second, not after ten minutes.
    await new Promise((resolve) => net.connect(port, '127.0.0.1').on('error', () => {}).on('close', resolve));
    assert.equal(closed, false, 'the timer of the older one was set before');
    idle.destroy();
    assert.match(server.err, / DEBUG /);
    const held = [];
    for (let i = 0; i < 8; i++) {
        held.push(net.connect(port, '127.0.0.1').on('error', () => {}));
        await once(held[i], 'connect');
    }
    // With HTTPS on offer one too many is cut without a word.
    await until(async () => list(port, { account: 'third', key: keys[0] }).then(() => false, () => true));
    held.forEach((socket) => socket.destroy());

    // A file with a mistake changes nothing.
    writeFileSync(file, 'log-level = loud\n');
    server.child.kill('SIGHUP');
    await until(() => /the configuration stays as it was: .*hup.conf:1: log-level: /.test(server.err));
    assert.equal(await until(() => status('third', keys[0]).catch(() => 0)), 200);
    await server.stop();
    assert.match(readFileSync(pem('debug.old'), 'utf8'), / INFO serving blob /);
    const log = readFileSync(pem('debug.log'), 'utf8');
    assert.match(log, / DEBUG .* refused: 403 /);
    assert.match(log, / blob GET \/third\?comp=list 200 /);
});

test('-d FILE is the log at level debug, whatever stderr has', async () => {
    const file = join(folder, 'd.log');
    const server = await start(['--in-memory', '-s', '-d', file, '--blobPort', '0', ...OFF]);
    await list(portOf(server), { key: Buffer.alloc(8).toString('base64') });
    await server.stop();
    assert.match(readFileSync(file, 'utf8'), /refused: 403 AuthenticationFailed/);
    assert.match(readFileSync(file, 'utf8'), / blob GET .* 403 /);
    assert.doesNotMatch(server.err, /refused/);
    assert.doesNotMatch(server.out, / GET /);
    await assert.rejects(run(BIN, ['--in-memory', '-d', join(folder, 'no/such/folder')]), /No such file/);
});

test('--extentMemoryLimit: writes past it are refused, deletions make room', async () => {
    const own = await startServer({ args: ['--extentMemoryLimit', '4.5'], inMemory: true, services: ['blob', 'queue'] });
    const put = (name, size) => own.request('blob', 'PUT', `/room/${name}`,
        { body: Buffer.alloc(size), headers: { 'x-ms-blob-type': 'BlockBlob' } });
    await own.request('blob', 'PUT', '/room', { query: 'restype=container' });
    assert.equal((await put('a', 2 << 20)).status, 201);
    assert.equal((await put('b', 2 << 20)).status, 201);
    assertError(await put('c', 2 << 20), 507, 'InsufficientStorage');
    let small = 0;
    for (; small < 1000; small++)
        if ((await put(`s${small}`, 10000)).status !== 201)
            break;
    assert.ok(small > 5 && small < 1000, `${small} small blobs`);
    assert.equal((await own.request('blob', 'DELETE', '/room/a')).status, 202);
    await until(async () => (await put('c', 1 << 20)).status === 201);
    await own.stop();
});

test('AZURITE_SKIP_API_VERSION_CHECK is obeyed when it is exactly true; AZURITE_DB is refused', async () => {
    for (const [value, want] of [['true', 'true'], ['TRUE', 'false'], ['1', 'false']])
        assert.equal((await settings([], { AZURITE_SKIP_API_VERSION_CHECK: value }))['skip-api-version-check'][0], want);
    await assert.rejects(run(BIN, ['--in-memory'], { env: { ...process.env, AZURITE_DB: 'mysql://x' } }),
        /AZURITE_DB: metadata in an SQL database is not supported/);
});
