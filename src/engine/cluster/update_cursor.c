/* SPDX-License-Identifier: Apache-2.0 */
/* Cursors of updates: they iterate over the rows of the partition that the batch knows or has
 * written, and request the next page where the known ranges end. */
#include <assert.h>
#include <stdlib.h>

#include "core/mem.h"
#include "engine/cluster/cluster_internal.h"

struct update_cursor {
    struct cursor base;
    struct update_txn *txn;
    struct str first; /* names */
    struct str past;
    struct str first_key; /* keys */
    struct str past_key;  /* absent: the partition's end */
    struct buf at;
    unsigned limit; /* of the next page */
};

static struct update_cursor *update_cursor_of(struct cursor *c)
{
    return (struct update_cursor *)(void *)c;
}

static struct err stand(struct update_cursor *c, const struct row *row)
{
    c->base.valid = row != NULL;
    if (row != NULL) {
        c->base.key = str_from(row_key(row), c->txn->name.partition_n);
        c->base.value = row_value(row);
    }
    return OK;
}

static struct str key_of(const struct update_cursor *c, struct str name)
{
    return str_from(name, c->txn->name.partition_n);
}

/* Requests the rows from `from` on, or those before `to`. */
static struct err want(struct update_cursor *c, struct str from, struct str to, bool back)
{
    assert(c->limit > 0);
    struct rowset_scan scan = {.from = from, .to = to, .back = back, .limit = c->limit};
    if (!rowset_want_scan(c->txn->batch->set, scan)) {
        c->txn->missed = true;
        return err_new(ERR_WOULD_BLOCK);
    }
    unsigned grown = c->limit * 8;
    c->limit = grown < ROWSET_PAGE_MAX ? grown : ROWSET_PAGE_MAX;
    return update_txn_miss(c->txn);
}

/* Returns the nearer of the two; a written row hides a known one. */
static struct row *nearer(struct row *written, struct row *known, bool back)
{
    if (written == NULL || known == NULL)
        return written != NULL ? written : known;
    int order = str_cmp(row_key(written), row_key(known));
    return (back ? order >= 0 : order <= 0) ? written : known;
}

/* Moves to the first row at or after c->at. */
static struct err go_forward(struct update_cursor *c)
{
    struct batch *b = c->txn->batch;
    for (;;) {
        struct str at = buf_str(&c->at);
        if (c->txn->missed)
            return err_new(ERR_WOULD_BLOCK);
        if (str_cmp(at, c->past) >= 0)
            return stand(c, NULL);
        const struct rowset_range *range = rowset_at(b->set, at);
        if (range == NULL) {
            TRY(want(c, key_of(c, at), c->past_key, false));
            continue;
        }
        b->used = true;
        struct row *row =
            nearer(tree_at_or_after(&b->written, at), tree_at_or_after(&b->set->known, at), false);
        if (row != NULL &&
            (str_cmp(row_key(row), range->to) >= 0 || str_cmp(row_key(row), c->past) >= 0))
            row = NULL;
        if (row != NULL && !row->deleted)
            return stand(c, row);
        struct str from = row == NULL ? range->to : row_key(row);
        struct str next = arena_copy(c->txn->base.arena, from);
        buf_clear(&c->at);
        buf_put(&c->at, next);
        if (row != NULL)
            buf_putc(&c->at, '\0');
    }
}

/* Moves to the last row before c->at. */
static struct err go_back(struct update_cursor *c)
{
    struct batch *b = c->txn->batch;
    for (;;) {
        struct str at = buf_str(&c->at);
        if (c->txn->missed)
            return err_new(ERR_WOULD_BLOCK);
        if (str_cmp(at, c->first) <= 0)
            return stand(c, NULL);
        const struct rowset_range *range = rowset_before(b->set, at);
        if (range == NULL) {
            bool end = !str_given(c->past_key) && str_eq(at, c->past);
            TRY(want(c, c->first_key, end ? STR_NONE : key_of(c, at), true));
            continue;
        }
        b->used = true;
        struct row *row =
            nearer(tree_before(&b->written, at), tree_before(&b->set->known, at), true);
        if (row != NULL &&
            (str_cmp(row_key(row), range->from) < 0 || str_cmp(row_key(row), c->first) < 0))
            row = NULL;
        if (row != NULL && !row->deleted)
            return stand(c, row);
        struct str next = arena_copy(c->txn->base.arena, row == NULL ? range->from : row_key(row));
        buf_clear(&c->at);
        buf_put(&c->at, next);
    }
}

static struct err seek_name(struct update_cursor *c, struct str name)
{
    buf_clear(&c->at);
    buf_put(&c->at, str_cmp(name, c->first) < 0 ? c->first : name);
    return go_forward(c);
}

static struct err update_cursor_seek(struct cursor *cursor, struct str key)
{
    struct update_cursor *c = update_cursor_of(cursor);
    return seek_name(c, rowkey_of(&c->txn->name, key));
}

static struct err update_cursor_next(struct cursor *cursor)
{
    struct update_cursor *c = update_cursor_of(cursor);
    struct str name = rowkey_of(&c->txn->name, c->base.key);
    buf_clear(&c->at);
    buf_put(&c->at, name);
    buf_putc(&c->at, '\0');
    return go_forward(c);
}

static struct err update_cursor_skip(struct cursor *cursor, struct str skip)
{
    struct update_cursor *c = update_cursor_of(cursor);
    return seek_name(c, rowkey_past(&c->txn->name, skip));
}

static struct err update_cursor_seek_before(struct cursor *cursor, struct str key)
{
    struct update_cursor *c = update_cursor_of(cursor);
    struct str name = str_given(key) ? rowkey_of(&c->txn->name, key) : c->past;
    buf_clear(&c->at);
    buf_put(&c->at, str_cmp(name, c->past) > 0 ? c->past : name);
    return go_back(c);
}

static void update_cursor_close(struct cursor *cursor)
{
    struct update_cursor *c = update_cursor_of(cursor);
    buf_release(&c->at);
    free(c);
}

static const struct cursor_ops UPDATE_CURSOR_OPS = {
    .seek = update_cursor_seek,
    .next = update_cursor_next,
    .skip = update_cursor_skip,
    .seek_before = update_cursor_seek_before,
    .close = update_cursor_close,
};

struct err update_cursor_open(struct txn *txn, struct str from, struct str to, struct cursor **out)
{
    struct update_txn *t = (struct update_txn *)(void *)txn;
    if (t->missed)
        return err_new(ERR_WOULD_BLOCK);
    struct update_cursor *c = MEM_NEW(struct update_cursor);
    struct arena *arena = t->base.arena;
    c->base.ops = &UPDATE_CURSOR_OPS;
    c->txn = t;
    c->first_key = str_given(from) ? arena_copy(arena, from) : STR("");
    c->past_key = arena_copy(arena, to);
    c->first = arena_copy(arena, rowkey_of(&t->name, from));
    c->past =
        arena_copy(arena, str_given(to) ? rowkey_of(&t->name, to) : rowkey_past(&t->name, STR("")));
    c->at = buf_heap();
    c->limit = ROWSET_PAGE_FIRST;
    buf_put(&c->at, c->first);
    struct err error = go_forward(c);
    if (err_is(error))
        update_cursor_close(&c->base);
    else
        *out = &c->base;
    return error;
}
