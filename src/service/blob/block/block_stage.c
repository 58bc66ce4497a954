/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/block/block_stage.h"

#include <assert.h>
#include <stdlib.h>

#include "core/mem.h"
#include "engine/wait.h"
#include "service/blob/keys.h"

/* ---- what it is made from ---- */

static struct err load_origin(struct txn *t, const struct blob *blob, struct block_origin *out)
{
    const struct blob_head *head = &blob->head;
    struct block_set set = {0};
    *out = (struct block_origin){.incarnation = blob->container.incarnation};
    if (!blob->stored)
        return OK;
    out->etag = head->etag;
    out->content = head->content;
    out->blocks = head->blocks_appended ? 0 : head->blocks;
    if (out->blocks != 0)
        TRY(block_set_load(t, blob, &set));
    out->version = set.version;
    return OK;
}

/* A set last written by an older version of the program has no version to compare. */
static bool is_comparable(const struct block_origin *o)
{
    return o->blocks == 0 || o->version != 0;
}

static bool same_origin(const struct block_origin *a, const struct block_origin *b)
{
    return a->incarnation == b->incarnation && a->etag == b->etag && a->content == b->content &&
           a->blocks == b->blocks && a->version == b->version;
}

static bool wants_committed(const struct block_commit_args *args)
{
    for (size_t i = 0; i < args->count; i++)
        if (args->entries[i].kind != BLOCK_UNCOMMITTED)
            return true;
    return false;
}

/* A view, before the first step. */
static struct err look(struct txn *t, void *arg)
{
    struct block_stage *s = arg;
    struct arena *to = s->args->request.arena;
    struct blob blob;
    TRY(blob_load(t, &s->args->request, &blob));
    TRY(load_origin(t, &blob, &s->origin));
    s->committed = (struct block_index){0};
    if (!is_comparable(&s->origin) || (blob.stored && blob.head.type != BLOB_BLOCK))
        return err_new(ERR_INVALID_BLOB_TYPE); /* for the transaction to say */
    if (!blob.stored || blob.head.block_count == 0 || !wants_committed(s->args))
        return OK;
    TRY(block_index_committed(t, to,
                              blob_key_block_list(to, s->origin.incarnation, s->origin.content),
                              blob.head.block_count, &s->committed));
    block_index_sort(&s->committed);
    return OK;
}

/* ---- a step ---- */

struct step {
    struct block_stage *stage; /* the state before the step; the step only reads it */
    struct block_stage next;   /* as it is after it */
};

/* A running step. */
struct staging {
    struct txn *txn;
    struct block_stage *next;
    struct content_writer writer;
    struct content_walk walk;
    struct buf list;
    struct str *rows; /* of the uncommitted blocks from `first` on; absent: there is none */
    size_t first;
    unsigned pieces;
};

static struct str content_key(struct txn *t, const struct block_stage *s, uint64_t content)
{
    return blob_key_content(txn_arena(t), s->origin.incarnation, content);
}

/* Reads all blocks that may be among the uncommitted ones, with one read. */
static struct err read_rows(struct staging *g, const struct block_commit_args *args)
{
    struct arena *a = txn_arena(g->txn);
    const struct block_origin *o = &g->next->origin;
    size_t left = args->count - g->first;
    size_t count = left < BLOCK_STAGE_PIECES_MAX ? left : BLOCK_STAGE_PIECES_MAX;
    struct engine_read *reads = ARENA_ARRAY(a, struct engine_read, count + 1);
    size_t asked = 0;
    g->rows = ARENA_ARRAY(a, struct str, count + 1);
    if (o->blocks == 0)
        return OK;
    for (size_t i = 0; i < count; i++)
        if (args->entries[g->first + i].kind != BLOCK_COMMITTED)
            reads[asked++].key =
                blob_key_block(a, o->incarnation, o->blocks, args->entries[g->first + i].id);
    TRY(txn_get_many(g->txn, reads, asked));
    for (size_t i = 0, at = 0; i < count; i++)
        if (args->entries[g->first + i].kind != BLOCK_COMMITTED)
            g->rows[i] = reads[at++].value;
    return OK;
}

static struct err put_list_row(struct staging *g, uint64_t row)
{
    const struct block_stage *s = g->next;
    struct str key = blob_key_block_list_row(txn_arena(g->txn), s->origin.incarnation,
                                             s->content.id, (uint32_t)row);
    TRY(txn_put(g->txn, key, buf_str(&g->list)));
    buf_clear(&g->list);
    return OK;
}

static struct err list_block(struct staging *g, struct str id, uint64_t size)
{
    uint64_t blocks = ++g->next->content.blocks;
    block_list_put(&g->list, id, size);
    return blocks % BLOB_BLOCK_LIST_ROW == 0 ? put_list_row(g, blocks / BLOB_BLOCK_LIST_ROW - 1)
                                             : OK;
}

static struct err hold_piece(struct staging *g, const struct piece *piece)
{
    g->pieces++;
    return content_write(&g->writer, piece, PIECE_HOLD);
}

static struct err stage_uncommitted(struct staging *g, struct str id, struct str row)
{
    struct reader r = reader_of(row);
    struct piece piece;
    uint64_t size = 0;
    while (piece_decode(&r, &piece)) {
        size += piece.length;
        TRY(hold_piece(g, &piece));
    }
    return reader_ok(&r) ? list_block(g, id, size) : err_new(ERR_CORRUPT);
}

static struct err stage_committed(struct staging *g, const struct block_index_entry *block)
{
    struct pieces pieces;
    TRY(content_walk_read(&g->walk, block->offset, block->size, &pieces));
    for (size_t i = 0; i < pieces.count; i++)
        TRY(hold_piece(g, &pieces.items[i]));
    return list_block(g, block->id, block->size);
}

static struct err stage_entry(struct staging *g, const struct block_entry *entry, struct str row)
{
    if (str_given(row))
        return stage_uncommitted(g, entry->id, row);
    const struct block_index_entry *block =
        entry->kind == BLOCK_UNCOMMITTED ? NULL : block_index_find(&g->next->committed, entry->id);
    if (block != NULL)
        return stage_committed(g, block);
    g->next->missing = true;
    return OK;
}

static struct err stage_entries(struct staging *g, const struct block_commit_args *args)
{
    struct block_stage *s = g->next;
    while (s->done < args->count && !s->missing && g->pieces < BLOCK_STAGE_PIECES_MAX &&
           s->done < g->first + BLOCK_STAGE_PIECES_MAX) {
        TRY(stage_entry(g, &args->entries[s->done], g->rows[s->done - g->first]));
        s->done++;
    }
    TRY(content_write_end(&g->writer));
    bool last = s->done == args->count;
    return last && g->list.n > 0 ? put_list_row(g, s->content.blocks / BLOB_BLOCK_LIST_ROW) : OK;
}

static struct err run_step(struct staging *g, const struct block_commit_args *args)
{
    struct block_stage *s = g->next;
    TRY(read_rows(g, args));
    content_write_begin(&g->writer, g->txn, content_key(g->txn, s, s->content.id));
    content_write_from(&g->writer, s->content.size);
    content_walk_begin(&g->walk, g->txn, content_key(g->txn, s, s->origin.content));
    struct err e = stage_entries(g, args);
    content_walk_end(&g->walk);
    TRY(e);
    s->content.size = g->writer.size;
    s->content.rows += g->writer.rows;
    s->content.extents = s->content.extents || g->writer.extents;
    s->list = arena_copy(args->request.arena, buf_str(&g->list));
    return OK;
}

static struct sweep_item note_of(const struct block_stage *s)
{
    return (struct sweep_item){SWEEP_STAGED, s->origin.incarnation, s->content.id};
}

/* An update of a few hundred pieces. */
static struct err stage_step(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct step *step = arg;
    const struct block_commit_args *args = step->stage->args;
    struct block_origin origin;
    struct blob blob;
    step->next = *step->stage;
    TRY(blob_load(t, &args->request, &blob));
    TRY(load_origin(t, &blob, &origin));
    if (!same_origin(&origin, &step->next.origin))
        return err_new(ERR_STAGE_STALE);
    if (step->next.content.id == 0) {
        step->next.content.id = (uint64_t)txn_stamp(t);
        struct sweep_item note = note_of(&step->next);
        TRY(blob_sweep_add(t, &note));
    } else {
        bool there;
        struct sweep_item note = note_of(&step->next);
        TRY(blob_sweep_note_is_there(t, (int64_t)step->next.content.id, &note, &there));
        if (!there)
            return err_new(ERR_STAGE_STALE);
    }
    struct staging g = {
        .txn = t, .next = &step->next, .first = step->next.done, .list = buf_in(txn_arena(t))};
    buf_put(&g.list, step->next.list);
    return run_step(&g, args);
}

/* ---- all of it ---- */

static struct err stage_all(struct store *store, struct str partition, struct block_stage *s)
{
    TRY(store_read(store, partition, ENGINE_WAIT, look, s));
    while (s->done < s->args->count && !s->missing) {
        struct step step = {.stage = s};
        TRY(engine_update_wait(store->engine, partition, stage_step, &step));
        *s = step.next;
    }
    return OK;
}

void block_stage_list(struct store *store, struct str partition,
                      const struct block_commit_args *args, const struct block_stage **stage)
{
    *stage = NULL;
    for (unsigned i = 0; i < BLOCK_STAGE_TRIES; i++) {
        struct block_stage *s = ARENA_NEW(args->request.arena, struct block_stage);
        s->args = args;
        struct err e = stage_all(store, partition, s);
        if (!err_is(e)) {
            *stage = s;
            return;
        }
        block_stage_drop(store, partition, s);
        if (e.code != ERR_STAGE_STALE)
            return;
    }
}

/* ---- nobody commits it ---- */

/* Outlives the request. If it fails, the sweeper finds the note later. */
struct giving_up {
    struct engine_update update;
    struct sweep_item note;
    char partition[ENGINE_PARTITION_MAX];
};

/* The content becomes the sweeper's. */
static struct err give_up(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    const struct sweep_item *note = arg;
    return blob_sweep_begin_staged(t, (int64_t)note->id, note);
}

void block_stage_drop(struct store *store, struct str partition, const struct block_stage *stage)
{
    if (stage == NULL || stage->content.id == 0)
        return;
    struct sweep_item note = note_of(stage);
    (void)engine_update_wait(store->engine, partition, give_up, &note);
}

static void gave_up(struct engine_update *u)
{
    free(u); /* the first of a struct giving_up */
}

void block_stage_drop_later(struct store *store, struct str partition,
                            const struct block_stage *stage)
{
    if (stage == NULL || stage->content.id == 0)
        return;
    struct giving_up *g = mem_alloc(sizeof *g);
    g->note = note_of(stage);
    memcpy(g->partition, partition.p, partition.n);
    g->update = (struct engine_update){.partition = {g->partition, partition.n},
                                       .fn = give_up,
                                       .arg = &g->note,
                                       .ack = ENGINE_VISIBLE,
                                       .done = gave_up};
    engine_submit(store->engine, &g->update);
}

/* ---- the commit ---- */

struct err block_stage_take(struct txn *t, const struct block_stage *stage, struct blob *blob,
                            struct block_content *out)
{
    assert(out != NULL);
    struct block_origin origin;
    struct sweep_item note = note_of(stage);
    bool there;
    TRY(load_origin(t, blob, &origin));
    if (!same_origin(&origin, &stage->origin))
        return err_new(ERR_STAGE_STALE);
    if (stage->missing)
        return err_new(ERR_INVALID_BLOCK_LIST);
    TRY(blob_sweep_note_is_there(t, (int64_t)stage->content.id, &note, &there));
    if (!there)
        return err_new(ERR_STAGE_STALE);
    TRY(blob_sweep_remove(t, (int64_t)stage->content.id, &note));
    *out = stage->content;
    return blob_drop_blocks(t, blob->container.incarnation, &blob->head);
}
