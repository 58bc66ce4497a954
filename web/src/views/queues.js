// SPDX-License-Identifier: Apache-2.0
// Queues and their messages: those that can be seen, those that somebody works on, what they say.
import { useState } from 'preact/hooks';
import * as api from '../api/queue.js';
import { plural, relative, time } from '../ui/format.js';
import { Grid, usePages } from '../ui/grid.js';
import { html } from '../ui/html.js';
import { Ask, Confirm, Dialog, Failure, OpenByName, Pairs, useApp, useEvery } from '../ui/parts.js';
import { SasDialog } from './access.js';

export function Queues({ path }) {
    return path[0] ? html`<${Queue} key=${path[0]} name=${path[0]} />` : html`<${QueueList} />`;
}

function QueueList() {
    const { session, go, act } = useApp();
    const [prefix, setPrefix] = useState('');
    const [selected, setSelected] = useState(new Set());
    const [dialog, setDialog] = useState(null);
    const pages = usePages((marker) => api.listQueues(session, { marker, prefix }), [prefix]);
    const columns = [
        { title: 'Name', cell: (row) => row.name, width: 'minmax(160px, 2fr)' },
        { title: 'Metadata', wide: true, cell: (row) => Object.entries(row.metadata).map(([name, value]) => `${name}=${value}`).join(', '), width: 'minmax(120px, 2fr)' },
    ];
    const remove = async () => {
        for (const name of selected)
            await act(`Deleted ${name}`, () => api.deleteQueue(session, name));
        setSelected(new Set());
        await pages.reload();
    };
    return html`<h2>Queues</h2>
        <div class="bar"><input type="search" aria-label="Names that begin with" placeholder="Names that begin with…" value=${prefix} onInput=${(event) => setPrefix(event.target.value)} />
            <span class="grow"></span><button class="primary" onClick=${() => setDialog('create')}>New queue</button>
            <button class="danger" disabled=${selected.size === 0} onClick=${() => setDialog('delete')}>Delete</button><button onClick=${pages.reload}>Refresh</button></div>
        ${pages.error && html`<${Failure} error=${pages.error} retry=${pages.reload} /><${OpenByName} what="queue" onOpen=${(name) => go('queue', name)} />`}
        <${Grid} label="Queues" columns=${columns} rows=${pages.rows} keyOf=${(row) => row.name} selected=${selected} onSelect=${setSelected} onOpen=${(row) => go('queue', row.name)} more=${pages.more} onMore=${pages.loadMore} loading=${pages.loading} empty="No queues." />
        ${dialog === 'create' && html`<${Ask} title="New queue" label="Name" hint="3 to 63 lower-case letters, digits and single hyphens." onClose=${() => setDialog(null)} onYes=${async (name) => { await api.createQueue(session, name); await pages.reload(); }} />`}
        ${dialog === 'delete' && html`<${Confirm} title="Delete queues" text=${`${plural(selected.size, 'queue')} with all messages in them.`} onYes=${remove} onClose=${() => setDialog(null)} />`}`;
}

/** What a message says: plain, or base64 taken off, JSON in lines. */
export function readMessage(text) {
    const decoded = /^[A-Za-z0-9+/]+={0,2}$/.test(text) && text.length % 4 === 0 ? tryDecode(text) : null;
    for (const [value, how] of [[text, 'JSON'], [decoded, 'JSON in base64']]) {
        try {
            if (value !== null && /^\s*[[{]/.test(value))
                return { shown: JSON.stringify(JSON.parse(value), null, 2), how };
        } catch { /* not JSON: shown as it is */ }
    }
    return decoded !== null && decoded !== '' ? { shown: decoded, how: 'base64' } : { shown: text, how: 'text' };
}

function tryDecode(text) {
    try {
        const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
        const decoded = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
        return /[\u0000-\u0008\u000e-\u001f]/.test(decoded) ? null : decoded;
    } catch {
        return null;
    }
}

/** All messages: through the inspector with an account key (1000, invisible ones too), else by peeking (32 visible ones). */
async function allMessages(session, name) {
    if (session.credential.kind === 'key') {
        try {
            const got = await session.admin('GET', '/api/v1/inspect/messages', { query: { queue: name, text: '1' } });
            const rows = got.messages.map((one) => ({ key: one.id, id: one.id, text: one.text, inserted: one.inserted, expires: one.expires, visible: one.visibleAt ?? '', dequeued: one.dequeueCount }));
            return { rows, whole: !got.cut, invisible: true };
        } catch (error) {
            // A server without an inspector still lets one peek.
            if (error.code === 'QueueNotFound')
                throw error;
        }
    }
    const rows = await api.peekMessages(session, name, 32);
    return { rows: rows.map((one) => ({ ...one, key: one.id })), whole: rows.length < 32, invisible: false };
}

function Queue({ name }) {
    const { session, go, act, say } = useApp();
    const [state, setState] = useState({ rows: [], whole: true, loading: true, error: null });
    const [taken, setTaken] = useState(new Map());
    const [selected, setSelected] = useState(new Set());
    const [opened, setOpened] = useState(null);
    const [dialog, setDialog] = useState(null);
    const [filter, setFilter] = useState('');
    const [now, setNow] = useState(Date.now());
    const load = async () => {
        setNow(Date.now());
        try {
            const [messages, properties] = await Promise.all([allMessages(session, name), api.queueProperties(session, name).catch(() => null)]);
            setState({ ...messages, properties, loading: false, error: null });
        } catch (error) {
            setState((old) => ({ ...old, loading: false, error }));
        }
    };
    useEvery(3000, load, [name]);
    const receipt = (row) => row.receipt || taken.get(row.id)?.receipt;
    const stateOf = (row) => (Date.parse(row.visible) > now ? 'invisible' : 'visible');
    const columns = [
        { title: 'Message', cell: (row) => (row.text === undefined ? html`<span class="quiet">too long to be listed</span>` : readMessage(row.text).shown.replace(/\s+/g, ' ').slice(0, 500)), width: 'minmax(180px, 3fr)' },
        { title: 'State', cell: (row) => (row.visible && stateOf(row) === 'invisible' ? html`<span class="badge">back ${relative(row.visible, now)}</span>` : 'visible'), width: '140px' },
        { title: 'Got', wide: true, cell: (row) => row.dequeued, width: '60px', align: 'right' },
        { title: 'Put', wide: true, cell: (row) => time(row.inserted), width: '170px' },
        { title: 'Expires', wide: true, cell: (row) => relative(row.expires, now), width: '110px' },
    ];
    const rows = filter ? state.rows.filter((row) => readMessage(row.text ?? '').shown.toLowerCase().includes(filter.toLowerCase())) : state.rows;
    const chosen = rows.filter((row) => selected.has(row.key));
    const get = (seconds, count) => act('Got messages', async () => {
        const got = await api.getMessages(session, name, { count, seconds });
        setTaken(new Map([...taken, ...got.map((one) => [one.id, one])]));
        say(`Got ${plural(got.length, 'message')}, invisible for ${seconds} s`);
    }).then(load);
    const removeChosen = async () => {
        const able = chosen.filter(receipt);
        for (const row of able)
            await api.deleteMessage(session, name, { id: row.id, receipt: receipt(row) }).catch((error) => say(`${error.code}: ${error.message}`, true));
        say(`Deleted ${plural(able.length, 'message')}${able.length < chosen.length ? `; ${chosen.length - able.length} must be got first: only a receipt deletes a message` : ''}`);
        setSelected(new Set());
        await load();
    };
    const invisible = state.invisible ? state.rows.filter((row) => stateOf(row) === 'invisible').length : null;
    return html`<nav class="crumbs" aria-label="Place"><button class="link" onClick=${() => go('queue')}>Queues</button> / <b>${name}</b></nav>
        <p class="quiet" aria-live="polite">${state.properties ? `about ${plural(state.properties.count, 'message')}` : ''}${invisible === null ? ' · the first 32 visible ones; the account key shows all' : ` · ${invisible} invisible now`}${state.whole ? '' : ' · more than are shown'}</p>
        <div class="bar"><input type="search" aria-label="Messages that contain" placeholder="Messages that contain…" value=${filter} onInput=${(event) => setFilter(event.target.value)} />
            <span class="grow"></span><button class="primary" onClick=${() => setDialog('put')}>Put message</button><button onClick=${() => setDialog('get')}>Get…</button>
            <button disabled=${chosen.length === 0} class="danger" onClick=${removeChosen}>Delete</button><button onClick=${() => setDialog('metadata')}>Metadata</button><button onClick=${() => setDialog('sas')}>Access (SAS)</button>
            <button class="danger" onClick=${() => setDialog('clear')}>Clear</button></div>
        ${state.error && html`<${Failure} error=${state.error} retry=${load} />`}
        <div class=${`split${opened ? ' open' : ''}`}>
            <${Grid} label="Messages" columns=${columns} rows=${rows} keyOf=${(row) => row.key} selected=${selected} onSelect=${setSelected} onOpen=${setOpened} loading=${state.loading} empty=${invisible ? 'All messages are invisible now.' : 'No messages.'} />
            ${opened && html`<${Message} key=${opened.key} queue=${name} message=${opened} receipt=${receipt(opened)} onClose=${() => setOpened(null)} onChanged=${load} />`}
        </div>
        ${dialog === 'put' && html`<${PutDialog} name=${name} onClose=${() => setDialog(null)} onDone=${load} />`}
        ${dialog === 'get' && html`<${GetDialog} onClose=${() => setDialog(null)} onYes=${get} />`}
        ${dialog === 'sas' && html`<${SasDialog} service="queue" name=${name} onClose=${() => setDialog(null)} />`}
        ${dialog === 'metadata' && html`<${Dialog} title="Metadata" onClose=${() => setDialog(null)}><${Pairs} title="Metadata" pairs=${state.properties?.metadata ?? {}} onSave=${async (metadata) => { await api.setQueueMetadata(session, name, metadata); say('Metadata saved'); await load(); }} /><//>`}
        ${dialog === 'clear' && html`<${Confirm} title="Clear queue" text="All messages, also those that somebody works on." action="Clear" onYes=${() => act('Cleared', () => api.clearMessages(session, name)).then(load)} onClose=${() => setDialog(null)} />`}`;
}

function Message({ queue, message, receipt, onClose, onChanged }) {
    const { session, act } = useApp();
    const read = readMessage(message.text ?? '');
    const [text, setText] = useState(message.text ?? '');
    const [target, setTarget] = useState('');
    return html`<aside class="detail" aria-label=${`Message ${message.id}`}>
        <div class="bar"><h3 class="grow">Message</h3><button class="icon" aria-label="Close details" onClick=${onClose}>✕</button></div>
        <p class="quiet">shown as ${read.how}</p><pre tabindex="0">${read.shown}</pre>
        <table class="plain"><caption>Properties</caption><tbody>${[['Id', message.id], ['Put', time(message.inserted)], ['Expires', time(message.expires)], ['Visible from', time(message.visible)], ['Got', message.dequeued], ['Receipt', receipt ? 'held by this page' : 'not held: get the message first']]
            .map(([name, value]) => html`<tr><th scope="row">${name}</th><td>${value}</td></tr>`)}</tbody></table>
        ${receipt && html`<label>New text<textarea value=${text} onInput=${(event) => setText(event.target.value)}></textarea></label>
            <div class="bar"><button onClick=${() => act('Updated', () => api.updateMessage(session, queue, { id: message.id, receipt }, text)).then(onChanged)}>Update and make visible</button>
            <button class="danger" onClick=${() => act('Deleted', () => api.deleteMessage(session, queue, { id: message.id, receipt })).then(() => { onClose(); onChanged(); })}>Delete</button></div>`}
        ${receipt && html`<div class="bar"><label class="inline">Move to queue<input value=${target} onInput=${(event) => setTarget(event.target.value)} /></label><button disabled=${!target} onClick=${() => act(`Moved to ${target}`, async () => {
            await api.putMessage(session, target, message.text);
            await api.deleteMessage(session, queue, { id: message.id, receipt });
        }).then(() => { onClose(); onChanged(); })}>Move</button></div>`}
    </aside>`;
}

function PutDialog({ name, onClose, onDone }) {
    const { session, act } = useApp();
    const [text, setText] = useState('');
    const [base64, setBase64] = useState(true);
    const [ttl, setTtl] = useState(604800);
    const [seconds, setSeconds] = useState(0);
    const put = () => act('Message put', () => api.putMessage(session, name, base64 ? btoa(String.fromCharCode(...new TextEncoder().encode(text))) : text, { ttl, seconds }));
    return html`<${Dialog} title="Put a message" onClose=${onClose}>
        <label>Text<textarea autofocus value=${text} onInput=${(event) => setText(event.target.value)}></textarea></label>
        <label class="inline"><input type="checkbox" checked=${base64} onChange=${(event) => setBase64(event.target.checked)} />in base64, as .NET and Functions expect</label>
        <div class="bar"><label class="inline">Lives (s, -1 for ever)<input type="number" value=${ttl} onInput=${(event) => setTtl(Number(event.target.value))} /></label>
            <label class="inline">Invisible first (s)<input type="number" min="0" value=${seconds} onInput=${(event) => setSeconds(Number(event.target.value))} /></label></div>
        <footer><button onClick=${onClose}>Cancel</button><button class="primary" onClick=${async () => { if (await put()) { onClose(); await onDone(); } }}>Put</button></footer><//>`;
}

function GetDialog({ onYes, onClose }) {
    const [count, setCount] = useState(1);
    const [seconds, setSeconds] = useState(30);
    return html`<${Dialog} title="Get messages" onClose=${onClose}><p class="quiet">They become invisible to others for the time given; this page keeps their receipts.</p>
        <div class="bar"><label class="inline">How many<input type="number" min="1" max="32" value=${count} onInput=${(event) => setCount(Number(event.target.value))} /></label>
        <label class="inline">Seconds<input type="number" min="1" max="604800" value=${seconds} onInput=${(event) => setSeconds(Number(event.target.value))} /></label></div>
        <footer><button onClick=${onClose}>Cancel</button><button class="primary" onClick=${() => { onClose(); void onYes(seconds, count); }}>Get</button></footer><//>`;
}
