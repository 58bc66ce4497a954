// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of the admin listener: a server that has one, and requests to it.
import { ACCOUNT, KEY, VERSION, send, sign, startServer } from '../rest/lib.mjs';

export function startAdmin(options = {}) {
    return startServer({ inMemory: true, admin: true, ...options });
}

/** One request to a path, of the admin listener or of a service's port. */
export function ask(server, method, path, { headers = {}, body, port = server.ports.admin } = {}) {
    const length = body === undefined ? undefined : Buffer.byteLength(body);
    return send(port, 'admin', method, path, { 'Content-Length': length, ...headers }, body);
}

/**
 * The same, signed with an account's key. `signedPath` is what the signature is made for: the path itself, or for a
 * service below /blob, /queue, /table or /file the path without that.
 */
export function askSigned(server, method, path, options = {}) {
    const { headers = {}, body, account = ACCOUNT, key = KEY, port, table = false } = options;
    const [whole, query = ''] = path.split('?');
    const signedPath = options.signedPath ?? whole;
    const length = body === undefined ? (method === 'PUT' || method === 'POST' ? 0 : undefined) : Buffer.byteLength(body);
    const all = { 'x-ms-version': VERSION, 'x-ms-date': new Date().toUTCString(), 'Content-Length': length, ...headers };
    const signed = sign(method, signedPath, query, all, { account, key, table });
    return send(port ?? server.ports.admin, 'admin', method, path, signed, body);
}

/** A request to a storage service by way of the admin listener's origin, signed for the service's own path. */
export function askStorage(server, service, method, path, options = {}) {
    const [whole] = path.split('?');
    return askSigned(server, method, `/${service}${path}`, { signedPath: whole, table: service === 'table', ...options });
}
