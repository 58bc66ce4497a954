/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/row_index.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/mem.h"

/* An entry: part of the hash, the length in units, the offset in the file, and the low bits of
 * the file's number. Longer rows, and rows further back in a file, are not indexed. */
enum {
    TAG_BITS = 12,
    UNITS_BITS = 7,
    OFFSET_BITS = 27,
    FILE_BITS = 18,
    UNIT_BYTES = 128,
    UNITS_MAX = (1 << UNITS_BITS) - 1,
};
static_assert(TAG_BITS + UNITS_BITS + OFFSET_BITS + FILE_BITS == 64, "a place fills its word");

#define FILE_MASK   ((UINT64_C(1) << FILE_BITS) - 1)
#define OFFSET_MASK ((UINT64_C(1) << OFFSET_BITS) - 1)
#define TAG_SHIFT   (64 - TAG_BITS)

static uint64_t buckets_within(uint64_t bytes)
{
    uint64_t count = 1;
    while (2 * count * ROW_INDEX_WAYS * sizeof(uint64_t) <= bytes)
        count *= 2;
    return count;
}

struct row_index *row_index_new(uint64_t bytes_max, uint64_t commit)
{
    struct row_index *p = MEM_NEW(struct row_index);
    atomic_init(&p->announced, commit);
    p->bucket_count = buckets_within(bytes_max);
    p->memory = mem_calloc(p->bucket_count + 1, sizeof *p->buckets);
    /* A bucket is one cache line. */
    uintptr_t at = (uintptr_t)p->memory;
    p->buckets = (void *)(at + (sizeof *p->buckets - at % sizeof *p->buckets));
    for (size_t i = 0; i < ROW_INDEX_LOCKS; i++)
        pthread_mutex_init(&p->locks[i], NULL);
    pthread_mutex_init(&p->saved_lock, NULL);
    p->saved_fd = -1;
    return p;
}

void row_index_free(struct row_index *p)
{
    for (size_t i = 0; i < ROW_INDEX_LOCKS; i++)
        pthread_mutex_destroy(&p->locks[i]);
    pthread_mutex_destroy(&p->saved_lock);
    if (p->saved_fd >= 0)
        (void)close(p->saved_fd);
    free(p->memory);
    free(p);
}

static _Atomic uint64_t *bucket_of(const struct row_index *p, uint64_t hash)
{
    return p->buckets[hash & (p->bucket_count - 1)];
}

/* One lock covers a whole bucket. */
static pthread_mutex_t *lock_of(struct row_index *p, uint64_t hash)
{
    return &p->locks[hash & (p->bucket_count - 1) & (ROW_INDEX_LOCKS - 1)];
}

static bool has_tag_of(uint64_t word, uint64_t hash)
{
    return word != 0 && word >> TAG_SHIFT == hash >> TAG_SHIFT;
}

/* Returns the entry that looks like the key, or NULL. */
static _Atomic uint64_t *way_of(const struct row_index *p, uint64_t hash)
{
    _Atomic uint64_t *bucket = bucket_of(p, hash);
    for (size_t way = 0; way < ROW_INDEX_WAYS; way++) {
        if (has_tag_of(atomic_load_explicit(&bucket[way], memory_order_relaxed), hash))
            return &bucket[way];
    }
    return NULL;
}

/* ---- finding ---- */

bool row_index_find(const struct row_index *p, uint64_t hash, uint64_t commit,
                    struct row_location *out)
{
    assert(out != NULL);
    _Atomic uint64_t *way = way_of(p, hash);
    uint64_t word = way == NULL ? 0 : atomic_load(way);
    /* Checked after reading the entry: a newer commit announces itself before it changes
     * entries. */
    if (!has_tag_of(word, hash) || !row_index_in_step(p, commit))
        return false;
    uint64_t newest = atomic_load_explicit(&p->newest_file, memory_order_relaxed);
    out->file = newest - ((newest - word) & FILE_MASK);
    out->offset = word >> FILE_BITS & OFFSET_MASK;
    out->bytes = (word >> (FILE_BITS + OFFSET_BITS) & UNITS_MAX) * UNIT_BYTES;
    return true;
}

/* ---- changing ---- */

/* Returns 0 if the location cannot be indexed. */
static uint64_t word_of(struct row_index *p, uint64_t hash, const struct row_location *location)
{
    uint64_t units = (location->bytes + UNIT_BYTES - 1) / UNIT_BYTES;
    uint64_t newest = atomic_load(&p->newest_file);
    while (location->file > newest &&
           !atomic_compare_exchange_weak(&p->newest_file, &newest, location->file))
        ;
    if (units > UNITS_MAX || location->offset > OFFSET_MASK ||
        (location->file < newest && newest - location->file > FILE_MASK / 2))
        return 0;
    return hash >> TAG_SHIFT << TAG_SHIFT | units << (FILE_BITS + OFFSET_BITS) |
           location->offset << FILE_BITS | (location->file & FILE_MASK);
}

/* Returns the entry that looks like the key, else an empty one, else NULL. */
static _Atomic uint64_t *way_with_room(const struct row_index *p, uint64_t hash)
{
    _Atomic uint64_t *bucket = bucket_of(p, hash);
    _Atomic uint64_t *way = way_of(p, hash);
    for (size_t i = 0; i < ROW_INDEX_WAYS && way == NULL; i++) {
        if (atomic_load_explicit(&bucket[i], memory_order_relaxed) == 0)
            way = &bucket[i];
    }
    return way;
}

/* Caller holds the lock. Uses an empty entry, or replaces any other. */
static void note(struct row_index *p, uint64_t hash, uint64_t word)
{
    _Atomic uint64_t *way = way_with_room(p, hash);
    if (way == NULL)
        way = &bucket_of(p, hash)[(hash >> (TAG_SHIFT - 3)) % ROW_INDEX_WAYS];
    if (atomic_exchange(way, word) == 0)
        atomic_fetch_add_explicit(&p->noted, 1, memory_order_relaxed);
}

void row_index_offer(struct row_index *p, uint64_t hash, uint64_t commit,
                     const struct row_location *location)
{
    uint64_t word = word_of(p, hash, location);
    if (word == 0 || !row_index_in_step(p, commit))
        return;
    pthread_mutex_lock(lock_of(p, hash));
    /* Checked under the lock: if a commit is announced after this, its changes are still to
     * come. */
    if (row_index_in_step(p, commit))
        note(p, hash, word);
    pthread_mutex_unlock(lock_of(p, hash));
}

void row_index_offer_room(struct row_index *p, uint64_t hash, uint64_t commit,
                          const struct row_location *location)
{
    /* If another thread takes the entry meanwhile, it is replaced, which does no harm. */
    if (way_with_room(p, hash) != NULL)
        row_index_offer(p, hash, commit, location);
}

void row_index_restore(struct row_index *p, uint64_t bucket, const uint64_t words[ROW_INDEX_WAYS])
{
    pthread_mutex_lock(lock_of(p, bucket));
    for (size_t i = 0; i < ROW_INDEX_WAYS; i++) {
        uint64_t hash = words[i] >> TAG_SHIFT << TAG_SHIFT | bucket; /* the bits of the hash that
                                                                        matter here */
        _Atomic uint64_t *way = words[i] == 0 ? NULL : way_with_room(p, hash);
        if (way != NULL && atomic_exchange_explicit(way, words[i], memory_order_relaxed) == 0)
            atomic_fetch_add_explicit(&p->noted, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(lock_of(p, bucket));
}

void row_index_announce(struct row_index *p, uint64_t commit)
{
    assert(commit >= atomic_load(&p->announced));
    atomic_store(&p->announced, commit);
}

void row_index_prefetch(const struct row_index *p, uint64_t hash)
{
    __builtin_prefetch(bucket_of(p, hash), 1);
}

void row_index_put(struct row_index *p, uint64_t hash, const struct row_location *location)
{
    uint64_t word = word_of(p, hash, location);
    if (word == 0) {
        row_index_drop(p, hash);
        return;
    }
    pthread_mutex_lock(lock_of(p, hash));
    note(p, hash, word);
    pthread_mutex_unlock(lock_of(p, hash));
}

void row_index_drop(struct row_index *p, uint64_t hash)
{
    pthread_mutex_lock(lock_of(p, hash));
    _Atomic uint64_t *way = way_of(p, hash);
    if (way != NULL) {
        atomic_store(way, 0);
        atomic_fetch_sub_explicit(&p->noted, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(lock_of(p, hash));
}
