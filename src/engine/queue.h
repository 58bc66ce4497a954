/* SPDX-License-Identifier: Apache-2.0 */
/* The line of updates before a committer: any thread pushes, one takes all there is. */
#ifndef ENGINE_QUEUE_H
#define ENGINE_QUEUE_H

#include <pthread.h>
#include <time.h>

#include "engine/engine.h"

struct update_queue {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct engine_update *head;
    struct engine_update **tail;
    uint64_t pushed; /* since the beginning */
    uint64_t wanted; /* how many these must be before a taker that waits is woken */
    unsigned share; /* of those answered, how many in RETURN_WHOLE come back in time: the taker's */
    bool taker_waits;
    bool stepped_in; /* somebody works in the taker's stead */
    bool closed;
};

/* Clients that were answered and may come back: numbers of `pushed`. */
struct update_return {
    size_t answered;
    uint64_t from; /* none came yet */
    uint64_t all;  /* all came that can be expected; 0: nobody is waited for */
    struct timespec until;
    bool late;
    bool idle; /* there was time in which no processor worked for us: see update_queue_came */
    int64_t begun_us;
    int64_t begun_used_us; /* the time of processors that was used up to then */
};

void update_queue_init(struct update_queue *q);
void update_queue_release(struct update_queue *q);
/* False when the queue is closed: the update was not taken. */
bool update_queue_push(struct update_queue *q, struct engine_update *u);
/* All that is there, in order of arrival, linked by next; waits for at least one. NULL when the
 * queue is closed and empty. */
struct engine_update *update_queue_take(struct update_queue *q);
/* To wait for more, so that they share a flush: for as large a share of those just answered as came
 * back the last times, and no longer than `patience_us`. With one client there is nobody to wait
 * for, and it comes back at once. */
struct update_return update_queue_expect(struct update_queue *q, size_t answered,
                                         int64_t patience_us);
/* Waits until all have come that can be expected, or the time is over. */
void update_queue_await(struct update_queue *q, struct update_return *r);
/* All are there, or not: finds out whether the time was one of waiting or of work. */
void update_queue_came(struct update_return *r);
/* In the end: what to expect the next time. */
void update_queue_learn(struct update_queue *q, const struct update_return *r);
/* How many wait to be taken. */
uint64_t update_queue_length(struct update_queue *q);
void update_queue_close(struct update_queue *q);
/* When the taker waits and nothing is there for it: keeps it waiting, so that the caller may do its
 * work, until update_queue_step_out. */
bool update_queue_step_in(struct update_queue *q);
void update_queue_step_out(struct update_queue *q);

/* Pushes, or calls done with ERR_STOPPING on the calling thread. */
void update_queue_submit(struct update_queue *q, struct engine_update *u);

#endif
