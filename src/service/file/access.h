/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning of every operation on a file or directory by its path. Opening checks, in this
 * order, that the share and the snapshot exist, that the path is well-formed, that the file exists
 * and is of its kind, the open-file table (share modes, pending deletes, locks, caches, the
 * read-only attribute: one function, opens_claim), and the lease; so an operation cannot forget one
 * of them. */
#ifndef SERVICE_FILE_ACCESS_H
#define SERVICE_FILE_ACCESS_H

#include "service/file/scope.h"

/* The common arguments of every operation by path. */
struct file_request {
    struct arena *arena; /* the request's: for results that outlive the transaction */
    struct str path;     /* as sent; empty: the root */
    bool keep_dots;      /* dots at the end of names are significant */
    int64_t snapshot;    /* 0: the share as it is */
    struct lease_id lease;
    struct file_pass pass;
};

enum file_kind { FILE_ANY, FILE_FILE, FILE_DIRECTORY };

enum file_use {
    FILE_LIST,   /* is not checked against the table */
    FILE_LOOK,   /* properties, metadata */
    FILE_READ,   /* bytes */
    FILE_WRITE,  /* bytes, properties, metadata */
    FILE_UNLOCK, /* the same for a read-only file whose attribute the operation clears */
    FILE_DELETE,
    FILE_LEASE,
};

/* ERR_RESOURCE_NOT_FOUND, ERR_PARENT_NOT_FOUND, ERR_RESOURCE_TYPE_MISMATCH (writes of the wrong
 * kind), the errors of the table and the lease. For reads, pass.h checks the table. */
struct err file_open(struct txn *t, struct file_request *r, enum file_kind kind, enum file_use use,
                     struct file_scope *s, struct file_found *out);

/* Opens for creation: finds the existing object, or its place. Claims nothing yet.
 * ERR_PARENT_NOT_FOUND, ERR_SMB_DELETE_PENDING if the directory is pending. */
struct err file_open_new(struct txn *t, struct file_request *r, struct file_scope *s,
                         struct file_found *out);
/* If nothing was found: initialises the node of a new file, which no lease can guard yet. */
struct err file_start_new(struct file_scope *s, const struct file_request *r,
                          struct file_found *found);
struct err file_claim(struct file_scope *s, struct file_request *r, const struct file_found *found,
                      enum opens_rest op);
/* The check of a path against the share's rules. */
struct err file_check_path(const struct file_scope *s, struct arena *a, struct str path,
                           bool keep_dots, struct str *out);

/* ---- what a request sets ---- */

enum file_time_kind { FILE_TIME_KEEP, FILE_TIME_NOW, FILE_TIME_GIVEN };
struct file_time {
    enum file_time_kind kind;
    int64_t ticks;
};

enum file_permission_kind {
    FILE_PERMISSION_KEEP,
    FILE_PERMISSION_INHERIT,
    FILE_PERMISSION_SD, /* a descriptor, binary */
    FILE_PERMISSION_KEY,
};

/* The properties that SMB has too; values that are not given are kept, or get the default of a new
 * object. */
struct file_settings {
    bool has_attributes;
    uint32_t attributes;
    bool restores; /* a file from a backup: only a given archive attribute is set */
    struct file_time created, last_write, changed;
    enum file_permission_kind permission;
    struct str sd;
    struct permission_key key;
    bool has_mode, has_owner, has_group; /* NFS */
    uint32_t mode, owner, group;
};

/* Applies the settings to found->node; the directory above is `parent`. Properties of the other
 * protocol: ERR_INVALID_INPUT. ERR_INVALID_FILE_PERMISSION, ERR_FILE_PERMISSION_NOT_FOUND. */
struct err file_apply(struct file_scope *s, struct node *n, uint64_t parent,
                      const struct file_settings *settings);

/* The common results of most operations. */
struct file_outcome {
    struct node node;
    uint64_t id, parent;
    uint64_t incarnation; /* of the share */
    bool is_smb;          /* the share's protocol */
};
void file_give(const struct file_request *r, const struct file_scope *s,
               const struct file_found *found, struct file_outcome *out);

#endif
