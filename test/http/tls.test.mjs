// SPDX-License-Identifier: Apache-2.0
// HTTPS beside HTTP on one port: certificates of every kind, versions, time-outs, replacing the certificate.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import tls from 'node:tls';
import { Client, get, makeCertificate, put, sleep, startServer, withServer } from './harness.mjs';

const folder = mkdtempSync(path.join(tmpdir(), 'lazuli-tls-'));
const file = (name) => path.join(folder, name);
const CERT = file('cert.pem');
const KEY = file('key.pem');
let server;
let ca;

before(async () => {
    makeCertificate(CERT, KEY);
    ca = readFileSync(CERT);
    server = await startServer({ loops: 2, head_ms: 300 }, { TLS_CERT: CERT, TLS_KEY: KEY });
});
after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
});

const connect = (options = {}) => new Client(server.port, { ca, servername: 'localhost', ...options });
const letters = (n) => Buffer.from(Array.from({ length: n }, (_, i) => 97 + (i % 26)));

test('the certificate is good for the names of the services, and its key is private', async () => {
    for (const servername of ['localhost', 'devstoreaccount1.blob.localhost', 'x.queue.localhost',
        'x.table.localhost', 'x.file.localhost', 'x.dfs.localhost']) {
        const client = connect({ servername });
        await client.send(get('/secure'));
        assert.equal((await client.response()).text, 'yes');
        client.close();
    }
    const byAddress = new Client(server.port, { ca });
    await byAddress.send(get('/secure'));
    assert.equal((await byAddress.response()).text, 'yes');
    byAddress.close();
    assert.equal(statSync(KEY).mode & 0o777, 0o600);
    assert.throws(() => makeCertificate(CERT, KEY), 'an existing key is not written over');
});

test('HTTP is served on the same port', async () => {
    const client = new Client(server.port);
    await client.send(get('/secure'));
    assert.equal((await client.response()).text, 'no');
    client.close();
});

test('TLS 1.2 and 1.3 are served, older ones are not', async () => {
    for (const version of ['TLSv1.2', 'TLSv1.3']) {
        const client = connect({ minVersion: version, maxVersion: version, ALPNProtocols: ['h2', 'http/1.1'] });
        await client.send(get('/hello'));
        assert.equal((await client.response()).text, 'hello');
        assert.equal(client.socket.getProtocol(), version);
        assert.equal(client.socket.alpnProtocol, 'http/1.1');
        client.close();
    }
    const old = connect({ minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' });
    assert.ok(await old.closes());
    assert.ok(old.error);
});

for (const version of ['TLSv1.2', 'TLSv1.3'])
    test(`every kind of reply and body over ${version}`, async () => {
        const client = connect({ minVersion: version, maxVersion: version });
        for (const [kind, n] of [['memory', 0], ['memory', 5_000_000], ['source', 100_000], ['chunked', 100_000], ['wait', 50_000],
            ['file', 100], ['file', 10_000_000]]) {
            await client.send(get(`/${kind}?${n}`));
            const answer = await client.response();
            assert.equal(answer.body.length, n);
            if (kind === 'memory' || kind === 'file') // both go on with the alphabet for 8 MiB
                assert.ok(answer.body.subarray(0, 8 << 20).equals(letters(Math.min(n, 8 << 20))), `${kind} ${n}`);
        }
        const body = letters(3_000_000);
        for (const path of ['/count', '/lent']) {
            await client.send(`PUT ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`);
            await client.send(body);
            assert.equal((await client.response()).text, `${body.length} ${body.reduce((a, b) => a + b, 0)}`);
        }
        await client.send('PUT /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n');
        assert.equal((await client.response()).status, 100);
        await client.send('hello' + get('/late') + put('/echo', 'pipelined'));
        assert.equal((await client.response()).text, 'hello');
        assert.equal((await client.response()).text, 'late');
        assert.equal((await client.response()).text, 'pipelined');
        client.close();
    });

test('a request in many records, and many requests in one', async () => {
    const client = connect();
    for (const byte of put('/echo', 'drop by drop'))
        await client.send(byte);
    assert.equal((await client.response()).text, 'drop by drop');
    await client.send(get('/hello').repeat(300));
    for (let i = 0; i < 300; i++)
        assert.equal((await client.response()).text, 'hello');
    client.close();
});

test('a client that stops reading for a while gets all of it', async () => {
    const client = connect();
    client.pause();
    await client.send(get('/file?30000000'));
    await sleep(200);
    client.resume();
    const { body } = await client.response();
    assert.equal(body.length, 30_000_000);
    for (let at = 0; at + (16 << 20) <= body.length; at += 1 << 20) // the file repeats after 8 MiB
        assert.ok(body.subarray(at, at + 1000).equals(body.subarray(at + (8 << 20), at + (8 << 20) + 1000)));
    client.close();
});

test('the server says goodbye properly', async () => {
    const client = connect();
    await client.send(get('/hello', 'Connection: close\r\n'));
    assert.equal((await client.response()).text, 'hello');
    assert.ok(await client.closes());
    assert.equal(client.error, null);
});

test('a client that has ended its side gets its answer', async () => {
    const client = connect();
    await once(client.socket, 'secureConnect');
    await client.send(get('/slow?50'));
    client.finish();
    assert.equal((await client.response()).text, 'slow');
    assert.ok(await client.closes());
});

test('an early reply to a large body arrives', async () => {
    const client = connect();
    await client.send(`PUT /hello HTTP/1.1\r\nHost: a\r\nContent-Length: ${8 << 20}\r\n\r\n`);
    const sent = client.send(Buffer.alloc(8 << 20));
    assert.equal((await client.response()).text, 'hello');
    await sent;
    client.close();
});

test('a handshake that does not come to an end is cut off', async () => {
    const silent = new Client(server.port);
    await silent.send('\x16\x03\x01\x02\x00\x01\x00');
    const began = Date.now();
    assert.ok(await silent.closes(2000));
    assert.ok(Date.now() - began < 1500);
});

test('garbage that begins like TLS is refused', async () => {
    const client = new Client(server.port);
    await client.send('\x16' + 'GET / HTTP/1.1\r\n\r\n'.repeat(100));
    await client.rest();
    assert.ok(client.ended);
});

test('renegotiation is refused', async () => {
    const client = connect({ minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' });
    await client.send(get('/hello'));
    await client.response();
    const outcome = await new Promise((resolve) => {
        client.socket.on('error', () => resolve('refused'));
        client.socket.renegotiate({}, (error) => resolve(error ? 'refused' : 'done'));
        setTimeout(() => resolve('refused'), 1000);
    });
    assert.equal(outcome, 'refused');
    client.close();
});

test('clients that go away within the handshake or a transfer harm nobody', async () => {
    for (let i = 0; i < 20; i++) {
        const client = connect();
        if (i % 2)
            await once(client.socket, 'secureConnect');
        if (i % 4 === 3)
            await client.send(get('/file?60000000'));
        client.close();
    }
    const client = connect();
    await client.send(get('/hello'));
    assert.equal((await client.response()).text, 'hello');
    client.close();
});

const fingerprint = async (port) => {
    const socket = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const { fingerprint256 } = socket.getPeerCertificate();
    socket.destroy();
    return fingerprint256;
};

test('the certificate can be replaced; a bad one leaves the old in place', async () => {
    copyFileSync(CERT, file('live.pem'));
    copyFileSync(KEY, file('live-key.pem'));
    makeCertificate(file('new.pem'), file('new-key.pem'));
    await withServer({}, async (own) => {
        const first = await fingerprint(own.port);
        const old = new Client(own.port, { ca, servername: 'localhost' });
        await old.send(get('/hello'));
        await old.response();
        copyFileSync(file('new.pem'), file('live.pem'));
        assert.equal(await own.reload(), 'not reloaded', 'the key is still the old one');
        assert.equal(await fingerprint(own.port), first);
        copyFileSync(file('new-key.pem'), file('live-key.pem'));
        assert.equal(await own.reload(), 'reloaded');
        const second = await fingerprint(own.port);
        assert.notEqual(second, first);
        writeFileSync(file('live.pem'), 'nonsense');
        assert.equal(await own.reload(), 'not reloaded');
        assert.equal(await fingerprint(own.port), second);
        await old.send(get('/late'));
        assert.equal((await old.response()).text, 'late', 'a connection outlives its certificate');
        old.close();
    }, { TLS_CERT: file('live.pem'), TLS_KEY: file('live-key.pem') });
});

for (const legacy of [false, true])
    test(`a PFX file with its password${legacy ? ', in the ciphers of old' : ''}`, async () => {
        const pfx = file(`cert${legacy}.pfx`);
        execFileSync('openssl', ['pkcs12', '-export', '-in', CERT, '-inkey', KEY, '-out', pfx, '-passout', 'pass:secret',
            ...(legacy ? ['-legacy'] : [])]);
        await withServer({}, async (own) => {
            const client = new Client(own.port, { ca, servername: 'localhost' });
            await client.send(get('/secure'));
            assert.equal((await client.response()).text, 'yes');
            client.close();
        }, { TLS_CERT: pfx, TLS_PASSWORD: 'secret' });
        await assert.rejects(startServer({}, { TLS_CERT: pfx, TLS_PASSWORD: 'wrong' }), /no server/);
    });

test('a key with a password, an RSA certificate, files that do not fit', async () => {
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-subj', '/CN=localhost', '-days', '2', '-keyout', file('rsa-key.pem'),
        '-out', file('rsa.pem'), '-passout', 'pass:secret', '-addext', 'subjectAltName=DNS:localhost'], { stdio: 'ignore' });
    const files = { TLS_CERT: file('rsa.pem'), TLS_KEY: file('rsa-key.pem') };
    await withServer({}, async (own) => {
        const client = new Client(own.port, { ca: readFileSync(file('rsa.pem')), servername: 'localhost' });
        await client.send(get('/secure'));
        assert.equal((await client.response()).text, 'yes');
        client.close();
    }, { ...files, TLS_PASSWORD: 'secret' });
    await assert.rejects(startServer({}, files), /no server/);
    await assert.rejects(startServer({}, { ...files, TLS_KEY: KEY }), /no server/);
    await assert.rejects(startServer({}, { ...files, TLS_KEY: file('absent.pem') }), /no server/);
    await assert.rejects(startServer({}, { TLS_CERT: CERT }), /no server/);
});
