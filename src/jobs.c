/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs.h"

void jobs_init(struct jobs *jobs)
{
    *jobs = (struct jobs){0};
    const struct sweep_job list[JOBS_COUNT] = {
        {"blob: deleted content", blob_sweep, &jobs->blob_sweep},
        {"blob: what has expired", blob_expire, &jobs->blob_expiry},
        {"blob: times of last access", blob_touch_sweep, NULL},
        {"queue: expired and deleted messages", queue_sweep, &jobs->queue_sweep},
        {"table: entities of deleted tables", table_sweep, &jobs->table_sweep},
        {"file: copies, and what was deleted", file_sweep, &jobs->file_sweep},
        {"file: deleted shares past their retention", file_expire, &jobs->file_expiry},
    };
    memcpy(jobs->list, list, sizeof list);
}

bool jobs_row_extents(struct str partition, struct str key, struct str value,
                      void (*named)(void *sink, const struct extent *x), void *sink)
{
    if (str_starts(partition, STR("b/")))
        return blob_row_extents(key, value, named, sink);
    if (str_starts(partition, STR("f/")))
        return file_row_extents(key, value, named, sink);
    return true; /* the other services' rows name none */
}
