// SPDX-License-Identifier: Apache-2.0
// The table service: tables and entities, through the official SDK and through raw requests.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertError, assertRejects, startServer, uniqueName } from './lib.mjs';
import { entityPath, json, newTable, quoted } from './table_lib.mjs';

let server;

before(async () => {
    server = await startServer({ inMemory: true, services: ['table'] });
});
after(() => server.stop());

const ETAG = /^W\/"datetime'\d{4}-\d\d-\d\dT\d\d%3A\d\d%3A\d\d\.\d{7}Z'"$/;
const STALE = 'W/"datetime\'2015-01-01T23%3A14%3A33.4980000Z\'"';
const full = { Accept: 'application/json;odata=fullmetadata' };
const minimal = { Accept: 'application/json;odata=minimalmetadata' };

// ---- tables ---------------------------------------------------------------------------------------------------------

test('CreateTable: 201 with a body, 204 without, 409 when it is there', async () => {
    const name = uniqueName('T');
    const made = await json(server, 'POST', '/Tables', { TableName: name }, full);
    assert.equal(made.status, 201);
    const base = server.url('table');
    assert.deepEqual(made.json(), {
        'odata.metadata': `${base}/$metadata#Tables/@Element`,
        'odata.type': 'devstoreaccount1.Tables',
        'odata.id': `${base}/Tables('${name}')`,
        'odata.editLink': `Tables('${name}')`,
        TableName: name,
    });
    assert.equal(made.headers.location, `${base}/Tables('${name}')`);
    assert.equal(made.headers['content-type'], 'application/json;odata=fullmetadata;streaming=true;charset=utf-8');
    assert.equal(made.headers['x-content-type-options'], 'nosniff');
    assertError(await json(server, 'POST', '/Tables', { TableName: name }), 409, 'TableAlreadyExists');
    assertError(await json(server, 'POST', '/Tables', { TableName: name.toUpperCase() }), 409, 'TableAlreadyExists');
    const other = uniqueName('T');
    const quiet = await json(server, 'POST', '/Tables', { TableName: other }, { Prefer: 'return-no-content' });
    assert.equal(quiet.status, 204);
    assert.equal(quiet.headers['preference-applied'], 'return-no-content');
    assert.equal(quiet.headers.dataserviceid, `${base}/Tables('${other}')`);
});

test('CreateTable: names and bodies', async () => {
    for (const [name, code] of [['ab', 'OutOfRangeInput'], ['a'.repeat(64), 'OutOfRangeInput'], ['1abc', 'InvalidResourceName'],
        ['a-b-c', 'InvalidResourceName'], ['abc!', 'InvalidResourceName'], ['Tables', 'InvalidInput'], ['tables', 'InvalidInput']])
        assertError(await json(server, 'POST', '/Tables', { TableName: name }), 400, code);
    assertError(await json(server, 'POST', '/Tables', {}), 400, 'PropertiesNeedValue');
    assertError(await json(server, 'POST', '/Tables', { TableName: null }), 400, 'PropertiesNeedValue');
    for (const body of ['', '{', '[]', '"x"', '{"TableName":5}', '{"TableName":"abc"}x'])
        assertError(await json(server, 'POST', '/Tables', body), 400, 'InvalidInput');
});

test('QueryTables: order, filter, pages', async () => {
    const other = await startServer({ inMemory: true, services: ['table'] });
    try {
        for (const name of ['Zoo', 'Apple', 'banana', 'Mango'])
            assert.equal((await json(other, 'POST', '/Tables', { TableName: name })).status, 201);
        const names = (answer) => answer.json().value.map((t) => t.TableName);
        const all = await json(other, 'GET', '/Tables');
        assert.deepEqual(names(all), ['Apple', 'banana', 'Mango', 'Zoo']);
        assert.deepEqual(Object.keys(all.json()), ['value']);
        assert.deepEqual(names(await json(other, 'GET', '/Tables()')), ['Apple', 'banana', 'Mango', 'Zoo']);
        const some = await json(other, 'GET', '/Tables', undefined, minimal, { query: { $filter: "TableName ge 'M' and TableName lt 'N'" } });
        assert.deepEqual(some.json(), { 'odata.metadata': `${other.url('table')}/$metadata#Tables`, value: [{ TableName: 'Mango' }] });
        const page = await json(other, 'GET', '/Tables', undefined, {}, { query: { $top: 3 } });
        assert.deepEqual(names(page), ['Apple', 'banana', 'Mango']);
        const NextTableName = page.headers['x-ms-continuation-nexttablename'];
        assert.match(NextTableName, /^1!\d+!\S+$/);
        assert.deepEqual(names(await json(other, 'GET', '/Tables', undefined, {}, { query: { $top: 3, NextTableName } })), ['Zoo']);
        for (const query of [{ $top: 1001 }, { $top: 'x' }, { NextTableName: 'Zoo' }, { $filter: 'TableName eq' }])
            assertError(await json(other, 'GET', '/Tables', undefined, {}, { query }), 400, 'InvalidInput');
        const service = await other.tables();
        const listed = [];
        for await (const table of service.listTables())
            listed.push(table.name);
        assert.deepEqual(listed, ['Apple', 'banana', 'Mango', 'Zoo']);
    } finally {
        await other.stop();
    }
});

test('GetTable', async () => {
    const table = await newTable(server);
    const got = await json(server, 'GET', `/Tables('${table.name.toLowerCase()}')`);
    assert.equal(got.status, 200);
    assert.deepEqual(got.json(), { TableName: table.name });
    assertError(await json(server, 'GET', "/Tables('missing')"), 404, 'ResourceNotFound');
});

test('DeleteTable: gone at once, and the name is free', async () => {
    const table = await newTable(server);
    await table.insert({ PartitionKey: 'p', RowKey: 'r' });
    assert.equal((await json(server, 'DELETE', `/Tables('${table.name}')`)).status, 204);
    assertError(await json(server, 'DELETE', `/Tables('${table.name}')`), 404, 'ResourceNotFound');
    assertError(await table.get('p', 'r'), 404, 'TableNotFound');
    assertError(await table.query(), 404, 'TableNotFound');
    assertError(await table.insert({ PartitionKey: 'p', RowKey: 'r' }), 404, 'TableNotFound');
    assert.equal((await json(server, 'POST', '/Tables', { TableName: table.name })).status, 201);
    assertError(await table.get('p', 'r'), 404, 'ResourceNotFound');
    assert.deepEqual((await table.query()).json().value, []);
});

test('SetTableACL, GetTableACL', async () => {
    const table = await server.table((await newTable(server)).name);
    assert.deepEqual(await table.getAccessPolicy().then((p) => [...p]), []);
    const start = new Date('2026-01-01T00:00:00Z');
    const expiry = new Date('2027-01-01T00:00:00Z');
    await table.setAccessPolicy([{ id: 'one', accessPolicy: { start, expiry, permission: 'raud' } }]);
    const [policy] = await table.getAccessPolicy();
    assert.equal(policy.id, 'one');
    assert.equal(policy.accessPolicy.permission, 'raud');
    assert.equal(policy.accessPolicy.start.getTime(), start.getTime());
    await table.setAccessPolicy([]);
    assert.equal([...await table.getAccessPolicy()].length, 0);
    assertError(await server.request('table', 'GET', '/missing', { query: 'comp=acl' }), 404, 'TableNotFound');
    const body = '<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Permission>rw</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>';
    assertError(await server.request('table', 'PUT', `/${table.tableName}`, { query: 'comp=acl', body }), 400, 'InvalidXmlDocument');
    const refused = await server.request('table', 'PUT', '/', { query: 'restype=service&comp=properties', body: '<x/>' });
    assertError(refused, 400, 'InvalidXmlDocument');
    assert.deepEqual(refused.xml('m:code'), ['InvalidXmlDocument']);
});

test('SetTableServiceProperties, GetTableServiceProperties, GetTableServiceStats', async () => {
    const service = await server.tables();
    await service.setProperties({ cors: [{ allowedOrigins: 'http://example.com', allowedMethods: 'GET,MERGE', allowedHeaders: '*', exposedHeaders: '*', maxAgeInSeconds: 5 }] });
    const { cors } = await service.getProperties();
    assert.equal(cors[0].allowedOrigins, 'http://example.com');
    const raw = await server.request('table', 'GET', '/', { query: 'restype=service&comp=properties' });
    assert.equal(raw.status, 200);
    assert.match(raw.text, /<StorageServiceProperties>/);
    await service.setProperties({ cors: [] });
    const stats = await server.request('table', 'GET', '/', { query: 'restype=service&comp=stats', account: 'devstoreaccount1' });
    assert.ok([200, 400].includes(stats.status));
});

// ---- entities: the operations ---------------------------------------------------------------------------------------

test('InsertEntity: 201 echoes, 204 does not, 409 when it is there', async () => {
    const table = await newTable(server);
    const base = server.url('table');
    const made = await table.insert({ PartitionKey: "it's", RowKey: '100%', n: 1 }, full);
    assert.equal(made.status, 201);
    const body = made.json();
    const relative = `${table.name}(PartitionKey=${quoted("it's")},RowKey=${quoted('100%')})`;
    assert.match(made.headers.etag, ETAG);
    assert.equal(made.headers.location, `${base}/${relative}`);
    assert.equal(made.headers['preference-applied'], undefined);
    assert.equal(made.headers.dataserviceversion, '3.0;');
    assert.deepEqual(body, {
        'odata.metadata': `${base}/$metadata#${table.name}/@Element`,
        'odata.type': `devstoreaccount1.${table.name}`,
        'odata.id': `${base}/${relative}`,
        'odata.etag': made.headers.etag,
        'odata.editLink': relative,
        PartitionKey: "it's",
        RowKey: '100%',
        'Timestamp@odata.type': 'Edm.DateTime',
        Timestamp: body.Timestamp,
        n: 1,
    });
    const asked = await table.insert({ PartitionKey: 'p', RowKey: '1' }, { Prefer: 'return-content' });
    assert.equal(asked.status, 201);
    assert.equal(asked.headers['preference-applied'], 'return-content');
    const quiet = await table.insert({ PartitionKey: 'p', RowKey: '2' }, { Prefer: 'return-no-content' });
    assert.equal(quiet.status, 204);
    assert.equal(quiet.bytes.length, 0);
    assert.equal(quiet.headers['preference-applied'], 'return-no-content');
    assert.equal(quiet.headers.dataserviceid, `${base}/${table.name}(PartitionKey='p',RowKey='2')`);
    assert.match(quiet.headers.etag, ETAG);
    assertError(await table.insert({ PartitionKey: 'p', RowKey: '2', other: true }), 409, 'EntityAlreadyExists');
    assert.equal((await table.get('p', '2')).json().other, undefined);
});

test('QueryEntity: the three levels of metadata', async () => {
    const table = await newTable(server);
    const guid = 'c9da6455-213d-42c9-9a79-3e9149a57833';
    await table.insert({
        PartitionKey: 'p', RowKey: 'r', s: 'text', i: 5, d: 2.5, b: true,
        'l@odata.type': 'Edm.Int64', l: '9223372036854775807', 'g@odata.type': 'Edm.Guid', g: guid,
        'x@odata.type': 'Edm.Binary', x: 'AQID', 't@odata.type': 'Edm.DateTime', t: '2008-07-10T00:00:00Z',
        'w@odata.type': 'Edm.Double', w: 255,
    });
    const values = { PartitionKey: 'p', RowKey: 'r', s: 'text', i: 5, d: 2.5, b: true, l: '9223372036854775807', g: guid, x: 'AQID', t: '2008-07-10T00:00:00Z', w: 255.0 };
    const types = { 'l@odata.type': 'Edm.Int64', 'g@odata.type': 'Edm.Guid', 'x@odata.type': 'Edm.Binary', 't@odata.type': 'Edm.DateTime' };
    const none = await table.get('p', 'r');
    assert.equal(none.headers['content-type'], 'application/json;odata=nometadata;streaming=true;charset=utf-8');
    const { Timestamp, ...rest } = none.json();
    assert.match(Timestamp, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    assert.deepEqual(rest, values);
    assert.match(none.text, /"w":255\.0/);
    const some = (await table.get('p', 'r', minimal)).json();
    assert.deepEqual(some, { 'odata.metadata': `${server.url('table')}/$metadata#${table.name}/@Element`, 'odata.etag': none.headers.etag, Timestamp, ...values, ...types });
    const all = (await table.get('p', 'r', full)).json();
    assert.equal(all['Timestamp@odata.type'], 'Edm.DateTime');
    assert.equal(all['odata.type'], `devstoreaccount1.${table.name}`);
    const byFormat = await table.get('p', 'r', full, { query: { $format: 'application/json;odata=nometadata' } });
    assert.deepEqual(byFormat.json(), none.json());
    for (const Accept of [undefined, '*/*', 'application/json', 'application/atom+xml,application/json'])
        assert.equal((await table.get('p', 'r', { Accept })).json()['odata.etag'], none.headers.etag);
});

test('QueryEntity: select', async () => {
    const table = await newTable(server);
    await table.insert({ PartitionKey: 'p', RowKey: 'r', a: 1, b: 2 });
    const select = async ($select) => (await table.get('p', 'r', {}, { query: { $select } })).json();
    assert.deepEqual(await select('a'), { a: 1 });
    assert.deepEqual(await select('RowKey, b ,missing'), { RowKey: 'r', b: 2 });
    assert.equal(Object.keys(await select('*')).length, 5);
    assert.equal(Object.keys(await select('')).length, 5);
});

test('entities: what is not there', async () => {
    const table = await newTable(server);
    const any = { 'If-Match': '*' };
    for (const answer of [await table.get('p', 'r'), await table.put('p', 'r', {}, any), await table.merge('p', 'r', {}, any), await table.delete('p', 'r', any)])
        assertError(answer, 404, 'ResourceNotFound');
    assertError(await json(server, 'GET', entityPath('missing', 'p', 'r')), 404, 'TableNotFound');
});

test('MERGE, PATCH and POST with X-HTTP-Method are one', async () => {
    const table = await newTable(server);
    const path = entityPath(table.name, 'p', 'r');
    assert.equal((await table.merge('p', 'r', { a: 1 })).status, 204);
    assert.equal((await table.patch('p', 'r', { b: 2 })).status, 204);
    assert.equal((await json(server, 'POST', path, { c: 3 }, { 'X-HTTP-Method': 'MERGE' })).status, 204);
    assert.equal((await json(server, 'POST', path, { d: 4 }, { 'X-HTTP-Method': 'PATCH', 'If-Match': '*' })).status, 204);
    const { Timestamp, ...rest } = (await table.get('p', 'r')).json();
    assert.deepEqual(rest, { PartitionKey: 'p', RowKey: 'r', a: 1, b: 2, c: 3, d: 4 });
    assert.equal((await json(server, 'POST', path, { e: 5 }, { 'X-HTTP-Method': 'PUT' })).status, 204);
    assert.equal((await json(server, 'POST', path, undefined, { 'X-HTTP-Method': 'DELETE', 'If-Match': '*' })).status, 204);
    assertError(await table.get('p', 'r'), 404, 'ResourceNotFound');
    assertError(await json(server, 'POST', path, {}, { 'X-HTTP-Method': 'FETCH' }), 400, 'XMethodIncorrectValue');
    assertError(await json(server, 'PUT', path, {}, { 'X-HTTP-Method': 'MERGE' }), 400, 'XMethodNotUsingPost');
    assertError(await json(server, 'POST', path, {}, { 'X-HTTP-Method': ['MERGE', 'MERGE'] }), 400, 'XMethodIncorrectCount');
});

test('Atom and other formats are refused', async () => {
    const table = await newTable(server);
    const atom = { Accept: 'application/atom+xml' };
    assertError(await table.get('p', 'r', atom), 415, 'AtomFormatNotSupported');
    assertError(await table.query({ $format: 'atom' }), 415, 'AtomFormatNotSupported');
    assertError(await table.insert('<entry/>', { 'Content-Type': 'application/atom+xml' }), 415, 'AtomFormatNotSupported');
    assertError(await table.query({}, { Accept: 'text/html' }), 415, 'MediaTypeNotSupported');
    assertError(await table.query({}, { Accept: 'application/json;odata=verbose' }), 415, 'MediaTypeNotSupported');
    assertError(await table.insert('x', { 'Content-Type': 'text/plain' }), 415, 'MediaTypeNotSupported');
});

// ---- rules T1 to T3 -------------------------------------------------------------------------------------------------

/** T2's table: [operation, returns an ETag, requires If-Match, call]. */
const T2 = [
    ['QueryEntities', true, false, (table) => table.get('p', 'r')],
    ['InsertEntity', true, false, (table) => table.insert({ PartitionKey: 'p', RowKey: uniqueName() })],
    ['UpdateEntity', true, true, (table, headers) => table.put('p', 'r', { n: 1 }, headers)],
    ['MergeEntity', true, true, (table, headers) => table.merge('p', 'r', { n: 1 }, headers)],
    ['DeleteEntity', false, true, (table, headers) => table.delete('p', 'r', headers)],
    ['InsertOrReplaceEntity', true, false, (table) => table.put('p', 'r', { n: 2 })],
    ['InsertOrMergeEntity', true, false, (table) => table.merge('p', 'r', { n: 2 })],
];

for (const [name, returnsEtag, requiresMatch, call] of T2) {
    test(`rule_T2 ${name}: ${returnsEtag ? 'returns' : 'does not return'} an ETag, ${requiresMatch ? 'requires' : 'does not require'} If-Match`, async () => {
        const table = await newTable(server);
        const { etag } = (await table.insert({ PartitionKey: 'p', RowKey: 'r', n: 0 })).headers;
        if (requiresMatch) {
            assertError(await call(table, { 'If-Match': STALE }), 412, 'UpdateConditionNotSatisfied');
            assert.equal((await table.get('p', 'r')).headers.etag, etag);
        }
        const done = await call(table, requiresMatch ? { 'If-Match': etag } : {});
        assert.ok(done.status < 300, done.text);
        if (returnsEtag)
            assert.match(done.headers.etag, ETAG);
        else
            assert.equal(done.headers.etag, undefined);
        if (requiresMatch && returnsEtag) {
            assert.notEqual(done.headers.etag, etag);
            assert.equal((await table.get('p', 'r')).headers.etag, done.headers.etag);
            assertError(await call(table, { 'If-Match': etag }), 412, 'UpdateConditionNotSatisfied');
            assert.equal((await call(table, { 'If-Match': '*' })).status, 204);
        }
    });
}

test('rule_T2: DeleteEntity without If-Match is refused; update and merge without it are the upserts of T3', async () => {
    const table = await newTable(server);
    await table.insert({ PartitionKey: 'p', RowKey: 'r' });
    assertError(await table.delete('p', 'r'), 400, 'MissingRequiredHeader');
    assert.equal((await table.get('p', 'r')).status, 200);
    assert.equal((await table.put('p', 'new', { a: 1 })).status, 204);
    assert.equal((await table.merge('p', 'newer', { a: 1 })).status, 204);
    assert.equal((await table.get('p', 'newer')).json().a, 1);
});

test('rule_T2: If-Match takes * or one weak ETag', async () => {
    const table = await newTable(server);
    const { etag } = (await table.insert({ PartitionKey: 'p', RowKey: 'r' })).headers;
    for (const value of ['W/"wrong"', STALE, 'w/"wrong"', 'W/"0x5B168C7B6E589D2"'])
        assertError(await table.put('p', 'r', {}, { 'If-Match': value }), 412, 'UpdateConditionNotSatisfied');
    for (const value of ['"wrong"', '"datetime\'2015-01-01T23%3A14%3A33.4980000Z\'"', 'wrong', '"', `${etag}, ${etag}`])
        assertError(await table.put('p', 'r', {}, { 'If-Match': value }), 400, 'InvalidInput');
    assertError(await table.put('p', 'r', {}, { 'If-None-Match': '*' }), 400, 'InvalidInput');
    assert.equal((await table.get('p', 'r')).headers.etag, etag);
    assert.equal((await table.put('p', 'r', {}, { 'If-Match': etag.replaceAll('%3A', ':') })).status, 204);
});

test('rule_T1: two clients read, change and write; one wins', async () => {
    const table = await newTable(server);
    await table.insert({ PartitionKey: 'p', RowKey: 'r', n: 0 });
    const [one, two] = [await table.get('p', 'r'), await table.get('p', 'r')];
    const answers = await Promise.all([one, two].map((seen) => table.put('p', 'r', { n: 1 }, { 'If-Match': seen.headers.etag })));
    assert.deepEqual(answers.map((a) => a.status).sort(), [204, 412]);
});

test('rule_T1: with the SDK', async () => {
    const table = await server.table((await newTable(server)).name);
    await table.createEntity({ partitionKey: 'p', rowKey: 'r', n: 0 });
    const seen = await table.getEntity('p', 'r');
    await table.updateEntity({ partitionKey: 'p', rowKey: 'r', n: 1 }, 'Replace', { etag: seen.etag });
    await assertRejects(table.updateEntity({ partitionKey: 'p', rowKey: 'r', n: 2 }, 'Merge', { etag: seen.etag }), 412, 'UpdateConditionNotSatisfied');
    await assertRejects(table.deleteEntity('p', 'r', { etag: seen.etag }), 412, 'UpdateConditionNotSatisfied');
    await table.deleteEntity('p', 'r');
});

// ---- values ---------------------------------------------------------------------------------------------------------

test('values come back as they were sent', async () => {
    const table = await newTable(server);
    const cases = [
        ['Edm.Int32', -2147483648], ['Edm.Int32', 2147483647], ['Edm.Int32', '-31', -31],
        ['Edm.Int64', '9223372036854775807'], ['Edm.Int64', '-9223372036854775808'], ['Edm.Int64', 7, '7'],
        ['Edm.Double', 1.7976931348623157e308], ['Edm.Double', 5e-324], ['Edm.Double', 0.1], ['Edm.Double', 'NaN'],
        ['Edm.Double', 'Infinity'], ['Edm.Double', '-Infinity'], ['Edm.Double', 3], ['Edm.Double', '1.5', 1.5],
        ['Edm.Boolean', 'true', true], ['Edm.Boolean', false],
        ['Edm.DateTime', '1601-01-01T00:00:00Z'], ['Edm.DateTime', '9999-12-31T23:59:59.9999999Z'],
        ['Edm.DateTime', '2020-02-29T12:00:00+02:00', '2020-02-29T10:00:00Z'], ['Edm.DateTime', '2020-01-01T00:00:00', '2020-01-01T00:00:00Z'],
        ['Edm.Guid', '{C9DA6455-213D-42C9-9A79-3E9149A57833}', 'c9da6455-213d-42c9-9a79-3e9149a57833'],
        ['Edm.Binary', ''], ['Edm.Binary', 'AAECAwQF'], ['Edm.String', ''], ['Edm.String', 'ünï "q" \\ \n 𐐷 \u0001'],
        [undefined, 2147483647], [undefined, 2147483648, 2147483648], [undefined, -1.5e-7], [undefined, true], [undefined, 'x'],
    ];
    for (const [i, [type, sent, want = sent]] of cases.entries()) {
        const entity = { PartitionKey: 'p', RowKey: String(i), v: sent };
        if (type !== undefined)
            entity['v@odata.type'] = type;
        const made = await table.insert(entity);
        assert.equal(made.status, 201, `${type} ${sent}: ${made.text}`);
        assert.deepEqual(made.json().v, want, `${type} ${sent}`);
        const got = (await table.get('p', String(i), minimal)).json();
        assert.deepEqual(got.v, want, `${type} ${sent}`);
        const shown = { 'Edm.Int64': 1, 'Edm.DateTime': 1, 'Edm.Guid': 1, 'Edm.Binary': 1 }[type] === 1 || (type === 'Edm.Double' && typeof want === 'string');
        assert.equal(got['v@odata.type'], shown ? type : undefined, `${type} ${sent}`);
    }
});

test('null is a property that is not there', async () => {
    const table = await newTable(server);
    assert.equal('n' in (await table.insert({ PartitionKey: 'p', RowKey: 'r', n: null, 'm@odata.type': 'Edm.Int64', m: null })).json(), false);
    await table.merge('p', 'r', { a: 1 });
    await table.merge('p', 'r', { a: null, b: 2 });
    const { Timestamp, ...rest } = (await table.get('p', 'r')).json();
    assert.deepEqual(rest, { PartitionKey: 'p', RowKey: 'r', a: 1, b: 2 });
});

test('what a client says of the Timestamp and in odata annotations is passed over', async () => {
    const table = await newTable(server);
    const made = await table.insert({ 'odata.etag': 'W/"x"', 'odata.metadata': 'm', PartitionKey: 'p', RowKey: 'r', Timestamp: '2000-01-01T00:00:00Z', 'a@odata.mediaType': 'x', a: 1 });
    assert.equal(made.status, 201, made.text);
    assert.notEqual(made.json().Timestamp, '2000-01-01T00:00:00Z');
    const put = await table.put('p', 'r', { PartitionKey: 'other', RowKey: 'keys', a: 2 });
    assert.equal(put.status, 204);
    assert.equal((await table.get('p', 'r')).json().a, 2);
});

/** [what, body, code]: each is refused and changes nothing. */
const REFUSED = [
    ['no keys', {}, 'PropertiesNeedValue'],
    ['no RowKey', { PartitionKey: 'p' }, 'PropertiesNeedValue'],
    ['a null key', { PartitionKey: 'p', RowKey: null }, 'PropertiesNeedValue'],
    ['an empty body', '', 'PropertiesNeedValue'],
    ['a number for a key', { PartitionKey: 5, RowKey: 'r' }, 'InvalidInput'],
    ['a slash in a key', { PartitionKey: 'a/b', RowKey: 'r' }, 'OutOfRangeInput'],
    ['a backslash in a key', { PartitionKey: 'p', RowKey: 'a\\b' }, 'OutOfRangeInput'],
    ['a control character in a key', { PartitionKey: 'p', RowKey: 'a\u0007b' }, 'OutOfRangeInput'],
    ['U+0085 in a key', { PartitionKey: 'p\u0085', RowKey: 'r' }, 'OutOfRangeInput'],
    ['a key that is too long', { PartitionKey: 'p'.repeat(1025), RowKey: 'r' }, 'PropertyValueTooLarge'],
    ['a property twice', '{"PartitionKey":"p","RowKey":"r","a":1,"a":1}', 'DuplicatePropertiesSpecified'],
    ['a key twice', '{"PartitionKey":"p","RowKey":"r","RowKey":"s"}', 'DuplicatePropertiesSpecified'],
    ['an annotation twice', '{"PartitionKey":"p","RowKey":"r","a@odata.type":"Edm.Int64","a@odata.type":"Edm.Guid","a":"1"}', 'DuplicatePropertiesSpecified'],
    ['a name with a dash', { PartitionKey: 'p', RowKey: 'r', 'a-b': 1 }, 'PropertyNameInvalid'],
    ['a name with a digit first', { PartitionKey: 'p', RowKey: 'r', '1a': 1 }, 'PropertyNameInvalid'],
    ['an empty name', { PartitionKey: 'p', RowKey: 'r', '': 1 }, 'PropertyNameInvalid'],
    ['a name of 256 characters', { PartitionKey: 'p', RowKey: 'r', ['n'.repeat(256)]: 1 }, 'PropertyNameTooLong'],
    ['253 properties', { PartitionKey: 'p', RowKey: 'r', ...Object.fromEntries(Array.from({ length: 253 }, (_, i) => [`p${i}`, i])) }, 'TooManyProperties'],
    ['600 properties', { PartitionKey: 'p', RowKey: 'r', ...Object.fromEntries(Array.from({ length: 600 }, (_, i) => [`p${i}`, i])) }, 'TooManyProperties'],
    ['a string of 32769 characters', { PartitionKey: 'p', RowKey: 'r', s: 'x'.repeat(32769) }, 'PropertyValueTooLarge'],
    ['a binary of 65537 bytes', { PartitionKey: 'p', RowKey: 'r', 'b@odata.type': 'Edm.Binary', b: Buffer.alloc(65537).toString('base64') }, 'PropertyValueTooLarge'],
    ['an entity past 1 MiB', { PartitionKey: 'p', RowKey: 'r', ...Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`p${i}`, 'x'.repeat(32000)])) }, 'EntityTooLarge'],
    ['an object for a value', { PartitionKey: 'p', RowKey: 'r', a: { b: 1 } }, 'InvalidInput'],
    ['an array for a value', { PartitionKey: 'p', RowKey: 'r', a: [1] }, 'InvalidInput'],
    ['deep nesting', `{"PartitionKey":"p","RowKey":"r","a":${'['.repeat(5000)}${']'.repeat(5000)}}`, 'InvalidInput'],
    ['an unknown type', { PartitionKey: 'p', RowKey: 'r', 'a@odata.type': 'Edm.Byte', a: 1 }, 'InvalidInput'],
    ['a type that is no text', { PartitionKey: 'p', RowKey: 'r', 'a@odata.type': 5, a: 1 }, 'InvalidInput'],
    ['an Int32 past its end', { PartitionKey: 'p', RowKey: 'r', 'a@odata.type': 'Edm.Int32', a: 2147483648 }, 'InvalidInput'],
    ['an Int32 with a fraction', { PartitionKey: 'p', RowKey: 'r', 'a@odata.type': 'Edm.Int32', a: '-3.1' }, 'InvalidInput'],
    ['an Int64 past its end', { PartitionKey: 'p', RowKey: 'r', 'a@odata.type': 'Edm.Int64', a: '9223372036854775808' }, 'InvalidInput'],
    ['a Double past its end', '{"PartitionKey":"p","RowKey":"r","a":1e400}', 'InvalidInput'],
    ['NaN as a number', '{"PartitionKey":"p","RowKey":"r","a":NaN}', 'InvalidInput'],
    ['a GUID that is none', { PartitionKey: 'p', RowKey: 'r', 'a@odata.type': 'Edm.Guid', a: 'xyz' }, 'InvalidInput'],
    ['a binary that is no base64', { PartitionKey: 'p', RowKey: 'r', 'a@odata.type': 'Edm.Binary', a: '!' }, 'InvalidInput'],
    ['an empty date', { PartitionKey: 'p', RowKey: 'r', 'a@odata.type': 'Edm.DateTime', a: '' }, 'InvalidInput'],
    ['a date before 1601', { PartitionKey: 'p', RowKey: 'r', 'a@odata.type': 'Edm.DateTime', a: '1600-12-31T23:59:59.9999999Z' }, 'OutOfRangeInput'],
    ['a Boolean for a number', { PartitionKey: 'p', RowKey: 'r', 'a@odata.type': 'Edm.Int32', a: true }, 'InvalidInput'],
    ['text behind the object', '{"PartitionKey":"p","RowKey":"r"}{}', 'InvalidInput'],
    ['an object that does not end', '{"PartitionKey":"p","RowKey":"r"', 'InvalidInput'],
    ['invalid UTF-8', Buffer.from('{"PartitionKey":"p","RowKey":"r","a":"\xff"}', 'latin1'), 'InvalidInput'],
    ['half of a surrogate pair', '{"PartitionKey":"p","RowKey":"r","a":"\\ud800"}', 'InvalidInput'],
];

test('what is refused changes nothing', async () => {
    const table = await newTable(server);
    for (const [what, body, code] of REFUSED) {
        const answer = await table.insert(body);
        assert.equal(answer.headers['x-ms-error-code'], code, `${what}: ${answer.text}`);
        assertError(answer, 400, code);
    }
    assert.deepEqual((await table.query()).json().value, []);
    assertError(await table.insert(`{"PartitionKey":"p","RowKey":"${'r'.repeat(4 << 20)}"}`), 413, 'RequestBodyTooLarge');
});

test('limits that hold', async () => {
    const table = await newTable(server);
    const entity = {
        PartitionKey: '€'.repeat(1024), RowKey: 'r'.repeat(1024), ['n'.repeat(255)]: '€'.repeat(32768),
        'b@odata.type': 'Edm.Binary', b: Buffer.alloc(65536, 7).toString('base64'),
        ...Object.fromEntries(Array.from({ length: 250 }, (_, i) => [`p${i}`, i])),
    };
    const made = await table.insert(entity);
    assert.equal(made.status, 201, made.text.slice(0, 200));
    const { Timestamp, ...rest } = (await table.query()).json().value[0];
    const { 'b@odata.type': type, ...want } = entity;
    assert.deepEqual(rest, want);
});

test('keys with every kind of character', async () => {
    const table = await newTable(server);
    const client = await server.table(table.name);
    const keys = ['', ' ', "'", "''", "it's", '%', '%25', '100%', 'a,b', 'a=b', '(x)', 'a&b', 'a+b', 'ü', '日本', '𐐷', '"q"', '<x>', ';:@!$*~^|`{}[]', 'a'.repeat(512)];
    for (const key of keys) {
        const made = await table.insert({ PartitionKey: key, RowKey: key, key });
        assert.equal(made.status, 201, `${key}: ${made.text}`);
        assert.equal((await table.get(key, key)).json().key, key);
        assert.equal((await client.getEntity(key, key)).key, key);
        await client.updateEntity({ partitionKey: key, rowKey: key, more: true }, 'Merge');
        assert.equal((await table.get(key, key)).json().more, true);
        const { value } = (await table.query({ $filter: `PartitionKey eq '${key.replaceAll("'", "''")}'` })).json();
        assert.deepEqual(value.map((e) => e.RowKey), [key]);
        const { headers } = await table.delete(key, key, { 'If-Match': '*' });
        assert.equal(headers.etag, undefined);
    }
    assert.deepEqual((await table.query()).json().value, []);
});

test('the SDK round-trips every type', async () => {
    const table = await server.table((await newTable(server)).name);
    const when = new Date('2024-02-29T12:34:56.789Z');
    const entity = {
        partitionKey: 'p', rowKey: 'r', text: 'x', int: 5, big: 12345678901234567890n / 10n, real: 1.5, yes: true, when,
        bytes: new Uint8Array([0, 1, 255]), guid: { type: 'Guid', value: 'c9da6455-213d-42c9-9a79-3e9149a57833' }, wide: 3000000000,
    };
    await table.createEntity(entity);
    const got = await table.getEntity('p', 'r');
    assert.equal(got.big, entity.big);
    assert.equal(got.real, 1.5);
    assert.equal(got.wide, 3000000000);
    assert.deepEqual([...got.bytes], [0, 1, 255]);
    assert.equal(got.guid.value, entity.guid.value);
    assert.equal(got.when.getTime(), when.getTime());
});

test('what is stored survives a restart and a crash', async () => {
    const other = await startServer({ services: ['table'] });
    try {
        const table = await newTable(other);
        const { etag } = (await table.insert({ PartitionKey: 'p', RowKey: 'r', n: 1 })).headers;
        await other.restart();
        assert.equal((await table.get('p', 'r')).headers.etag, etag);
        await table.put('p', 'r', { n: 2 }, { 'If-Match': etag });
        await other.restart({ crash: true });
        assert.equal((await table.get('p', 'r')).json().n, 2);
        assertError(await table.put('p', 'r', { n: 3 }, { 'If-Match': etag }), 412, 'UpdateConditionNotSatisfied');
    } finally {
        await other.stop();
    }
});

test('malformed addresses', async () => {
    const table = await newTable(server);
    for (const path of [`/${table.name}(`, `/${table.name}(PartitionKey='a')`, `/${table.name}(PartitionKey='a',RowKey='b'`,
        `/${table.name}(RowKey='b',RowKey='b')`, `/${table.name}(PartitionKey=a,RowKey=b)`, `/${table.name}('a','b')`])
        assert.equal((await json(server, 'GET', path)).status, 400, path);
    assert.equal((await json(server, 'GET', `/${table.name}(RowKey='b',PartitionKey='a')`)).status, 404);
    assertError(await json(server, 'GET', '/a-b'), 400, 'InvalidResourceName');
    assertError(await json(server, 'PUT', '/Tables'), 405, 'UnsupportedHttpVerb');
});
