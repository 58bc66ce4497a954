/* SPDX-License-Identifier: Apache-2.0 */
/* Rows and cursors of the memory engine, over one state of the tree. */
#include <assert.h>
#include <stdlib.h>

#include "core/mem.h"
#include "engine/mem/mem_internal.h"

static struct mem_txn *mem_txn_of(struct txn *t)
{
    return (struct mem_txn *)(void *)t;
}

/* Keeps a row that an update was handed until the update returns, even if it replaces the row
 * meanwhile. */
static struct row *mem_txn_keep(struct mem_txn *t, struct row *row)
{
    if (row != NULL && t->base.writable) {
        struct mem_kept_row *kept = ARENA_NEW(&t->arena, struct mem_kept_row);
        *kept = (struct mem_kept_row){row_get(row), t->kept};
        t->kept = kept;
    }
    return row;
}

static void mem_read(struct mem_txn *t, struct engine_read *read)
{
    struct rowkey other;
    struct rowkey *in = &t->key;
    if (str_given(read->partition)) {
        rowkey_init(&other, &t->arena, read->partition);
        in = &other;
    }
    const struct row *row = mem_txn_keep(t, tree_find(t->tree, rowkey_of(in, read->key)));
    read->value = row == NULL ? STR_NONE : row_value(row);
    read->body = row == NULL || !read->with_body ? STR_NONE : row_body(row);
}

/* Lends nothing. */
static struct err mem_get_many(struct txn *txn, struct engine_read *reads, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mem_read(mem_txn_of(txn), &reads[i]);
    return OK;
}

/* Size of a row, including its tree node. */
static int64_t row_bytes(const struct row *row)
{
    enum { NODE_BYTES = 64 };
    return row == NULL
               ? 0
               : (int64_t)(sizeof *row + row->key_n + row->value_n + row->body_n + NODE_BYTES);
}

static struct err put_at(struct mem_txn *t, struct str physical, const struct engine_row *row)
{
    t->grown -= row_bytes(tree_find(t->tree, physical));
    tree_insert(t->tree, row->body.n == 0 ? row_new(physical, row->value)
                                          : row_new_with_body(physical, row->value, row->body));
    t->grown += row_bytes(tree_find(t->tree, physical));
    return OK;
}

static struct err mem_put(struct txn *txn, const struct engine_row *row)
{
    struct mem_txn *t = mem_txn_of(txn);
    return put_at(t, rowkey_of(&t->key, row->key), row);
}

static struct err del_at(struct mem_txn *t, struct str physical)
{
    t->grown -= row_bytes(tree_find(t->tree, physical));
    tree_remove(t->tree, physical);
    return OK;
}

static struct err mem_put_beside(struct txn *txn, struct str partition,
                                 const struct engine_row *row)
{
    struct mem_txn *t = mem_txn_of(txn);
    struct rowkey other;
    rowkey_init(&other, &t->arena, partition);
    struct str physical = rowkey_of(&other, row->key);
    return str_given(row->value) ? put_at(t, physical, row) : del_at(t, physical);
}

/* A search is cheap here, so the reference engine always checks. */
static struct err mem_insert(struct txn *txn, const struct engine_row *row)
{
    struct mem_txn *t = mem_txn_of(txn);
    assert(tree_find(t->tree, rowkey_of(&t->key, row->key)) == NULL);
    return mem_put(txn, row);
}

static struct err mem_del(struct txn *txn, struct str key)
{
    struct mem_txn *t = mem_txn_of(txn);
    return del_at(t, rowkey_of(&t->key, key));
}

/* ---- cursors ---- */

struct mem_cursor {
    struct cursor base;
    struct mem_txn *txn;
    struct str first; /* its bounds, with the partition */
    struct str past;
    struct row *row; /* where it stands, held */
};

static struct mem_cursor *mem_cursor_of(struct cursor *c)
{
    return (struct mem_cursor *)(void *)c;
}

/* Each move searches the newest state again, so an update always sees its own writes. */
static struct err mem_cursor_stand(struct mem_cursor *c, struct row *row)
{
    if (row != NULL)
        row_get(row);
    if (c->row != NULL)
        row_put(c->row);
    c->row = row;
    c->base.valid =
        row != NULL && str_cmp(row_key(row), c->first) >= 0 && str_cmp(row_key(row), c->past) < 0;
    if (c->base.valid) {
        c->base.key = str_from(row_key(row), c->txn->key.partition_n);
        c->base.value = row_value(row);
    }
    return OK;
}

static struct err mem_cursor_seek(struct cursor *cursor, struct str key)
{
    struct mem_cursor *c = mem_cursor_of(cursor);
    struct str at = rowkey_of(&c->txn->key, key);
    if (str_cmp(at, c->first) < 0)
        at = c->first;
    return mem_cursor_stand(c, tree_at_or_after(c->txn->tree, at));
}

static struct err mem_cursor_next(struct cursor *cursor)
{
    struct mem_cursor *c = mem_cursor_of(cursor);
    return mem_cursor_stand(c, tree_after(c->txn->tree, row_key(c->row)));
}

static struct err mem_cursor_skip(struct cursor *cursor, struct str skip)
{
    struct mem_cursor *c = mem_cursor_of(cursor);
    struct str at = rowkey_past(&c->txn->key, skip);
    if (str_cmp(at, c->first) < 0)
        at = c->first;
    return mem_cursor_stand(c, tree_at_or_after(c->txn->tree, at));
}

static struct err mem_cursor_seek_before(struct cursor *cursor, struct str key)
{
    struct mem_cursor *c = mem_cursor_of(cursor);
    struct str at = str_given(key) ? rowkey_of(&c->txn->key, key) : c->past;
    if (str_cmp(at, c->past) > 0)
        at = c->past;
    return mem_cursor_stand(c, tree_before(c->txn->tree, at));
}

static void mem_cursor_close(struct cursor *cursor)
{
    struct mem_cursor *c = mem_cursor_of(cursor);
    if (c->row != NULL)
        row_put(c->row);
    free(c);
}

static const struct cursor_ops MEM_CURSOR_OPS = {
    .seek = mem_cursor_seek,
    .next = mem_cursor_next,
    .skip = mem_cursor_skip,
    .seek_before = mem_cursor_seek_before,
    .close = mem_cursor_close,
};

static struct err mem_cursor_open(struct txn *txn, struct str from, struct str to,
                                  struct cursor **out)
{
    struct mem_txn *t = mem_txn_of(txn);
    struct mem_cursor *c = MEM_NEW(struct mem_cursor);
    c->base.ops = &MEM_CURSOR_OPS;
    c->txn = t;
    c->first = arena_copy(&t->arena, rowkey_of(&t->key, from));
    c->past = arena_copy(&t->arena,
                         str_given(to) ? rowkey_of(&t->key, to) : rowkey_past(&t->key, STR("")));
    *out = &c->base;
    return mem_cursor_stand(c, tree_at_or_after(t->tree, c->first));
}

/* ---- cursors over several partitions ---- */

struct mem_scan {
    struct cursor base;
    struct mem_txn *txn;
    struct str prefix;     /* what all its keys start with */
    struct buf at;         /* where a seek goes */
    struct buf partition;  /* see rowkey_divide */
    const struct row *row; /* where it stands; lives as long as the view's state */
};

static struct mem_scan *mem_scan_of(struct cursor *s)
{
    return (struct mem_scan *)(void *)s;
}

static struct err mem_scan_stand(struct mem_scan *s, const struct row *row)
{
    s->row = row;
    s->base.valid = row != NULL && str_starts(row_key(row), s->prefix);
    if (!s->base.valid)
        return OK;
    s->base.value = row_value(row);
    return rowkey_divide(row_key(row), &s->partition, &s->base.partition, &s->base.key)
               ? OK
               : err_new(ERR_CORRUPT);
}

static struct err mem_scan_seek(struct cursor *scan, struct str partition, struct str key)
{
    struct mem_scan *s = mem_scan_of(scan);
    buf_clear(&s->at);
    rowkey_put_partition(&s->at, partition);
    buf_put(&s->at, key);
    struct str at = buf_str(&s->at);
    if (str_cmp(at, s->prefix) < 0)
        at = s->prefix;
    return mem_scan_stand(s, tree_at_or_after(s->txn->tree, at));
}

static struct err mem_scan_next(struct cursor *scan)
{
    struct mem_scan *s = mem_scan_of(scan);
    return mem_scan_stand(s, tree_after(s->txn->tree, row_key(s->row)));
}

static void mem_scan_close(struct cursor *scan)
{
    (void)scan; /* in the transaction's arena */
}

static const struct cursor_ops MEM_SCAN_OPS = {
    .seek_across = mem_scan_seek,
    .next = mem_scan_next,
    .close = mem_scan_close,
};

static struct err mem_scan_open(struct txn *txn, struct str prefix, struct cursor **out)
{
    struct mem_txn *t = mem_txn_of(txn);
    struct mem_scan *s = ARENA_NEW(&t->arena, struct mem_scan);
    struct buf start = buf_in(&t->arena);
    rowkey_put_prefix(&start, prefix);
    s->base.ops = &MEM_SCAN_OPS;
    s->txn = t;
    s->prefix = buf_str(&start);
    s->at = buf_in(&t->arena);
    s->partition = buf_in(&t->arena);
    *out = &s->base;
    return OK;
}

/* ---- extents ---- */

static struct err mem_extent(struct txn *txn, enum extent_change change, const struct extent *x)
{
    struct mem_txn *t = mem_txn_of(txn);
    char key_bytes[EXTENT_KEY_BYTES];
    extent_key_write(key_bytes, SPACE_EXTENTS, x->segment, x->offset);
    struct str key = {key_bytes, sizeof key_bytes};
    struct row *found = tree_find(t->tree, key);
    struct extent_row row;
    TRY(extent_row_change(found == NULL ? STR_NONE : row_value(found), x, change, &row));
    if (row.count > 0) {
        char value[EXTENT_ROW_BYTES];
        extent_row_write(value, &row);
        tree_insert(t->tree, row_new(key, (struct str){value, sizeof value}));
    } else {
        tree_remove(t->tree, key);
    }
    if (change == EXTENT_ADOPT || row.count == 0) {
        struct mem_settle *settle = ARENA_NEW(&t->arena, struct mem_settle);
        *settle = (struct mem_settle){x->segment, change == EXTENT_ADOPT, t->settle};
        t->settle = settle;
    }
    return OK;
}

static void mem_keep_state(struct txn *t, struct engine_state **kept)
{
    struct tree tree = tree_get(((struct mem_txn *)(void *)t)->tree);
    if (*kept == NULL)
        *kept = MEM_NEW(struct engine_state);
    else
        tree_put(&(*kept)->tree);
    (*kept)->tree = tree;
}

static const struct txn_ops MEM_TXN_OPS = {
    .get_many = mem_get_many,
    .put = mem_put,
    .insert = mem_insert,
    .del = mem_del,
    .cursor_open = mem_cursor_open,
    .cursor_open_across = mem_scan_open,
    .keep_state = mem_keep_state,
    .extent = mem_extent,
    .put_beside = mem_put_beside,
};

void mem_txn_init(struct mem_txn *t, struct mem_engine *e, struct tree *tree, struct str partition)
{
    arena_init(&t->arena, TXN_ARENA_LIMIT);
    t->base = (struct txn){
        .ops = &MEM_TXN_OPS, .arena = &t->arena, .now = clock_now(e->clock), .wait = ENGINE_WAIT};
    t->engine = e;
    t->tree = tree;
    t->kept = NULL;
    t->settle = NULL;
    rowkey_init(&t->key, &t->arena, partition);
    t->grown = 0;
}

void mem_txn_release(struct mem_txn *t)
{
    txn_close_cursors(&t->base);
    for (struct mem_kept_row *kept = t->kept; kept != NULL; kept = kept->next)
        row_put(kept->row);
    arena_release(&t->arena);
}
