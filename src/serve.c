/* SPDX-License-Identifier: Apache-2.0 */
#include "serve.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "admin/admin.h"
#include "auth/oauth.h"
#include "complain.h"
#include "control.h"
#include "core/clock_control.h"
#include "core/container.h"
#include "core/line_log.h"
#include "core/mem.h"
#include "engine/wait.h"
#include "http/server.h"
#include "net/address_count.h"
#include "net/pool.h"
#include "notify.h"
#include "rest/body/bulk.h"
#include "rest/body/digest.h"
#include "rest/watch/inspector.h"
#include "rest/watch/script.h"
#include "serve/server.h"
#include "service/census/census.h"
#include "service/common/saved.h"
#include "service/file/opens/opens.h"
#include "smb/server.h"

enum {
    DRAIN_MS = 10000,
    ADMIN_DRAIN_MS = 500,
};

/* ---- stop ---- */

static void stop_loops(void *arg)
{
    struct server *s = arg;
    for (size_t i = 0; i < s->loop_count; i++)
        loop_stop(s->loops[i]);
}

/* The admin listener ends last, because it reports the state of the others. */
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

/* SMB clients keep their connections open, so these are cut; HTTP requests may finish. */
static void drain(struct server *s)
{
    s->draining = true;
    admin_set_state(s->admin, ADMIN_DRAINING);
    if (s->script != NULL)
        script_clear(s->script); /* held requests continue, and end */
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
    struct server *s = CONTAINER_OF(watch, struct server, signals);
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

/* Signals are blocked in every thread, because this runs before the first one is created; loop 0
 * reads them. */
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

/* Running updates still use their requests' memory. An update that is queued after them all ends
 * after them. */
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
    home_stop(s->store.home);
    sweeper_stop(s->sweeper);
    serve_stop_copies(s);
    if (s->pool != NULL)
        pool_free(s->pool);
    if (s->content_pool != NULL)
        pool_free(s->content_pool);
    reloader_free(s->reloader);
    if (s->bulk != NULL)
        bulk_stop(s->bulk);
    pool_free(s->senders);
    pool_free(s->storers);
    control_free(s->control);
    if (s->store.engine != NULL) {
        wait_for_updates(s);
        engine_views_end(s->store.engine);
    }
    forward_free(s->forward);
    if (s->smb != NULL)
        smb_server_free(s->smb);
    if (s->http != NULL)
        http_server_free(s->http);
    if (s->admin_http != NULL)
        http_server_free(s->admin_http);
    admin_free(s->admin);
    census_free(s->census);
    bulk_free(s->bulk);
    address_counts_free(s->addresses);
    tls_free(s->tls);
    if (s->store.engine != NULL)
        engine_close(s->store.engine);
    saved_close(s->saved);
    home_free(s->store.home);
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
    if (s->follower.registry != NULL)
        registry_follower_release(&s->follower);
    if (s->registry.from_file != NULL)
        accounts_free(s->registry.from_file);
    if (s->signals.fd > 0)
        (void)close(s->signals.fd);
    clock_release(&s->clock);
    clock_control_free(s->clock_control);
    free(s);
}

/* Each connection and each segment file needs a descriptor: request the highest limit that is
 * allowed. */
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
    s->census = census_new();
    raise_descriptor_limit();
    config_check(config);
    int status = start_signals(s);
    if (status == 0)
        status = serve_start_clock(s);
    if (status == 0)
        status = serve_start_oauth(s);
    if (status == 0)
        status = serve_start_loops(s);
    if (status == 0)
        status = serve_start_engine(s);
    if (status == 0)
        status = serve_start_accounts(s);
    if (status == 0) {
        serve_start_rest(s, server_name);
        status = serve_start_tls(s);
    }
    if (status == 0)
        status = serve_start_forward(s);
    /* Its persistent handles are in force before any other request can be made. */
    if (status == 0)
        status = serve_start_smb(s);
    if (status == 0)
        status = serve_start_copies(s);
    if (status == 0)
        status = serve_start_admin(s, server_name);
    if (status == 0)
        status = serve_start_listeners(s);
    if (status == 0)
        status = serve_start_dfs_listener(s);
    if (status == 0)
        status = serve_start_admin_listener(s);
    /* Before anything that may wait for a cluster: once a port is open, the control socket must
     * work. */
    if (status == 0)
        status = serve_start_control(s);
    if (status == 0)
        status = serve_start_home(s);
    if (status == 0)
        status = serve_start_sweeper(s);
    if (status == 0)
        status = serve_start_watching(s);
    if (status == 0)
        status = serve_start_reloader(s);
    if (status == 0)
        status = serve_start_seeding(s);
    if (status == 0)
        status = announce_write_ports(s->config, &s->ports);
    if (status == 0) {
        atomic_store(&s->listening, true);
        announce_started(s->config, &s->ports);
        notify_manager("READY=1");
        status = run(s);
    }
    if (status == 0 && atomic_load(&s->seed_failed))
        status = 1;
    struct announce_ports ports = s->ports;
    bool closes = s->draining;
    release(s);
    if (closes)
        announce_closed(config, &ports);
    return status;
}
