// SPDX-License-Identifier: Apache-2.0
// Malformed requests and unusual environments: the answer is an error of the service (or an empty list), and nothing
// changes.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { assertError, startServer, uniqueName } from './lib.mjs';

let server;
before(async () => { server = await startServer({ services: ['blob', 'queue', 'table'] }); });
after(() => server.stop());

const JSON_HEADERS = { 'Content-Type': 'application/json', Accept: 'application/json;odata=nometadata' };
const BLOCK_BLOB = { 'x-ms-blob-type': 'BlockBlob' };

async function newContainer() {
    const name = uniqueName('c');
    assert.equal((await server.request('blob', 'PUT', `/${name}`, { query: 'restype=container' })).status, 201);
    return name;
}

test('a prefix or marker longer than any name lists nothing', async () => {
    const container = await newContainer();
    const queue = uniqueName('q');
    assert.equal((await server.request('queue', 'PUT', `/${queue}`)).status, 201);
    const lists = [['blob', '', { comp: 'list' }], ['queue', '', { comp: 'list' }],
        ['blob', `/${container}`, { restype: 'container', comp: 'list' }]];
    for (const [service, path, query] of lists) {
        for (const length of [1025, 5000, 20000]) {
            for (const name of ['prefix', 'delimiter', 'marker']) {
                const answer = await server.request(service, 'GET', path, { query: { ...query, [name]: 'z'.repeat(length) } });
                // Markers of queues have a form, and this is not it.
                if (answer.status !== 200)
                    assertError(answer, 400, service === 'queue' && name === 'marker' ? 'OutOfRangeInput' : 'InvalidQueryParameterValue');
                else if (name === 'prefix')
                    assert.deepEqual(answer.xml('Name'), []);
            }
        }
    }
    for (const length of [1025, 5000, 20000]) {
        const answer = await server.request('queue', 'GET', '', { query: { comp: 'list', marker: `/devstoreaccount1/${'z'.repeat(length)}` } });
        assert.equal(answer.status, 200, answer.text);
        assert.deepEqual(answer.xml('Name'), []);
    }
});

test('a place in a file system longer than any name is refused or lists nothing', async () => {
    const name = uniqueName('f');
    assert.equal((await server.request('blob', 'PUT', `/${name}`, { query: 'resource=filesystem' })).status, 201);
    assert.equal((await server.request('blob', 'PUT', `/${name}/d/e`, { query: 'resource=file' })).status, 201);
    for (const length of [1025, 5000, 20000])
        for (const long of ['z'.repeat(length), Buffer.from('z'.repeat(length)).toString('base64')]) {
            for (const parameter of ['directory', 'beginFrom', 'continuation'])
                for (const recursive of ['true', 'false']) {
                    const query = { resource: 'filesystem', recursive, [parameter]: long };
                    assert.ok([200, 400, 404].includes((await server.request('blob', 'GET', `/${name}`, { query })).status));
                }
            const gone = await server.request('blob', 'DELETE', `/${name}/none`, { query: { recursive: 'true', continuation: long } });
            assert.ok([200, 400, 404].includes(gone.status), gone.text);
            const moved = await server.request('blob', 'PUT', `/${name}/to`, { query: { continuation: long }, headers: { 'x-ms-rename-source': `/${name}/none` } });
            assert.ok([201, 400, 404].includes(moved.status), moved.text);
        }
    assert.equal((await server.request('blob', 'HEAD', `/${name}/d/e`)).status, 200);
});

test('keys and names longer than any are refused, in paths, filters and continuations', async () => {
    const table = uniqueName('T');
    const made = await server.request('table', 'POST', '/Tables', { headers: JSON_HEADERS, body: JSON.stringify({ TableName: table }) });
    assert.equal(made.status, 201);
    for (const length of [1025, 5000, 20000]) {
        const long = 'k'.repeat(length);
        const get = (path, query) => server.request('table', 'GET', path, { headers: JSON_HEADERS, query });
        for (const path of [`/${table}(PartitionKey='${long}',RowKey='r')`, `/${table}(PartitionKey='p',RowKey='${long}')`,
            `/Tables('${long}')`])
            assert.ok([400, 404].includes((await get(path)).status));
        assert.equal((await get(`/${table}()`, { $filter: `PartitionKey eq '${long}'` })).json().value.length, 0);
        assert.equal((await get(`/${table}()`, { NextPartitionKey: long })).status, 400);
    }
});

test('PeekMessages with a value that is neither true nor false takes no message', async () => {
    const queue = uniqueName('q');
    await server.request('queue', 'PUT', `/${queue}`);
    const body = '<QueueMessage><MessageText>m</MessageText></QueueMessage>';
    assert.equal((await server.request('queue', 'POST', `/${queue}/messages`, { body })).status, 201);
    for (const peekonly of ['', 'x', '1', 'truee'])
        assertError(await server.request('queue', 'GET', `/${queue}/messages`, { query: { peekonly } }), 400, 'InvalidQueryParameterValue');
    const got = await server.request('queue', 'GET', `/${queue}/messages`, { query: 'peekonly=false' });
    assert.deepEqual(got.xml('DequeueCount'), ['1']);
});

test('protection that is not given is refused, not passed over; --loose passes over', async () => {
    const encryption = {
        'x-ms-encryption-key': Buffer.alloc(32, 1).toString('base64'),
        'x-ms-encryption-key-sha256': Buffer.alloc(32, 2).toString('base64'),
        'x-ms-encryption-algorithm': 'AES256',
    };
    const container = await newContainer();
    const put = { headers: { ...BLOCK_BLOB, ...encryption }, body: 'secret' };
    assertError(await server.request('blob', 'PUT', `/${container}/b`, put), 501, 'NotImplemented');
    assertError(await server.request('blob', 'GET', `/${container}/b`), 404, 'BlobNotFound');
    const loose = await startServer({ inMemory: true, services: ['blob'], args: ['--loose'] });
    await loose.request('blob', 'PUT', '/loose', { query: 'restype=container' });
    const sent = { headers: { ...BLOCK_BLOB, ...encryption }, body: 'open' };
    assert.equal((await loose.request('blob', 'PUT', '/loose/b', sent)).status, 201);
    await loose.stop();
});

test('a write from a body that names another source does not store the body', async () => {
    const container = await newContainer();
    const put = (name, options) => server.request('blob', 'PUT', `/${container}/${name}`, options);
    assert.equal((await put('b', { headers: BLOCK_BLOB, body: 'kept' })).status, 201);
    const headers = { ...BLOCK_BLOB, 'x-ms-copy-source': `${server.url('blob')}/${container}/other` };
    const answer = await put('b', { headers, body: 'x' });
    assert.ok(answer.status >= 400 && answer.status < 500, answer.text);
    assert.equal((await server.request('blob', 'GET', `/${container}/b`)).text, 'kept');
});

test('a file system that cannot say whether a read would wait serves all the same', async () => {
    // tmpfs is one, and in every Linux there.
    const folder = '/dev/shm';
    assert.ok(existsSync(folder));
    const before = process.env.TMPDIR;
    process.env.TMPDIR = folder;
    const own = await startServer({ services: ['blob', 'table'] });
    if (before === undefined)
        delete process.env.TMPDIR;
    else
        process.env.TMPDIR = before;
    await own.request('blob', 'PUT', '/ccc', { query: 'restype=container' });
    await own.request('table', 'POST', '/Tables', { headers: JSON_HEADERS, body: '{"TableName":"ttt"}' });
    for (const bytes of [10, 20000, 300000, 5000000]) {
        const body = Buffer.alloc(bytes, 'abc');
        assert.equal((await own.request('blob', 'PUT', `/ccc/b${bytes}`, { headers: BLOCK_BLOB, body })).status, 201);
    }
    const entity = { PartitionKey: 'p', RowKey: 'r', Text: 'y'.repeat(20000) };
    assert.equal((await own.request('table', 'POST', '/ttt', { headers: JSON_HEADERS, body: JSON.stringify(entity) })).status, 201);
    await own.restart();
    for (const bytes of [10, 20000, 300000, 5000000]) {
        const got = await own.request('blob', 'GET', `/ccc/b${bytes}`);
        assert.equal(got.status, 200, got.text.slice(0, 300));
        assert.ok(got.bytes.equals(Buffer.alloc(bytes, 'abc')));
    }
    const got = await own.request('table', 'GET', "/ttt(PartitionKey='p',RowKey='r')", { headers: JSON_HEADERS });
    assert.equal(got.json().Text, entity.Text);
    await own.stop();
});
