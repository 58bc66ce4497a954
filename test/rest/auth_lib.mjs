// SPDX-License-Identifier: Apache-2.0
// For authorization tests: a server with two accounts, tokens and roles, and every kind of credential as a value that can be
// sent and that states its rights.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createSign, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ACCOUNT, BIN, hmac, KEY, sign, startServer, VERSION, xmlTexts } from './lib.mjs';

export const OTHER = 'other';
const LETTER = { blob: 'b', file: 'f' };
const folder = mkdtempSync(join(tmpdir(), 'lazuli-second-'));
const agent = new https.Agent({ keepAlive: true, maxSockets: 8, rejectUnauthorized: false });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
let server;

/** Two accounts with containers and shares `here`, `there` and `open` (public), and an NFS share; TLS, and tokens with roles. */
export async function startWorld() {
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
        args: ['--blob-versioning', ACCOUNT, '--cert', join(folder, 'cert'), '--key', join(folder, 'key'),
            '--oauth', `jwks=${keys},issuer=https://issuer.test,audience=https://lazuli.test,roles=${roles}`],
    });
    await makeContainers();
    return server;
}

export async function stopWorld() {
    agent.destroy();
    await server.stop();
    rmSync(folder, { recursive: true });
}

// ---- requests -------------------------------------------------------------------------------------------------------

const pathOf = ({ container, path }) => `/${container}/${path.split('/').map(encodeURIComponent).join('/')}`;
export const urlOf = (place) => `http://127.0.0.1:${server.ports[place.service]}/${place.account ?? ACCOUNT}${pathOf(place)}${place.moment ?? ''}`;

/** One request to a place, by a credential (see below), over TLS. */
export async function ask(method, place, { query = '', headers = {}, body = '', by = key } = {}) {
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

export async function must(...args) {
    const answer = await ask(...args);
    assert.ok(answer.status < 300, `${args[0]} ${JSON.stringify(args[1])}: ${answer.status} ${answer.text}`);
    return answer;
}

// ---- credentials ----------------------------------------------------------------------------------------------------

// Each has show(place): what to send to reach the place, and may(letters, place, tree): whether it is good for one of the
// letters there. `tree` is for all that lies below the place, too.
export const isOurs = (place) => (place.account ?? ACCOUNT) === ACCOUNT;
const hasOne = (sp, letters) => [...letters].some((letter) => sp.includes(letter));
const soon = () => new Date(Date.now() + 3600e3).toISOString().replace(/\.\d+/, '');
const pairs = (values) => Object.entries(values).map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');

export const key = { name: 'the key', kind: 'key', show: () => ({ key: true }), may: (letters, place) => isOurs(place) };
export const nobody = { name: 'nobody', kind: 'none', show: () => ({}), may: (letters, place) => letters === 'r' && place.container === 'open' };

export function accountSas(sp, { ss = 'bf', srt = 'sco' } = {}) {
    const sas = () => {
        const all = { sv: VERSION, ss, srt, sp, se: soon() };
        return pairs({ ...all, sig: hmac([ACCOUNT, sp, ss, srt, '', all.se, '', '', all.sv, '', ''].join('\n')) });
    };
    return { name: `account SAS ${ss} ${srt} ${sp}`, kind: 'sas', show: () => ({ sas: sas() }),
        may: (letters, place) => isOurs(place) && ss.includes(LETTER[place.service]) && srt.includes('o') && hasOne(sp, letters) };
}

export function token(oid) {
    const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const now = Math.floor(Date.now() / 1000);
    const text = `${part({ typ: 'JWT', alg: 'RS256', kid: 'r' })}.${part({ iss: 'https://issuer.test', aud: 'https://lazuli.test',
        oid, iat: now, nbf: now - 5, exp: now + 3600 })}`;
    return `${text}.${createSign('sha256').update(text).sign(rsa.privateKey).toString('base64url')}`;
}

const tokens = new Map();
export function bearer(oid) {
    if (!tokens.has(oid))
        tokens.set(oid, token(oid));
    const writes = { all: ['here', 'there', 'open', 'nfs'], local: ['here', 'nfs'], guest: ['here'] }[oid] ?? [];
    const reads = oid === 'guest' ? [...writes, 'there'] : writes;
    return { name: `token of ${oid}`, kind: 'bearer', show: () => ({ bearer: tokens.get(oid) }),
        may: (letters, place) => isOurs(place) && (letters === 'r' ? reads : writes).includes(place.container) };
}

/**
 * A service SAS of a container, of one object (path), of a directory, or of one snapshot or version of an object (`moment`, as
 * places have it); delegated by `oid` when that is given.
 */
export function serviceSas(service, container, sp, { path, directory, moment, oid } = {}) {
    const at = path ?? directory;
    const depth = directory === undefined ? {} : { sdd: directory.split('/').length };
    const [, named, time] = moment?.match(/^\?(\w+)=(.*)$/) ?? [];
    const whole = service === 'blob' ? 'c' : 's';
    const ofObject = named === undefined ? LETTER[service] : { snapshot: 'bs', versionid: 'bv' }[named];
    const sr = directory !== undefined ? 'd' : path !== undefined ? ofObject : whole;
    const delegator = oid === undefined ? undefined : bearer(oid);
    const scope = at === undefined ? 'container' : directory === undefined ? `one of ${at}` : `directory ${at}${moment ?? ''}`;
    return {
        name: `${service} SAS ${container} ${scope} ${sp}${oid ? ` by ${oid}` : ''}`, kind: 'sas', path,
        async show() {
            const all = { sv: VERSION, sp, se: soon(), sr, ...depth };
            const resource = `/${service}/${ACCOUNT}/${container}${at === undefined ? '' : `/${at}`}`;
            const start = [sp, '', all.se, resource];
            const blob = service === 'blob' ? [sr, time ?? '', ''] : [];
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
            const reaches = path !== undefined ? place.path === path && !tree && (moment === undefined || place.moment === moment)
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
    // A user with a role may delegate to users without a key. The key names the delegating user, whose roles apply.
    const { text } = await must('POST', { service }, { query: 'restype=service&comp=userdelegationkey', body, by: bearer('all') });
    const value = (name) => xmlTexts(text, name)[0];
    const made = { skoid: value('SignedOid'), sktid: value('SignedTid'), skt: value('SignedStart'), ske: value('SignedExpiry'),
        sks: value('SignedService'), skv: value('SignedVersion'), value: value('Value') };
    keys.set(service + oid, made);
    return made;
}

// ---- what there is --------------------------------------------------------------------------------------------------

export const CONTENT = 'x'.repeat(512);
export const blobAt = (container, path, account) => ({ service: 'blob', container, path, account });
export const fileAt = (container, path, account) => ({ service: 'file', container, path, account });

export async function putFile(place) {
    await must('PUT', place, { headers: { 'x-ms-type': 'file', 'x-ms-content-length': CONTENT.length } });
    await must('PUT', place, { query: 'comp=range', headers: { 'x-ms-write': 'update', 'x-ms-range': `bytes=0-${CONTENT.length - 1}` }, body: CONTENT });
}

export async function putPages(place) {
    await must('PUT', place, { headers: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': 512 } });
    await must('PUT', place, { query: 'comp=page', headers: { 'x-ms-page-write': 'update', 'x-ms-range': 'bytes=0-511' }, body: CONTENT });
    const { headers } = await must('PUT', place, { query: 'comp=snapshot' });
    place.moment = `?snapshot=${headers['x-ms-snapshot']}`;
}

async function makeContainers() {
    for (const account of [ACCOUNT, OTHER])
        for (const container of ['here', 'there', 'open']) {
            await must('PUT', { service: 'blob', container, account }, { query: 'restype=container',
                headers: container === 'open' ? { 'x-ms-blob-public-access': 'blob' } : {} });
            await must('PUT', { service: 'file', container, account }, { query: 'restype=share' });
        }
    await must('PUT', { service: 'file', container: 'nfs' }, { query: 'restype=share', headers: { 'x-ms-enabled-protocols': 'NFS' } });
    for (const place of [fileAt('here', 'dir'), fileAt('nfs', 'dir')])
        await must('PUT', place, { query: 'restype=directory' });
}
