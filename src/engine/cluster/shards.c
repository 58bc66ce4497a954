/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cluster/shards.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/crc/crc32c.h"
#include "core/log.h"
#include "core/mem.h"

enum { ROUTE_LOGGED = 0x80, REFRESH_MS = 5000 };

unsigned shard_bucket(struct str partition)
{
    return (crc32c(0xFFFFFFFFU, partition) * 2654435761U) >> 22;
}

/* ---- where shards are ---- */

static bool begins_uri(struct str s)
{
    return str_starts(s, STR("postgresql://")) || str_starts(s, STR("postgres://"));
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

struct str shards_next_uri(struct str *rest)
{
    while (rest->n > 0 && is_space(rest->p[0]))
        *rest = str_from(*rest, 1);
    if (rest->n == 0)
        return STR_NONE;
    size_t n = 0;
    while (n < rest->n && !(is_space(rest->p[n]) && begins_uri(str_from(*rest, n + 1))))
        n++;
    struct str uri = {rest->p, n};
    *rest = str_from(*rest, n);
    return uri;
}

static void shard_init(struct shard *shard, const struct conn_target *target, struct str uri,
                       const unsigned limits[2])
{
    assert(uri.n > 0 && limits[0] > 0 && limits[1] > 0);
    shard->uri = mem_alloc(uri.n + 1);
    memcpy(shard->uri, uri.p, uri.n);
    shard->uri[uri.n] = '\0';
    shard->target = *target;
    shard->target.uri = shard->uri;
    conn_pool_init(&shard->updates, &shard->target, limits[0]);
    conn_pool_init(&shard->views, &shard->target, limits[1]);
    gather_init(&shard->gather, &shard->views);
}

bool shards_init(struct shards *s, const struct conn_target *target, const char *uris,
                 const unsigned limits[2])
{
    struct str rest = str_of(uris);
    pthread_mutex_init(&s->lock, NULL);
    for (struct str uri; str_given(uri = shards_next_uri(&rest));) {
        if (s->count == SHARDS_MAX)
            return false;
        s->all[s->count].number = s->count;
        shard_init(&s->all[s->count++], target, uri, limits);
    }
    return s->count > 0;
}

void shards_release(struct shards *s)
{
    for (unsigned i = 0; i < s->count; i++) {
        gather_release(&s->all[i].gather);
        conn_pool_release(&s->all[i].updates);
        conn_pool_release(&s->all[i].views);
        free(s->all[i].uri);
    }
    pthread_mutex_destroy(&s->lock);
}

/* ---- where buckets are ---- */

struct bucket_route shards_route(const struct shards *s, unsigned bucket)
{
    assert(bucket < BUCKETS);
    uint8_t route = atomic_load_explicit(&s->routes[bucket], memory_order_relaxed);
    return (struct bucket_route){route % ROUTE_LOGGED, (route & ROUTE_LOGGED) != 0};
}

/* The rows of all buckets in one shard. */
struct told {
    uint8_t state[BUCKETS];
    uint8_t target[BUCKETS];
    int64_t attempt[BUCKETS];
};

static struct err ask_shard(struct shard *shard, struct told *told)
{
    struct conn *c;
    TRY(conn_pool_take(&shard->views, clock_mono_ms() + REFRESH_MS, &c));
    conn_send(c, STMT_BUCKETS, NULL);
    c->quiet = true;
    struct err error = conn_exchange(c);
    c->quiet = false;
    for (int i = 0; !err_is(error) && i < result_rows(c, 0); i++) {
        uint64_t bucket = (uint64_t)result_number(c, 0, i, 0) % BUCKETS;
        told->state[bucket] = (uint8_t)result_number(c, 0, i, 1);
        told->target[bucket] = (uint8_t)result_number(c, 0, i, 2);
        told->attempt[bucket] = result_number(c, 0, i, 3);
    }
    conn_pool_give(&shard->views, c);
    return error;
}

static void take_told(struct shards *s, const struct told *told, unsigned shard)
{
    for (unsigned b = 0; b < BUCKETS; b++)
        if (bucket_is_here(told->state[b]))
            atomic_store(&s->routes[b],
                         (uint8_t)(shard | (told->state[b] == BUCKET_LOGGED ? ROUTE_LOGGED : 0)));
}

/* ---- a mover that died ---- */

/* Returns the number of rows of the result, or -1. */
static int run_sql(struct shard *shard, const char *sql)
{
    struct conn *c;
    if (err_is(conn_pool_take(&shard->updates, clock_mono_ms() + REFRESH_MS, &c)))
        return -1;
    conn_send_text(c, sql);
    c->quiet = true;
    int rows = err_is(conn_exchange(c)) ? -1 : result_rows(c, 0);
    c->quiet = false;
    conn_pool_give(&shard->updates, c);
    return rows;
}

/* No mover is alive: a mover renews its lease all the time. */
static bool mover_is_gone(struct shards *s)
{
    return run_sql(&s->all[0], "SELECT 1 FROM leases WHERE name = 'mover' AND until < now()") == 1;
}

/* Reverts the freeze. The attempt's number decides between this gateway, others and a mover. */
static void bucket_thaw(struct shard *from, struct shard *to, unsigned bucket, int64_t attempt)
{
    char sql[256];
    (void)snprintf(sql, sizeof sql,
                   "UPDATE buckets SET attempt = %lld WHERE bucket = %u AND state = 12 AND attempt "
                   "<= %lld RETURNING 1",
                   (long long)attempt + 1, bucket, (long long)attempt + 1);
    if (run_sql(to, sql) != 1)
        return;
    (void)snprintf(sql, sizeof sql,
                   "UPDATE buckets SET state = 2, attempt = attempt + 1 WHERE bucket = %u AND "
                   "state = 11 AND attempt = %lld RETURNING 1",
                   bucket, (long long)attempt);
    if (run_sql(from, sql) == 1)
        log_line(LOG_WARN, "rows: bucket %u stays in shard %u: who moved it is gone", bucket,
                 from->number + 1);
}

/* The bucket is in no shard: checks whether a dead mover left it frozen. */
static void look_for_frozen(struct shards *s, const struct told *told, unsigned bucket)
{
    for (unsigned i = 0; i < s->count; i++) {
        unsigned to = told[i].target[bucket];
        if (told[i].state[bucket] == BUCKET_GONE && told[i].attempt[bucket] > 0 && to < s->count &&
            told[to].state[bucket] == BUCKET_ARRIVES && to != i && mover_is_gone(s))
            bucket_thaw(&s->all[i], &s->all[to], bucket, told[i].attempt[bucket]);
    }
}

/* ---- refreshing the routes ---- */

static struct err refresh(struct shards *s, struct told *told, unsigned *answered)
{
    struct err error = OK;
    for (unsigned i = 0; i < s->count; i++) {
        struct err asked = ask_shard(&s->all[i], &told[i]);
        if (err_is(asked))
            error = asked;
        else
            take_told(s, &told[i], i);
        *answered += !err_is(asked);
    }
    atomic_fetch_add(&s->version, 1);
    return error;
}

bool shards_refresh(struct shards *s, unsigned version, unsigned bucket)
{
    bool found = false;
    pthread_mutex_lock(&s->lock);
    if (version != atomic_load(&s->version)) { /* another thread has refreshed meanwhile */
        pthread_mutex_unlock(&s->lock);
        return true;
    }
    struct told *told = mem_calloc(s->count, sizeof *told);
    unsigned answered = 0;
    (void)refresh(s, told, &answered).code;
    for (unsigned i = 0; i < s->count; i++)
        found |= bucket_is_here(told[i].state[bucket]);
    if (!found && answered == s->count)
        look_for_frozen(s, told, bucket);
    pthread_mutex_unlock(&s->lock);
    free(told);
    return found;
}

struct err shards_refresh_all(struct shards *s)
{
    struct told *told = mem_calloc(s->count, sizeof *told);
    unsigned answered = 0;
    struct err error = refresh(s, told, &answered);
    free(told);
    return error;
}
