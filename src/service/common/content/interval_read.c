/* SPDX-License-Identifier: Apache-2.0 */
/* Reading: finds the written parts of a range; blocks cover chunks. */
#include <assert.h>

#include "service/common/content/interval_rows.h"

const struct interval_limits INTERVAL_LIMITS_DEFAULT = {
    .pieces_max = 4096,
    .inline_max = 4 << 20,
};

enum { POINT_BLOCKS = 4, POINT_CHUNKS = 3 };

/* A walk in progress. */
struct walk {
    const struct interval_map *m;
    uint64_t from, to;
    interval_visit *visit;
    void *arg;
    int64_t since; /* rows that are not newer are ignored */
    bool stop;
    struct block block; /* reused for each block */
    /* The current chunk. */
    struct chunk base;
    size_t next_piece;
    uint64_t start; /* its offset in the content */
    uint64_t at;    /* everything before it was reported */
    uint64_t end;   /* end of the requested part of it */
};

static struct err tell(struct walk *w, const struct interval_part *part)
{
    return w->stop ? OK : w->visit(w->arg, part, &w->stop);
}

/* Reports the chunk's pieces up to `until`. */
static struct err tell_base(struct walk *w, uint64_t until)
{
    while (w->at < until && w->next_piece < w->base.piece_count && !w->stop) {
        const struct chunk_piece *p = &w->base.pieces[w->next_piece];
        uint64_t start = w->start + p->start;
        uint64_t end = start + p->length;
        if (end <= w->at) {
            w->next_piece++;
            continue;
        }
        if (start >= until)
            break;
        uint64_t from = start > w->at ? start : w->at;
        uint64_t to = end < until ? end : until;
        struct interval_part part = {
            .start = from,
            .stamp = p->stamp,
            .piece = {.kind = PIECE_EXTENT,
                      .length = to - from,
                      .extent = w->base.extents[p->extent].extent,
                      .extent_offset = p->offset + (uint32_t)(from - start)},
        };
        w->at = to;
        TRY(tell(w, &part));
    }
    if (!w->stop)
        w->at = until;
    return OK;
}

static void enter_chunk(struct walk *w, uint32_t index)
{
    w->base.piece_count = 0;
    w->base.extent_count = 0;
    w->next_piece = 0;
    w->start = index * INTERVAL_CHUNK_BYTES;
    w->end = w->start + INTERVAL_CHUNK_BYTES;
    w->at = w->start > w->from ? w->start : w->from;
    if (w->end > w->to)
        w->end = w->to;
}

static bool counts(const struct walk *w, uint32_t chunk, const struct vrow *row)
{
    return vrow_given(row) && row->stamp > w->since && !interval_is_void(w->m, chunk, row->stamp);
}

static struct err take_chunk_row(struct walk *w, uint32_t index, const struct vrow *row)
{
    if (!counts(w, index, row))
        return OK;
    return interval_chunk_decode(row->payload, row->stamp, &w->base) ? OK : err_new(ERR_CORRUPT);
}

/* Reports a block's runs, and the chunk's pieces before and between them. */
static struct err take_block_row(struct walk *w, uint32_t chunk, uint32_t index,
                                 const struct vrow *row)
{
    struct block *b = &w->block;
    uint64_t start = w->start + (uint64_t)index * INTERVAL_BLOCK_BYTES;
    if (!counts(w, chunk, row))
        return OK;
    b->run_count = 0;
    if (!interval_block_decode(row->payload, row->stamp, b))
        return err_new(ERR_CORRUPT);
    for (size_t i = 0; i < b->run_count && !w->stop; i++) {
        uint64_t from = start + b->runs[i].start;
        uint64_t to = from + b->runs[i].length;
        uint64_t skip = from < w->at ? w->at - from : 0;
        if (to <= w->at || from >= w->end)
            continue;
        TRY(tell_base(w, from + skip));
        struct interval_part part = {
            .start = from + skip,
            .stamp = b->runs[i].stamp,
            .piece = {.kind = PIECE_INLINE, .bytes = b->runs[i].bytes + skip},
        };
        part.piece.length = (to < w->end ? to : w->end) - part.start;
        TRY(tell(w, &part));
        w->at = part.start + part.piece.length;
    }
    return OK;
}

/* ---- by gets ---- */

static struct err walk_chunk_by_gets(struct walk *w, uint32_t index)
{
    enter_chunk(w, index);
    if (w->m->has_chunks) {
        struct vrow row;
        TRY(vrow_get(w->m->rows, interval_chunk_key(w->m, index), &row));
        TRY(take_chunk_row(w, index, &row));
    }
    if (w->m->has_blocks) {
        uint32_t last = (uint32_t)((w->end - 1 - w->start) / INTERVAL_BLOCK_BYTES);
        uint32_t block = (uint32_t)((w->at - w->start) / INTERVAL_BLOCK_BYTES);
        for (; block <= last && !w->stop; block++) {
            struct vrow row;
            TRY(vrow_get(w->m->rows, interval_block_key(w->m, index, block), &row));
            TRY(take_block_row(w, index, block, &row));
        }
    }
    return tell_base(w, w->end);
}

/* ---- by a cursor ---- */

/* The cursor is at the first row of a chunk; leaves it at the first row of another. */
static struct err walk_chunk_by_cursor(struct walk *w, struct vrow_cursor *c, uint32_t index)
{
    uint32_t chunk;
    int block;
    bool seeking = w->from > index * INTERVAL_CHUNK_BYTES;
    enter_chunk(w, index);
    while (vrow_cursor_valid(c) && !w->stop) {
        if (!interval_key_read(str_from(vrow_cursor_key(c), w->m->prefix.n), &chunk, &block))
            return err_new(ERR_CORRUPT);
        if (chunk != index)
            break;
        if (block < 0)
            TRY(take_chunk_row(w, chunk, vrow_cursor_row(c)));
        else if (w->start + (uint64_t)block * INTERVAL_BLOCK_BYTES >= w->end)
            break;
        else
            TRY(take_block_row(w, chunk, (uint32_t)block, vrow_cursor_row(c)));
        if (seeking && block < 0)
            TRY(vrow_cursor_seek(
                c, interval_block_key(w->m, chunk,
                                      (uint32_t)((w->at - w->start) / INTERVAL_BLOCK_BYTES))));
        else
            TRY(vrow_cursor_next(c));
    }
    return tell_base(w, w->end);
}

static struct err walk_with(struct walk *w, struct vrow_cursor *c)
{
    uint32_t chunk = (uint32_t)(w->from / INTERVAL_CHUNK_BYTES);
    uint32_t last = (uint32_t)((w->to - 1) / INTERVAL_CHUNK_BYTES);
    TRY(vrow_cursor_seek(c, interval_chunk_key(w->m, chunk)));
    while (vrow_cursor_valid(c) && !w->stop) {
        int block;
        if (!interval_key_read(str_from(vrow_cursor_key(c), w->m->prefix.n), &chunk, &block))
            return err_new(ERR_CORRUPT);
        if (chunk > last)
            break;
        TRY(walk_chunk_by_cursor(w, c, chunk));
        if (w->end == w->to)
            break;
    }
    return OK;
}

static struct err walk_by_cursor(struct walk *w)
{
    struct vrow_cursor *c;
    TRY(vrow_cursor_open(w->m->rows, w->m->prefix, &c));
    struct err e = walk_with(w, c);
    vrow_cursor_close(c);
    return e;
}

static struct walk walk_of(const struct interval_map *m, struct interval_range range,
                           interval_visit *visit, void *arg)
{
    struct arena *a = txn_arena(m->rows->txn);
    assert(range.to <= INTERVAL_SIZE_MAX);
    return (struct walk){.m = m,
                         .from = range.from,
                         .to = range.to,
                         .visit = visit,
                         .arg = arg,
                         .since = INT64_MIN,
                         .base = {.arena = a},
                         .block = {.arena = a}};
}

static bool nothing_to_walk(const struct walk *w)
{
    return w->from >= w->to || (!w->m->has_chunks && !w->m->has_blocks);
}

static struct err walk_all(struct walk *w)
{
    if (nothing_to_walk(w))
        return OK;
    uint64_t blocks = (w->to - 1) / INTERVAL_BLOCK_BYTES - w->from / INTERVAL_BLOCK_BYTES + 1;
    uint32_t first = (uint32_t)(w->from / INTERVAL_CHUNK_BYTES);
    uint32_t last = (uint32_t)((w->to - 1) / INTERVAL_CHUNK_BYTES);
    if (last - first >= POINT_CHUNKS || (w->m->has_blocks && blocks > POINT_BLOCKS))
        return walk_by_cursor(w);
    for (uint32_t chunk = first; chunk <= last && !w->stop; chunk++)
        TRY(walk_chunk_by_gets(w, chunk));
    return OK;
}

struct err interval_walk(const struct interval_map *m, uint64_t from, uint64_t to,
                         interval_visit *visit, void *arg)
{
    assert(visit != NULL);
    struct walk w = walk_of(m, (struct interval_range){from, to}, visit, arg);
    return walk_all(&w);
}

struct err interval_walk_since(const struct interval_map *m, struct interval_range range,
                               int64_t since, interval_visit *visit, void *arg)
{
    struct walk w = walk_of(m, range, visit, arg);
    w.since = since;
    return walk_all(&w);
}

/* A byte that is no longer written was in a row that has changed: a cut affects the chunk and the
 * blocks over it alike. It cannot be under an unchanged block, because there it would still be
 * written. */
struct err interval_walk_changed(const struct interval_map *m, struct interval_range range,
                                 int64_t until, interval_visit *visit, void *arg)
{
    struct walk w = walk_of(m, range, visit, arg);
    struct vrow_cursor *c;
    if (nothing_to_walk(&w))
        return OK;
    TRY(vrow_cursor_open_changed(m->rows, m->prefix, until, &c));
    struct err e = walk_with(&w, c);
    vrow_cursor_close(c);
    return e;
}

/* ---- pieces ---- */

struct gather {
    const struct interval_limits *limits;
    struct arena *arena;
    struct pieces *out;
    uint64_t at;
    size_t inline_bytes;
};

static void gather_hole(struct gather *g, uint64_t until)
{
    struct piece hole = {.kind = PIECE_HOLE, .length = until - g->at};
    if (until > g->at)
        pieces_add(g->out, g->arena, &hole);
    g->at = until;
}

static struct err gather_part(void *arg, const struct interval_part *part, bool *stop)
{
    struct gather *g = arg;
    struct piece piece = part->piece;
    gather_hole(g, part->start);
    if (piece.kind == PIECE_INLINE) {
        piece.bytes = arena_copy(g->arena, (struct str){piece.bytes, (size_t)piece.length}).p;
        g->inline_bytes += piece.length;
    }
    pieces_add(g->out, g->arena, &piece);
    g->at += piece.length;
    *stop = g->out->count >= g->limits->pieces_max || g->inline_bytes >= g->limits->inline_max;
    return OK;
}

struct err interval_read(const struct interval_map *m, struct interval_range range,
                         const struct interval_limits *limits, struct arena *a, struct pieces *out,
                         uint64_t *until)
{
    assert(limits->pieces_max > 0);
    struct gather g = {.limits = limits, .arena = a, .out = out, .at = range.from};
    *out = (struct pieces){0};
    TRY(interval_walk(m, range.from, range.to, gather_part, &g));
    bool stopped = out->count >= limits->pieces_max || g.inline_bytes >= limits->inline_max;
    if (!stopped)
        gather_hole(&g, range.to);
    *until = g.at;
    return OK;
}
