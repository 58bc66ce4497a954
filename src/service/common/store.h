/* SPDX-License-Identifier: Apache-2.0 */
/* The common base of all services: the engine and the clock, and the few engine calls that front
 * ends make. A front end includes this header, never engine/engine.h. */
#ifndef SERVICE_COMMON_STORE_H
#define SERVICE_COMMON_STORE_H

#include "engine/engine.h"
#include "engine/wait.h"

struct opens;
struct blob_touches;
struct home;

struct store {
    struct engine *engine;
    const struct clock *clock;
    struct blob_touches
        *touches;        /* last access times of blobs (service/blob/touch.h); NULL: not kept */
    int64_t alone_since; /* no other process writes to it since that time; 0: others may */
    /* Ends an operation that a dead process left unfinished in a partition, because of which
     * updates are refused (path_across_rescue); waits. NULL: there is none. */
    struct err (*rescue)(struct store *s, struct str partition);
    struct opens *opens; /* the open-file table of the file service (service/file/opens/opens.h) */
    struct home *home;   /* which gateway that table is at (home.h); NULL: always this one */
};

static inline int64_t store_now(const struct store *s)
{
    return clock_now(s->clock);
}

/* True if a read that was tried on an event loop must run again in the pool with ENGINE_WAIT:
 * the engine would have to wait, or the work is too long for a loop. */
static inline bool store_wants_pool(struct err e)
{
    return e.code == ERR_WOULD_BLOCK || e.code == ERR_LONG_WORK;
}

/* A read transaction on the calling thread. With ENGINE_NOWAIT see store_wants_pool. */
static inline struct err store_read(struct store *s, struct str partition, enum engine_wait wait,
                                    engine_fn *fn, void *arg)
{
    return engine_view(s->engine, partition, wait, fn, arg);
}

/* The same for an event loop: see engine_view_run. */
static inline struct err store_read_run(struct store *s, struct engine_view_job *job)
{
    return engine_view_run(s->engine, job);
}

static inline void store_read_drop(struct store *s, struct engine_view_job *job)
{
    engine_view_drop(s->engine, job);
}

/* The same over a saved state; always waits. */
static inline struct err store_read_state(struct store *s, struct engine_state *state,
                                          struct str partition, engine_fn *fn, void *arg)
{
    return engine_view_state(s->engine, state, partition, fn, arg);
}

/* NULL is allowed. */
static inline void store_release_state(struct store *s, struct engine_state *state)
{
    if (state != NULL)
        engine_state_release(s->engine, state);
}

/* A write transaction: see engine_submit. */
static inline void store_write(struct store *s, struct engine_update *u)
{
    engine_submit(s->engine, u);
}

/* The same, waiting on the calling thread. */
static inline struct err store_write_wait(struct store *s, struct str partition, engine_fn *fn,
                                          void *arg)
{
    return engine_update_wait(s->engine, partition, fn, arg);
}

/* See engine_partitions. */
static inline struct err store_partitions(struct store *s, struct str prefix, struct str after,
                                          struct str key, partition_visit *visit, void *arg)
{
    return engine_partitions(s->engine, prefix, after, key, visit, arg);
}

/* ---- bytes ---- */

/* Keeps the extents readable that later reads find: see engine_pin. */
static inline struct engine_pin *store_pin(struct store *s)
{
    return engine_pin(s->engine);
}

/* NULL is allowed. */
static inline void store_unpin(struct store *s, struct engine_pin *pin)
{
    engine_unpin(s->engine, pin);
}

struct extent_range {
    uint32_t offset;
    uint32_t length;
};

/* A part of an extent, ready to be sent: see extent_locate. */
static inline struct err store_locate(struct store *s, const struct extent *x,
                                      struct extent_range part, enum engine_wait wait,
                                      struct extent_span *out)
{
    return extent_locate(s->engine, x, part.offset, part.length, wait, out);
}

/* Prefetch: see extent_read. */
static inline void store_prefetch(struct store *s, const struct extent *x, struct extent_range part)
{
    (void)extent_read(s->engine, x, part.offset, part.length, ENGINE_NOWAIT, NULL);
}

static inline void store_end_loan(struct engine_loan *loan)
{
    engine_loan_end(loan);
}

#endif
