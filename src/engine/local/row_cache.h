/* SPDX-License-Identifier: Apache-2.0 */
/* A cache of rows as RocksDB stores them, kept in step with the commits: a row found here is what
 * the asking state holds. It answers in a tenth of a microsecond what RocksDB answers in two, so it
 * carries the rows that nearly every request reads and those read again and again. Of a large value
 * it has the place in the journal first, and when that is asked for once more, the value itself, as
 * a row that is stored here would be: so a much-read value costs no read of a file.
 *
 * Each row notes the commit since which it is known to be so. The committer, before it publishes a
 * commit, announces its number and then renews or throws out every row it has changed; a reader
 * offers a row only while no newer commit than its own is announced. So a row that is present has
 * not changed from `since` to the newest announced commit, and serves every state from `since` on.
 */
#ifndef ENGINE_LOCAL_ROW_CACHE_H
#define ENGINE_LOCAL_ROW_CACHE_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#include "core/str.h"
#include "core/tally.h"
#include "engine/tree.h"

enum {
    CACHE_BUCKETS = 16384, /* a power of two, as the next three */
    CACHE_WAYS = 4,
    CACHE_LOCKS = 64,
    CACHE_SEEN = 65536,
    CACHE_ROW_BYTES_MAX = 12 << 10, /* with a small content in it, but not a large one */
};

struct cached_row {
    atomic_uint refs;
    atomic_bool used; /* since the hand last came by */
    bool absent;      /* known not to be there */
    uint64_t hash;
    uint64_t since;
    uint32_t key_n;
    uint32_t value_n;
    struct row *shared; /* whose bytes it has, with a reference; NULL: its own */
    char bytes[];
};

/* With room around it: a lock that is taken must not slow down its neighbours' takers. */
union cache_lock {
    struct {
        pthread_mutex_t mutex;
        tally hits, misses; /* by who holds the lock */
    };
    char room[64];
};
static_assert(sizeof(union cache_lock) == 64, "a lock is a line");

/* As large as a line of the processor's caches, and in one: most looks for a row miss there. */
struct cache_bucket {
    struct cached_row *rows[CACHE_WAYS];
    /* Part of each one's hash: to look at a row takes longer than to look at its bucket. */
    uint32_t tags[CACHE_WAYS];
    char room[16];
};
static_assert(sizeof(struct cache_bucket) == 64, "a bucket is a line");

struct row_cache {
    _Atomic uint64_t announced;
    uint64_t bytes_max;
    _Atomic uint64_t bytes;
    _Atomic uint32_t hand; /* the bucket where the next row is thrown out for want of room */
    union cache_lock locks[CACHE_LOCKS];
    struct cache_bucket *buckets;
    void *memory;                      /* what they are in */
    _Atomic uint16_t seen[CACHE_SEEN]; /* what was asked for lately and not found */
};

struct row_cache *row_cache_new(uint64_t bytes_max, uint64_t commit);
void row_cache_free(struct row_cache *c);

uint64_t row_cache_hash(struct str key);
/* With a reference, or NULL. */
struct cached_row *row_cache_find(struct row_cache *c, struct str key, uint64_t hash,
                                  uint64_t commit);
/* A row that was not found, and then read from the state of this commit; an absent value says that
 * there is none. It is kept when `hot`, or when it was asked for before. */
struct row_offer {
    struct str key;
    struct str value;
    uint64_t hash;
    uint64_t commit;
    bool hot;
};
void row_cache_offer(struct row_cache *c, const struct row_offer *offer);
void cached_row_put(struct cached_row *row);

/* A row in place of one that was found, with room for a value of so many bytes, which the caller
 * fills in and then has it kept. With a reference; NULL when it is too large to be kept. */
struct cached_row *row_cache_replacement(const struct cached_row *found, size_t value_bytes);
/* Where its value goes. */
static inline char *cached_row_room(struct cached_row *row)
{
    return row->bytes + row->key_n;
}
/* The caller's reference stays its own. `commit` is the one that the value was read at. */
void row_cache_keep(struct row_cache *c, struct cached_row *row, uint64_t commit);

static inline struct str cached_row_key(const struct cached_row *row)
{
    return (struct str){row->shared != NULL ? row->shared->bytes : row->bytes, row->key_n};
}

static inline struct str cached_row_value(const struct cached_row *row)
{
    return row->absent ? STR_NONE : (struct str){cached_row_key(row).p + row->key_n, row->value_n};
}

/* The committer: this commit is about to be published; then each row it has changed, as stored,
 * with an absent value for one that is gone. What was kept is kept as it is now; nothing is added.
 */
void row_cache_announce(struct row_cache *c, uint64_t commit);
void row_cache_renew(struct row_cache *c, struct str key, uint64_t hash, struct str value);
/* The same for a row that is to be kept in any case: it is made before, with the number of the
 * commit, and kept with row_cache_keep. NULL when it is too large: then it is renewed. If the row
 * does not have much room that it does not use, its bytes are shared. */
struct cached_row *row_cache_make(struct row *row, uint64_t hash, uint64_t commit);
/* How often rows were found, and not. */
void row_cache_stats(const struct row_cache *c, uint64_t *hits, uint64_t *misses);
/* A row of this hash will be asked for soon. */
void row_cache_prefetch(const struct row_cache *c, uint64_t hash);

#endif
