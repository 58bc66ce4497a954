// SPDX-License-Identifier: Apache-2.0
// Requirements of an account's file service for SMB clients (Set File Service Properties): encryption in transit, and at
// most one connection per session.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { ACCOUNT, freePorts, KEY, startServer } from '../rest/lib.mjs';
import { NOT_ACCEPTED, OK, SmbClient } from './client.mjs';

const run = promisify(execFile);
let server, port;

before(async () => {
    [port] = await freePorts(1);
    server = await startServer({ services: ['file'], args: ['--smb-port', String(port)] });
    await (await server.shares()).getShareClient('share1').create();
});
after(() => server.stop());

async function demand({ encryption, multichannel = true }) {
    const body = '<StorageServiceProperties><ProtocolSettings><SMB>'
        + `<Multichannel><Enabled>${multichannel}</Enabled></Multichannel>`
        + `<EncryptionInTransit><Required>${encryption}</Required></EncryptionInTransit></SMB></ProtocolSettings></StorageServiceProperties>`;
    const answer = await server.request('file', 'PUT', '/', { query: 'restype=service&comp=properties', body });
    assert.equal(answer.status, 202);
}

const list = (...options) => run('smbclient', ['//127.0.0.1/share1', '-p', String(port), '-U', `AZURE\\${ACCOUNT}%${KEY}`, ...options, '-c', 'ls'])
    .then(({ stdout }) => stdout, (error) => `${error.stdout}${error.stderr}`);

test('encryption in transit: who cannot encrypt is refused, who can does', async () => {
    await demand({ encryption: true });
    await assert.rejects(SmbClient.connect(port, 'share1'), /c0000022/);
    assert.match(await list('-m', 'SMB2_10'), /NT_STATUS_ACCESS_DENIED/);
    for (const dialect of ['SMB3_00', 'SMB3_11'])
        assert.match(await list('-m', dialect), /blocks of size/);
    await demand({ encryption: false });
    const client = await SmbClient.connect(port, 'share1');
    assert.equal((await client.tryOpen('new', { disposition: 2 })).status, OK);
    client.cut();
});

test('no multichannel: a session has one connection, and goes on over it', async () => {
    const dialect = 0x0302;
    await demand({ encryption: false, multichannel: false });
    const only = await SmbClient.connect(port, 'share1', undefined, dialect);
    const refused = await only.bind(port);
    assert.equal(refused.status, NOT_ACCEPTED);
    assert.notEqual((await refused.client.tryOpen('over-the-other', { disposition: 3 })).status, OK);
    assert.equal((await only.tryOpen('over-the-first', { disposition: 3 })).status, OK);
    await demand({ encryption: false, multichannel: true });
    const { status, client } = await only.bind(port);
    assert.equal(status, OK);
    only.cut();
    assert.equal((await client.tryOpen('over-the-second', { disposition: 3 })).status, OK);
    for (const one of [refused.client, client])
        one.cut();
});
