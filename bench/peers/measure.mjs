// SPDX-License-Identifier: Apache-2.0
// How bench/peers.mjs measures one row of one peer, and the data the peers hold before.
import { closeSync, existsSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask, cpuSeconds, CYCLE, DISK, load, residentMiB, runForJson } from '../kit.mjs';
import { BLOB, changeSet, JSON_HEADERS, put, putRange } from './rows.mjs';

const CIPHERS = 'TLS_AES_256_GCM_SHA384';
const BLOCK = 8 << 20;
const BLOCKS = 128; // of a blob of 1 GiB

export const settings = { quick: false, seconds: 2, smbLoad: null };
let base = 0; // of numbers that are used once, so that no round meets an earlier one's

const options = (peer, more) => ({ ...(peer.sign ? {} : { unsigned: true }), ...(peer.base.blob?.startsWith('https') ? { ciphers: CIPHERS } : {}), 'warm-up': 0, ...more });
const less = (count) => (settings.quick ? Math.ceil(count / 8) : count);

// ---- what they begin with -------------------------------------------------------------------------------------------

async function fill(peer, count, ops, more = {}) {
    const { service = 'blob', ...rest } = more;
    const plan = options(peer, { requests: count, keys: count, 'in-order': true, connections: 16, seconds: 1800, ...(service === 'table' ? { table: true } : {}), ...rest });
    const result = await load(peer.base[service], plan, [ops(peer)].flat());
    if (result.errors > 0 || result.requests < count)
        throw new Error(`${peer.kind}: ${result.requests} of ${count} filled, ${result.errors} errors`);
}

/** Something made with one request, which may be there already. */
async function make(peer, method, path, { service = 'blob', ...more } = {}) {
    if (peer.base[service].startsWith('https'))
        await load(peer.base[service], options(peer, { requests: 1, connections: 1, seconds: 30 }), [{ op: `${method} /devstoreaccount1${path}` }]);
    else
        await ask(peer.base[service], method, path, more).catch((error) => {
            if (!error.message.includes(': 409'))
                throw error;
        });
}

async function prepareRows(peer) {
    await make(peer, 'PUT', '/list?restype=container');
    await fill(peer, 5000, () => ({ op: 'PUT /devstoreaccount1/list/k{key}', headers: BLOB, bytes: 100 }));
    await make(peer, 'PUT', '/bench', { service: 'queue' });
    const json = { 'content-type': 'application/json', accept: 'application/json;odata=nometadata' };
    await make(peer, 'POST', '/Tables', { service: 'table', table: true, headers: json, body: '{"TableName":"bench"}' });
    await fill(peer, 1000, () => ({ op: "PUT /devstoreaccount1/bench(PartitionKey='k',RowKey='k{key}')", headers: JSON_HEADERS.slice(0, 2), body: '{"Name":"value","Count":7,"Flag":true,"Price":1.5}' }), { service: 'table' });
    if (peer.base.file === undefined)
        return;
    await make(peer, 'PUT', '/bench?restype=share', { service: 'file' });
    await make(peer, 'PUT', '/bench/f', { service: 'file', headers: { 'x-ms-type': 'file', 'x-ms-content-length': String(1 << 30) } });
    await fill(peer, 16, putRange(4 << 20), { service: 'file', connections: 4 });
}

/** The data that most rows need: small, medium and large blobs, a list, a queue, a table, a file. */
export async function prepare(peer) {
    if (peer.base?.blob === undefined)
        return;
    if (peer.sign)
        await make(peer, 'PUT', '/bench?restype=container');
    await fill(peer, 1000, put('s{key}', 4096));
    await fill(peer, 64, put('m{key}', 1 << 20));
    await fill(peer, 16, put('e{key}', 8 << 20), { connections: 4 });
    if (peer.sign && peer.base.blob.startsWith('http:'))
        await prepareRows(peer);
}

/** A file of 1 GiB where nginx serves it. */
function makeGiantFile(path) {
    if (existsSync(path))
        return;
    const bytes = Buffer.alloc(BLOCK, 'x');
    const fd = openSync(path, 'w');
    for (let i = 0; i < BLOCKS; i++)
        writeSync(fd, bytes);
    closeSync(fd);
}

/** Straight into nginx's folder, which would take minutes to put them. */
function fillFolder(folder, count) {
    const bytes = Buffer.alloc(1024, 'x');
    mkdirSync(folder, { recursive: true });
    for (let i = 0; i < count; i++)
        writeFileSync(join(folder, `o${String(i).padStart(8, '0')}`), bytes);
}

/** So many blobs and, by change sets of 100, entities; once a peer. */
async function fillMany(peer, count, service) {
    const filled = (peer.filled ??= new Set());
    const key = `${service} ${count}`;
    if (filled.has(key))
        return;
    if (service === 'table')
        await fill(peer, Math.ceil(count / 100), changeSet(`many${count}`), { service, base: 0 });
    else if (peer.www !== undefined)
        fillFolder(join(peer.www, `many${count}`), count);
    else
        await fill(peer, count, put(`many${count}/o{key}`, 1024), { connections: 128 });
    filled.add(key);
}

/** The additional data that one row needs on a peer. */
export async function prepareRow(row, peer) {
    if (row.many !== undefined)
        await fillMany(peer, row.many, row.service ?? 'blob');
    if (peer.www !== undefined && (row.kind === 'ranges' || row.giant))
        makeGiantFile(join(peer.www, 'giant'));
    else if (row.kind === 'ranges')
        await onceInBlocks(row, peer);
    if (row.kind === 'smb' && row.smbOp !== 'write')
        await smb(peer, 'plain', 'write', Math.max(less(1024), row.connections), row.connections);
    if (row.besideSmb === 'read')
        await smb(peer, 'plain', 'write', 256, 8);
}

// ---- measuring ------------------------------------------------------------------------------------------------------

const figures = (result, each, cpu) => ({ rate: result.rate * each, p50Ms: result.p50Ms, p99Ms: result.p99Ms, p999Ms: result.p999Ms, errors: result.errors ?? 0,
    cpuUs: cpu === null || result.requests === 0 ? null : (cpu * 1e6) / (result.requests * each), large: null });

async function withCpu(peer, each, run) {
    const before = cpuSeconds(peer.pid);
    const result = await run();
    return figures(result, each, cpuSeconds(peer.pid) - before);
}

const smb = ({ smb: at, pid }, mode, op, count, clients) => runForJson([settings.smbLoad, at.url, at.user, at.password, at.port, mode, pid, op, count, clients].map(String));

async function onceSmb(row, peer) {
    const result = await smb(peer, row.mode, row.smbOp, Math.max(less(row.count), row.connections), row.connections);
    return figures(result, 1, result.cpuSeconds);
}

async function putInBlocks(row, peer) {
    const op = peer.sign ? { op: `PUT ${peer.path('giant')}?comp=block&blockid={key64}`, bytes: BLOCK } : put('giant{key}', BLOCK)(peer);
    const ids = Array.from({ length: BLOCKS }, (_, i) => `<Latest>${Buffer.from(String(i).padStart(8, '0')).toString('base64')}</Latest>`);
    const begun = process.hrtime.bigint();
    const result = await load(peer.base.blob, options(peer, { requests: BLOCKS, keys: BLOCKS, 'in-order': true, connections: row.connections, seconds: 120 }), [op]);
    if (peer.sign)
        await ask(peer.base.blob, 'PUT', '/bench/giant?comp=blocklist', { body: `<BlockList>${ids.join('')}</BlockList>` });
    return { ...result, rate: (BLOCKS * 1e9) / Number(process.hrtime.bigint() - begun) };
}

/** One large blob in blocks, each its own request, and the list of them; nginx gets as many files. By MiB. Twice, and the
 * second time counts: a virtual machine's host may take back memory that was free while the others had their turns, and the
 * first access to it costs fifteen times a later one. */
async function onceInBlocks(row, peer) {
    await putInBlocks(row, peer);
    return withCpu(peer, 8, () => putInBlocks(row, peer));
}

async function onceInRanges(row, peer) {
    const op = { op: `GET ${peer.path('giant')}`, headers: [`${peer.sign ? 'x-ms-range' : 'Range'}: {range:${BLOCK}}`] };
    return withCpu(peer, 8, () => load(peer.base.blob, options(peer, { requests: BLOCKS, keys: BLOCKS, 'in-order': true, connections: row.connections, seconds: 120 }), [op]));
}

/** Deletes what was put just before. */
async function onceDelete(row, peer) {
    const most = { lazuli: 20000, azurite: 500, nginx: 10000 }[peer.kind];
    const count = less(row.connections === 1 ? Math.min(most, 4000) : most);
    base += 1000000;
    const name = `d${base}-{key}`;
    await fill(peer, count, put(name, 100), { connections: 64 });
    return withCpu(peer, 1, () => load(peer.base.blob, options(peer, { requests: count, keys: count, 'in-order': true, connections: row.connections, seconds: 120 }), [{ op: `DELETE ${peer.path(name)}` }]));
}

async function onceCycle(row, peer) {
    const most = less(peer.kind === 'azurite' ? 400 : row.connections === 1 ? 2000 : 20000);
    const result = await runForJson([CYCLE, new URL(peer.base.queue).port, peer.pid, Math.ceil(most / row.connections), row.connections].map(String));
    return figures(result, 1, result.cpuSeconds);
}

/** SMB clients of another program, 256 MiB again and again until the time is up. */
async function besideSmb(row, peer, seconds) {
    const end = Date.now() + seconds * 1000;
    const rates = [];
    do
        rates.push((await smb(peer, 'plain', row.besideSmb, 256, 8)).rate);
    while (Date.now() < end);
    return { rate: rates.reduce((a, b) => a + b) / rates.length };
}

function startBeside(row, peer, seconds) {
    if (row.besideSmb !== undefined)
        return besideSmb(row, peer, seconds + 1);
    return row.beside && load(peer.base[row.at ?? 'blob'], options(peer, { connections: 8, keys: 16, seconds: seconds + 1 }), [row.beside(peer)]);
}

async function onceLoad(row, peer) {
    const service = peer.base[row.service] === undefined ? 'blob' : row.service;
    const seconds = row.seconds ?? (peer.kind === 'azurite' ? Math.ceil(settings.seconds / 2) : settings.seconds);
    const requests = row.requests ?? (peer.kind === 'azurite' ? row.azuriteRequests : undefined);
    base += 1000000;
    const plan = options(peer, { connections: row.connections, keys: row.keys ?? 1000, ...(requests === undefined ? { seconds } : { requests, seconds: 60 }), base, ...(service === 'table' ? { table: true } : {}) });
    const large = startBeside(row, peer, seconds);
    if (large)
        await sleep(500);
    const result = await withCpu(peer, row.each ?? 1, () => load(peer.base[service], plan, [row.op(peer)].flat()));
    return large ? { ...result, cpuUs: null, large: (await large).rate } : result;
}

async function onceDisk(row, peer) {
    const each = row.kind === 'blocks' ? 8 : 1;
    const result = await runForJson([DISK, peer.disk, String(settings.seconds), String(row.diskBytes)]);
    return figures(result, each, result.cpuSeconds);
}

const KINDS = { blocks: onceInBlocks, ranges: onceInRanges, delete: onceDelete, cycle: onceCycle, smb: onceSmb };

/** One turn of one peer, and the memory it has after. */
export async function once(row, peer) {
    if (peer.kind === 'disk')
        return onceDisk(row, peer);
    const result = await (KINDS[row.kind] ?? onceLoad)(row, peer);
    peer.mostMiB = Math.max(peer.mostMiB ?? 0, residentMiB(peer.pid));
    return result;
}

/** What a peer needs to start and to be there, at the end: stops it and starts it again on its data. */
export async function state(peer) {
    const fullMiB = residentMiB(peer.pid);
    await peer.stop();
    const again = await peer.again();
    await sleep(500);
    const result = { start: peer.start, mostMiB: peer.mostMiB ?? fullMiB, fullMiB, again: { readyMs: again.readyMs, idleMiB: residentMiB(again.pid) } };
    await again.stop();
    return result;
}
