// SPDX-License-Identifier: Apache-2.0
// SAS and connection strings: two clicks to make one, and a look into one that was pasted.
import { useState } from 'preact/hooks';
import { accountSas, connectionString, explainSas, serviceSas } from '../api/sas.js';
import { html } from '../ui/html.js';
import { Copy, Dialog, useApp } from '../ui/parts.js';
import { encodePath } from '../api/client.js';

const LETTERS = {
    blob: [['r', 'read'], ['a', 'add'], ['c', 'create'], ['w', 'write'], ['d', 'delete'], ['l', 'list'], ['t', 'tags']],
    file: [['r', 'read'], ['c', 'create'], ['w', 'write'], ['d', 'delete'], ['l', 'list']],
    queue: [['r', 'read'], ['a', 'add'], ['u', 'update'], ['p', 'process']],
    table: [['r', 'query'], ['a', 'add'], ['u', 'update'], ['d', 'delete']],
    account: [['r', 'read'], ['w', 'write'], ['d', 'delete'], ['l', 'list'], ['a', 'add'], ['c', 'create'], ['u', 'update'], ['p', 'process'], ['t', 'tags'], ['f', 'filter']],
};

/** Makes a SAS for what was chosen; `service` is account for all of it. */
export function SasForm({ service, name, object }) {
    const { session } = useApp();
    const [letters, setLetters] = useState(service === 'account' ? 'rwdlacup' : 'r');
    const [hours, setHours] = useState(24);
    const [ip, setIp] = useState('');
    const [https, setHttps] = useState(false);
    const [made, setMade] = useState(null);
    const known = LETTERS[service].filter(([letter]) => object === undefined || letter !== 'l');
    const toggle = (letter) => setLetters(known.map(([one]) => one).filter((one) => (one === letter ? !letters.includes(one) : letters.includes(one))).join(''));
    const make = async () => setMade(service === 'account' ? await accountSas(session, { permissions: letters, hours, ip, https })
        : await serviceSas(session, { service, name, object, permissions: letters, hours, ip, https }));
    if (session.credential.kind !== 'key')
        return html`<p>Only the account key can sign a SAS; you are signed in without it.</p>`;
    const url = made && (service === 'account' ? connectionString(session, made.query) : `${session.endpoint(service)}/${encodePath(name)}${object === undefined ? '' : `/${encodePath(object)}`}?${made.query}`);
    return html`<fieldset><legend>May</legend><div class="bar">${known.map(([letter, word]) => html`<label class="inline"><input type="checkbox" checked=${letters.includes(letter)} onChange=${() => toggle(letter)} />${word}</label>`)}</div></fieldset>
        <div class="bar"><label class="inline">Hours<input type="number" min="1" value=${hours} onInput=${(event) => setHours(Number(event.target.value))} /></label>
            <label class="inline">From address<input placeholder="any" value=${ip} onInput=${(event) => setIp(event.target.value)} /></label>
            <label class="inline"><input type="checkbox" checked=${https} onChange=${(event) => setHttps(event.target.checked)} />HTTPS only</label></div>
        <div class="bar"><button class="primary" onClick=${make} disabled=${letters === ''}>Make it</button></div>
        ${made && html`<label>${service === 'account' ? 'Connection string' : 'URL'}<textarea readonly rows="4" value=${url}></textarea></label><div class="bar"><${Copy} text=${url} label=${service === 'account' ? 'Copy connection string' : 'Copy URL'} /><${Copy} text=${made.query} label="Copy SAS" /></div>
            <details><summary>What was signed</summary><pre tabindex="0">${made.text}</pre></details>`}`;
}

export function SasDialog({ service, name, object, onClose }) {
    return html`<${Dialog} wide title=${`Access to ${object ?? name}`} onClose=${onClose}><${SasForm} service=${service} name=${name} object=${object} /><//>`;
}

export function Access() {
    const { session } = useApp();
    const [text, setText] = useState('');
    const said = text.trim() ? explainSas(text.trim()) : null;
    return html`<h2>Access</h2>
        ${session.credential.kind === 'key' && html`<section class="card"><h3>Connection string with the account key</h3><div class="bar"><${Copy} text=${() => connectionString(session)} label="Copy connection string" /></div></section>`}
        <section class="card"><h3>SAS for the whole account</h3><${SasForm} service="account" /></section>
        <section class="card"><h3>What does this SAS say?</h3>
            <label>SAS or URL<textarea rows="3" value=${text} onInput=${(event) => setText(event.target.value)}></textarea></label>
            ${said && html`${said.problems.map((problem) => html`<p class="error">${problem}</p>`)}${said.problems.length === 0 && html`<p class="good">Nothing is plainly wrong with it. Whether its signature fits only the server can tell.</p>`}
                <table class="plain"><caption>Its fields</caption><tbody>${said.rows.map((row) => html`<tr><th scope="row">${row.name}</th><td>${row.meaning}</td><td>${row.value}</td></tr>`)}</tbody></table>`}
        </section>`;
}
