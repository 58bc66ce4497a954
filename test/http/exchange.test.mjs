// SPDX-License-Identifier: Apache-2.0
// Requests and replies of every form, and clients of every behaviour.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { after, before, test } from 'node:test';
import { Client, get, measuresMemory, put, sleep, startServer, withServer } from './harness.mjs';

let server;
before(async () => { server = await startServer({ loops: 2 }); });
after(async () => { await server.stop(); });

const connect = () => new Client(server.port);
const letters = (n) => Buffer.from(Array.from({ length: n }, (_, i) => 97 + (i % 26)));
const sum = (bytes) => bytes.reduce((total, byte) => total + byte, 0);

test('keeps the connection and dates every reply', async () => {
    const client = connect();
    let connection;
    for (let i = 0; i < 5; i++) {
        await client.send(get('/hello'));
        const answer = await client.response();
        assert.equal(answer.text, 'hello');
        assert.ok(Math.abs(Date.parse(answer.headers.date) - Date.now()) < 5000);
        assert.equal(answer.headers.connection, undefined);
        connection ??= answer.headers['x-connection'];
        assert.equal(answer.headers['x-connection'], connection);
    }
    client.close();
});

test('closes when asked to', async () => {
    const client = connect();
    await client.send(get('/hello', 'Connection: close\r\n'));
    assert.equal((await client.response()).headers.connection, 'close');
    assert.ok(await client.closes());
});

test('HTTP/1.0 is served once, without chunks', async () => {
    const client = connect();
    await client.send('GET /chunked?50000 HTTP/1.0\r\n\r\n');
    const answer = await client.response();
    assert.equal(answer.headers['transfer-encoding'], undefined);
    assert.equal(answer.headers.connection, 'close');
    assert.equal(answer.body.length, 50000);
    assert.ok(await client.closes());
});

test('pipelined requests are answered in order', async () => {
    const client = connect();
    const order = ['/slow?30', '/hello', '/late', '/source?10', '/slow?1', '/chunked?3', '/empty', '/memory?7'];
    await client.send(order.map((path) => get(path)).join('') + put('/echo', 'pipelined') + get('/hello'));
    const texts = [];
    for (let i = 0; i < order.length + 2; i++)
        texts.push((await client.response()).text);
    assert.deepEqual(texts, ['slow', 'hello', 'late', 'abcdefghij', 'slow', 'abc', '', 'abcdefg', 'pipelined', 'hello']);
    client.close();
});

test('a deep pipeline neither nests nor piles up', async () => {
    const client = connect();
    const count = 20000;
    const sent = client.send(get('/hello').repeat(count));
    for (let i = 0; i < count; i++) {
        const text = (await client.response()).text;
        if (text !== 'hello')
            assert.equal(text, 'hello');
    }
    await sent;
    client.close();
});

// Stopped while they send, the server finds all of them ready at once: more than it reads before it looks at the first.
test('many connections ready in one turn of the loop', async () => {
    await withServer({}, async (busy) => {
        const clients = Array.from({ length: 120 }, () => new Client(busy.port));
        for (const client of clients)
            assert.equal((await (await client.send(get('/hello'))).response()).text, 'hello');
        const body = (i) => `${i}:`.padEnd(i % 3 === 0 ? 12000 : 40, 'x');
        const rest = (i) => put('/echo', body(i)).slice(60);
        process.kill(busy.pid, 'SIGSTOP');
        await Promise.all(clients.map((client, i) => {
            if (i % 5 === 0)
                return client.send(put('/echo', body(i)).slice(0, 60)); // a part, of the head or of the body
            return client.send(put('/echo', body(i)) + get('/late') + put('/echo', `again ${i}`));
        }));
        clients[7].finish();
        clients[8].reset();
        process.kill(busy.pid, 'SIGCONT');
        for (const [i, client] of clients.entries()) {
            if (i === 8)
                continue;
            if (i % 5 === 0)
                await client.send(rest(i));
            assert.equal((await client.response()).text, body(i));
            if (i % 5 === 0)
                continue;
            assert.equal((await client.response()).text, 'late');
            assert.equal((await client.response()).text, `again ${i}`);
        }
        clients.forEach((client) => client.close());
    });
});

test('a request in single bytes', async () => {
    const client = connect();
    for (const byte of put('/echo', 'drop by drop'))
        await client.send(byte);
    assert.equal((await client.response()).text, 'drop by drop');
    const chunked = 'PUT /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nT: u\r\n\r\n';
    for (const byte of chunked)
        await client.send(byte);
    assert.equal((await client.response()).text, 'abcdefg');
    client.close();
});

test('replies from memory, sources, files', async () => {
    const client = connect();
    for (const [path, n] of [['memory', 0], ['memory', 1], ['memory', 5_000_000], ['source', 100_000], ['chunked', 100_000],
        ['wait', 50_000], ['file', 20_000_000], ['source', 0], ['chunked', 0]]) {
        await client.send(get(`/${path}?${n}`));
        const answer = await client.response();
        assert.equal(answer.status, 200);
        assert.equal(answer.body.length, n);
        if (n > 0)
            assert.deepEqual(answer.body.subarray(0, 1000), letters(Math.min(n, 1000)));
    }
    client.close();
});

test('the last part of a source is not held back', async () => {
    // The kernel keeps a part that was sent with the promise of more for 200 ms: twenty of them would take 4 s.
    const client = connect();
    const begun = Date.now();
    for (let i = 0; i < 20; i++) {
        await client.send(get('/source?3000'));
        assert.equal((await client.response()).body.length, 3000);
    }
    assert.ok(Date.now() - begun < 3000);
    client.close();
});

test('HEAD, 204: no body, whatever the handler gives', async () => {
    const client = connect();
    for (const path of ['/memory?100', '/source?100', '/chunked?100', '/file?100']) {
        await client.send(`HEAD ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
        const answer = await client.response({ bodiless: true });
        assert.equal(answer.headers['content-length'], path.startsWith('/chunked') ? undefined : '100');
    }
    await client.send(get('/empty') + get('/hello'));
    const empty = await client.response();
    assert.equal(empty.status, 204);
    assert.equal(empty.headers['content-length'], undefined);
    assert.equal((await client.response()).text, 'hello');
    client.close();
});

test('a body that is not what was announced cuts the connection', async () => {
    for (const path of ['/short', '/long', '/fail']) {
        const client = connect();
        await client.send(get(path) + get('/hello'));
        const all = (await client.rest()).toString('latin1');
        assert.ok(!all.includes('hello') && !all.includes('\r\n0\r\n'), path);
        client.close();
    }
});

test('bodies in, announced and in chunks', async () => {
    const client = connect();
    for (const n of [0, 1, 1000, 16_384, 300_000, 3_000_000]) {
        const body = letters(n);
        const want = `${n} ${sum(body)}`;
        await client.send(`PUT /count HTTP/1.1\r\nHost: a\r\nContent-Length: ${n}\r\n\r\n`);
        await client.send(body);
        assert.equal((await client.response()).text, want);
        await client.send(`PUT /lent HTTP/1.1\r\nHost: a\r\nContent-Length: ${n}\r\n\r\n`);
        await client.send(body);
        assert.equal((await client.response()).text, want);
        await client.send('PUT /held HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
        for (let at = 0; at < n; at += 70_000) {
            const part = body.subarray(at, at + 70_000);
            await client.send(`${part.length.toString(16)}\r\n`);
            await client.send(part);
            await client.send('\r\n');
        }
        await client.send('0\r\n\r\n');
        assert.equal((await client.response()).text, want);
    }
    client.close();
});

for (const [path, how] of [['/held', 'held back'], ['/lent', 'that another thread receives']]) {
    test(`a body ${how} arrives whole`, async () => {
        const client = connect();
        const body = letters(2_000_000);
        await client.send(`PUT ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`);
        await client.send(Buffer.concat([body, Buffer.from(get('/hello'))]));
        assert.equal((await client.response()).text, `${body.length} ${sum(body)}`);
        assert.equal((await client.response()).text, 'hello');
        client.close();
    });
}

test('a body that another thread receives may come in any parts, after 100 Continue, and in chunks', async () => {
    const client = connect();
    const body = letters(100_000);
    const want = `${body.length} ${sum(body)}`;
    await client.send(`PUT /lent HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`);
    assert.equal((await client.response()).status, 100);
    for (let at = 0, part = 1; at < body.length; at += part, part = (part * 3) % 20_011) {
        await client.send(body.subarray(at, at + part));
        await sleep(part % 4);
    }
    assert.equal((await client.response()).text, want);
    await client.send(`PUT /lent HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n`);
    await client.send(Buffer.concat([body, Buffer.from('\r\n0\r\n\r\n')]));
    assert.equal((await client.response()).text, want);
    client.close();
});

test('100 Continue comes when the handler waits for the body', async () => {
    const client = connect();
    await client.send('PUT /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n');
    assert.equal((await client.response()).status, 100);
    await client.send('hello');
    assert.equal((await client.response()).text, 'hello');
    await client.send('PUT /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n');
    assert.equal((await client.response()).status, 100);
    await client.send('5\r\nhello\r\n0\r\n\r\n');
    assert.equal((await client.response()).text, 'hello');
    client.close();
});

test('100 Continue does not come with an early reply, nor without a body', async () => {
    const client = connect();
    await client.send('PUT /late HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nExpect: 100-continue\r\n\r\n');
    assert.equal((await client.response()).status, 200);
    await client.send('PUT /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n');
    const answer = await client.response();
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.connection, 'close', 'nobody knows whether the body still comes');
    assert.ok(await client.closes());
});

test('an early reply: a small rest of the body is read over', async () => {
    const client = connect();
    await client.send(put('/hello', 'x'.repeat(50_000)) + get('/late'));
    const answer = await client.response();
    assert.equal(answer.text, 'hello');
    assert.equal(answer.headers.connection, undefined);
    assert.equal((await client.response()).text, 'late');
    await client.send('PUT /hello HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n' + get('/late'));
    assert.equal((await client.response()).text, 'hello');
    assert.equal((await client.response()).text, 'late');
    client.close();
});

test('an early reply to a large body arrives, then the connection ends', async () => {
    const client = connect();
    const body = Buffer.alloc(8 << 20, 120);
    await client.send(`PUT /hello HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`);
    const sent = client.send(body);
    const answer = await client.response();
    assert.equal(answer.text, 'hello');
    assert.equal(answer.headers.connection, 'close');
    await sent;
    assert.ok(await client.closes());
});

test('an early reply to endless chunks ends too', async () => {
    const client = connect();
    await client.send('PUT /hello HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
    assert.equal((await client.response()).text, 'hello');
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
    for (let i = 0; i < 5; i++)
        await client.send(chunk);
    assert.ok(await client.closes());
});

test('a client that has shut down its sending side gets its answers', async () => {
    for (const path of ['/hello', '/late', '/slow?50', '/file?3000000', '/wait?40000']) {
        const client = connect();
        await client.send(get(path));
        client.finish();
        assert.equal((await client.response()).status, 200);
        assert.ok(await client.closes());
    }
    const client = connect();
    await client.send(get('/slow?20') + put('/echo', 'last words'));
    client.finish();
    assert.equal((await client.response()).text, 'slow');
    assert.equal((await client.response()).text, 'last words');
    assert.ok(await client.closes());
});

test('clients that go away, at every point, cost nobody else anything', async () => {
    const bystander = connect();
    const starts = [
        'GET', get('/slow?30'), 'PUT /count HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nhalf',
        get('/file?60000000'), get('/wait?100000'), get('/memory?8000000'), get('/slow?10').repeat(10),
        'PUT /held HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n' + 'x'.repeat(100_000),
        'PUT /lent HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n' + 'x'.repeat(100_000),
    ];
    for (let round = 0; round < 3; round++)
        for (const start of starts)
            for (const leave of ['close', 'reset', 'finish']) {
                const client = connect();
                await client.send(start);
                await sleep(round * 5);
                client[leave]();
                if (leave === 'finish')
                    setTimeout(() => client.close(), 100);
                await bystander.send(get('/hello'));
                assert.equal((await bystander.response()).text, 'hello');
            }
    bystander.close();
});

test('a client that stops reading does not hold up the others', async () => {
    const lazy = [];
    for (let i = 0; i < 10; i++) {
        const client = connect();
        client.pause();
        await client.send(get('/file?60000000'));
        lazy.push(client);
    }
    const client = connect();
    const began = Date.now();
    for (let i = 0; i < 200; i++) {
        await client.send(get('/hello'));
        await client.response();
    }
    assert.ok(Date.now() - began < 2000);
    lazy[0].resume();
    assert.equal((await lazy[0].response()).body.length, 60_000_000);
    lazy.forEach((one) => one.close());
    client.close();
});

if (measuresMemory) test('a large upload takes no memory', () => withServer({}, async (small) => {
    const before = small.memory('VmRSS');
    const socket = net.connect(small.port, '127.0.0.1');
    const part = Buffer.alloc(1 << 20, 1);
    const total = 512;
    socket.write(`PUT /count HTTP/1.1\r\nHost: a\r\nContent-Length: ${total * part.length}\r\n\r\n`);
    for (let i = 0; i < total; i++)
        if (!socket.write(part))
            await once(socket, 'drain');
    const [answer] = await once(socket, 'data');
    assert.ok(answer.toString().includes(`${total * part.length} ${total * part.length}`));
    const grown = small.memory('VmHWM') - before;
    assert.ok(grown < 1024, `${grown} KiB for an upload of ${total} MiB`);
    socket.destroy();
}));

if (measuresMemory) test('idle connections are cheap', () => withServer({}, async (small) => {
    const clients = [];
    const open = async () => {
        const client = new Client(small.port);
        clients.push(client);
        await client.send(get('/hello', `A: ${'x'.repeat(3000)}\r\n`));
        await client.response();
    };
    await open();
    const before = small.memory('VmRSS');
    for (let i = 0; i < 1000; i++)
        await open();
    const each = (small.memory('VmRSS') - before) * 1024 / 1000;
    assert.ok(each < 1024, `${each} bytes each`);
    clients.forEach((client) => client.close());
}));
