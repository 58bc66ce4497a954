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
    bool existing;        /* only a store that is there: none is made */
    uint64_t cache_bytes; /* 0: the default */
    /* How large files get; 0: the defaults. Tests make them small. */
    uint64_t journal_file_bytes;
    uint64_t segment_bytes;
    size_t fold_rows; /* how many rows wait for RocksDB (fold.c); the same */
};

/* ERR_FOREIGN_STORE: the folder holds something else, or a newer format. ERR_STORE_IN_USE. ERR_IO.
 */
struct err engine_local_open(const struct engine_local_options *options, struct engine **out);

/* The format of the stores that it makes; it opens those of all formats before, too. */
unsigned engine_local_format(void);

/* How far something is that takes long: called now and then with what is being done, how much of it
 * is done, and about how much there is. */
typedef void engine_progress(void *arg, const char *doing, uint64_t done, uint64_t of);

/* Rows of one partition, and whom to tell what they belong to: a key may have several owners. */
struct row_owners {
    struct str partition;
    const struct str *keys;
    size_t count;
    const struct str *unread; /* keys of the partition whose rows cannot be read, in order */
    size_t unread_count;
    void (*found)(void *sink, size_t key, struct str owner);
    void *sink;
};

/* What `lazuli check` finds. */
struct engine_check {
    /* Called with every row: says which extents it names, so that the engine can compare them with
     * its counts without knowing what rows mean; false when it cannot read the row. */
    bool (*refs)(struct str partition, struct str key, struct str value,
                 void (*named)(void *sink, const struct extent *x), void *sink);
    /* Says what rows belong to that are damaged, or whose extents are. NULL: nobody knows. */
    void (*owners)(struct engine *e, const struct row_owners *rows);
    void (*problem)(void *arg, const char *line);
    engine_progress *progress; /* or NULL */
    void *arg;
    uint64_t rows, extents, bytes, problems; /* filled in */
};
struct err engine_local_check(struct engine *e, struct engine_check *check);

/* A consistent copy of a live store in a new folder. */
struct engine_backup {
    const char *folder;
    engine_progress *progress; /* or NULL */
    void *arg;
    uint64_t rows, extents, bytes; /* filled in; the bytes are those of the files */
};
struct err engine_local_backup(struct engine *e, struct engine_backup *backup);

#endif
