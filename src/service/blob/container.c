/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/container.h"

#include <assert.h>

#include "service/blob/keys.h"
#include "service/blob/path/path_across.h"
#include "service/blob/path/tree.h"
#include "service/blob/protect.h"
#include "service/blob/sweep.h"
#include "service/common/records.h"
#include "service/common/rows.h"

/* ---- the row ---- */

#define CONTAINER(number, member) RECORD_MEMBER(struct container, number, member)
static const struct record_member MEMBERS[] = {
    CONTAINER(1, incarnation),
    CONTAINER(2, etag),
    CONTAINER(3, last_modified),
    RECORD_ENUM(struct container, 4, public_access, BLOB_PUBLIC_CONTAINER),
    CONTAINER(5, metadata),
    CONTAINER(6, acl),
    RECORD_MEMBER_CODED(struct container, 7, lease, &LEASE_CODEC),
    CONTAINER(8, deleted_until),
    CONTAINER(30, encryption_scope),
    CONTAINER(31, deny_scope_override),
    CONTAINER(40, hierarchical),
    CONTAINER(41, moving),
    CONTAINER(20, deleted_count),
    CONTAINER(21, deleted),
    CONTAINER(22, purge_at),
};
#undef CONTAINER
const struct record_type CONTAINER_RECORD = RECORD_TYPE(struct container, MEMBERS);

struct err container_decode(struct str row, struct container *out, bool *live)
{
    assert(out != NULL);
    *out = (struct container){0};
    bool good = record_read(row, &CONTAINER_RECORD, out);
    *live = out->incarnation != 0;
    return good ? OK : err_new(ERR_CORRUPT);
}

/* *found is false when there is neither a container nor a tombstone. */
static struct err load_row(struct txn *t, struct container *out, bool *found)
{
    struct str row;
    bool live;
    TRY(row_get_hot(t, BLOB_KEY_CONTAINER, &row));
    *found = str_given(row);
    *out = (struct container){0};
    return *found ? container_decode(row, out, &live) : OK;
}

struct err container_load(struct txn *t, struct container *out)
{
    bool found;
    TRY(load_row(t, out, &found));
    if (out->incarnation == 0)
        return err_new(ERR_CONTAINER_NOT_FOUND);
    return str_given(out->moving) ? path_across_settle(t, out) : OK;
}

struct err container_save(struct txn *t, const struct container *c)
{
    struct buf b = buf_in(txn_arena(t));
    record_write(&b, &CONTAINER_RECORD, c);
    return txn_put(t, BLOB_KEY_CONTAINER, buf_str(&b));
}

static void touch(struct txn *t, struct container *c)
{
    c->etag = txn_stamp(t);
    c->last_modified = txn_now(t);
}

/* Copies the results for the front end out of the transaction's memory. */
static void give(struct container_args *args, const struct container *c)
{
    args->container = *c;
    args->container.metadata = arena_copy(args->request.arena, c->metadata);
    args->container.acl = arena_copy(args->request.arena, c->acl);
    args->container.encryption_scope = arena_copy(args->request.arena, c->encryption_scope);
}

/* ---- the prologue of every operation ---- */

/* Checks existence, then conditions, then the lease. Only Delete is guarded by the lease; all
 * others check a given id, but need none. Reads have no conditions. */
enum container_use { CONTAINER_READ, CONTAINER_WRITE, CONTAINER_DELETE, CONTAINER_LEASE };

static struct err open(struct txn *t, const struct container_args *args, enum container_use use,
                       struct container *out)
{
    const struct container_request *r = &args->request;
    TRY(container_load(t, out));
    struct condition_target target = {
        .exists = true, .etag = out->etag, .last_modified = out->last_modified};
    TRY(conditions_check(&r->conditions, use == CONTAINER_READ ? CONDITION_READ : CONDITION_WRITE,
                         &target));
    if (use == CONTAINER_LEASE)
        return OK;
    return use == CONTAINER_DELETE
               ? lease_check_write(&out->lease, LEASE_CONTAINER, &r->lease, txn_now(t))
               : lease_check_read(&out->lease, LEASE_CONTAINER, &r->lease, txn_now(t));
}

/* ---- operations ---- */

struct err blob_create_container(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct container_args *args = arg;
    struct container c;
    bool found;
    TRY(load_row(t, &c, &found));
    if (c.incarnation != 0)
        return err_new(ERR_CONTAINER_ALREADY_EXISTS);
    if (found && txn_now(t) < c.deleted_until)
        return err_new(ERR_CONTAINER_BEING_DELETED);
    c = (struct container){.incarnation = (uint64_t)txn_stamp(t),
                           .public_access = args->public_access,
                           .metadata = args->metadata,
                           .encryption_scope = args->encryption_scope,
                           .deny_scope_override = args->deny_scope_override,
                           .hierarchical = args->hierarchical,
                           .deleted_count = c.deleted_count};
    touch(t, &c);
    give(args, &c);
    if (c.hierarchical)
        TRY(path_tree_make_root(t, &c, args->owner));
    return container_save(t, &c);
}

/* Leaves all rows of the container to the sweeper. */
static struct err remove_rows(struct txn *t, const struct container *c)
{
    struct sweep_item item = {.kind = SWEEP_INCARNATION, .incarnation = c->incarnation};
    return blob_sweep_add(t, &item);
}

/* Keeps the container under another key; only its lease ends. */
static struct err keep_deleted(struct txn *t, const struct container *c, int64_t retention)
{
    struct buf b = buf_in(txn_arena(t));
    struct container kept = *c;
    kept.lease = (struct lease){0};
    kept.deleted_count = 0;
    kept.deleted = txn_now(t);
    kept.purge_at = txn_now(t) + retention;
    record_write(&b, &CONTAINER_RECORD, &kept);
    return txn_put(t, blob_key_deleted_container(txn_arena(t), c->incarnation), buf_str(&b));
}

/* Writes the tombstone in the container's place, unless it would be empty. */
static struct err leave_tombstone(struct txn *t, int64_t until, uint64_t deleted_count)
{
    struct container tombstone = {.deleted_until = until, .deleted_count = deleted_count};
    if (until <= txn_now(t) && deleted_count == 0)
        return txn_del(t, BLOB_KEY_CONTAINER);
    return container_save(t, &tombstone);
}

struct err blob_delete_container(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct container_args *args = arg;
    struct container c;
    uint64_t kept = args->retention_ticks > 0;
    TRY(open(t, args, CONTAINER_DELETE, &c));
    TRY(blob_check_container_mutable(t, c.incarnation));
    if (kept)
        TRY(keep_deleted(t, &c, args->retention_ticks));
    else
        TRY(remove_rows(t, &c));
    return leave_tombstone(t, txn_now(t) + args->delete_ticks, c.deleted_count + kept);
}

static struct err load_deleted(struct txn *t, struct str key, struct container *out)
{
    struct str row;
    bool live;
    TRY(txn_get(t, key, &row));
    return str_given(row) ? container_decode(row, out, &live) : err_new(ERR_CONTAINER_NOT_FOUND);
}

struct err blob_restore_container(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct container_args *args = arg;
    struct container there;
    struct container c;
    bool found;
    struct str key = blob_key_deleted_container(txn_arena(t), args->deleted_version);
    TRY(load_row(t, &there, &found));
    if (there.incarnation != 0)
        return err_new(ERR_CONTAINER_ALREADY_EXISTS);
    TRY(load_deleted(t, key, &c));
    TRY(txn_del(t, key));
    c.deleted = 0;
    c.purge_at = 0;
    c.deleted_count = there.deleted_count - 1;
    give(args, &c);
    return container_save(t, &c);
}

static struct err purge_deleted(struct txn *t, struct cursor *c, unsigned max, unsigned *count,
                                uint64_t *removed)
{
    while (*count < max && c->valid) {
        struct container deleted;
        bool live;
        TRY(container_decode(c->value, &deleted, &live));
        bool due = deleted.purge_at <= txn_now(t);
        *count += due;
        *removed += due;
        if (due && txn_writable(t)) {
            TRY(remove_rows(t, &deleted));
            TRY(txn_del(t, arena_copy(txn_arena(t), c->key)));
        }
        TRY(cursor_next(c));
    }
    return OK;
}

struct err container_purge_due(struct txn *t, struct container *container, unsigned max,
                               unsigned *count)
{
    uint64_t removed = 0;
    struct cursor *c;
    struct err e = OK;
    if (container->deleted_count > 0) {
        TRY(cursor_open(t, blob_key_deleted_container(txn_arena(t), 0), &c));
        e = purge_deleted(t, c, max, count, &removed);
        cursor_close(c);
    }
    TRY(e);
    container->deleted_count -= removed;
    bool tombstone = container->incarnation == 0;
    bool over =
        tombstone && container->deleted_count == 0 && container->deleted_until <= txn_now(t);
    *count += over && removed == 0;
    if (!txn_writable(t) || (removed == 0 && !over))
        return OK;
    return over ? txn_del(t, BLOB_KEY_CONTAINER) : container_save(t, container);
}

struct err blob_get_container(struct txn *t, void *arg)
{
    struct container_args *args = arg;
    struct container c;
    TRY(open(t, args, CONTAINER_READ, &c));
    give(args, &c);
    return OK;
}

struct err blob_set_container_metadata(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct container_args *args = arg;
    struct container c;
    TRY(open(t, args, CONTAINER_WRITE, &c));
    c.metadata = args->metadata;
    touch(t, &c);
    give(args, &c);
    return container_save(t, &c);
}

struct err blob_set_container_acl(struct txn *t, void *arg)
{
    struct container_args *args = arg;
    struct container c;
    TRY(open(t, args, CONTAINER_WRITE, &c));
    c.acl = args->acl;
    c.public_access = args->public_access;
    touch(t, &c);
    give(args, &c);
    return container_save(t, &c);
}

struct err blob_lease_container(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct container_args *args = arg;
    struct container c;
    TRY(open(t, args, CONTAINER_LEASE, &c));
    TRY(lease_apply(&c.lease, &args->lease, txn_now(t), &args->lease_left_seconds));
    give(args, &c);
    return container_save(t, &c);
}
