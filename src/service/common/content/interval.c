/* SPDX-License-Identifier: Apache-2.0 */
/* Writing: adds pieces, cuts holes, removes rows. */
#include "service/common/content/interval.h"

#include <assert.h>

#include "service/common/content/interval_rows.h"

enum {
    FOLD_PIECES = 512,   /* a chunk with more pieces should be folded */
    FOLD_WASTE = 3,      /* or one whose extents are this many times larger than what is used */
    FOLD_LOTTERY = 1024, /* one small write in this many has its chunk examined */
    FOLD_SOON = 16,      /* and one in this many of those even while writes continue */
};

static uint32_t chunk_of(uint64_t offset)
{
    return (uint32_t)(offset / INTERVAL_CHUNK_BYTES);
}

static uint32_t in_chunk(uint64_t offset)
{
    return (uint32_t)(offset % INTERVAL_CHUNK_BYTES);
}

uint32_t interval_piece_length(uint64_t offset, uint64_t length, enum piece_kind *kind)
{
    uint64_t room = INTERVAL_CHUNK_BYTES - in_chunk(offset);
    uint32_t piece = (uint32_t)(length < room ? length : room);
    *kind = piece < INTERVAL_INLINE_MAX ? PIECE_INLINE : PIECE_EXTENT;
    return piece;
}

/* ---- small writes ---- */

/* Writes a whole block whose old value no snapshot can need: nothing has to be read. */
static struct err put_whole_block(struct interval_map *m, uint32_t chunk, uint32_t index,
                                  const char *bytes)
{
    struct block b = {.arena = txn_arena(m->rows->txn), .key = interval_block_key(m, chunk, index)};
    interval_block_add(&b, &(struct block_run){.length = INTERVAL_BLOCK_BYTES,
                                               .stamp = txn_stamp(m->rows->txn),
                                               .bytes = bytes});
    return interval_block_store(m, &b);
}

static struct err put_block(struct interval_map *m, uint32_t chunk, uint32_t at, uint32_t length,
                            const char *bytes)
{
    uint32_t index = at / INTERVAL_BLOCK_BYTES;
    uint32_t start = at % INTERVAL_BLOCK_BYTES;
    struct block b;
    if (length == INTERVAL_BLOCK_BYTES && m->rows->kept_count == 0)
        return put_whole_block(m, chunk, index, bytes);
    TRY(interval_block_load(m, chunk, index, &b));
    interval_block_cut(&b, start, start + length);
    interval_block_add(&b, &(struct block_run){.start = start,
                                               .length = length,
                                               .stamp = txn_stamp(m->rows->txn),
                                               .bytes = bytes});
    return interval_block_store(m, &b);
}

/* Small writes do not read their chunk's row, so the blocks of a chunk are not counted. Instead a
 * small random part of the writes asks the background to examine the chunk: a chunk with many
 * blocks is chosen sooner or later. Folding data that is about to be overwritten is wasted, so it
 * waits for a quiet time, but not for ever: extents under the blocks stay allocated until then. */
static void draw_lot(struct interval_map *m, uint32_t chunk)
{
    uint64_t mixed = ((uint64_t)txn_stamp(m->rows->txn) + chunk) * 0x9E3779B97F4A7C15ULL;
    uint64_t lot = (mixed >> 40) % (FOLD_LOTTERY * FOLD_SOON);
    if (lot % FOLD_LOTTERY == 0) {
        m->fold_wanted = true;
        m->fold_soon = m->fold_soon || lot == 0;
        m->fold_chunk = chunk;
    }
}

static struct err write_inline(struct interval_map *m, uint64_t offset, const struct piece *piece)
{
    uint32_t chunk = chunk_of(offset);
    uint32_t at = in_chunk(offset);
    uint32_t end = at + (uint32_t)piece->length;
    const char *bytes = piece->bytes;
    while (at < end) {
        uint32_t room = INTERVAL_BLOCK_BYTES - at % INTERVAL_BLOCK_BYTES;
        uint32_t length = end - at < room ? end - at : room;
        TRY(put_block(m, chunk, at, length, bytes));
        at += length;
        bytes += length;
    }
    m->has_blocks = true;
    draw_lot(m, chunk);
    return OK;
}

/* ---- blocks go ---- */

/* Copies a cursor's row, so that it survives the following changes. */
static struct err own_row(struct arena *a, struct vrow_cursor *c, struct vrow *out)
{
    return vrow_split(arena_copy(a, vrow_cursor_row(c)->raw), out) ? OK : err_new(ERR_CORRUPT);
}

static struct err cut_block_row(struct interval_map *m, struct vrow_cursor *c, uint32_t from,
                                uint32_t to)
{
    struct block b = {.arena = txn_arena(m->rows->txn)};
    TRY(own_row(b.arena, c, &b.old));
    b.key = arena_copy(b.arena, vrow_cursor_key(c));
    uint32_t chunk;
    int index;
    if (!interval_key_read(str_from(b.key, m->prefix.n), &chunk, &index) || index < 0)
        return err_new(ERR_CORRUPT);
    uint32_t start = (uint32_t)index * INTERVAL_BLOCK_BYTES;
    if (start >= from && start + INTERVAL_BLOCK_BYTES <= to)
        return interval_block_store(m, &b);
    if (!interval_is_void(m, chunk, b.old.stamp) &&
        !interval_block_decode(b.old.payload, b.old.stamp, &b))
        return err_new(ERR_CORRUPT);
    interval_block_cut(&b, from > start ? from - start : 0,
                       to - start < INTERVAL_BLOCK_BYTES ? to - start : INTERVAL_BLOCK_BYTES);
    return interval_block_store(m, &b);
}

static struct err cut_blocks_with(struct interval_map *m, struct vrow_cursor *c, uint32_t chunk,
                                  uint32_t from, uint32_t to)
{
    struct str last = interval_block_key(m, chunk, (to - 1) / INTERVAL_BLOCK_BYTES);
    TRY(vrow_cursor_seek(c, interval_block_key(m, chunk, from / INTERVAL_BLOCK_BYTES)));
    while (vrow_cursor_valid(c) && str_cmp(vrow_cursor_key(c), last) <= 0) {
        TRY(cut_block_row(m, c, from, to));
        TRY(vrow_cursor_next(c));
    }
    return OK;
}

struct err interval_cut_blocks(struct interval_map *m, uint32_t chunk, uint32_t from, uint32_t to)
{
    assert(from <= to && to <= INTERVAL_CHUNK_BYTES);
    struct vrow_cursor *c;
    if (!m->has_blocks || from == to)
        return OK;
    TRY(vrow_cursor_open(m->rows, interval_chunk_key(m, chunk), &c));
    struct err e = cut_blocks_with(m, c, chunk, from, to);
    vrow_cursor_close(c);
    return e;
}

/* ---- large writes ---- */

static struct err write_extent(struct interval_map *m, uint64_t offset, const struct piece *piece,
                               enum piece_claim claim)
{
    uint32_t chunk = chunk_of(offset);
    uint32_t start = in_chunk(offset);
    uint32_t length = (uint32_t)piece->length;
    struct chunk c;
    TRY(interval_cut_blocks(m, chunk, start, start + length));
    TRY(interval_chunk_load(m, chunk, &c));
    interval_chunk_cut(&c, start, start + length);
    if (c.piece_count >= INTERVAL_PIECES_MAX)
        return err_new(ERR_SERVER_BUSY);
    interval_chunk_add(
        &c, &(struct chunk_piece){.start = start,
                                  .length = length,
                                  .extent = interval_chunk_add_extent(&c, &piece->extent, claim),
                                  .offset = piece->extent_offset,
                                  .stamp = txn_stamp(m->rows->txn)});
    m->has_chunks = true;
    if (c.piece_count > FOLD_PIECES ||
        interval_chunk_held_bytes(&c) > FOLD_WASTE * INTERVAL_CHUNK_BYTES) {
        m->fold_wanted = true;
        m->fold_soon = true; /* otherwise the chunk would become too fragmented to take more
                              * writes */
        m->fold_chunk = chunk;
    }
    return interval_chunk_store(m, &c);
}

static struct err write_piece(struct interval_map *m, uint64_t offset, const struct piece *piece,
                              enum piece_claim claim)
{
    if (piece->kind == PIECE_HOLE)
        return interval_cut(m, offset, offset + piece->length);
    assert(in_chunk(offset) + piece->length <= INTERVAL_CHUNK_BYTES);
    return piece->kind == PIECE_INLINE ? write_inline(m, offset, piece)
                                       : write_extent(m, offset, piece, claim);
}

struct err interval_write(struct interval_map *m, uint64_t offset, const struct pieces *pieces,
                          enum piece_claim claim)
{
    assert(m->rows->at == VROW_LIVE);
    for (size_t i = 0; i < pieces->count; i++) {
        TRY(write_piece(m, offset, &pieces->items[i], claim));
        offset += pieces->items[i].length;
    }
    return OK;
}

/* ---- holes ---- */

static struct err cut_in_chunk(struct interval_map *m, uint32_t chunk, uint32_t from, uint32_t to)
{
    struct chunk c;
    TRY(interval_cut_blocks(m, chunk, from, to));
    TRY(interval_chunk_load(m, chunk, &c));
    if (!vrow_given(&c.old))
        return OK;
    interval_chunk_cut(&c, from, to);
    return interval_chunk_store(m, &c);
}

/* Removes the row (of either kind) at the cursor. */
static struct err remove_row(struct interval_map *m, struct vrow_cursor *c)
{
    struct arena *a = txn_arena(m->rows->txn);
    struct str key = arena_copy(a, vrow_cursor_key(c));
    struct vrow row;
    bool past;
    TRY(own_row(a, c, &row));
    TRY(vrow_del(m->rows, key, &row, &past));
    if (past || !interval_key_is_chunk(str_from(key, m->prefix.n)))
        return OK;
    return interval_drop(m->rows->txn, row.payload);
}

/* Removes the rows of chunks first..last that were written before `stamp`. */
struct removal {
    uint32_t first, last;
    int64_t stamp;
    unsigned rows_left;
    bool done;
    uint32_t reached; /* the chunk where it stopped */
};

static struct err remove_with(struct interval_map *m, struct vrow_cursor *c, struct removal *r)
{
    TRY(vrow_cursor_seek(c, interval_chunk_key(m, r->first)));
    while (vrow_cursor_valid(c)) {
        int block;
        if (!interval_key_read(str_from(vrow_cursor_key(c), m->prefix.n), &r->reached, &block))
            return err_new(ERR_CORRUPT);
        if (r->reached > r->last)
            break;
        if (r->rows_left == 0)
            return OK;
        r->rows_left--;
        if (vrow_cursor_row(c)->stamp < r->stamp)
            TRY(remove_row(m, c));
        TRY(vrow_cursor_next(c));
    }
    r->done = true;
    return OK;
}

static struct err remove_rows(struct interval_map *m, struct removal *r)
{
    struct vrow_cursor *c;
    TRY(vrow_cursor_open(m->rows, m->prefix, &c));
    struct err e = remove_with(m, c, r);
    vrow_cursor_close(c);
    return e;
}

/* Adds a void. Voids inside the new one are removed from the list. */
static struct err add_void(struct interval_map *m, struct interval_void add)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < m->void_count; i++)
        if (m->voids[i].first < add.first || m->voids[i].last > add.last)
            m->voids[kept++] = m->voids[i];
    m->void_count = kept;
    if (kept == INTERVAL_VOIDS_MAX)
        return err_new(ERR_SERVER_BUSY);
    m->voids[m->void_count++] = add;
    return OK;
}

static struct err cut_chunks(struct interval_map *m, uint32_t first, uint32_t last)
{
    int64_t stamp = txn_stamp(m->rows->txn);
    struct removal r = {
        .first = first, .last = last, .stamp = INT64_MAX, .rows_left = INTERVAL_CUT_ROWS};
    if (!m->has_chunks && !m->has_blocks)
        return OK;
    TRY(remove_rows(m, &r));
    if (r.done)
        return OK;
    return add_void(m, (struct interval_void){.first = r.reached, .last = last, .stamp = stamp});
}

struct err interval_cut(struct interval_map *m, uint64_t from, uint64_t to)
{
    assert(from <= to);
    assert(m->rows->at == VROW_LIVE);
    if (to > INTERVAL_SIZE_MAX)
        to = INTERVAL_SIZE_MAX;
    if (from >= to)
        return OK;
    uint32_t first = chunk_of(from);
    uint32_t last = chunk_of(to - 1);
    uint32_t start = in_chunk(from);
    uint32_t end = in_chunk(to - 1) + 1;
    if (first == last && (start != 0 || end != INTERVAL_CHUNK_BYTES))
        return cut_in_chunk(m, first, start, end);
    if (start != 0) {
        TRY(cut_in_chunk(m, first, start, (uint32_t)INTERVAL_CHUNK_BYTES));
        first++;
    }
    if (end != INTERVAL_CHUNK_BYTES) {
        TRY(cut_in_chunk(m, last, 0, end));
        if (last == first)
            return OK;
        last--;
    }
    return first <= last ? cut_chunks(m, first, last) : OK;
}

struct err interval_sweep_voids(struct interval_map *m, unsigned rows_max, bool *done)
{
    assert(m->rows->at == VROW_LIVE);
    *done = m->void_count == 0;
    if (*done)
        return OK;
    struct interval_void *v = &m->voids[m->void_count - 1];
    struct removal r = {
        .first = v->first, .last = v->last, .stamp = v->stamp, .rows_left = rows_max};
    TRY(remove_rows(m, &r));
    if (r.done)
        m->void_count--;
    else
        v->first = r.reached;
    *done = m->void_count == 0;
    return OK;
}

struct err interval_remove(struct interval_map *m, unsigned rows_max, bool *done)
{
    assert(done != NULL);
    struct removal r = {.last = UINT32_MAX, .stamp = INT64_MAX, .rows_left = rows_max};
    TRY(remove_rows(m, &r));
    *done = r.done;
    return OK;
}

/* ---- voids in the object's row ---- */

void interval_voids_encode(struct buf *b, const struct interval_map *m)
{
    assert(m->void_count <= INTERVAL_VOIDS_MAX);
    for (unsigned i = 0; i < m->void_count; i++) {
        buf_put_le32(b, m->voids[i].first);
        buf_put_le32(b, m->voids[i].last);
        buf_put_le64(b, (uint64_t)m->voids[i].stamp);
    }
}

bool interval_voids_decode(struct str bytes, struct interval_map *m)
{
    struct reader r = reader_of(bytes);
    m->void_count = 0;
    while (r.n > 0 && m->void_count < INTERVAL_VOIDS_MAX) {
        struct interval_void *v = &m->voids[m->void_count++];
        v->first = read_le32(&r);
        v->last = read_le32(&r);
        v->stamp = (int64_t)read_le64(&r);
    }
    return reader_done(&r);
}
