// SPDX-License-Identifier: Apache-2.0
// --track-last-access: when a blob was last read, to a day, without a write for each read.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startServer } from './lib.mjs';

const DAY = 86400e3;
let server;
let container;
before(async () => {
    server = await startServer({ services: ['blob'], args: ['--track-last-access'] });
    container = (await server.blobs()).getContainerClient('last');
    await container.create();
});
after(() => server.stop());

test('the time of the last access', async () => {
    const blob = container.getBlockBlobClient('b');
    await blob.upload('x', 1);
    const first = (await blob.getProperties()).lastAccessed;
    assert.ok(Math.abs(first - Date.now()) < 5000);
    const { etag } = await blob.getProperties();
    server.advance(2 * DAY);
    assert.deepEqual((await blob.getProperties()).lastAccessed, first, 'to look at properties is no access');
    await blob.downloadToBuffer();
    let seen = first;
    for (let i = 0; i < 100 && seen.getTime() === first.getTime(); i++) {
        await sleep(100);
        seen = (await blob.getProperties()).lastAccessed;
    }
    assert.ok(Math.abs(seen - first - 2 * DAY) < 10000, String(seen));
    assert.equal((await blob.getProperties()).etag, etag);
    const [listed] = (await container.listBlobsFlat().byPage().next()).value.segment.blobItems;
    assert.deepEqual(listed.properties.lastAccessedOn, seen);
});

test('nothing is told where it is not tracked', async () => {
    const other = await startServer({ services: ['blob'], inMemory: true });
    await other.request('blob', 'PUT', '/last', { query: 'restype=container' });
    await other.request('blob', 'PUT', '/last/b', { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'x' });
    assert.equal((await other.request('blob', 'GET', '/last/b')).headers['x-ms-last-access-time'], undefined);
    await other.stop();
});
