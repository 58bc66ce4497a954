// SPDX-License-Identifier: Apache-2.0
// Requests that the server must refuse, one by one: everything that two HTTP parsers could read differently.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client, get, startServer } from './harness.mjs';

let server;
before(async () => { server = await startServer(); });
after(async () => { await server.stop(); });

/** The bytes get that status, on a connection that is then closed, and nothing after them is read as a request. */
async function refused(bytes, status = 400) {
    const client = new Client(server.port);
    await client.send(bytes);
    const answer = await client.response();
    assert.equal(answer.status, status);
    assert.equal(answer.headers.connection, 'close');
    assert.ok(answer.body.length > 0);
    assert.ok(await client.closes(), 'the connection stays open');
    client.close();
}

const head = (lines) => `POST /count HTTP/1.1\r\nHost: a\r\n${lines}\r\n`;

const REFUSED = {
    'Content-Length with Transfer-Encoding': head('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n') + '0\r\n\r\n',
    'Transfer-Encoding with Content-Length': head('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n') + '0\r\n\r\n',
    'Content-Length twice, the same': head('Content-Length: 5\r\nContent-Length: 5\r\n') + 'hello',
    'Content-Length twice, different': head('Content-Length: 5\r\nContent-Length: 6\r\n') + 'hello',
    'Content-Length as a list': head('Content-Length: 5, 5\r\n') + 'hello',
    'Content-Length with a sign': head('Content-Length: +5\r\n') + 'hello',
    'Content-Length below zero': head('Content-Length: -5\r\n') + 'hello',
    'Content-Length in hex': head('Content-Length: 0x5\r\n') + 'hello',
    'Content-Length with a space inside': head('Content-Length: 5 5\r\n') + 'hello',
    'Content-Length past 2^63': head('Content-Length: 9223372036854775808\r\n'),
    'Content-Length past 2^64': head('Content-Length: 18446744073709551621\r\n') + 'hello',
    'Content-Length without digits': head('Content-Length:\r\n'),
    'Transfer-Encoding twice': head('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n') + '0\r\n\r\n',
    'Transfer-Encoding chunked, chunked': head('Transfer-Encoding: chunked, chunked\r\n') + '0\r\n\r\n',
    'Transfer-Encoding gzip, chunked': head('Transfer-Encoding: gzip, chunked\r\n') + '0\r\n\r\n',
    'Transfer-Encoding identity': head('Transfer-Encoding: identity\r\n'),
    'Transfer-Encoding xchunked': head('Transfer-Encoding: xchunked\r\n') + '0\r\n\r\n',
    'Transfer-Encoding with a vertical tab': head('Transfer-Encoding: \x0bchunked\r\n') + '0\r\n\r\n',
    'Transfer-Encoding in quotes': head('Transfer-Encoding: "chunked"\r\n') + '0\r\n\r\n',
    'Transfer-Encoding folded': head('Transfer-Encoding:\r\n chunked\r\n') + '0\r\n\r\n',
    'Transfer-Encoding with HTTP/1.0': 'POST /count HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'LF alone after the request line': 'GET /hello HTTP/1.1\nHost: a\r\n\r\n',
    'LF alone after a header': 'GET /hello HTTP/1.1\r\nHost: a\n\r\n',
    'LF alone at the end of the head': 'GET /hello HTTP/1.1\r\nHost: a\r\n\n',
    'CR alone within the request line': 'GET /hello\r HTTP/1.1\r\nHost: a\r\n\r\n',
    'CR alone within a header': head('A: b\rC: d\r\n'),
    'a folded header': head('A: b\r\n c\r\n'),
    'a header folded with a tab': head('A: b\r\n\tc\r\n'),
    'a space before the first header': 'GET /hello HTTP/1.1\r\n Host: a\r\n\r\n',
    'a space before the colon': head('A : b\r\n'),
    'a tab before the colon': head('A\t: b\r\n'),
    'Content-Length with a space before the colon': head('Content-Length : 5\r\n') + 'hello',
    'NUL in a name': head('A\0: b\r\n'),
    'NUL in a value': head('A: b\0c\r\n'),
    'NUL in the target': 'GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n',
    'a control character in a value': head('A: b\x01\r\n'),
    'DEL in a value': head('A: b\x7f\r\n'),
    'an empty name': head(': b\r\n'),
    'a name that is no token': head('A(b): c\r\n'),
    'a name beyond ASCII': head('A\xe9: c\r\n'),
    'a header without a colon': head('A\r\n'),
    'no Host': 'GET /hello HTTP/1.1\r\n\r\n',
    'Host twice': 'GET /hello HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n',
    'an empty Host': 'GET /hello HTTP/1.1\r\nHost:\r\n\r\n',
    'a Host with a path': 'GET /hello HTTP/1.1\r\nHost: a/b\r\n\r\n',
    'a Host with a user': 'GET /hello HTTP/1.1\r\nHost: u@a\r\n\r\n',
    'a list of Hosts': 'GET /hello HTTP/1.1\r\nHost: a, b\r\n\r\n',
    'two spaces after the method': 'GET  /hello HTTP/1.1\r\nHost: a\r\n\r\n',
    'two spaces after the target': 'GET /hello  HTTP/1.1\r\nHost: a\r\n\r\n',
    'a space in the target': 'GET /hel lo HTTP/1.1\r\nHost: a\r\n\r\n',
    'a tab for a space': 'GET\t/hello HTTP/1.1\r\nHost: a\r\n\r\n',
    'a space at the end of the request line': 'GET /hello HTTP/1.1 \r\nHost: a\r\n\r\n',
    'no version': 'GET /hello\r\nHost: a\r\n\r\n',
    'a version in small letters': 'GET /hello http/1.1\r\nHost: a\r\n\r\n',
    'a method that is no token': 'G@T /hello HTTP/1.1\r\nHost: a\r\n\r\n',
    'a target without a slash': 'GET hello HTTP/1.1\r\nHost: a\r\n\r\n',
    'a target beyond ASCII': 'GET /h\xe9llo HTTP/1.1\r\nHost: a\r\n\r\n',
    'a target with a fragment': 'GET /hello#x HTTP/1.1\r\nHost: a\r\n\r\n',
    'an asterisk for GET': 'GET * HTTP/1.1\r\nHost: a\r\n\r\n',
    'a target of CONNECT': 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n',
    'a target of another scheme': 'GET ftp://a/hello HTTP/1.1\r\nHost: a\r\n\r\n',
    'an absolute target with a user': 'GET http://u@a/hello HTTP/1.1\r\nHost: a\r\n\r\n',
    'a TLS greeting': '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03',
    'two empty lines before the request': '\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n',
};
for (const [name, bytes] of Object.entries(REFUSED))
    test(`refuses ${name}`, () => refused(bytes));

test('refuses other versions', async () => {
    for (const version of ['2.0', '1.2', '0.9', '3.0'])
        await refused(`GET /hello HTTP/${version}\r\nHost: a\r\n\r\n`, 505);
    await refused('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400);
});

test('refuses what is too long', async () => {
    await refused(`GET /${'x'.repeat(32 << 10)} HTTP/1.1\r\nHost: a\r\n\r\n`, 414);
    await refused(`GET /${'x'.repeat(80 << 10)}`, 414);
    await refused(head(`A: ${'x'.repeat(64 << 10)}\r\n`), 431);
    await refused(`GET / HTTP/1.1\r\nA: ${'x'.repeat(70 << 10)}`, 431);
    await refused(head('A: b\r\n'.repeat(128)), 431);
});

test('takes what is just not too long', async () => {
    const client = new Client(server.port);
    await client.send(`GET /hello?${'x'.repeat((32 << 10) - 7)} HTTP/1.1\r\nHost: a\r\n\r\n`);
    assert.equal((await client.response()).status, 200);
    await client.send(head('A: b\r\n'.repeat(127)));
    assert.equal((await client.response()).status, 200);
    await client.send(get('/hello', `A: ${'x'.repeat(60 << 10)}\r\n`));
    assert.equal((await client.response()).status, 200);
    client.close();
});

const BAD_CHUNKS = {
    'no size': '\r\nhello\r\n0\r\n\r\n',
    'a size that is not hex': 'z\r\nhello\r\n0\r\n\r\n',
    'a size with 0x': '0x5\r\nhello\r\n0\r\n\r\n',
    'a size with a sign': '+5\r\nhello\r\n0\r\n\r\n',
    'a size below zero': '-5\r\nhello\r\n0\r\n\r\n',
    'a space before the size': ' 5\r\nhello\r\n0\r\n\r\n',
    'a space after the size': '5 \r\nhello\r\n0\r\n\r\n',
    'LF alone after the size': '5\nhello\r\n0\r\n\r\n',
    'LF alone after the data': '5\r\nhello\n0\r\n\r\n',
    'nothing after the data': '5\r\nhello0\r\n\r\n',
    'more data than the size': '5\r\nhelloworld\r\n0\r\n\r\n',
    'a size past 2^64': '10000000000000005\r\nhello\r\n0\r\n\r\n',
    'LF in an extension': '5;a\nb\r\nhello\r\n0\r\n\r\n',
    'an endless extension': `5;${'x'.repeat(300)}\r\nhello\r\n0\r\n\r\n`,
    'endless trailers': `0\r\n${'A: b\r\n'.repeat(3000)}\r\n`,
    'LF alone in the trailers': '0\r\nA: b\n\r\n',
};
for (const [name, chunks] of Object.entries(BAD_CHUNKS))
    test(`refuses chunks with ${name}`, () => refused(head('Transfer-Encoding: chunked\r\n') + chunks));

// Each of these, read by a laxer server, hides a second request in the body of the first or the other way round.
// Whatever the first is answered, the second must not be served.
const SMUGGLED = 'GET /head HTTP/1.1\r\nHost: smuggled\r\n\r\n';
const SMUGGLING = {
    'CL.TE': head(`Content-Length: ${SMUGGLED.length + 5}\r\nTransfer-Encoding: chunked\r\n`) + `0\r\n\r\n${SMUGGLED}`,
    'TE.CL': head('Transfer-Encoding: chunked\r\nContent-Length: 4\r\n') + `${SMUGGLED.length.toString(16)}\r\n${SMUGGLED}\r\n0\r\n\r\n`,
    'TE.TE, the second obscure': head('Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n') + `0\r\n\r\n${SMUGGLED}`,
    'TE with a space before the colon': head('Transfer-Encoding : chunked\r\nContent-Length: 5\r\n') + `0\r\n\r\n${SMUGGLED}`,
    'TE after a bare LF': head('A: b\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n') + `0\r\n\r\n${SMUGGLED}`,
    'TE after a bare CR': head('A: b\rTransfer-Encoding: chunked\r\n') + `0\r\n\r\n${SMUGGLED}`,
    'CL.CL': head(`Content-Length: 0\r\nContent-Length: ${SMUGGLED.length}\r\n`) + SMUGGLED,
    'a CL that C would stop reading at the dot': head('Content-Length: 0.5\r\n') + SMUGGLED,
    'a size with trailing garbage': head('Transfer-Encoding: chunked\r\n') + `0 x\r\n\r\n${SMUGGLED}`,
    'a size that wraps': head('Transfer-Encoding: chunked\r\n') + `100000000\r\n${SMUGGLED}`.replace('100000000', '10000000000000000'),
};
for (const [name, bytes] of Object.entries(SMUGGLING))
    test(`smuggles nothing: ${name}`, async () => {
        const client = new Client(server.port);
        await client.send(bytes);
        const all = (await client.rest()).toString('latin1');
        assert.match(all, /^HTTP\/1\.1 400 /);
        assert.equal(all.match(/HTTP\/1\.1 /g).length, 1);
        assert.ok(!all.includes('smuggled'));
        client.close();
    });

test('takes unusual but clear requests', async () => {
    const client = new Client(server.port);
    await client.send('\r\nGET /head?q HTTP/1.1\r\nHOST: h.example:10000\r\na:b\r\nC:\t d \t\r\nE:\r\nF: \xe9\r\n\r\n');
    assert.equal((await client.response()).text,
        'GET|/head|q|h.example:10000|-1|0\nHOST=h.example:10000\na=b\nC=d\nE=\nF=\xe9\n');
    await client.send('BREW http://other.example/head HTTP/1.1\r\nHost: a\r\n\r\n');
    assert.equal((await client.response()).text, 'BREW|/head||other.example|-1|0\nHost=a\n');
    client.close();
});
