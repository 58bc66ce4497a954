// SPDX-License-Identifier: Apache-2.0
// A look into an object: text, JSON, CSV, Parquet heads, images, PDF, audio, video. Stored bytes never run here: text is put in
// as text, images only as <img>, PDF in a frame of its own kind, all from blob: URLs that the page made.
import { useEffect, useState } from 'preact/hooks';
import { parseCsv } from '../api/csv.js';
import { parquetSchema } from '../api/parquet.js';
import { parquetRows } from '../api/parquet_rows.js';
import { bytes } from '../ui/format.js';
import { html } from '../ui/html.js';
import { Failure } from '../ui/parts.js';

const TEXT_BYTES = 256 << 10;
const MEDIA_BYTES = 64 << 20;
const IMAGES = { png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg', gif: 'image/gif', webp: 'image/webp', avif: 'image/avif', svg: 'image/svg+xml', bmp: 'image/bmp', ico: 'image/x-icon' };
const MEDIA = { mp4: 'video/mp4', webm: 'video/webm', mov: 'video/mp4', mp3: 'audio/mpeg', wav: 'audio/wav', ogg: 'audio/ogg', flac: 'audio/flac', m4a: 'audio/mp4' };

export function kindOf(name, type) {
    const end = name.split('.').at(-1).toLowerCase();
    const plain = type.split(';')[0].trim().toLowerCase();
    if (end === 'parquet')
        return { kind: 'parquet' };
    if (plain.startsWith('image/') || IMAGES[end])
        return { kind: 'image', type: plain.startsWith('image/') ? plain : IMAGES[end] };
    if (plain === 'application/pdf' || end === 'pdf')
        return { kind: 'pdf', type: 'application/pdf' };
    if (/^(audio|video)\//.test(plain) || MEDIA[end]) {
        const media = /^(audio|video)\//.test(plain) ? plain : MEDIA[end];
        return { kind: media.startsWith('video') ? 'video' : 'audio', type: media };
    }
    if (end === 'csv' || plain === 'text/csv')
        return { kind: 'csv' };
    if (end === 'json' || plain.endsWith('json'))
        return { kind: 'json' };
    return { kind: 'text' };
}

function isBinary(data) {
    return data.subarray(0, 4096).includes(0);
}

function hexDump(data) {
    const lines = [];
    for (let at = 0; at < Math.min(data.length, 1024); at += 16) {
        const part = [...data.subarray(at, at + 16)];
        lines.push(`${at.toString(16).padStart(8, '0')}  ${part.map((byte) => byte.toString(16).padStart(2, '0')).join(' ').padEnd(47)}  ${part.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '.')).join('')}`);
    }
    return lines.join('\n');
}

export function Preview({ name, type, size, fetchPart }) {
    const [shown, setShown] = useState(null);
    const [error, setError] = useState(null);
    useEffect(() => {
        let url;
        let gone = false;
        const what = kindOf(name, type);
        const load = async () => {
            if (['image', 'pdf', 'audio', 'video'].includes(what.kind)) {
                if (size > MEDIA_BYTES)
                    return { kind: 'note', text: `${bytes(size)} is too much for a preview; download it instead.` };
                const answer = await fetchPart(0, size - 1);
                url = URL.createObjectURL(new Blob([await answer.arrayBuffer()], { type: what.type }));
                return { ...what, url };
            }
            if (what.kind === 'parquet') {
                const read = async (from, to) => new Uint8Array(await (await fetchPart(from, to)).arrayBuffer());
                const schema = await parquetSchema(size, read);
                return { kind: 'parquet', ...schema, head: await parquetRows(schema, read) };
            }
            const data = size === 0 ? new Uint8Array() : new Uint8Array(await (await fetchPart(0, Math.min(size, TEXT_BYTES) - 1)).arrayBuffer());
            if (isBinary(data))
                return { kind: 'hex', text: hexDump(data) };
            return { kind: what.kind, text: new TextDecoder().decode(data), cut: size > TEXT_BYTES };
        };
        load().then((value) => { if (!gone) setShown(value); }, setError);
        return () => { gone = true; if (url) URL.revokeObjectURL(url); };
    }, [name, size]);
    if (error)
        return html`<${Failure} error=${error} />`;
    if (!shown)
        return html`<p class="quiet">loading…</p>`;
    return html`<div class="preview">${view(shown, name)}${shown.cut ? html`<p class="quiet">The first ${bytes(TEXT_BYTES)} of ${bytes(size)}.</p>` : ''}</div>`;
}

function view(shown, name) {
    switch (shown.kind) {
    case 'image': return html`<img src=${shown.url} alt=${`Preview of ${name}`} />`;
    case 'pdf': return html`<iframe title=${`Preview of ${name}`} src=${shown.url}></iframe>`;
    case 'audio': return html`<audio controls src=${shown.url}></audio>`;
    case 'video': return html`<video controls src=${shown.url}></video>`;
    case 'note': return html`<p>${shown.text}</p>`;
    case 'json': return html`<pre tabindex="0">${pretty(shown.text)}</pre>`;
    case 'csv': {
        const [head = [], ...rows] = parseCsv(shown.text, 200);
        return html`<table class="plain"><thead><tr>${head.map((cell) => html`<th scope="col">${cell}</th>`)}</tr></thead><tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody></table>`;
    }
    case 'parquet': return html`<p>${shown.rows} ${shown.rows === 1 ? 'row' : 'rows'} in ${shown.groups} row ${shown.groups === 1 ? 'group' : 'groups'}${shown.createdBy ? `, written by ${shown.createdBy}` : ''}</p>
        ${parquetHead(shown.head)}
        <table class="plain"><caption>Columns</caption><thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Repetition</th></tr></thead>
        <tbody>${shown.columns.map((column) => html`<tr><td>${column.name}</td><td>${column.type}</td><td>${column.repetition}</td></tr>`)}</tbody></table>`;
    default: return html`<pre tabindex="0">${shown.text}</pre>`;
    }
}

/** The first rows; of columns that cannot be read, why. */
function parquetHead(head) {
    const read = head.filter(({ values }) => values);
    const rows = Math.max(0, ...read.map(({ values }) => values.length));
    return html`${rows > 0 && html`<div class="scroll head-rows" tabindex="0"><table class="plain"><caption>${rows === 1 ? 'The first row' : `The first ${rows} rows`}</caption><thead><tr>${read.map(({ name }) => html`<th scope="col">${name}</th>`)}</tr></thead>
        <tbody>${Array.from({ length: rows }, (_, i) => html`<tr>${read.map(({ values }) => html`<td>${values[i] ?? html`<span class="quiet">null</span>`}</td>`)}</tr>`)}</tbody></table></div>`}
        ${[...new Set(head.map(({ reason }) => reason).filter(Boolean))].map((reason) => html`<p class="quiet">Values that are not shown, as ${reason}: ${head.filter((one) => one.reason === reason).map(({ name }) => name).join(', ')}</p>`)}`;
}

function pretty(text) {
    try {
        return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
        return text;
    }
}
