// SPDX-License-Identifier: Apache-2.0
// Test control: accounts, reset, states under a name, seeds, the clock, faults, holds; over HTTP and as `lazuli ctl`.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ACCOUNT, BIN, assertError, uniqueName, until } from '../rest/lib.mjs';
import { ask, startAdmin } from './admin_lib.mjs';

const MARK = { 'x-lazuli-control': '1' };

/** A call of test control; the status is checked. */
async function control(server, method, path, body, { status, port, headers = {} } = {}) {
    const answer = await ask(server, method, `/_lazuli/control/v1/${path}`,
        { headers: { ...MARK, ...headers }, body: body === undefined ? undefined : JSON.stringify(body), port });
    if (status === undefined)
        assert.ok(answer.status >= 200 && answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
    else
        assert.equal(answer.status, status, answer.text);
    return answer.json();
}

for (const engine of ['memory', 'local']) {
    describe(`over the ${engine} engine`, () => {
        let server, box;
        before(async () => {
            server = await startAdmin({ inMemory: engine === 'memory', args: ['--test-control'] });
            box = uniqueName();
            await server.request('blob', 'PUT', `/${box}`, { query: { restype: 'container' } });
        });
        // What was kept and put back is a sound store: every extent has as many holders as it says.
        after(async () => {
            await call('PUT', 'snapshots/left-behind', {});
            await server.endWell();
            if (engine === 'local') {
                const checked = spawnSync(BIN, ['check', '--data', server.data], { encoding: 'utf8', timeout: 60000 });
                assert.equal(checked.status, 0, checked.stdout + checked.stderr);
            }
            server.remove();
        });

        const call = (...args) => control(server, ...args);
        const put = (name, body, headers = {}) => server.request('blob', 'PUT', `/${box}/${name}`,
            { headers: { 'x-ms-blob-type': 'BlockBlob', ...headers }, body });
        const get = (name, options) => server.request('blob', 'GET', `/${box}/${name}`, options);
        /** As part of a race: named for `order`. */
        const as = (id) => ({ 'x-ms-client-request-id': id });

        test('an account per test', async () => {
            const made = await call('POST', 'accounts', {});
            assert.match(made.name, /^t[0-9a-f]{15}$/);
            assert.equal(made.keys.length, 2);
            const who = { account: made.name, key: made.keys[0] };
            assert.equal((await server.request('blob', 'PUT', '/mine', { query: { restype: 'container' }, ...who })).status, 201);
            assert.match(made.connectionString, new RegExp(`BlobEndpoint=http://127.0.0.1:${server.ports.blob}/${made.name};`));
            assert.ok((await call('GET', 'accounts')).includes(made.name));
            await call('DELETE', `accounts/${made.name}`);
            assert.equal((await server.request('blob', 'GET', '/mine', { query: { restype: 'container' }, ...who })).status, 403);
            // Made again under its name, nothing of the old one is there.
            const again = await call('POST', 'accounts', { name: made.name });
            const now = { account: again.name, key: again.keys[0] };
            assert.equal((await server.request('blob', 'GET', '/mine', { query: { restype: 'container' }, ...now })).status, 404);
            await call('POST', 'accounts', { name: made.name }, { status: 409 });
            await call('DELETE', `accounts/${made.name}`);
            await call('POST', 'accounts', { name: 'No!' }, { status: 400 });
            await call('DELETE', 'accounts/nobodyhere', undefined, { status: 404 });
        });

        test('a state is kept under a name and put back: blobs of all sizes, messages, entities, files', async () => {
            const name = uniqueName();
            const large = Buffer.alloc(300000, 'L').toString();
            const json = { 'Content-Type': 'application/json', Accept: 'application/json;odata=nometadata' };
            await put('small', 'one');
            await put('large', large);
            await server.request('queue', 'PUT', `/${name}`);
            const message = '<QueueMessage><MessageText>x</MessageText></QueueMessage>';
            await server.request('queue', 'POST', `/${name}/messages`, { body: message });
            await server.request('table', 'POST', '/Tables', { headers: json, body: JSON.stringify({ TableName: `t${name}` }) });
            const entity = (n) => JSON.stringify({ PartitionKey: 'p', RowKey: 'r', n });
            await server.request('table', 'POST', `/t${name}`, { headers: json, body: entity(1) });
            await server.request('file', 'PUT', `/${name}`, { query: { restype: 'share' } });
            await server.request('file', 'PUT', `/${name}/f`, { headers: { 'x-ms-type': 'file', 'x-ms-content-length': 5 } });
            await server.request('file', 'PUT', `/${name}/f`, { query: { comp: 'range' }, headers: { 'x-ms-range': 'bytes=0-4', 'x-ms-write': 'update' }, body: 'hello' });
            const etag = (await get('small')).headers.etag;

            await call('PUT', `snapshots/${name}`, {});
            assert.ok((await call('GET', 'snapshots')).includes(name));
            await put('small', 'two');
            await server.request('blob', 'DELETE', `/${box}/large`);
            await put('new', 'three');
            await server.request('blob', 'PUT', `/x${name}`, { query: { restype: 'container' } });
            await server.request('queue', 'DELETE', `/${name}/messages`);
            await server.request('table', 'PUT', `/t${name}(PartitionKey='p',RowKey='r')`, { headers: json, body: entity(2) });
            await server.request('file', 'DELETE', `/${name}/f`);

            for (let i = 0; i < 2; i++) {
                await call('POST', `snapshots/${name}/restore`);
                const small = await get('small');
                assert.deepEqual([small.text, small.headers.etag], ['one', etag]);
                assert.equal((await get('large')).text, large);
                assert.equal((await get('new')).status, 404);
                assert.equal((await server.request('blob', 'GET', `/x${name}`, { query: { restype: 'container' } })).status, 404);
                const peeked = await server.request('queue', 'GET', `/${name}/messages`, { query: { peekonly: 'true' } });
                assert.deepEqual(peeked.xml('MessageText'), ['x']);
                const row = await server.request('table', 'GET', `/t${name}(PartitionKey='p',RowKey='r')`, { headers: json });
                assert.equal(row.json().n, 1);
                assert.equal((await server.request('file', 'GET', `/${name}/f`)).text, 'hello');
                // A write after it gets a new ETag, and the next restore takes it back.
                const renewed = await put('small', 'after');
                assert.notEqual(renewed.headers.etag, etag);
                await server.request('blob', 'DELETE', `/${box}/large`);
            }
            await call('DELETE', `snapshots/${name}`);
            await call('POST', `snapshots/${name}/restore`, undefined, { status: 404 });
            await call('PUT', 'snapshots/Not%20a%20name', {}, { status: 400 });
            await call('POST', 'snapshots/x/burn', {}, { status: 404 });
        });

        test('reset empties one service of one account, or everything', async () => {
            const other = await call('POST', 'accounts', {});
            const who = { account: other.name, key: other.keys[0] };
            await server.request('blob', 'PUT', '/theirs', { query: { restype: 'container' }, ...who });
            await server.request('queue', 'PUT', '/theirs', who);
            await put('kept', 'x');
            await call('POST', 'reset', { account: other.name, service: 'blob', keep: true });
            assert.equal((await server.request('blob', 'GET', '/theirs', { query: { restype: 'container' }, ...who })).status, 404);
            assert.equal((await server.request('queue', 'GET', '/theirs', { query: { comp: 'metadata' }, ...who })).status, 200);
            assert.equal((await get('kept')).status, 200);
            await call('POST', 'faults', { id: 'gone', match: { object: 'nothing' }, do: { delayMs: 1 } });
            await call('POST', 'clock', { advanceMs: 5000 });
            await call('POST', 'reset', {});
            assert.equal((await get('kept')).status, 404);
            assert.deepEqual(await call('GET', 'faults'), []);
            assert.equal((await call('GET', 'clock')).shiftMs, 0);
            // The account is still there.
            assert.equal((await server.request('blob', 'PUT', '/again', { query: { restype: 'container' }, ...who })).status, 201);
            assert.equal((await server.request('blob', 'PUT', `/${box}`, { query: { restype: 'container' } })).status, 201);
        });

        test('a race is the same every time: one 201 and one 412, in the order asked for', async () => {
            for (let round = 0; round < 25; round++) {
                const { headers: { etag } } = await put('race', 'start');
                await call('POST', 'holds', { match: { operation: 'PutBlob', object: 'race' }, at: 'before', parties: 2, order: ['first', 'second'] });
                // The second comes first to the door.
                const second = put('race', 'second', { ...as('second'), 'If-Match': etag });
                const first = put('race', 'first', { ...as('first'), 'If-Match': etag });
                assert.deepEqual([(await first).status, (await second).status], [201, 412]);
                assert.equal((await get('race')).text, 'first');
                for (const { id } of await call('GET', 'holds'))
                    await call('DELETE', `holds/${id}`);
            }
        });

        test('a hold stops a request before or after its commit until it is released', async () => {
            for (const [at, seen] of [['before', 'old'], ['after-commit', 'new']]) {
                await put('held', 'old');
                const { id } = await call('POST', 'holds', { match: { operation: 'PutBlob', object: 'held' }, at });
                const write = put('held', 'new');
                assert.equal((await call('GET', `holds/${id}?arrived=1`)).waiting, 1);
                assert.equal((await get('held')).text, seen);
                await call('POST', `holds/${id}/release`);
                assert.equal((await write).status, 201);
                assert.equal((await get('held')).text, 'new');
                // It has stopped the one request that it was for.
                assert.equal((await put('held', 'again')).status, 201);
                await call('DELETE', `holds/${id}`);
                await call('GET', `holds/${id}`, undefined, { status: 404 });
            }
        });

        test('a hold ends by itself', async () => {
            const { id } = await call('POST', 'holds', { match: { object: 'late' }, at: 'before', timeoutMs: 50 });
            assert.equal((await put('late', 'x')).status, 201);
            await call('DELETE', `holds/${id}`);
        });

        test('faults: errors with Retry-After, by skip and times', async () => {
            await put('busy', 'x');
            await call('POST', 'faults', { id: 'busy', match: { operation: 'GetBlob', object: 'bu*' }, when: { skip: 1, times: 2 },
                do: { error: 'ServerBusy', retryAfterSeconds: 3 } });
            const answers = [];
            for (let i = 0; i < 4; i++)
                answers.push(await get('busy'));
            assert.deepEqual(answers.map(({ status }) => status), [200, 503, 503, 200]);
            assertError({ ...answers[1], service: 'blob' }, 503, 'ServerBusy');
            assert.equal(answers[1].headers['retry-after'], '3');
            assert.equal(answers[1].headers['x-lazuli-fault'], 'busy');
            const [fault] = await call('GET', 'faults');
            assert.deepEqual([fault.seen, fault.struck], [4, 2]);
            await call('POST', 'faults', { id: 'busy', match: {}, do: { error: 'ServerBusy' } }, { status: 409 });
            await call('DELETE', 'faults/busy');
            await call('DELETE', 'faults/busy', undefined, { status: 404 });
            const metrics = (await ask(server, 'GET', '/metrics')).text;
            assert.match(metrics, /^lazuli_faults_injected_total [2-9]/m);
        });

        test('faults: the same seed, the same chance', async () => {
            await put('dice', 'x');
            const run = async () => {
                await call('PUT', 'faults', [{ match: { object: 'dice' }, when: { probability: 0.5, seed: 42 }, do: { error: 'InternalError' } }]);
                const seen = [];
                for (let i = 0; i < 20; i++)
                    seen.push((await get('dice')).status);
                return seen.join();
            };
            const first = await run();
            assert.equal(await run(), first);
            assert.ok(first.includes('200') && first.includes('500'), first);
            await call('PUT', 'faults', []);
        });

        test('faults: cut before the commit, and after it', async () => {
            await put('cut', 'old');
            await call('POST', 'faults', { match: { operation: 'PutBlob', object: 'cut' }, when: { times: 1 }, at: 'before', do: { reset: true } });
            await assert.rejects(put('cut', 'before'));
            assert.equal((await get('cut')).text, 'old');
            await call('POST', 'faults', { match: { operation: 'PutBlob', object: 'cut' }, when: { times: 1 }, at: 'after-commit', do: { reset: true } });
            await assert.rejects(put('cut', 'after'));
            assert.equal((await get('cut')).text, 'after');
            // An error after the commit: the write is durable, and the content is the blob's.
            const large = Buffer.alloc(200000, 'z').toString();
            await call('POST', 'faults', { match: { operation: 'PutBlob', object: 'cut' }, when: { times: 1 }, at: 'after-commit', do: { error: 'OperationTimedOut' } });
            assert.equal((await put('cut', large)).status, 500);
            assert.equal((await get('cut')).text, large);
            await call('PUT', 'faults', []);
        });

        test('faults: half a body, and a delay', async () => {
            for (const body of ['half of it is gone', Buffer.alloc(300000, 'h').toString()]) {
                await put('half', body);
                await call('PUT', 'faults', [{ match: { operation: 'GetBlob', object: 'half' }, when: { times: 1 }, do: { truncateAfterBytes: body.length / 2 } }]);
                await assert.rejects(get('half'), /aborted|terminated|socket|ECONNRESET/i);
                assert.equal((await get('half')).text, body);
            }
            await call('PUT', 'faults', [{ match: { object: 'half' }, when: { times: 1 }, do: { delayMs: 300 } }]);
            const began = performance.now();
            const late = await get('half');
            assert.equal(late.status, 200);
            assert.ok(performance.now() - began >= 290);
            assert.ok(late.headers['x-lazuli-fault'] !== undefined);
            await call('PUT', 'faults', []);
        });

        test('the clock: leases and SAS end at once, and clients need not know', async () => {
            await put('leased', 'x');
            await server.request('blob', 'PUT', `/${box}/leased`, { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': 60 } });
            assert.equal((await put('leased', 'y')).status, 412);
            const moved = await call('POST', 'clock', { advanceMs: 61000 });
            assert.equal(moved.shiftMs, 61000);
            assert.equal((await put('leased', 'y')).status, 201);
            // Far off, by which no request's date would be good any more.
            await call('POST', 'clock', { setTo: '2031-05-06T07:08:09Z', freeze: true });
            const frozen = await call('GET', 'clock');
            assert.match(frozen.now, /^2031-05-06T07:08:09/);
            const made = await put('future', 'x');
            assert.equal(made.status, 201, made.text);
            assert.equal(made.headers['last-modified'], 'Tue, 06 May 2031 07:08:09 GMT');
            assert.equal((await call('GET', 'clock')).now, frozen.now);
            await call('POST', 'clock', { advanceMs: 1000 });
            assert.match((await call('GET', 'clock')).now, /^2031-05-06T07:08:10/);
            await call('POST', 'reset', {});
            assert.equal((await call('GET', 'clock')).frozen, false);
            await server.request('blob', 'PUT', `/${box}`, { query: { restype: 'container' } });
        });

        test('seeds: containers, queues, tables and shares; again it changes nothing', async () => {
            const name = uniqueName();
            const manifest = {
                containers: [{ name, blobs: [{ name: 'a b/c.txt', text: 'hällo', contentType: 'text/plain' }, { name: 'bin', base64: 'AAEC' }] }],
                queues: [{ name, messages: ['one', '<two>'] }],
                tables: [{ name: `t${name}`, entities: [{ PartitionKey: 'p', RowKey: 'r', n: 1, 'd@odata.type': 'Edm.Int64', d: '7' }] }],
                shares: [{ name, files: [{ path: 'f.txt', text: 'file' }] }],
            };
            for (let i = 0; i < 2; i++) {
                await call('POST', 'seed', manifest);
                const blob = await server.request('blob', 'GET', `/${name}/a%20b/c.txt`);
                assert.deepEqual([blob.text, blob.headers['content-type']], ['hällo', 'text/plain']);
                assert.deepEqual([...(await server.request('blob', 'GET', `/${name}/bin`)).bytes], [0, 1, 2]);
                const peeked = await server.request('queue', 'GET', `/${name}/messages`, { query: { peekonly: 'true', numofmessages: 32 } });
                assert.deepEqual(peeked.xml('MessageText'), ['one', '<two>']);
                const row = await server.request('table', 'GET', `/t${name}(PartitionKey='p',RowKey='r')`, { headers: { Accept: 'application/json;odata=nometadata' } });
                assert.equal(row.json().d, '7');
                assert.equal((await server.request('file', 'GET', `/${name}/f.txt`)).text, 'file');
            }
            for (const wrong of [{ boxes: [] }, { containers: [{ blobs: [] }] }, { containers: [{ name: 'NOT OK' }] }, { queues: 'x' },
                { containers: [{ name, blobs: [{ name: 'x', base64: '!' }] }] }, { account: 'nobodyhere', containers: [] }]) {
                const { error } = await call('POST', 'seed', wrong, { status: 400 });
                assert.ok(error.message.length > 10, JSON.stringify(error));
            }
        });
    });
}

describe('who may use it, and what it refuses', () => {
    let server;
    before(async () => { server = await startAdmin({ args: ['--test-control'] }); });
    after(() => server.stop());

    test('off unless it is asked for', async () => {
        const plain = await startAdmin();
        try {
            const answer = await ask(plain, 'POST', '/_lazuli/control/v1/reset', { headers: MARK, body: '{}' });
            assert.equal(answer.status, 404);
            assert.equal(answer.json().error.code, 'TestControlOff');
        } finally {
            await plain.stop();
        }
    });

    test('on every service\'s port, with the header, by a Host of this machine', async () => {
        for (const port of [server.ports.admin, server.ports.blob, server.ports.table]) {
            await control(server, 'GET', 'clock', undefined, { port });
            assert.equal((await ask(server, 'GET', '/_lazuli/control/v1/clock', { port })).status, 403);
            assert.equal((await ask(server, 'GET', '/_lazuli/control/v1/clock', { port, headers: { ...MARK, Host: 'evil.example' } })).status, 421);
            assert.equal((await ask(server, 'GET', '/_lazuli/control/v1/clock', { port, headers: { ...MARK, Origin: 'http://evil.example' } })).status, 403);
        }
    });

    test('beyond loopback only with a token', async () => {
        const wide = ['--host', '0.0.0.0', '--insecure-well-known-key', '--test-control'];
        for (const [args, status, good] of [[wide, 403, null], [[...wide, '--test-control-token', 'hush'], 401, 'Bearer hush']]) {
            const open = await startAdmin({ args });
            try {
                const at = { port: open.ports.blob };
                assert.equal((await ask(open, 'GET', '/_lazuli/control/v1/clock', { ...at, headers: MARK })).status, status);
                assert.equal((await ask(open, 'GET', '/_lazuli/control/v1/clock', { ...at, headers: { ...MARK, Authorization: 'Bearer hus' } })).status, status);
                if (good !== null)
                    await control(open, 'GET', 'clock', undefined, { ...at, headers: { Authorization: good, Host: 'lazuli:10000' } });
            } finally {
                await open.stop();
            }
        }
    });

    test('bad input gets a clear error and changes nothing', async () => {
        const wrong = {
            faults: [{}, [], { do: {} }, { do: { error: 'NoSuchCode' } }, { do: { error: 'ServerBusy', reset: true } }, { do: { delayMs: -1 } },
                { do: { delayMs: 1e9 } }, { do: { reset: 'yes' } }, { match: { operation: 'NoSuchOperation' }, do: { reset: true } },
                { match: { service: 'disk' }, do: { reset: true } }, { match: { colour: 'red' }, do: { reset: true } },
                { when: { probability: 2 }, do: { reset: true } }, { at: 'midnight', do: { reset: true } }, { id: 'a b', do: { reset: true } },
                { id: 'x'.repeat(100), do: { reset: true } }, { unknown: 1, do: { reset: true } }],
            holds: [{ at: 'noon' }, { parties: 99 }, { times: 1, parties: 2 }, { order: 'abc' }, { order: [1] }, { timeoutMs: 1e9 }, { id: '/' }],
            clock: [{ advanceMs: 'x' }, { advanceMs: 1.5 }, { setTo: 'yesterday' }, { freeze: 1 }, { advanceMs: 9e15 }, { hour: 1 }],
            reset: [{ service: 'disk' }, { account: 7 }, { all: true }],
        };
        for (const [path, bodies] of Object.entries(wrong))
            for (const body of bodies) {
                const answer = await ask(server, 'POST', `/_lazuli/control/v1/${path}`, { headers: MARK, body: JSON.stringify(body) });
                assert.equal(answer.status, 400, `${path} ${JSON.stringify(body)}: ${answer.text}`);
                assert.ok(answer.json().error.message.length > 5);
            }
        for (const body of ['', '{', 'null', '"x"', '{"do":{"reset":true}} x', '\u0000'])
            for (const path of ['faults', 'seed'])
                assert.equal((await ask(server, 'POST', `/_lazuli/control/v1/${path}`, { headers: MARK, body })).status, 400, `${path} ${body}`);
        assert.deepEqual(await control(server, 'GET', 'faults'), []);
        assert.deepEqual(await control(server, 'GET', 'holds'), []);
        assert.equal((await control(server, 'GET', 'clock')).shiftMs, 0);
        // One wrong fault of a list, and the list that was there stays.
        await control(server, 'PUT', 'faults', [{ id: 'good', do: { delayMs: 1 }, match: { object: 'nothing' } }]);
        await control(server, 'PUT', 'faults', [{ id: 'new', do: { delayMs: 1 } }, { id: 'bad', do: {} }], { status: 400 });
        assert.deepEqual((await control(server, 'GET', 'faults')).map(({ id }) => id), ['good']);
        await control(server, 'PUT', 'faults', []);
        assert.equal((await ask(server, 'POST', '/_lazuli/control/v1/reset', { headers: MARK, body: 'x'.repeat(5000) })).status, 413);
        assert.equal((await ask(server, 'PATCH', '/_lazuli/control/v1/reset', { headers: MARK })).status, 405);
    });

    test('a server that stops does not wait for what is held', async () => {
        const other = await startAdmin({ args: ['--test-control'] });
        await control(other, 'POST', 'holds', { match: { operation: 'ListContainers' }, timeoutMs: 200000 });
        const held = other.request('blob', 'GET', '', { query: { comp: 'list' } }).catch(() => null);
        await until(async () => (await control(other, 'GET', 'holds'))[0].waiting === 1);
        await other.stop();
        await held;
    });

    test('lazuli ctl does the same', async () => {
        const ctl = (...words) => spawnSync(BIN, ['ctl', ...words, '--admin-port', String(server.ports.admin)], { encoding: 'utf8', timeout: 30000 });
        const ok = (...words) => {
            const done = ctl(...words);
            assert.equal(done.status, 0, `${words}: ${done.stderr}`);
            return JSON.parse(done.stdout);
        };
        const account = ok('account', 'add');
        assert.ok(ok('accounts').includes(account.name));
        ok('account', 'delete', account.name);
        assert.equal(ok('clock', 'advance', '60000').shiftMs, 60000);
        ok('clock', 'freeze');
        assert.equal(ok('clock').frozen, true);
        const fault = ok('fault', 'add', '{"id":"f","match":{"object":"x"},"do":{"error":"ServerBusy"}}');
        assert.equal(fault.id, 'f');
        assert.equal(ok('fault', 'list').length, 1);
        ok('fault', 'clear');
        ok('hold', 'add', '{"id":"h","match":{"object":"x"}}');
        assert.equal(ok('hold', 'wait', 'h', '0').arrived, 0);
        ok('hold', 'release', 'h');
        ok('hold', 'delete', 'h');
        ok('snapshot', 'save', 'one');
        assert.deepEqual(ok('snapshot', 'list'), ['one']);
        ok('snapshot', 'restore', 'one');
        ok('snapshot', 'delete', 'one');
        const folder = mkdtempSync(join(tmpdir(), 'lazuli-seed-'));
        writeFileSync(join(folder, 'm.json'), JSON.stringify({ containers: [{ name: 'seeded', blobs: [{ name: 'b', text: 'x' }] }] }));
        ok('seed', join(folder, 'm.json'));
        rmSync(folder, { recursive: true });
        ok('reset');
        assert.equal(ok('clock').shiftMs, 0);
        assert.equal(ctl('fault', 'add', '{"do":{}}').status, 1);
        assert.equal(ctl('nonsense').status, 2);
        assert.match(ctl().stderr, /snapshot list/);
    });
});

test('--seed fills a server at its start; until then it is not ready', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'lazuli-seed-'));
    mkdirSync(join(folder, 'pictures', 'deep'), { recursive: true });
    writeFileSync(join(folder, 'pictures', 'deep', 'cat.txt'), 'meow');
    const server = await startAdmin({ args: ['--seed', folder] });
    try {
        await until(async () => (await ask(server, 'GET', '/readyz')).status === 200);
        assert.equal((await server.request('blob', 'GET', '/pictures/deep/cat.txt')).text, 'meow');
    } finally {
        await server.stop();
    }
    writeFileSync(join(folder, 'stray.txt'), 'x');
    const bad = spawnSync(BIN, ['--in-memory', '--seed', join(folder, 'none.json'), '--admin-port', 'off', '--smb-port', '0',
        '--blob-port', '0', '--queue-port', '0', '--table-port', '0', '--file-port', '0'], { encoding: 'utf8', timeout: 30000 });
    assert.notEqual(bad.status, null, 'a seed that cannot be read ends the server');
    rmSync(folder, { recursive: true });
});

test('the examples run', async () => {
    const server = await startAdmin({ args: ['--test-control'] });
    try {
        const env = { ...process.env, LAZULI_URL: `http://127.0.0.1:${server.ports.admin}` };
        const folder = new URL('../../examples/', import.meta.url).pathname;
        for (const [program, file] of [['node', 'lost_update.mjs'], ['python3', 'lost_update.py']]) {
            const done = spawnSync(program, [folder + file], { env, encoding: 'utf8', timeout: 60000 });
            assert.equal(done.status, 0, done.stdout + done.stderr);
            assert.match(done.stdout, /an update is lost\n.*201 and 412.*\n.*does not count twice/);
        }
        assert.deepEqual(await control(server, 'GET', 'accounts'), [ACCOUNT]);
    } finally {
        await server.stop();
    }
});
