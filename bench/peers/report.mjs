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
    return `${number(result.rate)}/s, p50 ${number(result.p50Ms)}, p99 ${number(result.p99Ms)} ms${cpu}${large}`;
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
    return `${lines.join('\n')}\n`;
}

/** Operations per CPU second, on a logarithmic scale: a bar per peer and row. */
export function plot(report) {
    const counted = (peers) => Object.values(peers).every(({ cpuUs }) => cpuUs > 0 && cpuUs < Infinity);
    const rows = report.results.filter(({ peers }) => counted(peers) && Object.keys(peers).length > 1);
    const [left, width, bar, gap] = [330, 470, 9, 12];
    const rates = rows.flatMap(({ peers }) => Object.values(peers).map(({ cpuUs }) => 1e6 / cpuUs));
    const [low, high] = [Math.floor(Math.log10(Math.min(...rates))), Math.ceil(Math.log10(Math.max(...rates)))];
    const x = (rate) => left + ((Math.log10(rate) - low) / (high - low)) * width;
    const parts = [];
    let y = 46;
    for (const { name, peers } of rows) {
        const names = Object.keys(NAMES).filter((peer) => peers[peer] !== undefined);
        parts.push(`<text x="${left - 8}" y="${y + (names.length * bar) / 2 + 4}" text-anchor="end">${escape(name)}</text>`);
        for (const peer of names) {
            const rate = 1e6 / peers[peer].cpuUs;
            parts.push(`<rect x="${left}" y="${y}" width="${(x(rate) - left).toFixed(1)}" height="${bar - 1}" fill="${COLOURS[peer]}"><title>${NAMES[peer]}: ${number(rate)}</title></rect>`);
            parts.push(`<text x="${(x(rate) + 4).toFixed(1)}" y="${y + bar - 2}" font-size="8">${number(rate)}</text>`);
            y += bar;
        }
        y += gap;
    }
    const marks = Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i));
    const grid = marks.map((mark) => `<line x1="${x(mark)}" y1="38" x2="${x(mark)}" y2="${y - gap}" stroke="#ccc"/><text x="${x(mark)}" y="34" text-anchor="middle">${mark.toLocaleString('en-US')}</text>`);
    const key = Object.entries(NAMES).map(([peer, name], i) => `<rect x="${left + i * 90}" y="6" width="10" height="10" fill="${COLOURS[peer]}"/><text x="${left + i * 90 + 14}" y="15">${name}</text>`);
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 ${y + 10}" font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="#fff"/>` +
        `<text x="8" y="15">Operations per CPU second of the server</text>${key.join('')}${grid.join('')}${parts.join('')}</svg>\n`;
}

const conditions = (report) => `${report.date} UTC; ${report.machine}; load of the machine ${report.loadAverage}; ${report.run === '' ? 'ordinary priority' : `server and generator under ${report.run}`}; ` +
    `medians of ${report.rounds} rounds of ${report.seconds} s, by turns; Lazuli ${report.versions.lazuli}, Azurite ${report.versions.azurite} on Node.js ${report.versions.node}, ${report.versions.nginx}`;

export function page(report) {
    const rows = table(report).trim().split('\n').slice(2).map((line) => `<tr>${line.split('|').slice(1, -1).map((text) => `<td>${escape(text.trim())}</td>`).join('')}</tr>`);
    return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Lazuli beside its peers</title>
<style>body{font:14px sans-serif;margin:2em;max-width:1200px}td,th{border:1px solid #ccc;padding:3px 6px;text-align:left}table{border-collapse:collapse}</style>
<h1>Lazuli beside its peers</h1><p>${escape(conditions(report))}. The last two columns: the peer's CPU time per operation over Lazuli's (of rows beside large ones: Lazuli's rate over the peer's).</p>
${plot(report)}<table><tr><th>what<th>Lazuli<th>Azurite<th>nginx<th>of Azurite<th>of nginx</tr>${rows.join('')}</table></html>
`;
}
