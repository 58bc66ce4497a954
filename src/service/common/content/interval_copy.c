/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/content/interval_copy.h"

#include <assert.h>

#include "service/common/content/interval_rows.h"
#include "service/common/rows.h"

/* ---- listing ---- */

static struct err list_with(const struct interval_map *m, struct vrow_cursor *c, size_t max,
                            struct arena *a, struct interval_copy_rows *out)
{
    while (vrow_cursor_valid(c)) {
        struct str rest = str_from(vrow_cursor_key(c), m->prefix.n);
        uint32_t chunk;
        int block;
        if (!interval_key_read(rest, &chunk, &block))
            return err_new(ERR_CORRUPT);
        if (out->count == max) {
            out->next = arena_copy(a, rest);
            return OK;
        }
        if (!interval_is_void(m, chunk, vrow_cursor_row(c)->stamp))
            out->items[out->count++] = (struct interval_copy_row){
                .rest = arena_copy(a, rest),
                .key = arena_copy(a, vrow_cursor_stored_key(c)),
                .stamp = vrow_cursor_row(c)->stamp,
            };
        TRY(vrow_cursor_next(c));
    }
    return OK;
}

struct err interval_copy_list(const struct interval_map *source, struct str from, size_t max,
                              struct arena *a, struct interval_copy_rows *out)
{
    assert(max > 0);
    struct vrow_cursor *c;
    *out = (struct interval_copy_rows){.items = ARENA_ARRAY(a, struct interval_copy_row, max)};
    if (!source->has_chunks && !source->has_blocks)
        return OK;
    TRY(vrow_cursor_open(source->rows, source->prefix, &c));
    struct err e = OK;
    if (str_given(from)) {
        struct buf key = buf_in(txn_arena(source->rows->txn));
        buf_put(&key, source->prefix);
        buf_put(&key, from);
        e = vrow_cursor_seek(c, buf_str(&key));
    }
    if (!err_is(e))
        e = list_with(source, c, max, a, out);
    vrow_cursor_close(c);
    return e;
}

/* ---- taking over ---- */

static struct err take_chunk(struct interval_map *to, uint32_t index, const struct vrow *row)
{
    struct arena *a = txn_arena(to->rows->txn);
    struct chunk from = {.arena = a};
    struct chunk c;
    if (!interval_chunk_decode(row->payload, row->stamp, &from))
        return err_new(ERR_CORRUPT);
    to->has_chunks = true;
    TRY(interval_chunk_load(to, index, &c));
    interval_chunk_cut(&c, 0, (uint32_t)INTERVAL_CHUNK_BYTES);
    size_t first = c.extent_count;
    for (size_t i = 0; i < from.extent_count; i++)
        (void)interval_chunk_add_extent(&c, &from.extents[i].extent, PIECE_HOLD);
    for (size_t i = 0; i < from.piece_count; i++) {
        struct chunk_piece piece = from.pieces[i];
        piece.extent += (uint32_t)first;
        piece.stamp = txn_stamp(to->rows->txn);
        interval_chunk_add(&c, &piece);
    }
    return interval_chunk_store(to, &c);
}

static struct err take_block(struct interval_map *to, uint32_t chunk, uint32_t index,
                             const struct vrow *row)
{
    struct block from = {.arena = txn_arena(to->rows->txn)};
    struct block b;
    if (!interval_block_decode(row->payload, row->stamp, &from))
        return err_new(ERR_CORRUPT);
    to->has_blocks = true;
    TRY(interval_block_load(to, chunk, index, &b));
    interval_block_cut(&b, 0, INTERVAL_BLOCK_BYTES);
    for (size_t i = 0; i < from.run_count; i++) {
        struct block_run run = from.runs[i];
        run.stamp = txn_stamp(to->rows->txn);
        interval_block_add(&b, &run);
    }
    return interval_block_store(to, &b);
}

struct err interval_copy_take(struct interval_map *to, struct str source_partition,
                              const struct interval_copy_row *row, bool *gone)
{
    assert(gone != NULL);
    struct str value;
    struct vrow found;
    uint32_t chunk;
    int block;
    TRY(row_get_in(to->rows->txn, source_partition, row->key, &value));
    if (!vrow_split(value, &found) || !interval_key_read(row->rest, &chunk, &block))
        return err_new(ERR_CORRUPT);
    *gone = !vrow_given(&found) || found.stamp != row->stamp;
    if (*gone)
        return OK;
    return block < 0 ? take_chunk(to, chunk, &found)
                     : take_block(to, chunk, (uint32_t)block, &found);
}

/* ---- marks ---- */

struct err interval_marks_take(const struct interval_map *m, uint64_t offset,
                               const struct pieces *pieces, struct arena *a,
                               struct interval_marks *out)
{
    uint64_t marked = UINT64_MAX;
    *out =
        (struct interval_marks){.items = ARENA_ARRAY(a, struct interval_mark, pieces->count + 1)};
    for (size_t i = 0; i < pieces->count; i++) {
        uint64_t chunk = offset / INTERVAL_CHUNK_BYTES;
        offset += pieces->items[i].length;
        if (pieces->items[i].kind != PIECE_EXTENT || chunk == marked)
            continue;
        struct str key = interval_chunk_key(m, (uint32_t)chunk);
        struct vrow row;
        TRY(vrow_get(m->rows, key, &row));
        if (!vrow_given(&row))
            return err_new(ERR_CORRUPT);
        out->items[out->count++] = (struct interval_mark){arena_copy(a, key), row.stamp};
        marked = chunk;
    }
    return OK;
}

struct err interval_marks_check(struct txn *t, struct str partition,
                                const struct interval_marks *marks, bool *same)
{
    assert(same != NULL);
    *same = true;
    for (size_t i = 0; i < marks->count && *same; i++) {
        struct str value;
        struct vrow row;
        TRY(row_get_in(t, partition, marks->items[i].key, &value));
        *same = str_given(value) && vrow_split(value, &row) && row.stamp == marks->items[i].stamp;
    }
    return OK;
}
