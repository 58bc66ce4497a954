/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/path/path_merge.h"

#include <stdlib.h>

#include "core/mem.h"
#include "engine/wait.h"
#include "service/blob/block/block.h"

enum {
    RUN_BYTES_MAX = EXTENT_BYTES_MAX, /* inline bytes, which become one extent */
    LOOKED_MAX = 4 * PATH_MERGE_ROWS_MAX,
};
#define RUN_ARENA_LIMIT ((size_t)64 << 20)

/* The row of an append. */
struct found {
    uint64_t position, end;
    int64_t stamp;
    struct str key, row;
    size_t pieces, bytes; /* bytes: those that are inline */
};

/* Appends that follow each other. */
struct run {
    struct str keys[PATH_MERGE_ROWS_MAX], rows[PATH_MERGE_ROWS_MAX];
    size_t count, pieces, bytes;
    uint64_t position, end;
    int64_t stamp; /* the latest stamp: any new append is later */
};

struct span {
    uint64_t position, end;
};

struct merge {
    struct path_write_args *args;
    struct arena arena; /* of one step */
    struct container container;
    uint64_t set;     /* its id */
    uint64_t removed; /* as the set says */
    struct span *small;
    size_t small_count;
    uint64_t from;          /* where the step begins, */
    uint64_t from_ended;    /* and the end of all earlier appends */
    uint64_t next, reached; /* the same of the next one */
    struct run run;
    struct pieces pieces; /* the run's, merged */
    struct pieces fresh;  /* those of them that are new extents */
    bool over;
};

/* ---- what there is ---- */

static struct err measure(struct str row, struct found *out)
{
    struct reader r = reader_of(row);
    struct piece piece;
    out->row = row;
    out->end = out->position;
    out->pieces = out->bytes = 0;
    while (piece_decode(&r, &piece)) {
        out->end += piece.length;
        out->pieces++;
        out->bytes += piece.kind == PIECE_INLINE ? (size_t)piece.length : 0;
    }
    return reader_ok(&r) ? OK : err_new(ERR_CORRUPT);
}

static struct err read_found(struct str id, struct str row, struct found *out)
{
    struct reader r = reader_of(id);
    *out = (struct found){.position = read_be64(&r)};
    out->stamp = (int64_t)read_be64(&r);
    TRY(measure(row, out));
    return reader_done(&r) ? OK : err_new(ERR_CORRUPT);
}

/* Loads the file's set; *there is false if it no longer has one. */
static struct err load_set(struct txn *t, struct merge *m, struct block_set *set, bool *there,
                           struct blob_head *head)
{
    struct blob blob;
    TRY(blob_load(t, &m->args->request, &blob));
    *there = blob.stored && blob.head.blocks != 0 && blob.head.blocks_appended;
    if (!*there)
        return OK;
    TRY(block_set_load(t, &blob, set));
    m->container = blob.container;
    m->set = blob.head.blocks;
    m->removed = set->removed;
    *head = blob.head;
    return OK;
}

static struct err each_small(struct str small, struct span *spans, size_t *count)
{
    struct reader r = reader_of(small);
    struct found one;
    for (*count = 0; r.n > 0 && reader_ok(&r); ++*count) {
        struct str id = read_raw(&r, PATH_APPEND_ID_BYTES);
        TRY(read_found(id, read_bytes(&r), &one));
        if (spans != NULL)
            spans[*count] = (struct span){one.position, one.end};
    }
    return reader_ok(&r) ? OK : err_new(ERR_CORRUPT);
}

static struct err open_rows(struct txn *t, const struct merge *m, uint64_t from, size_t *prefix,
                            struct cursor **c)
{
    struct arena *a = txn_arena(t);
    struct buf id = buf_in(a);
    buf_put_be64(&id, from);
    *prefix = blob_key_blocks(a, m->container.incarnation, m->set).n + 1;
    TRY(cursor_open(t, blob_key_block(a, m->container.incarnation, m->set, STR("")), c));
    return cursor_seek(*c, blob_key_block(a, m->container.incarnation, m->set, buf_str(&id)));
}

/* ---- can the flush succeed? ---- */

static int compare_spans(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return x->position < y->position ? -1 : x->position > y->position;
}

/* The check of a flush. Appends that overlap others cannot be merged, as when a client repeats one
 * after a lost answer; too many of them would make the flush long. */
static bool reach(const struct span *spans, size_t count, uint64_t reached, uint64_t to)
{
    size_t overlapping = 0;
    uint64_t ended = 0; /* of the appends */
    for (size_t i = 0; i < count; i++) {
        if (spans[i].position > reached || spans[i].end > to)
            return false;
        bool overlaps =
            spans[i].position < ended || (i + 1 < count && spans[i + 1].position < spans[i].end);
        overlapping += overlaps;
        ended = spans[i].end > ended ? spans[i].end : ended;
        reached = ended > reached ? ended : reached;
    }
    return reached == to && overlapping <= PATH_OVERLAPS_MAX;
}

static struct err read_spans(struct merge *m, struct cursor *c, size_t prefix, struct span *spans,
                             size_t *count, size_t max)
{
    struct found one;
    while (c->valid && *count < max) {
        TRY(read_found(str_from(c->key, prefix), c->value, &one));
        if (one.position >= m->args->position)
            return OK;
        spans[(*count)++] = (struct span){one.position, one.end};
        TRY(cursor_next(c));
    }
    return OK;
}

/* A view, before the first step. */
static struct err check_whole(struct txn *t, void *arg)
{
    struct merge *m = arg;
    struct block_set set;
    struct blob_head head;
    struct cursor *c;
    size_t prefix, small, count = 0;
    bool there;
    TRY(load_set(t, m, &set, &there, &head));
    m->over = !there;
    if (!there || m->args->pieces != NULL)
        return OK;
    struct span *spans = ARENA_ARRAY(txn_arena(t), struct span, set.count + 1);
    TRY(each_small(set.small, NULL, &small));
    if (small > set.count)
        return err_new(ERR_CORRUPT);
    TRY(each_small(set.small, spans, &small));
    for (size_t i = 0; i < small; i++)
        if (spans[i].position < m->args->position)
            spans[count++] = spans[i];
    TRY(open_rows(t, m, 0, &prefix, &c));
    struct err e = read_spans(m, c, prefix, spans, &count, (size_t)set.count);
    cursor_close(c);
    TRY(e);
    qsort(spans, count, sizeof *spans, compare_spans);
    return reach(spans, count, head.size, m->args->position) ? OK
                                                             : err_new(ERR_INVALID_FLUSH_POSITION);
}

/* ---- a run ---- */

static bool admit(struct run *run, const struct found *one)
{
    bool follows = run->count == 0 || one->position == run->end;
    bool fits = run->count == 0 || (run->count < PATH_MERGE_ROWS_MAX &&
                                    run->pieces + one->pieces <= PATH_MERGE_ROWS_MAX &&
                                    run->bytes + one->bytes <= RUN_BYTES_MAX);
    if (!follows || !fits)
        return false;
    if (run->count == 0)
        run->position = one->position;
    run->keys[run->count] = one->key;
    run->rows[run->count++] = one->row;
    run->pieces += one->pieces;
    run->bytes += one->bytes;
    run->end = one->end;
    run->stamp = one->stamp > run->stamp ? one->stamp : run->stamp;
    return true;
}

/* Returns true if no other append overlaps it: of two at one place the later must win. */
static bool is_apart(const struct merge *m, const struct found *one)
{
    for (size_t i = 0; i < m->small_count; i++)
        if (m->small[i].position < one->end && one->position < m->small[i].end)
            return false;
    return one->position >= m->reached;
}

/* Collects a run. Each append is held until the one after it is seen, which may overlap it. */
static struct err collect(struct merge *m, struct cursor *c, size_t prefix)
{
    struct found one, held = {0};
    bool holds = false, complete = false;
    uint64_t before = m->reached;
    one = held;
    for (size_t looked = 0; c->valid && !complete; looked++) {
        TRY(read_found(str_from(c->key, prefix), c->value, &one));
        if (holds && one.position >= held.end)
            complete = !admit(&m->run, &held);
        if (complete || one.position >= m->args->position || looked == LOOKED_MAX)
            break;
        one.key = arena_copy(&m->arena, c->key);
        one.row = arena_copy(&m->arena, c->value);
        holds = is_apart(m, &one);
        before = m->reached;
        m->reached = one.end > m->reached ? one.end : m->reached;
        held = one;
        TRY(cursor_next(c));
    }
    bool ended = !c->valid || one.position >= m->args->position;
    if (!complete && !c->valid && holds)
        complete = !admit(&m->run, &held);
    m->over = ended && !complete;
    if (complete)
        m->reached = before;
    m->next = complete ? held.position : one.position;
    m->over = m->over || (m->run.count == 0 && m->next <= m->from);
    return OK;
}

/* A view. */
static struct err look(struct txn *t, void *arg)
{
    struct merge *m = arg;
    struct block_set set;
    struct blob_head head;
    struct cursor *c;
    size_t prefix;
    bool there;
    m->run.count = m->run.pieces = m->run.bytes = 0;
    m->run.stamp = 0;
    m->reached = m->from_ended;
    TRY(load_set(t, m, &set, &there, &head));
    m->over = !there;
    if (!there)
        return OK;
    TRY(each_small(set.small, NULL, &m->small_count));
    m->small = ARENA_ARRAY(&m->arena, struct span, m->small_count + 1);
    TRY(each_small(set.small, m->small, &m->small_count));
    TRY(open_rows(t, m, m->from, &prefix, &c));
    struct err e = collect(m, c, prefix);
    cursor_close(c);
    return e;
}

/* ---- its pieces ---- */

static struct err end_extent(struct merge *m, struct extent_writer **w)
{
    struct piece piece = {.kind = PIECE_EXTENT};
    struct extent_writer *writer = *w;
    *w = NULL;
    if (writer == NULL)
        return OK;
    TRY(extent_finish(writer, &piece.extent));
    piece.length = piece.extent.length;
    pieces_add(&m->fresh, &m->arena, &piece);
    pieces_add(&m->pieces, &m->arena, &piece);
    return OK;
}

static struct err add_row(struct store *store, struct merge *m, struct str row,
                          struct extent_writer **w)
{
    struct reader r = reader_of(row);
    struct piece piece;
    while (piece_decode(&r, &piece)) {
        if (piece.kind != PIECE_INLINE) {
            TRY(end_extent(m, w));
            pieces_add(&m->pieces, &m->arena, &piece);
            continue;
        }
        if (*w == NULL)
            TRY(extent_begin(store->engine, (uint32_t)m->run.bytes, 0, w));
        TRY(extent_append(*w, (struct str){piece.bytes, (size_t)piece.length}));
    }
    return OK;
}

static struct err write_pieces(struct store *store, struct merge *m)
{
    struct extent_writer *w = NULL;
    struct err e = OK;
    m->pieces = m->fresh = (struct pieces){0};
    for (size_t i = 0; i < m->run.count && !err_is(e); i++)
        e = add_row(store, m, m->run.rows[i], &w);
    if (!err_is(e))
        return end_extent(m, &w);
    if (w != NULL)
        extent_abandon(w);
    return e;
}

static void discard_fresh(struct store *store, const struct merge *m)
{
    for (size_t i = 0; i < m->fresh.count; i++)
        extent_discard(store->engine, &m->fresh.items[i].extent);
}

/* ---- a step ---- */

/* An update: replaces the run's rows by one. ERR_STAGE_STALE: they may be gone. */
static struct err replace_rows(struct txn *t, void *arg)
{
    struct merge *m = arg;
    const struct run *run = &m->run;
    struct arena *a = txn_arena(t);
    struct blob blob;
    struct block_set set;
    struct buf id = buf_in(a), row = buf_in(a);
    TRY(blob_load(t, &m->args->request, &blob));
    if (!blob.stored || blob.container.incarnation != m->container.incarnation ||
        blob.head.blocks != m->set)
        return err_new(ERR_STAGE_STALE);
    TRY(block_set_load(t, &blob, &set));
    if (set.removed != m->removed || set.count < run->count)
        return err_new(ERR_STAGE_STALE);
    for (size_t i = 0; i < m->fresh.count; i++)
        TRY(piece_claim(t, &m->fresh.items[i], PIECE_ADOPT));
    for (size_t i = 0; i < run->count; i++)
        TRY(txn_del(t, run->keys[i]));
    buf_put_be64(&id, run->position);
    buf_put_be64(&id, (uint64_t)run->stamp);
    pieces_encode(&row, &m->pieces);
    TRY(txn_put(t, blob_key_block(a, m->container.incarnation, m->set, buf_str(&id)),
                buf_str(&row)));
    set.count -= run->count - 1;
    set.removed = (uint64_t)txn_stamp(t);
    return block_set_save(t, &blob, &set);
}

static struct err merge_step(struct store *store, struct str partition, struct merge *m)
{
    TRY(store_read(store, partition, ENGINE_WAIT, look, m));
    if (m->run.count < 2)
        return OK;
    struct err e = write_pieces(store, m);
    if (!err_is(e))
        e = engine_update_wait(store->engine, partition, replace_rows, m);
    if (err_is(e) && e.code != ERR_UNKNOWN_OUTCOME)
        discard_fresh(store, m);
    return e;
}

/* If the appends have changed meanwhile, the transaction handles the rest. */
struct err path_merge_appends(struct store *store, struct str partition,
                              struct path_write_args *args)
{
    struct merge *m = MEM_NEW(struct merge);
    struct err e;
    m->args = args;
    args->merged = true;
    e = store_read(store, partition, ENGINE_WAIT, check_whole, m);
    while (!err_is(e) && !m->over) {
        arena_init(&m->arena, RUN_ARENA_LIMIT);
        e = merge_step(store, partition, m);
        arena_release(&m->arena);
        m->from = m->next;
        m->from_ended = m->reached;
    }
    free(m);
    return e.code == ERR_STAGE_STALE ? OK : e;
}
