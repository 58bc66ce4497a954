/* SPDX-License-Identifier: Apache-2.0 */
/* Cursors of views: they fetch a page of rows at a time, and larger pages as they continue. */
#include <stdlib.h>

#include "core/mem.h"
#include "engine/cluster/cluster_internal.h"

enum { PAGE_FIRST = 64, PAGE_GROWS = 8, PAGE_BYTES_MAX = 8 << 20 };

/* The rows of a page in order. Their bytes are its own. */
struct page_row {
    struct str partition;
    struct str key;
    struct str value;
};

struct view_cursor {
    struct cursor base;
    struct view *view;
    struct view_leg *leg;
    bool across;
    struct str first;   /* no key, or partition, before this */
    struct str past;    /* absent: no bound */
    struct arena arena; /* the page's */
    struct page_row *rows;
    size_t count;
    size_t taken; /* in the result; the page may leave some out */
    size_t at;
    struct buf from_partition; /* what the page begins with, though there may be no such row */
    struct buf from_key;
    bool exhausted; /* no rows follow the page */
    unsigned limit; /* of the next page */
    size_t page_bytes;
};

static struct view_cursor *view_cursor_of(struct cursor *c)
{
    return (struct view_cursor *)(void *)c;
}

static struct err stand(struct view_cursor *c, size_t at)
{
    c->at = at;
    c->base.valid = at < c->count;
    if (c->base.valid) {
        c->base.partition = c->rows[at].partition;
        c->base.key = c->rows[at].key;
        c->base.value = c->rows[at].value;
    }
    return OK;
}

static bool has_long_name(const struct view_cursor *c)
{
    const struct conn *conn = c->leg->conn;
    unsigned statement = conn->count - 1;
    for (int i = 0; i < result_rows(conn, statement); i++)
        if (result_field(conn, statement, i, c->across ? 1 : 0).n > SQL_KEY_HEAD ||
            (c->across && result_field(conn, statement, i, 0).n >= SQL_PART_HEAD))
            return true;
    return false;
}

/* Rows of buckets that are read in another shard are left out. */
static bool is_read(const struct view_cursor *c, struct str partition)
{
    return !c->across || c->leg->reads == NULL || c->leg->reads[shard_bucket(partition)];
}

/* Copies the result, in the order of keys. */
static void take_page(struct view_cursor *c, bool back)
{
    const struct conn *conn = c->leg->conn;
    unsigned statement = conn->count - 1;
    int column = c->across ? 1 : 0;
    int rows = result_rows(conn, statement);
    arena_reset(&c->arena);
    c->taken = (size_t)rows;
    c->rows = ARENA_ARRAY(&c->arena, struct page_row, c->taken + 1);
    c->count = c->page_bytes = 0;
    for (int i = 0; i < rows; i++) {
        int from = back ? rows - 1 - i : i;
        struct str partition = c->across ? result_field(conn, statement, from, 0) : STR("");
        if (!is_read(c, partition))
            continue;
        struct page_row *row = &c->rows[c->count++];
        row->partition = arena_copy(&c->arena, partition);
        row->key = arena_copy(&c->arena, result_field(conn, statement, from, column));
        row->value = arena_copy(&c->arena, result_field(conn, statement, from, column + 1));
        c->page_bytes += row->value.n;
    }
}

struct page_wanted {
    struct str partition;
    struct str from;
    struct str to;
    bool back;
    unsigned limit;
};

static enum stmt page_statement(const struct view_cursor *c, bool back, bool names_long)
{
    if (c->across)
        return names_long ? STMT_ACROSS_LONG : STMT_ACROSS;
    if (back)
        return names_long ? STMT_SCAN_BACK_LONG : STMT_SCAN_BACK;
    return names_long ? STMT_SCAN_LONG : STMT_SCAN;
}

static struct err ask_page(struct view_cursor *c, const struct page_wanted *w, bool names_long)
{
    struct view *v = c->view;
    struct params p = params_in(&c->arena);
    arena_reset(&c->arena);
    TRY(view_ready(v, c->leg));
    param_bytes(&p, w->partition);
    param_bytes(&p, w->from);
    struct str to = c->across ? c->past : w->to;
    param_bytes(&p, str_given(to) ? to : largest_head(p.arena));
    param_bool(&p, !str_given(to));
    param_number(&p, w->limit);
    if (!c->across)
        param_number(&p, v->bucket);
    conn_send(c->leg->conn, page_statement(c, w->back, names_long), &p);
    return view_exchange(v, c->leg);
}

static struct err fetch_page(struct view_cursor *c, const struct page_wanted *w)
{
    bool names_long = c->across && w->partition.n >= SQL_PART_HEAD;
    TRY(ask_page(c, w, names_long));
    if (!names_long && has_long_name(c))
        TRY(ask_page(c, w, true));
    take_page(c, w->back);
    return OK;
}

/* Continues after the last row of the result if the page has left all of them out. */
static void go_past(const struct view_cursor *c, struct buf *partition, struct buf *key)
{
    const struct conn *conn = c->leg->conn;
    unsigned statement = conn->count - 1;
    buf_clear(partition);
    buf_put(partition, result_field(conn, statement, (int)c->taken - 1, 0));
    buf_clear(key);
    buf_put(key, result_field(conn, statement, (int)c->taken - 1, 1));
    buf_putc(key, '\0');
}

/* The next page may be larger if the rows are small. */
static void grow(struct view_cursor *c)
{
    size_t each = c->count == 0 ? 1 : c->page_bytes / c->count + 1;
    size_t fits = PAGE_BYTES_MAX / each + 1;
    size_t limit = (size_t)c->limit * PAGE_GROWS;
    limit = limit < ROWSET_PAGE_MAX ? limit : ROWSET_PAGE_MAX;
    c->limit = (unsigned)(limit < fits ? limit : fits);
}

/* Fetches pages from there on until one has a row or there are no more. */
static struct err fetch_pages(struct view_cursor *c, struct buf *partition, struct buf *key)
{
    for (;;) {
        struct page_wanted w = {c->across ? buf_str(partition) : c->view->partition, buf_str(key),
                                c->past, false, c->limit};
        TRY(fetch_page(c, &w));
        c->exhausted = c->taken < w.limit;
        grow(c);
        if (c->count > 0 || c->exhausted)
            return stand(c, 0);
        go_past(c, partition, key);
    }
}

/* Fetches a page that begins at (partition, key); both may be slices of the page that it
 * replaces. */
static struct err go_to(struct view_cursor *c, struct str partition, struct str key)
{
    struct buf name = buf_heap();
    struct buf in = buf_heap();
    buf_put(&in, partition);
    buf_put(&name, key);
    buf_clear(&c->from_partition);
    buf_put(&c->from_partition, partition);
    buf_clear(&c->from_key);
    buf_put(&c->from_key, key);
    bool empty = !c->across && str_given(c->past) && str_cmp(buf_str(&name), c->past) >= 0;
    c->count = 0;
    c->exhausted = true;
    struct err error = empty ? stand(c, 0) : fetch_pages(c, &in, &name);
    buf_release(&name);
    buf_release(&in);
    return error;
}

static int compare(const struct view_cursor *c, const struct page_row *row, struct str partition,
                   struct str key)
{
    int order = c->across ? str_cmp(row->partition, partition) : 0;
    return order != 0 ? order : str_cmp(row->key, key);
}

/* True if the page has the first row that is not less, or shows that there is none. */
static bool on_page(const struct view_cursor *c, struct str partition, struct str key)
{
    struct page_row from = {.partition = buf_str(&c->from_partition), .key = buf_str(&c->from_key)};
    if (compare(c, &from, partition, key) > 0)
        return false;
    return c->exhausted ||
           (c->count > 0 && compare(c, &c->rows[c->count - 1], partition, key) >= 0);
}

static struct err seek(struct view_cursor *c, struct str partition, struct str key)
{
    if (!on_page(c, partition, key))
        return go_to(c, partition, key);
    size_t low = 0;
    size_t high = c->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (compare(c, &c->rows[middle], partition, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return stand(c, low);
}

static struct err view_cursor_seek(struct cursor *cursor, struct str key)
{
    struct view_cursor *c = view_cursor_of(cursor);
    return seek(c, STR(""), str_cmp(key, c->first) < 0 ? c->first : key);
}

static struct err view_cursor_next(struct cursor *cursor)
{
    struct view_cursor *c = view_cursor_of(cursor);
    if (c->at + 1 < c->count || c->exhausted)
        return stand(c, c->at + 1);
    struct buf next = buf_in(&c->view->arena);
    buf_put(&next, c->base.key);
    buf_putc(&next, '\0');
    return go_to(c, c->base.partition, buf_str(&next));
}

static struct err view_cursor_skip(struct cursor *cursor, struct str skip)
{
    struct view_cursor *c = view_cursor_of(cursor);
    char *past = arena_bytes(&c->view->arena, skip.n + 1);
    if (skip.n > 0)
        memcpy(past, skip.p, skip.n);
    size_t past_n = rowkey_past_prefix(past, skip.n);
    if (past_n == 0) { /* past all keys; drops the page */
        c->count = 0;
        c->exhausted = false;
        return stand(c, 0);
    }
    return view_cursor_seek(cursor, (struct str){past, past_n});
}

static struct err view_cursor_seek_before(struct cursor *cursor, struct str key)
{
    struct view_cursor *c = view_cursor_of(cursor);
    struct str to = key;
    if (!str_given(key) || (str_given(c->past) && str_cmp(c->past, key) < 0))
        to = c->past;
    if (str_given(to))
        to = arena_copy(&c->view->arena, to);
    struct page_wanted w = {c->view->partition, c->first, to, true, 1};
    c->count = 0;
    if (!str_given(to) || str_cmp(c->first, to) < 0)
        TRY(fetch_page(c, &w));
    /* The page has one row, and `next` continues from it. Without a row, nothing is known about the
     * page's range. */
    c->exhausted = false;
    buf_clear(&c->from_key);
    if (c->count > 0)
        buf_put(&c->from_key, c->rows[0].key);
    return stand(c, 0);
}

static void view_cursor_close(struct cursor *cursor)
{
    struct view_cursor *c = view_cursor_of(cursor);
    arena_release(&c->arena);
    buf_release(&c->from_partition);
    buf_release(&c->from_key);
    free(c);
}

static const struct cursor_ops CURSOR_OPS = {
    .seek = view_cursor_seek,
    .next = view_cursor_next,
    .skip = view_cursor_skip,
    .seek_before = view_cursor_seek_before,
    .close = view_cursor_close,
};

static struct view_cursor *cursor_new(struct view *v, const struct cursor_ops *ops,
                                      struct str first, struct str past)
{
    struct view_cursor *c = MEM_NEW(struct view_cursor);
    c->base.ops = ops;
    c->view = v;
    c->leg = v->home;
    c->first = str_given(first) ? arena_copy(&v->arena, first) : STR("");
    c->past = arena_copy(&v->arena, past);
    c->limit = PAGE_FIRST;
    c->from_key = buf_heap();
    c->from_partition = buf_heap();
    arena_init(&c->arena, SIZE_MAX);
    return c;
}

struct err view_cursor_open(struct txn *t, struct str from, struct str to, struct cursor **out)
{
    struct view *v = (struct view *)(void *)t;
    if (v->puts_off)
        return view_refuse(v);
    struct view_cursor *c = cursor_new(v, &CURSOR_OPS, from, to);
    struct err error = go_to(c, STR(""), c->first);
    if (err_is(error))
        view_cursor_close(&c->base);
    else
        *out = &c->base;
    return error;
}

/* ---- over several partitions ---- */

static struct err across_seek(struct cursor *cursor, struct str partition, struct str key)
{
    struct view_cursor *c = view_cursor_of(cursor);
    bool before = str_cmp(partition, c->first) < 0;
    return seek(c, before ? c->first : partition, before ? STR("") : key);
}

static const struct cursor_ops ACROSS_OPS = {
    .seek_across = across_seek,
    .next = view_cursor_next,
    .close = view_cursor_close,
};

struct cursor *leg_cursor_new(struct view *v, struct view_leg *leg, struct str first,
                              struct str past)
{
    struct view_cursor *c = cursor_new(v, &ACROSS_OPS, first, past);
    c->leg = leg;
    c->across = true;
    buf_putc(&c->from_partition, '\xFF'); /* the page holds nothing yet */
    memset(buf_reserve(&c->from_partition, ENGINE_PARTITION_MAX), 0xFF, ENGINE_PARTITION_MAX);
    c->from_partition.n += ENGINE_PARTITION_MAX;
    return &c->base;
}
