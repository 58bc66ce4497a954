/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of a transaction function in an update: reads use the rows that the batch knows and has
 * written, and writes go to the batch's memory. */
#include <assert.h>

#include "engine/cluster/cluster_internal.h"

static struct update_txn *update_txn_of(struct txn *t)
{
    return (struct update_txn *)(void *)t;
}

struct err update_txn_miss(struct update_txn *t)
{
    struct batch *b = t->batch;
    if (b->waits && !t->missed) {
        struct err error = batch_fetch(b);
        if (!err_is(error) && !b->moved)
            return OK;
    }
    /* The function ends with this error, or with another one that it derives from it, and is run
     * again; anything it does until then is discarded. */
    t->missed = true;
    return err_new(ERR_WOULD_BLOCK);
}

/* The row's name, and the known rows of its partition. */
static struct rowset *set_of(struct update_txn *t, const struct engine_read *r, struct buf *other,
                             struct str *name)
{
    struct batch *b = t->batch;
    if (!str_given(r->partition) || str_eq(r->partition, b->partition)) {
        *name = rowkey_of(&t->name, r->key);
        return b->set;
    }
    buf_clear(other);
    rowkey_put_partition(other, r->partition);
    buf_put(other, r->key);
    *name = buf_str(other);
    return batch_set_of(b, r->partition);
}

/* NULL if the row is neither written nor known. */
static struct row *find(struct batch *b, const struct rowset *set, struct str name, bool with_body)
{
    struct row *row = tree_find(&b->written, name);
    return row != NULL ? row : rowset_find(set, name, with_body);
}

static bool is_known(struct batch *b, const struct rowset *set, struct str name, bool with_body)
{
    if (tree_find(&b->written, name) != NULL)
        return true;
    bool known = rowset_find(set, name, with_body) != NULL ||
                 (rowset_at(set, name) != NULL && tree_find(&set->known, name) == NULL);
    b->used |= known && set == b->set;
    return known;
}

static struct err update_get_many(struct txn *txn, struct engine_read *reads, size_t count)
{
    struct update_txn *t = update_txn_of(txn);
    struct batch *b = t->batch;
    struct buf other = buf_in(t->base.arena);
    struct str name;
    bool missing = false;
    if (t->missed)
        return err_new(ERR_WOULD_BLOCK);
    for (size_t i = 0; i < count; i++) {
        struct rowset *set = set_of(t, &reads[i], &other, &name);
        if (is_known(b, set, name, reads[i].with_body))
            continue;
        rowset_want(set, name, reads[i].with_body);
        missing = true;
    }
    if (missing)
        TRY(update_txn_miss(t));
    for (size_t i = 0; i < count; i++) {
        const struct rowset *set = set_of(t, &reads[i], &other, &name);
        const struct row *row = find(b, set, name, reads[i].with_body);
        if (row == NULL || row->deleted)
            continue;
        reads[i].value = row_value(row);
        reads[i].body = reads[i].with_body ? row_body(row) : STR_NONE;
    }
    return OK;
}

/* Takes over the reference. The replaced row may be borrowed. */
static void write_row(struct batch *b, struct row *row)
{
    struct row *replaced = tree_exchange(&b->written, row);
    if (replaced != NULL)
        buf_put(&b->kept, (struct str){(const char *)&replaced, sizeof(struct row *)});
}

static struct err update_put(struct txn *txn, const struct engine_row *row)
{
    struct update_txn *t = update_txn_of(txn);
    write_row(t->batch, row_new_with_body(rowkey_of(&t->name, row->key), row->value,
                                          row->body.n == 0 ? STR_NONE : row->body));
    return OK;
}

static struct err update_insert(struct txn *txn, const struct engine_row *row)
{
#ifdef ENGINE_CHECKS
    struct engine_read found = {.key = row->key};
    TRY(update_get_many(txn, &found, 1));
    assert(!str_given(found.value));
#endif
    return update_put(txn, row);
}

static struct err update_del(struct txn *txn, struct str key)
{
    struct update_txn *t = update_txn_of(txn);
    write_row(t->batch, row_new_deleted(rowkey_of(&t->name, key)));
    return OK;
}

/* Counted by the commit, see commit.c. */
static struct err update_extent(struct txn *txn, enum extent_change change, const struct extent *x)
{
    struct batch *b = update_txn_of(txn)->batch;
    struct extent_delta delta = {*x, change};
    buf_put(&b->deltas, (struct str){(const char *)&delta, sizeof delta});
    return OK;
}

static const struct txn_ops UPDATE_OPS = {
    .get_many = update_get_many,
    .put = update_put,
    .insert = update_insert,
    .del = update_del,
    .cursor_open = update_cursor_open,
    .extent = update_extent,
};

void update_txn_init(struct update_txn *t, struct batch *b, int64_t stamp)
{
    assert(b->partition.n <= ENGINE_PARTITION_MAX);
    t->base = (struct txn){.ops = &UPDATE_OPS,
                           .arena = &b->arena,
                           .now = b->now,
                           .stamp = stamp,
                           .writable = true,
                           .wait = ENGINE_WAIT};
    t->batch = b;
    t->missed = false;
    rowkey_init(&t->name, &b->arena, b->partition);
}

void update_txn_release(struct update_txn *t)
{
    txn_close_cursors(&t->base);
    arena_reset(&t->batch->arena);
}
