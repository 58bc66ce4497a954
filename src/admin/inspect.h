/* SPDX-License-Identifier: Apache-2.0 */
/* The routes of the inspector. */
#ifndef ADMIN_INSPECT_H
#define ADMIN_INSPECT_H

struct admin_call;

/* Waits for new events, if the request asks for that. */
void admin_get_events(struct admin_call *call);
void admin_get_contention(struct admin_call *call);
void admin_get_leases(struct admin_call *call);
void admin_get_opens(struct admin_call *call);
void admin_get_messages(struct admin_call *call);

#endif
