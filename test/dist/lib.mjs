// SPDX-License-Identifier: Apache-2.0
// Environments for testing packages: folders without build files, and servers that see nothing else.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** The folder that tools/dist/dist.sh has filled. */
export const DIST = process.env.LAZULI_DIST ?? new URL('../../build/dist', import.meta.url).pathname;
export const VERSION = readFileSync(new URL('../../VERSION', import.meta.url), 'utf8').trim();
export const FULL = process.env.FULL === '1';

// The SDK is installed for the REST suites.
const fromRest = createRequire(new URL('../rest/lib.mjs', import.meta.url));
const { BlobServiceClient } = fromRest('@azure/storage-blob');

export const root = mkdtempSync(join(tmpdir(), 'lazuli-dist-'));
export const folder = (...parts) => {
    const path = join(root, ...parts);
    mkdirSync(path, { recursive: true });
    return path;
};

export function artefact(pattern) {
    const found = readdirSync(DIST).filter((name) => pattern.test(name));
    assert.equal(found.length, 1, `${pattern} in ${DIST}: ${found}`);
    return join(DIST, found[0]);
}

export function run(program, ...words) {
    const done = spawnSync(program, words, { encoding: 'utf8', maxBuffer: 1 << 26 });
    assert.equal(done.status, 0, `${program} ${words.join(' ')}: ${done.status} ${done.stdout} ${done.stderr}`);
    return done.stdout;
}

/** The C library of this machine, as every machine has one: what a program may ask for. */
export function putLibraries(at) {
    const parts = ['libc.so.6', 'libm.so.6', 'libpthread.so.0', 'libdl.so.2'].map((name) => `/lib/x86_64-linux-gnu/${name}`);
    for (const path of ['/lib64/ld-linux-x86-64.so.2', ...parts]) {
        mkdirSync(join(at, dirname(path)), { recursive: true });
        copyFileSync(realpathSync(path), join(at, path));
        chmodSync(join(at, path), 0o755);
    }
}

/** A shell and its tools. */
export function putBusybox(at) {
    mkdirSync(join(at, 'bin'), { recursive: true });
    copyFileSync('/bin/busybox', join(at, 'bin/busybox'));
    for (const name of ['sh', 'rm', 'mkdir', 'chown', 'true', 'ls'])
        if (!existsSync(join(at, 'bin', name)))
            symlinkSync('busybox', join(at, 'bin', name));
}

const running = new Set();
process.on('exit', () => {
    for (const child of running)
        process.kill(-child.pid, 'SIGKILL');
    rmSync(root, { recursive: true, force: true });
});

/** A server whose services have free ports; `command` starts it, with our flags behind. */
export class Started {
    constructor(command, { env = {}, ports, cwd = '/' }) {
        Object.assign(this, { command, env, portsFile: ports, cwd });
    }

    async start() {
        const { seenAt, readAt } = this.portsFile;
        rmSync(readAt, { force: true });
        const flags = ['--blob-port', '0', '--queue-port', '0', '--table-port', '0', '--file-port', 'off', '--smb-port', 'off',
            '--admin-port', 'off', '--ports-file', seenAt];
        const [program, ...words] = [...this.command, ...flags];
        this.child = spawn(program, words, { cwd: this.cwd, env: { PATH: '/usr/bin:/bin', ...this.env }, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
        this.output = '';
        for (const stream of [this.child.stdout, this.child.stderr])
            stream.on('data', (text) => { this.output += text; });
        running.add(this.child);
        this.gone = once(this.child, 'exit').then(([status, signal]) => { running.delete(this.child); return { status, signal }; });
        await this.untilPorts(readAt);
    }

    async untilPorts(file) {
        for (let i = 0; i < 900; i++) {
            if (existsSync(file)) {
                this.ports = JSON.parse(readFileSync(file, 'utf8'));
                return;
            }
            assert.ok(running.has(this.child), `it ended: ${this.output}`);
            await sleep(50);
        }
        assert.fail(`it did not start: ${this.output}`);
    }

    /** SIGKILL meets the launcher of a package and the server that it has started, which nobody could tell of it. */
    async end(signal) {
        process.kill(signal === 'SIGKILL' ? -this.child.pid : this.child.pid, signal);
        return this.gone;
    }

    container(name = 'box') {
        const key = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';
        return BlobServiceClient.fromConnectionString(`DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=${key};` +
            `BlobEndpoint=http://127.0.0.1:${this.ports.blob.port}/devstoreaccount1;`).getContainerClient(name);
    }
}

const CONTENT = Buffer.alloc(100000, 'lazuli ');

/** Puts a blob, kills the server, starts it again, reads the blob. */
export async function survives(started) {
    await started.start();
    await started.container().create();
    await started.container().getBlockBlobClient('kept').uploadData(CONTENT);
    assert.equal((await started.end('SIGKILL')).signal, 'SIGKILL');
    await reads(started);
}

export async function reads(started) {
    await started.start();
    assert.deepEqual(await started.container().getBlobClient('kept').downloadToBuffer(), CONTENT);
    assert.deepEqual(await started.end('SIGTERM'), { status: 0, signal: null }, started.output);
}

/** A command that sees `at` as its whole file system, with /proc; as another user when one is given. */
export function inside(at, command, user = '0:0') {
    mkdirSync(join(at, 'proc'), { recursive: true });
    return ['unshare', '--mount', 'sh', '-c',
        'mount -t proc proc "$0/proc" && user=$1 && shift && exec /usr/sbin/chroot --userspec="$user" "$0" "$@"', at, user, ...command];
}

/** Ports as the server and as the test find them. */
export const portsIn = (at, path) => ({ seenAt: path, readAt: join(at, path) });
