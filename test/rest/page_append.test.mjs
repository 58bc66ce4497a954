// SPDX-License-Identifier: Apache-2.0
// Page and append blobs through the SDK.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startServer } from './lib.mjs';

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
