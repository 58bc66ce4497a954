// SPDX-License-Identifier: Apache-2.0
// The concurrency inspector: why requests were refused and who made it so, as it happens.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import * as api from '../api/inspect.js';
import { time } from '../ui/format.js';
import { Grid } from '../ui/grid.js';
import { html } from '../ui/html.js';
import { Failure, Tabs, useApp, useEvery } from '../ui/parts.js';
import { Contention, InFlight, Leases, Opens } from './inspect_boards.js';

const TABS = [['refusals', 'Refusals'], ['requests', 'Requests'], ['timeline', 'Timeline'], ['leases', 'Leases'], ['opens', 'SMB opens and locks'], ['messages', 'Messages in flight'], ['contention', 'Contention']];
const KEPT = 1000;
const WAIT_SECONDS = 20;
const LATE_MS = 400;

export function Inspect({ path }) {
    const { session, go } = useApp();
    const [tab = 'refusals', ...rest] = path;
    if (session.credential.kind !== 'key')
        return html`<h2>Concurrency</h2><p>The inspector shows all of an account, so it needs the account key. You are signed in without it.</p>`;
    const shown = TABS.some(([id]) => id === tab) ? tab : 'refusals';
    const View = { refusals: Refusals, requests: Requests, timeline: Timeline, leases: Leases, opens: Opens, messages: InFlight, contention: Contention }[shown];
    return html`<div class="bar"><h2 class="grow">Concurrency</h2><button onClick=${() => go('tour')}>Guided tour</button></div>
        <${Tabs} label="Concurrency" tabs=${TABS} active=${shown} onChange=${(next) => go('inspect', next)} />
        <div class="panel" role="tabpanel" aria-labelledby=${`tab-${shown}`}><${View} key=${shown} path=${rest} /></div>`;
}

/** Refusals as they come: one request waits for the next ones all the time. */
export function useRefusals(options = {}) {
    const { session } = useApp();
    const [state, setState] = useState({ rows: [], error: null, loading: true });
    const [paused, setPaused] = useState(false);
    const next = useRef(0);
    useEffect(() => {
        if (paused)
            return undefined;
        let stopped = false;
        const again = async (first) => {
            const got = await api.events(session, { ...options, after: first - 1, limit: KEPT }).catch(() => null);
            const better = new Map((got?.events ?? []).map((event) => [event.id, event]));
            if (!stopped)
                setState((old) => ({ ...old, rows: old.rows.map((row) => better.get(row.id) ?? row) }));
        };
        const follow = async () => {
            while (!stopped) {
                try {
                    const got = await api.events(session, { ...options, after: next.current, wait: next.current ? WAIT_SECONDS : 0, limit: KEPT });
                    if (stopped)
                        return;
                    next.current = got.next;
                    setState((old) => ({ rows: [...[...got.events].sort((a, b) => b.id - a.id), ...old.rows].slice(0, KEPT), error: null, loading: false }));
                    // The winner of a race may be told of after the loser: ask for those once more.
                    const late = got.events.filter((event) => event.met?.etag && !event.madeBy?.current).map((event) => event.id);
                    if (late.length > 0)
                        setTimeout(() => void again(Math.min(...late)), LATE_MS);
                    if (got.events.length === 0 && !got.next)
                        await new Promise((go) => setTimeout(go, 1000));
                } catch (error) {
                    if (stopped)
                        return;
                    setState((old) => ({ ...old, error, loading: false }));
                    await new Promise((go) => setTimeout(go, 3000));
                }
            }
        };
        void follow();
        return () => { stopped = true; };
    }, [paused]);
    return { ...state, paused, setPaused, clear: () => setState((old) => ({ ...old, rows: [] })) };
}

function Refusals() {
    const { rows, error, loading, paused, setPaused, clear } = useRefusals();
    const [filter, setFilter] = useState('');
    const [openedId, setOpened] = useState(null);
    const opened = openedId === null ? null : rows.find((row) => row.id === openedId) ?? null;
    const shown = useMemo(() => (filter ? rows.filter((row) => `${api.resourceOf(row)} ${row.operation} ${row.error} ${row.rule ?? ''}`.toLowerCase().includes(filter.toLowerCase())) : rows), [rows, filter]);
    const columns = [
        { title: 'Time', cell: (row) => row.time.slice(11, 23), width: '115px' },
        { title: 'Operation', cell: (row) => row.operation, width: '140px', wide: true },
        { title: 'Resource', cell: (row) => api.resourceOf(row), hint: (row) => api.resourceOf(row), width: 'minmax(140px, 2fr)' },
        { title: 'Answer', cell: (row) => `${row.status} ${row.error ?? ''}`, width: 'minmax(130px, 1fr)' },
        { title: 'Rule', cell: (row) => row.rule ?? '', width: '60px', wide: true },
        { title: 'Made so by', cell: (row) => (row.madeBy ? api.whoOf(row.madeBy) : ''), width: 'minmax(150px, 2fr)', wide: true },
    ];
    return html`<div class="bar"><input type="search" aria-label="Refusals that contain" placeholder="Resource, operation, code or rule…" value=${filter} onInput=${(event) => setFilter(event.target.value)} />
            <span class="quiet" aria-live="polite">${paused ? 'stopped' : 'live'}, ${rows.length} refusals</span><span class="grow"></span>
            <button onClick=${() => setPaused(!paused)}>${paused ? 'Go on' : 'Stop'}</button><button onClick=${clear}>Clear</button></div>
        ${error && html`<${Failure} error=${error} />`}
        <div class=${`split${opened ? ' open' : ''}`}>
            <${Grid} label="Refusals" columns=${columns} rows=${shown} keyOf=${(row) => String(row.id)} onOpen=${(row) => setOpened(row.id)} loading=${loading} empty="Nothing was refused by concurrency control yet." />
            ${opened && html`<${Refusal} key=${opened.id} event=${opened} onClose=${() => setOpened(null)} />`}
        </div>`;
}

const EVERY_KIND = { kinds: ['refusal', 'write', 'read'] };

/** What is asked of the account, as it comes: writes, reads and refusals. Reads are kept only while somebody looks. */
function Requests() {
    const { go } = useApp();
    const { rows, error, loading, paused, setPaused, clear } = useRefusals(EVERY_KIND);
    const [filter, setFilter] = useState('');
    const shown = useMemo(() => (filter ? rows.filter((row) => `${api.resourceOf(row)} ${row.operation} ${row.status} ${row.error ?? ''} ${api.whoOf(row.request)}`.toLowerCase().includes(filter.toLowerCase())) : rows), [rows, filter]);
    const columns = [
        { title: 'Time', cell: (row) => row.time.slice(11, 23), width: '115px', wide: true },
        { title: 'Operation', cell: (row) => row.operation, width: 'minmax(100px, 1fr)' },
        { title: 'Resource', cell: (row) => api.resourceOf(row), hint: (row) => api.resourceOf(row), width: 'minmax(110px, 2fr)' },
        { title: 'Outcome', cell: (row) => (row.kind === 'refusal' ? html`<span class="badge bad">${row.status} ${row.error ?? ''}</span>` : KINDS[row.kind][1]), width: 'minmax(120px, 1fr)' },
        { title: 'Client', cell: (row) => api.whoOf(row.request), width: 'minmax(140px, 1fr)', wide: true },
    ];
    return html`<div class="bar"><input type="search" aria-label="Requests that contain" placeholder="Resource, operation, code or client…" value=${filter} onInput=${(event) => setFilter(event.target.value)} />
            <span class="quiet" aria-live="polite">${paused ? 'stopped' : 'live'}, ${rows.length} requests</span><span class="grow"></span>
            <button onClick=${() => setPaused(!paused)}>${paused ? 'Go on' : 'Stop'}</button><button onClick=${clear}>Clear</button></div>
        ${error && html`<${Failure} error=${error} />`}
        <${Grid} label="Requests" columns=${columns} rows=${shown} keyOf=${(row) => String(row.id)} onOpen=${(row) => go('inspect', 'timeline', row.service, api.resourceOf(row))} loading=${loading} empty="Nothing was asked for yet. What comes from now on is shown." />`;
}

const REQUEST = [['operation', 'Operation'], ['time', 'Time'], ['requestId', 'Request id'], ['clientRequestId', 'Client request id'], ['userAgent', 'Client'], ['address', 'Address'], ['etag', 'ETag']];

function Who({ title, who }) {
    return html`<table class="plain"><caption>${title}</caption><tbody>${REQUEST.filter(([name]) => who[name]).map(([name, words]) => html`<tr><th scope="row">${words}</th><td>${name === 'time' ? who.time.replace('T', ' ') : who[name]}</td></tr>`)}</tbody></table>`;
}

/** One refusal: why, what was sent and met, who asked, who made it so. */
export function Refusal({ event, onClose }) {
    const { go } = useApp();
    return html`<aside class="detail" aria-label=${`Refusal ${event.id}`}>
        <div class="bar"><h3 class="grow">${event.status} ${event.error}</h3><button class="icon" aria-label="Close details" onClick=${onClose}>✕</button></div>
        <p><b>${event.operation}</b> on <b>${api.resourceOf(event)}</b> was refused.</p>
        ${api.whyOf(event).map((sentence) => html`<p>${sentence}</p>`)}
        ${event.rule && html`<p class="quiet">Rule ${event.rule}${api.RULES[event.rule] ? `: ${api.RULES[event.rule]}` : ''}</p>`}
        <${Who} title="Who asked" who=${{ operation: event.operation, time: event.time, ...event.request }} />
        ${event.madeBy && html`<${Who} title="Who made it so" who=${event.madeBy} />`}
        <div class="bar"><button onClick=${() => go('inspect', 'timeline', event.service, api.resourceOf(event))}>Timeline of this resource</button></div>
    </aside>`;
}

const KINDS = { refusal: ['bad', 'refused'], write: ['', 'wrote'], read: ['faint', 'read'] };

/** Writers, readers and refusals of one resource, newest first. Reads are kept only while somebody looks. */
function Timeline({ path }) {
    const { session, go } = useApp();
    const [service = 'blob', resource = ''] = path;
    const [kind, setKind] = useState(service);
    const [text, setText] = useState(resource);
    const [rows, setRows] = useState([]);
    const [error, setError] = useState(null);
    const [reads, setReads] = useState(true);
    useEvery(1500, async () => {
        if (!resource)
            return;
        try {
            const got = await api.events(session, { resource, service, limit: 500, kinds: ['refusal', 'write', ...(reads ? ['read'] : [])] });
            setRows([...got.events].sort((a, b) => b.id - a.id));
            setError(null);
        } catch (problem) {
            setError(problem);
        }
    }, [service, resource, reads]);
    return html`<form class="bar" onSubmit=${(event) => { event.preventDefault(); go('inspect', 'timeline', kind, text.trim()); }}>
            <select aria-label="Service" value=${kind} onChange=${(event) => setKind(event.target.value)}>${['blob', 'queue', 'table', 'file'].map((one) => html`<option>${one}</option>`)}</select>
            <input class="grow" type="search" aria-label="Resource" placeholder="container/blob, queue, table/PartitionKey/RowKey, share/path" value=${text} onInput=${(event) => setText(event.target.value)} />
            <button class="primary" type="submit">Show</button><label class="inline"><input type="checkbox" checked=${reads} onChange=${(event) => setReads(event.target.checked)} />Reads</label></form>
        ${error && html`<${Failure} error=${error} />`}
        ${resource && rows.length === 0 && html`<p class="quiet">Nothing was kept of ${resource} yet. What happens from now on is shown.</p>`}
        <ol class="timeline card" aria-label="Events" tabindex="0">${rows.map((row) => html`<li key=${row.id} class=${KINDS[row.kind]?.[0]}>
            <span class="quiet">${row.time.slice(11, 23)}</span> <b>${row.operation}</b> ${KINDS[row.kind]?.[1]}${row.kind === 'refusal' ? html` <span class="badge bad">${row.status} ${row.error}</span>${row.rule ? ` rule ${row.rule}` : ''}` : row.etag ? html` <code>${row.etag}</code>` : ''}
            <div class="quiet">${api.whoOf(row.request ?? row)}${api.resourceOf(row) !== resource ? ` · ${api.resourceOf(row)}` : ''} · ${time(row.time).slice(0, 10)}</div>
            ${row.kind === 'refusal' && html`<div>${api.whyOf(row).join(' ')}</div>`}</li>`)}</ol>`;
}
