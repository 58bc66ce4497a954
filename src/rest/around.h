/* SPDX-License-Identifier: Apache-2.0 */
/* An operation that does more around its transaction than decode and encode: work in a pool before
 * and after it, and, for files, the pass through the open-file table, where it may have to wait
 * until SMB clients give up their caches (service/file/opens/pass.h). For `start`; the transaction
 * is the row's `run`. */
#ifndef REST_AROUND_H
#define REST_AROUND_H

#include "rest/call.h"
#include "service/file/opens/pass.h"

typedef struct err around_fn(struct rest_call *call);

struct around {
    struct pool *pool; /* NULL: the server's */
    /* In the pool; NULL: nothing. If it fails it must have undone its work. It may run again, if
     * the transaction finds that its input has changed (blobs only). */
    around_fn *before;
    bool late;        /* `before` runs only if the transaction asks for it (ERR_STAGE_STALE) */
    around_fn *after; /* the same, after the transaction has succeeded */
    /* On the loop, if the transaction failed for certain or did not begin: undoes the work of
     * `before`. NULL: nothing. */
    void (*failed)(struct rest_call *call);
    bool reads;   /* the transaction is a view */
    bool in_pool; /* the view may take long: run it in the pool at once */
    /* Files only. */
    struct file_pass *pass;
    int64_t patience_ms; /* total time limit for waiting for SMB clients */
};

struct err rest_around(struct rest_call *call, struct around around);

#endif
