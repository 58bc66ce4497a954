/* SPDX-License-Identifier: Apache-2.0 */
/* Renaming a path from one hierarchical container to another of the account. Containers are
 * partitions, and an update writes to one, so the move has several steps and one commit point:
 *
 *   1. source       The container's row names the path that moves, the destination and the number
 *                   of the move. From now on updates of the container wait
 *                   (ERR_PATH_BEING_MOVED); reads continue.
 *   2. destination  The heads, contents and uncommitted blocks of the path and of all below it are
 *                   written again, a page per update, under a directory that no path leads to.
 *                   They refer to the extents of the source's rows: no content is copied.
 *   3. destination  The last page is one update with an ordinary rename from that directory to
 *                   the destination's path, with all its checks, and the row of the move is marked
 *                   as done. This is the commit point.
 *   4. source       The path and the mark in the container's row are removed.
 *
 * Between 3 and 4, loading the source's container reads the row of the move: a view hides the
 * path, and an update does step 4 first (container_load, path_across_settle). So every observer
 * sees the path at exactly one place.
 *
 * The sweeper ends an abandoned move (kill -9): it marks the destination's row as given up, unless
 * that is done already; then it does step 4, or restores the source. The row of a move is kept
 * until the source's container has removed its mark:
 *
 *   M move source's partition      its state, and when that was written
 *   n I                            the number of moves into the container so far
 */
#ifndef SERVICE_BLOB_PATH_PATH_ACROSS_H
#define SERVICE_BLOB_PATH_PATH_ACROSS_H

#include "service/blob/path/path.h"
#include "service/blob/sweep.h"

/* Rename between two containers; waits for the store, so not on an event loop. `destination` is the
 * partition. The errors of path_rename, ERR_SERVER_BUSY if other moves conflicted for too long, and
 * ERR_PENDING_COPY_OPERATION if something below is being copied to. */
struct err path_rename_across(struct store *store, struct str destination,
                              struct path_rename_args *args);

/* For container_load, when the row says that a path moves. In a view sets container->hidden; in an
 * update ends a decided move, else ERR_PATH_BEING_MOVED. */
struct err path_across_settle(struct txn *t, struct container *container);

/* Gives up an abandoned move out of a container, so that the next update of the container can
 * settle it; otherwise changes nothing. Waits for the store. For the sweeper, and for updates that
 * were refused (run/run.c), so that no update waits for a move of a server that was killed. */
struct err path_across_rescue(struct store *store, struct str partition);

/* The sweeper's note of a move. */
struct path_across_note {
    struct sweep_item item;
    struct str value;    /* of the note */
    int64_t alone_since; /* store.h */
    bool done;           /* out: the note may be deleted */
};
struct err path_across_pass(struct txn *t, struct path_across_note *note);

#endif
