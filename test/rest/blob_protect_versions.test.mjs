// SPDX-License-Identifier: Apache-2.0
// Immutability policies and legal holds where the account has versions.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertRejects, startServer } from './lib.mjs';

let server;
before(async () => {
    server = await startServer({ services: ['blob'], args: ['--blob-versioning', 'on'] });
});
after(() => server.stop());

test('what is overwritten or deleted stays as a protected version', async () => {
    const expiriesOn = new Date(Math.floor(Date.now() / 1000) * 1000 + 3600e3);
    const container = (await server.blobs()).getContainerClient('versions');
    await container.create();
    const blob = container.getBlockBlobClient('b');
    const { versionId } = await blob.upload('old', 3);
    await blob.setImmutabilityPolicy({ expiriesOn, policyMode: 'Unlocked' });
    await blob.upload('new', 3);
    assert.equal((await blob.getProperties()).immutabilityPolicyMode, undefined);
    const version = blob.withVersion(versionId);
    assert.equal((await version.downloadToBuffer()).toString(), 'old');
    assert.equal((await version.getProperties()).immutabilityPolicyMode, 'unlocked');
    await assertRejects(version.delete(), 409, 'BlobImmutableDueToPolicy');
    await blob.delete();
    await assertRejects(container.delete(), 409, 'BlobImmutableDueToPolicy');
    await version.deleteImmutabilityPolicy();
    await version.setLegalHold(true);
    await assertRejects(version.delete(), 409, 'BlobImmutableDueToLegalHold');
    await version.setLegalHold(false);
    await version.setAccessTier('Cool');
    assert.equal((await version.getProperties()).accessTier, 'Cool');
    await version.delete();
    await container.delete();
});

test('what is on hold is overwritten, not deleted', async () => {
    const container = (await server.blobs()).getContainerClient('holds');
    await container.create();
    const blob = container.getBlockBlobClient('b');
    const { versionId } = await blob.upload('old', 3);
    await blob.setLegalHold(true);
    await assertRejects(blob.delete(), 409, 'BlobImmutableDueToLegalHold');
    await blob.upload('new', 3);
    await blob.delete();
    assert.equal((await blob.withVersion(versionId).getProperties()).legalHold, true);
});
