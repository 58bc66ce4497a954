// SPDX-License-Identifier: Apache-2.0
// Every flag, variable and program name of Azurite 3.36: each way to write it gives the corresponding setting, or the refusal
// that docs/configuration.md names. test/rest/config.test.mjs and starters_cases.mjs test the effects of the settings.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

const BIN = process.env.LAZULI_BIN ?? new URL('../../build/lazuli', import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), 'lazuli-flags-'));
after(() => rmSync(folder, { recursive: true, force: true }));
for (const name of ['azurite', 'azurite-blob', 'azurite-queue', 'azurite-table'])
    symlinkSync(BIN, join(folder, name));

function ask(words, env = {}, program = BIN) {
    const { PATH, HOME } = process.env;
    const { status, stdout, stderr } = spawnSync(program, words, { cwd: folder, encoding: 'utf8', env: { PATH, HOME, ...env } });
    return { status, stdout, stderr };
}

/** What `lazuli config` says is in force and does not come from within. */
function given(words, env) {
    const { status, stdout, stderr } = ask(['config', ...words], env);
    assert.equal(status, 0, `${words.join(' ')}: ${stderr}`);
    return Object.fromEntries(stdout.split('\n').map((line) => /^([a-z-]+) = (.*?) +# (?!default)/.exec(line))
        .filter((found) => found !== null).map(([, name, value]) => [name, value]));
}

// flag of Azurite | a value | the setting here | its value as printed
const FLAGS = [
    ['--blobHost', '0.0.0.0', 'blob-host'], ['--queueHost', '0.0.0.0', 'queue-host'], ['--tableHost', '::1', 'table-host'],
    ['--blobPort', '11000', 'blob-port'], ['--queuePort', '11001', 'queue-port'], ['--tablePort', '11002', 'table-port'],
    ['--blobPort', '0', 'blob-port'], ['--queuePort', '0', 'queue-port'], ['--tablePort', '0', 'table-port'],
    ['--blobPort', 'off', 'blob-port'], ['--queuePort', 'off', 'queue-port'], ['--tablePort', 'off', 'table-port'],
    ['--blobKeepAliveTimeout', '300', 'blob-keep-alive'], ['--queueKeepAliveTimeout', '600', 'queue-keep-alive'],
    ['--tableKeepAliveTimeout', '5', 'table-keep-alive'],
    ['--location', '/data', 'data'], ['-l', './there', 'data'],
    ['--oauth', 'basic', 'oauth'], ['--cert', 'cert.pem', 'cert'], ['--key', 'key.pem', 'key'],
    ['--extentMemoryLimit', '64', 'memory-limit-mib'], ['--extentMemoryLimit', '64.000000', 'memory-limit-mib', '64'], ['--extentMemoryLimit', '0.5', 'memory-limit-mib'],
    ['--debug', '/dev/stderr', 'debug'], ['-d', 'debug.log', 'debug'],
];
const SWITCHES = [['--silent', 'silent'], ['-s', 'silent'], ['--loose', 'loose'], ['-L', 'loose'], ['--skipApiVersionCheck', 'skip-api-version-check'],
    ['--disableProductStyleUrl', 'disable-product-style-url'], ['--inMemoryPersistence', 'in-memory']];

for (const [flag, value, name, printed = value] of FLAGS)
    test(`${flag} ${value}`, () => {
        for (const words of [[flag, value], [`${flag}=${value}`]])
            assert.equal(given(words)[name], printed, words.join(' '));
    });

test('--pwd is taken and not shown', () => {
    for (const words of [['--pwd', 'secret'], ['--pwd=secret']]) {
        const { stdout } = ask(['config', ...words]);
        assert.match(stdout, /pwd is set, and not shown/);
        assert.doesNotMatch(stdout, /secret/);
    }
});

for (const [flag, name] of SWITCHES)
    test(flag, () => {
        for (const words of [[flag], [`${flag}=true`], [flag, 'true']])
            assert.equal(given(words)[name], 'true', words.join(' '));
        for (const words of [[`${flag}=false`], [flag, 'false']])
            assert.equal(given(words)[name] ?? 'false', 'false', words.join(' '));
    });

test('--disableTelemetry is taken, and there is nothing to turn off', () => {
    for (const words of [['--disableTelemetry'], ['--disableTelemetry=true']])
        assert.deepEqual(given(words), {});
    assert.match(ask(['--help']).stdout, /--disable-telemetry.*nothing is ever sent/i);
});

test('-v, --version, -h, --help', () => {
    for (const word of ['-v', '--version'])
        assert.match(ask([word]).stdout, /^lazuli \d+\.\d+\.\d+\ncommit \S+\nlibraries .*\nfeatures .*store-format=\d+/);
    for (const word of ['-h', '--help'])
        assert.match(ask([word]).stdout, /--blob-port/);
});

// words | environment | what is said
const REFUSALS = [
    [['--blobPort', '70000'], {}, /blob-port|blobPort/],
    [['--blobPort', 'x'], {}, /blob-port|blobPort/],
    [['--oauth', 'full'], {}, /oauth/],
    [['--silent=perhaps'], {}, /silent/],
    [['--noSuchFlag'], {}, /no such flag/],
    [['--debug'], {}, /debug/],
    [[], { AZURITE_DB: 'mssql://x' }, /AZURITE_DB/],
    [[], { AZURITE_ACCOUNTS: 'no-key' }, /AZURITE_ACCOUNTS/],
    [['--blobHost', '0.0.0.0', '--blobPort', '0'], {}, /well-known key/],
];
for (const [words, env, said] of REFUSALS)
    test(`refused: ${[...words, ...Object.entries(env).map((pair) => pair.join('='))].join(' ')}`, () => {
        const { status, stderr } = ask(['--inMemoryPersistence', '--queuePort', '0', '--tablePort', '0', ...words], env, join(folder, 'azurite'));
        assert.notEqual(status, 0, stderr);
        assert.match(stderr, said);
    });

test('AZURITE_SKIP_API_VERSION_CHECK is read when it is exactly true', () => {
    assert.equal(given([], { AZURITE_SKIP_API_VERSION_CHECK: 'true' })['skip-api-version-check'], 'true');
    for (const value of ['True', '1', 'yes', ''])
        assert.equal(given([], { AZURITE_SKIP_API_VERSION_CHECK: value })['skip-api-version-check'] ?? 'false', 'false', value);
});

test('what differs from Azurite is listed in docs/configuration.md', () => {
    const text = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8');
    for (const differs of ['--location', '--cert', '--blobKeepAliveTimeout', '--extentMemoryLimit', 'AZURITE_ACCOUNTS', 'AZURITE_DB', '--disableTelemetry', '--insecure-well-known-key',
        '--inMemoryPersistence', '--debug', 'azurite-table'])
        assert.ok(text.includes(differs), differs);
});
