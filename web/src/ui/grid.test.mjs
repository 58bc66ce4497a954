// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { layoutOf } from './grid.js';

test('a short list lies as it is', () => {
    const layout = layoutOf(100, { top: 340, height: 340 });
    assert.equal(layout.space, 3400);
    assert.deepEqual([layout.first, layout.last], [2, 28]);
    assert.equal(layout.topOf(10), 340);
});

test('a million rows fit a height that browsers can draw, from the first row to the last', () => {
    const height = 600;
    for (const count of [235295, 1e6, 5e6]) {
        const space = layoutOf(count, { top: 0, height }).space;
        assert.ok(space <= 8e6);
        assert.equal(layoutOf(count, { top: 0, height }).first, 0);
        const end = layoutOf(count, { top: space - height, height });
        assert.equal(end.last, count);
        assert.ok(Math.abs(end.topOf(count - 1) + 34 - space) < 1, 'the last row ends where the space ends');
        for (const index of [0, 1, 17, count >> 1, count - 1]) {
            const top = Math.min(space - height, layoutOf(count, { top: space / 3, height }).scrollTo(index));
            const there = layoutOf(count, { top, height });
            assert.ok(there.first <= index && index < there.last, `row ${index} of ${count} is in sight`);
        }
    }
});
