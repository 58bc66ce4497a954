// SPDX-License-Identifier: Apache-2.0
// `lazuli migrate` from outside, from one folder to another: everything visible is unchanged, even if the command is
// killed repeatedly; an incomplete store is not served. (To a cluster and back: test/cluster.)
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BIN, startServer } from './lib.mjs';
import { checkLease, dump, fill } from './migrate_lib.mjs';

const LARGE = 24;
const folder = mkdtempSync(join(tmpdir(), 'lazuli-migrate-'));
let server;
let source;
let expected;

before(async () => {
    server = await startServer({ args: ['--silent'] });
    await fill(server, LARGE);
    expected = await dump(server);
    await server.endWell();
    source = server.data;
});
after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
});

const lazuli = (...words) => spawnSync(BIN, words, { encoding: 'utf8' });

/** Starts the command and kills it after `ms`, unless it has ended by then. Its status; null: it was killed. */
async function cutOff(ms, ...words) {
    const child = spawn(BIN, words, { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text) => { said += text; });
    const timer = setTimeout(() => child.kill('SIGKILL'), ms);
    const [status] = await once(child, 'close');
    clearTimeout(timer);
    // The kill before may have come when all was done and only the exit was left.
    return /the destination is not empty/.test(said) ? 0 : status;
}

async function serves(data) {
    server.data = data;
    await server.start();
    try {
        assert.equal(await dump(server), expected);
        await checkLease(server);
    } finally {
        await server.endWell();
    }
}

test('a store is copied, verified, and served as it was', async () => {
    const to = join(folder, 'copy');
    const done = lazuli('migrate', '--from', source, '--to', to);
    assert.equal(done.status, 0, done.stderr);
    assert.match(done.stdout, /^\d+ rows, \d+ extents, \d+ bytes migrated to .*copy in \d+\.\d s \(\d+\.\d MB\/s\), verified\n$/);
    assert.equal(done.stderr, '');
    const checked = lazuli('check', to);
    assert.equal(checked.status, 0, checked.stdout);
    const [, rows, extents] = done.stdout.match(/^(\d+) rows, (\d+) extents/);
    assert.ok(checked.stdout.startsWith(`${rows} rows, ${extents} extents, `), checked.stdout + done.stdout);
    const again = lazuli('migrate', '--from', source, '--to', to);
    assert.equal(again.status, 1);
    assert.equal(again.stderr, `lazuli: ${to}: the destination is not empty\n`);
    await serves(to);
});

test('killed at any moment it goes on; until it has ended nobody serves the store', async () => {
    const to = join(folder, 'killed');
    let kills = 0;
    let refused = 0;
    for (let ms = 15; ; ms += 15) {
        const status = await cutOff(ms, 'migrate', '--from', source, '--to', to);
        if (status === 0)
            break;
        assert.equal(status, null, 'killed, not failed');
        kills++;
        if (!existsSync(to) || refused > 3)
            continue;
        const moved = lazuli('migrate', '--from', to, '--to', join(folder, 'never'));
        if (/has not ended/.test(moved.stderr))
            refused++;
    }
    assert.ok(kills >= 3, `killed ${kills} times`);
    assert.ok(refused > 0, 'a half store was refused as a source');
    const checked = lazuli('check', to);
    assert.equal(checked.status, 0, checked.stdout);
    await serves(to);
});

test('a half store is not served', async () => {
    const to = join(folder, 'half');
    let serving = { stderr: '' };
    for (let ms = 60; !/has not ended/.test(serving.stderr); ms += 20) {
        rmSync(to, { recursive: true, force: true });
        assert.equal(await cutOff(ms, 'migrate', '--from', source, '--to', to), null, 'killed before its end');
        if (existsSync(to)) {
            serving = spawnSync(BIN, ['--data', to, '--silent', '--smb-port', 'off', '--admin-port', 'off', '--dfs-port', 'off',
                ...['blob', 'queue', 'table', 'file'].flatMap((s) => [`--${s}-port`, '0'])], { encoding: 'utf8', timeout: 3000 });
        }
    }
    assert.equal(serving.status, 1);
    assert.match(serving.stderr, /^lazuli: .*half: a migration into this store has not ended; run the same `lazuli migrate` again$/m);
});

test('it draws a bar with a rate on a terminal', () => {
    const shown = spawnSync('script', ['-qec', `${BIN} migrate --from ${source} --to ${join(folder, 'bar')}`, '/dev/null'], { encoding: 'utf8' });
    assert.equal(shown.status, 0, shown.stdout);
    assert.match(shown.stdout, /copying +\[#+ *\] +\d+ %/);
    assert.match(shown.stdout, /verifying +\[#+ *\] +\d+ % \d+\.\d MB\/s, \d+ s left/);
});

test('ETags never repeat when the clock of the source was ahead', async () => {
    const ahead = await startServer({ args: ['--silent'] });
    try {
        ahead.advance(10 * 86400e3);
        await ahead.request('blob', 'PUT', '/box', { query: 'restype=container' });
        const write = () => ahead.request('blob', 'PUT', '/box/blob', { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } });
        const first = (await write()).headers.etag;
        await ahead.endWell();
        const to = join(folder, 'ahead');
        const done = lazuli('migrate', '--from', ahead.data, '--to', to);
        assert.equal(done.status, 0, done.stderr);
        ahead.advance(-10 * 86400e3);
        ahead.data = to;
        await ahead.start();
        const second = (await write()).headers.etag;
        assert.ok(BigInt(second.replaceAll('"', '')) > BigInt(first.replaceAll('"', '')), `${first} then ${second}`);
    } finally {
        await ahead.stop();
    }
});

test('words that make no sense are said so in one line', () => {
    for (const words of [['migrate'], ['migrate', '--from', source], ['migrate', '--from', 'cluster', '--to', 'cluster'],
        ['migrate', 'x', '--from', source, '--to', 'y']]) {
        const { status, stderr } = lazuli(...words);
        assert.notEqual(status, 0, words.join(' '));
        assert.match(stderr, /^lazuli: migrate: takes --from and --to[^\n]*\n$/, words.join(' '));
    }
    const { status, stderr } = lazuli('migrate', '--from', join(folder, 'typo'), '--to', join(folder, 'new'));
    assert.equal(status, 1);
    assert.match(stderr, /No such file or directory\n$/);
    assert.ok(!existsSync(join(folder, 'typo')) && !existsSync(join(folder, 'new')));
});
