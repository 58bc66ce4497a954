// SPDX-License-Identifier: Apache-2.0
// Files over REST: last writer wins; a lease keeps others from writing.
import { ShareLeaseClient, ShareServiceClient } from '@azure/storage-file-share';
import { connection, expect, newName, outcome } from './common.mjs';

const share = ShareServiceClient.fromConnectionString(connection).getShareClient(newName('share'));
await share.create();
const file = share.rootDirectoryClient.getFileClient('counter.txt');
await file.create(2);
const write = (number, options) => file.uploadRange(String(number), 0, 2, options);
const read = async () => Number((await file.downloadToBuffer()).toString());

// The problem: there is no If-Match for files.
await write(10);
const ann = await read();
const bob = await read();
await write(ann + 1);
await write(bob + 1);
expect('10 + 1 + 1 without a lock', await read(), 11);

// The cure: lease, read, write, release. A file's lease has no end: release it, or break it for a holder who is gone.
const add = async (lease) => write(await read() + 1, { leaseAccessConditions: { leaseId: lease.leaseId } });
const anns = new ShareLeaseClient(file);
await anns.acquireLease();
expect('Bob writes while Ann holds the lease', await outcome(write(99)), '412 LeaseIdMissing');
expect('Bob wants the lease', await outcome(new ShareLeaseClient(file).acquireLease()), '409 LeaseAlreadyPresent');
await add(anns);
await anns.releaseLease();
const bobs = new ShareLeaseClient(file);
await bobs.acquireLease();
await add(bobs);
expect('11 + 1 + 1 with leases', await read(), 13);
await new ShareLeaseClient(file).breakLease();
expect('Bob writes after the operator broke his lease', (await outcome(add(bobs))).slice(0, 3), '412');
await share.delete();
