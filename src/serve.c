/* SPDX-License-Identifier: Apache-2.0 */
#include "serve.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "account_sources.h"
#include "admin/admin.h"
#include "announce.h"
#include "auth/oauth.h"
#include "complain.h"
#include "control.h"
#include "core/clock_control.h"
#include "core/line_log.h"
#include "core/mem.h"
#include "engine/local/local.h"
#include "engine/mem/mem.h"
#include "http/server.h"
#include "jobs.h"
#include "lookup.h"
#include "net/address_count.h"
#include "net/dial.h"
#include "net/pool.h"
#include "notify.h"
#include "reachable.h"
#include "reload.h"
#include "rest/bulk.h"
#include "rest/copy/copier.h"
#include "rest/digest.h"
#include "rest/server.h"
#include "rest/service_properties.h"
#include "rest/watch/inspector.h"
#include "rest/watch/script.h"
#include "seed.h"
#include "service/file/opens/opens.h"
#include "smb/server.h"

enum {
    LOOPS_MAX = 256,
    POOL_THREADS = 4,
    FETCH_THREADS = 8,
    DRAIN_MS = 10000,
    ADMIN_DRAIN_MS = 500,
    LOG_FLUSH_MS = 250,
    ADMIN_CONNECTIONS_MAX =
        256, /* apart from the services', so that it answers when they are full */
};

struct server {
    const struct config *config;
    struct clock clock;
    struct store store;
    struct accounts *accounts;
    struct registry registry;
    struct control *control;
    struct oauth *oauth;
    struct loop *loops[LOOPS_MAX];
    pthread_t threads[LOOPS_MAX];
    size_t loop_count;
    struct pool *pool;
    struct pool *fetch_pool;
    struct bulk *bulk;
    struct dialer *dialer;
    struct copier *copier;
    struct rest_server rest;
    struct rest_listener listeners[SERVICE_KIND_COUNT];
    struct rest_listener dfs_listener;
    struct http_server *http;
    struct admin *admin;
    struct script *script;               /* test control's; NULL: it is off */
    struct clock_control *clock_control; /* the same */
    struct seed_target seed;
    pthread_t seeder;
    bool seeding;
    struct http_server *admin_http; /* NULL: off */
    struct smb_server *smb;
    struct address_counts *addresses; /* of both */
    struct tls *tls;
    struct jobs jobs;
    struct sweeper *sweeper;
    struct loop_watch signals;
    struct loop_timer log_timer;
    bool draining;
    struct announce_ports ports;
    struct reloader *reloader;
    atomic_int_fast64_t idle_ms[SERVICE_KIND_COUNT];
};

static const char *const SERVICE_NAMES[SERVICE_KIND_COUNT] = {"blob", "queue", "table", "file"};

/* ---- start-up, in order; each returns an exit status ---- */

static int start_clock(struct server *s)
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

static int start_engine(struct server *s)
{
    s->store.clock = &s->clock;
    s->store.opens = opens_new();
    s->store.touches = s->config->track_last_access ? blob_touches_new() : NULL;
    if (s->config->in_memory) {
        s->store.engine = engine_mem_new(&s->clock);
        engine_mem_limit(s->store.engine, s->config->memory_limit);
        return 0;
    }
    struct engine_local_options options = {
        .folder = s->config->data,
        .clock = &s->clock,
        .relaxed = s->config->relaxed,
        .cache_bytes = s->config->cache_mib << 20,
    };
    struct err error = engine_local_open(&options, &s->store.engine);
    return err_is(error) ? complain_err(s->config->data, error) : 0;
}

static int start_accounts(struct server *s)
{
    s->accounts = accounts_new();
    s->registry = (struct registry){.store = &s->store, .accounts = s->accounts};
    return account_sources_load(s->config, &s->registry);
}

static struct err backup(void *server, struct engine_backup *backup)
{
    const struct server *s = server;
    return engine_local_backup(s->store.engine, backup);
}

static struct err import_azurite(void *server, struct azurite_import *import)
{
    struct server *s = server;
    import->data = s->config->data;
    return azurite_import(&s->store, import);
}

/* In the data folder; without one there is nobody to be asked for. */
static int start_control(struct server *s)
{
    if (s->config->in_memory)
        return 0;
    struct control_calls calls = {backup, import_azurite, s};
    struct err error = control_new(s->config->data, &s->registry, &calls, &s->control);
    return err_is(error) ? complain_err("control socket", error) : 0;
}

static int start_oauth(struct server *s)
{
    if (s->config->oauth == NULL)
        return 0;
    struct err error = oauth_new(s->config->oauth, &s->oauth);
    return err_is(error) ? complain(s->config->oauth, error.detail) : 0;
}

/* Those that this process may use, which may be fewer than there are. */
static size_t count_cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
}

static int start_loops(struct server *s)
{
    s->loop_count = s->config->threads != 0 ? s->config->threads : count_cores();
    if (s->loop_count > LOOPS_MAX)
        s->loop_count = LOOPS_MAX;
    for (size_t i = 0; i < s->loop_count; i++) {
        struct err error = loop_new(&s->loops[i]);
        if (err_is(error))
            return complain_err("event loop", error);
    }
    struct err error = pool_new(POOL_THREADS, &s->pool);
    if (!err_is(error))
        error = bulk_new((unsigned)(s->loop_count + 1) / 2, &s->bulk);
    return err_is(error) ? complain_err("threads", error) : 0;
}

static void flush_log(struct loop_timer *timer)
{
    struct server *s = (struct server *)((char *)timer - offsetof(struct server, log_timer));
    line_log_flush(s->rest.log);
    loop_timer_set(s->loops[0], timer, LOG_FLUSH_MS);
}

/* What copies from other servers need: which may be reached, and threads that may wait for them. */
static int start_copies(struct server *s)
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

static void stop_copies(struct server *s)
{
    if (s->dialer != NULL)
        dialer_stop(s->dialer);
    copier_stop(s->copier);
    if (s->fetch_pool != NULL)
        pool_free(s->fetch_pool);
    dialer_free(s->dialer);
}

static void start_rest(struct server *s, const char *server_name)
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
        .cors_rules = service_cors_rules,
        .pool = s->pool,
        .digests = digests_new(s->loops, s->loop_count),
        .bulk = s->bulk,
        .log = line_log_new(STDOUT_FILENO),
        .inspector = c->no_inspector ? NULL : inspector_new(),
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

/* The log has said already what is wrong with the files. */
static int start_tls(struct server *s)
{
    const struct config *c = s->config;
    if (c->cert == NULL)
        return 0;
    struct err error = tls_new(&(struct tls_files){c->cert, c->key, c->pwd}, &s->tls);
    return err_is(error) ? complain(c->cert, "cannot serve HTTPS with it") : 0;
}

/* What came of an attempt to listen; *port is 0 when it is done without. */
static int listened(const char *name, const char *host, uint64_t wanted, struct err error,
                    uint16_t *port)
{
    char place[256];
    (void)snprintf(place, sizeof place, "%s %s:%u", name, host,
                   (unsigned)(err_is(error) ? wanted : *port));
    if (!err_is(error)) {
        log_line(LOG_INFO, "serving %s", place);
        return 0;
    }
    *port = 0;
    if ((wanted & CONFIG_PORT_UNSET) == 0 || error.cause != EADDRINUSE)
        return complain_err(place, error);
    log_line(LOG_WARN, "%s is in use: not served (--%s-port picks another)", place, name);
    return 0;
}

static int listen_for(struct server *s, size_t i)
{
    const struct config *c = s->config;
    uint16_t port = 0;
    if (c->port[i] == CONFIG_PORT_OFF)
        return 0;
    s->listeners[i] = (struct rest_listener){.server = &s->rest, .service = (enum service_kind)i};
    struct http_place place = {
        .host = c->host[i], .port = (uint16_t)c->port[i], .idle_ms = &s->idle_ms[i]};
    atomic_store(&s->idle_ms[i], reload_idle_ms(c, i));
    struct err error = http_server_listen_at(s->http, &place, &s->listeners[i], &port);
    int status = listened(SERVICE_NAMES[i], c->host[i], c->port[i], error, &port);
    s->rest.ports[i] = port;
    s->ports.service[i] = port;
    return status;
}

static int start_listeners(struct server *s)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    limits.connections_max = (unsigned)s->config->connections_max;
    limits.connections_per_address = (unsigned)s->config->connections_per_address;
    limits.addresses = s->addresses;
    struct err error = http_server_new(s->loops, s->loop_count, &REST_HANDLER, &limits, &s->http);
    if (err_is(error))
        return complain_err("http", error);
    http_server_use_clock(s->http, &s->clock);
    http_server_use_tls(s->http, s->tls);
    int status = 0;
    for (size_t i = 0; i < SERVICE_KIND_COUNT && status == 0; i++)
        status = listen_for(s, i);
    return status;
}

/* Data Lake Storage, on a port of its own beside the blob service's, which serves it too. */
static int start_dfs_listener(struct server *s)
{
    const struct config *c = s->config;
    uint16_t port = 0;
    bool given = (c->dfs_port & CONFIG_PORT_UNSET) == 0;
    if (c->dfs_port == CONFIG_PORT_OFF || (!given && c->port[SERVICE_BLOB] == CONFIG_PORT_OFF))
        return 0;
    s->dfs_listener =
        (struct rest_listener){.server = &s->rest, .service = SERVICE_BLOB, .dfs = true};
    struct err error =
        http_server_listen(s->http, c->dfs_host, (uint16_t)c->dfs_port, &s->dfs_listener, &port);
    int status = listened("dfs", c->dfs_host, c->dfs_port, error, &port);
    s->ports.dfs = port;
    return status;
}

/* ---- what tests begin with ---- */

static struct err seed_by_control(void *target, struct str manifest, struct arena *arena)
{
    return seed_manifest(target, manifest, arena);
}

static void *seed_at_start(void *arg)
{
    enum { ARENA_BYTES_MAX = 1 << 30 };
    struct server *s = arg;
    struct arena arena;
    arena_init(&arena, ARENA_BYTES_MAX);
    struct err error = seed_path(&s->seed, s->config->seed, &arena);
    struct str why = str_of(error.detail);
    (void)str_cut(&why, '\t');
    if (err_is(error)) {
        log_line(LOG_ERROR, "--seed %s: %.*s", s->config->seed,
                 STR_ARG(str_given(why) ? why : str_of(err_message(error.code))));
        (void)kill(getpid(), SIGTERM);
    } else {
        log_line(LOG_INFO, "seeded from %s", s->config->seed);
        admin_set_state(s->admin, ADMIN_SERVING);
    }
    arena_release(&arena);
    return NULL;
}

/* By requests to our own ports, while the loops run; until it is done the server is not ready. */
static int start_seeding(struct server *s)
{
    s->seed.host = host_is_loopback(s->config->host[0]) ? s->config->host[0] : "127.0.0.1";
    s->seed.accounts = s->accounts;
    memcpy(s->seed.ports, s->rest.ports, sizeof s->seed.ports);
    if (s->config->seed == NULL)
        return 0;
    admin_set_state(s->admin, ADMIN_STARTING);
    s->seeding = pthread_create(&s->seeder, NULL, seed_at_start, s) == 0;
    return s->seeding ? 0 : complain("--seed", "a thread cannot be made");
}

/* Before the listeners, whose ports it answers on below /_lazuli/. */
static int start_admin(struct server *s, const char *version)
{
    const struct config *c = s->config;
    struct admin_options options = {
        .version = version,
        .bound_host = c->admin_host,
        .hosts = c->admin_hosts,
        .metrics_token = c->metrics_token,
        .on_loopback = host_is_loopback(c->admin_host),
        .services_on_loopback = reachable_service(c) == NULL,
        .smb_port = s->ports.smb,
    };
    if (c->test_control)
        options.control = (struct admin_control){.script = s->script,
                                                 .registry = &s->registry,
                                                 .clock = s->clock_control,
                                                 .refs = jobs_row_extents,
                                                 .seed = seed_by_control,
                                                 .seed_arg = &s->seed,
                                                 .token = c->test_control_token};
    s->admin = admin_new(&options, &s->rest);
    s->rest.side = &ADMIN_HANDLER;
    s->rest.side_context = admin_side_context(s->admin);
    return 0;
}

/* Last of the listeners: the page asks for the others' ports. */
static int start_admin_listener(struct server *s)
{
    const struct config *c = s->config;
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    uint16_t port = 0;
    if (c->admin_port == CONFIG_PORT_OFF)
        return 0;
    limits.connections_max = ADMIN_CONNECTIONS_MAX;
    struct err error =
        http_server_new(s->loops, s->loop_count, &ADMIN_HANDLER, &limits, &s->admin_http);
    if (err_is(error))
        return complain_err("admin", error);
    http_server_use_clock(s->admin_http, &s->clock);
    http_server_use_tls(s->admin_http, s->tls);
    error = http_server_listen(s->admin_http, c->admin_host, (uint16_t)c->admin_port,
                               admin_own_context(s->admin), &port);
    int status = listened("admin", c->admin_host, c->admin_port, error, &port);
    s->ports.admin = port;
    return status;
}

static int start_smb(struct server *s)
{
    struct smb_world world = {.loops = s->loops,
                              .loop_count = s->loop_count,
                              .pool = s->pool,
                              .accounts = s->accounts,
                              .store = &s->store,
                              .log = s->rest.log,
                              .addresses = s->addresses};
    struct smb_options options = {.encryption = s->config->smb_encryption,
                                  .connections_max = (unsigned)s->config->connections_max,
                                  .connections_per_address =
                                      (unsigned)s->config->connections_per_address};
    uint16_t port = 0;
    if (s->config->smb_port == CONFIG_PORT_OFF)
        return 0;
    struct err error = smb_server_new(&world, &options, &s->smb);
    if (err_is(error))
        return complain_err("smb", error);
    error = smb_server_listen(s->smb, s->config->smb_host, (uint16_t)s->config->smb_port, &port);
    int status = listened("smb", s->config->smb_host, s->config->smb_port, error, &port);
    s->ports.smb = port;
    return status;
}

/* All is made that there is to watch. */
static int start_watching(struct server *s)
{
    admin_watch(s->admin, &(struct admin_watched){.loops = s->loops,
                                                  .loop_count = s->loop_count,
                                                  .http = s->http,
                                                  .admin_http = s->admin_http,
                                                  .smb = s->smb});
    admin_set_state(s->admin, ADMIN_SERVING);
    return 0;
}

static int start_reloader(struct server *s)
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

static int start_sweeper(struct server *s)
{
    jobs_init(&s->jobs);
    struct err error = sweeper_start(&s->store, s->jobs.list, JOBS_COUNT, &s->sweeper);
    return err_is(error) ? complain_err("sweeper", error) : 0;
}

/* ---- stop ---- */

static void stop_loops(void *arg)
{
    struct server *s = arg;
    for (size_t i = 0; i < s->loop_count; i++)
        loop_stop(s->loops[i]);
}

/* The admin listener goes last: it tells how the others are doing. */
static void http_drained(void *arg)
{
    struct server *s = arg;
    if (s->admin_http != NULL)
        http_server_drain(s->admin_http, ADMIN_DRAIN_MS, stop_loops, s);
    else
        stop_loops(s);
}

static void smb_drained(void *arg)
{
    struct server *s = arg;
    http_server_drain(s->http, DRAIN_MS, http_drained, s);
}

/* SMB clients hold their connections for good: they are cut, HTTP requests are let end. */
static void drain(struct server *s)
{
    s->draining = true;
    admin_set_state(s->admin, ADMIN_DRAINING);
    if (s->script != NULL)
        script_clear(s->script); /* what is held goes on, and ends */
    log_line(LOG_INFO, "stopping");
    announce_closing(s->config, &s->ports);
    notify_manager("STOPPING=1");
    if (s->smb != NULL)
        smb_server_drain(s->smb, smb_drained, s);
    else
        smb_drained(s);
}

static void on_signal(struct loop_watch *watch, uint32_t events)
{
    struct server *s = (struct server *)((char *)watch - offsetof(struct server, signals));
    struct signalfd_siginfo info;
    (void)events;
    while (read(watch->fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGHUP) {
            reloader_ask(s->reloader);
            continue;
        }
        if (s->draining) {
            stop_loops(s);
            return;
        }
        drain(s);
    }
}

/* Signals are blocked in every thread (this runs before the first is made) and read by loop 0. */
static int start_signals(struct server *s)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    s->signals.fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    s->signals.ready = on_signal;
    return s->signals.fd < 0 ? complain("signalfd", strerrordesc_np(errno)) : 0;
}

static void *run_loop(void *arg)
{
    loop_run(arg);
    return NULL;
}

static int run(struct server *s)
{
    struct err error = loop_watch_add(s->loops[0], &s->signals, EPOLLIN);
    if (err_is(error))
        return complain_err("signals", error);
    for (size_t i = 1; i < s->loop_count; i++)
        if (pthread_create(&s->threads[i], NULL, run_loop, s->loops[i]) != 0)
            return complain("thread", "cannot be made");
    loop_run(s->loops[0]);
    for (size_t i = 1; i < s->loop_count; i++)
        (void)pthread_join(s->threads[i], NULL);
    return 0;
}

static struct err do_nothing(struct txn *t, void *arg)
{
    (void)t;
    (void)arg;
    return OK;
}

/* Updates under way still use their requests' memory: an update behind them all ends after them. */
static void wait_for_updates(struct server *s)
{
    struct err error = engine_update_wait(s->store.engine, STR("-"), do_nothing, NULL);
    if (err_is(error))
        log_line(LOG_WARN, "the store's last update failed: error %d", error.code);
}

static void release(struct server *s)
{
    if (s->seeding)
        (void)pthread_join(s->seeder, NULL);
    sweeper_stop(s->sweeper);
    stop_copies(s);
    if (s->pool != NULL)
        pool_free(s->pool);
    reloader_free(s->reloader);
    if (s->bulk != NULL)
        bulk_stop(s->bulk);
    control_free(s->control);
    if (s->store.engine != NULL)
        wait_for_updates(s);
    if (s->smb != NULL)
        smb_server_free(s->smb);
    if (s->http != NULL)
        http_server_free(s->http);
    if (s->admin_http != NULL)
        http_server_free(s->admin_http);
    admin_free(s->admin);
    bulk_free(s->bulk);
    address_counts_free(s->addresses);
    tls_free(s->tls);
    if (s->store.engine != NULL)
        engine_close(s->store.engine);
    if (s->store.opens != NULL)
        opens_free(s->store.opens);
    blob_touches_free(s->store.touches);
    for (size_t i = 0; i < s->loop_count; i++)
        if (s->loops[i] != NULL)
            loop_free(s->loops[i]);
    line_log_free(s->rest.log);
    inspector_free(s->rest.inspector);
    script_free(s->script);
    digests_free(s->rest.digests);
    oauth_free(s->oauth);
    if (s->accounts != NULL)
        accounts_free(s->accounts);
    if (s->registry.from_file != NULL)
        accounts_free(s->registry.from_file);
    if (s->signals.fd > 0)
        (void)close(s->signals.fd);
    clock_release(&s->clock);
    clock_control_free(s->clock_control);
    free(s);
}

/* Each connection and each segment file takes a descriptor: ask for as many as allowed. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int serve(const struct config *config, const char *server_name)
{
    struct server *s = MEM_NEW(struct server);
    s->config = config;
    s->addresses = address_counts_new();
    raise_descriptor_limit();
    config_check(config);
    int status = start_signals(s);
    if (status == 0)
        status = start_clock(s);
    if (status == 0)
        status = start_oauth(s);
    if (status == 0)
        status = start_loops(s);
    if (status == 0)
        status = start_engine(s);
    if (status == 0)
        status = start_accounts(s);
    if (status == 0) {
        start_rest(s, server_name);
        status = start_tls(s);
    }
    /* Its persistent handles are in force before anything else can be asked for. */
    if (status == 0)
        status = start_smb(s);
    if (status == 0)
        status = start_copies(s);
    if (status == 0)
        status = start_admin(s, server_name);
    if (status == 0)
        status = start_listeners(s);
    if (status == 0)
        status = start_dfs_listener(s);
    if (status == 0)
        status = start_admin_listener(s);
    if (status == 0)
        status = start_sweeper(s);
    if (status == 0)
        status = start_control(s);
    if (status == 0)
        status = start_watching(s);
    if (status == 0)
        status = start_reloader(s);
    if (status == 0)
        status = start_seeding(s);
    if (status == 0)
        status = announce_write_ports(s->config, &s->ports);
    if (status == 0) {
        announce_started(s->config, &s->ports);
        notify_manager("READY=1");
        status = run(s);
    }
    struct announce_ports ports = s->ports;
    bool closes = s->draining;
    release(s);
    if (closes)
        announce_closed(config, &ports);
    return status;
}
