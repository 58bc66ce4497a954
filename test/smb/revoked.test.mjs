// SPDX-License-Identifier: Apache-2.0
// Rotating a key or deleting an account ends its SMB sessions and their handles, including handles that wait for their
// client or for a server restart; the files are then free for REST.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { assertRejects, BIN, freePorts, startServer, uniqueName, until } from '../rest/lib.mjs';
import { NOT_FOUND, OK, READ, SESSION_DELETED, SmbClient, WRITE } from './client.mjs';

const SMB3 = 0x0300;
let server, port;

before(async () => {
    [port] = await freePorts(1);
    server = await startServer({ args: ['--smb-port', String(port)] });
});
after(() => server.stop());

/** On a cluster, the other gateways know of the change within two seconds (docs/CLUSTER.md). */
async function command(...words) {
    const { stdout } = await promisify(execFile)(BIN, ['account', ...words, '--data', server.data]);
    if (process.env.LAZULI_TEST_GATEWAYS)
        await sleep(2500);
    return stdout;
}

const keysOf = (output) => Object.fromEntries(output.trim().split('\n').map((line) => line.split(' ').slice(1)));

/** An account of its own with a share, and a client per key. */
async function makeAccount() {
    const account = uniqueName('acct').replace(/[^a-z0-9]/g, '').slice(0, 24);
    const keys = keysOf(await command('add', account));
    const share = (await server.shares({ account, key: keys.key2 })).getShareClient('share1');
    await share.create();
    const connect = (key, guid) => SmbClient.connect(port, 'share1', guid, SMB3, { account, key });
    return { account, keys, share, connect };
}

const alone = { access: READ | WRITE, share: '', disposition: 3 };
const fileOf = (share, name) => share.rootDirectoryClient.getFileClient(name);

for (const how of ['rotate-key', 'delete']) {
    test(`account ${how} ends the sessions of its keys at once, and closes their handles`, async () => {
        const { account, keys, share, connect } = await makeAccount();
        const [first, second] = [await connect(keys.key1), await connect(keys.key2)];
        await first.open('held', alone);
        await second.open('other', alone);
        await assertRejects(fileOf(share, 'held').download(), 409, 'SharingViolation');
        await command(how, account, ...(how === 'delete' ? [] : ['1']));
        assert.equal((await first.tryOpen('more', alone)).status, SESSION_DELETED);
        if (how === 'delete') {
            assert.equal((await second.tryOpen('more', alone)).status, SESSION_DELETED);
        } else {
            assert.equal((await second.tryOpen('more', alone)).status, OK);
            await fileOf(share, 'held').delete();
            await assertRejects(fileOf(share, 'other').download(), 409, 'SharingViolation');
            await assert.rejects(connect(keys.key1), /c000006d/);
        }
        first.cut();
        second.cut();
    });
}

test('handles of a client that asks nothing more are closed', async () => {
    const { account, keys, share, connect } = await makeAccount();
    const client = await connect(keys.key1);
    await client.open('held', alone);
    await assertRejects(fileOf(share, 'held').delete(), 409, 'SharingViolation');
    await command('rotate-key', account, '1');
    await until(() => fileOf(share, 'held').delete().then(() => true, () => false));
    client.cut();
});

for (const meanwhile of ['is away', 'is away and the server starts again']) {
    test(`persistent handles end with their key while their client ${meanwhile}`, async () => {
        const { account, keys, share, connect } = await makeAccount();
        const client = await connect(keys.key1);
        const guid = randomBytes(16);
        const id = await client.open('held', { ...alone, contexts: [SmbClient.persistent(guid)] });
        client.cut();
        await assertRejects(fileOf(share, 'held').delete(), 409, 'SharingViolation');
        await command('rotate-key', account, '1');
        if (meanwhile !== 'is away')
            await server.restart({ crash: true });
        const back = await connect(keys.key2, client.guid);
        assert.equal((await back.tryOpen('held', { contexts: [SmbClient.comingBack(guid, id)] })).status, NOT_FOUND);
        await until(() => fileOf(share, 'held').delete().then(() => true, () => false));
        back.cut();
    });
}
