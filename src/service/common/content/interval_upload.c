/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/content/interval_upload.h"

#include <assert.h>

#include "core/crc/crc64.h"

void interval_upload_init(struct interval_upload *u, struct engine *engine, struct arena *a,
                          uint64_t offset, uint64_t length)
{
    assert(engine != NULL && a != NULL);
    *u = (struct interval_upload){.engine = engine, .arena = a, .offset = offset, .left = length};
    md5_init(&u->md5_state);
}

static struct err begin_piece(struct interval_upload *u)
{
    enum piece_kind kind;
    uint32_t length = interval_piece_length(u->offset, u->left, &kind);
    u->piece = (struct piece){.kind = kind, .length = length};
    u->filled = 0;
    if (kind == PIECE_EXTENT)
        return extent_begin(u->engine, length, u->unhurried ? HINT_LATER : 0, &u->writer);
    u->bytes = arena_bytes(u->arena, length);
    return OK;
}

static struct err end_piece(struct interval_upload *u)
{
    if (u->piece.kind == PIECE_EXTENT) {
        struct extent_writer *writer = u->writer;
        u->writer = NULL; /* finishing frees it, with an error too */
        TRY(extent_finish(writer, &u->piece.extent));
    } else {
        u->piece.bytes = u->bytes;
    }
    pieces_add(&u->pieces, u->arena, &u->piece);
    u->piece.length = 0;
    return OK;
}

static struct err fill_piece(struct interval_upload *u, struct str bytes)
{
    if (u->piece.kind == PIECE_EXTENT)
        TRY(extent_append(u->writer, bytes));
    else
        memcpy(u->bytes + u->filled, bytes.p, bytes.n);
    u->filled += (uint32_t)bytes.n;
    u->offset += bytes.n;
    u->left -= bytes.n;
    return u->filled == u->piece.length ? end_piece(u) : OK;
}

struct err interval_upload_take(struct interval_upload *u, struct str bytes)
{
    if (bytes.n > u->left)
        return err_new(ERR_INVALID_INPUT);
    if (u->wants_md5)
        md5_update(&u->md5_state, bytes);
    if (u->wants_crc64)
        u->crc64 = crc64(u->crc64, bytes);
    while (bytes.n > 0) {
        if (u->piece.length == 0)
            TRY(begin_piece(u));
        struct str part = str_head(bytes, u->piece.length - u->filled);
        TRY(fill_piece(u, part));
        bytes = str_from(bytes, part.n);
    }
    return OK;
}

struct err interval_upload_end(struct interval_upload *u)
{
    if (u->left > 0)
        return err_new(ERR_INVALID_INPUT);
    if (u->wants_md5)
        md5_final(&u->md5_state, u->md5);
    return OK;
}

void interval_upload_discard(struct interval_upload *u)
{
    if (u->writer != NULL)
        extent_abandon(u->writer);
    u->writer = NULL;
    for (size_t i = 0; i < u->pieces.count; i++)
        if (u->pieces.items[i].kind == PIECE_EXTENT)
            extent_discard(u->engine, &u->pieces.items[i].extent);
    u->pieces.count = 0;
}
