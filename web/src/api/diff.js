// SPDX-License-Identifier: Apache-2.0
// What changed between two texts, line by line (Myers' algorithm).

const EDITS_MAX = 1000;

/** Lines with a sign: [{sign: ' ', '-' or '+', text}]. Texts that have little in common are all '-' and then all '+'. */
export function diffLines(before, after) {
    const a = before.split('\n');
    const b = after.split('\n');
    let start = 0;
    while (start < a.length && start < b.length && a[start] === b[start])
        start++;
    let end = 0;
    while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end])
        end++;
    const same = (lines) => lines.map((text) => ({ sign: ' ', text }));
    return [...same(a.slice(0, start)), ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)), ...same(a.slice(a.length - end))];
}

function middle(a, b) {
    const most = Math.min(a.length + b.length, EDITS_MAX);
    const reach = new Map([[1, 0]]);
    const trace = [];
    for (let edits = 0; edits <= most; edits++) {
        trace.push(new Map(reach));
        for (let k = -edits; k <= edits; k += 2) {
            const down = k === -edits || (k !== edits && reach.get(k - 1) < reach.get(k + 1));
            let x = down ? reach.get(k + 1) : reach.get(k - 1) + 1;
            while (x < a.length && x - k < b.length && a[x] === b[x - k])
                x++;
            reach.set(k, x);
            if (x >= a.length && x - k >= b.length)
                return walkBack(a, b, trace, edits);
        }
    }
    return [...a.map((text) => ({ sign: '-', text })), ...b.map((text) => ({ sign: '+', text }))];
}

function walkBack(a, b, trace, edits) {
    const lines = [];
    let x = a.length;
    let y = b.length;
    for (let d = edits; d >= 0; d--) {
        const reach = trace[d];
        const k = x - y;
        const down = k === -d || (k !== d && reach.get(k - 1) < reach.get(k + 1));
        const oldX = down ? reach.get(k + 1) : reach.get(k - 1);
        const oldY = oldX - (down ? k + 1 : k - 1);
        while (x > oldX && y > oldY) {
            lines.push({ sign: ' ', text: a[--x] });
            y--;
        }
        if (d > 0) {
            if (down)
                lines.push({ sign: '+', text: b[--y] });
            else
                lines.push({ sign: '-', text: a[--x] });
        }
    }
    return lines.reverse();
}

/** The same with long stretches that did not change left out: {sign: '…', text} says how many lines. */
export function shortened(lines, around = 3) {
    const near = lines.map((_, i) => lines.slice(Math.max(0, i - around), i + around + 1).some((line) => line.sign !== ' '));
    const short = [];
    for (let i = 0; i < lines.length; i++) {
        if (near[i]) {
            short.push(lines[i]);
            continue;
        }
        const from = i;
        while (i + 1 < lines.length && !near[i + 1])
            i++;
        short.push({ sign: '…', text: `${i - from + 1} lines the same` });
    }
    return short;
}
