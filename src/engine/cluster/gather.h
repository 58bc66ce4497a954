/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of several views in one statement. A view whose first exchange only reads single rows needs
 * no transaction: one statement has one snapshot. While such a statement is running, the reads of
 * other views wait, and the next statement sends them together. So many views share a round trip.
 * The gatherer's own threads send the statements; the second and further threads help only when
 * more reads wait than one statement takes. */
#ifndef ENGINE_CLUSTER_GATHER_H
#define ENGINE_CLUSTER_GATHER_H

#include <pthread.h>

#include "engine/cluster/pool.h"
#include "engine/cluster/rowset.h"

enum { GATHER_MAX = 64, GATHER_LANES = 3 };

/* What one view wants. The caller's memory until `done` is called. */
struct gathered {
    struct rowset *set; /* wants single rows only; the gatherer uses it until then */
    int64_t deadline;
    void (*done)(struct gathered *one); /* on a thread of the gatherer; must be short */
    void *arg;                          /* the caller's */
    struct err error;
    enum conn_fault fault; /* why not */
    struct gathered *next; /* the gatherer's */
};

struct gather {
    struct conn_pool *pool;
    pthread_mutex_t lock;
    pthread_cond_t work;
    pthread_cond_t idle;
    struct gathered *first, **last;
    unsigned waiting;
    unsigned busy; /* statements under way */
    bool stopping;
    unsigned lane_count;
    pthread_t lanes[GATHER_LANES];
};

void gather_init(struct gather *g, struct conn_pool *pool);
struct err gather_start(struct gather *g);
/* Ends the threads. Nothing waits. */
void gather_release(struct gather *g);
/* Always ends in `done`. */
void gather_submit(struct gather *g, struct gathered *one);
/* The same, waiting for it. */
struct err gather_fetch(struct gather *g, struct rowset *set, int64_t deadline,
                        enum conn_fault *fault);
/* Returns when nothing waits and nothing is under way. */
void gather_drain(struct gather *g);

#endif
