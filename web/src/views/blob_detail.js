// SPDX-License-Identifier: Apache-2.0
// One blob: properties, metadata, tags, history, lease, layout, preview, access.
import { useEffect, useState } from 'preact/hooks';
import * as api from '../api/blob.js';
import { saveAs } from '../api/transfer.js';
import { bytes, relative, time } from '../ui/format.js';
import { html } from '../ui/html.js';
import { Failure, Pairs, Tabs, useApp, useEvery } from '../ui/parts.js';
import { SasDialog } from './access.js';
import { History } from './blob_history.js';
import { Preview } from './preview.js';

const TABS = [['properties', 'Properties'], ['preview', 'Preview'], ['metadata', 'Metadata'], ['tags', 'Tags'], ['history', 'History'], ['lease', 'Lease'], ['layout', 'Layout']];
const EDITABLE = [['content-type', 'Content type'], ['content-encoding', 'Encoding'], ['content-language', 'Language'], ['content-disposition', 'Disposition'], ['cache-control', 'Cache control']];

const NOT_OF_THE_BLOB = new Set(['date', 'server', 'connection', 'vary', 'x-ms-request-id', 'x-ms-version', 'x-ms-client-request-id', 'content-security-policy', 'x-content-type-options', 'cross-origin-resource-policy', 'cross-origin-opener-policy', 'referrer-policy', 'x-frame-options']);

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
    const rows = Object.entries(head.headers).filter(([name]) => !name.startsWith('x-ms-meta-') && !NOT_OF_THE_BLOB.has(name));
    const save = () => act('Properties saved', () => api.setProperties(session, container, blob.name, {
        ...Object.fromEntries(EDITABLE.map(([name]) => [name, edited[name] ?? head.headers[name]])), 'content-md5': head.headers['content-md5'],
    }, head.etag)).then(changed);
    const [days, setDays] = useState(1);
    const hold = head.headers['x-ms-legal-hold'] === 'true';
    const until = head.headers['x-ms-immutability-policy-until-date'];
    return html`${!past && html`<fieldset><legend>Headers of downloads</legend>${EDITABLE.map(([name, title]) => html`<label>${title}<input value=${edited[name] ?? head.headers[name] ?? ''} onInput=${(event) => setEdited({ ...edited, [name]: event.target.value })} /></label>`)}
            <div class="bar"><button class="primary" onClick=${save}>Save</button>
            <label class="inline">Tier<select aria-label="Tier" value=${head.headers['x-ms-access-tier'] ?? ''} onChange=${(event) => act('Tier changed', () => api.setTier(session, container, blob, event.target.value)).then(changed)}>
                ${['', 'Hot', 'Cool', 'Cold', 'Archive'].map((one) => html`<option>${one}</option>`)}</select></label>
            </div></fieldset>
        <fieldset><legend>Protection</legend>
            <p>${hold ? 'Under legal hold.' : 'No legal hold.'} ${until ? `Kept until ${time(until)} (${head.headers['x-ms-immutability-policy-mode']}).` : 'No retention period.'}</p>
            <div class="bar"><button onClick=${() => act(hold ? 'Hold taken off' : 'Held', () => api.legalHold(session, container, blob.name, !hold)).then(changed)}>${hold ? 'Take legal hold off' : 'Legal hold'}</button>
            <label class="inline">Days<input type="number" min="1" max="36500" value=${days} onInput=${(event) => setDays(Number(event.target.value))} /></label>
            <button disabled=${!(days >= 1)} onClick=${() => act('Retention period set', () => api.setImmutability(session, container, blob.name, new Date(Date.now() + days * 86400e3))).then(changed)}>Keep for so long</button>
            ${until && html`<button onClick=${() => act('Retention period taken off', () => api.setImmutability(session, container, blob.name)).then(changed)}>Take period off</button>`}</div></fieldset>`}
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

function Layout({ container, blob, head }) {
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
        ${rows.length === 0 && html`<p class="quiet">${blob.type === 'AppendBlob' ? `${head.headers['x-ms-blob-committed-block-count'] ?? 0} appended blocks.` : blob.type === 'PageBlob' ? 'Nothing was written: all zeros.' : 'One piece, uploaded as a whole.'} Modified ${relative(blob.modified)}.</p>`}`;
}

function BlobPreview({ container, blob, head }) {
    const { session } = useApp();
    return html`<${Preview} name=${blob.name} type=${head.headers['content-type'] ?? ''} size=${head.size}
        fetchPart=${(from, to) => api.download(session, container, blob, head.size === 0 ? {} : { from, to })} />`;
}
