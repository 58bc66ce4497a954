/* SPDX-License-Identifier: Apache-2.0 */
/* Reading extents: the part with its checksums in one operation. A reader that begins at the start,
 * or goes on where the last piece ended, gets the rest of the extent; another one only its part. */
#include <errno.h>
#include <stdlib.h>

#include "core/crc32c.h"
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

/* One operation, waited for. */
struct fetch {
    struct extent_bytes *to;
    char sums[EXTENT_CHUNKS_MAX * 4];
    size_t got, sums_got;
    int result, sums_result;
};

static int fetch_from_rados(struct extents *x, struct fetch *f)
{
    const struct extent *extent = &f->to->extent;
    char name[EXTENT_NAME_BYTES];
    rados_done done;
    extent_name(name, extent->segment, extent->offset);
    rados_reading r = x->lib.reading_create();
    x->lib.reading_read(r, f->to->from, f->to->length, f->to->bytes, &f->got, &f->result);
    x->lib.reading_read(r, extent->length, extent_chunks(extent->length) * 4, f->sums, &f->sums_got,
                        &f->sums_result);
    int result = x->lib.done_create(NULL, NULL, &done);
    if (result >= 0) {
        result = x->lib.reading_start(r, x->io, done, name, 0);
        if (result >= 0) {
            (void)x->lib.done_wait(done);
            result = x->lib.done_result(done);
        }
        x->lib.done_release(done);
    }
    x->lib.reading_release(r);
    return result;
}

static struct err check_fetched(const struct fetch *f)
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

/* Whole chunks around the part, and the rest of the extent for who reads in order. */
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
    struct fetch *f = MEM_NEW(struct fetch);
    f->to = room_for(x, extent, part->offset, part->length);
    struct err error = err_of_rados(fetch_from_rados(x, f));
    if (!err_is(error))
        error = check_fetched(f);
    if (err_is(error)) {
        extent_bytes_put(f->to);
    } else {
        extent_cache_add(x, f->to);
        *out = f->to;
    }
    free(f);
    return error;
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
