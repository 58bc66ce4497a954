// SPDX-License-Identifier: Apache-2.0
// What the guided tour plays: the scenarios of the concurrency model, each a list of steps. A step says who does it, why, the
// request, and which answer the model promises.
import { encodePath, escapeXml, textOf, childOf, parseXml } from '../api/client.js';

const TEXT = { 'content-type': 'text/plain' };
const putText = (c, text, headers = {}) => ({ service: 'blob', method: 'PUT', path: `/${c.place}/counter.txt`, headers: { 'x-ms-blob-type': 'BlockBlob', ...TEXT, ...headers }, body: text });
const getText = (c) => ({ service: 'blob', method: 'GET', path: `/${c.place}/counter.txt` });
const lease = (c, action, headers = {}) => ({ service: 'blob', method: 'PUT', path: `/${c.place}/counter.txt`, query: { comp: 'lease' }, headers: { 'x-ms-lease-action': action, ...headers } });
const entity = (c, method, headers, properties) => ({
    service: 'table', method, path: method === 'POST' ? `/${c.table}` : `/${c.table}(PartitionKey='shop',RowKey='apples')`,
    headers: { 'content-type': 'application/json', ...headers }, body: properties && JSON.stringify({ PartitionKey: 'shop', RowKey: 'apples', ...properties }),
});
const messages = (c, method, query = {}, body, id = '') => ({
    service: 'queue', method, path: `/${c.place}/messages${id ? `/${encodePath(id)}` : ''}`, query, headers: body ? { 'content-type': 'application/xml' } : {},
    body: body && `<QueueMessage><MessageText>${escapeXml(body)}</MessageText></QueueMessage>`,
});
const file = (c, method, query, headers, body) => ({ service: 'file', method, path: `/${c.place}/plan.txt`, query, headers, body });
const message = (answer) => childOf(parseXml(answer.text).documentElement, 'QueueMessage');

const keepEtag = (name) => (c, answer) => { c[name] = answer.headers.etag; };

export const SCENARIOS = [
    {
        id: 'lost-update', title: 'Lost update', intro: 'Two clients read a counter, add one, and write it back without any condition. The last writer wins, and one addition is lost.',
        steps: [
            { who: 'Setup', why: 'The counter starts at 10.', request: (c) => putText(c, '10'), expect: 201 },
            { who: 'Ann', why: 'reads 10.', request: getText, expect: 200 },
            { who: 'Bob', why: 'reads 10 as well.', request: getText, expect: 200 },
            { who: 'Ann', why: 'writes 11.', request: (c) => putText(c, '11'), expect: 201 },
            { who: 'Bob', why: 'writes 11 too: he knows nothing of Ann.', request: (c) => putText(c, '11'), expect: 201 },
            { who: 'Ann', why: 'looks: 11, though two were added. Nobody was told.', request: getText, expect: 200 },
        ],
    },
    {
        id: 'optimistic', title: 'Optimistic: ETag and retry', intro: 'The same, but each writes only if the blob is still the one that was read (If-Match with its ETag). Who comes second is refused, reads again and tries once more.', inspect: 'counter.txt',
        steps: [
            { who: 'Setup', why: 'The counter starts at 10.', request: (c) => putText(c, '10'), expect: 201 },
            { who: 'Ann', why: 'reads 10 and notes the ETag.', request: getText, expect: 200, after: keepEtag('ann') },
            { who: 'Bob', why: 'reads 10 and notes the same ETag.', request: getText, expect: 200, after: keepEtag('bob') },
            { who: 'Ann', why: 'writes 11, if the ETag is still that one. It is.', request: (c) => putText(c, '11', { 'if-match': c.ann }), expect: 201 },
            { who: 'Bob', why: 'writes 11 with the old ETag: refused, nothing changes (rule B2).', request: (c) => putText(c, '11', { 'if-match': c.bob }), expect: 412, tell: true },
            { who: 'Bob', why: 'reads again: 11 and a new ETag.', request: getText, expect: 200, after: keepEtag('bob') },
            { who: 'Bob', why: 'writes 12 with the new ETag.', request: (c) => putText(c, '12', { 'if-match': c.bob }), expect: 201 },
            { who: 'Ann', why: 'looks: 12. Nothing was lost.', request: getText, expect: 200 },
        ],
    },
    {
        id: 'lease', title: 'Pessimistic: lease', intro: 'Ann locks the blob first. While her lease lasts only she can write; everybody can read.', inspect: 'counter.txt',
        steps: [
            { who: 'Setup', why: 'The blob is there.', request: (c) => putText(c, '10'), expect: 201 },
            { who: 'Ann', why: 'takes a lease of 15 seconds.', request: (c) => lease(c, 'acquire', { 'x-ms-lease-duration': '15' }), expect: 201, after: (c, answer) => { c.lease = answer.headers['x-ms-lease-id']; } },
            { who: 'Bob', why: 'writes without a lease id: refused (rule L3).', request: (c) => putText(c, '11'), expect: 412, tell: true },
            { who: 'Bob', why: 'wants a lease for himself: refused (rule L2).', request: (c) => lease(c, 'acquire', { 'x-ms-lease-duration': '15' }), expect: 409, tell: true },
            { who: 'Bob', why: 'reads: allowed, a lease locks writers only.', request: getText, expect: 200 },
            { who: 'Ann', why: 'writes with her lease id.', request: (c) => putText(c, '11', { 'x-ms-lease-id': c.lease }), expect: 201 },
            { who: 'Ann', why: 'releases the lease.', request: (c) => lease(c, 'release', { 'x-ms-lease-id': c.lease }), expect: 200 },
            { who: 'Bob', why: 'writes: the way is free.', request: (c) => putText(c, '12'), expect: 201 },
        ],
    },
    {
        id: 'table', title: 'Tables: ETag of an entity', intro: 'Updates of an entity need If-Match. A stale ETag is refused; * writes over whatever is there.',
        setup: (c) => ({ service: 'table', method: 'POST', path: '/Tables', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ TableName: c.table }) }),
        cleanup: (c) => ({ service: 'table', method: 'DELETE', path: `/Tables('${c.table}')` }),
        steps: [
            { who: 'Ann', why: 'inserts an entity: 5 apples.', request: (c) => entity(c, 'POST', {}, { Count: 5 }), expect: 201, after: (c, answer) => { c.first = answer.headers.etag; } },
            { who: 'Ann', why: 'sets 6, with the ETag she knows.', request: (c) => entity(c, 'PUT', { 'if-match': c.first }, { Count: 6 }), expect: 204 },
            { who: 'Bob', why: 'sets 4 with the first ETag: refused (rule T2).', request: (c) => entity(c, 'PUT', { 'if-match': c.first }, { Count: 4 }), expect: 412, tell: true },
            { who: 'Bob', why: 'sets 4 with *: the last writer wins, because he asked for it.', request: (c) => entity(c, 'PUT', { 'if-match': '*' }, { Count: 4 }), expect: 204 },
        ],
    },
    {
        id: 'queue', title: 'Queue: visibility', intro: 'Who gets a message has it for some seconds; others do not see it. Who is too slow loses it, and an old receipt is worth nothing.',
        setup: (c) => ({ service: 'queue', method: 'PUT', path: `/${c.place}` }), cleanup: (c) => ({ service: 'queue', method: 'DELETE', path: `/${c.place}` }),
        steps: [
            { who: 'Setup', why: 'One message is put.', request: (c) => messages(c, 'POST', {}, 'work to do'), expect: 201 },
            { who: 'Ann', why: 'gets it for 2 seconds.', request: (c) => messages(c, 'GET', { visibilitytimeout: '2' }), expect: 200, after: (c, answer) => { c.ann = { id: textOf(message(answer), 'MessageId'), receipt: textOf(message(answer), 'PopReceipt') }; } },
            { who: 'Bob', why: 'gets nothing: the message is invisible.', request: (c) => messages(c, 'GET', { visibilitytimeout: '30' }), expect: 200 },
            { who: 'Bob', why: 'asks again after Ann’s time is over, and gets it; it was got twice now.', wait: 2200, request: (c) => messages(c, 'GET', { visibilitytimeout: '30' }), expect: 200, after: (c, answer) => { c.bob = { id: textOf(message(answer), 'MessageId'), receipt: textOf(message(answer), 'PopReceipt') }; } },
            { who: 'Ann', why: 'deletes with her old receipt: refused.', request: (c) => messages(c, 'DELETE', { popreceipt: c.ann.receipt }, undefined, c.ann.id), expect: 400, tell: true },
            { who: 'Bob', why: 'deletes with his: done.', request: (c) => messages(c, 'DELETE', { popreceipt: c.bob.receipt }, undefined, c.bob.id), expect: 204 },
        ],
    },
    {
        id: 'files', title: 'Files: leases, and SMB against REST', intro: 'A file can be leased over REST; and whoever has it open over SMB decides what REST clients may do meanwhile. A browser cannot speak SMB, so open the file yourself where the tour says so.',
        setup: (c) => ({ service: 'file', method: 'PUT', path: `/${c.place}`, query: { restype: 'share' } }),
        cleanup: (c) => ({ service: 'file', method: 'DELETE', path: `/${c.place}`, query: { restype: 'share' }, headers: { 'x-ms-delete-snapshots': 'include' } }),
        steps: [
            { who: 'Setup', why: 'A file of 5 bytes is made.', request: (c) => file(c, 'PUT', {}, { 'x-ms-type': 'file', 'x-ms-content-length': '5' }), expect: 201 },
            { who: 'Ann', why: 'leases it.', request: (c) => file(c, 'PUT', { comp: 'lease' }, { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1', 'x-ms-proposed-lease-id': crypto.randomUUID() }), expect: 201, after: (c, answer) => { c.lease = answer.headers['x-ms-lease-id']; } },
            { who: 'Bob', why: 'writes without her id: refused.', request: (c) => file(c, 'PUT', { comp: 'range' }, { 'x-ms-write': 'update', 'x-ms-range': 'bytes=0-4' }, 'hello'), expect: 412, tell: true },
            { who: 'Ann', why: 'releases it.', request: (c) => file(c, 'PUT', { comp: 'lease' }, { 'x-ms-lease-action': 'release', 'x-ms-lease-id': c.lease }), expect: 200 },
            { who: 'Ann', why: 'asks who has the file open over SMB.', note: (c) => `Now you may open it, and go on: smbclient -p ${c.smbPort} -U ${c.account} //${c.host}/${c.place} -c "more plan.txt", or map the share and open plan.txt in an editor.`, request: (c) => file(c, 'GET', { comp: 'listhandles' }), expect: 200 },
            { who: 'Bob', why: 'deletes the file. With an SMB open that does not share deleting he is refused (409 SharingViolation); without one it is gone.', request: (c) => file(c, 'DELETE', {}), expect: [202, 409], tell: true },
        ],
    },
];
