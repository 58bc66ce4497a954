// SPDX-License-Identifier: Apache-2.0
// A list of any length: only the rows in sight are in the page. Works by keyboard and says to screen readers where one is.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.js';

const ROW = 34;
const SPARE = 8;

/**
 * columns: [{title, cell(row), width, align}]; rows: what is there; more: true while there are pages to fetch (onMore).
 * selected: Set of row keys; onSelect(Set); onOpen(row); keyOf(row).
 */
export function Grid({ label, columns, rows, keyOf, selected, onSelect, onOpen, more, onMore, loading, empty = 'Nothing here.' }) {
    const box = useRef();
    const [view, setView] = useState({ top: 0, height: 600 });
    const [focus, setFocus] = useState(0);
    const anchor = useRef(0);
    const first = Math.max(0, Math.floor(view.top / ROW) - SPARE);
    const last = Math.min(rows.length, Math.ceil((view.top + view.height) / ROW) + SPARE);

    useLayoutEffect(() => {
        const measure = () => setView({ top: box.current.scrollTop, height: box.current.clientHeight });
        const watcher = new ResizeObserver(measure);
        watcher.observe(box.current);
        measure();
        return () => watcher.disconnect();
    }, []);
    useEffect(() => {
        if (more && !loading && last >= rows.length - 4 * SPARE)
            onMore?.();
    }, [more, loading, last, rows.length]);
    useEffect(() => {
        if (focus >= rows.length)
            setFocus(Math.max(0, rows.length - 1));
    }, [rows.length]);

    const move = (to, extend) => {
        const index = Math.max(0, Math.min(rows.length - 1, to));
        setFocus(index);
        const top = index * ROW;
        const seen = box.current;
        if (top < seen.scrollTop)
            seen.scrollTop = top;
        else if (top + 2 * ROW > seen.scrollTop + seen.clientHeight)
            seen.scrollTop = top + 2 * ROW - seen.clientHeight;
        if (extend)
            range(anchor.current, index);
        else
            anchor.current = index;
    };
    const range = (from, to) => onSelect?.(new Set(rows.slice(Math.min(from, to), Math.max(from, to) + 1).map(keyOf)));
    const toggle = (row) => {
        const next = new Set(selected);
        const key = keyOf(row);
        if (!next.delete(key))
            next.add(key);
        onSelect?.(next);
    };
    const page = Math.max(1, Math.floor(view.height / ROW) - 1);
    const keys = {
        ArrowDown: (event) => move(focus + 1, event.shiftKey), ArrowUp: (event) => move(focus - 1, event.shiftKey),
        PageDown: (event) => move(focus + page, event.shiftKey), PageUp: (event) => move(focus - page, event.shiftKey),
        Home: (event) => move(0, event.shiftKey), End: (event) => move(rows.length - 1, event.shiftKey),
        Enter: () => rows[focus] && onOpen?.(rows[focus]), ' ': () => rows[focus] && onSelect && toggle(rows[focus]),
    };
    const onKey = (event) => {
        if (event.target !== box.current)
            return;
        if ((event.ctrlKey || event.metaKey) && event.key === 'a' && onSelect) {
            onSelect(new Set(rows.map(keyOf)));
            event.preventDefault();
        } else if (keys[event.key]) {
            keys[event.key](event);
            event.preventDefault();
        }
    };
    const template = `${onSelect ? '36px ' : ''}${columns.map((column) => column.width ?? 'minmax(90px, 1fr)').join(' ')}`;
    const rowStyle = (index) => ({ top: `${index * ROW}px`, gridTemplateColumns: template });
    const id = (index) => `${label.replace(/\W+/g, '-')}-row-${index}`;
    return html`
        <div class="grid">
            <div class="grid-head" style=${{ gridTemplateColumns: template }} aria-hidden="true">
                ${onSelect && html`<span class="check"><input type="checkbox" tabindex="-1" aria-label="Select all" checked=${rows.length > 0 && selected.size >= rows.length}
                    onChange=${(event) => onSelect(new Set(event.target.checked ? rows.map(keyOf) : []))} /></span>`}
                ${columns.map((column) => html`<span class=${column.align ?? ''}>${column.title}</span>`)}
            </div>
            <div class="grid-body" ref=${box} role="grid" aria-label=${label} aria-rowcount=${more ? -1 : rows.length} aria-multiselectable=${Boolean(onSelect)} tabindex="0"
                aria-activedescendant=${rows.length > 0 && focus >= first && focus < last ? id(focus) : undefined} aria-busy=${Boolean(loading)}
                onScroll=${(event) => setView({ top: event.target.scrollTop, height: event.target.clientHeight })} onKeyDown=${onKey}>
                <div class="grid-space" role="presentation" style=${{ height: `${(rows.length + (more ? 1 : 0)) * ROW}px` }}>
                    ${rows.slice(first, last).map((row, i) => {
                        const index = first + i;
                        const key = keyOf(row);
                        return html`<div key=${key} id=${id(index)} role="row" aria-rowindex=${index + 1} aria-selected=${onSelect ? selected.has(key) : undefined}
                            class=${`row${index === focus ? ' focus' : ''}${selected?.has(key) ? ' selected' : ''}`} style=${rowStyle(index)}
                            onClick=${(event) => {
                                move(index, event.shiftKey && onSelect);
                                if (!event.target.closest('input') && !event.shiftKey)
                                    onOpen?.(row);
                            }}>
                            ${onSelect && html`<span role="gridcell" class="check"><input type="checkbox" tabindex="-1" aria-label=${`Select ${key}`} checked=${selected.has(key)} onChange=${() => toggle(row)} onClick=${(event) => event.stopPropagation()} /></span>`}
                            ${columns.map((column) => html`<span role="gridcell" class=${column.align ?? ''} title=${column.hint?.(row)}>${column.cell(row)}</span>`)}
                        </div>`;
                    })}
                    ${more && html`<div class="row quiet" role="row" style=${{ top: `${rows.length * ROW}px` }}><span role="gridcell">loading more…</span></div>`}
                </div>
                ${rows.length === 0 && !loading && !more && html`<p class="empty">${empty}</p>`}
                ${rows.length === 0 && loading && html`<p class="empty">loading…</p>`}
            </div>
        </div>`;
}

/** Pages of a listing, fetched as they are scrolled to. `fetchPage(marker, signal)` gives {rows, marker}. */
export function usePages(fetchPage, dependencies) {
    const [state, setState] = useState({ rows: [], marker: null, loading: true, error: null, more: false });
    const run = useRef(0);
    const load = async (marker, before) => {
        const mine = run.current;
        try {
            const page = await fetchPage(marker);
            if (mine === run.current)
                setState({ rows: [...before, ...page.rows], marker: page.marker, more: Boolean(page.marker), loading: false, error: null });
        } catch (error) {
            if (mine === run.current)
                setState({ rows: before, marker: null, more: false, loading: false, error });
        }
    };
    const reload = () => {
        run.current++;
        setState((now) => ({ ...now, rows: [], loading: true, error: null, more: false }));
        return load(null, []);
    };
    useEffect(() => {
        void reload();
        return () => { run.current++; };
    }, dependencies);
    const loadMore = () => {
        if (state.loading || !state.more)
            return;
        setState((now) => ({ ...now, loading: true }));
        void load(state.marker, state.rows);
    };
    return { ...state, reload, loadMore };
}
