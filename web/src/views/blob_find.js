// SPDX-License-Identifier: Apache-2.0
import { useState } from 'preact/hooks';
import { findByTags } from '../api/blob.js';
import { Grid, usePages } from '../ui/grid.js';
import { html } from '../ui/html.js';
import { Failure, useApp } from '../ui/parts.js';

const COLUMNS = [
    { title: 'Container', cell: (row) => row.container, width: 'minmax(120px, 1fr)' },
    { title: 'Name', cell: (row) => row.name, width: 'minmax(180px, 2fr)' },
    { title: 'Tags', cell: (row) => Object.entries(row.tags).map(([name, value]) => `${name}=${value}`).join(', '), width: 'minmax(160px, 2fr)' },
];

/** Blobs of the whole account by a tag expression. */
export function FindByTags({ where: given = '' }) {
    const { session, go } = useApp();
    const [text, setText] = useState(given);
    const [where, setWhere] = useState(given);
    const pages = usePages(async (marker) => (where ? findByTags(session, where, { marker }) : { rows: [], marker: '' }), [where]);
    return html`<nav class="crumbs" aria-label="Place"><button class="link" onClick=${() => go('blob')}>Containers</button> / <b>Find by tags</b></nav>
        <form class="bar" onSubmit=${(event) => { event.preventDefault(); setWhere(text); }}>
            <input class="grow" type="search" aria-label="Tag expression" placeholder=${'"project" = \'alpha\' AND @container = \'logs\''} value=${text} onInput=${(event) => setText(event.target.value)} />
            <button class="primary" type="submit">Find</button>
        </form>
        ${pages.error && html`<${Failure} error=${pages.error} />`}
        <${Grid} label="Blobs found by tags" columns=${COLUMNS} rows=${pages.rows} keyOf=${(row) => `${row.container}/${row.name}`} more=${pages.more} onMore=${pages.loadMore} loading=${pages.loading}
            onOpen=${(row) => go('blob', row.container, ...row.name.split('/').slice(0, -1), '')} empty=${where ? 'No blob has such tags.' : 'Write an expression and press Find.'} />`;
}
