/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/access.h"

#include <assert.h>

/* ---- opening ---- */

struct err file_check_path(const struct file_scope *s, struct arena *a, struct str path,
                           bool keep_dots, struct str *out)
{
    struct path_rules rules = {.posix = s->share.protocol == SHARE_NFS, .keep_dots = keep_dots};
    return file_path_check(a, path, &rules, out);
}

struct err file_claim(struct file_scope *s, struct file_request *r, const struct file_found *found,
                      enum opens_rest op)
{
    struct opens_rest_request request = {.key = file_key(s, found),
                                         .op = op,
                                         .read_only =
                                             found->node.kind == NODE_FILE &&
                                             (found->node.attributes & NODE_READ_ONLY) != 0};
    return file_pass_claim(&r->pass, &request);
}

static bool reads(enum file_use use)
{
    return use == FILE_LIST || use == FILE_LOOK || use == FILE_READ;
}

static struct err check_kind(const struct file_found *found, enum file_kind kind, enum file_use use)
{
    bool directory = found->node.kind == NODE_DIRECTORY;
    if (!found->exists)
        return err_new(ERR_RESOURCE_NOT_FOUND);
    if (kind == FILE_ANY || directory == (kind == FILE_DIRECTORY))
        return OK;
    return err_new(reads(use) ? ERR_RESOURCE_NOT_FOUND : ERR_RESOURCE_TYPE_MISMATCH);
}

static struct err check_write(struct file_scope *s, struct file_request *r, enum file_use use,
                              struct file_found *found)
{
    static const enum opens_rest OPS[] = {
        [FILE_WRITE] = OPENS_REST_WRITE,
        [FILE_UNLOCK] = OPENS_REST_WRITE,
        [FILE_DELETE] = OPENS_REST_DELETE,
        [FILE_LEASE] = OPENS_REST_LEASE,
    };
    uint32_t attributes = found->node.attributes;
    if (use == FILE_UNLOCK)
        found->node.attributes &= ~(uint32_t)NODE_READ_ONLY;
    struct err claimed = file_claim(s, r, found, OPS[use]);
    found->node.attributes = attributes;
    TRY(claimed);
    if (found->node.copy.status == COPY_PENDING)
        return err_new(ERR_PENDING_COPY_OPERATION);
    if (use == FILE_LEASE)
        return OK;
    return lease_check_write(&found->node.lease, LEASE_FILE, &r->lease, txn_now(s->txn));
}

struct err file_open(struct txn *t, struct file_request *r, enum file_kind kind, enum file_use use,
                     struct file_scope *s, struct file_found *out)
{
    struct str path;
    if (!reads(use))
        file_pass_begin(&r->pass, r->arena);
    TRY(file_scope_open(t, r->snapshot, s));
    s->changes = reads(use) ? NULL : &r->pass.changes;
    TRY(file_check_path(s, txn_arena(t), r->path, r->keep_dots, &path));
    TRY(file_find(s, path, out));
    TRY(check_kind(out, kind, use));
    if (!reads(use))
        return check_write(s, r, use, out);
    if (use != FILE_LIST && r->snapshot == 0) {
        r->pass.key = file_key(s, out);
        r->pass.op = use == FILE_READ ? OPENS_REST_GET : OPENS_REST_GET_PROPERTIES;
    }
    return lease_check_read(&out->node.lease, LEASE_FILE, &r->lease, txn_now(t));
}

struct err file_open_new(struct txn *t, struct file_request *r, struct file_scope *s,
                         struct file_found *out)
{
    struct str path;
    file_pass_begin(&r->pass, r->arena);
    TRY(file_scope_open(t, 0, s));
    s->changes = &r->pass.changes;
    TRY(file_check_path(s, txn_arena(t), r->path, r->keep_dots, &path));
    TRY(file_find(s, path, out));
    struct opens_key parent = {.share = s->share.incarnation, .node = out->parent};
    if (!out->exists && r->pass.opens != NULL && opens_delete_pending(r->pass.opens, parent))
        return err_new(ERR_SMB_DELETE_PENDING);
    return OK;
}

struct err file_start_new(struct file_scope *s, const struct file_request *r,
                          struct file_found *found)
{
    assert(found != NULL);
    TRY(lease_check_absent(LEASE_FILE, &r->lease));
    TRY(file_new_node(s, NODE_FILE, found->parent, &found->node));
    found->id = (uint64_t)txn_stamp(s->txn);
    return OK;
}

/* ---- settings ---- */

static void apply_time(struct file_scope *s, int64_t *time, const struct file_time *given)
{
    if (given->kind == FILE_TIME_NOW)
        *time = txn_now(s->txn);
    else if (given->kind == FILE_TIME_GIVEN)
        *time = given->ticks;
}

static struct err apply_permission(struct file_scope *s, struct node *n, uint64_t parent,
                                   const struct file_settings *settings)
{
    uint64_t incarnation = s->share.incarnation;
    struct file_found directory;
    struct str sd;
    switch (settings->permission) {
    case FILE_PERMISSION_KEEP:
        return OK;
    case FILE_PERMISSION_SD:
        return permission_put(s->txn, incarnation, settings->sd, &n->permission);
    case FILE_PERMISSION_KEY:
        TRY(permission_get(s->txn, incarnation, &settings->key, &sd));
        n->permission = settings->key;
        return OK;
    case FILE_PERMISSION_INHERIT:
        break;
    }
    TRY(file_find_id(s, parent, &directory));
    if (!directory.exists)
        return err_new(ERR_CORRUPT);
    return permission_inherit(s->txn, incarnation, &directory.node.permission,
                              n->kind == NODE_DIRECTORY, &n->permission);
}

struct err file_apply(struct file_scope *s, struct node *n, uint64_t parent,
                      const struct file_settings *settings)
{
    bool nfs = s->share.protocol == SHARE_NFS;
    bool smb_only = settings->has_attributes || settings->permission == FILE_PERMISSION_SD ||
                    settings->permission == FILE_PERMISSION_KEY;
    bool nfs_only = settings->has_mode || settings->has_owner || settings->has_group;
    if (nfs ? smb_only : nfs_only)
        return err_new(ERR_INVALID_INPUT);
    if (settings->has_attributes)
        n->attributes = settings->attributes & NODE_STORED_ATTRIBUTES;
    apply_time(s, &n->created, &settings->created);
    apply_time(s, &n->last_write, &settings->last_write);
    n->changed = txn_now(s->txn);
    apply_time(s, &n->changed, &settings->changed);
    if (settings->has_mode)
        n->mode = settings->mode;
    if (settings->has_owner)
        n->owner = settings->owner;
    if (settings->has_group)
        n->group = settings->group;
    return apply_permission(s, n, parent, settings);
}

void file_give(const struct file_request *r, const struct file_scope *s,
               const struct file_found *found, struct file_outcome *out)
{
    assert(out != NULL);
    out->node = node_copy(r->arena, &found->node);
    out->id = found->id;
    out->parent = found->parent;
    out->incarnation = s->share.incarnation;
    out->is_smb = s->share.protocol == SHARE_SMB;
}
