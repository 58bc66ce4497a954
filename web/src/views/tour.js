// SPDX-License-Identifier: Apache-2.0
// The guided tour: scenarios of concurrency, played live against scratch resources, with every request and answer.
import { useEffect, useRef, useState } from 'preact/hooks';
import { events, whyOf } from '../api/inspect.js';
import { html } from '../ui/html.js';
import { Failure, useApp } from '../ui/parts.js';
import { SCENARIOS } from './tour_scenarios.js';

const ERRORS = [304, 400, 404, 409, 412];
const SHOWN_HEADERS = /^(etag|last-modified|x-ms-(error-code|lease-(id|time)|request-id$))/;

/** Sends one request of a step as `who`, and keeps what went out and what came back. */
async function play(session, who, request) {
    const headers = { ...request.headers, 'x-ms-client-request-id': `tour-${who.toLowerCase()}-${crypto.randomUUID().slice(0, 8)}` };
    const answer = await session.send(request.service, request.method, request.path, { ...request, headers, expect: ERRORS });
    const all = Object.fromEntries(answer.headers);
    return { request: { ...request, headers }, status: answer.status, headers: all, text: await answer.text() };
}

const fits = (expect, status) => [expect].flat().includes(status);

function requestText({ method, path, query = {}, headers, body }) {
    const search = new URLSearchParams(query).toString();
    return [`${method} ${path}${search ? `?${search}` : ''}`, ...Object.entries(headers).filter(([, value]) => value !== undefined).map(([name, value]) => `${name}: ${value}`), ...(body ? ['', body] : [])].join('\n');
}

function answerText({ status, headers, text }) {
    const lines = Object.entries(headers).filter(([name]) => SHOWN_HEADERS.test(name)).map(([name, value]) => `${name}: ${value}`);
    return [`${status}`, ...lines, ...(text ? ['', text.replace(/^\ufeff/, '').slice(0, 2000)] : [])].join('\n');
}

function Step({ number, step, context, done }) {
    const box = useRef();
    useEffect(() => { box.current.scrollIntoView({ block: 'nearest' }); }, []);
    const good = fits(step.expect, done.status);
    return html`<li ref=${box} class=${`step${good ? '' : ' bad'}`}>
        <h4><span class="badge">${number}</span> ${step.who} <span class="plainly">${step.why}</span></h4>
        ${step.note && html`<p class="quiet">${step.note(context)}</p>`}
        <div class="exchange"><div><span class="quiet">Request</span><pre tabindex="0">${requestText(done.request)}</pre></div><div><span class="quiet">Answer: <b class=${done.status < 300 ? 'good' : 'error'}>${done.status}</b> ${done.headers['x-ms-error-code'] ?? ''} ${good ? '' : `(expected ${[step.expect].flat().join(' or ')})`}</span><pre tabindex="0">${answerText(done)}</pre></div></div>
        ${done.why && html`<p class="why"><b>The inspector says:</b> ${done.why.join(' ')}</p>`}
    </li>`;
}

function Scenario({ scenario, onEnd }) {
    const { session, say } = useApp();
    const [context] = useState(() => {
        const name = `tour${crypto.randomUUID().slice(0, 8)}`;
        return { place: name, table: name, account: session.account, host: location.hostname, smbPort: session.server.smbPort ?? 445 };
    });
    const [done, setDone] = useState([]);
    const [busy, setBusy] = useState(false);
    const [error, setError] = useState(null);
    const ready = useRef(null);
    const { setup, cleanup } = scenario;
    const place = setup?.(context) ?? { service: 'blob', method: 'PUT', path: `/${context.place}`, query: { restype: 'container' } };
    const gone = cleanup?.(context) ?? { service: 'blob', method: 'DELETE', path: `/${context.place}`, query: { restype: 'container' } };
    useEffect(() => () => { if (ready.current) void ready.current.then(() => session.send(gone.service, gone.method, gone.path, { ...gone, expect: [404] })).catch(() => {}); }, []);
    const explain = async (step, answer) => {
        if (!step.tell || answer.status < 300 || session.credential.kind !== 'key')
            return null;
        const id = answer.headers['x-ms-request-id'];
        const got = await events(session, { limit: 20 }).catch(() => ({ events: [] }));
        const found = got.events.find((event) => event.request?.requestId === id);
        return found ? [...whyOf(found), ...(found.rule ? [`Rule ${found.rule}.`] : [])] : null;
    };
    const next = async () => {
        const step = scenario.steps[done.length];
        setBusy(true);
        try {
            ready.current ??= session.send(place.service, place.method, place.path, place);
            await ready.current;
            if (step.wait)
                await new Promise((go) => setTimeout(go, step.wait));
            const answer = await play(session, step.who, step.request(context));
            if (fits(step.expect, answer.status))
                step.after?.(context, answer);
            answer.why = await explain(step, answer);
            setDone((now) => [...now, answer]);
        } catch (problem) {
            ready.current = null;
            setError(problem);
        }
        setBusy(false);
    };
    const ended = done.length === scenario.steps.length;
    const upcoming = scenario.steps[done.length];
    useEffect(() => { if (ended) say(`${scenario.title}: played to its end`); }, [ended]);
    return html`<div class="bar"><h3 class="grow">${scenario.title}</h3><button onClick=${onEnd}>All scenarios</button></div>
        <p>${scenario.intro}</p>
        <p class="quiet">Against ${context.place}, made for this and deleted when you leave.</p>
        <ol class="steps" aria-live="polite">${done.map((answer, i) => html`<${Step} key=${i} number=${i + 1} step=${scenario.steps[i]} context=${context} done=${answer} />`)}</ol>
        ${error && html`<${Failure} error=${error} retry=${() => { setError(null); void next(); }} />`}
        ${!ended && !error && html`<div class="bar"><button class="primary" autofocus disabled=${busy} onClick=${next}>${busy && upcoming.wait ? 'waiting…' : `Next: ${upcoming.who} ${upcoming.why}`}</button><span class="quiet">step ${done.length + 1} of ${scenario.steps.length}</span></div>`}
        ${ended && html`<p class="good">${done.every((answer, i) => fits(scenario.steps[i].expect, answer.status)) ? 'Every answer was as the model promises.' : 'Some answers were not as the model promises; see above.'}</p>`}`;
}

export function Tour({ path }) {
    const { session, go } = useApp();
    const scenario = SCENARIOS.find((one) => one.id === path[0]);
    const services = { table: 'table', queue: 'queue', files: 'file' };
    const able = SCENARIOS.filter((one) => session.server.services[services[one.id] ?? 'blob']);
    if (scenario)
        return html`<${Scenario} key=${scenario.id} scenario=${scenario} onEnd=${() => go('tour')} />`;
    return html`<h2>Guided tour</h2><p>What happens when two clients want the same thing at once. Each scenario runs live on this server, step by step.</p>
        <div class="cards">${able.map((one) => html`<section class="card"><h3>${one.title}</h3><p>${one.intro}</p><button onClick=${() => go('tour', one.id)} aria-label=${`Play ${one.title}`}>Play</button></section>`)}</div>`;
}
