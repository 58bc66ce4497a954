// SPDX-License-Identifier: Apache-2.0
// rclone, which writes a space in a query as '+', on names that must be escaped: by the account's key and by SAS, every
// kind of operation returns what was put.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { AccountSASPermissions, ContainerSASPermissions, generateAccountSASQueryParameters, generateBlobSASQueryParameters,
    StorageSharedKeyCredential } from '@azure/storage-blob';
import { ACCOUNT, BIN, KEY, startServer } from './lib.mjs';

const run = promisify(execFile);
const NAMES = ['plain', 'a space', 'two  spaces', 'a+plus', '+', 'a + b', '100%', '%20', '%2B', 'a%2Fb', 'ünï cødé+', '日本 語', 'a&b=c', "it's", 'semi;colon'];
const key = new StorageSharedKeyCredential(ACCOUNT, KEY);
const soon = new Date(Date.now() + 3600e3);
let server;
let work;

before(async () => {
    server = await startServer({ inMemory: true, services: ['blob'] });
    work = mkdtempSync(join(tmpdir(), 'rclone-'));
    for (const name of NAMES)
        for (const inside of NAMES) {
            const file = join(work, 'local', `in ${name}`, `${inside}.txt`);
            mkdirSync(dirname(file), { recursive: true });
            writeFileSync(file, `${name} ${inside}`);
        }
});
after(async () => {
    rmSync(work, { recursive: true, force: true });
    await server.stop();
});

function files(folder) {
    return Object.fromEntries(readdirSync(folder, { recursive: true })
        .map((name) => join(folder, name)).filter((name) => statSync(name).isFile())
        .map((name) => [relative(folder, name), readFileSync(name, 'utf8')]).sort());
}

/** Copies there and back, lists, moves, reads one, copies within the server, and deletes. */
async function roundTrip(container, settings, env = {}) {
    writeFileSync(join(work, 'rclone.conf'), `[r]\ntype = azureblob\n${settings}\n`);
    const rclone = async (...args) => (await run('rclone', ['--config', join(work, 'rclone.conf'), '--retries', '1', '--low-level-retries', '1',
        '--transfers', '8', '--checkers', '8', ...args], { maxBuffer: 1 << 26, env: { ...process.env, ...env } })).stdout;
    const local = join(work, 'local');
    const want = files(local);
    const back = (name) => files(join(work, name));
    await rclone('mkdir', `r:${container}`);
    await rclone('copy', local, `r:${container}/one dir+`);
    await rclone('check', '--one-way', local, `r:${container}/one dir+`);
    await rclone('copy', `r:${container}/one dir+`, join(work, `${container}1`));
    assert.deepEqual(back(`${container}1`), want);
    const listed = (await rclone('lsf', '-R', '--files-only', `r:${container}/one dir+`)).split('\n').filter(Boolean).sort();
    assert.deepEqual(listed, Object.keys(want).sort());
    for (const name of NAMES) {
        const folder = `r:${container}/one dir+/in ${name}`;
        assert.equal((await rclone('lsf', folder)).split('\n').filter(Boolean).length, NAMES.length, name);
        assert.equal(await rclone('cat', `${folder}/${name}.txt`), `${name} ${name}`);
    }
    await rclone('copy', `r:${container}/one dir+`, `r:${container}/two +dir`);
    await rclone('move', `r:${container}/two +dir`, `r:${container}/three%dir`);
    await rclone('sync', `r:${container}/three%dir`, join(work, `${container}3`));
    assert.deepEqual(back(`${container}3`), want);
    await rclone('deletefile', `r:${container}/three%dir/in a + b/a&b=c.txt`);
    await rclone('purge', `r:${container}/one dir+/in a+plus`);
    assert.equal(JSON.parse(await rclone('size', '--json', `r:${container}`)).count, 2 * NAMES.length ** 2 - 1 - NAMES.length);
    await rclone('delete', `r:${container}`);
    assert.equal(await rclone('lsf', '-R', '--files-only', `r:${container}`), '');
}

const newContainer = async (name) => (await server.blobs()).getContainerClient(name).create();

// By key rclone asks for https://ACCOUNT.ENDPOINT, whatever the endpoint; a proxy leads that name to the server.
test('by the account\'s key', async () => {
    const [cert, pem] = [join(work, 'cert.pem'), join(work, 'key.pem')];
    execFileSync(BIN, ['cert', cert, pem]);
    const secure = await startServer({ inMemory: true, services: ['blob'], args: ['--cert', cert, '--key', pem] });
    const proxy = http.createServer().on('connect', (request, client) => {
        const upstream = net.connect(secure.ports.blob, '127.0.0.1', () => {
            client.write('HTTP/1.1 200 OK\r\n\r\n');
            upstream.pipe(client).pipe(upstream);
        });
        for (const end of [client, upstream])
            end.on('error', () => { client.destroy(); upstream.destroy(); });
    });
    await new Promise((resolve) => { proxy.listen(0, '127.0.0.1', resolve); });
    try {
        await roundTrip('bykey', `account = ${ACCOUNT}\nkey = ${KEY}\nendpoint = blob.lazuli.test`,
            { HTTPS_PROXY: `http://127.0.0.1:${proxy.address().port}`, RCLONE_NO_CHECK_CERTIFICATE: 'true' });
    } finally {
        await secure.stop();
        proxy.closeAllConnections();
        proxy.close();
    }
});

test('by the SAS of a container', async () => {
    await newContainer('bysas');
    const sas = generateBlobSASQueryParameters({ containerName: 'bysas', expiresOn: soon, permissions: ContainerSASPermissions.parse('racwdl') }, key);
    await roundTrip('bysas', `sas_url = ${server.url('blob').replace(/\/$/, '')}/bysas?${sas}`);
});

test('by the SAS of the account', async () => {
    await newContainer('byaccount');
    const sas = generateAccountSASQueryParameters({
        services: 'b', resourceTypes: 'sco', expiresOn: soon, permissions: AccountSASPermissions.parse('rwdlac'),
    }, key);
    await roundTrip('byaccount', `sas_url = ${server.url('blob').replace(/\/$/, '')}?${sas}`);
});
