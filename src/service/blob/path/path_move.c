/* SPDX-License-Identifier: Apache-2.0 */
/* Renaming and deleting in a hierarchical container: one entry changes, however much is below
 * it. */
#include <assert.h>

#include "service/blob/block/block.h"
#include "service/blob/list.h"
#include "service/blob/path/path.h"
#include "service/blob/path/path_flat.h"
#include "service/blob/path/path_move.h"
#include "service/blob/path/path_trash.h"
#include "service/blob/sweep.h"

/* ---- heads of a path: its own and those of its snapshots ---- */

static struct err item_of_row(const struct blob *blob, struct str key, struct str row,
                              struct blob *out)
{
    struct str name;
    *out =
        (struct blob){.container = blob->container, .key = key, .name = blob->name, .stored = true};
    if (!blob_key_parse_head(key, &name, &out->at))
        return err_new(ERR_CORRUPT);
    TRY(blob_head_decode(row, &out->head));
    out->exists = out->head.committed;
    blob_note_indexed(out);
    return OK;
}

static struct err work_on_heads(struct txn *t, const struct blob *blob, struct cursor *c,
                                path_head_work *work, void *arg)
{
    struct arena *a = txn_arena(t);
    while (c->valid) {
        struct blob item;
        TRY(item_of_row(blob, arena_copy(a, c->key), arena_copy(a, c->value), &item));
        TRY(cursor_next(c));
        TRY(work(t, &item, arg));
    }
    return OK;
}

struct err path_each_head(struct txn *t, const struct blob *blob, path_head_work *work, void *arg)
{
    struct cursor *c;
    TRY(cursor_open(t, blob_key_items(txn_arena(t), blob->container.incarnation, blob->name), &c));
    struct err e = work_on_heads(t, blob, c, work, arg);
    cursor_close(c);
    return e;
}

/* ---- moving ---- */

static struct err rename_set(struct txn *t, const struct blob *item, struct str name)
{
    struct block_set set;
    if (item->head.blocks == 0)
        return OK;
    TRY(block_set_load(t, item, &set));
    set.name = name;
    return block_set_save(t, item, &set);
}

struct move {
    struct str name;                /* the new one */
    const struct blob_path_new *as; /* changes of the base; NULL: none */
};

static struct err move_head(struct txn *t, struct blob *item, void *arg)
{
    const struct move *move = arg;
    struct blob moved = *item;
    moved.name = move->name;
    moved.key = blob_key_head(txn_arena(t), item->container.incarnation, move->name, &item->at);
    if (blob_head_has_body(&item->head))
        TRY(blob_load_body(t, item->key, &item->head, &moved.body));
    if (item->at.item == BLOB_BASE && move->as != NULL && move->as->has_metadata)
        moved.head.metadata = move->as->metadata;
    if (item->at.item == BLOB_BASE && move->as != NULL) {
        moved.head.deleted = move->as->deleted;
        moved.head.purge_at = move->as->purge_at;
        moved.head.path.deletion_id = move->as->deletion_id;
        moved.head.path.deleted_path = move->as->deleted_path;
        if (move->as->deleted != 0)
            moved.head.lease = (struct lease){0};
    }
    TRY(blob_forget(t, item));
    TRY(rename_set(t, item, move->name));
    return blob_save_unchanged(t, &moved);
}

struct err path_move_heads(struct txn *t, const struct blob *blob, struct str name,
                           const struct blob_path_new *as)
{
    struct move move = {name, as};
    return path_each_head(t, blob, move_head, &move);
}

/* ---- removing ---- */

static struct err remove_head(struct txn *t, struct blob *item, void *arg)
{
    (void)arg;
    return blob_remove(t, item);
}

/* The entries of a removed directory are unreachable, and the sweeper removes them. */
struct err path_remove(struct txn *t, struct blob *blob)
{
    const struct blob_path *path = &blob->head.path;
    TRY(path_each_head(t, blob, remove_head, NULL));
    if (!path->directory)
        return OK;
    struct sweep_item item = {SWEEP_TREE, blob->container.incarnation, path->id};
    return blob_sweep_add(t, &item);
}

struct err path_sweep_tree(struct txn *t, uint64_t incarnation, uint64_t directory,
                           unsigned *budget)
{
    struct arena *a = txn_arena(t);
    struct blob in = {.container = {.incarnation = incarnation, .hierarchical = true}};
    struct cursor *c;
    struct err e = OK;
    TRY(cursor_open(t, blob_key_heads(a, incarnation, path_tree_entry_name(a, directory, STR(""))),
                    &c));
    while (!err_is(e) && *budget > 0 && c->valid) {
        struct blob item;
        e = item_of_row(&in, arena_copy(a, c->key), arena_copy(a, c->value), &item);
        if (!err_is(e))
            e = blob_remove(t, &item);
        if (!err_is(e) && item.head.path.directory)
            e = blob_sweep_add(t, &(struct sweep_item){SWEEP_TREE, incarnation, item.head.path.id});
        --*budget;
        if (!err_is(e))
            e = cursor_next(c);
    }
    cursor_close(c);
    return e;
}

/* ---- Rename ---- */

struct renaming {
    struct txn *txn;
    struct path_rename_args *args;
    struct blob source;
    struct blob destination;
    struct str path;     /* of the destination */
    struct tree_way way; /* to it */
};

/* Returns true for the errors of a missing path. After a disk failure its existence is unknown. */
static bool is_refusal_of_absent(struct err error)
{
    return !err_is(error) || error.code == ERR_BLOB_NOT_FOUND ||
           error.code == ERR_CONDITION_NOT_MET ||
           error.code == ERR_LEASE_NOT_PRESENT_WITH_BLOB_OPERATION;
}

struct err path_open_source(struct txn *t, const struct path_rename_args *args, struct blob *source)
{
    struct err error = blob_open(t, &args->source, BLOB_DELETE, source);
    if (!source->exists && is_refusal_of_absent(error))
        return err_new(ERR_SOURCE_PATH_NOT_FOUND);
    if (error.code == ERR_CONDITION_NOT_MET)
        return err_new(ERR_SOURCE_CONDITION_NOT_MET);
    TRY(error);
    if (args->file_only && source->head.path.directory)
        return err_new(ERR_AUTHORIZATION_RESOURCE_TYPE_MISMATCH);
    return source->name.n == 0 ? err_new(ERR_INVALID_RENAME_SOURCE_PATH) : OK;
}

/* A directory must not be moved below itself. */
static struct err check_not_within(const struct renaming *r)
{
    if (!r->source.head.path.directory)
        return OK;
    for (size_t i = 0; i < r->way.depth; i++)
        if (r->way.directories[i] == r->source.head.path.id)
            return err_new(ERR_INVALID_RENAME_SOURCE_PATH);
    return str_eq(r->way.name, r->source.name) ? err_new(ERR_INVALID_RENAME_SOURCE_PATH) : OK;
}

/* What is below a directory must not get too deep. At the same depth as before it does not. */
static struct err check_depth(const struct renaming *r)
{
    const struct blob_path *from = &r->source.head.path;
    size_t depth = r->way.depth + 1;
    if (!from->directory || depth <= path_tree_depth(r->args->source.name))
        return OK;
    return depth + from->levels < TREE_DEPTH_MAX ? OK : err_new(ERR_PATH_IS_TOO_DEEP);
}

static struct err find_destination(struct renaming *r, struct str path)
{
    struct blob_request request = r->args->destination;
    request.name = path;
    r->path = path;
    TRY(path_tree_resolve(r->txn, &r->source.container, &request.path, path, false, &r->way));
    TRY(check_not_within(r));
    if (!str_given(r->way.name))
        return err_new(ERR_RENAME_DESTINATION_PARENT_PATH_NOT_FOUND);
    TRY(blob_load(r->txn, &request, &r->destination));
    struct blob *to = &r->destination;
    if (to->stored && blob_is_expired(&to->head, txn_now(r->txn)))
        to->exists = false;
    return OK;
}

/* A POSIX rename onto a directory moves the source into it. */
static struct err find_final(struct renaming *r)
{
    TRY(find_destination(r, r->args->destination.name));
    if (r->args->legacy || !r->destination.exists || !r->destination.head.path.directory)
        return OK;
    if (r->args->file_only)
        return err_new(ERR_AUTHORIZATION_RESOURCE_TYPE_MISMATCH);
    struct buf inside = buf_in(txn_arena(r->txn));
    buf_put(&inside, r->args->destination.name);
    buf_putc(&inside, '/');
    buf_put(&inside, path_tree_last_name(r->args->source.name));
    return find_destination(r, buf_str(&inside));
}

static struct err check_replaced(struct renaming *r)
{
    const struct blob_path *from = &r->source.head.path, *to = &r->destination.head.path;
    bool empty;
    if (from->directory != to->directory)
        return err_new(ERR_INVALID_SOURCE_OR_DESTINATION_RESOURCE_TYPE);
    if (!to->directory)
        return OK;
    if (r->destination.name.n == 0)
        return err_new(ERR_PATH_ALREADY_EXISTS);
    TRY(path_tree_is_empty(r->txn, r->destination.container.incarnation, to->id, &empty));
    return empty ? OK : err_new(ERR_PATH_ALREADY_EXISTS);
}

static struct err check_conditions(const struct renaming *r)
{
    const struct blob *to = &r->destination;
    struct condition_target target = {
        .exists = to->exists, .etag = to->head.etag, .last_modified = to->head.last_modified};
    return conditions_check(&r->args->destination.conditions, CONDITION_CREATE, &target);
}

static struct err check_destination(struct renaming *r)
{
    const struct blob_request *request = &r->args->destination;
    const struct blob *to = &r->destination;
    bool may = to->exists ? acl_may_unlink(&to->parent, &to->head.path, request->path.caller)
                          : acl_allows(&to->parent, request->path.caller, ACL_WRITE | ACL_EXECUTE);
    if (!may)
        return err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
    TRY(check_conditions(r));
    if (!to->exists)
        return lease_check_absent(LEASE_BLOB, &request->lease);
    TRY(lease_check_write(&to->head.lease, LEASE_BLOB, &request->lease, txn_now(r->txn)));
    if (request->create_only)
        return err_new(ERR_UNAUTHORIZED_BLOB_OVERWRITE);
    return check_replaced(r);
}

/* Renames a file to its current name. */
static struct err stay(struct txn *t, struct renaming *r)
{
    TRY(check_conditions(r));
    if (r->args->has_metadata) {
        r->source.head.metadata = r->args->metadata;
        TRY(blob_save_unchanged(t, &r->source));
    }
    return blob_give(&r->args->destination, &r->source.head, &r->args->head);
}

struct err path_put_in_place(struct txn *t, struct path_rename_args *args,
                             const struct blob *source)
{
    struct renaming r = {.txn = t, .args = args, .source = *source};
    TRY(find_final(&r));
    struct blob_path_new as = {.has_metadata = args->has_metadata, .metadata = args->metadata};
    if (str_eq(r.destination.name, r.source.name))
        return stay(t, &r);
    TRY(check_depth(&r));
    TRY(check_destination(&r));
    if (r.destination.stored)
        TRY(path_remove(t, &r.destination));
    TRY(path_move_heads(t, &r.source, r.destination.name, &as));
    if (r.source.head.path.directory)
        TRY(path_tree_raise(t, &r.source.container, r.path, &r.way, 1 + r.source.head.path.levels));
    return blob_give(&args->destination, &r.source.head, &args->head);
}

static struct err rename_in_tree(struct txn *t, struct path_rename_args *args)
{
    struct blob source;
    TRY(path_open_source(t, args, &source));
    return path_put_in_place(t, args, &source);
}

struct err path_rename(struct txn *t, void *arg)
{
    struct path_rename_args *args = arg;
    struct container container;
    args->next = STR_NONE;
    TRY(container_load(t, &container));
    return container.hierarchical ? rename_in_tree(t, args) : path_rename_flat(t, args);
}

/* ---- Delete ---- */

struct err path_check_removable(struct txn *t, const struct blob *blob, bool recursive,
                                enum err_code not_empty)
{
    bool empty;
    if (!blob->head.path.directory)
        return OK;
    if (blob->name.n == 0)
        return err_new(ERR_OPERATION_NOT_SUPPORTED_ON_DIRECTORY);
    if (recursive)
        return OK;
    TRY(path_tree_is_empty(t, blob->container.incarnation, blob->head.path.id, &empty));
    return empty ? OK : err_new(not_empty);
}

/* A caller whose rights come from lists needs all rights to every removed directory. */
struct below {
    const struct acl_caller *caller;
    bool refused;
};

static void begin_below(void *sink)
{
    (void)sink;
}

static void check_directory(void *sink, const struct blob_list_item *item)
{
    struct below *b = sink;
    b->refused =
        b->refused || !acl_allows(&item->head.path, b->caller, ACL_READ | ACL_WRITE | ACL_EXECUTE);
}

/* Returns the position where the check of this directory continues. If another directory has
 * replaced it, the check starts again. */
static struct str checked_up_to(const struct path_delete_args *args, uint64_t directory)
{
    struct reader r = reader_of(args->continuation);
    if (args->continuation.n <= sizeof directory || read_be64(&r) != directory)
        return STR_NONE;
    return str_from(args->continuation, sizeof directory);
}

static struct str next_check(struct arena *a, uint64_t directory, struct str next)
{
    struct buf b = buf_in(a);
    buf_put_be64(&b, directory);
    buf_put(&b, next);
    return buf_str(&b);
}

/* Checks as many as one transaction may; args->next is where the next one continues. It is a name,
 * so it survives restarts of client and server. */
static struct err check_below(struct txn *t, struct path_delete_args *args, const struct blob *blob)
{
    struct below b = {.caller = args->request.path.caller};
    struct buf prefix = buf_in(txn_arena(t));
    if (b.caller == NULL || !blob->head.path.directory)
        return OK;
    b.refused = !acl_allows(&blob->head.path, b.caller, ACL_READ | ACL_WRITE | ACL_EXECUTE);
    buf_put(&prefix, args->request.name);
    buf_putc(&prefix, '/');
    struct blob_list_args list = {.arena = txn_arena(t),
                                  .prefix = buf_str(&prefix),
                                  .marker = checked_up_to(args, blob->head.path.id),
                                  .max = SIZE_MAX,
                                  .look_max =
                                      args->check_max > 0 ? args->check_max : PATH_CHECK_MAX,
                                  .only = LIST_DIRECTORIES,
                                  .sink = &b,
                                  .begin = begin_below,
                                  .item = check_directory};
    TRY(blob_list_blobs(t, &list));
    if (b.refused)
        return err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
    if (str_given(list.next))
        args->next = next_check(args->request.arena, blob->head.path.id, list.next);
    return OK;
}

struct err path_delete(struct txn *t, void *arg)
{
    struct path_delete_args *args = arg;
    struct container container;
    struct blob blob;
    args->next = STR_NONE;
    args->deletion_id = 0;
    TRY(container_load(t, &container));
    if (!container.hierarchical)
        return path_delete_flat(t, args);
    TRY(blob_open(t, &args->request, BLOB_DELETE, &blob));
    TRY(path_check_removable(t, &blob, args->recursive, ERR_DIRECTORY_NOT_EMPTY));
    if (args->recursive)
        TRY(check_below(t, args, &blob));
    if (str_given(args->next))
        return OK;
    return path_take_away(t, &args->request, &blob, &args->deletion_id);
}
