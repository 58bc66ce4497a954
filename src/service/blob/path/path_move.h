/* SPDX-License-Identifier: Apache-2.0 */
/* Moving and removing paths of a hierarchical container: for path.h, Delete Blob and the sweeper.
 */
#ifndef SERVICE_BLOB_PATH_PATH_MOVE_H
#define SERVICE_BLOB_PATH_PATH_MOVE_H

#include "service/blob/access.h"

/* The changes of a path that moves. */
struct blob_path_new {
    bool has_metadata;
    struct str metadata;
    /* It becomes soft-deleted; 0: it stays visible. */
    int64_t deleted, purge_at, deletion_id;
    struct str deleted_path;
};
/* Moves the path's head and those of its snapshots to another name. */
struct err path_move_heads(struct txn *t, const struct blob *blob, struct str name,
                           const struct blob_path_new *as);

/* The two halves of a rename: the source with its conditions and lease, then the destination with
 * its own. */
struct path_rename_args;
struct err path_open_source(struct txn *t, const struct path_rename_args *args,
                            struct blob *source);
struct err path_put_in_place(struct txn *t, struct path_rename_args *args,
                             const struct blob *source);

/* Called for each head of a path, the base last. */
typedef struct err path_head_work(struct txn *t, struct blob *item, void *arg);
struct err path_each_head(struct txn *t, const struct blob *blob, path_head_work *work, void *arg);

/* Removes it; leaves the entries of a directory to the sweeper. */
struct err path_remove(struct txn *t, struct blob *blob);
/* ERR_OPERATION_NOT_SUPPORTED_ON_DIRECTORY for the root; `not_empty` for a directory that is not.
 */
struct err path_check_removable(struct txn *t, const struct blob *blob, bool recursive,
                                enum err_code not_empty);

/* For the sweeper: removes the entries of a removed directory, within the budget. */
struct err path_sweep_tree(struct txn *t, uint64_t incarnation, uint64_t directory,
                           unsigned *budget);

#endif
