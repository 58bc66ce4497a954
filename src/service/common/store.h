/* SPDX-License-Identifier: Apache-2.0 */
/* What every service works on: the engine and the clock, and the few calls that front ends make on
 * the engine. A front end includes this, never engine/engine.h. */
#ifndef SERVICE_COMMON_STORE_H
#define SERVICE_COMMON_STORE_H

#include "engine/engine.h"

struct opens;
struct blob_touches;

struct store {
    struct engine *engine;
    const struct clock *clock;
    struct blob_touches
        *touches;        /* when blobs were last read (service/blob/touch.h); NULL: not kept */
    struct opens *opens; /* the open-file table of the file service (service/file/opens/opens.h) */
};

static inline int64_t store_now(const struct store *s)
{
    return clock_now(s->clock);
}

/* A read transaction on the calling thread. ERR_WOULD_BLOCK with ENGINE_NOWAIT. */
static inline struct err store_read(struct store *s, struct str partition, enum engine_wait wait,
                                    engine_fn *fn, void *arg)
{
    return engine_view(s->engine, partition, wait, fn, arg);
}

/* The same, of a state that an earlier one kept; always waits. */
static inline struct err store_read_state(struct store *s, struct engine_state *state,
                                          struct str partition, engine_fn *fn, void *arg)
{
    return engine_view_state(s->engine, state, partition, fn, arg);
}

/* A write transaction: see engine_submit. */
static inline void store_write(struct store *s, struct engine_update *u)
{
    engine_submit(s->engine, u);
}

#endif
