/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning and end of every operation on a blob. Opening a blob checks, in this order, that
 * the container exists, the conditions, that the blob exists, and the lease; so an operation cannot
 * forget one of them. Saving sets the new ETag. */
#ifndef SERVICE_BLOB_ACCESS_H
#define SERVICE_BLOB_ACCESS_H

#include "service/blob/container.h"
#include "service/blob/head.h"
#include "service/blob/keys.h"
#include "service/blob/path/tree.h"
#include "service/common/content/content.h"

/* The common arguments of every operation on a blob. */
struct blob_request {
    struct arena *arena; /* the request's arena: for results that outlive the transaction */
    struct str name;
    struct blob_at at;
    struct conditions conditions;
    struct lease_id lease;
    bool create_only; /* the caller may create but not overwrite */
    /* What the account retains (keep.h). */
    bool versioning;     /* previous versions */
    struct str settings; /* the partition of the service's properties, which contain the retention
                            of soft delete; absent: nothing is retained */
    bool tracks_access;  /* the time of the last access is kept */
    bool of_expired;     /* for the sweeper: an expired blob still exists, and leases are ignored */
    struct str encryption_scope; /* absent: not said */
    bool wants_content;          /* read the row's body with the head */
    struct engine_loan *loan;    /* with wants_content: NULL, or receives the loan of the body */
    struct tree_request path;    /* in a hierarchical container */
};

/* A blob that was opened: lives as long as the transaction. */
struct blob {
    struct container container;
    struct str name; /* in key form: the request's name, or where its path leads (tree.h); absent if
                        a directory on the way is missing */
    struct blob_path parent; /* see struct tree_way */
    unsigned made;           /* the same */
    struct blob_at at; /* which head was found: the base also for the id of the current version */
    struct str key;    /* of its head */
    struct str body;   /* the row's body, if it was requested or is new; else absent: a save
                          keeps the one that the row has */
    bool lent;         /* the body stays until the request's loan ends */
    bool stored;       /* a head exists, maybe that of an uncommitted blob */
    bool exists;       /* there is a committed blob */
    struct blob_head head;
    bool buried;            /* it does not exist, but a soft-deleted one does */
    struct blob_head grave; /* that one's head */
    struct str indexed;     /* the tags under which the tag index has it */
    struct blob_times {
        int64_t until, expires;
    } timed;                /* its state in the indexes of protect.h */
    struct str indexed_key; /* the key that the indexes have for it, including the tag index */
    bool tracks_access;     /* as the request says */
    struct str scope;       /* BLOB_CREATE: the encryption scope of the new blob */
    bool soon;              /* it is read again soon, so its row stays in memory */
    bool unused;            /* there is no row of its key */
    bool keep_copy;         /* a write that keeps the head's copy state: Put Page, copies */
};

enum blob_use {
    BLOB_READ,          /* must exist; a given lease id must match */
    BLOB_READ_STORED,   /* the same, of an uncommitted blob too */
    BLOB_CREATE,        /* makes the blob or replaces its content */
    BLOB_CHANGE,        /* must exist */
    BLOB_ALTER,         /* the same for changes that a policy forbids: content in place, metadata */
    BLOB_STAGE,         /* Put Block: takes no conditions, need not exist */
    BLOB_DELETE,        /* must exist, be it uncommitted */
    BLOB_CHANGE_SHARED, /* Snapshot: a write that a lease does not hinder */
    BLOB_LEASE,         /* must exist; the operation checks the lease itself */
    BLOB_COPY_END,      /* Abort Copy: must exist, and may have a copy pending */
    BLOB_COPY_ON,       /* Incremental Copy: as BLOB_CREATE, also of an incremental copy */
};

/* In a hierarchical container a create also creates missing directories, and refuses a path of the
 * other kind with ERR_PATH_CONFLICT; ERR_AUTHORIZATION_PERMISSION_MISMATCH by the path's lists.
 * ERR_CONTAINER_NOT_FOUND, ERR_BLOB_NOT_FOUND, the errors of conditions and leases,
 * ERR_UNAUTHORIZED_BLOB_OVERWRITE, and for a write ERR_PENDING_COPY_OPERATION and
 * ERR_OPERATION_NOT_ALLOWED_ON_INCREMENTAL_COPY_BLOB. */
struct err blob_open(struct txn *t, const struct blob_request *request, enum blob_use use,
                     struct blob *out);

/* For an existing blob: ERR_BLOB_USES_CUSTOMER_SPECIFIED_ENCRYPTION if it has its own encryption
 * scope and the request does not name it. For writes that encrypt; reads need no scope. */
struct err blob_check_scope_said(const struct blob_request *request, const struct blob *blob);

/* Only loads the container and the blob's row, without the checks. */
struct err blob_load(struct txn *t, const struct blob_request *request, struct blob *out);

/* Decodes a blob's row into `blob`; an absent row is a missing blob. The key must be set. For code
 * that does not use blob_open (sweepers). */
struct err blob_take_row(struct blob *blob, struct str row);
/* The head is as stored in its row, and the indexes match it. */
void blob_note_indexed(struct blob *blob);

/* Saves a write: sets a new ETag and time, and removes an ended lease, and the copy state unless
 * blob->keep_copy. */
struct err blob_save_written(struct txn *t, struct blob *blob);
/* Saves a change that is not a write of the blob: leases, and changes that clients cannot see. */
struct err blob_save_unchanged(struct txn *t, struct blob *blob);
/* Deletes the head. These three keep the tag index in step, so that no operation can forget it. */
struct err blob_forget(struct txn *t, struct blob *blob);

/* The results of a write to a path. */
struct blob_written {
    int64_t etag;
    int64_t last_modified;
    struct str encryption_scope;
};
void blob_give_written(const struct blob_request *request, const struct blob_head *head,
                       struct blob_written *out);
/* The head with its slices in the request's arena. */
struct err blob_give(const struct blob_request *request, const struct blob_head *head,
                     struct blob_head *out);

/* ---- contents, which heads may share ---- */

/* Reads a part, not empty, of any content except a page blob's. A small content is stored beside
 * its head (content_beside): one search finds both. Its bytes are copied to the arena, unless they
 * are lent. */
struct err blob_read_content(struct txn *t, const struct blob *blob, struct content_part part,
                             struct arena *to, struct pieces *out);
/* Moves the content into separate rows, so that several heads can name it. Call it before sharing
 * or moving a content. `key` is that of the head's row. */
struct err blob_settle_content(struct txn *t, uint64_t incarnation, struct str key,
                               struct blob_head *head);

/* Loads the content, or the appends, that are stored beside the head in that row. */
struct err blob_load_body(struct txn *t, struct str key, const struct blob_head *head,
                          struct str *body);

/* Marks the content as shared, because another head will name it. */
struct err blob_share_content(struct txn *t, struct blob *blob);
/* Drops the head's content: removed now if small, else noted for the sweeper. */
struct err blob_drop_content(struct txn *t, uint64_t incarnation, const struct blob_head *head);
/* The head gives up its uncommitted blocks. */
struct err blob_drop_blocks(struct txn *t, uint64_t incarnation, struct blob_head *head);

#endif
