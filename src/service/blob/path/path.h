/* SPDX-License-Identifier: Apache-2.0 */
/* The transactions that only the Data Lake API has: creating files and directories, renaming,
 * deleting trees, access control. Appending and flushing are in path_append.h, listing in list.h.
 * All run in the container's partition, so renaming or deleting a directory is one update, however
 * much is below it. */
#ifndef SERVICE_BLOB_PATH_PATH_H
#define SERVICE_BLOB_PATH_PATH_H

#include "service/blob/blob.h"
#include "service/blob/protect.h"

/* In a flat container a directory is an empty blob with this metadata; in a hierarchical one,
 * putting an empty blob with it creates a directory. */
#define PATH_FOLDER_MARK STR("hdi_isfolder")
bool path_has_mark(struct str metadata); /* of any value */
bool path_is_marked(struct str metadata);
bool path_is_folder(const struct blob_head *head, bool hierarchical);
/* With the mark, and without it. */
struct str path_mark(struct arena *a, struct str metadata);
struct str path_unmark(struct arena *a, struct str metadata);

struct path_create_args {
    struct blob_request request;
    struct blob_properties properties;
    bool appends;               /* create an append blob: appended bytes are content at once */
    const struct path_acl *acl; /* NULL: none is given */
    struct str owner, group;    /* absent: the creator, and the parent's group */
    bool may_change_access;     /* of an existing path, if the caller owns it */
    struct str encryption_context;
    bool has_lease;
    struct lease_request lease;
    bool has_expiry;
    enum blob_expiry_option expiry;
    int64_t expiry_ticks;
    /* out */
    struct blob_written written;
    bool existed, existed_as_directory; /* set before a refusal, too */
};
/* Creates a file or, with request.path.directory, a directory. An existing file is emptied; an
 * existing directory keeps its entries. ERR_PATH_CONFLICT; ERR_HIERARCHICAL_NAMESPACE_NOT_ENABLED
 * for access control in a flat container; ERR_EXPIRY_NOT_SUPPORTED_FOR_DIRECTORY. */
engine_fn path_create;

struct path_rename_args {
    struct blob_request source;  /* its name, conditions and lease */
    struct str source_partition; /* absent: the destination's, else see path_across.h */
    struct blob_request destination;
    bool legacy;    /* a directory is renamed onto an empty one, not into it */
    bool file_only; /* the caller may move one file to one name, and no directory */
    bool has_metadata;
    struct str metadata;
    struct str continuation; /* of a flat container: absent, or the `next` of the last call */
    /* out */
    struct blob_head head; /* of what was moved */
    struct str next;       /* absent: all is done */
};
/* ERR_SOURCE_PATH_NOT_FOUND, ERR_RENAME_DESTINATION_PARENT_PATH_NOT_FOUND, ERR_PATH_ALREADY_EXISTS,
 * ERR_INVALID_RENAME_SOURCE_PATH, ERR_INVALID_SOURCE_OR_DESTINATION_RESOURCE_TYPE,
 * ERR_SOURCE_CONDITION_NOT_MET. Within one container. */
engine_fn path_rename;

/* A caller whose rights come from lists needs rights to every directory below. One call checks so
 * many paths, and the last call deletes everything. */
enum { PATH_CHECK_MAX = 2000 };
struct path_delete_args {
    struct blob_request request;
    bool recursive;
    size_t check_max; /* 0: PATH_CHECK_MAX */
    /* Absent, or the `next` of the last call. In a hierarchical container the caller must make sure
     * that it is not forged: rights up to there are not checked again. */
    struct str continuation;
    /* out */
    bool kept;           /* of a flat container: it is soft-deleted */
    int64_t deletion_id; /* 0, or the id of the soft-deleted path (path_trash.h) */
    struct str next;     /* absent: all is done */
};
/* ERR_DIRECTORY_NOT_EMPTY. */
engine_fn path_delete;

struct path_set_args {
    struct blob_request request;
    struct str owner, group; /* absent: they stay */
    bool has_mode;
    unsigned mode;
    bool has_acl;
    struct path_acl acl;
    /* SetProperties */
    struct blob_http http; /* each that is given */
    struct str metadata;
    /* CheckAccess */
    unsigned bits;
    /* out */
    struct blob_head head;
    bool hierarchical;
};
/* Changes no ETag. ERR_HIERARCHICAL_NAMESPACE_NOT_ENABLED. */
engine_fn path_set_access_control;
/* PATH_RECURSIVE_STEP: paths of one transaction. No other update runs meanwhile, so it is short. */
enum { PATH_RECURSIVE_MAX = 2000, PATH_RECURSIVE_STEP = 100 };
/* A path fails once; and in each step, the entries of the last directory may not be listed. */
#define PATH_FAILURES_MAX(max) ((max) + (max) / PATH_RECURSIVE_STEP + 2)
struct path_failure {
    struct str name;
    bool directory;
    enum err_code code;
};
struct path_recursive_args {
    struct blob_request request;
    enum acl_change how;
    struct path_acl acl;
    size_t max; /* paths of this call, 1 to PATH_RECURSIVE_MAX */
    bool force; /* continues after paths that cannot be changed */
    struct str continuation;
    struct path_failure *failures; /* has space for PATH_FAILURES_MAX(max) */
    /* out */
    size_t directories, files, failure_count;
    struct str next; /* absent: all is done */
};
engine_fn path_set_access_control_recursive;
struct store;
/* The same in steps; waits for the store. `partition` is the container's. If a step fails, those
 * before it have been done, as after a client's earlier calls. */
struct err path_set_access_control_steps(struct store *store, struct str partition,
                                         struct path_recursive_args *args);
/* Get Status, Get Access Control and Check Access; the first also in a flat container. */
engine_fn path_get_status;
engine_fn path_get_access_control;
engine_fn path_check_access;
engine_fn path_set_properties;

#endif
