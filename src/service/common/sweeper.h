/* SPDX-License-Identifier: Apache-2.0 */
/* The background thread that deletes what has expired, was deleted or has outlived its
 * retention. It works in small steps, each an ordinary bounded transaction, so that no request
 * waits for it. Each service registers jobs; the log reports what a job did. */
#ifndef SERVICE_COMMON_SWEEPER_H
#define SERVICE_COMMON_SWEEPER_H

#include "core/tally.h"
#include "service/common/store.h"

struct sweep_report {
    uint64_t removed; /* objects removed by this step, for the log */
    bool more; /* there is more to do now: the sweeper returns to this job right after the others */
};

/* One bounded step (aim: under 10 ms). context belongs to the job. */
typedef struct err sweep_step(struct store *store, void *context, struct sweep_report *report);

struct sweep_job {
    const char *name; /* "blob: deleted containers" */
    sweep_step *step;
    void *context;
    /* Counters, for metrics. */
    tally steps, removed, failures;
    tally last_step; /* when it last ended: seconds since 1970 */
};

struct sweeper;

/* The caller keeps ownership of jobs. Each runs every second, or again at once while it reports
 * more. */
struct err sweeper_start(struct store *store, struct sweep_job *jobs, size_t count,
                         struct sweeper **out);
/* Returns when the current step has ended. NULL is allowed. */
void sweeper_stop(struct sweeper *sweeper);

#endif
