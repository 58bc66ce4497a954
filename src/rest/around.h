/* SPDX-License-Identifier: Apache-2.0 */
/* An operation with more around its transaction than decode and encode: work in a pool before and
 * after it, and, for files, the pass through the open-file table, where it may have to wait for SMB
 * clients to give up what they cache (service/file/opens/pass.h). For `start`; the transaction is
 * the row's `run`. */
#ifndef REST_AROUND_H
#define REST_AROUND_H

#include "rest/call.h"
#include "service/file/opens/pass.h"

typedef struct err around_fn(struct rest_call *call);

struct around {
    struct pool *pool; /* NULL: the server's */
    /* In the pool; NULL: nothing. One that fails has given back what it made. It may run again,
     * when the transaction says that what it found has changed (of blobs). */
    around_fn *before;
    around_fn *after; /* the same, when the transaction has succeeded */
    /* On the loop, when the transaction has failed for certain, or was not begun: gives back what
     * `before` made. NULL: nothing. */
    void (*failed)(struct rest_call *call);
    bool reads;   /* the transaction is a view */
    bool in_pool; /* the view may take long: it goes there at once */
    /* Files only. */
    struct file_pass *pass;
    int64_t patience_ms; /* how long SMB clients are waited for, in all */
};

struct err rest_around(struct rest_call *call, struct around around);

#endif
