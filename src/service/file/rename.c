/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/rename.h"

#include <assert.h>

/* ---- the move ---- */

struct err file_move(struct file_scope *s, struct file_found *from, struct file_found *to)
{
    struct dirtree_entry target = to->entry;
    bool inside = false;
    assert(from->exists && !from->root);
    if (from->node.kind == NODE_DIRECTORY)
        TRY(dirtree_within(&s->tree, to->parent, from->id, &inside));
    if (inside)
        return err_new(ERR_INVALID_INPUT);
    if (from->linked) {
        TRY(file_put(s, from));
        target.data = STR("");
    } else {
        struct buf data = buf_in(txn_arena(s->txn));
        node_encode(&data, &from->node);
        target.data = buf_str(&data);
    }
    struct file_found moved = {.entry = target, .node = from->node};
    TRY(file_note_renamed(s, from, &moved));
    if (to->exists) {
        /* Another spelling of the same name. */
        assert(to->id == from->id);
        return dirtree_update(&s->tree, &target);
    }
    TRY(dirtree_move(&s->tree, &from->entry, &target, !from->linked));
    from->parent = to->parent;
    return OK;
}

/* ---- the operation ---- */

static struct err open_source(struct txn *t, struct rename_args *args, struct file_scope *s,
                              struct file_found *out)
{
    struct file_request *r = &args->request;
    struct str path;
    TRY(file_check_path(s, txn_arena(t), args->source, args->source_keep_dots, &path));
    if (path.n == 0)
        return err_new(ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME);
    struct err error = file_find(s, path, out);
    if (error.code == ERR_PARENT_NOT_FOUND || (!err_is(error) && !out->exists))
        return err_new(ERR_RESOURCE_NOT_FOUND);
    TRY(error);
    if ((out->node.kind == NODE_DIRECTORY) != (args->kind == FILE_DIRECTORY))
        return err_new(ERR_RESOURCE_TYPE_MISMATCH);
    TRY(file_claim(s, r, out, OPENS_REST_RENAME));
    if (out->node.copy.status == COPY_PENDING)
        return err_new(ERR_PENDING_COPY_OPERATION);
    return lease_check_write(&out->node.lease, LEASE_FILE, &args->source_lease, txn_now(t));
}

/* Handles below a directory are found by their paths. */
static struct err check_below(struct rename_args *args, struct file_scope *s,
                              const struct file_found *source)
{
    struct opens *opens = args->request.pass.opens;
    struct str path;
    if (opens == NULL || args->kind != FILE_DIRECTORY)
        return OK;
    TRY(file_path(s, source, txn_arena(s->txn), &path));
    return opens_any_below(opens, s->share.incarnation, path) ? err_new(ERR_SHARING_VIOLATION) : OK;
}

/* Only a file can be replaced, also by a directory: the service's clients rely on it. */
static struct err replace_target(struct rename_args *args, struct file_scope *s,
                                 struct file_found *target)
{
    struct file_request *r = &args->request;
    if (target->node.kind == NODE_DIRECTORY)
        return err_new(args->kind == FILE_DIRECTORY ? ERR_RESOURCE_ALREADY_EXISTS
                                                    : ERR_RESOURCE_TYPE_MISMATCH);
    if (!args->replace)
        return err_new(ERR_RESOURCE_ALREADY_EXISTS);
    /* The service answers 409 here, and 412 if the file itself would be written. */
    if ((target->node.attributes & NODE_READ_ONLY) != 0 && !args->ignore_read_only)
        return err_new(ERR_READ_ONLY_TARGET);
    TRY(file_claim(s, r, target, OPENS_REST_RENAME));
    TRY(lease_check_write(&target->node.lease, LEASE_FILE, &r->lease, txn_now(s->txn)));
    TRY(file_remove(s, target));
    target->exists = false;
    target->entry.row = (struct vrow){0};
    return OK;
}

struct err file_rename(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct rename_args *args = arg;
    struct file_scope s;
    struct file_found source, target;
    TRY(file_open_new(t, &args->request, &s, &target));
    if (target.root)
        return err_new(ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME);
    TRY(open_source(t, args, &s, &source));
    TRY(check_below(args, &s, &source));
    if (target.exists && target.id != source.id)
        TRY(replace_target(args, &s, &target));
    else if (!target.exists)
        TRY(lease_check_absent(LEASE_FILE, &args->request.lease));
    TRY(file_apply(&s, &source.node, target.parent, &args->settings));
    if (args->has_metadata)
        source.node.metadata = args->metadata;
    if (args->has_content_type)
        source.node.http.content_type = args->content_type;
    file_touch(&s, &source.node);
    struct str path;
    TRY(file_check_path(&s, txn_arena(t), args->request.path, args->request.keep_dots, &path));
    target.entry.name = path_last(path);
    TRY(file_move(&s, &source, &target));
    file_give(&args->request, &s, &source, &args->outcome);
    args->outcome.parent = target.parent;
    return file_scope_close(&s);
}
