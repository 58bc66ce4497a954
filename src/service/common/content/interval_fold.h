/* SPDX-License-Identifier: Apache-2.0 */
/* Folding: turns a chunk that has collected many small blocks, or holds extents that are mostly
 * unused, into one extent. It has three steps, so that no transaction waits for bytes: plan in a
 * view, copy outside, commit in an update. The update does nothing if the chunk has changed
 * meanwhile. */
#ifndef SERVICE_COMMON_CONTENT_INTERVAL_FOLD_H
#define SERVICE_COMMON_CONTENT_INTERVAL_FOLD_H

#include "service/common/content/interval.h"

struct interval_fold {
    uint32_t chunk;
    bool worth_it;
    struct interval_part *parts; /* in order */
    size_t part_count;
    uint32_t bytes;
    uint64_t rows, stamps; /* fingerprint of the chunk's rows */
    struct extent extent;  /* the copy */
};

/* Examines the chunk. The plan is in the arena. */
struct err interval_fold_plan(const struct interval_map *m, uint32_t chunk, struct arena *a,
                              struct interval_fold *out);
/* Copies the bytes into a new extent. The caller holds a pin from before the plan's view. */
struct err interval_fold_copy(struct engine *e, struct interval_fold *f);
/* Installs the copy. If *done is false, or on an error, the caller discards the extent. */
struct err interval_fold_commit(struct interval_map *m, const struct interval_fold *f, bool *done);

/* All three steps for a map that only its owner can find. The owner's functions get `arg`, which
 * contains the map. */
struct interval_folding {
    struct str partition;
    uint32_t chunk;
    void *arg;
    /* In a view and in an update: finds the map; sets *map to NULL if it no longer exists. */
    struct err (*open)(struct txn *t, void *arg, struct interval_map **map);
    /* In the update: removes the request for the fold, with any outcome. The next write to the
     * chunk requests it again. */
    struct err (*drop_note)(struct txn *t, void *arg);
    /* In the update, after the fold: saves the map's changes. */
    struct err (*keep)(struct txn *t, void *arg);
    /* Its own. */
    struct arena arena;
    struct interval_fold fold;
    bool done;
};
struct err interval_fold_run(struct engine *e, struct interval_folding *f);

#endif
