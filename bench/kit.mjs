// SPDX-License-Identifier: Apache-2.0
// Shared by the benchmarks in JavaScript: a server to measure, the load generator, setup requests.
//
// BENCH_RUN is put before the commands of servers and load generators ('chrt -f 10', 'nice -n -20'), so that other work
// on the machine does not slow them; BENCH_DATA is the folder for stores (default: a new temporary folder).
import { spawn, spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export const ACCOUNT = 'devstoreaccount1';
export const KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';
export const VERSION = '2024-11-04';
const ROOT = new URL('..', import.meta.url).pathname;
export const LAZULI = process.env.LAZULI_BIN ?? join(ROOT, 'build/release/lazuli');
const LOAD = join(ROOT, 'build/release/bench_load');
export const CYCLE = join(ROOT, 'build/release/bench_queue_cycle');
export const DISK = join(ROOT, 'build/release/bench_disk');
export const FIRST = (process.env.BENCH_RUN ?? '').split(' ').filter((word) => word !== '');

/** A folder that goes when the program ends. */
export function scratch() {
    const folder = mkdtempSync(join(process.env.BENCH_DATA ?? tmpdir(), 'lazuli-bench-'));
    process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })); // servers may be writing still
    return folder;
}

export async function freePorts(count) {
    const holders = [];
    for (let i = 0; i < count; i++) {
        const holder = net.createServer().listen(0, '127.0.0.1');
        await once(holder, 'listening');
        holders.push(holder);
    }
    const ports = holders.map((holder) => holder.address().port);
    await Promise.all(holders.map((holder) => new Promise((done) => holder.close(done))));
    return ports;
}

async function listens(port) {
    const socket = net.connect(port, '127.0.0.1');
    try {
        await once(socket, 'connect');
        return true;
    } catch {
        return false;
    } finally {
        socket.destroy();
    }
}

const children = new Set();
process.on('exit', () => children.forEach((child) => child.kill('SIGTERM'))); // not SIGKILL, which nginx's workers would outlive
for (const signal of ['SIGINT', 'SIGTERM'])
    process.on(signal, () => {
        console.error(`ended by ${signal}`);
        process.exit(1);
    });

/** Starts a program under BENCH_RUN and waits until it listens on the port. */
export async function startProgram(command, port, { env = {}, patienceMs = 60000 } = {}) {
    const [program, ...args] = [...FIRST, ...command];
    const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, ...env } });
    children.add(child);
    child.on('exit', () => children.delete(child));
    const begun = Date.now();
    while (!(await listens(port))) {
        if (child.exitCode !== null || child.signalCode !== null || Date.now() - begun > patienceMs)
            throw new Error(`${command[0]} does not listen on port ${port}`);
        await sleep(1);
    }
    return {
        pid: child.pid,
        readyMs: Date.now() - begun,
        async stop() {
            if (child.exitCode !== null || child.signalCode !== null)
                return;
            child.kill('SIGTERM');
            await once(child, 'exit');
        },
    };
}

/** Lazuli with a store of its own. `url.blob` and its like lead to the account; `rest` are further flags. */
export async function startLazuli({ data = join(scratch(), 'store'), rest = [], scheme = 'http' } = {}) {
    const names = ['blob', 'queue', 'table', 'file', 'smb', 'dfs', 'admin'];
    const ports = Object.fromEntries((await freePorts(names.length)).map((port, i) => [names[i], port]));
    const flags = names.flatMap((name) => [`--${name}-port`, String(ports[name])]);
    const server = await startProgram([LAZULI, '--data', data, '--silent', '--log-level', 'warn', ...flags, ...rest], ports.blob);
    const base = Object.fromEntries(names.map((name) => [name, `${scheme}://127.0.0.1:${ports[name]}`]));
    return { ...server, data, ports, base };
}

// ---- requests that prepare ------------------------------------------------------------------------------------------

const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });

function authorization(method, url, headers, length, table) {
    const query = [...new URL(url).searchParams].map(([name, value]) => [name.toLowerCase(), value]).sort(([a], [b]) => (a < b ? -1 : 1));
    const path = `/${ACCOUNT}${new URL(url).pathname}`;
    const named = Object.keys(headers).filter((name) => name.startsWith('x-ms-')).sort().map((name) => `${name}:${headers[name]}\n`).join('');
    const text = table
        ? [method, '', headers['content-type'] ?? '', headers['x-ms-date'], path + query.filter(([name]) => name === 'comp').map(([, value]) => `?comp=${value}`).join('')].join('\n')
        : [method, '', '', length === 0 ? '' : String(length), '', headers['content-type'] ?? '', '', '', '', '', '', '', named + path].join('\n') +
          query.map(([name, value]) => `\n${name}:${value}`).join('');
    return `SharedKey ${ACCOUNT}:${createHmac('sha256', Buffer.from(KEY, 'base64')).update(text).digest('base64')}`;
}

/** One request, signed; fails unless the answer is 2xx. `path` follows the account. Says how long it took, too. */
export async function ask(base, method, path, { headers = {}, body = Buffer.alloc(0), table = false } = {}) {
    const url = `${base}/${ACCOUNT}${path}`;
    const bytes = Buffer.from(body);
    const all = { 'x-ms-version': VERSION, 'x-ms-date': new Date().toUTCString(), ...headers };
    all.authorization = authorization(method, url, all, bytes.length, table);
    if (bytes.length > 0 || method !== 'GET')
        all['content-length'] = bytes.length;
    const begun = process.hrtime.bigint();
    const request = http.request(url, { method, headers: all, agent });
    request.end(bytes);
    const [answer] = await once(request, 'response');
    const parts = [];
    for await (const part of answer)
        parts.push(part);
    const text = Buffer.concat(parts).toString();
    if (answer.statusCode < 200 || answer.statusCode > 299)
        throw new Error(`${method} ${path}: ${answer.statusCode} ${text.slice(0, 400)}`);
    return { headers: answer.headers, text, ms: Number(process.hrtime.bigint() - begun) / 1e6 };
}

// ---- load -----------------------------------------------------------------------------------------------------------

/** Starts the load generator; the promise gives what it measured. `options` as bench_load --help says, by their names;
 * unsigned: without the account's signature. */
export function load(base, options, ops) {
    const { unsigned = false, first = FIRST, ...others } = options;
    const signature = ['--account', ACCOUNT, '--key', KEY, '--header', `x-ms-version: ${VERSION}`];
    const args = ['--json', '--url', base, ...(unsigned ? [] : signature)];
    for (const [name, value] of Object.entries(others))
        args.push(`--${name}`, ...(value === true ? [] : [String(value)]));
    for (const { op, headers = [], bytes, body, weight } of ops) {
        args.push('--op', op, ...headers.flatMap((header) => ['--header', header]));
        args.push(...(bytes > 0 ? ['--body-bytes', String(bytes)] : []), ...(body === undefined ? [] : ['--body', body]));
        args.push(...(weight === undefined ? [] : ['--weight', String(weight)]));
    }
    const [program, ...rest] = [...first, LOAD, ...args];
    const child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
    children.add(child);
    child.on('exit', () => children.delete(child));
    const parts = [];
    child.stdout.on('data', (part) => parts.push(part));
    return once(child, 'close').then(() => {
        const text = Buffer.concat(parts).toString();
        if (text === '')
            throw new Error(`the load generator failed: ${args.join(' ')}`);
        const result = JSON.parse(text);
        result.cpuUs = result.requests > 0 ? (result.cpuSeconds * 1e6) / result.requests : 0;
        return result;
    });
}

/** Starts another client and gives the line of JSON that it prints. Fails when it does, or takes longer than `limitMs`. */
export async function runForJson(command, limitMs = 120000) {
    const [program, ...args] = [...FIRST, ...command];
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'], timeout: limitMs, killSignal: 'SIGKILL' });
    children.add(child);
    child.on('exit', () => children.delete(child));
    let text = '';
    child.stdout.on('data', (part) => (text += part));
    const [code] = await once(child, 'close');
    if (code !== 0)
        throw new Error(`failed: ${command.join(' ').slice(0, 400)}`);
    return JSON.parse(text);
}

/** Builds the client of bench/smb in a folder; null where libsmbclient is not installed. */
export function makeSmbLoad(folder) {
    const program = join(folder, 'smb_load');
    const made = spawnSync('sh', ['-c', `gcc -std=gnu17 -O2 -Ibench $(pkg-config --cflags smbclient) -o ${program} bench/smb/load.c bench/load/histogram.c $(pkg-config --libs smbclient)`], { stdio: 'ignore', cwd: ROOT });
    return made.status === 0 ? program : null;
}

// ---- what the server says of itself ---------------------------------------------------------------------------------

/** The buckets of a histogram of /metrics: [upper bound in seconds, how many up to it], summed over its labels. */
export async function histogram(server, name) {
    const text = await (await fetch(`${server.base.admin}/metrics`)).text();
    const buckets = new Map();
    for (const [, bound, count] of text.matchAll(new RegExp(`^${name}_bucket\\{[^}]*le="([^"]+)"\\} (\\S+)`, 'gm')))
        buckets.set(bound === '+Inf' ? Infinity : Number(bound), (buckets.get(bound === '+Inf' ? Infinity : Number(bound)) ?? 0) + Number(count));
    return [...buckets].sort(([a], [b]) => a - b);
}

/** The upper bound of the largest value that came between two readings of a histogram, in seconds; 0 when none came. */
export function largestBetween(before, after) {
    let largest = 0;
    for (let i = 0, below = 0; i < after.length; i++) {
        const count = after[i][1] - (before[i]?.[1] ?? 0);
        if (count > below)
            largest = after[i][0];
        below = count;
    }
    return largest;
}

export function version(command) {
    const [program, ...args] = command;
    const out = spawnSync(program, args, { encoding: 'utf8' });
    return `${out.stdout}${out.stderr}`.trim().split('\n')[0];
}

/** The result of `read` for a process; `otherwise` if the process has ended, as children do. */
function unlessGone(otherwise, read) {
    try {
        return read();
    } catch (error) {
        if (error.code !== 'ENOENT' && error.code !== 'ESRCH')
            throw error;
        return otherwise;
    }
}

/** The process and its children, and theirs. */
function tree(pid) {
    const childrenOf = (task) => unlessGone('', () => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8')).split(' ').filter((word) => word !== '').map(Number);
    const children = unlessGone([], () => readdirSync(`/proc/${pid}/task`)).flatMap(childrenOf);
    return [pid, ...children.flatMap(tree)];
}

/** Memory in use, of all of them, in MiB. */
export function residentMiB(pid) {
    const of = (one) => Number(/VmRSS:\s+(\d+)/.exec(unlessGone('', () => readFileSync(`/proc/${one}/status`, 'utf8')))?.[1] ?? 0) / 1024;
    return tree(pid).reduce((sum, one) => sum + of(one), 0);
}

/** CPU time that all of them have used. */
export function cpuSeconds(pid) {
    const ticks = (one) => unlessGone(') 0', () => readFileSync(`/proc/${one}/stat`, 'utf8')).split(') ')[1].split(' ').slice(11, 13).reduce((sum, word) => sum + Number(word), 0);
    return tree(pid).reduce((sum, one) => sum + ticks(one), 0) / 100;
}
