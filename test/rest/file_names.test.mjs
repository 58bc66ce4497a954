// SPDX-License-Identifier: Apache-2.0
// Names of files and directories: case, trailing dots, the two protocols' rules; renames, and how a snapshot and the
// differences to it show them.
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { assertError, startServer, uniqueName } from './lib.mjs';

const VERSION = '2026-10-06';
let server;
before(async () => {
    server = await startServer({ inMemory: true, services: ['file'] });
});
after(() => server.stop());

const send = (method, path, query = '', headers = {}, body = undefined) =>
    server.request('file', method, path, { query, headers: { 'x-ms-version': VERSION, ...headers }, body });
const create = (path, text = '', headers = {}) => send('PUT', path, '',
    { 'x-ms-type': 'file', 'x-ms-content-length': Buffer.byteLength(text), ...headers }, text);
const mkdir = (path, headers = {}) => send('PUT', path, 'restype=directory', headers);
const read = async (path, query = '', headers = {}) => (await send('GET', path, query, headers)).text;
const rename = (from, to, headers = {}, restype = undefined) => send('PUT', to, { comp: 'rename', restype },
    { 'x-ms-file-rename-source': `${server.url('file')}${from}`, ...headers });

async function newShare(headers = {}) {
    const share = `/${uniqueName()}`;
    assert.equal((await send('PUT', share, 'restype=share', headers)).status, 201);
    return share;
}

async function names(path, query = {}) {
    const { text } = await send('GET', path, { restype: 'directory', comp: 'list', ...query });
    return [...text.matchAll(/<Name>([^<]*)</g)].map((m) => m[1]);
}

it('differ in more than case, and keep the case they were made with', async () => {
    const share = await newShare();
    const path = (name) => `${share}/${encodeURIComponent(name)}`;
    assert.equal((await create(path('Ünï-ΣΤ-Я.TXT'), 'one')).status, 201);
    assert.equal(await read(path('üNÏ-στ-я.txt')), 'one');
    assert.equal((await create(path('ünï-στ-я.txt'), 'two')).status, 201);
    assert.deepEqual(await names(share), ['Ünï-ΣΤ-Я.TXT']);
    assert.equal((await create(path('Straße'))).status, 201);
    assert.equal((await create(path('STRASSE'))).status, 201);
    assert.equal((await mkdir(path('Dir'))).status, 201);
    assertError(await mkdir(path('dIR')), 409, 'ResourceAlreadyExists');
    assertError(await create(path('DIR')), 409, 'ResourceTypeMismatch');
    assert.equal((await create(`${share}/DIR/Inner`, 'x')).status, 201);
    assert.deepEqual(await names(`${share}/dir`, { prefix: 'IN' }), ['Inner']);
    assert.equal((await rename(`${share}/dir/inner`, `${share}/Dir/INNER`)).status, 200);
    assert.deepEqual(await names(`${share}/dir`), ['INNER']);
    assert.equal((await rename(`${share}/DIR`, `${share}/dir`, {}, 'directory')).status, 200);
    assert.ok((await names(share)).includes('dir'));
    assert.equal(await read(`${share}/dir/inner`), 'x');
});

it('lose the dots at their ends, unless these are asked for', async () => {
    const share = await newShare();
    const keep = { 'x-ms-allow-trailing-dot': 'true' };
    await create(`${share}/a..`, 'plain');
    assert.deepEqual(await names(share), ['a']);
    assert.equal((await create(`${share}/a.`, 'dotted', keep)).status, 201);
    assert.deepEqual(await names(share), ['a', 'a.']);
    assert.equal(await read(`${share}/a.`), 'plain');
    assert.equal(await read(`${share}/a.`, '', keep), 'dotted');
    assertError(await send('HEAD', `${share}/a..`, '', keep), 404, 'ResourceNotFound');
    await mkdir(`${share}/d.`, keep);
    assert.equal((await create(`${share}/d./f.`, 'deep', keep)).status, 201);
    assertError(await create(`${share}/d./f.`), 404, 'ParentNotFound');
    const source = { 'x-ms-source-allow-trailing-dot': 'true' };
    assertError(await rename(`${share}/d./f.`, `${share}/moved.`), 404, 'ResourceNotFound');
    assert.equal((await rename(`${share}/d./f.`, `${share}/moved.`, source)).status, 200);
    assert.equal(await read(`${share}/moved`), 'deep');
    assert.equal((await send('DELETE', `${share}/a.`, '', keep)).status, 202);
    assert.deepEqual(await names(share), ['a', 'd.', 'moved']);
    assert.equal((await send('DELETE', `${share}/d.`, 'restype=directory', keep)).status, 202);
});

it('of an NFS share may hold anything but a slash, and differ in case', async () => {
    const share = await newShare({ 'x-ms-enabled-protocols': 'NFS' });
    const all = ['A', 'CON', 'a', 'a.', 'a:b', 'b\\c', 'x?*|"<>'];
    for (const name of all)
        assert.equal((await create(`${share}/${encodeURIComponent(name)}`, name)).status, 201, name);
    const listed = (await names(share)).map((name) => name.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"'));
    assert.deepEqual(listed.sort(), [...all].sort());
    for (const name of all)
        assert.equal(await read(`${share}/${encodeURIComponent(name)}`), name);
    assertError(await create(`${share}/%2E%2E`), 400, 'InvalidFileOrDirectoryPathName');
    assertError(await create(`${share}/${'é'.repeat(128)}`.replaceAll('é', '%C3%A9')), 400, 'InvalidResourceName');
});

it('RenameFile and RenameDirectory: by the SDK, which leaves the account out of the destination\'s path', async () => {
    const share = (await server.shares()).getShareClient((await newShare()).slice(1));
    const file = share.rootDirectoryClient.getFileClient('old');
    await file.create(0);
    const { destinationFileClient } = await file.rename('new name');
    assert.ok(destinationFileClient.url.endsWith('/new%20name'));
    const directory = share.getDirectoryClient('d');
    await directory.create();
    await directory.rename('e');
    const names = [];
    for await (const entry of share.rootDirectoryClient.listFilesAndDirectories())
        names.push(entry.name);
    assert.deepEqual(names.sort(), ['e', 'new name']);
});

it('that XML cannot carry are percent-encoded in a listing, and so is the path of its directory', async () => {
    const share = (await server.shares()).getShareClient((await newShare()).slice(1));
    const directory = share.getDirectoryClient('d\ufffe');
    await directory.create();
    await directory.getFileClient('f\uffff').create(0);
    const page = (await directory.listFilesAndDirectories().byPage().next()).value;
    assert.equal(page.directoryPath, 'd\ufffe');
    assert.deepEqual(page.segment.fileItems.map((item) => item.name), ['f\uffff']);
});

it('RenameFile: replaces only when told, not what is read-only unless told, never a directory', async () => {
    const share = await newShare();
    await create(`${share}/a`, 'a', { 'x-ms-meta-kept': 'yes', 'x-ms-content-type': 'text/plain' });
    await create(`${share}/b`, 'b', { 'x-ms-file-attributes': 'ReadOnly' });
    await mkdir(`${share}/d`);
    const replace = { 'x-ms-file-rename-replace-if-exists': 'true' };
    assertError(await rename(`${share}/a`, `${share}/b`), 409, 'ResourceAlreadyExists');
    assertError(await rename(`${share}/a`, `${share}/b`, replace), 409, 'ReadOnlyAttribute');
    assertError(await rename(`${share}/a`, `${share}/d`, replace), 409, 'ResourceTypeMismatch');
    assertError(await rename(`${share}/a`, `${share}/no/b`), 404, 'ParentNotFound');
    assert.deepEqual(await names(share), ['a', 'b', 'd']);
    const { headers: before } = await send('HEAD', `${share}/a`);
    const done = await rename(`${share}/a`, `${share}/b`, { ...replace, 'x-ms-file-rename-ignore-readonly': 'true' });
    assert.equal(done.status, 200, done.text);
    assert.equal(done.headers['x-ms-file-id'], before['x-ms-file-id']);
    const { headers: then } = await send('HEAD', `${share}/b`);
    assert.equal(then['x-ms-meta-kept'], 'yes');
    assert.equal(then['content-type'], 'text/plain');
    assert.equal(then['x-ms-file-creation-time'], before['x-ms-file-creation-time']);
    assert.equal(await read(`${share}/b`), 'a');
    assert.equal((await rename(`${share}/b`, `${share}/d/c`, { 'x-ms-meta-new': '1', 'x-ms-content-type': 'a/b' })).status, 200);
    const { headers: last } = await send('HEAD', `${share}/d/c`);
    assert.equal(last['x-ms-meta-kept'], undefined);
    assert.equal(last['x-ms-meta-new'], '1');
    assert.equal(last['content-type'], 'a/b');
});

it('a snapshot shows the names of its time, and differences follow a rename when told', async () => {
    const share = await newShare();
    await mkdir(`${share}/old`);
    await create(`${share}/old/f`, 'x'.repeat(16384));
    const { headers: { 'x-ms-snapshot': sharesnapshot } } = await send('PUT', share, 'restype=share&comp=snapshot');
    await rename(`${share}/old`, `${share}/new`, {}, 'directory');
    await rename(`${share}/new/f`, `${share}/new/g`);
    await send('PUT', `${share}/new/g`, 'comp=range', { 'x-ms-range': 'bytes=4096-8191', 'x-ms-write': 'update' }, 'y'.repeat(4096));
    await send('PUT', `${share}/new/g`, 'comp=range', { 'x-ms-range': 'bytes=8192-12287', 'x-ms-write': 'clear' });
    assert.deepEqual(await names(share, { sharesnapshot }), ['old']);
    assert.deepEqual(await names(`${share}/old`, { sharesnapshot }), ['f']);
    assert.equal(await read(`${share}/old/f`, { sharesnapshot }), 'x'.repeat(16384));
    assertError(await send('GET', `${share}/new/g`, { sharesnapshot }), 404, 'ParentNotFound');
    const differences = (headers) => send('GET', `${share}/new/g`, { comp: 'rangelist', prevsharesnapshot: sharesnapshot }, headers);
    assertError(await differences({}), 409, 'PreviousSnapshotNotFound');
    const { text } = await differences({ 'x-ms-file-support-rename': 'true' });
    assert.match(text, /<Ranges><Range><Start>4096<\/Start><End>8191<\/End><\/Range><ClearRange><Start>8192<\/Start><End>12287<\/End><\/ClearRange><\/Ranges>/);
    const pages = [];
    for (let marker = ''; marker !== undefined;) {
        const page = await send('GET', `${share}/new/g`, { comp: 'rangelist', prevsharesnapshot: sharesnapshot, maxresults: 1, marker },
            { 'x-ms-file-support-rename': 'true' });
        pages.push(...page.text.matchAll(/<Start>(\d+)</g));
        marker = /<NextMarker>([^<]+)</.exec(page.text)?.[1];
    }
    assert.deepEqual(pages.map((m) => m[1]), ['4096', '8192']);
});
