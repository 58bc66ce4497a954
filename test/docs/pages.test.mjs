// SPDX-License-Identifier: Apache-2.0
// What the pages say is tried: blocks marked `test` are run, in the order of the page, in a network of its own where the default
// ports are free; blocks marked `check` are parsed; links lead somewhere; pages of error codes agree with the program's table.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';
import { BIN } from '../rest/lib.mjs';

const ROOT = new URL('../../', import.meta.url).pathname;
const GUIDE = join(ROOT, 'docs/guide');
const KINDS = {
    'sh test': 'run', 'js test': 'run', 'python test': 'run',
    'yaml check': 'yaml', 'ini check': 'ini',
    'sh not-run': null, 'bat not-run': null,
};

/** Blocks of code of a page: what stands behind the fence, the text, the line. */
function blocks(text) {
    const found = [];
    let block = null;
    text.split('\n').forEach((line, index) => {
        const fence = /^\s*```(.*)$/.exec(line);
        if (fence === null)
            block?.lines.push(line);
        else if (block === null)
            block = { info: fence[1].trim(), lines: [], line: index + 1 };
        else {
            found.push({ ...block, text: `${block.lines.join('\n')}\n` });
            block = null;
        }
    });
    assert.equal(block, null, 'a block does not end');
    return found;
}

/** One shell script of all blocks that are run. */
function script(page, found, folder) {
    const lines = ['set -eu', 'set -m', 'ip link set lo up', `cd '${folder}'`];
    for (const { info, text, line } of found.filter((block) => KINDS[block.info] === 'run')) {
        lines.push(`echo "== ${page}:${line}" >&2`);
        const [language] = info.split(' ');
        if (language === 'sh') {
            lines.push(text);
            continue;
        }
        const file = `block${line}.${language === 'js' ? 'mjs' : 'py'}`;
        writeFileSync(join(folder, file), text);
        lines.push(`${language === 'js' ? 'node' : '/usr/bin/python3'} ${file}`);
    }
    return lines.join('\n');
}

// Ends with everything that it started: a process namespace dies with its first process.
const APART = ['--user', '--map-root-user', '--net', '--pid', '--fork', '--kill-child', '--mount-proc', 'bash'];

for (const page of readdirSync(GUIDE).filter((name) => name.endsWith('.md'))) {
    const found = blocks(readFileSync(join(GUIDE, page), 'utf8'));
    test(`guide/${page}: every block says what is done with it`, () => {
        for (const { info, line } of found)
            assert.ok(info in KINDS, `${page}:${line}: \`\`\`${info}`);
    });
    for (const { text, line } of found.filter(({ info }) => KINDS[info] === 'yaml')) {
        test(`guide/${page}:${line}: is YAML`, () => {
            const parsed = spawnSync('/usr/bin/python3', ['-c', 'import sys, yaml; assert isinstance(yaml.safe_load(sys.stdin), dict)'], { input: text, encoding: 'utf8' });
            assert.equal(parsed.status, 0, parsed.stderr);
        });
    }
    for (const { text, line } of found.filter(({ info }) => KINDS[info] === 'ini')) {
        test(`guide/${page}:${line}: is a unit`, () => {
            for (const entry of text.split('\n').filter((l) => l !== '' && !l.startsWith('#')))
                assert.match(entry, /^(\[[A-Z][a-z]+\]|[A-Za-z]+=.+)$/);
        });
    }
    if (!found.some(({ info }) => KINDS[info] === 'run'))
        continue;
    test(`guide/${page}: what is marked runs`, () => {
        const folder = mkdtempSync(join(tmpdir(), 'lazuli-guide-'));
        try {
            mkdirSync(join(folder, 'bin'));
            symlinkSync(resolve(BIN), join(folder, 'bin/lazuli'));
            symlinkSync(join(ROOT, 'test/rest/node_modules'), join(folder, 'node_modules'));
            const file = join(folder, 'page.sh');
            writeFileSync(file, script(page, found, folder));
            chmodSync(file, 0o755);
            const env = { ...process.env, PATH: `${folder}/bin:${process.env.PATH}:/usr/sbin:/sbin`, HOME: folder, RCLONE_RETRIES: '1', RCLONE_LOW_LEVEL_RETRIES: '1' };
            const ran = spawnSync('unshare', [...APART, file], { encoding: 'utf8', env, timeout: 60000, killSignal: 'SIGKILL' });
            const log = existsSync(join(folder, 'lazuli.log')) ? readFileSync(join(folder, 'lazuli.log'), 'utf8').slice(-2000) : '';
            assert.equal(ran.status, 0, `${ran.stdout}\n${ran.stderr}\n${log}`);
        } finally {
            rmSync(folder, { recursive: true, force: true });
        }
    });
}

// ---- links ----------------------------------------------------------------------------------------------------------

function pages(folder) {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
        if (['node_modules', 'build', '.git', 'lazuli-data'].includes(entry.name) || entry.isSymbolicLink())
            return [];
        const path = join(folder, entry.name);
        return entry.isDirectory() ? pages(path) : entry.name.endsWith('.md') ? [path] : [];
    });
}

/** The names of a page's headings, as GitHub makes them. */
function anchors(path) {
    return readFileSync(path, 'utf8').split('\n').filter((line) => /^#+ /.test(line))
        .map((line) => line.replace(/^#+ /, '').toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '').replace(/ /g, '-'));
}

test('relative links of all pages lead to a file, and to a heading of it', () => {
    const broken = [];
    for (const page of pages(ROOT)) {
        const text = readFileSync(page, 'utf8').replace(/```[\s\S]*?```/g, '').replace(/`[^`\n]*`/g, '');
        for (const [, link] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
            if (/^[a-z]+:/.test(link))
                continue;
            const [path, anchor] = link.split('#');
            const target = path === '' ? page : resolve(dirname(page), path);
            if (!existsSync(target))
                broken.push(`${relative(ROOT, page)}: ${link}`);
            else if (anchor !== undefined && target.endsWith('.md') && !anchors(target).includes(anchor))
                broken.push(`${relative(ROOT, page)}: ${link}: no such heading`);
        }
    }
    assert.deepEqual(broken, []);
});

test('pages of error codes: each code and status is in errors.def, and each code of the inspector has a page', () => {
    const folder = join(ROOT, 'docs/concurrency/errors');
    const table = [...readFileSync(join(ROOT, 'src/core/errors.def'), 'utf8').matchAll(/^X\((\w+), "(\w+)", (\d+),/gm)];
    const index = readFileSync(join(folder, 'README.md'), 'utf8');
    for (const page of readdirSync(folder).filter((name) => name !== 'README.md')) {
        const code = basename(page, '.md');
        const text = readFileSync(join(folder, page), 'utf8');
        assert.ok(text.startsWith(`# ${code}\n`), page);
        const [first] = /^Status .*$/m.exec(text);
        const known = table.filter(([, , name]) => name === code).map(([, , , status]) => status);
        for (const [status] of first.matchAll(/\b[345]\d\d\b/g))
            assert.ok(known.includes(status), `${page}: ${status}`);
        for (const part of ['## What it means', '## Find the cause', '## What to do'])
            assert.ok(text.includes(part), `${page}: ${part}`);
        assert.ok(index.includes(`(${page})`), `${page} is not in the list`);
    }
    const inspector = readFileSync(join(ROOT, 'src/rest/watch/inspector.c'), 'utf8');
    for (const [, name] of inspector.matchAll(/case ERR_(\w+):/g)) {
        const code = table.find(([, c]) => c === name)[2];
        assert.ok(existsSync(join(folder, `${code}.md`)), `the inspector tells of ${code}, which has no page`);
    }
});
