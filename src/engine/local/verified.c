/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/verified.h"

#include <stdlib.h>

#include "core/mem.h"

struct verified *verified_new(void)
{
    struct verified *v = MEM_NEW(struct verified);
    for (size_t i = 0; i < VERIFIED_LOCKS; i++)
        pthread_mutex_init(&v->locks[i], NULL);
    return v;
}

void verified_free(struct verified *v)
{
    for (size_t i = 0; i < VERIFIED_LOCKS; i++)
        pthread_mutex_destroy(&v->locks[i]);
    free(v);
}

static size_t set_of(const struct extent *x)
{
    uint64_t hash = (x->segment * 0x9E3779B97F4A7C15ULL ^ x->offset >> 12) * 0xD6E8FEB86659FD93ULL;
    return (size_t)(hash >> 32) & (VERIFIED_SETS - 1);
}

static bool same_extent(const struct extent *a, const struct extent *b)
{
    return a->segment == b->segment && a->offset == b->offset && a->length == b->length &&
           a->check == b->check;
}

/* The extent's slot, or the one that it may take: that of the set which has been there longest. */
static struct verified_slot *slot_of(struct verified *v, size_t set, const struct extent *x)
{
    struct verified_slot *found = &v->sets[set][0];
    for (size_t way = 0; way < VERIFIED_WAYS; way++) {
        struct verified_slot *slot = &v->sets[set][way];
        if (same_extent(&slot->extent, x))
            return slot;
        if (slot->at_ms < found->at_ms)
            found = slot;
    }
    return found;
}

static bool is_known(const struct verified_slot *slot, const struct extent *x, int64_t now_ms)
{
    return slot->chunks != 0 && same_extent(&slot->extent, x) && now_ms - slot->at_ms < VERIFIED_MS;
}

uint64_t verified_chunks(struct verified *v, const struct extent *x)
{
    size_t set = set_of(x);
    pthread_mutex_t *lock = &v->locks[set % VERIFIED_LOCKS];
    int64_t now_ms = clock_mono_ms();
    pthread_mutex_lock(lock);
    const struct verified_slot *slot = slot_of(v, set, x);
    uint64_t chunks = is_known(slot, x, now_ms) ? slot->chunks : 0;
    pthread_mutex_unlock(lock);
    return chunks;
}

void verified_add(struct verified *v, const struct extent *x, uint64_t chunks)
{
    size_t set = set_of(x);
    pthread_mutex_t *lock = &v->locks[set % VERIFIED_LOCKS];
    int64_t now_ms = clock_mono_ms();
    pthread_mutex_lock(lock);
    struct verified_slot *slot = slot_of(v, set, x);
    if (is_known(slot, x, now_ms))
        slot->chunks |= chunks;
    else
        *slot = (struct verified_slot){*x, chunks, now_ms};
    pthread_mutex_unlock(lock);
}
