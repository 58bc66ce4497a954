// SPDX-License-Identifier: Apache-2.0
// What is being moved: progress, pause, resume, cancel.
import { useEffect, useState } from 'preact/hooks';
import { bytes } from './format.js';
import { html } from './html.js';
import { useApp } from './parts.js';

const WORDS = { running: 'moving', paused: 'paused', done: 'done', failed: 'failed', cancelled: 'cancelled' };

export function TransferList() {
    const { transfers } = useApp();
    const [, redraw] = useState(0);
    useEffect(() => {
        let due = false;
        return transfers.onChange(() => {
            if (!due) {
                due = true;
                requestAnimationFrame(() => { due = false; redraw((n) => n + 1); });
            }
        });
    }, [transfers]);
    const items = transfers.items;
    if (items.length === 0)
        return null;
    const rate = (item) => bytes(item.done / Math.max(0.001, ((item.ended ?? Date.now()) - item.started) / 1000));
    const under = items.filter((item) => ['running', 'paused'].includes(item.state)).length;
    return html`<section class="card transfers" aria-label="Transfers">
        <div class="bar"><b>${under > 0 ? `${under} under way` : 'All transfers have ended'}</b><span class="grow"></span><button onClick=${() => transfers.clear()}>Clear</button></div>
        <ul>${items.slice(0, 50).map((item) => html`<li key=${item.id}>
            <span>${item.direction === 'up' ? '↑' : '↓'} ${item.what}</span>
            <progress max=${item.size || 1} value=${item.state === 'done' ? item.size || 1 : item.done} aria-label=${`${item.what}: ${WORDS[item.state]}`}></progress>
            <span class="bar quiet"><span>${WORDS[item.state]} · ${bytes(item.done)} of ${bytes(item.size)} · ${rate(item)}/s</span><span class="grow"></span>
                ${item.failed && html`<span class="error">${item.failed.code ?? ''} ${item.failed.message}</span>`}
                ${item.state === 'running' && html`<button onClick=${() => transfers.pause(item)} aria-label=${`Pause ${item.what}`}>Pause</button>`}
                ${item.state === 'paused' && html`<button onClick=${() => transfers.resume(item)} aria-label=${`Resume ${item.what}`}>Resume</button>`}
                ${['running', 'paused'].includes(item.state) && html`<button onClick=${() => transfers.cancel(item)} aria-label=${`Cancel ${item.what}`}>Cancel</button>`}
            </span>
        </li>`)}</ul>
    </section>`;
}
