// SPDX-License-Identifier: Apache-2.0
// Snapshots and versions of a blob as a time line, newest first, with restore and compare.
import { useEffect, useState } from 'preact/hooks';
import * as api from '../api/blob.js';
import { diffLines, shortened } from '../api/diff.js';
import { saveAs } from '../api/transfer.js';
import { bytes, time } from '../ui/format.js';
import { html } from '../ui/html.js';
import { Dialog, Failure, useApp } from '../ui/parts.js';
import { blobKey } from './blob_list.js';

const COMPARED_BYTES = 256 << 10;

const isPast = (row) => Boolean(row.snapshot || (row.versionId && !row.current));
const titleOf = (row) => `${row.snapshot ? 'snapshot' : row.versionId ? (row.current ? 'current version' : 'version') : 'now'} ${time(row.snapshot || row.versionId || row.modified)}`;

async function allOf(session, container, name) {
    const found = [];
    let marker = '';
    do {
        const page = await api.listBlobs(session, container, { prefix: name, marker, include: ['snapshots', 'versions', 'deleted'] });
        found.push(...page.rows.filter((row) => row.name === name));
        // Names are in order: once a longer one comes, there are no more of this one.
        marker = page.rows.at(-1)?.name === name ? page.marker : '';
    } while (marker);
    return found.sort((a, b) => (isPast(a) === isPast(b) ? Date.parse(b.snapshot || b.versionId || b.modified) - Date.parse(a.snapshot || a.versionId || a.modified) : isPast(a) ? 1 : -1));
}

export function History({ container, blob, head, changed }) {
    const { session, act, transfers } = useApp();
    const [rows, setRows] = useState(null);
    const [error, setError] = useState(null);
    const [marked, setMarked] = useState([]);
    const [comparing, setComparing] = useState(false);
    const load = () => allOf(session, container, blob.name).then(setRows, setError);
    useEffect(() => { void load(); }, [head.etag]);
    const restore = (row) => act('Restored', () => api.copyBlob(session, { container, blob: row }, { container, name: blob.name }, { etag: isPast(blob) ? undefined : head.etag })).then(changed);
    const remove = (row) => act('Deleted', () => api.deleteBlob(session, container, row, { snapshots: false })).then(load);
    const mark = (key) => setMarked(marked.includes(key) ? marked.filter((one) => one !== key) : [...marked, key].slice(-2));
    const pair = (rows ?? []).filter((row) => marked.includes(blobKey(row)));
    return html`<div class="bar"><button onClick=${() => act('Snapshot made', () => api.snapshotBlob(session, container, blob.name)).then(load)}>Make a snapshot</button>
            <button disabled=${pair.length !== 2} onClick=${() => setComparing(true)}>Compare two</button></div>
        ${error && html`<${Failure} error=${error} />`}
        <ol class="timeline">${(rows ?? []).map((row) => html`<li key=${blobKey(row)}>
            <label class="inline"><input type="checkbox" disabled=${row.deleted} checked=${marked.includes(blobKey(row))} onChange=${() => mark(blobKey(row))} aria-label=${`Compare ${titleOf(row)}`} /><b>${titleOf(row)}</b> · ${bytes(row.size)}${row.deleted ? html` <span class="badge bad">deleted</span>` : ''}</label>
            <div class="quiet">${row.etag}</div>
            ${isPast(row) && !row.deleted && html`<div class="bar"><button onClick=${() => restore(row)}>Restore</button><button onClick=${() => transfers.downloadBlob(session, container, row, row.size, row.etag, { saveAs: saveAs(row.name) })}>Download</button>
                <button class="danger" onClick=${() => remove(row)}>Delete</button></div>`}</li>`)}</ol>
        ${comparing && html`<${Compare} container=${container} older=${pair[1]} newer=${pair[0]} onClose=${() => setComparing(false)} />`}`;
}

/** The texts of two states of the blob, line by line; of bytes that are no text only whether they differ. */
function Compare({ container, older, newer, onClose }) {
    const { session } = useApp();
    const [said, setSaid] = useState(null);
    const [error, setError] = useState(null);
    useEffect(() => {
        const read = async (row) => (row.size === 0 ? new Uint8Array() : new Uint8Array(await (await api.download(session, container, row, { from: 0, to: Math.min(row.size, COMPARED_BYTES) - 1 })).arrayBuffer()));
        const load = async () => {
            const [a, b] = await Promise.all([read(older), read(newer)]);
            if (a.includes(0) || b.includes(0)) {
                const at = a.findIndex((byte, i) => byte !== b[i]);
                return { note: at < 0 && a.length === b.length ? 'The bytes are the same.' : `They are no text, and differ from byte ${at < 0 ? a.length : at} on.` };
            }
            const decode = (data) => new TextDecoder().decode(data);
            return { lines: shortened(diffLines(decode(a), decode(b))), same: decode(a) === decode(b), cut: Math.max(older.size, newer.size) > COMPARED_BYTES };
        };
        load().then(setSaid, setError);
    }, []);
    const words = { '+': 'added', '-': 'removed', ' ': '', '…': '' };
    return html`<${Dialog} wide title=${`${titleOf(older)} → ${titleOf(newer)}`} onClose=${onClose}>
        ${error && html`<${Failure} error=${error} />`}
        ${said?.note && html`<p>${said.note}</p>`}
        ${said?.same && html`<p>The texts are the same.</p>`}
        ${said?.lines && !said.same && html`<pre class="diff" tabindex="0" aria-label="Differences">${said.lines.map(({ sign, text }) => html`<div class=${{ '+': 'plus', '-': 'minus', '…': 'quiet' }[sign] ?? ''}><span class="hidden">${words[sign]}</span>${`${sign} ${text}`}</div>`)}</pre>`}
        ${said?.cut && html`<p class="quiet">Only the first ${bytes(COMPARED_BYTES)} were compared.</p>`}
    <//>`;
}
