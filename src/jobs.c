/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs.h"

#include <assert.h>
#include <stdlib.h>

#include "core/mem.h"
#include "service/blob/owner.h"
#include "service/file/owner.h"
#include "service/table/table.h"

void jobs_init(struct jobs *jobs)
{
    const struct job {
        const char *name;
        sweep_step *step;
        void *context;
    } list[JOBS_COUNT] = {
        {"blob: deleted content", blob_sweep, &jobs->blob_sweep},
        {"blob: what has expired", blob_expire, &jobs->blob_expiry},
        {"blob: times of last access", blob_touch_sweep, NULL},
        {"queue: expired and deleted messages", queue_sweep, &jobs->queue_sweep},
        {"table: entities of deleted tables", table_sweep, &jobs->table_sweep},
        {"file: copies, and what was deleted", file_sweep, &jobs->file_sweep},
        {"file: deleted shares past their retention", file_expire, &jobs->file_expiry},
    };
    for (size_t i = 0; i < JOBS_COUNT; i++)
        jobs_add(jobs, list[i].name, list[i].step, list[i].context);
}

void jobs_add(struct jobs *jobs, const char *name, sweep_step *step, void *context)
{
    struct sweep_job *job = &jobs->list[jobs->count++];
    assert(jobs->count <= JOBS_COUNT + JOBS_ADDED_MAX);
    job->name = name;
    job->step = step;
    job->context = context;
}

bool jobs_row_extents(struct str partition, struct str key, struct str value,
                      void (*named)(void *sink, const struct extent *x), void *sink)
{
    /* The partition of a state that a test has saved: "s/NAME/" precedes the partition's own name
     * (saved.h). */
    if (str_starts(partition, STR("s/"))) {
        struct str rest = str_from(partition, 2);
        (void)str_cut(&rest, '/');
        partition = str_given(rest) ? rest : STR("");
    }
    if (str_starts(partition, STR("b/")))
        return blob_row_extents(key, value, named, sink);
    if (str_starts(partition, STR("f/")))
        return file_row_extents(key, value, named, sink);
    return true; /* the other services' rows name none */
}

static const struct {
    struct str prefix;
    engine_fn *find;
    const char *kind; /* of the partition */
} OWNERS[] = {
    {{"b/", 2}, blob_row_owners, "container"}, {{"f/", 2}, file_row_owners, "share"},
    {{"q/", 2}, queue_row_owners, "queue"},    {{"e/", 2}, table_row_owners, "table"},
    {{"t/", 2}, NULL, "the tables of"},
};

/* If the search finds no owner, because of other damage or because nothing refers to the row, names
 * its partition. */
void jobs_row_owners(struct engine *e, const struct row_owners *rows)
{
    struct owner_search search = {.partition = rows->partition,
                                  .keys = rows->keys,
                                  .count = rows->count,
                                  .unread = rows->unread,
                                  .unread_count = rows->unread_count,
                                  .told = mem_calloc(rows->count, sizeof(bool)),
                                  .found = rows->found,
                                  .sink = rows->sink};
    const char *kind = "the server's own";
    for (size_t i = 0; i < sizeof OWNERS / sizeof OWNERS[0]; i++) {
        if (!str_starts(rows->partition, OWNERS[i].prefix))
            continue;
        kind = OWNERS[i].kind;
        if (OWNERS[i].find != NULL)
            (void)!err_is(engine_view(e, rows->partition, ENGINE_WAIT, OWNERS[i].find, &search));
    }
    for (size_t i = 0; i < rows->count; i++) {
        if (!search.told[i])
            owner_tell_container(&search, i, kind);
    }
    free(search.told);
}
