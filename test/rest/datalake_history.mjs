// SPDX-License-Identifier: Apache-2.0
// A model of a hierarchical file system, and a check whether a recorded history of it is linearizable: whether all
// operations can be put in one order, each taking effect at a moment between its call and its answer, so that every answer
// is right. (Wing and Gong's search; failed states are remembered.)
//
// An operation is {kind, called, answered, …, result}, with times of one clock. A result of null is unknown: the server was
// killed, and the operation happened before that or never.
//   put     path, length     writes a file, with the directories that lack       201, 409
//   mkdir   path             makes a directory that must not be there yet        201, 409
//   rename  from, to         in "legacy" mode                                    201, 404, 409
//   delete  path             with all that is below                              200, 404
//   get     path             a file's length, 'directory' or 404
//   list    under            everything, or all below one directory: {path: length or 'directory'}

const parentOf = (path) => path.slice(0, Math.max(path.lastIndexOf('/'), 0));
const isBelow = (path, directory) => path.startsWith(`${directory}/`);

/** Parents of the path from the top, without the root. */
function parents(path) {
    const names = path.split('/').slice(0, -1);
    return names.map((_, i) => names.slice(0, i + 1).join('/'));
}

function make(state, path, what) {
    if (parents(path).some((parent) => typeof state.get(parent) === 'number'))
        return { state, result: 409 };
    const next = new Map(state);
    for (const parent of parents(path))
        next.set(parent, 'directory');
    next.set(path, what);
    return { state: next, result: 201 };
}

/** The error of a rename, null if it succeeds. */
function renameRefusal(state, from, to) {
    if (!state.has(from))
        return 404;
    if (state.get(from) === 'directory' && isBelow(to, from))
        return 409;
    if (parentOf(to) !== '' && state.get(parentOf(to)) !== 'directory')
        return 404;
    if (!state.has(to))
        return null;
    if ((state.get(from) === 'directory') !== (state.get(to) === 'directory'))
        return 409;
    return state.get(to) === 'directory' && [...state.keys()].some((path) => isBelow(path, to)) ? 409 : null;
}

function rename(state, { from, to }) {
    const refusal = renameRefusal(state, from, to);
    if (refusal !== null)
        return { state, result: refusal };
    const next = new Map();
    for (const [path, what] of state)
        if (path !== from && path !== to && !isBelow(path, from))
            next.set(path, what);
    for (const [path, what] of state)
        if (path === from || isBelow(path, from))
            next.set(to + path.slice(from.length), what);
    return { state: next, result: 201 };
}

const STEPS = {
    put: (state, { path, length }) => (state.get(path) === 'directory' ? { state, result: 409 } : make(state, path, length)),
    mkdir: (state, { path }) => (state.has(path) ? { state, result: 409 } : make(state, path, 'directory')),
    rename,
    delete: (state, { path }) => (state.has(path)
        ? { state: new Map([...state].filter(([other]) => other !== path && !isBelow(other, path))), result: 200 }
        : { state, result: 404 }),
    get: (state, { path }) => ({ state, result: state.get(path) ?? 404 }),
    list: (state, { under }) => ({ state, result: textOf(under === undefined ? state : new Map([...state].filter(([path]) => isBelow(path, under)))) }),
};

/** A state as text, in one order. */
export function textOf(state) {
    return [...state].sort(([a], [b]) => (a < b ? -1 : 1)).map(([path, what]) => `${path}=${what}`).join(' ');
}

/** The state after the operation, or null when its answer is not what the state gives. */
function step(state, operation) {
    const { state: next, result } = STEPS[operation.kind](state, operation);
    return operation.result === null || operation.result === result ? next : null;
}

/** Throws unless the history is linearizable from the state on; gives how many states were looked at. */
export function checkTree(operations, first) {
    const sorted = [...operations].sort((a, b) => a.called - b.called);
    const tried = new Set();
    let furthest = [];
    const search = (state, left, path) => {
        const sure = left.filter(({ result }) => result !== null);
        if (sure.length === 0)
            return true;
        const key = `${left.map(({ number }) => number).join()}|${textOf(state)}`;
        if (tried.has(key))
            return false;
        tried.add(key);
        if (path.length > furthest.length)
            furthest = path;
        const deadline = Math.min(...left.map(({ answered }) => answered));
        for (const operation of left) {
            if (operation.called > deadline)
                break;
            const rest = left.filter((other) => other !== operation);
            const next = step(state, operation);
            if (next !== null && search(next, rest, [...path, operation]))
                return true;
            // One whose outcome is unknown may never have happened.
            if (operation.result === null && search(state, rest, path))
                return true;
        }
        return false;
    };
    if (!search(first, sorted.map((operation, number) => ({ ...operation, number })), []))
        throw new Error(`not linearizable from "${textOf(first)}"; the longest order that is right:\n${furthest.map((o) => JSON.stringify(o)).join('\n')}\nof\n${sorted.map((o) => JSON.stringify(o)).join('\n')}`);
    return tried.size;
}
