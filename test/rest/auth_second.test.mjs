// SPDX-License-Identifier: Apache-2.0
// Operations that name a second resource: the source of a copy or rename, the file behind a hard link. The caller needs
// permission for both. Every such operation is tried with every kind of credential, for the request and for the second
// resource, and a small model here gives the expected result. A refused request must change nothing.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { accountSas, ask, bearer, blobAt, CONTENT, fileAt, isOurs, key, must, nobody, OTHER, putFile, putPages, serviceSas, startWorld, stopWorld,
    token, urlOf } from './auth_lib.mjs';
import { ACCOUNT, assertError, KEY, sign } from './lib.mjs';

let server;

const block = { 'x-ms-blob-type': 'BlockBlob' };
const sources = {
    blob: [blobAt('here', 'dir/mine'), blobAt('here', 'secret'), blobAt('there', 'secret'), blobAt('open', 'b'), blobAt('here', 'secret', OTHER)],
    file: [fileAt('here', 'dir/mine'), fileAt('here', 'secret'), fileAt('there', 'secret'), fileAt('here', 'secret', OTHER)],
    pages: [blobAt('here', 'dir/pages'), blobAt('there', 'pages')],
};

before(async () => {
    server = await startWorld();
    for (const place of sources.blob)
        await must('PUT', place, { headers: block, body: CONTENT });
    for (const place of sources.file)
        await putFile(place);
    for (const place of sources.pages)
        await putPages(place);
});
after(stopWorld);

// ---- copies ---------------------------------------------------------------------------------------------------------

// handed: whether the account's key that signs the request serves for the source as well.
const COPIES = [
    { name: 'CopyBlob', to: 'blob', letters: 'cw', handed: true },
    { name: 'CopyBlobFromURL', to: 'blob', letters: 'cw', handed: true, headers: { 'x-ms-requires-sync': 'true' } },
    { name: 'PutBlobFromURL', to: 'blob', letters: 'cw', headers: block },
    { name: 'PutBlockFromURL', to: 'blob', letters: 'cw', query: 'comp=block&blockid=YQ%3D%3D' },
    { name: 'AppendBlockFromURL', to: 'blob', letters: 'aw', query: 'comp=appendblock', make: { 'x-ms-blob-type': 'AppendBlob' } },
    { name: 'PutPageFromURL', to: 'blob', letters: 'w', query: 'comp=page', make: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': 512 },
        headers: { 'x-ms-page-write': 'update', 'x-ms-range': 'bytes=0-511', 'x-ms-source-range': 'bytes=0-511' } },
    { name: 'IncrementalCopyBlob', to: 'blob', letters: 'cw', handed: true, query: 'comp=incrementalcopy', from: 'pages' },
    { name: 'CopyFile', to: 'file', letters: 'w', handed: true },
    { name: 'PutRangeFromURL', to: 'file', letters: 'w', query: 'comp=range', make: { 'x-ms-type': 'file', 'x-ms-content-length': 512 },
        headers: { 'x-ms-write': 'update', 'x-ms-range': 'bytes=0-511', 'x-ms-source-range': 'bytes=0-511' } },
];

const ofRequest = (service, to) => [
    key, nobody, bearer('all'), bearer('local'), bearer('guest'), bearer('stranger'), accountSas('rwdlac'), accountSas('w'), accountSas('wc', { ss: 'q' }),
    serviceSas(service, 'here', 'rcw'), serviceSas(service, 'here', 'r'), serviceSas(service, 'here', 'rcw', { oid: 'all' }),
    serviceSas(service, 'here', 'rcw', { path: to }),
    ...(service === 'blob' ? [serviceSas('blob', 'here', 'rcw', { directory: 'dir' })] : []),
];

const ofSource = (place) => [
    accountSas('r'), accountSas('w'), accountSas('r', { srt: 'c' }), accountSas('r', { ss: place.service === 'blob' ? 'f' : 'b' }),
    serviceSas(place.service, place.container, 'r'), serviceSas(place.service, place.container, 'wd'),
    serviceSas(place.service, 'here', 'r'), serviceSas(place.service, place.container, 'r', { oid: 'all' }),
    serviceSas(place.service, place.container, 'r', { path: place.path }), serviceSas(place.service, place.container, 'r', { path: 'else' }),
    ...(place.service === 'blob' ? [serviceSas('blob', place.container, 'r', { directory: 'dir' })] : []),
    bearer('all'), bearer('local'), bearer('guest'),
];

let count = 0;

/** Sends one copy, and sees that it went as the model has it. */
async function copy(op, source, request, own) {
    const dest = { service: op.to, container: 'here', path: request.path ?? `dir/${op.name}-${count++}` };
    const fresh = request.path !== undefined;
    if (op.make !== undefined)
        await must('PUT', dest, { headers: op.make });
    const shown = own === undefined ? {} : await own.show(source);
    const joint = source.moment === undefined ? '?' : '&';
    const url = shown.sas === undefined ? urlOf(source) : `${urlOf(source)}${joint}${shown.sas}`;
    const headers = { 'x-ms-copy-source': url, ...op.headers,
        ...(shown.bearer === undefined ? {} : { 'x-ms-copy-source-authorization': `Bearer ${shown.bearer}` }) };
    const answer = await ask('PUT', dest, { query: op.query, headers, by: request });
    const handed = isOurs(source) && (request.kind === 'bearer' || (request.kind === 'key' && op.handed));
    const reads = (own ?? (handed ? request : nobody)).may('r', source);
    const expected = request.may(op.letters, dest) && reads;
    const what = `${op.name} from ${source.service} ${source.account ?? ''}/${source.container}/${source.path} by ${request.name}` +
        `, source by ${own?.name ?? 'nothing'}: ${answer.status} ${answer.text}`;
    assert.equal(answer.status < 300, expected, what);
    if (!expected)
        assert.ok([401, 403, 404].includes(answer.status), what);
    if (!expected && op.make === undefined && !fresh)
        assert.equal((await ask('HEAD', dest)).status, 404, `${what}\nand yet it is there`);
    if (fresh)
        await ask('DELETE', dest);
}

describe('copies need leave to read their source', () => {
    for (const op of COPIES)
        it(op.name, async () => {
            const from = op.from === undefined ? [...sources.blob, ...sources.file] : sources[op.from];
            const path = `dir/${op.name}`;
            for (const source of from) {
                for (const request of ofRequest(op.to, path))
                    await copy(op, source, request);
                for (const own of ofSource(source))
                    for (const request of [key, serviceSas(op.to, 'here', 'w')])
                        await copy(op, source, request, own);
            }
        });

    it('a token for a source over plain HTTP is refused, however the source\'s URL begins', async () => {
        const put = (scheme, headers, sas = '') => server.request('blob', 'PUT', '/here/plain', { headers: {
            'x-ms-requires-sync': 'true', ...headers, 'x-ms-copy-source': `${urlOf(blobAt('there', 'secret')).replace('http', scheme)}${sas}` } });
        for (const scheme of ['http', 'https']) {
            const byToken = await put(scheme, { 'x-ms-copy-source-authorization': `Bearer ${token('all')}` });
            assert.ok([401, 403].includes(byToken.status), byToken.text);
            assert.equal(byToken.headers['x-ms-error-code'], 'CannotVerifyCopySource');
        }
    });

    it('a token that reads files says so', async () => {
        const headers = { ...block, 'x-ms-copy-source': urlOf(fileAt('there', 'secret')), 'x-ms-file-request-intent': 'fun' };
        assertError(await ask('PUT', blobAt('here', 'intent'), { headers, by: bearer('all') }), 400, 'InvalidHeaderValue');
    });
});

// ---- renames and hard links -----------------------------------------------------------------------------------------

// `needs`: one of these sets of letters, for the source.
const RENAMES = [
    { name: 'RenameFile', share: 'here', query: 'comp=rename', header: 'x-ms-file-rename-source', letters: 'w', needs: [['d'], ['r', 'w']] },
    { name: 'RenameFile over a file', share: 'here', query: 'comp=rename', header: 'x-ms-file-rename-source', letters: 'w', needs: [['d'], ['r', 'w']],
        replaces: true, headers: { 'x-ms-file-rename-replace-if-exists': 'true' } },
    { name: 'RenameDirectory', share: 'here', query: 'restype=directory&comp=rename', header: 'x-ms-file-rename-source', letters: 'w', needs: [['d'], ['r', 'w']],
        tree: true },
    { name: 'CreateHardLink', share: 'nfs', query: 'restype=hardlink', header: 'x-ms-file-target-file', letters: 'cw', needs: [['r', 'w']],
        headers: { 'x-ms-type': 'file' }, keeps: true },
];

async function makeNode(op, place) {
    if (!op.tree)
        return putFile(place);
    await must('PUT', place, { query: 'restype=directory' });
    return putFile({ ...place, path: `${place.path}/below` });
}

/** Makes the one that is named, sends the operation, and sees what has become of it. */
async function move(op, from, to, request, own, spelled = (url) => url) {
    const [source, dest] = [fileAt(op.share, from), fileAt(op.share, to)];
    await makeNode(op, source);
    if (op.replaces)
        await must('PUT', dest, { headers: { 'x-ms-type': 'file', 'x-ms-content-length': 1 } });
    const sas = own === undefined ? undefined : (await own.show(source)).sas;
    const answer = await ask('PUT', dest, { query: op.query, by: request,
        headers: { ...op.headers, [op.header]: spelled(sas === undefined ? urlOf(source) : `${urlOf(source)}?${sas}`) } });
    const expected = request.may(op.letters, dest, op.tree) && op.needs.some((letters) => letters.every((letter) => (own ?? request).may(letter, source, op.tree)));
    const what = `${op.name} ${from} to ${to} by ${request.name}, source by ${own?.name ?? 'nothing'}: ${answer.status} ${answer.text}`;
    assert.equal(answer.status < 300, expected, what);
    if (!expected)
        assert.ok([401, 403].includes(answer.status), what);
    const below = op.tree ? '/below' : '';
    const found = async (place) => (await ask('GET', { ...place, path: place.path + below })).bytes.length;
    const left = await found(source);
    assert.equal(left === CONTENT.length, op.keeps || !expected, `the source; ${what}`);
    const there = await found(dest);
    assert.equal(there === CONTENT.length, expected, `the destination; ${what}`);
    if (op.replaces && !expected)
        assert.equal(there, 1, `what was to be replaced; ${what}`);
}

const letterSets = ['r', 'w', 'd', 'rw', 'wd', 'cd', 'rcw', 'rcwd'];

describe('renames and links need leave for both names', () => {
    for (const op of RENAMES)
        it(op.name, async () => {
            const names = () => [`dir/from${count}`, `dir/to${count++}`];
            const share = (sp, more) => serviceSas('file', op.share, sp, more);
            const whole = [key, nobody, bearer('all'), bearer('local'), bearer('guest'), bearer('stranger'), accountSas('rcwd', { ss: 'b' }),
                accountSas('rcwd', { srt: 'sc' }), share('rcwd', { oid: 'all' }), ...letterSets.flatMap((sp) => [share(sp), accountSas(sp)])];
            for (const request of whole)
                await move(op, ...names(), request);
            for (const sp of letterSets) {
                // For one of the two alone, with and without a SAS for the other.
                let [from, to] = names();
                await move(op, from, to, share(sp, { path: to }));
                [from, to] = names();
                await move(op, from, to, share(sp, { path: from }));
                for (const own of ['r', 'd', 'rw', 'rcwd']) {
                    [from, to] = names();
                    await move(op, from, to, share(sp, { path: to }), share(own, { path: from }));
                    [from, to] = names();
                    await move(op, from, to, share(sp), share(own, { path: to }));
                }
            }
            for (const own of [accountSas('rcwd'), accountSas('rcw'), accountSas('rcwd', { srt: 's' }), share('rcwd'), share('rcwd', { oid: 'all' })])
                for (const request of [key, bearer('local'), share('w')])
                    await move(op, ...names(), request, own);
        });

    it('a symbolic link is a text: nothing is read through it', async () => {
        const [link, secret] = [fileAt('nfs', 'dir/link'), fileAt('nfs', 'secret')];
        await putFile(secret);
        const mine = serviceSas('file', 'nfs', 'rcw', { path: link.path });
        const made = await ask('PUT', link, { query: 'restype=symboliclink', headers: { 'x-ms-link-text': '/secret' }, by: mine });
        assert.equal(made.status, 201);
        const read = await ask('GET', link, { by: mine });
        assert.ok(!read.text.includes(CONTENT), read.text);
    });
});

// ---- Data Lake's rename --------------------------------------------------------------------------------------------

/** Makes a blob, asks for it to be renamed, and sees what has become of it. */
async function movePath(from, to, request, own) {
    const [source, dest] = [blobAt('here', from), blobAt('here', to)];
    await must('PUT', source, { headers: block, body: CONTENT });
    const sas = own === undefined ? undefined : (await own.show(source)).sas;
    const name = `/here/${from}`;
    const answer = await ask('PUT', dest, { query: 'mode=legacy', by: request, headers: { 'x-ms-rename-source': sas === undefined ? name : `${name}?${sas}` } });
    const expected = request.may('wcm', dest) && (own ?? request).may('md', source);
    const what = `RenamePath ${from} to ${to} by ${request.name}, source by ${own?.name ?? 'nothing'}: ${answer.status} ${answer.text}`;
    assert.equal(answer.status < 300, expected, what);
    if (!expected)
        assert.ok([401, 403].includes(answer.status), what);
    assert.equal((await ask('GET', source)).status, expected ? 404 : 200, `the source; ${what}`);
    assert.equal((await ask('GET', dest)).status, expected ? 200 : 404, `the destination; ${what}`);
}

it('RenamePath needs leave for both names', async () => {
    const names = () => [`dir/pfrom${count}`, `dir/pto${count++}`];
    const container = (sp, more) => serviceSas('blob', 'here', sp, more);
    for (const request of [key, nobody, bearer('all'), bearer('local'), bearer('guest'), bearer('stranger'), accountSas('rwdlac'), accountSas('rw'),
        accountSas('wd', { ss: 'f' }), accountSas('wd', { srt: 'sc' }), container('rcwd', { oid: 'all' }), container('rcwd', { directory: 'dir' }),
        container('rcwd', { directory: 'else' }), ...['r', 'w', 'd', 'wd', 'cd', 'm', 'rc', 'cm', 'rcwdm'].map((sp) => container(sp))])
        await movePath(...names(), request);
    for (const sp of ['w', 'd', 'rcwd', 'm']) {
        let [from, to] = names();
        await movePath(from, to, container(sp, { path: to }));
        [from, to] = names();
        await movePath(from, to, container(sp, { path: from }));
        for (const own of ['r', 'd', 'm', 'rcw']) {
            [from, to] = names();
            await movePath(from, to, container(sp, { path: to }), container(own, { path: from }));
            [from, to] = names();
            await movePath(from, to, container(sp), container(own, { path: to }));
        }
    }
    for (const own of [accountSas('d'), accountSas('rcw'), accountSas('d', { srt: 's' }), container('d'), container('m', { oid: 'all' })])
        for (const request of [key, bearer('local'), bearer('stranger'), container('w')])
            await movePath(...names(), request, own);
});

// ---- snapshots and versions -----------------------------------------------------------------------------------------

describe('a SAS for one snapshot or version is for that alone', () => {
    const base = blobAt('there', 'kept');
    const at = (moment) => ({ ...base, moment });
    const moments = { snapshot: [], versionid: [] };

    before(async () => {
        for (let i = 0; i < 2; i++) {
            const { headers } = await must('PUT', base, { headers: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': 512 } });
            moments.versionid.push(`?versionid=${headers['x-ms-version-id']}`);
            for (let n = 0; n < 2; n++) {
                const snapshot = await must('PUT', base, { query: 'comp=snapshot' });
                moments.snapshot.push(`?snapshot=${snapshot.headers['x-ms-snapshot']}`);
            }
        }
    });

    it('as the source of a copy', async () => {
        const places = [base, ...moments.snapshot.map(at), ...moments.versionid.map(at)];
        for (const moment of [...moments.snapshot, ...moments.versionid]) {
            const own = serviceSas('blob', 'there', 'r', { path: 'kept', moment });
            for (const place of places)
                await copy(COPIES[0], place, serviceSas('blob', 'here', 'w'), own);
        }
        for (const own of [serviceSas('blob', 'there', 'r', { path: 'kept' }), serviceSas('blob', 'there', 'r')])
            for (const place of places)
                await copy(COPIES[0], place, serviceSas('blob', 'here', 'w'), own);
    });

    it('as what pages are compared with', async () => {
        const [, , first, second] = moments.snapshot;
        const compare = (by, how) => ask('GET', base, { query: `comp=pagelist&${second.slice(1)}${how.query ?? ''}`, headers: how.headers, by });
        const ways = [{ query: `&prev${first.slice(1)}` }, { headers: { 'x-ms-previous-snapshot-url': `${urlOf(base)}${first}` } }];
        for (const how of ways) {
            assert.equal((await compare(key, how)).status, 200);
            assert.equal((await compare(serviceSas('blob', 'there', 'r', { path: 'kept' }), how)).status, 200);
            const one = serviceSas('blob', 'there', 'r', { path: 'kept', moment: second });
            assert.equal((await compare(one, {})).status, 200);
            assertError(await compare(one, how), 403, 'AuthorizationFailure');
        }
    });

    it('writes and deletes nothing else', async () => {
        const [moment] = moments.snapshot;
        const all = serviceSas('blob', 'there', 'racwdxyt', { path: 'kept', moment });
        for (const query of ['comp=metadata', 'comp=snapshot', 'comp=lease', 'comp=undelete', 'comp=properties'])
            assert.ok((await ask('PUT', base, { query: `${query}&${moment.slice(1)}`, by: all })).status >= 400, query);
        const include = { 'x-ms-delete-snapshots': 'include' };
        assert.ok((await ask('DELETE', base, { query: moment.slice(1), headers: include, by: all })).status >= 400);
        assert.ok((await ask('DELETE', base, { headers: include, by: all })).status >= 400);
        assert.equal((await ask('HEAD', base)).status, 200);
    });
});

it('a SAS for one path lists and closes no handles below it', async () => {
    const directory = fileAt('here', 'dir');
    const one = serviceSas('file', 'here', 'rw', { path: 'dir' });
    const share = serviceSas('file', 'here', 'rw');
    for (const [method, query, headers] of [['GET', 'comp=listhandles', {}], ['PUT', 'comp=forceclosehandles', { 'x-ms-handle-id': '*' }]]) {
        const recursive = { ...headers, 'x-ms-recursive': 'true' };
        assert.equal((await ask(method, directory, { query, headers, by: one })).status, 200);
        assert.equal((await ask(method, directory, { query, headers: recursive, by: share })).status, 200);
        assertError(await ask(method, directory, { query, headers: recursive, by: one }), 403, 'AuthorizationResourceTypeMismatch');
    }
});

// ---- parts of batches, and letters of their own ---------------------------------------------------------------------

describe('each part of a batch needs leave of its own', () => {
    // One part that deletes the place, by credentials of its own.
    async function part(place, by) {
        const shown = await by.show(place);
        const path = new URL(urlOf(place)).pathname;
        const lines = { 'x-ms-date': new Date().toUTCString(), 'Content-Length': 0 };
        let headers = Object.entries(lines);
        if (shown.key)
            headers = sign('DELETE', path, '', headers, { account: place.account ?? ACCOUNT, key: KEY });
        if (shown.bearer)
            headers.push(['Authorization', `Bearer ${shown.bearer}`]);
        const text = headers.map(([name, value]) => `${name}: ${value}`).join('\r\n');
        return `--b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\nContent-ID: 0\r\n\r\n` +
            `DELETE ${path}${shown.sas ? `?${shown.sas}` : ''} HTTP/1.1\r\n${text}\r\n\r\n--b--\r\n`;
    }

    it('whoever sends the batch', async () => {
        const containerOf = (container) => ({ service: 'blob', container });
        const outers = [[{ service: 'blob' }, key], [{ service: 'blob' }, accountSas('rwdl')], [{ service: 'blob' }, bearer('all')],
            [containerOf('here'), key], [containerOf('here'), serviceSas('blob', 'here', 'rwdl')], [containerOf('here'), bearer('local')]];
        const inners = (place) => [key, nobody, bearer('all'), bearer('local'), bearer('guest'), accountSas('d'), accountSas('rw'),
            serviceSas('blob', place.container, 'd'), serviceSas('blob', place.container, 'rwcx'), serviceSas('blob', 'here', 'd'),
            serviceSas('blob', place.container, 'd', { path: place.path }), serviceSas('blob', place.container, 'd', { path: 'else' }),
            serviceSas('blob', place.container, 'd', { directory: 'dir' })];
        for (const [at, outer] of outers)
            for (const place of [blobAt('here', 'dir/part'), blobAt('there', 'part'), blobAt('here', 'part', OTHER)])
                for (const inner of inners(place)) {
                    await must('PUT', place, { headers: block, body: 'x' });
                    const query = at.container === undefined ? 'comp=batch' : 'restype=container&comp=batch';
                    const answer = await ask('POST', at, { query, by: outer, body: await part(place, inner),
                        headers: { 'Content-Type': 'multipart/mixed; boundary=b' } });
                    const expected = isOurs(place) && (at.container ?? place.container) === place.container && inner.may('d', place);
                    const left = (await ask('HEAD', place)).status;
                    assert.equal(left === 404, expected, `${JSON.stringify(place)} by ${inner.name} in a batch by ${outer.name} ` +
                        `at ${at.container}: ${answer.status} ${answer.text}`);
                }
    });
});

it('letters for versions, and for good, do not reach the blob itself', async () => {
    const place = blobAt('there', 'lettered');
    const { headers } = await must('PUT', place, { headers: block, body: 'x' });
    const version = headers['x-ms-version-id'];
    for (const sp of ['x', 'y', 'xy'])
        for (const query of ['', 'versionid=', 'deletetype=permanent', 'deletetype=', `versionid=${version}`, `versionid=${version}&deletetype=permanent`,
            `snapshot=${version}&deletetype=permanent`])
            for (const more of [{}, { 'x-ms-delete-snapshots': 'include' }]) {
                const answer = await ask('DELETE', place, { query, headers: more, by: serviceSas('blob', 'there', sp) });
                assert.ok(answer.status >= 400, `${sp} ${query}: ${answer.status}`);
                assert.equal((await ask('HEAD', place)).status, 200, `${sp} ${query}`);
            }
    // The right to delete includes breaking a lease, and no other lease action.
    await must('PUT', place, { query: 'comp=lease', headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': -1 } });
    const lease = (headers) => ask('PUT', place, { query: 'comp=lease', by: serviceSas('blob', 'there', 'd'), headers });
    const terms = { 'x-ms-lease-duration': -1, 'x-ms-lease-id': '00000000-0000-0000-0000-000000000001' };
    for (const action of ['acquire', 'renew', 'change', 'release', 'break,acquire'])
        assertError(await lease({ 'x-ms-lease-action': action, ...terms }), 403, 'AuthorizationPermissionMismatch');
    assert.equal((await lease({ 'x-ms-lease-action': 'Break' })).status, 202);
});

// ---- other spellings ------------------------------------------------------------------------------------------------

describe('no spelling of the second resource leads past its judge', () => {
    const HIDDEN = 'what nobody else may read';

    it('of a copy', async () => {
        const hidden = blobAt('there', 'hidden');
        await must('PUT', hidden, { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: HIDDEN });
        const port = server.ports.blob;
        const [account, host] = ['devstoreaccount1', `127.0.0.1:${port}`];
        const mine = (await serviceSas('blob', 'here', 'racwdl').show()).sas;
        const urls = [
            ...['/there/hidden', '/there/hidden/', '//there/hidden', '/here/../there/hidden', '/here/%2e%2e/there/hidden', '/here%2F..%2Fthere/hidden',
                '/there%2Fhidden', '/THERE/hidden', '/there\\hidden', '/there%5Chidden', '/%74here/hidden', '/there/%68idden', '/there/hidden#here',
                '/there/hidden?', '/there/hidden?sig=', '/there/hidden?SIG=x', '/there/hidden?restype=container&comp=list', '/there/hidden?sv=2025-11-05',
                '/there/hidden?snapshot=', '/there/hidden?versionid=', `/there/hidden?${mine}`, `/there/hidden?${mine}&sr=b`]
                .flatMap((path) => [`http://${host}/${account}${path}`, `http://${host}/${account}-secondary${path}`]),
            ...[`localhost:${port}`, `LOCALHOST:${port}`, `[::1]:${port}`, `x.localhost:${port}`].map((h) => `http://${h}/${account}/there/hidden`),
            `HTTPS://${host}/${account}/there/hidden`, `http://${account}.blob.localhost:${port}/there/hidden`,
            `http://${account}.localhost:${port}/there/hidden`, `https://${account}.blob.core.windows.net/there/hidden`,
            `http://${account}@${host}/${account}/there/hidden`, `http://${host}/${account.toUpperCase()}/there/hidden`,
        ];
        for (const by of [bearer('local'), serviceSas('blob', 'here', 'racwdl'), accountSas('wcl')])
            for (const url of urls)
                for (const headers of [{ 'x-ms-requires-sync': 'true' }, {}, { 'x-ms-blob-type': 'BlockBlob' }]) {
                    const dest = blobAt('here', `spelled${Math.random()}`);
                    const answer = await ask('PUT', dest, { headers: { ...headers, 'x-ms-copy-source': url }, by });
                    assert.ok(answer.status >= 400 && answer.status < 500, `${url} by ${by.name}: ${answer.status}`);
                    assert.equal((await ask('GET', dest)).status, 404);
                }
    });

    it('of a rename or hard link', async () => {
        const mine = 'dir/mine2';
        for (const [share, operation, header] of [['here', 'comp=rename', 'x-ms-file-rename-source'], ['nfs', 'restype=hardlink', 'x-ms-file-target-file']]) {
            const hidden = fileAt(share, 'hidden');
            await must('PUT', hidden, { headers: { 'x-ms-type': 'file', 'x-ms-content-length': HIDDEN.length } });
            await must('PUT', hidden, { query: 'comp=range', headers: { 'x-ms-write': 'update', 'x-ms-range': `bytes=0-${HIDDEN.length - 1}` }, body: HIDDEN });
            const by = serviceSas('file', share, 'rcwd', { path: mine });
            const { sas } = await by.show();
            const root = urlOf(fileAt(share, '')).replace(/\/$/, '');
            const paths = ['/hidden', '/hidden/', '//hidden', '/./hidden', `/${mine}/../../hidden`, `/${mine}/%2e%2e/%2e%2e/hidden`, '/dir/..%2Fhidden', '/HIDDEN',
                '/hidden.', '/hidden%2F', '/%68idden', '/hidden?', `/hidden?${sas}`, `/hidden?SIG=&${sas}`, `/hidden?sv=2025-11-05`, '/hidden%3F', '/hidden#'];
            const urls = [...paths.map((path) => root + path), ...paths.map((path) => `${root.replace('127.0.0.1', 'localhost')}${path}`),
                `${root.replace('devstoreaccount1', 'devstoreaccount1-secondary')}/hidden`, ...(share === 'nfs' ? paths : [])];
            for (const url of urls) {
                const answer = await ask('PUT', fileAt(share, mine), { query: operation, headers: { 'x-ms-type': 'file', [header]: url }, by });
                assert.ok(answer.status >= 400 && answer.status < 500, `${url}: ${answer.status}`);
                assert.equal((await ask('GET', fileAt(share, mine))).status, 404, url);
                assert.equal((await ask('GET', hidden)).text, HIDDEN, url);
            }
        }
    });
});
