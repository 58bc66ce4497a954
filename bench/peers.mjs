// SPDX-License-Identifier: Apache-2.0
// `make bench-peers`: Lazuli compared with Azurite, nginx, Samba and the bare disk, each row by turns (A, B, A, B, …), with
// the same load generators, on the same file system. After each row it writes to build/bench: peers.json, report.html (with
// plots), peers.md and peers.svg. A peer's failure is shown in its cell, and the others continue.
//
//     node bench/peers.mjs                     all rows, half an hour: three rounds of two seconds
//     node bench/peers.mjs 'Get Blob' SMB      rows whose names contain a word take the place of those of the last report
//     BENCH_OBJECTS=10000000 node bench/peers.mjs 10,000,000     the rows among so many objects besides (ten minutes more)
//     node bench/peers/publish.mjs             writes the tables of README.md and bench/README.md and docs/images/peers.svg
//
//     QUICK=1: one round of a second, and small data. BENCH_ROUNDS, BENCH_SECONDS: others than those.
//     BENCH_OBJECTS=1000,1000000: how many objects the rows "among" have, one after the other.
//     BENCH_RUN='chrt -f 10': before servers and generators. BENCH_REST=3: seconds of rest before each row.
//
// nginx stores what is put without a flush and without checksums; Azurite writes its index back later. Lazuli acknowledges
// a write when it is on the disk. What others left unwritten is written before each turn.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FIRST, LAZULI, makeSmbLoad, residentMiB, scratch, version } from './kit.mjs';
import { once, prepare, prepareRow, settings, state } from './peers/measure.mjs';
import { page, plot, table } from './peers/report.mjs';
import { allRows } from './peers/rows.mjs';
import { certificate, startPeer } from './peers/servers.mjs';

const QUICK = process.env.QUICK !== undefined && process.env.QUICK !== '';
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? (QUICK ? 1 : 3));
const REST = Number(process.env.BENCH_REST ?? 0);
const OBJECTS = (process.env.BENCH_OBJECTS ?? (QUICK ? '1000,20000' : '1000,1000000')).split(',').map(Number);
const OUT = new URL('../build/bench', import.meta.url).pathname;
const AZURITE = new URL('peers/node_modules/azurite/package.json', import.meta.url);
const words = process.argv.slice(2);
const folder = scratch();
Object.assign(settings, { quick: QUICK, seconds: Number(process.env.BENCH_SECONDS ?? (QUICK ? 1 : 2)), smbLoad: makeSmbLoad(folder) });

// ---- the report, kept row by row ------------------------------------------------------------------------------------

const conditions = () => ({
    date: new Date().toISOString().slice(0, 16), machine: `${cpus().length} × ${cpus()[0].model}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB, Linux ${release()}`,
    run: FIRST.join(' '), quick: QUICK, rounds: ROUNDS, seconds: settings.seconds,
    versions: { lazuli: version([LAZULI, '--version']), azurite: JSON.parse(readFileSync(AZURITE)).version, nginx: version(['nginx', '-v']), samba: version(['smbd', '--version']), node: process.version },
});

/** The report of before, when only some rows are measured again. */
function beginReport() {
    const file = join(OUT, 'peers.json');
    const earlier = words.length > 0 && existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).results : undefined;
    return { ...conditions(), results: earlier ?? [] };
}

/** Written beside and renamed, so that a run that is stopped leaves the last one whole. */
function write(name, text) {
    writeFileSync(join(OUT, `${name}.new`), text);
    renameSync(join(OUT, `${name}.new`), join(OUT, name));
}

function keep(report, result) {
    const at = report.results.findIndex(({ name }) => name === result.name);
    report.results.splice(at < 0 ? report.results.length : at, at < 0 ? 0 : 1, result);
    write('peers.json', JSON.stringify(report, null, 1));
    write('peers.md', table(report));
    write('peers.svg', plot(report));
    write('report.html', page(report));
}

// ---- measuring ------------------------------------------------------------------------------------------------------

const peers = {};
const key = (row, kind) => (row.tls ? `${kind} tls` : kind);

async function start(kind, tls) {
    const peer = await startPeer(kind, folder, tls);
    if (peer.pid !== undefined) {
        await sleep(300);
        peer.start = { readyMs: peer.readyMs, idleMiB: residentMiB(peer.pid) };
    }
    await prepare(peer);
    return peer;
}

async function startAll(rows) {
    const tls = certificate(folder);
    for (const row of rows)
        for (const kind of row.peers) {
            const name = key(row, kind);
            peers[name] ??= await start(kind, row.tls ? tls : undefined);
            peers[name].certificate = row.tls ? tls : undefined;
        }
}

function alive(peer) {
    try {
        return peer.pid === undefined || process.kill(peer.pid, 0);
    } catch {
        return false;
    }
}

/** Records an error in the row; a server that has ended is restarted. */
async function failed(row, kind, error, failures) {
    const name = key(row, kind);
    failures[kind] = error.message.slice(0, 200);
    console.error(`${row.name}: ${kind}: ${error.message.slice(0, 1000)}`);
    if (!alive(peers[name]))
        peers[name] = Object.assign(await start(kind, peers[name].certificate), { certificate: peers[name].certificate });
}

async function attempt(row, kind, failures, what) {
    try {
        return await what(peers[key(row, kind)]);
    } catch (error) {
        await failed(row, kind, error, failures).catch((again) => console.error(`${kind}: does not start again: ${again.message}`));
        return undefined;
    }
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

function summary(found) {
    const of = (name) => (found[0][name] === null ? null : median(found.map((one) => one[name])));
    return Object.fromEntries(['rate', 'p50Ms', 'p99Ms', 'p999Ms', 'cpuUs', 'large', 'errors'].map((name) => [name, of(name)]));
}

async function measure(row) {
    const failures = {};
    const found = Object.fromEntries(row.peers.map((kind) => [kind, []]));
    for (const kind of row.peers)
        await attempt(row, kind, failures, (peer) => prepareRow(row, peer));
    for (let round = 0; round < Math.min(row.rounds ?? ROUNDS, ROUNDS); round++)
        for (const kind of row.peers.filter((one) => failures[one] === undefined)) {
            execFileSync('sync', ['-f', folder]);
            const result = await attempt(row, kind, failures, (peer) => once(row, peer));
            if (result !== undefined)
                found[kind].push(result);
        }
    const measured = Object.entries(found).filter(([, results]) => results.length > 0);
    return { name: row.name, part: row.part, plot: row.plot, readme: row.readme, unit: row.unit ?? '/s',
        loadAverage: Number(readFileSync('/proc/loadavg', 'utf8').split(' ')[0]), peers: Object.fromEntries(measured.map(([kind, results]) => [kind, summary(results)])), failures, rounds: found };
}

async function measureStates(report, rows) {
    const states = {};
    for (const kind of ['lazuli', 'azurite', 'nginx', 'samba'].filter((one) => peers[one] !== undefined)) {
        try {
            states[kind] = await state(peers[kind]);
        } catch (error) {
            console.error(`start and memory: ${kind}: ${error.message}`);
        }
    }
    for (const { name, part, unit, value } of rows)
        keep(report, { name, part, unit, values: Object.fromEntries(Object.entries(states).map(([kind, one]) => [kind, value(one)])) });
}

function tell(result, begun) {
    const cells = Object.entries(result.peers).map(([kind, r]) => `${kind}: ${r.rate.toFixed(0)}${result.unit}, p50 ${r.p50Ms.toFixed(2)}, p99 ${r.p99Ms.toFixed(2)}, ${r.cpuUs?.toFixed(1)} µs${r.large === null ? '' : `, large ${r.large.toFixed(0)}/s`}${r.errors > 0 ? `, ${r.errors} ERRORS` : ''}`);
    console.error(`${Math.round((Date.now() - begun) / 1000)} s ${result.name}: ${cells.join('; ')}`);
}

async function main() {
    const begun = Date.now();
    mkdirSync(OUT, { recursive: true });
    const rows = allRows(OBJECTS).filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
    const asked = rows.filter((row) => row.kind !== 'state');
    await startAll(asked.length > 0 ? asked : [{ peers: ['lazuli', 'azurite', 'nginx', 'samba'] }]);
    const report = beginReport();
    for (const row of asked) {
        await sleep(REST * 1000);
        const result = await measure(row);
        keep(report, result);
        tell(result, begun);
    }
    await measureStates(report, rows.filter((row) => row.kind === 'state'));
    for (const peer of Object.values(peers))
        await peer.stop?.();
    console.log(table(report));
}

await main();
