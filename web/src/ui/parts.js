// SPDX-License-Identifier: Apache-2.0
// Small parts that all views use.
import { createContext } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.js';

/** {session, transfers, say, go, signOut, last} for every view. */
export const App = createContext(null);
export const useApp = () => useContext(App);

/** Before the name of a folder. */
export const Folder = () => html`<svg class="folder" viewBox="0 0 16 16" role="img" aria-label="Folder"><path d="M1 3h5l1.5 2H15v8H1z" /></svg>`;

/** A dialog over the page; Escape closes it, and focus returns to where it was. */
export function Dialog({ title, onClose, children, wide }) {
    const box = useRef();
    useEffect(() => {
        const before = document.activeElement;
        box.current.showModal();
        return () => before?.focus?.();
    }, []);
    return html`<dialog ref=${box} class=${wide ? 'wide' : ''} aria-label=${title} onCancel=${(event) => { event.preventDefault(); onClose(); }}
        onClick=${(event) => { if (event.target === box.current) onClose(); }}>
        <header><h2>${title}</h2><button class="icon" aria-label="Close" onClick=${onClose}>✕</button></header>
        <div class="content">${children}</div>
    </dialog>`;
}

/** Asks before something that cannot be taken back. `sure` is the word to type for the dangerous ones. */
export function Confirm({ title, text, action = 'Delete', sure, onYes, onClose }) {
    const [typed, setTyped] = useState('');
    const [busy, setBusy] = useState(false);
    return html`<${Dialog} title=${title} onClose=${onClose}>
        <p>${text}</p>
        ${sure && html`<label>Type <b>${sure}</b> to go on<input value=${typed} onInput=${(event) => setTyped(event.target.value)} /></label>`}
        <footer><button onClick=${onClose}>Cancel</button>
        <button class="danger" disabled=${busy || (sure && typed !== sure)} onClick=${async () => { setBusy(true); await onYes(); onClose(); }}>${action}</button></footer>
    <//>`;
}

/** One question, one line of answer. */
export function Ask({ title, label, value = '', action = 'Create', hint, onYes, onClose }) {
    const [text, setText] = useState(value);
    const [error, setError] = useState('');
    const submit = async (event) => {
        event.preventDefault();
        try {
            await onYes(text);
            onClose();
        } catch (problem) {
            setError(problem.message);
        }
    };
    return html`<${Dialog} title=${title} onClose=${onClose}><form onSubmit=${submit}>
        <label>${label}<input autofocus required value=${text} onInput=${(event) => setText(event.target.value)} /></label>
        ${hint && html`<p class="quiet">${hint}</p>`}
        ${error && html`<p class="error" role="alert">${error}</p>`}
        <footer><button type="button" onClick=${onClose}>Cancel</button><button class="primary" type="submit">${action}</button></footer>
    </form><//>`;
}

/** Pairs of names and values that can be edited: metadata, tags. */
export function Pairs({ title, pairs, onSave, nameLabel = 'Name', readOnly }) {
    const [rows, setRows] = useState(Object.entries(pairs));
    const [error, setError] = useState('');
    useEffect(() => setRows(Object.entries(pairs)), [JSON.stringify(pairs)]);
    const change = (index, at, text) => setRows(rows.map((row, i) => (i === index ? (at === 0 ? [text, row[1]] : [row[0], text]) : row)));
    const save = async () => {
        try {
            await onSave(Object.fromEntries(rows.filter(([name]) => name !== '')));
            setError('');
        } catch (problem) {
            setError(`${problem.code ?? ''} ${problem.message}`);
        }
    };
    return html`<fieldset><legend>${title}</legend>
        ${rows.length === 0 && html`<p class="quiet">None.</p>`}
        ${rows.map(([name, value], index) => html`<div class="pair" key=${index}>
            <input aria-label=${`${nameLabel} ${index + 1}`} value=${name} readonly=${readOnly} onInput=${(event) => change(index, 0, event.target.value)} />
            <input aria-label=${`Value ${index + 1}`} value=${value} readonly=${readOnly} onInput=${(event) => change(index, 1, event.target.value)} />
            ${!readOnly && html`<button class="icon" aria-label=${`Remove ${name}`} onClick=${() => setRows(rows.filter((_, i) => i !== index))}>✕</button>`}
        </div>`)}
        ${error && html`<p class="error" role="alert">${error}</p>`}
        ${!readOnly && html`<div class="bar"><button onClick=${() => setRows([...rows, ['', '']])}>Add</button><button class="primary" onClick=${save}>Save</button></div>`}
    </fieldset>`;
}

export function Tabs({ tabs, active, onChange, label }) {
    return html`<div class="tabs" role="tablist" aria-label=${label}>
        ${tabs.map(([id, title]) => html`<button role="tab" id=${`tab-${id}`} aria-selected=${id === active} tabindex=${id === active ? 0 : -1} onClick=${() => onChange(id)}
            onKeyDown=${(event) => {
                const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
                if (step) {
                    const next = tabs[(tabs.findIndex(([one]) => one === id) + step + tabs.length) % tabs.length][0];
                    onChange(next);
                    requestAnimationFrame(() => document.getElementById(`tab-${next}`)?.focus());
                }
            }}>${title}</button>`)}
    </div>`;
}

/** A button that copies a text and says so. */
export function Copy({ text, label = 'Copy' }) {
    const { say } = useApp();
    return html`<button onClick=${async () => { await navigator.clipboard.writeText(typeof text === 'function' ? await text() : text); say(`${label}: done`); }}>${label}</button>`;
}

/** Refusals that a credential of more rights would not meet. */
const isForbidden = (error) => error.status === 403 || error.status === 401 || /^(Authorization|Authentication|InsufficientAccount)/.test(error.code ?? '');

export function Failure({ error, retry }) {
    return html`<div class="error" role="alert"><b>${error.code || 'Failed'}</b> ${error.message}${retry && html` <button onClick=${retry}>Try again</button>`}
        ${isForbidden(error) && html`<p class="quiet">What you signed in with does not allow this.</p>`}</div>`;
}

/** A way into something that a credential may use but not list: a container, queue, table or share by its name. */
export function OpenByName({ what, onOpen }) {
    const [name, setName] = useState('');
    return html`<form class="bar" onSubmit=${(event) => { event.preventDefault(); if (name.trim()) onOpen(name.trim()); }}>
        <label class="inline">Open a ${what} by name<input value=${name} autocomplete="off" onInput=${(event) => setName(event.target.value)} /></label><button type="submit" disabled=${!name.trim()}>Open</button></form>`;
}

/** Runs on an interval while the view is shown and the page is visible. */
export function useEvery(ms, work, dependencies = []) {
    useEffect(() => {
        let stopped = false;
        const turn = async () => {
            if (!document.hidden)
                await work();
            if (!stopped)
                timer = setTimeout(turn, ms);
        };
        let timer = setTimeout(turn, 0);
        return () => { stopped = true; clearTimeout(timer); };
    }, dependencies);
}

export function Menu({ label, items, disabled = false }) {
    const [open, setOpen] = useState(false);
    const box = useRef();
    useEffect(() => {
        if (!open)
            return undefined;
        box.current.querySelector('[role=menuitem]')?.focus();
        const close = (event) => { if (!box.current?.contains(event.target)) setOpen(false); };
        document.addEventListener('pointerdown', close);
        return () => document.removeEventListener('pointerdown', close);
    }, [open]);
    const onKey = (event) => {
        const all = [...box.current.querySelectorAll('[role=menuitem]')];
        const at = all.indexOf(document.activeElement);
        if (event.key === 'Escape') { setOpen(false); box.current.querySelector('button').focus(); }
        if (event.key === 'ArrowDown') { all[(at + 1) % all.length]?.focus(); event.preventDefault(); }
        if (event.key === 'ArrowUp') { all[(at - 1 + all.length) % all.length]?.focus(); event.preventDefault(); }
    };
    return html`<div class="menu" ref=${box} onKeyDown=${onKey}>
        <button aria-haspopup="menu" aria-expanded=${open} disabled=${disabled} onClick=${() => setOpen(!open)}>${label} ▾</button>
        ${open && html`<div role="menu">${items.filter(Boolean).map(([title, run, kind]) => html`<button role="menuitem" class=${kind ?? ''} onClick=${() => { setOpen(false); run(); }}>${title}</button>`)}</div>`}
    </div>`;
}
