// SPDX-License-Identifier: Apache-2.0
// Operations that name a second resource: the source of a copy or rename, the file behind a hard link. Whoever sends one
// needs leave for both. Every such operation is tried with every kind of credential, for the request and with the second
// resource, and a small model here says what must come of it. What was refused must have changed nothing.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createSign, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ACCOUNT, assertError, BIN, hmac, KEY, sign, startServer, VERSION, xmlTexts } from './lib.mjs';

const OTHER = 'other';
const LETTER = { blob: 'b', file: 'f' };
const folder = mkdtempSync(join(tmpdir(), 'lazuli-second-'));
const agent = new https.Agent({ keepAlive: true, maxSockets: 8, rejectUnauthorized: false });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
let server;

before(async () => {
    const file = (name, text) => {
        writeFileSync(join(folder, name), text);
        return join(folder, name);
    };
    const keys = file('keys', JSON.stringify({ keys: [{ ...rsa.publicKey.export({ format: 'jwk' }), kid: 'r', use: 'sig' }] }));
    // Of two containers and shares: all; `here` alone; `here` and to read `there`.
    const roles = file('roles', `all ${ACCOUNT} * owner\nlocal ${ACCOUNT} here contributor\nlocal ${ACCOUNT} nfs contributor\n` +
        `guest ${ACCOUNT} here contributor\nguest ${ACCOUNT} there reader\n`);
    execFileSync(BIN, ['cert', join(folder, 'cert'), join(folder, 'key')]);
    server = await startServer({
        inMemory: true, services: ['blob', 'file'], env: { AZURITE_ACCOUNTS: `${ACCOUNT}:${KEY};${OTHER}:${KEY}` },
        args: ['--cert', join(folder, 'cert'), '--key', join(folder, 'key'),
            '--oauth', `jwks=${keys},issuer=https://issuer.test,audience=https://lazuli.test,roles=${roles}`],
    });
    await fill();
});
after(async () => {
    agent.destroy();
    await server.stop();
    rmSync(folder, { recursive: true });
});

// ---- requests -------------------------------------------------------------------------------------------------------

const pathOf = ({ container, path }) => `/${container}/${path.split('/').map(encodeURIComponent).join('/')}`;
const urlOf = (place) => `http://127.0.0.1:${server.ports[place.service]}/${place.account ?? ACCOUNT}${pathOf(place)}${place.moment ?? ''}`;

/** By a credential (see below), over TLS. */
async function ask(method, place, { query = '', headers = {}, body = '', by = key } = {}) {
    const sent = { 'x-ms-version': VERSION, 'x-ms-date': new Date().toUTCString(), 'Content-Length': body.length,
        'x-ms-file-request-intent': 'backup', ...headers };
    const path = `/${place.account ?? ACCOUNT}${place.path === undefined ? `/${place.container ?? ''}` : pathOf(place)}`;
    const credentials = await by.show(place);
    const text = [query, credentials.sas].filter((part) => part).join('&');
    let pairs = [...Object.entries(sent), ...(credentials.bearer ? [['Authorization', `Bearer ${credentials.bearer}`]] : [])];
    if (credentials.key)
        pairs = sign(method, path, text, pairs, { account: place.account ?? ACCOUNT, key: KEY });
    const request = https.request({ host: '127.0.0.1', port: server.ports[place.service], method, agent, path: text ? `${path}?${text}` : path,
        headers: pairs.flatMap(([name, value]) => [name, String(value)]).concat('Host', `127.0.0.1:${server.ports[place.service]}`) });
    const answered = once(request, 'response');
    request.end(body);
    const [response] = await answered;
    const parts = [];
    for await (const part of response)
        parts.push(part);
    const bytes = Buffer.concat(parts);
    return { service: place.service, method, status: response.statusCode, headers: response.headers, bytes, text: bytes.toString(),
        xml: (name) => xmlTexts(bytes.toString(), name) };
}

async function must(...args) {
    const answer = await ask(...args);
    assert.ok(answer.status < 300, `${args[0]} ${JSON.stringify(args[1])}: ${answer.status} ${answer.text}`);
    return answer;
}

// ---- credentials ----------------------------------------------------------------------------------------------------

// Each has show(place): what to send to reach the place, and may(letters, place, tree): whether it is good for one of the
// letters there. `tree` is for all that lies below the place, too.
const isOurs = (place) => (place.account ?? ACCOUNT) === ACCOUNT;
const hasOne = (sp, letters) => [...letters].some((letter) => sp.includes(letter));
const soon = () => new Date(Date.now() + 3600e3).toISOString().replace(/\.\d+/, '');
const pairs = (values) => Object.entries(values).map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');

const key = { name: 'the key', kind: 'key', show: () => ({ key: true }), may: (letters, place) => isOurs(place) };
const nobody = { name: 'nobody', kind: 'none', show: () => ({}), may: (letters, place) => letters === 'r' && place.container === 'open' };

function accountSas(sp, { ss = 'bf', srt = 'sco' } = {}) {
    const sas = () => {
        const all = { sv: VERSION, ss, srt, sp, se: soon() };
        return pairs({ ...all, sig: hmac([ACCOUNT, sp, ss, srt, '', all.se, '', '', all.sv, '', ''].join('\n')) });
    };
    return { name: `account SAS ${ss} ${srt} ${sp}`, kind: 'sas', show: () => ({ sas: sas() }),
        may: (letters, place) => isOurs(place) && ss.includes(LETTER[place.service]) && srt.includes('o') && hasOne(sp, letters) };
}

function token(oid) {
    const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const now = Math.floor(Date.now() / 1000);
    const text = `${part({ typ: 'JWT', alg: 'RS256', kid: 'r' })}.${part({ iss: 'https://issuer.test', aud: 'https://lazuli.test',
        oid, iat: now, nbf: now - 5, exp: now + 3600 })}`;
    return `${text}.${createSign('sha256').update(text).sign(rsa.privateKey).toString('base64url')}`;
}

const tokens = new Map();
function bearer(oid) {
    if (!tokens.has(oid))
        tokens.set(oid, token(oid));
    const writes = { all: ['here', 'there', 'open', 'nfs'], local: ['here', 'nfs'], guest: ['here'] }[oid] ?? [];
    const reads = oid === 'guest' ? [...writes, 'there'] : writes;
    return { name: `token of ${oid}`, kind: 'bearer', show: () => ({ bearer: tokens.get(oid) }),
        may: (letters, place) => isOurs(place) && (letters === 'r' ? reads : writes).includes(place.container) };
}

/** A service SAS of a container, of one object (path) or of a directory (`directory`); delegated by `oid` when that is given. */
function serviceSas(service, container, sp, { path, directory, oid } = {}) {
    const at = path ?? directory;
    const depth = directory === undefined ? {} : { sdd: directory.split('/').length };
    const sr = directory !== undefined ? 'd' : path !== undefined ? LETTER[service] : service === 'blob' ? 'c' : 's';
    const delegator = oid === undefined ? undefined : bearer(oid);
    const scope = at === undefined ? 'container' : directory === undefined ? `one of ${at}` : `directory ${at}`;
    return {
        name: `${service} SAS ${container} ${scope} ${sp}${oid ? ` by ${oid}` : ''}`, kind: 'sas', path,
        async show() {
            const all = { sv: VERSION, sp, se: soon(), sr, ...depth };
            const resource = `/${service}/${ACCOUNT}/${container}${at === undefined ? '' : `/${at}`}`;
            const start = [sp, '', all.se, resource];
            const blob = service === 'blob' ? [sr, '', ''] : [];
            const tail = ['', '', all.sv, ...blob, '', '', '', '', ''];
            if (oid === undefined)
                return { sas: pairs({ ...all, sig: hmac([...start, '', ...tail].join('\n')) }) };
            const by = await delegationKey(service, oid);
            const named = [by.skoid, by.sktid, by.skt, by.ske, by.sks, by.skv];
            const agents = service === 'blob' ? ['', '', ''] : [];
            const text = [...start, ...named, ...agents, '', '', ...tail].join('\n');
            const { value, ...shown } = by;
            return { sas: pairs({ ...all, ...shown, sig: hmac(text, value) }) };
        },
        may(letters, place, tree = false) {
            const reaches = path !== undefined ? place.path === path && !tree
                : directory === undefined || place.path === directory || place.path.startsWith(`${directory}/`);
            return isOurs(place) && place.service === service && place.container === container && reaches && hasOne(sp, letters) &&
                (delegator === undefined || delegator.may(letters === 'r' ? 'r' : 'w', place));
        },
    };
}

const keys = new Map();
async function delegationKey(service, oid) {
    if (keys.has(service + oid))
        return keys.get(service + oid);
    const body = `<KeyInfo><Start>${new Date(Date.now() - 60e3).toISOString()}</Start><Expiry>${new Date(Date.now() + 7200e3).toISOString()}</Expiry></KeyInfo>`;
    // Whoever may not have a key of their own is delegated to by who may: the key says by whom, and their roles count.
    const { text } = await must('POST', { service }, { query: 'restype=service&comp=userdelegationkey', body, by: bearer('all') });
    const value = (name) => xmlTexts(text, name)[0];
    const made = { skoid: value('SignedOid'), sktid: value('SignedTid'), skt: value('SignedStart'), ske: value('SignedExpiry'),
        sks: value('SignedService'), skv: value('SignedVersion'), value: value('Value') };
    keys.set(service + oid, made);
    return made;
}

// ---- what there is --------------------------------------------------------------------------------------------------

const CONTENT = 'x'.repeat(512);
const blobAt = (container, path, account) => ({ service: 'blob', container, path, account });
const fileAt = (container, path, account) => ({ service: 'file', container, path, account });

async function putFile(place) {
    await must('PUT', place, { headers: { 'x-ms-type': 'file', 'x-ms-content-length': CONTENT.length } });
    await must('PUT', place, { query: 'comp=range', headers: { 'x-ms-write': 'update', 'x-ms-range': `bytes=0-${CONTENT.length - 1}` }, body: CONTENT });
}

async function putPages(place) {
    await must('PUT', place, { headers: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': 512 } });
    await must('PUT', place, { query: 'comp=page', headers: { 'x-ms-page-write': 'update', 'x-ms-range': 'bytes=0-511' }, body: CONTENT });
    const { headers } = await must('PUT', place, { query: 'comp=snapshot' });
    place.moment = `?snapshot=${headers['x-ms-snapshot']}`;
}

const block = { 'x-ms-blob-type': 'BlockBlob' };
const sources = {
    blob: [blobAt('here', 'dir/mine'), blobAt('here', 'secret'), blobAt('there', 'secret'), blobAt('open', 'b'), blobAt('here', 'secret', OTHER)],
    file: [fileAt('here', 'dir/mine'), fileAt('here', 'secret'), fileAt('there', 'secret'), fileAt('here', 'secret', OTHER)],
    pages: [blobAt('here', 'dir/pages'), blobAt('there', 'pages')],
};

async function fill() {
    for (const account of [ACCOUNT, OTHER])
        for (const container of ['here', 'there', 'open']) {
            await must('PUT', { service: 'blob', container, account }, { query: 'restype=container',
                headers: container === 'open' ? { 'x-ms-blob-public-access': 'blob' } : {} });
            await must('PUT', { service: 'file', container, account }, { query: 'restype=share' });
        }
    await must('PUT', { service: 'file', container: 'nfs' }, { query: 'restype=share', headers: { 'x-ms-enabled-protocols': 'NFS' } });
    for (const place of [fileAt('here', 'dir'), fileAt('nfs', 'dir')])
        await must('PUT', place, { query: 'restype=directory' });
    for (const place of sources.blob)
        await must('PUT', place, { headers: block, body: CONTENT });
    for (const place of sources.file)
        await putFile(place);
    for (const place of sources.pages)
        await putPages(place);
}

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

const RENAMES = [
    { name: 'RenameFile', share: 'here', query: 'comp=rename', header: 'x-ms-file-rename-source', letters: 'w', needs: ['d'] },
    { name: 'RenameFile over a file', share: 'here', query: 'comp=rename', header: 'x-ms-file-rename-source', letters: 'w', needs: ['d'],
        replaces: true, headers: { 'x-ms-file-rename-replace-if-exists': 'true' } },
    { name: 'RenameDirectory', share: 'here', query: 'restype=directory&comp=rename', header: 'x-ms-file-rename-source', letters: 'w', needs: ['d'],
        tree: true },
    { name: 'CreateHardLink', share: 'nfs', query: 'restype=hardlink', header: 'x-ms-file-target-file', letters: 'cw', needs: ['r', 'w'],
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
    const expected = request.may(op.letters, dest, op.tree) && op.needs.every((letter) => (own ?? request).may(letter, source, op.tree));
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
