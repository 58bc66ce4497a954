/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by move.c and move_copy.c: the move of one bucket from one shard to another. */
#ifndef ENGINE_CLUSTER_MOVE_H
#define ENGINE_CLUSTER_MOVE_H

#include "engine/cluster/cluster_internal.h"

enum { MOVE_LEASE_S = 10, MOVE_CHANGES_EACH = 200 };

struct mover {
    struct cluster_session *session;
    struct arena arena; /* of one step */
    int64_t holder;     /* of the lease */
    int64_t renewed;    /* monotonic milliseconds */
    cluster_progress *progress;
    void *progress_arg;
    uint64_t moved, total;
    /* the bucket */
    unsigned bucket;
    unsigned from, to;
    int64_t attempt;
    uint64_t copied; /* rows */
};

/* ERR_SERVER_BUSY: another mover has the lease. */
struct err mover_renew(struct mover *m);
/* Runs a statement with numbers; ERR_CONDITION_NOT_MET if it returns no row. */
struct err mover_must(struct mover *m, unsigned shard, const char *sql);

/* Copies all rows, partitions and counts of extents, starting where an earlier mover has ended. */
struct err move_copy_all(struct mover *m);
/* Copies the changes; sets *left if there may be more. */
struct err move_copy_changes(struct mover *m, bool *left);
/* Deletes a shard's copy of the bucket, which nobody reads. */
struct err move_clean(struct mover *m, unsigned shard);

#endif
