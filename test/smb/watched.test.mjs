// SPDX-License-Identifier: Apache-2.0
// The operator's view of SMB clients, and limits: commands in the access log, connections per address.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import { ACCOUNT, freePorts, KEY, startServer, until } from '../rest/lib.mjs';
import { NOT_FOUND, OK, SmbClient } from './client.mjs';

async function start(args) {
    const [port] = await freePorts(1);
    const server = await startServer({ inMemory: true, services: ['file'], args: ['--smb-port', String(port), ...args] });
    return { server, port };
}

test('commands are in the access log: service, share, status, client and kind of credential, never a secret', async () => {
    const { server, port } = await start(['--log-level', 'debug']);
    try {
        await (await server.shares()).getShareClient('share1').create();
        const client = await SmbClient.connect(port, 'share1', undefined, 0x0302);
        const id = await client.open('file', { disposition: 3 });
        assert.equal((await client.tryOpen('none')).status, NOT_FOUND);
        assert.equal(await client.close(id), OK);
        client.cut();
        await assert.rejects(SmbClient.connect(port, 'share1', undefined, 0x0302, { account: ACCOUNT, key: 'd3Jvbmc=' }), /c000006d/);
        const logged = (pattern) => until(() => pattern.test(server.output));
        const at = `/${ACCOUNT}/share1`;
        await logged(/ smb Negotiate - 0x00000000 plain in=\d+ out=\d+ us=\d+ 0{16}\/0 client=127\.0\.0\.1 by=-\n/);
        await logged(new RegExp(` smb SessionSetup /${ACCOUNT} 0x00000000 .* client=127\\.0\\.0\\.1 by=ntlm\\n`));
        await logged(new RegExp(` smb Create ${at} 0x00000000 plain in=\\d+ out=\\d+ us=\\d+ [0-9a-f]{16}/\\d+ client=127\\.0\\.0\\.1 by=ntlm\\n`));
        await logged(new RegExp(` smb Create ${at} 0xC0000034 `));
        await logged(new RegExp(` smb Close ${at} 0x00000000 `));
        await logged(/ smb SessionSetup - 0xC000006D .* by=-\n/);
        await logged(/DEBUG smb [0-9a-f]{16}\/\d+ SessionSetup refused: 0xC000006D: the client has not proved a key of an account\n/);
        assert.ok(!server.output.includes(KEY.slice(0, 20)));
    } finally {
        await server.stop();
    }
});

test('connections of one address are limited over SMB and HTTP together', async () => {
    const { server, port } = await start(['--max-connections-per-address', '3']);
    const sockets = [];
    const open = async (to) => {
        const socket = net.connect(to, '127.0.0.1').on('error', () => {});
        sockets.push(socket);
        await once(socket, 'connect');
        return socket;
    };
    const isCut = (socket) => new Promise((resolve) => {
        socket.on('close', () => resolve(true)).resume();
        setTimeout(() => resolve(false), 500);
    });
    const http = async () => {
        const socket = await open(server.ports.file);
        socket.write(`GET /${ACCOUNT} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
        const [bytes] = await once(socket, 'data');
        socket.destroy();
        return bytes.toString().split(' ')[1];
    };
    try {
        await until(async () => await http() !== '503'); // those of starting the server are gone
        const held = [await open(port), await open(port), await open(port)];
        assert.deepEqual(await Promise.all(held.map(isCut)), [false, false, false]);
        assert.equal(await isCut(await open(port)), true);
        assert.equal(await http(), '503');
        held[0].destroy();
        await until(async () => await http() !== '503');
    } finally {
        sockets.forEach((socket) => socket.destroy());
        await server.stop();
    }
});
