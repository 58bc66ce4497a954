// SPDX-License-Identifier: Apache-2.0
// Test control: accounts, reset, named states, seeds, the clock, faults, holds; over HTTP and as `lazuli ctl`.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ACCOUNT, BIN, STORE_IN_FOLDER, assertError, uniqueName, until } from '../rest/lib.mjs';
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

/** States are kept by engines that record what changes, which the cluster engine does not. */
const STATES = STORE_IN_FOLDER ? {} : { skip: 'the cluster engine keeps no states' };

for (const engine of ['memory', 'local']) {
    describe(`over the ${engine} engine`, () => {
        let server, box;
        before(async () => {
            server = await startAdmin({ inMemory: engine === 'memory', args: ['--test-control'] });
            box = uniqueName();
            await server.request('blob', 'PUT', `/${box}`, { query: { restype: 'container' } });
        });
        // The saved and restored state is a consistent store: every extent's reference count is right.
        after(async () => {
            if (STORE_IN_FOLDER)
                await call('PUT', 'snapshots/left-behind', {});
            await server.endWell();
            if (engine === 'local' && STORE_IN_FOLDER) {
                const checked = spawnSync(BIN, ['check', '--data', server.data], { encoding: 'utf8', timeout: 60000 });
                assert.equal(checked.status, 0, checked.stdout + checked.stderr);
            }
            server.remove();
        });

        const call = (...args) => control(server, ...args);
        const put = (name, body, headers = {}) => server.request('blob', 'PUT', `/${box}/${name}`,
            { headers: { 'x-ms-blob-type': 'BlockBlob', ...headers }, body });
        const get = (name, options) => server.request('blob', 'GET', `/${box}/${name}`, options);
        /** The answer does not come; a server that stops ends it. */
        const stalls = async (work) => {
            const late = new Promise((go) => { setTimeout(go, 400, 'waits'); });
            assert.equal(await Promise.race([work.then(() => 'answered', () => 'failed'), late]), 'waits');
        };
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

        test('a state is kept under a name and put back: blobs of all sizes, messages, entities, files', STATES, async () => {
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

        test('two states: each puts back its own, in any order, as often as it likes', STATES, async () => {
            const large = (letter) => Buffer.alloc(200000, letter).toString();
            const names = [`a${uniqueName()}`, `b${uniqueName()}`];
            const look = async () => [await get('two'), await get('big'), await get('born')].map(({ status, text }) => (status === 200 ? text[0] + text.length : status));
            await put('two', '1');
            await put('big', large('1'));
            await call('PUT', `snapshots/${names[0]}`, {});
            await put('two', '2');
            await put('big', large('2'));
            await put('born', '2');
            await call('PUT', `snapshots/${names[1]}`, {});
            await put('two', '3');
            await put('big', large('3'));
            await server.request('blob', 'DELETE', `/${box}/born`);
            const wanted = [['11', '1200000', 404], ['21', '2200000', '21']];
            for (const i of [0, 1, 0, 0, 1, 1, 0]) {
                await call('POST', `snapshots/${names[i]}/restore`);
                assert.deepEqual(await look(), wanted[i]);
                await put('big', large('x'));
            }
            // A name that is used again is a new state.
            await put('two', '4');
            await call('PUT', `snapshots/${names[0]}`, {});
            await put('two', '5');
            await call('POST', `snapshots/${names[0]}/restore`);
            assert.equal((await get('two')).text, '4');
            // What is emptied comes back too.
            await call('POST', 'reset', { keep: true });
            assert.equal((await get('two')).status, 404);
            await call('POST', `snapshots/${names[1]}/restore`);
            assert.deepEqual(await look(), wanted[1]);
            for (const name of names)
                await call('DELETE', `snapshots/${name}`);
        });

        test('to save and to restore costs as much as has changed, not as much as there is', STATES, async () => {
            const blobs = Array.from({ length: 2000 }, (_, i) => ({ name: `n${i}`, text: 'x'.repeat(100) }));
            await call('POST', 'seed', { containers: [{ name: 'many', blobs }] });
            const written = async () => Number(/^lazuli_journal_written_bytes_total (\S+)/m.exec((await ask(server, 'GET', '/metrics')).text)?.[1] ?? 0);
            const before = await written();
            await call('PUT', 'snapshots/many', {});
            for (let i = 0; i < 3; i++) {
                await server.request('blob', 'PUT', '/many/n7', { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'changed' });
                await call('POST', 'snapshots/many/restore');
                assert.equal((await server.request('blob', 'GET', '/many/n7')).text, blobs[7].text);
            }
            assert.ok(await written() - before < 100000, `${await written() - before} bytes`);
            await call('DELETE', 'snapshots/many');
        });

        if (engine === 'local') test('a state survives a crash, and misses nothing of what came after it', STATES, async () => {
            await put('crash', 'one');
            await call('PUT', 'snapshots/crash', {});
            await put('crash', 'two');
            await server.restart({ crash: true });
            await put('crash-new', 'three');
            await call('POST', 'snapshots/crash/restore');
            assert.deepEqual([(await get('crash')).text, (await get('crash-new')).status], ['one', 404]);
            await call('DELETE', 'snapshots/crash');
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
            assert.match(metrics, /^lazuli_faults_injected_total\{rule="removed"\} [2-9]/m);
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

        test('faults: any status, 429 among them; every n-th; by a header', async () => {
            await put('limited', 'x');
            await call('PUT', 'faults', [{ id: 'many', match: { object: 'limited', header: { 'X-Team': 'a*' } }, when: { every: 3 }, do: { status: 429, retryAfterSeconds: 1 } }]);
            const seen = [];
            for (let i = 0; i < 6; i++)
                seen.push(await get('limited', { headers: { 'X-Team': 'ants' } }));
            assert.deepEqual(seen.map(({ status }) => status), [200, 200, 429, 200, 200, 429]);
            assertError({ ...seen[2], service: 'blob' }, 429, 'TooManyRequests');
            assert.equal(seen[2].headers['retry-after'], '1');
            for (const headers of [{}, { 'X-Team': 'bees' }])
                assert.equal((await get('limited', { headers })).status, 200);
            await call('PUT', 'faults', [{ match: { object: 'limited' }, do: { status: 504, error: 'OperationTimedOut' } }]);
            assertError({ ...await get('limited'), service: 'blob' }, 504, 'OperationTimedOut');
            const [fault] = await call('GET', 'faults');
            assert.deepEqual(fault.do, { error: 'OperationTimedOut', status: 504 });
            const metrics = (await ask(server, 'GET', '/metrics')).text;
            assert.match(metrics, /lazuli_requests_total\{[^}]*status="429",error="TooManyRequests"/);
            await call('PUT', 'faults', []);
        });

        test('faults: a rate, above which the server is busy', async () => {
            await put('rated', 'x');
            await call('PUT', 'faults', [{ match: { object: 'rated' }, do: { rate: { perSecond: 1, burst: 3 } } }]);
            const seen = [];
            for (let i = 0; i < 8; i++)
                seen.push((await get('rated')).status);
            assert.deepEqual(seen.slice(0, 3), [200, 200, 200]);
            assert.ok(seen.filter((status) => status === 503).length >= 1, seen.join());
            await call('PUT', 'faults', []);
            assert.equal((await get('rated')).status, 200);
        });

        test('faults while the answer is sent: wrong bytes, slow bytes, a stop, a close', async () => {
            for (const size of [4000, 400000]) {
                const body = Buffer.alloc(size, 'abcdefgh').toString();
                await put('sent', body);
                const match = { operation: 'GetBlob', object: 'sent' };
                await call('PUT', 'faults', [{ match, at: 'while-sending', do: { corrupt: true, afterBytes: 1234 } }]);
                const { text } = await get('sent');
                const wrong = [...text].map((letter, i) => (letter === body[i] ? -1 : i)).filter((i) => i >= 0);
                assert.deepEqual([text.length, ...wrong], [size, 1234]);
                await call('PUT', 'faults', [{ match, do: { bytesPerSecond: size * 5 } }]);
                const began = performance.now();
                assert.equal((await get('sent')).text, body);
                assert.ok(performance.now() - began >= 150, 'a fifth of a second');
                for (const how of ['close', 'reset']) {
                    await call('PUT', 'faults', [{ match, when: { times: 1 }, do: { [how]: true, afterBytes: 100 } }]);
                    await assert.rejects(get('sent'), how);
                    assert.equal((await get('sent')).text, body);
                }
                await call('PUT', 'faults', [{ match, when: { times: 1 }, do: { stall: true, afterBytes: 100 } }]);
                await stalls(get('sent'));
                assert.equal((await get('sent')).text, body);
            }
            await call('PUT', 'faults', [{ match: { object: 'sent' }, when: { times: 1 }, do: { close: true } }]);
            await assert.rejects(get('sent'));
            await call('PUT', 'faults', [{ match: { object: 'sent' }, when: { times: 1 }, do: { stall: true } }]);
            await stalls(get('sent'));
            assert.equal((await get('sent')).status, 200);
            await call('PUT', 'faults', [{ match: { object: 'sent' }, when: { seed: 3 }, do: { delayMs: 20, jitterMs: 50 } }]);
            const began = performance.now();
            assert.equal((await get('sent')).status, 200);
            assert.ok(performance.now() - began >= 19);
            await call('PUT', 'faults', []);
        });

        test('the journal: what was asked, by operation, object, status and fault; a test waits for a count', async () => {
            const name = `j${uniqueName()}`;
            await call('DELETE', 'requests');
            assert.deepEqual(await call('GET', 'requests'), { count: 0, next: (await call('GET', 'requests')).next, requests: [] });
            const waited = call('GET', `requests?operation=PutBlob&object=${name}*&wait=count:2`);
            await put(`${name}-1`, 'one', as('journal-1'));
            await put(`${name}-2`, 'two');
            assert.equal((await waited).count, 2);
            await get(`${name}-none`);
            await call('POST', 'faults', { id: 'journal', match: { object: `${name}-1` }, do: { error: 'ServerBusy' } });
            await get(`${name}-1`);
            await call('DELETE', 'faults/journal');
            const { count, requests } = await call('GET', `requests?container=${box}`);
            assert.deepEqual([count, requests.map(({ operation, status }) => `${operation} ${status}`)], [4, ['PutBlob 201', 'PutBlob 201', 'GetBlob 404', 'GetBlob 503']]);
            assert.deepEqual([requests[0].clientRequestId, requests[0].bytesIn, requests[2].error, requests[3].fault], ['journal-1', 3, 'BlobNotFound', 'journal']);
            assert.equal((await call('GET', 'requests?status=404')).requests[0].object, `${name}-none`);
            assert.equal((await call('GET', 'requests?error=Server*')).count, 1);
            assert.equal((await call('GET', `requests?after=${requests[1].id}&limit=1`)).requests.length, 1);
            assert.equal((await call('GET', 'requests?operation=GetBlob&wait=count:9&timeoutMs=50')).count, 2);
            for (const wrong of ['service=disk', 'operation=Nothing', 'wait=3', 'wait=count:x', 'status=x', 'limit=9999', `object=${'x'.repeat(400)}`])
                await call('GET', `requests?${wrong}`, undefined, { status: 400 });
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
                { id: 'x'.repeat(100), do: { reset: true } }, { unknown: 1, do: { reset: true } }, { do: { status: 200 } }, { do: { status: 429, stall: true } },
                { do: { rate: {} } }, { do: { error: 'ServerBusy', afterBytes: 1 } }, { at: 'while-sending', do: { error: 'ServerBusy' } },
                { match: { header: 'x' }, do: { reset: true } }, { match: { header: { a: 1 } }, do: { reset: true } }, { when: { every: -1 }, do: { reset: true } }],
            holds: [{ at: 'noon' }, { at: 'while-sending' }, { parties: 99 }, { times: 1, parties: 2 }, { order: 'abc' }, { order: [1] }, { timeoutMs: 1e9 }, { id: '/' }],
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
        ok('request', 'clear');
        assert.equal(ok('request', 'list').count, 0);
        assert.equal(ok('request', 'wait', 'GetBlob', '0').count, 0);
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

test('a slip of the pen takes nothing away, and no time breaks the server', async () => {
    const server = await startAdmin({ inMemory: true, dfs: true, args: ['--test-control', '--hns', ACCOUNT] });
    const call = (...args) => control(server, ...args);
    const box = uniqueName();
    try {
        assert.equal((await server.request('blob', 'PUT', `/${box}`, { query: { restype: 'container' } })).status, 201);
        // A name that is empty, of nobody, or followed by more is not that of everything, or of what stands before.
        await call('POST', 'reset', { account: '' }, { status: 404 });
        await call('POST', 'reset', { account: 'nobody' }, { status: 404 });
        await call('POST', 'reset', { service: '' }, { status: 400 });
        await call('PUT', 'snapshots/mine', { account: 'nobody' }, { status: 404 });
        await call('DELETE', `accounts/${ACCOUNT}/more`, undefined, { status: 404 });
        await call('PUT', 'snapshots/mine', {});
        for (const [method, path] of [['PUT', 'snapshots/mine/more'], ['DELETE', 'snapshots/mine/more'], ['POST', 'snapshots/mine/other'], ['POST', 'snapshots//restore'],
            ['DELETE', 'faults/'], ['DELETE', 'accounts/'], ['POST', 'holds/h/release/more'], ['GET', 'holds/h/more']])
            await call(method, path, method === 'GET' ? undefined : {}, { status: 404 });
        assert.deepEqual(await call('GET', 'snapshots'), ['mine']);
        assert.equal((await server.request('blob', 'HEAD', `/${box}`, { query: { restype: 'container' } })).status, 200);
        // What is said twice is not understood.
        const twice = await ask(server, 'POST', '/_lazuli/control/v1/faults', { headers: MARK, body: '{"do":{"error":"ServerBusy"},"do":{"reset":true}}' });
        assert.equal(twice.status, 400, twice.text);
        // Stamps of the far future would be kept for good, and not fit.
        for (const setTo of ['9999-12-31T23:59:59Z', '2400-01-01T00:00:00Z', '2150-01-02T00:00:00Z', '1969-01-01T00:00:00Z', '1601-01-01T00:00:00Z', '0001-01-01T00:00:00Z'])
            await call('POST', 'clock', { setTo }, { status: 400 });
        for (const advanceMs of [2 ** 53, -(2 ** 53), 150 * 366 * 86400e3, -60 * 366 * 86400e3])
            await call('POST', 'clock', { advanceMs }, { status: 400 });
        for (const [i, setTo] of ['2149-12-31T00:00:00Z', '1970-01-03T00:00:00Z'].entries()) {
            await call('POST', 'clock', { setTo });
            await call('POST', 'clock', { advanceMs: 400 * 366 * 86400e3 }, { status: 400 });
            assert.equal((await server.request('dfs', 'PUT', `/${box}/dir${i}/file`, { query: 'resource=file' })).status, 201);
            assert.equal((await server.request('queue', 'PUT', `/${box}${i}`)).status, 201);
            assert.equal((await server.request('file', 'PUT', `/${box}${i}`, { query: 'restype=share' })).status, 201);
        }
    } finally {
        await server.stop();
    }
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
