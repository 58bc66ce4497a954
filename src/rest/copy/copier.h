/* SPDX-License-Identifier: Apache-2.0 */
/* Continues copies to blobs and files that were not done at once: a few threads take steps of
 * different copies in turn, so that no copy waits for another to end. The jobs are in the store
 * (service/blob/copy/copy_job.h), so they continue after a restart. */
#ifndef REST_COPY_COPIER_H
#define REST_COPY_COPIER_H

#include "net/dial.h"
#include "service/common/store.h"

struct copier;

/* Searches the store for unfinished copies and continues them. dialer may be NULL. */
struct err copier_start(struct store *store, struct dialer *dialer, struct copier **out);
/* There is a new copy. From any thread. */
void copier_add(struct copier *c, struct str partition, uint64_t incarnation, uint64_t job);
/* Returns after the running steps have ended; stop the dialer first. NULL is fine. */
void copier_stop(struct copier *c);

#endif
