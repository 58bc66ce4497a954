/* SPDX-License-Identifier: Apache-2.0 */
/* The one thread for background work: what has expired, was deleted or outlived its retention is
 * taken away in small steps, each an ordinary bounded transaction, so that no request waits for it.
 * A service hands in a row of jobs; what a job did is told in the log. */
#ifndef SERVICE_COMMON_SWEEPER_H
#define SERVICE_COMMON_SWEEPER_H

#include "service/common/store.h"

struct sweep_report {
    uint64_t removed; /* things taken away by this step, for the log */
    bool more; /* there is more to do now: the sweeper comes back at once, after the other jobs */
};

/* One bounded step (aim: under 10 ms). context is the job's own. */
typedef struct err sweep_step(struct store *store, void *context, struct sweep_report *report);

struct sweep_job {
    const char *name; /* "blob: deleted containers" */
    sweep_step *step;
    void *context;
};

struct sweeper;

/* jobs stay the caller's. Each is tried every second, or at once while it says more. */
struct err sweeper_start(struct store *store, const struct sweep_job *jobs, size_t count,
                         struct sweeper **out);
/* Returns when the step under way has ended. NULL is fine. */
void sweeper_stop(struct sweeper *sweeper);

#endif
