/* SPDX-License-Identifier: Apache-2.0 */
/* Reading extents: one operation reads the part with its checksums. For a reader that begins at the
 * start, or continues where the last piece ended, it reads the rest of the extent; for others only
 * the part. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "core/crc/crc32c.h"
#include "core/mem.h"
#include "core/wire.h"
#include "engine/cluster/cluster_internal.h"

struct err err_of_rados(int result)
{
    if (result >= 0)
        return OK;
    if (result == -ENOSPC || result == -EDQUOT)
        return err_cause(ERR_NO_SPACE, ENOSPC);
    if (result == -ETIMEDOUT || result == -ESHUTDOWN)
        return err_cause(ERR_SERVER_BUSY, -result);
    return result == -ENOENT ? err_cause(ERR_CORRUPT, ENOENT) : err_cause(ERR_IO, -result);
}

/* One operation. */
struct extent_fetch {
    struct extent_bytes *to;
    char sums[EXTENT_CHUNKS_MAX * 4];
    size_t got, sums_got;
    int result, sums_result;
    rados_reading reading;
    rados_done done;
    struct extent_fetch *next; /* in the list of prefetches */
};

static void fetch_free(struct extents *x, struct extent_fetch *f)
{
    if (f->reading != NULL)
        x->lib.reading_release(f->reading);
    if (f->done != NULL)
        x->lib.done_release(f->done);
    if (f->to != NULL)
        extent_bytes_put(f->to);
    free(f);
}

/* Takes ownership of the memory that it fills. */
static struct err fetch_start(struct extents *x, struct extent_bytes *to, struct extent_fetch **out)
{
    struct extent_fetch *f = MEM_NEW(struct extent_fetch);
    char name[EXTENT_NAME_BYTES];
    const struct extent *extent = &to->extent;
    f->to = to;
    extent_name(name, extent->segment, extent->offset);
    f->reading = x->lib.reading_create();
    x->lib.reading_read(f->reading, to->from, to->length, to->bytes, &f->got, &f->result);
    x->lib.reading_read(f->reading, extent->length, extent_chunks(extent->length) * 4, f->sums,
                        &f->sums_got, &f->sums_result);
    int result = x->lib.done_create(NULL, NULL, &f->done);
    if (result >= 0)
        result = x->lib.reading_start(f->reading, x->io, f->done, name, 0);
    if (result < 0)
        fetch_free(x, f);
    else
        *out = f;
    return err_of_rados(result);
}

static struct err check_fetched(const struct extent_fetch *f)
{
    const struct extent_bytes *b = f->to;
    uint32_t chunks = extent_chunks(b->extent.length);
    if (f->result < 0 || f->sums_result < 0 || f->got != b->length || f->sums_got != chunks * 4)
        return err_new(ERR_CORRUPT);
    if (crc32c(0, (struct str){f->sums, chunks * 4}) != b->extent.check)
        return err_new(ERR_CORRUPT);
    struct reader sums = reader_of((struct str){f->sums, chunks * 4});
    (void)read_raw(&sums, (size_t)b->from / EXTENT_CHUNK * 4);
    for (uint32_t at = 0; at < b->length; at += EXTENT_CHUNK) {
        uint32_t n = b->length - at < EXTENT_CHUNK ? b->length - at : EXTENT_CHUNK;
        if (crc32c(0, (struct str){b->bytes + at, n}) != read_le32(&sums))
            return err_new(ERR_CORRUPT);
    }
    return OK;
}

/* Whole chunks around the part, and the rest of the extent for a sequential reader. */
static struct extent_bytes *room_for(struct extents *x, const struct extent *extent,
                                     uint32_t offset, uint32_t length)
{
    uint32_t from = offset / EXTENT_CHUNK * EXTENT_CHUNK;
    uint32_t to = (offset + length + EXTENT_CHUNK - 1) / EXTENT_CHUNK * EXTENT_CHUNK;
    struct extent_bytes *before = offset == 0 ? NULL : extent_cache_find(x, extent, offset - 1, 1);
    if (offset == 0 || before != NULL || to > extent->length)
        to = extent->length;
    if (before != NULL)
        extent_bytes_put(before);
    return extent_bytes_new(extent, from, to - from, to - from);
}

/* Waits for the fetch, and frees it. The bytes are returned with a reference. */
static struct err fetch_end(struct extents *x, struct extent_fetch *f, struct extent_bytes **out)
{
    assert(f->done != NULL && f->to != NULL);
    (void)x->lib.done_wait(f->done);
    struct err error = err_of_rados(x->lib.done_result(f->done));
    if (!err_is(error))
        error = check_fetched(f);
    if (!err_is(error)) {
        extent_cache_add(x, f->to);
        *out = extent_bytes_get(f->to);
    }
    fetch_free(x, f);
    return error;
}

/* ---- ahead ---- */

/* The lock is held. Returns the link to the prefetch that contains the part, or to the end of the
 * list. */
static struct extent_fetch **prefetch_link(struct extents *x, const struct extent *extent,
                                           const struct extent_part *part)
{
    struct extent_fetch **link = &x->prefetches;
    while (*link != NULL && !extent_bytes_hold((*link)->to, extent, part->offset, part->length))
        link = &(*link)->next;
    return link;
}

static struct extent_fetch *take_prefetch(struct extents *x, const struct extent *extent,
                                          const struct extent_part *part)
{
    pthread_mutex_lock(&x->lock);
    struct extent_fetch **link = prefetch_link(x, extent, part);
    struct extent_fetch *f = *link;
    if (f != NULL) {
        *link = f->next;
        x->prefetch_count--;
    }
    pthread_mutex_unlock(&x->lock);
    return f;
}

/* True if one more prefetch may start. If there are too many, the oldest is removed, provided that
 * it has completed: *gone is set to it. */
static bool prefetch_fits(struct extents *x, const struct extent *extent,
                          const struct extent_part *part, struct extent_fetch **gone)
{
    *gone = NULL;
    pthread_mutex_lock(&x->lock);
    bool fits = *prefetch_link(x, extent, part) == NULL;
    if (fits && x->prefetch_count == EXTENT_PREFETCHES_MAX) {
        fits = x->lib.done_is(x->prefetches->done) != 0;
        if (fits) {
            *gone = x->prefetches;
            x->prefetches = (*gone)->next;
            x->prefetch_count--;
        }
    }
    pthread_mutex_unlock(&x->lock);
    return fits;
}

void cluster_extent_prefetch(struct engine *e, const struct extent *extent,
                             const struct extent_part *part)
{
    assert(part->length > 0);
    struct extents *x = &cluster_of(e)->extents;
    struct extent_fetch *f;
    struct extent_fetch *gone;
    struct extent_bytes *had = extent_cache_find(x, extent, part->offset, part->length);
    if (had == NULL)
        had = extents_flying(x, extent);
    if (had != NULL) {
        extent_bytes_put(had);
        return;
    }
    if (extent->length > EXTENT_BYTES_MAX || !prefetch_fits(x, extent, part, &gone))
        return;
    if (gone != NULL)
        fetch_free(x, gone);
    if (err_is(fetch_start(x, room_for(x, extent, part->offset, part->length), &f)))
        return; /* a later read reports the error */
    pthread_mutex_lock(&x->lock);
    struct extent_fetch **end = &x->prefetches;
    while (*end != NULL)
        end = &(*end)->next;
    *end = f;
    x->prefetch_count++;
    pthread_mutex_unlock(&x->lock);
}

void extents_end_prefetches(struct extents *x)
{
    for (struct extent_fetch *f = x->prefetches, *next; f != NULL; f = next) {
        next = f->next;
        (void)x->lib.done_wait(f->done);
        fetch_free(x, f);
    }
}

/* ---- reading ---- */

/* With a reference. */
static struct err bytes_of(struct extents *x, const struct extent *extent,
                           const struct extent_part *part, struct extent_bytes **out)
{
    *out = extent_cache_find(x, extent, part->offset, part->length);
    if (*out == NULL)
        *out = extents_flying(x, extent);
    if (*out != NULL)
        return OK;
    if (part->wait == ENGINE_NOWAIT)
        return err_new(ERR_WOULD_BLOCK);
    if (extent->length == 0 || extent->length > EXTENT_BYTES_MAX)
        return err_new(ERR_CORRUPT);
    struct extent_fetch *f = take_prefetch(x, extent, part);
    if (f != NULL && !err_is(fetch_end(x, f, out)))
        return OK;
    TRY(fetch_start(x, room_for(x, extent, part->offset, part->length), &f));
    return fetch_end(x, f, out);
}

struct err cluster_extent_locate(struct engine *e, const struct extent *x,
                                 const struct extent_part *part, struct extent_span *out)
{
    struct extent_bytes *b;
    TRY(bytes_of(&cluster_of(e)->extents, x, part, &b));
    *out = (struct extent_span){.memory = b->bytes + (part->offset - b->from),
                                .fd = -1,
                                .length = part->length,
                                .loan = {extent_bytes_put, b}};
    return OK;
}

struct err cluster_extent_read(struct engine *e, const struct extent *x,
                               const struct extent_part *part, char *to)
{
    struct extent_bytes *b;
    TRY(bytes_of(&cluster_of(e)->extents, x, part, &b));
    memcpy(to, b->bytes + (part->offset - b->from), part->length);
    extent_bytes_put(b);
    return OK;
}
