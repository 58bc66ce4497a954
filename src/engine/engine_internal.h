/* SPDX-License-Identifier: Apache-2.0 */
/* The interface between engine.c and an engine: tables of functions behind the calls of
 * engine.h. An engine embeds these structs as the first members of its own. Only code under
 * engine/ includes this. */
#ifndef ENGINE_ENGINE_INTERNAL_H
#define ENGINE_ENGINE_INTERNAL_H

#include "engine/engine.h"
#include "engine/record.h"
#include "engine/stats.h"

/* The arguments of engine_partitions. */
struct partition_walk {
    struct str prefix;
    struct str after;
    struct str key;
    partition_visit *visit;
    void *arg;
};

struct extent_part {
    uint32_t offset;
    uint32_t length;
    enum engine_wait wait;
};

/* engine.c has already checked the sizes of partitions, keys and values, the bounds of extents,
 * and that only updates write. */
struct engine_ops {
    struct err (*view)(struct engine *e, struct str partition, enum engine_wait wait, engine_fn *fn,
                       void *arg);
    /* Jobs. May be NULL: then they are run by `view`. */
    struct err (*view_run)(struct engine *e, struct engine_view_job *job);
    void (*view_drop)(struct engine *e, struct engine_view_job *job);
    void (*views_end)(struct engine *e);
    struct err (*view_state)(struct engine *e, struct engine_state *state, struct str partition,
                             engine_fn *fn, void *arg);
    void (*state_release)(struct engine *e, struct engine_state *state);
    void (*submit)(struct engine *e, struct engine_update *u);
    struct err (*flush)(struct engine *e);
    struct err (*partitions)(struct engine *e, const struct partition_walk *walk);
    struct err (*extent_begin)(struct engine *e, uint32_t size_max, unsigned hints,
                               struct extent_writer **out);
    void (*extent_discard)(struct engine *e, const struct extent *x);
    struct err (*extent_locate)(struct engine *e, const struct extent *x,
                                const struct extent_part *part, struct extent_span *out);
    struct err (*extent_read)(struct engine *e, const struct extent *x,
                              const struct extent_part *part, char *to);
    /* May be NULL. */
    void (*extent_prefetch)(struct engine *e, const struct extent *x,
                            const struct extent_part *part);
    struct engine_pin *(*pin)(struct engine *e);
    void (*unpin)(struct engine *e, struct engine_pin *pin);
    void (*usage)(struct engine *e, struct engine_usage *out);
    /* Statistics beyond `usage`, which engine.c fills in. May be NULL. */
    void (*stats)(struct engine *e, struct engine_stats *out);
    void (*close)(struct engine *e);
    bool records; /* txn_run_update runs its updates, and its transactions can write to other
                     partitions (write_beside) */
};

struct engine {
    const struct engine_ops *ops;
    struct engine_recorder *recorder; /* NULL: no recorder */
};

/* A row that is put always has a value, which may be empty. */
struct txn_ops {
    /* The loans are empty. */
    struct err (*get_many)(struct txn *t, struct engine_read *reads, size_t count);
    struct err (*put)(struct txn *t, const struct engine_row *row);
    /* Of a row with keeps_body, which `put` never gets. NULL: engine.c uses a get and a put. */
    struct err (*put_keeping)(struct txn *t, const struct engine_row *row);
    struct err (*insert)(struct txn *t, const struct engine_row *row);
    /* NULL: engine.c uses a get and a put. */
    struct err (*append)(struct txn *t, struct str key, struct str bytes, unsigned hints);
    struct err (*del)(struct txn *t, struct str key);
    /* Opens a cursor over from <= key < to, up to the partition's end if `to` is absent. Both
     * are borrowed for the call only. */
    struct err (*cursor_open)(struct txn *t, struct str from, struct str to, struct cursor **out);
    /* The cursor has no position until its first seek. */
    struct err (*cursor_open_across)(struct txn *t, struct str prefix, struct cursor **out);
    void (*keep_state)(struct txn *t, struct engine_state **kept);
    struct err (*extent)(struct txn *t, enum extent_change change, const struct extent *x);
    /* NULL where the engine does not record. An absent value deletes. */
    struct err (*put_beside)(struct txn *t, struct str partition, const struct engine_row *row);
};

/* An extent that is to be dropped after the function has returned. */
struct late_drop {
    struct extent extent;
    struct late_drop *next;
};

struct txn {
    const struct txn_ops *ops;
    struct arena *arena;
    int64_t now;
    int64_t stamp;
    bool writable;
    enum engine_wait wait;
    unsigned hints;         /* see txn_hint */
    struct cursor *cursors; /* those open */
    /* Set by txn_run_update when there is a recorder. */
    struct engine_recorder *recorder;
    struct str partition;
    struct late_drop *drops, **drops_end;
};

/* Runs an update's function for an engine that records. */
struct err txn_run_update(struct txn *t, struct engine *e, const struct engine_update *u);

/* Closes the cursors that a transaction function left open, for example on an error. */
void txn_close_cursors(struct txn *t);

/* A cursor over one partition has no seek_across. A cursor over several has seek_across, next
 * and close only. */
struct cursor_ops {
    struct err (*seek)(struct cursor *c, struct str key);
    struct err (*seek_across)(struct cursor *c, struct str partition, struct str key);
    struct err (*next)(struct cursor *c);
    struct err (*skip)(struct cursor *c, struct str skip);
    struct err (*seek_before)(struct cursor *c, struct str key);
    void (*close)(struct cursor *c);
};

struct extent_writer_ops {
    struct err (*append)(struct extent_writer *w, struct str bytes);
    struct err (*finish)(struct extent_writer *w, struct extent *out);
    void (*abandon)(struct extent_writer *w);
};

struct extent_writer {
    const struct extent_writer_ops *ops;
    uint32_t length;
    uint32_t size_max;
};

/* No engine limits what a transaction function allocates; the limits on its inputs do. */
#define TXN_ARENA_LIMIT SIZE_MAX

#endif
