/* SPDX-License-Identifier: Apache-2.0 */
/* `lazuli cluster init` and `status`: the tables, and what is in them. */
#include <stdio.h>
#include <stdlib.h>

#include "core/mem.h"
#include "engine/cluster/cluster_internal.h"

/* A connection without an engine. */
struct session {
    struct pq pq;
    struct conn_target target;
    struct conn *conn;
    struct buf text;
};

static struct err session_open(struct session *s, const struct engine_cluster_options *options)
{
    s->text = buf_heap();
    struct err error = pq_load(&s->pq);
    if (err_is(error)) {
        buf_put(&s->text, str_of(error.detail));
        return error;
    }
    s->target = (struct conn_target){&s->pq, options->rows, options->schema, NULL};
    return conn_open(&s->target, false, &s->text, &s->conn);
}

static struct err session_close(struct session *s, const struct engine_cluster_options *options,
                                struct err error)
{
    if (err_is(error) && s->text.n == 0)
        buf_printf(&s->text, "PostgreSQL refuses (%s)", s->conn == NULL ? "" : s->conn->sqlstate);
    if (err_is(error) && options->text != NULL) {
        (void)snprintf(options->text, options->text_size, "%.*s", STR_ARG(buf_str(&s->text)));
        error.detail = options->text;
    }
    if (s->conn != NULL)
        conn_close(s->conn);
    buf_release(&s->text);
    return error;
}

static struct err run_text(struct conn *c, const char *sql)
{
    conn_send_text(c, sql);
    return conn_exchange(c);
}

/* ---- init ---- */

static struct err make_schema(struct session *s, const struct engine_cluster_options *options)
{
    struct conn *c = s->conn;
    TRY(run_text(c, "BEGIN"));
    TRY(run_text(c, "SELECT pg_advisory_xact_lock(4923478)")); /* two at once */
    if (options->schema != NULL) {
        char sql[128];
        (void)snprintf(sql, sizeof sql, "CREATE SCHEMA IF NOT EXISTS %s", options->schema);
        TRY(run_text(c, sql));
    }
    TRY(run_text(c, "SELECT 1 FROM pg_class WHERE oid = to_regclass('lazuli')"));
    bool there = result_rows(c, 0) > 0;
    if (there) {
        TRY(run_text(c, "SELECT version FROM lazuli"));
        int64_t version = result_number(c, 0, 0, 0);
        if (version > SQL_SCHEMA_VERSION) {
            buf_printf(&s->text, "the tables are of version %lld, newer than this program's %d",
                       (long long)version, SQL_SCHEMA_VERSION);
            return err_new(ERR_FOREIGN_STORE);
        }
    }
    for (size_t i = 0; i < SQL_SCHEMA_COUNT && !there; i++)
        TRY(run_text(c, SQL_SCHEMA[i]));
    return run_text(c, "COMMIT");
}

/* Whether the pool takes a write. */
static struct err try_pool(const struct engine_cluster_options *options, struct buf *text)
{
    static const char name[] = "lz.init";
    struct extents *x = MEM_NEW(struct extents);
    rados_done done;
    struct err error = rados_extents_open(x, str_of(options->extents), text);
    if (!err_is(error) && x->lib.done_create(NULL, NULL, &done) >= 0) {
        int result = x->lib.write_full(x->io, name, done, "lazuli", 6);
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
    struct session s = {0};
    struct err error = session_open(&s, options);
    if (!err_is(error))
        error = make_schema(&s, options);
    if (!err_is(error))
        error = try_pool(options, &s.text);
    return session_close(&s, options, error);
}

struct err engine_cluster_drop(const struct engine_cluster_options *options)
{
    struct session s = {0};
    char sql[128];
    struct err error = session_open(&s, options);
    (void)snprintf(sql, sizeof sql, "DROP SCHEMA IF EXISTS %s CASCADE", options->schema);
    if (!err_is(error))
        error = run_text(s.conn, sql);
    return session_close(&s, options, error);
}

/* ---- status ---- */

/* Every column is text. */
static const struct {
    const char *title;
    const char *sql;
} STATUS[] = {
    {"gateways",
     "SELECT id || '  ' || name || '  since ' || date_trunc('second', started) || '  heard ' || "
     "round(extract(epoch FROM now() - beat)::numeric, 1) || ' s ago' || "
     "CASE WHEN id = (SELECT holder FROM leases WHERE name = 'collector' AND until > now()) THEN '  collector' ELSE '' END "
     "FROM gateways ORDER BY id"},
    {"shards",
     "SELECT '1  ' || current_database() || ' on PostgreSQL ' || current_setting('server_version') || "
     "'  partitions ' || (SELECT count(*) FROM partitions) || '  rows about ' || "
     "(SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'rows'::regclass) || '  ' || "
     "pg_size_pretty(pg_total_relation_size('rows'))"},
    {"extents", "SELECT count(*) FILTER (WHERE count > 0) || ' in use, ' || "
                "pg_size_pretty(coalesce(sum(length) FILTER (WHERE count > 0), 0)) || '; ' || "
                "count(*) FILTER (WHERE count = 0) || ' to be removed' FROM extents"},
    {"reserved ranges of names", "SELECT count(*)::text FROM intents"},
    {"schema version", "SELECT version::text FROM lazuli"},
};

static struct err put_status(struct conn *c, struct buf *out)
{
    TRY(run_text(c, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"));
    TRY(run_text(c, "SET LOCAL enable_seqscan = on"));
    for (size_t i = 0; i < sizeof STATUS / sizeof STATUS[0]; i++) {
        TRY(run_text(c, STATUS[i].sql));
        buf_printf(out, "%s\n", STATUS[i].title);
        for (int row = 0; row < result_rows(c, 0); row++)
            buf_printf(out, "  %.*s\n", STR_ARG(result_field(c, 0, row, 0)));
    }
    return run_text(c, "COMMIT");
}

struct err engine_cluster_status(const struct engine_cluster_options *options, struct buf *out)
{
    struct session s = {0};
    struct err error = session_open(&s, options);
    if (!err_is(error))
        error = put_status(s.conn, out);
    return session_close(&s, options, error);
}
