/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/content/interval_fold.h"

#include <assert.h>

#include "engine/wait.h"
#include "service/common/content/interval_rows.h"

enum {
    WORTH_BLOCKS = 512, /* half of a chunk's blocks, so that the copy costs at most twice what it
                         * folds */
    WORTH_PIECES = 128,
    WORTH_WASTE = 2, /* held bytes are at least this many times the used bytes */
    COPY_BYTES = 256 << 10,
};

/* Statistics of the chunk's rows. */
struct survey {
    uint64_t rows, stamps, blocks, pieces, held;
};

static struct err survey_row(const struct interval_map *m, struct vrow_cursor *c, struct survey *s)
{
    const struct vrow *row = vrow_cursor_row(c);
    s->rows++;
    s->stamps += (uint64_t)row->stamp * (s->rows * 2 + 1);
    if (!interval_key_is_chunk(str_from(vrow_cursor_key(c), m->prefix.n))) {
        s->blocks++;
        return OK;
    }
    struct chunk chunk = {.arena = txn_arena(m->rows->txn)};
    if (!interval_chunk_decode(row->payload, row->stamp, &chunk))
        return err_new(ERR_CORRUPT);
    s->pieces = chunk.piece_count;
    s->held = interval_chunk_held_bytes(&chunk);
    return OK;
}

static struct err survey_chunk(const struct interval_map *m, uint32_t chunk, struct survey *s)
{
    struct vrow_cursor *c;
    struct err e = OK;
    TRY(vrow_cursor_open(m->rows, interval_chunk_key(m, chunk), &c));
    while (!err_is(e) && vrow_cursor_valid(c)) {
        e = survey_row(m, c, s);
        if (!err_is(e))
            e = vrow_cursor_next(c);
    }
    vrow_cursor_close(c);
    return e;
}

struct collect {
    struct arena *arena;
    struct interval_fold *fold;
    size_t capacity;
};

static struct err collect_part(void *arg, const struct interval_part *part, bool *stop)
{
    struct collect *c = arg;
    struct interval_fold *f = c->fold;
    (void)stop;
    if (f->part_count == c->capacity) {
        size_t capacity = c->capacity == 0 ? 64 : c->capacity * 2;
        struct interval_part *more = ARENA_ARRAY(c->arena, struct interval_part, capacity);
        if (f->part_count > 0)
            memcpy(more, f->parts, f->part_count * sizeof *more);
        f->parts = more;
        c->capacity = capacity;
    }
    struct interval_part *own = &f->parts[f->part_count++];
    *own = *part;
    if (part->piece.kind == PIECE_INLINE)
        own->piece.bytes =
            arena_copy(c->arena, (struct str){part->piece.bytes, (size_t)part->piece.length}).p;
    f->bytes += (uint32_t)part->piece.length;
    return OK;
}

struct err interval_fold_plan(const struct interval_map *m, uint32_t chunk, struct arena *a,
                              struct interval_fold *out)
{
    assert(out != NULL);
    struct survey s = {0};
    struct collect collect = {.arena = a, .fold = out};
    uint64_t start = chunk * INTERVAL_CHUNK_BYTES;
    *out = (struct interval_fold){.chunk = chunk};
    TRY(survey_chunk(m, chunk, &s));
    if (s.blocks < WORTH_BLOCKS && s.pieces < WORTH_PIECES &&
        s.held <= WORTH_WASTE * INTERVAL_CHUNK_BYTES)
        return OK;
    TRY(interval_walk(m, start, start + INTERVAL_CHUNK_BYTES, collect_part, &collect));
    out->rows = s.rows;
    out->stamps = s.stamps;
    out->worth_it = out->bytes > 0 && !interval_is_void(m, chunk, 0);
    return OK;
}

static struct err copy_part(struct engine *e, struct extent_writer *w, const struct piece *piece)
{
    if (piece->kind == PIECE_INLINE)
        return extent_append(w, (struct str){piece->bytes, (size_t)piece->length});
    char bytes[COPY_BYTES];
    for (uint64_t done = 0; done < piece->length;) {
        uint64_t left = piece->length - done;
        uint32_t length = (uint32_t)(left < sizeof bytes ? left : sizeof bytes);
        TRY(extent_read(e, &piece->extent, piece->extent_offset + (uint32_t)done, length,
                        ENGINE_WAIT, bytes));
        TRY(extent_append(w, (struct str){bytes, length}));
        done += length;
    }
    return OK;
}

struct err interval_fold_copy(struct engine *e, struct interval_fold *f)
{
    struct extent_writer *w;
    TRY(extent_begin(e, f->bytes, 0, &w));
    for (size_t i = 0; i < f->part_count; i++) {
        struct err error = copy_part(e, w, &f->parts[i].piece);
        if (err_is(error)) {
            extent_abandon(w);
            return error;
        }
    }
    return extent_finish(w, &f->extent);
}

static void put_parts(const struct interval_map *m, const struct interval_fold *f, struct chunk *c)
{
    uint32_t extent = interval_chunk_add_extent(c, &f->extent, PIECE_ADOPT);
    uint32_t offset = 0;
    for (size_t i = 0; i < f->part_count;) {
        const struct interval_part *first = &f->parts[i];
        uint64_t end = first->start;
        for (; i < f->part_count && f->parts[i].start == end &&
               interval_age(m, f->parts[i].stamp) == interval_age(m, first->stamp);
             i++)
            end += f->parts[i].piece.length;
        uint32_t length = (uint32_t)(end - first->start);
        interval_chunk_add(c, &(struct chunk_piece){
                                  .start = (uint32_t)(first->start % INTERVAL_CHUNK_BYTES),
                                  .length = length,
                                  .extent = extent,
                                  .offset = offset,
                                  .stamp = first->stamp,
                              });
        offset += length;
    }
}

struct err interval_fold_commit(struct interval_map *m, const struct interval_fold *f, bool *done)
{
    assert(done != NULL);
    struct survey s = {0};
    struct chunk c;
    *done = false;
    TRY(survey_chunk(m, f->chunk, &s));
    if (s.rows != f->rows || s.stamps != f->stamps || interval_is_void(m, f->chunk, 0))
        return OK;
    TRY(interval_cut_blocks(m, f->chunk, 0, (uint32_t)INTERVAL_CHUNK_BYTES));
    TRY(interval_chunk_load(m, f->chunk, &c));
    interval_chunk_cut(&c, 0, (uint32_t)INTERVAL_CHUNK_BYTES);
    put_parts(m, f, &c);
    TRY(interval_chunk_store(m, &c));
    m->has_chunks = true;
    *done = true;
    return OK;
}

/* ---- all three ---- */

static struct err plan_step(struct txn *t, void *arg)
{
    struct interval_folding *f = arg;
    struct interval_map *m;
    TRY(f->open(t, f->arg, &m));
    return m == NULL ? OK : interval_fold_plan(m, f->chunk, &f->arena, &f->fold);
}

static struct err commit_step(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct interval_folding *f = arg;
    struct interval_map *m;
    f->done = false;
    TRY(f->drop_note(t, f->arg));
    TRY(f->open(t, f->arg, &m));
    if (m == NULL || !f->fold.worth_it)
        return OK;
    TRY(interval_fold_commit(m, &f->fold, &f->done));
    m->fold_wanted = false;
    return f->done ? f->keep(t, f->arg) : OK;
}

static struct err run_steps(struct engine *e, struct interval_folding *f)
{
    TRY(engine_view(e, f->partition, ENGINE_WAIT, plan_step, f));
    bool copied = f->fold.worth_it;
    if (copied)
        TRY(interval_fold_copy(e, &f->fold));
    struct err error = engine_update_wait(e, f->partition, commit_step, f);
    if (copied && error.code != ERR_UNKNOWN_OUTCOME && (err_is(error) || !f->done))
        extent_discard(e, &f->fold.extent);
    return error;
}

/* Takes a pin before the plan, so that what the plan found can still be read when it is copied. */
struct err interval_fold_run(struct engine *e, struct interval_folding *f)
{
    struct engine_pin *pin = engine_pin(e);
    arena_init(&f->arena, SIZE_MAX);
    struct err error = run_steps(e, f);
    arena_release(&f->arena);
    engine_unpin(e, pin);
    return error;
}
