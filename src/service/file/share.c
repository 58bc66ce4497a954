/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of shares and of their snapshots. */
#include "service/file/share.h"

#include <assert.h>

#include "service/common/records.h"
#include "service/common/rows.h"
#include "service/file/keys.h"

#define GIB (1ULL << 30)

/* The stamps are ascending; each is stored as its difference from the one before. */
static void put_snapshots(struct buf *b, const void *share)
{
    const struct share *s = share;
    int64_t before = 0;
    for (size_t i = 0; i < s->snapshot_count; i++) {
        assert(s->snapshots[i] > before);
        buf_put_varint(b, (uint64_t)(s->snapshots[i] - before));
        before = s->snapshots[i];
    }
}

static bool take_snapshots(struct str bytes, void *share)
{
    struct share *s = share;
    struct reader r = reader_of(bytes);
    int64_t stamp = 0;
    s->snapshot_count = 0;
    while (r.n > 0 && s->snapshot_count < SHARE_SNAPSHOTS_MAX) {
        uint64_t distance = read_varint(&r);
        if (distance == 0 || distance > (uint64_t)(INT64_MAX - stamp))
            return false;
        stamp += (int64_t)distance;
        s->snapshots[s->snapshot_count++] = stamp;
    }
    return reader_done(&r);
}

static const struct record_codec SNAPSHOTS_CODEC = {put_snapshots, take_snapshots};

/* The settings, which shares and snapshots have in common. */
#define SETTINGS(type)                                           \
    RECORD_MEMBER(type, 6, settings.quota_gib),                  \
        RECORD_ENUM(type, 7, settings.tier, SHARE_TIER_PREMIUM), \
        RECORD_ENUM(type, 9, settings.squash, SHARE_SQUASH_ALL), \
        RECORD_MEMBER(type, 10, settings.snapshot_directory),    \
        RECORD_MEMBER(type, 11, settings.directory_lease),       \
        RECORD_MEMBER(type, 12, settings.bursting),              \
        RECORD_MEMBER(type, 13, settings.bursting_mibps),        \
        RECORD_MEMBER(type, 14, settings.bursting_iops),         \
        RECORD_MEMBER(type, 15, settings.provisioned_mibps),     \
        RECORD_MEMBER(type, 16, settings.provisioned_iops)

#define SHARE(number, member) RECORD_MEMBER(struct share, number, member)
static const struct record_member MEMBERS[] = {
    SHARE(1, incarnation),
    SHARE(2, etag),
    SHARE(3, last_modified),
    SHARE(4, created),
    RECORD_ENUM(struct share, 5, protocol, SHARE_NFS),
    SETTINGS(struct share),
    SHARE(8, tier_changed),
    SHARE(17, metadata),
    SHARE(18, acl),
    RECORD_MEMBER_CODED(struct share, 19, lease, &LEASE_CODEC),
    SHARE(20, usage),
    RECORD_WHOLE_CODED(21, "snapshots", &SNAPSHOTS_CODEC),
    SHARE(22, deleted),
    SHARE(23, purge_at),
    SHARE(24, deleted_count),
    SHARE(28, blocked_until),
    SHARE(25, quota_raised),
    SHARE(26, iops_raised),
    SHARE(27, mibps_raised),
};
#undef SHARE
const struct record_type SHARE_RECORD = RECORD_TYPE(struct share, MEMBERS);

#define SNAPSHOT(number, member) RECORD_MEMBER(struct share_snapshot, number, member)
static const struct record_member SNAPSHOT_MEMBERS[] = {
    SNAPSHOT(2, etag),
    SNAPSHOT(3, last_modified),
    SNAPSHOT(17, metadata),
    SETTINGS(struct share_snapshot),
    RECORD_MEMBER_CODED(struct share_snapshot, 19, lease, &LEASE_CODEC),
    SNAPSHOT(20, usage),
};
#undef SNAPSHOT
const struct record_type SHARE_SNAPSHOT_RECORD =
    RECORD_TYPE(struct share_snapshot, SNAPSHOT_MEMBERS);

/* ---- writing ---- */

static struct str share_encode(struct arena *a, const struct share *s)
{
    struct buf b = buf_in(a);
    record_write(&b, &SHARE_RECORD, s);
    return buf_str(&b);
}

struct err share_save(struct txn *t, const struct share *s)
{
    assert(txn_writable(t));
    struct arena *a = txn_arena(t);
    if (s->deleted != 0)
        return txn_put(t, file_key_deleted(a, s->incarnation), share_encode(a, s));
    return txn_put(t, FILE_KEY_SHARE, share_encode(a, s));
}

struct err share_save_snapshot(struct txn *t, const struct share *s,
                               const struct share_snapshot *snapshot)
{
    assert(txn_writable(t));
    struct arena *a = txn_arena(t);
    struct buf b = buf_in(a);
    record_write(&b, &SHARE_SNAPSHOT_RECORD, snapshot);
    return txn_put(t, file_key_snapshot(a, s->incarnation, snapshot->stamp), buf_str(&b));
}

/* ---- reading ---- */

/* Without the array of snapshots, which is long and mostly unused. */
static void clear(struct share *s)
{
    memset(s, 0, offsetof(struct share, snapshots));
    memset((char *)s + offsetof(struct share, deleted), 0,
           sizeof *s - offsetof(struct share, deleted));
}

struct err share_decode(struct str row, struct share *out)
{
    clear(out);
    return record_read(row, &SHARE_RECORD, out) ? OK : err_new(ERR_CORRUPT);
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
    assert(out != NULL);
    *out = (struct share_snapshot){.stamp = stamp};
    return record_read(row, &SHARE_SNAPSHOT_RECORD, out) ? OK : err_new(ERR_CORRUPT);
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
