/* SPDX-License-Identifier: Apache-2.0 */
/* Soft delete in a hierarchical container, if the service's delete retention is on. The head of a
 * deleted path moves to the name "!<deletion id>", which no path leads to; the entries of a
 * directory stay under the directory's id. A row D has the original path. So deleting and restoring
 * a directory cost as little as renaming one. The same path may be deleted many times; the id tells
 * them apart. Renaming a parent directory does not move paths that were deleted below it. */
#ifndef SERVICE_BLOB_PATH_PATH_TRASH_H
#define SERVICE_BLOB_PATH_PATH_TRASH_H

#include "service/blob/access.h"
#include "service/blob/list.h"

/* Delete: *deletion_id is 0 if it was removed permanently. */
struct err path_take_away(struct txn *t, const struct blob_request *request, struct blob *blob,
                          int64_t *deletion_id);
/* For the sweeper: removes a head whose retention has ended. */
struct err path_purge(struct txn *t, struct blob *blob);

struct path_undelete_args {
    struct blob_request request; /* its path, also the one it is restored to */
    int64_t deletion_id;
    /* out */
    struct blob_head head;
};
/* ERR_BLOB_NOT_FOUND, ERR_BLOB_ALREADY_EXISTS. */
engine_fn path_undelete;

/* Lists soft-deleted paths, for list.h. */
struct err path_list_deleted(struct txn *t, const struct container *container,
                             struct blob_list_args *args);

#endif
