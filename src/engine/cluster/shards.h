/* SPDX-License-Identifier: Apache-2.0 */
/* Several PostgreSQL primaries. Every partition belongs to one of BUCKETS buckets, by a hash of its
 * name, and every bucket is in one shard. Each shard has a row for every bucket that says whether
 * it is there, and each statement that reads or locks a partition checks that row in its own
 * snapshot. So a gateway's routes may be out of date: then the statement fails with FAULT_MOVED,
 * the gateway refreshes its routes from all shards, and retries.
 *
 * How a bucket moves from A to B (move.c):
 * 1. A's row becomes BUCKET_LOGGED. Once all earlier transactions have ended, every change of the
 *    bucket is logged in A's table of changes.
 * 2. B's row is BUCKET_ARRIVES. The mover copies all rows, then the changed rows, until few are
 *    left.
 * 3. A's row becomes BUCKET_GONE, and all earlier transactions end. Now nobody writes.
 * 4. One transaction of B copies the last changes and makes its row BUCKET_HERE.
 * 5. A's copy is deleted.
 *
 * Each attempt has a number, in both rows. If the mover dies between 3 and 4, any gateway reverts
 * step 3 (bucket_thaw): it raises B's number, so that a late transaction of the mover fails, and
 * then sets A's row to BUCKET_LOGGED. */
#ifndef ENGINE_CLUSTER_SHARDS_H
#define ENGINE_CLUSTER_SHARDS_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/cluster/gather.h"
#include "engine/cluster/pool.h"

enum { SHARDS_MAX = 16, BUCKETS = 1024 };

enum bucket_state {
    BUCKET_HERE = 1,
    BUCKET_LOGGED = 2,
    BUCKET_GONE = 11, /* or was never here */
    BUCKET_ARRIVES = 12,
};

static inline bool bucket_is_here(int64_t state)
{
    return state == BUCKET_HERE || state == BUCKET_LOGGED;
}

unsigned shard_bucket(struct str partition);

struct shard {
    unsigned number; /* from 0 */
    char *uri;
    struct conn_target target;
    struct conn_pool updates;
    struct conn_pool views;
    struct gather gather; /* of views that only read single rows */
    /* beat.c */
    struct conn *beat_conn; /* NULL: to be opened */
    _Atomic int64_t xmin;   /* all transactions before this one had ended at the last heartbeat */
    int64_t pin_cap;        /* upper limit of the reported pin; 0: none */
};

struct shards {
    struct shard all[SHARDS_MAX];
    unsigned count;
    pthread_mutex_t lock; /* held while the routes are refreshed */
    atomic_uint version;  /* raised when the routes were refreshed */
    _Atomic uint8_t routes[BUCKETS];
};

struct bucket_route {
    unsigned shard;
    bool logged; /* changes must be logged */
};

/* `uris` is a list separated by spaces. False if there are too many, or none. */
bool shards_init(struct shards *s, const struct conn_target *target, const char *uris,
                 const unsigned limits[2]);
void shards_release(struct shards *s);

struct bucket_route shards_route(const struct shards *s, unsigned bucket);
/* Asks all shards for their buckets, because the routes of this version were wrong. True if the
 * bucket is found. If it is not, it is being moved, and the caller retries after a short wait. */
bool shards_refresh(struct shards *s, unsigned version, unsigned bucket);
/* Reads the routes for the first time. */
struct err shards_refresh_all(struct shards *s);

/* Returns the next URI in *rest; absent at the end. */
struct str shards_next_uri(struct str *rest);

#endif
