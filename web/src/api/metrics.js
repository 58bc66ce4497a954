// SPDX-License-Identifier: Apache-2.0
// The server's metrics text, as numbers.

/** Name, labels and value of each line: Map of name → [{labels, value}]. */
export function parseMetrics(text) {
    const found = new Map();
    for (const line of text.split('\n')) {
        const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? ([^ ]+)/.exec(line);
        if (!match || line.startsWith('#'))
            continue;
        const labels = Object.fromEntries([...(match[2] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name, value]) => [name, value.replace(/\\(.)/g, (_, letter) => (letter === 'n' ? '\n' : letter))]));
        found.set(match[1], [...(found.get(match[1]) ?? []), { labels, value: Number(match[3]) }]);
    }
    return found;
}

export function sum(metrics, name, fits = () => true) {
    return (metrics.get(name) ?? []).filter((one) => fits(one.labels)).reduce((total, one) => total + one.value, 0);
}

/** Cumulative counts of a histogram over all its label sets: [[upper bound, count]]. */
export function buckets(metrics, name, fits = () => true) {
    const totals = new Map();
    for (const { labels, value } of metrics.get(`${name}_bucket`) ?? [])
        if (fits(labels))
            totals.set(labels.le, (totals.get(labels.le) ?? 0) + value);
    return [...totals].map(([le, count]) => [le === '+Inf' ? Infinity : Number(le), count]).sort((a, b) => a[0] - b[0]);
}

/** The value below which a share of what happened between two readings lies; null when nothing happened. */
export function quantile(before, after, share) {
    const counts = after.map(([bound, count], i) => [bound, count - (before[i]?.[1] ?? 0)]);
    const total = counts.at(-1)?.[1] ?? 0;
    if (total <= 0)
        return null;
    let lower = 0;
    let below = 0;
    for (const [bound, count] of counts) {
        if (count >= share * total)
            return bound === Infinity ? lower : lower + (bound - lower) * ((share * total - below) / Math.max(1e-9, count - below));
        lower = bound;
        below = count;
    }
    return lower;
}
