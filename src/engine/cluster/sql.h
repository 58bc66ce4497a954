/* SPDX-License-Identifier: Apache-2.0 */
/* Every statement that the cluster engine sends while it serves. Each is prepared once for each
 * connection; parameters and results are binary. */
#ifndef ENGINE_CLUSTER_SQL_H
#define ENGINE_CLUSTER_SQL_H

#include <stddef.h>

/* An entry of a B-tree in PostgreSQL has at most 2704 bytes, but partitions have up to 4 KiB and
 * keys up to 16 KiB. So the index contains the first bytes of both and, for a longer name, a hash
 * of the whole name. Rows with short names are in their true order in the index. */
enum { SQL_PART_HEAD = 800, SQL_KEY_HEAD = 1600 };

/* The order is that of the table in sql.c. */
enum stmt {
    STMT_BEGIN_VIEW,
    STMT_BEGIN,
    STMT_COMMIT,
    STMT_ROLLBACK,
    STMT_KEEP,       /* lets the transaction stay idle for long */
    STMT_SLOT_NEW,   /* slot, gateway */
    STMT_SLOT_SET,   /* slot, id before, id */
    STMT_SLOT_FENCE, /* slot: returns its id; no transaction that expects that id can commit any
                        more */
    STMT_SLOT_GONE,  /* slot */
    STMT_LOCK,       /* partition, stamp, count, bucket, whether changes are logged: first stamp,
                        last stamp before, xmin */
    STMT_LOCK_AT, /* the same, and the last stamp before, or -1: fails unless the stamps are these
                   */
    STMT_GET, /* partitions, keys, sizes, buckets: ordinal, value, the body up to that size, whether
                 it is all */
    /* partition, from, to, open, limit, bucket: key, value. `open`: `to` is no bound, but the
     * largest head. */
    STMT_SCAN,
    STMT_SCAN_BACK,
    STMT_SCAN_LONG, /* the same two for names that are longer than their heads */
    STMT_SCAN_BACK_LONG,
    STMT_ACROSS, /* partition, key, past partition, open, limit: partition, key, value */
    STMT_ACROSS_LONG,
    STMT_PARTITIONS,    /* from, past, open, key, limit: partition, value */
    STMT_PUT,           /* partition, keys, values, bodies */
    STMT_DEL,           /* partition, keys */
    STMT_EXTENT_ADD,    /* segments, places, lengths, checks, counts, gateways, their number, bucket
                         */
    STMT_EXTENT_CHANGE, /* segments, places, lengths, checks, changes, their number, bucket, 1 for
                           those that another shard names, gateway */
    STMT_EXTENT_LIVES,  /* segments, places, lengths, checks: those of them that a row names */
    STMT_LOG_ROWS,      /* bucket, partition, keys */
    STMT_LOG_EXTENTS,   /* bucket, segments, places */
    STMT_BUCKETS,       /* bucket, state, target, attempt of all */
    STMT_BEAT,          /* gateway, pin: time, xmin, or nothing when the gateway is gone */
    STMT_INTENT_NEW,    /* gateway, first */
    STMT_INTENT_GONE,   /* gateway, first */
    STMT_LEAD,          /* gateway: a row when it is the collector */
    STMT_SILENT,        /* gateways that are silent for too long */
    STMT_DEAD,          /* gateways: deletes them */
    STMT_GARBAGE,       /* limit: segment, place, bucket of extents that nobody can read */
    STMT_GARBAGE_NAMED, /* segments, places: ordinal, bucket, its state, of all rows of them */
    STMT_GARBAGE_GONE,  /* segments, places, buckets */
    STMT_ORPHANS,       /* limit: ranges of names of gateways that are gone */
    STMT_ORPHAN_NAMES,  /* gateway, first, count: places in the range that rows name */
    STMT_USAGE,
    STMT_COUNT
};

extern const char *const SQL_TEXT[STMT_COUNT];

enum { SQL_SCHEMA_VERSION = 2 };
/* Creates missing tables; several statements, run as one transaction. */
extern const char *const SQL_SCHEMA[];
extern const size_t SQL_SCHEMA_COUNT;
/* The settings of a connection. */
extern const char *const SQL_SESSION[];
extern const size_t SQL_SESSION_COUNT;

#endif
