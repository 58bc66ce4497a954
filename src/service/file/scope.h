/* SPDX-License-Identifier: Apache-2.0 */
/* The share that a transaction works in, and how it finds, creates, changes and removes files and
 * directories there. Every transaction on files begins here. */
#ifndef SERVICE_FILE_SCOPE_H
#define SERVICE_FILE_SCOPE_H

#include "service/common/dirtree.h"
#include "service/file/node.h"
#include "service/file/opens/change.h"
#include "service/file/opens/pass.h"
#include "service/file/path.h"
#include "service/file/security/permission.h"
#include "service/file/share.h"

/* Lives as long as the transaction, in place: it points into itself. */
struct file_scope {
    struct txn *txn;
    struct share share;
    struct vrow_scope rows;
    struct dirtree tree;
    bool share_changed; /* usage: saved by file_scope_close */
    /* NULL: changes are not reported. Set it once the scope is open. */
    struct file_changes *changes;
};

/* Opens the share, at the snapshot if it is not 0. ERR_SHARE_NOT_FOUND,
 * ERR_SHARE_SNAPSHOT_NOT_FOUND. */
struct err file_scope_open(struct txn *t, int64_t snapshot, struct file_scope *out);
/* Saves the changes of the share's row. */
struct err file_scope_close(struct file_scope *s);
/* The same for an SMB handle: the share may have been deleted and created again since.
 * ERR_SHARE_NOT_FOUND. */
struct err file_scope_open_incarnation(struct txn *t, uint64_t incarnation, int64_t snapshot,
                                       struct file_scope *out);

/* The same for a share whose row the caller has loaded into out->share. */
struct err file_scope_enter(struct txn *t, int64_t snapshot, struct file_scope *out);

/* A file or directory that was looked for. */
struct file_found {
    bool exists;
    bool root;
    bool linked; /* has or had several names: its properties are in a separate row */
    uint64_t id;
    uint64_t parent;
    struct dirtree_entry entry; /* not of the root */
    struct node node;
    struct vrow own; /* the separate row, if root or linked */
};

/* Finds it by its path, which is checked; empty: the root. ERR_PARENT_NOT_FOUND. */
struct err file_find(struct file_scope *s, struct str path, struct file_found *out);
struct err file_find_id(struct file_scope *s, uint64_t id, struct file_found *out);
struct err file_find_child(struct file_scope *s, uint64_t directory, struct str name,
                           struct file_found *out);
/* For an entry that a listing has reached. */
struct err file_of_entry(struct file_scope *s, const struct dirtree_entry *entry,
                         struct file_found *out);

/* Creates an entry that was looked up and does not exist; found->node is filled in. Its id is the
 * update's stamp, so one update creates at most one. */
struct err file_add(struct file_scope *s, struct file_found *found);
/* Writes found->node. */
struct err file_put(struct file_scope *s, struct file_found *found);
/* Removes the name, and with the last name the node and its bytes. Directories must be empty. */
struct err file_remove(struct file_scope *s, struct file_found *found);
/* A write: sets a new ETag and time, and removes an ended lease. */
void file_touch(struct file_scope *s, struct node *n);

/* A node of its kind with all the defaults, in the directory `parent`. */
struct err file_new_node(struct file_scope *s, enum node_kind kind, uint64_t parent,
                         struct node *out);

/* ---- bytes ---- */

struct interval_map file_map(const struct file_scope *s, const struct node *n);
/* Stores the map's changes in the node. Leaves notes for the sweep. */
struct err file_keep_map(struct file_scope *s, struct file_found *found,
                         const struct interval_map *m);
/* Changes the size: updates usage, checks the quota, and removes the bytes past the end. */
struct err file_resize(struct file_scope *s, struct file_found *found, uint64_t size);
/* Drops all bytes, leaving an empty file. */
struct err file_drop_content(struct file_scope *s, struct node *n);

struct opens_key file_key(const struct file_scope *s, const struct file_found *found);

/* The node's path as its names are stored, in the arena. */
struct err file_path(struct file_scope *s, const struct file_found *found, struct arena *a,
                     struct str *out);

#endif
