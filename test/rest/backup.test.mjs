// SPDX-License-Identifier: Apache-2.0
// `lazuli backup` and `lazuli check` from outside: their output, a copy made under load that restores all writes
// acknowledged before it, and a damaged byte that is reported with the name of its object.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ACCOUNT, BIN, startServer } from './lib.mjs';

const JSON_HEADERS = { 'Content-Type': 'application/json', Accept: 'application/json;odata=nometadata' };
const folder = mkdtempSync(join(tmpdir(), 'lazuli-backup-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const lazuli = (...words) => spawnSync(BIN, words, { encoding: 'utf8', cwd: folder });

/** What it shows when stderr is a terminal. */
function onTerminal(command) {
    const shown = spawnSync('script', ['-qec', `${BIN} ${command}`, '/dev/null'], { encoding: 'utf8' });
    assert.equal(shown.status, 0, shown.stdout + shown.stderr);
    return shown.stdout;
}

async function lazuliAside(...words) {
    const child = spawn(BIN, words, { cwd: folder });
    const said = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'])
        child[name].setEncoding('utf8').on('data', (text) => { said[name] += text; });
    const [status] = await once(child, 'close');
    return { status, ...said };
}

async function wants(server, status, ...request) {
    const answer = await server.request(...request);
    assert.equal(answer.status, status, `${request.slice(0, 3).join(' ')}: ${answer.status} ${answer.text}`);
    return answer;
}

async function makeAll(server) {
    await wants(server, 201, 'blob', 'PUT', '/box', { query: 'restype=container' });
    await wants(server, 201, 'file', 'PUT', '/share', { query: 'restype=share' });
    await wants(server, 201, 'file', 'PUT', '/share/dir', { query: 'restype=directory' });
    await wants(server, 201, 'queue', 'PUT', '/line');
    await wants(server, 201, 'table', 'POST', '/Tables', { headers: JSON_HEADERS, body: '{"TableName":"rows"}' });
}

const putBlob = (server, name, body, headers = {}) => wants(server, 201, 'blob', 'PUT', `/box/${name}`, {
    headers: { 'x-ms-blob-type': 'BlockBlob', ...headers }, body });
const putEntity = (server, row, text) => wants(server, 201, 'table', 'POST', '/rows', {
    headers: JSON_HEADERS, body: JSON.stringify({ PartitionKey: 'p', RowKey: row, Text: text }) });
const putMessage = (server, text) => wants(server, 201, 'queue', 'POST', '/line/messages', {
    body: `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>` });

async function putFile(server, name, body) {
    await wants(server, 201, 'file', 'PUT', `/share/dir/${name}`, {
        headers: { 'x-ms-type': 'file', 'x-ms-content-length': String(body.length) } });
    await wants(server, 201, 'file', 'PUT', `/share/dir/${name}`, {
        query: 'comp=range', headers: { 'x-ms-write': 'update', 'x-ms-range': `bytes=0-${body.length - 1}` }, body });
}

/** A file of two names, on a share of the other protocol. */
async function putLinked(server, body) {
    await wants(server, 201, 'file', 'PUT', '/nfs', { query: 'restype=share', headers: { 'x-ms-enabled-protocols': 'NFS' } });
    await wants(server, 201, 'file', 'PUT', '/nfs/name', {
        headers: { 'x-ms-type': 'file', 'x-ms-content-length': String(body.length) } });
    await wants(server, 201, 'file', 'PUT', '/nfs/name', {
        query: 'comp=range', headers: { 'x-ms-write': 'update', 'x-ms-range': `bytes=0-${body.length - 1}` }, body });
    await wants(server, 201, 'file', 'PUT', '/nfs/other', {
        query: 'restype=hardlink', headers: { 'x-ms-type': 'file', 'x-ms-file-target-file': '/name' } });
}

test('a folder that is not there is said so in one line, and nothing is made', () => {
    const missing = join(folder, 'typo');
    const to = join(folder, 'to');
    for (const words of [['backup', to, '--data', missing], ['backup', to, missing], ['check', missing],
        ['check', '--data', missing]]) {
        const { status, stdout, stderr } = lazuli(...words);
        assert.equal(status, 1, words.join(' '));
        assert.equal(stdout, '');
        assert.equal(stderr, `lazuli: ${missing}: No such file or directory\n`, words.join(' '));
        assert.ok(!existsSync(missing) && !existsSync(to), words.join(' '));
    }
    const empty = mkdtempSync(join(folder, 'empty-'));
    const { status, stderr } = lazuli('backup', to, empty);
    assert.equal(status, 1);
    assert.equal(stderr, `lazuli: ${empty}: there is no store\n`);
    assert.deepEqual(readdirSync(empty), []);
    assert.ok(!existsSync(to));
});

test('one folder is taken, as a word or by --data', () => {
    for (const words of [['check', 'a', 'b'], ['check', 'a', '--data', 'b'], ['backup'], ['backup', 'a', 'b', 'c'],
        ['backup', 'a', 'b', '--data', 'c']]) {
        const { status, stderr } = lazuli(...words);
        assert.equal(status, 1, words.join(' '));
        assert.match(stderr, /^lazuli: (check|backup): takes [^\n]*\n$/, words.join(' '));
    }
});

test('check and backup say what they did, and draw a bar on a terminal alone', async () => {
    const server = await startServer({ args: ['--silent'] });
    try {
        await makeAll(server);
        await putBlob(server, 'large', randomBytes(300000));
        await putBlob(server, 'small', 'text');
        await server.endWell();
        const checked = lazuli('check', server.data);
        assert.equal(checked.status, 0, checked.stdout + checked.stderr);
        assert.match(checked.stdout, /^\d+ rows, \d+ extents, \d+ bytes checked in \d+\.\d s: 0 problems\n$/);
        assert.equal(checked.stderr, '');
        const [, rows, extents, bytes] = checked.stdout.match(/^(\d+) rows, (\d+) extents, (\d+) bytes/).map(Number);
        assert.ok(rows >= 6 && extents >= 1 && bytes > 300000, checked.stdout);

        const to = join(folder, 'said');
        const copied = lazuli('backup', to, server.data);
        assert.equal(copied.status, 0, copied.stderr);
        assert.match(copied.stdout, /^\d+ rows, \d+ extents, \d+ bytes copied to \/.*\/said in \d+\.\d s\n$/);
        const counts = copied.stdout.match(/^(\d+) rows, (\d+) extents, (\d+) bytes/).slice(1).map(Number);
        assert.deepEqual(counts.slice(0, 2), [rows, extents]);
        assert.ok(counts[2] > 300000);
        const again = lazuli('backup', to, server.data);
        assert.equal(again.status, 1);
        assert.equal(again.stderr, `lazuli: ${to}: File exists\n`);

        for (const command of [`check ${server.data}`, `backup ${to}-2 ${server.data}`]) {
            assert.match(onTerminal(command), /\[#+ *\] +\d+ %/, command);
        }
    } finally {
        await server.stop();
    }
});

/** Writes on and on; what was acknowledged is in `acknowledged` at once. */
function load(server) {
    const state = { running: true, acknowledged: [] };
    const kinds = [
        async (n) => { await putBlob(server, `b${n}`, `blob ${n}`); return ['blob', `/box/b${n}`, `blob ${n}`]; },
        async (n) => {
            const body = randomBytes(100000);
            await putBlob(server, `l${n}`, body);
            return ['blob', `/box/l${n}`, body.toString('latin1')];
        },
        async (n) => { await putFile(server, `f${n}`, `file ${n}`); return ['file', `/share/dir/f${n}`, `file ${n}`]; },
        async (n) => { await putEntity(server, `r${n}`, `entity ${n}`); return ['table', `r${n}`, `entity ${n}`]; },
        async (n) => { await putMessage(server, `message ${n}`); return ['queue', null, `message ${n}`]; },
    ];
    state.loops = kinds.map(async (kind) => {
        for (let n = 0; state.running; n++)
            state.acknowledged.push(await kind(n));
    });
    return state;
}

async function allMessages(server) {
    const texts = new Set();
    for (;;) {
        const page = await wants(server, 200, 'queue', 'GET', '/line/messages', { query: 'numofmessages=32&visibilitytimeout=3600' });
        const found = [...page.text.matchAll(/<MessageText>([^<]*)</g)].map((m) => m[1]);
        if (found.length === 0)
            return texts;
        for (const text of found)
            texts.add(text);
    }
}

test('a copy of a live server under load restores what was acknowledged before', async () => {
    const server = await startServer({ args: ['--silent'] });
    try {
        await makeAll(server);
        const state = load(server);
        while (state.acknowledged.length < 150)
            await new Promise((resolve) => { setImmediate(resolve); });
        const before = [...state.acknowledged];
        const to = join(folder, 'copy');
        const copied = await lazuliAside('backup', to, server.data);
        const during = state.acknowledged.length - before.length;
        state.running = false;
        await Promise.all(state.loops);
        assert.equal(copied.status, 0, copied.stderr);
        assert.equal(copied.stderr, '');
        assert.match(copied.stdout, /^\d+ rows, \d+ extents, \d+ bytes copied to \/.*\/copy in \d+\.\d s\n$/);
        assert.ok(during > 0, 'it was written to meanwhile');
        assert.match(onTerminal(`backup ${to}-2 ${server.data}`), /\[#+ *\] +\d+ %/);
        await server.endWell();
        const checked = lazuli('check', to);
        assert.equal(checked.status, 0, checked.stdout);

        server.data = to; // to restore is to serve the copy, or to put it where the store was
        await server.start();
        const messages = await allMessages(server);
        for (const [service, at, text] of before) {
            if (service === 'queue') {
                assert.ok(messages.has(text), text);
                continue;
            }
            const path = service === 'table' ? `/rows(PartitionKey='p',RowKey='${at}')` : at;
            const answer = await wants(server, 200, service, 'GET', path, service === 'table' ? { headers: JSON_HEADERS } : {});
            assert.equal(service === 'table' ? answer.json().Text : answer.bytes.toString('latin1'), text, path);
        }
        await putBlob(server, 'after', 'it goes on');
    } finally {
        await server.stop();
    }
});

/** Changes one byte of where the store holds these. */
function damage(data, sub, bytes) {
    for (const name of readdirSync(join(data, sub))) {
        const path = join(data, sub, name);
        const file = readFileSync(path);
        const at = file.lastIndexOf(bytes);
        if (at < 0)
            continue;
        file[at + 7] ^= 1;
        writeFileSync(path, file);
        return;
    }
    assert.fail(`${sub} does not hold it`);
}

test('check says whose a damaged byte is', async () => {
    const server = await startServer({ args: ['--silent', '--blob-versioning', 'on'] });
    const marks = {};
    const marked = (name, bytes) => {
        marks[name] = randomBytes(64);
        return Buffer.concat([marks[name], randomBytes(bytes - 64)]);
    };
    try {
        await makeAll(server);
        const first = (await putBlob(server, 'folder/large%20one', marked('blob', 200000))).headers['x-ms-version-id'];
        const snapshot = (await wants(server, 201, 'blob', 'PUT', '/box/folder/large%20one', { query: 'comp=snapshot' }))
            .headers['x-ms-snapshot'];
        const old = (await putBlob(server, 'kept', marked('version', 100000))).headers['x-ms-version-id'];
        await putBlob(server, 'kept', 'new');
        await wants(server, 201, 'blob', 'PUT', '/box/pages', { headers: {
            'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '65536' } });
        await wants(server, 201, 'blob', 'PUT', '/box/pages', { query: 'comp=page', body: marked('pages', 65536),
            headers: { 'x-ms-page-write': 'update', 'x-ms-range': 'bytes=0-65535' } });
        await wants(server, 201, 'blob', 'PUT', '/box/blocks', { query: 'comp=block&blockid=AAAA', body: marked('block', 90000) });
        // Heads that lie in the journal for their length: what comes after one that cannot be read is found all the same.
        const metadata = randomBytes(1500).toString('hex');
        marks.head = Buffer.from(metadata.slice(100, 164));
        await putBlob(server, 'a-head', randomBytes(90000), { 'x-ms-meta-m': metadata });
        await putFile(server, 'Report.doc', marked('file', 150000));
        await putFile(server, 'Gone.doc', marked('gone', 150000));
        await wants(server, 201, 'file', 'PUT', '/share', { query: 'restype=share&comp=snapshot' });
        await wants(server, 202, 'file', 'DELETE', '/share/dir/Gone.doc');
        await putLinked(server, marked('linked', 120000));
        await putBlob(server, 'beside', marked('beside', 5000));
        const text = randomBytes(2000).toString('hex');
        marks.entity = Buffer.from(text.slice(100, 164));
        await putEntity(server, 'wide', text);
        const message = randomBytes(3000).toString('hex');
        marks.message = Buffer.from(message.slice(100, 164));
        const id = (await putMessage(server, message)).text.match(/<MessageId>([^<]*)</)[1];
        await putBlob(server, 'sound', randomBytes(200000));
        await server.endWell();
        for (const name of ['blob', 'version', 'pages', 'block', 'file', 'gone', 'linked'])
            damage(server.data, 'segments', marks[name]);
        for (const name of ['beside', 'entity', 'message', 'head'])
            damage(server.data, 'journal', marks[name]);
        const { status, stdout } = lazuli('check', server.data);
        assert.equal(status, 1);
        const said = stdout.split('\n').filter((line) => line.includes(' is damaged: '));
        const owners = said.map((line) => line.slice(0, line.indexOf(' is damaged: '))).sort();
        assert.deepEqual([...new Set(owners)], [
            `blob ${ACCOUNT}/box/a-head`,
            `blob ${ACCOUNT}/box/beside`,
            `blob ${ACCOUNT}/box/blocks (an uncommitted block)`,
            `blob ${ACCOUNT}/box/folder/large one`,
            `blob ${ACCOUNT}/box/folder/large one, snapshot ${snapshot}`,
            `blob ${ACCOUNT}/box/folder/large one, version ${first}`,
            `blob ${ACCOUNT}/box/kept, version ${old}`,
            `blob ${ACCOUNT}/box/pages`,
            `entity ${ACCOUNT}/rows(PartitionKey='p',RowKey='wide')`,
            `file ${ACCOUNT}/nfs/name`,
            `file ${ACCOUNT}/nfs/other`,
            `file ${ACCOUNT}/share/dir/Gone.doc (in snapshots)`,
            `file ${ACCOUNT}/share/dir/Report.doc`,
            `message ${id} of queue ${ACCOUNT}/line (and those put in one burst after it)`,
        ], stdout);
        assert.match(stdout, /\n\d+ rows, \d+ extents, \d+ bytes checked in \d+\.\d s: 11 problems\n$/);
    } finally {
        server.remove();
    }
});
