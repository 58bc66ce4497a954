// SPDX-License-Identifier: Apache-2.0
// Operations of the file service as the console uses them.
import { childOf, childrenOf, encodePath, pairsOf, StorageError, textOf } from './client.js';

const PATH = (share, path) => `/${encodePath(share)}${path ? `/${encodePath(path)}` : ''}`;
const INTENT = (s) => (s.credential.kind === 'bearer' ? { 'x-ms-file-request-intent': 'backup' } : {});
const at = (snapshot) => (snapshot ? { sharesnapshot: snapshot } : {});

export async function listShares(s, { marker, prefix, deleted } = {}) {
    const query = { comp: 'list', include: ['metadata', 'snapshots', ...(deleted ? ['deleted'] : [])].join(',') };
    if (prefix) query.prefix = prefix;
    if (marker) query.marker = marker;
    const root = await s.xml('file', 'GET', '/', { query, headers: INTENT(s) });
    const rows = childrenOf(childOf(root, 'Shares'), 'Share').map((element) => ({
        name: textOf(element, 'Name'), snapshot: textOf(element, 'Snapshot'), deleted: textOf(element, 'Deleted') === 'true', version: textOf(element, 'Version'),
        properties: pairsOf(childOf(element, 'Properties')), metadata: pairsOf(childOf(element, 'Metadata')),
    }));
    return { rows, marker: textOf(root, 'NextMarker') };
}
export const createShare = (s, name, quota) => s.send('file', 'PUT', PATH(name), { query: { restype: 'share' }, headers: { 'x-ms-share-quota': quota, ...INTENT(s) } });
export const deleteShare = (s, name, snapshot) => s.send('file', 'DELETE', PATH(name), {
    query: { restype: 'share', ...at(snapshot) }, headers: { ...(snapshot ? {} : { 'x-ms-delete-snapshots': 'include' }), ...INTENT(s) },
});
export const restoreShare = (s, name, version) => s.send('file', 'PUT', PATH(name), {
    query: { restype: 'share', comp: 'undelete' }, headers: { 'x-ms-deleted-share-name': name, 'x-ms-deleted-share-version': version, ...INTENT(s) },
});
export const snapshotShare = (s, name) => s.send('file', 'PUT', PATH(name), { query: { restype: 'share', comp: 'snapshot' }, headers: INTENT(s) });

export async function listDirectory(s, share, path, { marker, prefix, snapshot, signal } = {}) {
    const query = { restype: 'directory', comp: 'list', maxresults: '5000', include: 'Timestamps,Etag,Attributes,PermissionKey', ...at(snapshot) };
    if (prefix) query.prefix = prefix;
    if (marker) query.marker = marker;
    const root = await s.xml('file', 'GET', PATH(share, path), { query, signal, headers: { 'x-ms-file-extended-info': 'true', ...INTENT(s) } });
    const rows = [...(childOf(root, 'Entries')?.children ?? [])].map((element) => {
        const properties = pairsOf(childOf(element, 'Properties'));
        return {
            kind: element.localName === 'Directory' ? 'directory' : 'file', name: textOf(element, 'Name'), id: textOf(element, 'FileId'), properties,
            size: Number(properties['Content-Length'] ?? 0), modified: properties['Last-Modified'] ?? '', attributes: textOf(element, 'Attributes'),
            permission: textOf(element, 'PermissionKey'),
        };
    });
    return { rows, marker: textOf(root, 'NextMarker') };
}
export const createDirectory = (s, share, path) => s.send('file', 'PUT', PATH(share, path), { query: { restype: 'directory' }, headers: INTENT(s) });
export const deleteDirectory = (s, share, path) => s.send('file', 'DELETE', PATH(share, path), { query: { restype: 'directory' }, headers: INTENT(s) });
export const deleteFile = (s, share, path) => s.send('file', 'DELETE', PATH(share, path), { headers: INTENT(s) });
export const createFile = (s, share, path, size, { type, signal } = {}) => s.send('file', 'PUT', PATH(share, path), {
    headers: { 'x-ms-type': 'file', 'x-ms-content-length': size, 'x-ms-content-type': type || undefined, ...INTENT(s) }, signal,
});
export const putRange = (s, share, path, from, body, signal) => s.send('file', 'PUT', PATH(share, path), {
    query: { comp: 'range' }, body, signal,
    headers: { 'x-ms-write': 'update', 'x-ms-range': `bytes=${from}-${from + (body.size ?? body.byteLength) - 1}`, 'content-type': 'application/octet-stream', ...INTENT(s) },
});
export const renamePath = (s, share, from, to, isDirectory) => s.send('file', 'PUT', PATH(share, to), {
    query: { comp: 'rename', ...(isDirectory ? { restype: 'directory' } : {}) },
    headers: { 'x-ms-file-rename-source': `${s.endpoint('file')}${PATH(share, from)}${s.credential.kind === 'sas' ? `?${s.credential.query}` : ''}`, ...INTENT(s) },
});
export async function fileProperties(s, share, path, { directory, snapshot } = {}) {
    const answer = await s.send('file', 'HEAD', PATH(share, path), { query: { ...(directory ? { restype: 'directory' } : {}), ...at(snapshot) }, headers: INTENT(s) });
    return Object.fromEntries(answer.headers);
}
/** A part of a file. The service takes no If-Match here, so the answer's ETag is compared. */
export async function downloadFile(s, share, path, { from, to, snapshot, signal, etag } = {}) {
    const answer = await s.send('file', 'GET', PATH(share, path), {
        query: at(snapshot), signal, headers: { 'x-ms-range': from === undefined ? undefined : `bytes=${from}-${to}`, ...INTENT(s) },
    });
    const bare = (text) => text?.replace(/"/g, '');
    if (etag && bare(answer.headers.get('etag')) !== bare(etag))
        throw new StorageError(412, 'ConditionNotMet', 'The file was changed while it was read.');
    return answer;
}
export async function fileRanges(s, share, path) {
    const root = await s.xml('file', 'GET', PATH(share, path), { query: { comp: 'rangelist' }, headers: INTENT(s) });
    return childrenOf(root, 'Range').map((range) => ({ start: Number(textOf(range, 'Start')), end: Number(textOf(range, 'End')) }));
}
/** The descriptor as SDDL text. */
export async function permissionOf(s, share, key) {
    const answer = await s.send('file', 'GET', PATH(share), { query: { restype: 'share', comp: 'filepermission' }, headers: { 'x-ms-file-permission-key': key, ...INTENT(s) } });
    return (await answer.json()).permission;
}

/** Open SMB handles at or below a path. */
export async function listHandles(s, share, path = '', { marker } = {}) {
    const query = { comp: 'listhandles', maxresults: '1000' };
    if (marker) query.marker = marker;
    const root = await s.xml('file', 'GET', PATH(share, path), { query, headers: { 'x-ms-recursive': 'true', ...INTENT(s) } });
    const rows = childrenOf(childOf(root, 'Entries'), 'Handle').map((element) => ({
        id: textOf(element, 'HandleId'), path: textOf(element, 'Path'), fileId: textOf(element, 'FileId'), session: textOf(element, 'SessionId'),
        client: textOf(element, 'ClientIp'), opened: textOf(element, 'OpenTime'), access: [...(childOf(element, 'AccessRightList')?.children ?? [])].map((one) => one.textContent).join(', '),
    }));
    return { rows, marker: textOf(root, 'NextMarker') };
}
export const closeHandle = (s, share, path, id) => s.send('file', 'PUT', PATH(share, path), {
    query: { comp: 'forceclosehandles' }, headers: { 'x-ms-handle-id': id, ...(id === '*' ? { 'x-ms-recursive': 'true' } : {}), ...INTENT(s) },
});
/** Of a file, or of the share itself when there is no path. */
export const breakLease = (s, share, path) => s.send('file', 'PUT', PATH(share, path), {
    query: { comp: 'lease', ...(path ? {} : { restype: 'share' }) }, headers: { 'x-ms-lease-action': 'break', ...INTENT(s) },
});
