// SPDX-License-Identifier: Apache-2.0
// A list of any length: only the rows in sight are in the page. Works by keyboard and says to screen readers where one is.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.js';

const ROW = 34;
const SPARE = 8;
// Browsers cut elements that are higher than some ten million pixels. Longer lists scroll faster than the pointer instead.
const HEIGHT_MAX = 8e6;

/** How a list of `count` rows lies in its box: which rows are in sight, and where a row is drawn. */
export function layoutOf(count, { top, height }) {
    const whole = count * ROW;
    const space = Math.min(whole, HEIGHT_MAX);
    const ratio = whole > space ? (whole - height) / Math.max(1, space - height) : 1;
    const seen = top * ratio;
    return {
        space,
        first: Math.max(0, Math.min(count, Math.floor(seen / ROW)) - SPARE),
        last: Math.min(count, Math.ceil((seen + height) / ROW) + SPARE),
        topOf: (index) => index * ROW - seen + top,
        /** Where to scroll so that the row is in sight; the same place when it is already. */
        scrollTo: (index) => {
            if (index * ROW < seen)
                return (index * ROW) / ratio;
            // The head covers one row's height.
            return (index + 2) * ROW > seen + height ? Math.max(0, (index + 2) * ROW - height) / ratio : top;
        },
    };
}

/** True while the window is as narrow as a phone: lists then leave out columns that are marked `wide`. */
function useNarrow() {
    const [query] = useState(() => matchMedia('(max-width: 760px)'));
    const [narrow, setNarrow] = useState(query.matches);
    useEffect(() => {
        const onChange = () => setNarrow(query.matches);
        query.addEventListener('change', onChange);
        return () => query.removeEventListener('change', onChange);
    }, []);
    return narrow;
}

const leastWidth = (width = '90px') => Number(/(\d+)px/.exec(width)?.[1] ?? 90);

/**
 * columns: [{title, cell(row), width, align, wide}]; rows: what is there; more: true while there are pages to fetch (onMore).
 * selected: Set of row keys; onSelect(Set); onOpen(row); keyOf(row); nameOf(row) for screen readers.
 */
export function Grid({ label, columns: all, rows, keyOf, nameOf = keyOf, selected, onSelect, onOpen, more, onMore, loading, empty = 'Nothing here.' }) {
    const box = useRef();
    const [view, setView] = useState({ top: 0, height: 600 });
    const [focus, setFocus] = useState(0);
    const anchor = useRef(0);
    const narrow = useNarrow();
    const columns = narrow ? all.filter((column) => !column.wide) : all;
    const { space, first, last, topOf, scrollTo } = layoutOf(rows.length, view);

    const look = () => setView({ top: box.current.scrollTop, height: box.current.clientHeight });
    useLayoutEffect(() => {
        const watcher = new ResizeObserver(look);
        watcher.observe(box.current);
        look();
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
        box.current.scrollTop = scrollTo(index);
        if (extend)
            onSelect?.(new Set(rows.slice(Math.min(anchor.current, index), Math.max(anchor.current, index) + 1).map(keyOf)));
        else
            anchor.current = index;
    };
    const toggle = (row) => {
        const next = new Set(selected);
        const key = keyOf(row);
        if (!next.delete(key))
            next.add(key);
        onSelect?.(next);
    };
    const page = Math.max(1, Math.floor(view.height / ROW) - 2);
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
    const width = `${columns.reduce((sum, column) => sum + leastWidth(column.width), onSelect ? 36 : 0)}px`;
    const id = (index) => `${label.replace(/\W+/g, '-')}-row-${index}`;
    const cells = (row) => columns.map((column) => html`<span role="gridcell" class=${column.align ?? ''} title=${column.hint?.(row)}>${column.cell(row)}</span>`);
    return html`
        <div class="grid">
            <div class="grid-body" ref=${box} role="grid" aria-label=${label} aria-rowcount=${more ? -1 : rows.length + 1} aria-multiselectable=${onSelect ? 'true' : undefined} tabindex="0"
                aria-activedescendant=${rows.length > 0 && focus >= first && focus < last ? id(focus) : undefined} aria-busy=${Boolean(loading)} onScroll=${look} onKeyDown=${onKey}>
                <div role="rowgroup" class="grid-head" style=${{ minWidth: width }}><div role="row" aria-rowindex="1" style=${{ gridTemplateColumns: template }}>
                    ${onSelect && html`<span role="columnheader" class="check"><input type="checkbox" tabindex="-1" aria-label="Select all that are listed" checked=${rows.length > 0 && selected.size >= rows.length}
                        onChange=${(event) => onSelect(new Set(event.target.checked ? rows.map(keyOf) : []))} /></span>`}
                    ${columns.map((column) => html`<span role="columnheader" class=${column.align ?? ''}>${column.title}</span>`)}
                </div></div>
                <div class="grid-space" role="rowgroup" style=${{ height: `${space + (more ? ROW : 0)}px`, minWidth: width }}>
                    ${rows.slice(first, last).map((row, i) => {
                        const index = first + i;
                        const key = keyOf(row);
                        const chosen = Boolean(selected?.has(key));
                        return html`<div key=${key} id=${id(index)} role="row" aria-rowindex=${index + 2} aria-selected=${onSelect ? String(chosen) : undefined}
                            class=${`row${index === focus ? ' focus' : ''}${chosen ? ' selected' : ''}`} style=${{ top: `${topOf(index)}px`, gridTemplateColumns: template }}
                            onClick=${(event) => {
                                move(index, event.shiftKey && onSelect);
                                if (!event.target.closest('input') && !event.shiftKey)
                                    onOpen?.(row);
                            }}>
                            ${onSelect && html`<span role="gridcell" class="check"><input type="checkbox" tabindex="-1" aria-label=${`Select ${nameOf(row)}`} checked=${chosen} onChange=${() => toggle(row)} onClick=${(event) => event.stopPropagation()} /></span>`}
                            ${cells(row)}
                        </div>`;
                    })}
                    ${more && html`<div class="row quiet" role="row" style=${{ top: `${topOf(rows.length)}px` }}><span role="gridcell">loading more…</span></div>`}
                </div>
                ${rows.length === 0 && !loading && !more && html`<div class="empty" role="row"><span role="gridcell">${empty}</span></div>`}
                ${rows.length === 0 && loading && html`<div class="empty" role="row"><span role="gridcell">loading…</span></div>`}
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
                setState({ rows: before.concat(page.rows), marker: page.marker, more: Boolean(page.marker), loading: false, error: null });
        } catch (error) {
            if (mine === run.current)
                setState({ rows: before, marker: null, more: false, loading: false, error });
        }
    };
    const reload = () => {
        run.current++;
        setState((now) => ({ ...now, loading: true, error: null, more: false }));
        return load(null, []);
    };
    useEffect(() => {
        setState({ rows: [], marker: null, loading: true, error: null, more: false });
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
