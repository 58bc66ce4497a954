/* SPDX-License-Identifier: Apache-2.0 */
/* Folding: a chunk that has gathered many small blocks, or holds extents of which little is still
 * used, becomes one extent again. In three steps, so that no transaction waits for bytes: plan in a
 * view, copy outside, commit in an update that does nothing when the chunk has changed meanwhile.
 */
#ifndef SERVICE_COMMON_INTERVAL_FOLD_H
#define SERVICE_COMMON_INTERVAL_FOLD_H

#include "service/common/interval.h"

struct interval_fold {
    uint32_t chunk;
    bool worth_it;
    struct interval_part *parts; /* in order */
    size_t part_count;
    uint32_t bytes;
    uint64_t rows, stamps; /* what the chunk's rows looked like */
    struct extent extent;  /* the copy */
};

/* Looks at the chunk. All of the plan lies in the arena. */
struct err interval_fold_plan(const struct interval_map *m, uint32_t chunk, struct arena *a,
                              struct interval_fold *out);
/* Copies the bytes into a new extent. The caller holds a pin from before the plan's view. */
struct err interval_fold_copy(struct engine *e, struct interval_fold *f);
/* Puts the copy in place. When *done is false (or with an error) the extent is the caller's to
 * discard. */
struct err interval_fold_commit(struct interval_map *m, const struct interval_fold *f, bool *done);

/* All three steps for a map that only its owner can find. The owner's functions have `arg`, in
 * which the map lies too. */
struct interval_folding {
    struct str partition;
    uint32_t chunk;
    void *arg;
    /* In a view and in an update: finds the map; *map is NULL when there is none any more. */
    struct err (*open)(struct txn *t, void *arg, struct interval_map **map);
    /* In the update: what asked for the fold goes, whatever comes of it. The next write into the
     * chunk asks again. */
    struct err (*drop_note)(struct txn *t, void *arg);
    /* In the update, when the map has been folded: keeps what has changed of it. */
    struct err (*keep)(struct txn *t, void *arg);
    /* Its own. */
    struct arena arena;
    struct interval_fold fold;
    bool done;
};
struct err interval_fold_run(struct engine *e, struct interval_folding *f);

#endif
