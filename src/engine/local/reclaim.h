/* SPDX-License-Identifier: Apache-2.0 */
/* The reclaimer: a background thread with five jobs. It returns the space of dropped extents to the
 * file system once the drop is durable and no reader can still use them; finishes that work after a
 * crash; makes updates durable that have been only visible for a while; collects the journal; and
 * warms up the row index. */
#ifndef ENGINE_LOCAL_RECLAIM_H
#define ENGINE_LOCAL_RECLAIM_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/extent_row.h"

struct local_engine;
struct state;

/* A range that no row refers to any more. */
struct waste {
    uint64_t commit; /* the commit that dropped it */
    uint64_t segment;
    uint64_t offset;
    uint32_t bytes;
    bool counted; /* it has a garbage row to delete; otherwise it was never adopted */
};

struct waste_queue {
    struct waste *ring;
    size_t first;
    size_t count;
    size_t capacity; /* a power of two, or 0 */
};

struct reclaimer {
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct waste_queue dropped;   /* ordered by commit */
    struct waste_queue discarded; /* can be freed at once */
    atomic_uint_fast64_t first;   /* the commit of the first dropped one; UINT64_MAX: none */
    atomic_bool resting;          /* sleeps until the next commit */
    atomic_bool counting;         /* the timer for making visible updates durable is running */
    atomic_bool stopping;

    int64_t visible_since_ms; /* of the thread; 0: everything is durable */
    /* Of the thread: the state at start-up, for recovering what an earlier run left. */
    struct state *begin;
    uint64_t recover_next; /* the segments to examine */
    uint64_t recover_past;
    bool sweeping; /* garbage rows are left */
    char sweep_from[EXTENT_KEY_BYTES];
};

void reclaim_init(struct reclaimer *r);
/* Segments in [recover_next, recover_past) may hold ranges that no row names. */
struct err reclaim_start(struct local_engine *e, uint64_t recover_next, uint64_t recover_past);
/* Returns when the thread has ended. The next start finds the remaining work again. */
void reclaim_stop(struct local_engine *e);
void reclaim_release(struct reclaimer *r);

/* The segment already counts the range as waste. */
void reclaim_add(struct local_engine *e, const struct waste *waste);
/* Called after a commit: there may be ranges to free and other chores. */
void reclaim_wake(struct local_engine *e);
/* Called when a pin is released, which every read does, so it wakes the thread only if something
 * waits for it. */
void reclaim_unpinned(struct local_engine *e);
/* Called when the row index needs warming up (warmup.h). */
void reclaim_warmup(struct local_engine *e);

#endif
