// SPDX-License-Identifier: Apache-2.0
// A container: last writer wins for its metadata, ETags are no help, and a lease guards its deletion.
import { BlobServiceClient } from '@azure/storage-blob';
import { connection, expect, newName, outcome } from './common.mjs';

const service = BlobServiceClient.fromConnectionString(connection);
const container = service.getContainerClient(newName('container'));
await container.create();
const metadata = async () => JSON.stringify((await container.getProperties()).metadata);

// The problem: each writer replaces all metadata.
await container.setMetadata({ owner: 'ann' });
await container.setMetadata({ project: 'bobs' });
expect("after Ann's and Bob's Set Container Metadata", await metadata(), '{"project":"bobs"}');
// ETags are no cure here: the service does not take If-Match for containers, and the SDK leaves it out without a word.
const { etag } = await container.getProperties();
await container.setMetadata({ project: 'carols' });
const late = container.setMetadata({ project: 'bobs' }, { conditions: { ifMatch: etag } });
expect('Set Container Metadata with an old ETag', await outcome(late), 'success');

// The cure: a lease, and the agreement to take it before changing anything.
const lease = container.getBlobLeaseClient();
await lease.acquireLease(15);
expect('Bob asks for the lease', await outcome(container.getBlobLeaseClient().acquireLease(15)), '409 LeaseAlreadyPresent');
await container.setMetadata({ owner: 'ann', project: 'bobs' });
expect('Ann has added to the metadata', await metadata(), '{"owner":"ann","project":"bobs"}');

// What the service itself guards is the deletion.
expect('Bob deletes the leased container', await outcome(container.delete()), '412 LeaseIdMissing');
expect('blobs are written without the id', await outcome(container.getBlockBlobClient('b').upload('x', 1)), 'success');
expect('Ann deletes it with the id', await outcome(container.delete({ conditions: { leaseId: lease.leaseId } })), 'success');
