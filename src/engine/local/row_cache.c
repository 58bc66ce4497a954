/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/row_cache.h"

#include <assert.h>
#include <stdlib.h>

#include "core/mem.h"

struct row_cache *row_cache_new(uint64_t bytes_max, uint64_t commit)
{
    struct row_cache *c = MEM_NEW(struct row_cache);
    c->bytes_max = bytes_max;
    c->memory = mem_calloc(CACHE_BUCKETS + 1, sizeof *c->buckets);
    uintptr_t at = (uintptr_t)c->memory;
    c->buckets = (void *)(at + (sizeof *c->buckets - at % sizeof *c->buckets));
    atomic_init(&c->announced, commit);
    for (size_t i = 0; i < CACHE_LOCKS; i++)
        pthread_mutex_init(&c->locks[i].mutex, NULL);
    return c;
}

void row_cache_free(struct row_cache *c)
{
    for (size_t i = 0; i < CACHE_BUCKETS; i++) {
        for (size_t way = 0; way < CACHE_WAYS; way++) {
            if (c->buckets[i].rows[way] != NULL)
                cached_row_put(c->buckets[i].rows[way]);
        }
    }
    for (size_t i = 0; i < CACHE_LOCKS; i++)
        pthread_mutex_destroy(&c->locks[i].mutex);
    free(c->memory);
    free(c);
}

static uint64_t mix(uint64_t a)
{
    a *= 0x9E3779B97F4A7C15ULL;
    return a ^ a >> 32;
}

/* Hashes eight bytes at a time. The hash only selects a bucket: colliding keys cause misses,
 * nothing worse. */
uint64_t row_cache_hash(struct str key)
{
    uint64_t hash = key.n;
    uint64_t word;
    size_t at = 0;
    for (; at + sizeof word <= key.n; at += sizeof word) {
        memcpy(&word, key.p + at, sizeof word);
        hash = mix(hash ^ word);
    }
    word = 0;
    if (at < key.n)
        memcpy(&word, key.p + at, key.n - at);
    return mix(hash ^ word);
}

static struct cache_bucket *bucket_of(struct row_cache *c, uint64_t hash)
{
    return &c->buckets[hash & (CACHE_BUCKETS - 1)];
}

/* One lock covers a whole bucket. */
static pthread_mutex_t *lock_of(struct row_cache *c, uint64_t hash)
{
    return &c->locks[hash & (CACHE_LOCKS - 1)].mutex;
}

void cached_row_put(struct cached_row *row)
{
    assert(atomic_load_explicit(&row->refs, memory_order_relaxed) > 0);
    if (!ref_was_last(&row->refs))
        return;
    if (row->shared != NULL)
        row_put(row->shared);
    free(row);
}

static bool is_row_of(const struct cached_row *row, struct str key, uint64_t hash)
{
    return row != NULL && row->hash == hash && str_eq(key, cached_row_key(row));
}

static uint32_t tag_of(uint64_t hash)
{
    return (uint32_t)(hash >> 32);
}

/* Caller holds the lock. */
static struct cached_row **way_of(struct row_cache *c, struct str key, uint64_t hash)
{
    struct cache_bucket *bucket = bucket_of(c, hash);
    for (size_t way = 0; way < CACHE_WAYS; way++) {
        if (bucket->tags[way] == tag_of(hash) && is_row_of(bucket->rows[way], key, hash))
            return &bucket->rows[way];
    }
    return NULL;
}

struct cached_row *row_cache_find(struct row_cache *c, struct str key, uint64_t hash,
                                  uint64_t commit)
{
    union cache_lock *lock = &c->locks[hash & (CACHE_LOCKS - 1)];
    pthread_mutex_lock(&lock->mutex);
    struct cached_row **way = way_of(c, key, hash);
    struct cached_row *found = way != NULL && (*way)->since <= commit ? *way : NULL;
    tally_add(found != NULL ? &lock->hits : &lock->misses, 1);
    if (found != NULL) {
        atomic_fetch_add_explicit(&found->refs, 1, memory_order_relaxed);
        atomic_store_explicit(&found->used, true, memory_order_relaxed);
    }
    pthread_mutex_unlock(&lock->mutex);
    return found;
}

void row_cache_stats(const struct row_cache *c, uint64_t *hits, uint64_t *misses)
{
    *hits = *misses = 0;
    for (size_t i = 0; i < CACHE_LOCKS; i++) {
        *hits += tally_read(&c->locks[i].hits);
        *misses += tally_read(&c->locks[i].misses);
    }
}

void row_cache_prefetch(const struct row_cache *c, uint64_t hash)
{
    __builtin_prefetch(&c->buckets[hash & (CACHE_BUCKETS - 1)], 1);
}

/* ---- keeping ---- */

static struct cached_row *cached_row_new(struct str key, size_t value_bytes)
{
    struct cached_row *row = mem_alloc(sizeof *row + key.n + value_bytes);
    atomic_init(&row->refs, 1);
    atomic_init(&row->used, true);
    row->absent = false;
    row->key_n = (uint32_t)key.n;
    row->value_n = (uint32_t)value_bytes;
    row->shared = NULL;
    memcpy(row->bytes, key.p, key.n);
    return row;
}

static struct cached_row *row_of_offer(const struct row_offer *o)
{
    struct cached_row *row = cached_row_new(o->key, o->value.n);
    row->absent = !str_given(o->value);
    row->hash = o->hash;
    row->since = o->commit;
    if (o->value.n > 0)
        memcpy(cached_row_room(row), o->value.p, o->value.n);
    return row;
}

struct cached_row *row_cache_replacement(const struct cached_row *found, size_t value_bytes)
{
    if (found->key_n + value_bytes > CACHE_ROW_BYTES_MAX)
        return NULL;
    struct cached_row *row = cached_row_new(cached_row_key(found), value_bytes);
    row->hash = found->hash;
    row->since = found->since;
    return row;
}

static uint64_t row_bytes(const struct cached_row *row)
{
    return sizeof *row + row->key_n + row->value_n + (row->shared != NULL ? row->shared->room : 0);
}

/* Caller holds the lock, and releases the returned row after unlocking. */
static struct cached_row *take_out(struct row_cache *c, struct cached_row **way)
{
    struct cached_row *row = *way;
    *way = NULL;
    if (row != NULL)
        atomic_fetch_sub_explicit(&c->bytes, row_bytes(row), memory_order_relaxed);
    return row;
}

/* Caller holds the lock. */
static void put_in(struct row_cache *c, struct cached_row **way, struct cached_row *row)
{
    struct cache_bucket *bucket = bucket_of(c, row->hash);
    *way = row;
    bucket->tags[way - bucket->rows] = tag_of(row->hash);
    atomic_fetch_add_explicit(&c->bytes, row_bytes(row), memory_order_relaxed);
}

static bool asked_before(struct row_cache *c, uint64_t hash)
{
    _Atomic uint16_t *seen = &c->seen[hash >> 16 & (CACHE_SEEN - 1)];
    uint16_t mark = (uint16_t)(hash >> 48 | 1);
    if (atomic_load_explicit(seen, memory_order_relaxed) == mark)
        return true;
    atomic_store_explicit(seen, mark, memory_order_relaxed);
    return false;
}

/* Returns the way that holds the key, else an empty one, else one not used recently, else the
 * first. */
static struct cached_row **choose_way(struct cached_row **bucket, struct str key, uint64_t hash)
{
    struct cached_row **choice = NULL;
    for (size_t way = 0; way < CACHE_WAYS; way++) {
        if (is_row_of(bucket[way], key, hash))
            return &bucket[way];
        if (bucket[way] == NULL)
            choice = &bucket[way];
        else if (choice == NULL && !atomic_load_explicit(&bucket[way]->used, memory_order_relaxed))
            choice = &bucket[way];
    }
    return choice == NULL ? bucket : choice;
}

/* Clock eviction: a row that was used since the hand last passed stays for another round. */
static void make_room(struct row_cache *c)
{
    enum { BUCKETS_AT_ONCE = 8 };
    for (int i = 0; i < BUCKETS_AT_ONCE && atomic_load(&c->bytes) > c->bytes_max; i++) {
        uint32_t at = atomic_fetch_add(&c->hand, 1);
        struct cached_row **bucket = bucket_of(c, at)->rows;
        struct cached_row *out[CACHE_WAYS] = {NULL};
        pthread_mutex_lock(lock_of(c, at));
        for (size_t way = 0; way < CACHE_WAYS; way++) {
            if (bucket[way] != NULL && !atomic_exchange(&bucket[way]->used, false))
                out[way] = take_out(c, &bucket[way]);
        }
        pthread_mutex_unlock(lock_of(c, at));
        for (size_t way = 0; way < CACHE_WAYS; way++) {
            if (out[way] != NULL)
                cached_row_put(out[way]);
        }
    }
}

void row_cache_keep(struct row_cache *c, struct cached_row *row, uint64_t commit)
{
    assert(row->key_n + row->value_n <= CACHE_ROW_BYTES_MAX);
    struct str key = cached_row_key(row);
    struct cached_row *out = NULL;
    pthread_mutex_lock(lock_of(c, row->hash));
    /* Checked under the lock: if a commit is announced after this, its row_cache_renew is still
     * to come. */
    if (atomic_load(&c->announced) == commit) {
        struct cached_row **way = choose_way(bucket_of(c, row->hash)->rows, key, row->hash);
        out = take_out(c, way);
        atomic_fetch_add_explicit(&row->refs, 1, memory_order_relaxed);
        put_in(c, way, row);
    }
    pthread_mutex_unlock(lock_of(c, row->hash));
    if (out != NULL)
        cached_row_put(out);
    if (atomic_load_explicit(&c->bytes, memory_order_relaxed) > c->bytes_max)
        make_room(c);
}

void row_cache_offer(struct row_cache *c, const struct row_offer *o)
{
    if (o->key.n + o->value.n > CACHE_ROW_BYTES_MAX || atomic_load(&c->announced) != o->commit ||
        (!o->hot && !asked_before(c, o->hash)))
        return;
    struct cached_row *row = row_of_offer(o);
    row_cache_keep(c, row, o->commit);
    cached_row_put(row);
}

/* ---- commits ---- */

void row_cache_announce(struct row_cache *c, uint64_t commit)
{
    assert(commit >= atomic_load(&c->announced));
    atomic_store(&c->announced, commit);
}

static struct row_offer offer_now(struct row_cache *c, struct str key, uint64_t hash,
                                  struct str value)
{
    return (struct row_offer){.key = key,
                              .value = value,
                              .hash = hash,
                              .commit = atomic_load_explicit(&c->announced, memory_order_relaxed)};
}

void row_cache_renew(struct row_cache *c, struct str key, uint64_t hash, struct str value)
{
    struct row_offer now = offer_now(c, key, hash, value);
    struct cached_row *out = NULL;
    pthread_mutex_lock(lock_of(c, now.hash));
    struct cached_row **way = way_of(c, key, now.hash);
    if (way != NULL) {
        out = take_out(c, way);
        if (str_given(value) && key.n + value.n <= CACHE_ROW_BYTES_MAX)
            put_in(c, way, row_of_offer(&now));
    }
    pthread_mutex_unlock(lock_of(c, now.hash));
    if (out != NULL)
        cached_row_put(out);
}

struct cached_row *row_cache_make(struct row *row, uint64_t hash, uint64_t commit)
{
    struct row_offer offer = {
        .key = row_key(row), .value = row_value(row), .hash = hash, .commit = commit};
    if (row->key_n + row->value_n > CACHE_ROW_BYTES_MAX)
        return NULL;
    if (row->room > row->value_n)
        return row_of_offer(&offer);
    struct cached_row *sharing = mem_alloc(sizeof *sharing);
    atomic_init(&sharing->refs, 1);
    atomic_init(&sharing->used, true);
    sharing->absent = false;
    sharing->hash = hash;
    sharing->since = commit;
    sharing->key_n = row->key_n;
    sharing->value_n = row->value_n;
    sharing->shared = row_get(row);
    return sharing;
}
