// SPDX-License-Identifier: Apache-2.0
// The views of the page, in the order of the side bar.
import { Access } from './access.js';
import { Blobs } from './blobs.js';
import { Faults } from './faults.js';
import { Files } from './files.js';
import { Inspect } from './inspect.js';
import { Metrics } from './metrics.js';
import { Overview } from './overview.js';
import { Queues } from './queues.js';
import { Tables } from './tables.js';
import { Tour } from './tour.js';

const has = (service) => (session) => Boolean(session.server.services[service]);

export const VIEWS = [
    { id: 'overview', title: 'Overview', component: Overview },
    { id: 'blob', title: 'Blobs', component: Blobs, needs: has('blob') },
    { id: 'queue', title: 'Queues', component: Queues, needs: has('queue') },
    { id: 'table', title: 'Tables', component: Tables, needs: has('table') },
    { id: 'file', title: 'Files', component: Files, needs: has('file') },
    { id: 'inspect', title: 'Concurrency', component: Inspect },
    { id: 'tour', title: 'Guided tour', component: Tour },
    { id: 'faults', title: 'Test control', component: Faults, needs: (session) => session.server.testControl },
    { id: 'metrics', title: 'Metrics', component: Metrics },
    { id: 'access', title: 'Access', component: Access },
];
