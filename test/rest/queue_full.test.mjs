// SPDX-License-Identifier: Apache-2.0
// A queue that has filled the disk can be emptied: get and delete still work when put is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertError, disksCanBeMade, startServer } from './lib.mjs';

const TEXT_BYTES = 60000;
const MESSAGES_MAX = 10000; // far more than the disk takes

const textOf = (n) => `${n} `.padEnd(TEXT_BYTES, 'x');

/** Puts messages until there is no space; returns their number. */
async function fill(server) {
    for (let n = 0; n < MESSAGES_MAX; n++) {
        const body = `<QueueMessage><MessageText>${textOf(n)}</MessageText></QueueMessage>`;
        const answer = await server.request('queue', 'POST', '/full/messages', { body });
        if (answer.status !== 201) {
            assertError(answer, 507, 'InsufficientStorage');
            return n;
        }
    }
    throw new Error('the disk did not fill');
}

test('GetMessages, DeleteMessage: from a full disk', async (t) => {
    if (!disksCanBeMade())
        return t.skip('neither root nor a user namespace may mount a small disk here');
    const server = await startServer({ services: ['queue'], disk: '16m' });
    const queue = (await server.queues()).getQueueClient('full');
    await queue.create();
    const count = await fill(server);
    assert.ok(count > 100, `${count} messages`);
    assert.equal((await queue.getProperties()).approximateMessagesCount, count);
    for (let next = 0; next < count;) {
        const { receivedMessageItems } = await queue.receiveMessages({ numberOfMessages: 32, visibilityTimeout: 3600 });
        assert.ok(receivedMessageItems.length > 0, `nothing got after ${next} of ${count}`);
        for (const message of receivedMessageItems)
            assert.ok(message.messageText === textOf(next++), `the text of message ${next - 1}`);
        await Promise.all(receivedMessageItems.map((m) => queue.deleteMessage(m.messageId, m.popReceipt)));
    }
    assert.equal((await queue.receiveMessages()).receivedMessageItems.length, 0);
    assert.equal((await queue.getProperties()).approximateMessagesCount, 0);
    await server.stop();
});
