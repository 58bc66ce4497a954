// SPDX-License-Identifier: Apache-2.0
// Shared access signatures of blobs and queues, made by the official SDKs' own generators.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as blobs from '@azure/storage-blob';
import * as queues from '@azure/storage-queue';
import { ACCOUNT, assertError, assertRejects, KEY, send, startServer, uniqueName } from './lib.mjs';

const VERSIONS = ['2015-04-05', '2018-11-09', '2020-12-06', '2021-08-06', '2025-11-05', '2026-10-06'];

let server;
let service;
let container;
let name;
const key = new blobs.StorageSharedKeyCredential(ACCOUNT, KEY);
const queueKey = new queues.StorageSharedKeyCredential(ACCOUNT, KEY);
const soon = () => new Date(Date.now() + 3600e3);

before(async () => {
    server = await startServer({ inMemory: true, services: ['blob', 'queue'] });
    service = await server.blobs();
    name = uniqueName('c');
    container = service.getContainerClient(name);
    await container.create();
    await container.getBlockBlobClient('dir/a blob').upload('hello', 5, { blobHTTPHeaders: { blobContentType: 'text/plain' } });
});
after(() => server.stop());

const noRetry = { retryOptions: { maxTries: 1 } };
const blobSas = (values) => blobs.generateBlobSASQueryParameters({ containerName: name, expiresOn: soon(), ...values }, key).toString();
const ofBlob = (letters, more = {}) => blobSas({ blobName: 'dir/a blob', permissions: blobs.BlobSASPermissions.parse(letters), ...more });
const ofContainer = (letters, more = {}) => blobSas({ permissions: blobs.ContainerSASPermissions.parse(letters), ...more });
const ofAccount = (letters, more = {}) => blobs.generateAccountSASQueryParameters({
    services: 'bqtf', resourceTypes: 'sco', expiresOn: soon(), permissions: blobs.AccountSASPermissions.parse(letters), ...more,
}, key).toString();
const blobAt = (sas, path = 'dir/a blob') =>
    new blobs.BlockBlobClient(`${container.url}/${path.split('/').map(encodeURIComponent).join('/')}?${sas}`, undefined, noRetry);
const containerAt = (sas) => new blobs.ContainerClient(`${container.url}?${sas}`, undefined, noRetry);
const raw = (method, path, query) =>
    send(server.ports.blob, 'blob', method, `/${ACCOUNT}/${name}${path}?${query}`, { 'Content-Length': method === 'PUT' ? 0 : undefined });
const blobPath = '/dir/a%20blob';
async function listed(client) {
    const names = [];
    for await (const blob of client.listBlobsFlat())
        names.push(blob.name);
    return names;
}

test('blob, container and account SAS of every version', async () => {
    for (const version of VERSIONS) {
        for (const sas of [ofBlob('r', { version }), ofContainer('r', { version }), ofAccount('r', { version })])
            assert.equal((await blobAt(sas).downloadToBuffer()).toString(), 'hello', version);
        assert.ok((await listed(containerAt(ofContainer('l', { version })))).includes('dir/a blob'));
        assert.ok((await listed(containerAt(ofAccount('l', { version })))).includes('dir/a blob'));
    }
});

test('a blob SAS is for that blob only, a container SAS for that container only', async () => {
    await assertRejects(blobAt(ofBlob('r'), 'other').getProperties(), 403, 'AuthenticationFailed');
    await assertRejects(listed(containerAt(ofBlob('r'))), 403, 'AuthenticationFailed');
    const elsewhere = ofContainer('rl', { containerName: 'elsewhere' });
    await assertRejects(blobAt(elsewhere).download(), 403, 'AuthenticationFailed');
});

test('letters: what is not given is refused', async () => {
    await assertRejects(blobAt(ofBlob('w')).download(), 403, 'AuthorizationPermissionMismatch');
    await assertRejects(blobAt(ofBlob('r')).upload('x', 1), 403, 'AuthorizationPermissionMismatch');
    await assertRejects(blobAt(ofBlob('rcw')).delete(), 403, 'AuthorizationPermissionMismatch');
    await assertRejects(listed(containerAt(ofContainer('rw'))), 403, 'AuthorizationPermissionMismatch');
    // Nothing about the container itself.
    await assertRejects(containerAt(ofContainer('racwdl')).getAccessPolicy(), 403, 'AuthorizationFailure');
    await assertRejects(containerAt(ofContainer('racwdl')).delete(), 403, 'AuthorizationFailure');
    await assertRejects(containerAt(ofAccount('racwdl')).setAccessPolicy('blob'), 403, 'AuthorizationFailure');
});

test('create lets create but not overwrite', async () => {
    const path = uniqueName('new');
    const sas = (letters) => ofBlob(letters, { blobName: path });
    await blobAt(sas('c'), path).upload('one', 3);
    await assertRejects(blobAt(sas('c'), path).upload('two', 3), 403, 'UnauthorizedBlobOverwrite');
    await assertRejects(blobAt(ofAccount('c'), path).upload('two', 3), 403, 'UnauthorizedBlobOverwrite');
    await blobAt(sas('w'), path).upload('two', 3);
    await blobAt(sas('cw'), path).upload('three', 5);
    assert.equal((await blobAt(sas('r'), path).downloadToBuffer()).toString(), 'three');
});

test('an account SAS reaches the services and types that it names', async () => {
    const list = (sas) => new blobs.BlobServiceClient(`${server.url('blob')}?${sas}`, undefined, noRetry).listContainers().next();
    assert.equal((await list(ofAccount('l'))).value.name, name);
    await assertRejects(list(ofAccount('l', { services: 'q' })), 403, 'AuthorizationServiceMismatch');
    await assertRejects(list(ofAccount('l', { resourceTypes: 'co' })), 403, 'AuthorizationResourceTypeMismatch');
    await assertRejects(list(ofAccount('r')), 403, 'AuthorizationPermissionMismatch');
    const own = new queues.QueueServiceClient(`${server.url('queue')}?${ofAccount('l')}`, undefined, noRetry);
    assert.ok((await own.listQueues().byPage().next()).value.queueItems !== undefined);
});

test('times', async () => {
    const at = (ms) => new Date(Date.now() + ms);
    await assertRejects(blobAt(ofBlob('r', { expiresOn: at(-1000) })).download(), 403, 'AuthenticationFailed');
    await assertRejects(blobAt(ofBlob('r', { startsOn: at(60e3) })).download(), 403, 'AuthenticationFailed');
    const sas = ofBlob('r', { startsOn: at(-60e3) });
    assert.equal((await blobAt(sas).getProperties()).contentLength, 5);
    server.advance(3601e3);
    await assertRejects(blobAt(sas).getProperties(), 403, 'AuthenticationFailed');
});

test('addresses and protocols are enforced', async () => {
    await blobAt(ofBlob('r', { ipRange: { start: '127.0.0.1' } })).getProperties();
    await blobAt(ofBlob('r', { ipRange: { start: '127.0.0.0', end: '127.0.0.5' } })).getProperties();
    await assertRejects(blobAt(ofBlob('r', { ipRange: { start: '10.0.0.1' } })).download(), 403, 'AuthorizationSourceIPMismatch');
    await blobAt(ofBlob('r', { protocol: 'https,http' })).getProperties();
    await assertRejects(blobAt(ofBlob('r', { protocol: 'https' })).download(), 403, 'AuthorizationProtocolMismatch');
});

test('a snapshot SAS is for the snapshot and not for the blob', async () => {
    const blob = container.getBlockBlobClient('dir/a blob');
    const { snapshot } = await blob.createSnapshot();
    const sas = ofBlob('r', { snapshotTime: snapshot });
    assert.equal((await raw('GET', blobPath, `snapshot=${encodeURIComponent(snapshot)}&${sas}`)).status, 200);
    assertError(await raw('GET', blobPath, sas), 403, 'AuthenticationFailed');
    const other = snapshot.replace(/\dZ$/, (last) => `${(Number(last[0]) + 1) % 10}Z`);
    assertError(await raw('GET', blobPath, `snapshot=${encodeURIComponent(other)}&${sas}`), 403, 'AuthenticationFailed');
});

test('the response headers that a SAS overrides', async () => {
    const answer = await raw('GET', blobPath, ofBlob('r', {
        cacheControl: 'no-store', contentDisposition: 'attachment; filename="a b"', contentEncoding: 'identity',
        contentLanguage: 'de', contentType: 'application/x-thing',
    }));
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['cache-control'], 'no-store');
    assert.equal(answer.headers['content-disposition'], 'attachment; filename="a b"');
    assert.equal(answer.headers['content-encoding'], 'identity');
    assert.equal(answer.headers['content-language'], 'de');
    assert.equal(answer.headers['content-type'], 'application/x-thing');
    // Unsigned, they are nothing: an account SAS does not sign them.
    const added = await raw('GET', blobPath, `${ofAccount('r')}&rsct=text%2Fhtml`);
    assert.equal(added.headers['content-type'], 'text/plain');
    assertError(await raw('GET', blobPath, `${ofBlob('r')}&rsct=text%2Fhtml`), 403, 'AuthenticationFailed');
    // Without a value they sign as if they were not there, and are not: else anybody could take a header away.
    const sas = ofBlob('r');
    for (const query of [sas, `${sas}&rsct=&rscd=&rscc=`, `rsct=&${sas}`, sas])
        assert.equal((await raw('GET', blobPath, query)).headers['content-type'], 'text/plain', query);
});

test('stored policies', async () => {
    const policies = [
        { id: 'reads', accessPolicy: { permissions: 'r', startsOn: new Date(Date.now() - 60e3), expiresOn: soon() } },
        { id: 'letters', accessPolicy: { permissions: 'r' } },
        { id: 'past', accessPolicy: { permissions: 'r', expiresOn: new Date(Date.now() - 60e3) } },
    ];
    await container.setAccessPolicy(undefined, policies);
    const by = (identifier, more = {}) => blobs.generateBlobSASQueryParameters({ containerName: name, blobName: 'dir/a blob', identifier, ...more }, key).toString();
    await blobAt(by('reads')).getProperties();
    await blobAt(by('letters', { expiresOn: soon() })).getProperties();
    await assertRejects(blobAt(by('letters')).download(), 403, 'AuthenticationFailed');
    await assertRejects(blobAt(by('past')).download(), 403, 'AuthenticationFailed');
    await assertRejects(blobAt(by('none')).download(), 403, 'AuthorizationFailure');
    await assertRejects(blobAt(by('reads', { expiresOn: soon() })).download(), 403, 'AuthenticationFailed');
    await assertRejects(blobAt(by('reads')).upload('x', 1), 403, 'AuthorizationPermissionMismatch');
    // Taking the policy away takes back what was signed with it, at once.
    await container.setAccessPolicy(undefined, []);
    await assertRejects(blobAt(by('reads')).download(), 403, 'AuthorizationFailure');
});

test('signatures that were cut, grown or changed', async () => {
    const sas = ofBlob('r');
    const signature = decodeURIComponent(sas.match(/sig=([^&]*)/)[1]);
    const withSignature = (text) => sas.replace(/sig=[^&]*/, `sig=${encodeURIComponent(text)}`);
    for (const text of ['', 'x', signature.slice(0, -1), signature + '=', signature + signature, signature.toLowerCase(),
        ` ${signature}`, `${signature}\n`, 'A'.repeat(10000)])
        assertError(await raw('GET', blobPath, withSignature(text)), 403, 'AuthenticationFailed');
    // A '+' that was pasted unescaped is still the same signature.
    assert.equal((await raw('GET', blobPath, sas.replaceAll('%2B', '+').replaceAll('%2F', '/'))).status, 200);
});

test('a parameter without a value does not pick another operation', async () => {
    const blob = container.getBlockBlobClient('kept');
    await blob.upload('kept', 4);
    const mine = (letters) => blobSas({ blobName: 'kept', permissions: blobs.BlobSASPermissions.parse(letters) });
    for (const [letters, query] of [['x', 'versionid='], ['x', 'versionid'], ['y', 'deletetype='], ['d', 'snapshot='], ['d', 'versionid='],
        ['x', 'VersionId=&versionid='], ['d', 'comp='], ['d', 'restype=']])
        assertError(await raw('DELETE', '/kept', `${query}&${mine(letters)}`), 400, 'InvalidQueryParameterValue');
    assertError(await raw('DELETE', '/kept', `${mine('x')}`), 403, 'AuthorizationPermissionMismatch');
    assertError(await raw('GET', '/kept', `snapshot=&${mine('r')}`), 400, 'InvalidQueryParameterValue');
    assert.equal((await blob.downloadToBuffer()).toString(), 'kept');
});

test('a plus in a query is a space, but in the signature', async () => {
    for (const blob of ['plus a b/x', 'plus a+b/x'])
        await container.getBlockBlobClient(blob).upload('x', 1);
    const list = async (sas, prefix) => (await raw('GET', '', `restype=container&comp=list&prefix=${prefix}&${sas}`)).xml('Name');
    for (const sas of [ofContainer('l'), ofAccount('l')]) {
        for (let twice = 0; twice < 2; twice++) { // the second time the SAS is known
            assert.deepEqual(await list(sas, 'plus+a+b%2F'), ['plus a b/x']);
            assert.deepEqual(await list(sas, 'plus%20a%2Bb%2F'), ['plus a+b/x']);
        }
    }
    // Values of the SAS itself, as Go writes a space. A plus that is meant as one is escaped.
    const sas = ofBlob('r', { contentDisposition: 'attachment; filename=a+b', identifier: undefined });
    assert.match(sas, /rscd=attachment%3B%20filename%3Da%2Bb/);
    const answer = await raw('GET', blobPath, sas.replaceAll('%20', '+'));
    assert.equal(answer.headers['content-disposition'], 'attachment; filename=a+b');
    assertError(await raw('GET', blobPath, sas.replace('a%2Bb', 'a+b')), 403, 'AuthenticationFailed');
    for (let i = 0, plus = false; !plus; i++) {
        const signed = ofBlob('r', { expiresOn: new Date(Date.now() + 3600e3 + i * 1000) });
        plus = signed.match(/sig=([^&]*)/)[1].includes('%2B');
        assert.equal((await raw('GET', blobPath, signed.replaceAll('%2B', '+'))).status, 200);
    }
});

test('parameters twice, in other cases, and unknown ones', async () => {
    const sas = ofBlob('r');
    for (const extra of ['&sp=rwd', '&SP=rwd', '&se=2999-01-01', '&sig=x', '&sr=c', '&sip=1.2.3.4', '&si=x', '&ss=b', '&srt=o', '&skoid=x'])
        assertError(await raw('GET', blobPath, sas + extra), 403, 'AuthenticationFailed');
    assert.equal((await raw('GET', blobPath, `${sas}&unknown=1&timeout=20`)).status, 200);
    assert.equal((await raw('GET', blobPath, sas.replace(/(^|&)(\w+)=/g, (_, and, n) => `${and}${n.toUpperCase()}=`))).status, 200);
    for (const missing of ['sv', 'sr', 'sp', 'se'])
        assertError(await raw('GET', blobPath, sas.replace(new RegExp(`(^|&)${missing}=[^&]*`), '')), 403, 'AuthenticationFailed');
    assertError(await raw('GET', blobPath, sas.replace(/sv=[^&]*/, 'sv=yesterday')), 403, 'AuthenticationFailed');
});

test('a signed Authorization goes before a SAS', async () => {
    const answer = await server.request('blob', 'GET', `/${name}${blobPath}`, { query: ofBlob('w') });
    assert.equal(answer.status, 200);
});

test('queue SAS', async () => {
    const queueService = await server.queues();
    const queueName = uniqueName('q');
    const queue = queueService.getQueueClient(queueName);
    await queue.create();
    const at = (letters, more = {}) => new queues.QueueClient(`${queue.url}?${queues.generateQueueSASQueryParameters({
        queueName, expiresOn: soon(), permissions: queues.QueueSASPermissions.parse(letters), ...more }, queueKey)}`, undefined, noRetry);
    for (const version of VERSIONS) {
        await at('a', { version }).sendMessage('m');
        assert.equal((await at('r', { version }).peekMessages()).peekedMessageItems.length, 1);
        const [message] = (await at('p', { version }).receiveMessages()).receivedMessageItems;
        const { popReceipt } = await at('u', { version }).updateMessage(message.messageId, message.popReceipt, 'n', 0);
        await at('p', { version }).deleteMessage(message.messageId, popReceipt);
    }
    await assertRejects(at('r').sendMessage('m'), 403, 'AuthorizationPermissionMismatch');
    await assertRejects(at('raup').clearMessages(), 403, 'AuthorizationFailure');
    await assertRejects(at('raup').delete(), 403, 'AuthorizationFailure');
    await assertRejects(at('a', { queueName: 'another' }).sendMessage('m'), 403, 'AuthenticationFailed');
    await queue.setAccessPolicy([{ id: 'adds', accessPolicy: { permissions: 'a', startsOn: new Date(Date.now() - 60e3), expiresOn: soon() } }]);
    const byPolicy = new queues.QueueClient(`${queue.url}?${queues.generateQueueSASQueryParameters({ queueName, identifier: 'adds' }, queueKey)}`, undefined, noRetry);
    await byPolicy.sendMessage('m');
});
