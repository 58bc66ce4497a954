// SPDX-License-Identifier: Apache-2.0
// Page and append blobs through the SDK.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertError, startServer } from './lib.mjs';

let server;
let container;
before(async () => {
    server = await startServer({ services: ['blob'] });
    container = (await server.blobs()).getContainerClient('pages');
    await container.create();
});
after(() => server.stop());

const filled = (n, value) => Buffer.alloc(n, value);
// The SDK's count is the last byte's offset less the first one's: one short of the length.
const range = (offset, length) => ({ offset, count: length - 1 });

test('page blobs: create, write, clear, read, ranges', async () => {
    const page = container.getPageBlobClient('disk.vhd');
    await page.create(8 * 1024 * 1024, { blobSequenceNumber: 3 });
    await page.uploadPages(filled(1024, 'a'), 512, 1024);
    await page.uploadPages(filled(4 * 1024 * 1024, 'b'), 2 * 1024 * 1024, 4 * 1024 * 1024);
    const whole = await page.downloadToBuffer();
    assert.equal(whole.length, 8 * 1024 * 1024);
    assert.equal(whole[511], 0);
    assert.equal(whole[512], 97);
    assert.equal(whole[6 * 1024 * 1024 - 1], 98);
    assert.equal(whole[6 * 1024 * 1024], 0);
    const ranges = await page.getPageRanges();
    assert.deepEqual(ranges.pageRange, [range(512, 1024), range(2097152, 4194304)]);
    await page.clearPages(0, 1024);
    assert.deepEqual((await page.getPageRanges(0, 4096)).pageRange, [range(1024, 512)]);
    const properties = await page.getProperties();
    assert.equal(properties.blobType, 'PageBlob');
    assert.equal(properties.blobSequenceNumber, 3);
});

test('page blobs: resize, sequence numbers and their conditions', async () => {
    const page = container.getPageBlobClient('numbers');
    await page.create(1024);
    await page.resize(4096);
    assert.equal((await page.getProperties()).contentLength, 4096);
    assert.equal((await page.updateSequenceNumber('update', 7)).blobSequenceNumber, 7);
    assert.equal((await page.updateSequenceNumber('increment')).blobSequenceNumber, 8);
    await assert.rejects(page.uploadPages(filled(512, 'x'), 0, 512, { conditions: { ifSequenceNumberLessThan: 8 } }),
        (e) => e.statusCode === 412 && e.code === 'SequenceNumberConditionNotMet');
    await page.uploadPages(filled(512, 'x'), 0, 512, { conditions: { ifSequenceNumberEqualTo: 8 } });
});

test('page blobs: what changed since a snapshot', async () => {
    const page = container.getPageBlobClient('diff');
    await page.create(65536);
    await page.uploadPages(filled(4096, 'a'), 0, 4096);
    const { snapshot } = await page.createSnapshot();
    await page.uploadPages(filled(512, 'b'), 8192, 512);
    await page.clearPages(0, 512);
    const diff = await page.getPageRangesDiff(0, 65536, snapshot);
    assert.deepEqual(diff.pageRange, [range(8192, 512)]);
    assert.deepEqual(diff.clearRange, [range(0, 512)]);
    assert.equal((await page.withSnapshot(snapshot).downloadToBuffer())[0], 97);
    // What came and went since is cleared, too.
    await page.uploadPages(filled(1536, 'c'), 16384, 1536);
    await page.clearPages(16896, 512);
    const second = await page.getPageRangesDiff(16384, 4096, snapshot);
    assert.deepEqual(second.pageRange, [range(16384, 512), range(17408, 512)]);
    assert.deepEqual(second.clearRange, [range(16896, 512)]);
});

test('page blobs: page ranges in pages, the last of which says so', async () => {
    const page = container.getPageBlobClient('paged');
    await page.create(8192);
    for (const offset of [0, 1024, 2048])
        await page.uploadPages(filled(512, 'a'), offset, 512);
    const get = (query) => server.request('blob', 'GET', `/${container.containerName}/paged`, { query: { comp: 'pagelist', ...query } });
    const [marker] = (await get({ maxresults: 2 })).xml('NextMarker');
    const last = await get({ maxresults: 2, marker });
    assert.deepEqual([last.xml('Start'), last.xml('NextMarker')], [['2048'], ['']]);
    assert.deepEqual((await get({})).xml('NextMarker'), []);
    // A range that ends within a page takes all of it.
    const whole = await server.request('blob', 'GET', '/pages/paged', { query: 'comp=pagelist', headers: { 'x-ms-range': 'bytes=100-1030' } });
    assert.deepEqual([whole.xml('Start'), whole.xml('End')], [['0', '1024'], ['511', '1535']]);
});

test('page blobs: a condition that no sequence number can meet', async () => {
    const page = container.getPageBlobClient('negative');
    await page.create(512);
    for (const name of ['le', 'lt', 'eq']) {
        const put = (value) => server.request('blob', 'PUT', `/${container.containerName}/negative`, { query: { comp: 'page' },
            headers: { 'x-ms-page-write': 'clear', 'x-ms-range': 'bytes=0-511', [`x-ms-if-sequence-number-${name}`]: value } });
        assertError(await put('-1'), 400, 'InvalidInput');
        assertError(await put('x'), 400, 'InvalidHeaderValue');
    }
});

test('page blobs: bad ranges and sizes are refused', async () => {
    const page = container.getPageBlobClient('bad');
    await assert.rejects(page.create(1000), (e) => e.statusCode === 400 && e.code === 'InvalidHeaderValue');
    await page.create(1024);
    await assert.rejects(page.uploadPages(filled(512, 'x'), 1024, 512), (e) => e.statusCode === 416 && e.code === 'InvalidPageRange');
    await assert.rejects(page.uploadPages(filled(500, 'x'), 0, 500), (e) => e.statusCode === 416 && e.code === 'InvalidPageRange');
    await assert.rejects(container.getBlockBlobClient('bad').stageBlock('AAAA', 'x', 1),
        (e) => e.statusCode === 409 && e.code === 'InvalidBlobType');
    assert.deepEqual((await page.getPageRanges()).pageRange, []);
});

test('append blobs: append, conditions, seal', async () => {
    const log = container.getAppendBlobClient('log');
    await log.create();
    const first = await log.appendBlock('one,', 4);
    assert.equal(first.blobAppendOffset, '0');
    const second = await log.appendBlock('two', 3, { conditions: { appendPosition: 4, maxSize: 7 } });
    assert.equal(second.blobCommittedBlockCount, 2);
    await assert.rejects(log.appendBlock('x', 1, { conditions: { appendPosition: 4 } }),
        (e) => e.statusCode === 412 && e.code === 'AppendPositionConditionNotMet');
    await assert.rejects(log.appendBlock('x', 1, { conditions: { maxSize: 7 } }),
        (e) => e.statusCode === 412 && e.code === 'MaxBlobSizeConditionNotMet');
    assert.equal((await log.downloadToBuffer()).toString(), 'one,two');
    await log.seal();
    await assert.rejects(log.appendBlock('x', 1), (e) => e.statusCode === 409 && e.code === 'BlobIsSealed');
    const properties = await log.getProperties();
    assert.equal(properties.isSealed, true);
    assert.equal(properties.blobCommittedBlockCount, 2);
});
