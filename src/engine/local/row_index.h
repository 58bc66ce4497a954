/* SPDX-License-Identifier: Apache-2.0 */
/* Where complete rows lie in the journal: eight bytes per row, found by the hash of its key. So
 * reading one row among millions costs one file read. The kernel usually has that page in memory
 * when RocksDB's cache has lost its block. Searching RocksDB would cost as much again, and the
 * large part would still have to be read.
 *
 * The index is kept in step with the commits like the row cache (row_cache.h), but stores no
 * commit with an entry: it is valid for the newest announced commit only and useless for older
 * states. An entry is a guess: two keys may look alike, and one replaces the other. The reader
 * verifies the key and the checksums. */
#ifndef ENGINE_LOCAL_ROW_INDEX_H
#define ENGINE_LOCAL_ROW_INDEX_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/local/journal.h"

enum {
    ROW_INDEX_LOCKS = 64,
    ROW_INDEX_WAYS = 8,
    ROW_INDEX_SAVED_MIN = 4096, /* fewer entries are not worth a file */
};

struct row_index {
    _Atomic uint64_t announced;
    _Atomic uint64_t newest_file;
    _Atomic uint64_t noted;                      /* number of entries */
    uint64_t bucket_count;                       /* a power of two */
    _Atomic uint64_t (*buckets)[ROW_INDEX_WAYS]; /* 0: empty */
    void *memory;                                /* the allocation that holds them */
    pthread_mutex_t locks[ROW_INDEX_LOCKS];      /* for changes */
    atomic_bool saved;                           /* a file of the last run holds more */
    pthread_mutex_t saved_lock;
    int saved_fd; /* -1: none */
};

/* Untouched memory costs nothing, so the index uses only what it fills. */
struct row_index *row_index_new(uint64_t bytes_max, uint64_t commit);
void row_index_free(struct row_index *p);

/* `hash` comes from row_cache_hash. False if the index has nothing valid for this commit. */
bool row_index_find(const struct row_index *p, uint64_t hash, uint64_t commit,
                    struct row_location *out);
/* Adds a row of this commit's state. */
void row_index_offer(struct row_index *p, uint64_t hash, uint64_t commit,
                     const struct row_location *location);

/* The same, without replacing another entry. */
void row_index_offer_room(struct row_index *p, uint64_t hash, uint64_t commit,
                          const struct row_location *location);
/* True if offers of this commit are accepted. */
static inline bool row_index_in_step(const struct row_index *p, uint64_t commit)
{
    return atomic_load(&p->announced) == commit;
}
/* Returns the capacity. */
static inline uint64_t row_index_room(const struct row_index *p)
{
    return p->bucket_count * ROW_INDEX_WAYS;
}

/* ---- from run to run (row_index_file.c) ---- */

/* Saves the index into the folder after the last commit: the journal must end at `at`. */
void row_index_save(const struct row_index *p, const char *folder,
                    const struct journal_position *at);
/* Finds the index that the last run has saved, if the journal still ends there. Reads nothing
 * yet, so that a store without reads needs no memory for it. */
void row_index_find_saved(struct row_index *p, const char *folder,
                          const struct journal_position *at);
/* Reads the saved index. Call it before the first commit at the latest. False if there was none. */
bool row_index_fetch_saved(struct row_index *p);
/* Restores the entries of one bucket, as far as there is space. */
void row_index_restore(struct row_index *p, uint64_t bucket, const uint64_t words[ROW_INDEX_WAYS]);

/* ---- the committer ---- */

/* Called by the committer, as for the row cache: the new location of a changed row; or that it
 * has none, or was deleted. */
void row_index_announce(struct row_index *p, uint64_t commit);
/* Prefetches the bucket of this hash. */
void row_index_prefetch(const struct row_index *p, uint64_t hash);
void row_index_put(struct row_index *p, uint64_t hash, const struct row_location *location);
void row_index_drop(struct row_index *p, uint64_t hash);

#endif
