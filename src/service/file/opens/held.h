/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of opens that survive a restart: one row per open in its share's partition, so that a
 * file and the open that created it are written in one transaction. The front end's own state is
 * stored in the row as opaque bytes. */
#ifndef SERVICE_FILE_OPENS_HELD_H
#define SERVICE_FILE_OPENS_HELD_H

#include "service/common/store.h"
#include "service/file/by_id.h"
#include "service/file/opens/keep.h"

struct file_held {
    uint64_t id; /* the front end's, never used for another */
    struct opens_kept open;
    struct str front;
};

/* In an update of the share's partition. */
struct err file_held_put(struct txn *t, const struct file_held *held);
/* Decodes a row. The result is borrowed from it, and the locks are in the arena. ERR_CORRUPT. */
struct err file_held_read(struct arena *a, struct str key, struct str value, struct file_held *out);

/* Writes the row, new or again. ERR_SHARE_NOT_FOUND. Asks the table whether the file is to be
 * deleted: that may have changed since the open was described, when there was no row to mark
 * yet. */
struct file_hold_args {
    struct file_at at;
    struct opens *opens;
    struct file_held held;
};
engine_fn file_hold;

/* Removes the row of an open that has ended; a missing row is no error. */
struct file_let_go_args {
    uint64_t incarnation;
    uint64_t id;
};
engine_fn file_let_go;

/* Stores in all surviving opens of the file at.id whether the file is to be deleted. That is a
 * property of the file and not of the open that set it ([MS-FSA] 2.1.5.15.3), which may end
 * first. The table is asked here, too, after it has changed: of two changes the later one wins. */
struct file_mark_args {
    struct file_at at;
    struct opens *opens;
};
engine_fn file_mark_held;

/* Visits all rows of all shares at start-up. `seen` tells where the file is now, or that it does
 * not exist and the row is stale. An error of `visit` ends the walk. */
typedef struct err file_held_visit(void *arg, struct str partition, const struct file_held *held,
                                   const struct file_seen *seen);
struct err file_held_walk(struct store *store, file_held_visit *visit, void *arg);

#endif
