// SPDX-License-Identifier: Apache-2.0
// Boards of the inspector: who holds what at this moment.
import { useEffect, useState } from 'preact/hooks';
import { lease as blobLease } from '../api/blob.js';
import { breakLease, closeHandle } from '../api/file.js';
import * as api from '../api/inspect.js';
import { listQueues } from '../api/queue.js';
import { plural, relative, time } from '../ui/format.js';
import { Grid } from '../ui/grid.js';
import { html } from '../ui/html.js';
import { Confirm, Failure, useApp, useEvery } from '../ui/parts.js';
import { Plot } from './metrics.js';
import { useRefusals } from './inspect.js';

/** Asks again and again: {data, error, at, load}. */
function useBoard(ms, ask, dependencies = []) {
    const [state, setState] = useState({ data: null, error: null, at: Date.now() });
    const load = () => ask().then((data) => setState({ data, error: null, at: Date.now() }), (error) => setState((old) => ({ ...old, error, at: Date.now() })));
    useEvery(ms, load, dependencies);
    return { ...state, load };
}

function useNow(ms = 250) {
    const [now, setNow] = useState(Date.now());
    useEvery(ms, () => setNow(Date.now()));
    return now;
}

const Cut = ({ data }) => (data?.cut ? html`<p class="quiet">There are more than are shown.</p>` : null);

export function Leases() {
    const { session, act } = useApp();
    const { data, error, at, load } = useBoard(2000, () => api.leases(session));
    const now = useNow();
    const [asked, setAsked] = useState(null);
    const left = (row) => {
        if (row.secondsLeft === undefined || row.secondsLeft === null)
            return row.duration === 'infinite' ? 'for ever' : '';
        const seconds = Math.max(0, row.secondsLeft - (now - at) / 1000);
        return html`<progress max="60" value=${seconds} aria-label="Time left"></progress> ${Math.ceil(seconds)} s`;
    };
    const stop = (row) => act(`Lease of ${api.resourceOf(row)} broken`, () => (row.service === 'file' ? breakLease(session, row.container, row.object)
        : blobLease(session, row.container, row.object || undefined, 'break', { period: 0 }))).then(load);
    return html`${error && html`<${Failure} error=${error} retry=${load} />`}
        <div class="card scroll" tabindex="0" role="region" aria-label="Leases"><table class="plain"><caption>${data ? plural(data.leases.length, 'lease') : 'loading…'}</caption>
            <thead><tr><th scope="col">Resource</th><th scope="col">State</th><th scope="col">Time left</th><th scope="col">Taken by</th><th scope="col"><span class="hidden">Actions</span></th></tr></thead>
            <tbody>${(data?.leases ?? []).map((row) => html`<tr key=${`${row.service}/${api.resourceOf(row)}`}><th scope="row">${row.service} ${api.resourceOf(row)}</th><td>${row.state}</td><td class="left">${left(row)}</td><td>${row.madeBy ? api.whoOf(row.madeBy) : ''}</td>
                <td>${row.state !== 'broken' && html`<button class="danger" aria-label=${`Break the lease of ${api.resourceOf(row)}`} onClick=${() => setAsked(row)}>Break</button>`}</td></tr>`)}</tbody></table></div>
        <${Cut} data=${data} />
        ${asked && html`<${Confirm} title="Break lease" action="Break" text=${`The lease of ${api.resourceOf(asked)} ends at once; its holder can write no more with its id.`} onYes=${() => stop(asked)} onClose=${() => setAsked(null)} />`}`;
}

const lockText = (lock) => `${lock.exclusive ? 'exclusive' : 'shared'} ${lock.offset}–${BigInt(lock.offset) + BigInt(lock.length) - 1n}`;

export function Opens() {
    const { session, act } = useApp();
    const { data, error, load } = useBoard(2000, () => api.opens(session));
    const [asked, setAsked] = useState(null);
    const columns = [
        { title: 'File', cell: (row) => `${row.share}/${row.path}`, width: 'minmax(160px, 2fr)' },
        { title: 'Client', cell: (row) => [row.clientName, row.address].filter(Boolean).join(' '), width: 'minmax(110px, 1fr)' },
        { title: 'Access', cell: (row) => row.access, width: '70px', wide: true },
        { title: 'Shares', cell: (row) => row.sharing || 'nothing', width: '80px', wide: true },
        { title: 'Caching', cell: (row) => row.caching || '', width: '80px', wide: true },
        { title: 'Locks', cell: (row) => (row.lockCount ? (row.locks ?? []).map(lockText).join(', ') : ''), hint: (row) => (row.locks ?? []).map(lockText).join('\n'), width: 'minmax(120px, 1fr)' },
        { title: 'Open', cell: (row) => `${relative(row.opened)}${row.disconnected ? ', client gone' : ''}${row.deletePending ? ', to be deleted' : ''}`, width: '130px', wide: true },
    ];
    return html`${error && html`<${Failure} error=${error} retry=${load} />`}
        <${Grid} label="SMB opens and locks" columns=${columns} rows=${data?.opens ?? []} keyOf=${(row) => `${row.share}/${row.handleId}`} nameOf=${(row) => row.path} onOpen=${setAsked} loading=${!data} empty="Nothing is open over SMB." />
        <p class="quiet">Letters: r read, w write, d delete. A REST write to a file fails with SharingViolation while an open does not share writing. Open a row to close it.</p>
        <${Cut} data=${data} />
        ${asked && html`<${Confirm} title="Close handle" action="Close it" text=${`${asked.share}/${asked.path}, opened by ${asked.clientName ?? ''} ${asked.address ?? ''} ${relative(asked.opened)}. The client loses it at once.`}
            onYes=${() => act('Closed', () => closeHandle(session, asked.share, asked.path, asked.handleId)).then(load)} onClose=${() => setAsked(null)} />`}`;
}

export function InFlight() {
    const { session } = useApp();
    const [queues, setQueues] = useState(null);
    const [queue, setQueue] = useState('');
    const [error, setError] = useState(null);
    useEffect(() => { listQueues(session).then(({ rows }) => { setQueues(rows); setQueue(rows[0]?.name ?? ''); }, setError); }, []);
    const board = useBoard(1500, async () => (queue ? api.inFlight(session, queue) : null), [queue]);
    const now = useNow(1000);
    const passed = (now - board.at) / 1000;
    const columns = [
        { title: 'Message', cell: (row) => row.id, width: 'minmax(180px, 2fr)' },
        { title: 'State', cell: (row) => row.state, width: '90px', wide: true },
        { title: 'Back in', cell: (row) => (row.secondsLeft === undefined ? '' : `${Math.max(0, Math.ceil(row.secondsLeft - passed))} s`), width: '90px' },
        { title: 'Receipt is', cell: (row) => (row.receiptAgeSeconds === undefined ? '' : `${Math.floor(row.receiptAgeSeconds + passed)} s old`), width: '110px' },
        { title: 'Got', cell: (row) => row.dequeueCount, width: '60px', align: 'right', wide: true },
        { title: 'Put', cell: (row) => time(row.inserted), width: '170px', wide: true },
    ];
    return html`<div class="bar"><label class="inline">Queue<select value=${queue} onChange=${(event) => setQueue(event.target.value)}>${(queues ?? []).map((one) => html`<option>${one.name}</option>`)}</select></label>
            ${board.data && html`<span class="quiet">${plural(board.data.messages.length, 'message')} in flight of ${board.data.total}</span>`}</div>
        ${(error ?? board.error) && html`<${Failure} error=${error ?? board.error} />`}
        <${Grid} label="Messages in flight" columns=${columns} rows=${board.data?.messages ?? []} keyOf=${(row) => row.id} loading=${Boolean(queue) && !board.data && !board.error} empty=${queues?.length === 0 ? 'There are no queues.' : 'Nobody works on a message of this queue.'} />
        <p class="quiet">Those that somebody got and neither deleted nor let come back. An old receipt is refused once the message was got again.</p>`;
}

const SPAN_SECONDS = 120;

export function Contention() {
    const { session, go } = useApp();
    const { data, error, load } = useBoard(2000, () => api.contention(session));
    const { rows } = useRefusals();
    const now = useNow(1000);
    const [times, counts] = api.perSecond(rows, SPAN_SECONDS, now);
    const most = Math.max(1, ...(data?.hottest ?? []).map((row) => row.refusals));
    const byRule = {};
    for (const row of data?.hottest ?? [])
        for (const [rule, count] of Object.entries(row.rules ?? {}))
            byRule[rule] = (byRule[rule] ?? 0) + count;
    return html`${error && html`<${Failure} error=${error} retry=${load} />`}
        <div class="plots"><${Plot} title="Refusals a second" unit="1/s" names=${['refusals']} times=${times} series=${[counts]} />
        <section class="card"><h3>By rule</h3><table class="plain"><caption class="hidden">Refusals by rule</caption><tbody>${Object.entries(byRule).sort((a, b) => b[1] - a[1]).map(([rule, count]) => html`<tr><th scope="row" class="rule">${rule}</th><td>${api.RULES[rule] ?? ''}</td><td class="right">${count}</td></tr>`)}</tbody></table>
            ${Object.keys(byRule).length === 0 && html`<p class="quiet">None yet.</p>`}</section></div>
        <div class="card scroll" tabindex="0" role="region" aria-label="Hottest resources"><table class="plain"><caption>Hottest resources of the last 1000 refusals${data?.since ? `, since ${time(data.since)}` : ''}</caption>
            <thead><tr><th scope="col">Resource</th><th scope="col">Refusals</th><th scope="col">Rules</th></tr></thead>
            <tbody>${(data?.hottest ?? []).map((row) => html`<tr><th scope="row"><button class="link" onClick=${() => go('inspect', 'timeline', row.service, api.resourceOf(row))}>${row.service} ${api.resourceOf(row)}</button></th>
                <td><progress max=${most} value=${row.refusals} aria-label=${`Refusals of ${api.resourceOf(row)}`}></progress> ${row.refusals}</td><td>${Object.entries(row.rules ?? {}).map(([rule, count]) => `${rule} × ${count}`).join(', ')}</td></tr>`)}</tbody></table></div>`;
}
