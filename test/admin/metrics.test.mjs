// SPDX-License-Identifier: Apache-2.0
// /metrics, /livez and /readyz: content, format and access; and whether Prometheus can read them.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BIN, freePorts, send, uniqueName, until } from '../rest/lib.mjs';
import { ask, startAdmin } from './admin_lib.mjs';

let server;
before(async () => { server = await startAdmin({ inMemory: false }); });
after(() => server.stop());

/** Samples of Prometheus' text: [{name, labels, value}]. */
function parse(text) {
    return text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).map((line) => {
        const [, name, labels = '', value] = line.match(/^([a-z0-9_]+)(?:\{(.*)\})? (\S+)$/) ?? assert.fail(line);
        const pairs = [...labels.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, text]) => [key, text]);
        return { name, labels: Object.fromEntries(pairs), value: Number(value) };
    });
}

async function scrape() {
    const answer = await ask(server, 'GET', '/metrics');
    assert.equal(answer.status, 200);
    return parse(answer.text);
}

function value(samples, name, labels = {}) {
    const fits = (s) => s.name === name && Object.entries(labels).every(([key, text]) => s.labels[key] === text);
    return samples.filter(fits).reduce((sum, s) => sum + s.value, 0);
}

test('requests are counted by service, operation, status, error and kind of credential', async () => {
    const name = uniqueName();
    const before = await scrape();
    await server.request('blob', 'PUT', `/${name}`, { query: { restype: 'container' } });
    await server.request('blob', 'PUT', `/${name}/b`, { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'x'.repeat(1000) });
    for (let i = 0; i < 3; i++)
        await server.request('blob', 'GET', `/${name}/b`);
    await server.request('blob', 'GET', `/${name}/none`);
    await server.request('blob', 'GET', `/${name}/b`, { auth: 'none' });
    await server.request('queue', 'PUT', `/${name}`);
    await server.request('queue', 'POST', `/${name}/messages`, { body: '<QueueMessage><MessageText>x</MessageText></QueueMessage>' });
    await server.request('blob', 'PATCH', `/${name}/b`);
    const samples = await scrape();
    const grew = (metric, labels) => value(samples, metric, labels) - value(before, metric, labels);
    const get = { service: 'blob', operation: 'GetBlob' };
    assert.equal(grew('lazuli_requests_total', { ...get, status: '200', error: '', auth: 'key' }), 3);
    assert.equal(grew('lazuli_requests_total', { ...get, status: '404', error: 'BlobNotFound' }), 1);
    assert.equal(grew('lazuli_requests_total', { ...get, status: '401', auth: 'anonymous' }), 1);
    assert.equal(grew('lazuli_requests_total', { service: 'blob', operation: 'none' }), 1);
    assert.equal(grew('lazuli_requests_total', { service: 'queue', operation: 'PutMessage', status: '201' }), 1);
    assert.equal(grew('lazuli_auth_failures_total', { kind: 'anonymous', reason: 'NoAuthenticationInformation' }), 1);
    assert.equal(grew('lazuli_request_duration_seconds_count', get), 5);
    assert.equal(grew('lazuli_request_duration_seconds_bucket', { ...get, le: '+Inf' }), 5);
    assert.equal(grew('lazuli_request_server_duration_seconds_count', get), 4);
    assert.ok(grew('lazuli_request_duration_seconds_sum', get) > 0);
    assert.equal(grew('lazuli_request_body_bytes_total', { service: 'blob' }), 1000);
    assert.ok(grew('lazuli_response_body_bytes_total', { service: 'blob' }) >= 3000);
    assert.equal(value(samples, 'lazuli_requests_in_flight'), 0);
    assert.ok(grew('lazuli_commits_total') >= 3);
    assert.equal(grew('lazuli_updates_total'), 4);
    assert.ok(grew('lazuli_commit_batch_updates_sum') >= 4);
    assert.ok(grew('lazuli_journal_flush_duration_seconds_count') >= 3);
    assert.ok(grew('lazuli_journal_written_bytes_total') > 0);
    assert.ok(value(samples, 'lazuli_cache_requests_total', { result: 'hit' }) > 0);
    assert.equal(value(samples, 'lazuli_store_writable'), 1);
    assert.ok(value(samples, 'lazuli_disk_free_bytes') > 0);
    assert.equal(grew('lazuli_queues'), 1);
    assert.equal(grew('lazuli_queue_messages'), 1);
    assert.ok(value(samples, 'lazuli_loop_turn_duration_seconds_count') > 0);
    assert.ok(value(samples, 'process_resident_memory_bytes') > 1e6);
    assert.ok(Math.abs(value(samples, 'process_start_time_seconds') - Date.now() / 1000) < 3600);
});

test('objects, bytes and leases are counted, those that ended are not, and after a restart all is as before', async () => {
    const own = await startAdmin({ inMemory: false });
    try {
        const look = async () => parse((await ask(own, 'GET', '/metrics')).text);
        const lease = (path, query, seconds) => own.request(path.startsWith('/share') ? 'file' : 'blob', 'PUT', path, { query: { comp: 'lease', ...query }, headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': String(seconds) } });
        await own.request('blob', 'PUT', '/ctr', { query: { restype: 'container' } });
        await own.request('blob', 'PUT', '/ctr/block', { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'x'.repeat(100) });
        await own.request('blob', 'PUT', '/ctr/append', { headers: { 'x-ms-blob-type': 'AppendBlob' } });
        await own.request('blob', 'PUT', '/ctr/page', { headers: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': 1024 } });
        await own.request('blob', 'PUT', '/ctr/block', { query: { comp: 'snapshot' } });
        await own.request('file', 'PUT', '/share', { query: { restype: 'share' } });
        await own.request('file', 'PUT', '/share/f', { headers: { 'x-ms-type': 'file', 'x-ms-content-length': 7 } });
        await own.request('file', 'PUT', '/share/d', { query: { restype: 'directory' } });
        await own.request('table', 'POST', '/Tables', { headers: { 'Content-Type': 'application/json' }, body: '{"TableName":"people"}' });
        await own.request('table', 'POST', '/people', { headers: { 'Content-Type': 'application/json' }, body: '{"PartitionKey":"p","RowKey":"r"}' });
        for (const [path, query, seconds] of [['/ctr', { restype: 'container' }, -1], ['/ctr/block', {}, 15], ['/ctr/append', {}, -1], ['/share', { restype: 'share' }, 60], ['/share/f', {}, -1]])
            assert.equal((await lease(path, query, seconds)).status, 201, path);
        const check = (samples, blobs) => {
            const kinds = samples.filter(({ name, value: n }) => name === 'lazuli_objects' && n > 0).map(({ labels, value: n }) => `${labels.service}/${labels.kind} ${n}`);
            assert.deepEqual(kinds, ['blob/container 1', 'blob/block_blob 1', 'blob/append_blob 1', 'blob/page_blob 1', 'blob/snapshot 1', 'table/table 1', 'table/entity 1', 'file/share 1', 'file/directory 1', 'file/file 1']);
            assert.equal(value(samples, 'lazuli_objects_bytes', { kind: 'block_blob' }), 100);
            assert.equal(value(samples, 'lazuli_objects_bytes', { kind: 'page_blob' }), 1024);
            assert.equal(value(samples, 'lazuli_objects_bytes', { kind: 'file' }), 7);
            const held = samples.filter(({ name }) => name === 'lazuli_leases_held').map(({ labels, value: n }) => [labels.kind, n]);
            assert.deepEqual(Object.fromEntries(held), { container: 1, blob: blobs, share: 1, file: 1 });
            assert.ok(value(samples, 'lazuli_census_age_seconds') < 60);
        };
        check(await look(), 2);
        own.advance(20000);
        check(await look(), 1);
        await own.restart({ crash: true });
        check(await look(), 1);
    } finally {
        await own.stop();
    }
});

test('what was refused is counted by what it asked for; jobs, the pool and the build are told', async () => {
    const name = uniqueName();
    await server.request('blob', 'PUT', `/${name}`, { query: { restype: 'container' } });
    await server.request('blob', 'PUT', `/${name}/b`, { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'x' });
    const before = await scrape();
    await server.request('blob', 'PUT', `/${name}/b`, { headers: { 'x-ms-blob-type': 'BlockBlob', 'If-Match': '"0x1"' }, body: 'x' });
    await server.request('blob', 'PUT', `/${name}/b`, { headers: { 'x-ms-blob-type': 'BlockBlob', 'If-None-Match': '*' }, body: 'x' });
    await server.request('blob', 'GET', `/${name}/b`, { headers: { 'x-ms-lease-id': '11111111-1111-1111-1111-111111111111' } });
    const samples = await scrape();
    for (const kind of ['if_match', 'if_none_match', 'lease'])
        assert.equal(value(samples, 'lazuli_conditions_failed_total', { service: 'blob', kind }) - value(before, 'lazuli_conditions_failed_total', { service: 'blob', kind }), 1, kind);
    assert.equal(value(samples, 'lazuli_build_info'), 1);
    assert.ok(samples.find((s) => s.name === 'lazuli_build_info').labels.commit.length > 0);
    assert.ok(samples.some((s) => s.name === 'lazuli_pool_queue_length'));
    await until(async () => value(await scrape(), 'lazuli_sweeper_runs_total', { job: 'blob: deleted content' }) > 0);
});

test('a counter never falls, and a histogram\'s buckets add up', async () => {
    const first = await scrape();
    const second = await scrape();
    for (const s of first.filter(({ name }) => name.endsWith('_total')))
        assert.ok(value(second, s.name, s.labels) >= s.value, s.name);
    let last = null;
    for (const s of second.filter(({ name }) => name.endsWith('_bucket'))) {
        const { le, ...rest } = s.labels;
        const series = s.name + JSON.stringify(rest);
        if (last?.series === series)
            assert.ok(s.value >= last.value, series);
        last = { series, value: s.value };
        if (le === '+Inf')
            assert.equal(value(second, s.name.replace(/_bucket$/, '_count'), rest), s.value, series);
    }
});

test('promtool finds nothing to say', async () => {
    const { text, headers } = await ask(server, 'GET', '/metrics');
    assert.match(headers['content-type'], /^text\/plain; version=0\.0\.4/);
    const checked = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
    assert.equal(checked.status, 0, checked.stdout + checked.stderr);
    assert.equal((checked.stdout + checked.stderr).trim(), '');
});

test('OpenMetrics for who asks for it, JSON for the console', async () => {
    const open = await ask(server, 'GET', '/metrics', { headers: { Accept: 'application/openmetrics-text;version=1.0.0' } });
    assert.match(open.headers['content-type'], /^application\/openmetrics-text; version=1\.0\.0/);
    assert.ok(open.text.endsWith('# EOF\n'));
    assert.match(open.text, /^# TYPE lazuli_requests counter$/m);
    assert.match(open.text, /^lazuli_requests_total\{/m);
    const json = (await ask(server, 'GET', '/metrics.json')).json();
    const requests = json.find(({ name }) => name === 'lazuli_requests');
    assert.equal(requests.type, 'counter');
    assert.ok(requests.samples.some(({ labels, value }) => labels.operation === 'GetBlob' && value > 0));
    const durations = json.find(({ name }) => name === 'lazuli_request_duration_seconds').samples[0];
    assert.equal(durations.buckets.length, durations.bounds.length + 1);
});

test('health and metrics answer on every service\'s port', async () => {
    for (const port of [server.ports.blob, server.ports.queue, server.ports.table, server.ports.file]) {
        for (const path of ['/_lazuli/livez', '/_lazuli/readyz']) {
            const answer = await ask(server, 'GET', path, { port, headers: { Host: 'lazuli-in-compose:10000' } });
            assert.equal(answer.status, 200);
            assert.equal(answer.text, 'ok\n');
        }
        assert.equal((await ask(server, 'GET', '/_lazuli/metrics', { port })).status, 200);
        // Metrics tell more than "ok": by a name that is not this machine's, a page of another site may be asking.
        const rebound = await ask(server, 'GET', '/_lazuli/metrics', { port, headers: { Host: 'evil.example' } });
        assert.equal(rebound.status, 421);
    }
    const verbose = (await ask(server, 'GET', '/readyz?verbose')).json();
    assert.equal(verbose.status, 'ok');
    assert.deepEqual(Object.keys(verbose.checks).sort(), ['committer', 'disk', 'flush', 'loops', 'serving', 'started', 'store']);
});

test('with a token, metrics want it', async () => {
    const guarded = await startAdmin({ args: ['--metrics-token', 'secret1'] });
    try {
        assert.equal((await ask(guarded, 'GET', '/metrics')).status, 401);
        for (const given of ['Bearer secret2', 'Bearer secret', 'secret1', 'Basic secret1'])
            assert.equal((await ask(guarded, 'GET', '/metrics', { headers: { Authorization: given } })).status, 401);
        const headers = { Authorization: 'Bearer secret1' };
        assert.equal((await ask(guarded, 'GET', '/metrics', { headers })).status, 200);
        // A client with the token may use any host name.
        const named = { ...headers, Host: 'lazuli:10000' };
        assert.equal((await ask(guarded, 'GET', '/_lazuli/metrics', { port: guarded.ports.blob, headers: named })).status, 200);
        assert.equal((await ask(guarded, 'GET', '/livez')).status, 200);
    } finally {
        await guarded.stop();
    }
});

test('beyond loopback metrics are not open', async () => {
    const wide = await startAdmin({ args: ['--host', '0.0.0.0', '--insecure-well-known-key'] });
    try {
        assert.equal((await ask(wide, 'GET', '/_lazuli/metrics', { port: wide.ports.blob })).status, 403);
        assert.equal((await ask(wide, 'GET', '/metrics')).status, 200);
        assert.equal((await ask(wide, 'GET', '/_lazuli/readyz', { port: wide.ports.blob })).status, 200);
    } finally {
        await wide.stop();
    }
});

test('the admin listener beyond loopback does not lend the services\' place on loopback', async () => {
    const wide = await startAdmin({ args: ['--admin-host', '0.0.0.0', '--insecure-well-known-key'] });
    try {
        for (const path of ['/metrics', '/_lazuli/metrics'])
            assert.equal((await ask(wide, 'GET', path)).status, 403, path);
        for (const mount of ['blob', 'queue', 'table', 'file']) {
            for (const path of ['metrics', 'metrics.json', 'livez']) {
                const { status, text } = await ask(wide, 'GET', `/${mount}/_lazuli/${path}`);
                assert.ok(status >= 400 && status < 500 && !text.includes('lazuli_'), `${mount} ${path} ${status}`);
            }
        }
        assert.equal((await ask(wide, 'GET', '/_lazuli/metrics', { port: wide.ports.blob })).status, 200);
    } finally {
        await wide.stop();
    }
});

test('Prometheus scrapes it, and the dashboard asks only for what is there', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'lazuli-prometheus-'));
    const [port] = await freePorts(1);
    const root = new URL('../../', import.meta.url).pathname;
    const config = ['global: {scrape_interval: 200ms}', 'scrape_configs:', '  - job_name: lazuli', '    static_configs:',
        `      - targets: ["127.0.0.1:${server.ports.admin}"]`, `rule_files: ["${root}dist/grafana/alerts.yml"]`];
    writeFileSync(join(folder, 'prometheus.yml'), config.join('\n'));
    const prometheus = spawn('prometheus', [`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`,
        `--web.listen-address=127.0.0.1:${port}`, '--log.level=error'], { stdio: 'ignore' });
    const query = async (expression) => {
        const answer = await send(port, 'admin', 'GET', `/api/v1/query?query=${encodeURIComponent(expression)}`, {});
        return answer.json();
    };
    try {
        await until(async () => {
            const answer = await query('up{job="lazuli"}').catch(() => null);
            return answer?.data?.result?.[0]?.value?.[1] === '1';
        });
        const operations = (await query('sum by (operation) (lazuli_requests_total)')).data.result;
        assert.ok(operations.some(({ metric, value }) => metric.operation === 'GetBlob' && Number(value[1]) > 0));
        // Every metric that the dashboard and the alerts name exists.
        const known = new Set((await scrape()).map(({ name }) => name));
        for (const file of ['dist/grafana/lazuli.json', 'dist/grafana/alerts.yml']) {
            const named = readFileSync(root + file, 'utf8').match(/\b(?:lazuli|process)_[a-z_]+\b/g)
                .filter((word) => word !== 'lazuli_');
            for (const name of new Set(named))
                assert.ok(known.has(name) || SMB_ONLY.test(name), `${file} names ${name}`);
        }
        const dashboard = JSON.parse(readFileSync(`${root}dist/grafana/lazuli.json`, 'utf8'));
        const expressions = dashboard.panels.flatMap((panel) => (panel.targets ?? []).map(({ expr }) => expr));
        assert.ok(expressions.length >= 10);
        for (const expression of expressions) {
            const answer = await query(expression.replaceAll('$__rate_interval', '1m'));
            assert.equal(answer.status, 'success', `${expression}: ${answer.error}`);
        }
    } finally {
        prometheus.kill('SIGKILL');
        rmSync(folder, { recursive: true, force: true });
    }
    const rules = spawnSync('promtool', ['check', 'rules', `${root}dist/grafana/alerts.yml`], { encoding: 'utf8' });
    assert.equal(rules.status, 0, rules.stdout + rules.stderr);
});

// The test's server has no SMB listener.
const SMB_ONLY = /^lazuli_smb_/;

test('lazuli health asks a server how it is', async () => {
    const health = (...args) => spawnSync(BIN, ['health', ...args], { encoding: 'utf8', timeout: 30000 });
    const admin = `127.0.0.1:${server.ports.admin}`;
    const well = health('--admin-host', '127.0.0.1', '--admin-port', String(server.ports.admin));
    assert.equal(well.status, 0, well.stderr);
    assert.match(well.stdout, /^ok/);
    assert.equal(health(`http://${admin}`).status, 0);
    assert.equal(health(`http://127.0.0.1:${server.ports.blob}`).status, 0, 'by a service\'s port');
    const [port] = await freePorts(1);
    const none = health(`http://127.0.0.1:${port}`);
    assert.equal(none.status, 1);
    assert.match(none.stderr, /cannot|no server/i);
    assert.equal(health('ftp://x').status, 2);
});
