/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/directory.h"

#include <assert.h>

struct err file_create_directory(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct directory_args *args = arg;
    struct file_scope s;
    struct file_found found;
    TRY(file_open_new(t, &args->request, &s, &found));
    if (found.exists) {
        bool directory = found.node.kind == NODE_DIRECTORY;
        TRY(file_claim(&s, &args->request, &found, OPENS_REST_GET_PROPERTIES));
        return err_new(directory ? ERR_RESOURCE_ALREADY_EXISTS : ERR_RESOURCE_TYPE_MISMATCH);
    }
    TRY(file_new_node(&s, NODE_DIRECTORY, found.parent, &found.node));
    TRY(file_apply(&s, &found.node, found.parent, &args->settings));
    found.node.metadata = args->metadata;
    TRY(file_add(&s, &found));
    file_give(&args->request, &s, &found, &args->outcome);
    return file_scope_close(&s);
}

struct err file_get_directory(struct txn *t, void *arg)
{
    struct directory_args *args = arg;
    struct file_scope s;
    struct file_found found;
    TRY(file_open(t, &args->request, FILE_DIRECTORY, FILE_LOOK, &s, &found));
    file_give(&args->request, &s, &found, &args->outcome);
    return OK;
}

struct err file_set_directory_properties(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct directory_args *args = arg;
    struct file_scope s;
    struct file_found found;
    TRY(file_open(t, &args->request, FILE_DIRECTORY, FILE_WRITE, &s, &found));
    TRY(file_apply(&s, &found.node, found.parent, &args->settings));
    file_touch(&s, &found.node);
    TRY(file_put(&s, &found));
    file_give(&args->request, &s, &found, &args->outcome);
    return file_scope_close(&s);
}

struct err file_set_directory_metadata(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct directory_args *args = arg;
    struct file_scope s;
    struct file_found found;
    TRY(file_open(t, &args->request, FILE_DIRECTORY, FILE_WRITE, &s, &found));
    found.node.metadata = args->metadata;
    file_touch(&s, &found.node);
    TRY(file_put(&s, &found));
    file_give(&args->request, &s, &found, &args->outcome);
    return file_scope_close(&s);
}

struct err file_delete_directory(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct directory_args *args = arg;
    struct file_scope s;
    struct file_found found;
    bool empty;
    TRY(file_open(t, &args->request, FILE_DIRECTORY, FILE_DELETE, &s, &found));
    if (found.root)
        return err_new(ERR_CANNOT_DELETE_FILE_OR_DIRECTORY);
    TRY(dirtree_is_empty(&s.tree, found.id, &empty));
    if (!empty)
        return err_new(ERR_DIRECTORY_NOT_EMPTY);
    TRY(file_remove(&s, &found));
    return file_scope_close(&s);
}
