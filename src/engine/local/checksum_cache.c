/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/checksum_cache.h"

#include <stdlib.h>

#include "core/mem.h"

struct checksum_cache *checksum_cache_new(void)
{
    struct checksum_cache *v = MEM_NEW(struct checksum_cache);
    for (size_t i = 0; i < CHECKSUM_CACHE_LOCKS; i++)
        pthread_mutex_init(&v->locks[i], NULL);
    return v;
}

void checksum_cache_free(struct checksum_cache *v)
{
    for (size_t i = 0; i < CHECKSUM_CACHE_LOCKS; i++)
        pthread_mutex_destroy(&v->locks[i]);
    free(v);
}

static size_t set_of(const struct extent *x)
{
    uint64_t hash = (x->segment * 0x9E3779B97F4A7C15ULL ^ x->offset >> 12) * 0xD6E8FEB86659FD93ULL;
    return (size_t)(hash >> 32) & (CHECKSUM_CACHE_SETS - 1);
}

static bool same_extent(const struct extent *a, const struct extent *b)
{
    return a->segment == b->segment && a->offset == b->offset && a->length == b->length &&
           a->check == b->check;
}

/* Returns the extent's slot, or the oldest slot of its set. */
static struct checksum_cache_slot *slot_of(struct checksum_cache *v, size_t set,
                                           const struct extent *x)
{
    struct checksum_cache_slot *found = &v->sets[set][0];
    for (size_t way = 0; way < CHECKSUM_CACHE_WAYS; way++) {
        struct checksum_cache_slot *slot = &v->sets[set][way];
        if (same_extent(&slot->extent, x))
            return slot;
        if (slot->at_ms < found->at_ms)
            found = slot;
    }
    return found;
}

static bool is_known(const struct checksum_cache_slot *slot, const struct extent *x, int64_t now_ms)
{
    return slot->chunks != 0 && same_extent(&slot->extent, x) &&
           now_ms - slot->at_ms < CHECKSUM_CACHE_MS;
}

uint64_t checksum_cache_chunks(struct checksum_cache *v, const struct extent *x)
{
    size_t set = set_of(x);
    pthread_mutex_t *lock = &v->locks[set % CHECKSUM_CACHE_LOCKS];
    int64_t now_ms = clock_mono_ms();
    pthread_mutex_lock(lock);
    const struct checksum_cache_slot *slot = slot_of(v, set, x);
    uint64_t chunks = is_known(slot, x, now_ms) ? slot->chunks : 0;
    pthread_mutex_unlock(lock);
    return chunks;
}

void checksum_cache_add(struct checksum_cache *v, const struct extent *x, uint64_t chunks)
{
    size_t set = set_of(x);
    pthread_mutex_t *lock = &v->locks[set % CHECKSUM_CACHE_LOCKS];
    int64_t now_ms = clock_mono_ms();
    pthread_mutex_lock(lock);
    struct checksum_cache_slot *slot = slot_of(v, set, x);
    if (is_known(slot, x, now_ms))
        slot->chunks |= chunks;
    else
        *slot = (struct checksum_cache_slot){*x, chunks, now_ms};
    pthread_mutex_unlock(lock);
}
