/* SPDX-License-Identifier: Apache-2.0 */
/* The listeners of services, Data Lake, admin and SMB, and their start. */
#include "serve/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "admin/admin.h"
#include "complain.h"
#include "core/line_log.h"
#include "core/log.h"
#include "http/server.h"
#include "net/address_count.h"
#include "reachable.h"
#include "rest/watch/script.h"
#include "smb/server.h"
#include "smb_told.h"
#include "version.h"

enum {
    /* Separate from the services' limits, so that it answers when they are full. */
    ADMIN_CONNECTIONS_MAX = 256,
};

/* The result of an attempt to listen; *port is 0 if the listener is skipped. */
static int listened(const char *name, const char *host, uint64_t wanted, struct err error,
                    uint16_t *port)
{
    char where[256];
    unsigned tried = (unsigned)(wanted & ~(uint64_t)CONFIG_PORT_UNSET);
    (void)snprintf(where, sizeof where, "%s %s:%u", name, host, err_is(error) ? tried : *port);
    if (!err_is(error)) {
        log_line(LOG_INFO, "serving %s", where);
        return 0;
    }
    *port = 0;
    if ((wanted & CONFIG_PORT_UNSET) == 0 || error.cause != EADDRINUSE)
        return complain_err(where, error);
    log_line(LOG_WARN, "%s is in use: not served (--%s-port picks another)", where, name);
    return 0;
}

static int listen_for(struct server *s, size_t i)
{
    const struct config *c = s->config;
    uint16_t port = 0;
    if (c->port[i] == CONFIG_PORT_OFF)
        return 0;
    s->listeners[i] = (struct rest_listener){.server = &s->rest, .service = (enum service_kind)i};
    struct http_endpoint where = {
        .host = c->host[i], .port = (uint16_t)c->port[i], .idle_ms = &s->idle_ms[i]};
    atomic_store(&s->idle_ms[i], reload_idle_ms(c, i));
    struct err error = http_server_listen_at(s->http, &where, &s->listeners[i], &port);
    int status = listened(SERVE_NAMES[i], c->host[i], c->port[i], error, &port);
    s->rest.ports[i] = port;
    s->ports.service[i] = port;
    return status;
}

int serve_start_listeners(struct server *s)
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
    http_server_use_senders(s->http, s->senders);
    int status = 0;
    for (size_t i = 0; i < SERVICE_KIND_COUNT && status == 0; i++)
        status = listen_for(s, i);
    return status;
}

/* Data Lake Storage, on its own port besides the blob service's, which serves it too. */
int serve_start_dfs_listener(struct server *s)
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
        atomic_store(&s->seed_failed, true);
        (void)kill(getpid(), SIGTERM);
    } else {
        log_line(LOG_INFO, "seeded from %s", s->config->seed);
        admin_set_state(s->admin, ADMIN_SERVING);
    }
    arena_release(&arena);
    return NULL;
}

/* Sends requests to our own ports while the loops run; the server is ready only afterwards. */
int serve_start_seeding(struct server *s)
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

/* Before the listeners, because their ports answer below /_lazuli/. */
int serve_start_admin(struct server *s, const char *version)
{
    const struct config *c = s->config;
    struct admin_options options = {
        .version = version,
        .commit = version_commit(),
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
                                                 .saved = s->saved,
                                                 .seed = seed_by_control,
                                                 .seed_arg = &s->seed,
                                                 .token = c->test_control_token};
    s->admin = admin_new(&options, &s->rest);
    s->rest.side = &ADMIN_HANDLER;
    s->rest.side_context = admin_side_context(s->admin);
    return 0;
}

/* The last listener, because the console page asks for the ports of the others. */
int serve_start_admin_listener(struct server *s)
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

int serve_start_smb(struct server *s)
{
    struct smb_world world = {.loops = s->loops,
                              .loop_count = s->loop_count,
                              .pool = s->pool,
                              .senders = s->senders,
                              .storers = s->storers,
                              .accounts = s->accounts,
                              .store = &s->store,
                              .log = s->rest.log,
                              .addresses = s->addresses,
                              .told = smb_told_note,
                              .told_arg = s->rest.inspector,
                              .diverts = s->forward != NULL ? forward_divert_smb : NULL,
                              .diverts_arg = s->forward};
    struct smb_options options = {.encryption = s->config->smb_encryption,
                                  .connections_max = (unsigned)s->config->connections_max,
                                  .connections_per_address =
                                      (unsigned)s->config->connections_per_address,
                                  .waits_for_home = s->store.home != NULL};
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

/* All parts that it watches exist now. */
int serve_start_watching(struct server *s)
{
    admin_watch(s->admin, &(struct admin_watched){.loops = s->loops,
                                                  .loop_count = s->loop_count,
                                                  .http = s->http,
                                                  .admin_http = s->admin_http,
                                                  .smb = s->smb,
                                                  .tls = s->tls,
                                                  .pool = s->pool,
                                                  .census = s->census,
                                                  .jobs = s->jobs.list,
                                                  .job_count = s->jobs.count});
    admin_set_state(s->admin, ADMIN_SERVING);
    return 0;
}
