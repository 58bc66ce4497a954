// SPDX-License-Identifier: Apache-2.0
import { useState } from 'preact/hooks';
import { Session, StorageError } from '../api/client.js';
import { importKey } from '../api/sign.js';
import { html } from '../ui/html.js';
import { Tabs } from '../ui/parts.js';

const WELL_KNOWN = ['devstoreaccount1', 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='];
const WAYS = [['key', 'Account key'], ['sas', 'SAS'], ['bearer', 'Token']];

/** Account and key from a connection string, or what was typed. */
function readKey(account, text) {
    const name = /(?:^|;)\s*AccountName=([^;]+)/i.exec(text)?.[1];
    const key = /(?:^|;)\s*AccountKey=([^;]+)/i.exec(text)?.[1];
    return name && key ? [name, key] : [account.trim(), text.trim()];
}

async function byKey(server, account, text) {
    const [name, key] = readKey(account, text);
    if (!isSecureContext)
        throw new Error('An account key can be used only over HTTPS, or on this machine.');
    let sign;
    try {
        sign = await importKey(key);
    } catch {
        throw new Error('The key is not base64.');
    }
    const session = new Session(name, { kind: 'key', sign }, server);
    session.keyText = () => key;
    await session.admin('GET', '/api/v1/account');
    return session;
}

/** A SAS may be pasted with its URL; the account is in the path or the host. */
async function bySas(server, account, text) {
    const query = text.includes('?') ? text.slice(text.indexOf('?') + 1) : text.replace(/^.*SharedAccessSignature=/i, '').replace(/;.*$/, '');
    const path = /^https?:\/\/[^/]+\/([^/?]+)/.exec(text)?.[1];
    const name = account.trim() || path || '';
    const parameters = new URLSearchParams(query);
    if (!parameters.get('sig'))
        throw new Error('This is no SAS: it has no sig.');
    return new Session(name, { kind: 'sas', query: query.trim() }, server);
}

async function byToken(server, account, text) {
    const session = new Session(account.trim(), { kind: 'bearer', token: text.trim().replace(/^Bearer /i, '') }, server);
    await session.send('blob', 'GET', '/', { query: { comp: 'list', maxresults: '1' }, expect: [403] });
    return session;
}

export function SignIn({ server, onSession }) {
    const [way, setWay] = useState('key');
    const [account, setAccount] = useState('');
    const [text, setText] = useState('');
    const [error, setError] = useState('');
    const [busy, setBusy] = useState(false);
    const enter = async (work) => {
        setBusy(true);
        setError('');
        try {
            onSession(await work());
        } catch (problem) {
            setError(problem instanceof StorageError ? `${problem.code || problem.status}: ${problem.message}` : problem.message);
        }
        setBusy(false);
    };
    const submit = (event) => {
        event.preventDefault();
        void enter(() => ({ key: byKey, sas: bySas, bearer: byToken }[way])(server, account, text));
    };
    const label = { key: 'Key, or a connection string', sas: 'SAS, or a URL with one', bearer: 'Bearer token' }[way];
    return html`<main class="sign-in">
        <h1><img src="/icon.svg" alt="" />Lazuli</h1>
        ${server.wellKnownAccount && html`<section class="card"><p>This server keeps the development account on this machine.</p>
            <button class="primary" disabled=${busy} onClick=${() => enter(() => byKey(server, ...WELL_KNOWN))}>Sign in as devstoreaccount1</button></section>`}
        ${!isSecureContext && html`<p class="error" role="alert">This page came over plain HTTP from another machine: what you enter could be read on the way, and the browser signs nothing here. Start the server with --cert and --key, and use https.</p>`}
        <section class="card">
            <${Tabs} label="Way to sign in" tabs=${WAYS} active=${way} onChange=${setWay} />
            <form onSubmit=${submit} class="card">
                <label>Account<input value=${account} autocomplete="off" required=${way === 'bearer'} onInput=${(event) => setAccount(event.target.value)} /></label>
                <label>${label}<input type="password" autocomplete="off" value=${text} required onInput=${(event) => setText(event.target.value)} /></label>
                ${error && html`<p class="error" role="alert">${error}</p>`}
                <button class="primary" type="submit" disabled=${busy}>Sign in</button>
            </form>
            <p class="quiet">What you enter stays in this page's memory and is gone when you close or reload it.</p>
        </section>
        <p class="quiet">${server.version}</p>
    </main>`;
}
