// SPDX-License-Identifier: Apache-2.0
// Operations of the queue service as the console uses them.
import { childOf, childrenOf, encodePath, escapeXml, pairsOf, textOf } from './client.js';

const messageOf = (element) => ({
    id: textOf(element, 'MessageId'),
    text: textOf(element, 'MessageText'),
    inserted: textOf(element, 'InsertionTime'),
    expires: textOf(element, 'ExpirationTime'),
    visible: textOf(element, 'TimeNextVisible'),
    receipt: textOf(element, 'PopReceipt'),
    dequeued: Number(textOf(element, 'DequeueCount') || 0),
});

export async function listQueues(s, { marker, prefix } = {}) {
    const query = { comp: 'list', include: 'metadata' };
    if (prefix) query.prefix = prefix;
    if (marker) query.marker = marker;
    const root = await s.xml('queue', 'GET', '/', { query });
    const rows = childrenOf(childOf(root, 'Queues'), 'Queue').map((element) => ({ name: textOf(element, 'Name'), metadata: pairsOf(childOf(element, 'Metadata')) }));
    return { rows, marker: textOf(root, 'NextMarker') };
}
export const createQueue = (s, name, metadata = {}) => s.send('queue', 'PUT', `/${encodePath(name)}`, {
    headers: Object.fromEntries(Object.entries(metadata).map(([k, v]) => [`x-ms-meta-${k}`, v])),
});
export const deleteQueue = (s, name) => s.send('queue', 'DELETE', `/${encodePath(name)}`);

export async function queueProperties(s, name) {
    const answer = await s.send('queue', 'GET', `/${encodePath(name)}`, { query: { comp: 'metadata' } });
    const metadata = {};
    for (const [header, value] of answer.headers)
        if (header.startsWith('x-ms-meta-'))
            metadata[header.slice(10)] = value;
    return { metadata, count: Number(answer.headers.get('x-ms-approximate-messages-count')) };
}
export const setQueueMetadata = (s, name, metadata) => s.send('queue', 'PUT', `/${encodePath(name)}`, {
    query: { comp: 'metadata' }, headers: Object.fromEntries(Object.entries(metadata).map(([k, v]) => [`x-ms-meta-${k}`, v])),
});

async function messages(s, name, query) {
    const root = await s.xml('queue', 'GET', `/${encodePath(name)}/messages`, { query });
    return childrenOf(root, 'QueueMessage').map(messageOf);
}
export const peekMessages = (s, name, count = 32) => messages(s, name, { peekonly: 'true', numofmessages: String(count) });
export const getMessages = (s, name, { count = 1, seconds = 30 } = {}) => messages(s, name, { numofmessages: String(count), visibilitytimeout: String(seconds) });
export async function putMessage(s, name, text, { ttl, seconds } = {}) {
    const query = {};
    if (ttl !== undefined) query.messagettl = String(ttl);
    if (seconds) query.visibilitytimeout = String(seconds);
    const root = await s.xml('queue', 'POST', `/${encodePath(name)}/messages`, {
        query, headers: { 'content-type': 'application/xml' }, body: `<QueueMessage><MessageText>${escapeXml(text)}</MessageText></QueueMessage>`,
    });
    return messageOf(childOf(root, 'QueueMessage'));
}
export const deleteMessage = (s, name, message) => s.send('queue', 'DELETE', `/${encodePath(name)}/messages/${encodePath(message.id)}`, { query: { popreceipt: message.receipt } });
export const updateMessage = (s, name, message, text, seconds = 0) => s.send('queue', 'PUT', `/${encodePath(name)}/messages/${encodePath(message.id)}`, {
    query: { popreceipt: message.receipt, visibilitytimeout: String(seconds) }, headers: { 'content-type': 'application/xml' },
    body: `<QueueMessage><MessageText>${escapeXml(text)}</MessageText></QueueMessage>`,
});
export const clearMessages = (s, name) => s.send('queue', 'DELETE', `/${encodePath(name)}/messages`);
