/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of shares and of their snapshots. */
#include "service/file/share.h"

#include <assert.h>

#include "service/common/record.h"
#include "service/common/rows.h"
#include "service/file/keys.h"

#define GIB (1ULL << 30)

enum field {
    FIELD_INCARNATION = 1,
    FIELD_ETAG,
    FIELD_LAST_MODIFIED,
    FIELD_CREATED,
    FIELD_PROTOCOL,
    FIELD_QUOTA,
    FIELD_TIER,
    FIELD_TIER_CHANGED,
    FIELD_SQUASH,
    FIELD_SNAPSHOT_DIRECTORY,
    FIELD_DIRECTORY_LEASE,
    FIELD_BURSTING,
    FIELD_BURSTING_MIBPS,
    FIELD_BURSTING_IOPS,
    FIELD_MIBPS,
    FIELD_IOPS,
    FIELD_METADATA,
    FIELD_ACL,
    FIELD_LEASE,
    FIELD_USAGE,
    FIELD_SNAPSHOTS,
    FIELD_DELETED,
    FIELD_PURGE_AT,
    FIELD_DELETED_COUNT,
    FIELD_QUOTA_RAISED,
    FIELD_IOPS_RAISED,
    FIELD_MIBPS_RAISED,
    FIELD_BLOCKED_UNTIL,
};

/* ---- writing ---- */

static void put_settings(struct buf *b, const struct share_settings *s)
{
    record_put(b, FIELD_QUOTA, s->quota_gib);
    record_put(b, FIELD_TIER, s->tier);
    record_put(b, FIELD_SQUASH, s->squash);
    record_put(b, FIELD_SNAPSHOT_DIRECTORY, s->snapshot_directory);
    record_put(b, FIELD_DIRECTORY_LEASE, s->directory_lease);
    record_put(b, FIELD_BURSTING, s->bursting);
    record_put(b, FIELD_BURSTING_MIBPS, s->bursting_mibps);
    record_put(b, FIELD_BURSTING_IOPS, s->bursting_iops);
    record_put(b, FIELD_MIBPS, s->provisioned_mibps);
    record_put(b, FIELD_IOPS, s->provisioned_iops);
}

static void put_lease(struct buf *b, const struct lease *lease)
{
    if (lease->state == LEASE_AVAILABLE)
        return;
    struct buf bytes = buf_in(b->arena);
    lease_encode(&bytes, lease);
    record_put_bytes(b, FIELD_LEASE, buf_str(&bytes));
}

static void put_snapshots(struct buf *b, const struct share *s)
{
    if (s->snapshot_count == 0)
        return;
    struct buf bytes = buf_in(b->arena);
    int64_t before = 0;
    for (size_t i = 0; i < s->snapshot_count; i++) {
        buf_put_varint(&bytes, (uint64_t)(s->snapshots[i] - before));
        before = s->snapshots[i];
    }
    record_put_bytes(b, FIELD_SNAPSHOTS, buf_str(&bytes));
}

static struct str share_encode(struct arena *a, const struct share *s)
{
    struct buf b = buf_in(a);
    record_put(&b, FIELD_INCARNATION, s->incarnation);
    record_put(&b, FIELD_ETAG, (uint64_t)s->etag);
    record_put(&b, FIELD_LAST_MODIFIED, (uint64_t)s->last_modified);
    record_put(&b, FIELD_CREATED, (uint64_t)s->created);
    record_put(&b, FIELD_PROTOCOL, s->protocol);
    put_settings(&b, &s->settings);
    record_put(&b, FIELD_TIER_CHANGED, (uint64_t)s->tier_changed);
    record_put_bytes(&b, FIELD_METADATA, s->metadata);
    record_put_bytes(&b, FIELD_ACL, s->acl);
    put_lease(&b, &s->lease);
    record_put(&b, FIELD_USAGE, s->usage);
    put_snapshots(&b, s);
    record_put(&b, FIELD_DELETED, (uint64_t)s->deleted);
    record_put(&b, FIELD_PURGE_AT, (uint64_t)s->purge_at);
    record_put(&b, FIELD_DELETED_COUNT, s->deleted_count);
    record_put(&b, FIELD_BLOCKED_UNTIL, (uint64_t)s->blocked_until);
    record_put(&b, FIELD_QUOTA_RAISED, (uint64_t)s->quota_raised);
    record_put(&b, FIELD_IOPS_RAISED, (uint64_t)s->iops_raised);
    record_put(&b, FIELD_MIBPS_RAISED, (uint64_t)s->mibps_raised);
    return buf_str(&b);
}

struct err share_save(struct txn *t, const struct share *s)
{
    struct arena *a = txn_arena(t);
    if (s->deleted != 0)
        return txn_put(t, file_key_deleted(a, s->incarnation), share_encode(a, s));
    return txn_put(t, FILE_KEY_SHARE, share_encode(a, s));
}

struct err share_save_snapshot(struct txn *t, const struct share *s,
                               const struct share_snapshot *snapshot)
{
    struct arena *a = txn_arena(t);
    struct buf b = buf_in(a);
    record_put(&b, FIELD_ETAG, (uint64_t)snapshot->etag);
    record_put(&b, FIELD_LAST_MODIFIED, (uint64_t)snapshot->last_modified);
    record_put_bytes(&b, FIELD_METADATA, snapshot->metadata);
    put_settings(&b, &snapshot->settings);
    put_lease(&b, &snapshot->lease);
    record_put(&b, FIELD_USAGE, snapshot->usage);
    return txn_put(t, file_key_snapshot(a, s->incarnation, snapshot->stamp), buf_str(&b));
}

/* ---- reading ---- */

static bool take_setting(struct share_settings *s, const struct record_field *field)
{
    switch (field->number) {
    case FIELD_QUOTA:
        s->quota_gib = field->value;
        return true;
    case FIELD_TIER:
        s->tier = (enum share_tier)field->value;
        return true;
    case FIELD_SQUASH:
        s->squash = (enum share_squash)field->value;
        return true;
    case FIELD_SNAPSHOT_DIRECTORY:
        s->snapshot_directory = field->value != 0;
        return true;
    case FIELD_DIRECTORY_LEASE:
        s->directory_lease = field->value != 0;
        return true;
    case FIELD_BURSTING:
        s->bursting = field->value != 0;
        return true;
    case FIELD_BURSTING_MIBPS:
        s->bursting_mibps = field->value;
        return true;
    case FIELD_BURSTING_IOPS:
        s->bursting_iops = field->value;
        return true;
    case FIELD_MIBPS:
        s->provisioned_mibps = field->value;
        return true;
    case FIELD_IOPS:
        s->provisioned_iops = field->value;
        return true;
    default:
        return false;
    }
}

static bool take_snapshots(struct share *s, struct str bytes)
{
    struct reader r = reader_of(bytes);
    int64_t stamp = 0;
    while (r.n > 0 && s->snapshot_count < SHARE_SNAPSHOTS_MAX) {
        stamp += (int64_t)read_varint(&r);
        s->snapshots[s->snapshot_count++] = stamp;
    }
    return reader_done(&r);
}

static bool take_raise(struct share *s, const struct record_field *field)
{
    int64_t *const times[] = {&s->quota_raised, &s->iops_raised, &s->mibps_raised};
    if (field->number < FIELD_QUOTA_RAISED || field->number > FIELD_MIBPS_RAISED)
        return false;
    *times[field->number - FIELD_QUOTA_RAISED] = (int64_t)field->value;
    return true;
}

static bool take_field(struct share *s, const struct record_field *field)
{
    switch (field->number) {
    case FIELD_INCARNATION:
        s->incarnation = field->value;
        return true;
    case FIELD_ETAG:
        s->etag = (int64_t)field->value;
        return true;
    case FIELD_LAST_MODIFIED:
        s->last_modified = (int64_t)field->value;
        return true;
    case FIELD_CREATED:
        s->created = (int64_t)field->value;
        return true;
    case FIELD_PROTOCOL:
        s->protocol = (enum share_protocol)field->value;
        return true;
    case FIELD_TIER_CHANGED:
        s->tier_changed = (int64_t)field->value;
        return true;
    case FIELD_METADATA:
        s->metadata = field->bytes;
        return true;
    case FIELD_ACL:
        s->acl = field->bytes;
        return true;
    case FIELD_LEASE:
        return lease_decode(field->bytes, &s->lease);
    case FIELD_USAGE:
        s->usage = field->value;
        return true;
    case FIELD_SNAPSHOTS:
        return take_snapshots(s, field->bytes);
    case FIELD_DELETED:
        s->deleted = (int64_t)field->value;
        return true;
    case FIELD_PURGE_AT:
        s->purge_at = (int64_t)field->value;
        return true;
    case FIELD_DELETED_COUNT:
        s->deleted_count = field->value;
        return true;
    case FIELD_BLOCKED_UNTIL:
        s->blocked_until = (int64_t)field->value;
        return true;
    default:
        if (!take_raise(s, field))
            (void)take_setting(&s->settings, field);
        return true;
    }
}

/* Without the array of snapshots, which is long and mostly unused. */
static void clear(struct share *s)
{
    memset(s, 0, offsetof(struct share, snapshots));
    memset((char *)s + offsetof(struct share, deleted), 0,
           sizeof *s - offsetof(struct share, deleted));
}

struct err share_decode(struct str row, struct share *out)
{
    struct reader r = reader_of(row);
    struct record_field field;
    clear(out);
    while (record_next(&r, &field))
        if (!take_field(out, &field))
            return err_new(ERR_CORRUPT);
    return reader_ok(&r) ? OK : err_new(ERR_CORRUPT);
}

struct err share_load(struct txn *t, struct share *out)
{
    struct str row;
    TRY(row_get_hot(t, FILE_KEY_SHARE, &row));
    TRY(share_decode(row, out));
    return out->incarnation != 0 ? OK : err_new(ERR_SHARE_NOT_FOUND);
}

struct err share_decode_snapshot(struct str row, int64_t stamp, struct share_snapshot *out)
{
    struct reader r = reader_of(row);
    struct record_field field;
    *out = (struct share_snapshot){.stamp = stamp};
    while (record_next(&r, &field)) {
        if (field.number == FIELD_ETAG)
            out->etag = (int64_t)field.value;
        else if (field.number == FIELD_LAST_MODIFIED)
            out->last_modified = (int64_t)field.value;
        else if (field.number == FIELD_METADATA)
            out->metadata = field.bytes;
        else if (field.number == FIELD_USAGE)
            out->usage = field.value;
        else if (field.number == FIELD_LEASE && !lease_decode(field.bytes, &out->lease))
            return err_new(ERR_CORRUPT);
        else
            (void)take_setting(&out->settings, &field);
    }
    return reader_ok(&r) ? OK : err_new(ERR_CORRUPT);
}

struct err share_load_snapshot(struct txn *t, const struct share *s, int64_t stamp,
                               struct share_snapshot *out)
{
    struct str row;
    if (!share_has_snapshot(s, stamp))
        return err_new(ERR_SHARE_NOT_FOUND);
    TRY(txn_get(t, file_key_snapshot(txn_arena(t), s->incarnation, stamp), &row));
    return str_given(row) ? share_decode_snapshot(row, stamp, out) : err_new(ERR_CORRUPT);
}

bool share_has_snapshot(const struct share *s, int64_t stamp)
{
    for (size_t i = 0; i < s->snapshot_count; i++)
        if (s->snapshots[i] == stamp)
            return true;
    return false;
}

struct err share_charge(struct share *s, uint64_t size_before, uint64_t size_after)
{
    assert(s->usage >= size_before);
    uint64_t usage = s->usage - size_before + size_after;
    if (size_after > size_before && usage > s->settings.quota_gib * GIB)
        return err_new(ERR_SHARE_SIZE_LIMIT_REACHED);
    s->usage = usage;
    return OK;
}
