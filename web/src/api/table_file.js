// SPDX-License-Identifier: Apache-2.0
// Entities as CSV and JSON, both ways. CSV heads carry types as Azure's tools write them: "Age@type" beside "Age".
import { parseCsv } from './csv.js';
import { jsonOf, entityOf } from './table.js';

const quote = (text) => (/[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);

export function toCsv(entities) {
    const names = [...new Set(entities.flatMap((entity) => Object.keys(entity.properties)))];
    const head = ['PartitionKey', 'RowKey', 'Timestamp', ...names.flatMap((name) => [name, `${name}@type`])];
    const lines = entities.map((entity) => [entity.pk, entity.rk, entity.timestamp ?? '', ...names.flatMap((name) => {
        const property = entity.properties[name];
        return property ? [property.value, property.type] : ['', ''];
    })].map(quote).join(','));
    return `${[head.map(quote).join(','), ...lines].join('\n')}\n`;
}

export function fromCsv(text) {
    const [head, ...rows] = parseCsv(text, Infinity);
    if (!head?.includes('PartitionKey') || !head.includes('RowKey'))
        throw new Error('The first line must name PartitionKey and RowKey.');
    return rows.map((row, index) => {
        const at = (name) => row[head.indexOf(name)];
        if (row.length !== head.length)
            throw new Error(`Line ${index + 2} has ${row.length} fields, the first line ${head.length}.`);
        const properties = {};
        for (const name of head) {
            if (['PartitionKey', 'RowKey', 'Timestamp'].includes(name) || name.endsWith('@type'))
                continue;
            const type = head.includes(`${name}@type`) ? at(`${name}@type`) : 'Edm.String';
            if (type)
                properties[name] = { type: type.startsWith('Edm.') ? type : `Edm.${type}`, value: at(name) };
        }
        return { pk: at('PartitionKey'), rk: at('RowKey'), properties };
    });
}

export const toJson = (entities) => `[\n${entities.map((entity) => jsonOf(entity)).join(',\n')}\n]\n`;

export function fromJson(text) {
    const parsed = JSON.parse(text);
    const rows = Array.isArray(parsed) ? parsed : parsed.value;
    if (!Array.isArray(rows))
        throw new Error('Expected a list of entities.');
    return rows.map((row, index) => {
        if (typeof row?.PartitionKey !== 'string' || typeof row?.RowKey !== 'string')
            throw new Error(`Entity ${index + 1} has no PartitionKey and RowKey.`);
        return entityOf(row);
    });
}
