/* SPDX-License-Identifier: Apache-2.0 */
/* The transactions on shares. */
#include <assert.h>

#include "service/common/rows.h"
#include "service/common/service_properties.h"
#include "service/file/keys.h"
#include "service/file/provision.h"
#include "service/file/scope.h"
#include "service/file/share.h"
#include "service/file/sweep.h"

/* ---- what they have in common ---- */

static void touch(struct txn *t, struct share *s)
{
    s->etag = txn_stamp(t);
    s->last_modified = txn_now(t);
}

/* Copies the results for the front end out of the transaction's memory. */
static void give(struct share_args *args, const struct share *s)
{
    args->share = *s;
    args->share.metadata = arena_copy(args->arena, s->metadata);
    args->share.acl = arena_copy(args->arena, s->acl);
}

static void give_snapshot(struct share_args *args, const struct share_snapshot *s)
{
    args->of_snapshot = *s;
    args->of_snapshot.metadata = arena_copy(args->arena, s->metadata);
}

/* A set needs the id of an existing lease; a get only checks a given id. */
static struct err open_for_write(struct txn *t, const struct share_args *args, struct share *out)
{
    TRY(share_load(t, out));
    return lease_check_write(&out->lease, LEASE_SHARE, &args->lease, txn_now(t));
}

/* ---- Create Share ---- */

static struct err put_root(struct file_scope *s)
{
    struct file_found root = {.exists = true, .root = true, .id = DIRTREE_ROOT};
    int64_t now = txn_now(s->txn);
    root.node = (struct node){.kind = NODE_DIRECTORY,
                              .created = now,
                              .last_write = now,
                              .changed = now,
                              .accessed = now,
                              .mode = s->share.protocol == SHARE_NFS ? 0755 : 0};
    file_touch(s, &root.node);
    TRY(permission_of_root(s->txn, s->share.incarnation, &root.node.permission));
    return file_put(s, &root);
}

static bool changes(const struct share_args *args, unsigned setting)
{
    return (args->set & setting) != 0;
}

static struct err apply_settings(struct txn *t, const struct share_args *args, struct share *s)
{
    const struct share_settings *given = &args->settings;
    struct share_settings *to = &s->settings;
    bool nfs = s->protocol == SHARE_NFS;
    /* A share without root squash accepts the value "none" only. */
    bool squashes = (args->set & SHARE_SET_SQUASH) != 0 && given->squash != SHARE_SQUASH_NONE;
    if (!nfs && (squashes || (args->set & SHARE_SET_SNAPSHOT_DIRECTORY) != 0))
        return err_new(ERR_INVALID_INPUT);
    if (changes(args, SHARE_SET_QUOTA))
        to->quota_gib = given->quota_gib;
    if (changes(args, SHARE_SET_TIER) && to->tier != given->tier) {
        to->tier = given->tier;
        s->tier_changed = txn_now(t);
    }
    if (changes(args, SHARE_SET_SQUASH))
        to->squash = given->squash;
    if (changes(args, SHARE_SET_SNAPSHOT_DIRECTORY))
        to->snapshot_directory = given->snapshot_directory;
    if (changes(args, SHARE_SET_DIRECTORY_LEASE))
        to->directory_lease = given->directory_lease;
    if (changes(args, SHARE_SET_BURSTING))
        to->bursting = given->bursting;
    if (changes(args, SHARE_SET_BURSTING_MIBPS))
        to->bursting_mibps = given->bursting_mibps;
    if (changes(args, SHARE_SET_BURSTING_IOPS))
        to->bursting_iops = given->bursting_iops;
    if (changes(args, SHARE_SET_MIBPS))
        to->provisioned_mibps = given->provisioned_mibps;
    if (changes(args, SHARE_SET_IOPS))
        to->provisioned_iops = given->provisioned_iops;
    return provision_check(to);
}

struct err file_create_share(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct share_args *args = arg;
    struct file_scope s;
    struct str row;
    TRY(row_get_hot(t, FILE_KEY_SHARE, &row));
    TRY(share_decode(row, &s.share));
    if (s.share.incarnation != 0)
        return err_new(ERR_SHARE_ALREADY_EXISTS);
    if (s.share.blocked_until > txn_now(t))
        return err_new(ERR_SHARE_BEING_DELETED);
    uint64_t deleted_count = s.share.deleted_count;
    s.share = (struct share){.incarnation = (uint64_t)txn_stamp(t),
                             .created = txn_now(t),
                             .protocol = args->protocol,
                             .settings = {.quota_gib = SHARE_QUOTA_DEFAULT_GIB,
                                          .snapshot_directory = args->protocol == SHARE_NFS},
                             .tier_changed = txn_now(t),
                             .metadata = args->metadata,
                             .deleted_count = deleted_count};
    TRY(apply_settings(t, args, &s.share));
    touch(t, &s.share);
    TRY(share_save(t, &s.share));
    TRY(file_scope_open(t, 0, &s));
    TRY(put_root(&s));
    give(args, &s.share);
    return OK;
}

/* ---- Get Share Properties, Metadata, ACL, Stats ---- */

struct err file_get_share(struct txn *t, void *arg)
{
    struct share_args *args = arg;
    struct share_snapshot snapshot;
    struct share s;
    TRY(share_load(t, &s));
    give(args, &s);
    if (args->snapshot == 0)
        return lease_check_read(&s.lease, LEASE_SHARE, &args->lease, txn_now(t));
    TRY(share_load_snapshot(t, &s, args->snapshot, &snapshot));
    give_snapshot(args, &snapshot);
    return lease_check_read(&snapshot.lease, LEASE_SHARE, &args->lease, txn_now(t));
}

/* ---- Set Share Properties, Metadata, ACL ---- */

struct err file_set_share_properties(struct txn *t, void *arg)
{
    struct share_args *args = arg;
    struct share s;
    TRY(open_for_write(t, args, &s));
    struct share_settings before = s.settings;
    TRY(apply_settings(t, args, &s));
    TRY(provision_change(&s, &before, txn_now(t)));
    touch(t, &s);
    give(args, &s);
    return share_save(t, &s);
}

struct err file_set_share_metadata(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct share_args *args = arg;
    struct share s;
    TRY(open_for_write(t, args, &s));
    s.metadata = args->metadata;
    touch(t, &s);
    give(args, &s);
    return share_save(t, &s);
}

struct err file_set_share_acl(struct txn *t, void *arg)
{
    struct share_args *args = arg;
    struct share s;
    TRY(open_for_write(t, args, &s));
    s.acl = args->acl;
    touch(t, &s);
    give(args, &s);
    return share_save(t, &s);
}

/* ---- Lease Share ---- */

struct err file_lease_share(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct share_args *args = arg;
    struct share_snapshot snapshot;
    struct share s;
    TRY(share_load(t, &s));
    if (args->snapshot == 0) {
        TRY(lease_apply(&s.lease, &args->lease_request, txn_now(t), &args->lease_left_seconds));
        give(args, &s);
        return share_save(t, &s);
    }
    TRY(share_load_snapshot(t, &s, args->snapshot, &snapshot));
    TRY(lease_apply(&snapshot.lease, &args->lease_request, txn_now(t), &args->lease_left_seconds));
    give(args, &s);
    give_snapshot(args, &snapshot);
    return share_save_snapshot(t, &s, &snapshot);
}

/* ---- Snapshot Share ---- */

/* The snapshot's name is its stamp, which is unique. Without metadata it has the share's metadata
 * and ETag. */
struct err file_snapshot_share(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct share_args *args = arg;
    struct share s;
    TRY(share_load(t, &s));
    if (s.snapshot_count == SHARE_SNAPSHOTS_MAX)
        return err_new(ERR_SHARE_SNAPSHOT_COUNT_EXCEEDED);
    struct share_snapshot snapshot = {.stamp = txn_stamp(t),
                                      .etag = s.etag,
                                      .last_modified = s.last_modified,
                                      .metadata = s.metadata,
                                      .settings = s.settings,
                                      .usage = s.usage};
    if (args->has_metadata) {
        snapshot.metadata = args->metadata;
        snapshot.etag = txn_stamp(t);
        snapshot.last_modified = txn_now(t);
    }
    s.snapshots[s.snapshot_count++] = snapshot.stamp;
    give(args, &s);
    give_snapshot(args, &snapshot);
    TRY(share_save_snapshot(t, &s, &snapshot));
    return share_save(t, &s);
}

/* ---- Delete Share ---- */

static struct err delete_snapshot(struct txn *t, struct share_args *args, struct share *s)
{
    struct share_snapshot snapshot;
    struct sweep_note note = {.kind = FILE_SWEEP_HISTORY, .incarnation = s->incarnation};
    size_t kept = 0;
    TRY(share_load_snapshot(t, s, args->snapshot, &snapshot));
    give_snapshot(args, &snapshot);
    TRY(lease_check_write(&snapshot.lease, LEASE_SHARE, &args->lease, txn_now(t)));
    for (size_t i = 0; i < s->snapshot_count; i++)
        if (s->snapshots[i] != args->snapshot)
            s->snapshots[kept++] = s->snapshots[i];
    s->snapshot_count = kept;
    TRY(txn_del(t, file_key_snapshot(txn_arena(t), s->incarnation, args->snapshot)));
    TRY(file_sweep_note(t, &note));
    return share_save(t, s);
}

/* Leased snapshots prevent the deletion of the share, unless leased ones are included. */
static struct err check_snapshots(struct txn *t, const struct share_args *args,
                                  const struct share *s)
{
    if (s->snapshot_count == 0)
        return OK;
    if (args->delete_snapshots == SHARE_SNAPSHOTS_KEEP)
        return err_new(ERR_SHARE_HAS_SNAPSHOTS);
    for (size_t i = 0; i < s->snapshot_count; i++) {
        struct share_snapshot snapshot;
        TRY(share_load_snapshot(t, s, s->snapshots[i], &snapshot));
        if (args->delete_snapshots == SHARE_SNAPSHOTS_INCLUDE &&
            lease_locked(lease_state(&snapshot.lease, txn_now(t))))
            return err_new(ERR_LEASE_ID_MISSING);
    }
    return OK;
}

/* Writes the row in the share's place: none, unless deleted ones are kept or the name is
 * blocked. */
static struct err leave_name(struct txn *t, uint64_t deleted_count, int64_t blocked_ticks)
{
    struct share none = {.deleted_count = deleted_count};
    if (blocked_ticks > 0)
        none.blocked_until = txn_now(t) + blocked_ticks;
    else if (deleted_count == 0)
        return txn_del(t, FILE_KEY_SHARE);
    return share_save(t, &none);
}

/* The retention of a deleted share. */
static struct err find_retention(struct txn *t, const struct share_args *args, int64_t *ticks)
{
    struct service_properties properties;
    *ticks = args->retention_ticks;
    if (!str_given(args->properties))
        return OK;
    TRY(service_properties_peek(t, args->properties, &properties));
    if (properties.delete_retention.enabled)
        *ticks = properties.delete_retention.days * TICKS_PER_DAY;
    return OK;
}

struct err file_delete_share(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct share_args *args = arg;
    int64_t retention;
    struct share s;
    TRY(find_retention(t, args, &retention));
    TRY(share_load(t, &s));
    give(args, &s);
    if (args->snapshot != 0)
        return delete_snapshot(t, args, &s);
    TRY(lease_check_write(&s.lease, LEASE_SHARE, &args->lease, txn_now(t)));
    TRY(check_snapshots(t, args, &s));
    uint64_t deleted_count = s.deleted_count;
    if (retention == 0) {
        struct sweep_note note = {.kind = FILE_SWEEP_SHARE, .incarnation = s.incarnation};
        TRY(file_sweep_note(t, &note));
        return leave_name(t, deleted_count, args->blocked_ticks);
    }
    s.deleted = txn_now(t);
    s.purge_at = txn_now(t) + retention;
    s.deleted_count = 0;
    s.lease = (struct lease){0};
    TRY(share_save(t, &s));
    return leave_name(t, deleted_count + 1, args->blocked_ticks);
}

/* ---- Restore Share ---- */

struct err file_restore_share(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct share_args *args = arg;
    struct share current, s;
    struct str row;
    TRY(row_get_hot(t, FILE_KEY_SHARE, &row));
    TRY(share_decode(row, &current));
    if (current.incarnation != 0)
        return err_new(ERR_SHARE_ALREADY_EXISTS);
    struct str key = file_key_deleted(txn_arena(t), args->deleted_version);
    TRY(txn_get(t, key, &row));
    if (!str_given(row))
        return err_new(ERR_SHARE_NOT_FOUND);
    TRY(share_decode(row, &s));
    if (s.purge_at <= txn_now(t))
        return err_new(ERR_SHARE_NOT_FOUND);
    assert(current.deleted_count > 0);
    s.deleted = 0;
    s.purge_at = 0;
    s.deleted_count = current.deleted_count - 1;
    touch(t, &s);
    give(args, &s);
    TRY(txn_del(t, key));
    return share_save(t, &s);
}
