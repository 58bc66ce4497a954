/* SPDX-License-Identifier: Apache-2.0 */
/* Reads extents. The checksum of every chunk is verified before any of its bytes are returned. */
#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/crc/crc32c.h"
#include "core/mem.h"
#include "engine/local/local_internal.h"

struct read_job {
    const struct segment *segment;
    const struct extent *extent;
    enum engine_wait wait;
    uint32_t checks[CHUNKS_MAX];
    bool checks_read;
    char *scratch; /* CHUNK_BYTES, allocated on first use */
};

/* ERR_CORRUPT if the file ends before the range does. */
static struct err read_fully(const struct read_job *job, char *to, size_t n, uint64_t at)
{
    at += job->extent->offset;
    while (n > 0) {
        struct iovec part = {to, n};
        ssize_t got = preadv2(job->segment->fd, &part, 1, (off_t)at,
                              job->wait == ENGINE_NOWAIT ? RWF_NOWAIT : 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && segment_read_would_block(errno))
            return err_new(ERR_WOULD_BLOCK);
        if (got < 0)
            return err_cause(ERR_IO, errno);
        if (got == 0)
            return err_new(ERR_CORRUPT);
        to += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return OK;
}

static uint32_t sum(const char *bytes, size_t n)
{
    return crc32c(0, (struct str){bytes, n});
}

/* Reads the chunks' checksums, which the checksum in the extent's descriptor covers. */
static struct err read_checks(struct read_job *job)
{
    if (job->checks_read)
        return OK;
    uint32_t chunks = extent_chunks(job->extent->length);
    size_t n = chunks * sizeof job->checks[0];
    job->checks[0] = job->extent->check;
    if (chunks > 1) {
        TRY(read_fully(job, (char *)job->checks, n, job->extent->length));
        if (sum((char *)job->checks, n) != job->extent->check)
            return err_new(ERR_CORRUPT);
    }
    job->checks_read = true;
    return OK;
}

static uint32_t chunk_length(const struct extent *x, uint32_t chunk)
{
    uint32_t from = chunk * CHUNK_BYTES;
    return x->length - from < CHUNK_BYTES ? x->length - from : CHUNK_BYTES;
}

/* Reads a chunk into `to` and verifies it. */
static struct err read_chunk(struct read_job *job, uint32_t chunk, char *to)
{
    TRY(read_checks(job));
    uint32_t n = chunk_length(job->extent, chunk);
    TRY(read_fully(job, to, n, (uint64_t)chunk * CHUNK_BYTES));
    return sum(to, n) == job->checks[chunk] ? OK : err_new(ERR_CORRUPT);
}

static char *job_scratch(struct read_job *job)
{
    if (job->scratch == NULL)
        job->scratch = mem_alloc(CHUNK_BYTES);
    return job->scratch;
}

static bool extent_sane(const struct extent *x)
{
    return x->length > 0 && x->length <= EXTENT_BYTES_MAX && x->offset % SEGMENT_ALIGN == 0 &&
           x->offset < SEGMENT_BYTES_MAX;
}

static struct err job_begin(struct local_engine *e, struct read_job *job)
{
    if (!extent_sane(job->extent))
        return err_new(ERR_CORRUPT);
    struct segment *segment = NULL;
    uint64_t commit = atomic_load(&e->pins.commit);
    struct err error = segments_use(&e->segments, job->extent->segment, commit, &segment);
    job->segment = segment;
    return error;
}

static void job_end(struct local_engine *e, struct read_job *job)
{
    free(job->scratch);
    if (job->segment != NULL)
        segment_put(&e->segments, (struct segment *)(uintptr_t)job->segment);
}

/* ---- locating ---- */

static struct err verify_part(struct local_engine *e, struct read_job *job,
                              const struct extent_part *part)
{
    uint64_t known = checksum_cache_chunks(e->checksums, job->extent);
    uint64_t added = 0;
    struct err error = OK;
    uint32_t last = (part->offset + part->length - 1) / CHUNK_BYTES;
    for (uint32_t chunk = part->offset / CHUNK_BYTES; chunk <= last && !err_is(error); chunk++) {
        if (known >> chunk & 1)
            continue;
        error = read_chunk(job, chunk, job_scratch(job));
        if (!err_is(error))
            added |= 1ULL << chunk;
    }
    if (added != 0)
        checksum_cache_add(e->checksums, job->extent, added);
    return error;
}

struct err local_extent_locate(struct engine *engine, const struct extent *x,
                               const struct extent_part *part, struct extent_span *out)
{
    struct local_engine *e = local_of(engine);
    struct read_job job = {.extent = x, .wait = part->wait};
    struct err error = job_begin(e, &job);
    if (!err_is(error))
        error = verify_part(e, &job, part);
    if (!err_is(error))
        *out = (struct extent_span){.fd = job.segment->fd,
                                    .file_offset = (int64_t)(x->offset + part->offset),
                                    .length = part->length};
    job_end(e, &job);
    return error;
}

/* ---- copying ---- */

/* Whole chunks are read directly into the destination; a partial first or last chunk is copied. */
static struct err read_part(struct read_job *job, const struct extent_part *part, char *to)
{
    uint32_t at = part->offset;
    uint32_t end = part->offset + part->length;
    while (at < end) {
        uint32_t chunk = at / CHUNK_BYTES;
        uint32_t chunk_from = chunk * CHUNK_BYTES;
        uint32_t chunk_end = chunk_from + chunk_length(job->extent, chunk);
        uint32_t stop = chunk_end < end ? chunk_end : end;
        bool whole = at == chunk_from && stop == chunk_end;
        char *target = whole ? to : job_scratch(job);
        TRY(read_chunk(job, chunk, target));
        if (!whole)
            memcpy(to, target + (at - chunk_from), stop - at);
        to += stop - at;
        at = stop;
    }
    return OK;
}

/* Reads recently verified chunks directly into the destination, and no more bytes than
 * requested. Other chunks are verified first. */
static struct err read_part_now(struct local_engine *e, struct read_job *job,
                                const struct extent_part *part, char *to)
{
    uint64_t known = checksum_cache_chunks(e->checksums, job->extent);
    uint64_t added = 0;
    struct err error = OK;
    uint32_t end = part->offset + part->length;
    for (uint32_t at = part->offset; at < end && !err_is(error);) {
        uint32_t chunk = at / CHUNK_BYTES;
        uint32_t stop = (chunk + 1) * CHUNK_BYTES < end ? (chunk + 1) * CHUNK_BYTES : end;
        struct extent_part piece = {at, stop - at, part->wait};
        bool checked = (known >> chunk & 1) != 0;
        error = checked ? read_fully(job, to, stop - at, at) : read_part(job, &piece, to);
        if (!err_is(error))
            added |= 1ULL << chunk;
        to += stop - at;
        at = stop;
    }
    if ((added & ~known) != 0)
        checksum_cache_add(e->checksums, job->extent, added & ~known);
    return error;
}

struct err local_extent_read(struct engine *engine, const struct extent *x,
                             const struct extent_part *part, char *to)
{
    struct local_engine *e = local_of(engine);
    struct read_job job = {.extent = x, .wait = part->wait};
    struct err error = job_begin(e, &job);
    if (!err_is(error))
        error = part->wait == ENGINE_NOWAIT ? read_part_now(e, &job, part, to)
                                            : read_part(&job, part, to);
    job_end(e, &job);
    return error;
}
