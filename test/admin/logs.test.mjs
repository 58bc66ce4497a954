// SPDX-License-Identifier: Apache-2.0
// The access log as JSON, traces in it, and slow requests.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ACCOUNT, readable, until } from '../rest/lib.mjs';
import { ask, startAdmin } from './admin_lib.mjs';

const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
let server;
before(async () => { server = await startAdmin({ args: ['--log-format', 'json', '--slow-ms', '100', '--test-control'] }); });
after(() => server.stop());

/** The log's line of a request. */
const lineOf = (answer) => until(() => server.output.split('\n').find((line) => line.startsWith('{') && line.includes(`"${answer.headers['x-ms-request-id']}"`)));

test('a line is a JSON object with what there is to know, and no secret', async () => {
    await server.request('blob', 'PUT', '/box', { query: { restype: 'container' } });
    const headers = { 'User-Agent': 'my "agent" 1.0', 'x-ms-client-request-id': 'mine', traceparent: TRACE };
    const answer = await server.request('blob', 'GET', '/box/none', { headers });
    const line = JSON.parse(await lineOf(answer));
    assert.deepEqual([line.service, line.operation, line.method, line.status, line.error], ['blob', 'GetBlob', 'GET', 404, 'BlobNotFound']);
    assert.deepEqual([line.account, line.auth, line.client, line.user_agent], [ACCOUNT, 'key', '127.0.0.1', 'my "agent" 1.0']);
    assert.deepEqual([line.client_request_id, line.trace_id, line.span_id], ['mine', '4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7']);
    assert.equal(line.target, `/${ACCOUNT}/box/none`);
    assert.ok(line.duration_us > 0 && line.out > 0);
    const url = new URL(readable(`${server.url('blob')}/box/none`));
    const signed = await ask(server, 'GET', url.pathname + url.search, { port: server.ports.blob });
    const text = await lineOf(signed);
    assert.ok(!text.includes(url.searchParams.get('sig')) && !text.includes(encodeURIComponent(url.searchParams.get('sig'))));
    assert.equal(JSON.parse(text).auth, 'account-sas');
});

test('a malformed traceparent is not taken over', async () => {
    const answer = await server.request('blob', 'GET', '/box/none', { headers: { traceparent: 'x"y' } });
    assert.equal(JSON.parse(await lineOf(answer)).trace_id, undefined);
});

test('a slow request is told, and counted', async () => {
    const body = JSON.stringify({ match: { object: 'slow' }, do: { delayMs: 200 } });
    await ask(server, 'POST', '/_lazuli/control/v1/faults', { headers: { 'x-lazuli-control': '1' }, body });
    const answer = await server.request('blob', 'GET', '/box/slow');
    await until(() => /WARN slow: GetBlob took ([2-9]\d\d|\d{4,}) ms/.test(server.output) && server.output.includes(answer.headers['x-ms-request-id']));
    assert.match((await ask(server, 'GET', '/metrics')).text, /^lazuli_requests_slow_total 1$/m);
});
