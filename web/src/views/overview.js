// SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef, useState } from 'preact/hooks';
import { listContainers } from '../api/blob.js';
import { listShares } from '../api/file.js';
import { listQueues } from '../api/queue.js';
import { buckets, parseMetrics, quantile, sum } from '../api/metrics.js';
import { connectionString } from '../api/sas.js';
import { listTables } from '../api/table.js';
import { bytes, count } from '../ui/format.js';
import { html } from '../ui/html.js';
import { Copy, useApp, useEvery } from '../ui/parts.js';

const SERVICES = [
    ['blob', 'Blobs', 'container', listContainers],
    ['queue', 'Queues', 'queue', listQueues],
    ['table', 'Tables', 'table', listTables],
    ['file', 'Files', 'share', listShares],
];

/** How many there are on the first page, or why that cannot be told. */
function useCounts(session) {
    const [counts, setCounts] = useState({});
    useEffect(() => {
        for (const [id, , , list] of SERVICES) {
            if (!session.server.services[id])
                continue;
            list(session).then(
                ({ rows, marker }) => setCounts((now) => ({ ...now, [id]: `${rows.filter((row) => !row.snapshot).length}${marker ? '+' : ''}` })),
                (error) => setCounts((now) => ({ ...now, [id]: error.code || 'not allowed' })),
            );
        }
    }, [session]);
    return counts;
}

const SECONDS = 3;

function duration(seconds) {
    return seconds < 120 ? `${Math.round(seconds)} s` : seconds < 7200 ? `${Math.round(seconds / 60)} min` : seconds < 172800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} days`;
}

/** Objects and their bytes; of a large store they are told when they have been counted. */
function stored(now) {
    return now.has('lazuli_objects') ? `${count(sum(now, 'lazuli_objects') + sum(now, 'lazuli_queue_messages'))} objects, ${bytes(sum(now, 'lazuli_objects_bytes'))}` : 'counting…';
}

/** The server in a few numbers, of the last seconds; nothing when its metrics may not be read from here. */
function Pulse() {
    const [numbers, setNumbers] = useState(null);
    const last = useRef(null);
    useEvery(SECONDS * 1000, async () => {
        const answer = await fetch('/metrics', { cache: 'no-store' }).catch(() => null);
        if (!answer?.ok)
            return;
        const now = parseMetrics(await answer.text());
        const at = Date.now() / 1000;
        const { now: before, at: then } = last.current ?? { now, at: at - 1 };
        last.current = { now, at };
        const rate = (fits) => (sum(now, 'lazuli_requests_total', fits) - sum(before, 'lazuli_requests_total', fits)) / (at - then);
        const part = (share) => quantile(buckets(before, 'lazuli_request_duration_seconds'), buckets(now, 'lazuli_request_duration_seconds'), share);
        const ms = (seconds) => (seconds === null ? '–' : `${(seconds * 1000).toFixed(1)} ms`);
        setNumbers([
            ['Requests a second', rate().toFixed(1)], ['Failed a second', rate(({ status = '' }) => status.startsWith('5')).toFixed(1)], ['Median, 99 %', `${ms(part(0.5))}, ${ms(part(0.99))}`],
            ['Requests in all', count(sum(now, 'lazuli_requests_total'))], ['Stored', stored(now)], ['Leases held', now.has('lazuli_leases_held') ? count(sum(now, 'lazuli_leases_held')) : '–'],
            ['Free on disk', now.has('lazuli_disk_free_bytes') ? bytes(sum(now, 'lazuli_disk_free_bytes')) : 'in memory'], ['Memory', bytes(sum(now, 'process_resident_memory_bytes'))],
            ['Up for', duration(at - sum(now, 'process_start_time_seconds'))],
        ]);
    });
    return numbers && html`<section class="card"><h3>Server</h3><dl class="numbers">${numbers.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl></section>`;
}

export function Overview() {
    const { session, go } = useApp();
    const counts = useCounts(session);
    const [shown, setShown] = useState(false);
    const { server } = session;
    const text = session.credential.kind === 'key' ? connectionString(session) : connectionString(session, session.credential.kind === 'sas' ? session.credential.query : undefined);
    const hidden = text.replace(/(AccountKey=)[^;]+/, '$1••••••••').replace(/(sig=)[^;&]+/, '$1••••••••');
    return html`<h2>Overview</h2>
        <div class="cards">${SERVICES.map(([id, title, one]) => html`<section class="card">
            <h3>${title}</h3>
            ${server.services[id] ? html`<p><b>${counts[id] ?? '…'}</b> <span class="quiet">${counts[id] === '1' ? one : `${one}s`}</span></p><p class="quiet"><code>${session.endpoint(id)}</code></p>
                <button onClick=${() => go(id)}>Open</button>` : html`<p class="quiet">This service is off.</p>`}
        </section>`)}
        ${server.smbPort ? html`<section class="card"><h3>SMB</h3><p class="quiet"><code>${`//${location.hostname}:${server.smbPort}/SHARE`}</code></p><p class="quiet">User ${session.account}, password: the account key.</p></section>` : ''}
        </div>
        <${Pulse} />
        <section class="card"><h3>Connection string</h3>
            <pre tabindex="0">${shown ? text : hidden}</pre>
            <div class="bar"><button onClick=${() => setShown(!shown)}>${shown ? 'Hide secrets' : 'Show secrets'}</button><${Copy} text=${text} label="Copy connection string" /></div>
        </section>
        <p class="quiet">${server.version} · server time ${server.time}</p>`;
}
