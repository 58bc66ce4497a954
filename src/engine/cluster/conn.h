/* SPDX-License-Identifier: Apache-2.0 */
/* One connection to PostgreSQL, in pipeline mode: statements are queued with conn_send and go out
 * together with conn_exchange, which costs one round trip. Used by one thread at a time. */
#ifndef ENGINE_CLUSTER_CONN_H
#define ENGINE_CLUSTER_CONN_H

#include <stdatomic.h>

#include "engine/cluster/param.h"
#include "engine/cluster/pq.h"
#include "engine/cluster/sql.h"

enum {
    CONN_RESULTS_MAX = 80,  /* statements between two exchanges */
    CONN_ANSWER_MS = 10000, /* more than the time-outs of sql.c */
    CONN_CONNECT_S = 5,
};

/* How to handle a failure. */
enum conn_fault {
    FAULT_NONE,
    FAULT_RETRY,   /* 40001, 40P01: run the transaction again */
    FAULT_REQUIRE, /* a REQUIRE of sql.c failed, or a unique index refused a row */
    FAULT_MOVED,   /* the partition is in another shard: see shards.h */
    FAULT_LATE,    /* PostgreSQL's own time-outs */
    FAULT_SPACE,
    FAULT_LOST, /* the connection */
    FAULT_OTHER,
};

struct conn_target {
    const struct pq *pq;
    const char *uri;
    const char *schema; /* NULL: the URI's */
    atomic_ullong *trips;
};

struct conn {
    const struct conn_target *target;
    const struct pq *pq;
    struct pg_conn *pg;
    struct pg_result *results[CONN_RESULTS_MAX];
    unsigned queued;  /* statements sent since the last exchange */
    unsigned pending; /* of them, those that nobody waits for */
    unsigned syncs;   /* without a result so far */
    unsigned count;   /* results */
    enum conn_fault fault;
    unsigned failed; /* the statement that did */
    char sqlstate[6];
    bool started; /* the queued statements were sent, and their results are still to be read */
    bool quiet;   /* its round trips are not counted: they belong to no request */
    /* Used by commit.c. */
    int64_t slot;
    int64_t commit_id;
    struct conn *next; /* the pool's */
};

/* ERR_SERVER_BUSY, with a sentence in `text` when that is given; `prepared`: with all statements
 * of sql.h. */
struct err conn_open(const struct conn_target *target, bool prepared, struct buf *text,
                     struct conn **out);
void conn_close(struct conn *c);

/* The number of the next statement among the results of the exchange. */
static inline unsigned conn_next(const struct conn *c)
{
    return c->queued - c->pending;
}
void conn_send(struct conn *c, enum stmt stmt, const struct params *params);
/* A statement that is not prepared, without parameters and with them. */
void conn_send_text(struct conn *c, const char *sql);
void conn_send_params(struct conn *c, const char *sql, const struct params *params);
/* Sends the queued statements and waits for all results, which stay until the next conn_send.
 * Returns the error of the first statement that failed, see c->fault. */
struct err conn_exchange(struct conn *c);
/* Sends the queued statements, so that conn_exchange only waits and several connections work at a
 * time. */
void conn_start(struct conn *c);
/* Sends the queued statements; their results are read and discarded before the next ones. */
void conn_leave(struct conn *c);

/* Results of the last exchange. */
int result_rows(const struct conn *c, unsigned statement);
bool result_has(const struct conn *c, unsigned statement, int row, int column);
/* Borrowed; an SQL NULL is absent. */
struct str result_field(const struct conn *c, unsigned statement, int row, int column);
int64_t result_number(const struct conn *c, unsigned statement, int row, int column);

#endif
