// SPDX-License-Identifier: Apache-2.0
// A Get File that is sent in many lists of pieces: all of it is from one committed state (rule_F3), despite writes
// while a slow client reads.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get as httpGet } from 'node:http';
import { after, before, it } from 'node:test';
import { startServer, uniqueName } from './lib.mjs';

const PIECES = 4400; // and as many holes: three lists of 4096

const STEP = 8192;
let server, share;

before(async () => {
    server = await startServer({ services: ['file'] });
    share = (await server.shares()).getShareClient(uniqueName());
    await share.create();
});
after(() => server.stop());

async function write(file, letter, first) {
    let next = first;
    const worker = async () => {
        while (next < PIECES) {
            const at = next++;
            await file.uploadRange(letter, at * STEP, 1);
        }
    };
    await Promise.all(Array.from({ length: 64 }, worker));
}

it('rule_F3: a long GetFile beside writes and a delete sees one state', { timeout: 300000 }, async () => {
    const file = share.getDirectoryClient('').getFileClient('f');
    await file.create(PIECES * STEP);
    await write(file, 'a', 0);
    const url = await file.generateSasUrl({ permissions: { toString: () => 'r' }, expiresOn: new Date(Date.now() + 3600e3) });
    const request = httpGet(url);
    const [answer] = await once(request, 'response');
    assert.equal(answer.statusCode, 200);
    answer.pause();
    await write(file, 'b', PIECES - 200);
    await file.delete();
    const chunks = [];
    answer.on('data', (chunk) => chunks.push(chunk));
    answer.resume();
    await once(answer, 'end');
    const bytes = Buffer.concat(chunks);
    assert.equal(bytes.length, PIECES * STEP);
    for (let i = 0; i < PIECES; i++)
        assert.equal(bytes[i * STEP], 0x61, `piece ${i}`);
});
