/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/content/content.h"

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
    assert(out != NULL);
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
    assert(txn_writable(t));
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
    assert(txn_writable(t));
    assert(prefix.n > 0);
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

/* A read in progress: the part of the range not found yet, and where the pieces go. */
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

/* Clips a piece that begins at `start` to the requested range. */
static void take_piece(struct content_reader *r, struct piece piece, uint64_t start)
{
    assert(start <= r->next && r->next < start + piece.length);
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
    /* The chunk that begins at or before the range, if any. */
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
    assert(out != NULL);
    return content_read_some(t, prefix, (struct content_part){offset, length, SIZE_MAX}, a, out);
}

struct err content_read_some(struct txn *t, struct str prefix, struct content_part part,
                             struct arena *a, struct pieces *out)
{
    assert(part.length <= UINT64_MAX - part.offset);
    struct content_reader r = {.arena = a,
                               .out = out,
                               .next = part.offset,
                               .end = part.offset + part.length,
                               .pieces_max = part.pieces_max};
    *out = (struct pieces){0};
    if (part.length == 0)
        return OK;
    /* Most contents are one chunk: a get is cheaper than a cursor. */
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

/* ---- ranges one after the other ---- */

void content_walk_begin(struct content_walk *w, struct txn *t, struct str prefix)
{
    assert(prefix.n > 0);
    *w = (struct content_walk){.txn = t, .prefix = prefix};
}

void content_walk_end(struct content_walk *w)
{
    if (w->cursor != NULL)
        cursor_close(w->cursor);
    w->cursor = NULL;
}

static void walk_rewind(struct content_walk *w)
{
    w->rest = reader_of(w->chunk);
    w->at = w->start;
}

/* The value is copied: the caller writes rows meanwhile. */
static struct err walk_take_chunk(struct content_walk *w, uint64_t start, struct str value)
{
    struct piece piece;
    w->chunk = arena_copy(txn_arena(w->txn), value);
    w->start = start;
    w->end = start;
    walk_rewind(w);
    while (piece_decode(&w->rest, &piece))
        w->end += piece.length;
    bool sound = reader_ok(&w->rest);
    walk_rewind(w);
    return sound ? OK : err_new(ERR_CORRUPT);
}

static struct err walk_take_at_cursor(struct content_walk *w)
{
    w->in_step = true;
    w->chunk = STR_NONE;
    if (!w->cursor->valid)
        return OK;
    struct reader key = reader_of(str_from(w->cursor->key, w->prefix.n));
    uint64_t start = read_be64(&key);
    return reader_done(&key) ? walk_take_chunk(w, start, w->cursor->value) : err_new(ERR_CORRUPT);
}

static struct err walk_open(struct content_walk *w)
{
    return w->cursor != NULL ? OK : cursor_open(w->txn, w->prefix, &w->cursor);
}

static struct err walk_next_chunk(struct content_walk *w)
{
    TRY(walk_open(w));
    if (w->in_step)
        TRY(cursor_next(w->cursor));
    else
        TRY(cursor_seek(w->cursor, chunk_key(txn_arena(w->txn), w->prefix, w->end)));
    return walk_take_at_cursor(w);
}

static bool walk_has(const struct content_walk *w, uint64_t offset)
{
    return str_given(w->chunk) && offset >= w->start && offset < w->end;
}

/* Seeks the chunk that begins at or before the offset, if there is one, else the first. Nearly
 * every content is one chunk: a plain get is cheaper than a cursor. */
static struct err walk_seek(struct content_walk *w, uint64_t offset)
{
    struct str first = STR_NONE;
    struct arena *a = txn_arena(w->txn);
    if (walk_has(w, offset)) {
        walk_rewind(w);
        return OK;
    }
    w->in_step = false;
    if (w->cursor == NULL && offset < (uint64_t)CONTENT_CHUNK_PIECES * EXTENT_BYTES_MAX)
        TRY(txn_get(w->txn, chunk_key(a, w->prefix, 0), &first));
    if (str_given(first))
        TRY(walk_take_chunk(w, 0, first));
    if (walk_has(w, offset))
        return OK;
    TRY(walk_open(w));
    TRY(cursor_seek_before(w->cursor, chunk_key(a, w->prefix, offset + 1)));
    if (!w->cursor->valid)
        TRY(cursor_seek(w->cursor, w->prefix));
    return walk_take_at_cursor(w);
}

/* Passes the next piece, or the rest of it, to the reader. */
static struct err walk_step(struct content_walk *w, struct content_reader *r)
{
    struct reader before = w->rest;
    struct piece piece;
    take_hole(r, w->at);
    if (!wants_more(r))
        return OK;
    if (!piece_decode(&w->rest, &piece))
        return err_new(ERR_CORRUPT);
    if (w->at + piece.length > r->next)
        take_piece(r, piece, w->at);
    if (r->next < w->at + piece.length)
        w->rest = before;
    else
        w->at += piece.length;
    return OK;
}

static struct err walk_to_end(struct content_walk *w, struct content_reader *r)
{
    while (wants_more(r) && str_given(w->chunk)) {
        if (w->rest.n > 0)
            TRY(walk_step(w, r));
        else
            TRY(walk_next_chunk(w));
    }
    return OK;
}

struct err content_walk_read(struct content_walk *w, uint64_t offset, uint64_t length,
                             struct pieces *out)
{
    assert(out != NULL);
    struct content_reader r = {.arena = txn_arena(w->txn),
                               .out = out,
                               .next = offset,
                               .end = offset + length,
                               .pieces_max = SIZE_MAX};
    *out = (struct pieces){0};
    if (!str_given(w->chunk) || offset != w->expected)
        TRY(walk_seek(w, offset));
    TRY(walk_to_end(w, &r));
    take_hole(&r, r.end);
    w->expected = r.end;
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
    assert(txn_writable(t));
    return txn_del(t, chunk_key(txn_arena(t), prefix, 0));
}

struct err content_remove(struct txn *t, struct str prefix, unsigned pieces_max, bool *done)
{
    assert(txn_writable(t));
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
