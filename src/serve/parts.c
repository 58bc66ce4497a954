/* SPDX-License-Identifier: Apache-2.0 */
/* The parts below the listeners: clock, engine, accounts, threads, the REST front end, background
 * work. */
#include "serve/server.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "account_sources.h"
#include "auth/oauth.h"
#include "complain.h"
#include "control.h"
#include "core/clock_control.h"
#include "core/container.h"
#include "core/line_log.h"
#include "core/mem.h"
#include "engine/cluster/cluster.h"
#include "engine/local/local.h"
#include "engine/mem/mem.h"
#include "lookup.h"
#include "migrate/migrate.h"
#include "net/dial.h"
#include "net/pool.h"
#include "rest/body/bulk.h"
#include "rest/body/digest.h"
#include "rest/copy/copier.h"
#include "rest/service_properties.h"
#include "rest/watch/inspector.h"
#include "rest/watch/script.h"
#include "service/blob/path/path_across.h"
#include "service/census/census.h"
#include "service/common/saved.h"
#include "service/file/opens/opens.h"

enum {
    POOL_THREADS = 4,
    CLUSTER_POOL_THREADS = 16, /* they wait for the network, not for the processor */
    SENDER_NICENESS = 5, /* threads that send long replies have lower priority than the loops */
    FETCH_THREADS = 8,
    LOG_FLUSH_MS = 250,
};

const char *const SERVE_NAMES[SERVICE_KIND_COUNT] = {"blob", "queue", "table", "file"};

int serve_start_clock(struct server *s)
{
    struct err error = OK;
    clock_init_system(&s->clock);
    if (s->config->clock_file != NULL)
        error = clock_init_file(&s->clock, s->config->clock_file);
    if (err_is(error))
        return complain_err(s->config->clock_file, error);
    if (s->config->test_control)
        s->clock_control = clock_control_new(&s->clock);
    return 0;
}

/* A store that a migration is still filling is not served: missing objects would look deleted. */
static int refuse_unfinished(struct server *s)
{
    bool unfinished = false;
    struct err error = migrate_unfinished(s->store.engine, &unfinished);
    if (err_is(error))
        return complain_err(s->config->data, error);
    return unfinished ? complain(s->config->data, "a migration into this store has not ended; run "
                                                  "the same `lazuli migrate` again")
                      : 0;
}

static int open_cluster(struct server *s)
{
    char text[512] = "";
    struct engine_cluster_options options = {.rows = s->config->rows,
                                             .extents = s->config->extents,
                                             .clock = &s->clock,
                                             .text = text,
                                             .text_size = sizeof text};
    if (options.rows == NULL || options.extents == NULL)
        return complain("--engine cluster", "needs --rows URI and --extents rados:POOL");
    struct err error = engine_cluster_open(&options, &s->store.engine);
    return err_is(error) ? complain("--engine cluster", text) : refuse_unfinished(s);
}

/* Saved states of test control continue to record even without it, so that they stay complete. */
static int start_recording(struct server *s)
{
    struct err error = saved_open(&s->store, jobs_row_extents, s->config->test_control, &s->saved);
    return err_is(error) ? complain_err(s->config->data, error) : 0;
}

int serve_start_engine(struct server *s)
{
    s->store.clock = &s->clock;
    s->store.alone_since = s->config->engine == CONFIG_ENGINE_CLUSTER ? 0 : store_now(&s->store);
    s->store.rescue = path_across_rescue;
    s->store.opens = opens_new();
    s->store.touches = s->config->track_last_access ? blob_touches_new() : NULL;
    if (s->config->in_memory) {
        s->store.engine = engine_mem_new(&s->clock);
        engine_mem_limit(s->store.engine, s->config->memory_limit);
        return start_recording(s);
    }
    if (s->config->engine == CONFIG_ENGINE_CLUSTER)
        return open_cluster(s);
    struct engine_local_options options = {
        .folder = s->config->data,
        .clock = &s->clock,
        .relaxed = s->config->relaxed,
        .cache_bytes = s->config->cache_mib << 20,
    };
    struct err error = engine_local_open(&options, &s->store.engine);
    if (err_is(error))
        return complain_err(s->config->data, error);
    int status = refuse_unfinished(s);
    return status != 0 ? status : start_recording(s);
}

int serve_start_accounts(struct server *s)
{
    s->accounts = accounts_new();
    s->registry = (struct registry){.store = &s->store, .accounts = s->accounts};
    struct err error = registry_follower_init(&s->follower, &s->registry);
    if (err_is(error))
        return complain_err("accounts", error);
    return account_sources_load(s->config, &s->registry);
}

static struct err backup(void *server, struct engine_backup *backup)
{
    const struct server *s = server;
    if (s->config->engine != CONFIG_ENGINE_LOCAL)
        return err_detail(ERR_NOT_IMPLEMENTED, "Reason\tonly of --engine local");
    return engine_local_backup(s->store.engine, backup);
}

static struct err import_azurite(void *server, struct azurite_import *import)
{
    struct server *s = server;
    import->data = s->config->data;
    return azurite_import(&s->store, import);
}

/* Nothing before the services listen. */
static void tell_endpoints(void *server, struct buf *out)
{
    const struct server *s = server;
    if (!atomic_load(&s->listening))
        return;
    for (unsigned i = 0; i < SERVICE_KIND_COUNT; i++) {
        const char *host = s->config->host[i];
        bool any = strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
        bool six = !any && strchr(host, ':') != NULL;
        if (s->ports.service[i] != 0)
            buf_printf(out, "%s http://%s%s%s:%u\n", SERVE_NAMES[i], six ? "[" : "",
                       any ? "127.0.0.1" : host, six ? "]" : "", s->ports.service[i]);
    }
}

/* In the data folder; without one there is no control socket. */
int serve_start_control(struct server *s)
{
    bool cluster = s->config->engine == CONFIG_ENGINE_CLUSTER;
    if (s->config->in_memory || (cluster && !s->config->data_given))
        return 0;
    if (cluster && mkdir(s->config->data, 0700) != 0 && errno != EEXIST)
        return complain(s->config->data, strerrordesc_np(errno));
    struct control_calls calls = {backup, import_azurite, tell_endpoints, s};
    struct err error = control_new(s->config->data, &s->registry, &calls, &s->control);
    return err_is(error) ? complain_err("control socket", error) : 0;
}

int serve_start_oauth(struct server *s)
{
    if (s->config->oauth == NULL)
        return 0;
    struct err error = oauth_new(s->config->oauth, &s->oauth);
    return err_is(error) ? complain(s->config->oauth, error.detail) : 0;
}

/* The processors that this process may use, maybe fewer than exist. */
static size_t count_cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
}

int serve_start_loops(struct server *s)
{
    s->loop_count = s->config->threads != 0 ? s->config->threads : count_cores();
    if (s->loop_count > LOOPS_MAX)
        s->loop_count = LOOPS_MAX;
    for (size_t i = 0; i < s->loop_count; i++) {
        struct err error = loop_new(&s->loops[i]);
        if (err_is(error))
            return complain_err("event loop", error);
    }
    bool cluster = s->config->engine == CONFIG_ENGINE_CLUSTER;
    struct err error = pool_new(cluster ? CLUSTER_POOL_THREADS : POOL_THREADS, &s->pool);
    if (!err_is(error) && cluster) /* while Ceph hangs, what reads only rows is still served */
        error = pool_new(CLUSTER_POOL_THREADS, &s->content_pool);
    if (!err_is(error))
        error = bulk_new((unsigned)(s->loop_count + 1) / 2, &s->bulk);
    if (!err_is(error))
        error = pool_new_nice((unsigned)s->loop_count, SENDER_NICENESS, &s->senders);
    if (!err_is(error)) /* as many as store HTTP's large bodies */
        error = pool_new_nice((unsigned)(s->loop_count + 1) / 2, SENDER_NICENESS, &s->storers);
    return err_is(error) ? complain_err("threads", error) : 0;
}

static void flush_log(struct loop_timer *timer)
{
    struct server *s = CONTAINER_OF(timer, struct server, log_timer);
    line_log_flush(s->rest.log);
    loop_timer_set(s->loops[0], timer, LOG_FLUSH_MS);
}

/* For copies from other servers: the reachable addresses, and threads that may block. */
int serve_start_copies(struct server *s)
{
    struct reach reach;
    if (err_is(reach_parse(s->config->copy_sources, &reach)))
        return complain(s->config->copy_sources, "--copy-sources: not hosts, addresses and nets");
    struct err error = dialer_new(&reach, &s->dialer);
    if (!err_is(error))
        error = pool_new(FETCH_THREADS, &s->fetch_pool);
    if (!err_is(error))
        error = copier_start(&s->store, s->dialer, &s->copier);
    if (err_is(error))
        return complain_err("copies", error);
    s->rest.fetch_pool = s->fetch_pool;
    s->rest.dialer = s->dialer;
    s->rest.copier = s->copier;
    return 0;
}

void serve_stop_copies(struct server *s)
{
    if (s->dialer != NULL)
        dialer_stop(s->dialer);
    copier_stop(s->copier);
    if (s->fetch_pool != NULL)
        pool_free(s->fetch_pool);
    dialer_free(s->dialer);
}

void serve_start_rest(struct server *s, const char *server_name)
{
    const struct config *c = s->config;
    s->rest = (struct rest_server){
        .options = {.product_style = !c->path_style_only,
                    .server_name = server_name,
                    .json_log = c->json_log,
                    .slow_us = (int64_t)c->slow_ms * 1000},
        .store = &s->store,
        .auth = {.accounts = s->accounts,
                 .store = &s->store,
                 .clock = &s->clock,
                 .oauth = s->oauth,
                 .real = s->clock_control,
                 .lookup = lookup_of_services()},
        .cors_rules = rest_service_cors_rules,
        .pool = s->pool,
        .content_pool = s->content_pool,
        .digests = digests_new(s->loops, s->loop_count),
        .bulk = s->bulk,
        .log = line_log_new(STDOUT_FILENO),
        .inspector = c->no_inspector ? NULL : inspector_new(c->explain),
        .script = s->script = c->test_control ? script_new() : NULL,
    };
    for (unsigned i = 0; i < SERVICE_KIND_COUNT; i++)
        match_index_init(&s->rest.match[i], match_table((enum service_kind)i));
    match_index_init(&s->rest.match_dfs, &OPS_DFS);
    reload_set_options(&s->rest.options, c);
    line_log_mute(s->rest.log, c->silent);
    s->log_timer.fire = flush_log;
    loop_timer_set(s->loops[0], &s->log_timer, LOG_FLUSH_MS);
}

/* The log already has the reason. */
int serve_start_tls(struct server *s)
{
    const struct config *c = s->config;
    if (c->cert == NULL)
        return 0;
    struct err error = tls_new(&(struct tls_files){c->cert, c->key, c->pwd}, &s->tls);
    return err_is(error) ? complain(c->cert, "cannot serve HTTPS with it") : 0;
}

int serve_start_reloader(struct server *s)
{
    struct reload_parts parts = {.rest = &s->rest,
                                 .http = s->http,
                                 .smb = s->smb,
                                 .tls = s->tls,
                                 .registry = &s->registry,
                                 .idle_ms = s->idle_ms,
                                 .pool = s->pool};
    s->reloader = reloader_new(s->config, &parts);
    return 0;
}

int serve_start_sweeper(struct server *s)
{
    jobs_init(&s->jobs);
    if (s->config->engine == CONFIG_ENGINE_CLUSTER)
        jobs_add(&s->jobs, "accounts: changes by others", registry_follow, &s->follower);
    jobs_add(&s->jobs, "metrics: count of all objects", census_sweep, s->census);
    jobs_add(&s->jobs, "memory: what is free goes back", memory_trim_sweep, &s->trim);
    struct err error = sweeper_start(&s->store, s->jobs.list, s->jobs.count, &s->sweeper);
    return err_is(error) ? complain_err("sweeper", error) : 0;
}
