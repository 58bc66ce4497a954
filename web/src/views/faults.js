// SPDX-License-Identifier: Apache-2.0
// Test control: faults and holds by rule, states under a name, the clock, and an empty server.
import { useMemo, useRef, useState } from 'preact/hooks';
import { actText, controlOf, matchText, ruleOf } from '../api/control.js';
import { html } from '../ui/html.js';
import { Ask, Confirm, Copy, Dialog, Failure, Tabs, useApp, useEvery } from '../ui/parts.js';

const TABS = [['faults', 'Faults'], ['holds', 'Holds'], ['requests', 'Requests'], ['states', 'States'], ['clock', 'Clock'], ['accounts', 'Accounts and reset']];
const ERRORS = ['ServerBusy', 'InternalError', 'OperationTimedOut', 'TooManyRequests', 'ConditionNotMet', 'ResourceNotFound', 'AuthorizationFailure'];

export function Faults({ path }) {
    const { go } = useApp();
    const [token, setToken] = useState('');
    const control = useMemo(() => controlOf(token), [token]);
    const [tab = 'faults'] = path;
    const shown = TABS.some(([id]) => id === tab) ? tab : 'faults';
    const View = { faults: FaultList, holds: HoldList, requests: Journal, states: States, clock: Clock, accounts: Accounts }[shown];
    return html`<div class="bar"><h2 class="grow">Test control</h2>${location.protocol === 'https:' && html`<label class="inline">Token<input type="password" autocomplete="off" value=${token} onInput=${(event) => setToken(event.target.value)} /></label>`}</div>
        <${Tabs} label="Test control" tabs=${TABS} active=${shown} onChange=${(next) => go('faults', next)} />
        <div class="panel" role="tabpanel" aria-labelledby=${`tab-${shown}`}><${View} key=${shown} control=${control} /></div>`;
}

/** A list that is asked for again and again: {rows, error, load}. */
function useList(ask, ms, dependencies) {
    const [state, setState] = useState({ rows: null, error: null });
    const load = () => ask().then((rows) => setState({ rows, error: null }), (error) => setState((old) => ({ ...old, error })));
    useEvery(ms, load, dependencies);
    return { ...state, load };
}

function Field({ form, set, name, label, type = 'text', placeholder = 'any' }) {
    return html`<label>${label}<input type=${type} placeholder=${placeholder} value=${form[name] ?? ''} onInput=${(event) => set({ ...form, [name]: event.target.value })} /></label>`;
}

function Which({ form, set }) {
    return html`<fieldset><legend>Which requests (* and ? stand for any text and one letter)</legend><div class="fields">
        <label>Service<select value=${form.service ?? ''} onChange=${(event) => set({ ...form, service: event.target.value })}><option value="">any</option>${['blob', 'queue', 'table', 'file'].map((one) => html`<option>${one}</option>`)}</select></label>
        <${Field} form=${form} set=${set} name="operation" label="Operation" placeholder="PutBlob, or any" /><${Field} form=${form} set=${set} name="container" label="Container, queue, table or share" /><${Field} form=${form} set=${set} name="object" label="Object" placeholder="cat*, or any" />
        <${Field} form=${form} set=${set} name="clientRequestId" label="Client request id" /></div>
        <label>When<select value=${form.at} onChange=${(event) => set({ ...form, at: event.target.value })}><option value="before">before it runs</option><option value="after-commit">after its commit, before the answer</option></select></label></fieldset>`;
}

/** A dialog that makes a rule; what the server does not take is said in it. */
function RuleDialog({ title, action, children, onYes, onClose }) {
    const [error, setError] = useState(null);
    const submit = async (event) => {
        event.preventDefault();
        try {
            await onYes();
            onClose();
        } catch (problem) {
            setError(problem);
        }
    };
    return html`<${Dialog} wide title=${title} onClose=${onClose}><form onSubmit=${submit}>${children}${error && html`<${Failure} error=${error} />`}
        <footer><button type="button" onClick=${onClose}>Cancel</button><button class="primary" type="submit">${action}</button></footer></form><//>`;
}

function FaultList({ control }) {
    const { act } = useApp();
    const { rows, error, load } = useList(control.faults, 1500, [control]);
    const [form, setForm] = useState({ at: 'before', kind: 'error', error: 'ServerBusy', times: '1' });
    const [adding, setAdding] = useState(false);
    const field = (name, label, placeholder) => html`<${Field} form=${form} set=${setForm} name=${name} label=${label} type="number" placeholder=${placeholder} />`;
    return html`<div class="bar"><button class="primary" onClick=${() => setAdding(true)}>New fault</button><button class="danger" disabled=${!rows?.length} onClick=${() => act('All faults removed', control.removeFaults).then(load)}>Remove all</button></div>
        ${error && html`<${Failure} error=${error} retry=${load} />`}
        <div class="card scroll" tabindex="0" role="region" aria-label="Faults"><table class="plain"><caption>The first rule that fits strikes</caption><thead><tr><th scope="col">Id</th><th scope="col">Fits</th><th scope="col">When</th><th scope="col">Does</th><th scope="col">Seen</th><th scope="col">Struck</th><th scope="col"><span class="hidden">Actions</span></th></tr></thead>
            <tbody>${(rows ?? []).map((row) => html`<tr key=${row.id}><th scope="row">${row.id}</th><td>${matchText(row.match)}</td><td>${row.at}</td><td>${actText(row.do)}</td><td class="right">${row.seen}</td><td class="right">${row.struck}</td>
                <td><button class="danger" aria-label=${`Remove fault ${row.id}`} onClick=${() => act('Removed', () => control.removeFault(row.id)).then(load)}>Remove</button></td></tr>`)}</tbody></table>
            ${rows?.length === 0 && html`<p class="quiet">No faults: every request runs as it should.</p>`}</div>
        ${adding && html`<${RuleDialog} title="New fault" action="Add" onClose=${() => setAdding(false)} onYes=${async () => { await control.addFault(ruleOf(form)); await load(); }}>
            <${Which} form=${form} set=${setForm} />
            <fieldset><legend>What happens to them</legend><div class="fields">
                <label>Kind<select value=${form.kind} onChange=${(event) => setForm({ ...form, kind: event.target.value })}><option value="error">an error answer</option><option value="delay">only a delay</option><option value="reset">the connection is cut</option><option value="truncate">the answer is cut</option><option value="stall">no answer comes</option><option value="corrupt">one bit of the answer is wrong</option><option value="slow">the answer comes slowly</option><option value="rate">too many a second are refused</option></select></label>
                ${form.kind === 'error' && html`<label>Error<input list="fault-errors" required value=${form.error} onInput=${(event) => setForm({ ...form, error: event.target.value })} /><datalist id="fault-errors">${ERRORS.map((one) => html`<option value=${one} />`)}</datalist></label>${field('status', 'Status', 'the error’s own')}${field('retryAfterSeconds', 'Retry-After (s)', 'none')}`}
                ${form.kind === 'slow' && field('bytesPerSecond', 'Bytes a second', '1000')}${form.kind === 'rate' && field('perSecond', 'Requests a second', '10')}
                ${form.kind === 'truncate' && field('truncateAfterBytes', 'Bytes of the answer', '0')}${field('delayMs', 'Delay (ms)', '0')}</div></fieldset>
            <fieldset><legend>How often</legend><div class="fields">${field('skip', 'Let pass first', '0')}${field('every', 'Then every so manieth', '1')}${field('times', 'Strike so many times', 'always')}<label>Probability<input type="number" min="0" max="1" step="any" placeholder="1" value=${form.probability ?? ''} onInput=${(event) => setForm({ ...form, probability: event.target.value })} /></label>${field('seed', 'Seed of chance', 'none')}</div></fieldset>
        <//>`}`;
}

function HoldList({ control }) {
    const { act } = useApp();
    const { rows, error, load } = useList(control.holds, 1000, [control]);
    const [form, setForm] = useState({ at: 'before', times: '1' });
    const [adding, setAdding] = useState(false);
    const add = async () => {
        const { match, at } = ruleOf({ ...form, kind: 'delay' });
        const number = (name) => (form[name] ? { [name]: Number(form[name]) } : {});
        await control.addHold({ match, at, ...number('times'), ...number('parties'), ...number('timeoutMs') });
        await load();
    };
    return html`<div class="bar"><button class="primary" onClick=${() => setAdding(true)}>New hold</button></div>
        ${error && html`<${Failure} error=${error} retry=${load} />`}
        <div class="card scroll" tabindex="0" role="region" aria-label="Holds"><table class="plain"><caption>Requests stop here until they are released</caption><thead><tr><th scope="col">Id</th><th scope="col">Fits</th><th scope="col">When</th><th scope="col">Arrived</th><th scope="col">Waiting</th><th scope="col"><span class="hidden">Actions</span></th></tr></thead>
            <tbody>${(rows ?? []).map((row) => html`<tr key=${row.id}><th scope="row">${row.id}</th><td>${matchText(row.match)}</td><td>${row.at}</td><td class="right">${row.arrived}${row.parties ? ` of ${row.parties}` : ''}</td><td class="right">${row.waiting}</td>
                <td class="bar"><button aria-label=${`Release hold ${row.id}`} onClick=${() => act('Released', () => control.release(row.id)).then(load)}>Release</button><button class="danger" aria-label=${`Remove hold ${row.id}`} onClick=${() => act('Removed', () => control.removeHold(row.id)).then(load)}>Remove</button></td></tr>`)}</tbody></table>
            ${rows?.length === 0 && html`<p class="quiet">Nothing is held.</p>`}</div>
        ${adding && html`<${RuleDialog} title="New hold" action="Add" onClose=${() => setAdding(false)} onYes=${add}><${Which} form=${form} set=${setForm} />
            <div class="fields"><${Field} form=${form} set=${setForm} name="times" type="number" label="Hold so many" placeholder="1" /><${Field} form=${form} set=${setForm} name="parties" type="number" label="Let go when so many have come" placeholder="only when released" /><${Field} form=${form} set=${setForm} name="timeoutMs" type="number" label="At most (ms)" placeholder="30000" /></div><//>`}`;
}

/** The last requests that were answered, as a test asks for them. */
function Journal({ control }) {
    const { act } = useApp();
    const [operation, setOperation] = useState('');
    const { rows: found, error, load } = useList(() => control.requests(operation), 1500, [control, operation]);
    return html`<div class="bar"><input type="search" aria-label="Operation" placeholder="Operation, such as PutBlob or Get*" value=${operation} onInput=${(event) => setOperation(event.target.value)} /><span class="grow"></span>
            <button onClick=${() => act('Journal emptied', control.clearRequests).then(load)}>Empty</button></div>
        ${error && html`<${Failure} error=${error} />`}
        <div class="card scroll" tabindex="0" role="region" aria-label="Requests"><table class="plain"><caption>${found ? `${found.count} requests${found.count > found.requests.length ? `, the last ${found.requests.length}` : ''}` : 'loading…'}</caption>
            <thead><tr><th scope="col">Time</th><th scope="col">Operation</th><th scope="col">Resource</th><th scope="col">Answer</th><th scope="col">Fault</th><th scope="col">Took</th></tr></thead>
            <tbody>${[...(found?.requests ?? [])].reverse().map((row) => html`<tr key=${row.id}><td>${row.time.slice(11, 23)}</td><th scope="row">${row.operation ?? row.method}</th><td>${[row.container, row.object].filter(Boolean).join('/')}</td><td>${row.status} ${row.error ?? ''}</td><td>${row.fault ?? ''}</td><td class="right">${(row.durationUs / 1000).toFixed(1)} ms</td></tr>`)}</tbody></table></div>`;
}

function States({ control }) {
    const { session, act } = useApp();
    const { rows, error, load } = useList(control.states, 3000, [control]);
    const [dialog, setDialog] = useState(null);
    return html`<div class="bar"><button class="primary" onClick=${() => setDialog({ kind: 'keep' })}>Keep the state</button></div>
        ${error && html`<${Failure} error=${error} retry=${load} />`}
        <div class="card scroll" tabindex="0" role="region" aria-label="States"><table class="plain"><caption>States kept under a name</caption><tbody>${(rows ?? []).map((name) => html`<tr key=${name}><th scope="row">${name}</th>
            <td class="bar"><button aria-label=${`Restore ${name}`} onClick=${() => setDialog({ kind: 'restore', name })}>Restore</button><button class="danger" aria-label=${`Drop ${name}`} onClick=${() => act('Dropped', () => control.dropState(name)).then(load)}>Drop</button></td></tr>`)}</tbody></table>
            ${rows?.length === 0 && html`<p class="quiet">None yet.</p>`}</div>
        ${dialog?.kind === 'keep' && html`<${Ask} title="Keep the state" label="Name" action="Keep" hint=${`All data of ${session.account}, to be put back later.`} onClose=${() => setDialog(null)} onYes=${async (name) => { await control.keepState(name, { account: session.account }); await load(); }} />`}
        ${dialog?.kind === 'restore' && html`<${Confirm} title="Restore" action="Restore" text=${`The data of ${session.account} becomes what it was when “${dialog.name}” was kept. What came since is lost.`} onYes=${() => act('Restored', () => control.restoreState(dialog.name))} onClose=${() => setDialog(null)} />`}`;
}

const STEPS = [['15 s', 15e3], ['1 min', 60e3], ['1 h', 3600e3], ['1 day', 86400e3], ['30 days', 30 * 86400e3]];

function Clock({ control }) {
    const { act } = useApp();
    const { rows: clock, error, load } = useList(control.clock, 1000, [control]);
    const set = (what, change) => act(what, () => control.setClock(change)).then(load);
    return html`${error && html`<${Failure} error=${error} retry=${load} />`}
        ${clock && html`<section class="card"><h3>The server’s time</h3><p><b>${clock.now}</b></p><p class="quiet">${clock.shiftMs === 0 ? 'the real time' : `${Math.round(clock.shiftMs / 1000).toLocaleString('en')} s from the real time`}${clock.frozen ? ', stopped' : ''}</p>
            <div class="bar">${STEPS.map(([title, ms]) => html`<button onClick=${() => set(`Moved by ${title}`, { advanceMs: ms })}>+ ${title}</button>`)}</div>
            <div class="bar"><button onClick=${() => set(clock.frozen ? 'The clock runs' : 'The clock stands', { freeze: !clock.frozen })}>${clock.frozen ? 'Let it run' : 'Stop it'}</button></div>
            <p class="quiet">Leases and SAS end at once when their time is over by this clock.</p></section>`}`;
}

function Accounts({ control }) {
    const { session, act, say } = useApp();
    const [made, setMade] = useState(null);
    const [asked, setAsked] = useState(null);
    const picker = useRef();
    const seed = async (event) => {
        const file = event.target.files[0];
        event.target.value = '';
        try {
            await control.seed(JSON.parse(await file.text()));
            say(`Seeded from ${file.name}`);
        } catch (error) {
            say(`${file.name}: ${error.message}`, true);
        }
    };
    const everything = { title: 'Reset everything', text: 'All data of all accounts is deleted, faults and holds are removed, and the clock is set right.', what: {} };
    const mine = { title: `Reset ${session.account}`, text: `All data of ${session.account} is deleted.`, what: { account: session.account, keep: true } };
    return html`<section class="card"><h3>An account for a test</h3><p class="quiet">With a name and keys of its own, so that parallel tests need no reset.</p><div class="bar"><button onClick=${async () => { const got = await control.newAccount().catch((error) => { say(error.message, true); return null; }); setMade(got); }}>Make an account</button></div>
            ${made && html`<p><b>${made.name}</b></p><div class="bar"><${Copy} text=${made.connectionString} label="Copy connection string" /></div>`}</section>
        <section class="card"><h3>Seed</h3><p class="quiet">Containers, blobs, queues, tables and shares as a manifest describes them.</p><div class="bar"><button onClick=${() => picker.current.click()}>Seed from a file</button><input ref=${picker} type="file" class="hidden" tabindex="-1" accept=".json" aria-label="Manifest to seed from" onChange=${seed} /></div></section>
        <section class="card"><h3>Reset</h3><div class="bar"><button class="danger" onClick=${() => setAsked(mine)}>Reset ${session.account}</button><button class="danger" onClick=${() => setAsked(everything)}>Reset everything</button></div></section>
        ${asked && html`<${Confirm} title=${asked.title} text=${asked.text} action="Reset" sure="reset" onYes=${() => act('Reset', () => control.reset(asked.what))} onClose=${() => setAsked(null)} />`}`;
}
