// SPDX-License-Identifier: Apache-2.0
// Many connections of one client do not keep another client's few waiting (src/http/crowd.h).
import assert from 'node:assert/strict';
import net from 'node:net';
import { test } from 'node:test';
import { ACCOUNT, sign, startServer, VERSION } from './lib.mjs';

const MANY = 200;

/** A keep-alive connection that sends the same signed GET again and again. */
class Getter {
    constructor(port, container) {
        const path = `/${ACCOUNT}/${container}/b`;
        const headers = sign('GET', path, '', { 'x-ms-date': new Date().toUTCString(), 'x-ms-version': VERSION });
        this.request = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${headers.map(([n, v]) => `${n}: ${v}\r\n`).join('')}\r\n`;
        this.socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
        this.text = '';
    }

    /** Resolves when the answer is there; `then` is called in the order of arrival. */
    get(then = () => {}) {
        return new Promise((resolve, reject) => {
            this.socket.on('error', reject);
            this.socket.on('data', (bytes) => {
                this.text += bytes.toString('latin1');
                if (!this.text.endsWith('\r\n\r\nbody'))
                    return;
                assert.match(this.text, /^HTTP\/1\.1 200 /);
                this.text = '';
                this.socket.removeAllListeners('data');
                then();
                resolve();
            });
            this.socket.write(this.request);
        });
    }
}

async function answersOf(server, many, few) {
    for (const getter of [...many, ...few]) // the server learns for whom each connection is
        await getter.get();
    process.kill(server.child.pid, 'SIGSTOP');
    const order = [];
    const answers = [...many.map((getter) => getter.get(() => order.push('many'))), ...few.map((getter) => getter.get(() => order.push('few')))];
    await new Promise((done) => setTimeout(done, 200));
    process.kill(server.child.pid, 'SIGCONT');
    await Promise.all(answers);
    return order;
}

// The stopped server finds all of them ready at once, the few last.
test('four connections do not wait for two hundred of another container', async (t) => {
    const server = await startServer({ args: ['--threads', '1'], services: ['blob'] });
    t.after(() => server.stop());
    for (const container of ['many', 'few']) {
        assert.equal((await server.request('blob', 'PUT', `/${container}`, { query: 'restype=container' })).status, 201);
        assert.equal((await server.request('blob', 'PUT', `/${container}/b`, { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'body' })).status, 201);
    }
    const many = Array.from({ length: MANY }, () => new Getter(server.ports.blob, 'many'));
    const few = Array.from({ length: 4 }, () => new Getter(server.ports.blob, 'few'));
    t.after(() => [...many, ...few].forEach((getter) => getter.socket.destroy()));
    const order = await answersOf(server, many, few);
    assert.equal(order.length, MANY + 4);
    const last = order.lastIndexOf('few');
    assert.ok(last < MANY / 2, `the last of the few was answered as number ${last + 1} of ${order.length}`);
});
