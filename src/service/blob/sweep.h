/* SPDX-License-Identifier: Apache-2.0 */
/* Deferred removal: an operation that replaces or deletes something large leaves a note in its
 * transaction, and the sweeper does the work in bounded steps. Until then the space stays in use,
 * but the data are invisible. */
#ifndef SERVICE_BLOB_SWEEP_H
#define SERVICE_BLOB_SWEEP_H

#include "service/common/sweeper.h"

enum sweep_kind {
    SWEEP_INCARNATION = 1, /* all rows of a deleted container */
    SWEEP_CONTENT = 2,     /* a content that no head names */
    SWEEP_BLOCKS = 3,      /* a set of uncommitted blocks */
    SWEEP_PAGES = 4,       /* the pages of a content that no head names */
    SWEEP_PAGES_PAST = 5,  /* historic pages of a page blob that no snapshot sees any more */
    SWEEP_PAGES_VOIDS = 6, /* rows of pages that were cut out in bulk */
    SWEEP_PAGES_FOLD = 7,  /* a chunk of pages that small writes have fragmented */
    SWEEP_TREE = 8,        /* the entries of a removed directory; its id */
    SWEEP_STAGED = 9,      /* a content that is being made ready for a head (block_stage.h) */
    SWEEP_MOVE = 10,       /* a path that moves to another container (path/path_across.h) */
};

struct sweep_item {
    enum sweep_kind kind;
    uint64_t incarnation;
    uint64_t id; /* of the content or the set */
};

/* Notes it, in the container's partition. */
struct err blob_sweep_add(struct txn *t, const struct sweep_item *item);
/* With a value of the kind's own: SWEEP_MOVE. */
struct err blob_sweep_add_with(struct txn *t, const struct sweep_item *item, struct str value);
/* With the name of a blob and a number; added once, however often it is requested before it is
 * done: for SWEEP_PAGES_VOIDS and SWEEP_PAGES_FOLD, whose number is the chunk. */
struct err blob_sweep_add_once(struct txn *t, const struct sweep_item *item, uint32_t number,
                               struct str name);
/* The same with the name of a blob, for SWEEP_PAGES_PAST. */
struct err blob_sweep_add_for(struct txn *t, const struct sweep_item *item, struct str name);

/* A note by its stamp. */
struct err blob_sweep_note_is_there(struct txn *t, int64_t stamp, const struct sweep_item *item,
                                    bool *there);
struct err blob_sweep_remove(struct txn *t, int64_t stamp, const struct sweep_item *item);
/* No head will name the content of this SWEEP_STAGED note: remove it. Does nothing if there is no
 * such note. */
struct err blob_sweep_begin_staged(struct txn *t, int64_t stamp, const struct sweep_item *item);

/* The position of a job on its way through all containers. It examines a few per step; after a
 * round it pauses, in proportion to the round's duration, so that it costs a few percent of one
 * core however many containers there are. All zero is the beginning. */
struct blob_round {
    char after[256]; /* the partition that the last step ended with; empty at the beginning */
    size_t after_n;
    int64_t started_ms, rest_until_ms; /* monotonic */
};

/* Jobs for the sweeper; context is the job's struct blob_round. The first works on the notes. The
 * second finds uncommitted blocks that were not touched for a week, expired blobs, and expired
 * tombstones of containers. */
struct err blob_sweep(struct store *store, void *context, struct sweep_report *report);
struct err blob_expire(struct store *store, void *context, struct sweep_report *report);

/* For `lazuli check`: the extents that a row of a container's partition names; false if the row
 * cannot be decoded. */
bool blob_row_extents(struct str key, struct str value,
                      void (*named)(void *sink, const struct extent *x), void *sink);

#endif
