/* SPDX-License-Identifier: Apache-2.0 */
/* Going on where an earlier run of the same transfer was cut off: from and to the same places, of
 * the same things. Whatever else lies there is passed over, as what it skips would be missing. */
#ifndef TRANSFER_RESUME_H
#define TRANSFER_RESUME_H

#include "transfer/bookmark.h"
#include "transfer/item.h"
#include "transfer/remote.h"

struct resume {
    struct bookmark state;
    uint64_t of;
};

/* `path` NULL: nothing is kept. `of`: which transfer it is. */
void resume_open(struct resume *r, const char *path, uint64_t of);
/* All before and including this place is done; NULL: it has begun. */
void resume_reached(struct resume *r, const struct position *position, uint64_t number);
/* True if this transfer has begun before. */
bool resume_is_same(const struct resume *r);
/* The place that an earlier run has reached, in the arena. False: there is none, or the target (if
 * it is not NULL) has lost what that run has made. */
bool resume_find(const struct resume *r, struct arena *a, struct remote *target,
                 struct position *out, uint64_t *number);
/* done: the next run begins anew. */
void resume_close(struct resume *r, bool done);

#endif
