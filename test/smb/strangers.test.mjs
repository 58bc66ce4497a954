// SPDX-License-Identifier: Apache-2.0
// Unauthenticated connections use little memory, each and in total.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { freePorts, startServer } from '../rest/lib.mjs';
import { SmbClient } from './client.mjs';

const MANY = 150;
const MIB = 1 << 20;
let server, port;

before(async () => {
    [port] = await freePorts(1);
    server = await startServer({ args: ['--smb-port', String(port)] });
    await (await server.shares()).getShareClient('share1').create();
});
after(() => server.stop());

/** The most that it ever had. */
const peakMiB = () => Number(/VmHWM:\s*(\d+) kB/.exec(readFileSync(`/proc/${server.child.pid}/status`, 'utf8'))[1]) / 1024;

/** A connection that announces a message of so many bytes and sends all of it but one. */
async function hoard(client, bytes) {
    const { socket } = client;
    const head = Buffer.alloc(4);
    head.writeUInt32BE(bytes);
    const gone = new Promise((resolve) => socket.on('close', resolve));
    socket.write(head);
    socket.write(Buffer.alloc(bytes - 1));
    return { socket, gone };
}

for (const greet of ['connected', 'negotiated', 'half logged in']) {
    test(`${MANY} strangers that are ${greet} hold little memory`, async () => {
        const before = peakMiB();
        const clients = await Promise.all(Array.from({ length: MANY }, () => SmbClient.stranger(port, greet)));
        const large = await Promise.all(clients.map((client) => hoard(client, 8 * MIB)));
        await Promise.all(large.map(({ gone }) => gone)); // cut as soon as the length is read
        const others = await Promise.all(Array.from({ length: MANY }, () => SmbClient.stranger(port, greet)));
        await Promise.all(others.map((client) => hoard(client, 65536)));
        // A login among them still works.
        (await SmbClient.connect(port, 'share1')).cut();
        const grown = peakMiB() - before;
        assert.ok(grown < 48, `${grown.toFixed(1)} MiB more`);
        for (const { socket } of others)
            socket.destroy();
    });
}
