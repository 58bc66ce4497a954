/* SPDX-License-Identifier: Apache-2.0 */
#include "reload.h"

#include <stdlib.h>
#include <string.h>

#include "core/container.h"
#include "core/line_log.h"
#include "core/mem.h"

/* Texts of an older configuration may be in use as long as the server runs, so all are kept. */
struct generation {
    struct config config;
    struct generation *older;
};

struct reloader {
    struct reload_parts parts;
    const struct config *current;
    struct generation *newest; /* NULL: the server still uses the configuration it started with */
    struct loop_task task;
    atomic_uint asked; /* requests since the last reload began, including the one in progress */
};

/* ---- putting it in force ---- */

int64_t reload_idle_ms(const struct config *config, size_t service)
{
    enum { DAY_SECONDS = 86400 };
    uint64_t seconds = config->keep_alive_s[service];
    return (int64_t)(seconds == 0 ? DAY_SECONDS : seconds) * 1000;
}

void reload_set_options(struct rest_options *options, const struct config *config)
{
    options->any_version = config->any_version || config->loose;
    options->loose = config->loose;
    options->container_delete_seconds = config->container_delete_seconds;
    options->queue_delete_seconds = config->queue_delete_seconds;
    options->share_delete_seconds = config->share_delete_seconds;
    options->table_delete_seconds = config->table_delete_seconds;
    options->rehydrate_seconds = config->rehydrate_seconds;
    options->container_retention_days = config->container_retention_days;
    options->blob_versioning = config->blob_versioning == NULL ? "off" : config->blob_versioning;
}

static void apply_limits(const struct reload_parts *p, const struct config *config)
{
    unsigned connections_max = (unsigned)config->connections_max;
    unsigned per_address = (unsigned)config->connections_per_address;
    http_server_limit(p->http, connections_max, per_address);
    if (p->smb != NULL)
        smb_server_limit(p->smb, connections_max, per_address);
    for (size_t i = 0; i < CONFIG_SERVICES; i++)
        atomic_store(&p->idle_ms[i], reload_idle_ms(config, i));
}

/* Also if the names are the same: the files may be new. */
static void apply_certificate(const struct reload_parts *p, const struct config *config)
{
    if (p->tls == NULL || config->cert == NULL)
        return;
    struct tls_files files = {config->cert, config->key, config->pwd};
    if (err_is(tls_reload_from(p->tls, &files)))
        log_line(LOG_WARN, "the certificate stays as it was");
    else
        log_line(LOG_INFO, "certificate read again");
}

static void apply_log(const struct reload_parts *p, const struct config *config,
                      const struct config *before)
{
    log_set_level(config->log_level);
    line_log_mute(p->rest->log, config->silent);
    if (config->debug_file == NULL && before->debug_file == NULL)
        return;
    struct err error = log_set_file(config->debug_file);
    if (err_is(error))
        log_line(LOG_WARN, "%s: %s; the log stays where it was", config->debug_file,
                 strerrordesc_np(error.cause));
}

static void apply(struct reloader *r, const struct config *fresh)
{
    const struct reload_parts *p = &r->parts;
    apply_log(p, fresh, r->current);
    apply_limits(p, fresh);
    reload_set_options(&p->rest->options, fresh);
    apply_certificate(p, fresh);
    account_sources_reload(r->current, fresh, p->registry);
}

/* ---- reading it again ---- */

/* A reload cannot turn HTTPS on or off: that is decided when the listeners are opened. */
static void keep_https(struct config *fresh, const struct config *old, struct buf *kept)
{
    if ((fresh->cert == NULL) == (old->cert == NULL))
        return;
    buf_printf(kept, "%s--cert", kept->n > 0 ? ", " : "");
    fresh->cert = old->cert;
    fresh->key = old->key;
    fresh->pwd = old->pwd;
}

static void tell(const struct buf *changed, const struct buf *kept)
{
    if (kept->n > 0)
        log_line(LOG_WARN, "these take effect at the next start only: %.*s",
                 STR_ARG(buf_str(kept)));
    if (changed->n > 0)
        log_line(LOG_INFO, "changed: %.*s", STR_ARG(buf_str(changed)));
}

static void read_again(struct reloader *r)
{
    struct generation *g = MEM_NEW(struct generation);
    char text[768];
    struct err error = config_again(r->current, &g->config, text, sizeof text);
    if (err_is(error)) {
        log_line(LOG_WARN, "the configuration stays as it was: %s", error.detail);
        config_release(&g->config);
        free(g);
        return;
    }
    struct buf changed = buf_heap(), kept = buf_heap();
    config_keep(&g->config, r->current, &changed, &kept);
    keep_https(&g->config, r->current, &kept);
    apply(r, &g->config);
    tell(&changed, &kept);
    buf_release(&changed);
    buf_release(&kept);
    g->older = r->newest;
    r->newest = g;
    r->current = &g->config;
}

static void reload_in_pool(struct loop_task *task)
{
    struct reloader *r = CONTAINER_OF(task, struct reloader, task);
    unsigned seen;
    do {
        seen = atomic_load(&r->asked);
        read_again(r);
        log_line(LOG_INFO, "configuration read again");
    } while (!atomic_compare_exchange_strong(&r->asked, &seen, 0));
}

void reloader_ask(struct reloader *r)
{
    if (atomic_fetch_add(&r->asked, 1) > 0)
        return;
    r->task.run = reload_in_pool;
    pool_post(r->parts.pool, &r->task);
}

struct reloader *reloader_new(const struct config *config, const struct reload_parts *parts)
{
    struct reloader *r = MEM_NEW(struct reloader);
    r->parts = *parts;
    r->current = config;
    return r;
}

void reloader_free(struct reloader *r)
{
    if (r == NULL)
        return;
    while (r->newest != NULL) {
        struct generation *g = r->newest;
        r->newest = g->older;
        config_release(&g->config);
        free(g);
    }
    free(r);
}
