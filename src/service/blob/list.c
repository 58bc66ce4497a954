/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/list.h"

#include "service/blob/protect.h"
#include "service/common/name.h"

/* ---- blobs ---- */

/* A listing under way; names are in the form that keys have. */
struct listing {
    struct txn *txn;
    struct blob_list_args *args;
    struct cursor *cursor;
    struct str heads;     /* the prefix of all keys wanted */
    size_t head_bytes;    /* of a key before the name */
    struct str delimiter; /* absent when flat */
    size_t found;
    size_t looked_at;
};

static bool is_wanted(const struct blob_list_args *args, const struct blob_list_item *item,
                      int64_t now)
{
    if (item->at.item == BLOB_SNAPSHOT)
        return args->wants_snapshots;
    return !blob_is_expired(&item->head, now) && (item->head.committed || args->wants_uncommitted);
}

/* The end of the first delimiter after the prefix; 0 when the name has none. */
static size_t delimiter_end(const struct listing *l, struct str name)
{
    if (!str_given(l->delimiter))
        return 0;
    size_t prefix = l->heads.n - l->head_bytes;
    size_t at = str_find_str(str_from(name, prefix), l->delimiter);
    return prefix + at < name.n ? prefix + at + l->delimiter.n : 0;
}

/* Hands over what stands for all names that begin so, and goes past them all. */
static struct err emit_prefix(struct listing *l, struct str name, size_t end)
{
    struct arena *a = txn_arena(l->txn);
    struct str key = arena_copy(a, str_head(cursor_key(l->cursor), l->head_bytes + end));
    struct arena *scratch = l->args->arena;
    l->args->prefix_found(l->args->sink, name_from_key(scratch, str_head(name, end)));
    return cursor_skip(l->cursor, key);
}

/* One row. *full is set when it is wanted and the page has no room for it. */
static struct err take_row(struct listing *l, bool *full)
{
    struct blob_list_item item;
    struct str name;
    struct str key = cursor_key(l->cursor);
    if (!blob_key_parse_head(key, &name, &item.at))
        return err_new(ERR_CORRUPT);
    if (item.at.item == BLOB_SNAPSHOT && !l->args->wants_snapshots) {
        struct blob_at base = {.item = BLOB_BASE};
        struct str items = arena_copy(txn_arena(l->txn), str_head(key, l->head_bytes + name.n));
        return cursor_seek(l->cursor, blob_key_of_items(txn_arena(l->txn), items, &base));
    }
    TRY(blob_head_decode(cursor_value(l->cursor), &item.head));
    blob_head_settle(&item.head, txn_now(l->txn));
    if (!is_wanted(l->args, &item, txn_now(l->txn)))
        return cursor_next(l->cursor);
    *full = l->found == l->args->max;
    if (*full)
        return OK;
    l->found++;
    size_t end = delimiter_end(l, name);
    if (end > 0)
        return emit_prefix(l, name, end);
    item.name = name_from_key(l->args->arena, name);
    l->args->item(l->args->sink, &item);
    return cursor_next(l->cursor);
}

static struct err seek_start(struct listing *l, uint64_t incarnation)
{
    struct arena *a = txn_arena(l->txn);
    struct str start = l->heads;
    if (str_given(l->args->start_from)) {
        struct str from = blob_key_heads(a, incarnation, l->args->start_from);
        start = str_cmp(from, start) > 0 ? from : start;
    }
    if (str_given(l->args->marker)) {
        struct buf from = buf_in(a);
        buf_put(&from, str_head(l->heads, l->head_bytes));
        buf_put(&from, l->args->marker);
        start = str_cmp(buf_str(&from), start) > 0 ? buf_str(&from) : start;
    }
    return cursor_seek(l->cursor, start);
}

static struct err walk(struct listing *l)
{
    bool full = false;
    while (!full && cursor_valid(l->cursor) && l->looked_at < LIST_SCAN_MAX) {
        TRY(take_row(l, &full));
        l->looked_at++;
    }
    if (cursor_valid(l->cursor))
        l->args->next = arena_copy(l->args->arena, str_from(cursor_key(l->cursor), l->head_bytes));
    return OK;
}

struct err blob_list_blobs(struct txn *t, void *arg)
{
    struct blob_list_args *args = arg;
    struct container container;
    TRY(container_load(t, &container));
    struct arena *a = txn_arena(t);
    struct listing l = {.txn = t, .args = args, .delimiter = STR_NONE};
    l.heads = blob_key_heads(a, container.incarnation, args->prefix);
    l.head_bytes = blob_key_heads(a, container.incarnation, STR("")).n;
    if (args->delimiter.n > 0)
        l.delimiter = name_to_key(a, args->delimiter);
    args->next = STR_NONE;
    args->begin(args->sink);
    TRY(cursor_open(t, l.heads, &l.cursor));
    struct err e = seek_start(&l, container.incarnation);
    if (!err_is(e))
        e = walk(&l);
    cursor_close(l.cursor);
    return e;
}

/* ---- containers ---- */

/* The container whose partition the scan has come to; *live is false when it has none that shows.
 */
static struct err load_container(struct scan *s, struct str partition, struct container *out,
                                 bool *live)
{
    *live = false;
    TRY(scan_seek(s, partition, BLOB_KEY_CONTAINER));
    if (!scan_valid(s) || !str_eq(scan_partition(s), partition) ||
        !str_eq(scan_key(s), BLOB_KEY_CONTAINER))
        return OK;
    return container_decode(scan_value(s), out, live);
}

/* To the first partition after this one. */
static struct err next_partition(struct arena *a, struct scan *s, struct str partition)
{
    struct buf after = buf_in(a);
    buf_put(&after, partition);
    buf_putc(&after, 0);
    return scan_seek(s, buf_str(&after), STR(""));
}

static struct err walk_containers(struct arena *a, struct container_list_args *args, struct scan *s)
{
    size_t found = 0;
    while (scan_valid(s)) {
        struct str partition = arena_copy(a, scan_partition(s));
        struct str name = blob_partition_container(partition);
        struct container container;
        bool live;
        TRY(load_container(s, partition, &container, &live));
        if (live && (args->wants_system || !name_is_system(name) || str_eq(name, STR("$root")) ||
                     str_eq(name, STR("$web")))) {
            if (found == args->max) {
                args->next = arena_copy(args->arena, name);
                return OK;
            }
            args->item(args->sink, name, &container);
            found++;
        }
        TRY(next_partition(a, s, partition));
    }
    return OK;
}

struct err blob_list_containers(struct txn *t, void *arg)
{
    struct container_list_args *args = arg;
    struct arena *a = txn_arena(t);
    struct scan *s;
    args->next = STR_NONE;
    args->begin(args->sink);
    TRY(scan_open(t, blob_partition(a, args->account, args->prefix), &s));
    struct err e = OK;
    if (str_given(args->marker))
        e = scan_seek(s, blob_partition(a, args->account, args->marker), STR(""));
    if (!err_is(e))
        e = walk_containers(a, args, s);
    scan_close(s);
    return e;
}
