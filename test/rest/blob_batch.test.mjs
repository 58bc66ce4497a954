// SPDX-License-Identifier: Apache-2.0
// SubmitBatch and SubmitBatchInContainer: through the SDK's BlobBatchClient, and raw.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { batchPart, submitBatch } from './blob_lib.mjs';
import { ACCOUNT, assertError, assertRejects, KEY, startServer, VERSION } from './lib.mjs';

let server;
let blobs;
let sdk;
before(async () => {
    server = await startServer({ services: ['blob'] });
    blobs = await server.blobs();
    sdk = await import('@azure/storage-blob');
});
after(() => server.stop());

async function filled(name, count) {
    const container = blobs.getContainerClient(name);
    await container.createIfNotExists();
    for (let i = 0; i < count; i++)
        await container.getBlockBlobClient(`b ${i}`).upload('x', 1);
    return container;
}

const urls = (container, count) => Array.from({ length: count }, (_, i) => container.getBlobClient(`b ${i}`).url);
const credential = () => new sdk.StorageSharedKeyCredential(ACCOUNT, KEY);

async function names(container) {
    const found = [];
    for await (const blob of container.listBlobsFlat())
        found.push(blob.name);
    return found;
}

test('delete and set tier through the SDK, at account and container scope', async () => {
    const container = await filled('batch1', 10);
    const other = await filled('batch2', 1);
    const tiers = await blobs.getBlobBatchClient().setBlobsAccessTier(urls(container, 10), credential(), 'Cool');
    assert.equal(tiers.subResponsesSucceededCount, 10);
    assert.equal((await container.getBlobClient('b 3').getProperties()).accessTier, 'Cool');
    const inContainer = await container.getBlobBatchClient().deleteBlobs(urls(container, 5), credential());
    assert.equal(inContainer.subResponsesSucceededCount, 5);
    assert.deepEqual(inContainer.subResponses.map((r) => r.status), [202, 202, 202, 202, 202]);
    assert.equal((await names(container)).length, 5);
    const both = await blobs.getBlobBatchClient()
        .deleteBlobs([...urls(container, 6).slice(5), ...urls(other, 1)], credential());
    assert.equal(both.subResponsesSucceededCount, 2);
});

test('each part has an outcome of its own', async () => {
    const container = await filled('batch3', 3);
    const lease = container.getBlobClient('b 1').getBlobLeaseClient();
    await lease.acquireLease(60);
    const etag = (await container.getBlobClient('b 2').getProperties()).etag;
    const batch = new sdk.BlobBatch();
    await batch.deleteBlob(container.getBlobClient('b 0').url, credential());
    await batch.deleteBlob(container.getBlobClient('b 1').url, credential());
    await batch.deleteBlob(container.getBlobClient('none').url, credential());
    await batch.deleteBlob(container.getBlobClient('b 2').url, credential(), { conditions: { ifMatch: '"0x1"' } });
    await batch.deleteBlob(container.getBlobClient('b 2').url, credential(), { conditions: { ifMatch: etag } });
    const answer = await blobs.getBlobBatchClient().submitBatch(batch);
    assert.deepEqual(answer.subResponses.map((r) => [r.status, r.errorCode]), [
        [202, undefined], [412, 'LeaseIdMissing'], [404, 'BlobNotFound'], [412, 'ConditionNotMet'], [202, undefined]]);
    assert.match(answer.subResponses[2].bodyAsText, /<Code>BlobNotFound<\/Code>/);
    assert.equal(new Set(answer.subResponses.map((r) => r.headers.get('x-ms-request-id'))).size, 5);
    assert.deepEqual(await names(container), ['b 1']);
});

test('parts are let in by their own SAS or key', async () => {
    const container = await filled('batch4', 3);
    const expiresOn = new Date(Date.now() + 3600e3);
    const sas = (blob, letters) => blob.generateSasUrl({ permissions: sdk.BlobSASPermissions.parse(letters), expiresOn });
    const batch = new sdk.BlobBatch();
    const anonymous = new sdk.AnonymousCredential();
    await batch.deleteBlob(await sas(container.getBlobClient('b 0'), 'd'), anonymous);
    await batch.deleteBlob(await sas(container.getBlobClient('b 1'), 'r'), anonymous);
    await batch.deleteBlob(container.getBlobClient('b 2').url, anonymous);
    const answer = await blobs.getBlobBatchClient().submitBatch(batch);
    assert.deepEqual(answer.subResponses.map((r) => [r.status, r.errorCode]), [[202, undefined],
        [403, 'AuthorizationPermissionMismatch'], [401, 'NoAuthenticationInformation']]);
    // The batch itself by a container's SAS; its parts by that SAS too.
    const url = await container.generateSasUrl({ permissions: sdk.ContainerSASPermissions.parse('dw'), expiresOn });
    const client = new sdk.ContainerClient(url);
    const bySas = await client.getBlobBatchClient().deleteBlobs([client.getBlobClient('b 1').url], anonymous);
    assert.equal(bySas.subResponses[0].status, 202);
    // No credentials for the batch: nothing of it is looked at.
    const nobody = new sdk.ContainerClient(container.url);
    await assertRejects(nobody.getBlobBatchClient().deleteBlobs([container.getBlobClient('b 2').url], credential()),
        401, 'NoAuthenticationInformation');
    assert.deepEqual(await names(container), ['b 2']);
});

// ---- raw ------------------------------------------------------------------------------------------------------------

const submit = (parts, how) => submitBatch(server, parts, how);
const remove = (name, container = 'batch5') => batchPart('DELETE', `/${ACCOUNT}/${container}/${name}`);

test('SubmitBatch: the answer’s form', async () => {
    await filled('batch5', 2);
    const text = `Content-ID: seven\r\n${remove('b%200')}`;
    const answer = await submit([text, remove('none')]);
    assert.equal(answer.status, 202);
    const [, boundary] = answer.headers['content-type'].match(/^multipart\/mixed; boundary=(batchresponse_[0-9a-f-]{36})$/);
    const [first, second, third, end] = answer.text.split(`--${boundary}`);
    assert.equal(first, '');
    assert.match(second, /^\r\nContent-Type: application\/http\r\nContent-ID: seven\r\n\r\nHTTP\/1.1 202 Accepted\r\n/);
    assert.match(second, new RegExp(`\r\nx-ms-version: ${VERSION}\r\n`));
    assert.match(second, /\r\n\r\n\r\n$/);
    const [head, body] = third.slice(2).split('\r\n\r\n').slice(1);
    assert.match(head, /^HTTP\/1.1 404 Not Found\r\n/);
    assert.equal(Number(head.match(/Content-Length: (\d+)/)[1]), body.trimEnd().length);
    assert.equal(end, '--\r\n');
});

test('SubmitBatch: what is wrong as a whole changes nothing', async () => {
    await filled('batch5', 2);
    const good = remove('b%200');
    const tier = batchPart('PUT', `/${ACCOUNT}/batch5/b%201?comp=tier`, { 'x-ms-access-tier': 'Cool' });
    const REFUSED = {
        'no part': [[]],
        'no end': [[good], { end: '' }],
        'a part that is no request': [[good, 'nonsense']],
        'nothing but garbage': [['nonsense']],
        'an operation that has no place in a batch': [[good, batchPart('GET', `/${ACCOUNT}/batch5/b%201`)]],
        'two kinds': [[good, tier]],
        'too many': [Array.from({ length: 257 }, () => good)],
    };
    for (const [what, args] of Object.entries(REFUSED)) {
        // 202 with one part without a number, which carries the error: SDKs tell by the count.
        const answer = await submit(...args);
        assert.equal(answer.status, 202, what);
        const [, boundary] = answer.headers['content-type'].match(/boundary=(batchresponse_[0-9a-f-]{36})$/);
        const [first, part, end] = answer.text.split(`--${boundary}`);
        assert.deepEqual([first, end], ['', '--\r\n'], what);
        assert.match(part, /^\r\nContent-Type: application\/http\r\n\r\nHTTP\/1.1 400 Bad Request\r\n/, what);
        assert.match(part, /\r\nx-ms-error-code: InvalidInput\r\n/, what);
        assert.match(part, /<Code>InvalidInput<\/Code>/, what);
    }
    assertError(await submit([good], { type: 'text/plain' }), 400, 'InvalidHeaderValue');
    assertError(await submit([good + ' '.repeat(4 << 20)]), 413, 'RequestBodyTooLarge');
    assert.deepEqual(await names(blobs.getContainerClient('batch5')), ['b 0', 'b 1']);
});

test('SubmitBatchInContainer: 256 parts; another container is refused in its part', async () => {
    await filled('batch5', 2);
    await filled('batch6', 1);
    const scope = { path: '/batch5', query: 'restype=container&comp=batch' };
    const answer = await submit([...Array.from({ length: 255 }, (_, i) => remove(`b%20${i % 3}`)),
        remove('b%200', 'batch6')], scope);
    assert.equal(answer.status, 202);
    const statuses = [...answer.text.matchAll(/HTTP\/1.1 (\d+)/g)].map(([, status]) => Number(status));
    assert.equal(statuses.length, 256);
    assert.equal(statuses.filter((status) => status === 202).length, 2);
    assert.equal(statuses.filter((status) => status === 404).length, 253);
    assert.equal(statuses[255], 400);
    assert.deepEqual(await names(blobs.getContainerClient('batch6')), ['b 0']);
    const wrong = await submit([batchPart('DELETE', `/${ACCOUNT}/batch6/b%200`, { Authorization: 'SharedKey x:y' }, { signed: false })]);
    assert.match(wrong.text, /HTTP\/1.1 403 /);
});
