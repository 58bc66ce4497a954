/* SPDX-License-Identifier: Apache-2.0 */
/* What a transaction knows of the rows in PostgreSQL: rows that it has read, with those that are
 * not there, and ranges of keys of which it has read all. And what it wants to know next, which is
 * fetched in one round trip. Names of rows are those of rowkey.h. */
#ifndef ENGINE_CLUSTER_ROWSET_H
#define ENGINE_CLUSTER_ROWSET_H

#include "engine/cluster/conn.h"
#include "engine/engine_internal.h"
#include "engine/rowkey.h"
#include "engine/tree.h"

enum { ROWSET_SCANS_MAX = 64, ROWSET_PAGE_MAX = 1000, ROWSET_PAGE_FIRST = 64 };

/* All rows with from <= name < to are known. */
struct rowset_range {
    struct str from;
    struct str to;
};

/* A part of the partition's keys that is to be read. `to` absent: to its end. */
struct rowset_scan {
    struct str from;
    struct str to;
    bool back; /* from the end */
    unsigned limit;
    unsigned statement; /* of the exchange */
    bool names_long;
};

struct rowset {
    struct arena arena;   /* of the ranges */
    struct arena wire;    /* of what is wanted, and on its way */
    struct str partition; /* of scans */
    int64_t body_max;     /* larger bodies come only when they are asked for; -1: all */
    struct tree known;    /* row.deleted: it is not there; row.hot: with its body, if it has one */
    struct buf kept;      /* rows that were replaced and may be borrowed: struct row * */
    size_t known_bytes;   /* about */
    struct rowset_range *ranges;
    size_t range_count;
    size_t range_capacity;
    /* what is wanted */
    struct tree reads; /* row.hot: with its body */
    size_t read_count;
    unsigned read_statement;
    size_t scan_count;
    struct rowset_scan scans[ROWSET_SCANS_MAX];
};

void rowset_init(struct rowset *s, struct str partition, int64_t body_max);
void rowset_release(struct rowset *s);
/* Forgets all that is known and wanted. */
void rowset_reset(struct rowset *s);

/* Forgets what is known, not what is wanted. Rows that are borrowed live on. */
void rowset_forget(struct rowset *s);

/* Takes over the reference to a row that was written: it is what is known from now on. */
void rowset_note(struct rowset *s, struct row *row);
/* Nothing is borrowed any more. */
void rowset_settle(struct rowset *s);

/* What is known is read again, and given to `told`, which is to compare it. */
void rowset_doubt(struct rowset *s, struct tree *told);

/* Forgets what is known and wants it again. Nothing is borrowed. */
void rowset_renew(struct rowset *s);

/* NULL: not known. */
struct row *rowset_find(const struct rowset *s, struct str name, bool with_body);
/* NULL: name is in none. */
const struct rowset_range *rowset_at(const struct rowset *s, struct str name);
/* The range that holds what is right before name. */
const struct rowset_range *rowset_before(const struct rowset *s, struct str name);

void rowset_want(struct rowset *s, struct str name, bool with_body);
/* False: too many are wanted already. */
bool rowset_want_scan(struct rowset *s, struct rowset_scan scan);
static inline bool rowset_wants(const struct rowset *s)
{
    return s->read_count > 0 || s->scan_count > 0;
}
/* Queues the statements for what is wanted. */
void rowset_send(struct rowset *s, struct conn *c);
/* The same of several sets that want rows alone, in one statement; and its results. */
void rowset_send_together(struct rowset **sets, size_t count, struct conn *c);
struct err rowset_receive_together(struct rowset **sets, size_t count, struct conn *c);
/* Takes the results of the exchange. Some rows may have to be asked for again, in another way: then
 * something is still wanted. */
struct err rowset_receive(struct rowset *s, struct conn *c);

#endif
