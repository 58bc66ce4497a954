// SPDX-License-Identifier: Apache-2.0
// Operations of the blob service as the console uses them.
import { childOf, childrenOf, encodePath, escapeXml, pairsOf, textOf } from './client.js';

const blobPath = (container, name) => `/${encodePath(container)}/${encodePath(name)}`;
const versionQuery = (blob) => ({
    ...(blob.snapshot ? { snapshot: blob.snapshot } : {}),
    ...(blob.versionId && !blob.current ? { versionid: blob.versionId } : {}),
});
const leaseHeader = (lease) => (lease ? { 'x-ms-lease-id': lease } : {});
export const metadataHeaders = (metadata) => Object.fromEntries(Object.entries(metadata).map(([name, value]) => [`x-ms-meta-${name}`, value]));

function readHead(answer) {
    const headers = Object.fromEntries(answer.headers);
    const metadata = Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('x-ms-meta-')).map(([name, value]) => [name.slice(10), value]));
    return { headers, metadata, etag: headers.etag, size: Number(headers['content-length']) };
}

function tagsOf(element) {
    const set = childOf(childOf(element, 'Tags'), 'TagSet');
    return Object.fromEntries(childrenOf(set, 'Tag').map((tag) => [textOf(tag, 'Key'), textOf(tag, 'Value')]));
}

function blobOf(element) {
    const properties = pairsOf(childOf(element, 'Properties'));
    // A list may hold a million of these: only what it shows is kept.
    return {
        kind: 'blob',
        name: textOf(element, 'Name'),
        snapshot: textOf(element, 'Snapshot'),
        versionId: textOf(element, 'VersionId'),
        current: textOf(element, 'IsCurrentVersion') === 'true',
        deleted: textOf(element, 'Deleted') === 'true',
        size: Number(properties['Content-Length'] ?? 0),
        modified: properties['Last-Modified'] ?? '',
        etag: properties.Etag ?? '',
        type: properties.BlobType ?? '',
        tier: properties.AccessTier ?? '',
        leased: properties.LeaseStatus === 'locked',
        directory: properties.ResourceType === 'directory',
        held: properties.LegalHold === 'true' || 'ImmutabilityPolicyUntilDate' in properties,
    };
}

export async function listContainers(s, { marker, prefix, deleted } = {}) {
    const query = { comp: 'list', include: deleted ? 'metadata,deleted,system' : 'metadata,system' };
    if (prefix) query.prefix = prefix;
    if (marker) query.marker = marker;
    const root = await s.xml('blob', 'GET', '/', { query });
    const rows = childrenOf(childOf(root, 'Containers'), 'Container').map((element) => ({
        name: textOf(element, 'Name'),
        deleted: textOf(element, 'Deleted') === 'true',
        version: textOf(element, 'Version'),
        properties: pairsOf(childOf(element, 'Properties')),
        metadata: pairsOf(childOf(element, 'Metadata')),
    }));
    return { rows, marker: textOf(root, 'NextMarker') };
}

export const createContainer = (s, name, access) => s.send('blob', 'PUT', `/${encodePath(name)}`, {
    query: { restype: 'container' }, headers: access ? { 'x-ms-blob-public-access': access } : {},
});
export const deleteContainer = (s, name, { lease, etag } = {}) => s.send('blob', 'DELETE', `/${encodePath(name)}`, {
    query: { restype: 'container' }, headers: { ...leaseHeader(lease), 'if-match': etag },
});
export async function containerProperties(s, name) {
    const answer = await s.send('blob', 'HEAD', `/${encodePath(name)}`, { query: { restype: 'container' } });
    return { ...readHead(answer), access: answer.headers.get('x-ms-blob-public-access') ?? '' };
}
export const setContainerMetadata = (s, name, metadata) => s.send('blob', 'PUT', `/${encodePath(name)}`, {
    query: { restype: 'container', comp: 'metadata' }, headers: metadataHeaders(metadata),
});
/** Sets who may read without a credential; the stored policies are sent back as they were. */
export async function setPublicAccess(s, name, access) {
    const query = { restype: 'container', comp: 'acl' };
    const policies = await (await s.send('blob', 'GET', `/${encodePath(name)}`, { query })).text();
    await s.send('blob', 'PUT', `/${encodePath(name)}`, { query, body: policies.replace(/^\ufeff/, ''), headers: { 'content-type': 'application/xml', 'x-ms-blob-public-access': access || undefined } });
}
export const restoreContainer = (s, name, version) => s.send('blob', 'PUT', `/${encodePath(name)}`, {
    query: { restype: 'container', comp: 'undelete' }, headers: { 'x-ms-deleted-container-name': name, 'x-ms-deleted-container-version': version },
});

/** One page: prefixes and blobs in order. `include`: what to show besides the blobs of today. */
export async function listBlobs(s, container, { prefix = '', delimiter = '', marker = '', include = [], max = 5000, signal } = {}) {
    const query = { restype: 'container', comp: 'list', maxresults: String(max), };
    if (include.length > 0) query.include = include.join(',');
    if (prefix) query.prefix = prefix;
    if (delimiter) query.delimiter = delimiter;
    if (marker) query.marker = marker;
    const root = await s.xml('blob', 'GET', `/${encodePath(container)}`, { query, signal });
    const rows = [...(childOf(root, 'Blobs')?.children ?? [])].map((element) => (element.localName === 'BlobPrefix'
        ? { kind: 'prefix', name: textOf(element, 'Name') } : blobOf(element)));
    return { rows, marker: textOf(root, 'NextMarker') };
}

export async function findByTags(s, where, { container, marker } = {}) {
    const query = { comp: 'blobs', where };
    if (marker) query.marker = marker;
    if (container) query.restype = 'container';
    const root = await s.xml('blob', 'GET', container ? `/${encodePath(container)}` : '/', { query });
    const rows = childrenOf(childOf(root, 'Blobs'), 'Blob').map((element) => ({
        kind: 'blob', name: textOf(element, 'Name'), container: textOf(element, 'ContainerName'), tags: tagsOf(element), size: NaN,
        modified: '', etag: '', type: '', tier: '', snapshot: '', versionId: '',
    }));
    return { rows, marker: textOf(root, 'NextMarker') };
}

export async function getProperties(s, container, blob) {
    return readHead(await s.send('blob', 'HEAD', blobPath(container, blob.name), { query: versionQuery(blob) }));
}

export const setMetadata = (s, container, name, metadata, etag) => s.send('blob', 'PUT', blobPath(container, name), {
    query: { comp: 'metadata' }, headers: { ...metadataHeaders(metadata), 'if-match': etag },
});
export const setProperties = (s, container, name, properties, etag) => s.send('blob', 'PUT', blobPath(container, name), {
    query: { comp: 'properties' }, headers: { ...Object.fromEntries(Object.entries(properties).map(([k, v]) => [`x-ms-blob-${k}`, v])), 'if-match': etag },
});
export const setTier = (s, container, blob, tier) => s.send('blob', 'PUT', blobPath(container, blob.name), {
    query: { comp: 'tier', ...versionQuery(blob) }, headers: { 'x-ms-access-tier': tier },
});

export async function getTags(s, container, blob) {
    const root = await s.xml('blob', 'GET', blobPath(container, blob.name), { query: { comp: 'tags', ...versionQuery(blob) } });
    return Object.fromEntries(childrenOf(childOf(root, 'TagSet'), 'Tag').map((tag) => [textOf(tag, 'Key'), textOf(tag, 'Value')]));
}
export const setTags = (s, container, blob, tags) => s.send('blob', 'PUT', blobPath(container, blob.name), {
    query: { comp: 'tags', ...versionQuery(blob) },
    headers: { 'content-type': 'application/xml' },
    body: `<Tags><TagSet>${Object.entries(tags).map(([k, v]) => `<Tag><Key>${escapeXml(k)}</Key><Value>${escapeXml(v)}</Value></Tag>`).join('')}</TagSet></Tags>`,
});

export const deleteBlob = (s, container, blob, { snapshots = true, etag, lease } = {}) => s.send('blob', 'DELETE', blobPath(container, blob.name), {
    query: versionQuery(blob),
    headers: { ...(snapshots && !blob.directory && !blob.snapshot && !(blob.versionId && !blob.current) ? { 'x-ms-delete-snapshots': 'include' } : {}), 'if-match': etag, ...leaseHeader(lease) },
});
export const undeleteBlob = (s, container, name) => s.send('blob', 'PUT', blobPath(container, name), { query: { comp: 'undelete' } });
export const snapshotBlob = (s, container, name) => s.send('blob', 'PUT', blobPath(container, name), { query: { comp: 'snapshot' } });

/** Copies within the account; the source may be a snapshot or version. A restore is a copy over the blob itself. */
export async function copyBlob(s, from, to, { etag, tier } = {}) {
    const query = new URLSearchParams(versionQuery(from.blob)).toString();
    const sas = s.credential.kind === 'sas' ? s.credential.query : '';
    const source = `${s.endpoint('blob')}${blobPath(from.container, from.blob.name)}${query || sas ? '?' : ''}${[query, sas].filter(Boolean).join('&')}`;
    const answer = await s.send('blob', 'PUT', blobPath(to.container, to.name), { headers: { 'x-ms-copy-source': source, 'if-match': etag, 'x-ms-access-tier': tier } });
    return answer.headers.get('x-ms-copy-status');
}

/** acquire, renew, change, release or break; of a blob, or of a container when `name` is absent. */
export async function lease(s, container, name, action, { id, proposed, seconds, period } = {}) {
    const answer = await s.send('blob', 'PUT', name === undefined ? `/${encodePath(container)}` : blobPath(container, name), {
        query: { comp: 'lease', ...(name === undefined ? { restype: 'container' } : {}) },
        headers: {
            'x-ms-lease-action': action, 'x-ms-lease-id': id, 'x-ms-proposed-lease-id': proposed,
            'x-ms-lease-duration': seconds, 'x-ms-lease-break-period': period,
        },
    });
    return { id: answer.headers.get('x-ms-lease-id'), seconds: answer.headers.get('x-ms-lease-time') };
}

export async function blockList(s, container, blob) {
    const root = await s.xml('blob', 'GET', blobPath(container, blob.name), { query: { comp: 'blocklist', blocklisttype: 'all', ...versionQuery(blob) } });
    const blocks = (kind) => childrenOf(childOf(root, kind), 'Block').map((block) => ({ id: textOf(block, 'Name'), size: Number(textOf(block, 'Size')), kind }));
    return [...blocks('CommittedBlocks'), ...blocks('UncommittedBlocks')];
}
export async function pageRanges(s, container, blob) {
    const root = await s.xml('blob', 'GET', blobPath(container, blob.name), { query: { comp: 'pagelist', ...versionQuery(blob) } });
    return childrenOf(root, 'PageRange').map((range) => ({ start: Number(textOf(range, 'Start')), end: Number(textOf(range, 'End')) }));
}

export const legalHold = (s, container, name, on) => s.send('blob', 'PUT', blobPath(container, name), { query: { comp: 'legalhold' }, headers: { 'x-ms-legal-hold': String(on) } });

/** Protects the blob until then; without a time the policy is taken off. */
export const setImmutability = (s, container, name, until) => s.send('blob', until ? 'PUT' : 'DELETE', blobPath(container, name), {
    query: { comp: 'immutabilityPolicies' }, headers: until ? { 'x-ms-immutability-policy-until-date': until.toUTCString(), 'x-ms-immutability-policy-mode': 'unlocked' } : {},
});

export async function download(s, container, blob, { from, to, signal, etag } = {}) {
    return s.send('blob', 'GET', blobPath(container, blob.name), {
        query: versionQuery(blob), signal,
        headers: { 'x-ms-range': from === undefined ? undefined : `bytes=${from}-${to}`, 'if-match': etag },
    });
}
export const putBlob = (s, container, name, body, { type, etag, none, metadata = {}, tier, signal } = {}) => s.send('blob', 'PUT', blobPath(container, name), {
    body, signal,
    headers: {
        'x-ms-blob-type': 'BlockBlob', 'x-ms-blob-content-type': type || 'application/octet-stream', 'content-type': 'application/octet-stream',
        'if-match': etag, 'if-none-match': none ? '*' : undefined, 'x-ms-access-tier': tier, ...metadataHeaders(metadata),
    },
});
export const putBlock = (s, container, name, id, body, signal) => s.send('blob', 'PUT', blobPath(container, name), {
    query: { comp: 'block', blockid: id }, body, signal, headers: { 'content-type': 'application/octet-stream' },
});
export const putBlockList = (s, container, name, ids, { type, etag, none, signal } = {}) => s.send('blob', 'PUT', blobPath(container, name), {
    query: { comp: 'blocklist' }, signal,
    headers: { 'content-type': 'application/xml', 'x-ms-blob-content-type': type || 'application/octet-stream', 'if-match': etag, 'if-none-match': none ? '*' : undefined },
    body: `<BlockList>${ids.map((id) => `<Latest>${id}</Latest>`).join('')}</BlockList>`,
});

export const createPageBlob = (s, container, name, size, { type, signal, none } = {}) => s.send('blob', 'PUT', blobPath(container, name), {
    signal, headers: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': size, 'x-ms-blob-content-type': type || 'application/octet-stream', 'if-none-match': none ? '*' : undefined },
});
export const putPages = (s, container, name, from, body, signal) => s.send('blob', 'PUT', blobPath(container, name), {
    query: { comp: 'page' }, body, signal, headers: { 'x-ms-page-write': 'update', 'x-ms-range': `bytes=${from}-${from + body.size - 1}`, 'content-type': 'application/octet-stream' },
});
export const createAppendBlob = (s, container, name, { type, signal, none } = {}) => s.send('blob', 'PUT', blobPath(container, name), {
    signal, headers: { 'x-ms-blob-type': 'AppendBlob', 'x-ms-blob-content-type': type || 'application/octet-stream', 'if-none-match': none ? '*' : undefined },
});
/** Appends only where the blob still ends, so a retry never doubles a block. */
export const appendBlock = (s, container, name, from, body, signal) => s.send('blob', 'PUT', blobPath(container, name), {
    query: { comp: 'appendblock' }, body, signal, headers: { 'x-ms-blob-condition-appendpos': from, 'content-type': 'application/octet-stream' },
});

const BATCH = 256;

/** `partOf(blob)` gives the request of each; they go in batches, and `progress(done, failed)` is called after each batch. */
async function changeMany(s, container, blobs, partOf, progress) {
    const failed = [];
    for (let at = 0; at < blobs.length; at += BATCH) {
        const part = blobs.slice(at, at + BATCH);
        failed.push(...await submitBatch(s, container, part.map((blob) => ({ path: `/${s.account}${blobPath(container, blob.name)}`, blob, ...partOf(blob) }))));
        progress?.(Math.min(at + BATCH, blobs.length), failed.length);
    }
    return failed;
}
export const deleteMany = (s, container, blobs, progress) => changeMany(s, container, blobs, (blob) => ({
    method: 'DELETE', query: versionQuery(blob),
    headers: { ...(blob.etag && !blob.snapshot ? { 'If-Match': blob.etag } : {}), ...(blob.directory || blob.snapshot || (blob.versionId && !blob.current) ? {} : { 'x-ms-delete-snapshots': 'include' }) },
}), progress);
export const tierMany = (s, container, blobs, tier, progress) => changeMany(s, container, blobs, (blob) => ({
    method: 'PUT', query: { comp: 'tier', ...versionQuery(blob) }, headers: { 'x-ms-access-tier': tier },
}), progress);

/** What has no batch in the protocol: one request each, a few at a time. */
export async function eachOf(blobs, work, progress) {
    const failed = [];
    const queue = [...blobs];
    let done = 0;
    const lane = async () => {
        for (let blob; (blob = queue.shift()) !== undefined;) {
            await work(blob).catch((error) => failed.push({ blob, status: error.status, code: error.code || error.message }));
            progress?.(++done, failed.length);
        }
    };
    await Promise.all(Array.from({ length: Math.min(6, blobs.length) }, lane));
    return failed;
}

/** One Blob Batch request to the container. Gives those parts that were refused, with their code. */
async function submitBatch(s, container, parts) {
    const boundary = `batch_${crypto.randomUUID()}`;
    const lines = [];
    for (const [index, part] of parts.entries()) {
        const headers = { 'x-ms-date': new Date().toUTCString() };
        for (const [name, value] of Object.entries(part.headers))
            headers[name.toLowerCase()] = value;
        await s.authorize('blob', part.method, part.path, part.query, headers, 0);
        const sas = s.credential.kind === 'sas' ? s.credential.query : '';
        const query = [new URLSearchParams(part.query).toString().replace(/\+/g, '%20'), sas].filter(Boolean).join('&');
        lines.push(`--${boundary}`, 'Content-Type: application/http', 'Content-Transfer-Encoding: binary', `Content-ID: ${index}`, '',
            `${part.method} ${part.path}${query ? `?${query}` : ''} HTTP/1.1`,
            ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), 'Content-Length: 0', '', '');
    }
    lines.push(`--${boundary}--`, '');
    const answer = await s.send('blob', 'POST', `/${encodePath(container)}`, { query: { restype: 'container', comp: 'batch' }, headers: { 'content-type': `multipart/mixed; boundary=${boundary}` }, body: lines.join('\r\n') });
    return batchFailures(await answer.text(), parts);
}

export function batchFailures(text, parts) {
    const failed = [];
    for (const piece of text.split(/\r?\n--batchresponse[^\r\n]*/)) {
        const id = /^Content-ID: *(\d+)/im.exec(piece);
        const status = /HTTP\/1\.1 (\d{3})/.exec(piece);
        if (status && Number(status[1]) >= 300) {
            const code = /^x-ms-error-code: *(\S+)/im.exec(piece)?.[1] ?? status[1];
            failed.push({ blob: parts[Number(id?.[1] ?? 0)]?.blob, status: Number(status[1]), code });
        }
    }
    return failed;
}

export async function getServiceProperties(s, service) {
    return s.xml(service, 'GET', '/', { query: { restype: 'service', comp: 'properties' } });
}
