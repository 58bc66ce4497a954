/* SPDX-License-Identifier: Apache-2.0 */
#include "service/table/sweep.h"

#include <assert.h>

#include "engine/wait.h"
#include "service/table/bounds.h"
#include "service/table/names.h"

enum {
    SWEEP_PARTITIONS = 64, /* at a time: their updates share a commit */
    SWEEP_ROWS = 256,      /* of a partition in one update */
};

static struct str sweep_tables(const struct table_sweep *s)
{
    return (struct str){s->tables, s->tables_n};
}

static struct str sweep_garbage(const struct table_sweep *s)
{
    return (struct str){s->garbage, s->garbage_n};
}

/* ---- finding a deleted table ---- */

static struct err note_deleted(struct table_sweep *s, struct str partition, struct str key)
{
    if (partition.n > sizeof s->tables || key.n > sizeof s->garbage || key.n <= 1 + TABLE_ID_BYTES)
        return err_new(ERR_CORRUPT);
    memcpy(s->tables, partition.p, partition.n);
    memcpy(s->garbage, key.p, key.n);
    s->tables_n = partition.n;
    s->garbage_n = key.n;
    s->reached_n = 0;
    s->found = true;
    return OK;
}

/* In each account's partition the rows of deleted tables ("g…") come before all others. */
static struct err find_on(struct table_sweep *s, struct cursor *scan, struct arena *a)
{
    while (scan->valid) {
        if (str_starts(scan->key, STR("g")))
            return note_deleted(s, scan->partition, scan->key);
        TRY(cursor_seek_across(scan, key_after(a, scan->partition), STR("")));
    }
    return OK;
}

static struct err find_deleted(struct txn *t, void *arg)
{
    struct cursor *scan = NULL;
    struct err error = cursor_open_across(t, STR("t/"), STR(""), STR(""), &scan);
    if (!err_is(error))
        error = find_on(arg, scan, txn_arena(t));
    cursor_close(scan);
    return error;
}

/* ---- collecting partitions ---- */

struct sweep_batch {
    struct table_sweep *sweep;
    struct arena arena;
    struct str prefix; /* of the table's partitions */
    struct str id;
    struct str partitions[SWEEP_PARTITIONS];
    size_t count;
    bool last; /* there are no more after these */
};

/* The garbage row names the table's id and name; the account is in its partition. */
static void batch_begin(struct sweep_batch *b, struct table_sweep *s)
{
    struct str garbage = sweep_garbage(s);
    struct table_ref ref = {
        .account = str_from(sweep_tables(s), 2),
        .table = str_from(garbage, 1 + TABLE_ID_BYTES),
    };
    b->sweep = s;
    b->prefix = table_entities_prefix(&b->arena, &ref);
    b->id = str_head(str_from(garbage, 1), TABLE_ID_BYTES);
}

static struct err collect_on(struct sweep_batch *b, struct cursor *scan)
{
    while (scan->valid && b->count < SWEEP_PARTITIONS) {
        struct str partition = arena_copy(&b->arena, scan->partition);
        int order = str_cmp(str_head(scan->key, TABLE_ID_BYTES), b->id);
        if (order == 0)
            b->partitions[b->count++] = partition;
        if (order < 0)
            TRY(cursor_seek_across(scan, partition, b->id));
        else
            TRY(cursor_seek_across(scan, key_after(&b->arena, partition), STR("")));
    }
    b->last = !scan->valid;
    return OK;
}

static struct err collect(struct txn *t, void *arg)
{
    struct sweep_batch *b = arg;
    struct cursor *scan = NULL;
    b->count = 0;
    struct err error = cursor_open_across(
        t, b->prefix, (struct str){b->sweep->reached, b->sweep->reached_n}, b->id, &scan);
    if (!err_is(error))
        error = collect_on(b, scan);
    cursor_close(scan);
    return error;
}

/* ---- removing ---- */

struct sweep_update {
    struct grouped_update group; /* of all that are submitted together */
    struct str id;
    unsigned removed;
    bool more;
};

static struct err remove_on(struct txn *t, struct sweep_update *u, struct cursor *c)
{
    for (; c->valid; u->removed++) {
        if (u->removed == SWEEP_ROWS) {
            u->more = true;
            return OK;
        }
        TRY(txn_del(t, c->key));
        TRY(cursor_next(c));
    }
    return OK;
}

static struct err remove_rows(struct txn *t, void *arg)
{
    struct sweep_update *u = arg;
    struct cursor *c = NULL;
    u->removed = 0;
    u->more = false;
    struct err error = cursor_open(t, u->id, &c);
    if (!err_is(error))
        error = remove_on(t, u, c);
    cursor_close(c);
    return error;
}

/* These deletions need not be durable: the table's garbage row is, and is removed last. */
static void submit_all(struct store *store, struct sweep_batch *b, struct sweep_update *updates)
{
    struct grouped_update *group[SWEEP_PARTITIONS];
    for (size_t i = 0; i < b->count; i++) {
        updates[i] = (struct sweep_update){
            .group.update = {.partition = b->partitions[i],
                             .fn = remove_rows,
                             .arg = &updates[i],
                             .ack = ENGINE_VISIBLE},
            .id = b->id,
        };
        group[i] = &updates[i].group;
    }
    engine_updates_wait(store->engine, group, b->count);
}

static struct err remove_batch(struct store *store, struct sweep_batch *b,
                               struct sweep_report *report)
{
    struct sweep_update *updates = ARENA_ARRAY(&b->arena, struct sweep_update, SWEEP_PARTITIONS);
    submit_all(store, b, updates);
    size_t first_left = b->count;
    for (size_t i = b->count; i > 0; i--) {
        TRY(updates[i - 1].group.update.result);
        report->removed += updates[i - 1].removed;
        if (updates[i - 1].more)
            first_left = i - 1;
    }
    b->last = b->last && first_left == b->count;
    if (b->count > 0) {
        struct str reached = b->partitions[first_left < b->count ? first_left : b->count - 1];
        memcpy(b->sweep->reached, reached.p, reached.n);
        b->sweep->reached_n = reached.n;
    }
    return OK;
}

static struct err forget_table(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct table_sweep *s = arg;
    return txn_del(t, sweep_garbage(s));
}

static struct err sweep_batch(struct store *store, struct table_sweep *s, struct sweep_batch *b,
                              struct sweep_report *report)
{
    batch_begin(b, s);
    TRY(engine_view(store->engine, b->prefix, ENGINE_WAIT, collect, b));
    TRY(remove_batch(store, b, report));
    if (!b->last)
        return OK;
    TRY(engine_update_wait(store->engine, sweep_tables(s), forget_table, s));
    s->found = false;
    return OK;
}

struct err table_sweep(struct store *store, void *context, struct sweep_report *report)
{
    struct table_sweep *s = context;
    if (!s->found)
        TRY(engine_view(store->engine, STR("t/"), ENGINE_WAIT, find_deleted, s));
    if (!s->found)
        return OK;
    struct sweep_batch b = {0};
    arena_init(&b.arena, SIZE_MAX);
    struct err error = sweep_batch(store, s, &b, report);
    arena_release(&b.arena);
    report->more = true;
    /* After an error the search starts again and finds the table again. */
    if (err_is(error))
        s->found = false;
    return error;
}
