// SPDX-License-Identifier: Apache-2.0
// Shared by several tests of the blob service.
import { ACCOUNT, sign } from './lib.mjs';

/** One part of a batch; `target` is the whole path with its query. */
export function batchPart(method, target, headers = {}, { signed = true } = {}) {
    const [path, query = ''] = target.split('?');
    const all = { 'x-ms-date': new Date().toUTCString(), ...headers };
    const pairs = signed ? sign(method, path, query, all) : Object.entries(all);
    return `Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n${method} ${target} HTTP/1.1\r\n` +
        pairs.map(([name, value]) => `${name}: ${value}\r\n`).join('');
}

/** Submits parts as one batch. */
export function submitBatch(server, parts, { path = '', query = 'comp=batch', end = '--b--\r\n', type = 'multipart/mixed; boundary=b' } = {}) {
    const body = parts.map((text) => `--b\r\n${text}\r\n`).join('') + end;
    return server.request('blob', 'POST', path, { query, body, headers: { 'Content-Type': type } });
}

/** Submits one part alone, and gives its status and error code as if it had been sent by itself. */
export async function asBatch(server, method, path, query, headers) {
    const target = `/${ACCOUNT}${path}${query === '' ? '' : `?${query}`}`;
    const { text } = await submitBatch(server, [batchPart(method, target, headers)]);
    const [, status] = text.match(/HTTP\/1.1 (\d+)/);
    return { status: Number(status), text, headers: { 'x-ms-error-code': text.match(/x-ms-error-code: (\S+)/)?.[1] } };
}

/** The rows of the table in a Markdown text whose first columns have these titles; each row is an object by title. */
export function readTable(text, ...titles) {
    const rows = text.split('\n').map((line) => (line.startsWith('|') ? line.split('|').slice(1, -1).map((cell) => cell.trim()) : null));
    const start = rows.findIndex((row) => row !== null && titles.every((title, i) => row[i] === title));
    const end = rows.findIndex((row, i) => i > start && row === null);
    return rows.slice(start + 2, end === -1 ? undefined : end)
        .map((row) => Object.fromEntries(rows[start].map((title, i) => [title, row[i]])));
}
