/* SPDX-License-Identifier: Apache-2.0 */
/* Copies the rows of a bucket from one shard to another. Rows may be copied twice: rows that change
 * in the source after they were copied are in the table of changes. Every transaction of the target
 * first checks that this attempt is still the current one. */
#include <stdio.h>
#include <stdlib.h>

#include "core/mem.h"
#include "engine/cluster/move.h"

enum { PARTS_EACH = 40, EXTENTS_EACH = 1000, CLEAN_EACH = 2000, ROWS_EACH = 500 };

// clang-format off
#define PH(part) "substring(" part " from 1 for 800)"
#define KH(key)  "substring(" key " from 1 for 1600)"
#define TAG    "(CASE WHEN length(part) <= 800 AND length(key) <= 1600 THEN ''::bytea ELSE sha256(int4send(length(part)) || part || key) END)"
#define PTAG   "(CASE WHEN length(part) <= 1600 THEN ''::bytea ELSE sha256(part) END)"

static const char GUARD[] = "WITH g AS (SELECT 1 FROM buckets WHERE bucket = $1::bigint AND attempt = $2::bigint AND state = 12 FOR UPDATE) "
    "SELECT 1/(SELECT count(*) FROM g)";
static const char PARTS[] = "SELECT part, stamp, before FROM partitions WHERE bucket = $1::bigint AND ($3::bool OR part > $2::bytea) "
    "ORDER BY part LIMIT $4::bigint";
/* A step copies up to a MiB, and at least one row; the last column is the number of rows to choose
 * from. */
static const char ROWS[] = "SELECT key, value, body, total FROM (SELECT key, value, body, count(*) OVER () AS total, "
    "row_number() OVER w AS n, sum(octet_length(value) + coalesce(octet_length(body), 0)) OVER w AS bytes FROM ("
    "SELECT key, value, body FROM rows WHERE " PH("part") " = " PH("$1::bytea") " AND part = $1 AND " KH("key") " >= " KH("$2::bytea")
    " AND ($3::bool OR key > $2) ORDER BY " KH("key") ", key LIMIT 500) AS page WINDOW w AS (ORDER BY " KH("key") ", key)) AS sums "
    "WHERE n = 1 OR bytes <= 1048576 ORDER BY n";
static const char PUT_ROWS[] = "INSERT INTO rows (part, key, value, body) SELECT * FROM "
    "unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bytea[]) ON CONFLICT (" PH("part") ", " KH("key") ", " TAG ") "
    "DO UPDATE SET value = excluded.value, body = excluded.body";
static const char DEL_ROWS[] = "DELETE FROM rows r USING unnest($1::bytea[], $2::bytea[]) AS k (part, key) WHERE "
    PH("r.part") " = " PH("k.part") " AND r.part = k.part AND " KH("r.key") " = " KH("k.key") " AND r.key = k.key";
static const char PUT_PARTS[] = "INSERT INTO partitions (part, stamp, before, bucket) SELECT p, s, b, $4::bigint FROM "
    "unnest($1::bytea[], $2::bigint[], $3::bigint[]) AS u (p, s, b) ON CONFLICT (" KH("part") ", " PTAG ") "
    "DO UPDATE SET stamp = greatest(partitions.stamp, excluded.stamp), before = excluded.before";
static const char EXTENTS[] = "SELECT segment, place, length, crc, count FROM extents WHERE bucket = $1::bigint AND "
    "(segment, place) > ($2::bigint, $3::bigint) ORDER BY segment, place LIMIT 1000";
static const char PUT_EXTENTS[] = "INSERT INTO extents (segment, place, length, crc, count, dropped, bucket) SELECT s, p, l, c, n, "
    "CASE WHEN n = 0 THEN pg_current_xact_id()::text::bigint END, $6::bigint FROM "
    "unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS x (s, p, l, c, n) "
    "ON CONFLICT (segment, place, bucket) DO UPDATE SET length = excluded.length, crc = excluded.crc, count = excluded.count, "
    "dropped = excluded.dropped";
static const char DEL_EXTENTS[] = "DELETE FROM extents x USING unnest($1::bigint[], $2::bigint[]) AS g (s, p) "
    "WHERE x.segment = g.s AND x.place = g.p AND x.bucket = $3::bigint";

static const char CHANGES[] = "SELECT id FROM changes WHERE bucket = $1::bigint ORDER BY id LIMIT 200";
static const char CHANGED_ROWS[] = "SELECT c.part, c.key, r.value, r.body FROM (SELECT DISTINCT part, key FROM changes WHERE "
    "id = ANY ($1::bigint[]) AND key IS NOT NULL) AS c LEFT JOIN rows r ON " PH("r.part") " = " PH("c.part")
    " AND r.part = c.part AND " KH("r.key") " = " KH("c.key") " AND r.key = c.key";
static const char CHANGED_PARTS[] = "SELECT c.part, p.stamp, p.before FROM (SELECT DISTINCT part FROM changes WHERE "
    "id = ANY ($1::bigint[]) AND part IS NOT NULL) AS c JOIN partitions p ON " KH("p.part") " = " KH("c.part") " AND p.part = c.part";
static const char CHANGED_EXTENTS[] = "SELECT c.segment, c.place, x.length, x.crc, x.count FROM (SELECT DISTINCT segment, place FROM "
    "changes WHERE id = ANY ($1::bigint[]) AND segment IS NOT NULL) AS c LEFT JOIN extents x ON x.segment = c.segment AND "
    "x.place = c.place AND x.bucket = $2::bigint";
static const char CHANGES_DONE[] = "DELETE FROM changes WHERE id = ANY ($1::bigint[])";
static const char POSITION[] = "UPDATE placement SET part = $2::bytea, key = NULL, copied = $3::bigint WHERE bucket = $1::bigint";
// clang-format on

static struct conn *source(const struct mover *m)
{
    return m->session->conns[m->from];
}

static struct conn *target(const struct mover *m)
{
    return m->session->conns[m->to];
}

/* ---- what is sent to the target ---- */

struct outgoing {
    struct array parts, keys, values, bodies;
    struct array gone_parts, gone_keys;
    struct array names, stamps, befores;
    struct array segments, places, lengths, checks, counts;
    struct array gone_segments, gone_places;
};

static void outgoing_begin(struct outgoing *o, struct arena *a)
{
    struct array *const bytes[] = {&o->parts,      &o->keys,      &o->values, &o->bodies,
                                   &o->gone_parts, &o->gone_keys, &o->names};
    struct array *const numbers[] = {&o->stamps, &o->befores,       &o->segments,
                                     &o->places, &o->lengths,       &o->checks,
                                     &o->counts, &o->gone_segments, &o->gone_places};
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++)
        *bytes[i] = array_begin(a, ARRAY_BYTES);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        *numbers[i] = array_begin(a, ARRAY_NUMBERS);
}

static struct str or_empty(struct str s)
{
    return str_given(s) ? s : STR("");
}

static void put_row(struct outgoing *o, struct str part, struct str key, const struct str row[2])
{
    if (!str_given(row[0])) {
        array_bytes(&o->gone_parts, or_empty(part));
        array_bytes(&o->gone_keys, or_empty(key));
        return;
    }
    array_bytes(&o->parts, or_empty(part));
    array_bytes(&o->keys, or_empty(key));
    array_bytes(&o->values, row[0]);
    array_bytes(&o->bodies, row[1]);
}

/* Decodes a result with part, stamp, before. */
static void put_parts(struct outgoing *o, const struct conn *c, unsigned statement)
{
    for (int i = 0; i < result_rows(c, statement); i++) {
        array_bytes(&o->names, result_field(c, statement, i, 0));
        array_number(&o->stamps, result_number(c, statement, i, 1));
        array_number(&o->befores, result_number(c, statement, i, 2));
    }
}

/* Decodes a result with segment, place, length, crc, count, which are NULL if there is no extent.
 */
static void put_extents(struct outgoing *o, const struct conn *c, unsigned statement)
{
    for (int i = 0; i < result_rows(c, statement); i++) {
        bool there = str_given(result_field(c, statement, i, 2));
        array_number(there ? &o->segments : &o->gone_segments, result_number(c, statement, i, 0));
        array_number(there ? &o->places : &o->gone_places, result_number(c, statement, i, 1));
        if (!there)
            continue;
        array_number(&o->lengths, result_number(c, statement, i, 2));
        array_number(&o->checks, result_number(c, statement, i, 3));
        array_number(&o->counts, result_number(c, statement, i, 4));
    }
}

static void send_some(struct mover *m, const char *sql, struct array *const *arrays, size_t count,
                      bool bucket)
{
    struct params p = params_in(&m->arena);
    if (arrays[0]->count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        param_array(&p, arrays[i]);
    if (bucket)
        param_number(&p, m->bucket);
    conn_send_params(target(m), sql, &p);
}

/* One transaction of the target. */
static struct err deliver(struct mover *m, struct outgoing *o)
{
    struct params guard = params_in(&m->arena);
    struct conn *c = target(m);
    if (o->parts.count + o->gone_parts.count + o->names.count + o->segments.count +
            o->gone_segments.count ==
        0)
        return OK;
    param_number(&guard, m->bucket);
    param_number(&guard, m->attempt);
    conn_send_text(c, "BEGIN");
    conn_send_params(c, GUARD, &guard);
    send_some(m, DEL_ROWS, (struct array *[]){&o->gone_parts, &o->gone_keys}, 2, false);
    send_some(m, PUT_ROWS, (struct array *[]){&o->parts, &o->keys, &o->values, &o->bodies}, 4,
              false);
    send_some(m, PUT_PARTS, (struct array *[]){&o->names, &o->stamps, &o->befores}, 3, true);
    send_some(m, DEL_EXTENTS, (struct array *[]){&o->gone_segments, &o->gone_places}, 2, true);
    send_some(m, PUT_EXTENTS,
              (struct array *[]){&o->segments, &o->places, &o->lengths, &o->checks, &o->counts}, 5,
              true);
    conn_send_text(c, "COMMIT");
    struct err error = conn_exchange(c);
    if (err_is(error) && c->fault != FAULT_LOST)
        (void)conn_run(c, "ROLLBACK").code;
    return error;
}

/* ---- all of it ---- */

static void ask_rows(struct mover *m, struct str part, struct str after, bool first)
{
    struct params p = params_in(&m->arena);
    param_bytes(&p, part);
    param_bytes(&p, after);
    param_bool(&p, first);
    conn_send_params(source(m), ROWS, &p);
}

/* Takes the rows of one partition from the result. False if there are more, after *last. */
static bool take_rows(struct mover *m, struct outgoing *o, unsigned statement, struct str part,
                      struct str *last)
{
    const struct conn *c = source(m);
    int rows = result_rows(c, statement);
    for (int i = 0; i < rows; i++) {
        struct str row[2] = {result_field(c, statement, i, 1), result_field(c, statement, i, 2)};
        put_row(o, part, result_field(c, statement, i, 0), row);
    }
    m->copied += (uint64_t)rows;
    if (rows == 0)
        return true;
    int64_t total = result_number(c, statement, 0, 3);
    *last = arena_copy(&m->arena, or_empty(result_field(c, statement, rows - 1, 0)));
    return rows == total && total < ROWS_EACH;
}

/* The rest of a partition that is too large for one step. */
static struct err copy_rest(struct mover *m, struct str part, struct str last)
{
    struct buf name = buf_heap();
    struct buf after = buf_heap();
    struct err error = OK;
    buf_put(&name, part);
    buf_put(&after, last);
    for (bool done = false; !done && !err_is(error);) {
        struct outgoing o;
        struct str next = STR("");
        arena_reset(&m->arena);
        outgoing_begin(&o, &m->arena);
        ask_rows(m, buf_str(&name), buf_str(&after), false);
        error = conn_exchange(source(m));
        if (!err_is(error)) {
            done = take_rows(m, &o, 0, buf_str(&name), &next);
            buf_clear(&after);
            buf_put(&after, next);
            error = deliver(m, &o);
        }
        if (!err_is(error))
            error = mover_renew(m);
    }
    buf_release(&name);
    buf_release(&after);
    return error;
}

/* Stores the progress, for a mover that continues after this one. */
static struct err note_position(struct mover *m, struct str part)
{
    struct params p = params_in(&m->arena);
    struct conn *first = m->session->conns[0];
    param_number(&p, m->bucket);
    param_bytes(&p, part);
    param_number(&p, (int64_t)m->copied);
    conn_send_params(first, POSITION, &p);
    return conn_exchange(first);
}

struct part_list {
    struct str names[PARTS_EACH];
    struct str lasts[PARTS_EACH];
    bool done[PARTS_EACH];
    size_t count;
};

static struct err list_parts(struct mover *m, struct outgoing *o, const struct buf *after,
                             bool first, struct part_list *list)
{
    struct params p = params_in(&m->arena);
    param_number(&p, m->bucket);
    param_bytes(&p, buf_str(after));
    param_bool(&p, first);
    param_number(&p, PARTS_EACH);
    conn_send_params(source(m), PARTS, &p);
    TRY(conn_exchange(source(m)));
    put_parts(o, source(m), 0);
    list->count = (size_t)result_rows(source(m), 0);
    for (size_t i = 0; i < list->count; i++)
        list->names[i] = arena_copy(&m->arena, or_empty(result_field(source(m), 0, (int)i, 0)));
    return OK;
}

/* Copies the rest of each partition that did not fit. The arena, and so the list, is reused for
 * each. */
static struct err copy_rests(struct mover *m, const struct part_list *list)
{
    struct buf rests[2 * PARTS_EACH];
    size_t count = 0;
    struct err error = OK;
    for (size_t i = 0; i < list->count; i++) {
        if (list->done[i])
            continue;
        rests[count] = buf_heap();
        buf_put(&rests[count++], list->names[i]);
        rests[count] = buf_heap();
        buf_put(&rests[count++], list->lasts[i]);
    }
    for (size_t i = 0; i < count; i += 2) {
        if (!err_is(error))
            error = copy_rest(m, buf_str(&rests[i]), buf_str(&rests[i + 1]));
        buf_release(&rests[i]);
        buf_release(&rests[i + 1]);
    }
    return error;
}

/* Some partitions with their rows, in one round trip to each side. */
static struct err copy_parts(struct mover *m, struct buf *after, bool first, bool *more)
{
    struct outgoing o;
    struct part_list list = {.count = 0};
    arena_reset(&m->arena);
    outgoing_begin(&o, &m->arena);
    TRY(list_parts(m, &o, after, first, &list));
    *more = list.count == PARTS_EACH;
    if (list.count == 0)
        return OK;
    for (size_t i = 0; i < list.count; i++)
        ask_rows(m, list.names[i], STR(""), true);
    TRY(conn_exchange(source(m)));
    for (size_t i = 0; i < list.count; i++)
        list.done[i] = take_rows(m, &o, (unsigned)i, list.names[i], &list.lasts[i]);
    TRY(deliver(m, &o));
    buf_clear(after);
    buf_put(after, list.names[list.count - 1]);
    return copy_rests(m, &list);
}

/* From the beginning, or behind the partitions that an earlier mover has copied. */
static struct err find_position(struct mover *m, struct buf *after, bool *first)
{
    struct conn *c = m->session->conns[0];
    char sql[96];
    (void)snprintf(sql, sizeof sql, "SELECT part, copied FROM placement WHERE bucket = %u",
                   m->bucket);
    TRY(conn_run(c, sql));
    if (result_rows(c, 0) == 1 && str_given(result_field(c, 0, 0, 0))) {
        buf_put(after, result_field(c, 0, 0, 0));
        m->copied = (uint64_t)result_number(c, 0, 0, 1);
        *first = false;
    }
    return OK;
}

static struct err copy_rows(struct mover *m)
{
    struct buf after = buf_heap();
    bool first = true;
    struct err error = find_position(m, &after, &first);
    for (bool more = true; more && !err_is(error);) {
        error = copy_parts(m, &after, first, &more);
        first = false;
        if (!err_is(error) && more)
            error = note_position(m, buf_str(&after));
        if (!err_is(error))
            error = mover_renew(m);
    }
    buf_release(&after);
    return error;
}

static struct err copy_extents(struct mover *m)
{
    int64_t at[2] = {-1, -1};
    for (bool more = true; more;) {
        struct outgoing o;
        arena_reset(&m->arena);
        struct params p = params_in(&m->arena);
        outgoing_begin(&o, &m->arena);
        param_number(&p, m->bucket);
        param_number(&p, at[0]);
        param_number(&p, at[1]);
        conn_send_params(source(m), EXTENTS, &p);
        TRY(conn_exchange(source(m)));
        int rows = result_rows(source(m), 0);
        more = rows == EXTENTS_EACH;
        if (rows > 0) {
            at[0] = result_number(source(m), 0, rows - 1, 0);
            at[1] = result_number(source(m), 0, rows - 1, 1);
        }
        put_extents(&o, source(m), 0);
        TRY(deliver(m, &o));
        TRY(mover_renew(m));
    }
    return OK;
}

struct err move_copy_all(struct mover *m)
{
    TRY(copy_rows(m));
    return copy_extents(m);
}

/* ---- what has changed ---- */

/* The entries of the table of changes that are processed now, as a parameter. */
static struct err take_changes(struct mover *m, struct array *ids)
{
    struct params p = params_in(&m->arena);
    param_number(&p, m->bucket);
    conn_send_params(source(m), CHANGES, &p);
    TRY(conn_exchange(source(m)));
    for (int i = 0; i < result_rows(source(m), 0); i++)
        array_number(ids, result_number(source(m), 0, i, 0));
    return OK;
}

struct err move_copy_changes(struct mover *m, bool *left)
{
    struct conn *c = source(m);
    struct outgoing o;
    arena_reset(&m->arena);
    struct params p = params_in(&m->arena);
    struct params extents = params_in(&m->arena);
    struct array ids = array_begin(&m->arena, ARRAY_NUMBERS);
    outgoing_begin(&o, &m->arena);
    TRY(take_changes(m, &ids));
    *left = ids.count == MOVE_CHANGES_EACH;
    if (ids.count == 0)
        return OK;
    param_array(&p, &ids);
    extents = p;
    param_number(&extents, m->bucket);
    conn_send_params(c, CHANGED_ROWS, &p);
    conn_send_params(c, CHANGED_PARTS, &p);
    conn_send_params(c, CHANGED_EXTENTS, &extents);
    TRY(conn_exchange(c));
    for (int i = 0; i < result_rows(c, 0); i++) {
        struct str row[2] = {result_field(c, 0, i, 2), result_field(c, 0, i, 3)};
        put_row(&o, result_field(c, 0, i, 0), result_field(c, 0, i, 1), row);
    }
    put_parts(&o, c, 1);
    put_extents(&o, c, 2);
    TRY(deliver(m, &o));
    conn_send_params(c, CHANGES_DONE, &p);
    TRY(conn_exchange(c));
    return mover_renew(m);
}

/* ---- what is left behind ---- */

/* Runs the statement until it finds nothing more to delete. */
static struct err clean_with(struct mover *m, unsigned shard, const char *sql)
{
    for (bool more = true; more;) {
        TRY(conn_run(m->session->conns[shard], sql));
        more = result_rows(m->session->conns[shard], 0) > 0;
        TRY(mover_renew(m));
    }
    return OK;
}

struct err move_clean(struct mover *m, unsigned shard)
{
    char sql[768];
    (void)snprintf(
        sql, sizeof sql,
        "DELETE FROM rows WHERE ctid = ANY (ARRAY(SELECT r.ctid FROM partitions p JOIN rows "
        "r ON " PH("r.part") " = " PH("p.part") " AND r.part = p.part WHERE p.bucket = %u "
                                                "LIMIT %d)) RETURNING 1",
        m->bucket, CLEAN_EACH);
    TRY(clean_with(m, shard, sql));
    (void)snprintf(sql, sizeof sql,
                   "WITH d AS (DELETE FROM partitions WHERE bucket = %u) SELECT 1 WHERE false",
                   m->bucket);
    TRY(clean_with(m, shard, sql));
    (void)snprintf(sql, sizeof sql,
                   "WITH d AS (DELETE FROM extents WHERE bucket = %u) SELECT 1 WHERE false",
                   m->bucket);
    TRY(clean_with(m, shard, sql));
    (void)snprintf(sql, sizeof sql,
                   "WITH d AS (DELETE FROM changes WHERE bucket = %u) SELECT 1 WHERE false",
                   m->bucket);
    return clean_with(m, shard, sql);
}
