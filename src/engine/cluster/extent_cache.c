/* SPDX-License-Identifier: Apache-2.0 */
/* A cache of bytes of extents that were written or read recently. Extents never change, so no entry
 * is ever stale. */
#include <assert.h>
#include <stdlib.h>

#include "core/mem.h"
#include "engine/cluster/extents.h"

struct extent_bytes *extent_bytes_new(const struct extent *extent, uint32_t from, uint32_t length,
                                      uint32_t room)
{
    assert(length <= room);
    struct extent_bytes *b = MEM_NEW(struct extent_bytes);
    atomic_init(&b->refs, 1);
    b->extent = *extent;
    b->from = from;
    b->length = length;
    b->bytes = mem_alloc(room);
    return b;
}

struct extent_bytes *extent_bytes_get(struct extent_bytes *b)
{
    assert(atomic_load_explicit(&b->refs, memory_order_relaxed) > 0);
    atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}

void extent_bytes_put(void *bytes)
{
    struct extent_bytes *b = bytes;
    if (atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1)
        return;
    free(b->bytes);
    free(b);
}

static struct extent_bytes **bucket_of(struct extents *x, const struct extent *extent)
{
    uint64_t hash =
        (extent->segment * 0x9E3779B97F4A7C15ULL) ^ (extent->offset * 0xC2B2AE3D27D4EB4FULL);
    return &x->buckets[(hash >> 32) % (sizeof x->buckets / sizeof x->buckets[0])];
}

/* The lock is held. */
static void unlink_oldest(struct extents *x, struct extent_bytes *b)
{
    if (b->older != NULL)
        b->older->newer = b->newer;
    else
        x->oldest = b->newer;
    if (b->newer != NULL)
        b->newer->older = b->older;
    else
        x->newest = b->older;
    b->older = b->newer = NULL;
}

static void link_newest(struct extents *x, struct extent_bytes *b)
{
    b->older = x->newest;
    if (x->newest != NULL)
        x->newest->newer = b;
    else
        x->oldest = b;
    x->newest = b;
}

static void evict(struct extents *x, struct extent_bytes *b)
{
    assert(b->cached && x->cached_bytes >= b->length);
    struct extent_bytes **link = bucket_of(x, &b->extent);
    while (*link != b)
        link = &(*link)->bucket_next;
    *link = b->bucket_next;
    unlink_oldest(x, b);
    x->cached_bytes -= b->length;
    b->cached = false;
    extent_bytes_put(b);
}

bool extent_bytes_hold(const struct extent_bytes *b, const struct extent *extent, uint32_t offset,
                       uint32_t length)
{
    return b->extent.segment == extent->segment && b->extent.offset == extent->offset &&
           b->extent.length == extent->length && b->extent.check == extent->check &&
           b->from <= offset && offset + length <= b->from + b->length;
}

struct extent_bytes *extent_cache_find(struct extents *x, const struct extent *extent,
                                       uint32_t offset, uint32_t length)
{
    pthread_mutex_lock(&x->lock);
    struct extent_bytes *b = *bucket_of(x, extent);
    while (b != NULL && !extent_bytes_hold(b, extent, offset, length))
        b = b->bucket_next;
    if (b != NULL) {
        unlink_oldest(x, b);
        link_newest(x, b);
        extent_bytes_get(b);
    }
    pthread_mutex_unlock(&x->lock);
    return b;
}

void extent_cache_add(struct extents *x, struct extent_bytes *b)
{
    pthread_mutex_lock(&x->lock);
    assert(!b->cached);
    struct extent_bytes **bucket = bucket_of(x, &b->extent);
    b->bucket_next = *bucket;
    *bucket = extent_bytes_get(b);
    b->cached = true;
    link_newest(x, b);
    x->cached_bytes += b->length;
    while (x->cached_bytes > EXTENT_CACHE_BYTES && x->oldest != b)
        evict(x, x->oldest);
    pthread_mutex_unlock(&x->lock);
}

void extent_cache_release(struct extents *x)
{
    while (x->oldest != NULL)
        evict(x, x->oldest);
    assert(x->cached_bytes == 0);
}
