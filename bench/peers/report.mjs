// SPDX-License-Identifier: Apache-2.0
// Renders the results of bench/peers.mjs as tables, plots and a page.

const NAMES = { lazuli: 'Lazuli', azurite: 'Azurite', nginx: 'nginx', samba: 'Samba', disk: 'bare disk' };
const COLOURS = { lazuli: '#1f5fbf', azurite: '#b5651d', nginx: '#3a8f4d', samba: '#8a4fa3', disk: '#777777' };
const OTHERS = ['azurite', 'nginx', 'samba'];
const escape = (text) => String(text).replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);
const number = (value) => (value >= 100 ? Math.round(value).toLocaleString('en-US') : value >= 10 ? value.toFixed(1) : value.toFixed(2));

// ---- tables ---------------------------------------------------------------------------------------------------------

function cell({ peers, failures = {}, values, unit }, kind) {
    if (values !== undefined)
        return values[kind] === undefined ? '' : `${number(values[kind])} ${unit}`;
    const result = peers[kind];
    if (result === undefined)
        return failures[kind] === undefined ? '' : 'failed';
    if (result.rate === 0)
        return 'no answer in time';
    const cpu = result.cpuUs === null ? '' : `; ${number(result.cpuUs)} µs`;
    const large = result.large === null ? '' : `; large ${number(result.large)}/s`;
    const errors = result.errors > 0 ? `; ${result.errors} errors` : '';
    const space = unit === '/s' ? '' : ' ';
    return `${number(result.rate)}${space}${unit}; ${[result.p50Ms, result.p99Ms, result.p999Ms].map(number).join(', ')}${cpu}${large}${errors}`;
}

/** How many times Lazuli's CPU time an operation the peer takes; where none is counted, how many times its rate Lazuli has. */
function ratio({ peers, values }, kind) {
    const [mine, its] = values === undefined ? [peers.lazuli, peers[kind]] : [values.lazuli, values[kind]];
    if (mine === undefined || its === undefined)
        return undefined;
    if (values !== undefined)
        return its / mine;
    const times = mine.cpuUs === null || its.cpuUs === null ? mine.rate / its.rate : its.cpuUs / mine.cpuUs;
    return Number.isFinite(times) ? times : undefined;
}

const ratios = (row) => OTHERS.filter((kind) => ratio(row, kind) !== undefined).map((kind) => `${NAMES[kind]} ${number(ratio(row, kind))}`).join(', ');

/** One table of the rows of a part; columns only of those who are in it. */
function partTable(rows, first) {
    const has = (kind) => rows.some((row) => cell(row, kind) !== '');
    const kinds = Object.keys(NAMES).filter(has);
    const lines = [`| ${first} | ${kinds.map((kind) => NAMES[kind]).join(' | ')} | times Lazuli's |`, `|---|${kinds.map(() => '---|').join('')}---|`];
    for (const row of rows)
        lines.push(`| ${row.name} | ${kinds.map((kind) => cell(row, kind)).join(' | ')} | ${ratios(row)} |`);
    return `${lines.join('\n')}\n`;
}

const parts = (results) => [...new Set(results.map(({ part }) => part))].map((part) => [part, results.filter((row) => row.part === part)]);

export const table = (report) => parts(report.results).map(([part, rows]) => partTable(rows, part)).join('\n');

/** Of the README: rate and CPU time an operation, without the other figures. */
function shortCell(row, kind) {
    if (row.values !== undefined || (row.peers[kind]?.rate ?? 0) === 0)
        return cell(row, kind);
    const { rate, cpuUs } = row.peers[kind];
    return `${number(rate)}${row.unit === '/s' ? '' : ' '}${row.unit}${cpuUs === null ? '' : `, ${number(cpuUs)} µs`}`;
}

export function shortTable(report) {
    const kinds = ['lazuli', 'azurite', 'nginx'];
    const rows = report.results.filter(({ readme, part, name }) => readme || (part === 'Start and memory' && name.endsWith(', empty')));
    const lines = rows.map((row) => `| ${row.name} | ${kinds.map((kind) => shortCell(row, kind)).join(' | ')} |`);
    return `| | ${kinds.map((kind) => NAMES[kind]).join(' | ')} |\n|---|---|---|---|\n${lines.join('\n')}\n`;
}

export const conditions = (report) => `${report.date} UTC; ${report.machine}; load average at most ${Math.max(0, ...report.results.map(({ loadAverage }) => loadAverage ?? 0))}; ` +
    `${report.run === '' ? 'ordinary priority' : `servers and generators under ${report.run}`}; medians of ${report.rounds} rounds of ${report.seconds} s, by turns; ` +
    `${report.versions.lazuli}, Azurite ${report.versions.azurite} on Node.js ${report.versions.node}, ${report.versions.nginx}, Samba ${report.versions.samba.replace('Version ', '')}`;

export const LEGEND = 'Each cell: rate; p50, p99 and p999 in ms; CPU time of the server an operation (of a change set: an entity; of MiB/s: a MiB). ' +
    "The last column: the peer's CPU time an operation over Lazuli's; in rows without CPU time Lazuli's rate over the peer's; of start and memory the peer's over Lazuli's.";

// ---- plots ----------------------------------------------------------------------------------------------------------

const [LEFT, WIDTH, BAR, GAP] = [340, 450, 9, 12];

function scale(values) {
    const low = Math.floor(Math.log10(Math.min(...values)));
    const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))));
    const x = (value) => LEFT + ((Math.log10(value) - low) / (high - low)) * WIDTH;
    return { x, marks: Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i)) };
}

/** What bars and ranges share: a line for each peer of each row, on a logarithmic scale. `valuesOf` gives what of a result
 * is drawn, `draw` the shapes. */
function drawing(results, title, valuesOf, draw) {
    const good = (result) => valuesOf(result).every((value) => value > 0 && value < Infinity);
    const rows = results.filter(({ peers }) => peers !== undefined && Object.keys(peers).length > 1).map((row) => ({ ...row, shown: Object.keys(NAMES).filter((kind) => row.peers[kind] !== undefined && good(row.peers[kind])) })).filter(({ shown }) => shown.length > 0);
    if (rows.length === 0)
        return '';
    const { x, marks } = scale(rows.flatMap(({ peers, shown }) => shown.flatMap((kind) => valuesOf(peers[kind]))));
    const shapes = [];
    let y = 46;
    for (const { name, peers, shown } of rows) {
        shapes.push(`<text x="${LEFT - 8}" y="${y + (shown.length * BAR) / 2 + 4}" text-anchor="end">${escape(name)}</text>`);
        for (const kind of shown) {
            shapes.push(draw(x, y, valuesOf(peers[kind]), kind));
            y += BAR;
        }
        y += GAP;
    }
    const grid = marks.map((mark) => `<line x1="${x(mark)}" y1="38" x2="${x(mark)}" y2="${y - GAP}" stroke="#ccc"/><text x="${x(mark)}" y="34" text-anchor="middle">${mark.toLocaleString('en-US')}</text>`);
    const there = Object.keys(NAMES).filter((kind) => rows.some(({ shown }) => shown.includes(kind)));
    const legend = there.map((kind, i) => `<rect x="${LEFT + i * 85}" y="6" width="10" height="10" fill="${COLOURS[kind]}"/><text x="${LEFT + i * 85 + 14}" y="15">${NAMES[kind]}</text>`);
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 ${y + 10}" font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="#fff"/>` +
        `<text x="8" y="15">${escape(title)}</text>${legend.join('')}${grid.join('')}${shapes.join('')}</svg>\n`;
}

function bar(x, y, [value], kind) {
    return `<rect x="${LEFT}" y="${y}" width="${Math.max(1, x(value) - LEFT).toFixed(1)}" height="${BAR - 1}" fill="${COLOURS[kind]}"><title>${NAMES[kind]}: ${number(value)}</title></rect>` +
        `<text x="${(x(value) + 4).toFixed(1)}" y="${y + BAR - 2}" font-size="8">${number(value)}</text>`;
}

/** From p50 to p999, with a mark at p99. */
function range(x, y, [p50, p99, p999], kind) {
    const title = `<title>${NAMES[kind]}: ${[p50, p99, p999].map(number).join(', ')} ms</title>`;
    return `<rect x="${x(p50).toFixed(1)}" y="${y + 2}" width="${Math.max(2, x(p999) - x(p50)).toFixed(1)}" height="${BAR - 5}" fill="${COLOURS[kind]}">${title}</rect>` +
        `<rect x="${(x(p99) - 1).toFixed(1)}" y="${y}" width="3" height="${BAR - 1}" fill="${COLOURS[kind]}">${title}</rect>`;
}

const perCpuSecond = (results) => drawing(results, 'Operations per CPU second', ({ cpuUs }) => [1e6 / cpuUs], bar);
const times = (results) => drawing(results, 'p50 to p999, mark: p99, ms', ({ p50Ms, p99Ms, p999Ms }) => [p50Ms, p99Ms, p999Ms], range);

/** The README's: operations per CPU second of some rows. */
export const plot = (report) => perCpuSecond(report.results.filter((row) => row.plot));

// ---- the page -------------------------------------------------------------------------------------------------------

function html(markdown) {
    const row = (line, tag) => `<tr>${line.split('|').slice(1, -1).map((text) => `<${tag}>${escape(text.trim())}</${tag}>`).join('')}</tr>`;
    const [head, , ...rows] = markdown.trim().split('\n');
    return `<table>${row(head, 'th')}${rows.map((line) => row(line, 'td')).join('')}</table>`;
}

export function page(report) {
    const sections = parts(report.results).map(([part, rows]) => `<h2>${escape(part)}</h2>${perCpuSecond(rows)}${times(rows)}${html(partTable(rows, 'what'))}`);
    const failures = report.results.flatMap(({ name, failures: failed = {} }) => Object.entries(failed).map(([kind, why]) => `<li>${escape(`${name}: ${NAMES[kind]}: ${why}`)}</li>`));
    return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Lazuli beside its peers</title>
<style>body{font:14px sans-serif;margin:2em;max-width:1300px}td,th{border:1px solid #ccc;padding:3px 6px;text-align:left}table{border-collapse:collapse;margin:2em 0}</style>
<h1>Lazuli beside its peers</h1><p>${escape(conditions(report))}.</p><p>${escape(LEGEND)} nginx stores what is put without a flush and without checksums, Azurite writes its index back later; Lazuli acknowledges a write when it is on the disk.</p>
${failures.length === 0 ? '' : `<p>Failed:</p><ul>${failures.join('')}</ul>`}${sections.join('\n')}</html>
`;
}
