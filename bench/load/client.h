/* SPDX-License-Identifier: Apache-2.0 */
/* Many keep-alive connections on one thread, each with one request in flight at a time. */
#ifndef BENCH_LOAD_CLIENT_H
#define BENCH_LOAD_CLIENT_H

#include <netinet/in.h>

#include "load/histogram.h"
#include "load/op.h"

struct ssl_ctx_st;

struct load_plan {
    struct sockaddr_storage address;
    socklen_t address_length;
    struct ssl_ctx_st *tls; /* NULL: plain */
    unsigned connections;
    uint64_t rate; /* requests a second, of all connections; 0: as fast as they are answered */
    uint64_t requests_max; /* 0: until the time is up */
    bool in_order;         /* keys one after the other, not at random */
    bool in_turn;          /* each connection does all operations to a key, one after the other */
    bool drop;             /* the bodies of answers, in the kernel */
    uint64_t seed;         /* which random ones; not 0 */
    struct op_set *ops;
};

struct load_result {
    uint64_t requests;
    uint64_t errors;   /* answers other than 2xx, and connections that broke */
    uint64_t received; /* bytes */
    uint64_t sent;
    int64_t took_us;
    struct histogram times;
};

/* Runs the plan for that long; answers during warm-up are not counted. `started` is called at the
 * end of warm-up. Prints the first bad answer to stderr. */
void load_run(const struct load_plan *plan, int64_t warm_up_ms, int64_t run_ms,
              void (*started)(void *arg), void *arg, struct load_result *out);

#endif
