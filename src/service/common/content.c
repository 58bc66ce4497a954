/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/content.h"

#include <assert.h>

/* ---- pieces ---- */

void pieces_add(struct pieces *list, struct arena *a, const struct piece *piece)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 4 : list->capacity * 2;
        struct piece *grown = ARENA_ARRAY(a, struct piece, capacity);
        if (list->count > 0)
            memcpy(grown, list->items, list->count * sizeof *grown);
        list->items = grown;
        list->capacity = capacity;
    }
    list->items[list->count++] = *piece;
}

uint64_t pieces_length(const struct pieces *list)
{
    uint64_t length = 0;
    for (size_t i = 0; i < list->count; i++)
        length += list->items[i].length;
    return length;
}

struct err pieces_gather(struct store *s, const struct pieces *list, enum engine_wait wait,
                         char *to)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct piece *piece = &list->items[i];
        if (piece->kind == PIECE_INLINE)
            memcpy(to, piece->bytes, (size_t)piece->length);
        else if (piece->kind == PIECE_HOLE)
            memset(to, 0, (size_t)piece->length);
        else
            TRY(extent_read(s->engine, &piece->extent, piece->extent_offset,
                            (uint32_t)piece->length, wait, to));
        to += piece->length;
    }
    return OK;
}

void piece_encode(struct buf *b, const struct piece *piece)
{
    assert(piece->length > 0);
    buf_put_u8(b, (uint8_t)piece->kind);
    buf_put_varint(b, piece->length);
    if (piece->kind == PIECE_INLINE)
        buf_put(b, (struct str){piece->bytes, (size_t)piece->length});
    if (piece->kind == PIECE_EXTENT) {
        assert(piece->extent_offset + piece->length <= piece->extent.length);
        extent_encode(b, &piece->extent);
        buf_put_varint(b, piece->extent_offset);
    }
}

bool piece_decode(struct reader *r, struct piece *out)
{
    if (r->n == 0 || r->bad)
        return false;
    uint8_t kind = read_u8(r);
    *out = (struct piece){.kind = (enum piece_kind)kind, .length = read_varint(r)};
    if (kind == PIECE_INLINE) {
        out->bytes = read_raw(r, (size_t)out->length).p;
    } else if (kind == PIECE_EXTENT) {
        out->extent = extent_decode(r);
        uint64_t offset = read_varint(r);
        if (offset > out->extent.length || out->length > out->extent.length - offset)
            r->bad = true;
        out->extent_offset = (uint32_t)offset;
    } else if (kind != PIECE_HOLE) {
        r->bad = true;
    }
    if (out->length == 0)
        r->bad = true;
    return !r->bad;
}

void pieces_encode(struct buf *b, const struct pieces *list)
{
    for (size_t i = 0; i < list->count; i++)
        piece_encode(b, &list->items[i]);
}

struct err piece_claim(struct txn *t, const struct piece *piece, enum piece_claim claim)
{
    if (piece->kind != PIECE_EXTENT || claim == PIECE_MOVE)
        return OK;
    return claim == PIECE_ADOPT ? txn_extent(t, EXTENT_ADOPT, &piece->extent)
                                : txn_extent(t, EXTENT_HOLD, &piece->extent);
}

/* ---- writing ---- */

static struct str chunk_key(struct arena *a, struct str prefix, uint64_t start)
{
    struct buf b = buf_in(a);
    buf_put(&b, prefix);
    buf_put_be64(&b, start);
    return buf_str(&b);
}

void content_write_begin(struct content_writer *w, struct txn *t, struct str prefix)
{
    *w = (struct content_writer){.txn = t, .prefix = prefix, .chunk = buf_in(txn_arena(t))};
}

void content_write_from(struct content_writer *w, uint64_t offset)
{
    assert(w->size == 0 && w->chunk_pieces == 0);
    w->size = offset;
    w->chunk_start = offset;
}

static struct err flush_chunk(struct content_writer *w)
{
    if (w->chunk_pieces == 0)
        return OK;
    struct str key = chunk_key(txn_arena(w->txn), w->prefix, w->chunk_start);
    TRY(txn_put(w->txn, key, buf_str(&w->chunk)));
    buf_clear(&w->chunk);
    w->chunk_start = w->size;
    w->chunk_pieces = 0;
    w->rows++;
    return OK;
}

struct err content_write(struct content_writer *w, const struct piece *piece,
                         enum piece_claim claim)
{
    TRY(piece_claim(w->txn, piece, claim));
    w->extents = w->extents || piece->kind == PIECE_EXTENT;
    piece_encode(&w->chunk, piece);
    w->size += piece->length;
    if (++w->chunk_pieces < CONTENT_CHUNK_PIECES && w->chunk.n < CONTENT_CHUNK_BYTES)
        return OK;
    return flush_chunk(w);
}

struct err content_write_end(struct content_writer *w)
{
    return flush_chunk(w);
}

/* ---- reading ---- */

/* A read under way: what of the range is still to be found, and where the found goes. */
struct content_reader {
    struct arena *arena;
    struct pieces *out;
    uint64_t next; /* offset of the first byte not yet found */
    uint64_t end;
    size_t pieces_max;
};

static bool wants_more(const struct content_reader *r)
{
    return r->next < r->end && r->out->count < r->pieces_max;
}

static void take_hole(struct content_reader *r, uint64_t until)
{
    if (until > r->end)
        until = r->end;
    if (until <= r->next)
        return;
    struct piece hole = {.kind = PIECE_HOLE, .length = until - r->next};
    pieces_add(r->out, r->arena, &hole);
    r->next = until;
}

/* Cuts a piece that begins at `start` to what is wanted of it. */
static void take_piece(struct content_reader *r, struct piece piece, uint64_t start)
{
    uint64_t skip = r->next - start;
    piece.length -= skip;
    if (piece.length > r->end - r->next)
        piece.length = r->end - r->next;
    if (piece.kind == PIECE_INLINE)
        piece.bytes = arena_copy(r->arena, (struct str){piece.bytes + skip, piece.length}).p;
    if (piece.kind == PIECE_EXTENT)
        piece.extent_offset += (uint32_t)skip;
    r->next += piece.length;
    pieces_add(r->out, r->arena, &piece);
}

static struct err take_chunk(struct content_reader *r, uint64_t start, struct str value)
{
    struct reader in = reader_of(value);
    struct piece piece;
    take_hole(r, start);
    while (wants_more(r) && piece_decode(&in, &piece)) {
        if (start + piece.length > r->next)
            take_piece(r, piece, start);
        start += piece.length;
    }
    return reader_ok(&in) ? OK : err_new(ERR_CORRUPT);
}

static struct err take_from_cursor(struct content_reader *r, struct cursor *c, struct str prefix)
{
    while (wants_more(r) && c->valid) {
        struct reader key = reader_of(str_from(c->key, prefix.n));
        uint64_t start = read_be64(&key);
        if (!reader_done(&key))
            return err_new(ERR_CORRUPT);
        if (start >= r->end)
            return OK;
        TRY(take_chunk(r, start, c->value));
        TRY(cursor_next(c));
    }
    return OK;
}

static struct err read_by_cursor(struct content_reader *r, struct txn *t, struct str prefix)
{
    struct cursor *c;
    TRY(cursor_open(t, prefix, &c));
    /* The chunk that begins at or before the range, if there is one. */
    struct err e = cursor_seek_before(c, chunk_key(txn_arena(t), prefix, r->next + 1));
    if (!err_is(e) && !c->valid)
        e = cursor_seek(c, prefix);
    if (!err_is(e))
        e = take_from_cursor(r, c, prefix);
    cursor_close(c);
    return e;
}

struct err content_read(struct txn *t, struct str prefix, uint64_t offset, uint64_t length,
                        struct arena *a, struct pieces *out)
{
    return content_read_some(t, prefix, (struct content_part){offset, length, SIZE_MAX}, a, out);
}

struct err content_read_some(struct txn *t, struct str prefix, struct content_part part,
                             struct arena *a, struct pieces *out)
{
    struct content_reader r = {.arena = a,
                               .out = out,
                               .next = part.offset,
                               .end = part.offset + part.length,
                               .pieces_max = part.pieces_max};
    *out = (struct pieces){0};
    if (part.length == 0)
        return OK;
    /* Nearly every content is one chunk: a plain get is cheaper than a cursor. */
    if (part.offset < (uint64_t)CONTENT_CHUNK_PIECES * EXTENT_BYTES_MAX) {
        struct str first;
        TRY(txn_get(t, chunk_key(txn_arena(t), prefix, 0), &first));
        if (str_given(first))
            TRY(take_chunk(&r, 0, first));
    }
    if (wants_more(&r))
        TRY(read_by_cursor(&r, t, prefix));
    if (wants_more(&r))
        take_hole(&r, r.end);
    return OK;
}

/* ---- removing ---- */

static struct err drop_pieces(struct txn *t, struct str value, unsigned *pieces)
{
    struct reader in = reader_of(value);
    struct piece piece;
    while (piece_decode(&in, &piece)) {
        ++*pieces;
        if (piece.kind == PIECE_EXTENT)
            TRY(txn_extent(t, EXTENT_DROP, &piece.extent));
    }
    return reader_ok(&in) ? OK : err_new(ERR_CORRUPT);
}

static struct err remove_chunks(struct txn *t, struct cursor *c, unsigned pieces_max, bool *done)
{
    unsigned pieces = 0;
    while (c->valid) {
        if (pieces >= pieces_max) {
            *done = false;
            return OK;
        }
        TRY(drop_pieces(t, c->value, &pieces));
        TRY(txn_del(t, arena_copy(txn_arena(t), c->key)));
        TRY(cursor_next(c));
    }
    *done = true;
    return OK;
}

struct err content_remove_inline(struct txn *t, struct str prefix)
{
    return txn_del(t, chunk_key(txn_arena(t), prefix, 0));
}

struct err content_remove(struct txn *t, struct str prefix, unsigned pieces_max, bool *done)
{
    struct cursor *c;
    TRY(cursor_open(t, prefix, &c));
    struct err e = cursor_seek(c, prefix);
    if (!err_is(e))
        e = remove_chunks(t, c, pieces_max, done);
    cursor_close(c);
    return e;
}

bool content_extents(struct str value, content_named *named, void *sink)
{
    struct reader in = reader_of(value);
    struct piece piece;
    while (piece_decode(&in, &piece))
        if (piece.kind == PIECE_EXTENT)
            named(sink, &piece.extent);
    return reader_ok(&in);
}
