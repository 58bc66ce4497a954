// SPDX-License-Identifier: Apache-2.0
// Plots of the server's own metrics, kept in the page for an hour at the most.
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { buckets, parseMetrics, quantile, sum } from '../api/metrics.js';
import { bytes } from '../ui/format.js';
import { html } from '../ui/html.js';
import { Failure, useEvery } from '../ui/parts.js';

const SECONDS = 2;
const KEPT = 3600 / SECONDS;
const SERVICES = ['blob', 'queue', 'table', 'file'];
const COLOURS = ['#3b6fff', '#e08a00', '#1f9d55', '#b8478f'];

const rate = (name, fits) => (now, before, seconds) => (sum(now, name, fits) - sum(before, name, fits)) / seconds;
const gauge = (name, fits) => (now) => sum(now, name, fits);
const part = (name, share) => (now, before) => {
    const value = quantile(buckets(before, name), buckets(now, name), share);
    return value === null ? null : value * 1000;
};

const PLOTS = [
    ['Requests a second', 'requests/s', SERVICES.map((service) => [service, rate('lazuli_requests_total', (labels) => labels.service === service)])],
    ['Refused or failed a second', 'requests/s', [['4xx', rate('lazuli_requests_total', ({ status = '', code = '' }) => (status || code).startsWith('4'))], ['5xx', rate('lazuli_requests_total', ({ status = '', code = '' }) => (status || code).startsWith('5'))]]],
    ['Time of a request', 'ms', [['p50', part('lazuli_request_duration_seconds', 0.5)], ['p99', part('lazuli_request_duration_seconds', 0.99)]]],
    ['Bytes a second', 'bytes/s', [['in', rate('lazuli_request_body_bytes_total')], ['out', rate('lazuli_response_body_bytes_total')]]],
    ['Commits', '1/s', [['updates', rate('lazuli_updates_total')], ['commits', rate('lazuli_commits_total')]]],
    ['Flush of the journal', 'ms', [['p50', part('lazuli_journal_flush_duration_seconds', 0.5)], ['p99', part('lazuli_journal_flush_duration_seconds', 0.99)]]],
    ['Open', '', [['connections', gauge('lazuli_connections_open')], ['SMB opens', gauge('lazuli_smb_opens')], ['SMB locks', gauge('lazuli_smb_locks')]]],
    ['Refused by concurrency control, a second', 'requests/s', SERVICES.map((service) => [service, rate('lazuli_conflicts_total', (labels) => labels.service === service)])],
    ['Leases held', '', ['container', 'blob', 'share', 'file'].map((kind) => [kind, gauge('lazuli_leases_held', (labels) => labels.kind === kind)])],
    ['Memory and processor', 'MiB, % of a core', [['resident MiB', (now) => sum(now, 'process_resident_memory_bytes') / (1 << 20)], ['CPU %', (now, before, seconds) => 100 * rate('process_cpu_seconds_total')(now, before, seconds)]]],
];

/** Lines over time, with a table of the latest values beside them. */
export function Plot({ title, unit, names, times, series }) {
    const box = useRef();
    const plot = useRef();
    useEffect(() => {
        const style = getComputedStyle(document.documentElement);
        const axis = { stroke: style.getPropertyValue('--quiet'), grid: { stroke: style.getPropertyValue('--line'), width: 1 }, ticks: { show: false } };
        plot.current = new uPlot({
            width: box.current.clientWidth, height: 180, cursor: { y: false }, legend: { show: false },
            series: [{}, ...names.map((name, i) => ({ label: name, stroke: COLOURS[i], width: 1.5, spanGaps: true }))],
            axes: [{ ...axis, size: 34, values: (_, splits) => splits.map((at) => new Date(at * 1000).toLocaleTimeString('sv')) }, { ...axis, size: 64 }],
            // A minute at least, so that the first readings do not fill the width (and a single one not years); never below zero.
            scales: { x: { range: (u) => { const end = u.data[0].at(-1) ?? Date.now() / 1000; return [Math.min(u.data[0][0] ?? end, end - 60), end]; } }, y: { range: (_, min, max) => [0, Math.max(1, (max ?? 0) * 1.1)] } },
        }, [times, ...series], box.current);
        const watcher = new ResizeObserver(() => plot.current.setSize({ width: box.current.clientWidth, height: 180 }));
        watcher.observe(box.current);
        return () => { watcher.disconnect(); plot.current.destroy(); };
    }, []);
    useEffect(() => { plot.current?.setData([times, ...series]); }, [times.length, times.at(-1)]);
    const latest = series.map((values) => values.at(-1));
    return html`<section class="card"><h3>${title}</h3><div class="plot" ref=${box} role="img" aria-label=${`${title} over time${unit ? `, ${unit}` : ''}`}></div>
        <table class="plain numbers"><caption class="hidden">${title} now</caption><tbody>${names.map((name, i) => html`<tr><th scope="row"><span class="swatch" style=${{ background: COLOURS[i] }}></span>${name}</th><td class="right">${latest[i] === null || latest[i] === undefined ? '–' : unit === 'bytes/s' ? `${bytes(latest[i])}/s` : `${latest[i].toLocaleString('en', { maximumFractionDigits: 2 })} ${unit.startsWith('MiB') ? '' : unit}`}</td></tr>`)}</tbody></table></section>`;
}

export function Metrics() {
    const [history, setHistory] = useState({ times: [], values: PLOTS.map(([, , series]) => series.map(() => [])) });
    const [error, setError] = useState(null);
    const last = useRef(null);
    useEvery(SECONDS * 1000, async () => {
        try {
            const answer = await fetch('/metrics', { cache: 'no-store' });
            if (!answer.ok)
                throw new Error(`metrics: status ${answer.status}`);
            const now = parseMetrics(await answer.text());
            const at = Date.now() / 1000;
            const before = last.current;
            last.current = { now, at };
            setError(null);
            if (before)
                setHistory((old) => ({
                    times: [...old.times, at].slice(-KEPT),
                    values: PLOTS.map(([, , series], i) => series.map(([, read], j) => [...old.values[i][j], read(now, before.now, at - before.at)].slice(-KEPT))),
                }));
        } catch (problem) {
            setError(problem);
        }
    });
    return html`<div class="bar"><h2 class="grow">Metrics</h2><a href="/metrics" target="_blank" rel="noreferrer">as text, for Prometheus</a></div>
        ${error && html`<${Failure} error=${error} />`}
        <div class="plots">${history.times.length > 0 && PLOTS.map(([title, unit, series], i) => html`<${Plot} key=${title} title=${title} unit=${unit} names=${series.map(([name]) => name)} times=${history.times} series=${history.values[i]} />`)}</div>
        ${history.times.length === 0 && html`<p class="quiet">collecting…</p>`}`;
}
