// SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from 'preact/hooks';
import { listContainers } from '../api/blob.js';
import { listShares } from '../api/file.js';
import { listQueues } from '../api/queue.js';
import { connectionString } from '../api/sas.js';
import { listTables } from '../api/table.js';
import { html } from '../ui/html.js';
import { Copy, useApp } from '../ui/parts.js';

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
            ${server.services[id] ? html`<p><b>${counts[id] ?? '…'}</b> <span class="quiet">${one}s</span></p><p class="quiet"><code>${session.endpoint(id)}</code></p>
                <button onClick=${() => go(id)}>Open</button>` : html`<p class="quiet">This service is off.</p>`}
        </section>`)}
        ${server.smbPort ? html`<section class="card"><h3>SMB</h3><p class="quiet"><code>${`//${location.hostname}:${server.smbPort}/SHARE`}</code></p><p class="quiet">User ${session.account}, password: the account key.</p></section>` : ''}
        </div>
        <section class="card"><h3>Connection string</h3>
            <pre tabindex="0">${shown ? text : hidden}</pre>
            <div class="bar"><button onClick=${() => setShown(!shown)}>${shown ? 'Hide secrets' : 'Show secrets'}</button><${Copy} text=${text} label="Copy connection string" /></div>
        </section>
        <p class="quiet">${server.version} · server time ${server.time}</p>`;
}
