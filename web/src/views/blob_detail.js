// SPDX-License-Identifier: Apache-2.0
// One blob: properties, metadata, tags, history, lease, layout, preview, access.
import { useEffect, useState } from 'preact/hooks';
import * as api from '../api/blob.js';
import { saveAs } from '../api/transfer.js';
import { bytes, relative, time } from '../ui/format.js';
import { html } from '../ui/html.js';
import { Failure, Pairs, Tabs, useApp, useEvery } from '../ui/parts.js';
import { SasDialog } from './access.js';
import { Preview } from './preview.js';

const TABS = [['properties', 'Properties'], ['preview', 'Preview'], ['metadata', 'Metadata'], ['tags', 'Tags'], ['history', 'History'], ['lease', 'Lease'], ['layout', 'Layout']];
const EDITABLE = [['content-type', 'Content type'], ['content-encoding', 'Encoding'], ['content-language', 'Language'], ['content-disposition', 'Disposition'], ['cache-control', 'Cache control']];

export function BlobDetail({ container, blob, onClose, onChanged }) {
    const { session, transfers, act } = useApp();
    const [tab, setTab] = useState('properties');
    const [head, setHead] = useState(null);
    const [error, setError] = useState(null);
    const [sharing, setSharing] = useState(false);
    const load = () => (blob.deleted ? undefined : api.getProperties(session, container, blob).then((got) => { setHead(got); setError(null); }, setError));
    useEffect(() => { void load(); }, []);
    const past = Boolean(blob.snapshot || (blob.versionId && !blob.current));
    const changed = async () => { await load(); onChanged?.(); };
    const props = { container, blob, head, past, changed };
    const download = () => transfers.downloadBlob(session, container, blob, head.size, head.etag, { saveAs: saveAs(blob.name) });
    return html`<aside class="detail" aria-label=${`Blob ${blob.name}`}>
        <div class="bar"><h3 class="grow">${blob.name}</h3><button class="icon" aria-label="Close details" onClick=${onClose}>✕</button></div>
        <div class="bar"><button disabled=${!head} onClick=${download}>Download</button><button onClick=${() => setSharing(true)}>Access (SAS)</button>
            ${blob.deleted && html`<button class="primary" onClick=${() => act(`Undeleted ${blob.name}`, () => api.undeleteBlob(session, container, blob.name)).then(() => { onClose(); onChanged(); })}>Undelete</button>`}
            ${past && !blob.deleted && html`<button onClick=${() => act('Restored', () => api.copyBlob(session, { container, blob }, { container, name: blob.name })).then(onChanged)}>Restore this one</button>`}</div>
        <${Tabs} label="Details" tabs=${TABS} active=${tab} onChange=${setTab} />
        ${error && html`<${Failure} error=${error} retry=${load} />`}
        ${head && html`<div role="tabpanel" aria-labelledby=${`tab-${tab}`}><${{ properties: Properties, preview: BlobPreview, metadata: Metadata, tags: Tags, history: History, lease: Lease, layout: Layout }[tab]} ...${props} /></div>`}
        ${sharing && html`<${SasDialog} service="blob" name=${container} object=${blob.name} onClose=${() => setSharing(false)} />`}
    </aside>`;
}

function Properties({ container, blob, head, past, changed }) {
    const { session, act } = useApp();
    const [edited, setEdited] = useState({});
    const rows = Object.entries(head.headers).filter(([name]) => !name.startsWith('x-ms-meta-') && !['date', 'server', 'connection', 'x-ms-request-id', 'x-ms-version', 'content-security-policy', 'x-content-type-options', 'cross-origin-resource-policy', 'referrer-policy', 'x-frame-options'].includes(name));
    const save = () => act('Properties saved', () => api.setProperties(session, container, blob.name, {
        ...Object.fromEntries(EDITABLE.map(([name]) => [name, edited[name] ?? head.headers[name]])), 'content-md5': head.headers['content-md5'],
    }, head.etag)).then(changed);
    const hold = head.headers['x-ms-legal-hold'] === 'true';
    return html`${!past && html`<fieldset><legend>Headers of downloads</legend>${EDITABLE.map(([name, title]) => html`<label>${title}<input value=${edited[name] ?? head.headers[name] ?? ''} onInput=${(event) => setEdited({ ...edited, [name]: event.target.value })} /></label>`)}
            <div class="bar"><button class="primary" onClick=${save}>Save</button>
            <label class="inline">Tier<select aria-label="Tier" value=${head.headers['x-ms-access-tier'] ?? ''} onChange=${(event) => act('Tier changed', () => api.setTier(session, container, blob, event.target.value)).then(changed)}>
                ${['', 'Hot', 'Cool', 'Cold', 'Archive'].map((one) => html`<option>${one}</option>`)}</select></label>
            <button onClick=${() => act(hold ? 'Hold taken off' : 'Held', () => api.legalHold(session, container, blob.name, !hold)).then(changed)}>${hold ? 'Take legal hold off' : 'Legal hold'}</button></div></fieldset>`}
        <table class="plain"><caption>All headers</caption><tbody>${rows.map(([name, value]) => html`<tr><th scope="row">${name}</th><td>${value}</td></tr>`)}</tbody></table>`;
}

function Metadata({ container, blob, head, past, changed }) {
    const { session } = useApp();
    return html`<${Pairs} title="Metadata" pairs=${head.metadata} readOnly=${past} onSave=${async (metadata) => { await api.setMetadata(session, container, blob.name, metadata, head.etag); await changed(); }} />
        <p class="quiet">Saved with If-Match ${head.etag}: what somebody else changed meanwhile is not overwritten.</p>`;
}

function Tags({ container, blob }) {
    const { session, say } = useApp();
    const [tags, setTags] = useState(null);
    const [error, setError] = useState(null);
    const load = () => api.getTags(session, container, blob).then(setTags, setError);
    useEffect(() => { void load(); }, []);
    if (error)
        return html`<${Failure} error=${error} />`;
    return tags && html`<${Pairs} title="Tags" pairs=${tags} onSave=${async (next) => { await api.setTags(session, container, blob, next); say('Tags saved'); await load(); }} />`;
}

/** Snapshots and versions as a time line, newest first. */
function History({ container, blob, head, changed }) {
    const { session, act, transfers } = useApp();
    const [rows, setRows] = useState(null);
    const [error, setError] = useState(null);
    const load = () => api.listBlobs(session, container, { prefix: blob.name, include: ['snapshots', 'versions', 'deleted'] })
        .then((page) => setRows(page.rows.filter((row) => row.name === blob.name).reverse()), setError);
    useEffect(() => { void load(); }, [head.etag]);
    const restore = (row) => act('Restored', () => api.copyBlob(session, { container, blob: row }, { container, name: blob.name })).then(changed);
    const remove = (row) => act('Deleted', () => api.deleteBlob(session, container, row, { snapshots: false })).then(load);
    return html`<div class="bar"><button onClick=${() => act('Snapshot made', () => api.snapshotBlob(session, container, blob.name)).then(load)}>Make a snapshot</button></div>
        ${error && html`<${Failure} error=${error} />`}
        <ol class="timeline">${(rows ?? []).map((row) => {
            const isPast = row.snapshot || (row.versionId && !row.current);
            return html`<li><b>${row.snapshot ? 'snapshot' : row.versionId ? (row.current ? 'current version' : 'version') : 'now'}</b> ${time(row.snapshot || row.versionId || row.modified)} · ${bytes(row.size)}
                ${row.deleted ? html` <span class="badge bad">deleted</span>` : ''}
                <div class="quiet">${row.etag}</div>
                <div class="bar">${isPast && !row.deleted && html`<button onClick=${() => restore(row)}>Restore</button><button onClick=${() => transfers.downloadBlob(session, container, row, row.size, row.etag, { saveAs: saveAs(row.name) })}>Download</button>
                    <button class="danger" onClick=${() => remove(row)}>Delete</button>`}</div></li>`;
        })}</ol>`;
}

function Lease({ container, blob, head, changed }) {
    const { session, act } = useApp();
    const [seconds, setSeconds] = useState(60);
    const [id, setId] = useState('');
    const [until, setUntil] = useState(0);
    const [now, setNow] = useState(Date.now());
    useEvery(500, () => setNow(Date.now()));
    const state = head.headers['x-ms-lease-state'] ?? 'available';
    const run = (what, action, options) => act(what, async () => {
        const got = await api.lease(session, container, blob.name, action, options);
        if (got.id)
            setId(got.id);
        setUntil(['acquire', 'renew'].includes(action) && seconds > 0 ? Date.now() + seconds * 1000 : 0);
    }).then(changed);
    return html`<p>State: <b>${state}</b>${head.headers['x-ms-lease-duration'] ? `, ${head.headers['x-ms-lease-duration']}` : ''}${until > now ? ` · ${Math.ceil((until - now) / 1000)} s left` : ''}</p>
        <div class="bar"><label class="inline">Seconds<input type="number" min="-1" max="60" value=${seconds} onInput=${(event) => setSeconds(Number(event.target.value))} /></label><span class="quiet">15 to 60, or -1 for ever</span></div>
        <label>Lease id<input value=${id} onInput=${(event) => setId(event.target.value)} placeholder="of a lease that you hold" /></label>
        <div class="bar"><button onClick=${() => run('Lease acquired', 'acquire', { seconds })}>Acquire</button><button disabled=${!id} onClick=${() => run('Lease renewed', 'renew', { id })}>Renew</button>
            <button disabled=${!id} onClick=${() => run('Lease changed', 'change', { id, proposed: crypto.randomUUID() })}>Change</button>
            <button disabled=${!id} onClick=${() => run('Lease released', 'release', { id })}>Release</button><button class="danger" onClick=${() => run('Lease broken', 'break', { period: 0 })}>Break</button></div>`;
}

function Layout({ container, blob }) {
    const { session } = useApp();
    const [rows, setRows] = useState(null);
    const [error, setError] = useState(null);
    useEffect(() => {
        const work = blob.type === 'PageBlob' ? api.pageRanges(session, container, blob).then((ranges) => ranges.map((r) => [`${r.start}–${r.end}`, bytes(r.end - r.start + 1), 'written']))
            : blob.type === 'BlockBlob' ? api.blockList(session, container, blob).then((blocks) => blocks.map((b) => [b.id, bytes(b.size), b.kind === 'CommittedBlocks' ? 'committed' : 'uncommitted']))
                : Promise.resolve([]);
        work.then(setRows, setError);
    }, []);
    if (error)
        return html`<${Failure} error=${error} />`;
    return rows && html`<table class="plain"><caption>${blob.type === 'PageBlob' ? 'Page ranges' : 'Blocks'}: ${rows.length}</caption><thead><tr><th scope="col">${blob.type === 'PageBlob' ? 'Bytes' : 'Id'}</th><th scope="col">Size</th><th scope="col">State</th></tr></thead>
        <tbody>${rows.slice(0, 2000).map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody></table>
        ${rows.length === 0 && html`<p class="quiet">One piece, uploaded as a whole${blob.type === 'AppendBlob' ? ' by appends' : ''}. Modified ${relative(blob.modified)}.</p>`}`;
}

function BlobPreview({ container, blob, head }) {
    const { session } = useApp();
    return html`<${Preview} name=${blob.name} type=${head.headers['content-type'] ?? ''} size=${head.size}
        fetchPart=${(from, to) => api.download(session, container, blob, head.size === 0 ? {} : { from, to })} />`;
}
