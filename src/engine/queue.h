/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of updates before a committer: any thread pushes, one thread takes. */
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
    uint64_t pushed;  /* in total */
    uint64_t taken;   /* in total */
    unsigned crowded; /* for this many further takes, several partitions are assumed to compete */
    uint64_t wanted;  /* a waiting taker is woken when `pushed` reaches this */
    unsigned share;   /* expected returning clients, in parts of RETURN_WHOLE; used by the taker */
    bool taker_waits;
    bool stepped_in; /* another thread acts for the taker */
    bool closed;
};

/* Answered clients that may return; the numbers are values of `pushed`. */
struct update_return {
    size_t answered;
    uint64_t from; /* none has returned yet */
    uint64_t all;  /* all expected ones have returned; 0: none is expected */
    struct timespec until;
    bool late;
    bool idle; /* the processor was idle for part of the time: see update_queue_came */
    int64_t begun_us;
    int64_t begun_used_us; /* CPU time used up to then */
};

void update_queue_init(struct update_queue *q);
void update_queue_release(struct update_queue *q);
/* False if the queue is closed; the update was not taken. */
bool update_queue_push(struct update_queue *q, struct engine_update *u);
/* Takes the updates in order of arrival, linked by next; waits for at least one. NULL if the queue
 * is closed and empty. Takes all of them, unless many wait and they are of several partitions: then
 * each partition gets its share of a turn, and the rest waits for the next one. So a thousand
 * clients of one partition do not keep the four of another waiting for all of them. */
struct engine_update *update_queue_take(struct update_queue *q);
/* Prepares a wait for more updates that can share a flush: for the expected share of the clients
 * just answered, at most for `patience_us`. With a single client there is none to wait for. */
struct update_return update_queue_expect(struct update_queue *q, size_t answered,
                                         int64_t patience_us);
/* Waits until all expected updates have come or the time is over. */
void update_queue_await(struct update_queue *q, struct update_return *r);
/* Ends the wait: finds out whether the processor was idle or busy meanwhile. */
void update_queue_came(struct update_return *r);
/* Adapts the expectation for the next time. */
void update_queue_adapt(struct update_queue *q, const struct update_return *r);
/* True if several partitions compete for the taker's turns. */
bool update_queue_is_crowded(struct update_queue *q);
/* True if the last take has left updates in the queue: then there is no need to wait. */
bool update_queue_has_rest(struct update_queue *q);
/* Returns how many updates wait. */
uint64_t update_queue_length(struct update_queue *q);
void update_queue_close(struct update_queue *q);
/* If the taker waits and the queue is empty: keeps it waiting, so that the caller can act for it
 * until update_queue_step_out. */
bool update_queue_step_in(struct update_queue *q);
void update_queue_step_out(struct update_queue *q);

/* Pushes the update, or calls done with ERR_STOPPING on this thread. */
void update_queue_submit(struct update_queue *q, struct engine_update *u);

#endif
