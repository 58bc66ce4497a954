/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of opens that survive a restart: one per open, in its share's partition, so that a file
 * and the open that made it are written in one transaction. What the front end has to know besides
 * lies in the row as bytes of its own. */
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
/* Reads a row; what it holds is borrowed from it, and the locks lie in the arena. ERR_CORRUPT. */
struct err file_held_read(struct arena *a, struct str key, struct str value, struct file_held *out);

/* Writes the row, new or again. ERR_SHARE_NOT_FOUND. Whether the file is to be deleted is asked of
 * the table then, not told: it may have changed since the open was described, and who has changed
 * it found no row to mark. */
struct file_hold_args {
    struct file_at at;
    struct opens *opens;
    struct file_held held;
};
engine_fn file_hold;

/* The open is over; what is gone already is no error. */
struct file_let_go_args {
    uint64_t incarnation;
    uint64_t id;
};
engine_fn file_let_go;

/* Whether the file at.id is to be deleted, told to all opens of it that survive: that is the file's
 * and not that of the open it was said through ([MS-FSA] 2.1.5.15.3), which may be gone first. The
 * table is asked here too, after it has changed: of two changes, the later one's word stays. */
struct file_mark_args {
    struct file_at at;
    struct opens *opens;
};
engine_fn file_mark_held;

/* All rows of all shares, at start-up, one call each; `seen` tells where the file is now, and that
 * it does not exist when the row is stale. An error of `visit` ends the walk. */
typedef struct err file_held_visit(void *arg, struct str partition, const struct file_held *held,
                                   const struct file_seen *seen);
struct err file_held_walk(struct store *store, file_held_visit *visit, void *arg);

#endif
