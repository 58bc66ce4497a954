/* SPDX-License-Identifier: Apache-2.0 */
/* The interval map against a plain array of bytes: random writes, holes, snapshots and folds. */
#include "service/common/content/interval.h"

#include <stdlib.h>

#include "core/mem.h"
#include "core/test.h"
#include "engine/mem/mem.h"
#include "engine/wait.h"
#include "service/common/content/interval_fold.h"

enum { MODEL_BYTES = (8 << 20) + 777777, SNAPSHOTS_MAX = 6 };

struct model {
    unsigned char *bytes;
    unsigned char *written; /* 1 where a write was, since the last cut */
};

struct world {
    struct clock clock;
    struct engine *engine;
    uint64_t seed;
    struct model live;
    struct model past[SNAPSHOTS_MAX];
    int64_t kept[SNAPSHOTS_MAX];
    size_t kept_count;
    bool has_chunks, has_blocks;
    struct interval_void voids[INTERVAL_VOIDS_MAX];
    unsigned void_count;
    struct interval_map past_maps[SNAPSHOTS_MAX]; /* flags and voids at the snapshot */
    int64_t stamp;
};

static uint64_t roll(struct world *w, uint64_t below)
{
    w->seed = w->seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (w->seed >> 33) % below;
}

static struct model model_new(void)
{
    return (struct model){mem_calloc(MODEL_BYTES, 1), mem_calloc(MODEL_BYTES, 1)};
}

static struct model model_copy(const struct model *m)
{
    struct model copy = model_new();
    memcpy(copy.bytes, m->bytes, MODEL_BYTES);
    memcpy(copy.written, m->written, MODEL_BYTES);
    return copy;
}

static void model_free(struct model *m)
{
    free(m->bytes);
    free(m->written);
}

static void world_begin(struct world *w, uint64_t seed)
{
    *w = (struct world){.seed = seed, .live = model_new()};
    clock_init_manual(&w->clock, 1000000);
    w->engine = engine_mem_new(&w->clock);
}

static void world_end(struct world *w)
{
    model_free(&w->live);
    for (size_t i = 0; i < w->kept_count; i++)
        model_free(&w->past[i]);
    engine_close(w->engine);
}

static struct vrow_scope scope_of(struct world *w, struct txn *t, int64_t at)
{
    return (struct vrow_scope){
        .txn = t, .at = at, .kept = w->kept, .kept_count = w->kept_count, .history = STR("h")};
}

static struct interval_map map_of(struct world *w, const struct vrow_scope *s)
{
    struct interval_map m = {.rows = s,
                             .prefix = STR("mcontent"),
                             .has_chunks = w->has_chunks,
                             .has_blocks = w->has_blocks,
                             .void_count = w->void_count};
    memcpy(m.voids, w->voids, sizeof m.voids);
    return m;
}

static void map_keep(struct world *w, const struct interval_map *m, struct txn *t)
{
    w->has_chunks = m->has_chunks;
    w->has_blocks = m->has_blocks;
    w->void_count = m->void_count;
    memcpy(w->voids, m->voids, sizeof m->voids);
    w->stamp = txn_stamp(t);
}

/* ---- writes ---- */

struct write {
    struct world *w;
    uint64_t offset;
    struct pieces pieces;
};

static struct err do_write(struct txn *t, void *arg)
{
    struct write *a = arg;
    struct vrow_scope s = scope_of(a->w, t, VROW_LIVE);
    struct interval_map m = map_of(a->w, &s);
    TRY(interval_write(&m, a->offset, &a->pieces, PIECE_ADOPT));
    map_keep(a->w, &m, t);
    return OK;
}

static void store_extent(struct world *w, struct str bytes, struct extent *out)
{
    struct extent_writer *writer;
    CHECK_OK(extent_begin(w->engine, (uint32_t)bytes.n, 0, &writer));
    CHECK_OK(extent_append(writer, bytes));
    CHECK_OK(extent_finish(writer, out));
}

static void write_bytes(struct world *w, uint64_t offset, uint64_t length)
{
    struct arena a;
    arena_init(&a, SIZE_MAX);
    struct write write = {.w = w, .offset = offset};
    memset(w->live.written + offset, 1, length);
    uint64_t salt = roll(w, 1 << 30);
    for (uint64_t i = 0; i < length; i++)
        w->live.bytes[offset + i] = (unsigned char)(salt + i * 7 + (i >> 11));
    for (uint64_t done = 0; done < length;) {
        struct piece piece = {0};
        piece.length = interval_piece_length(offset + done, length - done, &piece.kind);
        struct str bytes = {(const char *)w->live.bytes + offset + done, (size_t)piece.length};
        if (piece.kind == PIECE_INLINE)
            piece.bytes = bytes.p;
        else
            store_extent(w, bytes, &piece.extent);
        pieces_add(&write.pieces, &a, &piece);
        done += piece.length;
    }
    CHECK_OK(engine_update_wait(w->engine, STR("p"), do_write, &write));
    arena_release(&a);
}

struct cut {
    struct world *w;
    uint64_t from, to;
};

static struct err do_cut(struct txn *t, void *arg)
{
    struct cut *a = arg;
    struct vrow_scope s = scope_of(a->w, t, VROW_LIVE);
    struct interval_map m = map_of(a->w, &s);
    TRY(interval_cut(&m, a->from, a->to));
    map_keep(a->w, &m, t);
    return OK;
}

static void cut_bytes(struct world *w, uint64_t from, uint64_t to)
{
    struct cut cut = {w, from, to == MODEL_BYTES ? INTERVAL_SIZE_MAX : to};
    CHECK_OK(engine_update_wait(w->engine, STR("p"), do_cut, &cut));
    memset(w->live.bytes + from, 0, to - from);
    memset(w->live.written + from, 0, to - from);
}

static struct err do_nothing(struct txn *t, void *arg)
{
    struct world *w = arg;
    w->stamp = txn_stamp(t);
    return OK;
}

static void take_snapshot(struct world *w)
{
    struct vrow_scope none = {0};
    CHECK_OK(engine_update_wait(w->engine, STR("p"), do_nothing, w));
    w->past_maps[w->kept_count] = map_of(w, &none);
    w->past[w->kept_count] = model_copy(&w->live);
    w->kept[w->kept_count++] = w->stamp;
}

/* ---- what goes ---- */

static struct err sweep_history(struct txn *t, void *arg)
{
    struct world *w = arg;
    struct vrow_scope s = scope_of(w, t, VROW_LIVE);
    struct cursor *c;
    TRY(cursor_open(t, STR("h"), &c));
    while (c->valid) {
        struct str key = arena_copy(txn_arena(t), c->key);
        struct vrow row;
        CHECK(vrow_split(arena_copy(txn_arena(t), c->value), &row));
        if (vrow_past_unseen(&s, key, &row)) {
            TRY(txn_del(t, key));
            if (interval_key_is_chunk(str_from(vrow_past_key(&s, key), STR("mcontent").n)))
                TRY(interval_drop(t, row.payload));
        }
        TRY(cursor_next(c));
    }
    cursor_close(c);
    return OK;
}

static void drop_snapshot(struct world *w, size_t i)
{
    model_free(&w->past[i]);
    for (size_t k = i + 1; k < w->kept_count; k++) {
        w->past[k - 1] = w->past[k];
        w->kept[k - 1] = w->kept[k];
        w->past_maps[k - 1] = w->past_maps[k];
    }
    w->kept_count--;
    CHECK_OK(engine_update_wait(w->engine, STR("p"), sweep_history, w));
}

/* ---- folds ---- */

struct fold {
    struct world *w;
    struct arena arena;
    uint32_t chunk;
    struct interval_fold plan;
    bool done;
};

static struct err do_plan(struct txn *t, void *arg)
{
    struct fold *f = arg;
    struct vrow_scope s = scope_of(f->w, t, VROW_LIVE);
    struct interval_map m = map_of(f->w, &s);
    return interval_fold_plan(&m, f->chunk, &f->arena, &f->plan);
}

static struct err do_fold(struct txn *t, void *arg)
{
    struct fold *f = arg;
    struct vrow_scope s = scope_of(f->w, t, VROW_LIVE);
    struct interval_map m = map_of(f->w, &s);
    TRY(interval_fold_commit(&m, &f->plan, &f->done));
    map_keep(f->w, &m, t);
    return OK;
}

static bool fold_chunk(struct world *w, uint32_t chunk)
{
    struct fold f = {.w = w, .chunk = chunk};
    arena_init(&f.arena, SIZE_MAX);
    struct engine_pin *pin = engine_pin(w->engine);
    CHECK_OK(engine_view(w->engine, STR("p"), ENGINE_WAIT, do_plan, &f));
    if (f.plan.worth_it) {
        CHECK_OK(interval_fold_copy(w->engine, &f.plan));
        CHECK_OK(engine_update_wait(w->engine, STR("p"), do_fold, &f));
        CHECK(f.done);
    }
    engine_unpin(w->engine, pin);
    arena_release(&f.arena);
    return f.done;
}

/* ---- reads ---- */

struct look {
    struct world *w;
    struct arena arena;
    int64_t at;
    const struct interval_map *past;
    uint64_t from, to, until;
    struct pieces pieces;
    struct interval_limits limits;
};

static struct err do_look(struct txn *t, void *arg)
{
    struct look *l = arg;
    struct vrow_scope s = scope_of(l->w, t, l->at);
    struct interval_map m = map_of(l->w, &s);
    if (l->past != NULL) {
        m = *l->past;
        m.rows = &s;
    }
    return interval_read(&m, (struct interval_range){l->from, l->to}, &l->limits, &l->arena,
                         &l->pieces, &l->until);
}

static bool all_are(const unsigned char *p, uint64_t n, unsigned char value)
{
    return n == 0 || (p[0] == value && memcmp(p, p + 1, n - 1) == 0);
}

static void check_piece(struct world *w, const struct piece *p, const struct model *want,
                        uint64_t at)
{
    CHECK(all_are(want->written + at, p->length, p->kind != PIECE_HOLE));
    if (p->kind == PIECE_HOLE)
        return;
    char *bytes = mem_alloc((size_t)p->length);
    if (p->kind == PIECE_INLINE)
        memcpy(bytes, p->bytes, p->length);
    else
        CHECK_OK(extent_read(w->engine, &p->extent, p->extent_offset, (uint32_t)p->length,
                             ENGINE_WAIT, bytes));
    CHECK(memcmp(bytes, want->bytes + at, p->length) == 0);
    free(bytes);
}

static void check_range(struct world *w, int snapshot, uint64_t from, uint64_t to)
{
    struct look l = {.w = w, .at = VROW_LIVE, .from = from, .to = to};
    const struct model *want = &w->live;
    l.limits = (struct interval_limits){.pieces_max = 1 + roll(w, 50), .inline_max = 60000};
    arena_init(&l.arena, SIZE_MAX);
    if (snapshot >= 0) {
        l.at = w->kept[snapshot];
        l.past = &w->past_maps[snapshot];
        want = &w->past[snapshot];
    }
    while (l.from < to) {
        CHECK_OK(engine_view(w->engine, STR("p"), ENGINE_WAIT, do_look, &l));
        CHECK(l.until > l.from && l.until <= to);
        CHECK_INT(pieces_length(&l.pieces), l.until - l.from);
        for (size_t i = 0; i < l.pieces.count; i++) {
            check_piece(w, &l.pieces.items[i], want, l.from);
            l.from += l.pieces.items[i].length;
        }
        arena_reset(&l.arena);
    }
    arena_release(&l.arena);
}

static void check_all(struct world *w)
{
    for (int i = -1; i < (int)w->kept_count; i++)
        check_range(w, i, 0, MODEL_BYTES);
}

static void random_range(struct world *w, uint64_t *from, uint64_t *to)
{
    static const uint64_t LENGTHS[] = {1, 100, 4096, 16000, 20000, 300000, 5000000};
    uint64_t length = 1 + roll(w, LENGTHS[roll(w, 7)]);
    *from = roll(w, MODEL_BYTES);
    if (roll(w, 2) == 0)
        *from -= *from % 4096;
    if (roll(w, 3) == 0)
        length = length + 4095 - (length + 4095) % 4096;
    *to = *from + length < MODEL_BYTES ? *from + length : MODEL_BYTES;
}

static void random_step(struct world *w)
{
    uint64_t from, to;
    random_range(w, &from, &to);
    uint64_t what = roll(w, 100);
    if (what < 70)
        write_bytes(w, from, to - from);
    else if (what < 85)
        cut_bytes(w, from, to);
    else if (what < 90 && w->kept_count < SNAPSHOTS_MAX)
        take_snapshot(w);
    else if (what < 94 && w->kept_count > 0)
        drop_snapshot(w, roll(w, w->kept_count));
    else
        (void)fold_chunk(w, (uint32_t)roll(w, 3));
    random_range(w, &from, &to);
    check_range(w, (int)roll(w, w->kept_count + 1) - 1, from, to);
}

static struct err remove_all(struct txn *t, void *arg)
{
    struct world *w = arg;
    struct vrow_scope s = scope_of(w, t, VROW_LIVE);
    struct interval_map m = map_of(w, &s);
    bool done;
    TRY(interval_remove(&m, UINT32_MAX, &done));
    CHECK(done);
    return OK;
}

/* Rows, snapshots and extent counts balance: when everything is removed, nothing is left. */
static void check_nothing_left(struct world *w)
{
    struct engine_usage usage;
    CHECK_OK(engine_update_wait(w->engine, STR("p"), remove_all, w));
    while (w->kept_count > 0)
        drop_snapshot(w, 0);
    engine_usage(w->engine, &usage);
    CHECK_INT(usage.segment_bytes, 0);
}

static void run_model(uint64_t seed)
{
    struct world w;
    world_begin(&w, seed);
    for (int i = 0; i < 250; i++)
        random_step(&w);
    check_all(&w);
    check_nothing_left(&w);
    world_end(&w);
}

void test_interval_against_an_array(void)
{
    for (uint64_t seed = 1; seed <= TEST_TIMES(4); seed++)
        run_model(seed);
}

void test_interval_against_an_array_again(void)
{
    for (uint64_t seed = 101; seed <= 100 + TEST_TIMES(4); seed++)
        run_model(seed);
}

/* A chunk written completely in small blocks becomes one extent, and reads the same. */
void test_interval_folds_blocks(void)
{
    struct world w;
    struct engine_usage usage;
    world_begin(&w, 7);
    for (uint64_t at = 0; at < INTERVAL_CHUNK_BYTES; at += 4096)
        write_bytes(&w, at, 4096);
    take_snapshot(&w);
    write_bytes(&w, 8192, 4096);
    engine_usage(w.engine, &usage);
    CHECK_INT(usage.segment_bytes, 0);
    CHECK(fold_chunk(&w, 0));
    CHECK(!fold_chunk(&w, 0));
    engine_usage(w.engine, &usage);
    CHECK_INT(usage.segment_bytes, INTERVAL_CHUNK_BYTES);
    check_all(&w);
    check_nothing_left(&w);
    world_end(&w);
}

struct step {
    struct world *w;
    bool done;
    unsigned rows_max;
};

static struct err do_sweep_voids(struct txn *t, void *arg)
{
    struct step *s = arg;
    struct vrow_scope scope = scope_of(s->w, t, VROW_LIVE);
    struct interval_map m = map_of(s->w, &scope);
    TRY(interval_sweep_voids(&m, s->rows_max, &s->done));
    map_keep(s->w, &m, t);
    return OK;
}

/* Cutting more rows than one transaction takes leaves a void that reads as a hole at once, lets new
 * writes through, and is swept in steps. */
void test_interval_large_cut_leaves_a_void(void)
{
    struct world w;
    world_begin(&w, 8);
    for (uint64_t at = 0; at + 4096 < MODEL_BYTES; at += 4096)
        write_bytes(&w, at, 4096);
    write_bytes(&w, 0, 50000);
    take_snapshot(&w);
    cut_bytes(&w, 0, MODEL_BYTES);
    CHECK_INT(w.void_count, 1);
    check_all(&w);
    write_bytes(&w, MODEL_BYTES - 9000, 5000);
    write_bytes(&w, MODEL_BYTES - 400000, 200000);
    cut_bytes(&w, MODEL_BYTES - 250000, MODEL_BYTES - 249000);
    check_all(&w);
    struct step step = {.w = &w, .rows_max = 50};
    for (int i = 0; i < 1000 && !step.done; i++)
        CHECK_OK(engine_update_wait(w.engine, STR("p"), do_sweep_voids, &step));
    CHECK_INT(w.void_count, 0);
    check_all(&w);
    check_nothing_left(&w);
    world_end(&w);
}

/* Rewriting one range repeatedly costs one row, not a growing map. */
void test_interval_rewrites_stay_small(void)
{
    struct world w;
    struct engine_usage usage;
    world_begin(&w, 9);
    for (int i = 0; i < 50; i++)
        write_bytes(&w, (uint64_t)i, 4 << 20);
    for (int i = 0; i < 5000; i++)
        write_bytes(&w, 4096 * roll(&w, 1000), 4096);
    engine_usage(w.engine, &usage);
    CHECK(usage.segment_bytes > 4 * INTERVAL_CHUNK_BYTES);
    CHECK(fold_chunk(&w, 0));
    engine_usage(w.engine, &usage);
    CHECK(usage.segment_bytes <= 2 * INTERVAL_CHUNK_BYTES);
    check_all(&w);
    world_end(&w);
}

/* Any bytes of a row are read or refused, never read out of bounds. */
void test_interval_broken_rows_are_refused(void)
{
    struct interval_map m = {0};
    CHECK(!interval_extents(STR("\x05gone"), NULL, NULL));
    CHECK(!interval_voids_decode(STR("12345"), &m));
    CHECK(interval_voids_decode(STR(""), &m));
    CHECK(interval_key_is_chunk(STR("abcd")));
    CHECK(!interval_key_is_chunk(STR("abcd\001xy")));
}
