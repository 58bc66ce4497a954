/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the row index (row_index.h) after a start, when the index is empty.
 *
 * A read that misses the index costs a search of twenty microseconds or more; indexing a row during
 * an ordered scan costs a third of a microsecond. So when reads miss often enough, the reclaimer's
 * thread scans the partition that was asked for and those behind it, and indexes every row. A store
 * that nobody reads this way is not scanned and needs no memory for it. */
#ifndef ENGINE_LOCAL_WARMUP_H
#define ENGINE_LOCAL_WARMUP_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/buf.h"

struct local_engine;

enum warmup_stage {
    WARMUP_IDLE,
    WARMUP_ASKED, /* a thread is recording where to start */
    WARMUP_WALKING,
};

struct warmup {
    _Atomic uint64_t missed;     /* lookups that missed since the last scan */
    _Atomic uint64_t missed_max; /* a scan starts after this many */
    atomic_int stage;
    struct buf from; /* where the scan continues */
    struct buf end;  /* where it ends after wrapping around */
    bool round;      /* it has wrapped around to the first row */
    uint64_t walked; /* rows seen by this scan */
};

void warmup_init(struct warmup *l);
void warmup_release(struct warmup *l);

/* Called when a row in the partition with this prefix was found by searching and is indexed only
 * now. */
void warmup_missed(struct local_engine *e, struct str partition);

/* For the reclaimer: true if a scan is in progress; and its next step. */
static inline bool warmup_wanted(const struct warmup *l)
{
    return atomic_load(&l->stage) == WARMUP_WALKING;
}
void warmup_some(struct local_engine *e);

#endif
