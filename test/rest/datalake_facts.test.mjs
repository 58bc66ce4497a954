// SPDX-License-Identifier: Apache-2.0
// Known facts about the Data Lake service, one request per line, by the sections of the facts: status, code, and the
// headers that must (or, with null, must not) be there. A line may use parts of an earlier answer (`keep`).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ACCOUNT, KEY, startServer } from './lib.mjs';

const FLAT = 'flataccount';
let server;
before(async () => {
    server = await startServer({ inMemory: true, services: ['blob'], dfs: true, args: ['--hns', ACCOUNT],
        env: { AZURITE_ACCOUNTS: `${ACCOUNT}:${KEY};${FLAT}:${KEY}` } });
});
after(() => server.stop());

const kept = {};
const [L1, L2] = ['11111111-1111-1111-1111-111111111111', '22222222-2222-2222-2222-222222222222'];
const lease = (action, more) => ({ 'x-ms-lease-action': action, ...more });
const acquire = (id = L1, seconds = '-1') => lease('acquire', { 'x-ms-lease-duration': seconds, 'x-ms-proposed-lease-id': id });
const value = (text) => (typeof text === 'string' ? text.replace(/@(\w+)/g, (_, name) => kept[name]) : text);

/** One line: [method, path, query, status or 'status Code', {h: headers, b: body, want: {header: value}, keep: {name: header}, s: service, a: account}]. */
async function check([method, path, query, expected, options = {}]) {
    const { h = {}, b, want = {}, keep = {}, s = 'dfs', a = ACCOUNT, v = '2023-11-03', json, text } = options;
    const headers = Object.fromEntries(Object.entries({ 'x-ms-version': v, ...h }).map(([name, text]) => [name, value(text)]));
    const body = b ?? (['PUT', 'PATCH', 'POST'].includes(method) ? '' : undefined);
    const answer = await server.request(s, method, path, { query: value(query), headers, body, account: a });
    const [status, code] = String(expected).split(' ');
    const what = `${method} ${path}?${query}: ${answer.status} ${answer.headers['x-ms-error-code'] ?? ''} ${answer.text.slice(0, 300)}`;
    assert.equal(answer.status, Number(status), what);
    if (code !== undefined)
        assert.equal(answer.headers['x-ms-error-code'], code, what);
    if (answer.status >= 400 && method !== 'HEAD' && s === 'dfs') {
        assert.equal(answer.headers['content-type'], 'application/json;charset=utf-8', what);
        assert.match(answer.json().error.message, /\nRequestId:[0-9a-f-]{36}\nTime:\d{4}-\d\d-\d\dT[\d:]+\.\d{7}Z$/, what);
    }
    for (const [name, wanted] of Object.entries(want)) {
        if (wanted instanceof RegExp)
            assert.match(answer.headers[name] ?? '', wanted, `${name}; ${what}`);
        else
            assert.equal(answer.headers[name] ?? null, value(wanted), `${name}; ${what}`);
    }
    for (const [name, header] of Object.entries(keep))
        kept[name] = answer.headers[header];
    json?.(answer.json());
    text?.(answer.text);
}

const users = (from, to) => Array.from({ length: to - from }, (_, i) => `user:${L1.slice(0, -2)}${10 + from + i}:r-x`).join(',');
const ETAG = /^"0x[0-9A-F]+"$/;
const times = { etag: ETAG, 'last-modified': /GMT$/ };
const FS = 'resource=filesystem';

const FACTS = {
    '3: file systems': [
        ['PUT', '/facts', FS, 201, { h: { 'x-ms-properties': 'a=YWJj' }, want: { ...times, 'x-ms-namespace-enabled': 'true' } }],
        ['PUT', '/facts', FS, '409 FilesystemAlreadyExists'],
        ['HEAD', '/facts', FS, 200, { want: { ...times, 'x-ms-properties': 'a=YWJj', 'x-ms-namespace-enabled': 'true' }, keep: { fs: 'last-modified' } }],
        ['HEAD', '/missing', FS, '404 FilesystemNotFound'],
        ['PATCH', '/facts', FS, 200, { h: { 'x-ms-properties': 'b=YmM=' }, want: times }],
        ['HEAD', '/facts', FS, 200, { want: { 'x-ms-properties': 'b=YmM=' } }],
        ['PATCH', '/facts', FS, '412 ConditionNotMet', { h: { 'If-Unmodified-Since': 'Thu, 01 Jan 2015 00:00:00 GMT' } }],
        ['GET', '/', 'resource=account', 200, { json: ({ filesystems }) => assert.deepEqual(filesystems.map(({ name }) => name), ['facts']) }],
        ['GET', '/', 'resource=account&prefix=x', 200, { json: ({ filesystems }) => assert.deepEqual(filesystems, []) }],
        ['DELETE', '/missing', FS, '404 FilesystemNotFound'],
        ['HEAD', '/missing/', 'action=getAccessControl', '404 FilesystemNotFound'],
        ['HEAD', '/facts/', 'action=getAccessControl', 200, { want: { 'x-ms-owner': '$superuser', 'x-ms-group': '$superuser', 'x-ms-permissions': 'rwxr-x---', 'x-ms-acl': 'user::rwx,group::r-x,other::---' } }],
        ['HEAD', '/facts', 'action=getAccessControl', 200],
        ['PUT', '/A', FS, '400'],
    ],
    '4: create': [
        ['PUT', '/facts/v', 'resource=file', '400 UnsupportedRestVersion', { v: 'what' }],
        ['PUT', '/facts/d/e/f', 'resource=file', 201, { want: { ...times, 'x-ms-request-server-encrypted': 'true' } }],
        ['HEAD', '/facts/d/e', 'action=getStatus', 200, { want: { 'x-ms-resource-type': 'directory', 'x-ms-permissions': 'rwxr-x---', 'content-length': '0' } }],
        ['HEAD', '/facts/d/e/f', '', 200, { want: { 'content-type': 'application/octet-stream', 'x-ms-resource-type': 'file', 'x-ms-lease-state': 'available' }, keep: { f: 'etag' } }],
        ['PUT', '/facts/d/e/f', 'resource=file', '409 PathAlreadyExists', { h: { 'If-None-Match': '*' }, want: { 'x-ms-existing-resource-type': 'file' } }],
        ['PUT', '/facts/d/e', 'resource=directory', '409 PathAlreadyExists', { h: { 'If-None-Match': '*' }, want: { 'x-ms-existing-resource-type': 'directory' } }],
        ['PUT', '/facts/d/e', 'resource=directory', 201],
        ['HEAD', '/facts/d/e/f', 'action=getStatus', 200, { want: { etag: '@f' } }],
        ['PUT', '/facts/d/e', 'resource=file', '409 PathConflict'],
        ['PUT', '/facts/d/e/f', 'resource=directory', '409 PathConflict'],
        ['PUT', '/facts/d/e/f/g', 'resource=file', '409 PathConflict'],
        ['PUT', '/facts/d/x', 'resource=other', '400 InvalidQueryParameterValue'],
        ['PUT', '/facts/d/l', 'resource=file', '400 MissingRequiredHeader', { h: { 'x-ms-proposed-lease-id': L1 } }],
        ['PUT', '/facts/d/l', 'resource=file', 201, { h: { 'x-ms-proposed-lease-id': L1, 'x-ms-lease-duration': '15' } }],
        ['HEAD', '/facts/d/l', '', 200, { want: { 'x-ms-lease-state': 'leased', 'x-ms-lease-status': 'locked', 'x-ms-lease-duration': 'fixed' } }],
        ['PUT', '/facts/d/l', 'resource=file', '412 LeaseIdMissing'],
        ['PUT', '/facts/d/l', 'resource=file', '412 LeaseIdMismatch', { h: { 'x-ms-lease-id': L2 } }],
        ['PUT', '/facts/d/l', 'resource=file', 201, { h: { 'x-ms-lease-id': L1 } }],
        ['HEAD', '/facts/d/l', '', 200, { want: { 'x-ms-lease-state': 'leased' } }],
        ['PUT', '/facts/d/dashless', 'resource=file', 201, { h: { 'x-ms-proposed-lease-id': L1.replaceAll('-', ''), 'x-ms-lease-duration': '-1' } }],
        ['DELETE', '/facts/d/dashless', '', 200, { h: { 'x-ms-lease-id': L1 } }],
        ['PUT', '/facts/d/exp', 'resource=file', 201, { h: { 'x-ms-expiry-option': 'RelativeToNow', 'x-ms-expiry-time': '100000' } }],
        ['HEAD', '/facts/d/exp', '', 200, { want: { 'x-ms-expiry-time': /GMT$/ } }],
        ['PUT', '/facts/d/exp2', 'resource=file', 201, { h: { 'x-ms-expiry-option': 'Absolute', 'x-ms-expiry-time': 'Thu, 01 Jan 2099 00:00:00 GMT' } }],
        ['PUT', '/facts/d/exp3', 'resource=file', 201, { h: { 'x-ms-expiry-option': 'NeverExpire' } }],
        ['PUT', '/facts/d/expd', 'resource=directory', '400 ExpiryNotSupportedForDirectory', { h: { 'x-ms-expiry-option': 'RelativeToNow', 'x-ms-expiry-time': '100000' } }],
        ['PUT', '/facts/d/%21%2A%27%28%29%3B%3A%40%26%3D%2B%24%2C%3F%23%5B%5D', 'resource=file', 201],
        ['PUT', '/facts/d//slashes///f/', 'resource=file', 201],
        ['HEAD', '/facts/d/slashes/f', 'action=getStatus', 200],
        ['HEAD', '/facts/d%2Fslashes%2Ff', 'action=getStatus', 200],
        ['PUT', `/facts/${Array(60).fill('x').join('/')}`, 'resource=directory', 201],
        ['PUT', `/facts/${Array(61).fill('x').join('/')}`, 'resource=directory', '400 PathIsTooDeep'],
        ['PUT', '/facts/d/mode', 'resource=file', 201, { h: { 'x-ms-permissions': '0777', 'x-ms-umask': '0057' } }],
        ['HEAD', '/facts/d/mode', 'action=getStatus', 200, { want: { 'x-ms-permissions': 'rwx-w----' } }],
        ['PUT', '/facts/d/sticky', 'resource=directory', 201, { h: { 'x-ms-permissions': '1777', 'x-ms-umask': '0000' } }],
        ['HEAD', '/facts/d/sticky', 'action=getStatus', 200, { want: { 'x-ms-permissions': 'rwxrwxrwt' } }],
        ['PUT', '/facts/d/symbolic', 'resource=file', 201, { h: { 'x-ms-permissions': 'rwxr-x--T', 'x-ms-umask': '0000' } }],
        ['HEAD', '/facts/d/symbolic', 'action=getStatus', 200, { want: { 'x-ms-permissions': 'rwxr-x--T' } }],
        ['PUT', '/facts/d/bad', 'resource=file', '400 InvalidHeaderValue', { h: { 'x-ms-permissions': 'what' } }],
        ['PUT', '/facts/d/owned', 'resource=file', 201, { h: { 'x-ms-owner': L1, 'x-ms-group': L2, 'x-ms-acl': `user::rwx,user:${L1}:r--,group::r--,other::---` } }],
        ['HEAD', '/facts/d/owned', 'action=getAccessControl', 200, { want: { 'x-ms-owner': L1, 'x-ms-group': L2, 'x-ms-acl': `user::rwx,user:${L1}:r--,group::r--,mask::r--,other::---`, 'x-ms-permissions': 'rwxr-----+' } }],
        ['PUT', '/facts/d/http', 'resource=file', 201, { h: { 'x-ms-cache-control': 'no-cache', 'x-ms-content-type': 'a/b', 'x-ms-content-encoding': 'gzip', 'x-ms-content-language': 'de', 'x-ms-content-disposition': 'inline', 'x-ms-properties': 'hello=d29ybGQ=' } }],
        ['HEAD', '/facts/d/http', '', 200, { want: { 'cache-control': 'no-cache', 'content-type': 'a/b', 'content-encoding': 'gzip', 'content-language': 'de', 'content-disposition': 'inline', 'x-ms-properties': 'hello=d29ybGQ=' } }],
        ['HEAD', '/facts/d/http', '', 200, { s: 'blob', want: { 'x-ms-meta-hello': 'world' } }],
        ['PUT', '/facts/d/bad', 'resource=file', '400 InvalidPropertyName', { h: { 'x-ms-properties': '1-2=YQ==' } }],
        ['PUT', '/facts/d/bad', 'resource=file', '400 InvalidHeaderValue', { h: { 'x-ms-properties': 'a=%%' } }],
        ['PUT', '/facts/d/context', 'resource=file', 201, { h: { 'x-ms-encryption-context': 'some text' } }],
        ['HEAD', '/facts/d/context', '', 200, { s: 'blob', want: { 'x-ms-encryption-context': 'some text' } }],
        ['PUT', '/missing/f', 'resource=file', '404 FilesystemNotFound'],
    ],
    '5: rename': [
        ['PUT', '/facts/r/a', 'resource=file', 201, { h: { 'x-ms-properties': 'k=dg==' }, keep: { a: 'etag', at: 'last-modified' } }],
        ['PUT', '/facts/r/b', 'mode=legacy', 201, { h: { 'x-ms-rename-source': '/facts/r/a' }, want: { etag: '@a', 'last-modified': '@at' } }],
        ['HEAD', '/facts/r/a', 'action=getStatus', '404 PathNotFound'],
        ['HEAD', '/facts/r/b', '', 200, { want: { etag: '@a', 'x-ms-properties': 'k=dg==' } }],
        ['PUT', '/facts/r/none/b', '', '404 RenameDestinationParentPathNotFound', { h: { 'x-ms-rename-source': '/facts/r/b' } }],
        ['PUT', '/facts/r/c', '', '404 SourcePathNotFound', { h: { 'x-ms-rename-source': '/facts/r/a' } }],
        ['PUT', '/facts/r/c', '', '404 FilesystemNotFound', { h: { 'x-ms-rename-source': '/missing/r/a' } }],
        ['PUT', '/missing/r/c', '', '404 FilesystemNotFound', { h: { 'x-ms-rename-source': '/facts/r/b' } }],
        ['PUT', '/second', FS, 201],
        // Between file systems (recorded for files and directories): ETag and properties come along.
        ['PUT', '/second/c', '', 201, { h: { 'x-ms-rename-source': '/facts/r/b' }, want: { etag: '@a' } }],
        ['HEAD', '/facts/r/b', '', 404],
        ['HEAD', '/second/c', '', 200, { want: { etag: '@a', 'x-ms-properties': 'k=dg==' } }],
        ['PUT', '/facts/r/b', '', 201, { h: { 'x-ms-rename-source': '/second/c' }, want: { etag: '@a' } }],
        ['PUT', '/facts/r/over', 'resource=file', 201, { keep: { over: 'etag' } }],
        ['PUT', '/facts/r/over', '', '409 PathAlreadyExists', { h: { 'x-ms-rename-source': '/facts/r/b', 'If-None-Match': '*' } }],
        ['PUT', '/facts/r/over', '', '412 ConditionNotMet', { h: { 'x-ms-rename-source': '/facts/r/b', 'If-Match': '@a' } }],
        ['PUT', '/facts/r/over', '', '412 SourceConditionNotMet', { h: { 'x-ms-rename-source': '/facts/r/b', 'x-ms-source-if-match': '@over' } }],
        ['PUT', '/facts/r/over', '', '412 SourceConditionNotMet', { h: { 'x-ms-rename-source': '/facts/r/b', 'x-ms-source-if-none-match': '@a' } }],
        ['PUT', '/facts/r/over', '', '412 SourceConditionNotMet', { h: { 'x-ms-rename-source': '/facts/r/b', 'x-ms-source-if-modified-since': 'Thu, 01 Jan 2099 00:00:00 GMT' } }],
        ['PUT', '/facts/r/over', '', '412 SourceConditionNotMet', { h: { 'x-ms-rename-source': '/facts/r/b', 'x-ms-source-if-unmodified-since': 'Thu, 01 Jan 2015 00:00:00 GMT' } }],
        ['PUT', '/facts/r/absent', '', 201, { h: { 'x-ms-rename-source': '/facts/r/b', 'If-Unmodified-Since': 'Thu, 01 Jan 2015 00:00:00 GMT' } }],
        ['PUT', '/facts/r/over', '', 201, { h: { 'x-ms-rename-source': '/facts/r/absent', 'If-Match': '@over', 'x-ms-source-if-match': '@a', 'x-ms-source-lease-id': '' }, want: { etag: '@a' } }],
        ['PUT', '/facts/r/d1/x', 'resource=file', 201],
        ['PUT', '/facts/r/empty', 'resource=directory', 201],
        ['PUT', '/facts/r/full/y', 'resource=file', 201],
        ['PUT', '/facts/r/full', 'mode=legacy', '409 PathAlreadyExists', { h: { 'x-ms-rename-source': '/facts/r/d1' } }],
        ['PUT', '/facts/r/over', 'mode=legacy', '409 InvalidSourceOrDestinationResourceType', { h: { 'x-ms-rename-source': '/facts/r/d1' } }],
        ['PUT', '/facts/r/d1', 'mode=legacy', '409 InvalidSourceOrDestinationResourceType', { h: { 'x-ms-rename-source': '/facts/r/over' } }],
        ['PUT', '/facts/r/d1/in', 'mode=legacy', '409 InvalidRenameSourcePath', { h: { 'x-ms-rename-source': '/facts/r/d1' } }],
        ['PUT', '/facts/r/d1/none/in', 'mode=legacy', '409 InvalidRenameSourcePath', { h: { 'x-ms-rename-source': '/facts/r/d1' } }],
        ['PUT', '/facts/r/self', 'resource=file', 201, { keep: { self: 'etag' } }],
        ['PUT', '/facts/r/self', '', '409 PathAlreadyExists', { h: { 'x-ms-rename-source': '/facts/r/self', 'If-None-Match': '*' } }],
        ['PUT', '/facts/r/self', '', 201, { h: { 'x-ms-rename-source': '/facts/r/self', 'x-ms-properties': 'a=Yg==' }, want: { etag: '@self' } }],
        ['HEAD', '/facts/r/self', '', 200, { want: { 'x-ms-properties': 'a=Yg==' } }],
        ['PUT', '/facts/r/d1', 'mode=legacy', '409 InvalidRenameSourcePath', { h: { 'x-ms-rename-source': '/facts/r/d1' } }],
        ['PUT', '/facts/r/empty', 'mode=legacy', 201, { h: { 'x-ms-rename-source': '/facts/r/d1' } }],
        ['HEAD', '/facts/r/empty/x', 'action=getStatus', 200],
        ['PUT', '/facts/r/full', 'mode=posix', 201, { h: { 'x-ms-rename-source': '/facts/r/empty' } }],
        ['HEAD', '/facts/r/full/empty/x', 'action=getStatus', 200],
        ['PUT', '/facts/r/full', '', 201, { h: { 'x-ms-rename-source': '/facts/r/over' } }],
        ['HEAD', '/facts/r/full/over', 'action=getStatus', 200],
        ['PUT', '/facts/r/z', 'mode=what', '400 InvalidQueryParameterValue', { h: { 'x-ms-rename-source': '/facts/r/full' } }],
        ['PUT', '/facts/r/z', '', '400 InvalidSourceUri', { h: { 'x-ms-rename-source': 'nothing' } }],
        ['PUT', '/facts/r/full/over', '', 201, { h: { 'x-ms-rename-source': '/facts/r/full/y', 'x-ms-properties': 'n=bg==', 'x-ms-content-type': 'no/effect' } }],
        ['HEAD', '/facts/r/full/over', '', 200, { want: { 'x-ms-properties': 'n=bg==', 'content-type': 'application/octet-stream' } }],
        ['POST', '/facts/r/full/over', '', 201, { h: acquire() }],
        ['PUT', '/facts/r/moved', '', '412 LeaseIdMissing', { h: { 'x-ms-rename-source': '/facts/r/full/over' } }],
        ['PUT', '/facts/r/moved', '', '412 LeaseIdMismatch', { h: { 'x-ms-rename-source': '/facts/r/full/over', 'x-ms-source-lease-id': L2 } }],
        ['PUT', '/facts/r/moved', '', 201, { h: { 'x-ms-rename-source': '/facts/r/full/over', 'x-ms-source-lease-id': L1 } }],
        ['HEAD', '/facts/r/moved', '', 200, { want: { 'x-ms-lease-state': 'leased' } }],
        ['PUT', '/facts/r/s', 'resource=file', 201],
        ['PUT', '/facts/r/moved', '', '412 LeaseIdMissing', { h: { 'x-ms-rename-source': '/facts/r/s' } }],
        ['PUT', '/facts/r/moved', '', '412 LeaseIdMismatch', { h: { 'x-ms-rename-source': '/facts/r/s', 'x-ms-lease-id': L2 } }],
        ['PUT', '/facts/r/moved', '', 201, { h: { 'x-ms-rename-source': '/facts/r/s', 'x-ms-lease-id': L1 } }],
        // A backslash is a slash, in the source too; and the longest name is, encoded, longer than the URL of a copy source may be.
        ['PUT', '/facts/r/back%5Cf', 'resource=file', 201],
        ['PUT', '/facts/r/back%5Cg', '', 201, { h: { 'x-ms-rename-source': '/facts/r/back%5Cf' } }],
        ['GET', '/facts', 'resource=filesystem&recursive=true&directory=r%5Cback', 200, { json: ({ paths }) => assert.deepEqual(paths.map(({ name }) => name), ['r/back/g']) }],
        ['PUT', `/facts/r/${encodeURIComponent('\u65e5'.repeat(1000))}`, 'resource=file', 201],
        ['PUT', '/facts/r/short', '', 201, { h: { 'x-ms-rename-source': `/facts/r/${encodeURIComponent('\u65e5'.repeat(1000))}` } }],
    ],
    '6: append and flush': [
        ['PUT', '/facts/w', 'resource=file', 201, { keep: { w: 'etag' } }],
        ['PATCH', '/facts/w', 'action=append&position=0', '400 InvalidHeaderValue'],
        ['PATCH', '/facts/w', 'action=append', '400 MissingRequiredQueryParameter', { b: 'x' }],
        ['PATCH', '/facts/w', 'action=append&position=0', 202, { b: '1234567', want: { etag: null, 'last-modified': null, 'x-ms-request-server-encrypted': 'true' } }],
        ['HEAD', '/facts/w', 'action=getStatus', 200, { want: { etag: '@w', 'content-length': '0' } }],
        ['PATCH', '/facts/w', 'action=flush&position=4&retainUncommittedData=false', '400 InvalidFlushPosition'],
        ['PATCH', '/facts/w', 'action=flush&position=8', '400 InvalidFlushPosition'],
        ['PATCH', '/facts/w', 'action=flush&position=7', '400 ContentLengthMustBeZero', { b: 'x' }],
        ['PATCH', '/facts/w', 'action=flush&position=7&close=true', 200, { want: { ...times, 'x-ms-request-server-encrypted': 'false', 'content-length': '0' }, keep: { w: 'etag' } }],
        ['PATCH', '/facts/w', 'action=flush&position=7', 200, { keep: { w2: 'etag' } }],
        ['HEAD', '/facts/w', 'action=getStatus', '412 ConditionNotMet', { h: { 'If-Match': '@w' } }],
        ['PATCH', '/facts/w', 'action=append&position=7&flush=true', 202, { b: 'end', h: { 'Content-Type': 'text/x' }, want: times }],
        ['HEAD', '/facts/w', '', 200, { want: { 'content-length': '10', 'content-type': 'text/x' } }],
        ['PATCH', '/facts/w', 'action=append&position=0&flush=true', 202, { b: 'abcdefghij' }],
        ['GET', '/facts/w', '', 200, { want: { 'content-length': '10', 'x-ms-resource-type': 'file', 'x-ms-properties': '' } }],
        ['PATCH', '/facts/w', 'action=append&position=10', '400 Md5Mismatch', { b: 'x', h: { 'Content-MD5': 'AAAAAAAAAAAAAAAAAAAAAA==' } }],
        ['PATCH', '/facts/w', 'action=append&position=10', 202, { b: 'x', h: { 'Content-MD5': 'ndTkYSaMgDT1yFZOFVxnpg==' }, want: { 'content-md5': 'ndTkYSaMgDT1yFZOFVxnpg==' } }],
        ['PATCH', '/facts/w', 'action=append&position=20', 202, { b: 'later' }],
        ['PATCH', '/facts/w', 'action=flush&position=11&retainUncommittedData=true', 200, { h: { 'x-ms-content-type': 'a/b', 'x-ms-content-md5': 'ndTkYSaMgDT1yFZOFVxnpg==' } }],
        ['HEAD', '/facts/w', '', 200, { want: { 'content-type': 'a/b', 'content-md5': 'ndTkYSaMgDT1yFZOFVxnpg==', 'content-length': '11' } }],
        ['PATCH', '/facts/w', 'action=append&position=11', 202, { b: '123456789' }],
        ['PATCH', '/facts/w', 'action=flush&position=25', 200],
        ['PATCH', '/facts/w', 'action=flush&position=25', '412 ConditionNotMet', { h: { 'If-Match': '@w' } }],
        ['PATCH', '/facts/none', 'action=append&position=0', '404 PathNotFound', { b: 'x' }],
        ['PATCH', '/facts/none', 'action=flush&position=0', '404 PathNotFound'],
        ['PATCH', '/facts/d', 'action=append&position=0', 409, { b: 'x' }],
        ['PATCH', '/facts/w', 'action=what', '400 InvalidQueryParameterValue'],
        ['PATCH', '/facts/w', '', '400 MissingRequiredQueryParameter'],
        ['HEAD', '/facts/w', 'action=what', '400 InvalidQueryParameterValue'],
        // Lease actions.
        ['PATCH', '/facts/w', 'action=append&position=25', 202, { b: 'a', h: acquire(L1, '15') }],
        ['HEAD', '/facts/w', '', 200, { want: { 'x-ms-lease-state': 'leased' } }],
        ['PATCH', '/facts/w', 'action=append&position=26', '412 LeaseIdMissing', { b: 'b' }],
        ['PATCH', '/facts/w', 'action=append&position=26', '412 LeaseIdMismatch', { b: 'b', h: { 'x-ms-lease-id': L2 } }],
        ['PATCH', '/facts/w', 'action=append&position=26', 202, { b: 'b', h: lease('auto-renew', { 'x-ms-lease-id': L1 }), want: { 'x-ms-lease-renewed': 'false' } }],
        ['PATCH', '/facts/w', 'action=flush&position=27', 200, { h: lease('release', { 'x-ms-lease-id': L1 }) }],
        ['HEAD', '/facts/w', '', 200, { want: { 'x-ms-lease-state': 'available', 'x-ms-lease-status': 'unlocked' } }],
        ['PATCH', '/facts/w', 'action=append&position=27&flush=true', 202, { b: 'c', h: lease('acquire-release', { 'x-ms-lease-duration': '-1', 'x-ms-proposed-lease-id': L2 }) }],
        ['HEAD', '/facts/w', '', 200, { want: { 'x-ms-lease-state': 'available', 'content-length': '28' } }],
        // Append blobs, as ABFS asks for them.
        ['PUT', '/facts/appended', 'resource=file&blobtype=appendblob', 201],
        ['PATCH', '/facts/appended', 'action=append&position=0', 202, { b: 'abc' }],
        ['GET', '/facts/appended', '', 200, { want: { 'content-length': '3', 'x-ms-blob-type': 'AppendBlob' } }],
        ['PATCH', '/facts/appended', 'action=append&position=2', '400 InvalidQueryParameterValue', { b: 'x' }],
        ['PATCH', '/facts/appended', 'action=append&position=3&flush=true', 202, { b: 'def', want: times }],
        ['PATCH', '/facts/appended', 'action=flush&position=6&close=true', 200],
        ['PATCH', '/facts/appended', 'action=flush&position=7', '400 InvalidFlushPosition'],
        ['PUT', '/facts/appended', 'comp=appendblock', 201, { s: 'blob', b: 'g' }],
        ['HEAD', '/facts/appended', 'action=getStatus', 200, { want: { 'content-length': '7' } }],
        ['PUT', '/facts/what', 'resource=file&blobtype=what', '400 InvalidQueryParameterValue'],
        // Both writers.
        ['PUT', '/facts/block', 'comp=block&blockid=YQ%3D%3D', 201, { s: 'blob', b: 'x' }],
        ['PUT', '/facts/w', 'comp=block&blockid=YQ%3D%3D', 201, { s: 'blob', b: 'x' }],
        ['PATCH', '/facts/w', 'action=append&position=28', '409 InvalidFlushOperation', { b: 'x' }],
        ['GET', '/facts/d/http', 'comp=blocklist&blocklisttype=all', 200, { s: 'blob' }],
    ],
    '7: status, properties, leases, delete, expiry': [
        ['HEAD', '/facts/w', 'action=getStatus&upn=true', 200, { want: { 'x-ms-owner': '$superuser', 'x-ms-group': '$superuser', 'x-ms-permissions': 'rw-r-----', 'x-ms-properties': null, 'x-ms-acl': null } }],
        ['HEAD', '/facts/w', 'action=checkAccess&fsAction=rwx', 200],
        ['HEAD', '/facts/w', 'action=checkAccess&fsAction=what', 400],
        ['HEAD', '/facts/w', 'action=checkAccess', 400],
        ['HEAD', '/facts/none', 'action=checkAccess&fsAction=r--', 404],
        ['GET', '/facts/w', '', 206, { h: { Range: 'bytes=2-4' }, want: { 'content-range': /^bytes 2-4\/28$/, 'content-length': '3' } }],
        ['GET', '/facts/w', '', '416 InvalidRange', { h: { Range: 'bytes=100-' } }],
        ['GET', '/facts/none', '', '404 PathNotFound'],
        ['PATCH', '/facts/w', 'action=setProperties', 200, { h: { 'x-ms-properties': 'p=cQ==', 'x-ms-content-type': 'c/d' }, want: times, keep: { w: 'etag' } }],
        ['HEAD', '/facts/w', '', 200, { want: { 'x-ms-properties': 'p=cQ==', 'content-type': 'c/d' } }],
        ['PATCH', '/facts/w', 'action=setProperties', 200],
        ['HEAD', '/facts/w', '', 200, { want: { 'x-ms-properties': '', 'content-type': 'c/d' } }],
        ['HEAD', '/facts/w', '', 200, { keep: { w: 'etag' } }],
        ['HEAD', '/facts/w', '', 304, { h: { 'If-None-Match': '@w' } }],
        ['HEAD', '/facts/w', 'action=getAccessControl', 304, { h: { 'If-None-Match': '@w' }, want: { 'x-ms-error-code': 'ConditionNotMet' } }],
        ['POST', '/facts/d', '', 201, { h: acquire(L1, '60'), want: { 'x-ms-lease-id': L1 } }],
        ['POST', '/facts/d', '', '409 LeaseAlreadyPresent', { h: acquire(L2, '60') }],
        ['POST', '/facts/d', '', '409 LeaseIdMismatchWithLeaseOperation', { h: lease('renew', { 'x-ms-lease-id': L2 }) }],
        ['POST', '/facts/d', '', 200, { h: lease('renew', { 'x-ms-lease-id': L1 }) }],
        ['POST', '/facts/d', '', 200, { h: lease('change', { 'x-ms-lease-id': L1, 'x-ms-proposed-lease-id': L2 }), want: { 'x-ms-lease-id': L2 } }],
        ['PUT', '/facts/d/below', 'resource=file', 201],
        ['DELETE', '/facts/d', 'recursive=true', '412 LeaseIdMissing'],
        ['DELETE', '/facts/d', 'recursive=true', '412 LeaseIdMismatch', { h: { 'x-ms-lease-id': L1 } }],
        ['PATCH', '/facts/d', 'action=setAccessControl', '412 LeaseIdMismatch', { h: { 'x-ms-lease-id': L1, 'x-ms-permissions': 'rwxrwx---' } }],
        ['POST', '/facts/d', '', 202, { h: lease('break', { 'x-ms-lease-break-period': '0' }), want: { 'x-ms-lease-time': '0' } }],
        ['POST', '/facts/d', '', '409 LeaseIsBrokenAndCannotBeRenewed', { h: lease('renew', { 'x-ms-lease-id': L2 }) }],
        ['POST', '/facts/d', '', 200, { h: lease('release', { 'x-ms-lease-id': L2 }) }],
        ['POST', '/facts/d', '', '409 LeaseNotPresentWithLeaseOperation', { h: lease('break') }],
        ['POST', '/facts/lost', '', '404 PathNotFound', { h: acquire() }],
        ['PUT', '/facts/lost', 'resource=file', 201],
        ['POST', '/facts/lost', '', 201, { h: acquire() }],
        ['POST', '/facts/lost', '', 202, { h: lease('break', { 'x-ms-lease-break-period': '0' }) }],
        ['PATCH', '/facts/lost', 'action=append&position=0', '412 LeaseLost', { b: 'x', h: { 'x-ms-lease-id': L1 } }],
        ['DELETE', '/facts/d', '', '409 DirectoryNotEmpty'],
        ['DELETE', '/facts/d', 'recursive=false', '409 DirectoryNotEmpty'],
        ['DELETE', '/facts/d', 'recursive=what', 400],
        ['DELETE', '/facts/d/below', '', '412 ConditionNotMet', { h: { 'If-Match': '"0x1"' } }],
        ['DELETE', '/facts/d/below', '', 200, { want: { 'x-ms-delete-type-permanent': 'true', 'x-ms-deletion-id': null } }],
        ['DELETE', '/facts/d/below', '', '404 PathNotFound'],
        ['DELETE', '/facts/nowhere/below', '', '404 PathNotFound'],
        ['DELETE', '/facts/d/sticky', '', 200],
        ['DELETE', '/facts/d', 'recursive=true&paginated=true', 200, { want: { 'x-ms-continuation': null } }],
        ['PUT', '/facts/w', 'comp=expiry', 200, { s: 'blob', h: { 'x-ms-expiry-option': 'RelativeToCreation', 'x-ms-expiry-time': '10000000' } }],
        ['HEAD', '/facts/w', '', 200, { want: { etag: '@w', 'x-ms-expiry-time': /GMT$/ } }],
        ['PUT', '/facts/none', 'comp=expiry', '404 BlobNotFound', { s: 'blob', h: { 'x-ms-expiry-option': 'NeverExpire' } }],
    ],
    '8: list': [
        ['GET', '/facts', `${FS}`, '400 MissingRequiredQueryParameter'],
        ['GET', '/facts', `${FS}&recursive=what`, 400],
        ['GET', '/facts', `${FS}&recursive=true&maxResults=0`, '400 OutOfRangeQueryParameterValue'],
        ['GET', '/facts', `${FS}&recursive=true&directory=none`, '404 PathNotFound'],
        ['GET', '/missing', `${FS}&recursive=true`, '404 FilesystemNotFound'],
        ['GET', '/facts', `${FS}&recursive=true&continuation=!!`, 400],
        ['PUT', '/facts/l/bar', 'resource=file', 201], ['PUT', '/facts/l/baz/bar/foo', 'resource=file', 201], ['PUT', '/facts/l/baz/foo', 'resource=file', 201],
        ['GET', '/facts', `${FS}&recursive=true&directory=l`, 200, { want: { 'content-type': 'application/json;charset=utf-8' }, json: ({ paths }) => {
            assert.deepEqual(paths.map(({ name }) => name), ['l/bar', 'l/baz', 'l/baz/bar', 'l/baz/bar/foo', 'l/baz/foo']);
            assert.deepEqual(Object.keys(paths[0]), ['contentLength', 'creationTime', 'etag', 'expiryTime', 'group', 'lastModified', 'name', 'owner', 'permissions']);
            assert.ok(Object.values(paths[0]).every((text) => typeof text === 'string'));
            assert.match(paths[0].etag, /^0x/);
            assert.equal(paths[1].isDirectory, 'true');
        } }],
        ['GET', '/facts', `${FS}&recursive=false&directory=/l/`, 200, { json: ({ paths }) => assert.deepEqual(paths.map(({ name }) => name), ['l/bar', 'l/baz']) }],
        ['GET', '/facts', `${FS}&recursive=true&directory=l&maxResults=2`, 200, { want: { 'x-ms-continuation': /./ } }],
        ['GET', '/facts', `${FS}&recursive=true&directory=l/bar`, 404],
        ['GET', '/facts', `${FS}&recursive=true&directory=l`, 200, { v: '2020-02-10', json: ({ paths }) => assert.ok(!('creationTime' in paths[0]) && !('expiryTime' in paths[0])) }],
    ],
    '9: the Blob API on it': [
        ['HEAD', '/facts/l/baz', '', 200, { s: 'blob', want: { 'x-ms-meta-hdi_isfolder': 'true', 'x-ms-resource-type': 'directory', 'content-length': '0', 'x-ms-owner': '$superuser', 'x-ms-group': '$superuser', 'x-ms-permissions': 'rwxr-x---', 'x-ms-blob-type': 'BlockBlob' } }],
        ['HEAD', '/facts/l/baz', '', 200, { s: 'blob', v: '2024-05-04', want: { 'x-ms-acl': 'user::rwx,group::r-x,other::---' } }],
        ['HEAD', '/facts/l/baz', '', 200, { s: 'blob', v: '2020-08-04', want: { 'x-ms-resource-type': null } }],
        ['DELETE', '/facts/l/baz', '', '409 DirectoryIsNotEmpty', { s: 'blob' }],
        ['PUT', '/facts/l/baz', '', 409, { s: 'blob', h: { 'x-ms-blob-type': 'BlockBlob' }, b: 'x' }],
        ['PUT', '/facts/l/bar/x', '', 409, { s: 'blob', h: { 'x-ms-blob-type': 'BlockBlob' }, b: 'x' }],
        ['PUT', '/facts/l/page', '', '409 FeatureNotYetSupportedForHierarchicalNamespaceAccounts', { s: 'blob', h: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '512' } }],
        ['PUT', '/facts/l/new/made', '', 201, { s: 'blob', h: { 'x-ms-blob-type': 'BlockBlob' }, b: 'x' }],
        ['HEAD', '/facts/l/new', 'action=getStatus', 200, { want: { 'x-ms-resource-type': 'directory' } }],
        ['GET', '/facts', 'restype=container&comp=list&prefix=l/&delimiter=-', '400 InvalidQueryParameterValue', { s: 'blob' }],
        ['PUT', '/facts/l/new/made', 'comp=tier', 200, { s: 'blob', h: { 'x-ms-access-tier': 'Cool' } }],
        ['HEAD', '/facts/l/new/made', '', 200, { s: 'blob', want: { 'x-ms-access-tier': 'Cool' } }],
        ['PUT', '/facts/l/baz', 'comp=metadata', 200, { s: 'blob', h: { 'x-ms-meta-a': 'b' } }],
        ['HEAD', '/facts/l/baz', '', 200, { want: { 'x-ms-properties': /a=Yg==/ } }],
        ['PUT', '/facts/l/baz', 'comp=lease', 201, { s: 'blob', h: acquire() }],
        ['PUT', '/facts/l/baz', 'comp=lease', 200, { s: 'blob', h: lease('release', { 'x-ms-lease-id': L1 }) }],
        ['GET', '/', 'restype=account&comp=properties', 200, { s: 'blob', want: { 'x-ms-is-hns-enabled': 'true' } }],
        // azcopy and adlfs tell directories by their metadata in a listing.
        ['GET', '/facts', 'restype=container&comp=list&include=metadata&prefix=l/ba', 200, { s: 'blob', text: (xml) => assert.deepEqual([...xml.matchAll(/<Name>([^<]*)<.*?<Metadata>(.*?)<\/Metadata>/g)].map(([, name, metadata]) => [name, metadata]).slice(0, 2),
            [['l/bar', ''], ['l/baz', '<a>b</a><hdi_isfolder>true</hdi_isfolder>']]) }],
        ['HEAD', '/facts/l/baz', 'comp=metadata', 200, { s: 'blob', want: { 'x-ms-meta-hdi_isfolder': 'true' } }],
        // The JavaScript SDK's client of the root directory, on the blob port.
        ['HEAD', '/facts/', '', 200, { s: 'blob', want: { 'x-ms-resource-type': 'directory', 'x-ms-permissions': 'rwxr-x---' } }],
        ['PUT', '/facts/', 'comp=metadata', 200, { s: 'blob', h: { 'x-ms-meta-a': 'b' } }],
        ['HEAD', '/facts/', '', 200, { want: { 'x-ms-properties': 'a=Yg==' } }],
        ['HEAD', '/missing/', '', '404 ContainerNotFound', { s: 'blob' }],
        ['HEAD', '/facts/', 'restype=container', 200, { s: 'blob', want: { 'x-ms-meta-a': null } }],
        // Recorded by blobfuse: a delete that includes snapshots never applies to a directory, empty or not.
        ['DELETE', '/facts/l/baz', '', '400 OperationNotSupportedOnDirectory', { s: 'blob', h: { 'x-ms-delete-snapshots': 'include' } }],
        ['PUT', '/facts/l/empty', 'resource=directory', 201],
        ['DELETE', '/facts/l/empty', '', '400 OperationNotSupportedOnDirectory', { s: 'blob', h: { 'x-ms-delete-snapshots': 'include' } }],
        ['PUT', '/facts/l/empty', 'comp=expiry', '400 ExpiryNotSupportedForDirectory', { s: 'blob', h: { 'x-ms-expiry-option': 'RelativeToNow', 'x-ms-expiry-time': '10000' } }],
        ['DELETE', '/facts/l/empty', '', 202, { s: 'blob' }],
        // azcopy makes directories with the Blob API, and takes the mark away when UnsupportedHeader is the answer.
        ['PUT', '/facts/marked/dir', '', 201, { s: 'blob', h: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-meta-Hdi_isfolder': 'true', 'x-ms-meta-a': 'b' } }],
        ['HEAD', '/facts/marked/dir', '', 200, { want: { 'x-ms-resource-type': 'directory', 'x-ms-permissions': 'rwxr-x---', 'x-ms-properties': 'a=Yg==', 'content-md5': null } }],
        ['PUT', '/facts/marked/dir/f', 'resource=file', 201],
        ['PUT', '/facts/marked/dir', '', 201, { s: 'blob', h: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-meta-hdi_isfolder': 'true' } }],
        ['PUT', '/facts/marked/dir/f', '', '409 PathConflict', { s: 'blob', h: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-meta-hdi_isfolder': 'true' } }],
        ['PUT', '/facts/marked/dir/f', 'comp=metadata', '400 UnsupportedHeader', { s: 'blob', h: { 'x-ms-meta-hdi_isfolder': 'true' } }],
        ['PUT', '/facts/marked/dir', 'comp=metadata', '400 UnsupportedHeader', { s: 'blob', h: { 'x-ms-meta-hdi_isfolder': 'false' } }],
        ['PUT', '/facts/marked/file', '', 201, { s: 'blob', h: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-meta-hdi_isfolder': 'true' }, b: 'x' }],
        ['HEAD', '/facts/marked/file', 'action=getStatus', 200, { want: { 'x-ms-resource-type': 'file' } }],
        ['GET', '/facts', `${FS}&recursive=true&directory=marked`, 200, { json: ({ paths }) => assert.deepEqual(paths.map(({ name, isDirectory }) => [name, isDirectory]),
            [['marked/dir', 'true'], ['marked/dir/f', undefined], ['marked/file', undefined]]) }],
        // No name has an empty part.
        ['GET', '/facts', 'restype=container&comp=list&prefix=/b', 200, { s: 'blob', text: (xml) => assert.doesNotMatch(xml, /<Name>/) }],
        ['GET', '/facts', 'restype=container&comp=list&prefix=b//', 200, { s: 'blob', text: (xml) => assert.doesNotMatch(xml, /<Name>/) }],
    ],
    '10: a flat account': [
        ['PUT', '/plain', FS, 201, { a: FLAT, want: { 'x-ms-namespace-enabled': 'false' } }],
        ['HEAD', '/plain/', 'action=getAccessControl', '400 HierarchicalNamespaceNotEnabled', { a: FLAT }],
        ['PUT', '/plain/f', 'resource=file', '400 HierarchicalNamespaceNotEnabled', { a: FLAT, h: { 'x-ms-permissions': '0777' } }],
        ['PUT', '/plain/d/f', 'resource=file', 201, { a: FLAT }],
        ['PATCH', '/plain/d/f', 'action=append&position=0&flush=true', 202, { a: FLAT, b: 'x' }],
        ['PATCH', '/plain/d/f', 'action=setAccessControl', '400 HierarchicalNamespaceNotEnabled', { a: FLAT, h: { 'x-ms-permissions': 'rwxrwxrwx' } }],
        ['PUT', '/plain/e', 'mode=legacy', 201, { a: FLAT, h: { 'x-ms-rename-source': '/plain/d' } }],
        ['GET', '/plain', `${FS}&recursive=true`, 200, { a: FLAT, json: ({ paths }) => assert.ok(paths.every((path) => !('owner' in path))) }],
        ['DELETE', '/plain/e', 'recursive=true', 200, { a: FLAT }],
        // A directory with a blob of its own is listed once, and stays a directory when it is renamed.
        ['PUT', '/plain/g', 'resource=directory', 201, { a: FLAT }], ['PUT', '/plain/g-file', 'resource=file', 201, { a: FLAT }], ['PUT', '/plain/g/f', 'resource=file', 201, { a: FLAT }],
        ['PUT', '/plain/implied/f', 'resource=file', 201, { a: FLAT }],
        ['GET', '/plain', `${FS}&recursive=false`, 200, { a: FLAT, json: ({ paths }) => assert.deepEqual(paths.map(({ name, isDirectory, etag }) => [name, isDirectory, etag !== undefined]),
            [['g', 'true', true], ['g-file', undefined, true], ['implied', 'true', false]]) }],
        ['GET', '/plain', `${FS}&recursive=false&maxResults=2`, 200, { a: FLAT, keep: { flat: 'x-ms-continuation' } }],
        ['GET', '/plain', `${FS}&recursive=false&maxResults=2&continuation=@flat`, 200, { a: FLAT, json: ({ paths }) => assert.deepEqual(paths.map(({ name }) => name), ['implied']) }],
        ['PUT', '/plain/h', '', 201, { a: FLAT, h: { 'x-ms-rename-source': '/plain/g', 'x-ms-properties': 'a=Yg==' } }],
        ['HEAD', '/plain/h', 'action=getStatus', 200, { a: FLAT, want: { 'x-ms-resource-type': 'directory' } }],
        ['HEAD', '/plain/h', '', 200, { a: FLAT, want: { 'x-ms-properties': /a=Yg==/ } }],
    ],
    '11: access control': [
        ['PUT', '/facts/acl/f', 'resource=file', 201, { keep: { acl: 'etag' } }],
        ['PATCH', '/facts/acl/f', 'action=setAccessControl', 200, { h: { 'x-ms-acl': 'user::rwx,group::r--,other::---,mask::rwx' }, want: { etag: '@acl', 'x-ms-namespace-enabled': 'true' } }],
        ['HEAD', '/facts/acl/f', 'action=getAccessControl', 200, { want: { 'x-ms-acl': 'user::rwx,group::r--,mask::rwx,other::---', 'x-ms-permissions': 'rwxrwx---+', etag: '@acl' } }],
        ['PATCH', '/facts/acl/f', 'action=setAccessControl', 400, { h: { 'x-ms-acl': 'user::rwx', 'x-ms-permissions': 'rwxrwx---' } }],
        ['PATCH', '/facts/acl/f', 'action=setAccessControl', 400, { h: { 'x-ms-acl': 'default:user::rwx' } }],
        ['PATCH', '/facts/acl/f', 'action=setAccessControl', 400, { h: { 'x-ms-acl': 'nobody::rwx' } }],
        ['PATCH', '/facts/acl/f', 'action=setAccessControl', 200, { h: { 'x-ms-owner': L1, 'x-ms-acl': '' } }],
        ['PATCH', '/facts/acl/none', 'action=setAccessControl', '404 PathNotFound', { h: { 'x-ms-owner': L1 } }],
        ['PUT', '/facts/acl/g', 'resource=file', 201],
        ['PATCH', '/facts/acl/g', 'action=setAccessControl', 200, { h: { 'x-ms-permissions': 'rw-r-x-wt' } }],
        ['HEAD', '/facts/acl/g', 'action=getAccessControl', 200, { want: { 'x-ms-acl': 'user::rw-,group::r-x,other::-wx' } }],
        ['PATCH', '/facts/acl/g', 'action=setAccessControl', 200, { h: { 'x-ms-permissions': 'rw-r-x-wT' } }],
        ['HEAD', '/facts/acl/g', 'action=getAccessControl', 200, { want: { 'x-ms-acl': 'user::rw-,group::r-x,other::-w-' } }],
        ['PATCH', '/facts/acl', 'action=setAccessControlRecursive&mode=set', 200, { h: { 'x-ms-acl': 'user::rwx,group::r-x,other::---,default:user::rwx,default:group::r-x,default:other::---' }, want: { 'x-ms-namespace-enabled': 'true' },
            json: (all) => assert.deepEqual(all, { directoriesSuccessful: 1, failedEntries: [], failureCount: 0, filesSuccessful: 2 }) }],
        ['PATCH', '/facts/acl', 'action=setAccessControlRecursive&mode=modify&maxRecords=1', 200, { h: { 'x-ms-acl': `user:${L1}:rwx` }, want: { 'x-ms-continuation': /./ } }],
        ['PATCH', '/facts/acl', 'action=setAccessControlRecursive&mode=remove&forceFlag=true', 200, { h: { 'x-ms-acl': `user:${L1},mask:` } }],
        ['PATCH', '/facts/acl/g', 'action=setAccessControlRecursive&mode=modify', 200, { h: { 'x-ms-acl': `user:${L1}:rwx` }, json: ({ filesSuccessful }) => assert.equal(filesSuccessful, 1) }],
        // 32 entries with the mask; a path without room for more is a failure of that path.
        ['PATCH', '/facts/acl/g', 'action=setAccessControl', 400, { h: { 'x-ms-acl': users(0, 29) } }],
        ['PATCH', '/facts/acl/g', 'action=setAccessControl', 200, { h: { 'x-ms-acl': users(0, 28) } }],
        ['PATCH', '/facts/acl', 'action=setAccessControlRecursive&mode=modify', 200, { h: { 'x-ms-acl': users(30, 31) },
            json: (all) => assert.deepEqual([all.directoriesSuccessful, all.filesSuccessful, all.failureCount, all.failedEntries.map(({ name, type }) => [name, type])], [1, 1, 1, [['acl/g', 'FILE']]]) }],
        ['PUT', '/facts/acl/h', 'resource=file', 201],
        ['PATCH', '/facts/acl', 'action=setAccessControlRecursive&mode=modify&forceFlag=true', 200, { h: { 'x-ms-acl': users(30, 31) }, json: (all) => assert.deepEqual([all.filesSuccessful, all.failureCount], [2, 1]) }],
        ['PATCH', '/facts/acl', 'action=setAccessControlRecursive&mode=remove', 400, { h: { 'x-ms-acl': 'user::' } }],
        ['PATCH', '/facts/acl/none', 'action=setAccessControlRecursive&mode=modify', '404 PathNotFound', { h: { 'x-ms-acl': `user:${L1}:rwx` } }],
        ['PATCH', '/facts/acl', 'action=setAccessControlRecursive', '400 MissingRequiredQueryParameter', { h: { 'x-ms-acl': `user:${L1}:rwx` } }],
        ['PATCH', '/facts/acl', 'action=setAccessControlRecursive&mode=set', '400 MissingRequiredHeader'],
    ],
    '12: soft delete': [
        ['PUT', '/', 'restype=service&comp=properties', 202, { s: 'blob', b: '<StorageServiceProperties><DeleteRetentionPolicy><Enabled>true</Enabled><Days>7</Days></DeleteRetentionPolicy></StorageServiceProperties>' }],
        ['PUT', '/facts/soft/f', 'resource=file', 201, { keep: { soft: 'etag' } }],
        ['DELETE', '/facts/soft', 'recursive=true', 200, { want: { 'x-ms-delete-type-permanent': 'false', 'x-ms-deletion-id': /^\d+$/ }, keep: { deletion: 'x-ms-deletion-id' } }],
        ['HEAD', '/facts/soft/f', 'action=getStatus', 404],
        ['PUT', '/facts/soft', 'comp=undelete', '400 InvalidHeaderValue', { s: 'blob', h: { 'x-ms-undelete-source': 'what' } }],
        ['PUT', '/facts/soft', 'comp=undelete', 200, { s: 'blob', h: { 'x-ms-undelete-source': 'soft?deletionid=@deletion' }, want: { 'x-ms-resource-type': 'directory', 'x-ms-creation-time': /GMT$/ } }],
        ['HEAD', '/facts/soft/f', 'action=getStatus', 200, { want: { etag: '@soft' } }],
    ],
};

for (const [section, lines] of Object.entries(FACTS))
    test(`the facts, ${section}`, async (t) => {
        const wrong = [];
        for (const line of lines)
            try {
                await check(line);
            } catch (error) {
                wrong.push(error.message);
            }
        assert.deepEqual(wrong, []);
    });
