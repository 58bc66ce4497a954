/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of PostgreSQL that a transaction knows: rows that it has read, including absent ones,
 * and ranges of keys that it has read completely. It also lists the rows and ranges that are wanted
 * next, which are fetched in one round trip. Rows are named as in rowkey.h. */
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

/* A range of the partition's keys to be read. An absent `to` is the partition's end. */
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
    struct arena wire;    /* of wanted rows, and of those being fetched */
    struct str partition; /* of scans */
    int64_t body_max;     /* larger bodies are fetched only on request; -1: all are */
    struct tree known;  /* row.deleted: the row is absent; row.hot: with its body, if it has one */
    struct buf kept;    /* replaced rows that may still be borrowed: struct row * */
    size_t known_bytes; /* about */
    struct rowset_range *ranges;
    size_t range_count;
    size_t range_capacity;
    /* wanted rows */
    struct tree reads; /* row.hot: with its body */
    size_t read_count;
    unsigned read_statement;
    size_t scan_count;
    struct rowset_scan scans[ROWSET_SCANS_MAX];
};

void rowset_init(struct rowset *s, struct str partition, int64_t body_max);
void rowset_release(struct rowset *s);
/* Drops all known and wanted rows. */
void rowset_reset(struct rowset *s);

/* Drops the known rows, not the wanted ones. Borrowed rows stay valid. */
void rowset_forget(struct rowset *s);

/* Takes over the reference to a written row, which is the known row from now on. */
void rowset_note(struct rowset *s, struct row *row);
/* Frees replaced rows: none is borrowed any more. */
void rowset_settle(struct rowset *s);

/* Reads the known rows again and passes them to `told`, which compares them. */
void rowset_doubt(struct rowset *s, struct tree *told);

/* Forgets what is known and wants it again. Nothing is borrowed. */
void rowset_renew(struct rowset *s);

/* NULL: not known. */
struct row *rowset_find(const struct rowset *s, struct str name, bool with_body);
/* NULL if the name is in no range. */
const struct rowset_range *rowset_at(const struct rowset *s, struct str name);
/* Returns the range that contains the position right before name. */
const struct rowset_range *rowset_before(const struct rowset *s, struct str name);

void rowset_want(struct rowset *s, struct str name, bool with_body);
/* False if too many are wanted already. */
bool rowset_want_scan(struct rowset *s, struct rowset_scan scan);
static inline bool rowset_wants(const struct rowset *s)
{
    return s->read_count > 0 || s->scan_count > 0;
}
/* Queues the statements for the wanted rows and ranges. */
void rowset_send(struct rowset *s, struct conn *c);
/* The same for several sets that want single rows only, in one statement; and its results. */
void rowset_send_together(struct rowset **sets, size_t count, struct conn *c);
struct err rowset_receive_together(struct rowset **sets, size_t count, struct conn *c);
/* Takes the results of the exchange. If some rows must be requested again in another way, they are
 * still wanted afterwards. */
struct err rowset_receive(struct rowset *s, struct conn *c);

#endif
