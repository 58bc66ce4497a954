// SPDX-License-Identifier: Apache-2.0
// Do small requests stay fast beside large ones, and one client beside another's thousand connections? Each row: four
// connections with small requests, alternately alone and beside the load; p50 and p99 as multiples of those alone. Also
// the rate that large requests lose beside small ones.
//
//     BENCH_RUN='chrt -f 10' node bench/fair.mjs [word...]     rows whose names contain a word
//     FAIR_SECONDS=2 FAIR_ROUNDS=2
//     FAIR_RUN='chrt -f 10'     only before the generator of small requests, as if it had a machine to itself
//     FAIR_RATE=2000     so many small requests a second, instead of each as soon as the one before is answered
// Aims: p50 at most 5 times, p99 at most 10 times that alone; the large ones lose at most a tenth.
import { ACCOUNT, ask, KEY, load, makeSmbLoad, runForJson, scratch, startLazuli } from './kit.mjs';

const SECONDS = Number(process.env.FAIR_SECONDS ?? 2);
const ROUNDS = Number(process.env.FAIR_ROUNDS ?? 2);
const FIRST_SMALL = process.env.FAIR_RUN === undefined ? {} : { first: process.env.FAIR_RUN.split(' ') };
const PACE = process.env.FAIR_RATE === undefined ? {} : { rate: Number(process.env.FAIR_RATE) };
const A = '/devstoreaccount1';
const words = process.argv.slice(2);
const server = await startLazuli();
const { blob, queue, table, file } = server.base;

const BLOB = ['x-ms-blob-type: BlockBlob'];
const JSON_HEADERS = ['Content-Type: application/json', 'Accept: application/json;odata=nometadata', 'Prefer: return-no-content'];
let base = 0;

const small = {
    'Get Blob 4 KiB': [blob, {}, { op: `GET ${A}/bench/s{key}` }],
    'Put Blob 4 KiB': [blob, {}, { op: `PUT ${A}/bench/s{key}`, headers: BLOB, bytes: 4096 }],
    'Put Message': [queue, {}, { op: `POST ${A}/bench/messages`, body: '<QueueMessage><MessageText>text</MessageText></QueueMessage>' }],
    'Get Entity': [table, { table: true }, { op: `GET ${A}/bench(PartitionKey='p',RowKey='k{key}')`, headers: JSON_HEADERS.slice(1, 2) }],
    'Insert Entity': [table, { table: true }, { op: `POST ${A}/bench`, headers: JSON_HEADERS, body: '{"PartitionKey":"i","RowKey":"{seq}","Name":"value"}' }],
};
const large = {
    'eight uploads of 8 MiB': [blob, 8, { op: `PUT ${A}/bench/e{key}`, headers: BLOB, bytes: 8 << 20 }],
    'eight downloads of 8 MiB': [blob, 8, { op: `GET ${A}/bench/e{key}` }],
    'eight uploads of 4 MiB to a file': [file, 8, { op: `PUT ${A}/bench/f?comp=range`, headers: ['x-ms-write: update', 'x-ms-range: {range:4194304}'], bytes: 4 << 20 }],
    'eight downloads of 4 MiB of a file': [file, 8, { op: `GET ${A}/bench/f`, headers: ['x-ms-range: {range:4194304}'] }],
    'eight SMB clients that write': { smb: 'write' },
    'eight SMB clients that read': { smb: 'read' },
    '1,000 connections of another client, Get Blob': [blob, 1000, { op: `GET ${A}/bench/s{key}` }],
    '1,000 connections of another client, Put Blob': [blob, 1000, { op: `PUT ${A}/other/s{key}`, headers: BLOB, bytes: 4096 }],
};

function fill(base, count, op, more = {}) {
    return load(base, { requests: count, keys: count, 'in-order': true, connections: 16, seconds: 120, 'warm-up': 0, ...more }, [op]);
}

const smbLoad = makeSmbLoad(scratch());

for (const container of ['bench', 'other'])
    await ask(blob, 'PUT', `/${container}?restype=container`);
await ask(queue, 'PUT', '/bench');
await ask(table, 'POST', '/Tables', { table: true, headers: { 'content-type': 'application/json', accept: 'application/json;odata=nometadata' }, body: '{"TableName":"bench"}' });
await ask(file, 'PUT', '/bench?restype=share');
await ask(file, 'PUT', '/bench/f', { headers: { 'x-ms-type': 'file', 'x-ms-content-length': String(64 << 20) } });
await fill(blob, 1000, small['Put Blob 4 KiB'][2]);
await fill(table, 1000, { op: `PUT ${A}/bench(PartitionKey='p',RowKey='k{key}')`, headers: JSON_HEADERS.slice(0, 2), body: '{"Name":"value"}' }, { table: true });
await fill(blob, 16, large['eight uploads of 8 MiB'][2], { connections: 4 });
await fill(file, 16, large['eight uploads of 4 MiB to a file'][2], { connections: 4 });

const runSmall = ([at, more, op]) => load(at, { connections: 4, keys: 1000, seconds: SECONDS, base: (base += 10000000), ...PACE, ...FIRST_SMALL, ...more }, [op]);
/** Another program's clients: libsmbclient, eight processes, 1 GiB again and again. */
async function runSmb({ smb }) {
    const end = Date.now() + SECONDS * 1000;
    const rates = [];
    do
        rates.push(await smbOnce(smb));
    while (Date.now() < end);
    return { rate: median(rates) };
}

const smbOnce = async (smb) => (await runForJson([smbLoad, 'smb://127.0.0.1/bench', ACCOUNT, KEY, String(server.ports.smb), 'plain', String(server.pid), smb, '1024', '8'])).rate;

const runHttp = ([at, connections, op]) => load(at, { connections, keys: connections > 8 ? 1000 : 16, seconds: SECONDS }, [op]);
const runLarge = (what) => (what.smb === undefined ? runHttp(what) : runSmb(what));
/** Lets the disk write what the runs before have left in memory. */
const settle = () => runForJson(['sh', '-c', 'sync; echo 1']);
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const pick = (runs, key) => median(runs.map((run) => run[key]));

if (smbLoad !== null)
    await smbOnce('write'); // what is read later
console.log('| small, 4 connections | beside | p50 ms alone, beside | times | p99 ms alone, beside | times | per second alone, beside | the large ones keep |\n|---|---|---|---|---|---|---|---|');
for (const [b, heavy] of Object.entries(large)) {
    for (const [a, light] of Object.entries(small)) {
        const name = `${a} beside ${b}`;
        if (heavy.smb !== undefined && smbLoad === null)
            continue;
        if (words.length > 0 && !words.some((word) => name.includes(word)))
            continue;
        const [alone, beside, heavyAlone, heavyBeside] = [[], [], [], []];
        for (let round = 0; round < ROUNDS; round++) {
            await settle();
            alone.push(await runSmall(light));
            heavyAlone.push(await runLarge(heavy));
            await settle();
            const [one, other] = await Promise.all([runSmall(light), runLarge(heavy)]); // both count after a second
            beside.push(one);
            heavyBeside.push(other);
        }
        const [p50, p99, rate] = ['p50Ms', 'p99Ms', 'rate'].map((key) => [pick(alone, key), pick(beside, key)]);
        const kept = pick(heavyBeside, 'rate') / pick(heavyAlone, 'rate');
        console.log(`| ${a} | ${b} | ${p50.map((v) => v.toFixed(2)).join(', ')} | ${(p50[1] / p50[0]).toFixed(1)} | ${p99.map((v) => v.toFixed(2)).join(', ')} | ${(p99[1] / p99[0]).toFixed(1)} | ${rate.map((v) => v.toFixed(0)).join(', ')} | ${(kept * 100).toFixed(0)} % |`);
    }
}
await server.stop();
