/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/list.h"

#include "service/file/keys.h"

/* ---- directories ---- */

struct listing {
    struct directory_list_args *args;
    struct file_scope *scope;
    bool asks_pending; /* something is open: entries may be pending */
    size_t found;
};

static bool is_pending(const struct listing *l, const struct file_found *found)
{
    return l->asks_pending &&
           opens_delete_pending(l->args->request.pass.opens, file_key(l->scope, found));
}

static struct err list_one(void *arg, const struct dirtree_entry *entry, bool *stop)
{
    struct listing *l = arg;
    struct file_found found;
    TRY(file_of_entry(l->scope, entry, &found));
    if (is_pending(l, &found))
        return OK;
    if (l->found == l->args->max) {
        l->args->next = arena_copy(l->args->request.arena, entry->key);
        *stop = true;
        return OK;
    }
    l->found++;
    l->args->item(l->args->sink, &found);
    return OK;
}

struct err file_list_directory(struct txn *t, void *arg)
{
    struct directory_list_args *args = arg;
    struct opens *opens = args->request.pass.opens;
    struct file_scope s;
    struct file_found directory;
    struct str path;
    TRY(file_open(t, &args->request, FILE_DIRECTORY, FILE_LOOK, &s, &directory));
    TRY(file_path(&s, &directory, txn_arena(t), &path));
    args->next = STR_NONE;
    args->begin(args->sink, &directory, path);
    struct listing l = {.args = args, .scope = &s};
    l.asks_pending = args->request.snapshot == 0 && opens != NULL &&
                     !opens_quiet_since(opens, opens_epoch(opens));
    struct str prefix = str_given(args->prefix) ? args->prefix : STR("");
    return dirtree_list(&s.tree, directory.id, dirtree_key(&s.tree, txn_arena(t), prefix),
                        args->marker, list_one, &l);
}

/* ---- shares ---- */

/* The order of the entries of a name: deleted shares by incarnation, snapshots by stamp, the share.
 */
struct list_position {
    char kind;       /* 'd', 'x' or 'z' */
    uint64_t number; /* of the first two */
};

struct share_listing {
    struct share_list_args *args;
    struct cursor *scan;
    struct arena *arena;
    struct str partition, name;
    struct list_position from; /* where to begin with the name */
    int64_t now;
    size_t found;
    size_t found_before; /* the name */
};

static bool is_full(const struct share_listing *l)
{
    return str_given(l->args->next);
}

/* Emits the item, unless the page is full: then the next page begins here. */
static void tell(struct share_listing *l, struct list_position here, const struct share *share,
                 const struct share_snapshot *snapshot)
{
    if (l->found < l->args->max) {
        l->args->item(l->args->sink, l->name, share, snapshot);
        l->found++;
    } else if (l->found == l->found_before) {
        l->args->next = arena_copy(l->args->arena, l->name);
    } else {
        l->args->next = arena_printf(l->args->arena, "%.*s/%c%016llx", STR_ARG(l->name), here.kind,
                                     (unsigned long long)here.number);
    }
}

/* A name, and after a '/', which no name has, the position. Any other text begins at the name. */
static struct list_position position_of(struct str text)
{
    struct list_position position = {'d', 0};
    uint64_t number = 0;
    for (size_t i = 1; i < text.n; i++) {
        int digit = ascii_hex(text.p[i]);
        if (digit < 0)
            return position;
        number = number << 4 | (uint64_t)digit;
    }
    if (text.n != 17 || (text.p[0] != 'd' && text.p[0] != 'x' && text.p[0] != 'z'))
        return position;
    return (struct list_position){text.p[0], number};
}

/* Returns true if the scan is in the partition at or after `key`. */
static bool on_row(const struct share_listing *l, struct str prefix)
{
    return l->scan->valid && str_eq(l->scan->partition, l->partition) &&
           str_starts(l->scan->key, prefix);
}

static struct err tell_deleted(struct share_listing *l)
{
    struct share deleted;
    TRY(cursor_seek_across(l->scan, l->partition, file_key_deleted(l->arena, l->from.number)));
    while (on_row(l, STR("d")) && !is_full(l)) {
        TRY(share_decode(l->scan->value, &deleted));
        if (deleted.purge_at > l->now)
            tell(l, (struct list_position){'d', deleted.incarnation}, &deleted, NULL);
        TRY(cursor_next(l->scan));
    }
    return OK;
}

static struct err tell_snapshots(struct share_listing *l, const struct share *share)
{
    struct str all = file_key_kind(l->arena, 'x', share->incarnation);
    int64_t from = l->from.kind == 'x' ? (int64_t)l->from.number : 0;
    TRY(cursor_seek_across(l->scan, l->partition,
                           file_key_snapshot(l->arena, share->incarnation, from)));
    while (on_row(l, all) && !is_full(l)) {
        struct reader r = reader_of(str_from(l->scan->key, all.n));
        int64_t stamp = (int64_t)read_be64(&r);
        struct share_snapshot snapshot;
        TRY(share_decode_snapshot(l->scan->value, stamp, &snapshot));
        tell(l, (struct list_position){'x', (uint64_t)stamp}, share, &snapshot);
        TRY(cursor_next(l->scan));
    }
    return OK;
}

static struct err tell_share(struct share_listing *l)
{
    struct share share;
    TRY(cursor_seek_across(l->scan, l->partition, FILE_KEY_SHARE));
    if (!on_row(l, FILE_KEY_SHARE))
        return OK;
    TRY(share_decode(arena_copy(l->arena, l->scan->value), &share));
    l->found_before = l->found;
    if (l->args->wants_deleted && share.deleted_count > 0 && l->from.kind == 'd')
        TRY(tell_deleted(l));
    if (share.incarnation == 0)
        return OK;
    if (l->args->wants_snapshots && share.snapshot_count > 0 && l->from.kind != 'z')
        TRY(tell_snapshots(l, &share));
    if (!is_full(l))
        tell(l, (struct list_position){'z', 0}, &share, NULL);
    return OK;
}

static struct err walk_shares(struct share_listing *l)
{
    while (l->scan->valid) {
        l->partition = arena_copy(l->arena, l->scan->partition);
        l->name = file_partition_share(l->partition);
        TRY(tell_share(l));
        if (is_full(l))
            return OK;
        l->from = (struct list_position){'d', 0};
        struct buf after = buf_in(l->arena);
        buf_put(&after, l->partition);
        buf_putc(&after, 0);
        TRY(cursor_seek_across(l->scan, buf_str(&after), STR("")));
    }
    return OK;
}

struct err file_list_shares(struct txn *t, void *arg)
{
    struct share_list_args *args = arg;
    struct share_listing l = {
        .args = args, .arena = txn_arena(t), .now = txn_now(t), .from = {'d', 0}};
    args->next = STR_NONE;
    args->begin(args->sink);
    struct str prefix = str_given(args->prefix) ? args->prefix : STR("");
    TRY(cursor_open_across(t, file_partition(l.arena, args->account, prefix), STR(""), STR(""),
                           &l.scan));
    struct err e = OK;
    struct str position = args->marker;
    struct str name = str_given(position) ? str_cut(&position, '/') : STR("");
    if (name.n > 0)
        e = cursor_seek_across(l.scan, file_partition(l.arena, args->account, name), STR(""));
    if (str_given(position) && !err_is(e) && l.scan->valid &&
        str_eq(file_partition_share(l.scan->partition), name))
        l.from = position_of(position);
    if (!err_is(e))
        e = walk_shares(&l);
    cursor_close(l.scan);
    return e;
}
