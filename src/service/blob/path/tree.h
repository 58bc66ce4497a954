/* SPDX-License-Identifier: Apache-2.0 */
/* Hierarchical containers: their names form a tree of directories.
 *
 * The key of a path's head is its directory's id and its last name; the head of a directory has the
 * id of its entries:
 *
 *     h I <directory's id>/<last name> 00 …      (keys.h); the root is id 0, its head has no name
 *
 * So the head is the directory entry: one search finds both, a listing is one cursor per directory,
 * and moving a directory moves one row and nothing below it. Everything else of a blob (contents,
 * blocks, snapshots) is named by ids or stored beside the head, so every blob transaction works
 * once blob_open has turned the path into "<id>/<last name>", which is the name in struct blob.
 * (service/common/dirtree.h keeps an entry and its target in two rows, each with a past: that is
 * right for shares, which have snapshots as a whole and files with several names. Here it would
 * double the rows that a read and a listing look at.)
 *
 * No path has more than TREE_DEPTH_MAX names. A rename must keep to this without a look at what it
 * moves, so each directory stores a bound on the levels of directories below it (blob_path.levels).
 * It grows when a directory is created or arrives below, which writes the rows of the few parents
 * whose bound is too low; it is always larger than the bounds of the directories in it.
 *
 * Resolving a path checks the rights of each directory on the way (acl.h). A transaction that
 * creates a path also creates its missing directories. */
#ifndef SERVICE_BLOB_PATH_TREE_H
#define SERVICE_BLOB_PATH_TREE_H

#include "service/blob/container.h"
#include "service/blob/path/acl.h"

enum { TREE_DEPTH_MAX = 60, TREE_ROOT = 0 };

/* A request's additions to its path's name. */
struct tree_request {
    bool directory;                  /* what is made is a directory */
    bool looks;                      /* needs no right to the path, only the way to it */
    const struct acl_caller *caller; /* NULL: lists are not consulted */
    bool passes;                     /* but not those of the directories on the way */
    struct str owner;                /* of what is made; absent: $superuser */
    bool has_mode;                   /* mode is what the request says */
    unsigned mode, umask;            /* umask: ACL_UMASK unless the request sets it */
    bool has_umask;
};

/* The result of a walk. */
struct tree_way {
    struct str name;                      /* in key form; absent: a directory is missing */
    struct blob_path parent;              /* set if lists are consulted or something is created */
    uint64_t directories[TREE_DEPTH_MAX]; /* passed on the way, without the root */
    size_t depth;
    unsigned made; /* directories created in this transaction */
};

/* Resolves a path; skips empty names between slashes. `makes`: creates missing directories. If one
 * of them is a file: ERR_PATH_CONFLICT if something is to be created, otherwise the path does not
 * exist. ERR_PATH_IS_TOO_DEEP; ERR_AUTHORIZATION_PERMISSION_MISMATCH. */
struct err path_tree_resolve(struct txn *t, const struct container *container,
                             const struct tree_request *request, struct str path, bool makes,
                             struct tree_way *out);
/* The name of an entry, in the transaction's arena. */
struct str path_tree_entry_name(struct arena *a, uint64_t directory, struct str last);
/* The last name of a path; empty for the root. */
struct str path_tree_last_name(struct str path);
/* The id of the n-th directory that the transaction creates. */
uint64_t path_tree_new_id(struct txn *t, unsigned n);
/* Initialises a new path in the directory. */
struct err path_tree_new_path(struct txn *t, const struct tree_request *request,
                              const struct blob_path *parent, struct blob_path *out);

/* Raises the levels of the directories on the way, so that a directory with `levels` - 1 levels
 * below it may be at its end. */
struct err path_tree_raise(struct txn *t, const struct container *container, struct str path,
                           const struct tree_way *way, unsigned levels);
/* The number of names in a path. */
size_t path_tree_depth(struct str path);

struct err path_tree_make_root(struct txn *t, const struct container *container, struct str owner);
struct err path_tree_is_empty(struct txn *t, uint64_t incarnation, uint64_t directory, bool *out);

#endif
