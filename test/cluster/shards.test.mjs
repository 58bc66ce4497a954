// SPDX-License-Identifier: Apache-2.0
// Several PostgreSQL primaries: refusals by `init` and gateways, and histories while shards are added and drained and the
// process that moves the data is killed.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { BIN, until, xmlTexts } from '../rest/lib.mjs';
import { Client, FULL, newShards, startGateways, stopGateways, theCluster, wants } from './lib.mjs';
import { History } from './history.mjs';

const GATEWAYS = 3;
const BUCKETS = 1024;
const KILLS = FULL ? 6 : 2;
const BLOCK = { 'x-ms-blob-type': 'BlockBlob' };
let cluster;

before(async () => { cluster = await theCluster({ shards: 2 }); });
after(async () => { await cluster?.down(); });

const lazuli = (...words) => spawnSync(BIN, words, { encoding: 'utf8', timeout: 120_000 });
function refuses(pattern, ...words) {
    const said = lazuli(...words);
    assert.notEqual(said.status, 0, said.stdout);
    assert.match(said.stderr, pattern);
    assert.equal(said.stderr.trim().split('\n').length, 1, said.stderr);
}
function does(...words) {
    const said = lazuli(...words);
    assert.equal(said.status, 0, said.stderr);
    return said.stdout;
}
/** Buckets that each shard says it has. */
const has = (store, count) => Array.from({ length: count }, (_, n) => Number(store.sql(n, 'select count(*) from buckets where state < 10')));

test('shards that are missing, in another order or of another store are refused in one line', () => {
    const store = newShards(cluster, cluster.shards);
    const other = newShards(cluster, [cluster.rows]);
    const serve = ['--engine', 'cluster', '--silent', '--blob-port', '0', '--queue-port', '0', '--table-port', '0', '--file-port', '0',
        '--smb-port', 'off', '--dfs-port', 'off', '--admin-port', 'off'];
    refuses(/tables of shard 1 are missing: run `lazuli cluster init`/, ...serve, ...store.flags(2));
    does('cluster', 'init', ...store.flags(2));
    does('cluster', 'init', ...other.flags(1));
    assert.deepEqual(has(store, 2), [BUCKETS / 2, BUCKETS / 2], 'a new store is spread over its shards');
    refuses(/the store has 2 shards, and --rows is given 1 times/, ...serve, ...store.flags(1));
    refuses(/--rows number 1 is shard 2: give every --rows in the order/, ...serve, ...store.flags([1, 0]));
    refuses(/--rows number 2 is of another store/, ...serve, ...store.flags(1), '--rows', other.uris[0]);
    refuses(/the store has 2 shards, and --rows is given 1 times/, 'cluster', 'init', ...store.flags(1));
    refuses(/the store has 1 shards, and --rows is given 2 times/, 'cluster', 'rebalance', ...other.flags(1), '--rows', store.uris[1]);
    refuses(/connect|refused/i, 'cluster', 'status', ...store.flags(2).map((word) => word.replace(/:\d+(,[^/]*)?\//, ':1/')));
    refuses(/--rows is not of the form postgresql:/, 'cluster', 'status', '--rows', 'nonsense');
    refuses(/the pool nowhere cannot be opened: No such file or directory/, 'cluster', 'init', ...store.flags(2).map((word) => word.replace('rados:lazuli', 'rados:nowhere')));
    does('cluster', 'init', ...store.flags(2));
    assert.match(does('cluster', 'status', ...store.flags(2)), /1 {2}lazuli on PostgreSQL.*buckets 512[^]*2 {2}lazuli on PostgreSQL.*buckets 512/);
    assert.match(does('cluster', 'rebalance', ...store.flags(2)), /^0 buckets moved/m);
});

test('listings and queries over shards are in order and whole', async () => {
    const store = newShards(cluster, cluster.shards);
    does('cluster', 'init', ...store.flags(2));
    const gateways = await startGateways({ flags: store.flags(2) }, 2);
    const client = new Client(gateways);
    const json = { 'Content-Type': 'application/json', Accept: 'application/json;odata=nometadata', 'x-ms-version': '2019-02-02' };
    try {
        const names = Array.from({ length: 40 }, (_, n) => `box-${String(n).padStart(3, '0')}`);
        await Promise.all(names.map(async (name, n) => {
            wants(await client.call(n, 'blob', 'PUT', `/${name}`, { query: 'restype=container' }), 201);
            wants(await client.call(n, 'blob', 'PUT', `/${name}/large`, { body: `${name} `.repeat(20_000), headers: BLOCK }), 201);
        }));
        const parts = [0, 1].map((n) => Number(store.sql(n, 'select count(*) from partitions')));
        assert.ok(parts.every((count) => count > 5), `both shards have partitions: ${parts}`);
        let marker = '';
        const seen = [];
        do {
            const page = wants(await client.call(seen.length, 'blob', 'GET', '', { query: `comp=list&maxresults=7${marker && `&marker=${marker}`}` }), 200);
            seen.push(...xmlTexts(page.text, 'Name'));
            [marker] = xmlTexts(page.text, 'NextMarker');
        } while (marker);
        assert.deepEqual(seen, names);
        wants(await client.call(0, 'table', 'POST', '/Tables', { headers: json, body: '{"TableName":"wide"}' }), 201);
        const keys = Array.from({ length: 60 }, (_, n) => `p${String(n).padStart(3, '0')}`);
        await Promise.all(keys.map(async (key, n) => wants(await client.call(n, 'table', 'POST', '/wide', { headers: json,
            body: JSON.stringify({ PartitionKey: key, RowKey: 'r', n }) }), 201)));
        const all = wants(await client.call(1, 'table', 'GET', '/wide()', { headers: json }), 200);
        assert.deepEqual(JSON.parse(all.text).value.map((entity) => entity.PartitionKey), keys);
        // A copy holds what the source names, wherever that is; then the source goes, and its content stays for the copy.
        for (let n = 0; n < 12; n++) {
            const source = `http://127.0.0.1:${gateways[n % 2].ports.blob}/devstoreaccount1/${names[n]}/large`;
            wants(await client.call(n, 'blob', 'PUT', `/${names[n + 12]}/copy`, { headers: { 'x-ms-copy-source': source } }), 202);
            wants(await client.call(n + 1, 'blob', 'DELETE', `/${names[n]}/large`), 202);
        }
        await sleep(3000);
        for (let n = 0; n < 12; n++)
            assert.equal(wants(await client.call(n, 'blob', 'GET', `/${names[n + 12]}/copy`), 200).text, `${names[n]} `.repeat(20_000));
    } finally {
        client.close();
        await stopGateways(gateways);
    }
});

/** Starts `rebalance` or `drain`; kills it after so many milliseconds, if it still runs then. */
async function move(command, store, count, killAfter) {
    const child = spawn(BIN, ['cluster', command, ...store.flags(count)], { stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    child.stdout.on('data', (text) => { said += text; });
    child.stderr.on('data', (text) => { said += text; });
    const timer = killAfter === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), killAfter);
    const [code] = await once(child, 'close');
    clearTimeout(timer);
    return { code, said };
}

/** Gateways of the first `count` shards in place of those that serve, one after the other. */
async function restartAll(gateways, store, count) {
    for (let n = 0; n < gateways.length; n++) {
        const [fresh] = await startGateways({ flags: store.flags(count) }, 1);
        const old = gateways[n];
        gateways[n] = fresh;
        await old.stop();
    }
}

/** A session of psql in one transaction; `says` resolves when it has printed the pattern. */
function session(uri) {
    const child = spawn('/usr/lib/postgresql/15/bin/psql', ['-XqAt', uri], { stdio: ['pipe', 'pipe', 'inherit'] });
    let said = '';
    child.stdout.on('data', (text) => { said += text; });
    return {
        send: (sql) => child.stdin.write(`${sql};\n`),
        says: (pattern) => until(() => pattern.test(said)),
        end: async () => {
            child.stdin.end();
            if (child.exitCode === null)
                await once(child, 'close');
        },
    };
}

test('a mover waits for a transaction that began while its own change of a bucket was being committed', async () => {
    const store = newShards(cluster, cluster.shards);
    does('cluster', 'init', ...store.flags(2));
    const blocks = session(store.uris[1]);
    const writes = session(store.uris[1]);
    let moving;
    try {
        blocks.send('begin');
        blocks.send('select count(*) from (select from buckets for update) as b');
        await blocks.says(/1024/);
        moving = move('drain', store, 2);
        await until(() => store.sql(1, `select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like 'UPDATE buckets%'`) === '1');
        // Its number is above the mover's, and it sees the bucket as it was.
        writes.send('begin');
        writes.send(`select 'xid ' || pg_current_xact_id()`);
        await writes.says(/xid/);
        await blocks.end();
        await sleep(1500);
        assert.deepEqual(has(store, 2), [BUCKETS / 2, BUCKETS / 2], 'nothing moves before the transaction ends');
    } finally {
        await blocks.end();
        await writes.end();
        const outcome = await moving;
        assert.equal(outcome?.code, 0, outcome?.said);
    }
    assert.deepEqual(has(store, 2), [BUCKETS, 0]);
});

test('histories are linearizable while shards are added and the mover is killed', { timeout: 900_000 }, async () => {
    // FULL: four shards in two servers, so that three of four buckets move.
    const store = newShards(cluster, FULL ? [...cluster.shards, ...cluster.shards] : cluster.shards);
    const SHARDS = store.uris.length;
    does('cluster', 'init', ...store.flags(1));
    const gateways = await startGateways({ flags: store.flags(1) }, GATEWAYS);
    const history = new History(gateways, { clients: FULL ? 64 : 24 });
    try {
        await history.prepare();
        const client = new Client(gateways);
        for (let n = 0; n < 20; n++)
            wants(await client.call(n, 'blob', 'PUT', `/other-${n}`, { query: 'restype=container' }), 201);
        history.start();
        await sleep(1500);
        does('cluster', 'init', ...store.flags(SHARDS));
        refuses(/3 of 3 gateways do not know shard 2: restart each with every --rows first/, 'cluster', 'rebalance', ...store.flags(SHARDS));
        await restartAll(gateways, store, SHARDS);
        let kills = 0;
        let outcome;
        for (let round = 0; round < KILLS; round++) {
            outcome = await move('rebalance', store, SHARDS, 700 + Math.random() * 2500);
            kills += outcome.code === null;
        }
        assert.ok(kills > 0, `the mover was killed ${kills} times`);
        if (FULL)
            await sleep(15_000); // nobody moves: what was frozen is served again
        assert.match(does('cluster', 'status', ...store.flags(SHARDS)), /\d+ of 1024 buckets are to move/);
        outcome = await move('rebalance', store, SHARDS);
        assert.equal(outcome.code, 0, outcome.said);
        assert.match(outcome.said, /buckets moved in/);
        await history.recovered([]);
        for (let n = 0; n < 20; n++)
            wants(await client.call(n, 'blob', 'GET', `/other-${n}`, { query: 'restype=container' }), 200);
        client.close();
        await sleep(1500);
        await history.stop();
        const counts = await history.check();
        console.log(`# ${JSON.stringify({ ...counts, kills })}`);
        assert.ok(counts.writes > 10 && counts.messages > 10 && counts.blobs > 10 && counts.appends > 10, JSON.stringify(counts));
        assert.deepEqual(has(store, SHARDS), store.uris.map(() => BUCKETS / SHARDS));
        const parts = [...store.uris.keys()].slice(1).map((n) => Number(store.sql(n, 'select count(*) from partitions')));
        assert.ok(parts.reduce((a, b) => a + b) > 0, `partitions have moved: ${parts}`);
        for (let n = 0; n < SHARDS; n++)
            assert.equal(store.sql(n, 'select count(*) from partitions p join buckets b using (bucket) where state > 10'), '0', 'nothing is left behind');
    } finally {
        history.running = false;
        history.close();
        await stopGateways(gateways);
    }
});

test('histories are linearizable while a shard is drained, the mover is killed, and the shard goes', { timeout: 900_000 }, async () => {
    const store = newShards(cluster, cluster.shards);
    does('cluster', 'init', ...store.flags(2));
    const single = newShards(cluster, [cluster.rows]);
    does('cluster', 'init', ...single.flags(1));
    refuses(/there is but one/, 'cluster', 'drain', ...single.flags(1));
    const gateways = await startGateways({ flags: store.flags(2) }, GATEWAYS);
    const history = new History(gateways, { clients: FULL ? 64 : 24 });
    try {
        await history.prepare();
        history.start();
        await sleep(1500);
        refuses(/the store has 2 shards, and --rows is given 1 times/, 'cluster', 'init', ...store.flags(1));
        let kills = 0;
        for (let round = 0; round < KILLS; round++)
            kills += (await move('drain', store, 2, 700 + Math.random() * 1500)).code === null;
        assert.ok(kills > 0, `the mover was killed ${kills} times`);
        const outcome = await move('drain', store, 2);
        assert.equal(outcome.code, 0, outcome.said);
        assert.match(outcome.said, /\d+ buckets moved in .* the last shard is empty/);
        assert.deepEqual(has(store, 2), [BUCKETS, 0]);
        for (const table of ['partitions', 'rows', 'extents', 'changes'])
            assert.equal(store.sql(1, `select count(*) from ${table}`), '0', `${table} of the drained shard`);
        await restartAll(gateways, store, 1);
        refuses(/3 of 3 gateways do not know shard 2/, 'cluster', 'rebalance', ...store.flags(2));
        does('cluster', 'init', ...store.flags(1));
        assert.doesNotMatch(does('cluster', 'status', ...store.flags(1)), /to move/);
        store.sql(1, `drop schema ${store.name}_1 cascade`);
        await history.recovered([]);
        await sleep(1500);
        await history.stop();
        const counts = await history.check();
        console.log(`# ${JSON.stringify({ ...counts, kills })}`);
        assert.ok(counts.writes > 10 && counts.messages > 10 && counts.blobs > 10 && counts.appends > 10, JSON.stringify(counts));
    } finally {
        history.running = false;
        history.close();
        await stopGateways(gateways);
    }
});
