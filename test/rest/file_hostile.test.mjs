// SPDX-License-Identifier: Apache-2.0
// Hostile input to every operation of the file service: the right code, and nothing changed.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertError, readable, startServer, uniqueName } from './lib.mjs';

const VERSION = '2026-10-06';
let server, share, untouched;

const send = (method, path, query = '', headers = {}, body = undefined) =>
    server.request('file', method, path, { query, headers: { 'x-ms-version': VERSION, ...headers }, body });
const FILE = { 'x-ms-type': 'file', 'x-ms-content-length': 10 };
const create = (path, headers = {}) => send('PUT', `${share}${path}`, '', { ...FILE, ...headers });
const range = (headers, body) => send('PUT', `${share}/f`, 'comp=range', headers, body);

/** All that an operation could have changed. */
async function state() {
    const list = await send('GET', share, 'restype=directory&comp=list&include=Timestamps,ETag,Attributes,PermissionKey');
    const stats = await send('GET', share, 'restype=share&comp=stats');
    const acl = await send('GET', share, 'restype=share&comp=acl');
    const ranges = await send('GET', `${share}/f`, 'comp=rangelist');
    const { headers } = await send('HEAD', `${share}/f`);
    const of = [headers.etag, headers['x-ms-lease-state'], headers['x-ms-file-change-time'], headers['x-ms-meta-kept']];
    return JSON.stringify([list.text, stats.text, acl.text, ranges.text, of]);
}

/** Each [what was sent, its answer, code, status] is refused so, and the share is as before. */
async function refused(cases) {
    for (const [answer, code, status = 400, name = undefined] of cases) {
        const got = await answer;
        assertError(got, status, code);
        if (name !== undefined)
            assert.ok(got.text.includes(`>${name}<`), `${name}: ${got.text}`);
    }
    assert.ok(await state() === untouched, 'something has changed');
}

before(async () => {
    server = await startServer({ inMemory: true, services: ['file'] });
    share = `/${uniqueName()}`;
    await send('PUT', share, 'restype=share');
    await create('/f', { 'x-ms-meta-kept': 'yes' });
    await range({ 'x-ms-range': 'bytes=0-3', 'x-ms-write': 'update' }, 'kept');
    await send('PUT', `${share}/d`, 'restype=directory');
    untouched = await state();
});
after(() => server.stop());

describe('names', () => {
    it('that are no URL, or not allowed', async () => {
        const uri = ['/a%00b', '/%FF%FE', '/%C0%AF', '/%ED%A0%80', '/a%zz', '/a%'];
        const name = ['/a%01b', '/a%7Fb', '/a%5Cb', '/a%3Ab', '/a*b', '/a%3Fb', '/a%7Cb', '/a%22b', '/a%3Cb', '/a%3Eb',
            '/...', '//x', `/${'a'.repeat(256)}`, `/${encodeURIComponent('😀'.repeat(128))}`];
        const path = ['/.', '/%2E%2E', '/../x', '/CON', '/lpt9', '/Com1', '/clock$', '/nul.', '/d/aux'];
        for (const make of [(p) => create(p), (p) => send('PUT', `${share}${p}`, 'restype=directory')])
            await refused([
                ...uri.map((p) => [make(p), 'InvalidUri']),
                ...name.map((p) => [make(p), 'InvalidResourceName']),
                ...path.map((p) => [make(p), 'InvalidFileOrDirectoryPathName']),
            ]);
        await refused([[create('/no/f'), 'ParentNotFound', 404], [create('/f/x'), 'ParentNotFound', 404],
            [create('/d'), 'ResourceTypeMismatch', 409],
            [send('PUT', `${share}/F`, 'restype=directory'), 'ResourceTypeMismatch', 409],
            [send('PUT', `${share}/D`, 'restype=directory'), 'ResourceAlreadyExists', 409]]);
    });

    it('at the limits are taken: 255 units, 250 deep', async () => {
        const other = `/${uniqueName()}`;
        const make = (path, query = '') => send('PUT', `${other}${path}`, query, query === '' ? FILE : {});
        await make('', 'restype=share');
        for (const name of ['a'.repeat(255), '😀'.repeat(127) + 'a', ' x ', 'con.txt', 'a%41+&=#;', '\uffff'])
            assert.equal((await make(`/${encodeURIComponent(name)}`)).status, 201, name);
        let deep = '';
        for (let i = 0; i < 250; i++) {
            deep += '/d';
            assert.equal((await make(deep, 'restype=directory')).status, 201);
        }
        assertError(await make(`${deep}/f`), 400, 'InvalidFileOrDirectoryPathName');
        const long = `${`/${'b'.repeat(204)}`.repeat(9)}/`;
        assertError(await make(long + 'c'.repeat(203)), 404, 'ParentNotFound');
        assertError(await make(long + 'c'.repeat(204)), 400, 'InvalidFileOrDirectoryPathName');
    });

    it('of shares', async () => {
        const make = (name) => send('PUT', `/${name}`, 'restype=share');
        await refused([[make('ab'), 'OutOfRangeInput'], [make('a'.repeat(64)), 'OutOfRangeInput'],
            [make('a--b'), 'InvalidResourceName'], [make('a_b'), 'InvalidResourceName'], [make('ABC'), 'InvalidResourceName'],
            [make('%00ab'), 'InvalidUri']]);
    });
});

describe('headers', () => {
    it('times', async () => {
        const bad = ['yesterday', '2020-13-01T00:00:00Z', '2020-01-01T00:00:00.12345678Z', '0001-01-01T00:00:00Z',
            '1600-12-31T23:59:59Z', '10000-01-01T00:00:00Z', '-1', '2020-02-30T00:00:00Z', '2020-01-01T24:00:00Z', '9'.repeat(4000)];
        for (const which of ['creation', 'last-write', 'change']) {
            const header = `x-ms-file-${which}-time`;
            await refused(bad.flatMap((time) => [
                [create('/new', { [header]: time }), 'InvalidHeaderValue', 400, header],
                [send('PUT', `${share}/f`, 'comp=properties', { [header]: time }), 'InvalidHeaderValue'],
                [send('PUT', `${share}/d`, 'restype=directory&comp=properties', { [header]: time }), 'InvalidHeaderValue']]));
        }
        // What is new has nothing to preserve.
        for (const which of ['creation-time', 'last-write-time', 'change-time', 'attributes', 'permission']) {
            const header = `x-ms-file-${which}`;
            await refused([[create('/new', { [header]: 'preserve' }), 'InvalidHeaderValue', 400, header],
                [send('PUT', `${share}/new`, 'restype=directory', { [header]: 'preserve' }), 'InvalidHeaderValue', 400, header]]);
        }
        const kept = { 'x-ms-file-creation-time': '1601-01-01T00:00:00.0000001Z', 'x-ms-file-change-time': '9999-12-31T23:59:59.9999999Z' };
        const made = await create('/times', kept);
        for (const [name, time] of Object.entries(kept))
            assert.equal(made.headers[name], time);
        await send('DELETE', `${share}/times`);
    });

    it('attributes, sizes, types, booleans, leases', async () => {
        const header = (name, value) => [create('/new', { [name]: value }), 'InvalidHeaderValue', 400, name];
        await refused([
            ...['ReadOnly|', '|', '0x20', 'a'.repeat(5000)].map((v) => header('x-ms-file-attributes', v)),
            ...['-1', '1e3', '4398046511105', '18446744073709551616', '0x10', '5.0'].map((v) => header('x-ms-content-length', v)),
            header('x-ms-allow-trailing-dot', 'maybe'), header('x-ms-lease-id', '123'), header('x-ms-type', 'directory'),
            [create('/new', { 'x-ms-content-md5': 'xx' }), 'InvalidMd5'],
            [send('PUT', `${share}/f`, 'comp=properties', { 'x-ms-content-length': '4398046511105' }), 'InvalidHeaderValue'],
            [create('/new', { 'x-ms-mode': '0644' }), 'InvalidInput'],
            [create('/new', { 'x-ms-lease-id': '00000000-0000-0000-0000-000000000001' }), 'LeaseNotPresentWithFileOperation', 412],
        ]);
    });

    it('permissions', async () => {
        const permission = (headers) => create('/new', headers);
        const text = (value) => permission({ 'x-ms-file-permission': value });
        const key = (value) => permission({ 'x-ms-file-permission-key': value });
        const body = (value) => send('PUT', share, 'restype=share&comp=filepermission', {}, value);
        await refused([
            ...['O:', 'O:XX', 'D:(A;;FA;;;BA', 'D:(A;;FA;;;BA))', 'S-1-5-18'].map((v) => [text(v), 'FileInvalidPermission']),
            [text(`O:BA${'x'.repeat(9000)}`), 'InvalidHeaderValue'],
            ...['1*', '*', 'abc', '99999999999999999999999*1'].map((v) => [key(v), 'InvalidHeaderValue']),
            [key('1*2'), 'FilePermissionNotFound', 404],
            [permission({ 'x-ms-file-permission': 'inherit', 'x-ms-file-permission-key': '1*2' }), 'InvalidHeaderValue'],
            [permission({ 'x-ms-file-permission': 'O:BA', 'x-ms-file-permission-format': 'xml' }), 'InvalidHeaderValue'],
            [permission({ 'x-ms-file-permission': 'O:BA', 'x-ms-file-permission-format': 'binary' }), 'FileInvalidPermission'],
            ...['', '{}', '[]', '{"permission":5}', '{"permission":"O:BA"', '{"permission":"O:BA","format":"zip"}', 'null']
                .map((v) => [body(v), 'InvalidInput']),
            ...['{"permission":""}', '{"permission":"\\u0000"}', '{"permission":"O:BA","format":"binary"}',
                '{"permission":"AQAA","format":"binary"}'].map((v) => [body(v), 'FileInvalidPermission']),
            [body(`{"permission":"O:S-1-5${'-1'.repeat(14)}D:${'(A;OICI;FA;;;CO)'.repeat(900)}"}`), 'FileInvalidPermission'],
            [body('x'.repeat(70000)), 'RequestBodyTooLarge', 413],
            [send('GET', share, 'restype=share&comp=filepermission'), 'MissingRequiredHeader'],
            [send('GET', share, 'restype=share&comp=filepermission', { 'x-ms-file-permission-key': '1*1' }), 'FilePermissionNotFound', 404],
        ]);
    });

    it('metadata', async () => {
        const metadata = (name, value) => [
            [send('PUT', `${share}/f`, 'comp=metadata', { [name]: value })],
            [send('PUT', `${share}/d`, 'restype=directory&comp=metadata', { [name]: value })],
            [send('PUT', share, 'restype=share&comp=metadata', { [name]: value })], [create('/new', { [name]: value })]];
        const all = (name, value, code) => metadata(name, value).map(([answer]) => [answer, code]);
        await refused([...all('x-ms-meta-', 'x', 'EmptyMetadataKey'), ...all('x-ms-meta-1a', 'x', 'InvalidMetadata'),
            ...all('x-ms-meta-a-b', 'x', 'InvalidMetadata'), ...all('x-ms-meta-a', 'x'.repeat(8200), 'MetadataTooLarge')]);
    });
});

describe('ranges', () => {
    it('of Put Range, Clear Range, Get File and List Ranges', async () => {
        const bad = ['bytes=-5', 'bytes=5-4', 'items=0-1', '0-9', 'bytes=0-1,3-4', 'bytes=0-18446744073709551616'];
        const past = ['bytes=10-10', 'bytes=18446744073709551614-18446744073709551614'];
        await refused(bad.flatMap((text) => [
            [range({ 'x-ms-range': text, 'x-ms-write': 'update' }, 'ab'), 'InvalidHeaderValue', 400, 'x-ms-range'],
            [range({ 'x-ms-range': text, 'x-ms-write': 'clear' }), 'InvalidHeaderValue'],
            [send('GET', `${share}/f`, '', { 'x-ms-range': text }), 'InvalidHeaderValue'],
            [send('GET', `${share}/f`, 'comp=rangelist', { 'x-ms-range': text }), 'InvalidHeaderValue']]));
        await refused(past.flatMap((text) => [
            [range({ 'x-ms-range': text, 'x-ms-write': 'update' }, 'a'), 'InvalidRange', 416],
            [range({ 'x-ms-range': text, 'x-ms-write': 'clear' }), 'InvalidRange', 416],
            [send('GET', `${share}/f`, '', { 'x-ms-range': text }), 'InvalidRange', 416]]));
        const past416 = await send('GET', `${share}/f`, '', { 'x-ms-range': 'bytes=10-' });
        assert.equal(past416.headers['content-range'], 'bytes */10');
        const ok = { 'x-ms-range': 'bytes=0-3', 'x-ms-write': 'update' };
        await refused([
            [range({ ...ok, 'x-ms-range': 'bytes=5-14' }, 'a'.repeat(10)), 'InvalidRange', 416],
            [range({ 'x-ms-write': 'update' }, 'a'), 'MissingRequiredHeader', 400, 'x-ms-range'],
            [range({ 'x-ms-range': 'bytes=0-0' }, 'a'), 'MissingRequiredHeader', 400, 'x-ms-write'],
            [range({ ...ok, 'x-ms-write': 'append' }, 'abcd'), 'InvalidHeaderValue', 400, 'x-ms-write'],
            [range(ok, 'abc'), 'InvalidHeaderValue', 400, 'Content-Length'], [range(ok), 'InvalidHeaderValue'],
            [range({ ...ok, 'x-ms-write': 'clear' }, 'abcd'), 'InvalidHeaderValue'],
            [range({ ...ok, 'x-ms-write': 'clear', 'Content-MD5': 'AAAAAAAAAAAAAAAAAAAAAA==' }), 'InvalidHeaderValue'],
            [range({ ...ok, 'Content-MD5': 'xx' }, 'abcd'), 'InvalidMd5'],
            [range({ ...ok, 'Content-MD5': 'AAAAAAAAAAAAAAAAAAAAAA==' }, 'abcd'), 'Md5Mismatch'],
            [range({ ...ok, 'x-ms-file-last-write-time': 'zz' }, 'abcd'), 'InvalidHeaderValue'],
            [range({ 'x-ms-range': 'bytes=0-4194304', 'x-ms-write': 'update' }, Buffer.alloc(4194305)), 'RequestBodyTooLarge', 413],
            [send('GET', `${share}/f`, '', { 'x-ms-range': 'bytes=0-', 'x-ms-range-get-content-md5': 'true' }), 'OutOfRangeInput'],
            [send('GET', `${share}/f`, '', { 'x-ms-range-get-content-md5': 'true' }), 'InvalidHeaderValue'],
            ...['prevsharesnapshot=x', 'marker=x'].map((q) => [send('GET', `${share}/f`, `comp=rangelist&${q}`), 'InvalidQueryParameterValue']),
            [send('GET', `${share}/f`, 'comp=rangelist&prevsharesnapshot=2020-01-01T00:00:00.0000000Z'), 'ShareSnapshotNotFound', 404],
        ]);
    });
});

describe('listings', () => {
    it('markers, prefixes, includes and sizes of pages', async () => {
        const list = (query) => send('GET', share, `restype=directory&comp=list&${query}`);
        await refused([
            ...['maxresults=0', 'maxresults=-1', 'maxresults=99999999999'].map((q) => [list(q), 'OutOfRangeQueryParameterValue']),
            ...['maxresults=x', 'include=x', 'marker=!!', 'marker=%2F%2F%2F', 'sharesnapshot=x', 'timeout=x']
                .map((q) => [list(q), 'InvalidQueryParameterValue']),
            [list('prefix=%FF'), 'InvalidUri'], [list('prefix=%00'), 'AuthenticationFailed', 403], [list('sharesnapshot=2020-01-01T00:00:00.0000000Z'), 'ShareSnapshotNotFound', 404],
            [send('GET', `${share}/f`, 'restype=directory&comp=list'), 'ResourceNotFound', 404],
            [send('GET', `${share}/no`, 'restype=directory&comp=list'), 'ResourceNotFound', 404],
        ]);
        for (const query of ['prefix=a%2Fb', `prefix=${'a'.repeat(5000)}`, 'marker=AAAA', 'prefix=%3C%26%22']) {
            const answer = await list(query);
            assert.equal(answer.status, 200);
            assert.ok(!answer.text.includes('\0'));
            assert.doesNotMatch(answer.text, /<File>.*<File>.*<File>/);
        }
    });
});

describe('sources of renames, copies and links', () => {
    it('that are no files of the share', async () => {
        const url = (path) => `${server.url('file')}${path}`;
        const rename = (source) => send('PUT', `${share}/new`, 'comp=rename', { 'x-ms-file-rename-source': source });
        await refused([
            ...['x', 'http://h/x', url(share), url('/other/f'), url(`${share}/%FF`), `/${'a'.repeat(3000)}`,
                url(`${share}/f%00`), url(`${share}/f?sharesnapshot=2026-01-01T00:00:00.0000000Z`)]
                .map((s) => [rename(s), 'InvalidHeaderValue', 400, 'x-ms-file-rename-source']),
            [rename(url(`${share}/no`)), 'ResourceNotFound', 404],
            [rename(url(`${share}/no/f`)), 'ResourceNotFound', 404], [rename(url(`${share}/d`)), 'ResourceTypeMismatch', 409],
            [rename(url(`${share}/../f`)), 'InvalidFileOrDirectoryPathName'],
            [send('PUT', `${share}/d`, 'comp=rename', { 'x-ms-file-rename-source': url(`${share}/f`) }), 'ResourceTypeMismatch', 409],
            [send('PUT', `${share}/d/e`, 'restype=directory&comp=rename', { 'x-ms-file-rename-source': url(`${share}/d`) }), 'InvalidInput'],
            [send('PUT', `${share}/new`, 'restype=hardlink', { 'x-ms-type': 'file', 'x-ms-file-target-file': '/f' }), 'InvalidOperation'],
            [send('PUT', `${share}/new`, 'restype=symboliclink', { 'x-ms-link-text': 'f' }), 'InvalidOperation'],
        ]);
    });
});

describe('Put Range From URL', () => {
    it('says that it writes, what, where and when', async () => {
        const put = (headers) => send('PUT', `${share}/f`, 'comp=range', {
            'x-ms-copy-source': readable(`${server.url('file')}${share}/f`), 'x-ms-range': 'bytes=0-3', 'x-ms-source-range': 'bytes=0-3', ...headers,
        });
        await refused([
            [put({}), 'MissingRequiredHeader', 400, 'x-ms-write'],
            [put({ 'x-ms-write': 'clear' }), 'InvalidHeaderValue', 400, 'x-ms-write'],
            [put({ 'x-ms-write': 'update', 'x-ms-file-last-write-time': 'later' }), 'InvalidHeaderValue', 400, 'x-ms-file-last-write-time'],
            [put({ 'x-ms-write': 'update', 'x-ms-source-allow-trailing-dot': 'maybe' }), 'InvalidHeaderValue'],
        ]);
    });
});

describe('shares', () => {
    it('policies, leases, restores and unknown operations', async () => {
        const acl = (body) => send('PUT', share, 'restype=share&comp=acl', {}, body);
        const policy = (inside) => `<SignedIdentifiers>${inside}</SignedIdentifiers>`;
        const lease = (headers) => send('PUT', `${share}/f`, 'comp=lease', headers);
        const restore = (version) => send('PUT', `${share}x`, 'restype=share&comp=undelete',
            { 'x-ms-deleted-share-name': `${share.slice(1)}x`, 'x-ms-deleted-share-version': version });
        const id = '00000000-0000-0000-0000-000000000001';
        await refused([
            ...['<x/>', policy('<SignedIdentifier><Id>a</Id></SignedIdentifier>'.repeat(6)), '<SignedIdentifiers>',
                policy(`<SignedIdentifier><Id>${'a'.repeat(65)}</Id></SignedIdentifier>`), `<!DOCTYPE a [<!ENTITY x "y">]>${policy('')}`]
                .map((body) => [acl(body), 'InvalidXmlDocument']),
            [lease({}), 'MissingRequiredHeader'], [lease({ 'x-ms-lease-action': 'x' }), 'InvalidHeaderValue'],
            [lease({ 'x-ms-lease-action': 'renew', 'x-ms-lease-id': id }), 'InvalidHeaderValue'],
            [lease({ 'x-ms-lease-action': 'acquire' }), 'MissingRequiredHeader'],
            [lease({ 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '15' }), 'InvalidHeaderValue'],
            [lease({ 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1', 'x-ms-proposed-lease-id': 'zz' }), 'InvalidHeaderValue'],
            [lease({ 'x-ms-lease-action': 'release' }), 'MissingRequiredHeader'],
            [lease({ 'x-ms-lease-action': 'change', 'x-ms-lease-id': id }), 'MissingRequiredHeader'],
            [lease({ 'x-ms-lease-action': 'break', 'x-ms-lease-break-period': '5' }), 'InvalidHeaderValue'],
            [restore('0'), 'InvalidHeaderValue'], [restore('ZZ'), 'InvalidHeaderValue'], [restore('F'.repeat(16)), 'ShareNotFound', 404],
            [send('PATCH', `${share}/f`), 'UnsupportedHttpVerb', 405], [send('PUT', `${share}/f`, 'comp=nope'), 'InvalidQueryParameterValue'],
            [send('PUT', `${share}/f`, 'restype=nope'), 'InvalidQueryParameterValue'],
            [send('DELETE', share, 'restype=directory'), 'CannotDeleteFileOrDirectory', 409],
        ]);
    });
});
