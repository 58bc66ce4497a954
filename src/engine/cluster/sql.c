/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cluster/sql.h"

// clang-format off
#define PH(part) "substring(" part " from 1 for 800)"
#define KH(key)  "substring(" key " from 1 for 1600)"
#define TAG(t) "(CASE WHEN length(" t "part) <= 800 AND length(" t "key) <= 1600 THEN ''::bytea " \
               "ELSE sha256(int4send(length(" t "part)) || " t "part || " t "key) END)"
#define PTAG   "(CASE WHEN length(part) <= 1600 THEN ''::bytea ELSE sha256(part) END)"

#define XMIN "pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
#define XID  "pg_current_xact_id()::text::bigint"
/* Fails with 22012 (division by zero) unless the condition holds, and so the transaction does. */
#define REQUIRE(condition) "1/(CASE WHEN " condition " THEN 1 ELSE 0 END)"

/* Fails with 22003 (out of range) unless the condition holds: the bucket has moved to another shard. */
#define MOVED_UNLESS(condition, state) "CASE WHEN " condition " THEN true ELSE 2147483647 + (" state ")::int4 > 0 END"
#define HERE(bucket) "(SELECT " MOVED_UNLESS("state < 10", "state") " FROM buckets WHERE bucket = " bucket ")"

#define SCAN_ROWS "SELECT key, value FROM rows WHERE " HERE("$6::bigint") " AND " PH("part") " = " PH("$1::bytea") " AND part = $1 AND " \
    KH("key") " >= " KH("$2::bytea") " AND key >= $2 AND " KH("key") " <= " KH("$3::bytea") \
    " AND ($4::bool OR key < $3) ORDER BY "
#define LOCK_HEAD "INSERT INTO partitions AS p (part, stamp, bucket) SELECT $1::bytea, $2::bigint + $3::bigint - 1, $4::bigint " \
    "WHERE (SELECT " MOVED_UNLESS("state = 1 OR (state = 2 AND $5::bool)", "state") " FROM buckets WHERE bucket = $4) ON CONFLICT (" KH("part") ", " PTAG ") DO UPDATE SET before = p.stamp, stamp = "
#define LOCK_TAIL " RETURNING stamp - $3 + 1, before, " XMIN

const char *const SQL_TEXT[STMT_COUNT] = {
    [STMT_BEGIN_VIEW] = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    [STMT_BEGIN] = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    [STMT_COMMIT] = "COMMIT",
    [STMT_ROLLBACK] = "ROLLBACK",
    [STMT_KEEP] = "SELECT set_config('idle_in_transaction_session_timeout', '120s', true), " XMIN,
    [STMT_SLOT_NEW] = "INSERT INTO slots (slot, gateway, id) VALUES ($1::bigint, $2::bigint, 0)",
    [STMT_SLOT_SET] = "WITH u AS (UPDATE slots SET id = $3::bigint WHERE slot = $1::bigint AND id = $2::bigint RETURNING 1) "
        "SELECT " REQUIRE("(SELECT count(*) FROM u) = 1"),
    [STMT_SLOT_FENCE] = "WITH o AS (SELECT slot, id FROM slots WHERE slot = $1::bigint FOR UPDATE) "
        "UPDATE slots s SET id = -1 FROM o WHERE s.slot = o.slot RETURNING o.id",
    [STMT_SLOT_GONE] = "DELETE FROM slots WHERE slot = $1::bigint",
    [STMT_LOCK] = LOCK_HEAD "greatest(p.stamp + 1, $2) + $3 - 1" LOCK_TAIL,
    [STMT_LOCK_AT] = LOCK_HEAD "(CASE WHEN p.stamp < $2 AND ($6::bigint < 0 OR p.stamp = $6) THEN $2 + $3 - 1 "
        "ELSE 1 / (p.stamp - p.stamp) END)" LOCK_TAIL,
    [STMT_GET] = "SELECT k.n, r.value, CASE WHEN octet_length(r.body) <= k.b THEN r.body END, "
        "r.body IS NULL OR octet_length(r.body) <= k.b FROM unnest($1::bytea[], $2::bytea[], $3::bigint[]) "
        "WITH ORDINALITY AS k (part, key, b, n) JOIN rows r ON " PH("r.part") " = " PH("k.part") " AND r.part = k.part AND "
        KH("r.key") " = " KH("k.key") " AND r.key = k.key WHERE (SELECT " MOVED_UNLESS("max(state) < 10", "max(state)")
        " FROM buckets WHERE bucket = ANY ($4::bigint[])) ORDER BY k.n",
    [STMT_SCAN] = SCAN_ROWS KH("key") ", " TAG("") " LIMIT $5::bigint",
    [STMT_SCAN_BACK] = SCAN_ROWS KH("key") " DESC, " TAG("") " DESC LIMIT $5::bigint",
    [STMT_SCAN_LONG] = SCAN_ROWS KH("key") ", key LIMIT $5::bigint",
    [STMT_SCAN_BACK_LONG] = SCAN_ROWS KH("key") " DESC, key DESC LIMIT $5::bigint",
    [STMT_ACROSS] = "SELECT part, key, value FROM rows WHERE (" PH("part") ", " KH("key") ") >= (" PH("$1::bytea") ", "
        KH("$2::bytea") ") AND (part, key) >= ($1, $2) AND " PH("part") " <= " PH("$3::bytea")
        " AND ($4::bool OR part < $3) ORDER BY " PH("part") ", " KH("key") ", " TAG("") " LIMIT $5::bigint",
    [STMT_ACROSS_LONG] = "SELECT part, key, value FROM rows WHERE " PH("part") " >= " PH("$1::bytea")
        " AND (part, key) >= ($1, $2::bytea) AND " PH("part") " <= " PH("$3::bytea")
        " AND ($4::bool OR part < $3) ORDER BY " PH("part") ", part, key LIMIT $5::bigint",
    [STMT_PARTITIONS] = "SELECT p.part, r.value FROM partitions p JOIN rows r ON " PH("r.part") " = " PH("p.part")
        " AND r.part = p.part AND " KH("r.key") " = " KH("$4::bytea") " AND r.key = $4 WHERE " KH("p.part") " >= "
        KH("$1::bytea") " AND p.part >= $1 AND " KH("p.part") " <= " KH("$2::bytea")
        " AND ($3::bool OR p.part < $2) ORDER BY " KH("p.part") ", p.part LIMIT $5::bigint",
    [STMT_PUT] = "INSERT INTO rows (part, key, value, body) SELECT $1::bytea, u.k, u.v, u.b FROM "
        "unnest($2::bytea[], $3::bytea[], $4::bytea[]) AS u (k, v, b) ON CONFLICT (" PH("part") ", " KH("key") ", " TAG("")
        ") DO UPDATE SET value = excluded.value, body = excluded.body",
    [STMT_DEL] = "DELETE FROM rows r USING unnest($2::bytea[]) AS k (key) WHERE " PH("r.part") " = " PH("$1::bytea")
        " AND r.part = $1 AND " KH("r.key") " = " KH("k.key") " AND r.key = k.key",
    /* A row may adopt or hold an extent only while the extent's gateway is registered: the
     * collector removes the extents of a gateway that is gone, and the lock makes it wait for us. */
    [STMT_EXTENT_ADD] = "WITH g AS (SELECT id FROM gateways WHERE id = ANY ($6::bigint[]) FOR KEY SHARE), i AS ("
        "INSERT INTO extents (segment, place, length, crc, count, dropped, bucket) SELECT s, p, l, c, n, "
        "CASE WHEN n = 0 THEN " XID " END, $8::bigint FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], "
        "$5::bigint[]) AS x (s, p, l, c, n) RETURNING 1) "
        "SELECT " REQUIRE("(SELECT count(*) FROM g) = $7::bigint AND (SELECT count(*) FROM i) >= 0"),
    /* A bucket that does not name the extent yet may hold it while another bucket names it: one
     * here, or one in another shard ($8 is 1). */
    [STMT_EXTENT_CHANGE] = "WITH g AS (SELECT id FROM gateways WHERE id = $9::bigint FOR KEY SHARE), d AS (SELECT s, p, l, c, n, "
        "n > 0 AND (e = 1 OR EXISTS (SELECT FROM extents o WHERE o.segment = s AND o.place = p AND o.length = l AND o.crc = c "
        "AND o.count > 0)) AS lives FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $8::bigint[]) "
        "AS d (s, p, l, c, n, e)), u AS (UPDATE extents x SET count = x.count + d.n, "
        "dropped = CASE WHEN x.count + d.n = 0 THEN " XID " END FROM d "
        "WHERE x.segment = d.s AND x.place = d.p AND x.bucket = $7::bigint AND x.length = d.l AND x.crc = d.c AND "
        "(x.count > 0 OR d.lives) AND x.count + d.n >= 0 RETURNING x.segment, x.place), i AS ("
        "INSERT INTO extents (segment, place, length, crc, count, bucket) SELECT s, p, l, c, n, $7 FROM d WHERE lives AND NOT EXISTS "
        "(SELECT FROM extents x WHERE x.segment = s AND x.place = p AND x.bucket = $7) ON CONFLICT (segment, place, bucket) DO UPDATE "
        "SET count = extents.count + excluded.count, dropped = NULL RETURNING 1) "
        "SELECT " REQUIRE("(SELECT count(*) FROM u) + (SELECT count(*) FROM i) = $6::bigint AND "
        "((SELECT count(*) FROM i) = 0 OR EXISTS (SELECT FROM g))"),
    [STMT_EXTENT_LIVES] = "SELECT DISTINCT s, p FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) AS d (s, p, l, c) "
        "JOIN extents x ON x.segment = s AND x.place = p AND x.length = l AND x.crc = c AND x.count > 0",
    [STMT_LOG_ROWS] = "INSERT INTO changes (bucket, part, key) SELECT $1::bigint, $2::bytea, k FROM unnest($3::bytea[]) AS u (k) "
        "UNION ALL SELECT $1, $2, NULL",
    [STMT_LOG_EXTENTS] = "INSERT INTO changes (bucket, segment, place) SELECT $1::bigint, s, p FROM "
        "unnest($2::bigint[], $3::bigint[]) AS u (s, p)",
    [STMT_BUCKETS] = "SELECT bucket, state, target, attempt FROM buckets ORDER BY bucket",
    [STMT_BEAT] = "UPDATE gateways SET beat = now(), pin = $2::bigint WHERE id = $1::bigint RETURNING "
        "(extract(epoch FROM clock_timestamp()) * 10000000)::bigint, " XMIN,
    [STMT_INTENT_NEW] = "INSERT INTO intents (gateway, first) VALUES ($1::bigint, $2::bigint)",
    [STMT_INTENT_GONE] = "DELETE FROM intents WHERE gateway = $1::bigint AND first = $2::bigint",
    [STMT_LEAD] = "UPDATE leases SET holder = $1::bigint, until = now() + interval '10s' WHERE name = 'collector' AND "
        "(holder = $1 OR until < now()) RETURNING 1::bigint",
    [STMT_SILENT] = "SELECT id FROM gateways WHERE beat < now() - interval '120s'",
    [STMT_DEAD] = "WITH d AS (DELETE FROM gateways WHERE id = ANY ($1::bigint[]) RETURNING id), "
        "s AS (DELETE FROM slots WHERE gateway = ANY ($1)) SELECT count(*) FROM d",
    [STMT_GARBAGE] = "SELECT x.segment, x.place, x.bucket FROM extents x JOIN buckets b ON b.bucket = x.bucket AND b.state = 1 "
        "WHERE x.count = 0 AND x.dropped < (SELECT min(pin) FROM gateways) ORDER BY x.dropped LIMIT $1::bigint",
    [STMT_GARBAGE_NAMED] = "SELECT g.n, x.bucket, b.state FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS g (s, p, n) "
        "JOIN extents x ON x.segment = g.s AND x.place = g.p JOIN buckets b ON b.bucket = x.bucket",
    [STMT_GARBAGE_GONE] = "DELETE FROM extents x USING unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS g (s, p, b) "
        "WHERE x.segment = g.s AND x.place = g.p AND x.bucket = g.b AND x.count = 0",
    [STMT_ORPHANS] = "SELECT gateway, first FROM intents i WHERE NOT EXISTS (SELECT FROM gateways g WHERE g.id = i.gateway) "
        "LIMIT $1::bigint",
    [STMT_ORPHAN_NAMES] = "SELECT DISTINCT place FROM extents WHERE segment = $1::bigint AND place >= $2::bigint "
        "AND place < $2 + $3::bigint",
    [STMT_USAGE] = "SELECT count(*), coalesce(sum(length), 0)::bigint FROM extents",
};

const char *const SQL_SCHEMA[] = {
    "CREATE TABLE rows (part bytea NOT NULL, key bytea NOT NULL, value bytea NOT NULL, body bytea) "
        "WITH (fillfactor = 90, toast_tuple_target = 8160)",
    /* Values are not compressed: large ones are content, which rarely compresses well. */
    "ALTER TABLE rows ALTER value SET STORAGE EXTERNAL, ALTER body SET STORAGE EXTERNAL",
    "CREATE UNIQUE INDEX rows_name ON rows (" PH("part") ", " KH("key") ", " TAG("") ")",
    "CREATE TABLE partitions (part bytea NOT NULL, stamp bigint NOT NULL, before bigint NOT NULL DEFAULT 0, "
        "bucket bigint NOT NULL) WITH (fillfactor = 50)",
    "CREATE UNIQUE INDEX partitions_name ON partitions (" KH("part") ", " PTAG ")",
    "CREATE INDEX partitions_bucket ON partitions (bucket)",
    /* Where a bucket is: 1 here, 2 here and changes are logged, 11 not here, 12 arriving. See shards.h. */
    "CREATE TABLE buckets (bucket bigint PRIMARY KEY, state bigint NOT NULL, target bigint NOT NULL, attempt bigint NOT NULL DEFAULT 0) "
        "WITH (fillfactor = 50)",
    "CREATE TABLE changes (id bigserial PRIMARY KEY, bucket bigint NOT NULL, part bytea, key bytea, segment bigint, place bigint)",
    "CREATE INDEX changes_bucket ON changes (bucket, id)",
    "CREATE TABLE slots (slot bigint PRIMARY KEY, gateway bigint NOT NULL, id bigint NOT NULL) WITH (fillfactor = 20)",
    "CREATE SEQUENCE gateway_ids",
    "CREATE TABLE gateways (id bigint PRIMARY KEY, name text NOT NULL, started timestamptz NOT NULL DEFAULT now(), "
        "beat timestamptz NOT NULL DEFAULT now(), pin bigint NOT NULL) WITH (fillfactor = 50)",
    "CREATE TABLE intents (gateway bigint NOT NULL, first bigint NOT NULL, PRIMARY KEY (gateway, first))",
    "CREATE TABLE leases (name text PRIMARY KEY, holder bigint NOT NULL, until timestamptz NOT NULL) WITH (fillfactor = 20)",
    "INSERT INTO leases VALUES ('collector', 0, now())",
    "CREATE TABLE extents (segment bigint NOT NULL, place bigint NOT NULL, length bigint NOT NULL, crc bigint NOT NULL, "
        "count bigint NOT NULL, dropped bigint, bucket bigint NOT NULL, PRIMARY KEY (segment, place, bucket))",
    "CREATE INDEX extents_bucket ON extents (bucket, segment, place)",
    "CREATE INDEX extents_dropped ON extents (dropped) WHERE count = 0",
    /* The map, in the first shard: where each bucket is, and where it is to be. */
    "CREATE TABLE placement (bucket bigint PRIMARY KEY, shard bigint NOT NULL, target bigint, part bytea, key bytea, "
        "copied bigint NOT NULL DEFAULT 0)",
    "INSERT INTO leases VALUES ('mover', 0, now())",
    "CREATE TABLE lazuli (version bigint NOT NULL, store text NOT NULL, shard bigint NOT NULL, shards bigint NOT NULL)",
};
const size_t SQL_SCHEMA_COUNT = sizeof SQL_SCHEMA / sizeof SQL_SCHEMA[0];

/* All plans must use the index, row by row. The planner would need statistics to choose them, and
 * chooses wrongly while a table is new. A gateway that hangs must not hold its partition's lock for
 * long. */
const char *const SQL_SESSION[] = {
    "SET plan_cache_mode = force_generic_plan",
    "SET enable_seqscan = off", "SET enable_bitmapscan = off",
    "SET enable_hashjoin = off", "SET enable_mergejoin = off",
    "SET jit = off",
    "SET statement_timeout = '9s'", "SET lock_timeout = '8s'",
    "SET idle_in_transaction_session_timeout = '5s'",
    "SET client_min_messages = error",
};
const size_t SQL_SESSION_COUNT = sizeof SQL_SESSION / sizeof SQL_SESSION[0];
// clang-format on
