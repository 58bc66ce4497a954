/* SPDX-License-Identifier: Apache-2.0 */
/* Carries on with copies to blobs and files that were not done at once: a few threads, each of
 * which takes a step of one copy after the other, so that none waits for another to end. What is to
 * be done is in the store (service/blob/copy/copy_job.h), so it goes on after a restart. */
#ifndef REST_COPY_COPIER_H
#define REST_COPY_COPIER_H

#include "net/dial.h"
#include "service/common/store.h"

struct copier;

/* Looks through the store for copies that were left, and goes on with them. dialer may be NULL. */
struct err copier_start(struct store *store, struct dialer *dialer, struct copier **out);
/* There is a copy to go on with. From any thread. */
void copier_add(struct copier *c, struct str partition, uint64_t incarnation, uint64_t job);
/* Returns when the steps under way have ended; stop the dialer first. NULL is fine. */
void copier_stop(struct copier *c);

#endif
