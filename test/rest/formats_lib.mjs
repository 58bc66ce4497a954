// SPDX-License-Identifier: Apache-2.0
// A store with some data of every service: how it is written, and what later versions must read.
import assert from 'node:assert/strict';

const small = Buffer.from('a small blob');
const large = Buffer.from(Array.from({ length: 300000 }, (_, i) => (i * 7 + (i >> 8)) & 255));

/** Fills the server with data that every version since the first supports. */
export async function write(server) {
    const container = (await server.blobs()).getContainerClient('kept');
    await container.create({ metadata: { since: 'first' } });
    await container.getBlockBlobClient('small').upload(small, small.length, { metadata: { a: 'b' }, blobHTTPHeaders: { blobContentType: 'text/plain' } });
    await container.getBlockBlobClient('large').upload(large, large.length);
    await container.getBlockBlobClient('replaced').upload('before', 6);
    await container.getBlockBlobClient('replaced').upload('behind', 6);
    const staged = container.getBlockBlobClient('blocks');
    for (const id of ['MQ==', 'Mg=='])
        await staged.stageBlock(id, large.subarray(0, 100000), 100000);
    await staged.commitBlockList(['Mg==', 'MQ==']);
    await staged.createSnapshot();
    await container.getBlobClient('small').getBlobLeaseClient('c9da6455-213d-42c9-9a79-3e9149a57833').acquireLease(-1);
    const queue = (await server.queues()).getQueueClient('jobs');
    await queue.create();
    for (let i = 0; i < 40; i++)
        await queue.sendMessage(`job ${i}`, { messageTimeToLive: -1 });
    await (await server.tables()).createTable('Rows');
    const table = await server.table('Rows');
    for (let i = 0; i < 20; i++)
        await table.createEntity({ partitionKey: `p${i % 3}`, rowKey: String(i), number: i, text: 'x'.repeat(i * 100) });
    const share = (await server.shares()).getShareClient('disk');
    await share.create();
    const directory = share.getDirectoryClient('folder');
    await directory.create();
    const file = directory.getFileClient('file');
    await file.create(large.length);
    await file.uploadRange(large, 0, large.length);
}

/** All of it is there, byte for byte. */
export async function read(server) {
    const container = (await server.blobs()).getContainerClient('kept');
    assert.equal((await container.getProperties()).metadata.since, 'first');
    assert.deepEqual(await container.getBlobClient('small').downloadToBuffer(), small);
    const properties = await container.getBlobClient('small').getProperties();
    assert.deepEqual([properties.metadata.a, properties.contentType, properties.leaseState], ['b', 'text/plain', 'leased']);
    assert.deepEqual(await container.getBlobClient('large').downloadToBuffer(), large);
    assert.equal((await container.getBlobClient('replaced').downloadToBuffer()).toString(), 'behind');
    const twice = Buffer.concat([large.subarray(0, 100000), large.subarray(0, 100000)]);
    const heads = [];
    for await (const blob of container.listBlobsFlat({ includeSnapshots: true, prefix: 'blocks' })) {
        const client = container.getBlobClient('blocks');
        heads.push(await (blob.snapshot ? client.withSnapshot(blob.snapshot) : client).downloadToBuffer());
    }
    assert.deepEqual(heads, [twice, twice]);
    const queue = (await server.queues()).getQueueClient('jobs');
    const peeked = (await queue.peekMessages({ numberOfMessages: 32 })).peekedMessageItems.map((m) => m.messageText);
    assert.deepEqual(peeked, Array.from({ length: 32 }, (_, i) => `job ${i}`));
    assert.equal((await queue.getProperties()).approximateMessagesCount, 40);
    const table = await server.table('Rows');
    let count = 0;
    for await (const entity of table.listEntities()) {
        assert.deepEqual([entity.number, entity.text.length], [Number(entity.rowKey), Number(entity.rowKey) * 100]);
        count++;
    }
    assert.equal(count, 20);
    const share = (await server.shares()).getShareClient('disk');
    assert.deepEqual(await share.getDirectoryClient('folder').getFileClient('file').downloadToBuffer(), large);
}

/** And it can be written to. */
export async function change(server) {
    const container = (await server.blobs()).getContainerClient('kept');
    await container.getBlockBlobClient('later').upload('written by a later version', 26);
    await (await server.queues()).getQueueClient('jobs').sendMessage('later', { messageTimeToLive: -1 });
    await (await server.queues()).getQueueClient('jobs').receiveMessages({ numberOfMessages: 32 });
}
