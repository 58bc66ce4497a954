// SPDX-License-Identifier: Apache-2.0
// The blobs of a container: folders by "/", or flat; snapshots, versions, deleted ones; upload, download, bulk actions.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { copyBlob, deleteMany, download as downloadPart, eachOf, listBlobs, tierMany, undeleteBlob } from '../api/blob.js';
import { isHierarchical, makeDirectory, renamePath } from '../api/dfs.js';
import { saveAs } from '../api/transfer.js';
import { fitsZip, safeName, Zip } from '../api/zip.js';
import { bytes, count, plural, time } from '../ui/format.js';
import { Grid, usePages } from '../ui/grid.js';
import { html } from '../ui/html.js';
import { Ask, Confirm, Dialog, Failure, Folder, Menu, useApp } from '../ui/parts.js';
import { SasDialog } from './access.js';
import { AccessControl } from './access_control.js';
import { BlobDetail } from './blob_detail.js';

/** Most rows are told apart by their name alone, which costs no new string: a million of them may be selected. */
export function blobKey(row) {
    if (row.kind === 'prefix')
        return `${row.name}\u0000/`;
    return row.snapshot || row.versionId || row.deleted ? `${row.name}\u0000${row.snapshot}\u0000${row.versionId}\u0000${row.deleted ? 'd' : ''}` : row.name;
}

function columnsOf(prefix) {
    return [
        { title: 'Name', width: 'minmax(180px, 3fr)', hint: (row) => row.name, cell: (row) => html`${row.kind === 'prefix' ? html`<${Folder} />` : ''}${row.name.slice(prefix.length) || row.name}
            ${row.snapshot ? html` <span class="badge">snapshot ${time(row.snapshot)}</span>` : ''}${row.versionId && !row.current ? html` <span class="badge">version ${time(row.versionId)}</span>` : ''}
            ${row.deleted ? html` <span class="badge bad">deleted</span>` : ''}${row.leased ? html` <span class="badge">leased</span>` : ''}${row.held ? html` <span class="badge">held</span>` : ''}` },
        { title: 'Size', width: '100px', align: 'right', cell: (row) => (row.kind === 'prefix' ? '' : bytes(row.size)) },
        { title: 'Modified', width: '170px', wide: true, cell: (row) => time(row.modified) },
        { title: 'Kind', width: '90px', wide: true, cell: (row) => row.type?.replace('Blob', '') ?? '' },
        { title: 'Tier', width: '80px', wide: true, cell: (row) => row.tier ?? '' },
    ];
}

/** Files of a drop, folders walked through: [{path, file}]. */
export async function filesOfDrop(items) {
    const found = [];
    const walk = async (entry, path) => {
        if (entry.isFile)
            found.push({ path: path + entry.name, file: await new Promise((yes, no) => entry.file(yes, no)) });
        else {
            const reader = entry.createReader();
            for (;;) {
                const part = await new Promise((yes, no) => reader.readEntries(yes, no));
                if (part.length === 0)
                    break;
                for (const child of part)
                    await walk(child, `${path}${entry.name}/`);
            }
        }
    };
    for (const entry of [...items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean))
        await walk(entry, '');
    return found;
}

/** Writes a file below a folder of this machine; folders on the way are made. */
async function writeInto(folder, name, blob) {
    const parts = safeName(name).split('/');
    for (const part of parts.slice(0, -1))
        folder = await folder.getDirectoryHandle(part, { create: true });
    const writer = await (await folder.getFileHandle(parts.at(-1), { create: true })).createWritable();
    await blob.stream().pipeTo(writer);
}

function Crumbs({ container, prefix }) {
    const { go } = useApp();
    const parts = prefix.split('/').filter((_, i, all) => i < all.length - 1 || prefix.endsWith('/')).filter(Boolean);
    return html`<nav class="crumbs" aria-label="Place"><button class="link" onClick=${() => go('blob')}>Containers</button> / <button class="link" onClick=${() => go('blob', container)}><b>${container}</b></button>
        ${parts.map((part, i) => html` / <button class="link" onClick=${() => go('blob', container, ...parts.slice(0, i + 1), '')}>${part}</button>`)}</nav>`;
}

export function BlobList({ container, prefix }) {
    const { session, transfers, go, say } = useApp();
    const [flat, setFlat] = useState(false);
    const [filter, setFilter] = useState('');
    const [include, setInclude] = useState([]);
    const [selected, setSelected] = useState(new Set());
    const [opened, setOpened] = useState(null);
    const [dialog, setDialog] = useState(null);
    const [progress, setProgress] = useState(null);
    const [dropping, setDropping] = useState(false);
    const [kind, setKind] = useState('BlockBlob');
    const picker = useRef();
    const folderPicker = useRef();
    const pages = usePages((marker) => listBlobs(session, container, { prefix: prefix + filter, delimiter: flat ? '' : '/', marker, include }), [container, prefix, flat, filter, include.join()]);
    const columns = useMemo(() => columnsOf(prefix), [prefix]);
    const chosen = useMemo(() => (selected.size === 0 ? [] : pages.rows.filter((row) => selected.has(blobKey(row)))), [pages.rows, selected]);
    const chosenBlobs = useMemo(() => chosen.filter((row) => row.kind === 'blob'), [chosen]);
    const open = (row) => (row.kind === 'prefix' ? go('blob', container, ...row.name.split('/')) : setOpened(row));

    const upload = async (files) => {
        const done = await eachOf(files, async ({ path, file }) => {
            if (!await transfers.uploadBlob(session, container, prefix + path, file, { kind }))
                throw new Error('failed');
        });
        say(`Uploaded ${plural(files.length - done.length, 'file')}${done.length === 0 ? '' : `, ${done.length} failed`}`, done.length > 0);
        await pages.reload();
    };
    const picked = (event) => {
        const files = [...event.target.files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
        event.target.value = '';
        void upload(files);
    };
    /** One blob as it is; more, or a folder, as one archive or into a folder that the user picks. */
    const download = async (how) => {
        try {
            if (how === 'one') {
                const [row] = chosenBlobs;
                return void transfers.downloadBlob(session, container, row, row.size, row.etag, { saveAs: saveAs(row.name) });
            }
            const target = how === 'folder' ? await showDirectoryPicker({ mode: 'readwrite' }) : null;
            const files = (await gather()).filter((row) => !row.deleted)
                .map((row) => ({ name: row.name.slice(prefix.length), size: row.size, modified: row.modified, get: (part) => downloadPart(session, container, row, { ...part, etag: row.etag }) }));
            if (!target && !fitsZip(files))
                return say(`${plural(files.length, 'blob')} do not fit one ZIP archive (4 GiB); download them to a folder.`, true);
            const zip = new Zip();
            const good = await transfers.collect(`${container}/${prefix} (${plural(files.length, 'blob')})`, files, (file, blob) => (target ? writeInto(target, file.name, blob) : zip.add(file.name, blob, new Date(file.modified))));
            if (good && !target)
                saveAs(`${prefix.split('/').filter(Boolean).at(-1) ?? container}.zip`)(zip.finish());
        } catch (error) {
            if (error.name !== 'AbortError')
                say(error.message, true);
        }
    };
    /** Folders are walked, so that all below them is met and counted first. */
    const gather = async () => {
        const all = [...chosenBlobs];
        for (const folder of chosen.filter((row) => row.kind === 'prefix')) {
            let marker = '';
            do {
                const page = await listBlobs(session, container, { prefix: folder.name, marker });
                all.push(...page.rows);
                marker = page.marker;
                setProgress({ what: 'Looking into folders', done: all.length, total: 0 });
            } while (marker);
        }
        setProgress(null);
        return all;
    };
    const bulk = async (what, run) => {
        const all = dialog?.blobs ?? await gather();
        setProgress({ what, done: 0, total: all.length, failed: 0 });
        try {
            const failed = await run(all, (done, bad) => setProgress({ what, done, total: all.length, failed: bad }));
            say(`${what}: ${plural(all.length - failed.length, 'blob')}${failed.length ? `, ${failed.length} refused (${failed[0].code})` : ''}`, failed.length > 0);
        } catch (error) {
            say(`${error.code ?? ''} ${error.message}`, true);
        }
        setProgress(null);
        setSelected(new Set());
        setOpened(null);
        await pages.reload();
    };
    const [hierarchical, setHierarchical] = useState(false);
    useEffect(() => { void isHierarchical(session).then(setHierarchical); }, [session]);
    const pathOf = (row) => row.name.replace(/\/$/, '');
    const toggle = (name) => setInclude(include.includes(name) ? include.filter((one) => one !== name) : [...include, name]);
    return html`<${Crumbs} container=${container} prefix=${prefix} />
        <div class="bar">
            <input type="search" aria-label="Names that begin with" placeholder="Names that begin with…" value=${filter} onInput=${(event) => setFilter(event.target.value)} />
            <label class="inline"><input type="checkbox" checked=${flat} onChange=${(event) => setFlat(event.target.checked)} />Flat</label>
            ${[['snapshots', 'Snapshots'], ['versions', 'Versions'], ['deleted', 'Deleted']].map(([name, title]) => html`<label class="inline">
                <input type="checkbox" checked=${include.includes(name)} onChange=${() => toggle(name)} />${title}</label>`)}
            <span class="grow"></span>
            <button class="primary" onClick=${() => picker.current.click()}>Upload files</button>
            <button onClick=${() => folderPicker.current.click()}>Upload folder</button>
            <select aria-label="Upload as" value=${kind} onChange=${(event) => setKind(event.target.value)}>${[['BlockBlob', 'as block blobs'], ['PageBlob', 'as page blobs'], ['AppendBlob', 'as append blobs']].map(([value, title]) => html`<option value=${value}>${title}</option>`)}</select>
            ${chosen.length === 1 && chosenBlobs.length === 1 ? html`<button onClick=${() => download('one')}>Download</button>`
                : html`<${Menu} label="Download" disabled=${chosen.length === 0} items=${[['as ZIP', () => download('zip')], globalThis.showDirectoryPicker && ['to a folder…', () => download('folder')]]} />`}
            <${Menu} label="More" items=${[
                hierarchical && ['New directory…', () => setDialog({ kind: 'directory' })],
                hierarchical && chosen.length === 1 && ['Rename…', () => setDialog({ kind: 'rename', path: pathOf(chosen[0]) })],
                hierarchical && chosen.length === 1 && ['Access control…', () => setDialog({ kind: 'acl', path: pathOf(chosen[0]) })],
                chosen.length > 0 && ['Copy…', () => setDialog({ kind: 'copy' })],
                chosen.length > 0 && ['Change tier…', () => setDialog({ kind: 'tier' })],
                chosenBlobs.some((row) => row.deleted) && ['Undelete', () => bulk('Undeleted', (all, tell) => eachOf(all.filter((row) => row.deleted), (row) => undeleteBlob(session, container, row.name), tell))],
                ['Access (SAS)…', () => setDialog({ kind: 'sas' })],
                ['Refresh', pages.reload],
            ]} />
            <button class="danger" disabled=${chosen.length === 0} onClick=${async () => setDialog({ kind: 'delete', blobs: await gather() })}>Delete</button>
            <input ref=${picker} type="file" multiple class="hidden" aria-label="Files to upload" tabindex="-1" onChange=${picked} />
            <input ref=${folderPicker} type="file" webkitdirectory class="hidden" aria-label="Folder to upload" tabindex="-1" onChange=${picked} />
        </div>
        ${pages.error && html`<${Failure} error=${pages.error} retry=${pages.reload} />`}
        ${progress && html`<div class="card" role="status">${progress.what}: ${progress.total ? `${progress.done} of ${progress.total}` : progress.done}${progress.failed ? `, ${progress.failed} refused` : ''}
            ${progress.total ? html`<progress max=${progress.total} value=${progress.done} aria-label=${progress.what}></progress>` : ''}</div>`}
        <div class=${`split${opened ? ' open' : ''}${dropping ? ' drop' : ''}`}
            onDragOver=${(event) => { event.preventDefault(); setDropping(true); }} onDragLeave=${() => setDropping(false)}
            onDrop=${async (event) => { event.preventDefault(); setDropping(false); await upload(await filesOfDrop(event.dataTransfer.items)); }}>
            <${Grid} label="Blobs" columns=${columns} rows=${pages.rows} keyOf=${blobKey} nameOf=${(row) => row.name} selected=${selected} onSelect=${setSelected} onOpen=${open} more=${pages.more} onMore=${pages.loadMore} loading=${pages.loading}
                empty="No blobs here. Drop files to upload them." />
            ${opened && html`<${BlobDetail} key=${blobKey(opened)} container=${container} blob=${opened} onClose=${() => setOpened(null)} onChanged=${pages.reload} />`}
        </div>
        <p class="quiet" aria-live="polite">${plural(pages.rows.length, 'entry', 'entries')}${pages.more ? ' so far' : ''}${selected.size ? `, ${count(selected.size)} selected` : ''}</p>
        ${dialog?.kind === 'delete' && html`<${Confirm} title="Delete" text=${`${plural(dialog.blobs.length, 'blob')} with their snapshots. What changed since it was listed is not deleted.`}
            sure=${dialog.blobs.length > 1000 ? String(dialog.blobs.length) : undefined} onYes=${() => bulk('Deleted', (all, tell) => deleteMany(session, container, all, tell))} onClose=${() => setDialog(null)} />`}
        ${dialog?.kind === 'directory' && html`<${Ask} title="New directory" label="Name" action="Create" onClose=${() => setDialog(null)} onYes=${async (name) => { await makeDirectory(session, container, prefix + name); await pages.reload(); }} />`}
        ${dialog?.kind === 'rename' && html`<${Ask} title=${`Rename ${dialog.path}`} label="New path" value=${dialog.path} action="Rename" hint="From the container's root. A directory takes all below it along." onClose=${() => setDialog(null)} onYes=${async (name) => { await renamePath(session, container, dialog.path, name); setSelected(new Set()); await pages.reload(); }} />`}
        ${dialog?.kind === 'acl' && html`<${AccessControl} container=${container} path=${dialog.path} onClose=${() => setDialog(null)} />`}
        ${dialog?.kind === 'tier' && html`<${TierDialog} onClose=${() => setDialog(null)} onYes=${(tier) => bulk(`Moved to ${tier}`, (all, tell) => tierMany(session, container, all, tier, tell))} />`}
        ${dialog?.kind === 'copy' && html`<${CopyDialog} container=${container} prefix=${prefix} onClose=${() => setDialog(null)} onYes=${(to, folder) => bulk(`Copied to ${to}`, (all, tell) => eachOf(all.filter((row) => !row.deleted), (row) => copyBlob(session, { container, blob: row }, { container: to, name: folder + row.name.slice(prefix.length) }), tell))} />`}
        ${dialog?.kind === 'sas' && html`<${SasDialog} service="blob" name=${container} object=${chosenBlobs[0]?.name} onClose=${() => setDialog(null)} />`}`;
}

function TierDialog({ onYes, onClose }) {
    const [tier, setTier] = useState('Cool');
    return html`<${Dialog} title="Change tier" onClose=${onClose}>
        <label>Tier<select value=${tier} onChange=${(event) => setTier(event.target.value)}>${['Hot', 'Cool', 'Cold', 'Archive'].map((one) => html`<option>${one}</option>`)}</select></label>
        <footer><button onClick=${onClose}>Cancel</button><button class="primary" onClick=${() => { onClose(); void onYes(tier); }}>Change</button></footer>
    <//>`;
}

function CopyDialog({ container, prefix, onYes, onClose }) {
    const [to, setTo] = useState(container);
    const [folder, setFolder] = useState(prefix);
    return html`<${Dialog} title="Copy" onClose=${onClose}><form onSubmit=${(event) => { event.preventDefault(); onClose(); void onYes(to, folder); }}>
        <label>Container<input autofocus required value=${to} onInput=${(event) => setTo(event.target.value)} /></label>
        <label>Names begin with<input value=${folder} placeholder="folder/" onInput=${(event) => setFolder(event.target.value)} /></label>
        <p class="quiet">Within the account, by the server; what is there of the same name is written over.</p>
        <footer><button type="button" onClick=${onClose}>Cancel</button><button class="primary" type="submit" disabled=${to === container && folder === prefix}>Copy</button></footer>
    </form><//>`;
}
