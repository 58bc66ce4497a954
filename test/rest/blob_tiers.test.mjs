// SPDX-License-Identifier: Apache-2.0
// SetBlobTier of snapshots, the tier Smart, premium tiers of page blobs, DeleteBlob by the time of the tier's change.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertError, assertRejects, startServer } from './lib.mjs';

let server;
let container;
before(async () => {
    server = await startServer({ services: ['blob'] });
    container = (await server.blobs()).getContainerClient('tiers');
    await container.create();
});
after(() => server.stop());

const SMART = '2026-06-06';
const raw = (method, name, options) => server.request('blob', method, `/tiers/${name}`, options);

test('a snapshot has a tier of its own', async () => {
    const blob = container.getBlockBlobClient('snap');
    await blob.upload('x', 1, { tier: 'Hot' });
    const { snapshot } = await blob.createSnapshot();
    const past = blob.withSnapshot(snapshot);
    await past.setAccessTier('Archive');
    assert.equal((await past.getProperties()).accessTier, 'Archive');
    assert.equal((await blob.getProperties()).accessTier, 'Hot');
    await assertRejects(past.download(), 409, 'BlobArchived');
    // It comes back by a copy alone.
    await assertRejects(past.setAccessTier('Cool'), 409, 'BlobOperationNotSupported');
    const second = blob.withSnapshot((await blob.createSnapshot()).snapshot);
    await second.setAccessTier('Cool');
    assert.equal((await second.getProperties()).accessTier, 'Cool');
});

test('Smart, from 2026-06-06 on', async () => {
    const version = (v, more = {}) => ({ 'x-ms-version': v, 'x-ms-blob-type': 'BlockBlob', 'x-ms-access-tier': 'Smart', ...more });
    assertError(await raw('PUT', 'smart', { headers: version('2026-02-06'), body: 'x' }), 400, 'InvalidHeaderValue');
    assert.equal((await raw('PUT', 'smart', { headers: version(SMART), body: 'x' })).status, 201);
    const head = await raw('HEAD', 'smart', { headers: { 'x-ms-version': SMART } });
    assert.equal(head.headers['x-ms-access-tier'], 'Smart');
    assert.equal(head.headers['x-ms-smart-access-tier'], 'Hot');
    assert.equal((await raw('GET', 'smart')).text, 'x');
    const set = (tier, v = SMART) => raw('PUT', 'smart', { query: 'comp=tier', headers: { 'x-ms-version': v, 'x-ms-access-tier': tier } });
    assert.equal((await set('Archive')).status, 200);
    assert.equal((await set('Cool')).status, 202);
    assert.equal((await set('Smart')).status, 200);
    const listed = await server.request('blob', 'GET', '/tiers', { query: 'restype=container&comp=list&prefix=smart' });
    assert.match(listed.text, /<AccessTier>Smart<\/AccessTier><SmartAccessTier>Hot<\/SmartAccessTier>/);
    // Out of the archive it comes like the others (a blob that takes its time: tier_test.c).
    assert.equal((await set('Archive')).status, 200);
    assert.equal((await set('Smart')).status, 202);
    assert.equal((await raw('HEAD', 'smart')).headers['x-ms-access-tier'], 'Smart');
    assertError(await set('Smart', '2025-11-05'), 400, 'InvalidHeaderValue');
});

test('premium tiers only go up, and only for page blobs that fit', async () => {
    const page = container.getPageBlobClient('page');
    await page.create(512, { tier: 'P10' });
    assert.equal((await page.getProperties()).accessTier, 'P10');
    await page.setAccessTier('P20');
    await assertRejects(page.setAccessTier('P15'), 409, 'CannotChangeToLowerTier');
    await assertRejects(page.setAccessTier('Cool'), 400, 'InvalidBlobTier');
    await assertRejects(container.getBlockBlobClient('snap').setAccessTier('P10'), 400, 'InvalidBlobTier');
});

test('DeleteBlob: by when the tier was changed', async () => {
    const blob = container.getBlockBlobClient('old');
    await blob.upload('x', 1);
    await blob.setAccessTier('Cool');
    const changed = (await blob.getProperties()).accessTierChangedOn;
    const date = (ms) => new Date(changed.getTime() + ms).toUTCString();
    const remove = (name, value) => raw('DELETE', 'old', { headers: { [`x-ms-access-tier-if-${name}`]: value } });
    assertError(await remove('modified-since', date(0)), 412, 'AccessTierChangeTimeConditionNotMet');
    assertError(await remove('unmodified-since', date(-1000)), 412, 'AccessTierChangeTimeConditionNotMet');
    assertError(await remove('unmodified-since', 'yesterday'), 400, 'InvalidHeaderValue');
    assert.equal((await remove('modified-since', date(-1000))).status, 202);
    await blob.upload('x', 1, { tier: 'Cold' });
    assert.equal((await remove('unmodified-since', date(3600000))).status, 202);
});
