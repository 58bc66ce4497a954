// SPDX-License-Identifier: Apache-2.0
// Large bodies, which are stored and sent away from the event loops (src/rest/body/bulk.h, src/http/away.c): content, checksums,
// errors and clients that leave, with many bodies at once so that they are hashed in parallel.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import net from 'node:net';
import { after, before, test } from 'node:test';
import { BlobSASPermissions } from '@azure/storage-blob';
import { assertError, BIN, startServer, STORE_IN_FOLDER, uniqueName } from './lib.mjs';

let server;
let container;

before(async () => {
    server = await startServer({ services: ['blob'] });
    container = (await server.blobs()).getContainerClient(uniqueName('c'));
    await container.create();
});
after(() => server.stop());

const md5 = (data) => createHash('md5').update(data).digest('base64');
const at = (name) => `/${container.containerName}/${name}`;
const put = (name, body, headers = {}) => server.request('blob', 'PUT', at(name), { body, headers: { 'x-ms-blob-type': 'BlockBlob', ...headers } });
const PIECE = 256 << 10;

test('PutBlob: bodies of many sizes at once are whole, and so are their MD5s', async () => {
    const sizes = [65535, 65536, PIECE - 1, PIECE, PIECE + 1, PIECE + 63, PIECE + 64, 2 * PIECE, 2 * PIECE + 65, 1 << 20, (3 << 20) + 17, 5 << 20];
    await Promise.all(sizes.map(async (size) => {
        const body = randomBytes(size);
        const answer = await put(`size-${size}`, body);
        assert.equal(answer.status, 201);
        assert.equal(answer.headers['content-md5'], md5(body));
        const back = await server.request('blob', 'GET', at(`size-${size}`));
        assert.ok(back.bytes.equals(body), `size ${size}`);
        assert.equal(back.headers['content-md5'], md5(body));
    }));
});

test('PutBlob: a large body whose MD5 is another is refused, and the blob stays as it was', async () => {
    const kept = randomBytes(PIECE + 5);
    await put('kept', kept);
    const answers = await Promise.all(Array.from({ length: 9 }, () => put('kept', randomBytes(2 << 20), { 'Content-MD5': md5('other') })));
    for (const answer of answers)
        assertError(answer, 400, 'Md5Mismatch');
    assert.ok((await server.request('blob', 'GET', at('kept'))).bytes.equals(kept));
});

/** Sends a head that announces 3 MiB and `bytes` of it, then goes away. */
async function leave(target, bytes) {
    const socket = net.connect(server.ports.blob, '127.0.0.1');
    socket.on('error', () => {});
    await new Promise((done) => socket.once('connect', done));
    socket.write(`PUT ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nx-ms-blob-type: BlockBlob\r\nContent-Length: ${3 << 20}\r\n\r\n`);
    await new Promise((done) => socket.write(Buffer.alloc(bytes, 7), done));
    socket.resetAndDestroy();
}

test('PutBlob: clients that leave at any point of a large body change nothing', async () => {
    await put('left', 'as it was');
    const url = new URL(await container.getBlobClient('left').generateSasUrl({
        permissions: BlobSASPermissions.parse('cw'), expiresOn: new Date(Date.now() + 3600e3),
    }));
    for (let i = 0; i < 60; i += 6)
        await Promise.all([0, 1, 2, 3, 4, 5].map((j) => leave(url.pathname + url.search, Math.floor((i + j) * PIECE / 5.1))));
    assert.equal((await server.request('blob', 'GET', at('left'))).text, 'as it was');
    const body = randomBytes(3 << 20);
    assert.equal((await put('left', body)).headers['content-md5'], md5(body));
});

/** Asks for the blob and goes away when about so many bytes have come. */
async function stopReading(target, bytes) {
    const socket = net.connect(server.ports.blob, '127.0.0.1');
    socket.on('error', () => {});
    let got = 0;
    const enough = new Promise((done) => socket.on('data', (part) => (got += part.length) > bytes && done()));
    socket.write(`GET ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
    await enough;
    socket.resetAndDestroy();
}

test('GetBlob: large ones at once, small ones between them and clients that leave: what comes is whole', async () => {
    const [large, small] = [randomBytes((9 << 20) + 333), randomBytes(1000)];
    await put('large', large);
    await put('small', small);
    const url = new URL(await container.getBlobClient('large').generateSasUrl({
        permissions: BlobSASPermissions.parse('r'), expiresOn: new Date(Date.now() + 3600e3),
    }));
    const read = async (from, to) => {
        const back = await server.request('blob', 'GET', at('large'), { headers: { 'x-ms-range': `bytes=${from}-${to}` } });
        assert.ok(back.bytes.equals(large.subarray(from, to + 1)), `${from} to ${to}`);
    };
    const readSmall = async () => assert.ok((await server.request('blob', 'GET', at('small'))).bytes.equals(small));
    await Promise.all([0, 1, 65535, 1 << 20, (2 << 20) + 77].flatMap((from) => [
        read(from, large.length - 1), read(from, from + (3 << 20)), read(from, from + (1 << 20) - 1), readSmall(),
        stopReading(url.pathname + url.search, from), stopReading(url.pathname + url.search, from * 3), readSmall(),
    ]));
    await read(0, large.length - 1);
});

test('the store is in order afterwards', async () => {
    await server.kill();
    if (STORE_IN_FOLDER) {
        const checked = spawnSync(BIN, ['check', '--data', server.data], { encoding: 'utf8' });
        assert.equal(checked.status, 0, checked.stdout + checked.stderr);
    }
    await server.start();
});
