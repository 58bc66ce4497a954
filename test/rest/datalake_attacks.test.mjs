// SPDX-License-Identifier: Apache-2.0
// Attempts to bypass the rights to paths: each worked once, or resembles one that did.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createSign, generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ACCOUNT, BIN, KEY, hmac, startServer, uniqueName } from './lib.mjs';

process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
process.removeAllListeners('warning');

const FLAT = 'flataccount';
const folder = mkdtempSync(join(tmpdir(), 'lazuli-attacks-'));
const file = (name) => join(folder, name);
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const [owner, mallory, alice, team, delegator, contributor, reader] = Array.from({ length: 7 }, () => randomUUID());
const fs = uniqueName();

let server;
before(async () => {
    execFileSync(BIN, ['cert', file('cert.pem'), file('key.pem')]);
    writeFileSync(file('keys.json'), JSON.stringify({ keys: [{ ...rsa.publicKey.export({ format: 'jwk' }), kid: 'r', use: 'sig' }] }));
    writeFileSync(file('roles'), `${owner} * * owner\n${delegator} * * delegator\n${contributor} * * contributor\n${reader} * * reader\n`);
    server = await startServer({
        inMemory: true, services: ['blob'], dfs: true, env: { AZURITE_ACCOUNTS: `${ACCOUNT}:${KEY};${FLAT}:${KEY}` },
        args: ['--hns', ACCOUNT, '--cert', file('cert.pem'), '--key', file('key.pem'), '--oauth',
            `jwks=${file('keys.json')},issuer=https://issuer.test/,audience=https://lazuli.test,roles=${file('roles')}`],
    });
    for (const account of [ACCOUNT, FLAT])
        assert.equal((await call('PUT', '', { account, query: 'resource=filesystem' })).status, 201);
});
after(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true });
});

const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
function token(oid, claims = {}) {
    const now = Math.floor(Date.now() / 1000);
    const all = { iat: now, nbf: now - 5, exp: now + 600, iss: 'https://issuer.test/', aud: 'https://lazuli.test', tid: 't', oid, ...claims };
    const text = `${part({ typ: 'JWT', alg: 'RS256', kid: 'r' })}.${part(all)}`;
    return `${text}.${createSign('sha256').update(text).sign(rsa.privateKey).toString('base64url')}`;
}

/** A SAS for one path (sr=b), a directory (sr=d) or the file system (sr=c). */
function sasOf(sr, path, sp, { account = ACCOUNT, depth } = {}) {
    const se = new Date(Date.now() + 3600e3).toISOString();
    const resource = `/blob/${account}/${fs}${path === '' ? '' : `/${path}`}`;
    const text = [sp, '', se, resource, '', '', '', '2020-12-06', sr, '', '', '', '', '', '', ''].join('\n');
    const more = sr === 'd' ? { sdd: String(depth ?? path.split('/').length) } : {};
    return new URLSearchParams({ sv: '2020-12-06', sr, sp, se, ...more, sig: hmac(text) }).toString();
}

/** One request; as the owner by a token unless a SAS or another user is given. `path` as sent, after the file system. */
async function call(method, path, { account = ACCOUNT, query = '', headers = {}, sas, as = owner, claims, body, service = 'dfs' } = {}) {
    const all = { 'x-ms-version': '2023-11-03', ...headers };
    if (sas === undefined)
        all.Authorization = `Bearer ${token(as, claims)}`;
    const target = `https://127.0.0.1:${server.ports[service]}/${account}/${fs}${path}?${[query, sas].filter((q) => q).join('&')}`;
    const answer = await fetch(target, { method, headers: all, body });
    return { status: answer.status, headers: Object.fromEntries(answer.headers), text: await answer.text() };
}
const put = (path, text, options = {}) => call('PUT', path, { service: 'blob', headers: { 'x-ms-blob-type': 'BlockBlob' }, body: text, ...options });
const get = (path, options = {}) => call('GET', path, { service: 'blob', ...options });
const rename = (from, to, options = {}) => call('PUT', to, { ...options, headers: { 'x-ms-rename-source': `/${fs}${from}`, ...options.headers } });
const acl = (path, text, headers = {}) => call('PATCH', path, { query: 'action=setAccessControl', headers: { 'x-ms-acl': text, ...headers } });
const refused = (answer, what) => assert.equal(answer.status, 403, `${what}: ${answer.status} ${answer.text}`);
const done = (answer, what) => assert.ok(answer.status < 300, `${what}: ${answer.status} ${answer.text}`);

const setService = (account, body) => fetch(`https://127.0.0.1:${server.ports.blob}/${account}/?restype=service&comp=properties`, {
    method: 'PUT', body, headers: { 'x-ms-version': '2023-11-03', Authorization: `Bearer ${token(owner)}` } });

test('a SAS for a name is not one for the name without its slashes', async () => {
    const account = FLAT;
    done(await put('/slashes/secret', 'secret', { account }), 'put');
    for (const name of ['slashes//secret', 'slashes/secret/', '/slashes/secret', 'slashes///secret//']) {
        const sas = sasOf('b', name, 'rwdm', { account });
        refused(await call('GET', `/${name}`, { account, sas }), `read ${name}`);
        refused(await call('HEAD', `/${name}`, { account, sas, query: 'action=getStatus' }), `status of ${name}`);
        refused(await call('PATCH', `/${name}`, { account, sas, query: 'action=setProperties', headers: { 'x-ms-properties': 'a=Yg==' } }), `properties of ${name}`);
        refused(await call('DELETE', `/${name}`, { account, sas }), `delete ${name}`);
        refused(await rename(`/${name}`, `/${name}`, { account, sas }), `rename ${name}`);
    }
    assert.equal((await get('/slashes/secret', { account })).text, 'secret');
    // The name itself may be written with more slashes, where it is the same path.
    const sas = sasOf('b', 'slashes/secret', 'r', { account });
    assert.equal((await call('GET', '/slashes//secret/', { account, sas })).text, 'secret');
});

test('a SAS for one path takes or moves no tree', async () => {
    for (const account of [ACCOUNT, FLAT]) {
        done(await put('/tree/f', 'x', { account }), 'put');
        done(await put('/tree/deep/g', 'x', { account }), 'put');
        const one = sasOf('b', 'tree', 'rwdmx', { account });
        refused(await call('DELETE', '/tree', { account, sas: one, query: 'recursive=true' }), 'delete');
        const to = sasOf('b', 'moved', 'rwcdm', { account });
        const source = { 'x-ms-rename-source': `/${fs}/tree?${one}` };
        refused(await call('PUT', '/moved', { account, sas: to, headers: source }), 'move');
        // One file by such a SAS on either side is what they are for.
        done(await rename(`/tree/f?${sasOf('b', 'tree/f', 'd', { account })}`, '/moved', { account, sas: to }), 'move a file');
        // A directory's SAS reaches all of it.
        done(await call('DELETE', '/tree', { account, sas: sasOf('d', 'tree', 'd', { account }), query: 'recursive=true' }), 'delete by directory');
        assert.equal((await get('/moved', { account })).text, 'x');
    }
});

test('a SAS for one path does not write into the directory that has its name', async () => {
    done(await put('/into/old', 'x'), 'put');
    done(await put('/goes', 'x'), 'put');
    refused(await rename(`/goes?${sasOf('b', 'goes', 'd')}`, '/into', { sas: sasOf('b', 'into', 'wcm') }), 'move into');
    assert.equal((await get('/into/goes')).status, 404);
});

test('the letter for moving replaces nothing', async () => {
    for (const account of [ACCOUNT, FLAT]) {
        done(await put('/placed', 'old', { account }), 'put');
        for (const [sp, may] of [['m', false], ['cm', false], ['wm', true], ['md', true]]) {
            done(await put('/moving', 'new', { account }), 'put');
            const answer = await rename('/moving', '/placed', { account, sas: sasOf('c', '', sp, { account }) });
            assert.equal(answer.status, may ? 201 : 403, `${account} ${sp}: ${answer.text}`);
            assert.equal((await get('/placed', { account })).text, may ? 'new' : 'old', sp);
            done(await put('/placed', 'old', { account }), 'put');
        }
        done(await put('/moving', 'new', { account }), 'put');
        done(await rename('/moving', '/free-place', { account, sas: sasOf('c', '', 'm', { account }) }), 'to a new name');
    }
});

test('positions and prefixes longer than any name end no server', async () => {
    done(await put('/lengths/--', 'x'), 'put');
    for (const n of [1023, 3072, 3073, 16384, 20000]) {
        const long = '-'.repeat(n), token = encodeURIComponent(Buffer.from(`lengths/${long}`).toString('base64'));
        const list = (query) => call('GET', '', { query: `resource=filesystem&recursive=true&${query}`, headers: { 'x-ms-version': '2026-06-06' } });
        const blobs = (query) => get('', { query: `restype=container&comp=list&${query}`, headers: { 'x-ms-version': '2026-06-06' } });
        for (const query of [`directory=${long}`, `directory=lengths/${long}/x`])
            assert.equal((await list(query)).status, 404, `${n} ${query.slice(0, 20)}`);
        for (const query of [`continuation=${token}`, `beginFrom=lengths/${long}`, `directory=lengths&continuation=${token}`]) {
            const answer = await list(query);
            assert.equal(answer.status, 200, `${n} ${query.slice(0, 20)}`);
            assert.ok(JSON.parse(answer.text).paths.every(({ name }) => name > 'lengths/--'), query.slice(0, 20));
        }
        for (const query of [`marker=${token}`, `startFrom=lengths/${long}`, `prefix=lengths/${long}`, `prefix=lengths/${long}/`, `prefix=${long}/&delimiter=/`]) {
            const answer = await blobs(query);
            assert.equal(answer.status, 200, `${n} ${query.slice(0, 20)}`);
            assert.ok(!answer.text.includes('<Name>lengths/--<'), `${n} ${query.slice(0, 20)}`);
        }
        done(await call('PATCH', '/lengths', { query: `action=setAccessControlRecursive&mode=modify&continuation=${token}`, headers: { 'x-ms-acl': 'user::rwx' } }), 'recursive');
    }
});

test('the letter for adding changes nothing that is there', async () => {
    const append = (text, position, sp) => call('PATCH', '/added', { query: `action=append&position=${position}&flush=true`, body: text, sas: sasOf('c', '', sp) });
    const flush = (position, sp) => call('PATCH', '/added', { query: `action=flush&position=${position}`, sas: sasOf('c', '', sp) });
    done(await call('PUT', '/added', { query: 'resource=file' }), 'create');
    done(await append('first', 0, 'a'), 'to an empty file');
    done(await append(' more', 5, 'a'), 'at the end');
    refused(await append('FIRST MORE', 0, 'a'), 'over it');
    done(await call('PATCH', '/added', { query: 'action=append&position=4', body: 'Tmore!', sas: sasOf('c', '', 'a') }), 'without a flush');
    refused(await flush(10, 'a'), 'flush');
    assert.equal((await get('/added')).text, 'first more');
    done(await flush(10, 'w'), 'by w');
    assert.equal((await get('/added')).text, 'firsTmore!');
});

test('a made-up continuation passes no check by', async () => {
    const account = FLAT;
    const forged = `continuation=${encodeURIComponent(Buffer.from('a').toString('base64'))}`;
    done(await put('/cont/from', 'new', { account }), 'put');
    done(await put('/cont/to', 'old', { account }), 'put');
    const sas = sasOf('c', '', 'cdm', { account });
    const only = await rename('/cont/from', '/cont/to', { account, sas: sasOf('c', '', 'cd', { account }), query: forged });
    refused(only, 'create only');
    assert.equal((await rename('/cont/from', '/cont/to', { account, query: forged, headers: { 'If-None-Match': '*' } })).status, 409);
    assert.equal((await get('/cont/to', { account })).text, 'old');
    // Nor does it lead out of the directory.
    done(await put('/cont2/dir/f', 'in', { account }), 'put');
    done(await put('/cont2/aaa', 'out', { account }), 'put');
    done(await put('/cont2/zzz', 'out', { account }), 'put');
    for (const place of ['cont2/aaa', 'cont2/zzz', 'cont2/', '\xff', '\0'])
        await call('DELETE', '/cont2/dir', { account, sas, query: `recursive=true&continuation=${encodeURIComponent(Buffer.from(place, 'latin1').toString('base64'))}` });
    for (const name of ['aaa', 'zzz'])
        assert.equal((await get(`/cont2/${name}`, { account })).text, 'out', name);
});

test('a rename neither replaces nor moves what is held', async () => {
    const account = FLAT;
    const blob = (name, options) => call('PUT', name, { account, service: 'blob', ...options });
    const hold = (name, on) => blob(name, { query: 'comp=legalhold', headers: { 'x-ms-legal-hold': String(on) } });
    done(await put('/held/f', 'held', { account }), 'put');
    done(await put('/free', 'free', { account }), 'put');
    done(await hold('/held/f', true), 'hold');
    assert.equal((await rename('/free', '/held/f', { account })).status, 409, 'over what is held');
    assert.equal((await rename('/held/f', '/elsewhere', { account })).status, 409, 'what is held');
    assert.equal((await rename('/held', '/elsewhere', { account })).status, 409, 'the directory of what is held');
    assert.equal((await call('DELETE', '/held', { account, query: 'recursive=true' })).status, 409, 'deleting its directory');
    assert.equal((await get('/held/f', { account })).text, 'held');
    done(await hold('/held/f', false), 'no hold');
});

test('a lease on the way does not let a write change what is held', async () => {
    const account = FLAT;
    const hold = (on) => call('PUT', '/kept', { account, service: 'blob', query: 'comp=legalhold', headers: { 'x-ms-legal-hold': String(on) } });
    const lease = (action) => ({ 'x-ms-lease-action': action, 'x-ms-lease-duration': '15', 'x-ms-proposed-lease-id': randomUUID() });
    done(await put('/kept', 'held', { account }), 'put');
    done(await hold(true), 'hold');
    for (const action of ['acquire', 'acquire-release']) {
        for (const query of ['action=append&position=4&flush=true', 'action=append&position=4', 'action=flush&position=4']) {
            const body = query.includes('append') ? 'more' : undefined;
            const answer = await call('PATCH', '/kept', { account, query, body, headers: lease(action) });
            assert.equal(answer.headers['x-ms-error-code'], 'BlobImmutableDueToLegalHold', `${action} ${query}: ${answer.status}`);
        }
    }
    const now = await get('/kept', { account });
    assert.deepEqual([now.text, now.headers['x-ms-lease-state']], ['held', 'available']);
    done(await hold(false), 'no hold');
});

test('recursive changes tell nobody the names in directories that they may not list', async () => {
    done(await put('/closed/hidden/very-secret-name', 'x'), 'put');
    done(await acl('', 'user::rwx,group::---,other::--x'), 'root');
    done(await acl('/closed', 'user::rwx,group::---,other::--x'), 'closed');
    for (const path of ['', '/closed', '/closed/hidden']) {
        for (const force of ['true', 'false']) {
            const answer = await call('PATCH', path, {
                as: mallory, query: `action=setAccessControlRecursive&mode=modify&forceFlag=${force}&maxRecords=2000`, headers: { 'x-ms-acl': `user:${mallory}:rwx` } });
            assert.doesNotMatch(answer.text, /very-secret-name|hidden\//, `${path}: ${answer.text}`);
        }
    }
    const listing = await call('GET', '', { as: mallory, query: 'resource=filesystem&recursive=true&directory=closed' });
    refused(listing, 'list');
    // What they may list they are told, and nothing of it was changed.
    done(await acl('/closed', 'user::rwx,group::---,other::r-x'), 'closed');
    const told = await call('PATCH', '/closed', { as: mallory, query: 'action=setAccessControlRecursive&mode=modify&forceFlag=true', headers: { 'x-ms-acl': `user:${mallory}:rwx` } });
    assert.match(told.text, /"closed\/hidden"/);
    assert.doesNotMatch(told.text, /very-secret-name/);
    refused(await get('/closed/hidden/very-secret-name', { as: mallory }), 'read');
});

test('writing over a file gives nobody the right to change who may what', async () => {
    done(await acl('', 'user::rwx,group::---,other::rwx'), 'root');
    done(await put('/shared', 'x'), 'put');
    done(await acl('/shared', `user::rwx,user:${mallory}:-w-,mask::rwx,group::---,other::---`), 'shared');
    const over = (headers, options) => call('PUT', '/shared', { query: 'resource=file', as: mallory, headers, ...options });
    refused(await over({ 'x-ms-acl': `user::rwx,user:${mallory}:rwx,mask::rwx,group::---,other::---` }), 'acl');
    refused(await over({ 'x-ms-owner': mallory }), 'owner');
    refused(await over({ 'x-ms-group': team }, { claims: { groups: [team] } }), 'group');
    // A mode counts for what is new, as that of open(2) does.
    done(await over({ 'x-ms-permissions': '0777' }), 'its content');
    const now = await call('HEAD', '/shared', { query: 'action=getAccessControl' });
    assert.equal(now.headers['x-ms-owner'], owner);
    assert.equal(now.headers['x-ms-acl'], `user::rwx,user:${mallory}:-w-,group::---,mask::rwx,other::---`);
    // With a SAS the letters decide: p for lists and modes of existing paths, o for the owner.
    const by = (sp, headers) => call('PUT', '/shared', { query: 'resource=file', sas: sasOf('b', 'shared', sp), headers });
    done(await by('w', { 'x-ms-permissions': '0777' }), 'content by w');
    assert.match((await call('HEAD', '/shared', { query: 'action=getAccessControl' })).headers['x-ms-acl'], /other::---/);
    refused(await by('w', { 'x-ms-acl': 'user::rwx,group::rwx,other::rwx' }), 'acl by w');
    refused(await by('wp', { 'x-ms-owner': alice }), 'owner by wp');
    refused(await by('wp', { 'x-ms-group': alice }), 'group by wp');
    done(await by('wp', { 'x-ms-permissions': '0777' }), 'permissions by wp');
    assert.match((await call('HEAD', '/shared', { query: 'action=getAccessControl' })).headers['x-ms-acl'], /other::rwx/);
    done(await by('wo', { 'x-ms-owner': alice, 'x-ms-group': alice }), 'owner by wo');
});

test('who makes a file gives it to no group that they are not in', async () => {
    done(await acl('', 'user::rwx,group::---,other::rwx'), 'root');
    const make = (name, options) => call('PUT', name, { query: 'resource=file', as: mallory, headers: { 'x-ms-group': team }, ...options });
    refused(await make('/given'), 'a group of others');
    done(await make('/given', { claims: { groups: [team] } }), 'their own');
});

test('properties do not become headers of their own', async () => {
    for (const value of ['a\r\nSet-Cookie: x=y', 'a\nb', 'a\0b', '\x7f', '\xe9'])
        for (const account of [ACCOUNT, FLAT]) {
            const headers = { 'x-ms-properties': `evil=${Buffer.from(value, 'latin1').toString('base64')}` };
            await call('PUT', '/props', { account, query: 'resource=file', headers });
            for (const service of ['blob', 'dfs']) {
                const answer = await call('HEAD', '/props', { account, service });
                assert.equal(answer.headers['set-cookie'], undefined);
                assert.doesNotMatch(answer.headers['x-ms-meta-evil'] ?? '', /[\r\n\0]/);
            }
        }
    for (const text of ['=YQ==', 'a', 'a=!', 'a b=YQ==', 'a:b=YQ==', 'a=YQ==,A=YQ==', ','.repeat(2000) + 'a=YQ', Array.from({ length: 300 }, (_, i) => `a${i}=YQ==`).join(',')]) {
        const answer = await call('PUT', '/props2', { query: 'resource=file', headers: { 'x-ms-properties': text } });
        assert.ok([400, 431].includes(answer.status), `${text.slice(0, 40)}: ${answer.status}`);
    }
});

/** A user delegation SAS for the file system, in the name of somebody who may delegate. */
async function delegated(oid, sp, more) {
    const times = { skt: new Date(Date.now() - 60e3).toISOString().replace(/\.\d+/, ''), ske: new Date(Date.now() + 3600e3).toISOString().replace(/\.\d+/, '') };
    const answer = await fetch(`https://127.0.0.1:${server.ports.blob}/${ACCOUNT}/?restype=service&comp=userdelegationkey`, {
        method: 'POST', headers: { 'x-ms-version': '2023-11-03', Authorization: `Bearer ${token(oid)}` },
        body: `<KeyInfo><Start>${times.skt}</Start><Expiry>${times.ske}</Expiry></KeyInfo>` });
    const xml = await answer.text();
    const value = (name) => new RegExp(`<${name}>([^<]*)<`).exec(xml)?.[1];
    assert.equal(answer.status, 200, xml);
    const key = { skoid: value('SignedOid'), sktid: value('SignedTid'), skt: value('SignedStart'), ske: value('SignedExpiry'), sks: value('SignedService'), skv: value('SignedVersion') };
    const text = [sp, '', times.ske, `/blob/${ACCOUNT}/${fs}`, ...Object.values(key), more.saoid ?? '', more.suoid ?? '', '', '', '', '2020-12-06', 'c', '', '', '', '', '', '', ''].join('\n');
    return new URLSearchParams({ sv: '2020-12-06', sr: 'c', sp, se: times.ske, ...key, ...more, sig: hmac(text, value('Value')) }).toString();
}

test('who delegates lends nobody the rights of somebody else', async () => {
    done(await put('/lent', 'secret'), 'put');
    done(await acl('/lent', `user::rwx,user:${alice}:r--,mask::r--,group::---,other::---`), 'lent');
    done(await acl('', 'user::rwx,group::---,other::--x'), 'root');
    assert.equal((await get('/lent', { as: alice })).text, 'secret');
    const read = async (oid, more) => get('/lent', { sas: await delegated(oid, 'rwp', more) });
    refused(await read(delegator, {}), 'a delegator alone');
    for (const who of [alice, owner, '$superuser']) {
        refused(await read(delegator, { suoid: who }), `as ${who}`);
        refused(await read(delegator, { saoid: who }), `on behalf of ${who}`);
    }
    // With the right it is one check more.
    done(await read(contributor, { suoid: alice }), 'a contributor for alice');
    refused(await read(contributor, { suoid: mallory }), 'a contributor for mallory');
});

test('nobody becomes the superuser by being called so', async () => {
    done(await call('PUT', '/by-key', { query: 'resource=file', sas: sasOf('c', '', 'c') }), 'made by the key');
    done(await acl('', 'user::rwx,group::---,other::--x'), 'root'); // everybody gets to the path
    const now = await call('HEAD', '/by-key', { query: 'action=getAccessControl' });
    assert.equal(now.headers['x-ms-owner'], '$superuser');
    const change = (options) => call('PATCH', '/by-key', { query: 'action=setAccessControl', headers: { 'x-ms-permissions': '0777' }, ...options });
    refused(await change({ as: '$superuser' }), 'by the name');
    refused(await change({ as: mallory, claims: { groups: ['$superuser'] } }), 'by the group');
    refused(await change({ sas: await delegated(contributor, 'rwpo', { suoid: '$superuser' }) }), 'by suoid');
});

test('a rename over a file loses nothing that an overwrite would keep', async () => {
    const account = FLAT;
    const policy = '<StorageServiceProperties><DeleteRetentionPolicy><Enabled>true</Enabled><Days>3</Days></DeleteRetentionPolicy></StorageServiceProperties>';
    const service = (body) => setService(account, body);
    const listed = async (prefix) => [...(await get('', { account, query: `restype=container&comp=list&include=deleted,snapshots&prefix=${prefix}` })).text.matchAll(/<Name>([^<]*)<.*?<Content-Length>(\d+)</g)].map(([, name, size]) => `${name} ${size}`);
    assert.equal((await service(policy)).status, 202);
    done(await put('/keep/old', 'old', { account }), 'put');
    done(await put('/keep/gone', 'gone', { account }), 'put');
    done(await call('DELETE', '/keep/gone', { account, service: 'blob' }), 'delete');
    for (const name of ['old', 'gone']) {
        done(await put('/new', 'a new one', { account }), 'put');
        done(await rename('/new', `/keep/${name}`, { account }), 'rename');
    }
    assert.deepEqual((await listed('keep/')).sort(), ['keep/gone 4', 'keep/gone 9', 'keep/old 3', 'keep/old 9']);
    assert.equal((await service(policy.replace('true', 'false').replace('<Days>3</Days>', ''))).status, 202);
});

test('a directory SAS lists its directory and what is below, and nothing else', async () => {
    for (const path of ['listed/deep/file', 'listedmore/file', 'other/file'])
        assert.equal((await call('PUT', `/${path}`, { query: 'resource=file' })).status, 201);
    const sas = sasOf('d', 'listed', 'rl');
    const list = (directory, { service, with_ = sas } = {}) => call('GET', '', { sas: with_, service, query: `resource=filesystem&recursive=true${directory === undefined ? '' : `&directory=${directory}`}` });
    for (const directory of ['listed', 'listed/deep', 'listed/', '/listed/deep/']) {
        const answer = await list(directory);
        assert.equal(answer.status, 200, directory);
        assert.ok(JSON.parse(answer.text).paths.every(({ name }) => name.startsWith('listed/')), directory);
    }
    for (const directory of [undefined, '', '/', 'other', 'listedmore', 'list'])
        refused(await list(directory), `directory ${directory}`);
    // Names are not resolved, and of two values one counts for the rights and for the list.
    for (const directory of ['listed/../other', 'other&directory=listed', 'listed&directory=other']) {
        const answer = await list(directory);
        assert.ok(answer.status !== 200 || JSON.parse(answer.text).paths.every(({ name }) => name.startsWith('listed/')), directory);
    }
    refused(await list('listed', { with_: sasOf('d', 'listed', 'r') }), 'without l');
    refused(await list('listed', { with_: sasOf('b', 'listed', 'rl') }), 'by a SAS for one path');
    const blobs = await call('GET', '', { sas, service: 'blob', query: 'restype=container&comp=list&directory=listed' });
    refused(blobs, 'List Blobs takes no directory');
});

test('renames make no tree deeper than a path may be', async () => {
    const chain = (name, n) => Array(n).fill(name).join('/');
    const make = (path, resource = 'directory') => call('PUT', path, { query: `resource=${resource}` });
    const move = (from, to) => rename(from, to, { query: 'mode=legacy' });
    const tooDeep = (answer, what) => assert.deepEqual([answer.status, answer.headers['x-ms-error-code']], [400, 'PathIsTooDeep'], `${what}: ${answer.text}`);
    const found = async (path) => assert.equal((await call('HEAD', path, { query: 'action=getStatus' })).status, 200, path);
    done(await make(`/deep/low/${chain('p', 39)}`), 'a place of depth 41');
    // Built in one request, one by one, from below, and by moves.
    done(await make(`/deep/once/${chain('r', 18)}/file`, 'file'), 'once');
    for (let n = 1; n <= 18; n++)
        done(await make(`/deep/steps/${chain('r', n)}`), 'steps');
    done(await make(`/deep/marked/${chain('r', 17)}`), 'marked');
    done(await put(`/deep/marked/${chain('r', 18)}`, '', { headers: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-meta-hdi_isfolder': 'true' } }), 'by the Blob API');
    done(await make(`/deep/moves/${chain('r', 9)}`), 'moves');
    done(await make(`/deep/part/${chain('r', 8)}`), 'part');
    done(await move('/deep/part', `/deep/moves/${chain('r', 10)}`), 'part of moves');
    for (const name of ['once', 'steps', 'marked', 'moves']) {
        const path = `/deep/low/${chain('p', 39)}/${name}`;
        tooDeep(await move(`/deep/${name}`, path), name);
        // One level higher there is room; and at the same depth there always is.
        const fits = `/deep/low/${chain('p', 38)}/${name}`;
        done(await move(`/deep/${name}`, fits), `${name} one level higher`);
        await found(`${fits}/${chain('r', 18)}`);
        done(await move(fits, `${fits}2`), `${name} beside it`);
        tooDeep(await move(`${fits}2`, path), `${name} lower`);
    }
    await found(`/deep/low/${chain('p', 38)}/once2/${chain('r', 18)}/file`);
    // Otherwise a few hundred renames of this kind make a tree that no listing survives.
    done(await make(`/tower0/${chain('x', 58)}`), 'tower');
    done(await make(`/tower1/${chain('x', 57)}`), 'tower');
    tooDeep(await move('/tower0', `/tower1/${chain('x', 57)}/m`), 'tower');
});

/** Turns soft delete on while `work` runs. */
async function withSoftDelete(work) {
    const policy = (on) => `<StorageServiceProperties><DeleteRetentionPolicy><Enabled>${on}</Enabled>${on ? '<AllowPermanentDelete>true</AllowPermanentDelete><Days>3</Days>' : ''}</DeleteRetentionPolicy></StorageServiceProperties>`;
    assert.equal((await setService(ACCOUNT, policy(true))).status, 202);
    try {
        await work();
    } finally {
        assert.equal((await setService(ACCOUNT, policy(false))).status, 202);
    }
}

test('who may not list a directory does not see what was deleted in it', () => withSoftDelete(async () => {
    for (const path of ['/trash/open/told', '/trash/closed/secret', '/trash/closed/deep/secret', '/trash/gone/secret']) {
        done(await put(path, 'x'), path);
        done(await call('DELETE', path), path);
    }
    done(await call('DELETE', '/trash/gone'), 'gone');
    for (const path of ['', '/trash', '/trash/open'])
        done(await acl(path, 'user::rwx,group::---,other::r-x'), path);
    done(await acl('/trash/closed', 'user::rwx,group::---,other::--x'), 'closed');
    const names = async (as, query = '') => {
        const answer = await get('', { as, query: `restype=container&comp=list&showonly=deleted&prefix=trash/${query}` });
        assert.equal(answer.status, 200, answer.text);
        return [...answer.text.matchAll(/<Name>([^<]*)</g)].map(([, name]) => name);
    };
    assert.deepEqual(await names(mallory), ['trash/gone', 'trash/open/told']);
    assert.deepEqual(await names(mallory, 'closed/'), []);
    assert.deepEqual(await names(mallory, 'closed/&delimiter=/'), []);
    assert.deepEqual((await names(owner)).length, 5);
    done(await acl('', 'user::rwx,group::---,other::r--'), 'root');
    assert.deepEqual(await names(mallory), []);
    assert.deepEqual(await names(mallory, '&delimiter=/'), []);
    done(await acl('', 'user::rwx,group::---,other::--x'), 'root');
}));

test('who may not remove a file does not purge its snapshots either', () => withSoftDelete(async () => {
    done(await put('/purge/f', 'x'), 'put');
    const snapshot = (await call('PUT', '/purge/f', { service: 'blob', query: 'comp=snapshot' })).headers['x-ms-snapshot'];
    done(await acl('/purge', 'user::rwx,group::---,other::--x'), 'purge');
    done(await acl('', 'user::rwx,group::---,other::--x'), 'root');
    const remove = (as, how = '') => call('DELETE', '/purge/f', { as, service: 'blob', query: `snapshot=${snapshot}${how}` });
    refused(await remove(mallory), 'delete');
    done(await remove(owner), 'delete');
    refused(await remove(mallory, '&deletetype=permanent'), 'purge');
    done(await remove(owner, '&deletetype=permanent'), 'purge');
}));

test('a role for the destination opens no way to the source', async () => {
    done(await put('/way/inner/f', 'secret'), 'put');
    done(await call('PUT', '/out', { query: 'resource=directory' }), 'out');
    for (const [path, text] of [['', `user::rwx,group::---,other::--x`], ['/way', 'user::rwx,group::---,other::---'],
        ['/way/inner', `user::rwx,user:${mallory}:rwx,mask::rwx,group::---,other::---`], ['/out', `user::rwx,user:${reader}:rwx,mask::rwx,group::---,other::---`]])
        done(await acl(path, text), path);
    const source = `/way/inner/f?${await delegated(contributor, 'rwdm', { suoid: mallory })}`;
    refused(await rename(source, '/out/f', { as: reader }), 'mallory may not pass /way');
    done(await acl('/way', 'user::rwx,group::---,other::--x'), 'way');
    done(await rename(source, '/out/f', { as: reader }), 'now mallory may');
});

test('ids are short text: nobody breaks the listing of others', async () => {
    const latin = (bytes) => Buffer.from(bytes).toString('latin1');
    for (const id of [latin([0x61, 0xff, 0x62]), latin([0xc3]), 'o'.repeat(257), 'a,b', 'a:b']) {
        for (const header of ['x-ms-owner', 'x-ms-group']) {
            assert.equal((await call('PUT', '/ids/f', { query: 'resource=file', headers: { [header]: id } })).status, 400, header);
            assert.equal((await call('PATCH', '/ids', { query: 'action=setAccessControl', headers: { [header]: id } })).status, 400, header);
        }
        assert.equal((await acl('', `user::rwx,group::---,other::--x,user:${id}:r--`)).status, 400, 'list');
    }
    for (const context of [latin([0xff]), 'e'.repeat(1025)])
        assert.equal((await call('PUT', '/ids/f', { query: 'resource=file', headers: { 'x-ms-encryption-context': context } })).status, 400, 'context');
    const name = Buffer.from('jos\u00e9@lazuli.test').toString('latin1');
    done(await call('PUT', '/ids/f', { query: 'resource=file', headers: { 'x-ms-owner': name, 'x-ms-encryption-context': 'e'.repeat(1024) } }), 'text');
    const paths = JSON.parse((await call('GET', '', { query: 'resource=filesystem&recursive=true&directory=ids' })).text).paths;
    assert.deepEqual(paths.map(({ owner: whose }) => whose), ['jos\u00e9@lazuli.test']);
});

test('lists grant nothing in a container that was there before the account became hierarchical', async () => {
    const now = server;
    server = await startServer({ ...now.options, inMemory: false, args: now.options.args.filter((arg) => arg !== '--hns' && arg !== ACCOUNT) });
    try {
        done(await call('PUT', '', { query: 'resource=filesystem' }), 'container');
        done(await put('/kept/f', 'secret'), 'put');
        await server.endWell();
        server.options.args = now.options.args;
        await server.start();
        for (const service of ['blob', 'dfs']) {
            refused(await call('GET', '/kept/f', { as: mallory, service }), 'read');
            refused(await call('HEAD', '/kept/f', { as: mallory, service }), 'properties');
            refused(await call('DELETE', '/kept/f', { as: mallory, service }), 'delete');
        }
        refused(await put('/kept/f', 'x', { as: mallory }), 'overwrite');
        refused(await put('/kept/f', 'x', { as: mallory, query: 'comp=block&blockid=AAAA', headers: {} }), 'block');
        refused(await call('PUT', '/mine', { as: mallory, query: 'resource=file' }), 'create');
        refused(await call('PATCH', '/kept/f', { as: mallory, query: 'action=append&position=0', body: 'x' }), 'append');
        refused(await rename('/kept/f', '/mine', { as: mallory }), 'rename');
        refused(await call('DELETE', '/kept', { as: mallory, query: 'recursive=true' }), 'recursive delete');
        refused(await call('HEAD', '/kept/f', { as: mallory, query: 'action=getStatus' }), 'status');
        refused(await call('GET', '', { as: mallory, query: 'resource=filesystem&recursive=true' }), 'list');
        refused(await get('', { as: mallory, query: 'restype=container&comp=list' }), 'List Blobs');
        assert.equal((await get('/kept/f', { as: reader })).text, 'secret');
    } finally {
        await server.stop();
        server = now;
    }
});
