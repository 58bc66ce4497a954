/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/link.h"

#include <assert.h>

static struct err open_new_entry(struct txn *t, struct link_args *args, struct file_scope *s,
                                 struct file_found *out)
{
    TRY(file_open_new(t, &args->request, s, out));
    if (s->share.protocol != SHARE_NFS)
        return err_new(ERR_INVALID_OPERATION);
    return out->exists ? err_new(ERR_RESOURCE_ALREADY_EXISTS) : OK;
}

struct err file_create_symbolic_link(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct link_args *args = arg;
    struct file_scope s;
    struct file_found found;
    TRY(open_new_entry(t, args, &s, &found));
    TRY(file_new_node(&s, NODE_SYMLINK, found.parent, &found.node));
    TRY(file_apply(&s, &found.node, found.parent, &args->settings));
    found.node.metadata = args->metadata;
    found.node.target = args->target;
    TRY(file_add(&s, &found));
    file_give(&args->request, &s, &found, &args->outcome);
    return file_scope_close(&s);
}

struct err file_get_symbolic_link(struct txn *t, void *arg)
{
    struct link_args *args = arg;
    struct file_scope s;
    struct file_found found;
    TRY(file_open(t, &args->request, FILE_FILE, FILE_LOOK, &s, &found));
    if (found.node.kind != NODE_SYMLINK)
        return err_new(ERR_INVALID_OPERATION);
    file_give(&args->request, &s, &found, &args->outcome);
    return OK;
}

/* Moves the properties of a file that gets a second name into a separate row. */
static struct err part_from_name(struct file_scope *s, struct file_found *file)
{
    if (file->linked)
        return OK;
    file->entry.data = STR("");
    file->linked = true;
    TRY(dirtree_update(&s->tree, &file->entry));
    return dirtree_drop_parent(&s->tree, &file->entry);
}

struct err file_create_hard_link(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct link_args *args = arg;
    struct file_scope s;
    struct file_found link, file;
    struct str path;
    TRY(open_new_entry(t, args, &s, &link));
    TRY(file_check_path(&s, txn_arena(t), args->target, true, &path));
    TRY(file_find(&s, path, &file));
    if (!file.exists)
        return err_new(ERR_RESOURCE_NOT_FOUND);
    if (file.node.kind == NODE_DIRECTORY)
        return err_new(ERR_RESOURCE_TYPE_MISMATCH);
    if (file.node.links >= LINKS_MAX)
        return err_new(ERR_INVALID_OPERATION);
    TRY(lease_check_write(&file.node.lease, LEASE_FILE, &args->request.lease, txn_now(t)));
    TRY(part_from_name(&s, &file));
    file.node.links++;
    file.node.changed = txn_now(t);
    file_touch(&s, &file.node);
    TRY(file_put(&s, &file));
    link.entry.id = file.id;
    link.entry.directory = false;
    link.entry.data = STR("");
    TRY(dirtree_insert(&s.tree, &link.entry, false));
    file.parent = link.parent;
    file_give(&args->request, &s, &file, &args->outcome);
    return file_scope_close(&s);
}
