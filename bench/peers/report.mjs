// SPDX-License-Identifier: Apache-2.0
// What bench/peers.mjs has measured, as a table, a plot and a page.

const NAMES = { lazuli: 'Lazuli', azurite: 'Azurite', nginx: 'nginx' };
const COLOURS = { lazuli: '#1f5fbf', azurite: '#b5651d', nginx: '#3a8f4d' };
const escape = (text) => String(text).replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);
const number = (value) => (value >= 100 ? Math.round(value).toLocaleString('en-US') : value >= 10 ? value.toFixed(1) : value.toFixed(2));

function cell(result) {
    if (result === undefined)
        return '';
    const cpu = result.cpuUs === null ? '' : `, ${number(result.cpuUs)} µs`;
    const large = result.large === null ? '' : `; large ${number(result.large)}/s`;
    return `${number(result.rate)}/s; ${[result.p50Ms, result.p99Ms, result.p999Ms].map(number).join(', ')} ms${cpu}${large}`;
}

/** How many times the peer's CPU time per operation ours is contained in; the rate, where no CPU time is counted. */
function ratio(result, peer) {
    if (result === undefined || peer === undefined)
        return '';
    const times = result.cpuUs === null || peer.cpuUs === null ? result.rate / peer.rate : peer.cpuUs / result.cpuUs;
    return `${number(times)}×`;
}

export function table(report) {
    const lines = ['| what | Lazuli | Azurite | nginx | of Azurite | of nginx |', '|---|---|---|---|---|---|'];
    for (const { name, peers } of report.results)
        lines.push(`| ${name} | ${cell(peers.lazuli)} | ${cell(peers.azurite)} | ${cell(peers.nginx)} | ${ratio(peers.lazuli, peers.azurite)} | ${ratio(peers.lazuli, peers.nginx)} |`);
    for (const [title, key, unit] of [['start to first connection', 'readyMs', 'ms'], ['memory, idle', 'idleMiB', 'MiB'], ['memory, after all rows', 'fullMiB', 'MiB']])
        lines.push(`| ${title} | ${['lazuli', 'azurite', 'nginx'].map((peer) => `${number(report.started[peer][key])} ${unit}`).join(' | ')} | | |`);
    lines.push(`| bare disk: write of 4 KiB and fdatasync | ${number(report.disk.rate)}/s, p50 ${number(report.disk.p50Ms)}, p99 ${number(report.disk.p99Ms)} ms | | | | |`);
    const samba = report.samba === undefined ? '' : `\n${report.samba}`;
    return `${lines.join('\n')}\n${samba}`;
}

/** A bar per peer and row, on a logarithmic scale. `valueOf` says what of a result is drawn. */
function bars(results, title, valueOf) {
    const rows = results.filter(({ peers }) => Object.keys(peers).length > 1 && Object.values(peers).every((result) => valueOf(result) > 0 && valueOf(result) < Infinity));
    const [left, width, bar, gap] = [330, 470, 9, 12];
    const values = rows.flatMap(({ peers }) => Object.values(peers).map(valueOf));
    const [low, high] = [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)))];
    const x = (value) => left + ((Math.log10(value) - low) / (high - low)) * width;
    const parts = [];
    let y = 46;
    for (const { name, peers } of rows) {
        const names = Object.keys(NAMES).filter((peer) => peers[peer] !== undefined);
        parts.push(`<text x="${left - 8}" y="${y + (names.length * bar) / 2 + 4}" text-anchor="end">${escape(name)}</text>`);
        for (const peer of names) {
            const value = valueOf(peers[peer]);
            parts.push(`<rect x="${left}" y="${y}" width="${(x(value) - left).toFixed(1)}" height="${bar - 1}" fill="${COLOURS[peer]}"><title>${NAMES[peer]}: ${number(value)}</title></rect>`);
            parts.push(`<text x="${(x(value) + 4).toFixed(1)}" y="${y + bar - 2}" font-size="8">${number(value)}</text>`);
            y += bar;
        }
        y += gap;
    }
    const marks = Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i));
    const grid = marks.map((mark) => `<line x1="${x(mark)}" y1="38" x2="${x(mark)}" y2="${y - gap}" stroke="#ccc"/><text x="${x(mark)}" y="34" text-anchor="middle">${mark.toLocaleString('en-US')}</text>`);
    const key = Object.entries(NAMES).map(([peer, name], i) => `<rect x="${left + i * 90}" y="6" width="10" height="10" fill="${COLOURS[peer]}"/><text x="${left + i * 90 + 14}" y="15">${name}</text>`);
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 ${y + 10}" font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="#fff"/>` +
        `<text x="8" y="15">${escape(title)}</text>${key.join('')}${grid.join('')}${parts.join('')}</svg>\n`;
}

export const plot = (report) => bars(report.results, 'Operations per CPU second of the server', ({ cpuUs }) => 1e6 / cpuUs);

const conditions = (report) => `${report.date} UTC; ${report.machine}; load of the machine ${report.loadAverage}; ${report.run === '' ? 'ordinary priority' : `server and generator under ${report.run}`}; ` +
    `medians of ${report.rounds} rounds of ${report.seconds} s, by turns; Lazuli ${report.versions.lazuli}, Azurite ${report.versions.azurite} on Node.js ${report.versions.node}, ${report.versions.nginx}`;

/** Tables in Markdown as tables in HTML. */
function html(markdown) {
    const row = (line, tag) => `<tr>${line.split('|').slice(1, -1).map((text) => `<${tag}>${escape(text.trim())}</${tag}>`).join('')}</tr>`;
    return markdown.trim().split(/\n\n+/).map((part) => {
        const [head, , ...rows] = part.split('\n');
        return `<table>${row(head, 'th')}${rows.map((line) => row(line, 'td')).join('')}</table>`;
    }).join('');
}

export function page(report) {
    return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Lazuli beside its peers</title>
<style>body{font:14px sans-serif;margin:2em;max-width:1200px}td,th{border:1px solid #ccc;padding:3px 6px;text-align:left}table{border-collapse:collapse;margin:2em 0}</style>
<h1>Lazuli beside its peers</h1><p>${escape(conditions(report))}. Each cell: rate; p50, p99 and p999; CPU time of the server per operation. The last two columns: the peer's CPU time per operation over Lazuli's (of rows beside large ones: Lazuli's rate over the peer's).</p>
${plot(report)}${bars(report.results, 'p99 in ms', ({ p99Ms }) => p99Ms)}${html(table(report))}</html>
`;
}
