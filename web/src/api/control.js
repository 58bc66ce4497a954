// SPDX-License-Identifier: Apache-2.0
// Test control: faults, holds, states and the clock. There only when the server runs with --test-control.
import { StorageError } from './client.js';

async function call(token, method, path, body) {
    const headers = { 'x-lazuli-control': '1', ...(token ? { authorization: `Bearer ${token}` } : {}), ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
    const answer = await fetch(`/_lazuli/control/v1${path}`, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: 'no-store', credentials: 'omit' });
    const text = await answer.text();
    const json = /^[[{]/.test(text) ? JSON.parse(text) : null;
    if (!answer.ok)
        throw new StorageError(answer.status, json?.error?.code ?? '', json?.error?.message ?? text.slice(0, 200));
    return json;
}

/** The calls, for a server that may want a token. */
export function controlOf(token) {
    const go = (method, path, body) => call(token, method, path, body);
    const named = (path, name) => `${path}/${encodeURIComponent(name)}`;
    return {
        faults: () => go('GET', '/faults'), addFault: (rule) => go('POST', '/faults', rule), removeFault: (id) => go('DELETE', named('/faults', id)), removeFaults: () => go('PUT', '/faults', []),
        holds: () => go('GET', '/holds'), addHold: (rule) => go('POST', '/holds', rule), release: (id) => go('POST', `${named('/holds', id)}/release`, {}), removeHold: (id) => go('DELETE', named('/holds', id)),
        clock: () => go('GET', '/clock'), setClock: (change) => go('POST', '/clock', change),
        states: () => go('GET', '/snapshots'), keepState: (name, what) => go('PUT', named('/snapshots', name), what), restoreState: (name) => go('POST', `${named('/snapshots', name)}/restore`, {}), dropState: (name) => go('DELETE', named('/snapshots', name)),
        reset: (what) => go('POST', '/reset', what), seed: (manifest) => go('POST', '/seed', manifest),
        requests: (operation) => go('GET', `/requests?limit=200${operation ? `&operation=${encodeURIComponent(operation)}` : ''}`), clearRequests: () => go('DELETE', '/requests'),
        newAccount: () => go('POST', '/accounts', {}),
    };
}

const MATCH = ['service', 'operation', 'container', 'object', 'clientRequestId'];

/** A rule of what was filled in; empty fields are left out, so they match anything. */
export function ruleOf(form) {
    const match = Object.fromEntries(MATCH.filter((name) => form[name]).map((name) => [name, form[name]]));
    const number = (name) => (form[name] === '' || form[name] === undefined ? undefined : Number(form[name]));
    const when = Object.fromEntries(['skip', 'every', 'times', 'probability', 'seed'].map((name) => [name, number(name)]).filter(([, value]) => value !== undefined));
    const act = { error: { error: form.error, ...(number('status') ? { status: number('status') } : {}), ...(number('retryAfterSeconds') ? { retryAfterSeconds: number('retryAfterSeconds') } : {}) }, reset: { reset: true }, truncate: { truncateAfterBytes: number('truncateAfterBytes') ?? 0 }, delay: {},
        stall: { stall: true }, corrupt: { corrupt: true }, slow: { bytesPerSecond: number('bytesPerSecond') ?? 1000 }, rate: { rate: { perSecond: number('perSecond') ?? 10 } } }[form.kind];
    const rule = { match, at: form.at, do: { ...act, ...(number('delayMs') ? { delayMs: number('delayMs') } : {}) } };
    return Object.keys(when).length > 0 ? { ...rule, when } : rule;
}

/** A rule in words: what it fits and what it does. */
export const matchText = (match = {}) => Object.entries(match).filter(([, value]) => value !== '*').map(([name, value]) => `${name} ${typeof value === 'object' ? Object.entries(value).map(([key, text]) => `${key}: ${text}`).join(', ') : value}`).join(', ') || 'every request';
export function actText(act = {}) {
    const after = act.afterBytes !== undefined ? ` after ${act.afterBytes} bytes of the answer` : '';
    const what = act.rate ? `let ${act.rate.perSecond} a second pass, refuse the rest with ${act.error}` : act.error ? `${act.status} ${act.error}` : act.reset ? `cut the connection${after}` : act.close ? `close the connection${after}`
        : act.stall ? `stop${after}` : act.corrupt ? `turn a bit over${after}` : act.bytesPerSecond ? `send ${act.bytesPerSecond} bytes a second` : '';
    return [act.delayMs ? `wait ${act.delayMs} ms` : '', what].filter(Boolean).join(', then ') || 'nothing';
}
