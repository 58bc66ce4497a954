/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/content/upload.h"

#include <assert.h>

#include "core/crc/crc64.h"

void upload_init(struct upload *u, struct store *store, struct arena *a,
                 const struct upload_options *options)
{
    assert(store->engine != NULL);
    *u = (struct upload){.engine = store->engine,
                         .arena = a,
                         .inline_max = options->inline_max,
                         .expected =
                             options->expected < 0 ? UINT64_MAX : (uint64_t)options->expected,
                         .wants_crc64 = options->wants_crc64,
                         .small = buf_in(a)};
    md5_init(&u->md5_state);
    if (options->wants_md5)
        u->md5_how = u->expected <= u->inline_max ? UPLOAD_MD5_LATE : UPLOAD_MD5_STREAMED;
}

/* Opens the next extent, no larger than the rest of the body. */
static struct err begin_extent(struct upload *u, uint64_t stored)
{
    uint64_t room = EXTENT_BYTES_MAX;
    if (u->expected > stored && u->expected - stored < room)
        room = u->expected - stored;
    TRY(extent_begin(u->engine, (uint32_t)room, 0, &u->writer));
    u->room = (uint32_t)room;
    return OK;
}

static struct err finish_extent(struct upload *u)
{
    struct piece piece = {.kind = PIECE_EXTENT};
    struct extent_writer *w = u->writer;
    u->writer = NULL;
    TRY(extent_finish(w, &piece.extent));
    piece.length = piece.extent.length;
    pieces_add(&u->pieces, u->arena, &piece);
    return OK;
}

/* `stored`: how much of the body is already in extents. */
static struct err store_bytes(struct upload *u, uint64_t stored, struct str bytes)
{
    while (bytes.n > 0) {
        if (u->writer == NULL)
            TRY(begin_extent(u, stored));
        struct str part = str_head(bytes, u->room);
        TRY(extent_append(u->writer, part));
        u->room -= (uint32_t)part.n;
        stored += part.n;
        bytes = str_from(bytes, part.n);
        if (u->room == 0)
            TRY(finish_extent(u));
    }
    return OK;
}

static bool is_small(const struct upload *u)
{
    return u->writer == NULL && u->pieces.count == 0;
}

struct md5 *upload_md5(struct upload *u)
{
    return u->md5_how == UPLOAD_MD5_STREAMED ? &u->md5_state : NULL;
}

struct err upload_take_summed(struct upload *u, struct str bytes)
{
    assert(u->md5_how != UPLOAD_MD5_DONE);
    if (u->wants_crc64)
        u->crc64 = crc64(u->crc64, bytes);
    uint64_t before = u->size;
    u->size += bytes.n;
    bool stays_small =
        u->size <= u->inline_max && (u->expected == UINT64_MAX || u->expected <= u->inline_max);
    if (is_small(u) && stays_small) {
        buf_put(&u->small, bytes);
        return OK;
    }
    if (u->small.n > 0) {
        struct str small = buf_str(&u->small);
        buf_clear(&u->small);
        TRY(store_bytes(u, 0, small));
    }
    return store_bytes(u, before, bytes);
}

struct err upload_take(struct upload *u, struct str bytes)
{
    if (u->md5_how == UPLOAD_MD5_LATE && u->size + bytes.n > u->inline_max) {
        /* The body is longer than announced and than what stays in memory. */
        md5_update(&u->md5_state, buf_str(&u->small));
        u->md5_how = UPLOAD_MD5_STREAMED;
    }
    if (u->md5_how == UPLOAD_MD5_STREAMED)
        md5_update(&u->md5_state, bytes);
    return upload_take_summed(u, bytes);
}

bool upload_digest(struct upload *u, struct md5_job *job)
{
    if (u->md5_how != UPLOAD_MD5_LATE)
        return false;
    *job = (struct md5_job){buf_str(&u->small), u->md5};
    u->md5_how = UPLOAD_MD5_DONE;
    return true;
}

struct err upload_end(struct upload *u)
{
    struct md5_job job;
    if (upload_digest(u, &job))
        md5_many(&job, 1);
    if (u->writer != NULL)
        TRY(finish_extent(u));
    if (u->small.n > 0) {
        struct piece piece = {.kind = PIECE_INLINE, .length = u->small.n, .bytes = u->small.p};
        pieces_add(&u->pieces, u->arena, &piece);
    }
    if (u->md5_how == UPLOAD_MD5_STREAMED)
        md5_final(&u->md5_state, u->md5);
    assert(pieces_length(&u->pieces) == u->size);
    return OK;
}

void upload_discard(struct upload *u)
{
    if (u->writer != NULL)
        extent_abandon(u->writer);
    u->writer = NULL;
    for (size_t i = 0; i < u->pieces.count; i++)
        if (u->pieces.items[i].kind == PIECE_EXTENT)
            extent_discard(u->engine, &u->pieces.items[i].extent);
    u->pieces = (struct pieces){0};
}
