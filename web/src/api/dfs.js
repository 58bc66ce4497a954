// SPDX-License-Identifier: Apache-2.0
// Accounts with a hierarchical namespace (Data Lake): directories, access control lists, rename.
import { encodePath } from './client.js';

const pathOf = (container, path) => `/${encodePath(container)}/${encodePath(path)}`;

/** Whether the account has directories of its own; who may not ask is told no. Asked once per session. */
export function isHierarchical(s) {
    s.hierarchical ??= s.send('blob', 'GET', '/', { query: { restype: 'account', comp: 'properties' } })
        .then((answer) => answer.headers.get('x-ms-is-hns-enabled') === 'true', () => false);
    return s.hierarchical;
}

export async function getAccess(s, container, path) {
    const { headers } = await s.send('blob', 'HEAD', pathOf(container, path), { query: { action: 'getAccessControl' } });
    return { owner: headers.get('x-ms-owner') ?? '', group: headers.get('x-ms-group') ?? '', permissions: headers.get('x-ms-permissions') ?? '', acl: headers.get('x-ms-acl') ?? '', etag: headers.get('etag') };
}

export const setAccess = (s, container, path, { owner, group, acl, etag }) => s.send('blob', 'PATCH', pathOf(container, path), {
    query: { action: 'setAccessControl' }, headers: { 'x-ms-owner': owner, 'x-ms-group': group, 'x-ms-acl': acl, 'if-match': etag },
});

/** Never over something that is there. A directory takes all below it along, at once. */
export const renamePath = (s, container, from, to) => s.send('blob', 'PUT', pathOf(container, to), {
    headers: { 'x-ms-rename-source': pathOf(container, from), 'if-none-match': '*' },
});

export const makeDirectory = (s, container, path) => s.send('blob', 'PUT', pathOf(container, path), { query: { resource: 'directory' }, headers: { 'if-none-match': '*' } });
