// SPDX-License-Identifier: Apache-2.0
// Shared by the table tests.
import { uniqueName } from './lib.mjs';

export const JSON_TYPE = { 'Content-Type': 'application/json', Accept: 'application/json;odata=nometadata' };

/** A raw request with a JSON body. */
export function json(server, method, path, body, headers = {}, options = {}) {
    const text = body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    return server.request('table', method, path, { ...options, headers: { ...JSON_TYPE, ...headers }, body: text });
}

/** A key in an address: quotes doubled, then percent-encoded. */
export const quoted = (key) => `'${encodeURIComponent(key.replaceAll("'", "''")).replaceAll("'", '%27')}'`;

export const entityPath = (table, pk, rk) => `/${table}(PartitionKey=${quoted(pk)},RowKey=${quoted(rk)})`;

/** A new table, with functions for its entities. */
export async function newTable(server) {
    const name = uniqueName('T');
    const made = await json(server, 'POST', '/Tables', { TableName: name });
    if (made.status !== 201)
        throw new Error(`no table: ${made.status} ${made.text}`);
    return {
        name,
        insert: (entity, headers) => json(server, 'POST', `/${name}`, entity, headers),
        get: (pk, rk, headers, options) => json(server, 'GET', entityPath(name, pk, rk), undefined, headers, options),
        put: (pk, rk, entity, headers) => json(server, 'PUT', entityPath(name, pk, rk), entity, headers),
        merge: (pk, rk, entity, headers) => json(server, 'MERGE', entityPath(name, pk, rk), entity, headers),
        patch: (pk, rk, entity, headers) => json(server, 'PATCH', entityPath(name, pk, rk), entity, headers),
        delete: (pk, rk, headers) => json(server, 'DELETE', entityPath(name, pk, rk), undefined, headers),
        query: (query = {}, headers = {}) => json(server, 'GET', `/${name}()`, undefined, headers, { query }),
    };
}

/** The body of a batch with one change set. operations: [method, url path, headers, body text or object]. */
export function batchBody(server, operations, { batch = 'batch_1', set = 'changeset_1' } = {}) {
    const parts = operations.map(([method, path, headers = {}, body]) => {
        const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
        const all = { ...JSON_TYPE, ...headers };
        return `--${set}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n` +
            `${method} ${server.url('table')}${path} HTTP/1.1\r\n` +
            Object.entries(all).map(([k, v]) => `${k}: ${v}\r\n`).join('') + `\r\n${text}\r\n`;
    });
    return `--${batch}\r\nContent-Type: multipart/mixed; boundary=${set}\r\n\r\n${parts.join('')}--${set}--\r\n--${batch}--\r\n`;
}

export const sendBatch = (server, body, headers = {}, options = {}) => server.request('table', 'POST', '/$batch', {
    ...options,
    headers: { 'Content-Type': 'multipart/mixed; boundary=batch_1', Accept: 'application/json', ...headers },
    body,
});

/** The parts of a batch's answer: [{status, headers, body}]. */
export function batchParts(response) {
    return response.text.split(/HTTP\/1\.1 /).slice(1).map((text) => {
        const [head, ...rest] = text.split('\r\n\r\n');
        const lines = head.split('\r\n');
        const headers = Object.fromEntries(lines.slice(1).map((l) => [l.slice(0, l.indexOf(':')).toLowerCase(), l.slice(l.indexOf(':') + 2)]));
        return { status: Number(lines[0].slice(0, 3)), headers, body: rest.join('\r\n\r\n').split('\r\n--')[0].trim() };
    });
}
