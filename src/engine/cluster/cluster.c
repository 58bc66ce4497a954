/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cluster/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/mem.h"
#include "engine/cluster/cluster_internal.h"

/* ---- what the engine is ---- */

static void cluster_unpin(struct engine *e, struct engine_pin *pin)
{
    if (pins_drop(&cluster_of(e)->pins, pin))
        beat_soon(cluster_of(e));
}

static void cluster_stats(struct engine *engine, struct engine_stats *out)
{
    struct cluster_engine *e = cluster_of(engine);
    out->commit_updates = &e->commit_updates;
    out->turn_us = &e->turn_us;
    out->round_trips = atomic_load(&e->trips);
    int64_t since = atomic_load(&e->silent_since);
    out->away_ms = since == 0 ? 0 : clock_mono_ms() - since;
    pthread_mutex_lock(&e->line.lock);
    out->queued = e->line.queued;
    pthread_mutex_unlock(&e->line.lock);
}

uint64_t engine_cluster_trips(struct engine *e)
{
    return atomic_load(&cluster_of(e)->trips);
}

/* ---- closing ---- */

static void release(struct cluster_engine *e)
{
    shards_release(&e->shards);
    rados_extents_close(&e->extents);
    line_release(e);
    pins_release(&e->pins);
    memories_release(&e->memories);
    hot_release(&e->hot);
    pthread_cond_destroy(&e->beat_wanted);
    pthread_mutex_destroy(&e->beat_lock);
    pthread_mutex_destroy(&e->mark_lock);
    pthread_mutex_destroy(&e->jobs_lock);
    free(e->marks);
    free(e->schema);
    free(e->name);
    free(e);
}

static void cluster_close(struct engine *engine)
{
    struct cluster_engine *e = cluster_of(engine);
    line_stop(e);
    beat_stop(e);
    release(e);
}

static const struct engine_ops CLUSTER_OPS = {
    .view = cluster_view,
    .view_run = cluster_view_run,
    .view_drop = cluster_view_drop,
    .views_end = cluster_views_end,
    .view_state = cluster_view_state,
    .state_release = cluster_state_release,
    .submit = cluster_submit,
    .flush = cluster_flush,
    .partitions = cluster_partitions,
    .extent_begin = cluster_extent_begin,
    .extent_discard = cluster_extent_discard,
    .extent_locate = cluster_extent_locate,
    .extent_read = cluster_extent_read,
    .extent_prefetch = cluster_extent_prefetch,
    .pin = cluster_pin,
    .unpin = cluster_unpin,
    .usage = cluster_usage,
    .stats = cluster_stats,
    .close = cluster_close,
};

/* ---- opening ---- */

static char *copy_text(const char *text)
{
    if (text == NULL)
        return NULL;
    size_t n = strlen(text) + 1;
    return memcpy(mem_alloc(n), text, n);
}

/* The host name and the process id, without characters that SQL would reject. */
static char *gateway_name(void)
{
    enum { NAME_MAX_BYTES = 96 };
    char host[64] = "unknown";
    char *name = mem_alloc(NAME_MAX_BYTES);
    (void)gethostname(host, sizeof host - 1);
    for (char *p = host; *p != '\0'; p++)
        if (!ascii_alpha(*p) && !ascii_digit(*p) && *p != '.' && *p != '-')
            *p = '_';
    (void)snprintf(name, NAME_MAX_BYTES, "%s:%d", host, (int)getpid());
    return name;
}

/* The intent row is written before any object of its names. */
static struct err reserve_names(void *arg, uint64_t *gateway, uint64_t *first)
{
    struct cluster_engine *e = arg;
    struct conn *c;
    char room[256];
    struct arena arena;
    struct conn_pool *pool = &e->shards.all[0].updates;
    TRY(conn_pool_take(pool, clock_mono_ms() + CLUSTER_VIEW_MS, &c));
    arena_init_in(&arena, SIZE_MAX, room, sizeof room);
    *gateway = (uint64_t)atomic_load(&e->gateway);
    *first = atomic_fetch_add(&e->next_place, EXTENT_NAMES_EACH);
    struct params p = params_in(&arena);
    param_number(&p, (int64_t)*gateway);
    param_number(&p, (int64_t)*first);
    conn_send(c, STMT_INTENT_NEW, &p);
    c->quiet = true;
    struct err error = conn_exchange(c);
    c->quiet = false;
    conn_pool_give(pool, c);
    arena_release(&arena);
    return error;
}

static struct cluster_engine *engine_new(const struct engine_cluster_options *options)
{
    struct cluster_engine *e = MEM_NEW(struct cluster_engine);
    e->base.ops = &CLUSTER_OPS;
    e->clock = options->clock;
    e->schema = copy_text(options->schema);
    e->name = gateway_name();
    line_init(e);
    pins_init(&e->pins);
    memories_init(&e->memories);
    hot_init(&e->hot);
    pthread_mutex_init(&e->beat_lock, NULL);
    pthread_mutex_init(&e->mark_lock, NULL);
    pthread_mutex_init(&e->jobs_lock, NULL);
    pthread_cond_init(&e->beat_wanted, NULL);
    e->extents.reserve = reserve_names;
    e->extents.reserve_arg = e;
    e->extents.landed = line_unpark;
    e->extents.landed_arg = e;
    return e;
}

/* Checks that the tables have this version, and are those of one store in its order. */
static struct err check_rows(const struct engine_cluster_options *options, struct buf *text)
{
    struct cluster_session s = {0};
    struct err error = cluster_session_open(&s, options);
    if (!err_is(error))
        error = cluster_check_shards(&s);
    if (err_is(error) && s.text.n > 0)
        buf_put(text, buf_str(&s.text));
    struct engine_cluster_options silent = {0};
    return cluster_session_close(&s, &silent, error);
}

static struct err join(struct cluster_engine *e, struct buf *text)
{
    for (unsigned i = 0; i < e->shards.count; i++) {
        struct shard *shard = &e->shards.all[i];
        TRY(conn_open(&shard->target, true, text, &shard->beat_conn));
        shard->beat_conn->quiet = true;
    }
    TRY(shards_refresh_all(&e->shards));
    return gateway_register(e);
}

static struct err open_shards(struct cluster_engine *e,
                              const struct engine_cluster_options *options, struct buf *text)
{
    struct conn_target target = {.pq = &e->pq, .schema = e->schema, .trips = &e->trips};
    static const unsigned limits[2] = {CLUSTER_WORKERS + 2, CLUSTER_VIEWS};
    if (!shards_init(&e->shards, &target, options->rows, limits)) {
        buf_printf(text, "--rows names no PostgreSQL, or more than %d", SHARDS_MAX);
        return err_new(ERR_INVALID_INPUT);
    }
    TRY(check_rows(options, text));
    return join(e, text);
}

static struct err open_parts(struct cluster_engine *e, const struct engine_cluster_options *options,
                             struct buf *text)
{
    struct err error = rados_extents_open(&e->extents, str_of(options->extents), text);
    if (err_is(error))
        return error;
    error = pq_load(&e->pq);
    if (err_is(error)) {
        buf_put(text, str_of(error.detail));
        return error;
    }
    TRY(open_shards(e, options, text));
    for (unsigned i = 0; i < e->shards.count; i++)
        TRY(gather_start(&e->shards.all[i].gather));
    TRY(line_start(e));
    error = beat_start(e);
    if (err_is(error))
        line_stop(e);
    return error;
}

static void give_text(const struct engine_cluster_options *options, const struct buf *text)
{
    if (options->text != NULL && options->text_size > 0)
        (void)snprintf(options->text, options->text_size, "%.*s", STR_ARG(buf_str(text)));
}

struct err engine_cluster_open(const struct engine_cluster_options *options, struct engine **out)
{
    struct buf text = buf_heap();
    struct cluster_engine *e = engine_new(options);
    struct err error = open_parts(e, options, &text);
    if (err_is(error) && text.n == 0)
        buf_put(&text, STR("PostgreSQL or Ceph was lost while the engine was opened"));
    if (err_is(error)) {
        beat_stop(e);
        release(e);
        give_text(options, &text);
        error.detail = options->text;
    } else {
        *out = &e->base;
    }
    buf_release(&text);
    return error;
}
