/* SPDX-License-Identifier: Apache-2.0 */
/* Cursors: iterate over the state, merged with the batch's own rows. Each move searches the
 * batch again, so the next move sees writes made meanwhile. */
#include <assert.h>
#include <stdlib.h>

#include "core/mem.h"
#include "engine/local/local_internal.h"

struct local_cursor {
    struct cursor base;
    struct local_txn *txn;
    size_t partition_n; /* length of the partition prefix, removed from the keys handed out */
    struct str first;   /* bounds, including the partition */
    struct str past;
    struct walk below;
    bool below_ahead; /* the iterator stands on the state's first key at or after the cursor */
    struct row *row;  /* referenced, if the cursor stands on a row of the batch */
    struct str stand; /* current key, including the partition */
    struct buf large; /* value or body, if it is in the journal */
    struct str *body; /* the row's body, if requested */
};

static struct local_cursor *local_cursor_of(struct cursor *c)
{
    return (struct local_cursor *)(void *)c;
}

static void cursor_drop_row(struct local_cursor *c)
{
    if (c->row != NULL)
        row_put(c->row);
    c->row = NULL;
}

static struct err cursor_stand_nowhere(struct local_cursor *c)
{
    cursor_drop_row(c);
    c->base.valid = false;
    return OK;
}

static struct err cursor_stand_at(struct local_cursor *c, struct str key, struct str stored)
{
    struct journal *j = &c->txn->engine->journal;
    c->base.valid = false;
    if (c->body == NULL)
        TRY(value_load(j, stored, c->txn->wait, &c->large, &c->base.value));
    else
        TRY(value_load_with_body(j, stored, c->txn->wait, &c->large, &c->base.value, c->body));
    c->stand = key;
    c->base.valid = true;
    c->base.key = str_from(key, c->partition_n);
    return OK;
}

static struct err cursor_stand_below(struct local_cursor *c, struct str key)
{
    cursor_drop_row(c);
    return cursor_stand_at(c, key, walk_value(&c->below));
}

static struct err cursor_stand_on_row(struct local_cursor *c, struct row *row)
{
    row_get(row);
    cursor_drop_row(c);
    c->row = row;
    return cursor_stand_at(c, row_key(row), row_value(row));
}

static const struct tree *cursor_overlay(const struct local_cursor *c)
{
    static const struct tree nothing;
    return c->txn->batch == NULL ? &nothing : &c->txn->batch->overlay;
}

/* ---- forward ---- */

/* The iterator stands on the state's first key of the range and `row` is the batch's first. The
 * cursor takes the smaller of the two, unless the batch has deleted it. */
static struct err cursor_settle_forward(struct local_cursor *c, struct row *row)
{
    c->below_ahead = true;
    for (;;) {
        struct str key;
        TRY(walk_key(&c->below, &key));
        if (row != NULL && str_cmp(row_key(row), c->past) >= 0)
            row = NULL;
        if (row == NULL)
            return str_given(key) ? cursor_stand_below(c, key) : cursor_stand_nowhere(c);
        int order = str_given(key) ? str_cmp(row_key(row), key) : -1;
        if (order > 0)
            return cursor_stand_below(c, key);
        if (!row->deleted)
            return cursor_stand_on_row(c, row);
        if (order == 0)
            walk_next(&c->below);
        row = tree_after(cursor_overlay(c), row_key(row));
    }
}

static struct err cursor_seek_physical(struct local_cursor *c, struct str at)
{
    if (str_cmp(at, c->first) < 0)
        at = c->first;
    walk_seek(&c->below, at);
    return cursor_settle_forward(c, tree_at_or_after(cursor_overlay(c), at));
}

static struct err local_cursor_seek(struct cursor *cursor, struct str key)
{
    struct local_cursor *c = local_cursor_of(cursor);
    return cursor_seek_physical(c, rowkey_of(&c->txn->key, key));
}

static struct err local_cursor_skip(struct cursor *cursor, struct str skip)
{
    struct local_cursor *c = local_cursor_of(cursor);
    return cursor_seek_physical(c, rowkey_past(&c->txn->key, skip));
}

/* Moves the iterator past the cursor's key. */
static struct err cursor_step_below(struct local_cursor *c)
{
    if (!c->below_ahead) {
        walk_seek(&c->below, c->stand);
        c->below_ahead = true;
    }
    struct str key;
    TRY(walk_key(&c->below, &key));
    if (str_given(key) && str_eq(key, c->stand))
        walk_next(&c->below);
    return OK;
}

static struct err local_cursor_next(struct cursor *cursor)
{
    struct local_cursor *c = local_cursor_of(cursor);
    if (c->txn->batch == NULL && c->below_ahead) { /* the common case of listings */
        walk_next(&c->below);
        return cursor_settle_forward(c, NULL);
    }
    /* First, because moving the iterator may free the key that the cursor stands on. */
    struct row *row = tree_after(cursor_overlay(c), c->stand);
    TRY(cursor_step_below(c));
    return cursor_settle_forward(c, row);
}

/* ---- backward ---- */

static struct err cursor_settle_backward(struct local_cursor *c, struct row *row)
{
    c->below_ahead = false;
    for (;;) {
        struct str key;
        TRY(walk_key(&c->below, &key));
        if (row != NULL && str_cmp(row_key(row), c->first) < 0)
            row = NULL;
        if (row == NULL)
            return str_given(key) ? cursor_stand_below(c, key) : cursor_stand_nowhere(c);
        int order = str_given(key) ? str_cmp(row_key(row), key) : 1;
        if (order < 0)
            return cursor_stand_below(c, key);
        if (!row->deleted)
            return cursor_stand_on_row(c, row);
        if (order == 0)
            walk_before(&c->below);
        row = tree_before(cursor_overlay(c), row_key(row));
    }
}

static struct err local_cursor_seek_before(struct cursor *cursor, struct str key)
{
    struct local_cursor *c = local_cursor_of(cursor);
    struct str at = str_given(key) ? rowkey_of(&c->txn->key, key) : c->past;
    if (str_cmp(at, c->past) > 0)
        at = c->past;
    if (str_cmp(at, c->first) <= 0)
        return cursor_stand_nowhere(c);
    walk_seek_before(&c->below, at);
    return cursor_settle_backward(c, tree_before(cursor_overlay(c), at));
}

/* ---- life ---- */

static void local_cursor_close(struct cursor *cursor)
{
    struct local_cursor *c = local_cursor_of(cursor);
    cursor_drop_row(c);
    walk_release(&c->below);
    buf_release(&c->large);
    free(c);
}

static const struct cursor_ops LOCAL_CURSOR_OPS = {
    .seek = local_cursor_seek,
    .next = local_cursor_next,
    .skip = local_cursor_skip,
    .seek_before = local_cursor_seek_before,
    .close = local_cursor_close,
};

struct err local_cursor_between(struct local_txn *t, struct str first, struct str past,
                                struct str *body, struct cursor **out)
{
    assert(out != NULL);
    struct local_cursor *c = MEM_NEW(struct local_cursor);
    c->base.ops = &LOCAL_CURSOR_OPS;
    c->txn = t;
    c->first = first;
    c->past = past;
    c->body = body;
    if ((t->base.hints & HINT_ONCE) != 0 && t->wait == ENGINE_WAIT)
        walk_init_passing(&c->below, t->state, c->first, c->past);
    else
        walk_init(&c->below, t->state, t->wait, c->first, c->past);
    struct err e = cursor_seek_physical(c, c->first);
    if (err_is(e))
        local_cursor_close(&c->base);
    else
        *out = &c->base;
    return e;
}

struct err local_cursor_open(struct txn *txn, struct str from, struct str to, struct cursor **out)
{
    struct local_txn *t = (struct local_txn *)(void *)txn;
    struct str first = arena_copy(&t->arena, rowkey_of(&t->key, from));
    struct str past = arena_copy(&t->arena, str_given(to) ? rowkey_of(&t->key, to)
                                                          : rowkey_past(&t->key, STR("")));
    TRY(local_cursor_between(t, first, past, NULL, out));
    struct local_cursor *c = local_cursor_of(*out);
    c->partition_n = t->key.partition_n;
    c->base.key = str_from(c->base.key, c->base.valid ? c->partition_n : 0);
    return OK;
}
