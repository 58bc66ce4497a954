/* SPDX-License-Identifier: Apache-2.0 */
/* Extents of the memory engine: one heap block each. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "core/crc/crc32c.h"
#include "core/mem.h"
#include "engine/mem/mem_internal.h"

enum { BUCKETS_AT_FIRST = 64 };

static struct mem_engine *mem_engine_of(struct engine *e)
{
    return (struct mem_engine *)(void *)e;
}

void mem_extents_init(struct mem_extents *x)
{
    *x = (struct mem_extents){.bucket_count = BUCKETS_AT_FIRST};
    pthread_mutex_init(&x->lock, NULL);
    x->buckets = mem_calloc(x->bucket_count, sizeof(struct mem_bytes *));
    x->garbage_end = &x->garbage;
}

void mem_extents_release(struct mem_extents *x)
{
    for (size_t i = 0; i < x->bucket_count; i++) {
        for (struct mem_bytes *b = x->buckets[i], *next; b != NULL; b = next) {
            next = b->next;
            free(b);
        }
    }
    free(x->buckets);
    pthread_mutex_destroy(&x->lock);
}

/* Ids are handed out in sequence, so their low bits spread evenly. The lock is held. */
static struct mem_bytes **bucket_of(struct mem_extents *x, uint64_t id)
{
    return &x->buckets[id & (x->bucket_count - 1)];
}

static void table_grow(struct mem_extents *x)
{
    struct mem_bytes **old = x->buckets;
    size_t old_count = x->bucket_count;
    x->bucket_count *= 2;
    x->buckets = mem_calloc(x->bucket_count, sizeof(struct mem_bytes *));
    for (size_t i = 0; i < old_count; i++) {
        for (struct mem_bytes *b = old[i], *next; b != NULL; b = next) {
            next = b->next;
            struct mem_bytes **bucket = bucket_of(x, b->id);
            b->next = *bucket;
            *bucket = b;
        }
    }
    free(old);
}

static void table_add(struct mem_extents *x, struct mem_bytes *b)
{
    pthread_mutex_lock(&x->lock);
    if (x->count >= x->bucket_count)
        table_grow(x);
    b->id = ++x->last_id;
    struct mem_bytes **bucket = bucket_of(x, b->id);
    b->next = *bucket;
    *bucket = b;
    x->count++;
    x->total_bytes += b->length;
    pthread_mutex_unlock(&x->lock);
}

/* The lock is held. */
static void table_remove(struct mem_extents *x, struct mem_bytes *b)
{
    struct mem_bytes **link = bucket_of(x, b->id);
    while (*link != b)
        link = &(*link)->next;
    *link = b->next;
    x->count--;
    x->total_bytes -= b->length;
}

static struct mem_bytes *table_find_locked(struct mem_extents *x, uint64_t id)
{
    struct mem_bytes *b = *bucket_of(x, id);
    while (b != NULL && b->id != id)
        b = b->next;
    return b;
}

/* The bytes stay valid as long as the caller's pin or ownership. NULL if the descriptor is not
 * of this engine. */
static struct mem_bytes *table_find(struct mem_extents *x, const struct extent *extent)
{
    pthread_mutex_lock(&x->lock);
    struct mem_bytes *b = table_find_locked(x, extent->segment);
    pthread_mutex_unlock(&x->lock);
    return b != NULL && b->length == extent->length && b->check == extent->check ? b : NULL;
}

/* ---- writing ---- */

struct mem_writer {
    struct extent_writer base;
    struct mem_engine *engine;
    struct mem_bytes *bytes;
};

static struct mem_writer *mem_writer_of(struct extent_writer *w)
{
    return (struct mem_writer *)(void *)w;
}

static void expect(struct mem_extents *x, int64_t bytes)
{
    pthread_mutex_lock(&x->lock);
    x->coming_bytes += (uint64_t)bytes;
    pthread_mutex_unlock(&x->lock);
}

static struct err mem_writer_append(struct extent_writer *w, struct str bytes)
{
    memcpy(mem_writer_of(w)->bytes->bytes + w->length, bytes.p, bytes.n);
    w->length += (uint32_t)bytes.n;
    return OK;
}

static struct err mem_writer_finish(struct extent_writer *base, struct extent *out)
{
    struct mem_writer *w = mem_writer_of(base);
    struct mem_bytes *b = w->bytes;
    expect(&w->engine->extents, -(int64_t)base->size_max);
    if (base->length < base->size_max)
        b = mem_realloc(b, sizeof *b + base->length);
    b->length = base->length;
    b->check = crc32c(0, (struct str){b->bytes, b->length});
    table_add(&w->engine->extents, b);
    *out = (struct extent){.segment = b->id, .length = b->length, .check = b->check};
    free(w);
    return OK;
}

static void mem_writer_abandon(struct extent_writer *base)
{
    struct mem_writer *w = mem_writer_of(base);
    expect(&w->engine->extents, -(int64_t)base->size_max);
    free(w->bytes);
    free(w);
}

static const struct extent_writer_ops MEM_WRITER_OPS = {
    .append = mem_writer_append,
    .finish = mem_writer_finish,
    .abandon = mem_writer_abandon,
};

struct err mem_extent_begin(struct engine *e, uint32_t size_max, unsigned hints,
                            struct extent_writer **out)
{
    assert(out != NULL);
    (void)hints;
    if (!mem_has_room(mem_engine_of(e), size_max, false))
        return err_cause(ERR_NO_SPACE, ENOSPC);
    expect(&mem_engine_of(e)->extents, size_max);
    struct mem_writer *w = MEM_NEW(struct mem_writer);
    w->base.ops = &MEM_WRITER_OPS;
    w->base.size_max = size_max;
    w->engine = mem_engine_of(e);
    w->bytes = mem_alloc(sizeof *w->bytes + size_max);
    *w->bytes = (struct mem_bytes){0};
    *out = &w->base;
    return OK;
}

void mem_extent_discard(struct engine *e, const struct extent *extent)
{
    struct mem_extents *x = &mem_engine_of(e)->extents;
    pthread_mutex_lock(&x->lock);
    struct mem_bytes *b = table_find_locked(x, extent->segment);
    assert(b != NULL && !b->adopted);
    table_remove(x, b);
    pthread_mutex_unlock(&x->lock);
    free(b);
}

/* ---- reading ---- */

struct err mem_extent_locate(struct engine *e, const struct extent *x,
                             const struct extent_part *part, struct extent_span *out)
{
    const struct mem_bytes *b = table_find(&mem_engine_of(e)->extents, x);
    if (b == NULL)
        return err_new(ERR_CORRUPT);
    *out =
        (struct extent_span){.memory = b->bytes + part->offset, .fd = -1, .length = part->length};
    return OK;
}

struct err mem_extent_read(struct engine *e, const struct extent *x, const struct extent_part *part,
                           char *to)
{
    struct extent_span span;
    TRY(mem_extent_locate(e, x, part, &span));
    memcpy(to, span.memory, span.length);
    return OK;
}

/* ---- the end of extents ---- */

void mem_extents_settle(struct mem_extents *x, const struct mem_settle *settle, uint64_t commit)
{
    pthread_mutex_lock(&x->lock);
    for (; settle != NULL; settle = settle->next) {
        struct mem_bytes *b = table_find_locked(x, settle->id);
        assert(b != NULL);
        if (settle->adopted) {
            b->adopted = true;
        } else {
            b->dropped_at = commit;
            *x->garbage_end = b;
            x->garbage_end = &b->next_garbage;
        }
    }
    pthread_mutex_unlock(&x->lock);
}

void mem_extents_reclaim(struct mem_extents *x, uint64_t commit)
{
    pthread_mutex_lock(&x->lock);
    struct mem_bytes *gone = NULL;
    while (x->garbage != NULL && x->garbage->dropped_at <= commit) {
        struct mem_bytes *b = x->garbage;
        x->garbage = b->next_garbage;
        b->next_garbage = gone;
        gone = b;
        table_remove(x, b);
    }
    if (x->garbage == NULL)
        x->garbage_end = &x->garbage;
    pthread_mutex_unlock(&x->lock);
    for (struct mem_bytes *next; gone != NULL; gone = next) {
        next = gone->next_garbage;
        free(gone);
    }
}
