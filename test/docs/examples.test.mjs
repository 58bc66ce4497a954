// SPDX-License-Identifier: Apache-2.0
// Runs every program of examples/ against a separate server: it prints what happened, and exits with 0 if that is what it
// claims.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { freePorts, startServer } from '../rest/lib.mjs';

const run = promisify(execFile);
const EXAMPLES = new URL('../../examples/', import.meta.url).pathname;
const BUILT = new URL('../../build/examples/', import.meta.url).pathname;
mkdirSync(BUILT, { recursive: true });

// The SDKs that test/rest has installed, unless somebody ran npm in examples/js.
if (!existsSync(`${EXAMPLES}js/node_modules`))
    symlinkSync('../../test/rest/node_modules', `${EXAMPLES}js/node_modules`);

function compile(program, args, options) {
    const built = spawnSync(program, args, { encoding: 'utf8', ...options });
    assert.equal(built.status, 0, built.stderr);
}

/** Folder, helpers that are no examples, and how one is run: [program, ...arguments]. */
const LANGUAGES = [
    ['js', ['common.mjs'], (path) => ['node', path]],
    // Debian's python3 has Debian's SDKs; another one in the PATH has not.
    ['python', ['common.py'], (path) => ['/usr/bin/python3', path]],
    ['curl', ['azure.sh'], (path) => ['sh', path]],
    ['go', ['common.go', 'blob.go', 'rest.go'], (path) => {
        const program = `${BUILT}go_${basename(path, '.go')}`;
        const client = /^(blob|container)_/.test(basename(path)) ? 'blob.go' : 'rest.go';
        compile('go', ['build', '-o', program, path, `${EXAMPLES}go/${client}`, `${EXAMPLES}go/common.go`], {
            env: { ...process.env, GO111MODULE: 'off', GOPATH: '/usr/share/gocode', GOCACHE: `${BUILT}go-cache` },
        });
        return [program];
    }],
    ['c', ['azure.c'], (path) => {
        const program = `${BUILT}c_${basename(path, '.c')}`;
        compile('cc', ['-Wall', '-Wextra', '-Werror', '-o', program, path, `${EXAMPLES}c/azure.c`, '-lcurl', '-lcrypto']);
        return [program];
    }],
];

for (const [folder, helpers, command] of LANGUAGES) {
    const names = readdirSync(EXAMPLES + folder).filter((name) => /\.(mjs|py|sh|go|c)$/.test(name) && !helpers.includes(name));
    for (const name of names) {
        test(`examples/${folder}/${name}`, async () => {
            const [program, ...args] = command(join(EXAMPLES, folder, name));
            const [smbPort] = await freePorts(1);
            const server = await startServer({ inMemory: true, args: ['--smb-port', String(smbPort)] });
            const env = {
                ...process.env,
                AZURE_STORAGE_CONNECTION_STRING: server.connectionString(),
                LAZULI_CLOCK: server.clockFile,
                SMB_PORT: String(smbPort),
                PYTHONDONTWRITEBYTECODE: '1',
                TMPDIR: tmpdir(),
            };
            try {
                const { stdout } = await run(program, args, { env, timeout: 60000 });
                assert.match(stdout, /: /, 'it says what happened');
            } finally {
                await server.stop();
            }
        });
    }
}

test('every section has an example in each of the five languages, and every example is in the list', () => {
    const list = readFileSync(`${EXAMPLES}README.md`, 'utf8');
    for (const [folder, helpers] of LANGUAGES)
        for (const name of readdirSync(EXAMPLES + folder).filter((n) => /\.(mjs|py|sh|go|c)$/.test(n) && !helpers.includes(n)))
            assert.ok(list.includes(`(${folder}/${name})`), `${folder}/${name} is not in examples/README.md`);
    for (const row of list.split('\n').filter((line) => line.includes('../docs/concurrency/') && line.startsWith('|'))) {
        for (const [folder] of LANGUAGES)
            assert.ok(row.includes(`(${folder}/`), `${folder} has nothing in: ${row}`);
    }
});
