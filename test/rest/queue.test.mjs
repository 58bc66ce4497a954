// SPDX-License-Identifier: Apache-2.0
// The queue service through the official SDK and through raw requests.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { assertError, startServer, uniqueName } from './lib.mjs';

let server;
let service;

before(async () => {
    server = await startServer({ inMemory: true, services: ['queue'] });
    service = await server.queues();
});
after(() => server.stop());

async function newQueue(options) {
    const queue = service.getQueueClient(uniqueName('q'));
    await queue.create(options);
    return queue;
}

const rejectsWith = (promise, status, code) => assert.rejects(promise, (error) => {
    assert.equal(error.statusCode, status, error.message);
    assert.equal(error.code ?? error.details?.errorCode, code, error.message);
    return true;
});

const message = (text) => `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`;
const raw = (method, path, options) => server.request('queue', method, path, options);

/** The texts that a peek of 32 sees. */
async function texts(queue) {
    const { peekedMessageItems } = await queue.peekMessages({ numberOfMessages: 32 });
    return peekedMessageItems.map((m) => m.messageText);
}

test('CreateQueue: 201, the same metadata 204, others 409', async () => {
    const queue = service.getQueueClient(uniqueName('q'));
    assert.equal((await queue.create({ metadata: { color: 'blue', Size: '1' } }))._response.status, 201);
    assert.equal((await queue.create({ metadata: { size: '1', Color: 'blue' } }))._response.status, 204);
    await rejectsWith(queue.create({ metadata: { color: 'Blue', size: '1' } }), 409, 'QueueAlreadyExists');
    await rejectsWith(queue.create(), 409, 'QueueAlreadyExists');
    assert.equal((await queue.createIfNotExists({ metadata: { color: 'blue', Size: '1' } })).succeeded, false);
    const { metadata } = await queue.getProperties();
    assert.deepEqual(metadata, { color: 'blue', size: '1' });
});

test('CreateQueue: names', async () => {
    for (const [name, code] of [['ab', 'OutOfRangeInput'], ['a'.repeat(64), 'OutOfRangeInput'], ['Abc', 'InvalidResourceName'],
        ['a--b', 'InvalidResourceName'], ['-abc', 'InvalidResourceName'], ['abc-', 'InvalidResourceName'], ['a_b', 'InvalidResourceName']])
        assertError(await raw('PUT', `/${name}`), 400, code);
    for (const name of ['abc', 'a'.repeat(63), '1-2-3'])
        assert.equal((await raw('PUT', `/${name}`)).status, 201);
});

test('CreateQueue: metadata', async () => {
    const name = uniqueName('q');
    assertError(await raw('PUT', `/${name}`, { headers: { 'x-ms-meta-': 'v' } }), 400, 'EmptyMetadataKey');
    assertError(await raw('PUT', `/${name}`, { headers: { 'x-ms-meta-1a': 'v' } }), 400, 'InvalidMetadata');
    assertError(await raw('PUT', `/${name}`, { headers: { 'x-ms-meta-a': 'v'.repeat(8192) } }), 400, 'MetadataTooLarge');
    assertError(await raw('GET', `/${name}`, { query: 'comp=metadata' }), 404, 'QueueNotFound');
});

test('DeleteQueue', async () => {
    const queue = await newQueue();
    await queue.sendMessage('x');
    assert.equal((await queue.delete())._response.status, 204);
    await rejectsWith(queue.delete(), 404, 'QueueNotFound');
    await rejectsWith(queue.sendMessage('x'), 404, 'QueueNotFound');
    await rejectsWith(queue.receiveMessages(), 404, 'QueueNotFound');
    await rejectsWith(queue.peekMessages(), 404, 'QueueNotFound');
    await rejectsWith(queue.clearMessages(), 404, 'QueueNotFound');
    await rejectsWith(queue.setMetadata({ a: 'b' }), 404, 'QueueNotFound');
    assert.equal((await queue.create())._response.status, 201);
    assert.deepEqual(await texts(queue), []);
});

test('GetQueueMetadata and SetQueueMetadata; rule_Q2: the last writer wins', async () => {
    const queue = await newQueue({ metadata: { first: 'x' } });
    assert.equal((await queue.setMetadata({ a: '1' }))._response.status, 204);
    await queue.setMetadata({ B: '2', c: '3' });
    const got = await queue.getProperties();
    assert.deepEqual(got.metadata, { b: '2', c: '3' });
    assert.equal(got.approximateMessagesCount, 0);
    const answer = await raw('HEAD', `/${queue.name}`, { query: 'comp=metadata' });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['x-ms-meta-b'], '2');
    assert.equal(answer.headers['x-ms-approximate-messages-count'], '0');
    assert.ok(answer.rawHeaders.includes('x-ms-meta-B'));
    await queue.setMetadata();
    assert.deepEqual((await queue.getProperties()).metadata, {});
});

test('ListQueues', async () => {
    const prefix = uniqueName('list');
    for (const suffix of ['b', 'a', 'c'])
        await service.createQueue(`${prefix}${suffix}`, { metadata: { name: suffix } });
    const names = [];
    for await (const page of service.listQueues({ prefix, includeMetadata: true }).byPage({ maxPageSize: 2 })) {
        assert.ok(page.queueItems.length <= 2);
        names.push(...page.queueItems.map((q) => `${q.name}=${q.metadata.name}`));
    }
    assert.deepEqual(names, ['a', 'b', 'c'].map((s) => `${prefix}${s}=${s}`));
    const answer = await raw('GET', '', { query: { comp: 'list', prefix, maxresults: '2' } });
    assert.deepEqual(answer.xml('Name'), [`${prefix}a`, `${prefix}b`]);
    assert.deepEqual(answer.xml('MaxResults'), ['2']);
    assert.deepEqual(answer.xml('Prefix'), [prefix]);
    assert.match(answer.text, new RegExp(`<EnumerationResults ServiceEndpoint="${server.url('queue')}/">`));
    assert.doesNotMatch(answer.text, /Metadata/);
    const [marker] = answer.xml('NextMarker');
    assert.equal(marker, `/devstoreaccount1/${prefix}c`);
    const rest = await raw('GET', '', { query: { comp: 'list', prefix, marker } });
    assert.deepEqual([rest.xml('Name'), rest.xml('Marker'), rest.xml('NextMarker')], [[`${prefix}c`], [marker], ['']]);
    for (const other of ['garbage', `${prefix}b`, '/', '/devstoreaccount1', '/devstoreaccount1/', '/another/queue'])
        assertError(await raw('GET', '', { query: { comp: 'list', marker: other } }), 400, 'OutOfRangeInput');
    assert.equal((await raw('GET', '', { query: 'comp=list&marker=' })).status, 200);
    assertError(await raw('GET', '', { query: 'comp=list&maxresults=0' }), 400, 'OutOfRangeQueryParameterValue');
    assertError(await raw('GET', '', { query: 'comp=list&include=everything' }), 400, 'InvalidQueryParameterValue');
});

test('PutMessage: what it answers', async () => {
    const queue = await newQueue();
    const sent = await queue.sendMessage('hello', { messageTimeToLive: 100, visibilityTimeout: 10 });
    assert.equal(sent._response.status, 201);
    assert.match(sent.messageId, /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
    assert.equal(sent.expiresOn - sent.insertedOn, 100000);
    assert.equal(sent.nextVisibleOn - sent.insertedOn, 10000);
    const forever = await queue.sendMessage('x', { messageTimeToLive: -1 });
    assert.equal(forever.expiresOn.toISOString(), '9999-12-31T23:59:59.000Z');
    const usual = await queue.sendMessage('x');
    assert.equal(usual.expiresOn - usual.insertedOn, 7 * 86400000);
    assert.equal((await queue.getProperties()).approximateMessagesCount, 3);
});

test('GetMessages and DeleteMessage; rule_Q1: got is invisible for the visibility timeout', async () => {
    const queue = await newQueue();
    await queue.sendMessage('m');
    const got = await queue.receiveMessages({ visibilityTimeout: 60 });
    const [m] = got.receivedMessageItems;
    assert.equal(m.messageText, 'm');
    assert.equal(m.dequeueCount, 1);
    assert.ok(Math.abs(m.nextVisibleOn - Date.now() - 60000) <= 2000);
    assert.deepEqual(await texts(queue), []);
    assert.equal((await queue.receiveMessages()).receivedMessageItems.length, 0);
    assert.equal((await queue.getProperties()).approximateMessagesCount, 1);
    server.advance(60000);
    const [again] = (await queue.receiveMessages({ visibilityTimeout: 60 })).receivedMessageItems;
    assert.equal(again.messageId, m.messageId);
    assert.equal(again.dequeueCount, 2);
    await rejectsWith(queue.deleteMessage(m.messageId, m.popReceipt), 400, 'PopReceiptMismatch');
    assert.equal((await queue.deleteMessage(again.messageId, again.popReceipt))._response.status, 204);
    await rejectsWith(queue.deleteMessage(again.messageId, again.popReceipt), 404, 'MessageNotFound');
    assert.equal((await queue.getProperties()).approximateMessagesCount, 0);
});

test('GetMessages: up to 32, in order', async () => {
    const queue = await newQueue();
    for (let i = 0; i < 40; i++)
        await queue.sendMessage(`${i}`);
    const first = await queue.receiveMessages({ numberOfMessages: 32 });
    assert.deepEqual(first.receivedMessageItems.map((m) => m.messageText), Array.from({ length: 32 }, (_, i) => `${i}`));
    assert.equal((await queue.receiveMessages({ numberOfMessages: 32 })).receivedMessageItems.length, 8);
    assert.equal((await queue.receiveMessages({ numberOfMessages: 32 })).receivedMessageItems.length, 0);
});

test('PeekMessages changes nothing', async () => {
    const queue = await newQueue();
    await queue.sendMessage('a');
    await queue.sendMessage('b');
    const answer = await raw('GET', `/${queue.name}/messages`, { query: 'peekonly=true&numofmessages=32' });
    assert.deepEqual(answer.xml('MessageText'), ['a', 'b']);
    assert.deepEqual(answer.xml('DequeueCount'), ['0', '0']);
    assert.doesNotMatch(answer.text, /PopReceipt|TimeNextVisible/);
    assert.deepEqual(await texts(queue), ['a', 'b']);
});

test('UpdateMessage: with and without a text', async () => {
    const queue = await newQueue();
    await queue.sendMessage('one');
    const [m] = (await queue.receiveMessages()).receivedMessageItems;
    const kept = await queue.updateMessage(m.messageId, m.popReceipt, undefined, 20);
    assert.equal(kept._response.status, 204);
    assert.notEqual(kept.popReceipt, m.popReceipt);
    assert.ok(Math.abs(kept.nextVisibleOn - Date.now() - 20000) <= 2000);
    await rejectsWith(queue.updateMessage(m.messageId, m.popReceipt, 'late', 0), 400, 'PopReceiptMismatch');
    server.advance(20000);
    assert.deepEqual(await texts(queue), ['one']);
    const changed = await queue.updateMessage(m.messageId, kept.popReceipt, 'two', 0);
    assert.deepEqual(await texts(queue), ['two']);
    await queue.deleteMessage(m.messageId, changed.popReceipt);
    await rejectsWith(queue.updateMessage(m.messageId, changed.popReceipt, 'x', 0), 404, 'MessageNotFound');
});

test('UpdateMessage and DeleteMessage by the receipt of the put', async () => {
    const queue = await newQueue();
    const sent = await queue.sendMessage('a');
    const updated = await queue.updateMessage(sent.messageId, sent.popReceipt, 'b', 0);
    assert.deepEqual(await texts(queue), ['b']);
    await queue.deleteMessage(sent.messageId, updated.popReceipt);
    assert.deepEqual(await texts(queue), []);
});

test('ClearMessages', async () => {
    const queue = await newQueue();
    for (let i = 0; i < 5; i++)
        await queue.sendMessage(`${i}`);
    await queue.receiveMessages({ numberOfMessages: 2 });
    assert.equal((await queue.clearMessages())._response.status, 204);
    assert.equal((await queue.getProperties()).approximateMessagesCount, 0);
    server.advance(60000);
    assert.deepEqual(await texts(queue), []);
});

test('expired messages are gone, and the count says so', async () => {
    const queue = await newQueue();
    await queue.sendMessage('short', { messageTimeToLive: 10 });
    await queue.sendMessage('long', { messageTimeToLive: 100 });
    server.advance(10000);
    assert.equal((await queue.getProperties()).approximateMessagesCount, 1);
    assert.deepEqual(await texts(queue), ['long']);
});

test('texts: hostile to XML, in every script, long', async () => {
    const queue = await newQueue();
    const all = ['<a>&amp;</a>', '&lt;', ']]>', '"\'', '<![CDATA[x]]>', '<!-- -->', '\u00e4\u20ac\u4e2d\ud83d\ude00', '&#x41;',
        Buffer.from(Array.from({ length: 256 }, (_, i) => i)).toString('base64'), 'x'.repeat(65536), '\u4e2d'.repeat(21845),
        '\ud83d\ude00'.repeat(16384)];
    for (const text of all) {
        await queue.clearMessages();
        await queue.sendMessage(text);
        assert.deepEqual(await texts(queue), [text]);
        const [m] = (await queue.receiveMessages()).receivedMessageItems;
        assert.equal(m.messageText, text);
    }
    // What a client's XML reader would fold is sent so that it does not: by raw requests, to see the bytes.
    for (const [sent, stored, shown] of [['&#xD;&#xA;', '\r\n', '&#xD;\n'], ['', '', null], [' ', ' ', ' '], ['a\tb\nc', 'a\tb\nc', 'a\tb\nc'], ['a\r\nb\rc', 'a\nb\nc', 'a\nb\nc'], ['\u0085\u2028', '\u0085\u2028', '\u0085\u2028'],
        ['a<![CDATA[<&]]>b', 'a<&b', 'a&lt;&amp;b']]) {
        await queue.clearMessages();
        assert.equal((await raw('POST', `/${queue.name}/messages`, { body: message(sent) })).status, 201);
        const answer = await raw('GET', `/${queue.name}/messages`, { query: 'peekonly=true' });
        assert.equal(answer.xml('MessageText')[0], stored);
        assert.ok(answer.text.includes(shown === null ? '<MessageText />' : `<MessageText>${shown}</MessageText>`), answer.text);
    }
});

test('PutMessage: XML as clients may write it', async () => {
    const queue = await newQueue();
    const text = '<MessageText>a &lt; b</MessageText>';
    for (const body of [`<QueueMessage>\n  ${text}\r\n\t</QueueMessage>\n`, `<?xml version="1.0"?>\n<!-- c --><QueueMessage>${text}</QueueMessage>`,
        `<QueueMessage ><Other>1</Other>${text}<!-- c --></QueueMessage >`, `<QueueMessage xmlns:x="urn:x" x:y="z">${text}</QueueMessage>`,
        `\ufeff<QueueMessage>${text}</QueueMessage>`, Buffer.from(`\ufeff<QueueMessage>${text}</QueueMessage>`, 'utf16le')]) {
        assert.equal((await raw('POST', `/${queue.name}/messages`, { body })).status, 201, body.toString());
        assert.deepEqual(await texts(queue), ['a < b']);
        await queue.clearMessages();
    }
});

test('malformed input: the right code, and nothing changed', async () => {
    const queue = await newQueue();
    const sent = await queue.sendMessage('witness');
    const [name, receipt] = [queue.name, sent.popReceipt];
    const post = (body, query = '') => ['POST', `/${name}/messages`, { body, query }];
    const get = (query) => ['GET', `/${name}/messages`, { query }];
    const put = (query, body, id = sent.messageId) => ['PUT', `/${name}/messages/${id}`, { query, body }];
    const del = (query, id = sent.messageId) => ['DELETE', `/${name}/messages/${id}`, { query }];
    const escaped = encodeURIComponent(receipt);
    const other = Buffer.from(receipt, 'base64');
    other[3] ^= 1;
    const table = [
        [post(''), 400, 'InvalidXmlDocument'],
        [post('text'), 400, 'InvalidXmlDocument'],
        [post('<QueueMessage>'), 400, 'InvalidXmlDocument'],
        [post('<QueueMessage></QueueMessage>'), 400, 'InvalidXmlDocument'],
        [post('<QueueMessage><Text>x</Text></QueueMessage>'), 400, 'InvalidXmlDocument'],
        [post('<Message><MessageText>x</MessageText></Message>'), 400, 'InvalidXmlDocument'],
        [post(message('a<b>c</b>d')), 400, 'InvalidXmlDocument'],
        [post('<QueueMessage><MessageText>a</MessageText><MessageText>b</MessageText></QueueMessage>'), 400, 'InvalidXmlDocument'],
        [post('<QueueMessage>a<MessageText>b</MessageText></QueueMessage>'), 400, 'InvalidXmlDocument'],
        [post(`<!DOCTYPE q [<!ENTITY a "b">]>${message('&a;')}`), 400, 'InvalidXmlDocument'],
        [post(message('&a;')), 400, 'InvalidXmlDocument'],
        [post(message('a & b')), 400, 'InvalidXmlDocument'],
        [post(message(']]>')), 400, 'InvalidXmlDocument'],
        [post(message('\u0001')), 400, 'InvalidXmlDocument'],
        [post(message('&#x1;')), 400, 'InvalidXmlDocument'],
        [post(message('\ufffe')), 400, 'InvalidXmlDocument'],
        [post(Buffer.from(message('\u00ff'), 'latin1')), 400, 'InvalidXmlDocument'],
        [post(message('x'.repeat(65537))), 413, 'RequestBodyTooLarge'],
        [post(message('&amp;'.repeat(65537))), 413, 'RequestBodyTooLarge'],
        [post(message('x'.repeat(200000))), 413, 'RequestBodyTooLarge'],
        [post(message('\u4e2d'.repeat(21846))), 413, 'RequestBodyTooLarge'],
        [post(message('x'), 'visibilitytimeout=-1'), 400, 'OutOfRangeQueryParameterValue'],
        [post(message('x'), 'visibilitytimeout=604801'), 400, 'OutOfRangeQueryParameterValue'],
        [post(message('x'), 'visibilitytimeout=x'), 400, 'InvalidQueryParameterValue'],
        [post(message('x'), 'visibilitytimeout=99999999999999999999'), 400, 'InvalidQueryParameterValue'],
        [post(message('x'), 'visibilitytimeout=10&messagettl=10'), 400, 'InvalidQueryParameterValue'],
        [post(message('x'), 'messagettl=0'), 400, 'InvalidQueryParameterValue'],
        [post(message('x'), 'messagettl=-2'), 400, 'InvalidQueryParameterValue'],
        [post(message('x'), 'messagettl=soon'), 400, 'InvalidQueryParameterValue'],
        [get('numofmessages=0'), 400, 'OutOfRangeQueryParameterValue'],
        [get('numofmessages=33'), 400, 'OutOfRangeQueryParameterValue'],
        [get('numofmessages=many'), 400, 'InvalidQueryParameterValue'],
        [get('visibilitytimeout=0'), 400, 'OutOfRangeQueryParameterValue'],
        [get('visibilitytimeout=604801'), 400, 'OutOfRangeQueryParameterValue'],
        [get('peekonly=true&numofmessages=33'), 400, 'OutOfRangeQueryParameterValue'],
        [put('visibilitytimeout=0', message('x')), 400, 'MissingRequiredQueryParameter'],
        [put(`popreceipt=${escaped}`, message('x')), 400, 'MissingRequiredQueryParameter'],
        [put(`popreceipt=${escaped}&visibilitytimeout=-1`, message('x')), 400, 'OutOfRangeQueryParameterValue'],
        [put(`popreceipt=${escaped}&visibilitytimeout=604801`, message('x')), 400, 'OutOfRangeQueryParameterValue'],
        [put(`popreceipt=${escaped}&visibilitytimeout=0`, 'x'), 400, 'InvalidXmlDocument'],
        [put(`popreceipt=${escaped}&visibilitytimeout=0`, message('<b/>')), 400, 'InvalidXmlDocument'],
        [put(`popreceipt=${escaped}&visibilitytimeout=0`, message('x'.repeat(65537))), 413, 'RequestBodyTooLarge'],
        [put('popreceipt=nonsense&visibilitytimeout=0', message('x')), 400, 'InvalidQueryParameterValue'],
        [put(`popreceipt=${encodeURIComponent(other.toString('base64'))}&visibilitytimeout=0`, message('x')), 400, 'PopReceiptMismatch'],
        [put(`popreceipt=${escaped}&visibilitytimeout=0`, message('x'), 'no-such-id'), 404, 'MessageNotFound'],
        [put(`popreceipt=${escaped}&visibilitytimeout=0`, message('x'), '00000000-0000-0000-0000-000000000000'), 404, 'MessageNotFound'],
        [del(''), 400, 'MissingRequiredQueryParameter'],
        [del('popreceipt='), 400, 'InvalidQueryParameterValue'],
        [del('popreceipt=AAAA'), 400, 'InvalidQueryParameterValue'],
        [del(`popreceipt=${encodeURIComponent(other.toString('base64'))}`), 400, 'PopReceiptMismatch'],
        [del(`popreceipt=${escaped}`, 'no-such-id'), 404, 'MessageNotFound'],
        [del('popreceipt=qmxrggowdtcgoasmqqsw', 'test-message-73dd8400'), 404, 'MessageNotFound'],
        [put('popreceipt=qmxrggowdtcgoasmqqsw&visibilitytimeout=0', message('x'), 'test-message-73dd8400'), 404, 'MessageNotFound'],
        [del(`popreceipt=${escaped}Random`), 400, 'InvalidQueryParameterValue'],
        [del(`popreceipt=${escaped}Random`, `${sent.messageId}Random`), 400, 'InvalidQueryParameterValue'],
    ];
    for (const [request, status, code] of table) {
        const answer = await raw(...request);
        try {
            assertError(answer, status, code);
        } catch (error) {
            error.message = `${request[0]} ${request[1]} ${JSON.stringify(request[2]).slice(0, 200)}: ${error.message}`;
            throw error;
        }
    }
    assert.deepEqual(await texts(queue), ['witness']);
    assert.equal((await queue.getProperties()).approximateMessagesCount, 1);
    await queue.deleteMessage(sent.messageId, receipt);
});

test('Content-MD5 of a message or of policies is checked, and nothing changed when it is not right', async () => {
    const queue = await newQueue();
    const body = message('m');
    const md5 = (text) => createHash('md5').update(text).digest('base64');
    const post = (value) => raw('POST', `/${queue.name}/messages`, { body, headers: { 'Content-MD5': value } });
    const wrong = await post(md5('another'));
    assertError(wrong, 400, 'Md5Mismatch');
    assert.deepEqual([wrong.xml('UserSpecifiedMd5')[0], wrong.xml('ServerCalculatedMd5')[0]], [md5('another'), md5(body)]);
    assertError(await post('nonsense'), 400, 'InvalidMd5');
    assert.deepEqual(await texts(queue), []);
    const sent = await post(md5(body));
    assert.equal(sent.status, 201);
    const query = { popreceipt: sent.xml('PopReceipt')[0], visibilitytimeout: '0' };
    const path = `/${queue.name}/messages/${sent.xml('MessageId')[0]}`;
    assertError(await raw('PUT', path, { query, body: message('n'), headers: { 'Content-MD5': md5(body) } }), 400, 'Md5Mismatch');
    assert.deepEqual(await texts(queue), ['m']);
    const policies = '<SignedIdentifiers><SignedIdentifier><Id>i</Id></SignedIdentifier></SignedIdentifiers>';
    const set = (value) => raw('PUT', `/${queue.name}`, { query: 'comp=acl', body: policies, headers: { 'Content-MD5': value } });
    assertError(await set(md5('another')), 400, 'Md5Mismatch');
    assert.deepEqual((await queue.getAccessPolicy()).signedIdentifiers, []);
    assert.equal((await set(md5(policies))).status, 204);
});

test('answers name what was wrong', async () => {
    const name = (await newQueue()).name;
    const range = await raw('GET', `/${name}/messages`, { query: 'numofmessages=33' });
    assert.deepEqual(['QueryParameterName', 'QueryParameterValue', 'MinimumAllowed', 'MaximumAllowed'].map((e) => range.xml(e)[0]),
        ['numofmessages', '33', '1', '32']);
    const path = `/${name}/messages`;
    assert.deepEqual((await raw('POST', path, { query: 'visibilitytimeout=30&messagettl=20', body: message('x') })).xml('Reason'),
        ['messagettl must be greater than visibilitytimeout']);
    assert.deepEqual((await raw('DELETE', `${path}/00000000-0000-0000-0000-000000000000`, { query: 'popreceipt=invalid' })).xml('Reason'),
        ['Invalid pop receipt format']);
    const large = await raw('POST', `/${name}/messages`, { body: message('x'.repeat(65537)) });
    assert.deepEqual(large.xml('MaxLimit'), ['65536']);
    const larger = await raw('POST', `/${name}/messages`, { body: message('x'.repeat(131584)) });
    assert.deepEqual(larger.xml('MaxLimit'), ['131584']);
    const chunked = await raw('POST', `/${name}/messages`, { body: message('x'.repeat(131584)), headers: { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' } });
    assertError(chunked, 411, 'MissingContentLengthHeader');
});

test('what is read is not to be cached, as in the cloud: least of all messages that were got', async () => {
    const { name } = await newQueue();
    for (const [path, query] of [[`/${name}/messages`, ''], [`/${name}/messages`, 'peekonly=true'], [`/${name}`, 'comp=metadata'],
        [`/${name}`, 'comp=acl'], ['', 'comp=list']])
        assert.equal((await raw('GET', path, { query })).headers['cache-control'], 'no-cache', `${path}?${query}`);
    assert.equal((await raw('POST', `/${name}/messages`, { body: message('m') })).headers['cache-control'], undefined);
});

test('shared access signatures: letters of a queue', async () => {
    const queue = await newQueue();
    await queue.sendMessage('m');
    const { QueueClient, QueueSASPermissions } = await import('@azure/storage-queue');
    const withLetters = async (letters) => {
        const url = await queue.generateSasUrl({ permissions: QueueSASPermissions.parse(letters), expiresOn: new Date(Date.now() + 3600000) });
        return new QueueClient(url, undefined, { retryOptions: { maxTries: 1 } });
    };
    const denied = (promise) => rejectsWith(promise, 403, 'AuthorizationPermissionMismatch');
    const reader = await withLetters('r');
    assert.equal((await reader.peekMessages()).peekedMessageItems.length, 1);
    assert.equal((await reader.getProperties()).approximateMessagesCount, 1);
    await denied(reader.receiveMessages());
    await denied(reader.sendMessage('x'));
    const adder = await withLetters('a');
    const sent = await adder.sendMessage('y');
    await denied(adder.peekMessages());
    await denied(adder.updateMessage(sent.messageId, sent.popReceipt, 'z', 0));
    const updater = await withLetters('u');
    const updated = await updater.updateMessage(sent.messageId, sent.popReceipt, 'z', 0);
    await denied(updater.deleteMessage(sent.messageId, updated.popReceipt));
    const processor = await withLetters('p');
    await processor.deleteMessage(sent.messageId, updated.popReceipt);
    assert.equal((await processor.receiveMessages()).receivedMessageItems.length, 1);
    await assert.rejects((await withLetters('raup')).clearMessages(), (error) => error.statusCode === 403);
});

test('GetQueueACL and SetQueueACL; rule_Q2: the last writer wins', async () => {
    const queue = await newQueue();
    assert.deepEqual((await queue.getAccessPolicy()).signedIdentifiers, []);
    const [startsOn, expiresOn] = [new Date('2024-01-02T03:04:05Z'), new Date('2034-01-02T03:04:05Z')];
    await queue.setAccessPolicy([{ id: 'old', accessPolicy: { permissions: 'r' } }]);
    assert.equal((await queue.setAccessPolicy([{ id: 'a<b', accessPolicy: { startsOn, expiresOn, permissions: 'raup' } },
        { id: 'open', accessPolicy: {} }]))._response.status, 204);
    const { signedIdentifiers } = await queue.getAccessPolicy();
    assert.deepEqual(signedIdentifiers.map((s) => s.id), ['a<b', 'open']);
    assert.deepEqual(signedIdentifiers[0].accessPolicy, { startsOn, expiresOn, permissions: 'raup' });
    const six = Array.from({ length: 6 }, (_, i) => ({ id: `${i}`, accessPolicy: { permissions: 'r' } }));
    await rejectsWith(queue.setAccessPolicy(six), 400, 'InvalidXmlDocument');
    await rejectsWith(queue.setAccessPolicy([{ id: 'x', accessPolicy: { permissions: 'w' } }]), 400, 'InvalidXmlDocument');
    assert.equal((await queue.getAccessPolicy()).signedIdentifiers.length, 2);
    await queue.setAccessPolicy();
    assert.deepEqual((await queue.getAccessPolicy()).signedIdentifiers, []);
});

test('a stored policy gives a signature its terms, and takes them back', async () => {
    const queue = await newQueue();
    await queue.sendMessage('m');
    const { QueueClient } = await import('@azure/storage-queue');
    await queue.setAccessPolicy([{ id: 'readers', accessPolicy: { expiresOn: new Date(Date.now() + 3600000), permissions: 'r' } }]);
    const client = new QueueClient(await queue.generateSasUrl({ identifier: 'readers' }), undefined, { retryOptions: { maxTries: 1 } });
    assert.equal((await client.peekMessages()).peekedMessageItems.length, 1);
    await rejectsWith(client.sendMessage('x'), 403, 'AuthorizationPermissionMismatch');
    await queue.setAccessPolicy([]);
    await assert.rejects(client.peekMessages(), (error) => error.statusCode === 403);
});

test('SetQueueServiceProperties and GetQueueServiceProperties; rule_Q2: the last writer wins', async () => {
    const fresh = await service.getProperties();
    assert.deepEqual(fresh.cors ?? [], []);
    assert.equal(fresh.queueAnalyticsLogging.read, false);
    const retentionPolicy = { enabled: true, days: 5 };
    const queueAnalyticsLogging = { version: '1.0', deleteProperty: true, read: true, write: true, retentionPolicy };
    const hourMetrics = { version: '1.0', enabled: true, includeAPIs: true, retentionPolicy };
    const rule = { allowedOrigins: 'http://example.org', allowedMethods: 'GET,POST', allowedHeaders: 'x-ms-*', exposedHeaders: 'x-ms-*', maxAgeInSeconds: 60 };
    await service.setProperties({ queueAnalyticsLogging, cors: [{ ...rule, maxAgeInSeconds: 1 }] });
    assert.equal((await service.setProperties({ hourMetrics, cors: [rule] }))._response.status, 202);
    const set = await service.getProperties();
    assert.deepEqual(set.queueAnalyticsLogging, queueAnalyticsLogging);
    assert.deepEqual(set.hourMetrics, hourMetrics);
    assert.deepEqual(set.cors, [rule]);
    const preflight = await server.request('queue', 'OPTIONS', '/any/messages',
        { auth: 'none', headers: { Origin: 'http://example.org', 'Access-Control-Request-Method': 'POST' } });
    assert.equal(preflight.status, 200);
    assert.equal(preflight.headers['access-control-allow-origin'], 'http://example.org');
    assertError(await raw('PUT', '', { query: 'restype=service&comp=properties', body: '<a/>' }), 400, 'InvalidXmlDocument');
    assertError(await raw('PUT', '', { query: 'restype=service&comp=properties', body: '' }), 400, 'InvalidXmlDocument');
    await service.setProperties({ cors: [] });
    assert.deepEqual((await service.getProperties()).hourMetrics, hourMetrics);
});

test('GetQueueServiceStats: of the secondary only', async () => {
    assertError(await raw('GET', '', { query: 'restype=service&comp=stats' }), 400, 'InvalidQueryParameterValue');
    const path = '/devstoreaccount1-secondary';
    const { sign, send, VERSION } = await import('./lib.mjs');
    const headers = sign('GET', path, 'restype=service&comp=stats', { 'x-ms-version': VERSION, 'x-ms-date': new Date().toUTCString() });
    const answer = await send(server.ports.queue, 'queue', 'GET', `${path}?restype=service&comp=stats`, headers);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.xml('Status'), ['live']);
});
