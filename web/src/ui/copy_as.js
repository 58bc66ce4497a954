// SPDX-License-Identifier: Apache-2.0
import { useState } from 'preact/hooks';
import { asAz, asCurl, asSdk } from '../api/code.js';
import { html } from './html.js';
import { Copy, Dialog, Tabs, useApp } from './parts.js';

const KINDS = [['curl', 'curl'], ['az', 'az'], ['js', 'JavaScript'], ['python', 'Python'], ['net', 'C#']];

/** Shows the last request as code that does the same. */
export function CopyAs() {
    const { last, session } = useApp();
    const [open, setOpen] = useState(false);
    const [kind, setKind] = useState('curl');
    if (!last)
        return null;
    const code = kind === 'curl' ? asCurl(session, last) : kind === 'az' ? asAz(session, last) : asSdk(last, kind);
    return html`<button onClick=${() => setOpen(true)}>Copy as…</button>
        ${open && html`<${Dialog} wide title=${`The last request as code: ${last.method} ${decodeURIComponent(last.path)}`} onClose=${() => setOpen(false)}>
            <${Tabs} label="Language" tabs=${KINDS} active=${kind} onChange=${setKind} />
            <pre tabindex="0">${code}</pre>
            <p class="quiet">Set CONNECTION to a connection string, or SAS to a shared access signature, before you run it. Both are under “Access”.</p>
            <footer><${Copy} text=${code} /></footer>
        <//>`}`;
}
