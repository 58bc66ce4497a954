// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { actText, matchText, ruleOf } from './control.js';

test('a form becomes a rule, empty fields left out', () => {
    assert.deepEqual(ruleOf({ service: 'blob', operation: '', object: 'cat*', at: 'before', kind: 'error', error: 'ServerBusy', retryAfterSeconds: '2', delayMs: '', times: '3', skip: '', probability: '', seed: '' }),
        { match: { service: 'blob', object: 'cat*' }, at: 'before', do: { error: 'ServerBusy', retryAfterSeconds: 2 }, when: { times: 3 } });
    assert.deepEqual(ruleOf({ at: 'after-commit', kind: 'reset', delayMs: '5' }), { match: {}, at: 'after-commit', do: { reset: true, delayMs: 5 } });
    assert.deepEqual(ruleOf({ at: 'before', kind: 'error', error: 'ServerBusy', status: '429', every: '3' }), { match: {}, at: 'before', do: { error: 'ServerBusy', status: 429 }, when: { every: 3 } });
    assert.deepEqual(ruleOf({ at: 'before', kind: 'slow', bytesPerSecond: '9' }).do, { bytesPerSecond: 9 });
    assert.deepEqual(ruleOf({ at: 'before', kind: 'truncate', truncateAfterBytes: '0' }).do, { truncateAfterBytes: 0 });
});

test('rules in words', () => {
    assert.equal(matchText({ service: 'blob', account: '*' }), 'service blob');
    assert.equal(matchText({}), 'every request');
    assert.equal(matchText({ header: { 'x-team': 'a*' } }), 'header x-team: a*');
    assert.equal(actText({ error: 'ServerBusy', status: 503, delayMs: 10 }), 'wait 10 ms, then 503 ServerBusy');
    assert.equal(actText({ corrupt: true, afterBytes: 7 }), 'turn a bit over after 7 bytes of the answer');
    assert.equal(actText({ error: 'ServerBusy', status: 503, rate: { perSecond: 2, burst: 2 } }), 'let 2 a second pass, refuse the rest with ServerBusy');
    assert.equal(actText({ reset: true }), 'cut the connection');
});
