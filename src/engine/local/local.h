/* SPDX-License-Identifier: Apache-2.0 */
/* The local engine: rows in RocksDB, extents in segment files, one committer thread. */
#ifndef ENGINE_LOCAL_LOCAL_H
#define ENGINE_LOCAL_LOCAL_H

#include "engine/engine.h"

struct engine_local_options {
    const char *folder; /* made when missing; its parent must exist */
    const struct clock *clock;
    bool relaxed;         /* acknowledge before the flush */
    bool read_only;       /* for `lazuli check`: no recovery, no writes */
    uint64_t cache_bytes; /* 0: the default */
    /* How large files get; 0: the defaults. Tests make them small. */
    uint64_t journal_file_bytes;
    uint64_t segment_bytes;
    size_t fold_rows; /* how many rows wait for RocksDB (fold.c); the same */
};

/* ERR_FOREIGN_STORE: the folder holds something else, or a newer format. ERR_STORE_IN_USE. ERR_IO.
 */
struct err engine_local_open(const struct engine_local_options *options, struct engine **out);

/* What `lazuli check` finds. `refs` is called with every row and says which extents it names, so
 * that the engine can compare them with its counts without knowing what rows mean; it returns false
 * when it cannot read the row. */
struct engine_check {
    bool (*refs)(struct str partition, struct str key, struct str value,
                 void (*named)(void *sink, const struct extent *x), void *sink);
    void (*problem)(void *arg, const char *line);
    void *arg;
    uint64_t rows, extents, bytes, problems; /* filled in */
};
struct err engine_local_check(struct engine *e, struct engine_check *check);

/* A consistent copy of a live store in a new folder. */
struct err engine_local_backup(struct engine *e, const char *folder);

#endif
