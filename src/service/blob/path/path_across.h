/* SPDX-License-Identifier: Apache-2.0 */
/* Renaming a path from one hierarchical container to another of the account. Containers are
 * partitions, and an update writes to one, so the move has several steps and one commit point:
 *
 *   1. source       The container's row names the path that moves, the destination and a number of
 *                   the move. From now on updates of the container wait (ERR_PATH_BEING_MOVED);
 *                   reads go on.
 *   2. destination  The heads, contents and uncommitted blocks of the path and of all below it are
 *                   written anew, a page per update, under a directory that no path leads to. They
 *                   hold the extents that the source's rows hold: no content is copied.
 *   3. destination  With the last page, in one update: an ordinary rename from that directory to
 *                   the destination's path, with all its checks, and the row of the move says that
 *                   it is done. This is the commit point.
 *   4. source       The path goes, and the container's row says no more of it.
 *
 * Between 3 and 4 whoever loads the source's container looks at the row of the move: a view does
 * not see the path, and an update does step 4 first (container_load, path_across_settle). So every
 * observer sees the path at one place, and never at both.
 *
 * A move that nobody carries on (kill -9) is ended by the sweeper: the destination's row says that
 * it was given up, unless it says that it is done; then step 4, or the source as it was. The row of
 * a move stays until the source's container has forgotten it:
 *
 *   M move source's partition      its state, and when that was written
 *   n I                            how many moves have come into the container
 */
#ifndef SERVICE_BLOB_PATH_PATH_ACROSS_H
#define SERVICE_BLOB_PATH_PATH_ACROSS_H

#include "service/blob/path/path.h"
#include "service/blob/sweep.h"

/* Rename between two containers; waits for the store, so not on an event loop. `destination` is the
 * partition. What path_rename answers, and ERR_SERVER_BUSY when other moves were in the way for too
 * long; ERR_PENDING_COPY_OPERATION when something below is being copied to. */
struct err path_rename_across(struct store *store, struct str destination,
                              struct path_rename_args *args);

/* For container_load, when the row says that a path moves. In a view sets container->hidden; in an
 * update ends a move that is decided, else ERR_PATH_BEING_MOVED. */
struct err path_across_settle(struct txn *t, struct container *container);

/* Gives up the move out of a container that nobody carries on, so that the next update of the
 * container can settle it; otherwise changes nothing. Waits for the store. For the sweeper, and for
 * updates that were refused (run/run.c): a server that was killed and started again does not keep
 * anybody waiting. */
struct err path_across_rescue(struct store *store, struct str partition);

/* The sweeper's note of a move. */
struct path_across_note {
    struct sweep_item item;
    struct str value;    /* of the note */
    int64_t alone_since; /* store.h */
    bool done;           /* out: the note may go */
};
struct err path_across_pass(struct txn *t, struct path_across_note *note);

#endif
