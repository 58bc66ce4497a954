/* SPDX-License-Identifier: Apache-2.0 */
/* One request on its way through the server: the only place where a request is suspended and
 * resumed, for every REST operation and every SMB command.
 *
 * A request lives on its event loop. Each call below does one thing and goes on with the step
 * `then`, on the loop's thread:
 *   run_view         a read transaction: here, as soon as its rows have come, or in the pool when
 *                    it would wait for something else
 *   run_in_pool      any work that waits for a disk or another server
 *   run_update       a transaction that is committed by the engine
 *   run_updates      several of them side by side
 *   run_wait_for     waits for someone else: SMB clients that hold caches or locks, test control
 *   run_delay        waits for time to pass
 *   run_on           goes on on another loop
 * `then` may be called before these return, when nothing had to wait. Between two steps nothing but
 * the thread that works on the request touches it, and no lock is held.
 *
 * One deadline: past `deadline` no step is begun, neither on the loop, nor in the pool (however
 * long it was queued), nor in the engine's queue, and a wait ends: ERR_OPERATION_TIMED_OUT.
 * One cancellation: run_cancel says that the client has gone. A wait ends at once, and with
 * `stops_when_gone` no step is begun any more: ERR_CLIENT_GONE. What is under way in the pool or in
 * the engine ends first.
 * Neither stops a request whose update was committed: what belongs to it is done to its end. */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include <stdatomic.h>

#include "core/container.h"
#include "net/pool.h"
#include "service/common/store.h"

struct run;

/* A step, on the loop's thread: it begins the next one, or answers the request. */
typedef void run_step(struct run *r, struct err outcome);
/* On a pool thread. It touches the request's own memory and nothing of the loop's. */
typedef struct err run_work(struct run *r);

enum run_state {
    RUN_HERE,      /* on its loop; also between two steps */
    RUN_IN_POOL,   /* queued for a pool thread, or on it */
    RUN_READING,   /* the engine fetches rows for it */
    RUN_IN_ENGINE, /* queued for the commit, or in it */
    RUN_WAITING,   /* for someone else, or for time to pass */
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

/* A wait for someone else, which calls run_wake once. */
struct run_wait {
    int64_t until_ms;    /* by the loop's clock; INT64_MAX: without end */
    int64_t until_ticks; /* by the store's clock, which tests may shift; 0: not looked at */
    /* Takes the wait back, on the loop's thread. False: run_wake was called, or is about to be. */
    bool (*take_back)(struct run *r);
    /* When the time is over: does what makes run_wake come. NULL: the wait is taken back, and the
     * step gets ERR_OPERATION_TIMED_OUT. */
    void (*over)(struct run *r);
};

struct run {
    /* The front end's. */
    struct loop *loop;
    struct store *store;
    struct pool *pool;
    int64_t deadline;            /* ticks of the store's clock; 0: none */
    atomic_bool stops_when_gone; /* otherwise a client that has gone only ends waits */
    bool from_table; /* its transactions go on from what the open-file table has (home_check) */

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
    unsigned tries;             /* of an update that met a path on its way out of its container */
    atomic_size_t updates_left; /* of several, that have not come back */
    /* A wait. */
    struct run_wait wait;
    struct loop_task wake;
    struct loop_timer timer;
    atomic_bool wake_posted;
    bool woken; /* since run_expect_wake, and not used up by a wait */
};

/* *r is zeroed, and its first fields are set. */
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
 * true. For a view that only spares the update after it. */
void run_view_here(struct run *r, const struct run_txn *txn, run_step *then);
/* The same, always in the pool: for long views. */
void run_view_in_pool(struct run *r, const struct run_txn *txn, run_step *then);
void run_in_pool(struct run *r, struct pool *pool, run_work *work, run_step *then);
/* An update that finds its partition frozen for a moment (ERR_PATH_BEING_MOVED) is tried again. */
void run_update(struct run *r, const struct run_txn *txn, run_step *then);

/* One of several updates. Lives until `then` is called. */
struct run_part {
    struct run_txn txn;
    struct err outcome; /* out; set an error beforehand to skip the part */
    struct engine_update update;
    struct run *run;
};
/* Submits all at once, so that one flush serves them; each is its own transaction. `then` gets OK
 * when all have completed; each part has its own outcome. */
void run_updates(struct run *r, struct run_part *const parts[], size_t count, run_step *then);

/* Before whatever may make someone call run_wake: forgets an earlier call. */
static inline void run_expect_wake(struct run *r)
{
    r->woken = false;
}
/* `then` gets OK when run_wake was called since run_expect_wake; ERR_CLIENT_GONE and
 * ERR_OPERATION_TIMED_OUT when the wait was taken back. */
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
