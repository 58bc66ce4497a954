// SPDX-License-Identifier: Apache-2.0
// Two clients add one to a number in a blob at the same time: without conditions an addition is lost, with If-Match it is not.
import { BlobServiceClient } from '@azure/storage-blob';
import { connection, expect, newName, outcome } from './common.mjs';

const container = BlobServiceClient.fromConnectionString(connection).getContainerClient(newName('optimistic'));
await container.create();
const counter = container.getBlockBlobClient('counter');

const write = (number, conditions) => counter.upload(String(number), String(number).length, { conditions });
async function read() {
    const { etag } = await counter.getProperties();
    // With the condition, content and ETag are of the same moment.
    const content = await counter.downloadToBuffer(0, undefined, { conditions: { ifMatch: etag } });
    return { number: Number(content), etag };
}

// The problem: last writer wins.
await write(10);
let ann = await read();
let bob = await read();
await write(ann.number + 1);
await write(bob.number + 1);
expect('10 + 1 + 1 without a condition', (await read()).number, 11);

// The cure: write only if nobody has written since.
await write(10);
ann = await read();
bob = await read();
await write(ann.number + 1, { ifMatch: ann.etag });
expect("Bob's write with his old ETag", await outcome(write(bob.number + 1, { ifMatch: bob.etag })), '412 ConditionNotMet');
bob = await read();
await write(bob.number + 1, { ifMatch: bob.etag });
expect('10 + 1 + 1 with If-Match, after Bob read again', (await read()).number, 12);

// In general: a loop. Eight clients at once, each adds one.
async function addOne() {
    for (let attempt = 0; attempt < 100; attempt++) {
        const { number, etag } = await read().catch(() => ({}));
        if (etag !== undefined && await outcome(write(number + 1, { ifMatch: etag })) === 'success')
            return;
        await new Promise((done) => { setTimeout(done, Math.random() * 5 * (attempt + 1)); });
    }
    throw new Error('100 attempts were not enough');
}
await Promise.all(Array.from({ length: 8 }, addOne));
expect('12 + 8 times 1, all at once', (await read()).number, 20);

// Create only once: of two clients one succeeds.
const once = container.getBlockBlobClient('once');
const create = () => outcome(once.upload('x', 1, { conditions: { ifNoneMatch: '*' } }));
expect('the first create', await create(), 'success');
expect('the second create', await create(), '409 BlobAlreadyExists');
await container.delete();
