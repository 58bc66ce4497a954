// SPDX-License-Identifier: Apache-2.0
// Copies with connection strings in the cloud's form: https, EndpointSuffix, one host name for each service of the account, port
// 443. Our server has those names. Runs in a separate network and mount namespace (transfer_peers.test.mjs), where /etc/hosts
// names the hosts. Prints "ok NAME" or "not ok NAME: WHY" for each.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BIN, KEY, startServer, until } from './lib.mjs';
import { command, fill, sha, start } from './transfer_lib.mjs';

const SUFFIX = 'core.cloud.test';
const SERVICES = ['blob', 'queue', 'table', 'file', 'dfs'];
const folder = mkdtempSync(join(tmpdir(), 'lazuli-cloud-'));
const at = (name) => join(folder, name);

function makeNames() {
    const hosts = SERVICES.map((service, i) => `127.0.1.${i + 1} lake.${service}.${SUFFIX}`);
    writeFileSync(at('hosts'), `127.0.0.1 localhost\n${hosts.join('\n')}\n`);
    execFileSync('mount', ['--bind', at('hosts'), '/etc/hosts']);
    const names = SERVICES.map((service) => `DNS:lake.${service}.${SUFFIX}`).join(',');
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=cloud', '-addext', `subjectAltName=${names}`,
        '-keyout', at('key.pem'), '-out', at('cert.pem')], { stdio: 'ignore' });
}

async function startCloud() {
    const flags = SERVICES.flatMap((service, i) => [`--${service}-host`, `127.0.1.${i + 1}`, `--${service}-port`, '443']);
    const child = spawn(BIN, [...flags, '--data', at('cloud'), '--cert', at('cert.pem'), '--key', at('key.pem'), '--smb-port', 'off', '--admin-port', 'off',
        '--ports-file', at('ports.json'), '--silent'], { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, AZURITE_ACCOUNTS: `lake:${KEY}` } });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text) => { said += text; });
    await until(() => {
        assert.equal(child.exitCode, null, said);
        try {
            return readFileSync(at('ports.json'), 'utf8').length > 0;
        } catch {
            return false;
        }
    });
    return { stop: async () => { child.kill(); await once(child, 'exit'); } };
}

const CLOUD = `DefaultEndpointsProtocol=https;AccountName=lake;AccountKey=${KEY};EndpointSuffix=${SUFFIX}`;
const trusting = { env: { SSL_CERT_FILE: at('cert.pem') } };

async function run(name, work) {
    try {
        await work();
        console.log(`ok ${name}`);
    } catch (error) {
        console.log(`not ok ${name}: ${String(error.stack ?? error).replaceAll('\n', ' | ')}`);
    }
}

makeNames();
const cloud = await startCloud();
const here = await startServer({ inMemory: true });
await run('a certificate that is not trusted ends the copy', async () => {
    const done = await start(['copy', CLOUD, here.connectionString()], { cwd: folder }).ended;
    assert.equal(done.code, 1, done.err);
});
await run('to the cloud and back: the same bytes', async () => {
    await fill(here, 11);
    await command(['export', at('one.tar'), here.connectionString()]);
    await command(['copy', here.connectionString(), CLOUD], { ...trusting, cwd: folder });
    const back = await startServer({ inMemory: true });
    await command(['copy', CLOUD, back.connectionString()], { ...trusting, cwd: folder });
    await command(['export', at('two.tar'), back.connectionString()]);
    await back.stop();
    assert.equal(sha(at('one.tar')), sha(at('two.tar')));
});
await here.stop();
await cloud.stop();
execFileSync('umount', ['/etc/hosts']);
rmSync(folder, { recursive: true, force: true });
