/* SPDX-License-Identifier: Apache-2.0 */
/* An engine around another one, for tests: it passes every call on, and its hooks observe, count
 * or fail the calls. fault.c, count.c and repeat.c are such hooks. */
#ifndef ENGINE_WRAP_H
#define ENGINE_WRAP_H

#include "engine/engine_internal.h"

struct wrap_engine {
    struct engine base;
    struct engine *inner;
    const struct wrap_hooks *hooks;
    _Atomic uint64_t *lent; /* with `remote`: number of lent parts of extents */
};

struct wrap_txn {
    struct txn base;
    struct txn *inner;
    struct wrap_engine *engine;
    struct str partition;
    bool wrote;
    void *own; /* for the hooks; initially NULL */
};

struct wrap_cursor {
    struct cursor base;
    struct cursor *inner;
    struct wrap_txn *txn;
    struct str prefix; /* of a cursor over several partitions */
    struct str to;     /* of a cursor over a part of one partition: its end */
    /* For the hooks: how far the read-ahead reaches. */
    struct str reach_partition;
    struct str reach_key;
    bool reach_end;
};

enum wrap_call {
    WRAP_OTHER,
    WRAP_EXTENT_FINISH, /* an extent was written */
    WRAP_EXTENT_READ,
    WRAP_PARTITIONS,
};

/* Each may be NULL. */
struct wrap_hooks {
    /* Before each call that may fail; an error becomes the call's result. */
    struct err (*before)(struct wrap_engine *w, enum wrap_call call);
    /* After a successful call. */
    void (*read)(struct wrap_txn *t, const struct engine_read *reads, size_t count);
    void (*wrote)(struct wrap_txn *t, struct str key, unsigned hints);
    /* Called when a cursor was opened or moved. backward: moved to a key before another. */
    void (*moved)(struct wrap_cursor *c, bool backward);
    /* After the function has returned; its writes are committed next, unless it failed. */
    void (*ended)(struct wrap_txn *t, struct err result);
    /* Runs each function twice: updates are rolled back after the first run. */
    bool twice;
    /* Passes no hint on. */
    bool no_hints;
    /* Behaves like an engine across a network: every read must wait, and parts of extents are
     * copied and lent. */
    bool remote;
    void (*close)(struct wrap_engine *w);
};

/* w: zeroed heap memory that begins with a struct wrap_engine. Closing frees it and closes the
 * inner engine. */
struct engine *wrap_engine_init(struct wrap_engine *w, struct engine *inner,
                                const struct wrap_hooks *hooks);

#endif
