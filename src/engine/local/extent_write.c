/* SPDX-License-Identifier: Apache-2.0 */
/* Writing extents: bytes go to the segment as they arrive, the checksums of the chunks follow
 * them. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/crc/crc32c.h"
#include "core/mem.h"
#include "engine/local/local_internal.h"

enum {
    /* After this many bytes, start write-back, so that the disk works while a body arrives. */
    EARLY_BYTES = 1 << 20,
    /* Updates that wait for a flush came in this time: more of them will come. */
    FLUSHES_US = 10000000,
    /* Reserved for rows, so that a full disk can still process deletes. */
    RESERVE_BYTES_MAX = 64 << 20,
    RESERVE_SHARE = 16, /* or this part of a small file system */
};

struct local_writer {
    struct extent_writer base;
    struct local_engine *engine;
    struct segment *segment;
    uint64_t offset;
    uint32_t reserved;
    uint32_t told; /* write-back was started up to here */
    bool early;    /* start write-back while the bytes arrive */
    uint32_t checks[CHUNKS_MAX];
};

static struct local_writer *local_writer_of(struct extent_writer *w)
{
    return (struct local_writer *)(void *)w;
}

static struct err write_error(void)
{
    return err_cause(errno == ENOSPC || errno == EDQUOT ? ERR_NO_SPACE : ERR_IO, errno);
}

struct err write_fully(int fd, struct str bytes, uint64_t offset)
{
    while (bytes.n > 0) {
        ssize_t n = pwrite(fd, bytes.p, bytes.n, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return write_error();
        bytes = str_from(bytes, (size_t)n);
        offset += (uint64_t)n;
    }
    return OK;
}

/* Continues the checksum of the current chunk. */
static void writer_sum(struct local_writer *w, struct str bytes)
{
    uint32_t at = w->base.length;
    while (bytes.n > 0) {
        uint32_t *check = &w->checks[at / CHUNK_BYTES];
        size_t room = CHUNK_BYTES - at % CHUNK_BYTES;
        struct str part = str_head(bytes, room);
        *check = crc32c(at % CHUNK_BYTES == 0 ? 0 : *check, part);
        at += (uint32_t)part.n;
        bytes = str_from(bytes, part.n);
    }
}

static struct err local_writer_append(struct extent_writer *base, struct str bytes)
{
    struct local_writer *w = local_writer_of(base);
    TRY(write_fully(w->segment->fd, bytes, w->offset + base->length));
    writer_sum(w, bytes);
    base->length += (uint32_t)bytes.n;
    if (base->length - w->told >= EARLY_BYTES && w->early) {
        /* Only a hint: an error shows up when the segment is flushed. */
        (void)sync_file_range(w->segment->fd, (off_t)(w->offset + w->told), base->length - w->told,
                              SYNC_FILE_RANGE_WRITE);
        w->told = base->length;
    }
    return OK;
}

static void writer_free(struct local_writer *w)
{
    segment_put(&w->engine->segments, w->segment);
    free(w);
}

static void waste_range(struct local_engine *e, uint64_t segment, uint64_t offset, uint32_t bytes)
{
    struct waste waste = {.segment = segment, .offset = offset, .bytes = bytes, .counted = false};
    segments_add_waste(&e->segments, segment);
    reclaim_add(e, &waste);
}

static void local_writer_abandon(struct extent_writer *base)
{
    struct local_writer *w = local_writer_of(base);
    /* The range past the written part is untouched, except by a failed append. */
    waste_range(w->engine, w->segment->id, w->offset, w->reserved);
    writer_free(w);
}

static struct err writer_put_checks(struct local_writer *w, uint32_t *check)
{
    uint32_t chunks = extent_chunks(w->base.length);
    if (chunks == 1) {
        *check = w->checks[0];
        return OK;
    }
    struct str bytes = {(const char *)w->checks, chunks * sizeof w->checks[0]};
    *check = crc32c(0, bytes);
    return write_fully(w->segment->fd, bytes, w->offset + w->base.length);
}

static struct err local_writer_finish(struct extent_writer *base, struct extent *out)
{
    struct local_writer *w = local_writer_of(base);
    uint32_t check;
    struct err e = writer_put_checks(w, &check);
    if (err_is(e)) {
        local_writer_abandon(base);
        return e;
    }
    segments_trim(&w->engine->segments, w->segment, w->offset + w->reserved,
                  w->offset + extent_room(base->length));
    *out = (struct extent){w->segment->id, w->offset, base->length, check};
    /* The checksums were computed from the bytes that the next reader gets from the page cache. */
    checksum_cache_add(w->engine->checksums, out, UINT64_MAX >> (64 - extent_chunks(base->length)));
    writer_free(w);
    return OK;
}

static const struct extent_writer_ops LOCAL_WRITER_OPS = {
    .append = local_writer_append,
    .finish = local_writer_finish,
    .abandon = local_writer_abandon,
};

struct err local_disk_room(struct local_engine *e, struct disk_room *room)
{
    struct statvfs fs;
    if (fstatvfs(e->segments.folder_fd, &fs) != 0)
        return err_cause(ERR_IO, errno);
    room->free = (uint64_t)fs.f_bavail * fs.f_frsize;
    room->reserve = (uint64_t)fs.f_blocks * fs.f_frsize / RESERVE_SHARE;
    if (room->reserve > RESERVE_BYTES_MAX)
        room->reserve = RESERVE_BYTES_MAX;
    return OK;
}

/* Stops bulk data short of filling the disk. `spare`: space left for more. */
static struct err check_free_space(struct local_engine *e, uint32_t bytes, uint64_t *spare)
{
    struct disk_room room;
    TRY(local_disk_room(e, &room));
    if (room.free < room.reserve + bytes)
        return err_cause(ERR_NO_SPACE, ENOSPC);
    *spare = room.free - room.reserve - bytes;
    return OK;
}

/* A flush writes all extents before it, also those of updates that are only visible. Whoever waits
 * for it should find few bytes left to write. If nobody does, bytes that are soon replaced need
 * not be written at all. */
static bool flushes_are_asked_for(struct local_engine *e)
{
    int64_t asked_us = atomic_load_explicit(&e->flush_asked_us, memory_order_relaxed);
    return asked_us > 0 && clock_mono_us() - asked_us < FLUSHES_US;
}

struct err local_extent_begin(struct engine *engine, uint32_t size_max, unsigned hints,
                              struct extent_writer **out)
{
    assert(out != NULL);
    struct local_engine *e = local_of(engine);
    uint64_t spare;
    if (e->read_only)
        return err_cause(ERR_IO, EROFS);
    TRY(check_free_space(e, size_max, &spare));
    struct local_writer *w = MEM_NEW(struct local_writer);
    w->base = (struct extent_writer){.ops = &LOCAL_WRITER_OPS, .size_max = size_max};
    w->engine = e;
    w->early = !e->relaxed && ((hints & HINT_LATER) == 0 || flushes_are_asked_for(e));
    w->reserved = extent_room(size_max);
    struct err error = segments_reserve(&e->segments, w->reserved, &w->segment, &w->offset);
    if (err_is(error)) {
        free(w);
        return error;
    }
    segments_preallocate(&e->segments, w->segment, w->offset, spare);
    *out = &w->base;
    return OK;
}

void local_extent_discard(struct engine *engine, const struct extent *x)
{
    waste_range(local_of(engine), x->segment, x->offset, extent_room(x->length));
}
