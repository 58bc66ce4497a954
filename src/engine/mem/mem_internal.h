/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the memory engine: mem.c (life, views, committer), mem_txn.c (rows and cursors),
 * mem_extent.c (extents). */
#ifndef ENGINE_MEM_MEM_INTERNAL_H
#define ENGINE_MEM_MEM_INTERNAL_H

#include <pthread.h>

#include "engine/engine_internal.h"
#include "engine/extent_row.h"
#include "engine/pins.h"
#include "engine/queue.h"
#include "engine/rowkey.h"
#include "engine/tree.h"

/* The bytes of one extent. Each is a segment of its own. */
struct mem_bytes {
    uint64_t id;
    uint32_t length;
    uint32_t check;
    bool adopted;
    uint64_t dropped_at;    /* the commit */
    struct mem_bytes *next; /* in its bucket of the table */
    struct mem_bytes *next_garbage;
    char bytes[];
};

/* All extents by id, and the dropped ones, which wait for older pins. */
struct mem_extents {
    pthread_mutex_t lock;
    struct mem_bytes **buckets;
    size_t bucket_count; /* a power of two */
    size_t count;
    uint64_t total_bytes;
    uint64_t coming_bytes; /* bytes of extents that are being written */
    uint64_t last_id;
    struct mem_bytes *garbage;
    struct mem_bytes **garbage_end;
};

struct mem_engine {
    struct engine base;
    const struct clock *clock;
    pthread_t committer;
    struct update_queue queue;
    pthread_mutex_t publish_lock; /* held only while the state is swapped, or for counting */
    struct tree published;
    struct pins pins;
    struct mem_extents extents;
    uint64_t limit; /* in bytes; 0: none */
    _Atomic uint64_t row_bytes;
    int64_t last_stamp; /* the committer's */
    uint64_t commit;    /* the committer's */
    atomic_uint_fast64_t updates;
    atomic_uint_fast64_t commits;
    struct histogram commit_updates, turn_us, turn_cpu_us; /* the committer's */
    _Atomic int64_t turn_began_us;                         /* 0: it waits for updates */
};

struct engine_state {
    struct tree tree;
};

/* An extent that an update adopted, or dropped to zero. Applied when the update commits. */
struct mem_settle {
    uint64_t id;
    bool adopted;
    struct mem_settle *next;
};

struct mem_kept_row {
    struct row *row;
    struct mem_kept_row *next;
};

struct mem_txn {
    struct txn base;
    struct mem_engine *engine;
    struct tree *tree; /* a view's state, or the committer's newest */
    struct arena arena;
    struct rowkey key;
    struct mem_kept_row *kept; /* rows handed out that the update may have replaced since */
    struct mem_settle *settle;
    int64_t grown; /* bytes that the update has added */
};

/* True if `more` bytes fit; `slack` allows the reserve for deletes. */
bool mem_has_room(struct mem_engine *m, uint64_t more, bool slack);

void mem_txn_init(struct mem_txn *t, struct mem_engine *e, struct tree *tree, struct str partition);
void mem_txn_release(struct mem_txn *t);

void mem_extents_init(struct mem_extents *x);
void mem_extents_release(struct mem_extents *x);
struct err mem_extent_begin(struct engine *e, uint32_t size_max, unsigned hints,
                            struct extent_writer **out);
void mem_extent_discard(struct engine *e, const struct extent *x);
struct err mem_extent_locate(struct engine *e, const struct extent *x,
                             const struct extent_part *part, struct extent_span *out);
struct err mem_extent_read(struct engine *e, const struct extent *x, const struct extent_part *part,
                           char *to);
/* Applies what this commit did to its extents. */
void mem_extents_settle(struct mem_extents *x, const struct mem_settle *settle, uint64_t commit);
/* Frees what was dropped up to the commit. */
void mem_extents_reclaim(struct mem_extents *x, uint64_t commit);

#endif
