// SPDX-License-Identifier: Apache-2.0
// A lease locks a blob: without it Bob writes into the middle of Ann's work, with it he is kept out until she is done or gone.
import { BlobServiceClient } from '@azure/storage-blob';
import { connection, expect, letPass, newName, outcome } from './common.mjs';

const container = BlobServiceClient.fromConnectionString(connection).getContainerClient(newName('lease'));
await container.create();
const stock = container.getBlockBlobClient('stock');
const write = (text, leaseId) => stock.upload(text, text.length, { conditions: leaseId && { leaseId } });
const read = async () => (await stock.downloadToBuffer()).toString();

// The problem: Ann takes 3 of 10 and needs a while; Bob takes 5 meanwhile.
await write('10');
const seen = Number(await read());
await write(String(10 - 5)); // Bob
await write(String(seen - 3)); // Ann
expect('10 - 5 - 3 without a lock', await read(), '7');

// The cure: Ann locks first.
await write('10');
const lease = stock.getBlobLeaseClient();
const { leaseId } = await lease.acquireLease(15);
expect('Bob writes while Ann holds the lease', await outcome(write('5')), '412 LeaseIdMissing');
expect('Bob wants the lease', await outcome(stock.getBlobLeaseClient().acquireLease(15)), '409 LeaseAlreadyPresent');
expect('Bob reads, which everybody may', await read(), '10');
await write(String(Number(await read()) - 3), leaseId);
await lease.releaseLease();
const bobs = stock.getBlobLeaseClient();
const { leaseId: bobsId } = await bobs.acquireLease(15);
await write(String(Number(await read()) - 5), bobsId);
expect('10 - 3 - 5 with leases', await read(), '2');

// A holder who is gone: the lease ends by itself, and who comes back late is told.
await letPass(16);
expect('Bob writes after his lease has ended', await outcome(write('0', bobsId)), '412 LeaseLost');
expect('Ann gets the lease', await outcome(lease.acquireLease(15)), 'success');
expect('the stock', await read(), '2');
await lease.breakLease(0);
await container.delete();
