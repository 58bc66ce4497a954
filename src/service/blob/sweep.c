/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/sweep.h"

#include <assert.h>

#include "service/blob/access.h"
#include "service/blob/block.h"
#include "service/blob/keys.h"
#include "service/common/content.h"
#include "service/common/record.h"

enum {
    SWEEP_WORK_MAX = 2000,         /* rows and extents per step */
    EXPIRY_PARTITIONS_MAX = 64,    /* per step */
    EXPIRY_SETS_MAX = 200,         /* per container and round */
    EXPIRY_ROUND_SECONDS = 60 * 60 /* from one round over all containers to the next */
};

/* ---- notes ---- */

static struct str item_key(struct arena *a, int64_t stamp, const struct sweep_item *item)
{
    struct buf b = buf_in(a);
    buf_putc(&b, 'S');
    buf_put_be64(&b, (uint64_t)stamp);
    buf_put_u8(&b, (uint8_t)item->kind);
    buf_put_be64(&b, item->incarnation);
    buf_put_be64(&b, item->id);
    return buf_str(&b);
}

static bool item_of_key(struct str key, struct sweep_item *out)
{
    struct reader r = reader_of(str_from(key, 1 + 8));
    out->kind = (enum sweep_kind)read_u8(&r);
    out->incarnation = read_be64(&r);
    out->id = read_be64(&r);
    return reader_done(&r);
}

struct err sweep_add(struct txn *t, const struct sweep_item *item)
{
    TRY(txn_put(t, item_key(txn_arena(t), txn_stamp(t), item), STR("")));
    return txn_put(t, BLOB_KEY_SWEEP, STR(""));
}

/* ---- doing ---- */

/* Drops what a row holds, then the row. */
static struct err remove_row(struct txn *t, struct str key, struct str value, unsigned *budget)
{
    struct reader r = reader_of(blob_key_holds_pieces(key) ? value : STR_NONE);
    struct piece piece;
    unsigned work = 1;
    while (piece_decode(&r, &piece)) {
        if (piece.kind != PIECE_EXTENT)
            continue;
        TRY(txn_extent_drop(t, &piece.extent));
        work++;
    }
    *budget -= work < *budget ? work : *budget;
    return reader_ok(&r) ? txn_del(t, key) : err_new(ERR_CORRUPT);
}

static struct err remove_rows(struct txn *t, struct cursor *c, unsigned *budget)
{
    while (cursor_valid(c) && *budget > 0) {
        TRY(remove_row(t, arena_copy(txn_arena(t), cursor_key(c)),
                       arena_copy(txn_arena(t), cursor_value(c)), budget));
        TRY(cursor_next(c));
    }
    return OK;
}

/* Removes rows under the prefix as far as the budget goes. */
static struct err remove_prefix(struct txn *t, struct str prefix, unsigned *budget)
{
    struct cursor *c;
    if (*budget == 0)
        return OK;
    TRY(cursor_open(t, prefix, &c));
    struct err e = cursor_seek(c, prefix);
    if (!err_is(e))
        e = remove_rows(t, c, budget);
    cursor_close(c);
    return e;
}

static struct err sweep_incarnation(struct txn *t, uint64_t incarnation, unsigned *budget)
{
    static const char KINDS[] = {'h', 'd', 'r', 'l', 'u'};
    for (size_t i = 0; i < sizeof KINDS; i++) {
        struct buf prefix = buf_in(txn_arena(t));
        buf_putc(&prefix, KINDS[i]);
        buf_put_be64(&prefix, incarnation);
        TRY(remove_prefix(t, buf_str(&prefix), budget));
    }
    return OK;
}

static struct err sweep_item(struct txn *t, const struct sweep_item *item, unsigned *budget)
{
    struct arena *a = txn_arena(t);
    switch (item->kind) {
    case SWEEP_INCARNATION:
        return sweep_incarnation(t, item->incarnation, budget);
    case SWEEP_CONTENT:
        TRY(remove_prefix(t, blob_key_content(a, item->incarnation, item->id), budget));
        return remove_prefix(t, blob_key_block_list(a, item->incarnation, item->id), budget);
    case SWEEP_BLOCKS:
        return remove_prefix(t, blob_key_blocks(a, item->incarnation, item->id), budget);
    }
    return err_new(ERR_CORRUPT);
}

/* Works through the notes of one partition until the budget is used up. */
static struct err sweep_notes(struct txn *t, struct cursor *c, unsigned *budget)
{
    while (cursor_valid(c)) {
        struct str key = arena_copy(txn_arena(t), cursor_key(c));
        struct sweep_item item;
        if (!item_of_key(key, &item))
            return err_new(ERR_CORRUPT);
        TRY(sweep_item(t, &item, budget));
        if (*budget == 0)
            return OK;
        TRY(txn_del(t, key));
        TRY(cursor_next(c));
    }
    return txn_del(t, BLOB_KEY_SWEEP);
}

struct sweep_step {
    unsigned removed;
    bool more;
};

static struct err sweep_partition(struct txn *t, void *arg)
{
    struct sweep_step *step = arg;
    unsigned budget = SWEEP_WORK_MAX;
    struct cursor *c;
    TRY(cursor_open(t, STR("S"), &c));
    struct err e = cursor_seek(c, STR("S"));
    if (!err_is(e))
        e = sweep_notes(t, c, &budget);
    cursor_close(c);
    step->removed = SWEEP_WORK_MAX - budget;
    step->more = budget == 0;
    return e;
}

struct found_partition {
    struct arena arena;
    struct str partition;
    bool more;
};

static bool take_first(struct str partition, struct str value, void *arg)
{
    struct found_partition *found = arg;
    (void)value;
    if (str_given(found->partition)) {
        found->more = true;
        return false;
    }
    found->partition = arena_copy(&found->arena, partition);
    return true;
}

struct err blob_sweep(struct store *store, void *context, struct sweep_report *report)
{
    (void)context;
    struct found_partition found = {0};
    arena_init(&found.arena, 1 << 20);
    struct sweep_step step = {0};
    struct err e =
        engine_partitions(store->engine, STR("b/"), STR_NONE, BLOB_KEY_SWEEP, take_first, &found);
    if (!err_is(e) && str_given(found.partition))
        e = engine_update_wait(store->engine, found.partition, sweep_partition, &step);
    report->removed = step.removed;
    report->more = step.more || found.more;
    arena_release(&found.arena);
    return e;
}

/* ---- what expires ---- */

struct expiry_step {
    unsigned removed;
};

/* A set that nobody touched for a week: the blob forgets it, and goes too when there is nothing
 * else of it. */
static struct err expire_set(struct txn *t, const struct container *container, uint64_t id,
                             struct str row)
{
    struct arena *a = txn_arena(t);
    struct block_set set;
    struct blob blob = {.container = *container};
    struct blob_at base = {BLOB_BASE, 0};
    TRY(block_set_decode(row, &set));
    blob.key = blob_key_head(a, container->incarnation, set.name, &base);
    struct str head;
    TRY(txn_get(t, blob.key, &head));
    if (str_given(head)) {
        TRY(blob_head_decode(head, &blob.head));
        if (blob.head.blocks == id && !blob.head.committed)
            TRY(blob_forget(t, &blob));
        if (blob.head.blocks == id && blob.head.committed) {
            blob.head.blocks = 0;
            TRY(blob_save_unchanged(t, &blob));
        }
    }
    struct sweep_item item = {SWEEP_BLOCKS, container->incarnation, id};
    return sweep_add(t, &item);
}

static struct err expire_sets(struct txn *t, const struct container *container, struct cursor *c,
                              struct expiry_step *step)
{
    while (step->removed < EXPIRY_SETS_MAX && cursor_valid(c)) {
        struct str key = arena_copy(txn_arena(t), cursor_key(c));
        struct reader r = reader_of(str_from(key, 1 + 8));
        uint64_t id = read_be64(&r);
        struct block_set set;
        if (!reader_done(&r))
            return err_new(ERR_CORRUPT);
        /* Sets are in the order of their making: none from here on can be old enough. */
        if ((int64_t)id + BLOCKS_LIFETIME_TICKS > txn_now(t))
            return OK;
        TRY(block_set_decode(cursor_value(c), &set));
        if (set.touched + BLOCKS_LIFETIME_TICKS <= txn_now(t)) {
            TRY(expire_set(t, container, id, arena_copy(txn_arena(t), cursor_value(c))));
            step->removed++;
        }
        TRY(cursor_skip(c, key));
    }
    return OK;
}

static struct err expire_partition(struct txn *t, void *arg)
{
    struct expiry_step *step = arg;
    struct container container;
    struct str row;
    bool live;
    step->removed = 0;
    TRY(txn_get(t, BLOB_KEY_CONTAINER, &row));
    if (!str_given(row))
        return OK;
    TRY(container_decode(row, &container, &live));
    if (!live && container.deleted_until <= txn_now(t))
        return txn_del(t, BLOB_KEY_CONTAINER);
    if (!live)
        return OK;
    struct buf sets = buf_in(txn_arena(t));
    buf_putc(&sets, 'u');
    buf_put_be64(&sets, container.incarnation);
    struct cursor *c;
    TRY(cursor_open(t, buf_str(&sets), &c));
    struct err e = cursor_seek(c, buf_str(&sets));
    if (!err_is(e))
        e = expire_sets(t, &container, c, step);
    cursor_close(c);
    return e;
}

struct expiry_visit {
    struct arena arena;
    struct str partitions[EXPIRY_PARTITIONS_MAX];
    size_t count;
    bool more;
};

static bool take_partition(struct str partition, struct str value, void *arg)
{
    struct expiry_visit *visit = arg;
    (void)value;
    if (visit->count == EXPIRY_PARTITIONS_MAX) {
        visit->more = true;
        return false;
    }
    visit->partitions[visit->count++] = arena_copy(&visit->arena, partition);
    return true;
}

/* Where the next step begins, or that a round is over. */
static void remember(struct blob_expiry *expiry, const struct expiry_visit *visit, int64_t now)
{
    expiry->after_n = 0;
    if (!visit->more) {
        expiry->next_round = now + EXPIRY_ROUND_SECONDS * TICKS_PER_SECOND;
        return;
    }
    struct str last = visit->partitions[visit->count - 1];
    assert(last.n <= sizeof expiry->after);
    memcpy(expiry->after, last.p, last.n);
    expiry->after_n = last.n;
}

struct err blob_expire(struct store *store, void *context, struct sweep_report *report)
{
    struct blob_expiry *expiry = context;
    int64_t now = store_now(store);
    if (expiry->after_n == 0 && now < expiry->next_round)
        return OK;
    struct expiry_visit visit = {0};
    arena_init(&visit.arena, 1 << 20);
    struct str after =
        expiry->after_n == 0 ? STR_NONE : (struct str){expiry->after, expiry->after_n};
    struct err e = engine_partitions(store->engine, STR("b/"), after, BLOB_KEY_CONTAINER,
                                     take_partition, &visit);
    for (size_t i = 0; i < visit.count && !err_is(e); i++) {
        struct expiry_step step = {0};
        e = engine_update_wait(store->engine, visit.partitions[i], expire_partition, &step);
        report->removed += step.removed;
    }
    if (!err_is(e)) {
        remember(expiry, &visit, now);
        report->more = visit.more;
    }
    arena_release(&visit.arena);
    return e;
}

bool blob_row_extents(struct str key, struct str value,
                      void (*named)(void *sink, const struct extent *x), void *sink)
{
    return !blob_key_holds_pieces(key) || content_extents(value, named, sink);
}
