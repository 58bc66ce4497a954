// SPDX-License-Identifier: Apache-2.0
// Checks a recorded history of one entity for linearizability: whether all operations can be put in one order, each
// taking effect at a moment between its call and its answer, so that every answer is right.
//
// Only conditional writes change the entity, and each that succeeded names the ETag it replaced and the one it made. So
// the order of the states is known from the answers, and states have numbers. It remains to check that no operation sees
// a state that real time forbids: exact, and without a search.
//
// An operation is {kind, called, answered, ...}, with times of one clock:
//   write    from, to: the ETags it replaced and made; value: what it wrote
//   read     etag, value
//   refused  from: the ETag it asked for, which was found not to be current

/** Throws with the first contradiction; returns {writes, refused, reads}. */
export function checkHistory(operations, first) {
    const states = numberStates(operations, first);
    const all = operations.map((op) => ({ ...op, ...numbersOf(op, states) }));
    checkOrder(all);
    checkRefusals(all.filter((op) => op.kind === 'refused'), all.filter((op) => op.kind !== 'refused'));
    const count = (kind) => operations.filter((op) => op.kind === kind).length;
    return { writes: count('write'), refused: count('refused'), reads: count('read') };
}

/** ETag → {number, value}: the chain of writes from the first state on, in which no ETag is replaced twice. */
function numberStates(operations, first) {
    const next = new Map();
    for (const op of operations.filter((o) => o.kind === 'write')) {
        if (next.has(op.from))
            throw new Error(`two writes replaced ${op.from}: both clients won`);
        next.set(op.from, op);
    }
    const states = new Map([[first.etag, { number: 0, value: first.value }]]);
    for (let op = next.get(first.etag); op !== undefined; op = next.get(op.to))
        states.set(op.to, { number: states.size, value: op.value });
    if (states.size - 1 !== next.size)
        throw new Error(`${next.size - states.size + 1} acknowledged writes are not in the chain: an update was lost`);
    return states;
}

/** The numbers of the states that an operation proves to have been current, at some moment of it: the first and the last. */
function numbersOf(op, states) {
    const state = states.get(op.kind === 'write' ? op.to : op.kind === 'read' ? op.etag : op.from);
    if (state === undefined)
        throw new Error(`a ${op.kind} names ${op.etag ?? op.from}, which nobody wrote`);
    if (op.kind === 'read' && state.value !== op.value)
        throw new Error(`a read saw ${op.value} with the ETag of ${state.value}`);
    return { firstState: op.kind === 'write' ? state.number - 1 : state.number, lastState: state.number };
}

const byCall = (a, b) => a.called - b.called;
const byAnswer = (a, b) => a.answered - b.answered;

/** An operation answered before another was called must not have seen a later state. */
function checkOrder(all) {
    const seen = all.filter((op) => op.kind !== 'refused');
    const ended = [...seen].sort(byAnswer);
    let i = 0;
    let newest = { lastState: 0 };
    for (const op of [...seen].sort(byCall)) {
        for (; i < ended.length && ended[i].answered < op.called; i++)
            if (ended[i].lastState > newest.lastState)
                newest = ended[i];
        if (op.firstState < newest.lastState)
            throw new Error(`a ${op.kind} that began at ${op.called} saw state ${op.firstState}, but state ${newest.lastState} was seen by ${newest.answered}`);
    }
}

/**
 * A refused write found its state not to be current. It was, all the while, if it was seen to be before the call and is
 * still seen after the answer.
 */
function checkRefusals(refused, seen) {
    const ended = [...seen].sort(byAnswer);
    let i = 0;
    let newest = 0;
    for (const op of [...refused].sort(byCall)) {
        for (; i < ended.length && ended[i].answered < op.called; i++)
            newest = Math.max(newest, ended[i].lastState);
        op.before = newest;
    }
    const begun = [...seen].sort(byCall).reverse();
    let k = 0;
    let oldest = Infinity;
    for (const op of [...refused].sort(byAnswer).reverse()) {
        for (; k < begun.length && begun[k].called > op.answered; k++)
            oldest = Math.min(oldest, begun[k].firstState);
        if (op.before >= op.lastState && oldest <= op.lastState)
            throw new Error(`a write was refused although state ${op.lastState} was current all the while`);
    }
}
