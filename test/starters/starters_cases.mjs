// SPDX-License-Identifier: Apache-2.0
// The tools that start Azurite, each simulated according to its sources: what it runs, what it waits for, how it probes;
// then an SDK writes data and reads it. Prints "ok NAME" or "not ok NAME: WHY" for each. It runs in a separate network
// (starters.test.mjs), because they all use Azurite's default ports, on all addresses.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEngine } from './docker.mjs';

const BIN = process.env.LAZULI_BIN ?? new URL('../../build/lazuli', import.meta.url).pathname;
const require = createRequire(import.meta.url);
const sdk = createRequire(new URL('../rest/package.json', import.meta.url));
const KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';
const START_MS_MAX = 60000;

const folder = mkdtempSync(join(tmpdir(), 'lazuli-starters-'));
mkdirSync(join(folder, 'bin'));
for (const name of ['lazuli', 'azurite', 'azurite-blob', 'azurite-queue', 'azurite-table'])
    symlinkSync(BIN, join(folder, 'bin', name));

/** What the image has: the five names in PATH, no entry point, this command and this variable (docs/configuration.md). */
const HOSTS = ['--blobHost', '0.0.0.0', '--queueHost', '0.0.0.0', '--tableHost', '0.0.0.0'];
const IMAGE = {
    path: `${join(folder, 'bin')}:/usr/bin:/bin`,
    env: { LAZULI_INSECURE_WELL_KNOWN_KEY: '1' },
    command: ['azurite', '-l', 'data', ...HOSTS],
};

// ---- what starters do -----------------------------------------------------------------------------------------------

const running = new Set();

/** After a case that failed: its server would keep the ports from the next. */
async function killAll() {
    for (const { child, exited } of running) {
        child.kill('SIGKILL');
        await exited;
    }
}

/** Runs a command line as the image would. */
function run([program, ...args], { env = {}, image = true } = {}) {
    const child = spawn(program, args, {
        cwd: mkdtempSync(join(folder, 'run-')),
        env: { PATH: IMAGE.path, ...(image ? IMAGE.env : {}), ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
    });
    const started = { child, out: '', err: '', exited: once(child, 'close') }; // when all of its output is read
    running.add(started);
    child.on('exit', () => running.delete(started));
    child.stdout.setEncoding('utf8').on('data', (text) => { started.out += text; });
    child.stderr.setEncoding('utf8').on('data', (text) => { started.err += text; });
    started.stop = async () => {
        child.kill('SIGTERM');
        const [code, signal] = await started.exited;
        assert.deepEqual([code, signal], [0, null], started.err);
        for (const service of ['Blob', 'Queue', 'Table']) {
            if (started.out.includes(`${service} service is starting`))
                assert.match(started.out, new RegExp(`Azurite ${service} service successfully closed\n`));
        }
    };
    return started;
}

async function until(started, check, what) {
    for (const end = performance.now() + START_MS_MAX; performance.now() < end; await sleep(20)) {
        assert.equal(started.child.exitCode, null, `it ended: ${started.err}`);
        if (await check())
            return;
    }
    assert.fail(`${what} did not come; stdout: ${started.out} stderr: ${started.err}`);
}

async function connects(port) {
    const socket = net.connect(port, '127.0.0.1');
    try {
        await once(socket, 'connect');
        return true;
    } catch {
        return false;
    } finally {
        socket.destroy();
    }
}

const untilPorts = (started, ports) => until(started, async () => (await Promise.all(ports.map(connects))).every((yes) => yes),
    `ports ${ports}`);
const untilLogged = (started, text) => until(started, () => (started.out + started.err).includes(text), text);
const shell = (command) => spawnSync('/bin/sh', ['-c', command], { env: { PATH: '/usr/bin:/bin' } }).status === 0;

// ---- what their users do --------------------------------------------------------------------------------------------

const connection = ({ account = 'devstoreaccount1', key = KEY, scheme = 'http', ports = [10000, 10001, 10002] } = {}) =>
    `DefaultEndpointsProtocol=${scheme};AccountName=${account};AccountKey=${key};` +
    ['Blob', 'Queue', 'Table'].map((s, i) => `${s}Endpoint=${scheme}://127.0.0.1:${ports[i]}/${account};`).join('');

async function useBlobs(text) {
    const { BlobServiceClient } = sdk('@azure/storage-blob');
    const container = BlobServiceClient.fromConnectionString(text).getContainerClient(`c${Date.now()}`);
    await container.create();
    await container.getBlockBlobClient('b').upload('hello', 5);
    assert.equal((await container.getBlockBlobClient('b').downloadToBuffer()).toString(), 'hello');
}

async function useQueues(text) {
    const { QueueServiceClient } = sdk('@azure/storage-queue');
    const queue = QueueServiceClient.fromConnectionString(text).getQueueClient(`q${Date.now()}`);
    await queue.create();
    await queue.sendMessage('hello');
    assert.equal((await queue.receiveMessages()).receivedMessageItems[0].messageText, 'hello');
}

async function useTables(text) {
    const { TableClient } = sdk('@azure/data-tables');
    const table = TableClient.fromConnectionString(text, `t${Date.now()}`, { allowInsecureConnection: true });
    await table.createTable();
    await table.createEntity({ partitionKey: 'p', rowKey: 'r', text: 'hello' });
    assert.equal((await table.getEntity('p', 'r')).text, 'hello');
}

async function useAll(text) {
    await useBlobs(text);
    await useQueues(text);
    await useTables(text);
}

/** A certificate's files; `lazuli cert` writes over none. */
function certificate() {
    const [cert, key] = ['cert.pem', 'key.pem'].map((name) => join(mkdtempSync(join(folder, 'cert-')), name));
    assert.equal(spawnSync(BIN, ['cert', cert, key]).status, 0);
    return { cert, key };
}

// ---- the starters ---------------------------------------------------------------------------------------------------

const CASES = {
    // testcontainers-java, AzuriteContainer: the command names the program; HostPortWaitStrategy probes the mapped ports from
    // outside, and inside by /proc/net/tcp, nc or bash, whichever the image has.
    'Testcontainers for Java': async () => {
        const started = run(['azurite', ...HOSTS]);
        await untilPorts(started, [10000, 10001, 10002]);
        for (const port of [10000, 10001, 10002]) {
            const hex = port.toString(16).padStart(4, '0');
            assert.ok(shell(`cat /proc/net/tcp* | awk '{print $2}' | grep -i ':0*${hex}'`), `inside: ${port}`);
        }
        await useAll(connection());
        await started.stop();
    },
    'Testcontainers for Java with a certificate': async () => {
        const { cert, key } = certificate();
        const started = run(['azurite', ...HOSTS, '--cert', cert, '--key', key]);
        await untilPorts(started, [10000, 10001, 10002]);
        await untilLogged(started, 'successfully listening at https://0.0.0.0:10000\n');
        await useBlobs(connection({ scheme: 'https' }));
        await started.stop();
    },
    // testcontainers-dotnet, AzuriteBuilder: entry point azurite; WaitUntil looks in stdout and stderr.
    'Testcontainers for .NET': async () => {
        const started = run(['azurite', ...HOSTS]);
        for (const service of ['Blob', 'Queue', 'Table'])
            await untilLogged(started, `${service} service is successfully listening`);
        await useAll(connection());
        await started.stop();
    },
    // testcontainers-go, modules/azure/azurite: all services, or one by the name of its program.
    'Testcontainers for Go': async () => {
        const ports = ['--blobPort', '10000', '--queuePort', '10001', '--tablePort', '10002'];
        const started = run(['azurite', ...HOSTS, ...ports, '--inMemoryPersistence', '--extentMemoryLimit', '64.000000']);
        await untilPorts(started, [10000, 10001, 10002]);
        await useAll(connection());
        await started.stop();
    },
    'Testcontainers for Go, one service': async () => {
        const started = run(['azurite-blob', '--blobHost', '0.0.0.0', '--blobPort', '10000']);
        await untilPorts(started, [10000]);
        assert.deepEqual([await connects(10001), await connects(10002)], [false, false]);
        await useBlobs(connection());
        await started.stop();
        const queue = run(['azurite-queue', '--queueHost', '0.0.0.0', '--queuePort', '10001']);
        await untilPorts(queue, [10001]);
        await useQueues(connection());
        await queue.stop();
    },
    // testcontainers-python, azurite: the image's command, the account in a variable, a TCP connect.
    'Testcontainers for Python': async () => {
        const started = run(IMAGE.command, { env: { AZURITE_ACCOUNTS: `devstoreaccount1:${KEY}` } });
        await untilPorts(started, [10000]);
        await useAll(connection());
        await started.stop();
    },
    // dotnet/aspire, RunAsEmulator: these arguments, and a health check by the blob SDK; with an image whose entry point is
    // the program, its name comes as the first argument.
    'Aspire': async () => {
        const args = ['azurite', '-l', 'data', ...HOSTS, '--disableProductStyleUrl', '--skipApiVersionCheck'];
        for (const line of [args, ['lazuli', ...args]]) {
            const started = run(line);
            const { BlobServiceClient } = sdk('@azure/storage-blob');
            const healthy = async () => BlobServiceClient.fromConnectionString(connection()).getProperties().then(() => true, () => false);
            await until(started, healthy, 'health');
            await useAll(connection());
            await started.stop();
        }
    },
    // Compose files: the image's command, and nc as the health check.
    'compose': async () => {
        const started = run(IMAGE.command);
        const probe = shell('command -v nc') ? 'nc 127.0.0.1 10000 -z' : "bash -c '</dev/tcp/127.0.0.1/10000'";
        await until(started, () => shell(probe), probe);
        await until(started, () => shell(probe.replaceAll('10000', '10002')), 'the last');
        await useAll(connection());
        await started.stop();
    },
    // Workflows: in the background, silent, UseDevelopmentStorage=true on loopback; a step waits for the port.
    'GitHub Actions': async () => {
        const started = run(['azurite', '--silent', '--location', 'azurite', '--debug', 'debug.log'], { image: false });
        await untilPorts(started, [10000, 10001, 10002]);
        await untilLogged(started, 'Azurite Table service is successfully listening at http://127.0.0.1:10002');
        await useAll('UseDevelopmentStorage=true');
        assert.doesNotMatch(started.out, / GET /);
        await started.stop();
    },
    // A background task: its problem matcher sees the first line, then the last one.
    'VS Code task': async () => {
        const started = run(['azurite', '--silent', '--location', 'data'], { image: false });
        const begins = /^Azurite Blob service is starting at http:\/\/127\.0\.0\.1:10000$/m;
        const ends = /^Azurite Table service is successfully listening at http:\/\/127\.0\.0\.1:10002$/m;
        await until(started, () => ends.test(started.out), 'the last line');
        assert.ok(started.out.search(begins) < started.out.search(ends));
        await useTables('UseDevelopmentStorage=true');
        await started.stop();
    },
    // @testcontainers/azurite itself, over a played Docker engine.
    'Testcontainers for Node': async () => {
        const { AzuriteContainer } = require('@testcontainers/azurite');
        const container = await new AzuriteContainer('lazuli').start();
        await useAll(container.getConnectionString());
        await container.stop();
        const limited = await new AzuriteContainer('lazuli').withInMemoryPersistence().withExtentMemoryLimitInMegaBytes(1.5)
            .withAccountName('myaccount').withAccountKey(Buffer.alloc(32, 1).toString('base64')).start();
        await useAll(limited.getConnectionString());
        const { BlobServiceClient } = sdk('@azure/storage-blob');
        const client = BlobServiceClient.fromConnectionString(limited.getConnectionString(), { retryOptions: { maxTries: 1 } });
        const blob = client.getContainerClient('limited');
        await blob.create();
        await assert.rejects(blob.getBlockBlobClient('b').upload(Buffer.alloc(2 << 20), 2 << 20), (e) => e.statusCode === 507);
        await limited.stop();
    },
    // Its withSsl and withOAuth, which came after the last version that runs on Node.js 20, put together from their parts.
    'Testcontainers for Node with a certificate': async () => {
        const { GenericContainer, Wait } = require('testcontainers');
        const { cert, key } = certificate();
        const args = ['--blobPort', '10000', '--queuePort', '10001', '--tablePort', '10002', '--skipApiVersionCheck',
            '--cert', '/azurite-cert.pem', '--key', '/azurite-key.pem', '--oauth', 'basic'];
        const container = await new GenericContainer('lazuli').withEntrypoint(['azurite']).withCommand([...HOSTS, ...args])
            .withCopyContentToContainer([{ content: readFileSync(cert, 'utf8'), target: '/azurite-cert.pem', mode: 0o644 },
                { content: readFileSync(key, 'utf8'), target: '/azurite-key.pem', mode: 0o600 }])
            .withExposedPorts(10000, 10001, 10002)
            .withWaitStrategy(Wait.forAll(['Blob', 'Queue', 'Table']
                .map((service) => Wait.forLogMessage(new RegExp(`.*${service} service is successfully listening.*`)))))
            .start();
        await useBlobs(connection({ scheme: 'https', ports: [10000, 10001, 10002].map((port) => container.getMappedPort(port)) }));
        await container.stop();
    },
};

process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
process.env.TESTCONTAINERS_RYUK_DISABLED = 'true';
process.env.TESTCONTAINERS_HOST_OVERRIDE = '127.0.0.1';
const engine = await startEngine(IMAGE);
process.env.DOCKER_HOST = `unix://${engine.socket}`;
let failed = 0;
for (const [name, play] of Object.entries(CASES)) {
    try {
        await play();
        console.log(`ok ${name}`);
    } catch (error) {
        failed++;
        await killAll();
        const logs = [...engine.containers.values()].flatMap((c) => c.frames.map((f) => f.subarray(8).toString())).join('');
        console.log(`not ok ${name}: ${`${error.stack} ${engine.unknown} ${logs}`.replaceAll('\n', ' | ')}`);
    }
}
await engine.close();
rmSync(folder, { recursive: true, force: true });
process.exit(failed === 0 ? 0 : 1);
