/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/file.h"

#include <assert.h>

/* A lease and the id outlive the overwriting; all else is as in a new file. */
static struct err overwrite(struct file_scope *s, struct file_args *args, struct file_found *found)
{
    struct lease lease = found->node.lease;
    uint64_t links = found->node.links;
    if (found->node.kind == NODE_DIRECTORY)
        return err_new(ERR_RESOURCE_TYPE_MISMATCH);
    if (args->create_only)
        return err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
    TRY(file_claim(s, &args->request, found, OPENS_REST_CREATE));
    if (found->node.copy.status == COPY_PENDING)
        return err_new(ERR_PENDING_COPY_OPERATION);
    TRY(lease_check_write(&lease, LEASE_FILE, &args->request.lease, txn_now(s->txn)));
    TRY(file_drop_content(s, &found->node));
    TRY(file_new_node(s, NODE_FILE, found->parent, &found->node));
    found->node.lease = lease;
    found->node.links = links;
    file_touch(s, &found->node);
    return OK;
}

static struct err write_first(struct file_scope *s, struct file_args *args,
                              struct file_found *found)
{
    if (args->pieces == NULL || args->pieces->count == 0)
        return OK;
    found->node.content = (uint64_t)txn_stamp(s->txn);
    struct interval_map m = file_map(s, &found->node);
    TRY(interval_write(&m, 0, args->pieces, PIECE_ADOPT));
    return file_keep_map(s, found, &m);
}

struct err file_create_file(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct file_args *args = arg;
    struct file_scope s;
    struct file_found found;
    TRY(file_open_new(t, &args->request, &s, &found));
    bool existed = found.exists;
    if (existed) {
        TRY(overwrite(&s, args, &found));
    } else {
        TRY(file_start_new(&s, &args->request, &found));
    }
    TRY(file_apply(&s, &found.node, found.parent, &args->settings));
    if (s.share.protocol == SHARE_SMB && !args->settings.restores)
        found.node.attributes |= NODE_ARCHIVE;
    found.node.metadata = args->metadata;
    found.node.http = args->http;
    TRY(file_resize(&s, &found, args->size));
    TRY(write_first(&s, args, &found));
    TRY(existed ? file_put(&s, &found) : file_add(&s, &found));
    file_give(&args->request, &s, &found, &args->outcome);
    return file_scope_close(&s);
}

struct err file_get_file_properties(struct txn *t, void *arg)
{
    struct file_args *args = arg;
    struct file_scope s;
    struct file_found found;
    TRY(file_open(t, &args->request, FILE_FILE, FILE_LOOK, &s, &found));
    file_give(&args->request, &s, &found, &args->outcome);
    return OK;
}

/* Clearing the read-only attribute must be possible on a read-only file. */
static bool makes_writable(const struct file_args *args)
{
    return args->settings.has_attributes && (args->settings.attributes & NODE_READ_ONLY) == 0;
}

struct err file_set_file_properties(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct file_args *args = arg;
    struct file_scope s;
    struct file_found found;
    enum file_use use = makes_writable(args) ? FILE_UNLOCK : FILE_WRITE;
    TRY(file_open(t, &args->request, FILE_FILE, use, &s, &found));
    TRY(file_apply(&s, &found.node, found.parent, &args->settings));
    if (args->has_http)
        found.node.http = args->http;
    if (args->has_size && found.node.kind != NODE_FILE)
        return err_new(ERR_RESOURCE_TYPE_MISMATCH);
    if (args->has_size)
        TRY(file_resize(&s, &found, args->size));
    found.node.copy = (struct node_copy){0};
    file_touch(&s, &found.node);
    TRY(file_put(&s, &found));
    file_give(&args->request, &s, &found, &args->outcome);
    return file_scope_close(&s);
}

struct err file_set_file_metadata(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct file_args *args = arg;
    struct file_scope s;
    struct file_found found;
    TRY(file_open(t, &args->request, FILE_FILE, FILE_WRITE, &s, &found));
    found.node.metadata = args->metadata;
    file_touch(&s, &found.node);
    TRY(file_put(&s, &found));
    file_give(&args->request, &s, &found, &args->outcome);
    return file_scope_close(&s);
}

struct err file_delete_file(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct file_args *args = arg;
    struct file_scope s;
    struct file_found found;
    TRY(file_open(t, &args->request, FILE_FILE, FILE_DELETE, &s, &found));
    file_give(&args->request, &s, &found, &args->outcome);
    TRY(file_remove(&s, &found));
    return file_scope_close(&s);
}

/* Leases of files have no end, so there is nothing to renew, and breaking takes no time. */
struct err file_lease_file(struct txn *t, void *arg)
{
    struct file_args *args = arg;
    struct file_scope s;
    struct file_found found;
    bool acquires = args->lease.action == LEASE_ACQUIRE;
    assert(args->lease.action != LEASE_RENEW);
    if (acquires) {
        TRY(file_open(t, &args->request, FILE_FILE, FILE_LEASE, &s, &found));
    } else {
        file_pass_begin(&args->request.pass, args->request.arena);
        TRY(file_open(t, &args->request, FILE_FILE, FILE_LOOK, &s, &found));
        TRY(file_claim(&s, &args->request, &found, OPENS_REST_GET_PROPERTIES));
    }
    TRY(lease_apply(&found.node.lease, &args->lease, txn_now(t), &args->lease_left_seconds));
    TRY(file_put(&s, &found));
    file_give(&args->request, &s, &found, &args->outcome);
    return file_scope_close(&s);
}
