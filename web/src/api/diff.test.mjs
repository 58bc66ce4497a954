// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diffLines, shortened } from './diff.js';

const before = (lines) => lines.filter(({ sign }) => sign !== '+').map(({ text }) => text).join('\n');
const after = (lines) => lines.filter(({ sign }) => sign !== '-').map(({ text }) => text).join('\n');

test('a diff shows what was taken out and what came in', () => {
    assert.deepEqual(diffLines('a\nb\nc', 'a\nx\nc'), [{ sign: ' ', text: 'a' }, { sign: '-', text: 'b' }, { sign: '+', text: 'x' }, { sign: ' ', text: 'c' }]);
    assert.deepEqual(diffLines('same', 'same'), [{ sign: ' ', text: 'same' }]);
});

test('a diff contains both texts, and is as short as it can be', () => {
    let seed = 7;
    const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
    for (let round = 0; round < 300; round++) {
        const text = () => Array.from({ length: random(12) }, () => 'abc'[random(3)]).join('\n');
        const [one, two] = [text(), text()];
        const lines = diffLines(one, two);
        assert.equal(before(lines), one);
        assert.equal(after(lines), two);
        assert.equal(lines.filter(({ sign }) => sign === ' ').length, longestCommon(one.split('\n'), two.split('\n')));
    }
});

function longestCommon(a, b) {
    const rows = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0));
    for (let i = 1; i <= a.length; i++)
        for (let j = 1; j <= b.length; j++)
            rows[i][j] = a[i - 1] === b[j - 1] ? rows[i - 1][j - 1] + 1 : Math.max(rows[i - 1][j], rows[i][j - 1]);
    return rows[a.length][b.length];
}

test('texts with nothing in common end soon', () => {
    const one = Array.from({ length: 5000 }, (_, i) => `a${i}`).join('\n');
    const two = Array.from({ length: 5000 }, (_, i) => `b${i}`).join('\n');
    const lines = diffLines(one, two);
    assert.equal(before(lines), one);
    assert.equal(after(lines), two);
});

test('stretches without a change are left out', () => {
    const text = Array.from({ length: 50 }, (_, i) => `line ${i}`);
    const short = shortened(diffLines(text.join('\n'), text.map((line, i) => (i === 25 ? 'new' : line)).join('\n')));
    assert.deepEqual(short[0], { sign: '…', text: '22 lines the same' });
    assert.equal(short.length, 1 + 3 + 2 + 3 + 1);
});
