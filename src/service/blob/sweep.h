/* SPDX-License-Identifier: Apache-2.0 */
/* What is taken away later: an operation that replaces or deletes something large leaves a note in
 * its transaction, and the sweeper does the work in bounded steps. Until then the space is still
 * taken, but nothing can see it. */
#ifndef SERVICE_BLOB_SWEEP_H
#define SERVICE_BLOB_SWEEP_H

#include "service/common/sweeper.h"

enum sweep_kind {
    SWEEP_INCARNATION = 1, /* all rows of a deleted container */
    SWEEP_CONTENT = 2,     /* a content that no head names */
    SWEEP_BLOCKS = 3,      /* a set of uncommitted blocks */
};

struct sweep_item {
    enum sweep_kind kind;
    uint64_t incarnation;
    uint64_t id; /* of the content or the set */
};

/* Notes it, in the container's partition. */
struct err sweep_add(struct txn *t, const struct sweep_item *item);

/* One bounded step over all containers: a job for the sweeper. context is not used. */
struct err blob_sweep(struct store *store, void *context, struct sweep_report *report);
/* One bounded step in search of uncommitted blocks that nobody touched for a week, and of the
 * tombstones of containers whose time is over. context is a struct blob_expiry that the job keeps;
 * it looks at a few containers per step and goes round. */
struct blob_expiry {
    char after[256]; /* the partition that the last step ended with; empty at the beginning */
    size_t after_n;
    int64_t next_round; /* ticks: not before */
};
struct err blob_expire(struct store *store, void *context, struct sweep_report *report);

/* For `lazuli check`: the extents that a row of a container's partition names. */
bool blob_row_extents(struct str key, struct str value,
                      void (*named)(void *sink, const struct extent *x), void *sink);

#endif
