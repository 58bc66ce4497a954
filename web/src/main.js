// SPDX-License-Identifier: Apache-2.0
// The console: who is signed in, which view is shown, what is told to the user.
import { render } from 'preact';
import { useEffect, useErrorBoundary, useMemo, useRef, useState } from 'preact/hooks';
import { serverInfo } from './api/client.js';
import { Transfers } from './api/transfer.js';
import { CopyAs } from './ui/copy_as.js';
import { html } from './ui/html.js';
import { App, Failure } from './ui/parts.js';
import { TransferList } from './ui/transfer_list.js';
import { SignIn } from './views/sign_in.js';
import { VIEWS } from './views/views.js';

/** "#/blob/container/a/b" → ['blob', 'container', 'a', 'b'] */
const parseHash = () => location.hash.replace(/^#\/?/, '').split('/').map((part) => decodeURIComponent(part));

export const hashOf = (...parts) => `#/${parts.map(encodeURIComponent).join('/')}`;

function useRoute() {
    const [route, setRoute] = useState(parseHash());
    useEffect(() => {
        const onChange = () => setRoute(parseHash());
        addEventListener('hashchange', onChange);
        return () => removeEventListener('hashchange', onChange);
    }, []);
    return route;
}

function useTheme() {
    const [theme, setTheme] = useState('');
    useEffect(() => {
        if (theme)
            document.documentElement.dataset.theme = theme;
        else
            delete document.documentElement.dataset.theme;
    }, [theme]);
    const dark = theme ? theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    return [dark, () => setTheme(dark ? 'light' : 'dark')];
}

function useToasts() {
    const [toasts, setToasts] = useState([]);
    const next = useRef(1);
    const say = (text, bad = false) => {
        const id = next.current++;
        setToasts((now) => [...now.slice(-4), { id, text, bad }]);
        setTimeout(() => setToasts((now) => now.filter((toast) => toast.id !== id)), bad ? 9000 : 4000);
    };
    return [toasts, say];
}

/** A view that breaks says so, and the rest of the page goes on. */
function View({ component, path }) {
    const [error, reset] = useErrorBoundary((problem) => console.error(problem));
    return error ? html`<${Failure} error=${error} retry=${reset} />` : html`<${component} path=${path} />`;
}

function Shell({ session, signOut }) {
    const [view = '', ...path] = useRoute();
    const [dark, switchTheme] = useTheme();
    const [toasts, say] = useToasts();
    const transfers = useMemo(() => new Transfers(), []);
    const [last, setLast] = useState(null);
    useEffect(() => session.onRequest((request) => {
        if (request.method !== 'HEAD' && !request.background)
            setLast(request);
    }), [session]);
    const shown = VIEWS.find((one) => one.id === (view || 'overview')) ?? VIEWS[0];
    const app = { session, transfers, say, signOut, last, go: (...parts) => { location.hash = hashOf(...parts); } };
    /** Runs an action and tells how it went; gives true when it went well. */
    app.act = async (what, work) => {
        try {
            await work();
            say(what);
            return true;
        } catch (error) {
            say(`${error.code ? `${error.code}: ` : ''}${error.message}`, true);
            return false;
        }
    };
    useEffect(() => { document.title = `${shown.title} · ${session.account} · Lazuli`; }, [shown, session]);
    return html`<${App.Provider} value=${app}>
        <div class="shell">
            <header>
                <h1><img src="/icon.svg" alt="" />Lazuli</h1>
                <span class="badge">${session.account}</span><span class="quiet wide-only">by ${{ key: 'account key', sas: 'SAS', bearer: 'token' }[session.credential.kind]}</span>
                <span class="grow"></span>
                <${CopyAs} />
                <button onClick=${switchTheme} aria-label=${dark ? 'Use light colours' : 'Use dark colours'}>${dark ? '☀' : '☾'}</button>
                <button onClick=${signOut}>Sign out</button>
            </header>
            <nav class="side" aria-label="Services">${VIEWS.filter((one) => !one.needs || one.needs(session)).map((one) => html`<a href=${hashOf(one.id)} aria-current=${one === shown ? 'page' : undefined}>${one.title}</a>`)}</nav>
            <main id="main" tabindex="-1"><${View} key=${shown.id} component=${shown.component} path=${path} /></main>
        </div>
        <${TransferList} />
        <div class="toasts" role="status" aria-live="polite">${toasts.map((toast) => html`<div key=${toast.id} class=${`toast${toast.bad ? ' bad' : ''}`}>${toast.text}</div>`)}</div>
    <//>`;
}

function Root() {
    const [server, setServer] = useState(null);
    const [error, setError] = useState(null);
    const [session, setSession] = useState(null);
    const load = () => serverInfo().then(setServer, setError);
    useEffect(() => { void load(); }, []);
    if (error)
        return html`<div class="sign-in"><${Failure} error=${error} retry=${() => location.reload()} /></div>`;
    if (!server)
        return null;
    return session ? html`<${Shell} session=${session} signOut=${() => { setSession(null); location.hash = ''; }} />`
        : html`<${SignIn} server=${server} onSession=${setSession} />`;
}

document.getElementById('app').replaceChildren();
render(html`<${Root} />`, document.getElementById('app'));
