// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of the cluster engine: the cluster, gateways of one store, clients that record what they see. The
// cluster is that of LAZULI_TEST_CLUSTER (the folder given to `up`), or one that this process starts.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ACCOUNT, BIN, sign, startServer, VERSION } from '../rest/lib.mjs';

const run = promisify(execFile);
const script = (name) => fileURLToPath(new URL(name, import.meta.url));
const PSQL = '/usr/lib/postgresql/15/bin/psql';
/** No request may take longer: the longest time-out that the server has, and time to answer on a busy machine. */
export const REQUEST_MS_MAX = 90_000;
export const FULL = Boolean(process.env.FULL);

/** The cluster: {folder, rows, extents, ctl(...words), down()}. */
export async function theCluster({ shards = 1 } = {}) {
    let folder = process.env.LAZULI_TEST_CLUSTER;
    const own = folder === undefined;
    if (own)
        folder = mkdtempSync(join(tmpdir(), 'lazuli-cluster-'));
    const { stdout } = await run(script('./up'), shards > 1 ? [folder, '--shards', String(shards)] : [folder]);
    const value = (name) => new RegExp(`^${name}='(.*)'$`, 'm').exec(stdout)[1];
    return {
        folder,
        rows: value('ROWS'),
        shards: Array.from({ length: shards }, (_, n) => value(n === 0 ? 'ROWS' : `ROWS${n + 1}`)),
        extents: value('EXTENTS'),
        ports: [...value('ROWS').matchAll(/127\.0\.0\.1:(\d+)/g)].map((m) => Number(m[1])),
        ctl: async (...words) => (await run(script('./ctl'), [folder, ...words])).stdout.trim(),
        down: async () => { if (own) await run(script('./down'), [folder, '--remove']); },
    };
}

/** A store of its own in the cluster: a schema, and a RADOS namespace unless it shares the pool's. */
export function newStore(cluster, { rows = cluster.rows, shares = false } = {}) {
    const name = `t_${randomBytes(6).toString('hex')}`;
    execFileSync(PSQL, ['-Xq', cluster.rows, '-c', `create schema ${name}`]);
    const store = { name, rows: `${rows}&options=-csearch_path%3D${name}`, extents: shares ? cluster.extents : `${cluster.extents},namespace=${name}` };
    store.flags = ['--rows', store.rows, '--extents', store.extents];
    store.sql = (text) => execFileSync(PSQL, ['-XqAt', store.rows, '-c', text], { encoding: 'utf8' }).trim();
    execFileSync(BIN, ['cluster', 'init', '--rows', `${cluster.rows}&options=-csearch_path%3D${name}`, '--extents', store.extents]);
    return store;
}

/** Waits until something is in the store: a migration into it has begun, since its mark is the first row. */
export function untilRows(store) {
    const sql = 'do $$ begin while not exists (select from rows) loop perform pg_sleep(0.01); end loop; end $$';
    return promisify(execFile)(PSQL, ['-Xq', store.rows, '-c', sql]);
}

/** A store whose shards are in these databases, each in a schema of its own; `init` has not been run. */
export function newShards(cluster, databases) {
    const name = `t_${randomBytes(6).toString('hex')}`;
    const uris = databases.map((rows, n) => {
        execFileSync(PSQL, ['-Xq', rows, '-c', `create schema ${name}_${n}`]);
        return `${rows}&options=-csearch_path%3D${name}_${n}`;
    });
    const extents = ['--extents', `${cluster.extents},namespace=${name}`];
    /** The flags of the first `count` shards, or of those given. */
    const flags = (which) => [...(Array.isArray(which) ? which : [...uris.keys()].slice(0, which)).flatMap((n) => ['--rows', uris[n]]), ...extents];
    const sql = (n, text) => execFileSync(PSQL, ['-XqAt', uris[n], '-c', text], { encoding: 'utf8' }).trim();
    return { name, uris, flags, sql };
}

/** `count` gateways of the store, one after the other: the first makes the accounts. */
export async function startGateways(store, count, options = {}) {
    const gateways = [];
    for (let n = 0; n < count; n++)
        gateways.push(await startServer({ ...options, args: ['--silent', ...(options.args ?? []), '--engine', 'cluster', ...store.flags] }));
    return gateways;
}

/** All that a killed or stopped one of them leaves is taken away. */
export async function stopGateways(gateways) {
    await Promise.all(gateways.map((gateway) => gateway.stop()));
}

/**
 * A client with a connection of its own to each gateway. `call` gives {status, headers, text, bytes, called, answered}; with
 * status null when the connection ended, or it took too long: then the outcome is not known. Times are of performance.now().
 */
export class Client {
    constructor(gateways) {
        this.gateways = gateways;
        this.agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
        this.longest = 0;
        this.late = 0;
    }

    call(n, service, method, path, { query = '', headers = {}, body, timeout = REQUEST_MS_MAX } = {}) {
        const gateway = this.gateways[n % this.gateways.length];
        const target = `/${ACCOUNT}${path}`;
        const all = { 'x-ms-version': VERSION, 'x-ms-date': new Date().toUTCString(), ...headers };
        if (body !== undefined || method === 'PUT' || method === 'POST')
            all['Content-Length'] = body === undefined ? 0 : Buffer.byteLength(body);
        const signed = sign(method, target, query, all, { table: service === 'table' });
        const called = performance.now();
        return new Promise((resolve) => {
            let over = false;
            const done = (status, response, bytes) => {
                if (over)
                    return;
                over = true;
                const answered = performance.now();
                this.longest = Math.max(this.longest, answered - called);
                resolve({ status, headers: response?.headers ?? {}, bytes, text: bytes?.toString() ?? '', called, answered });
            };
            const request = http.request({
                host: '127.0.0.1', port: gateway.ports[service], method, agent: this.agent, setHost: false,
                path: query === '' ? target : `${target}?${query}`,
                headers: [['Host', `127.0.0.1:${gateway.ports[service]}`], ...signed].flat(),
            }, (response) => {
                const parts = [];
                response.on('data', (part) => parts.push(part));
                response.on('error', () => done(null));
                response.on('aborted', () => done(null));
                response.on('end', () => done(response.complete ? response.statusCode : null, response, Buffer.concat(parts)));
            });
            request.on('error', () => done(null));
            request.setTimeout(timeout, () => {
                this.late++;
                request.destroy();
                done(null);
            });
            request.end(body);
        });
    }

    close() {
        this.agent.destroy();
    }
}

/** The status must be one of these. */
export function wants(answer, ...statuses) {
    assert.ok(statuses.includes(answer.status), `${answer.status} ${answer.text}`);
    return answer;
}
