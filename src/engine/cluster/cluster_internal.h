/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations shared by the files of the cluster engine. In reading order: cluster.c opens and
 * closes; view.c and view_cursor.c read; line.c queues updates, batch.c runs the updates of one
 * partition together, update_txn.c and update_cursor.c implement the calls of transaction
 * functions, commit.c ends the transaction; extent_*.c use RADOS; beat.c sends heartbeats, and
 * collect.c collects garbage. */
#ifndef ENGINE_CLUSTER_CLUSTER_INTERNAL_H
#define ENGINE_CLUSTER_CLUSTER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/cluster/cluster.h"
#include "engine/cluster/extents.h"
#include "engine/cluster/hot.h"
#include "engine/cluster/memory.h"
#include "engine/cluster/radoslib.h"
#include "engine/cluster/rowset.h"
#include "engine/cluster/shards.h"
#include "engine/engine_internal.h"
#include "engine/pins.h"

enum {
    CLUSTER_WORKERS = 10,      /* update transactions at a time, each with a connection */
    CLUSTER_VIEWS = 10,        /* views at a time */
    CLUSTER_KEPT = 6,          /* kept states, each with a connection of its own */
    CLUSTER_BATCH = 64,        /* updates of one partition in a transaction */
    CLUSTER_UPDATE_MS = 25000, /* time limit of an update */
    CLUSTER_VIEW_MS = 20000,
};

/* ---- updates that wait (line.c) ---- */

struct update_node {
    struct engine_update *update;
    int64_t deadline;  /* monotonic milliseconds */
    bool taken;        /* by a worker */
    bool over;         /* its extents cannot be written */
    bool parked;       /* the worker found that its extents are not written yet */
    bool waits;        /* for them, in the list of parked ones */
    struct buf adopts; /* those extents: struct extent_delta */
    struct err result;
    struct update_node *next;  /* of its partition */
    struct update_node *older; /* of all */
    struct update_node *newer;
};

struct update_part;

struct update_line {
    pthread_mutex_t lock;
    pthread_cond_t work;
    pthread_cond_t ended;
    pthread_cond_t tick;
    struct update_part *buckets[256];
    struct update_part *ready;
    struct update_part **ready_end;
    struct update_node *parked; /* of all partitions */
    struct update_node *oldest;
    struct update_node *newest;
    uint64_t queued;
    bool closed;
    pthread_t workers[CLUSTER_WORKERS];
    unsigned worker_count;
    pthread_t clerk; /* ends updates whose time limit has passed */
    bool clerk_runs;
};

/* Which transactions were running when the pins of this number were first taken. */
struct pin_mark {
    uint64_t number;
    int64_t xmins[SHARDS_MAX];
};

struct cluster_engine {
    struct engine base;
    const struct clock *clock;
    struct pq pq;
    char *schema;
    char *name;
    struct shards shards;
    atomic_uint kept;
    struct update_line line;
    struct memories memories;
    struct hot_rows hot;
    pthread_mutex_t jobs_lock;
    struct view_job *jobs; /* that were put off */
    struct extents extents;
    struct pins pins;
    _Atomic int64_t
        gateway; /* number in the table of gateways; a new one after it was declared dead */
    _Atomic int64_t clock_offset; /* PostgreSQL's clock minus the system's, in ticks; 0 if small */
    _Atomic int64_t next_slot;
    _Atomic int64_t last_stamp; /* the newest of any partition; stamps are guessed from it */
    atomic_ullong trips;
    atomic_ullong update_count, commit_count;
    struct histogram commit_updates, turn_us;
    /* beat.c */
    pthread_mutex_t beat_lock;
    pthread_cond_t beat_wanted;
    pthread_t beater;
    bool beating;
    _Atomic int64_t silent_since; /* when the running heartbeat began, which every shard must
                                     answer; 0: none is running. Monotonic milliseconds */
    bool beat_now;
    bool stopping;
    int64_t collect_after; /* monotonic milliseconds */
    pthread_mutex_t mark_lock;
    struct pin_mark *marks;
    size_t mark_count;
    atomic_bool marks_stale;     /* a newer transaction was reported since the last mark */
    _Atomic uint64_t next_place; /* of extents */
    atomic_ullong counted_extents, counted_bytes; /* rows in the table at the last count */
    atomic_ullong adopted_extents, adopted_bytes; /* since then */
    int64_t count_after;                          /* time of the next count */
    bool count_quickly;                           /* the last count took no time */
};

static inline struct cluster_engine *cluster_of(struct engine *e)
{
    return (struct cluster_engine *)(void *)e;
}

int64_t cluster_now(const struct cluster_engine *e);
/* A result of the shard shows that all transactions before this one have ended. */
void cluster_saw_xmin(struct cluster_engine *e, struct shard *shard, int64_t xmin);
struct engine_pin *cluster_pin(struct engine *e);

/* ---- tables (schema.c) ---- */

/* Connections to all shards without an engine. */
struct cluster_session {
    struct pq pq;
    unsigned count;
    char *uris[SHARDS_MAX];
    struct conn_target targets[SHARDS_MAX];
    struct conn *conns[SHARDS_MAX];
    struct buf text; /* one sentence: why a call failed */
};
struct err cluster_session_open(struct cluster_session *s,
                                const struct engine_cluster_options *options);
/* Returns the error with its sentence. */
struct err cluster_session_close(struct cluster_session *s,
                                 const struct engine_cluster_options *options, struct err error);
struct err conn_run(struct conn *c, const char *sql);
/* Checks that these are all shards of one store, in order. ERR_FOREIGN_STORE. */
struct err cluster_check_shards(struct cluster_session *s);

/* ---- views (view.c, view_job.c, view_cursor.c) ---- */

/* The part of a view in one shard. */
struct view_leg {
    struct shard *shard;
    struct conn *conn; /* NULL: nothing was read yet */
    bool begun;
    bool alone; /* the known rows were read by a single statement, not in a transaction */
    bool whole; /* everything must be read in a transaction */
    bool sent;  /* the reads of the wanted rows are part of the current exchange */
    struct gathered fetch; /* of a job */
    /* For a view over several partitions: which buckets are read in this shard; NULL: all. */
    bool *reads;
    struct rowset set;
};

struct view {
    struct txn base;
    struct cluster_engine *engine;
    struct arena arena;
    struct str partition;
    struct rowkey name;
    unsigned bucket;
    struct view_leg *legs[SHARDS_MAX]; /* NULL: nothing is read there */
    struct view_leg *home;             /* the partition's */
    bool spread;                       /* all shards take part */
    unsigned version;                  /* of the routes that it uses */
    int64_t deadline;
    bool lost;     /* a connection was lost: run the function again */
    bool moved;    /* a bucket has moved: the same */
    bool wrong;    /* a cached row was outdated: run the function again, without cached rows */
    bool sure;     /* uses no cached rows */
    bool puts_off; /* it belongs to a job: reads nothing, and reports the missing rows */
    bool refused;  /* the function made a call that a job does not support */
    struct tree guessed;        /* rows of hot.h that were returned, not all confirmed yet */
    struct engine_state *keeps; /* takes the connections over when the view ends */
    struct view_leg room;       /* of the home */
};

struct err cluster_view(struct engine *e, struct str partition, enum engine_wait wait,
                        engine_fn *fn, void *arg);
struct err cluster_view_run(struct engine *e, struct engine_view_job *job);
void cluster_view_drop(struct engine *e, struct engine_view_job *job);
void cluster_views_end(struct engine *e);
/* What a job cannot do: ERR_WOULD_BLOCK. */
struct err view_refuse(struct view *v);
struct err cluster_view_state(struct engine *e, struct engine_state *state, struct str partition,
                              engine_fn *fn, void *arg);
void cluster_state_release(struct engine *e, struct engine_state *state);
struct err cluster_partitions(struct engine *e, const struct partition_walk *walk);
/* The view's part in that shard. */
struct view_leg *view_leg_at(struct view *v, unsigned shard);
/* Queues the start of the transaction, if it has not started, and the reads of the set's wanted
 * rows; then the caller queues its own statements. */
struct err view_ready(struct view *v, struct view_leg *leg);
struct err view_exchange(struct view *v, struct view_leg *leg);
/* Starts in every shard, so that each bucket is read in exactly one of them. */
struct err view_spread(struct view *v);
/* Refreshes the routes after the view has found that a bucket has moved. The view is released. */
void view_follow(struct view *v);
void view_init(struct view *v, struct cluster_engine *e, struct str partition);
void view_release(struct view *v);
struct err view_cursor_open(struct txn *t, struct str from, struct str to, struct cursor **out);
struct err view_cursor_open_across(struct txn *t, struct str prefix, struct cursor **out);
/* A cursor over the partitions of one shard, without a position. */
struct cursor *leg_cursor_new(struct view *v, struct view_leg *leg, struct str first,
                              struct str past);

/* ---- updates (batch.c, commit.c, update_txn.c, update_cursor.c) ---- */

struct extent_delta {
    struct extent extent;
    enum extent_change change;
};

/* The updates of one partition that share a transaction. */
struct batch {
    struct cluster_engine *engine;
    struct str partition;
    struct update_node **nodes;
    size_t count;
    struct conn *conn;
    struct part_memory *memory;
    struct rowset *set;                 /* rows of the partition, owned by the memory */
    struct rowset others;               /* of other partitions in the same shard */
    struct rowset *remotes[SHARDS_MAX]; /* of partitions in other shards; NULL: none */
    unsigned bucket;
    struct shard *shard;
    unsigned version;       /* of what is believed of shards */
    bool logged;            /* changes of the bucket are to be logged */
    unsigned moves;         /* how often the bucket was in another shard than expected */
    struct engine_pin *pin; /* keeps the extents that functions see until they hold them */
    struct arena arena;     /* of the running function */
    struct tree written;    /* row.deleted: a deletion */
    struct buf kept;        /* replaced rows that may still be borrowed: struct row * */
    struct tree before[CLUSTER_BATCH]; /* what was written before each function ran */
    size_t deltas_before[CLUSTER_BATCH];
    struct buf deltas; /* struct extent_delta */
    int64_t now;
    int64_t stamp; /* of the first */
    /* The partition's last stamp when the known rows were read; -1: none were read. Every write
     * to a partition raises its stamp. So if the stamp is unchanged under the lock, the known rows
     * are still valid. */
    int64_t known_at;
    bool keeps; /* the next attempt starts with the known rows */
    bool used;  /* a function has read a known row before the lock was taken */
    bool committed;
    int64_t deadline;
    bool begun;  /* the partition is locked, and the stamps are reserved */
    bool blind;  /* starting together with the commit has not failed yet */
    bool waits;  /* a function waits for a missing row; otherwise it is run again */
    bool moved;  /* the stamps differ from those that functions have seen */
    bool failed; /* with `fault`: the transaction is over */
    bool in_commit;
    unsigned adoptions; /* the statement of the commit that adopts extents; 0: it has none */
    enum conn_fault fault;
    struct err error;
};

struct update_txn {
    struct txn base;
    struct batch *batch;
    struct rowkey name;
    bool missed; /* it has asked for an unknown row, and must be run again */
};

/* Runs the updates and sets their results. Those whose extents are not written yet are `parked`
 * instead, and have changed nothing. */
void cluster_run_batch(struct cluster_engine *e, struct str partition, struct update_node **nodes,
                       size_t count);
void update_txn_init(struct update_txn *t, struct batch *b, int64_t stamp);
void update_txn_release(struct update_txn *t);
/* Fetches the rows that are wanted in the batch's set, or returns an error that makes the function
 * run again. */
struct err update_txn_miss(struct update_txn *t);
struct err update_cursor_open(struct txn *t, struct str from, struct str to, struct cursor **out);
/* Fetches all wanted rows in one round trip; the first one also starts the transaction. */
struct err batch_fetch(struct batch *b);
/* Returns the known rows of another partition. */
struct rowset *batch_set_of(struct batch *b, struct str partition);
struct err batch_conn(struct batch *b);
void batch_send_begin(struct batch *b, enum stmt lock);
struct err batch_commit(struct batch *b);
/* After a commit: updates the counts of extents. */
void batch_committed(struct batch *b);
/* Finds the outcome of a transaction whose connection was lost in COMMIT. ERR_UNKNOWN_OUTCOME. */
struct err batch_resolve(struct batch *b, int64_t slot, int64_t commit_id, bool *committed);

void cluster_submit(struct engine *e, struct engine_update *u);
struct err cluster_flush(struct engine *e);
void line_init(struct cluster_engine *e);
struct err line_start(struct cluster_engine *e);
/* Completes all submitted updates. */
void line_stop(struct cluster_engine *e);
/* After the last write of an extent has ended. */
void line_release(struct cluster_engine *e);
/* Queues parked updates whose extents are written now. */
void line_unpark(void *engine);

/* ---- the gateway (beat.c, collect.c) ---- */

struct err beat_start(struct cluster_engine *e);
void beat_stop(struct cluster_engine *e);
/* Wakes the garbage collector. */
void beat_soon(struct cluster_engine *e);
struct err gateway_register(struct cluster_engine *e);
/* Collects garbage; true if something was removed. Uses the shards' beat_conn, which must be open.
 */
bool collect_turn(struct cluster_engine *e);
void cluster_usage(struct engine *e, struct engine_usage *out);

#endif
