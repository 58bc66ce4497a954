// SPDX-License-Identifier: Apache-2.0
// A consumer that takes too long: its message goes to another one, and its delete is refused.
import { QueueServiceClient } from '@azure/storage-queue';
import { connection, expect, letPass, newName, outcome } from './common.mjs';

const queue = QueueServiceClient.fromConnectionString(connection).getQueueClient(newName('work'));
await queue.create();
const get = async (seconds) => (await queue.receiveMessages({ visibilityTimeout: seconds })).receivedMessageItems[0];
const remove = (message) => outcome(queue.deleteMessage(message.messageId, message.popReceipt));
let sent = 0; // what the work does: here, it sends a letter

// The problem: Ann's work takes longer than her 5 seconds.
await queue.sendMessage('send the letter');
const ann = await get(5);
sent++;
await letPass(6);
const bob = await get(30);
sent++;
expect('letters sent', sent, 2);
expect("Ann's delete with her old receipt", await remove(ann), '400 PopReceiptMismatch');
expect("Bob's delete", await remove(bob), 'success');

// The cure: prolong while working, with the newest receipt, and make the work idempotent for the rest.
const done = new Set();
function sendOnce(id) {
    if (!done.has(id))
        sent++;
    done.add(id);
}
sent = 0;
await queue.sendMessage('send the letter');
const mine = await get(5);
const longer = await queue.updateMessage(mine.messageId, mine.popReceipt, undefined, 30);
expect('another consumer finds', await get(5), undefined);
sendOnce(mine.messageId);
sendOnce(mine.messageId); // as if it came again after a crash
expect('letters sent', sent, 1);
expect('a delete with the receipt from before the update', await remove(mine), '400 PopReceiptMismatch');
expect('a delete with the newest', await remove({ messageId: mine.messageId, popReceipt: longer.popReceipt }), 'success');
await queue.delete();
