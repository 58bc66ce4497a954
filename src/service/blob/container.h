/* SPDX-License-Identifier: Apache-2.0 */
/* Containers: their row, and the transactions on them. All run in the container's partition. */
#ifndef SERVICE_BLOB_CONTAINER_H
#define SERVICE_BLOB_CONTAINER_H

#include "engine/engine.h"
#include "service/common/condition.h"
#include "service/common/lease.h"

enum blob_public { BLOB_PUBLIC_NONE, BLOB_PUBLIC_BLOB, BLOB_PUBLIC_CONTAINER };

/* The encryption scope that every account has. Scopes are only names here: data are not encrypted
 * with them. */
#define BLOB_ACCOUNT_SCOPE STR("$account-encryption-key")

/* The container's row. Changes of metadata and ACL change its ETag and time; changes of its blobs
 * or its lease do not. */
struct container {
    uint64_t incarnation; /* the stamp of its creation; 0 when there is no container */
    int64_t etag;
    int64_t last_modified;
    enum blob_public public_access;
    struct str metadata; /* as pairs.h encodes them */
    struct str acl;      /* as policy.h encodes it */
    struct lease lease;
    struct str encryption_scope; /* of blobs that name none; absent: the account's */
    bool deny_scope_override;    /* and blobs may name no other */
    bool hierarchical;           /* its names form a tree of directories: tree.h */
    int64_t deleted_until;       /* a tombstone: the name cannot be reused before this time */
    uint64_t deleted_count;      /* number of retained deleted containers of the name */
    int64_t deleted;             /* of one of those: when it was deleted */
    int64_t purge_at;            /* when it is deleted permanently */
    struct str moving; /* describes a path that is moving to another container (path/path_across.h);
                          absent: none */
    struct str hidden; /* in a view: the key of a head that has moved, up to its name; not stored */
};

/* The container, or ERR_CONTAINER_NOT_FOUND; in an update ERR_PATH_BEING_MOVED. Slices are borrowed
 * from the transaction. */
struct err container_load(struct txn *t, struct container *out);
/* Writes its row. */
struct err container_save(struct txn *t, const struct container *container);
/* True if the head of that key is deleted although its row still exists. */
static inline bool container_hides(const struct container *c, struct str head_key)
{
    return c->hidden.n > 0 && str_starts(head_key, c->hidden) && head_key.p[c->hidden.n] == 0;
}
/* A row as listings find it; false for a tombstone. ERR_CORRUPT. */
struct err container_decode(struct str row, struct container *out, bool *live);

/* For the sweeper: removes a deleted container whose retention has ended, and the tombstone if
 * nothing else is left of the name; at most `max`; in a view only counts. */
struct err container_purge_due(struct txn *t, struct container *container, unsigned max,
                               unsigned *count);

/* The scope of its blobs unless they name another. */
static inline struct str container_scope(const struct container *c)
{
    return str_given(c->encryption_scope) ? c->encryption_scope : BLOB_ACCOUNT_SCOPE;
}

/* The common arguments of every operation on a container. */
struct container_request {
    struct arena *arena; /* the request's: for what outlives the transaction */
    struct conditions conditions;
    struct lease_id lease;
};

/* The arguments of all of them; each uses what it needs. */
struct container_args {
    struct container_request request;
    /* in */
    struct str metadata;            /* Create, SetMetadata */
    struct str acl;                 /* SetAcl */
    enum blob_public public_access; /* Create, SetAcl */
    struct str encryption_scope;    /* Create */
    bool deny_scope_override;       /* Create */
    bool hierarchical;              /* Create */
    struct str owner;               /* Create: of the root directory; absent: $superuser */
    struct lease_request lease;     /* Lease */
    int64_t delete_ticks;           /* Delete: how long the name cannot be reused */
    int64_t retention_ticks;        /* Delete: how long it can be restored; 0: not at all */
    uint64_t deleted_version;       /* Restore: which one; its incarnation */
    /* out */
    struct container container; /* as it is now, in the request's arena */
    int lease_left_seconds;
};

/* ERR_CONTAINER_ALREADY_EXISTS, ERR_CONTAINER_BEING_DELETED. */
engine_fn blob_create_container;
engine_fn blob_delete_container;
/* ERR_CONTAINER_ALREADY_EXISTS, ERR_CONTAINER_NOT_FOUND if there is no such deleted container. */
engine_fn blob_restore_container;
/* Get Container Properties, Metadata and ACL. */
engine_fn blob_get_container;
engine_fn blob_set_container_metadata;
engine_fn blob_set_container_acl;
engine_fn blob_lease_container;

#endif
