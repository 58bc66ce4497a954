// SPDX-License-Identifier: Apache-2.0
// Third-party clients against one server: azure-cli's `az storage fs`, and azure-storage-file-datalake for Python, both from
// Debian's packages. azure-cli runs all commands in one process (datalake_az.py), because each start takes seconds.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ACCOUNT, KEY, startServer } from './lib.mjs';

const PYTHON = '/usr/bin/python3';
const MINUTES = 4 * 60_000;
let server;
let folder;
before(async () => {
    server = await startServer({ inMemory: true, services: ['blob'], dfs: true, args: ['--hns', ACCOUNT] });
    folder = mkdtempSync(join(tmpdir(), 'lazuli-az-'));
});
after(async () => {
    rmSync(folder, { recursive: true, force: true });
    await server.stop();
});

const script = (name) => new URL(name, import.meta.url).pathname;

/** Runs a script of ours with input; what it printed. */
function python(name, args, input) {
    return new Promise((resolve, reject) => {
        const env = { ...process.env, AZURE_CONFIG_DIR: join(folder, 'az'), AZURE_CORE_COLLECT_TELEMETRY: 'no', AZURE_CORE_NO_COLOR: '1',
            AZURE_STORAGE_CONNECTION_STRING: server.connectionString() };
        const child = execFile(PYTHON, [script(name), ...args], { env, timeout: MINUTES, maxBuffer: 1 << 24 },
            (error, stdout, stderr) => (error ? reject(new Error(`${error.message}\n${stdout}\n${stderr}`)) : resolve(stdout)));
        child.stdin.end(input);
    });
}

// Each line is a command after `az storage fs`; what it must print (a part of its JSON, or a function of it).
const USER = '11111111-1111-1111-1111-111111111111';
const lines = () => [
    ['create -n lake --metadata a=1'],
    ['create -n other'],
    ['exists -n lake', { exists: true }],
    ['list', (list) => assert.deepEqual(list.map(({ name }) => name), ['lake', 'other'])],
    ['show -n lake', { name: 'lake', metadata: { a: '1' } }],
    ['metadata update -n lake --metadata b=2'],
    ['metadata show -n lake', { b: '2' }],
    ['service-properties update --delete-retention --delete-retention-period 3', (all) => assert.equal(all.delete_retention_policy.days, 3)],
    ['service-properties show', (all) => assert.equal(all.delete_retention_policy.enabled, true)],
    ['directory create -f lake -n d/e'],
    ['directory exists -f lake -n d', { exists: true }],
    ['directory metadata update -f lake -n d --metadata x=y'],
    ['directory metadata show -f lake -n d', (all) => assert.equal(all.x, 'y')],
    ['directory show -f lake -n d', { name: 'd', owner: '$superuser', permissions: 'rwxr-x---' }],
    ['directory list -f lake', (list) => assert.deepEqual(list.map(({ name }) => name), ['d', 'd/e'])],
    ['file create -f lake -p d/made --content-type text/plain'],
    [`file upload -f lake -p d/f -s ${join(folder, 'up')} --overwrite`],
    ['file append -f lake -p d/f --content hello'],
    ['file exists -f lake -p d/f', { exists: true }],
    [`file download -f lake -p d/f -d ${join(folder, 'down')}`],
    ['file metadata update -f lake -p d/f --metadata k=v'],
    ['file metadata show -f lake -p d/f', { k: 'v' }],
    ['file set-expiry -f lake -p d/f --expiry-options RelativeToNow --expires-on 10000000'],
    ['file show -f lake -p d/f', (file) => {
        assert.equal(file.size, 100005);
        assert.ok(file.expiry_time !== null);
    }],
    ['file list -f lake --path d', (list) => assert.deepEqual(list.map(({ name }) => name), ['d/e', 'd/f', 'd/made'])],
    ['file move -f lake -p d/f --new-path lake/d/g'],
    ['directory move -f lake -n d --new-directory lake/moved'],
    ['file exists -f lake -p moved/g', { exists: true }],
    [`access set -f lake -p moved --acl user::rwx,group::r-x,other::---,user:${USER}:r-x`],
    ['access show -f lake -p moved', { acl: `user::rwx,user:${USER}:r-x,group::r-x,mask::r-x,other::---`, permissions: 'rwxr-x---+' }],
    ['access set -f lake -p moved --permissions rwxr-x--x'],
    [`access set -f lake -p moved --owner ${USER} --group ${USER}`],
    ['access show -f lake -p moved', { owner: USER, group: USER, permissions: 'rwxr-x--x+' }],
    ['access set-recursive -f lake -p moved --acl user::rwx,group::r-x,other::r--', { counters: { directoriesSuccessful: 2, failureCount: 0, filesSuccessful: 2 } }],
    [`access update-recursive -f lake -p moved --acl user:${USER}:rwx`, { counters: { directoriesSuccessful: 2, failureCount: 0, filesSuccessful: 2 } }],
    [`access remove-recursive -f lake -p moved --acl user:${USER}`, { counters: { directoriesSuccessful: 2, failureCount: 0, filesSuccessful: 2 } }],
    ['file delete -f lake -p moved/made -y'],
    ['list-deleted-path -f lake', (list) => assert.deepEqual(list.map(({ name }) => name), ['moved/made'])],
    ['undelete-path -f lake --deleted-path-name moved/made --deletion-id @0'],
    ['file exists -f lake -p moved/made', { exists: true }],
    ['directory delete -f lake -n moved -y'],
    ['directory exists -f lake -n moved', { exists: false }],
    ['directory generate-sas -f lake -n moved --permissions rl --expiry 2099-01-01', (sas) => assert.match(sas, /sr=d&sdd=1/)],
    ['generate-sas -n lake --permissions rl --expiry 2099-01-01', (sas) => assert.match(sas, /sr=c/)],
    ['delete -n lake -y'],
    ['exists -n lake', { exists: false }],
];

test('az storage fs: every subcommand', { timeout: MINUTES + 10_000 }, async () => {
    writeFileSync(join(folder, 'up'), 'x'.repeat(100000));
    const wanted = lines();
    const answers = JSON.parse(await python('datalake_az.py', [], JSON.stringify(wanted.map(([line]) => line))));
    for (const [i, [line, want]] of wanted.entries()) {
        const { code, out, err } = answers[i];
        assert.equal(code, 0, `az storage fs ${line}: ${code} ${err}`);
        if (typeof want === 'function')
            want(JSON.parse(out));
        else if (want !== undefined)
            for (const [name, value] of Object.entries(want))
                assert.deepEqual(JSON.parse(out)[name], value, `az storage fs ${line}: ${out}`);
    }
    assert.equal(readFileSync(join(folder, 'down'), 'utf8'), `${'x'.repeat(100000)}hello`);
});

for (const service of ['blob', 'dfs'])
    test(`azure-storage-file-datalake for Python, its requests to the ${service} port`, { timeout: MINUTES + 10_000 }, async () => {
        const out = await python('datalake_sdk.py', [server.url(service), ACCOUNT, KEY, `py${service}`], '');
        assert.match(out, /all is well\n$/);
    });
