/* SPDX-License-Identifier: Apache-2.0 */
/* Continues an interrupted transfer: one between the same source and target, with the same
 * selection. The state of any other transfer is ignored, because continuing there would skip
 * objects that were never transferred. */
#ifndef TRANSFER_RESUME_H
#define TRANSFER_RESUME_H

#include "transfer/bookmark.h"
#include "transfer/item.h"
#include "transfer/remote.h"

struct resume {
    struct bookmark state;
    uint64_t of;
};

/* `path` NULL: no state is stored. `of`: identifies the transfer. */
void resume_open(struct resume *r, const char *path, uint64_t of);
/* Everything up to and including this position is done; NULL: the transfer has begun. */
void resume_reached(struct resume *r, const struct position *position, uint64_t number);
/* True if this transfer has begun before. */
bool resume_is_same(const struct resume *r);
/* Finds the position that an earlier run has reached, in the arena. False: there is none, or the
 * target (if it is not NULL) no longer has the objects that the run has created. */
bool resume_find(const struct resume *r, struct arena *a, struct remote *target,
                 struct position *out, uint64_t *number);
/* done: the next run begins anew. */
void resume_close(struct resume *r, bool done);

#endif
