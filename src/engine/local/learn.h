/* SPDX-License-Identifier: Apache-2.0 */
/* After a start nobody knows where rows lie whole in the journal (row_places.h). When rows are
 * asked for and their places are not known, the reaper walks over the rows of that partition and of
 * those behind it, and notes all of them: a third of a microsecond for each, where a search for one
 * takes twenty and more. A store that nobody reads so is not walked, and needs no memory for it. */
#ifndef ENGINE_LOCAL_LEARN_H
#define ENGINE_LOCAL_LEARN_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/buf.h"

struct local_engine;

enum learn_stage {
    LEARN_IDLE,
    LEARN_ASKED, /* someone is writing down where to begin */
    LEARN_WALKING,
};

struct learner {
    _Atomic uint64_t missed;     /* rows whose places were not known, since the last walk */
    _Atomic uint64_t missed_max; /* so many are waited for */
    atomic_int stage;
    struct buf from; /* where it goes on */
    struct buf end;  /* where it ends when it has come round */
    bool round;      /* it has begun again with the first row */
    uint64_t walked; /* how many rows this walk has seen */
};

void learn_init(struct learner *l);
void learn_release(struct learner *l);

/* A row was searched for, in the partition with this prefix, and its place is known only now. */
void learn_missed(struct local_engine *e, struct str partition);

/* The reaper's: whether there is something to learn, and the next few rows of it. */
static inline bool learn_wanted(const struct learner *l)
{
    return atomic_load(&l->stage) == LEARN_WALKING;
}
void learn_some(struct local_engine *e);

#endif
