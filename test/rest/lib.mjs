// SPDX-License-Identifier: Apache-2.0
// Shared by the black-box tests: a server, the official SDKs' clients for it, raw signed requests, a clock to move, and
// assertions on errors.
//
//     import { startServer, assertError } from './lib.mjs';
//     const server = await startServer({ inMemory: true });
//     after(() => server.stop());
//
// LAZULI_BIN names the program (default build/lazuli); the test run uses it to repeat everything with the ASan build.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

export const ACCOUNT = 'devstoreaccount1';
export const KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';
export const SERVICES = ['blob', 'queue', 'table', 'file'];
/** The x-ms-version of raw requests. */
export const VERSION = '2025-11-05';

/** The program under test. */
export const BIN = process.env.LAZULI_BIN ?? new URL('../../build/lazuli', import.meta.url).pathname;
/** True if servers have their store in their data folder, which `lazuli check` reads: not on the cluster engine (test/cluster). */
export const STORE_IN_FOLDER = process.env.LAZULI_TEST_BIN === undefined;
/** `test` for what only a store in a folder has; elsewhere there is no such test. (A skipped one would count as failed.) */
export const testOfFolder = STORE_IN_FOLDER ? test : () => {};
const START_MS_MAX = 90000;
const STOP_MS_MAX = 90000;
const LOG_BYTES_MAX = 1 << 20;
// A failure is to be seen, not retried.
const NO_RETRY = { retryOptions: { maxTries: 1 } };
const NO_RETRY_TABLE = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };

// ---- time -----------------------------------------------------------------------------------------------------------

// The SDKs sign with `new Date()`, and a server whose clock was moved refuses a date that is more than 15 minutes off.
// So the Date of this process moves along: one shift per test file.
const RealDate = Date;
let shiftMs = 0;

globalThis.Date = class Date extends RealDate {
    constructor(...values) {
        if (values.length === 0)
            super(RealDate.now() + shiftMs);
        else
            super(...values);
    }

    static now() {
        return RealDate.now() + shiftMs;
    }
};

/** Writes the clock file: 8 bytes, little-endian, the milliseconds that the server adds to its clock. */
function writeClock(file, ms) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(ms));
    // In place: the server has the file mapped, and a truncated one would kill it.
    const fd = openSync(file, 'r+');
    writeSync(fd, bytes, 0, 8, 0);
    closeSync(fd);
}

// ---- the server -----------------------------------------------------------------------------------------------------

/** The URL with a SAS of the account that may read objects and their tags: what the source of a copy wants. */
export function readable(url) {
    const sas = { sv: VERSION, ss: 'bf', srt: 'o', sp: 'rt', se: new Date(Date.now() + 3600e3).toISOString() };
    const text = [ACCOUNT, sas.sp, sas.ss, sas.srt, '', sas.se, '', '', sas.sv, '', ''].join('\n');
    return `${url}${url.includes('?') ? '&' : '?'}${new URLSearchParams({ ...sas, sig: hmac(text) })}`;
}

/** The file service's SDK, for tests in other folders too: packages are installed beside this file. */
export function fileShareSdk() {
    return import('@azure/storage-file-share');
}

// Runs a program that sees a file system in memory, of the size $0, in place of the folder $1. Nobody else sees it.
const WITH_DISK = ['unshare', ...(process.getuid() === 0 ? [] : ['--map-root-user']), '--mount', 'sh', '-c', 'mount -t tmpfs -o size="$0" none "$1" && shift && exec "$@"'];

/** True if this user, or the root of a user namespace, may mount: then a server can have a separate small disk. */
export function disksCanBeMade() {
    const [program, ...args] = [...WITH_DISK, '1m', tmpdir(), 'true'];
    return spawnSync(program, args).status === 0;
}

/** Ports that were free a moment ago, all different. */
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

async function answers(port) {
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

/**
 * Starts a server on free ports, with a temporary data folder that goes with it, and waits until it answers.
 *   inMemory   true: no files (nothing is left after restart)
 *   services   which services to turn on; all by default
 *   args, env  further flags and variables
 *   admin      true: the admin listener too, on ports.admin
 *   dfs        true: the Data Lake listener too, on ports.dfs
 *   bare       true: only flags that the first versions had
 *   disk       how large a disk of its own it gets for its data ('32m'), if disksCanBeMade(); it goes with the process
 */
export async function startServer({ inMemory = false, services = SERVICES, args = [], env = {}, disk = null, admin = false, dfs = false, bare = false } = {}) {
    for (let attempt = 0; ; attempt++) {
        const server = new Server({ inMemory, services, args, env, disk, admin, dfs, bare });
        try {
            await server.start();
            return server;
        } catch (error) {
            server.remove();
            // Another process may have taken a port in the meantime.
            if (attempt === 3 || !/in use/i.test(error.message))
                throw error;
        }
    }
}

// A test that fails before it stops its server must neither hang nor leave it behind: a server does not keep the test's
// process alive, and ends with it at the latest.
const running = new Set();
process.on('exit', () => {
    for (const server of running)
        server.remove();
});
// The test runner ends a file that takes too long by SIGTERM, which alone would not run the handler above.
process.on('SIGTERM', () => process.exit(143));

class Server {
    constructor(options) {
        this.options = options;
        this.folder = mkdtempSync(join(tmpdir(), 'lazuli-rest-'));
        this.data = join(this.folder, 'data');
        this.clockFile = join(this.folder, 'clock');
        this.ports = null;
        this.child = null;
        this.output = '';
    }

    /** After stop() or kill(): again with the same ports and data. */
    async start() {
        const { inMemory, services, args, env, disk, admin, dfs, bare } = this.options;
        if (this.ports === null) {
            const free = await freePorts(SERVICES.length + 2);
            this.ports = Object.fromEntries(SERVICES.map((s, i) => [s, services.includes(s) ? free[i] : 0]));
            this.ports.admin = admin ? free[SERVICES.length] : 0;
            this.ports.dfs = dfs ? free[SERVICES.length + 1] : 0;
        }
        const flags = SERVICES.flatMap((s) => [`--${s}-port`, String(this.ports[s] || 'off')]);
        if (bare) {
            flags.push('--smb-port', '0'); // off, or a free one
        } else {
            flags.push('--smb-port', 'off', '--clock-file', this.clockFile);
            flags.push('--admin-port', admin ? String(this.ports.admin) : 'off');
            flags.push('--dfs-port', dfs ? String(this.ports.dfs) : 'off');
        }
        flags.push(...(inMemory ? ['--in-memory'] : ['--data', this.data]), ...args);
        if (disk !== null)
            mkdirSync(this.data, { recursive: true });
        const [program, ...line] = disk === null ? [BIN, ...flags] : [...WITH_DISK, disk, this.data, BIN, ...flags];
        this.child = spawn(program, line, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
        this.child.unref();
        running.add(this);
        this.output = '';
        for (const stream of [this.child.stdout, this.child.stderr]) {
            stream.unref();
            stream.setEncoding('utf8').on('data', (text) => {
                this.output = (this.output + text).slice(-LOG_BYTES_MAX);
            });
        }
        this.exited = once(this.child, 'exit').then(([code, signal]) => ({ code, signal }));
        this.outputRead = once(this.child, 'close').catch(() => null);
        let gone = null;
        this.exited.then((how) => { gone = how; }, (error) => { gone = { code: error.message }; });
        const deadline = performance.now() + START_MS_MAX;
        for (const service of admin ? [...services, 'admin'] : services) {
            while (!(await answers(this.ports[service]))) {
                await sleep(10);
                if (gone !== null || performance.now() > deadline)
                    throw new Error(`${BIN} ${flags.join(' ')} ended with ${JSON.stringify(gone)}:\n${this.output}`);
            }
        }
    }

    /** Sends the signal and waits for the end; what `exited` gives, null when it takes too long. */
    async end(signal) {
        const { child } = this;
        const timer = new AbortController();
        child.ref();
        child.kill(signal);
        const late = sleep(STOP_MS_MAX, null, { signal: timer.signal }).catch(() => null);
        const how = await Promise.race([this.exited, late]);
        if (how === null)
            child.kill('SIGKILL');
        else
            await Promise.race([this.outputRead, late]); // its last lines may still be in the pipe
        timer.abort();
        this.child = null;
        return how;
    }

    /** Ends it in good order; fails when it ends with anything but 0, as it does after a sanitizer's report. */
    async endWell() {
        const how = await this.end('SIGTERM');
        assert.ok(how !== null, `the server did not stop within ${STOP_MS_MAX} ms:\n${this.output}`);
        assert.equal(how.code, 0, `the server ended with ${how.code ?? how.signal}:\n${this.output}`);
    }

    /** Stops it for good and takes its data away. */
    async stop() {
        shiftMs = 0;
        try {
            if (this.child !== null)
                await this.endWell();
        } finally {
            this.remove();
        }
    }

    /** kill -9. The data stays; start() goes on with it. */
    async kill() {
        await this.end('SIGKILL');
    }

    /** Stops it in good order (or by kill -9), and starts it on the same ports and data. */
    async restart({ crash = false } = {}) {
        if (crash)
            await this.kill();
        else
            await this.endWell();
        await this.start();
    }

    remove() {
        this.child?.kill('SIGKILL');
        this.child = null;
        running.delete(this);
        rmSync(this.folder, { recursive: true, force: true });
    }

    /** Moves the server's clock, and the Date of this process, forward (or back). */
    advance(ms) {
        shiftMs += ms;
        writeClock(this.clockFile, shiftMs);
    }

    url(service, account = ACCOUNT) {
        return `http://127.0.0.1:${this.ports[service]}/${account}`;
    }

    connectionString({ account = ACCOUNT, key = KEY } = {}) {
        const title = { blob: 'Blob', queue: 'Queue', table: 'Table', file: 'File' };
        const endpoints = SERVICES.filter((s) => this.ports[s] !== 0)
            .map((s) => `${title[s]}Endpoint=${this.url(s, account)};`);
        return `DefaultEndpointsProtocol=http;AccountName=${account};AccountKey=${key};${endpoints.join('')}`;
    }

    // The SDKs are loaded when they are first asked for.

    async blobs(options = {}) {
        const { BlobServiceClient } = await import('@azure/storage-blob');
        return BlobServiceClient.fromConnectionString(this.connectionString(options), NO_RETRY);
    }

    async queues(options = {}) {
        const { QueueServiceClient } = await import('@azure/storage-queue');
        return QueueServiceClient.fromConnectionString(this.connectionString(options), NO_RETRY);
    }

    /** Data Lake clients, for the dfs port when there is one, else the blob port. */
    async lake({ account = ACCOUNT, key = KEY, service = this.ports.dfs === 0 ? 'blob' : 'dfs' } = {}) {
        const { DataLakeServiceClient, StorageSharedKeyCredential } = await import('@azure/storage-file-datalake');
        return new DataLakeServiceClient(this.url(service, account), new StorageSharedKeyCredential(account, key), NO_RETRY);
    }

    async shares(options = {}) {
        const { ShareServiceClient } = await fileShareSdk();
        return ShareServiceClient.fromConnectionString(this.connectionString(options), NO_RETRY);
    }

    async tables(options = {}) {
        const { TableServiceClient } = await import('@azure/data-tables');
        return TableServiceClient.fromConnectionString(this.connectionString(options), NO_RETRY_TABLE);
    }

    async table(name, options = {}) {
        const { TableClient } = await import('@azure/data-tables');
        return TableClient.fromConnectionString(this.connectionString(options), name, NO_RETRY_TABLE);
    }

    /**
     * One HTTP request, exactly as told.
     *   path     after the account, percent-encoded, with its leading '/'; '' is the account itself
     *   query    string as sent, or an object (a value may be an array)
     *   headers  object; a value of undefined is left out, an array sends the header several times
     *   body     string or Buffer
     *   auth     'key' (default), 'lite', 'none', or a function from headers to headers
     *   account, key  whose signature
     * The answer: {status, headers, rawHeaders, bytes, text, method, service, json(), xml(name)}.
     */
    async request(service, method, path, options = {}) {
        const { query = '', headers = {}, body, auth = 'key', account = ACCOUNT, key = KEY } = options;
        const fullPath = `/${account}${path}`;
        const text = queryText(query);
        const table = service === 'table';
        let all = Array.isArray(headers) ? headers : withDefaults(headers, body, method);
        if (auth === 'key' || auth === 'lite')
            all = sign(method, fullPath, text, all, { account, key, lite: auth === 'lite', table });
        else if (typeof auth === 'function')
            all = auth(all);
        return send(this.ports[service], service, method, text === '' ? fullPath : `${fullPath}?${text}`, all, body);
    }
}

/** Waits until check() gives something, and gives that. */
export async function until(check, ms = 20000) {
    for (const end = performance.now() + ms; performance.now() < end; await sleep(30)) {
        const value = await check();
        if (value)
            return value;
    }
    throw new Error('it did not come to that');
}

/** A name that no other test uses: lower-case letters and digits, good for every kind of resource. */
export function uniqueName(prefix = 't') {
    return prefix + randomBytes(6).toString('hex');
}

// ---- raw requests ---------------------------------------------------------------------------------------------------

export function queryText(query) {
    if (typeof query === 'string')
        return query;
    return Object.entries(query)
        .filter(([, value]) => value !== undefined)
        .flatMap(([name, value]) => [value].flat().map((v) => `${encodeURIComponent(name)}=${encodeURIComponent(v)}`))
        .join('&');
}

function withDefaults(headers, body, method) {
    const length = body === undefined ? (['PUT', 'POST'].includes(method) ? 0 : undefined) : Buffer.byteLength(body);
    const all = { 'x-ms-version': VERSION, 'x-ms-date': new Date().toUTCString(), 'Content-Length': length };
    for (const [name, value] of Object.entries(headers)) {
        for (const known of Object.keys(all))
            if (known.toLowerCase() === name.toLowerCase())
                delete all[known];
        all[name] = value;
    }
    return all;
}

/** Pairs [name, value] of a headers object. */
function headerPairs(headers) {
    const pairs = Array.isArray(headers) ? headers : Object.entries(headers);
    return pairs.filter(([, value]) => value !== undefined)
        .flatMap(([name, value]) => [value].flat().map((v) => [name, String(v)]));
}

function canonicalHeaders(pairs) {
    const values = new Map();
    for (const [name, value] of pairs) {
        const lower = name.toLowerCase();
        if (lower.startsWith('x-ms-'))
            values.set(lower, [...(values.get(lower) ?? []), value.trim().replace(/\s+/g, ' ')]);
    }
    const sorted = [...values].sort(([a], [b]) => (a < b ? -1 : 1));
    return sorted.map(([name, list]) => `${name}:${list.join(',')}\n`).join('');
}

function queryPairs(query) {
    const decode = (s) => { try { return decodeURIComponent(s); } catch { return s; } };
    return query.split('&').filter((part) => part !== '').map((part) => {
        const [name, ...rest] = part.split('=');
        return [decode(name).toLowerCase(), decode(rest.join('='))];
    });
}

function canonicalResource(path, query, account, lite) {
    const pairs = queryPairs(query);
    const start = `/${account}${path}`;
    if (lite) {
        const comp = pairs.find(([name]) => name === 'comp');
        return comp === undefined ? start : `${start}?comp=${comp[1]}`;
    }
    const names = [...new Set(pairs.map(([name]) => name))].sort();
    const values = (name) => pairs.filter(([n]) => n === name).map(([, value]) => value).sort().join(',');
    return start + names.map((name) => `\n${name}:${values(name)}`).join('');
}

/** The text that a Shared Key signature is made of. */
export function stringToSign(method, path, query, headers, { account = ACCOUNT, lite = false, table = false } = {}) {
    const pairs = headerPairs(headers);
    const value = (name) => pairs.find(([n]) => n.toLowerCase() === name)?.[1] ?? '';
    const lines = (...values) => values.join('\n');
    const resource = canonicalResource(path, query, account, lite || table);
    const content = [value('content-md5'), value('content-type')];
    if (table) {
        const date = value('x-ms-date') || value('date');
        return lite ? lines(date, resource) : lines(method, ...content, date, resource);
    }
    const date = value('x-ms-date') === '' ? value('date') : '';
    const end = canonicalHeaders(pairs) + resource;
    if (lite)
        return lines(method, ...content, date, end);
    const length = value('content-length') === '0' ? '' : value('content-length');
    return lines(method, value('content-encoding'), value('content-language'), length, ...content, date,
        value('if-modified-since'), value('if-match'), value('if-none-match'), value('if-unmodified-since'),
        value('range'), end);
}

/** HMAC-SHA256 in base64, with a key in base64. */
export function hmac(text, key = KEY) {
    return createHmac('sha256', Buffer.from(key, 'base64')).update(text, 'utf8').digest('base64');
}

/** The headers with an Authorization added. `path` is the whole path as sent, `query` the text after '?'. */
export function sign(method, path, query, headers, options = {}) {
    const { account = ACCOUNT, key = KEY, lite = false, table = false } = options;
    const text = stringToSign(method, path, query, headers, { account, lite, table });
    return [...headerPairs(headers), ['Authorization', `SharedKey${lite ? 'Lite' : ''} ${account}:${hmac(text, key)}`]];
}

/** Sends with exactly these headers (Host is added when it is not among them) and reads the whole answer. */
export async function send(port, service, method, target, headers, body) {
    const pairs = headerPairs(headers);
    if (!pairs.some(([name]) => name.toLowerCase() === 'host'))
        pairs.unshift(['Host', `127.0.0.1:${port}`]);
    const place = { host: '127.0.0.1', port, path: target, agent: false };
    const request = http.request({ ...place, method, headers: pairs.flat(), setHost: false });
    // A connection that is cut after the head fails the reading below; the request may say so too, to nobody.
    request.on('error', () => {});
    const answered = once(request, 'response');
    request.end(body);
    const [response] = await answered;
    const parts = [];
    for await (const part of response)
        parts.push(part);
    const bytes = Buffer.concat(parts);
    const text = bytes.toString('utf8');
    return {
        service, method, bytes, text,
        status: response.statusCode,
        headers: response.headers,
        rawHeaders: response.rawHeaders,
        json: () => JSON.parse(text),
        xml: (name) => xmlTexts(text, name),
    };
}

/** The texts of all elements of that name that hold no others. Enough for what the services answer. */
export function xmlTexts(text, name) {
    const unescape = (s) => s.replace(/&(?:#x([0-9A-Fa-f]+)|#(\d+)|(\w+));/g, (all, hex, decimal, word) => {
        if (word !== undefined)
            return { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }[word] ?? all;
        return String.fromCodePoint(hex === undefined ? Number(decimal) : parseInt(hex, 16));
    });
    const found = text.matchAll(new RegExp(`<${name}(?:\\s[^>]*)?(?:/>|>([^<]*)</${name}>)`, 'g'));
    return [...found].map(([, inner]) => unescape(inner ?? ''));
}

// ---- assertions -----------------------------------------------------------------------------------------------------

const XML_ERROR = /^(\uFEFF)?<\?xml version="1\.0" encoding="utf-8"( standalone="yes")?\?>\s*<(m:)?[Ee]rror/;

/** An answer of request(): the status, x-ms-error-code, and a body of the service's form that says the same. */
export function assertError(response, status, code) {
    const { headers } = response;
    const seen = `${response.method} answered ${response.status} ${headers['x-ms-error-code']}: ${response.text}`;
    assert.equal(response.status, status, seen);
    assert.equal(headers['x-ms-error-code'], code, seen);
    assert.match(headers['x-ms-request-id'] ?? '', /^[0-9a-f-]{36}$/, seen);
    if (response.method === 'HEAD' || status === 304) {
        assert.equal(response.bytes.length, 0, seen);
        return;
    }
    let message;
    if (response.service === 'table' && (headers['content-type'] ?? '').includes('json')) {
        const error = response.json()['odata.error'];
        assert.equal(error.code, code, seen);
        message = error.message.value;
    } else {
        assert.match(headers['content-type'] ?? '', /^application\/xml/, seen);
        assert.match(response.text, XML_ERROR, seen);
        assert.deepEqual(response.xml('Code').concat(response.xml('m:code')), [code], seen);
        message = response.xml('Message').concat(response.xml('m:message'))[0];
    }
    const [, requestId] = message.match(/.+\nRequestId:([0-9a-f-]{36})\nTime:\d{4}-\d\d-\d\dT[\d:.]+Z$/) ?? [];
    assert.equal(requestId, headers['x-ms-request-id'], seen);
}

/** Whatever name an SDK gives to the service's error code. */
export function errorCode(error) {
    return error.details?.odataError?.code ?? error.details?.errorCode ??
        error.response?.headers?.get('x-ms-error-code') ?? error.code;
}

/** A call of an SDK that is to fail. Returns the error. */
export async function assertRejects(promise, status, code) {
    let error;
    try {
        await promise;
    } catch (thrown) {
        error = thrown;
    }
    assert.ok(error !== undefined, `expected ${status} ${code}, but it succeeded`);
    const seen = `expected ${status} ${code}, got ${error.statusCode} ${errorCode(error)}: ${error.message}`;
    assert.equal(error.statusCode, status, seen);
    assert.equal(errorCode(error), code, seen);
    return error;
}
