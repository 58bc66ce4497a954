/* SPDX-License-Identifier: Apache-2.0 */
/* Shares: their row, and the transactions on them. All run in the share's partition. */
#ifndef SERVICE_FILE_SHARE_H
#define SERVICE_FILE_SHARE_H

#include "engine/engine.h"
#include "service/common/lease.h"

enum {
    SHARE_SNAPSHOTS_MAX = 200,
    SHARE_QUOTA_DEFAULT_GIB = 5120,
    SHARE_QUOTA_MAX_GIB = 102400,
};

enum share_tier {
    SHARE_TIER_TRANSACTION_OPTIMIZED,
    SHARE_TIER_HOT,
    SHARE_TIER_COOL,
    SHARE_TIER_PREMIUM
};
enum share_protocol { SHARE_SMB, SHARE_NFS };
enum share_squash { SHARE_SQUASH_NONE, SHARE_SQUASH_ROOT, SHARE_SQUASH_ALL };

/* The settings that a client may set, and Set Share Properties may change. */
struct share_settings {
    uint64_t quota_gib;
    enum share_tier tier;
    enum share_squash squash; /* of an NFS share */
    bool snapshot_directory;  /* an NFS share shows its snapshots in a directory */
    bool directory_lease;     /* SMB directory leases */
    bool bursting;            /* the paid kind */
    uint64_t bursting_mibps, bursting_iops;
    uint64_t provisioned_mibps, provisioned_iops;
};

struct share {
    uint64_t incarnation; /* the stamp of its creation; 0: there is no share */
    int64_t etag, last_modified;
    int64_t created;
    enum share_protocol protocol;
    struct share_settings settings;
    int64_t tier_changed;
    int64_t quota_raised, iops_raised, mibps_raised; /* when last; 0: never */
    struct str metadata;                             /* as pairs.h encodes them */
    struct str acl;                                  /* as policy.h encodes it */
    struct lease lease;
    uint64_t usage; /* the sizes of all files, in bytes */
    size_t snapshot_count;
    int64_t snapshots[SHARE_SNAPSHOTS_MAX]; /* stamps, ascending */
    /* A deleted share. */
    int64_t deleted;  /* when */
    int64_t purge_at; /* when its retention ends */
    /* Of the row in place of a deleted share: the number of deleted ones. */
    uint64_t deleted_count;
    int64_t blocked_until; /* the name cannot be reused before this time */
};

/* A snapshot's properties; its contents are the share's at that stamp. */
struct share_snapshot {
    int64_t stamp;
    int64_t etag, last_modified;
    struct str metadata;
    struct lease lease;
    struct share_settings settings;
    uint64_t usage;
};

/* The share, or ERR_SHARE_NOT_FOUND. Slices are borrowed from the transaction. */
struct err share_load(struct txn *t, struct share *out);
struct err share_save(struct txn *t, const struct share *s);
/* A share's or a deleted share's row, as listings find it. */
struct err share_decode(struct str row, struct share *out);
/* ERR_SHARE_NOT_FOUND, as in the cloud for a snapshot that is requested as a share. */
struct err share_load_snapshot(struct txn *t, const struct share *s, int64_t stamp,
                               struct share_snapshot *out);
struct err share_save_snapshot(struct txn *t, const struct share *s,
                               const struct share_snapshot *snapshot);
struct err share_decode_snapshot(struct str row, int64_t stamp, struct share_snapshot *out);
bool share_has_snapshot(const struct share *s, int64_t stamp);

/* Counts a change of the files' sizes; ERR_SHARE_SIZE_LIMIT_REACHED past the quota. The caller
 * saves. */
struct err share_charge(struct share *s, uint64_t size_before, uint64_t size_after);

/* ---- operations ---- */

enum share_delete_snapshots {
    SHARE_SNAPSHOTS_KEEP,
    SHARE_SNAPSHOTS_INCLUDE,
    SHARE_SNAPSHOTS_INCLUDE_LEASED
};

/* The settings that a request gives. */
enum {
    SHARE_SET_QUOTA = 1,
    SHARE_SET_TIER = 2,
    SHARE_SET_SQUASH = 4,
    SHARE_SET_SNAPSHOT_DIRECTORY = 8,
    SHARE_SET_DIRECTORY_LEASE = 16,
    SHARE_SET_BURSTING = 32,
    SHARE_SET_BURSTING_MIBPS = 64,
    SHARE_SET_BURSTING_IOPS = 128,
    SHARE_SET_MIBPS = 256,
    SHARE_SET_IOPS = 512,
};

/* The arguments of all of them; each uses what it needs. */
struct share_args {
    struct arena *arena; /* the request's: for results that outlive the transaction */
    int64_t snapshot;    /* 0: the share itself */
    struct lease_id lease;
    /* in */
    unsigned set; /* SHARE_SET_* */
    struct share_settings settings;
    enum share_protocol protocol;
    bool has_metadata; /* Snapshot Share */
    struct str metadata;
    struct str acl;
    struct lease_request lease_request;
    enum share_delete_snapshots delete_snapshots;
    int64_t retention_ticks; /* Delete Share: how long it can be restored; 0 deletes it permanently,
                                unless the service's properties set a retention */
    int64_t blocked_ticks;   /* Delete Share: how long the name cannot be reused */
    struct str properties;   /* where the service's properties are; absent: not read */
    uint64_t deleted_version; /* Restore Share: which incarnation */
    /* out */
    struct share share;
    struct share_snapshot of_snapshot; /* if a snapshot was requested, or taken */
    int lease_left_seconds;
};

engine_fn file_create_share;         /* ERR_SHARE_ALREADY_EXISTS, ERR_SHARE_BEING_DELETED */
engine_fn file_get_share;            /* properties, metadata, ACL, statistics */
engine_fn file_set_share_properties; /* ERR_INVALID_INPUT: not of this protocol; and provision.h */
engine_fn file_set_share_metadata;
engine_fn file_set_share_acl;
engine_fn file_lease_share;
engine_fn file_snapshot_share; /* ERR_SHARE_SNAPSHOT_COUNT_EXCEEDED */
engine_fn file_delete_share;   /* ERR_SHARE_HAS_SNAPSHOTS */
engine_fn file_restore_share;  /* ERR_SHARE_ALREADY_EXISTS, ERR_SHARE_NOT_FOUND */

#endif
