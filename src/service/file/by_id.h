/* SPDX-License-Identifier: Apache-2.0 */
/* The transactions of a front end whose clients have handles (SMB): a file is found by its path
 * once, when it is opened, and then by its id. Registering the handle in the open-file table
 * decided what the client may do; so nothing here checks share modes, except for files other than
 * the handle's (the target that a rename replaces). */
#ifndef SERVICE_FILE_BY_ID_H
#define SERVICE_FILE_BY_ID_H

#include "service/file/access.h"
#include "service/file/range.h"

/* The place: every argument struct begins with it. */
struct file_at {
    struct arena *arena; /* the request's: for results that outlive the transaction */
    uint64_t incarnation;
    int64_t snapshot; /* 0: the share as it is */
    uint64_t id;      /* of the node, if known */
    /* Of updates: for directory watches; the front end reports it after the commit. NULL: none. */
    struct file_changes *changes;
};

/* A file or directory that was found; all in the arena. */
struct file_seen {
    bool exists;
    uint64_t id, parent;
    struct node node;
    struct str path; /* as the names are stored; empty: the root */
};

/* The common start: opens the share, and finds the node. ERR_SHARE_NOT_FOUND,
 * ERR_RESOURCE_NOT_FOUND. */
struct err file_open_id(struct txn *t, const struct file_at *at, struct file_scope *s,
                        struct file_found *found);

/* ---- looking ---- */

struct file_look_args {
    struct file_at at;
    bool by_path; /* the snapshot, if any, may be given to the second; out: exactly */
    struct str path;
    bool wants_sd;
    bool wants_rights;
    bool wants_empty;
    /* out */
    struct file_seen seen;
    struct str sd;   /* binary */
    uint32_t rights; /* rights.h: to it, or to the directory that would contain it */
    bool empty;      /* a directory without entries */
};
/* ERR_PARENT_NOT_FOUND, the errors of names. A missing file is no error by path, and
 * ERR_RESOURCE_NOT_FOUND by id. */
engine_fn file_look;

/* The entries of a directory in the order of their folded names. */
struct file_walk_args {
    struct file_at at;
    struct str from;   /* the key to begin at; empty: the first */
    struct str prefix; /* of the folded names */
    void *sink;
    void (*begin)(void *sink, const struct file_seen *directory);
    /* False: full; the scan continues at this entry later. */
    bool (*item)(void *sink, const struct file_found *found, struct str key);
    /* out: absent at the end, else where to continue, in the arena */
    struct str next;
};
engine_fn file_walk;

/* The share itself. */
struct file_share_args {
    struct file_at at; /* incarnation 0: any share */
    /* out */
    uint64_t incarnation;
    bool is_smb;
    uint64_t quota_bytes, usage_bytes;
    int64_t created;
    int64_t *snapshots; /* ascending */
    size_t snapshot_count;
};
engine_fn file_look_share;

/* ---- making, changing, removing ---- */

struct file_make_args {
    struct file_at at;
    struct opens *opens;
    struct str path;
    enum node_kind kind;
    uint32_t attributes;
    struct str sd;  /* absent: inherited from the directory */
    struct str eas; /* changes of ea.h to an empty list */
    /* In the transaction, just before the commit: registers the handle, so that no other open comes
     * first. It may be called again: undo the earlier registration. */
    struct err (*made)(struct txn *t, void *front, const struct file_seen *seen);
    void *front;
    /* out */
    struct file_seen seen;
};
/* ERR_RESOURCE_ALREADY_EXISTS, ERR_SMB_DELETE_PENDING (the directory). */
engine_fn file_make;

struct file_overwrite_args {
    struct file_at at;
    uint32_t attributes;
    struct str eas; /* the same; replaces the existing ones */
    /* out */
    struct file_seen seen;
};
/* Empties the file; keeps its id and creation time. ERR_RESOURCE_NOT_FOUND. */
engine_fn file_overwrite;

struct file_write_args {
    struct file_at at;
    uint64_t offset;
    uint64_t length;
    const struct pieces *pieces;
    bool keep_times; /* the client has set the write time itself */
};
/* Enlarges the file if necessary. ERR_SHARE_SIZE_LIMIT_REACHED. */
engine_fn file_write_at;

struct file_zero_args {
    struct file_at at;
    uint64_t from, to;
    bool keep_times;
};
/* Sets the part inside the file to zeros; the size does not change. */
engine_fn file_zero_at;

struct file_read_at_args {
    struct file_at at;
    uint64_t offset;
    uint64_t length;
    /* out */
    uint64_t size;        /* of the file */
    struct pieces pieces; /* from offset on, as many as found; may end early */
    uint64_t until;
};
engine_fn file_read_at;

enum { FILE_EXTENTS_MAX = 4096 };
struct file_extents_args {
    struct file_at at;
    uint64_t from, to;
    size_t max; /* at most FILE_EXTENTS_MAX */
    /* out */
    struct file_extent_range {
        uint64_t start, end;
    } * ranges;
    size_t count;
    bool more;
};
/* The allocated parts: the whole file unless it is marked as sparse. */
engine_fn file_extents_at;

struct file_change_args {
    struct file_at at;
    struct file_settings settings; /* attributes, times, permission */
    bool has_accessed;
    int64_t accessed;
    bool has_size;
    uint64_t size;
    bool has_sparse, sparse; /* NODE_SPARSE, which has_attributes does not change */
    struct str eas;          /* changes of ea.h; absent: none */
    bool only_shrinks;       /* a larger size changes nothing: it is an allocation, not a write */
    bool keep_times;         /* a new size does not change the write time */
    bool keep_changed;       /* only a given time sets the change time */
    /* out */
    struct file_seen seen;
};
engine_fn file_change;

/* Parts of a security descriptor, as [MS-SMB2] 2.2.39 numbers them; the others are kept. */
enum {
    FILE_SD_OWNER = 1,
    FILE_SD_GROUP = 2,
    FILE_SD_DACL = 4,
    FILE_SD_SACL = 8,
    FILE_SD_LABEL = 16,
};
struct file_security_args {
    struct file_at at;
    unsigned parts;
    struct str sd; /* binary */
};
/* ERR_INVALID_FILE_PERMISSION. */
engine_fn file_set_security;

struct file_remove_args {
    struct file_at at;
};
/* A missing file is no error. ERR_DIRECTORY_NOT_EMPTY. */
engine_fn file_remove_at;

struct file_rename_args {
    struct file_at at;
    struct str path; /* the new one */
    bool replace;
    struct file_pass pass; /* for what is replaced */
    /* out */
    struct str new_path; /* as stored */
    uint64_t new_parent;
    bool was_directory;
};
/* ERR_RESOURCE_ALREADY_EXISTS; ERR_SHARING_VIOLATION if another open of the directory does not
 * share it; ERR_AUTHORIZATION_FAILURE if the replaced target is open, a directory or read-only, or
 * if something below the renamed directory is open. */
engine_fn file_rename_at;

#endif
