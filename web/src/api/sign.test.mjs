// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { fromBase64, importKey, stringToSign, toBase64 } from './sign.js';

const KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

test('the key signs as HMAC-SHA256 does', async () => {
    const sign = await importKey(KEY);
    assert.equal(await sign('text with ü'), createHmac('sha256', Buffer.from(KEY, 'base64')).update('text with ü').digest('base64'));
    await assert.rejects(importKey('not base64!'));
    assert.deepEqual([...fromBase64(toBase64(Uint8Array.of(0, 255, 7)))], [0, 255, 7]);
});

test('a request of the blob service', () => {
    const headers = { 'x-ms-version': '2025-11-05', 'x-ms-date': 'Fri, 26 Jun 2015 23:39:12 GMT', 'content-type': 'text/plain', 'x-ms-meta-a': '  two   words ', 'if-match': '"0x1"' };
    assert.equal(stringToSign('blob', 'acc', 'PUT', '/acc/c/b%20d', { comp: 'block', BlockId: 'MA==' }, headers, 12), [
        'PUT', '', '', '12', '', 'text/plain', '', '', '"0x1"', '', '', '', 'x-ms-date:Fri, 26 Jun 2015 23:39:12 GMT', 'x-ms-meta-a:two words', 'x-ms-version:2025-11-05', '/acc/acc/c/b%20d', 'blockid:MA==', 'comp:block',
    ].join('\n'));
});

test('an empty body has no length, and tables sign less', () => {
    assert.match(stringToSign('queue', 'acc', 'PUT', '/acc/q', {}, {}, 0), /^PUT\n\n\n\n\n/);
    assert.equal(stringToSign('table', 'acc', 'GET', '/acc/Tables', { comp: 'properties', top: '1' }, { 'x-ms-date': 'D' }, 0), 'GET\n\n\nD\n/acc/acc/Tables?comp=properties');
});
