// SPDX-License-Identifier: Apache-2.0
// python3-impacket's client (impacket_cases.py), and the effects of it and REST on each other.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCases, startSmb } from './cases.mjs';

const CASES = new URL('impacket_cases.py', import.meta.url).pathname;
const PYTHON = '/usr/bin/python3'; // Debian's, which has the package

test('impacket works with files', async (t) => {
    const { server, port, share } = await startSmb();
    try {
        await runCases(t, PYTHON, [CASES, 'all'], port);
        await runCases(t, PYTHON, [CASES, 'leave'], port);
        const file = share.getDirectoryClient('met').getFileClient('größe');
        assert.equal((await file.downloadToBuffer()).toString(), 'from SMB');
        await file.create(21);
        await file.uploadRange('from REST, and longer', 0, 21);
        await runCases(t, PYTHON, [CASES, 'find'], port);
        for await (const item of share.getDirectoryClient('').listFilesAndDirectories())
            assert.fail(`${item.name} was left`);
    } finally {
        await server.stop();
    }
});

for (const policy of ['required', 'preferred', 'off']) {
    test(`impacket where encryption is ${policy}`, async (t) => {
        const { server, port } = await startSmb('--smb-encryption', policy);
        try {
            await runCases(t, PYTHON, [CASES, 'policy'], port, { SMB_POLICY: policy });
        } finally {
            await server.stop();
        }
    });
}
