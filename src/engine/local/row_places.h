/* SPDX-License-Identifier: Apache-2.0 */
/* Where rows lie whole in the journal: eight bytes for each, found by the hash of its key. Who
 * reads one row among millions finds it with one read of a file, which the kernel has in memory for
 * longer than RocksDB's cache has its block; a search of RocksDB would cost as much again, and then
 * the large part would still have to be read.
 *
 * It is in step with the commits as the cache of rows is (row_cache.h), but notes no commit with a
 * row: it answers for the newest announced one, and is of no use to older states. A place is a
 * proposal: two keys may look the same here, and one crowds the other out. Whoever reads there sees
 * by the key and the checksums whether it is the row. */
#ifndef ENGINE_LOCAL_ROW_PLACES_H
#define ENGINE_LOCAL_ROW_PLACES_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/local/journal.h"

enum {
    PLACES_LOCKS = 64,
    PLACES_WAYS = 8,
    PLACES_SAVED_MIN = 4096, /* fewer are soon learned, and not worth a file as long as the table */
};

struct row_places {
    _Atomic uint64_t announced;
    _Atomic uint64_t newest_file;
    _Atomic uint64_t noted;                   /* how many there are */
    uint64_t bucket_count;                    /* a power of two */
    _Atomic uint64_t (*buckets)[PLACES_WAYS]; /* 0: empty */
    void *memory;                             /* theirs */
    pthread_mutex_t locks[PLACES_LOCKS];      /* for who changes them */
    atomic_bool saved;                        /* there are more in a file of the last run */
    pthread_mutex_t saved_lock;
    int saved_fd; /* -1: none */
};

/* Untouched memory costs nothing: it takes what it gets filled with. */
struct row_places *row_places_new(uint64_t bytes_max, uint64_t commit);
void row_places_free(struct row_places *p);

/* The hash is row_cache_hash's. False when nothing is known that holds for this commit. */
bool row_places_find(const struct row_places *p, uint64_t hash, uint64_t commit,
                     struct row_place *out);
/* What the state of this commit has. */
void row_places_offer(struct row_places *p, uint64_t hash, uint64_t commit,
                      const struct row_place *place);

/* The same, but crowds nothing out. */
void row_places_offer_room(struct row_places *p, uint64_t hash, uint64_t commit,
                           const struct row_place *place);
/* Whether offers of this commit are taken. */
static inline bool row_places_in_step(const struct row_places *p, uint64_t commit)
{
    return atomic_load(&p->announced) == commit;
}
/* How many there is room for. */
static inline uint64_t row_places_room(const struct row_places *p)
{
    return p->bucket_count * PLACES_WAYS;
}

/* ---- from run to run (row_places_file.c) ---- */

/* Into the folder, when all is committed: the journal ends there, and no commit comes after. */
void row_places_save(const struct row_places *p, const char *folder,
                     const struct journal_place *at);
/* What the last run has saved there, when the journal still ends there. Nothing is read yet: a
 * store that nobody reads needs no memory for it. */
void row_places_find_saved(struct row_places *p, const char *folder,
                           const struct journal_place *at);
/* Reads it; to be called before the first commit at the latest. False when there was nothing. */
bool row_places_fetch_saved(struct row_places *p);
/* Those of one bucket, if there is room. */
void row_places_restore(struct row_places *p, uint64_t bucket, const uint64_t words[PLACES_WAYS]);

/* ---- the committer ---- */

/* The committer, as for the cache of rows: a row it has changed lies there; it lies nowhere whole,
 * or is gone. */
void row_places_announce(struct row_places *p, uint64_t commit);
/* What has this hash will be changed soon. */
void row_places_prefetch(const struct row_places *p, uint64_t hash);
void row_places_put(struct row_places *p, uint64_t hash, const struct row_place *place);
void row_places_drop(struct row_places *p, uint64_t hash);

#endif
