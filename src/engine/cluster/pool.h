/* SPDX-License-Identifier: Apache-2.0 */
/* A pool of connections to one PostgreSQL, opened on demand up to a limit. While the server is
 * unreachable, the pool makes one attempt at a time, with growing pauses, and callers wait; after
 * CONN_DOWN_MS without the server, calls fail at once. */
#ifndef ENGINE_CLUSTER_POOL_H
#define ENGINE_CLUSTER_POOL_H

#include <pthread.h>

#include "engine/cluster/conn.h"

enum { CONN_DOWN_MS = 5000, CONN_PAUSE_MS = 100, CONN_PAUSE_MAX_MS = 2000 };

struct conn_pool {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const struct conn_target *target;
    struct conn *idle;
    unsigned open; /* in use, idle and being opened */
    unsigned max;
    int64_t down_since; /* 0: it is not */
    int64_t next_try;
    int64_t pause;
};

void conn_pool_init(struct conn_pool *p, const struct conn_target *target, unsigned max);
/* All connections have been given back. */
void conn_pool_release(struct conn_pool *p);
/* ERR_SERVER_BUSY if none is free before the deadline, in monotonic milliseconds. */
struct err conn_pool_take(struct conn_pool *p, int64_t deadline, struct conn **out);
/* Returns the connection. If it is lost, closes all idle ones too, which probably are lost as well.
 */
void conn_pool_give(struct conn_pool *p, struct conn *c);
/* Removes a connection from the pool's count. The caller keeps it, and closes it itself. */
void conn_pool_detach(struct conn_pool *p);
bool conn_pool_down(struct conn_pool *p);

#endif
