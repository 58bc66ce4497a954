/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/feed.h"

#include <assert.h>
#include <stdlib.h>

#include "core/mem.h"

static struct err fill(struct engine *e, const struct piece *piece, uint64_t at, uint32_t length,
                       char *to)
{
    if (piece->kind == PIECE_EXTENT)
        return extent_read(e, &piece->extent, piece->extent_offset + (uint32_t)at, length,
                           ENGINE_WAIT, to);
    if (piece->kind == PIECE_INLINE)
        memcpy(to, piece->bytes + at, length);
    else
        memset(to, 0, length);
    return OK;
}

static struct err feed_piece(struct engine *e, const struct piece *piece, char *buffer,
                             feed_sink *sink, void *arg)
{
    for (uint64_t at = 0; at < piece->length;) {
        uint64_t left = piece->length - at;
        uint32_t length = left < FEED_BYTES ? (uint32_t)left : FEED_BYTES;
        TRY(fill(e, piece, at, length, buffer));
        TRY(sink(arg, (struct str){buffer, length}));
        at += length;
    }
    return OK;
}

struct err feed_pieces(struct engine *e, const struct pieces *pieces, feed_sink *sink, void *arg)
{
    assert(sink != NULL);
    char *buffer = mem_alloc(FEED_BYTES);
    struct err error = OK;
    for (size_t i = 0; i < pieces->count && !err_is(error); i++)
        error = feed_piece(e, &pieces->items[i], buffer, sink, arg);
    free(buffer);
    return error;
}
