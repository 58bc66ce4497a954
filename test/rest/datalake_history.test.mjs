// SPDX-License-Identifier: Apache-2.0
// Clients of both APIs concurrently make, move and remove files and directories in one small tree, and sometimes the
// server is killed: each recorded history is linearizable, and no listing of either API ever shows a partly moved tree.
// Then the same in two file systems, with renames between them: the model's tree has both as its top directories.
// LAZULI_LONG=1: for minutes.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ACCOUNT, BIN, startServer, until } from './lib.mjs';
import { checkTree, textOf } from './datalake_history.mjs';

const ON_CLUSTER = process.env.LAZULI_TEST_ROWS !== undefined;
const CLIENTS = 6;
const STEPS = 7;
const ROUNDS = process.env.LAZULI_LONG ? 400 : 60;
const KILLED_ROUNDS = process.env.LAZULI_LONG ? 150 : 12;

/** Numbers that look random and are the same each time. */
function randomOf(seed) {
    let state = seed;
    return (below) => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return Math.floor((state / 2 ** 32) * below);
    };
}

/** On the cluster engine there is no folder to check. */
function checkFolder(server) {
    if (!ON_CLUSTER)
        execFileSync(BIN, ['check', '--data', server.data]);
}

let lengths = 0;

/** One of a few paths, so that clients meet; in one of the file systems when there are two. */
function drawPath(random, systems) {
    const names = ['a', 'b'];
    const path = Array.from({ length: 1 + random(systems.length === 0 ? 3 : 2) }, () => names[random(names.length)]).join('/');
    return systems.length === 0 ? path : `${systems[random(systems.length)]}/${path}`;
}

function drawOperation(random, systems) {
    const what = random(16);
    if (what < 4)
        return { kind: 'put', path: drawPath(random, systems), length: ++lengths };
    if (what < 6)
        return { kind: 'mkdir', path: drawPath(random, systems) };
    if (what < 11) {
        const from = drawPath(random, systems);
        const to = drawPath(random, systems);
        return from === to ? drawOperation(random, systems) : { kind: 'rename', from, to };
    }
    if (what < 12)
        return { kind: 'delete', path: drawPath(random, systems) };
    return what < 14 ? { kind: 'get', path: drawPath(random, systems) }
        : { kind: 'list', blob: what === 14, under: systems.length === 0 ? undefined : systems[random(systems.length)] };
}

/** How each is asked for: Put Blob and one listing by the Blob API, all else by Data Lake's. */
class Tree {
    /** Its root is a file system, or, when `root` is empty, the account: then paths begin with that of a file system. */
    constructor(server, root) {
        this.server = server;
        this.root = root;
    }

    async put({ path, length }) {
        return (await this.server.request('blob', 'PUT', `${this.root}/${path}`, { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'x'.repeat(length) })).status;
    }

    async mkdir({ path }) {
        return (await this.server.request('blob', 'PUT', `${this.root}/${path}`, { query: { resource: 'directory' }, headers: { 'If-None-Match': '*' }, body: '' })).status;
    }

    async rename({ from, to }) {
        return (await this.server.request('blob', 'PUT', `${this.root}/${to}`, { query: { mode: 'legacy' }, headers: { 'x-ms-rename-source': `${this.root}/${from}` }, body: '' })).status;
    }

    async delete({ path }) {
        return (await this.server.request('blob', 'DELETE', `${this.root}/${path}`, { query: { recursive: 'true' } })).status;
    }

    async get({ path }) {
        const { status, headers } = await this.server.request('blob', 'HEAD', `${this.root}/${path}`);
        if (status !== 200)
            return status;
        return headers['x-ms-resource-type'] === 'directory' ? 'directory' : Number(headers['content-length']);
    }

    async list({ blob, under }) {
        const found = new Map();
        const at = under === undefined ? this.root : `/${under}`;
        const prefix = under === undefined ? '' : `${under}/`;
        if (blob) {
            const answer = await this.server.request('blob', 'GET', at, { query: { restype: 'container', comp: 'list' } });
            assert.equal(answer.status, 200, answer.text);
            const kinds = answer.xml('ResourceType');
            const sizes = answer.xml('Content-Length');
            for (const [i, name] of answer.xml('Name').entries())
                found.set(prefix + name, kinds[i] === 'directory' ? 'directory' : Number(sizes[i]));
        } else {
            const answer = await this.server.request('blob', 'GET', at, { query: { resource: 'filesystem', recursive: 'true' } });
            assert.equal(answer.status, 200, answer.text);
            for (const { name, isDirectory, contentLength } of answer.json().paths)
                found.set(prefix + name, isDirectory === 'true' ? 'directory' : Number(contentLength));
        }
        return found;
    }

    /** Does it and notes when, and what came of it; null when nothing came back. */
    async record(operation, history, dead) {
        const called = performance.now();
        let result;
        try {
            result = await this[operation.kind](operation);
        } catch (error) {
            if (!dead())
                throw error;
            result = null;
        }
        // Refused without an effect: a path of the file system was on its way to the other one.
        if (result === 503)
            return result;
        const text = result instanceof Map ? textOf(result) : result;
        if (result !== null || !['get', 'list'].includes(operation.kind))
            history.push({ ...operation, called, answered: performance.now(), result: text });
        return result;
    }
}

async function run({ seed, rounds, kills, inMemory, systems = [] }) {
    const server = await startServer({ inMemory, services: ['blob'], args: ['--silent', '--hns', ACCOUNT] });
    const tree = new Tree(server, systems.length === 0 ? '/tree' : '');
    const random = randomOf(seed);
    let state = new Map(systems.map((system) => [system, 'directory']));
    let moved = 0;
    let refused = 0;
    try {
        for (const system of systems.length === 0 ? ['tree'] : systems)
            assert.equal((await server.request('blob', 'PUT', `/${system}`, { query: { resource: 'filesystem' } })).status, 201);
        // A slow server may be killed before it has moved anything: it gets more rounds then, and longer ones. (On a cluster a move
        // that was cut off blocks its source for 30 s, so few rounds count.)
        for (let round = 0; round < rounds || ((moved === 0 || refused === 0) && round < 20 * rounds); round++) {
            const history = [];
            let dead = false;
            const clients = Array.from({ length: CLIENTS }, (_, i) => {
                const own = randomOf(seed * 1000003 + round * 101 + i);
                return (async () => {
                    for (let n = 0; n < STEPS && !dead; n++)
                        await tree.record(drawOperation(own, systems), history, () => dead);
                })();
            });
            if (kills) {
                await sleep(random(25) + Math.min(1000, Math.max(0, round - rounds) ** 2));
                dead = true;
                await server.kill();
            }
            await Promise.all(clients);
            if (kills) {
                checkFolder(server);
                await server.start();
            }
            const after = new Map(systems.map((system) => [system, 'directory']));
            for (const under of systems.length === 0 ? [undefined] : systems)
                for (const [path, what] of await tree.record({ kind: 'list', blob: round % 2 === 0, under }, history, () => false))
                    after.set(path, what);
            checkTree(history, state);
            state = after;
            const across = ({ from, to }) => systems.length === 0 || from.split('/')[0] !== to.split('/')[0];
            moved += history.filter((o) => o.kind === 'rename' && o.result === 201 && across(o)).length;
            refused += history.filter(({ kind, result }) => kind === 'rename' && result !== 201 && result !== null).length;
        }
    } finally {
        await server.stop();
    }
    assert.ok(moved > 0 && refused > 0, `${moved} renames went through, ${refused} were refused: no contest`);
}

test('RenamePath, DeletePath, CreatePath beside each other and both listings, in memory: linearizable', () => run({ seed: 1, rounds: ROUNDS, inMemory: true }));
test('the same with full durability', () => run({ seed: 2, rounds: ROUNDS }));
test('the same with kill -9 in between: nothing half moved, nothing lost', () => run({ seed: 3, rounds: KILLED_ROUNDS, kills: true }));

const systems = ['one', 'two'];
test('RenamePath between two file systems, in memory: linearizable', () => run({ seed: 4, rounds: ROUNDS, inMemory: true, systems }));
test('between two file systems with full durability', () => run({ seed: 5, rounds: ROUNDS, systems }));
test('between two file systems with kill -9 in between: nothing half moved, nothing lost', () => run({ seed: 6, rounds: KILLED_ROUNDS, kills: true, systems }));

test('a directory of several pages between two file systems, with listers beside it and kill -9 on the way', { timeout: 240000 }, async () => {
    const FILES = 1100;
    const server = await startServer({ services: ['blob'], args: ['--silent', '--hns', ACCOUNT] });
    const random = randomOf(7);
    let at = 'one';
    let dead = false;
    const count = async (system) => {
        const answer = await server.request('blob', 'GET', `/${system}`, { query: { restype: 'container', comp: 'list', prefix: 'tree/' } });
        return answer.xml('Name').length;
    };
    const look = async () => {
        let seen = 0;
        while (!dead) {
            for (const system of systems) {
                const names = await count(system);
                assert.ok(names === 0 || names === FILES, `${names} of ${FILES} in ${system}`);
                seen++;
            }
            await sleep(5);
        }
        return seen;
    };
    const move = (to) => server.request('blob', 'PUT', `/${to}/tree`, { query: { mode: 'legacy' }, headers: { 'x-ms-rename-source': `/${at}/tree` }, body: '' });
    const other = () => systems.find((system) => system !== at);
    try {
        for (const system of systems)
            assert.equal((await server.request('blob', 'PUT', `/${system}`, { query: { resource: 'filesystem' } })).status, 201);
        for (let n = 0; n < FILES; n += 50)
            await Promise.all(Array.from({ length: 50 }, (_, i) => server.request('blob', 'PUT', `/one/tree/f${n + i}`, { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: `${n + i}` })));
        const lister = look();
        for (let i = 0; i < 2; i++) {
            assert.equal((await move(other())).status, 201);
            at = other();
        }
        dead = true;
        assert.ok(await lister > 0);
        for (let round = 0; round < 4; round++) {
            const going = move(other()).catch(() => null);
            await sleep(random(60));
            await server.kill();
            await going;
            checkFolder(server);
            await server.start();
            const found = await Promise.all(systems.map(count));
            assert.deepEqual([...found].sort((a, b) => a - b), [0, FILES], `round ${round}`);
            at = systems[found.indexOf(FILES)];
            for (const system of systems) // neither is left frozen: at once, or when no other gateway can be carrying the move on
                await until(async () => {
                    const { status } = await server.request('blob', 'PUT', `/${system}/after`, { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: `${round}` });
                    assert.ok(status === 201 || (ON_CLUSTER && status === 503), `${status}`);
                    return status === 201;
                }, 60_000);
            const one = random(FILES);
            assert.equal((await server.request('blob', 'GET', `/${at}/tree/f${one}`)).text, `${one}`);
        }
    } finally {
        dead = true;
        await server.stop();
    }
});

// ---- the checker itself: it must find what is wrong -----------------------------------------------------------------

const start = new Map([['a', 'directory'], ['a/f', 1]]);
const at = (called, answered, operation) => ({ ...operation, called, answered });
const listed = (called, answered, result) => at(called, answered, { kind: 'list', result });
const moved = (called, answered, result = 201) => at(called, answered, { kind: 'rename', from: 'a', to: 'b', result });

test('the checker takes what is right', () => {
    checkTree([moved(0, 5), listed(1, 2, 'a=directory a/f=1'), listed(1, 6, 'b=directory b/f=1'),
        at(0, 9, { kind: 'put', path: 'a/g', length: 2, result: 201 }), listed(7, 8, 'a=directory a/g=2 b=directory b/f=1')], start);
    checkTree([moved(0, 5, null), listed(6, 7, 'a=directory a/f=1')], start);
    checkTree([moved(0, 5, null), listed(6, 7, 'b=directory b/f=1')], start);
});

test('the checker finds what is wrong', () => {
    const wrong = {
        'half moved': [moved(0, 5), listed(1, 6, 'a=directory a/f=1 b=directory')],
        'in both places': [moved(0, 5), listed(1, 6, 'a=directory a/f=1 b=directory b/f=1')],
        'back again': [moved(0, 1), listed(2, 3, 'a=directory a/f=1')],
        'too early': [listed(0, 1, 'b=directory b/f=1'), moved(2, 3)],
        'a lost file': [at(0, 1, { kind: 'put', path: 'a/g', length: 2, result: 201 }), listed(2, 3, 'a=directory a/f=1')],
        'refused without cause': [moved(0, 1, 409)],
        'half moved by a kill': [moved(0, 5, null), listed(6, 7, 'a=directory b=directory b/f=1')],
        'first there, then not': [listed(0, 3, 'b=directory b/f=1'), listed(4, 5, 'a=directory a/f=1'), moved(0, 9)],
    };
    for (const [what, history] of Object.entries(wrong))
        assert.throws(() => checkTree(history, start), /not linearizable/, what);
});
