// SPDX-License-Identifier: Apache-2.0
// The views of the page, in the order of the side bar.
import { Access } from './access.js';
import { Blobs } from './blobs.js';
import { Overview } from './overview.js';

const has = (service) => (session) => Boolean(session.server.services[service]);

export const VIEWS = [
    { id: 'overview', title: 'Overview', component: Overview },
    { id: 'blob', title: 'Blobs', component: Blobs, needs: has('blob') },
    { id: 'access', title: 'Access', component: Access },
];
