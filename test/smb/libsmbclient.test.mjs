// SPDX-License-Identifier: Apache-2.0
// libsmbclient (libsmbclient_cases.c) in every dialect, plain and encrypted, under every --smb-encryption.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { runCases, startSmb } from './cases.mjs';

const folder = mkdtempSync(join(tmpdir(), 'lazuli-libsmbclient-'));
const program = join(folder, 'cases');

before(() => {
    const flags = (what) => execFileSync('pkg-config', [what, 'smbclient'], { encoding: 'utf8' }).trim().split(/\s+/);
    execFileSync('gcc', ['-std=gnu17', '-O1', '-Wall', '-Wextra', '-Werror', ...flags('--cflags'), '-o', program,
        new URL('libsmbclient_cases.c', import.meta.url).pathname, ...flags('--libs')]);
});
after(() => rmSync(folder, { recursive: true }));

/** A server for each policy, since it is a flag. */
async function withServer(policy, work) {
    const { server, port, share } = await startSmb('--smb-encryption', policy);
    try {
        await work(port, share);
        for await (const item of share.getDirectoryClient('').listFilesAndDirectories())
            assert.fail(`${item.name} was left`);
    } finally {
        await server.stop();
    }
}

test('libsmbclient where encryption is preferred', (t) => withServer('preferred', async (port) => {
    await t.test('who is let in', (t) => runCases(t, program, ['who'], port));
    for (const dialect of ['SMB2_10', 'SMB3_00', 'SMB3_02', 'SMB3_11'])
        await t.test(`${dialect}, plain`, (t) => runCases(t, program, ['work', dialect, 'plain'], port));
    await t.test('SMB3_11, encrypted', (t) => runCases(t, program, ['work', 'SMB3_11', 'encrypted'], port));
}));

test('libsmbclient where encryption is required', (t) => withServer('required', async (port) => {
    await t.test('2.1 cannot', (t) => runCases(t, program, ['refused', 'SMB2_10', 'plain'], port));
    for (const dialect of ['SMB3_00', 'SMB3_02'])
        await t.test(dialect, (t) => runCases(t, program, ['work', dialect, 'encrypted'], port));
    await t.test('3.1.1 without asking for it', (t) => runCases(t, program, ['work', 'SMB3_11', 'plain'], port));
}));

test('libsmbclient where encryption is off', (t) => withServer('off', async (port) => {
    await t.test('3.1.1', (t) => runCases(t, program, ['work', 'SMB3_11', 'plain'], port));
}));
