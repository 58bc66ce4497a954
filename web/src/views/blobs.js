// SPDX-License-Identifier: Apache-2.0
// Containers, and the way into one.
import { useEffect, useState } from 'preact/hooks';
import { containerProperties, createContainer, deleteContainer, lease, listContainers, restoreContainer, setContainerMetadata, setPublicAccess } from '../api/blob.js';
import { time } from '../ui/format.js';
import { Grid, usePages } from '../ui/grid.js';
import { html } from '../ui/html.js';
import { Ask, Confirm, Dialog, Failure, OpenByName, Pairs, useApp } from '../ui/parts.js';
import { SasDialog } from './access.js';
import { FindByTags } from './blob_find.js';
import { BlobList } from './blob_list.js';

const COLUMNS = [
    { title: 'Name', cell: (row) => html`${row.name}${row.deleted ? html` <span class="badge bad">deleted</span>` : ''}`, width: 'minmax(160px, 2fr)' },
    { title: 'Modified', wide: true, cell: (row) => time(row.properties['Last-Modified']), width: '170px' },
    { title: 'Public', wide: true, cell: (row) => row.properties.PublicAccess ?? '', width: '90px' },
    { title: 'Lease', cell: (row) => row.properties.LeaseState ?? '', width: '100px' },
    { title: 'Holds', wide: true, cell: (row) => [row.properties.HasLegalHold === 'true' && 'hold', row.properties.HasImmutabilityPolicy === 'true' && 'policy'].filter(Boolean).join(', '), width: '100px' },
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
    return html`<h2>Containers</h2>
        <div class="bar">
            <input type="search" aria-label="Names that begin with" placeholder="Names that begin with…" value=${prefix} onInput=${(event) => setPrefix(event.target.value)} />
            <label class="inline"><input type="checkbox" checked=${deleted} onChange=${(event) => setDeleted(event.target.checked)} />Deleted ones too</label>
            <span class="grow"></span>
            <button class="primary" onClick=${() => setDialog('create')}>New container</button>
            <button onClick=${() => go('blob', '?tags')}>Find by tags</button>
            <button disabled=${!chosen.some((row) => row.deleted)} onClick=${restore}>Restore</button>
            <button disabled=${chosen.length !== 1 || chosen[0].deleted} onClick=${() => setDialog('properties')}>Properties</button>
            <button disabled=${chosen.length !== 1 || chosen[0].deleted} onClick=${() => setDialog('sas')}>Access (SAS)</button>
            <button class="danger" disabled=${chosen.filter((row) => !row.deleted).length === 0} onClick=${() => setDialog('delete')}>Delete</button>
            <button onClick=${pages.reload}>Refresh</button>
        </div>
        ${pages.error && html`<${Failure} error=${pages.error} retry=${pages.reload} /><${OpenByName} what="container" onOpen=${(name) => go('blob', name)} />`}
        <${Grid} label="Containers" columns=${COLUMNS} rows=${pages.rows} keyOf=${keyOf} nameOf=${(row) => row.name} selected=${selected} onSelect=${setSelected} more=${pages.more} onMore=${pages.loadMore} loading=${pages.loading}
            onOpen=${(row) => { if (!row.deleted) go('blob', row.name); }} empty="No containers." />
        ${dialog === 'create' && html`<${Ask} title="New container" label="Name" hint="3 to 63 lower-case letters, digits and single hyphens." onClose=${() => setDialog(null)}
            onYes=${async (name) => { await createContainer(session, name); await pages.reload(); }} />`}
        ${dialog === 'properties' && chosen.length === 1 && html`<${ContainerDialog} name=${chosen[0].name} onClose=${() => setDialog(null)} onChanged=${pages.reload} />`}
        ${dialog === 'sas' && chosen.length === 1 && html`<${SasDialog} service="blob" name=${chosen[0].name} onClose=${() => setDialog(null)} />`}
        ${dialog === 'delete' && html`<${Confirm} title="Delete containers" text=${`${chosen.length} container(s) with all blobs in them: ${chosen.slice(0, 5).map((row) => row.name).join(', ')}${chosen.length > 5 ? '…' : ''}`}
            onYes=${remove} onClose=${() => setDialog(null)} />`}`;
}

/** Metadata, who may read without a credential, and the container's lease. */
function ContainerDialog({ name, onClose, onChanged }) {
    const { session, act } = useApp();
    const [head, setHead] = useState(null);
    const [error, setError] = useState(null);
    const [id, setId] = useState('');
    const load = () => containerProperties(session, name).then((got) => { setHead(got); setError(null); }, setError);
    useEffect(() => { void load(); }, []);
    const changed = async () => { await load(); onChanged(); };
    const leasing = (what, action, options) => act(what, async () => { const got = await lease(session, name, undefined, action, options); setId(action === 'acquire' ? got.id : ''); }).then(changed);
    return html`<${Dialog} wide title=${`Container ${name}`} onClose=${onClose}>
        ${error && html`<${Failure} error=${error} retry=${load} />`}
        ${head && html`<${Pairs} title="Metadata" pairs=${head.metadata} onSave=${async (metadata) => { await setContainerMetadata(session, name, metadata); await changed(); }} />
            <label>Who may read without a credential<select value=${head.access} onChange=${(event) => act('Public access changed', () => setPublicAccess(session, name, event.target.value)).then(changed)}>
                <option value="">nobody</option><option value="blob">anybody, who knows a blob's name</option><option value="container">anybody, the list too</option></select></label>
            <fieldset><legend>Lease</legend><p>State: <b>${head.headers['x-ms-lease-state']}</b>${id ? html` · id <code>${id}</code>` : ''}</p>
                <div class="bar"><button onClick=${() => leasing('Lease acquired', 'acquire', { seconds: 60 })}>Acquire for 60 s</button><button onClick=${() => leasing('Lease acquired', 'acquire', { seconds: -1 })}>Acquire for ever</button>
                <button disabled=${!id} onClick=${() => leasing('Lease released', 'release', { id })}>Release</button><button class="danger" onClick=${() => leasing('Lease broken', 'break', { period: 0 })}>Break</button></div></fieldset>
            <table class="plain"><caption>Properties</caption><tbody>${Object.entries(head.headers).filter(([one]) => /^(etag|last-modified|x-ms-(has|default|deny|lease|immutable))/.test(one)).map(([one, value]) => html`<tr><th scope="row">${one}</th><td>${value}</td></tr>`)}</tbody></table>`}
    <//>`;
}
