// SPDX-License-Identifier: Apache-2.0
// One request to a storage service on the console's own origin, with the credential that signed in.
import { stringToSign } from './sign.js';

export const VERSION = '2025-11-05';

/** An answer that says no: status, Azure's error code, its message. */
export class StorageError extends Error {
    constructor(status, code, message, request) {
        super(message || code || `status ${status}`);
        this.name = 'StorageError';
        this.status = status;
        this.code = code;
        this.request = request;
    }
}

export function parseXml(text) {
    const document = new DOMParser().parseFromString(text.replace(/^\ufeff/, ''), 'application/xml');
    if (document.querySelector('parsererror'))
        throw new StorageError(0, 'BadXml', 'The answer is not XML.');
    return document;
}

/** The text of the first element of that name directly below `element`; '' when there is none. */
export function textOf(element, name) {
    for (const child of element?.children ?? [])
        if (child.localName === name)
            return child.textContent;
    return '';
}

export function childOf(element, name) {
    for (const child of element?.children ?? [])
        if (child.localName === name)
            return child;
    return null;
}

export function childrenOf(element, name) {
    return [...(element?.children ?? [])].filter((child) => child.localName === name);
}

/** Element names and texts as a plain object: of metadata, properties, tags. */
export function pairsOf(element) {
    return Object.fromEntries([...(element?.children ?? [])].map((child) => [child.localName, child.textContent]));
}

export function escapeXml(text) {
    return String(text).replace(/[<>&'"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

/** A path segment, or several with `/` kept. */
export function encodePath(path) {
    return path.split('/').map((part) => encodeURIComponent(part).replace(/[!'()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`)).join('/');
}

function errorOf(service, answer, text, request) {
    let code = answer.headers.get('x-ms-error-code') ?? '';
    let message = '';
    try {
        // Tables and Data Lake answer in JSON.
        if (text.trimStart().startsWith('{')) {
            const said = JSON.parse(text);
            const error = said['odata.error'] ?? said.error ?? {};
            code ||= error.code;
            message = error.message?.value ?? error.message ?? '';
        } else if (text) {
            const root = parseXml(text).documentElement;
            code ||= textOf(root, 'Code');
            message = textOf(root, 'Message');
        }
    } catch {
        message = text.slice(0, 200);
    }
    return new StorageError(answer.status, code, message.split('\n')[0], request);
}

/** Signed in as somebody: `credential` is {kind: 'key', sign}, {kind: 'sas', query} or {kind: 'bearer', token}. */
export class Session {
    constructor(account, credential, server) {
        this.account = account;
        this.credential = credential;
        this.server = server;
        this.listeners = new Set();
    }

    /** The service's address for programs, not for this page. */
    endpoint(service) {
        return `${location.protocol}//${location.hostname}:${this.server.services[service]?.port}/${this.account}`;
    }

    async authorize(service, method, path, query, headers, length) {
        if (this.credential.kind === 'bearer')
            headers.authorization = `Bearer ${this.credential.token}`;
        if (this.credential.kind !== 'key')
            return;
        const text = stringToSign(service, this.account, method, path, query, headers, length);
        headers.authorization = `SharedKey ${this.account}:${await this.credential.sign(text)}`;
    }

    /**
     * Sends it and gives the Response when its status is one of success (or of `expect`), else throws a StorageError.
     * `path` is below the account and encoded: "/container/blob". A body is a string, bytes or a Blob.
     */
    async send(service, method, path, { query = {}, headers = {}, body, expect = [], signal } = {}) {
        const whole = `/${this.account}${path}`;
        const all = { 'x-ms-version': VERSION, 'x-ms-date': new Date().toUTCString() };
        for (const [name, value] of Object.entries(headers))
            if (value !== undefined && value !== null)
                all[name.toLowerCase()] = String(value);
        const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
        const length = bytes === undefined ? 0 : (bytes.size ?? bytes.byteLength);
        if (service === 'table')
            Object.assign(all, { accept: 'application/json;odata=fullmetadata', dataserviceversion: '3.0', ...all });
        const asked = { ...query };
        await this.authorize(service, method, whole, asked, all, length);
        const search = new URLSearchParams(asked).toString().replace(/\+/g, '%20');
        const sas = this.credential.kind === 'sas' ? this.credential.query : '';
        const url = `/${service}${whole}${search || sas ? '?' : ''}${[search, sas].filter(Boolean).join('&')}`;
        const request = { service, method, path, query, headers: { ...headers }, length };
        const answer = await fetch(url, { method, headers: all, body: bytes, cache: 'no-store', credentials: 'omit', redirect: 'error', signal });
        this.tell({ ...request, status: answer.status, at: Date.now() });
        if (answer.ok || expect.includes(answer.status))
            return answer;
        throw errorOf(service, answer, await answer.text(), request);
    }

    async xml(service, method, path, options) {
        return parseXml(await (await this.send(service, method, path, options)).text()).documentElement;
    }

    /** Signed request to the admin API; parsed JSON. Only an account key is enough. */
    async admin(method, path, { query = {}, body, headers = {} } = {}) {
        const all = { 'x-ms-version': VERSION, 'x-ms-date': new Date().toUTCString(), ...headers };
        const text = body === undefined ? undefined : JSON.stringify(body);
        if (text !== undefined)
            all['content-type'] = 'application/json';
        if (this.credential.kind === 'key') {
            const length = text === undefined ? 0 : new TextEncoder().encode(text).length;
            const signed = stringToSign('blob', this.account, method, path, query, all, length);
            all.authorization = `SharedKey ${this.account}:${await this.credential.sign(signed)}`;
        }
        const search = new URLSearchParams(query).toString().replace(/\+/g, '%20');
        const answer = await fetch(`${path}${search ? `?${search}` : ''}`, { method, headers: all, body: text, cache: 'no-store', credentials: 'omit' });
        const said = await answer.text();
        const json = said.startsWith('{') || said.startsWith('[') ? JSON.parse(said) : {};
        if (!answer.ok)
            throw new StorageError(answer.status, json.error?.code ?? '', json.error?.message ?? said.slice(0, 200));
        return json;
    }

    /** The last changes, for "copy as code". */
    tell(request) {
        for (const listener of this.listeners)
            listener(request);
    }

    onRequest(listener) {
        this.listeners.add(listener);
        return () => this.listeners.delete(listener);
    }
}

export async function serverInfo() {
    const answer = await fetch('/api/v1/server', { cache: 'no-store' });
    if (!answer.ok)
        throw new StorageError(answer.status, '', 'The server does not answer.');
    return answer.json();
}
