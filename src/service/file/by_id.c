/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/by_id.h"

#include <assert.h>

#include "service/file/ea.h"
#include "service/file/rename.h"
#include "service/file/security/rights.h"

static const struct interval_limits READ_LIMITS = {.pieces_max = 8192, .inline_max = 8 << 20};

static struct err see(struct file_scope *s, const struct file_found *found, struct arena *a,
                      struct file_seen *out)
{
    *out = (struct file_seen){.exists = found->exists, .id = found->id, .parent = found->parent};
    if (!found->exists)
        return OK;
    out->node = node_copy(a, &found->node);
    return file_path(s, found, a, &out->path);
}

static struct err open_scope(struct txn *t, const struct file_at *at, struct file_scope *s)
{
    TRY(file_scope_open_incarnation(t, at->incarnation, at->snapshot, s));
    if (at->changes != NULL && txn_writable(t)) {
        file_changes_begin(at->changes, at->arena);
        s->changes = at->changes;
    }
    return OK;
}

struct err file_open_id(struct txn *t, const struct file_at *at, struct file_scope *s,
                        struct file_found *found)
{
    TRY(open_scope(t, at, s));
    TRY(file_find_id(s, at->id, found));
    return found->exists ? OK : err_new(ERR_RESOURCE_NOT_FOUND);
}

/* ---- looking ---- */

/* SMB clients name previous versions to the second. */
static struct err find_snapshot(struct txn *t, struct file_at *at)
{
    struct share share;
    if (at->snapshot == 0)
        return OK;
    TRY(share_load(t, &share));
    for (size_t i = share.snapshot_count; i > 0; i--) {
        int64_t stamp = share.snapshots[i - 1];
        if (stamp / TICKS_PER_SECOND == at->snapshot / TICKS_PER_SECOND) {
            at->snapshot = stamp;
            return OK;
        }
    }
    return err_new(ERR_SHARE_SNAPSHOT_NOT_FOUND);
}

struct err file_look(struct txn *t, void *arg)
{
    struct file_look_args *args = arg;
    struct file_scope s;
    struct file_found found;
    if (args->by_path) {
        struct str path;
        TRY(find_snapshot(t, &args->at));
        TRY(open_scope(t, &args->at, &s));
        TRY(file_check_path(&s, txn_arena(t), args->path, true, &path));
        TRY(file_find(&s, path, &found));
    } else {
        TRY(file_open_id(t, &args->at, &s, &found));
    }
    TRY(see(&s, &found, args->at.arena, &args->seen));
    if (args->wants_rights)
        TRY(rights_of_found(&s, &found, &args->rights));
    if (!found.exists)
        return OK;
    if (args->wants_sd) {
        struct str sd;
        TRY(permission_get(t, s.share.incarnation, &found.node.permission, &sd));
        args->sd = arena_copy(args->at.arena, sd);
    }
    if (args->wants_empty && found.node.kind == NODE_DIRECTORY)
        return dirtree_is_empty(&s.tree, found.id, &args->empty);
    return OK;
}

struct walk {
    struct file_walk_args *args;
    struct file_scope *scope;
};

static struct err walk_one(void *arg, const struct dirtree_entry *entry, bool *stop)
{
    struct walk *w = arg;
    struct file_walk_args *args = w->args;
    struct file_found found;
    TRY(file_of_entry(w->scope, entry, &found));
    if (!args->item(args->sink, &found, entry->key)) {
        args->next = arena_copy(args->at.arena, entry->key);
        *stop = true;
    }
    return OK;
}

struct err file_walk(struct txn *t, void *arg)
{
    struct file_walk_args *args = arg;
    struct file_scope s;
    struct file_found directory;
    struct file_seen seen;
    TRY(file_open_id(t, &args->at, &s, &directory));
    TRY(see(&s, &directory, args->at.arena, &seen));
    args->next = STR_NONE;
    args->begin(args->sink, &seen);
    struct walk w = {.args = args, .scope = &s};
    return dirtree_list(&s.tree, directory.id, args->prefix,
                        args->from.n > 0 ? args->from : STR_NONE, walk_one, &w);
}

struct err file_look_share(struct txn *t, void *arg)
{
    struct file_share_args *args = arg;
    struct share share;
    TRY(share_load(t, &share));
    if (args->at.incarnation != 0 && share.incarnation != args->at.incarnation)
        return err_new(ERR_SHARE_NOT_FOUND);
    args->incarnation = share.incarnation;
    args->is_smb = share.protocol == SHARE_SMB;
    args->quota_bytes = share.settings.quota_gib << 30;
    args->usage_bytes = share.usage;
    args->created = share.created;
    args->snapshot_count = share.snapshot_count;
    args->snapshots = ARENA_ARRAY(args->at.arena, int64_t, share.snapshot_count + 1);
    memcpy(args->snapshots, share.snapshots, share.snapshot_count * sizeof share.snapshots[0]);
    return OK;
}

/* ---- making ---- */

static void take_acl(struct sd *to, const struct sd *from, bool system)
{
    uint16_t bits = system ? SD_SACL_PRESENT | SD_SACL_AUTO | SD_SACL_PROTECTED
                           : SD_DACL_PRESENT | SD_DACL_AUTO | SD_DACL_PROTECTED;
    uint16_t asks = system ? SD_SACL_AUTO | SD_SACL_AUTO_REQ : SD_DACL_AUTO | SD_DACL_AUTO_REQ;
    uint16_t control = from->control & bits;
    if ((from->control & asks) != asks)
        control &= (uint16_t)~asks; /* kept only if both are set ([MS-DTYP] 2.4.6) */
    to->control = (uint16_t)((to->control & ~bits) | control);
    if (system)
        to->sacl = from->sacl;
    else
        to->dacl = from->dacl;
    rights_map_acl(&to->dacl);
}

/* Stores the client's descriptor; parts that it omits are inherited from the directory. */
static struct err give_security(struct file_scope *s, struct node *n, struct str bytes)
{
    struct arena *a = txn_arena(s->txn);
    struct str inherited;
    struct sd given, sd;
    TRY(sd_decode(a, bytes, &given));
    TRY(permission_get(s->txn, s->share.incarnation, &n->permission, &inherited));
    TRY(sd_decode(a, inherited, &sd));
    if (str_given(given.owner))
        sd.owner = given.owner;
    if (str_given(given.group))
        sd.group = given.group;
    if ((given.control & SD_DACL_PRESENT) != 0)
        take_acl(&sd, &given, false);
    if ((given.control & SD_SACL_PRESENT) != 0)
        take_acl(&sd, &given, true);
    return permission_put(s->txn, s->share.incarnation, sd_encode(a, &sd), &n->permission);
}

struct err file_make(struct txn *t, void *arg)
{
    struct file_make_args *args = arg;
    struct file_scope s;
    struct file_found found;
    struct str path;
    TRY(open_scope(t, &args->at, &s));
    TRY(file_check_path(&s, txn_arena(t), args->path, true, &path));
    TRY(file_find(&s, path, &found));
    if (found.exists)
        return err_new(ERR_RESOURCE_ALREADY_EXISTS);
    struct opens_key parent = {.share = s.share.incarnation, .node = found.parent};
    if (opens_delete_pending(args->opens, parent))
        return err_new(ERR_SMB_DELETE_PENDING);
    TRY(file_new_node(&s, args->kind, found.parent, &found.node));
    found.node.attributes = args->attributes & NODE_STORED_ATTRIBUTES;
    if (str_given(args->sd))
        TRY(give_security(&s, &found.node, args->sd));
    TRY(ea_change(txn_arena(t), STR_NONE, args->eas, &found.node.eas));
    TRY(file_add(&s, &found));
    TRY(see(&s, &found, args->at.arena, &args->seen));
    TRY(file_scope_close(&s));
    return args->made(t, args->front, &args->seen);
}

struct err file_overwrite(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct file_overwrite_args *args = arg;
    struct file_scope s;
    struct file_found found;
    TRY(file_open_id(t, &args->at, &s, &found));
    if (found.node.kind != NODE_FILE)
        return err_new(ERR_FILE_IS_A_DIRECTORY);
    TRY(file_drop_content(&s, &found.node));
    found.node.attributes = args->attributes & NODE_STORED_ATTRIBUTES;
    found.node.last_write = found.node.changed = txn_now(t);
    found.node.http = (struct node_http){0};
    TRY(ea_change(txn_arena(t), STR_NONE, args->eas, &found.node.eas));
    file_touch(&s, &found.node);
    TRY(file_put(&s, &found));
    TRY(see(&s, &found, args->at.arena, &args->seen));
    return file_scope_close(&s);
}

/* ---- bytes ---- */

struct err file_write_at(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct file_write_args *args = arg;
    struct file_scope s;
    struct file_found found;
    TRY(file_open_id(t, &args->at, &s, &found));
    uint64_t offset = args->offset;
    if (found.node.kind != NODE_FILE)
        return err_new(ERR_FILE_IS_A_DIRECTORY);
    if (offset > NODE_SIZE_MAX || args->length > NODE_SIZE_MAX - offset)
        return err_new(ERR_SHARE_SIZE_LIMIT_REACHED);
    if (offset + args->length > found.node.size)
        TRY(file_resize(&s, &found, offset + args->length));
    TRY(file_write_pieces(&s, &found, offset, args->pieces));
    if (!args->keep_times)
        found.node.last_write = txn_now(t);
    found.node.changed = txn_now(t);
    found.node.attributes |= NODE_ARCHIVE;
    file_touch(&s, &found.node);
    TRY(file_put(&s, &found));
    return file_scope_close(&s);
}

struct err file_read_at(struct txn *t, void *arg)
{
    struct file_read_at_args *args = arg;
    struct file_scope s;
    struct file_found found;
    TRY(file_open_id(t, &args->at, &s, &found));
    args->size = found.node.size;
    args->pieces = (struct pieces){0};
    args->until = args->offset;
    if (args->offset >= args->size)
        return OK;
    uint64_t left = args->size - args->offset;
    uint64_t to = args->offset + (args->length < left ? args->length : left);
    struct interval_map m = file_map(&s, &found.node);
    return interval_read(&m, (struct interval_range){args->offset, to}, &READ_LIMITS,
                         args->at.arena, &args->pieces, &args->until);
}

struct err file_zero_at(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct file_zero_args *args = arg;
    struct file_scope s;
    struct file_found found;
    TRY(file_open_id(t, &args->at, &s, &found));
    uint64_t to = args->to < found.node.size ? args->to : found.node.size;
    if (args->from >= to)
        return OK;
    TRY(to == found.node.size ? file_clear_rest(&s, &found, args->from)
                              : file_clear(&s, &found, args->from, to));
    if (!args->keep_times)
        found.node.last_write = txn_now(t);
    found.node.changed = txn_now(t);
    file_touch(&s, &found.node);
    TRY(file_put(&s, &found));
    return file_scope_close(&s);
}

/* Adjacent parts are merged. */
static struct err take_part(void *arg, const struct interval_part *part, bool *stop)
{
    struct file_extents_args *args = arg;
    uint64_t end = part->start + part->piece.length;
    if (args->count > 0 && args->ranges[args->count - 1].end == part->start) {
        args->ranges[args->count - 1].end = end;
        return OK;
    }
    args->more = args->count == args->max;
    *stop = args->more;
    if (!args->more)
        args->ranges[args->count++] = (struct file_extent_range){part->start, end};
    return OK;
}

struct err file_extents_at(struct txn *t, void *arg)
{
    struct file_extents_args *args = arg;
    struct file_scope s;
    struct file_found found;
    TRY(file_open_id(t, &args->at, &s, &found));
    uint64_t to = args->to < found.node.size ? args->to : found.node.size;
    args->ranges = ARENA_ARRAY(args->at.arena, struct file_extent_range, args->max + 1);
    args->count = 0;
    args->more = false;
    if (args->from >= to)
        return OK;
    if ((found.node.attributes & NODE_SPARSE) == 0) {
        struct interval_part all = {.start = args->from, .piece.length = to - args->from};
        bool stop;
        return take_part(args, &all, &stop);
    }
    struct interval_map m = file_map(&s, &found.node);
    return interval_walk(&m, args->from, to, take_part, args);
}

/* ---- properties ---- */

struct err file_change(struct txn *t, void *arg)
{
    struct file_change_args *args = arg;
    struct file_scope s;
    struct file_found found;
    TRY(file_open_id(t, &args->at, &s, &found));
    bool resizes = args->has_size && (!args->only_shrinks || args->size < found.node.size);
    if (resizes) {
        if (args->size > NODE_SIZE_MAX)
            return err_new(ERR_SHARE_SIZE_LIMIT_REACHED);
        if (!args->keep_times)
            found.node.last_write = txn_now(t); /* also if the size is unchanged, as in Windows */
        TRY(file_resize(&s, &found, args->size));
    }
    int64_t changed = found.node.changed;
    uint32_t sparse = found.node.attributes & NODE_SPARSE;
    if (args->has_sparse)
        sparse = args->sparse ? NODE_SPARSE : 0;
    TRY(file_apply(&s, &found.node, found.parent, &args->settings));
    if (str_given(args->eas))
        TRY(ea_change(txn_arena(t), found.node.eas, args->eas, &found.node.eas));
    found.node.attributes = (found.node.attributes & ~(uint32_t)NODE_SPARSE) | sparse;
    if (args->keep_changed && args->settings.changed.kind == FILE_TIME_KEEP)
        found.node.changed = changed;
    if (args->has_accessed)
        found.node.accessed = args->accessed;
    file_touch(&s, &found.node);
    TRY(file_put(&s, &found));
    TRY(see(&s, &found, args->at.arena, &args->seen));
    return file_scope_close(&s);
}

struct err file_set_security(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct file_security_args *args = arg;
    struct file_scope s;
    struct file_found found;
    struct str stored;
    struct sd now, given;
    TRY(file_open_id(t, &args->at, &s, &found));
    TRY(permission_get(t, s.share.incarnation, &found.node.permission, &stored));
    TRY(sd_decode(txn_arena(t), stored, &now));
    TRY(sd_decode(txn_arena(t), args->sd, &given));
    if ((args->parts & FILE_SD_OWNER) != 0 && str_given(given.owner))
        now.owner = given.owner;
    if ((args->parts & FILE_SD_GROUP) != 0 && str_given(given.group))
        now.group = given.group;
    if ((args->parts & FILE_SD_DACL) != 0) {
        take_acl(&now, &given, false);
        /* A list that is set to nothing grants access to everybody. */
        now.dacl.null = now.dacl.null || (given.control & SD_DACL_PRESENT) == 0;
        now.control |= SD_DACL_PRESENT;
    }
    if ((args->parts & (FILE_SD_SACL | FILE_SD_LABEL)) != 0)
        take_acl(&now, &given, true);
    TRY(permission_put(t, s.share.incarnation, sd_encode(txn_arena(t), &now),
                       &found.node.permission));
    found.node.changed = txn_now(t);
    file_touch(&s, &found.node);
    TRY(file_put(&s, &found));
    return file_scope_close(&s);
}

struct err file_remove_at(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct file_remove_args *args = arg;
    struct file_scope s;
    struct file_found found;
    bool empty = true;
    TRY(open_scope(t, &args->at, &s));
    TRY(file_find_id(&s, args->at.id, &found));
    if (!found.exists || found.root)
        return OK;
    if (found.node.kind == NODE_DIRECTORY)
        TRY(dirtree_is_empty(&s.tree, found.id, &empty));
    if (!empty)
        return err_new(ERR_DIRECTORY_NOT_EMPTY);
    TRY(file_remove(&s, &found));
    return file_scope_close(&s);
}

/* ---- renaming ---- */

/* The replaced file must not be open, nor be opened before the commit. */
static struct err claim_target(struct file_rename_args *args, struct file_scope *s,
                               const struct file_found *target)
{
    struct opens_rest_request request = {.key = file_key(s, target), .op = OPENS_REST_DELETE};
    struct err error = file_pass_claim(&args->pass, &request);
    bool others = args->pass.waiting;
    if (others)
        (void)file_pass_take_back(&args->pass);
    if (others || error.code == ERR_SHARING_VIOLATION)
        error = err_new(ERR_AUTHORIZATION_FAILURE);
    args->pass.waiting = false;
    return error;
}

/* A rename opens the directory for writing, sharing everything except deletion. */
static struct err check_directory(struct file_rename_args *args, struct opens_key directory)
{
    struct opens_request request = {.key = directory,
                                    .path = STR(""),
                                    .directory = true,
                                    .access = OPENS_WRITE,
                                    .sharing = OPENS_READ | OPENS_WRITE};
    struct opens_handle *h;
    unsigned granted;
    bool remove;
    struct err error = opens_open(args->pass.opens, &request, &args->pass.wait, &h, &granted);
    if (error.code == ERR_OTHERS_FIRST) {
        (void)opens_wait_cancel(args->pass.opens, &args->pass.wait);
        return OK; /* a REST operation in the directory: it ends before the commit, or begins after
                      it */
    }
    TRY(error);
    opens_close(args->pass.opens, h, &remove);
    return OK;
}

static struct err replace(struct file_rename_args *args, struct file_scope *s,
                          const struct file_found *source, struct file_found *target)
{
    if (!args->replace)
        return err_new(ERR_RESOURCE_ALREADY_EXISTS);
    if (target->node.kind == NODE_DIRECTORY || source->node.kind == NODE_DIRECTORY ||
        (target->node.attributes & NODE_READ_ONLY) != 0)
        return err_new(ERR_AUTHORIZATION_FAILURE);
    TRY(claim_target(args, s, target));
    TRY(lease_check_write(&target->node.lease, LEASE_FILE, &(struct lease_id){0}, txn_now(s->txn)));
    TRY(file_remove(s, target));
    target->exists = false;
    target->entry.row = (struct vrow){0};
    return OK;
}

static struct err check_below(struct file_rename_args *args, struct file_scope *s,
                              const struct file_found *source)
{
    struct str path;
    if (source->node.kind != NODE_DIRECTORY)
        return OK;
    TRY(file_path(s, source, txn_arena(s->txn), &path));
    return opens_any_below(args->pass.opens, s->share.incarnation, path)
               ? err_new(ERR_AUTHORIZATION_FAILURE)
               : OK;
}

static struct err join(struct arena *a, struct file_scope *s, const struct file_found *target,
                       struct str name, struct str *out)
{
    struct str directory;
    struct buf b = buf_in(a);
    TRY(dirtree_path(&s->tree, target->parent, a, &directory));
    buf_put(&b, directory);
    if (directory.n > 0)
        buf_putc(&b, '/');
    buf_put(&b, name);
    *out = buf_str(&b);
    return OK;
}

struct err file_rename_at(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct file_rename_args *args = arg;
    struct file_scope s;
    struct file_found source, target;
    struct str path;
    file_pass_begin(&args->pass, args->at.arena);
    TRY(file_open_id(t, &args->at, &s, &source));
    TRY(file_check_path(&s, txn_arena(t), args->path, true, &path));
    if (source.root || path.n == 0)
        return err_new(ERR_INVALID_INPUT);
    TRY(file_find(&s, path, &target));
    struct opens_key parent = {.share = s.share.incarnation, .node = target.parent};
    TRY(check_directory(args, parent));
    TRY(check_below(args, &s, &source));
    if (target.exists && target.id != source.id)
        TRY(replace(args, &s, &source, &target));
    source.node.changed = txn_now(t);
    file_touch(&s, &source.node);
    target.entry.name = path_last(path);
    TRY(file_move(&s, &source, &target));
    args->new_parent = target.parent;
    args->was_directory = source.node.kind == NODE_DIRECTORY;
    TRY(join(args->at.arena, &s, &target, target.entry.name, &args->new_path));
    return file_scope_close(&s);
}
