// SPDX-License-Identifier: Apache-2.0
// Shared access signatures: made in the browser with the key that signed in, and taken apart when one is pasted.
import { VERSION } from './client.js';

const iso = (date) => date.toISOString().replace(/\.\d+Z$/, 'Z');

/** Account SAS. `services` of bqtf, `types` of sco, `permissions` letters in the order that the service wants. */
export async function accountSas(s, { services = 'bqtf', types = 'sco', permissions = 'rwdlacup', hours = 24, ip = '', https = false }) {
    const start = '';
    const expiry = iso(new Date(Date.now() + hours * 3600e3));
    const protocol = https ? 'https' : 'https,http';
    const text = [s.account, permissions, services, types, start, expiry, ip, protocol, VERSION, '', ''].join('\n');
    return finish({ sv: VERSION, ss: services, srt: types, sp: permissions, se: expiry, sip: ip, spr: protocol, sig: await s.credential.sign(text) }, text);
}

/** Service SAS of a container, blob, queue, table, share or file. */
export async function serviceSas(s, { service, name, object, permissions, hours = 24, ip = '', https = false }) {
    const expiry = iso(new Date(Date.now() + hours * 3600e3));
    const protocol = https ? 'https' : 'https,http';
    const resource = `/${service}/${s.account}/${name}${object === undefined ? '' : `/${object}`}`;
    const fields = { sv: VERSION, se: expiry, sp: permissions, sip: ip, spr: protocol };
    let text;
    if (service === 'table') {
        text = [permissions, '', expiry, resource.toLowerCase(), '', ip, protocol, VERSION, '', '', '', ''].join('\n');
        fields.tn = name;
    } else if (service === 'queue') {
        text = [permissions, '', expiry, resource, '', ip, protocol, VERSION].join('\n');
    } else if (service === 'file') {
        fields.sr = object === undefined ? 's' : 'f';
        text = [permissions, '', expiry, resource, '', ip, protocol, VERSION, '', '', '', '', ''].join('\n');
    } else {
        fields.sr = object === undefined ? 'c' : 'b';
        text = [permissions, '', expiry, resource, '', ip, protocol, VERSION, fields.sr, '', '', '', '', '', '', ''].join('\n');
    }
    fields.sig = await s.credential.sign(text);
    return finish(fields, text);
}

function finish(fields, text) {
    const query = Object.entries(fields).filter(([, value]) => value !== '').map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
    return { query, text };
}

const MEANINGS = {
    sv: 'version of the signature', ss: 'services', srt: 'resource types', sr: 'resource', sp: 'permissions', st: 'starts', se: 'expires', sip: 'addresses', spr: 'protocols', si: 'stored policy',
    sig: 'signature', tn: 'table', spk: 'first PartitionKey', epk: 'last PartitionKey', srk: 'first RowKey', erk: 'last RowKey', skoid: 'signed by object', sktid: 'of tenant', skt: 'key starts', ske: 'key expires',
    sks: 'key service', skv: 'key version', sdd: 'directory depth', ses: 'encryption scope', saoid: 'authorized object', suoid: 'unauthorized object', scid: 'correlation',
};
const RESOURCES = { b: 'blob', c: 'container', bs: 'snapshot', bv: 'version', d: 'directory', s: 'share', f: 'file' };

/** What a SAS says, in words, and what is plainly wrong with it. */
export function explainSas(input, now = Date.now()) {
    const query = new URLSearchParams(input.includes('?') ? input.slice(input.indexOf('?') + 1) : input);
    const rows = [...query].map(([name, value]) => ({ name, meaning: MEANINGS[name] ?? '', value: name === 'sig' ? `${value.slice(0, 4)}…` : name === 'sr' ? `${value} (${RESOURCES[value] ?? 'unknown'})` : value }));
    const problems = [];
    if (!query.get('sig')) problems.push('It has no signature (sig).');
    if (!query.get('sv')) problems.push('It has no version (sv).');
    if (!query.get('se') && !query.get('si')) problems.push('It has neither an expiry (se) nor a stored policy (si).');
    if (query.get('se') && Date.parse(query.get('se')) < now) problems.push(`It expired at ${query.get('se')}.`);
    if (query.get('st') && Date.parse(query.get('st')) > now) problems.push(`It begins only at ${query.get('st')}.`);
    if (!query.get('sp') && !query.get('si')) problems.push('It has no permissions (sp).');
    if (query.get('ss') && !query.get('srt')) problems.push('An account SAS needs resource types (srt).');
    if (query.get('sig')?.includes(' ')) problems.push('The signature has a space: a plus sign was not percent-encoded.');
    return { rows, problems };
}

export function connectionString(s, sas) {
    const parts = [`DefaultEndpointsProtocol=${location.protocol.slice(0, -1)}`];
    if (!sas)
        parts.push(`AccountName=${s.account}`, `AccountKey=${s.keyText?.() ?? '<key>'}`);
    for (const [service, label] of [['blob', 'Blob'], ['queue', 'Queue'], ['table', 'Table'], ['file', 'File']])
        if (s.server.services[service])
            parts.push(`${label}Endpoint=${s.endpoint(service)}`);
    if (sas)
        parts.push(`SharedAccessSignature=${sas}`);
    return `${parts.join(';')};`;
}
