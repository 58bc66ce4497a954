/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one request through the server: the only place where a request is suspended and resumed, for
 * every REST operation and every SMB command.
 *
 * A request lives on its event loop. Each call below does one thing and continues with the step
 * `then`, on the loop's thread:
 *   run_view         a read transaction: on the loop, as soon as its rows have arrived, or in the
 *                    pool if it would wait for something else
 *   run_in_pool      any work that waits for a disk or another server
 *   run_update       a transaction that is committed by the engine
 *   run_updates      several of them in parallel
 *   run_wait_for     waits for another party: SMB clients that hold caches or locks, test control
 *   run_delay        waits for time to pass
 *   run_on           continues on another loop
 * `then` may be called before these return, if nothing had to wait. Between two steps only the
 * thread that works on the request touches it, and no lock is held.
 *
 * One deadline: after `deadline` no step begins, neither on the loop, nor in the pool (however long
 * it was queued), nor in the engine's queue, and a wait ends: ERR_OPERATION_TIMED_OUT.
 * One cancellation: run_cancel reports that the client has gone. A wait ends at once, and with
 * `stops_when_gone` no further step begins: ERR_CLIENT_GONE. Work in progress in the pool or in the
 * engine ends first.
 * Neither stops a request whose update was committed: its remaining steps are all run. */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include <stdatomic.h>

#include "core/container.h"
#include "net/pool.h"
#include "service/common/store.h"

struct run;

/* A step, on the loop's thread: begins the next one, or answers the request. */
typedef void run_step(struct run *r, struct err outcome);
/* On a pool thread. Touches only the request's memory, nothing of the loop. */
typedef struct err run_work(struct run *r);

enum run_state {
    RUN_HERE,      /* on its loop; also between two steps */
    RUN_IN_POOL,   /* queued for a pool thread, or on it */
    RUN_READING,   /* the engine fetches rows for it */
    RUN_IN_ENGINE, /* queued for the commit, or in it */
    RUN_WAITING,   /* for another party, or for time to pass */
    RUN_MOVING,    /* to another loop */
};

/* A transaction. */
struct run_txn {
    struct str partition;
    engine_fn *fn;
    void *arg;
    /* Of an update. */
    enum engine_ack ack;
    unsigned hints;
    void (*committed)(struct run *r); /* called on the engine's thread right after the commit, in
                                         commit order; may be NULL */
};

/* A wait until another party calls run_wake, once. */
struct run_wait {
    int64_t until_ms;    /* by the loop's clock; INT64_MAX: no limit */
    int64_t until_ticks; /* by the store's clock, which tests may shift; 0: not checked */
    /* Cancels the wait, on the loop's thread. False: run_wake was called, or is about to be. */
    bool (*take_back)(struct run *r);
    /* Called when the time is over; must cause a call of run_wake. NULL: the wait is cancelled, and
     * the step gets ERR_OPERATION_TIMED_OUT. */
    void (*over)(struct run *r);
};

struct run {
    /* The front end's. */
    struct loop *loop;
    struct store *store;
    struct pool *pool;
    int64_t deadline;            /* ticks of the store's clock; 0: none */
    atomic_bool stops_when_gone; /* otherwise a client that has gone only ends waits */
    bool from_table;             /* its transactions rely on the open-file table (home_check) */

    enum run_state state;
    atomic_bool gone; /* the client has gone */
    bool committed;   /* an update has succeeded. A front end that continues with an independent
                         request clears it. */
    run_step *then;
    struct err outcome;
    struct loop_task task;
    run_work *work;
    /* A transaction. */
    struct engine_view_job view;
    struct engine_update update;
    engine_fn *fn;
    void *arg;
    void (*told)(struct run *r);
    run_step *after_update;
    unsigned tries;                /* of an update of a frozen partition */
    struct run_part *const *parts; /* several updates */
    size_t part_count;
    atomic_size_t updates_left; /* those of them that have not ended */
    /* A wait. */
    struct run_wait wait;
    struct loop_task wake;
    struct loop_timer timer;
    atomic_bool wake_posted;
    bool woken; /* since run_expect_wake, and not yet consumed by a wait */
};

/* Sets the first fields of *r, which must be zeroed. */
static inline void run_init(struct run *r, struct loop *loop, struct store *store,
                            struct pool *pool)
{
    r->loop = loop;
    r->store = store;
    r->pool = pool;
}

/* Checks that a step may begin now. OK, ERR_CLIENT_GONE, ERR_OPERATION_TIMED_OUT. The calls below
 * check it themselves; this is for front ends whose next step uses none of them. */
struct err run_check(const struct run *r);

void run_view(struct run *r, const struct run_txn *txn, run_step *then);
/* The same on the loop only: if it would wait, `then` gets an error for which store_wants_pool is
 * true. For a view that only saves a later update. */
void run_view_here(struct run *r, const struct run_txn *txn, run_step *then);
/* The same, always in the pool: for long views. */
void run_view_in_pool(struct run *r, const struct run_txn *txn, run_step *then);
void run_in_pool(struct run *r, struct pool *pool, run_work *work, run_step *then);
/* Retries an update whose partition is briefly frozen (ERR_PATH_BEING_MOVED). */
void run_update(struct run *r, const struct run_txn *txn, run_step *then);

/* One of several updates. Lives until `then` is called. */
struct run_part {
    struct run_txn txn;
    struct err outcome; /* out; set an error beforehand to skip the part */
    struct engine_update update;
    struct run *run;
};
/* Submits all at once, so that they share one flush; each is a separate transaction. Retries those
 * whose partition is briefly frozen, as run_update does. `then` gets OK when all have completed;
 * each part has its outcome. The array lives until then, too. */
void run_updates(struct run *r, struct run_part *const parts[], size_t count, run_step *then);

/* Forgets earlier calls of run_wake. Call it before anything that may cause one. */
static inline void run_expect_wake(struct run *r)
{
    r->woken = false;
}
/* `then` gets OK if run_wake was called since run_expect_wake; ERR_CLIENT_GONE or
 * ERR_OPERATION_TIMED_OUT if the wait was cancelled. */
void run_wait_for(struct run *r, const struct run_wait *wait, run_step *then);
/* From any thread, at most once for each wait. */
void run_wake(struct run *r);
/* The same on the loop's thread, while the request waits: calls `then` at once. */
void run_wake_here(struct run *r);
/* `then` gets OK when the time has passed. */
void run_delay(struct run *r, int64_t ms, run_step *then);
/* Continues on another loop, which owns the request from now on. Do not touch the request on this
 * loop's thread afterwards. */
void run_on(struct run *r, struct loop *loop, run_step *then);

/* The client has gone. On the loop's thread. May end the request before it returns. */
void run_cancel(struct run *r);

#endif
