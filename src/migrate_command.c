/* SPDX-License-Identifier: Apache-2.0 */
/* lazuli migrate: opens both stores, keeps stamps from repeating, reports the progress. */
#include "migrate_command.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "complain.h"
#include "core/container.h"
#include "core/crc/crc32c.h"
#include "engine/cluster/cluster.h"
#include "engine/local/local.h"
#include "engine/wait.h"
#include "jobs.h"
#include "migrate/migrate.h"
#include "progress.h"

/* If the source's stamps are ahead of the system's clock, so is this clock: the destination must
 * not repeat an ETag of the source. */
struct ahead_clock {
    struct clock clock;
    struct clock system;
    int64_t ticks;
};

static int64_t read_ahead_clock(const struct clock *c)
{
    const struct ahead_clock *a =
        CONTAINER_OF((struct clock *)(uintptr_t)c, struct ahead_clock, clock);
    return clock_now(&a->system) + a->ticks;
}

static void ahead_clock_init(struct ahead_clock *a)
{
    *a = (struct ahead_clock){.clock = {.read = read_ahead_clock}};
    clock_init_system(&a->system);
}

/* Returns the larger of the clock's time and the store's next stamp. */
static struct err read_stamp(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    int64_t *stamp = arg;
    *stamp = txn_stamp(t);
    return OK;
}

/* One end of the migration. */
struct end {
    const char *name; /* for messages */
    char path[PATH_MAX];
    char text[512]; /* why the cluster cannot be opened */
    struct ahead_clock clock;
    struct engine *engine;
};

static bool is_cluster(const char *word)
{
    return strcmp(word, "cluster") == 0;
}

/* The URI of the rows identifies the source. It may contain a password, so only its hash is
 * stored. */
static struct err open_cluster(struct end *end, const struct config *config)
{
    struct engine_cluster_options options = {.rows = config->rows,
                                             .extents = config->extents,
                                             .clock = &end->clock.clock,
                                             .text = end->text,
                                             .text_size = sizeof end->text};
    if (options.rows == NULL || options.extents == NULL)
        return err_detail(ERR_INVALID_INPUT, "needs --rows URI and --extents rados:POOL");
    (void)snprintf(end->path, sizeof end->path, "cluster %08x", crc32c(0, str_of(config->rows)));
    return engine_cluster_open(&options, &end->engine);
}

static struct err open_end(struct end *end, const struct config *config, const char *word,
                           bool existing)
{
    end->name = word;
    if (is_cluster(word))
        return open_cluster(end, config);
    struct engine_local_options options = {
        .folder = word, .clock = &end->clock.clock, .existing = existing};
    TRY(engine_local_open(&options, &end->engine));
    /* An absolute path identifies the source in the destination, wherever the command is run. */
    return realpath(word, end->path) == NULL ? err_new(ERR_IO) : OK;
}

static void print_done(const struct migrate *m, const struct end *to, int64_t ms)
{
    printf("%" PRIu64 " rows, %" PRIu64 " extents, %" PRIu64
           " bytes migrated to %s in %.1f s (%.1f MB/s), verified\n",
           m->rows, m->extents, m->bytes, to->name, (double)ms / 1000,
           ms == 0 ? 0.0 : (double)m->bytes / 1000 / (double)ms);
}

static int run(struct end *from, struct end *to)
{
    struct progress progress;
    progress_begin(&progress);
    struct migrate m = {.from = from->engine,
                        .to = to->engine,
                        .source = from->path,
                        .refs = jobs_row_extents,
                        .progress = progress_show_rate,
                        .arg = &progress};
    struct err error = migrate_run(&m);
    progress_clear(&progress);
    if (err_is(error))
        return complain_err(to->name, error);
    if (m.resumed)
        puts("went on with a migration that was interrupted");
    print_done(&m, to, progress_ms(&progress));
    return 0;
}

/* The destination's stamps begin after the source's. */
static struct err set_ahead(const struct end *from, struct end *to)
{
    int64_t stamp = 0;
    TRY(engine_update_wait(from->engine, MIGRATE_PARTITION, read_stamp, &stamp));
    int64_t now = clock_now(&to->clock.system);
    to->clock.ticks = stamp >= now ? stamp - now + 1 : 0;
    return OK;
}

static int open_both_and_run(const struct config *config, struct end *from, struct end *to)
{
    struct err error = open_end(from, config, config->migrate_from, true);
    if (!err_is(error))
        error = set_ahead(from, to);
    if (err_is(error))
        return complain_err(config->migrate_from, error);
    error = open_end(to, config, config->migrate_to, false);
    if (err_is(error))
        return complain_err(config->migrate_to, error);
    return run(from, to);
}

int migrate_command(const struct config *config)
{
    struct end from = {0}, to = {0};
    if (config->operand_count > 0 || config->migrate_from == NULL || config->migrate_to == NULL ||
        (is_cluster(config->migrate_from) && is_cluster(config->migrate_to)))
        return complain("migrate", "takes --from and --to, each a folder or `cluster`, not both "
                                   "the cluster");
    ahead_clock_init(&from.clock);
    ahead_clock_init(&to.clock);
    int status = open_both_and_run(config, &from, &to);
    if (to.engine != NULL)
        engine_close(to.engine);
    if (from.engine != NULL)
        engine_close(from.engine);
    return status;
}
