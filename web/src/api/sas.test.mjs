// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountSas, connectionString, explainSas, serviceSas } from './sas.js';

const session = {
    account: 'acc', credential: { kind: 'key', sign: async (text) => Buffer.from(text).toString('base64') }, server: { services: { blob: {}, table: {} } },
    endpoint: (service) => `http://127.0.0.1:1/${service}`, keyText: () => 'k',
};
const fields = (sas) => Object.fromEntries(new URLSearchParams(sas.query));

test('an account SAS names services, types and letters, and signs them in order', async () => {
    const sas = await accountSas(session, { permissions: 'rl', services: 'b', types: 'co', hours: 1, ip: '127.0.0.1', https: true });
    const said = fields(sas);
    assert.deepEqual([said.ss, said.srt, said.sp, said.spr, said.sip], ['b', 'co', 'rl', 'https', '127.0.0.1']);
    assert.equal(sas.text, ['acc', 'rl', 'b', 'co', '', said.se, '127.0.0.1', 'https', said.sv, '', ''].join('\n'));
    assert.ok(Math.abs(Date.parse(said.se) - Date.now() - 3600e3) < 5000);
});

test('a SAS of each kind of resource', async () => {
    const of = async (service, object) => serviceSas(session, { service, name: 'Name', object, permissions: 'r' });
    assert.equal(fields(await of('blob')).sr, 'c');
    assert.equal(fields(await of('blob', 'a/b')).sr, 'b');
    assert.equal((await of('blob', 'a/b')).text.split('\n')[3], '/blob/acc/Name/a/b');
    assert.equal((await of('blob')).text.split('\n').length, 16);
    assert.equal(fields(await of('file')).sr, 's');
    assert.equal(fields(await of('file', 'x')).sr, 'f');
    assert.equal(fields(await of('table')).tn, 'Name');
    assert.equal((await of('table')).text.split('\n')[3], '/table/acc/name');
    assert.equal((await of('queue')).text.split('\n').length, 8);
});

test('what is plainly wrong with a SAS is said, and its signature is not shown', () => {
    const good = explainSas('https://h/acc/c?sv=2025-11-05&sp=r&sr=c&se=2030-01-01T00:00:00Z&sig=abcdefgh', Date.parse('2029-01-01'));
    assert.deepEqual(good.problems, []);
    assert.equal(good.rows.find((row) => row.name === 'sig').value, 'abcd…');
    assert.equal(good.rows.find((row) => row.name === 'sr').value, 'c (container)');
    assert.match(explainSas('sv=1&sp=r&se=2020-01-01&sig=a b').problems.join(), /expired.*plus sign/);
    assert.equal(explainSas('hello').problems.length, 4);
});

test('connection strings by key and by SAS', () => {
    globalThis.location = { protocol: 'http:' };
    assert.equal(connectionString(session), 'DefaultEndpointsProtocol=http;AccountName=acc;AccountKey=k;BlobEndpoint=http://127.0.0.1:1/blob;TableEndpoint=http://127.0.0.1:1/table;');
    assert.match(connectionString(session, 'sv=1'), /TableEndpoint=[^;]+;SharedAccessSignature=sv=1;$/);
});
