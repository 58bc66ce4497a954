/* SPDX-License-Identifier: Apache-2.0 */
/* One step of a copy from another server: fetches some bytes and stores them. For the copier. */
#ifndef REST_COPY_COPIER_REMOTE_H
#define REST_COPY_COPIER_REMOTE_H

#include "net/dial.h"
#include "service/blob/copy/copy_job.h"

struct remote_step {
    struct store *store;
    struct dialer *dialer; /* NULL: no other server can be reached */
    struct arena *arena;
    const struct copy_job_ref *place;
    bool of_file;               /* whose bytes are divided differently from a block blob's */
    const struct copy_job *job; /* in the arena */
    unsigned failures;          /* steps that have failed before this one */
};

/* *ended: there is nothing left to do. An error is temporary: a permanent one, or one that lasts
 * too long, ends the copy as failed. */
struct err copier_remote_step(struct remote_step *step, bool *ended);

#endif
