// SPDX-License-Identifier: Apache-2.0
// lazuli copy from and to other servers: by SAS, with the cloud's names and TLS, from Azurite.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { runCases } from '../smb/cases.mjs';
import { ACCOUNT, freePorts, KEY, startServer, until } from './lib.mjs';
import { command, fill, sha } from './transfer_lib.mjs';

const folder = mkdtempSync(join(tmpdir(), 'lazuli-peers-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const at = (name) => join(folder, name);

test('copy by SAS on both sides: all but stored access policies, which need a key', { timeout: 120000 }, async () => {
    const from = await startServer({ inMemory: true });
    const to = await startServer({ inMemory: true });
    try {
        const { generateAccountSASQueryParameters, AccountSASPermissions, AccountSASServices, AccountSASResourceTypes, StorageSharedKeyCredential } = await import('@azure/storage-blob');
        const sas = generateAccountSASQueryParameters({ expiresOn: new Date(Date.now() + 3600e3), permissions: AccountSASPermissions.parse('rwdlacuptfxi'),
            services: AccountSASServices.parse('bqtf').toString(), resourceTypes: AccountSASResourceTypes.parse('sco').toString() }, new StorageSharedKeyCredential(ACCOUNT, KEY)).toString();
        const by = (server) => `${['Blob', 'Queue', 'Table', 'File'].map((s) => `${s}Endpoint=${server.url(s.toLowerCase())}`).join(';')};SharedAccessSignature=${sas}`;
        await fill(from, 8);
        // A container's public access goes with its policies: it is made as it is by default.
        await (await from.blobs()).getContainerClient('first').setAccessPolicy(undefined, []);
        const { err } = await command(['copy', by(from), by(to)], { cwd: folder });
        assert.match(err, /copied: 4 containers, 25 blobs/);
        assert.doesNotMatch(err, /left out/);
        await command(['export', at('from.tar'), by(from)]);
        await command(['export', at('to.tar'), by(to)]);
        assert.equal(sha(at('from.tar')), sha(at('to.tar')));
    } finally {
        await from.stop();
        await to.stop();
    }
});

const LOOPBACK_UP = `
import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh22x", b"lo", 0x1 | 0x8 | 0x40))`;
const ROOT = process.getuid() === 0 ? [] : ['--map-root-user'];

test('copy by the cloud\'s host names over TLS', { timeout: 180000 }, (t) => runCases(t, 'unshare', [...ROOT, '--net', '--mount', 'sh', '-c', 'python3 -c "$0" && exec "$@"',
    LOOPBACK_UP, process.execPath, new URL('transfer_cloud_cases.mjs', import.meta.url).pathname], 0));

// ---- Azurite, whose packages take a while to install -----------------------------------------------------------------

const PEERS = new URL('../../bench/peers', import.meta.url).pathname;

async function startAzurite() {
    const [blob, queue, table] = await freePorts(3);
    const child = spawn(process.execPath, [join(PEERS, 'node_modules/azurite/dist/src/azurite.js'), '-l', at('azurite'), '--blobPort', blob, '--queuePort', queue,
        '--tablePort', table, '--skipApiVersionCheck', '--disableTelemetry'], { stdio: ['ignore', 'pipe', 'ignore'] });
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text) => { said += text; });
    await until(() => /Table service is successfully listening/.test(said), 60000);
    const endpoint = (name, port) => `${name}Endpoint=http://127.0.0.1:${port}/${ACCOUNT}`;
    return { connection: `DefaultEndpointsProtocol=http;AccountName=${ACCOUNT};AccountKey=${KEY};${endpoint('Blob', blob)};${endpoint('Queue', queue)};${endpoint('Table', table)}`,
        tables: `http://127.0.0.1:${table}/${ACCOUNT}`, stop: async () => { child.kill(); await once(child, 'exit'); } };
}

async function fillAzurite({ connection, tables }) {
    const { BlobServiceClient } = await import('@azure/storage-blob');
    const { QueueServiceClient } = await import('@azure/storage-queue');
    const { AzureNamedKeyCredential, TableClient } = await import('@azure/data-tables');
    const container = BlobServiceClient.fromConnectionString(connection).getContainerClient('first');
    await container.create({ metadata: { owner: 'me' } });
    await container.setAccessPolicy('blob', [{ id: 'readers', accessPolicy: { startsOn: new Date('2026-01-01T00:00:00Z'), expiresOn: new Date('2036-01-01T00:00:00Z'), permissions: 'rl' } }]);
    for (const name of ['plain.txt', 'a/b/c', 'ü ñ', 'x%20y'])
        await container.getBlockBlobClient(name).upload(name, Buffer.byteLength(name), { metadata: { n: '1' }, blobHTTPHeaders: { blobContentType: 'text/plain' }, tags: { k: 'v' } });
    await container.getBlockBlobClient('big').uploadData(Buffer.alloc(9 << 20, 'abc'), { blockSize: 4 << 20, maxSingleShotSize: 1 << 20 });
    await container.getBlobClient('plain.txt').createSnapshot();
    await container.getBlockBlobClient('plain.txt').upload('new', 3);
    const page = container.getPageBlobClient('page');
    await page.create(8192);
    await page.uploadPages(Buffer.alloc(1024, 'p'), 2048, 1024);
    const log = container.getAppendBlobClient('log');
    await log.create();
    await log.appendBlock('one', 3);
    const queue = QueueServiceClient.fromConnectionString(connection).getQueueClient('work');
    await queue.create({ metadata: { team: 'x' } });
    for (let i = 0; i < 10; i++)
        await queue.sendMessage(`message ${i} <&>`);
    const table = new TableClient(tables, 'People', new AzureNamedKeyCredential(ACCOUNT, KEY), { allowInsecureConnection: true });
    await table.createTable();
    for (let i = 0; i < 10; i++)
        await table.createEntity({ partitionKey: 'p', rowKey: `r${i}`, text: 'x', big: 9007199254740993n, when: new Date('2026-05-05T05:05:05.123Z'), data: new Uint8Array([1, 2, 3]),
            id: { type: 'Guid', value: 'c9da6455-213d-42c9-9a79-3e9149a57833' }, whole: { type: 'Double', value: '3' }, yes: true });
}

/** What an archive has, without the properties of services, which the two write in other words. */
function entries(path) {
    const script = 'import hashlib, sys, tarfile\nt = tarfile.open(sys.argv[1])\nprint("\\n".join(sorted(m.name + " " + hashlib.sha256(t.extractfile(m).read()).hexdigest() for m in t if m.name.split("/")[-1] not in ("blob%.json", "queue%.json", "table%.json", "file%.json"))))';
    return spawnSync('python3', ['-c', script, path], { encoding: 'utf8' }).stdout;
}

if (process.env.FULL === '1' || existsSync(join(PEERS, 'node_modules/azurite')))
    test('copy from Azurite: the same archive', { timeout: 300000 }, async () => {
        if (!existsSync(join(PEERS, 'node_modules/azurite')))
            assert.equal(spawnSync('npm', ['ci', '--prefix', PEERS, '--no-audit', '--no-fund'], { stdio: 'ignore' }).status, 0);
        const from = await startAzurite();
        const to = await startServer({ inMemory: true });
        try {
            await fillAzurite(from);
            const { err } = await command(['copy', from.connection, to.connectionString()], { cwd: folder });
            assert.match(err, /copied: 1 containers, 7 blobs, 1 queues, .* 1 tables/);
            await command(['export', at('azurite.tar'), from.connection]);
            await command(['export', at('taken.tar'), to.connectionString()]);
            assert.ok(entries(at('azurite.tar')).split('\n').length > 15);
            assert.equal(entries(at('taken.tar')), entries(at('azurite.tar')));
        } finally {
            await from.stop();
            await to.stop();
        }
    });
