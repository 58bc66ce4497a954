// SPDX-License-Identifier: Apache-2.0
// Clients that are separate programs: each prints "ok NAME" or "not ok NAME: WHY" for each case, and every case becomes
// a test here.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { ACCOUNT, freePorts, KEY, startServer } from '../rest/lib.mjs';

export const KEY2 = Buffer.from(KEY, 'base64').reverse().toString('base64');

/** A server with SMB and the share "share1", whose account has two keys. */
export async function startSmb(...args) {
    const [port] = await freePorts(1);
    const server = await startServer({
        services: ['file'],
        args: ['--smb-port', String(port), ...args],
        env: { AZURITE_ACCOUNTS: `${ACCOUNT}:${KEY}:${KEY2}` },
    });
    const share = (await server.shares()).getShareClient('share1');
    await share.create();
    return { server, port, share };
}

/** Runs the program, with where and who in its environment, and reports its cases as parts of the test. */
export async function runCases(t, command, args, port, env = {}) {
    const child = spawn(command, args, {
        env: { ...process.env, SMB_PORT: String(port), SMB_ACCOUNT: ACCOUNT, SMB_KEY: KEY, SMB_KEY2: KEY2, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
    });
    let errors = '';
    child.stderr.on('data', (text) => { errors += text; });
    const ended = new Promise((resolve, reject) => child.on('close', resolve).on('error', reject));
    let count = 0;
    for await (const line of createInterface({ input: child.stdout })) {
        const [, not, name, why] = line.match(/^(not )?ok ([^:]+)(?:: (.*))?$/) ?? [];
        if (name === undefined)
            continue;
        count++;
        await t.test(name, () => assert.ok(!not, why));
    }
    const status = await ended;
    assert.ok(count > 0 && (status === 0 || status === 1), `${command} ended with ${status}: ${errors}`);
}
