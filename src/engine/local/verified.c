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

static size_t verified_index(const struct extent *x)
{
    uint64_t hash = (x->segment * 0x9E3779B97F4A7C15ULL ^ x->offset >> 12) * 0xD6E8FEB86659FD93ULL;
    return (size_t)(hash >> 32) & (VERIFIED_SLOTS - 1);
}

static bool same_extent(const struct extent *a, const struct extent *b)
{
    return a->segment == b->segment && a->offset == b->offset && a->length == b->length &&
           a->check == b->check;
}

uint64_t verified_chunks(struct verified *v, const struct extent *x)
{
    size_t index = verified_index(x);
    pthread_mutex_t *lock = &v->locks[index % VERIFIED_LOCKS];
    const struct verified_slot *slot = &v->slots[index];
    uint64_t chunks = 0;
    pthread_mutex_lock(lock);
    if (slot->chunks != 0 && same_extent(&slot->extent, x) &&
        clock_mono_ms() - slot->at_ms < VERIFIED_MS)
        chunks = slot->chunks;
    pthread_mutex_unlock(lock);
    return chunks;
}

void verified_add(struct verified *v, const struct extent *x, uint64_t chunks)
{
    size_t index = verified_index(x);
    pthread_mutex_t *lock = &v->locks[index % VERIFIED_LOCKS];
    struct verified_slot *slot = &v->slots[index];
    int64_t now_ms = clock_mono_ms();
    pthread_mutex_lock(lock);
    if (same_extent(&slot->extent, x) && now_ms - slot->at_ms < VERIFIED_MS)
        slot->chunks |= chunks;
    else
        *slot = (struct verified_slot){*x, chunks, now_ms};
    pthread_mutex_unlock(lock);
}
