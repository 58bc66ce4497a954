// SPDX-License-Identifier: Apache-2.0
// A store with some of everything, and everything visible of it from outside: for tests of `lazuli migrate`.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';

const JSON_HEADERS = { 'Content-Type': 'application/json', Accept: 'application/json;odata=fullmetadata' };
const LEASE = '11111111-2222-3333-4444-555555555555';

async function wants(server, status, ...request) {
    const answer = await server.request(...request);
    assert.equal(answer.status, status, `${request.slice(0, 3).join(' ')}: ${answer.status} ${answer.text}`);
    return answer;
}

const put = (server, path, body, headers = {}, query = '') => wants(server, 201, 'blob', 'PUT', path, {
    query, body, headers: { ...(query === '' ? { 'x-ms-blob-type': 'BlockBlob' } : {}), ...headers } });

async function fillBlobs(server, large) {
    await wants(server, 201, 'blob', 'PUT', '/box', { query: 'restype=container' });
    await wants(server, 201, 'blob', 'PUT', '/other', { query: 'restype=container', headers: { 'x-ms-meta-who': 'me' } });
    await put(server, '/box/empty', '');
    for (let n = 0; n < 100; n++)
        await put(server, `/box/small-${n}`, `blob ${n}`, { 'x-ms-meta-n': String(n), 'x-ms-tags': `n=${n}` });
    for (let n = 0; n < large; n++)
        await put(server, `/box/large-${n}`, randomBytes(1 << 20));
    const ids = [0, 1, 2].map((n) => Buffer.from(`block ${n}`).toString('base64'));
    for (const id of ids)
        await put(server, '/box/blocks', randomBytes(100000), {}, `comp=block&blockid=${encodeURIComponent(id)}`);
    const list = `<BlockList>${ids.slice(0, 2).map((id) => `<Latest>${id}</Latest>`).join('')}</BlockList>`;
    await put(server, '/box/blocks', list, {}, 'comp=blocklist');
    await put(server, '/box/blocks', randomBytes(70000), {}, `comp=block&blockid=${encodeURIComponent(ids[2])}`);
    await wants(server, 201, 'blob', 'PUT', '/box/blocks', { query: 'comp=snapshot' });
    await put(server, '/box/blocks', randomBytes(90000));
    // Copies share their extents with the source.
    await wants(server, 202, 'blob', 'PUT', '/other/copy', { headers: { 'x-ms-copy-source': `${server.url('blob')}/box/large-0` } });
    await put(server, '/box/pages', undefined, { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '1048576' });
    await put(server, '/box/pages', randomBytes(65536), { 'x-ms-page-write': 'update', 'x-ms-range': 'bytes=131072-196607' }, 'comp=page');
    await put(server, '/box/log', undefined, { 'x-ms-blob-type': 'AppendBlob' });
    for (let n = 0; n < 3; n++)
        await put(server, '/box/log', randomBytes(20000), {}, 'comp=appendblock');
    await wants(server, 201, 'blob', 'PUT', '/box/small-1', { query: 'comp=lease', headers: {
        'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1', 'x-ms-proposed-lease-id': LEASE } });
}

async function fillFiles(server) {
    await wants(server, 201, 'file', 'PUT', '/share', { query: 'restype=share' });
    await wants(server, 201, 'file', 'PUT', '/share/dir', { query: 'restype=directory' });
    const range = async (name, from, body) => wants(server, 201, 'file', 'PUT', `/share/dir/${name}`, {
        query: 'comp=range', body, headers: { 'x-ms-write': 'update', 'x-ms-range': `bytes=${from}-${from + body.length - 1}` } });
    for (const name of ['a', 'b']) {
        await wants(server, 201, 'file', 'PUT', `/share/dir/${name}`, { headers: { 'x-ms-type': 'file', 'x-ms-content-length': '600000' } });
        await range(name, 0, randomBytes(300000));
        await range(name, 400000, randomBytes(1000));
    }
    await wants(server, 201, 'file', 'PUT', '/share', { query: 'restype=share&comp=snapshot' });
    await range('a', 100, randomBytes(50000));
}

async function fillRows(server) {
    await wants(server, 201, 'table', 'POST', '/Tables', { headers: JSON_HEADERS, body: '{"TableName":"rows"}' });
    for (let n = 0; n < 60; n++)
        await wants(server, 201, 'table', 'POST', '/rows', { headers: JSON_HEADERS,
            body: JSON.stringify({ PartitionKey: `p${n % 7}`, RowKey: `r${n}`, Text: `entity ${n}` }) });
    await wants(server, 201, 'queue', 'PUT', '/line');
    for (let n = 0; n < 20; n++)
        await wants(server, 201, 'queue', 'POST', '/line/messages', {
            body: `<QueueMessage><MessageText>message ${n}</MessageText></QueueMessage>` });
}

/** Some of everything, with `large` blobs of 1 MiB. */
export async function fill(server, large) {
    await fillBlobs(server, large);
    await fillFiles(server);
    await fillRows(server);
}

const SHOWN = ['etag', 'last-modified', 'content-length', 'x-ms-meta-n', 'x-ms-meta-who', 'x-ms-lease-state', 'x-ms-lease-status', 'x-ms-blob-type',
    'x-ms-tag-count', 'x-ms-creation-time', 'x-ms-file-id', 'x-ms-file-last-write-time', 'x-ms-copy-id', 'x-ms-blob-committed-block-count'];

function shown(answer) {
    const headers = SHOWN.filter((name) => answer.headers[name] !== undefined).map((name) => `${name}=${answer.headers[name]}`);
    return `${answer.status} ${headers.join(' ')} ${createHash('sha256').update(answer.bytes).digest('hex')}`;
}

/** Every object with its properties, ETag and the hash of its content; one line each. */
export async function dump(server) {
    const lines = [];
    const look = async (service, path, query = '', options = {}) => {
        const answer = await wants(server, 200, service, 'GET', path, { query, ...options });
        lines.push(`${service} ${path}?${query}: ${shown(answer)}`);
        return answer.text.replaceAll(/127\.0\.0\.1:\d+/g, 'HOST');
    };
    for (const box of ['box', 'other']) {
        const list = await look('blob', `/${box}`, 'restype=container&comp=list&include=metadata,snapshots,tags,uncommittedblobs,copy');
        for (const blob of list.matchAll(/<Blob><Name>([^<]*)<\/Name>(?:<Snapshot>([^<]*)<)?/g))
            await look('blob', `/${box}/${blob[1]}`, blob[2] === undefined ? '' : `snapshot=${encodeURIComponent(blob[2])}`);
    }
    lines.push(await look('blob', '/box/blocks', 'comp=blocklist&blocklisttype=all'));
    lines.push(await look('blob', '/box/pages', 'comp=pagelist'));
    const shares = await look('file', '', 'comp=list&include=snapshots,metadata');
    const [, snapshot] = shares.match(/<Snapshot>([^<]*)</);
    for (const at of ['', `sharesnapshot=${encodeURIComponent(snapshot)}`])
        for (const name of ['a', 'b']) {
            await look('file', `/share/dir/${name}`, at);
            await look('file', `/share/dir/${name}`, ['comp=rangelist', at].filter((s) => s !== '').join('&'));
        }
    lines.push((await look('table', '/rows()', '', { headers: JSON_HEADERS })));
    lines.push(await look('queue', '/line/messages', 'peekonly=true&numofmessages=32'));
    // The last segments of some URLs tell the port; nothing else may differ.
    return lines.map((line) => line.replaceAll(/127\.0\.0\.1:\d+/g, 'HOST'))
        .filter((line) => !/^(blob \/(box|other)\?|table|file \?)/.test(line)).join('\n');
}

/** A lease that was taken before still guards its blob; its holder still writes. */
export async function checkLease(server) {
    const write = (headers) => server.request('blob', 'PUT', '/box/small-1', { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob', ...headers } });
    assert.equal((await write({})).status, 412);
    assert.equal((await write({ 'x-ms-lease-id': LEASE })).status, 201);
}
