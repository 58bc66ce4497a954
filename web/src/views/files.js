// SPDX-License-Identifier: Apache-2.0
// Shares, directories, files, and who has them open over SMB.
import { useEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api/file.js';
import { saveAs } from '../api/transfer.js';
import { bytes, plural, relative, time } from '../ui/format.js';
import { Grid, usePages } from '../ui/grid.js';
import { html } from '../ui/html.js';
import { Ask, Confirm, Dialog, Failure, Folder, OpenByName, Tabs, useApp, useEvery } from '../ui/parts.js';
import { SasDialog } from './access.js';
import { filesOfDrop } from './blob_list.js';
import { Preview } from './preview.js';

export function Files({ path }) {
    const [where, ...rest] = path;
    if (!where)
        return html`<${Shares} />`;
    const [share, snapshot = ''] = where.split('@');
    return html`<${Directory} key=${where} share=${share} snapshot=${snapshot} path=${rest.filter(Boolean).join('/')} />`;
}

function Shares() {
    const { session, go, act } = useApp();
    const [deleted, setDeleted] = useState(false);
    const [prefix, setPrefix] = useState('');
    const [selected, setSelected] = useState(new Set());
    const [dialog, setDialog] = useState(null);
    const pages = usePages((marker) => api.listShares(session, { marker, prefix, deleted }), [deleted, prefix]);
    const keyOf = (row) => `${row.name}\u0000${row.snapshot}\u0000${row.deleted ? row.version : ''}`;
    const chosen = pages.rows.filter((row) => selected.has(keyOf(row)));
    const each = async (what, rows, work) => {
        for (const row of rows)
            await act(`${what} ${row.name}`, () => work(row));
        setSelected(new Set());
        await pages.reload();
    };
    const columns = [
        { title: 'Name', cell: (row) => html`${row.name}${row.snapshot ? html` <span class="badge">snapshot ${time(row.snapshot)}</span>` : ''}${row.deleted ? html` <span class="badge bad">deleted</span>` : ''}`, width: 'minmax(180px, 2fr)' },
        { title: 'Quota', cell: (row) => `${row.properties.Quota ?? ''} GiB`, width: '100px', align: 'right' },
        { title: 'Protocol', wide: true, cell: (row) => row.properties.EnabledProtocols ?? 'SMB', width: '90px' },
        { title: 'Modified', wide: true, cell: (row) => time(row.properties['Last-Modified']), width: '170px' },
    ];
    return html`<h2>Shares</h2>
        <div class="bar"><input type="search" aria-label="Names that begin with" placeholder="Names that begin with…" value=${prefix} onInput=${(event) => setPrefix(event.target.value)} />
            <label class="inline"><input type="checkbox" checked=${deleted} onChange=${(event) => setDeleted(event.target.checked)} />Deleted ones too</label><span class="grow"></span>
            <button class="primary" onClick=${() => setDialog('create')}>New share</button><button disabled=${chosen.length === 0} onClick=${() => each('Snapshot of', chosen.filter((row) => !row.snapshot), (row) => api.snapshotShare(session, row.name))}>Snapshot</button>
            <button disabled=${!chosen.some((row) => row.deleted)} onClick=${() => each('Restored', chosen.filter((row) => row.deleted), (row) => api.restoreShare(session, row.name, row.version))}>Restore</button>
            <button class="danger" disabled=${chosen.length === 0} onClick=${() => setDialog('delete')}>Delete</button><button onClick=${pages.reload}>Refresh</button></div>
        ${pages.error && html`<${Failure} error=${pages.error} retry=${pages.reload} /><${OpenByName} what="share" onOpen=${(name) => go('file', name)} />`}
        <${Grid} label="Shares" columns=${columns} rows=${pages.rows} keyOf=${keyOf} selected=${selected} onSelect=${setSelected} onOpen=${(row) => { if (!row.deleted) go('file', row.snapshot ? `${row.name}@${row.snapshot}` : row.name); }} more=${pages.more} onMore=${pages.loadMore} loading=${pages.loading} empty="No shares." />
        ${dialog === 'create' && html`<${Ask} title="New share" label="Name" hint="3 to 63 lower-case letters, digits and single hyphens." onClose=${() => setDialog(null)} onYes=${async (name) => { await api.createShare(session, name); await pages.reload(); }} />`}
        ${dialog === 'delete' && html`<${Confirm} title="Delete shares" text=${`${plural(chosen.length, 'share or snapshot', 'shares or snapshots')} with all files in them.`} onYes=${() => each('Deleted', chosen.filter((row) => !row.deleted), (row) => api.deleteShare(session, row.name, row.snapshot))} onClose=${() => setDialog(null)} />`}`;
}

function Directory({ share, snapshot, path }) {
    const { session, transfers, go, act, say } = useApp();
    const [filter, setFilter] = useState('');
    const [selected, setSelected] = useState(new Set());
    const [opened, setOpened] = useState(null);
    const [dialog, setDialog] = useState(null);
    const [tab, setTab] = useState('files');
    const picker = useRef();
    const folderPicker = useRef();
    const pages = usePages((marker) => api.listDirectory(session, share, path, { marker, prefix: filter, snapshot }), [share, path, filter, snapshot]);
    const join = (name) => (path ? `${path}/${name}` : name);
    const where = snapshot ? `${share}@${snapshot}` : share;
    const parts = path.split('/').filter(Boolean);
    const chosen = pages.rows.filter((row) => selected.has(row.name));
    const upload = async (files) => {
        let good = 0;
        for (const one of files) {
            try {
                await transfers.makeDirectories(session, share, join(one.path));
                good += await transfers.uploadFile(session, share, join(one.path), one.file) ? 1 : 0;
            } catch (error) {
                say(`${one.path}: ${error.message}`, true);
            }
        }
        say(`Uploaded ${plural(good, 'file')} of ${files.length}`, good < files.length);
        await pages.reload();
    };
    const picked = (event) => {
        const files = [...event.target.files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
        event.target.value = '';
        void upload(files);
    };
    /** A directory goes with all below it, deepest first: the service deletes only empty ones. */
    const removeTree = async (row) => {
        if (row.kind === 'file')
            return api.deleteFile(session, share, row.path);
        for (let marker = ''; ;) {
            const page = await api.listDirectory(session, share, row.path, { marker });
            for (const child of page.rows)
                await removeTree({ ...child, path: `${row.path}/${child.name}` });
            if (!(marker = page.marker))
                break;
        }
        return api.deleteDirectory(session, share, row.path);
    };
    const remove = async () => {
        for (const row of chosen)
            await act(`Deleted ${row.name}`, () => removeTree({ ...row, path: join(row.name) }));
        setSelected(new Set());
        setOpened(null);
        await pages.reload();
    };
    const columns = [
        { title: 'Name', cell: (row) => html`${row.kind === 'directory' ? html`<${Folder} />` : ''}${row.name}`, width: 'minmax(180px, 3fr)' }, { title: 'Size', cell: (row) => (row.kind === 'file' ? bytes(row.size) : ''), width: '100px', align: 'right' },
        { title: 'Modified', wide: true, cell: (row) => time(row.properties.LastWriteTime ?? row.modified), width: '170px' }, { title: 'Attributes', wide: true, cell: (row) => row.attributes, width: '120px' },
    ];
    return html`<nav class="crumbs" aria-label="Place"><button class="link" onClick=${() => go('file')}>Shares</button> / <button class="link" onClick=${() => go('file', where)}><b>${share}</b>${snapshot ? ` (snapshot ${time(snapshot)})` : ''}</button>
            ${parts.map((part, i) => html` / <button class="link" onClick=${() => go('file', where, ...parts.slice(0, i + 1))}>${part}</button>`)}</nav>
        <${Tabs} label="Share" tabs=${[['files', 'Files'], ['handles', 'Open handles']]} active=${tab} onChange=${setTab} />
        ${tab === 'handles' ? html`<${Handles} share=${share} path=${path} />` : html`
        <div class="bar"><input type="search" aria-label="Names that begin with" placeholder="Names that begin with…" value=${filter} onInput=${(event) => setFilter(event.target.value)} /><span class="grow"></span>
            ${!snapshot && html`<button class="primary" onClick=${() => picker.current.click()}>Upload files</button><button onClick=${() => folderPicker.current.click()}>Upload folder</button><button onClick=${() => setDialog('mkdir')}>New directory</button>
            <button disabled=${chosen.length !== 1} onClick=${() => setDialog('rename')}>Rename</button>`}
            <button disabled=${!chosen.some((row) => row.kind === 'file')} onClick=${() => chosen.filter((row) => row.kind === 'file').forEach((row) => transfers.downloadFile(session, share, join(row.name), row.size, row.properties.Etag, { saveAs: saveAs(row.name), snapshot }))}>Download</button>
            <button onClick=${() => setDialog('sas')}>Access (SAS)</button>
            ${!snapshot && html`<button class="danger" disabled=${chosen.length === 0} onClick=${() => setDialog('delete')}>Delete</button>`}<button onClick=${pages.reload}>Refresh</button>
            <input ref=${picker} type="file" multiple class="hidden" tabindex="-1" aria-label="Files to upload" onChange=${picked} /><input ref=${folderPicker} type="file" webkitdirectory class="hidden" tabindex="-1" aria-label="Folder to upload" onChange=${picked} /></div>
        ${pages.error && html`<${Failure} error=${pages.error} retry=${pages.reload} />`}
        <div class=${`split${opened ? ' open' : ''}`} onDragOver=${(event) => event.preventDefault()} onDrop=${async (event) => { event.preventDefault(); await upload(await filesOfDrop(event.dataTransfer.items)); }}>
            <${Grid} label="Files" columns=${columns} rows=${pages.rows} keyOf=${(row) => row.name} selected=${selected} onSelect=${setSelected} onOpen=${(row) => (row.kind === 'directory' ? go('file', where, ...parts, row.name) : setOpened(row))} more=${pages.more} onMore=${pages.loadMore} loading=${pages.loading} empty="Nothing here. Drop files to upload them." />
            ${opened && html`<${FileDetail} key=${opened.name} share=${share} snapshot=${snapshot} path=${join(opened.name)} row=${opened} onClose=${() => setOpened(null)} />`}
        </div>`}
        ${dialog === 'mkdir' && html`<${Ask} title="New directory" label="Name" onClose=${() => setDialog(null)} onYes=${async (name) => { await api.createDirectory(session, share, join(name)); await pages.reload(); }} />`}
        ${dialog === 'rename' && chosen.length === 1 && html`<${Ask} title="Rename" label="New name" action="Rename" value=${chosen[0].name} onClose=${() => setDialog(null)} onYes=${async (name) => { await api.renamePath(session, share, join(chosen[0].name), join(name), chosen[0].kind === 'directory'); setSelected(new Set()); setOpened(null); await pages.reload(); }} />`}
        ${dialog === 'sas' && html`<${SasDialog} service="file" name=${share} object=${chosen[0]?.kind === 'file' ? join(chosen[0].name) : undefined} onClose=${() => setDialog(null)} />`}
        ${dialog === 'delete' && html`<${Confirm} title="Delete" text=${`${plural(chosen.length, 'entry', 'entries')}, directories with all below them.`} onYes=${remove} onClose=${() => setDialog(null)} />`}`;
}

function FileDetail({ share, snapshot, path, row, onClose }) {
    const { session } = useApp();
    const [tab, setTab] = useState('properties');
    const [head, setHead] = useState(null);
    const [error, setError] = useState(null);
    const [permission, setPermission] = useState('');
    const [ranges, setRanges] = useState(null);
    useEffect(() => { api.fileProperties(session, share, path, { snapshot }).then(setHead, setError); }, [path]);
    useEffect(() => {
        if (tab === 'permission' && head?.['x-ms-file-permission-key'])
            api.permissionOf(session, share, head['x-ms-file-permission-key']).then(setPermission, setError);
        if (tab === 'ranges')
            api.fileRanges(session, share, path).then(setRanges, setError);
    }, [tab, head]);
    return html`<aside class="detail" aria-label=${`File ${row.name}`}><div class="bar"><h3 class="grow">${row.name}</h3><button class="icon" aria-label="Close details" onClick=${onClose}>✕</button></div>
        <${Tabs} label="Details" tabs=${[['properties', 'Properties'], ['preview', 'Preview'], ['permission', 'Permission'], ['ranges', 'Ranges']]} active=${tab} onChange=${setTab} />
        ${error && html`<${Failure} error=${error} />`}
        <div role="tabpanel" aria-labelledby=${`tab-${tab}`}>
        ${head && tab === 'properties' && html`<table class="plain"><caption>Headers</caption><tbody>${Object.entries(head).filter(([name]) => /^(x-ms-(file|meta|lease|copy|server)|content-|etag|last-modified)/.test(name) && name !== 'content-security-policy').map(([name, value]) => html`<tr><th scope="row">${name}</th><td>${value}</td></tr>`)}</tbody></table>`}
        ${head && tab === 'preview' && html`<${Preview} name=${row.name} type=${head['content-type'] ?? ''} size=${Number(head['content-length'])} fetchPart=${(from, to) => api.downloadFile(session, share, path, Number(head['content-length']) === 0 ? { snapshot } : { from, to, snapshot })} />`}
        ${tab === 'permission' && html`<pre tabindex="0">${permission || 'No descriptor of its own.'}</pre>`}
        ${tab === 'ranges' && ranges && html`<table class="plain"><caption>${plural(ranges.length, 'written range')}</caption><tbody>${ranges.slice(0, 2000).map((range) => html`<tr><td>${range.start}–${range.end}</td><td>${bytes(range.end - range.start + 1)}</td></tr>`)}</tbody></table>`}
        </div></aside>`;
}

/** Who holds files of the share open over SMB, and a way to close them. */
function Handles({ share, path }) {
    const { session, act } = useApp();
    const [rows, setRows] = useState([]);
    const [error, setError] = useState(null);
    const [asked, setAsked] = useState(null);
    const load = () => api.listHandles(session, share, path).then((page) => { setRows(page.rows); setError(null); }, setError);
    useEvery(3000, load, [share, path]);
    const columns = [
        { title: 'Path', cell: (row) => row.path || '/', width: 'minmax(160px, 2fr)' }, { title: 'Client', cell: (row) => row.client, width: '160px' }, { title: 'Access', cell: (row) => row.access, width: '140px' },
        { title: 'Open since', wide: true, cell: (row) => relative(row.opened), width: '110px' }, { title: 'Session', wide: true, cell: (row) => row.session, width: '180px' },
    ];
    return html`${error && html`<${Failure} error=${error} retry=${load} />`}
        <${Grid} label="Open handles" columns=${columns} rows=${rows} keyOf=${(row) => row.id} onOpen=${setAsked} empty="No handle is open over SMB." />
        <p class="quiet">Open a row to close its handle. Byte-range locks and waiting requests are under “Concurrency”.</p>
        ${asked && html`<${Dialog} title="Close handle" onClose=${() => setAsked(null)}><p>${asked.path}, opened by ${asked.client} ${relative(asked.opened)}. The client loses it at once.</p>
            <footer><button onClick=${() => setAsked(null)}>Cancel</button><button class="danger" onClick=${() => act('Closed', () => api.closeHandle(session, share, asked.path, asked.id)).then(() => { setAsked(null); void load(); })}>Close it</button></footer><//>`}`;
}
