// SPDX-License-Identifier: Apache-2.0
// `make bench-peers`: Lazuli beside Azurite, nginx and the bare disk, each row by turns (A, B, A, B, …), with the same
// load generator, on the same file system. Writes build/bench/peers.json, report.html (with plots), peers.md and peers.svg.
//
//     BENCH_RUN='chrt -f 10' node bench/peers.mjs [word...]    rows whose names contain a word take the place of those of
//                                                              the last report; all by default
//     QUICK=1: two rounds of a second, and small data; else five rounds of four seconds.
//     BENCH_OBJECTS=1000000: so many blobs in the container of the rows "among many".
//
//     BENCH_REST=3: seconds of rest before each row, where others need the machine, too.
//
// nginx stores what is put without a flush and without checksums; Azurite writes its index back later. Lazuli acknowledges
// a write when it is on the disk. Samba is measured before by bench/smb/run.sh, which has a client of its own; its table
// (build/bench/samba.md) is put into the report.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { ask, cpuSeconds, DISK, FIRST, freePorts, LAZULI, load, residentMiB, scratch, startLazuli, startProgram, version } from './kit.mjs';
import { page, table, plot } from './peers/report.mjs';

const QUICK = process.env.QUICK !== undefined;
const ROUNDS = QUICK ? 2 : 5;
const SECONDS = QUICK ? 1 : 4;
const OBJECTS = Number(process.env.BENCH_OBJECTS ?? (QUICK ? 20000 : 1000000));
const REST = Number(process.env.BENCH_REST ?? 0);
const ROOT = new URL('..', import.meta.url).pathname;
const OUT = join(ROOT, 'build/bench');
const ACCOUNT = '/devstoreaccount1';
const CIPHERS = 'TLS_AES_256_GCM_SHA384';
const folder = scratch();

// ---- the peers ------------------------------------------------------------------------------------------------------

function certificate() {
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=127.0.0.1', '-keyout', key, '-out', cert], { stdio: 'ignore' });
    return { cert, key };
}

async function lazuli(tls) {
    const rest = tls === undefined ? [] : ['--cert', tls.cert, '--key', tls.key];
    const server = await startLazuli({ rest, scheme: tls === undefined ? 'http' : 'https' });
    return { ...server, path: (name) => `${ACCOUNT}/bench/${name}`, sign: true };
}

async function azurite() {
    const [blob, queue, tables] = await freePorts(3);
    const program = join(ROOT, 'bench/peers/node_modules/azurite/dist/src/azurite.js');
    const ports = ['--blobPort', blob, '--queuePort', queue, '--tablePort', tables].map(String);
    const server = await startProgram(['node', program, '--silent', '--skipApiVersionCheck', '--disableTelemetry', '--disableProductStyleUrl', '--location', join(folder, 'azurite'), ...ports], tables, { env: { NODE_NO_WARNINGS: '1' } });
    const base = { blob: `http://127.0.0.1:${blob}`, queue: `http://127.0.0.1:${queue}`, table: `http://127.0.0.1:${tables}` };
    return { ...server, base, path: (name) => `${ACCOUNT}/bench/${name}`, sign: true };
}

async function nginx(tls) {
    const [port] = await freePorts(1);
    const home = join(folder, `nginx${port}`);
    mkdirSync(join(home, 'www/bench'), { recursive: true });
    const ssl = tls === undefined ? '' : `ssl_certificate ${tls.cert}; ssl_certificate_key ${tls.key}; ssl_protocols TLSv1.3;`;
    writeFileSync(join(home, 'conf'), `user root; daemon off; worker_processes ${cpus().length}; pid ${home}/pid; error_log ${home}/log;
events { worker_connections 2048; }
http { access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000; client_max_body_size 0; client_body_buffer_size 128k;
client_body_temp_path ${home}/b; proxy_temp_path ${home}/p; fastcgi_temp_path ${home}/f; uwsgi_temp_path ${home}/u; scgi_temp_path ${home}/s; ${ssl}
server { listen 127.0.0.1:${port} ${tls === undefined ? '' : 'ssl'} reuseport; root ${home}/www; location / { dav_methods PUT DELETE; create_full_put_path on; } } }
`);
    const server = await startProgram(['nginx', '-e', `${home}/log`, '-c', `${home}/conf`, '-p', home], port);
    return { ...server, base: { blob: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}` }, path: (name) => `/bench/${name}`, sign: false, www: join(home, 'www') };
}

// ---- the rows -------------------------------------------------------------------------------------------------------

const BLOB = ['x-ms-blob-type: BlockBlob'];
const put = (name, bytes) => (peer) => ({ op: `PUT ${peer.path(name)}`, headers: peer.sign ? BLOB : [], bytes });
const get = (name) => (peer) => ({ op: `GET ${peer.path(name)}` });
const JSON_HEADERS = ['Content-Type: application/json', 'Accept: application/json;odata=nometadata', 'Prefer: return-no-content'];

function batch(base) {
    const entity = (i) => `--changeset_c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nPOST ${base}${ACCOUNT}/bench HTTP/1.1\r\nContent-Type: application/json\r\nPrefer: return-no-content\r\n\r\n` +
        `{"PartitionKey":"b","RowKey":"{seq}x${i}","Name":"value","Count":7,"Flag":true,"Price":1.5}\r\n`;
    return `--batch_b\r\nContent-Type: multipart/mixed; boundary=changeset_c\r\n\r\n${Array.from({ length: 100 }, (_, i) => entity(i)).join('')}--changeset_c--\r\n--batch_b--\r\n`;
}

let base = 0; // of numbers that are used once, so that no round meets an earlier one's
const ALL = ['lazuli', 'azurite', 'nginx'];
const STORES = ['lazuli', 'azurite'];

/** name, peers, connections, what to ask; `beside`: eight connections that do something large meanwhile. */
const rows = [
    ...[1, 16, 64, 256].map((n) => ({ name: `Put Blob 4 KiB, ${n} connections`, peers: ALL, connections: n, op: put('s{key}', 4096) })),
    ...[1, 16, 64, 256].map((n) => ({ name: `Get Blob 4 KiB, ${n} connections`, peers: ALL, connections: n, op: get('s{key}') })),
    { name: 'Put Blob 1 MiB, 16 connections', peers: ALL, connections: 16, keys: 64, op: put('m{key}', 1 << 20) },
    { name: 'Get Blob 1 MiB, 16 connections', peers: ALL, connections: 16, keys: 64, op: get('m{key}') },
    { name: 'Put Blob 8 MiB, 8 connections', peers: ALL, connections: 8, keys: 16, op: put('e{key}', 8 << 20) },
    { name: 'Get Blob 8 MiB, 8 connections', peers: ALL, connections: 8, keys: 16, op: get('e{key}') },
    { name: '1 GiB in blocks of 8 MiB, 8 connections', peers: ['lazuli', 'nginx'], connections: 8, blocks: 128 },
    { name: 'Get Blob 4 KiB, 4 connections', peers: ALL, connections: 4, op: get('s{key}') },
    { name: 'Get Blob 4 KiB, 4 connections, beside 8 uploads of 8 MiB', peers: ALL, connections: 4, op: get('s{key}'), beside: put('e{key}', 8 << 20) },
    { name: 'Get Blob 4 KiB, 4 connections, beside 8 downloads of 8 MiB', peers: ALL, connections: 4, op: get('s{key}'), beside: get('e{key}') },
    { name: 'List Blobs of 5,000, 4 connections', peers: STORES, connections: 4, seconds: 5, op: () => ({ op: `GET ${ACCOUNT}/list?restype=container&comp=list` }) },
    { name: 'Delete Blob after Put, 16 connections', peers: STORES, connections: 16, unique: true, op: (peer) => [put('d{seq}', 100)(peer), { op: `DELETE ${peer.path('d{seq}')}` }], pairs: true },
    { name: 'Put Message, 16 connections', peers: STORES, connections: 16, service: 'queue', op: () => ({ op: `POST ${ACCOUNT}/bench/messages`, body: '<QueueMessage><MessageText>text</MessageText></QueueMessage>' }) },
    { name: 'Get Messages, 16 connections', peers: STORES, connections: 16, service: 'queue', op: () => ({ op: `GET ${ACCOUNT}/bench/messages?visibilitytimeout=1` }) },
    { name: 'Insert Entity, 16 connections', peers: STORES, connections: 16, service: 'table', unique: true, op: () => ({ op: `POST ${ACCOUNT}/bench`, headers: JSON_HEADERS, body: '{"PartitionKey":"p","RowKey":"{seq}","Name":"value","Count":7,"Flag":true,"Price":1.5}' }) },
    { name: 'Get Entity, 16 connections', peers: STORES, connections: 16, service: 'table', op: () => ({ op: `GET ${ACCOUNT}/bench(PartitionKey='k',RowKey='k{key}')`, headers: JSON_HEADERS.slice(1, 2) }) },
    ...[16, 64].map((n) => ({ name: `change set of 100 inserts, ${n} connections`, peers: STORES, connections: n, service: 'table', unique: true, each: 100, op: (peer) => ({ op: `POST ${ACCOUNT}/$batch`, headers: ['Content-Type: multipart/mixed; boundary=batch_b'], body: batch(peer.base.table) }) })),
    { name: 'query of 100 entities by key, 16 connections', peers: STORES, connections: 16, service: 'table', op: () => ({ op: `GET ${ACCOUNT}/bench()?$filter=PartitionKey%20eq%20'k'%20and%20RowKey%20lt%20'k00000100'`, headers: JSON_HEADERS.slice(1, 2) }) },
    { name: 'scan of 1,000 entities, 4 connections', peers: STORES, connections: 4, service: 'table', op: () => ({ op: `GET ${ACCOUNT}/bench()?$filter=PartitionKey%20eq%20'k'%20and%20Count%20eq%208`, headers: JSON_HEADERS.slice(1, 2) }) },
    { name: 'Put Range 4 KiB of a file, 16 connections', peers: ['lazuli'], connections: 16, service: 'file', op: () => ({ op: `PUT ${ACCOUNT}/bench/f?comp=range`, headers: ['x-ms-write: update', 'x-ms-range: {range:4096}'], bytes: 4096 }) },
    { name: 'Get File 4 KiB of a file, 16 connections', peers: ['lazuli'], connections: 16, service: 'file', op: () => ({ op: `GET ${ACCOUNT}/bench/f`, headers: ['x-ms-range: {range:4096}'] }) },
    { name: 'Put Blob 4 KiB, 64 connections, TLS', peers: ['lazuli', 'nginx'], tls: true, connections: 64, op: put('s{key}', 4096) },
    { name: 'Get Blob 4 KiB, 64 connections, TLS', peers: ['lazuli', 'nginx'], tls: true, connections: 64, op: get('s{key}') },
    { name: 'Get Blob 1 MiB, 16 connections, TLS', peers: ['lazuli', 'nginx'], tls: true, connections: 16, keys: 64, op: get('m{key}') },
    { name: 'Put Blob 8 MiB, 8 connections, TLS', peers: ['lazuli', 'nginx'], tls: true, connections: 8, keys: 16, op: put('e{key}', 8 << 20) },
    // last, as the stores are still busy with so many for a while
    { name: `Get Blob 1 KiB among ${OBJECTS}, 64 connections`, peers: ['lazuli', 'nginx'], connections: 64, keys: OBJECTS, many: true, op: get('many/o{key}') },
].filter(({ name }) => process.argv.length < 3 || process.argv.slice(2).some((word) => name.includes(word)));

// ---- what they begin with -------------------------------------------------------------------------------------------

const options = (peer, more) => ({ ...(peer.sign ? {} : { unsigned: true }), ...(peer.base.blob.startsWith('https') ? { ciphers: CIPHERS } : {}), ...more });

function fill(peer, count, op, service = 'blob', connections = 16) {
    return load(peer.base[service], options(peer, { requests: count, keys: count, 'in-order': true, connections, seconds: 900, 'warm-up': 0, ...(service === 'table' ? { table: true } : {}) }), [op(peer)]);
}

/** The same files for nginx, which would take minutes to put them. */
function fillFolder(folder) {
    const bytes = Buffer.alloc(1024, 'x');
    mkdirSync(folder, { recursive: true });
    for (let i = 0; i < OBJECTS; i++)
        writeFileSync(join(folder, `o${String(i).padStart(8, '0')}`), bytes);
}

async function prepare(peer) {
    const plain = peer.base.blob.startsWith('http:');
    if (peer.sign && plain)
        for (const container of ['bench', 'list'])
            await ask(peer.base.blob, 'PUT', `/${container}?restype=container`);
    else if (peer.sign)
        await load(peer.base.blob, options(peer, { requests: 1, connections: 1, seconds: 30, 'warm-up': 0 }), [{ op: `PUT ${ACCOUNT}/bench?restype=container` }]);
    await fill(peer, 1000, put('s{key}', 4096));
    await fill(peer, 64, put('m{key}', 1 << 20));
    await fill(peer, 16, put('e{key}', 8 << 20), 'blob', 4);
    if (!peer.sign || !plain)
        return;
    await fill(peer, 5000, () => ({ op: `PUT ${ACCOUNT}/list/k{key}`, headers: BLOB, bytes: 100 }));
    await ask(peer.base.queue, 'PUT', '/bench');
    const json = { 'content-type': 'application/json', accept: 'application/json;odata=nometadata' };
    await ask(peer.base.table, 'POST', '/Tables', { table: true, headers: json, body: '{"TableName":"bench"}' });
    await fill(peer, 1000, () => ({ op: `PUT ${ACCOUNT}/bench(PartitionKey='k',RowKey='k{key}')`, headers: JSON_HEADERS.slice(0, 2), body: '{"Name":"value","Count":7,"Flag":true,"Price":1.5}' }), 'table');
    if (peer.base.file === undefined)
        return;
    await ask(peer.base.file, 'PUT', '/bench?restype=share');
    await ask(peer.base.file, 'PUT', '/bench/f', { headers: { 'x-ms-type': 'file', 'x-ms-content-length': String(1 << 30) } });
}

// ---- measuring ------------------------------------------------------------------------------------------------------

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

/** One large blob in blocks, each its own request, and the list of them; nginx gets as many files. */
async function onceInBlocks(row, peer) {
    const before = cpuSeconds(peer.pid);
    const begun = process.hrtime.bigint();
    const op = peer.sign ? { op: `PUT ${peer.path('giant')}?comp=block&blockid={key64}`, bytes: 8 << 20 } : put('giant{key}', 8 << 20)(peer);
    const result = await load(peer.base.blob, options(peer, { requests: row.blocks, keys: row.blocks, 'in-order': true, connections: row.connections, seconds: 120, 'warm-up': 0 }), [op]);
    if (peer.sign) {
        const ids = Array.from({ length: row.blocks }, (_, i) => `<Latest>${Buffer.from(String(i).padStart(8, '0')).toString('base64')}</Latest>`);
        await ask(peer.base.blob, 'PUT', '/bench/giant?comp=blocklist', { body: `<BlockList>${ids.join('')}</BlockList>` });
    }
    const seconds = Number(process.hrtime.bigint() - begun) / 1e9;
    return { rate: 1 / seconds, p50Ms: result.p50Ms, p99Ms: result.p99Ms, p999Ms: result.p999Ms, errors: result.errors, cpuUs: (cpuSeconds(peer.pid) - before) * 1e6, large: null };
}

async function once(row, peer) {
    if (row.blocks !== undefined)
        return onceInBlocks(row, peer);
    const service = row.service ?? 'blob';
    base += 1000000;
    const ops = [row.op(peer)].flat();
    const plan = options(peer, { connections: row.connections, keys: row.keys ?? 1000, seconds: Math.max(SECONDS, row.seconds ?? 0), 'warm-up': 0, base, ...(service === 'table' ? { table: true } : {}) });
    const large = row.beside && load(peer.base.blob, options(peer, { connections: 8, keys: 16, seconds: SECONDS + 1, 'warm-up': 0 }), [row.beside(peer)]);
    if (large)
        await new Promise((done) => setTimeout(done, 500));
    const before = cpuSeconds(peer.pid);
    const result = await load(peer.base[service], plan, ops);
    const used = cpuSeconds(peer.pid) - before;
    const each = row.each ?? 1;
    return { rate: result.rate * each, p50Ms: result.p50Ms, p99Ms: result.p99Ms, p999Ms: result.p999Ms, errors: row.pairs ? 0 : result.errors,
        cpuUs: large || result.requests === 0 ? null : (used * 1e6) / (result.requests * each), large: large ? (await large).rate : null };
}

async function measure(row, peers) {
    for (const name of row.many ? row.peers : [])
        await (peers[name].www === undefined ? fill(peers[name], OBJECTS, put('many/o{key}', 1024), 'blob', 32) : fillFolder(join(peers[name].www, 'bench/many')));
    const found = Object.fromEntries(row.peers.map((name) => [name, []]));
    for (let round = 0; round < ROUNDS; round++)
        for (const name of row.peers) {
            try {
                found[name].push(await once(row, peers[row.tls ? `${name} tls` : name]));
            } catch (error) {
                console.error(`${row.name}: ${name}: ${error.message}`); // its cell stays empty
            }
        }
    const summary = {};
    for (const name of row.peers.filter((one) => found[one].length > 0)) {
        const of = (key) => (found[name][0][key] === null ? null : median(found[name].map((one) => one[key])));
        summary[name] = Object.fromEntries(['rate', 'p50Ms', 'p99Ms', 'p999Ms', 'cpuUs', 'large', 'errors'].map((key) => [key, of(key)]));
    }
    return { name: row.name, peers: summary, rounds: found };
}

async function main() {
    mkdirSync(OUT, { recursive: true });
    const tls = certificate();
    const peers = { lazuli: await lazuli(), azurite: await azurite(), nginx: await nginx() };
    const started = Object.fromEntries(Object.entries(peers).map(([name, peer]) => [name, { readyMs: peer.readyMs, idleMiB: residentMiB(peer.pid) }]));
    if (rows.some((row) => row.tls))
        Object.assign(peers, { 'lazuli tls': await lazuli(tls), 'nginx tls': await nginx(tls) });
    for (const peer of Object.values(peers))
        await prepare(peer);
    const results = [];
    for (const row of rows) {
        await new Promise((done) => setTimeout(done, REST * 1000));
        results.push(await measure(row, peers));
        const last = results.at(-1);
        console.error(last.name, Object.entries(last.peers).map(([name, r]) => `${name}: ${r.rate.toFixed(0)}/s, p99 ${r.p99Ms.toFixed(2)}, ${r.cpuUs?.toFixed(0)} µs, ${r.errors} errors`).join('; '));
    }
    for (const name of ['lazuli', 'azurite', 'nginx'])
        started[name].fullMiB = residentMiB(peers[name].pid);
    const [program, ...args] = [...FIRST, DISK, folder, String(SECONDS)];
    const report = {
        date: new Date().toISOString().slice(0, 16), machine: `${cpus().length} × ${cpus()[0].model}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB, Linux ${release()}`,
        loadAverage: readFileSync('/proc/loadavg', 'utf8').split(' ').slice(0, 3).join(' '), run: FIRST.join(' '), quick: QUICK, rounds: ROUNDS, seconds: SECONDS,
        versions: { lazuli: version([LAZULI, '--version']), azurite: JSON.parse(readFileSync(join(ROOT, 'bench/peers/node_modules/azurite/package.json'))).version, nginx: version(['nginx', '-v']), node: process.version },
        disk: JSON.parse(execFileSync(program, args)), started, results,
    };
    if (existsSync(join(OUT, 'samba.md')))
        report.samba = readFileSync(join(OUT, 'samba.md'), 'utf8');
    if (process.argv.length > 2 && existsSync(join(OUT, 'peers.json'))) {
        const earlier = JSON.parse(readFileSync(join(OUT, 'peers.json'), 'utf8'));
        const again = new Map(results.map((row) => [row.name, row]));
        report.results = [...earlier.results.map((row) => again.get(row.name) ?? row), ...results.filter((row) => !earlier.results.some(({ name }) => name === row.name))];
        report.started = earlier.started;
    }
    writeFileSync(join(OUT, 'peers.json'), JSON.stringify(report, null, 1));
    writeFileSync(join(OUT, 'peers.md'), table(report));
    writeFileSync(join(OUT, 'peers.svg'), plot(report));
    writeFileSync(join(OUT, 'report.html'), page(report));
    for (const peer of Object.values(peers))
        await peer.stop();
    console.log(table(report));
}

await main();
