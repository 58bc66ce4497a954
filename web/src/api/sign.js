// SPDX-License-Identifier: Apache-2.0
// Shared Key signatures with the browser's own cryptography. The key stays in memory as a CryptoKey that cannot be read back.

const encoder = new TextEncoder();

export function toBase64(bytes) {
    let text = '';
    for (const byte of new Uint8Array(bytes))
        text += String.fromCharCode(byte);
    return btoa(text);
}

export function fromBase64(text) {
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

/** The account key as something that signs. Throws when it is no base64. */
export async function importKey(text) {
    const bytes = fromBase64(text.trim());
    const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
    return async (message) => toBase64(await crypto.subtle.sign('HMAC', key, encoder.encode(message)));
}

/** The x-ms-… headers, one line each, in order. */
function canonicalHeaders(headers) {
    return Object.keys(headers)
        .filter((name) => name.startsWith('x-ms-'))
        .sort()
        .map((name) => `${name}:${headers[name].trim().replace(/\s+/g, ' ')}\n`)
        .join('');
}

/** Query parameters for the string to sign: lower-case names in order, values as they are meant. */
function canonicalQuery(query) {
    const values = new Map();
    for (const [name, value] of Object.entries(query)) {
        const lower = name.toLowerCase();
        values.set(lower, [...(values.get(lower) ?? []), String(value)]);
    }
    return [...values.keys()].sort().map((name) => `\n${name}:${values.get(name).sort().join(',')}`).join('');
}

/**
 * What Shared Key signs. `path` is the encoded path on the service's own port (/account/container/blob), `headers` has
 * lower-case names.
 */
export function stringToSign(service, account, method, path, query, headers, length) {
    const of = (name) => headers[name] ?? '';
    if (service === 'table') {
        const comp = query.comp === undefined ? '' : `?comp=${query.comp}`;
        return [method, of('content-md5'), of('content-type'), of('x-ms-date'), `/${account}${path}${comp}`].join('\n');
    }
    return [
        method, of('content-encoding'), of('content-language'), length > 0 ? String(length) : '', of('content-md5'), of('content-type'), '',
        of('if-modified-since'), of('if-match'), of('if-none-match'), of('if-unmodified-since'), of('range'),
    ].join('\n') + `\n${canonicalHeaders(headers)}/${account}${path}${canonicalQuery(query)}`;
}
