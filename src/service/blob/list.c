/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/list.h"

#include "service/blob/keep.h"
#include "service/blob/path/list_tree.h"
#include "service/blob/path/path.h"
#include "service/blob/protect.h"
#include "service/common/name.h"

/* ---- blobs ---- */

/* The state of a listing; names are in key form. */
struct listing {
    struct txn *txn;
    struct blob_list_args *args;
    struct cursor *cursor;
    struct str heads;     /* the prefix of all keys wanted */
    size_t head_bytes;    /* of a key before the name */
    struct str end;       /* the key at which the listing ends; absent: at none */
    struct str delimiter; /* absent when flat */
    size_t found;
    size_t looked_at;
};

bool list_wants_items(const struct blob_list_args *args)
{
    return args->wants_snapshots || args->wants_versions || args->wants_versions_only;
}

/* Returns true if the listing includes snapshots or versions of that kind. */
bool list_wants_kind(const struct blob_list_args *args, const struct blob_at *at)
{
    bool item = at->item == BLOB_SNAPSHOT ? args->wants_snapshots : args->wants_versions;
    return item && (!at->deleted || args->wants_deleted);
}

bool list_is_wanted(const struct blob_list_args *args, const struct blob_list_item *item,
                    int64_t now)
{
    bool deleted = item->head.deleted != 0;
    if (args->only == LIST_DELETED && !deleted)
        return false;
    if (item->at.item != BLOB_BASE)
        return true;
    if (deleted)
        return args->wants_deleted;
    return !blob_is_expired(&item->head, now) && (item->head.committed || args->wants_uncommitted);
}

/* Returns the end of the first delimiter after the prefix; 0 if the name has none. */
static size_t delimiter_end(const struct listing *l, struct str name)
{
    if (!str_given(l->delimiter))
        return 0;
    size_t prefix = l->heads.n - l->head_bytes;
    size_t at = str_find_str(str_from(name, prefix), l->delimiter);
    return prefix + at < name.n ? prefix + at + l->delimiter.n : 0;
}

/* Returns true if the prefix is a directory that has a blob, which is listed in its place. */
static struct err is_listed_itself(struct listing *l, struct str key, bool *listed)
{
    struct blob blob = {.at = {.item = BLOB_BASE}};
    struct str row, to_name = str_head(key, key.n - l->delimiter.n);
    *listed = false;
    if (!l->args->entries_only)
        return OK;
    TRY(txn_get(l->txn, blob_key_of_items(txn_arena(l->txn), to_name, &blob.at), &row));
    TRY(blob_take_row(&blob, row));
    *listed = blob.exists && !blob_is_expired(&blob.head, txn_now(l->txn)) &&
              path_is_marked(blob.head.metadata);
    return OK;
}

/* Emits the prefix for all names that begin with it, and skips them. */
static struct err emit_prefix(struct listing *l, struct str name, size_t end)
{
    struct arena *a = txn_arena(l->txn);
    struct str key = arena_copy(a, str_head(l->cursor->key, l->head_bytes + end));
    struct str prefix = name_from_key(l->args->arena, str_head(name, end));
    bool listed;
    TRY(is_listed_itself(l, key, &listed));
    if (!listed) {
        l->found++;
        l->args->prefix_found(l->args->sink, prefix);
    }
    return cursor_skip(l->cursor, key);
}

/* Emits the item, or the prefix that represents it and others. Sets *full instead if the page is
 * full; else *moved tells if the cursor has already advanced. */
static struct err emit(struct listing *l, struct str name, struct blob_list_item *item, bool *full,
                       bool *moved)
{
    struct blob_list_args *args = l->args;
    size_t end = delimiter_end(l, name);
    *moved = false;
    if (end > 0 ? args->only == LIST_FILES : args->only == LIST_DIRECTORIES)
        return OK;
    *full = l->found == args->max;
    if (*full)
        return OK;
    *moved = end > 0;
    if (end > 0)
        return emit_prefix(l, name, end);
    l->found++;
    item->name = name_from_key(args->arena, name);
    args->item(args->sink, item);
    return OK;
}

/* Returns true if the version at the cursor represents a missing base blob. It is the first one,
 * live ones before soft-deleted ones. */
static struct err tells_of_versions_only(struct listing *l, const struct blob_at *at, bool *tells)
{
    struct arena *a = txn_arena(l->txn);
    struct blob blob = {.at = {.item = BLOB_BASE}};
    struct str row;
    bool live = false;
    *tells = false;
    if (!l->args->wants_versions_only || l->args->wants_versions || at->item != BLOB_VERSION)
        return OK;
    blob.key = blob_key_of_items(a, blob_key_to_name(arena_copy(a, l->cursor->key)), &blob.at);
    TRY(txn_get(l->txn, blob.key, &row));
    TRY(blob_take_row(&blob, row));
    if (at->deleted)
        TRY(blob_has_items(l->txn, &blob, BLOB_VERSION, &live));
    *tells = !blob.exists && !live;
    return OK;
}

/* Skips all items of an unwanted kind; goes straight to the blob itself if no kind is wanted. */
static struct err skip_kind(struct listing *l, struct str key, const struct blob_at *at)
{
    struct arena *a = txn_arena(l->txn);
    struct str to_name = arena_copy(a, blob_key_to_name(key));
    struct blob_at base = {.item = BLOB_BASE};
    if (!list_wants_items(l->args))
        return cursor_seek(l->cursor, blob_key_of_items(a, to_name, &base));
    return cursor_skip(l->cursor, blob_key_of_items_of(a, to_name, at->item, at->deleted));
}

/* Loads the head of the last version, with the cursor at the first one. */
static struct err load_last_version(struct listing *l, struct blob_list_item *item)
{
    struct arena *a = txn_arena(l->txn);
    struct str to_name = arena_copy(a, blob_key_to_name(l->cursor->key));
    struct cursor *c;
    TRY(cursor_open(l->txn, blob_key_of_items_of(a, to_name, BLOB_VERSION, item->at.deleted), &c));
    struct err e = cursor_seek_before(c, STR_NONE);
    if (!err_is(e) && c->valid)
        e = blob_head_decode(arena_copy(a, c->value), &item->head);
    cursor_close(c);
    blob_head_settle(&item->head, txn_now(l->txn));
    return e;
}

/* Handles a kind that is not listed, except that its existence may be reported. */
static struct err take_unwanted(struct listing *l, struct str name, struct blob_list_item *item,
                                bool *full)
{
    bool moved = false;
    TRY(tells_of_versions_only(l, &item->at, &item->versions_only));
    if (item->versions_only) {
        TRY(load_last_version(l, item));
        TRY(emit(l, name, item, full, &moved));
    }
    return *full || moved ? OK : skip_kind(l, l->cursor->key, &item->at);
}

/* Handles one row. *full is set if it is wanted and the page has no room for it. */
static struct err take_row(struct listing *l, bool *full)
{
    struct blob_list_item item = {0};
    struct str name;
    bool moved = false;
    if (!blob_key_parse_head(l->cursor->key, &name, &item.at))
        return err_new(ERR_CORRUPT);
    if (item.at.item != BLOB_BASE && !list_wants_kind(l->args, &item.at))
        return take_unwanted(l, name, &item, full);
    TRY(blob_head_decode(l->cursor->value, &item.head));
    blob_head_settle(&item.head, txn_now(l->txn));
    if (list_is_wanted(l->args, &item, txn_now(l->txn)))
        TRY(emit(l, name, &item, full, &moved));
    return *full || moved ? OK : cursor_next(l->cursor);
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

static bool is_before_end(const struct listing *l)
{
    return l->cursor->valid && (!str_given(l->end) || str_cmp(l->cursor->key, l->end) < 0);
}

static struct err walk(struct listing *l)
{
    bool full = false;
    while (!full && is_before_end(l) && l->looked_at < LIST_SCAN_MAX) {
        TRY(take_row(l, &full));
        l->looked_at++;
    }
    if (is_before_end(l))
        l->args->next = arena_copy(l->args->arena, str_from(l->cursor->key, l->head_bytes));
    return OK;
}

struct err blob_list_blobs(struct txn *t, void *arg)
{
    struct blob_list_args *args = arg;
    struct container container;
    TRY(container_load(t, &container));
    args->hierarchical = container.hierarchical;
    if (container.hierarchical)
        return blob_list_tree(t, &container, args);
    TRY(acl_check_flat(args->caller));
    struct arena *a = txn_arena(t);
    struct listing l = {.txn = t, .args = args, .delimiter = STR_NONE};
    l.heads = blob_key_heads(a, container.incarnation, args->prefix);
    l.head_bytes = blob_key_heads(a, container.incarnation, STR("")).n;
    if (str_given(args->end_before))
        l.end = blob_key_heads(a, container.incarnation, args->end_before);
    if (args->delimiter.n > 0)
        l.delimiter = name_to_key(a, args->delimiter);
    args->next = STR_NONE;
    args->begin(args->sink);
    if (args->marker.n > 0)
        txn_hint(t, HINT_ONCE); /* a page in the middle of a long listing */
    TRY(cursor_open(t, l.heads, &l.cursor));
    struct err e = seek_start(&l, container.incarnation);
    if (!err_is(e))
        e = walk(&l);
    cursor_close(l.cursor);
    return e;
}

/* ---- containers ---- */

/* A running listing of containers. */
struct container_listing {
    struct arena *arena;
    struct container_list_args *args;
    struct cursor *scan;
    struct str partition; /* where the scan has come to */
    struct str name;
    size_t found;
    bool full;
};

static struct err give_container(struct container_listing *l, const struct container *container,
                                 uint64_t deleted)
{
    struct container_list_args *args = l->args;
    l->full = l->found == args->max;
    if (l->full) {
        args->next = arena_copy(args->arena, l->name);
        args->next_deleted = deleted;
        return OK;
    }
    args->item(args->sink, l->name, container);
    l->found++;
    return OK;
}

static bool scan_is_in(const struct container_listing *l)
{
    return l->scan->valid && str_eq(l->scan->partition, l->partition);
}

/* Emits the deleted containers of the name; those before the marker's were on the last page. */
static struct err give_deleted(struct container_listing *l)
{
    bool at_marker = str_eq(l->name, l->args->marker) && l->args->marker_deleted != 0;
    struct str prefix = blob_key_deleted_container(l->arena, 0);
    struct str from = blob_key_deleted_container(l->arena, at_marker ? l->args->marker_deleted : 0);
    TRY(cursor_seek_across(l->scan, l->partition, from));
    while (!l->full && scan_is_in(l) && str_starts(l->scan->key, prefix)) {
        struct container container;
        bool live;
        TRY(container_decode(l->scan->value, &container, &live));
        TRY(give_container(l, &container, container.incarnation));
        TRY(cursor_next(l->scan));
    }
    return OK;
}

static struct err give_live(struct container_listing *l)
{
    struct container container;
    bool live;
    TRY(cursor_seek_across(l->scan, l->partition, BLOB_KEY_CONTAINER));
    if (!scan_is_in(l) || !str_eq(l->scan->key, BLOB_KEY_CONTAINER))
        return OK;
    TRY(container_decode(l->scan->value, &container, &live));
    return live ? give_container(l, &container, UINT64_MAX) : OK;
}

/* To the first partition after this one. */
static struct err next_partition(struct container_listing *l)
{
    struct buf after = buf_in(l->arena);
    buf_put(&after, l->partition);
    buf_putc(&after, 0);
    return cursor_seek_across(l->scan, buf_str(&after), STR(""));
}

static struct err walk_containers(struct container_listing *l)
{
    while (l->scan->valid) {
        l->partition = arena_copy(l->arena, l->scan->partition);
        l->name = blob_partition_container(l->partition);
        if (l->args->wants_system || !name_is_system(l->name) || str_eq(l->name, STR("$root")) ||
            str_eq(l->name, STR("$web"))) {
            if (l->args->wants_deleted)
                TRY(give_deleted(l));
            if (!l->full)
                TRY(give_live(l));
            if (l->full)
                return OK;
        }
        TRY(next_partition(l));
    }
    return OK;
}

struct err blob_list_containers(struct txn *t, void *arg)
{
    struct container_list_args *args = arg;
    struct arena *a = txn_arena(t);
    struct container_listing l = {.arena = a, .args = args};
    args->next = STR_NONE;
    args->begin(args->sink);
    TRY(cursor_open_across(t, blob_partition(a, args->account, args->prefix), STR(""), STR(""),
                           &l.scan));
    struct err e = OK;
    if (str_given(args->marker))
        e = cursor_seek_across(l.scan, blob_partition(a, args->account, args->marker), STR(""));
    if (!err_is(e))
        e = walk_containers(&l);
    cursor_close(l.scan);
    return e;
}
