// SPDX-License-Identifier: Apache-2.0
// Tables: typed columns, filter, edits that never overwrite what changed, batch delete, CSV and JSON in and out.
import { useMemo, useRef, useState } from 'preact/hooks';
import * as api from '../api/table.js';
import { fromCsv, fromJson, toCsv, toJson } from '../api/table_file.js';
import { saveAs } from '../api/transfer.js';
import { plural, time } from '../ui/format.js';
import { Grid, usePages } from '../ui/grid.js';
import { html } from '../ui/html.js';
import { Ask, Confirm, Dialog, Failure, OpenByName, Menu, useApp } from '../ui/parts.js';
import { SasDialog } from './access.js';

export function Tables({ path }) {
    return path[0] ? html`<${Table} key=${path[0]} name=${path[0]} />` : html`<${TableList} />`;
}

function TableList() {
    const { session, go, act } = useApp();
    const [selected, setSelected] = useState(new Set());
    const [dialog, setDialog] = useState(null);
    const [filter, setFilter] = useState('');
    const pages = usePages((next) => api.listTables(session, { next }), []);
    const rows = pages.rows.filter((row) => row.name.toLowerCase().startsWith(filter.toLowerCase()));
    const remove = async () => {
        for (const name of selected)
            await act(`Deleted ${name}`, () => api.deleteTable(session, name));
        setSelected(new Set());
        await pages.reload();
    };
    return html`<h2>Tables</h2>
        <div class="bar"><input type="search" aria-label="Names that begin with" placeholder="Names that begin with…" value=${filter} onInput=${(event) => setFilter(event.target.value)} /><span class="grow"></span>
            <button class="primary" onClick=${() => setDialog('create')}>New table</button><button class="danger" disabled=${selected.size === 0} onClick=${() => setDialog('delete')}>Delete</button><button onClick=${pages.reload}>Refresh</button></div>
        ${pages.error && html`<${Failure} error=${pages.error} retry=${pages.reload} /><${OpenByName} what="table" onOpen=${(name) => go('table', name)} />`}
        <${Grid} label="Tables" columns=${[{ title: 'Name', cell: (row) => row.name, width: '1fr' }]} rows=${rows} keyOf=${(row) => row.name} selected=${selected} onSelect=${setSelected} onOpen=${(row) => go('table', row.name)} more=${pages.more} onMore=${pages.loadMore} loading=${pages.loading} empty="No tables." />
        ${dialog === 'create' && html`<${Ask} title="New table" label="Name" hint="3 to 63 letters and digits, a letter first." onClose=${() => setDialog(null)} onYes=${async (name) => { await api.createTable(session, name); await pages.reload(); }} />`}
        ${dialog === 'delete' && html`<${Confirm} title="Delete tables" text=${`${plural(selected.size, 'table')} with all entities in them.`} onYes=${remove} onClose=${() => setDialog(null)} />`}`;
}

const keyOf = (row) => `${row.pk}\u0000${row.rk}`;

function Table({ name }) {
    const { session, go, say } = useApp();
    const [text, setText] = useState('');
    const [filter, setFilter] = useState('');
    const [selected, setSelected] = useState(new Set());
    const [hidden, setHidden] = useState(new Set());
    const [dialog, setDialog] = useState(null);
    const [progress, setProgress] = useState(null);
    const picker = useRef();
    const pages = usePages((next) => api.queryEntities(session, name, { filter, next, top: 1000 }), [name, filter]);
    const names = useMemo(() => [...new Set(pages.rows.slice(0, 5000).flatMap((row) => Object.keys(row.properties)))], [pages.rows]);
    const columns = [
        { title: 'PartitionKey', cell: (row) => row.pk, width: 'minmax(110px, 1fr)' }, { title: 'RowKey', cell: (row) => row.rk, width: 'minmax(110px, 1fr)' },
        ...names.filter((one) => !hidden.has(one)).slice(0, 30).map((one) => ({ title: one, cell: (row) => row.properties[one]?.value ?? '', hint: (row) => row.properties[one]?.type, width: 'minmax(110px, 1fr)' })),
        { title: 'Timestamp', wide: true, cell: (row) => time(row.timestamp), width: '170px' },
    ];
    const chosen = pages.rows.filter((row) => selected.has(keyOf(row)));
    const change = async (what, method, entities) => {
        setProgress({ what, done: 0, total: entities.length });
        const failed = await api.changeMany(session, name, method, entities, (done, bad) => setProgress({ what, done, total: entities.length, failed: bad }));
        setProgress(null);
        const bad = failed.reduce((sum, one) => sum + one.entities.length, 0);
        say(`${what}: ${plural(entities.length - bad, 'entity', 'entities')}${bad ? `, ${bad} refused (${failed[0].error.code || failed[0].error.message})` : ''}`, bad > 0);
        setSelected(new Set());
        await pages.reload();
    };
    const everything = async () => {
        const all = [];
        for (let next = null; ;) {
            const page = await api.queryEntities(session, name, { filter, next });
            all.push(...page.rows);
            setProgress({ what: 'Reading', done: all.length, total: 0 });
            if (!(next = page.marker))
                break;
        }
        setProgress(null);
        return all;
    };
    const exportAs = async (end, make) => {
        try {
            saveAs(`${name}.${end}`)(new Blob([make(await everything())], { type: 'text/plain' }));
        } catch (error) {
            setProgress(null);
            say(error.message, true);
        }
    };
    const imported = async (event) => {
        const file = event.target.files[0];
        event.target.value = '';
        try {
            const body = await file.text();
            await change('Imported', 'PUT', file.name.endsWith('.json') ? fromJson(body) : fromCsv(body));
        } catch (error) {
            say(`${file.name}: ${error.message}`, true);
        }
    };
    return html`<nav class="crumbs" aria-label="Place"><button class="link" onClick=${() => go('table')}>Tables</button> / <b>${name}</b></nav>
        <form class="bar" onSubmit=${(event) => { event.preventDefault(); setFilter(text); }}>
            <input type="search" class="grow" aria-label="Filter" placeholder="PartitionKey eq 'a' and Age gt 30 and Active eq true" value=${text} onInput=${(event) => setText(event.target.value)} />
            <button type="submit">Filter</button><button type="button" onClick=${() => setDialog({ kind: 'help' })}>Help</button>
        </form>
        <div class="bar"><button class="primary" onClick=${() => setDialog({ kind: 'edit', entity: { pk: '', rk: '', properties: {} }, fresh: true })}>New entity</button>
            <button class="danger" disabled=${chosen.length === 0} onClick=${() => setDialog({ kind: 'delete', entities: chosen })}>Delete</button>
            <button class="danger" disabled=${pages.rows.length === 0} onClick=${async () => setDialog({ kind: 'delete', entities: await everything() })}>Delete all that match…</button>
            <${Menu} label="Export" items=${[['as CSV', () => exportAs('csv', toCsv)], ['as JSON', () => exportAs('json', toJson)]]} />
            <button onClick=${() => picker.current.click()}>Import CSV or JSON</button><input ref=${picker} type="file" class="hidden" tabindex="-1" accept=".csv,.json" aria-label="File to import" onChange=${imported} />
            <${Menu} label="Columns" items=${names.map((one) => [`${hidden.has(one) ? '☐' : '☑'} ${one}`, () => { const next = new Set(hidden); if (!next.delete(one)) next.add(one); setHidden(next); }])} />
            <button onClick=${() => setDialog({ kind: 'sas' })}>Access (SAS)</button><button onClick=${pages.reload}>Refresh</button></div>
        ${pages.error && html`<${Failure} error=${pages.error} />`}
        ${progress && html`<div class="card" role="status">${progress.what}: ${progress.done}${progress.total ? ` of ${progress.total}` : ''}${progress.failed ? `, ${progress.failed} refused` : ''}${progress.total ? html`<progress max=${progress.total} value=${progress.done} aria-label=${progress.what}></progress>` : ''}</div>`}
        <${Grid} label="Entities" columns=${columns} rows=${pages.rows} keyOf=${keyOf} selected=${selected} onSelect=${setSelected} onOpen=${(entity) => setDialog({ kind: 'edit', entity })} more=${pages.more} onMore=${pages.loadMore} loading=${pages.loading} empty="No entities." />
        <p class="quiet" aria-live="polite">${plural(pages.rows.length, 'entity', 'entities')}${pages.more ? ' so far' : ''}${selected.size ? `, ${selected.size} selected` : ''}</p>
        ${dialog?.kind === 'edit' && html`<${Editor} table=${name} entity=${dialog.entity} fresh=${dialog.fresh} onClose=${() => setDialog(null)} onSaved=${pages.reload} />`}
        ${dialog?.kind === 'help' && html`<${FilterHelp} onClose=${() => setDialog(null)} />`}
        ${dialog?.kind === 'sas' && html`<${SasDialog} service="table" name=${name} onClose=${() => setDialog(null)} />`}
        ${dialog?.kind === 'delete' && html`<${Confirm} title="Delete entities" text=${`${plural(dialog.entities.length, 'entity', 'entities')}, in change sets of up to 100. A change set in which one changed since it was listed is refused as a whole.`}
            sure=${dialog.entities.length > 1000 ? String(dialog.entities.length) : undefined} onYes=${() => change('Deleted', 'DELETE', dialog.entities)} onClose=${() => setDialog(null)} />`}`;
}

function FilterHelp({ onClose }) {
    return html`<${Dialog} title="Filters" onClose=${onClose}><table class="plain"><caption>Examples</caption><tbody>${[
        ["PartitionKey eq 'orders'", 'one partition'], ["RowKey ge 'a' and RowKey lt 'b'", 'a range of keys'], ['Age gt 30 and Active eq true', 'numbers and booleans'], ["Big gt 5000000000L", 'Int64 has an L'],
        ["When ge datetime'2026-01-01T00:00:00Z'", 'times'], ["Id eq guid'5f0d5a2e-…'", 'GUIDs'], ["not (State eq 'done')", 'not'],
    ].map(([code, words]) => html`<tr><td><code>${code}</code></td><td>${words}</td></tr>`)}</tbody></table><//>`;
}

/** One entity, each property with its type. A conflict shows both rows. */
function Editor({ table, entity, fresh, onClose, onSaved }) {
    const { session, say } = useApp();
    const [pk, setPk] = useState(entity.pk);
    const [rk, setRk] = useState(entity.rk);
    const [etag, setEtag] = useState(entity.etag);
    const [rows, setRows] = useState(Object.entries(entity.properties).map(([name, property]) => ({ name, ...property })));
    const [theirs, setTheirs] = useState(null);
    const [error, setError] = useState('');
    const set = (index, part) => setRows(rows.map((row, i) => (i === index ? { ...row, ...part } : row)));
    const save = async () => {
        const mine = { pk, rk, properties: Object.fromEntries(rows.filter((row) => row.name).map(({ name, type, value }) => [name, { type, value }])) };
        try {
            await (fresh ? api.insertEntity(session, table, mine) : api.updateEntity(session, table, mine, etag));
            say(fresh ? 'Entity added' : 'Entity saved');
            onClose();
            await onSaved();
        } catch (problem) {
            setError(`${problem.code ?? ''} ${problem.message}`);
            if (problem.status === 412)
                setTheirs(await api.getEntity(session, table, pk, rk).catch(() => null));
        }
    };
    return html`<${Dialog} wide title=${fresh ? 'New entity' : `${pk} / ${rk}`} onClose=${onClose}>
        <div class="bar"><label>PartitionKey<input value=${pk} readonly=${!fresh} onInput=${(event) => setPk(event.target.value)} /></label><label>RowKey<input value=${rk} readonly=${!fresh} onInput=${(event) => setRk(event.target.value)} /></label></div>
        ${!fresh && html`<p class="quiet">ETag ${etag}: saved only while the entity still has it.</p>`}
        <table class="plain"><caption>Properties</caption><thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Value</th><th scope="col"><span class="hidden">Remove</span></th></tr></thead><tbody>
            ${rows.map((row, index) => html`<tr><td><input aria-label=${`Name ${index + 1}`} value=${row.name} onInput=${(event) => set(index, { name: event.target.value })} /></td>
                <td><select aria-label=${`Type of ${row.name}`} value=${row.type} onChange=${(event) => set(index, { type: event.target.value })}>${api.TYPES.map((type) => html`<option>${type}</option>`)}</select></td>
                <td><input aria-label=${`Value of ${row.name}`} value=${row.value} onInput=${(event) => set(index, { value: event.target.value })} /></td>
                <td><button class="icon" aria-label=${`Remove ${row.name}`} onClick=${() => setRows(rows.filter((_, i) => i !== index))}>✕</button></td></tr>`)}
        </tbody></table>
        <div class="bar"><button onClick=${() => setRows([...rows, { name: '', type: 'Edm.String', value: '' }])}>Add property</button></div>
        ${error && html`<p class="error" role="alert">${error}</p>`}
        ${theirs && html`<fieldset><legend>Somebody changed it meanwhile</legend><table class="plain"><caption>As it is now</caption><tbody>${Object.entries(theirs.properties).map(([name, property]) => {
            const mine = rows.find((row) => row.name === name);
            return html`<tr><th scope="row">${name}</th><td>${property.value}</td><td class=${mine?.value === property.value ? 'quiet' : 'warn'}>${mine ? (mine.value === property.value ? 'same' : `yours: ${mine.value}`) : 'you removed it'}</td></tr>`;
        })}</tbody></table><div class="bar"><button onClick=${() => { setRows(Object.entries(theirs.properties).map(([name, property]) => ({ name, ...property }))); setEtag(theirs.etag); setTheirs(null); setError(''); }}>Take theirs</button>
            <button onClick=${() => { setEtag(theirs.etag); setTheirs(null); setError(''); }}>Keep mine, over theirs</button></div></fieldset>`}
        <footer><button onClick=${onClose}>Cancel</button><button class="primary" onClick=${save}>${fresh ? 'Add' : 'Save'}</button></footer>
    <//>`;
}
