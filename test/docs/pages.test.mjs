// SPDX-License-Identifier: Apache-2.0
// Tests the pages: blocks marked `test` are run, in the order of the page, in a separate network where the default ports are free;
// blocks marked `check` are parsed; those marked `not-run` give a reason; links are valid; the README's figures are those of
// bench/README.md; pages of error codes agree with the program's table.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { accessSync, chmodSync, constants, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';
import { BIN } from '../rest/lib.mjs';

const ROOT = new URL('../../', import.meta.url).pathname;
const GUIDE = join(ROOT, 'docs/guide');
const MINUTES = 8 * 60_000; // az takes seconds a command, and more where others use the processor
const FUSE = (() => {
    try {
        accessSync('/dev/fuse', constants.R_OK | constants.W_OK);
        return true;
    } catch {
        return false;
    }
})();
const KINDS = {
    'sh test': 'run', 'js test': 'run', 'python test': 'run',
    'sh test-fuse': FUSE ? 'run' : 'shown',
    'yaml check': 'yaml', 'ini check': 'ini',
};

/** What is done with a block: run, yaml, ini, shown; undefined if its first line does not say so. */
function kind({ info }) {
    return /^(sh|bat) not-run: \S.{9,}$/.test(info) ? 'shown' : KINDS[info];
}

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
function script(page, found, folder, prepare) {
    const lines = ['set -eu', 'set -m', 'set -o pipefail', 'ip link set lo up', `cd '${folder}'`, prepare];
    for (const { info, text, line } of found.filter((block) => kind(block) === 'run')) {
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

/** Runs a page's blocks, behind what is started for them. */
function runPage(page, found, prepare = () => '') {
    const folder = mkdtempSync(join(tmpdir(), 'lazuli-guide-'));
    try {
        mkdirSync(join(folder, 'bin'));
        symlinkSync(resolve(BIN), join(folder, 'bin/lazuli'));
        symlinkSync(join(ROOT, 'test/rest/node_modules'), join(folder, 'node_modules'));
        const file = join(folder, 'page.sh');
        writeFileSync(file, script(page, found, folder, prepare(folder)));
        chmodSync(file, 0o755);
        const env = { ...process.env, PATH: `${folder}/bin:${process.env.PATH}:/usr/sbin:/sbin`, HOME: folder, RCLONE_RETRIES: '3',
            AZURE_CONFIG_DIR: join(folder, 'az'), AZURE_CORE_COLLECT_TELEMETRY: 'no' };
        const ran = spawnSync('unshare', [...APART, file], { encoding: 'utf8', env, timeout: MINUTES, killSignal: 'SIGKILL', maxBuffer: 1 << 26 });
        const log = existsSync(join(folder, 'lazuli.log')) ? readFileSync(join(folder, 'lazuli.log'), 'utf8').slice(-2000) : '';
        assert.equal(ran.status, 0, `${ran.error ?? ''}\n${ran.stdout}\n${ran.stderr}\n${log}`);
    } finally {
        rmSync(folder, { recursive: true, force: true });
    }
}

for (const page of readdirSync(GUIDE).filter((name) => name.endsWith('.md'))) {
    const found = blocks(readFileSync(join(GUIDE, page), 'utf8'));
    test(`guide/${page}: every block says what is done with it`, () => {
        for (const block of found)
            assert.notEqual(kind(block), undefined, `${page}:${block.line}: \`\`\`${block.info}`);
    });
    for (const { info, line } of found.filter((block) => kind(block) === 'shown')) {
        test(`guide/${page}:${line}: is shown and not run`, (t) => {
            t.diagnostic(`guide/${page}:${line} is not run: ${info.split('not-run: ')[1] ?? 'this machine has no /dev/fuse'}`);
        });
    }
    for (const { text, line } of found.filter((block) => kind(block) === 'yaml')) {
        test(`guide/${page}:${line}: is YAML`, () => {
            const parsed = spawnSync('/usr/bin/python3', ['-c', 'import sys, yaml; assert isinstance(yaml.safe_load(sys.stdin), dict)'], { input: text, encoding: 'utf8' });
            assert.equal(parsed.status, 0, parsed.stderr);
        });
    }
    for (const { text, line } of found.filter((block) => kind(block) === 'ini')) {
        test(`guide/${page}:${line}: is a unit`, () => {
            for (const entry of text.split('\n').filter((l) => l !== '' && !l.startsWith('#')))
                assert.match(entry, /^(\[[A-Z][a-z]+\]|[A-Za-z]+=.+)$/);
        });
    }
    if (found.some((block) => kind(block) === 'run'))
        test(`guide/${page}: what is marked runs`, () => runPage(page, found));
}

// ---- the README -----------------------------------------------------------------------------------------------------

const README = readFileSync(join(ROOT, 'README.md'), 'utf8');

/** The section "Connect" as it stands, on a server with the share that it speaks of. */
test('README: what it says about connecting runs', () => {
    const section = README.slice(README.indexOf('## Connect'), README.indexOf('## Why it is different'));
    const found = blocks(section);
    const connection = found.find(({ text }) => text.startsWith('DefaultEndpointsProtocol=')).text.trim();
    const runs = found.filter(({ info }) => ['js', 'python', 'sh'].includes(info)).map((block) => ({
        ...block,
        info: `${block.info} test`,
        text: block.info === 'python' ? `connection = "${connection}"\n${block.text}` : block.text.replace(/^curl /gm, 'curl -sSf '),
    }));
    assert.deepEqual(runs.map(({ info }) => info), ['js test', 'python test', 'sh test', 'sh test']);
    runPage('README.md', runs, (folder) => {
        writeFileSync(join(folder, 'hello.txt'), 'Hello');
        writeFileSync(join(folder, 'share.mjs'), `import { ShareServiceClient } from '@azure/storage-file-share';
await ShareServiceClient.fromConnectionString('${connection}').getShareClient('myshare').create();\n`);
        return 'lazuli --in-memory --silent > lazuli.log 2>&1 &\nuntil lazuli health; do sleep 0.1; done\nnode share.mjs\n';
    });
});

test('README: the figures beside Azurite are those of bench/README.md', () => {
    const rows = new Map(readFileSync(join(ROOT, 'bench/README.md'), 'utf8').split('\n').filter((line) => line.startsWith('| '))
        .map((line) => line.split('|').map((cell) => cell.trim())).map(([, name, ...cells]) => [name, cells]));
    const figures = README.split('\n').filter((line) => /^\| .* \| [\d,]+\/s/.test(line)).map((line) => line.split('|').map((cell) => cell.trim()));
    assert.ok(figures.length >= 4, `${figures.length} rows with figures`);
    for (const [, name, ...said] of figures) {
        const measured = rows.get(name) ?? [];
        for (const [i, text] of said.slice(0, 3).filter((cell) => cell !== '').entries()) // Lazuli, Azurite, nginx
            assert.equal(text, measured[i].replace(/^([\d.,]+\/s); [\d.,]+, [\d.,]+, [\d.,]+(; large .*)?/, '$1').replace(';', ','), `${name}: ${measured}`);
    }
});

test('README: names every command of the program', () => {
    const help = spawnSync(BIN, ['--help'], { encoding: 'utf8' }).stdout;
    const commands = [...new Set([...help.matchAll(/^ {0,8}lazuli ([a-z]+)\b/gm)].map(([, command]) => command))];
    assert.ok(commands.length >= 8, commands.join());
    for (const command of commands)
        assert.ok(new RegExp(`\`lazuli ${command}\\b`).test(README), `lazuli ${command}`);
});

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
