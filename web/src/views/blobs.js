// SPDX-License-Identifier: Apache-2.0
// Containers, and the way into one.
import { useState } from 'preact/hooks';
import { createContainer, deleteContainer, lease, listContainers, restoreContainer } from '../api/blob.js';
import { time } from '../ui/format.js';
import { Grid, usePages } from '../ui/grid.js';
import { html } from '../ui/html.js';
import { Ask, Confirm, Failure, useApp } from '../ui/parts.js';
import { BlobList } from './blob_list.js';
import { FindByTags } from './blob_find.js';

const COLUMNS = [
    { title: 'Name', cell: (row) => html`${row.name}${row.deleted ? html` <span class="badge bad">deleted</span>` : ''}`, width: 'minmax(160px, 2fr)' },
    { title: 'Modified', cell: (row) => time(row.properties['Last-Modified']), width: '170px' },
    { title: 'Public', cell: (row) => row.properties.PublicAccess ?? '', width: '90px' },
    { title: 'Lease', cell: (row) => row.properties.LeaseState ?? '', width: '100px' },
    { title: 'Holds', cell: (row) => [row.properties.HasLegalHold === 'true' && 'hold', row.properties.HasImmutabilityPolicy === 'true' && 'policy'].filter(Boolean).join(', '), width: '100px' },
];

export function Blobs({ path }) {
    const [container, ...rest] = path;
    if (container === '?tags')
        return html`<${FindByTags} where=${rest[0]} />`;
    return container ? html`<${BlobList} key=${container} container=${container} prefix=${rest.join('/')} />` : html`<${Containers} />`;
}

function Containers() {
    const { session, go, act } = useApp();
    const [prefix, setPrefix] = useState('');
    const [deleted, setDeleted] = useState(false);
    const [selected, setSelected] = useState(new Set());
    const [dialog, setDialog] = useState(null);
    const pages = usePages((marker) => listContainers(session, { marker, prefix, deleted }), [prefix, deleted]);
    const keyOf = (row) => row.name + (row.deleted ? `\u0000${row.version}` : '');
    const chosen = pages.rows.filter((row) => selected.has(keyOf(row)));
    const remove = async () => {
        for (const row of chosen)
            await act(`Deleted ${row.name}`, () => deleteContainer(session, row.name));
        setSelected(new Set());
        await pages.reload();
    };
    const restore = async () => {
        for (const row of chosen.filter((one) => one.deleted))
            await act(`Restored ${row.name}`, () => restoreContainer(session, row.name, row.version));
        await pages.reload();
    };
    const leased = chosen.filter((row) => row.properties.LeaseStatus === 'locked');
    return html`<h2>Containers</h2>
        <div class="bar">
            <input type="search" aria-label="Names that begin with" placeholder="Names that begin with…" value=${prefix} onInput=${(event) => setPrefix(event.target.value)} />
            <label class="inline"><input type="checkbox" checked=${deleted} onChange=${(event) => setDeleted(event.target.checked)} />Deleted ones too</label>
            <span class="grow"></span>
            <button class="primary" onClick=${() => setDialog('create')}>New container</button>
            <button onClick=${() => go('blob', '?tags')}>Find by tags</button>
            <button disabled=${!chosen.some((row) => row.deleted)} onClick=${restore}>Restore</button>
            <button disabled=${leased.length === 0} onClick=${() => act('Lease broken', () => Promise.all(leased.map((row) => lease(session, row.name, undefined, 'break', { period: 0 })))).then(pages.reload)}>Break lease</button>
            <button class="danger" disabled=${chosen.filter((row) => !row.deleted).length === 0} onClick=${() => setDialog('delete')}>Delete</button>
            <button onClick=${pages.reload}>Refresh</button>
        </div>
        ${pages.error && html`<${Failure} error=${pages.error} retry=${pages.reload} />`}
        <${Grid} label="Containers" columns=${COLUMNS} rows=${pages.rows} keyOf=${keyOf} selected=${selected} onSelect=${setSelected} more=${pages.more} onMore=${pages.loadMore} loading=${pages.loading}
            onOpen=${(row) => { if (!row.deleted) go('blob', row.name); }} empty="No containers." />
        ${dialog === 'create' && html`<${Ask} title="New container" label="Name" hint="3 to 63 lower-case letters, digits and single hyphens." onClose=${() => setDialog(null)}
            onYes=${async (name) => { await createContainer(session, name); await pages.reload(); }} />`}
        ${dialog === 'delete' && html`<${Confirm} title="Delete containers" text=${`${chosen.length} container(s) with all blobs in them: ${chosen.slice(0, 5).map((row) => row.name).join(', ')}${chosen.length > 5 ? '…' : ''}`}
            onYes=${remove} onClose=${() => setDialog(null)} />`}`;
}
