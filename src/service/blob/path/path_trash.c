/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/path/path_trash.h"

#include "service/blob/keep.h"
#include "service/blob/path/path_move.h"
#include "service/common/name.h"

static const struct blob_at BASE = {.item = BLOB_BASE};

/* ---- rows ---- */

static struct buf paths_key(struct arena *a, uint64_t incarnation, struct str path_key)
{
    struct buf b = buf_in(a);
    buf_putc(&b, 'D');
    buf_put_be64(&b, incarnation);
    buf_put(&b, path_key);
    return b;
}

static struct str path_key(struct arena *a, uint64_t incarnation, struct str path, int64_t id)
{
    struct buf b = paths_key(a, incarnation, name_to_key(a, path));
    buf_putc(&b, 0);
    buf_put_be64(&b, (uint64_t)id);
    return buf_str(&b);
}

/* Names of entries begin with an id in hexadecimal, or a slash. */
static struct str trash_name(struct arena *a, int64_t id)
{
    return arena_printf(a, "!%llx", (unsigned long long)id);
}

/* The requested path, without slashes at its ends or two in a row. */
static struct str clean(struct arena *a, struct str path)
{
    struct buf b = buf_in(a);
    while (str_given(path)) {
        struct str name = str_cut(&path, '/');
        if (name.n > 0 && b.n > 0)
            buf_putc(&b, '/');
        buf_put(&b, name);
    }
    return buf_str(&b);
}

/* ---- deleting ---- */

struct err path_take_away(struct txn *t, const struct blob_request *request, struct blob *blob,
                          int64_t *deletion_id)
{
    struct arena *a = txn_arena(t);
    struct service_retention retention;
    *deletion_id = 0;
    TRY(blob_find_retention(t, request, &retention));
    if (!retention.enabled || !blob->exists)
        return path_remove(t, blob);
    struct blob_path_new as = {.deleted = txn_now(t),
                               .purge_at = txn_now(t) + (int64_t)retention.days * TICKS_PER_DAY,
                               .deletion_id = txn_stamp(t),
                               .deleted_path = clean(a, request->name)};
    struct str name = trash_name(a, as.deletion_id);
    uint64_t incarnation = blob->container.incarnation;
    *deletion_id = as.deletion_id;
    TRY(blob_drop_blocks(t, incarnation, &blob->head));
    TRY(blob_save_unchanged(t, blob));
    TRY(path_move_heads(t, blob, name, &as));
    TRY(txn_put(t, path_key(a, incarnation, as.deleted_path, as.deletion_id), STR("")));
    return txn_put(t,
                   blob_key_timed(a, BLOB_TIMED_DELETED, as.purge_at,
                                  blob_key_head(a, incarnation, name, &BASE)),
                   STR(""));
}

struct err path_purge(struct txn *t, struct blob *blob)
{
    struct arena *a = txn_arena(t);
    const struct blob_path *path = &blob->head.path;
    uint64_t incarnation = blob->container.incarnation;
    blob->name = trash_name(a, path->deletion_id);
    TRY(txn_del(t, path_key(a, incarnation, path->deleted_path, path->deletion_id)));
    return path_remove(t, blob);
}

/* ---- restoring ---- */

static struct err find_deleted(struct txn *t, const struct path_undelete_args *args,
                               const struct container *container, struct blob *out)
{
    struct arena *a = txn_arena(t);
    struct str row;
    *out = (struct blob){.container = *container, .name = trash_name(a, args->deletion_id)};
    out->key = blob_key_head(a, container->incarnation, out->name, &BASE);
    TRY(txn_get(t, out->key, &row));
    TRY(blob_take_row(out, row));
    bool is_it = out->buried && str_eq(out->grave.path.deleted_path, clean(a, args->request.name));
    return is_it ? OK : err_new(ERR_BLOB_NOT_FOUND);
}

struct err path_undelete(struct txn *t, void *arg)
{
    struct path_undelete_args *args = arg;
    struct arena *a = txn_arena(t);
    struct blob_path_new as = {0};
    struct container container;
    struct blob deleted, there;
    struct tree_way way;
    TRY(container_load(t, &container));
    TRY(find_deleted(t, args, &container, &deleted));
    TRY(path_tree_resolve(t, &container, &args->request.path, args->request.name, true, &way));
    TRY(blob_load(t, &args->request, &there));
    if (there.stored)
        return err_new(ERR_BLOB_ALREADY_EXISTS);
    if (!acl_allows(&way.parent, args->request.path.caller, ACL_WRITE | ACL_EXECUTE))
        return err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
    const struct blob_head *head = &deleted.grave;
    TRY(txn_del(t, path_key(a, container.incarnation, head->path.deleted_path, args->deletion_id)));
    TRY(txn_del(t, blob_key_timed(a, BLOB_TIMED_DELETED, head->purge_at, deleted.key)));
    TRY(blob_give(&args->request, head, &args->head));
    if (head->path.directory)
        TRY(path_tree_raise(t, &container, args->request.name, &way, 1 + head->path.levels));
    return path_move_heads(t, &deleted, way.name, &as);
}

/* ---- listing ---- */

/* A deleted path is as visible as it was: to callers that may list the directory it was in. If that
 * is gone, nobody's lists tell, and only those see it who need none. */
static struct err may_see(struct txn *t, const struct container *container,
                          const struct acl_caller *caller, struct str path_key, bool *out)
{
    struct tree_request request = {.caller = caller};
    struct tree_way way;
    *out = caller == NULL;
    if (*out)
        return OK;
    struct str path = name_from_key(txn_arena(t), path_key);
    struct err e = path_tree_resolve(t, container, &request, path, false, &way);
    if (e.code == ERR_AUTHORIZATION_PERMISSION_MISMATCH)
        return OK;
    TRY(e);
    *out = str_given(way.name) && acl_allows(&way.parent, caller, ACL_READ | ACL_EXECUTE);
    return OK;
}

static struct err give_one(struct txn *t, const struct container *container,
                           struct blob_list_args *args, struct str path, int64_t id)
{
    struct arena *a = txn_arena(t);
    struct blob_list_item item = {.at = BASE};
    struct str row;
    TRY(txn_get(t, blob_key_head(a, container->incarnation, trash_name(a, id), &BASE), &row));
    if (!str_given(row))
        return err_new(ERR_CORRUPT);
    TRY(blob_head_decode(row, &item.head));
    item.name = name_from_key(args->arena, path);
    args->item(args->sink, &item);
    return OK;
}

/* One row, or the group that its name belongs to. */
static struct err take_row(struct txn *t, const struct container *container,
                           struct blob_list_args *args, struct cursor *c, size_t prefix)
{
    struct arena *a = txn_arena(t);
    struct str key = arena_copy(a, c->key);
    size_t head = paths_key(a, container->incarnation, STR("")).n;
    if (key.n < head + 9)
        return err_new(ERR_CORRUPT);
    struct str path = str_from(str_head(key, key.n - 9), head);
    struct reader id = reader_of(str_from(key, key.n - 8));
    size_t slash = str_find(path, '/', prefix);
    bool one = args->delimiter.n == 0 || slash == path.n, seen;
    TRY(may_see(t, container, args->caller, one ? path : str_head(path, slash), &seen));
    if (one && seen)
        TRY(give_one(t, container, args, path, (int64_t)read_be64(&id)));
    if (one)
        return cursor_next(c);
    if (seen)
        args->prefix_found(args->sink, name_from_key(args->arena, str_head(path, slash + 1)));
    return cursor_skip(c, str_head(key, head + slash + 1));
}

struct err path_list_deleted(struct txn *t, const struct container *container,
                             struct blob_list_args *args)
{
    struct arena *a = txn_arena(t);
    struct str prefix = name_to_key(a, str_given(args->prefix) ? args->prefix : STR(""));
    struct buf keys = paths_key(a, container->incarnation, prefix);
    struct cursor *c;
    struct err e = OK;
    TRY(cursor_open(t, buf_str(&keys), &c));
    if (args->marker.n > 0) {
        struct buf from = paths_key(a, container->incarnation, args->marker);
        e = cursor_seek(c, buf_str(&from));
    }
    for (size_t i = 0; i < args->max && !err_is(e) && c->valid; i++)
        e = take_row(t, container, args, c, prefix.n);
    if (!err_is(e) && c->valid)
        args->next = arena_copy(args->arena,
                                str_from(c->key, paths_key(a, container->incarnation, STR("")).n));
    cursor_close(c);
    return e;
}
