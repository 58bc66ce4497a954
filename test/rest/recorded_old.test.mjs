// SPDX-License-Identifier: Apache-2.0
// Rare answers according to recordings of the cloud and the SDKs' sources: old versions, missing queues, names that
// stay reserved for a while, and formats that a client prefers.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { ACCOUNT, assertError, hmac, readable, startServer, uniqueName, VERSION } from './lib.mjs';

const md5 = (text) => createHash('md5').update(text).digest('base64');
const OLD = ['2017-04-17', '2018-03-28', '2018-11-09'];
const NEW = '2019-02-02';

let server;
before(async () => {
    server = await startServer({ inMemory: true, args: ['--queue-delete-seconds', '30', '--share-delete-seconds', '30',
        '--table-delete-seconds', '30', '--container-delete-seconds', '30'] });
});
after(() => server.stop());

async function makeContainer() {
    const path = `/${uniqueName('c')}`;
    assert.equal((await server.request('blob', 'PUT', path, { query: 'restype=container' })).status, 201);
    return path;
}

test('QueryEntities, QueryTables: $top=0 is none of them, and no continuation', async () => {
    const name = uniqueName('t');
    const table = await server.table(name);
    await table.createTable();
    await table.createEntity({ partitionKey: 'p', rowKey: 'r' });
    for (const path of [`/${name}()`, '/Tables']) {
        const answer = await server.request('table', 'GET', path, { query: { $top: '0' },
            headers: { Accept: 'application/json;odata=nometadata' } });
        assert.equal(answer.status, 200, answer.text);
        assert.deepEqual(answer.json().value, []);
        assert.deepEqual(Object.keys(answer.headers).filter((h) => h.startsWith('x-ms-continuation')), []);
    }
    assertError(await server.request('table', 'GET', '/nosuchtable()', { query: { $top: '0' } }), 404, 'TableNotFound');
    for (const top of ['-1', '1001', 'x'])
        assertError(await server.request('table', 'GET', `/${name}()`, { query: { $top: top } }), 400, 'InvalidInput');
});

test('ListBlobs: a client that would rather have Arrow gets XML; one that takes nothing else is refused', async () => {
    const path = await makeContainer();
    for (const [accept, status] of [['application/vnd.apache.arrow.stream,application/xml', 200],
        ['application/vnd.apache.arrow.stream;q=1, */*;q=0.5', 200], ['application/xml', 200],
        ['application/vnd.apache.arrow.stream', 501]]) {
        const answer = await server.request('blob', 'GET', path, { query: 'restype=container&comp=list',
            headers: { Accept: accept } });
        assert.equal(answer.status, status, accept);
        if (status === 200)
            assert.match(answer.headers['content-type'], /^application\/xml/);
    }
});

test('UpdateMessage, DeleteMessage: of a missing queue, whatever the message id looks like', async () => {
    const receipt = Buffer.alloc(12).toString('base64');
    for (const id of ['nonsense', '00000000-0000-0000-0000-000000000000', 'x'.repeat(100)]) {
        const query = { popreceipt: receipt, visibilitytimeout: '1' };
        const path = `/nosuchqueue/messages/${id}`;
        assertError(await server.request('queue', 'PUT', path, { query }), 404, 'QueueNotFound');
        assertError(await server.request('queue', 'DELETE', path, { query }), 404, 'QueueNotFound');
    }
    const queue = `/${uniqueName('q')}`;
    assert.equal((await server.request('queue', 'PUT', queue)).status, 201);
    const query = { popreceipt: receipt, visibilitytimeout: '1' };
    assertError(await server.request('queue', 'DELETE', `${queue}/messages/nonsense`, { query }), 404, 'MessageNotFound');
});

test('PutBlock, PutBlockList, PutPage, AppendBlock: the MD5 of versions before 2019-02-02', async () => {
    const container = await makeContainer();
    const page = 'p'.repeat(512);
    const list = '<BlockList><Latest>AAAA</Latest></BlockList>';
    const put = (path, query, body, version, headers = {}) => server.request('blob', 'PUT', container + path,
        { query, body, headers: { 'x-ms-version': version, ...headers } });
    for (const version of [...OLD, NEW]) {
        const wanted = (body) => (version === NEW ? undefined : md5(body));
        const block = await put('/b', { comp: 'block', blockid: 'AAAA' }, 'text', version);
        assert.deepEqual([block.status, block.headers['content-md5']], [201, wanted('text')], version);
        const commit = await put('/b', { comp: 'blocklist' }, list, version);
        assert.deepEqual([commit.status, commit.headers['content-md5']], [201, wanted(list)], version);
        await put('/p', '', '', version, { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': 512 });
        const write = await put('/p', { comp: 'page' }, page, version,
            { 'x-ms-page-write': 'update', 'x-ms-range': 'bytes=0-511' });
        assert.deepEqual([write.status, write.headers['content-md5']], [201, wanted(page)], version);
        await put('/a', '', '', version, { 'x-ms-blob-type': 'AppendBlob' });
        const append = await put('/a', { comp: 'appendblock' }, 'more', version);
        assert.deepEqual([append.status, append.headers['content-md5']], [201, wanted('more')], version);
        assert.equal(append.headers['x-ms-content-crc64'] !== undefined, version === NEW, version);
    }
});

test('PutBlockFromURL: the MD5 of versions before 2019-02-02', async () => {
    const container = await makeContainer();
    const options = { body: 'source', headers: { 'x-ms-blob-type': 'BlockBlob' } };
    assert.equal((await server.request('blob', 'PUT', `${container}/from`, options)).status, 201);
    for (const version of ['2018-03-28', NEW]) {
        const headers = { 'x-ms-version': version, 'x-ms-copy-source': readable(`${server.url('blob')}${container}/from`) };
        const answer = await server.request('blob', 'PUT', `${container}/to`,
            { query: { comp: 'block', blockid: 'AAAA' }, headers });
        assert.equal(answer.status, 201, answer.text);
        assert.equal(answer.headers['content-md5'], version === NEW ? undefined : md5('source'));
    }
});

test('SetBlobServiceProperties: a static website that does not say Enabled', async () => {
    const set = (inner) => server.request('blob', 'PUT', '', { query: 'restype=service&comp=properties',
        body: `<StorageServiceProperties><StaticWebsite>${inner}</StaticWebsite></StorageServiceProperties>` });
    assertError(await set('<IndexDocument>i.html</IndexDocument>'), 400, 'InvalidXmlDocument');
    assertError(await set(''), 400, 'InvalidXmlDocument');
    assert.equal((await set('<Enabled>true</Enabled><IndexDocument>i.html</IndexDocument>')).status, 202);
    assert.equal((await set('<Enabled>false</Enabled>')).status, 202);
});

test('GetShareStats: whole GiB before 2018-03-28', async () => {
    const path = `/${uniqueName('s')}`;
    assert.equal((await server.request('file', 'PUT', path, { query: 'restype=share' })).status, 201);
    const stats = async (version) => (await server.request('file', 'GET', path, { query: 'restype=share&comp=stats',
        headers: { 'x-ms-version': version } })).text;
    assert.match(await stats('2017-11-09'), /<ShareStats><ShareUsage>0<\/ShareUsage><\/ShareStats>/);
    const create = { headers: { 'x-ms-type': 'file', 'x-ms-content-length': (1 << 30) + 1 } };
    assert.equal((await server.request('file', 'PUT', `${path}/f`, create)).status, 201);
    assert.match(await stats('2017-11-09'), /<ShareUsage>2<\/ShareUsage>/);
    assert.match(await stats('2018-03-28'), new RegExp(`<ShareUsageBytes>${(1 << 30) + 1}</ShareUsageBytes>`));
});

test('a deleted name stays taken for as long as told: queues, shares, tables, containers', async () => {
    const table = uniqueName('t');
    const KINDS = [
        ['queue', `/${uniqueName('q')}`, '', 'QueueBeingDeleted'],
        ['file', `/${uniqueName('s')}`, 'restype=share', 'ShareBeingDeleted'],
        ['blob', `/${uniqueName('c')}`, 'restype=container', 'ContainerBeingDeleted'],
    ];
    const make = {
        table: () => server.request('table', 'POST', '/Tables', { body: JSON.stringify({ TableName: table }),
            headers: { 'Content-Type': 'application/json', Accept: 'application/json;odata=nometadata' } }),
    };
    for (const [service, path, query] of KINDS)
        make[service] = () => server.request(service, 'PUT', path, { query });
    for (const service of Object.keys(make))
        assert.equal((await make[service]()).status, 201, service);
    for (const [service, path, query] of KINDS)
        assert.equal((await server.request(service, 'DELETE', path, { query })).status, service === 'queue' ? 204 : 202);
    assert.equal((await server.request('table', 'DELETE', `/Tables('${table}')`)).status, 204);
    for (const [service, , , code] of [...KINDS, ['table', '', '', 'TableBeingDeleted']])
        assertError(await make[service](), 409, code);
    // Gone all the same.
    assertError(await server.request('queue', 'GET', `${KINDS[0][1]}`, { query: 'comp=metadata' }), 404, 'QueueNotFound');
    const listed = await server.request('queue', 'GET', '', { query: 'comp=list' });
    assert.ok(!listed.text.includes(KINDS[0][1].slice(1)));
    const shares = await server.request('file', 'GET', '', { query: 'comp=list' });
    assert.ok(!shares.text.includes(KINDS[1][1].slice(1)));
    server.advance(31000);
    for (const service of Object.keys(make))
        assert.equal((await make[service]()).status, 201, service);
});

test('GetUserDelegationKey: by a SAS', async () => {
    const sas = { sv: VERSION, ss: 'b', srt: 's', sp: 'rwl', se: new Date(Date.now() + 3600e3).toISOString() };
    const text = [ACCOUNT, sas.sp, sas.ss, sas.srt, '', sas.se, '', '', sas.sv, '', ''].join('\n');
    const answer = await server.request('blob', 'POST', '', { auth: 'none', body: '<KeyInfo><Expiry>2030-01-01</Expiry></KeyInfo>',
        query: { restype: 'service', comp: 'userdelegationkey', ...sas, sig: hmac(text) } });
    assertError(answer, 403, 'AuthenticationFailed');
    assert.match(answer.text, /Only authentication scheme Bearer is supported/);
});
