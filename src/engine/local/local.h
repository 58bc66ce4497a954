/* SPDX-License-Identifier: Apache-2.0 */
/* The local engine: rows in RocksDB, extents in segment files, one committer thread. */
#ifndef ENGINE_LOCAL_LOCAL_H
#define ENGINE_LOCAL_LOCAL_H

#include "engine/engine.h"

struct engine_local_options {
    const char *folder; /* created if missing; its parent must exist */
    const struct clock *clock;
    bool relaxed;         /* acknowledge before the flush */
    bool read_only;       /* for `lazuli check`: no recovery, no writes */
    bool existing;        /* opens an existing store only; never creates one */
    uint64_t cache_bytes; /* 0: the default */
    /* File sizes; 0 means the default. Tests use small ones. */
    uint64_t journal_file_bytes;
    uint64_t segment_bytes;
    size_t fold_rows; /* rows that wait for RocksDB (fold.c); 0 means the default */
};

/* ERR_FOREIGN_STORE: the folder holds something else, or a newer format. ERR_STORE_IN_USE.
 * ERR_IO. */
struct err engine_local_open(const struct engine_local_options *options, struct engine **out);

/* The format of new stores. The engine opens all older formats, too. */
unsigned engine_local_format(void);

/* Progress of a long job: called now and then with the current step, the amount done, and the
 * estimated total. */
typedef void engine_progress(void *arg, const char *doing, uint64_t done, uint64_t of);

/* Rows of one partition, and a callback for their owners. A key may have several. */
struct row_owners {
    struct str partition;
    const struct str *keys;
    size_t count;
    const struct str *unread; /* keys of unreadable rows of the partition, in order */
    size_t unread_count;
    void (*found)(void *sink, size_t key, struct str owner);
    void *sink;
};

/* Options and results of `lazuli check`. */
struct engine_check {
    /* Called for every row: reports the extents that it names, so that the engine can compare
     * them with its counts without knowing what rows mean. False if it cannot decode the row. */
    bool (*refs)(struct str partition, struct str key, struct str value,
                 void (*named)(void *sink, const struct extent *x), void *sink);
    /* Finds the owners of damaged rows and of rows with damaged extents. May be NULL. */
    void (*owners)(struct engine *e, const struct row_owners *rows);
    void (*problem)(void *arg, const char *line);
    engine_progress *progress; /* or NULL */
    void *arg;
    uint64_t rows, extents, bytes, problems; /* output */
};
struct err engine_local_check(struct engine *e, struct engine_check *check);

/* A consistent copy of a live store in a new folder. */
struct engine_backup {
    const char *folder;
    engine_progress *progress; /* or NULL */
    void *arg;
    uint64_t rows, extents, bytes; /* output; bytes is the size of the files */
};
struct err engine_local_backup(struct engine *e, struct engine_backup *backup);

#endif
