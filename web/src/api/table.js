// SPDX-License-Identifier: Apache-2.0
// Operations of the table service as the console uses them. Values keep their Edm type: {type, value}, value as text.
import { encodePath } from './client.js';

export const TYPES = ['Edm.String', 'Edm.Int32', 'Edm.Int64', 'Edm.Double', 'Edm.Boolean', 'Edm.DateTime', 'Edm.Guid', 'Edm.Binary'];

const keyText = (text) => encodeURIComponent(text.replace(/'/g, "''")).replace(/[!'()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`);
const entityPath = (table, pk, rk) => `/${encodePath(table)}(PartitionKey='${keyText(pk)}',RowKey='${keyText(rk)}')`;
const JSON_TYPE = { 'content-type': 'application/json', prefer: 'return-no-content' };

function typeOf(entity, name) {
    const told = entity[`${name}@odata.type`];
    if (told)
        return told;
    const value = entity[name];
    if (typeof value === 'boolean')
        return 'Edm.Boolean';
    if (typeof value === 'number')
        return Number.isInteger(value) ? 'Edm.Int32' : 'Edm.Double';
    return 'Edm.String';
}

export function entityOf(json) {
    const properties = {};
    for (const [name, value] of Object.entries(json)) {
        if (name.includes('odata.') || ['PartitionKey', 'RowKey', 'Timestamp'].includes(name))
            continue;
        properties[name] = { type: typeOf(json, name), value: String(value) };
    }
    return { pk: json.PartitionKey, rk: json.RowKey, timestamp: json.Timestamp, etag: json['odata.etag'], properties };
}

/** The property's value as JSON has it; throws with a sentence when the text does not fit the type. */
export function jsonValue({ type, value }) {
    switch (type) {
    case 'Edm.Int32':
        if (!/^-?\d+$/.test(value) || Math.abs(Number(value)) > 2147483648)
            throw new Error(`"${value}" is not a 32-bit integer`);
        return Number(value);
    case 'Edm.Int64':
        if (!/^-?\d+$/.test(value))
            throw new Error(`"${value}" is not an integer`);
        return value;
    case 'Edm.Double':
        if (['NaN', 'Infinity', '-Infinity'].includes(value))
            return value;
        if (value.trim() === '' || Number.isNaN(Number(value)))
            throw new Error(`"${value}" is not a number`);
        return Number(value);
    case 'Edm.Boolean':
        if (!['true', 'false'].includes(value))
            throw new Error(`"${value}" is not true or false`);
        return value === 'true';
    default:
        return value;
    }
}

export function jsonOf(entity) {
    const json = { PartitionKey: entity.pk, RowKey: entity.rk };
    for (const [name, property] of Object.entries(entity.properties)) {
        if (property.type !== 'Edm.String')
            json[`${name}@odata.type`] = property.type;
        json[name] = jsonValue(property);
    }
    return JSON.stringify(json);
}

export async function listTables(s, { next } = {}) {
    const answer = await s.send('table', 'GET', '/Tables', { query: next ? { NextTableName: next } : {} });
    const rows = (await answer.json()).value.map((table) => ({ name: table.TableName }));
    return { rows, marker: answer.headers.get('x-ms-continuation-nexttablename') };
}
export const createTable = (s, name) => s.send('table', 'POST', '/Tables', { headers: JSON_TYPE, body: JSON.stringify({ TableName: name }) });
export const deleteTable = (s, name) => s.send('table', 'DELETE', `/Tables('${keyText(name)}')`);

/** One page. `next` is what the page before gave as `marker`. */
export async function queryEntities(s, table, { filter, select, top, next, signal } = {}) {
    const query = {};
    if (filter) query.$filter = filter;
    if (select) query.$select = select;
    if (top) query.$top = String(top);
    if (next) {
        query.NextPartitionKey = next.pk;
        if (next.rk !== null) query.NextRowKey = next.rk;
    }
    const answer = await s.send('table', 'GET', `/${encodePath(table)}()`, { query, signal });
    const rows = (await answer.json()).value.map(entityOf);
    const pk = answer.headers.get('x-ms-continuation-nextpartitionkey');
    return { rows, marker: pk === null ? null : { pk, rk: answer.headers.get('x-ms-continuation-nextrowkey') } };
}
export const getEntity = async (s, table, pk, rk) => entityOf(await (await s.send('table', 'GET', entityPath(table, pk, rk))).json());
export const insertEntity = (s, table, entity) => s.send('table', 'POST', `/${encodePath(table)}`, { headers: JSON_TYPE, body: jsonOf(entity) });
/** Replaces the entity only while its ETag is the one that was shown. */
export const updateEntity = (s, table, entity, etag) => s.send('table', 'PUT', entityPath(table, entity.pk, entity.rk), {
    headers: { ...JSON_TYPE, 'if-match': etag }, body: jsonOf(entity),
});
export const upsertEntity = (s, table, entity) => s.send('table', 'PUT', entityPath(table, entity.pk, entity.rk), { headers: JSON_TYPE, body: jsonOf(entity) });
export const deleteEntity = (s, table, entity, etag = entity.etag) => s.send('table', 'DELETE', entityPath(table, entity.pk, entity.rk), { headers: { 'if-match': etag } });

/** Change sets hold entities of one PartitionKey, 100 at most. */
export function groupByPartition(entities) {
    const groups = new Map();
    for (const entity of entities) {
        const key = entity.pk;
        const last = groups.get(key)?.at(-1);
        if (last && last.length < 100)
            last.push(entity);
        else
            groups.set(key, [...(groups.get(key) ?? []), [entity]]);
    }
    return [...groups.values()].flat();
}

/** One change set: all of it or nothing. `method` is DELETE, POST (insert) or PUT (insert or replace). */
async function changeSet(s, table, method, entities) {
    const batch = `batch_${crypto.randomUUID()}`;
    const changes = `changeset_${crypto.randomUUID()}`;
    const lines = [`--${batch}`, `Content-Type: multipart/mixed; boundary=${changes}`, ''];
    const base = `${location.protocol}//${location.host}/${s.account}`;
    for (const entity of entities) {
        const path = method === 'POST' ? `/${encodePath(table)}` : entityPath(table, entity.pk, entity.rk);
        lines.push(`--${changes}`, 'Content-Type: application/http', 'Content-Transfer-Encoding: binary', '', `${method} ${base}${path} HTTP/1.1`,
            'Accept: application/json;odata=minimalmetadata', 'DataServiceVersion: 3.0');
        if (method === 'DELETE')
            lines.push(`If-Match: ${entity.etag ?? '*'}`, '', '');
        else
            lines.push('Content-Type: application/json', 'Prefer: return-no-content', '', jsonOf(entity), '');
    }
    lines.push(`--${changes}--`, `--${batch}--`, '');
    const answer = await s.send('table', 'POST', '/$batch', { headers: { 'content-type': `multipart/mixed; boundary=${batch}` }, body: lines.join('\r\n') });
    const text = await answer.text();
    const bad = [...text.matchAll(/HTTP\/1\.1 ([45]\d\d)/g)][0];
    if (bad) {
        const code = /"code":"([^"]+)"/.exec(text)?.[1] ?? '';
        throw Object.assign(new Error(/"value":"([^"]+)"/.exec(text)?.[1] ?? `status ${bad[1]}`), { status: Number(bad[1]), code });
    }
}

/** Runs change sets over all entities; gives what was refused, and reports progress. */
export async function changeMany(s, table, method, entities, progress) {
    const failed = [];
    let done = 0;
    for (const group of groupByPartition(entities)) {
        try {
            await changeSet(s, table, method, group);
        } catch (error) {
            failed.push({ entities: group, error });
        }
        done += group.length;
        progress?.(done, failed.reduce((sum, one) => sum + one.entities.length, 0));
    }
    return failed;
}
