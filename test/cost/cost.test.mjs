// SPDX-License-Identifier: Apache-2.0
// The server's instructions per request of each hot path, counted by callgrind and compared with instructions.json. If they
// are more than 10 % higher, the path has become slower; if more than 10 % lower, the file is out of date. Unlike times,
// counts do not depend on other work on the machine. UPDATE=1 rewrites the file.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before, test } from 'node:test';
import { ACCOUNT, freePorts, KEY } from '../rest/lib.mjs';

const BIN = process.env.LAZULI_BIN ?? new URL('../../build/release/lazuli', import.meta.url).pathname;
const KEPT = new URL('./instructions.json', import.meta.url).pathname;
const SLACK = 0.1;
const WARM_UP = 50;
const REQUESTS = 200;
const CHANCES = 3; // what the server does by the clock is counted, too, and there is more of it while the machine is busy
const START_MS_MAX = 200000;

const folder = mkdtempSync(join(tmpdir(), 'lazuli-cost-'));
const counts = `${folder}/counts`;
const ports = {};
let server;
let agent;

before(async () => {
    const names = ['blob', 'queue', 'table', 'file', 'smb', 'dfs', 'admin'];
    (await freePorts(names.length)).forEach((port, i) => (ports[names[i]] = port));
    const flags = names.flatMap((name) => [`--${name}-port`, ['blob', 'queue', 'table', 'file'].includes(name) ? String(ports[name]) : 'off']);
    server = spawn('valgrind', ['--tool=callgrind', `--callgrind-out-file=${counts}`, '-q', BIN, '--data', `${folder}/store`, '--silent', '--log-level', 'warn', ...flags], { stdio: ['ignore', 'ignore', 'inherit'] });
    agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const end = Date.now() + START_MS_MAX;
    for (;;) {
        try {
            await request('file', 'GET', '/?comp=list');
            return;
        } catch (error) {
            if (Date.now() > end || server.exitCode !== null)
                throw error;
            await sleep(200);
        }
    }
});

after(async () => {
    agent.destroy();
    server.kill('SIGKILL');
    if (server.exitCode === null && server.signalCode === null)
        await once(server, 'exit');
    rmSync(folder, { recursive: true, force: true });
});

/** Signed with a SharedKey of the simplest kind: what the paths need and no more. */
async function request(service, method, target, { headers = {}, body = '' } = {}) {
    const [path, query = ''] = target.split('?');
    const whole = `/${ACCOUNT}${path}`;
    const all = { 'x-ms-date': new Date().toUTCString(), 'x-ms-version': '2025-01-05', ...headers };
    const params = [...new URLSearchParams(query)].sort(([a], [b]) => (a < b ? -1 : 1));
    const named = Object.keys(all).filter((name) => name.startsWith('x-ms-')).sort().map((name) => `${name}:${all[name]}\n`).join('');
    const text = service === 'table'
        ? [method, '', all['content-type'] ?? '', all['x-ms-date'], `/${ACCOUNT}${whole}`].join('\n')
        : [method, '', '', body.length === 0 ? '' : body.length, '', all['content-type'] ?? '', '', '', '', '', '', '', `${named}/${ACCOUNT}${whole}`].join('\n') +
          params.map(([name, value]) => `\n${name}:${value}`).join('');
    all.authorization = `SharedKey ${ACCOUNT}:${createHmac('sha256', Buffer.from(KEY, 'base64')).update(text).digest('base64')}`;
    if (method !== 'GET')
        all['content-length'] = body.length;
    const sent = http.request({ host: '127.0.0.1', port: ports[service], method, path: query === '' ? whole : `${whole}?${query}`, headers: all, agent });
    sent.end(body);
    const [answer] = await once(sent, 'response');
    const parts = [];
    for await (const part of answer)
        parts.push(part);
    assert.ok(answer.statusCode < 300, `${method} ${target}: ${answer.statusCode} ${Buffer.concat(parts).toString().slice(0, 300)}`);
}

function control(flag) {
    const done = spawnSync('callgrind_control', [flag, String(server.pid)], { encoding: 'utf8' });
    assert.equal(done.status, 0, `${done.stdout}${done.stderr}`);
}

/** Instructions of all threads since the counters were last set to zero. */
function taken() {
    const old = new Set(readdirSync(folder));
    control('-d');
    const dumps = readdirSync(folder).filter((name) => name.startsWith('counts.') && !old.has(name));
    assert.ok(dumps.length > 0, 'callgrind has written its counts');
    return dumps.reduce((sum, name) => sum + Number(/^(?:totals|summary): (\d+)/m.exec(readFileSync(join(folder, name), 'utf8'))[1]), 0);
}

const kib4 = Buffer.alloc(4096, 'a');
const json = { 'content-type': 'application/json', accept: 'application/json;odata=nometadata', prefer: 'return-no-content' };
const entity = '"Name":"value","Count":7,"Flag":true,"Price":1.5';
let once_used = 0;

const paths = {
    'Put Blob 4 KiB': (i) => request('blob', 'PUT', `/cost/b${i % 20}`, { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: kib4 }),
    'Get Blob 4 KiB': (i) => request('blob', 'GET', `/cost/b${i % 20}`),
    'List Blobs of 20': () => request('blob', 'GET', '/cost?comp=list&restype=container'),
    'Put Message': () => request('queue', 'POST', '/cost/messages', { body: '<QueueMessage><MessageText>text</MessageText></QueueMessage>' }),
    'Get Messages, none': () => request('queue', 'GET', '/empty/messages'),
    'Insert Entity': () => request('table', 'POST', '/cost', { headers: json, body: `{"PartitionKey":"p","RowKey":"${String(once_used++).padStart(6, '0')}",${entity}}` }),
    'Get Entity': (i) => request('table', 'GET', `/cost(PartitionKey='p',RowKey='${String(i % 20).padStart(6, '0')}')`, { headers: { accept: json.accept } }),
    'Put Range 4 KiB': (i) => request('file', 'PUT', '/cost/f?comp=range', { headers: { 'x-ms-write': 'update', 'x-ms-range': `bytes=${(i % 20) * 4096}-${(i % 20) * 4096 + 4095}` }, body: kib4 }),
};

async function count(run) {
    control('-z');
    for (let i = 0; i < REQUESTS; i++)
        await run(i);
    return Math.round(taken() / REQUESTS / 100) * 100;
}

test('instructions of hot paths are what they were', async () => {
    await request('blob', 'PUT', '/cost?restype=container');
    await request('queue', 'PUT', '/cost');
    await request('queue', 'PUT', '/empty');
    await request('table', 'POST', '/Tables', { headers: json, body: '{"TableName":"cost"}' });
    await request('file', 'PUT', '/cost?restype=share');
    await request('file', 'PUT', '/cost/f', { headers: { 'x-ms-type': 'file', 'x-ms-content-length': '1048576' } });
    const found = {};
    const before = JSON.parse(readFileSync(KEPT, 'utf8'));
    for (const [name, run] of Object.entries(paths)) {
        for (let i = 0; i < WARM_UP; i++)
            await run(i);
        found[name] = Infinity;
        for (let chance = 0; chance < CHANCES && !(found[name] <= before[name] * (1 + SLACK)); chance++)
            found[name] = Math.min(found[name], await count(run));
    }
    if (process.env.UPDATE)
        writeFileSync(KEPT, `${JSON.stringify(found, null, 4)}\n`);
    const kept = JSON.parse(readFileSync(KEPT, 'utf8'));
    const off = Object.keys(paths).filter((name) => !(Math.abs(found[name] / kept[name] - 1) <= SLACK));
    assert.deepEqual(off.map((name) => `${name}: ${found[name]}, kept: ${kept[name]}`), []);
});
