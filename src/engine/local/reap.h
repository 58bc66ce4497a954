/* SPDX-License-Identifier: Apache-2.0 */
/* The reaper: a thread that gives the space of dropped extents back to the file system, once nobody
 * can be reading them and the drop is durable; that clears up after a crash; that sees to it that
 * nothing stays merely visible for long; that collects the journal; and that learns where rows are.
 */
#ifndef ENGINE_LOCAL_REAP_H
#define ENGINE_LOCAL_REAP_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/extent_row.h"

struct local_engine;
struct state;

/* A range that no row names any more. */
struct waste {
    uint64_t commit; /* that dropped it */
    uint64_t segment;
    uint64_t offset;
    uint32_t bytes;
    bool counted; /* there is a garbage row to delete; otherwise it was never adopted */
};

struct waste_queue {
    struct waste *ring;
    size_t first;
    size_t count;
    size_t capacity; /* a power of two, or 0 */
};

struct reaper {
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct waste_queue dropped;   /* in order of commit */
    struct waste_queue discarded; /* free to go at once */
    atomic_uint_fast64_t first;   /* the commit of the first dropped one; UINT64_MAX: none */
    atomic_bool resting;          /* until the next commit, whatever it is */
    atomic_bool counting;         /* the time until what is only visible is made durable */
    atomic_bool stopping;

    int64_t visible_since_ms; /* the thread's; 0: nothing is only visible */
    /* The thread's: what an earlier run has left, as the store was when this one began. */
    struct state *begin;
    uint64_t recover_next; /* the segments to look at */
    uint64_t recover_past;
    bool sweeping; /* garbage rows are left */
    char sweep_from[EXTENT_KEY_BYTES];
};

void reap_init(struct reaper *r);
/* Segments from recover_next up to recover_past may hold ranges that no row names. */
struct err reap_start(struct local_engine *e, uint64_t recover_next, uint64_t recover_past);
/* Comes back when the thread is gone; what waits is found again by the next start. */
void reap_stop(struct local_engine *e);
void reap_release(struct reaper *r);

/* The segment already counts it as waste. */
void reap_add(struct local_engine *e, const struct waste *waste);
/* A commit was made: it may let something go, and there may be chores after it. */
void reap_wake(struct local_engine *e);
/* A pin is gone. Every read ends so, and the thread is not disturbed unless something waits for it.
 */
void reap_unpinned(struct local_engine *e);
/* There is something to learn (learn.h). */
void reap_learn(struct local_engine *e);

#endif
