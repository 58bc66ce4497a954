// SPDX-License-Identifier: Apache-2.0
// Limits on connections, time-outs, draining.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, get, put, sleep, startServer, withServer } from './harness.mjs';

async function serves(client) {
    await client.send(get('/hello'));
    const answer = await client.response();
    return answer.status;
}

for (const limit of ['connections', 'per_address'])
    test(`more connections than ${limit} allows get a 503`, () => withServer({ [limit]: 5 }, async (server) => {
        const clients = Array.from({ length: 5 }, () => new Client(server.port));
        for (const client of clients)
            assert.equal(await serves(client), 200);
        const extra = new Client(server.port);
        const answer = await extra.response();
        assert.equal(answer.status, 503);
        assert.equal(answer.headers.connection, 'close');
        assert.ok(await extra.closes());
        extra.close();
        clients.pop().close();
        for (let i = 0; i < 100; i++) {
            const next = new Client(server.port);
            const status = await serves(next).catch(() => 0);
            if (status === 200) {
                clients.push(next);
                break;
            }
            next.close();
            await sleep(10);
        }
        assert.equal(clients.length, 5, 'the place that became free is not given away');
        clients.forEach((client) => client.close());
    }));

test('a crowd past the limit does not harm those within', () => withServer({ connections: 3 }, async (server) => {
    const client = new Client(server.port);
    assert.equal(await serves(client), 200);
    const crowd = Array.from({ length: 300 }, () => new Client(server.port));
    for (let i = 0; i < 20; i++)
        assert.equal(await serves(client), 200);
    crowd.forEach((one) => one.close());
    client.close();
}));

test('an idle connection is closed, a busy one is not', () => withServer({ idle_ms: 150 }, async (server) => {
    const idle = new Client(server.port);
    const busy = new Client(server.port);
    assert.equal(await serves(idle), 200);
    for (let i = 0; i < 6; i++) {
        assert.equal(await serves(busy), 200);
        await sleep(50);
    }
    assert.ok(idle.ended);
    assert.ok(await busy.closes(1000));
}));

test('a connection that never says anything is closed', () => withServer({ idle_ms: 100 }, async (server) => {
    assert.ok(await new Client(server.port).closes(1000));
}));

test('a head that takes too long gets a 408, however busily it drips', () => withServer({ head_ms: 200 }, async (server) => {
    const client = new Client(server.port);
    await client.send('GET /hello HTTP/1.1\r\nHost: a\r\n');
    const drip = setInterval(() => client.socket.write('A: b\r\n'), 20);
    const answer = await client.response();
    clearInterval(drip);
    assert.equal(answer.status, 408);
    assert.equal(answer.headers.connection, 'close');
    client.close();
}));

test('a body that stalls gets a 408', () => withServer({ stall_ms: 150 }, async (server) => {
    for (const path of ['/count', '/lent']) {
        const client = new Client(server.port);
        await client.send(`PUT ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf`);
        assert.equal((await client.response()).status, 408);
        assert.ok(await client.closes());
    }
}));

for (const path of ['/count', '/lent']) test(`a body that drips too slowly gets a 408, a slow but steady one is taken: ${path}`, () =>
    withServer({ stall_ms: 150, rate: 1000 }, async (server) => {
        const slow = new Client(server.port);
        await slow.send(`PUT ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n`);
        const drip = setInterval(() => slow.socket.write('x'), 50);
        assert.equal((await slow.response()).status, 408);
        clearInterval(drip);
        slow.close();
        const steady = new Client(server.port);
        await steady.send(`PUT ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 2000\r\n\r\n`);
        for (let i = 0; i < 20; i++) {
            await steady.send('x'.repeat(100));
            await sleep(25);
        }
        assert.equal((await steady.response()).text, `2000 ${2000 * 120}`);
        steady.close();
    }));

test('a client that does not read its reply is cut off', () => withServer({ stall_ms: 200 }, async (server) => {
    const client = new Client(server.port);
    client.pause();
    await client.send(get('/file?60000000'));
    await sleep(600);
    client.resume();
    const got = await client.rest();
    assert.ok(got.length < 60_000_000);
    client.close();
}));

test('a handler may take its time', () => withServer({ stall_ms: 50, idle_ms: 50, head_ms: 50 }, async (server) => {
    const client = new Client(server.port);
    await client.send(get('/slow?400'));
    assert.equal((await client.response()).text, 'slow');
    client.close();
}));

test('draining: idle ones close, exchanges finish, nobody new comes in', async () => {
    const server = await startServer({ loops: 2, grace_ms: 5000 });
    const idle = new Client(server.port);
    assert.equal(await serves(idle), 200);
    const working = new Client(server.port);
    await working.send(get('/slow?300'));
    const sending = new Client(server.port);
    await sending.send('PUT /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhe');
    await sleep(100);
    server.terminate();
    assert.ok(await idle.closes());
    let late;
    for (let i = 0; i < 50 && late?.error?.code !== 'ECONNREFUSED'; i++) { // each loop closes its own listener
        late = new Client(server.port);
        assert.equal((await late.rest()).length, 0);
    }
    assert.equal(late.error?.code, 'ECONNREFUSED');
    await sending.send('llo');
    const echoed = await sending.response();
    assert.equal(echoed.text, 'hello');
    assert.equal(echoed.headers.connection, 'close');
    const worked = await working.response();
    assert.equal(worked.text, 'slow');
    assert.equal(worked.headers.connection, 'close');
    const [code] = await server.exited;
    assert.equal(code, 0);
    assert.ok(server.output().includes('drained'));
});

test('draining: after the grace time, what hangs is cut', async () => {
    const server = await startServer({ grace_ms: 200 });
    const hangs = new Client(server.port);
    await hangs.send('PUT /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhe');
    const unread = new Client(server.port);
    unread.pause();
    await unread.send(get('/file?60000000'));
    const works = new Client(server.port);
    await works.send(get('/slow?500'));
    await sleep(50);
    server.terminate();
    const [code] = await server.exited;
    assert.equal(code, 0);
    [hangs, unread, works].forEach((client) => client.close());
});

test('a port that is taken is not taken again', () => withServer({ loops: 2 }, async (server) => {
    await assert.rejects(startServer({ loops: 2, port: server.port }), /no server/);
    const client = new Client(server.port);
    await client.send(put('/echo', 'still there'));
    assert.equal((await client.response()).text, 'still there');
    client.close();
}));
