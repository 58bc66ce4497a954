/* SPDX-License-Identifier: Apache-2.0 */
/* `lazuli cluster init` and `status`: the tables of all shards, and what is in them. */
#include <stdio.h>
#include <stdlib.h>

#include "core/guid.h"
#include "core/mem.h"
#include "engine/cluster/cluster_internal.h"

/* ---- sessions ---- */

struct err cluster_session_open(struct cluster_session *s,
                                const struct engine_cluster_options *options)
{
    struct str rest = str_of(options->rows);
    s->text = buf_heap();
    struct err error = pq_load(&s->pq);
    if (err_is(error)) {
        buf_put(&s->text, str_of(error.detail));
        return error;
    }
    for (struct str uri; str_given(uri = shards_next_uri(&rest));) {
        if (s->count == SHARDS_MAX) {
            buf_printf(&s->text, "--rows is given more than %d times", SHARDS_MAX);
            return err_new(ERR_INVALID_INPUT);
        }
        if (!str_starts(uri, STR("postgresql://")) && !str_starts(uri, STR("postgres://"))) {
            buf_put(&s->text, STR("--rows is not of the form postgresql://USER@HOST/DATABASE"));
            return err_new(ERR_INVALID_INPUT);
        }
        char *copy = mem_alloc(uri.n + 1);
        memcpy(copy, uri.p, uri.n);
        copy[uri.n] = '\0';
        s->uris[s->count] = copy;
        s->targets[s->count] = (struct conn_target){&s->pq, copy, options->schema, NULL};
        unsigned n = s->count++;
        TRY(conn_open(&s->targets[n], false, &s->text, &s->conns[n]));
    }
    return s->count > 0 ? OK : err_new(ERR_INVALID_INPUT);
}

static const char *last_state(const struct cluster_session *s)
{
    for (unsigned i = 0; i < s->count; i++)
        if (s->conns[i] != NULL && s->conns[i]->fault != FAULT_NONE)
            return s->conns[i]->sqlstate;
    return "";
}

struct err cluster_session_close(struct cluster_session *s,
                                 const struct engine_cluster_options *options, struct err error)
{
    if (err_is(error) && s->text.n == 0)
        buf_printf(&s->text, "PostgreSQL refuses (%s)", last_state(s));
    if (err_is(error) && options->text != NULL) {
        (void)snprintf(options->text, options->text_size, "%.*s", STR_ARG(buf_str(&s->text)));
        error.detail = options->text;
    }
    for (unsigned i = 0; i < s->count; i++) {
        if (s->conns[i] != NULL)
            conn_close(s->conns[i]);
        free(s->uris[i]);
    }
    buf_release(&s->text);
    return error;
}

struct err conn_run(struct conn *c, const char *sql)
{
    conn_send_text(c, sql);
    return conn_exchange(c);
}

/* ---- who a shard is ---- */

/* The content of a shard's tables. A number of -1: there are no tables. */
struct identity {
    int64_t version, number, shards;
    char store[64];
};

static struct err read_identity(struct conn *c, struct identity *out)
{
    *out = (struct identity){.number = -1};
    TRY(conn_run(c, "SELECT 1 FROM pg_class WHERE oid = to_regclass('lazuli')"));
    if (result_rows(c, 0) == 0)
        return OK;
    TRY(conn_run(c, "SELECT version FROM lazuli"));
    out->version = result_number(c, 0, 0, 0);
    out->number = 0;
    if (out->version != SQL_SCHEMA_VERSION)
        return OK;
    TRY(conn_run(c, "SELECT shard, shards, store FROM lazuli"));
    out->number = result_number(c, 0, 0, 0);
    out->shards = result_number(c, 0, 0, 1);
    (void)snprintf(out->store, sizeof out->store, "%.*s", STR_ARG(result_field(c, 0, 0, 2)));
    return OK;
}

/* Returns one sentence: what is wrong with shard `number`; absent if nothing is. */
static void put_mismatch(const struct identity *is, const struct identity *first, unsigned number,
                         struct buf *text)
{
    if (is->number < 0)
        buf_printf(text,
                   "the tables of shard %u are missing: run `lazuli cluster init` with every "
                   "--rows first",
                   number + 1);
    else if (is->version != SQL_SCHEMA_VERSION)
        buf_printf(text,
                   "the tables of shard %u are of version %lld, this program is for version "
                   "%d",
                   number + 1, (long long)is->version, SQL_SCHEMA_VERSION);
    else if (strcmp(is->store, first->store) != 0)
        buf_printf(text, "--rows number %u is of another store", number + 1);
    else if (is->number != number)
        buf_printf(text,
                   "--rows number %u is shard %lld: give every --rows in the order of "
                   "`lazuli cluster init`",
                   number + 1, (long long)is->number + 1);
}

/* True if the map has no bucket in the shards after the first `count`. */
static struct err read_drained(struct conn *first, unsigned count, bool *drained)
{
    char sql[128];
    (void)snprintf(sql, sizeof sql,
                   "SELECT 1 FROM placement WHERE shard >= %u OR target >= %u LIMIT 1", count,
                   count);
    TRY(conn_run(first, sql));
    *drained = result_rows(first, 0) == 0;
    return OK;
}

/* The store may have more shards than are given if the others were drained. */
static struct err check_count(struct cluster_session *s, const struct identity *first, bool fewer)
{
    bool drained = false;
    if (first->shards > s->count)
        TRY(read_drained(s->conns[0], s->count, &drained));
    if (first->shards > s->count && !drained)
        buf_printf(&s->text, "the store has %lld shards, and --rows is given %u times",
                   (long long)first->shards, s->count);
    else if (first->shards < s->count && !fewer)
        buf_printf(&s->text,
                   "the store has %lld shards, and --rows is given %u times: run `lazuli "
                   "cluster init` with every --rows first",
                   (long long)first->shards, s->count);
    return OK;
}

struct err cluster_check_shards(struct cluster_session *s)
{
    struct identity first = {0};
    for (unsigned i = 0; i < s->count; i++) {
        struct identity is;
        TRY(read_identity(s->conns[i], &is));
        if (i == 0)
            first = is;
        put_mismatch(&is, &first, i, &s->text);
        if (i == 0 && s->text.n == 0)
            TRY(check_count(s, &first, false));
        if (s->text.n > 0)
            return err_new(ERR_FOREIGN_STORE);
    }
    return OK;
}

/* ---- init ---- */

/* Objects are named after the gateways that write them. Each store numbers its gateways from a
 * random number on, so that stores that share a pool, or follow one another there, do not use the
 * same names. */
static struct err number_gateways(struct conn *c)
{
    enum { RANDOM_BITS = 36 }; /* a slot's number has 24 bits more, and a sign */
    uint64_t start;
    char sql[96];
    random_bytes(&start, sizeof start);
    (void)snprintf(sql, sizeof sql, "SELECT setval('gateway_ids', %llu)",
                   (unsigned long long)(start >> (64 - RANDOM_BITS)) + 1);
    return conn_run(c, sql);
}

/* The tables of one shard. Its buckets are those that the map has for it; a new first one makes the
 * map. */
static struct err make_tables(struct conn *c, unsigned number, unsigned count,
                              const struct identity *first, struct str here)
{
    char sql[512];
    for (size_t i = 0; i < SQL_SCHEMA_COUNT; i++)
        TRY(conn_run(c, SQL_SCHEMA[i]));
    if (number == 0) {
        (void)snprintf(sql, sizeof sql,
                       "INSERT INTO lazuli VALUES (%d, gen_random_uuid()::text, 0, %u)",
                       SQL_SCHEMA_VERSION, count);
        TRY(conn_run(c, sql));
        TRY(number_gateways(c));
        (void)snprintf(sql, sizeof sql,
                       "INSERT INTO placement (bucket, shard) SELECT b, b %% %u FROM "
                       "generate_series(0, %d) AS g (b)",
                       count, BUCKETS - 1);
        TRY(conn_run(c, sql));
        return conn_run(c,
                        "INSERT INTO buckets SELECT bucket, CASE shard WHEN 0 THEN 1 ELSE 11 END, "
                        "0 FROM placement");
    }
    (void)snprintf(sql, sizeof sql, "INSERT INTO lazuli VALUES (%d, '%s', %u, 0)",
                   SQL_SCHEMA_VERSION, first->store, number);
    TRY(conn_run(c, sql));
    struct buf list = buf_heap();
    buf_printf(&list,
               "INSERT INTO buckets SELECT b, CASE WHEN b IN (-1%.*s) THEN 1 ELSE 11 END, 0 FROM "
               "generate_series(0, %d) AS g (b)",
               STR_ARG(here), BUCKETS - 1);
    buf_putc(&list, '\0');
    struct err error = conn_run(c, list.p);
    buf_release(&list);
    return error;
}

/* ",3,7,…": the buckets that the map has for a shard. */
static struct err read_placed(struct conn *first, unsigned number, struct buf *here)
{
    char sql[96];
    (void)snprintf(sql, sizeof sql, "SELECT bucket FROM placement WHERE shard = %u", number);
    TRY(conn_run(first, sql));
    for (int i = 0; i < result_rows(first, 0); i++)
        buf_printf(here, ",%lld", (long long)result_number(first, 0, i, 0));
    return OK;
}

static struct err init_shard(struct cluster_session *s,
                             const struct engine_cluster_options *options, unsigned number,
                             struct identity *first)
{
    struct conn *c = s->conns[number];
    struct identity is;
    struct buf here = buf_heap();
    struct err error = number == 0 ? OK : read_placed(s->conns[0], number, &here);
    char sql[128];
    if (!err_is(error))
        error = conn_run(c, "BEGIN");
    if (!err_is(error)) /* two at once */
        error = conn_run(c, "SELECT pg_advisory_xact_lock(4923478)");
    if (!err_is(error) && options->schema != NULL) {
        (void)snprintf(sql, sizeof sql, "CREATE SCHEMA IF NOT EXISTS %s", options->schema);
        error = conn_run(c, sql);
    }
    if (!err_is(error))
        error = read_identity(c, &is);
    if (!err_is(error) && is.number < 0) {
        error = make_tables(c, number, s->count, first, buf_str(&here));
        if (!err_is(error))
            error = read_identity(c, &is);
    }
    buf_release(&here);
    TRY(error);
    if (number == 0)
        *first = is;
    put_mismatch(&is, first, number, &s->text);
    if (number == 0 && s->text.n == 0)
        TRY(check_count(s, first, true));
    return s->text.n > 0 ? err_new(ERR_FOREIGN_STORE) : conn_run(c, "COMMIT");
}

static struct err init_shards(struct cluster_session *s,
                              const struct engine_cluster_options *options)
{
    struct identity first = {0};
    char sql[64];
    for (unsigned i = 0; i < s->count; i++)
        TRY(init_shard(s, options, i, &first));
    if (first.shards == s->count)
        return OK; /* otherwise a shard is being added, or a drained one removed */
    (void)snprintf(sql, sizeof sql, "UPDATE lazuli SET shards = %u", s->count);
    return conn_run(s->conns[0], sql);
}

/* Checks that the pool accepts a write. */
static struct err try_pool(const struct engine_cluster_options *options, struct buf *text)
{
    static const char name[] = "lz.init";
    struct extents *x = MEM_NEW(struct extents);
    rados_done done;
    struct err error = rados_extents_open(x, str_of(options->extents), text);
    if (!err_is(error) && x->lib.done_create(NULL, NULL, &done) >= 0) {
        int result = extents_write(x, name, "lazuli", 6, done);
        if (result >= 0) {
            (void)x->lib.done_wait(done);
            result = x->lib.done_result(done);
        }
        x->lib.done_release(done);
        error = err_of_rados(result);
        if (err_is(error))
            buf_printf(text, "the pool %s does not take a write, error %d", x->pool, -result);
    }
    rados_extents_close(x);
    free(x);
    return error;
}

struct err engine_cluster_init(const struct engine_cluster_options *options)
{
    struct cluster_session s = {0};
    struct err error = cluster_session_open(&s, options);
    if (!err_is(error))
        error = init_shards(&s, options);
    if (!err_is(error))
        error = try_pool(options, &s.text);
    return cluster_session_close(&s, options, error);
}

struct err engine_cluster_drop(const struct engine_cluster_options *options)
{
    struct cluster_session s = {0};
    char sql[128];
    struct err error = cluster_session_open(&s, options);
    (void)snprintf(sql, sizeof sql, "DROP SCHEMA IF EXISTS %s CASCADE", options->schema);
    for (unsigned i = 0; i < s.count && !err_is(error); i++)
        error = conn_run(s.conns[i], sql);
    return cluster_session_close(&s, options, error);
}

/* ---- status ---- */

struct status_part {
    const char *title;
    const char *sql; /* every column is text */
};

/* Of the first shard. */
static const struct status_part STATUS[] = {
    {"gateways",
     "SELECT id || '  ' || name || '  since ' || date_trunc('second', started) || '  heard ' || "
     "round(extract(epoch FROM now() - beat)::numeric, 1) || ' s ago' || "
     "CASE WHEN id = (SELECT holder FROM leases WHERE name = 'collector' AND until > now()) THEN '  collector' ELSE '' END "
     "FROM gateways ORDER BY id"},
    {"moving",
     "SELECT count(*) || ' of 1024 buckets are to move' || "
     "(SELECT CASE WHEN until > now() THEN '' ELSE ', and nobody moves them: run `lazuli cluster rebalance` or `drain` again' END "
     "FROM leases WHERE name = 'mover') || "
     "coalesce((SELECT '; bucket ' || bucket || ' from shard ' || shard + 1 || ' to ' || target + 1 || ', ' || copied || ' rows copied' "
     "FROM placement WHERE target IS NOT NULL AND copied > 0 ORDER BY bucket LIMIT 1), '') "
     "FROM placement WHERE target IS NOT NULL HAVING count(*) > 0"},
    {"reserved ranges of names", "SELECT count(*)::text FROM intents"},
    {"schema version", "SELECT version::text FROM lazuli"},
};

/* Of each. */
static const struct status_part SHARD_STATUS[] = {
    {"shards",
     "SELECT (SELECT shard + 1 FROM lazuli) || '  ' || current_database() || ' on PostgreSQL ' || current_setting('server_version') || "
     "'  buckets ' || (SELECT count(*) FROM buckets WHERE state < 10) || "
     "'  partitions ' || (SELECT count(*) FROM partitions) || '  rows about ' || "
     "(SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'rows'::regclass) || '  ' || "
     "pg_size_pretty(pg_total_relation_size('rows'))"},
    {"extents",
     "SELECT 'shard ' || (SELECT shard + 1 FROM lazuli) || ': ' || count(*) FILTER (WHERE count > 0) || ' in use, ' || "
     "pg_size_pretty(coalesce(sum(length) FILTER (WHERE count > 0), 0)) || '; ' || "
     "count(*) FILTER (WHERE count = 0) || ' to be removed' FROM extents"},
};

static struct err put_lines(struct conn *c, const char *sql, struct buf *out)
{
    TRY(conn_run(c, sql));
    for (int row = 0; row < result_rows(c, 0); row++)
        buf_printf(out, "  %.*s\n", STR_ARG(result_field(c, 0, row, 0)));
    if (result_rows(c, 0) == 0)
        buf_put(out, STR("  none\n"));
    return OK;
}

static struct err put_status(struct cluster_session *s, struct buf *out)
{
    for (unsigned i = 0; i < s->count; i++) {
        TRY(conn_run(s->conns[i], "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"));
        TRY(conn_run(s->conns[i], "SET LOCAL enable_seqscan = on"));
    }
    for (size_t k = 0; k < sizeof STATUS / sizeof STATUS[0]; k++) {
        buf_printf(out, "%s\n", STATUS[k].title);
        TRY(put_lines(s->conns[0], STATUS[k].sql, out));
    }
    for (size_t k = 0; k < sizeof SHARD_STATUS / sizeof SHARD_STATUS[0]; k++) {
        buf_printf(out, "%s\n", SHARD_STATUS[k].title);
        for (unsigned i = 0; i < s->count; i++)
            TRY(put_lines(s->conns[i], SHARD_STATUS[k].sql, out));
    }
    return OK;
}

struct err engine_cluster_status(const struct engine_cluster_options *options, struct buf *out)
{
    struct cluster_session s = {0};
    struct err error = cluster_session_open(&s, options);
    if (!err_is(error))
        error = cluster_check_shards(&s);
    if (!err_is(error))
        error = put_status(&s, out);
    return cluster_session_close(&s, options, error);
}
