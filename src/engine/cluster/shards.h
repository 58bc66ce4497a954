/* SPDX-License-Identifier: Apache-2.0 */
/* Several PostgreSQL primaries. Every partition belongs to one of BUCKETS buckets, by a hash of its
 * name, and every bucket is in one shard. Each shard has a row for every bucket that says whether
 * it is there, and each statement that reads or locks a partition checks that row in its own
 * snapshot. So what a gateway believes may be out of date: then the statement fails with
 * FAULT_MOVED, the gateway asks all shards, and tries again.
 *
 * How a bucket moves from A to B (move.c):
 * 1. A's row becomes BUCKET_LOGGED. When the transactions that began before have ended, every
 *    change of the bucket leaves a line in A's table of changes.
 * 2. B's row is BUCKET_ARRIVES. All rows are copied, then what has changed, until little is left.
 * 3. A's row becomes BUCKET_GONE, and the transactions that began before end. Nobody writes now.
 * 4. One transaction of B copies the last changes and makes its row BUCKET_HERE.
 * 5. A's copy is deleted.
 *
 * Each try has a number, in both rows. Should the mover die between 3 and 4, any gateway takes step
 * 3 back (bucket_thaw): it raises B's number, so that a late transaction of the mover's fails, and
 * then makes A's row BUCKET_LOGGED. */
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
    struct gather gather; /* of views that read rows alone */
    /* beat.c */
    struct conn *beat_conn; /* NULL: to be opened */
    _Atomic int64_t xmin;   /* all transactions before this one have ended, when last heard */
    int64_t pin_cap;        /* the pin told is no larger; 0: no cap */
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
    bool logged; /* changes have to be logged */
};

/* `uris`: several with spaces between. False: too many, or none. */
bool shards_init(struct shards *s, const struct conn_target *target, const char *uris,
                 const unsigned limits[2]);
void shards_release(struct shards *s);

struct bucket_route shards_route(const struct shards *s, unsigned bucket);
/* Asks all shards for their buckets, because the routes of this version were wrong. True if the
 * bucket is found. If it is not, it is being moved, and the caller retries after a short wait. */
bool shards_refresh(struct shards *s, unsigned version, unsigned bucket);
/* Reads the routes for the first time. */
struct err shards_refresh_all(struct shards *s);

/* The next URI in *rest; absent: there is none. */
struct str shards_next_uri(struct str *rest);

#endif
