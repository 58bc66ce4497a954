/* SPDX-License-Identifier: Apache-2.0 */
/* The background jobs of all services, and the functions that know which extents and owners their
 * rows have. */
#ifndef JOBS_H
#define JOBS_H

#include "engine/local/local.h"
#include "service/account/registry.h"
#include "service/blob/sweep.h"
#include "service/blob/touch.h"
#include "service/common/sweeper.h"
#include "service/file/sweep.h"
#include "service/queue/queue.h"
#include "service/table/sweep.h"

enum { JOBS_COUNT = 7, JOBS_ADDED_MAX = 3 };

/* The jobs' positions between two steps. */
struct jobs {
    struct blob_round blob_sweep, blob_expiry;
    struct queue_sweep queue_sweep;
    struct table_sweep table_sweep;
    struct file_round file_sweep;
    struct file_expiry file_expiry;
    struct sweep_job list[JOBS_COUNT + JOBS_ADDED_MAX];
    size_t count;
};

/* Of one that is all zero. */
void jobs_init(struct jobs *jobs);
/* One more. */
void jobs_add(struct jobs *jobs, const char *name, sweep_step *step, void *context);

/* For `lazuli check`: the extents that a row of any service names; false if it cannot be decoded.
 */
bool jobs_row_extents(struct str partition, struct str key, struct str value,
                      void (*named)(void *sink, const struct extent *x), void *sink);

/* For `lazuli check`: the owners of a partition's rows, in words. Each key gets at least one. */
void jobs_row_owners(struct engine *e, const struct row_owners *rows);

#endif
