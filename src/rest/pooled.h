/* SPDX-License-Identifier: Apache-2.0 */
/* A write with work around its transaction that waits for a disk or another server: that runs in a
 * pool, the transaction (the row's `run`) in between as always. For `start`. */
#ifndef REST_POOLED_H
#define REST_POOLED_H

#include "net/pool.h"
#include "rest/call.h"

typedef struct err pooled_fn(struct rest_call *call);

struct pooled {
    struct pool *pool;
    pooled_fn *before; /* may run again, when the transaction says that the source has changed */
    pooled_fn *after;  /* when the transaction has succeeded; may be NULL */
    /* On the loop, when the transaction has failed for certain: gives back what `before` made. May
     * be NULL. */
    void (*failed)(struct rest_call *call);
};

struct err pooled_write(struct rest_call *call, struct pooled around);

#endif
