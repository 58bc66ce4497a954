/* SPDX-License-Identifier: Apache-2.0 */
/* The information classes of file systems ([MS-FSCC] 2.5): a share is a volume, its quota is the
 * size. */
#include "core/text/utf16.h"
#include "smb/commands/info.h"
#include "smb/commands/query.h"
#include "smb/commands/session.h"

enum {
    FS_VOLUME = 1,
    FS_SIZE = 3,
    FS_DEVICE = 4,
    FS_ATTRIBUTE = 5,
    FS_QUOTA = 6,
    FS_FULL_SIZE = 7,
    FS_OBJECT_ID = 8,
    FS_SECTOR_SIZE = 11,

    SECTOR_BYTES = 512,
    SECTORS_PER_CLUSTER = SMB_CLUSTER_BYTES / SECTOR_BYTES,
    DEVICE_DISK = 7,
    DEVICE_MOUNTED = 0x20,
    NAME_UNITS_MAX = 255,
    /* Case-preserving, Unicode, access-control lists kept, sparse files, extended attributes. */
    ATTRIBUTES = 0x2 | 0x4 | 0x8 | 0x40 | 0x800000,
};

static uint64_t clusters(uint64_t bytes)
{
    return bytes / SMB_CLUSTER_BYTES;
}

static uint64_t clusters_free(const struct file_share_args *share)
{
    return share->usage_bytes < share->quota_bytes
               ? clusters(share->quota_bytes - share->usage_bytes)
               : 0;
}

static void put_text(struct smb_query *query, struct str text)
{
    struct buf utf16 = buf_in(query->q->arena);
    utf16_put(&utf16, text);
    buf_put(&query->out, buf_str(&utf16));
}

static void put_volume(struct smb_query *query)
{
    struct str label = str_of(query->q->tree->share);
    smb_put_time(&query->out, query->share.created);
    buf_put_le32(&query->out, (uint32_t)(query->share.incarnation >> 8));
    buf_put_le32(&query->out, (uint32_t)(2 * label.n)); /* share names are ASCII */
    buf_put_le16(&query->out, 0);
    put_text(query, label);
    query->fixed = 24;
}

static void put_attribute(struct smb_query *query)
{
    const struct str name = STR("NTFS"); /* clients require this name before they use ACLs */
    buf_put_le32(&query->out, ATTRIBUTES);
    buf_put_le32(&query->out, NAME_UNITS_MAX);
    buf_put_le32(&query->out, (uint32_t)(2 * name.n));
    put_text(query, name);
    query->fixed = 16;
}

static void put_size(struct smb_query *query)
{
    const struct file_share_args *share = &query->share;
    buf_put_le64(&query->out, clusters(share->quota_bytes));
    buf_put_le64(&query->out, clusters_free(share));
    if (query->class == FS_FULL_SIZE)
        buf_put_le64(&query->out, clusters_free(share));
    buf_put_le32(&query->out, SECTORS_PER_CLUSTER);
    buf_put_le32(&query->out, SECTOR_BYTES);
    query->fixed = query->out.n;
}

/* There are no per-user quotas: no limits, no tracking. */
static void put_quota(struct smb_query *query)
{
    for (unsigned i = 0; i < 3; i++)
        buf_put_le64(&query->out, 0);
    buf_put_le64(&query->out, UINT64_MAX);
    buf_put_le64(&query->out, UINT64_MAX);
    buf_put_le64(&query->out, 0);
    query->fixed = query->out.n;
}

static void put_sector_size(struct smb_query *query)
{
    enum { ALIGNED = 3, CLUSTER_SECTORS_COUNT = 3 };
    buf_put_le32(&query->out, SECTOR_BYTES);
    for (unsigned i = 0; i < CLUSTER_SECTORS_COUNT; i++)
        buf_put_le32(&query->out, SMB_CLUSTER_BYTES);
    buf_put_le32(&query->out, ALIGNED);
    buf_put_le64(&query->out, 0);
    query->fixed = query->out.n;
}

uint32_t smb_query_fs(struct smb_query *query)
{
    switch (query->class) {
    case FS_VOLUME:
        put_volume(query);
        return STATUS_SUCCESS;
    case FS_SIZE:
    case FS_FULL_SIZE:
        put_size(query);
        return STATUS_SUCCESS;
    case FS_DEVICE:
        buf_put_le32(&query->out, DEVICE_DISK);
        buf_put_le32(&query->out, DEVICE_MOUNTED);
        query->fixed = query->out.n;
        return STATUS_SUCCESS;
    case FS_ATTRIBUTE:
        put_attribute(query);
        return STATUS_SUCCESS;
    case FS_QUOTA:
        put_quota(query);
        return STATUS_SUCCESS;
    case FS_OBJECT_ID:
        buf_put_le64(&query->out, query->share.incarnation);
        for (unsigned i = 0; i < 7; i++)
            buf_put_le64(&query->out, 0);
        query->fixed = query->out.n;
        return STATUS_SUCCESS;
    case FS_SECTOR_SIZE:
        put_sector_size(query);
        return STATUS_SUCCESS;
    default:
        return STATUS_INVALID_INFO_CLASS;
    }
}
