/* SPDX-License-Identifier: Apache-2.0 */
/* A loop's counters of the requests it has served: written by the loop only, read by metrics
 * (core/tally.h). */
#ifndef REST_WATCH_STATS_H
#define REST_WATCH_STATS_H

#include "core/tally.h"
#include "rest/call.h"
#include "rest/head/match.h"

enum {
    STATS_OUTCOMES_MAX = 4096,            /* different ones of a loop; a power of two */
    STATS_OP_NONE = MATCH_ROWS_MAX,       /* a request that matched no row */
    STATS_DFS_FIRST = MATCH_ROWS_MAX + 1, /* Data Lake's rows; they count for the blob service */
    STATS_OPS = 128,
};

/* The kind of credential that a request sent. */
enum stats_auth { STATS_ANONYMOUS, STATS_KEY, STATS_SAS, STATS_BEARER, STATS_AUTH_COUNT };

/* How requests ended, unpacked. */
struct stats_outcome {
    enum service_kind service;
    unsigned op; /* row of the service's table, or STATS_OP_NONE */
    int status;
    enum err_code error;
    enum stats_auth auth;
    uint64_t count;
};

struct stats_slot {
    tally key; /* 0: free */
    tally count;
};

struct stats_op {
    struct histogram whole;  /* µs from the first byte in to the last byte out */
    struct histogram server; /* µs from the request's end to its answer */
};

struct rest_stats {
    tally begun[SERVICE_KIND_COUNT];
    tally ended[SERVICE_KIND_COUNT];
    tally bytes_in[SERVICE_KIND_COUNT];
    tally bytes_out[SERVICE_KIND_COUNT];
    tally slow; /* requests that took longer than --slow-ms */
    struct stats_slot slots[STATS_OUTCOMES_MAX];
    tally unlisted; /* outcomes that found no slot */
    struct stats_op ops[SERVICE_KIND_COUNT][STATS_OPS];
};

/* A call has ended with this error, or OK; `ended_us` is when its last byte was sent. */
void stats_add(struct rest_stats *s, const struct rest_call *call, struct err error,
               int64_t ended_us);

/* Unpacks slot i; false if it is empty. */
bool stats_read(const struct rest_stats *s, size_t i, struct stats_outcome *out);
/* "PutBlob"; "" for STATS_OP_NONE. */
const char *stats_op_name(enum service_kind service, unsigned op);
const char *stats_auth_name(enum stats_auth auth);

#endif
