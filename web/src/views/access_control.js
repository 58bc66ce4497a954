// SPDX-License-Identifier: Apache-2.0
// Who may do what with a path of a hierarchical account.
import { useEffect, useState } from 'preact/hooks';
import { getAccess, setAccess } from '../api/dfs.js';
import { html } from '../ui/html.js';
import { Dialog, Failure, useApp } from '../ui/parts.js';

export function AccessControl({ container, path, onClose }) {
    const { session, act } = useApp();
    const [access, setIt] = useState(null);
    const [error, setError] = useState(null);
    useEffect(() => { getAccess(session, container, path).then(setIt, setError); }, []);
    const save = async (event) => {
        event.preventDefault();
        if (await act(`Access to ${path} changed`, () => setAccess(session, container, path, access)))
            onClose();
    };
    const field = (name, label) => html`<label>${label}<input value=${access[name]} onInput=${(event) => setIt({ ...access, [name]: event.target.value })} /></label>`;
    return html`<${Dialog} wide title=${`Access control of ${path}`} onClose=${onClose}>
        ${error && html`<${Failure} error=${error} />`}
        ${access && html`<form onSubmit=${save}><p>Permissions: <code>${access.permissions}</code></p>
            <div class="fields">${field('owner', 'Owner')}${field('group', 'Owning group')}</div>
            <label>Access control list<textarea value=${access.acl} onInput=${(event) => setIt({ ...access, acl: event.target.value })}></textarea></label>
            <p class="quiet">Entries with commas between: <code>user::rwx,user:OBJECT-ID:r-x,group::r-x,mask::r-x,other::---</code>; those that begin with <code>default:</code> are for what is made below a directory.</p>
            <footer><button type="button" onClick=${onClose}>Cancel</button><button class="primary" type="submit">Save</button></footer></form>`}
    <//>`;
}
