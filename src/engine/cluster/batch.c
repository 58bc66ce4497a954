/* SPDX-License-Identifier: Apache-2.0 */
/* Updates of one partition that share a transaction.
 *
 * Their functions run one after the other over rows in memory. A function that needs an unknown row
 * ends there and is run again later, and so are all functions behind it, which may depend on it.
 * One round trip then fetches the rows that all of them need. So a batch costs as many round trips
 * as its deepest function, not as all of them together. A batch of one waits for the row instead,
 * because running it again gains nothing.
 *
 * The first round trip also locks the partition's row and takes the stamps. The functions run with
 * stamps that are guessed from the clock; if another gateway has used later ones, they are run
 * again with the right stamps. */
#include <assert.h>
#include <stdlib.h>
#include <time.h>

#include "core/log.h"
#include "core/mem.h"
#include "engine/cluster/cluster_internal.h"

#define BATCH_SEED 0x9E3779B97F4A7C15ULL

enum {
    ROUNDS_MAX =
        4, /* rounds in which functions are run again; after that each waits for its rows */
    ATTEMPTS_MAX = 50,
    PAUSE_NS = 2000000,
    MOVED_PAUSE_NS = 10000000,
};

/* ---- the transaction ---- */

static struct err slot_of(struct cluster_engine *e, struct conn *c)
{
    if (c->slot != 0)
        return OK;
    int64_t slot = atomic_fetch_add(&e->next_slot, 1) + 1;
    char room[256];
    struct arena arena;
    arena_init_in(&arena, SIZE_MAX, room, sizeof room);
    struct params p = params_in(&arena);
    param_number(&p, (atomic_load(&e->gateway) << 24) + slot);
    param_number(&p, atomic_load(&e->gateway));
    conn_send(c, STMT_SLOT_NEW, &p);
    c->quiet = true;
    struct err error = conn_exchange(c);
    c->quiet = false;
    if (!err_is(error)) {
        c->slot = (atomic_load(&e->gateway) << 24) + slot;
        c->commit_id = 0;
    }
    arena_release(&arena);
    return error;
}

struct err batch_conn(struct batch *b)
{
    if (b->conn != NULL)
        return OK;
    struct err error = conn_pool_take(&b->shard->updates, b->deadline, &b->conn);
    if (!err_is(error))
        error = slot_of(b->engine, b->conn);
    if (err_is(error)) {
        b->failed = true;
        b->fault = b->conn == NULL ? FAULT_LATE : b->conn->fault;
        b->error = error;
    }
    return error;
}

void batch_send_begin(struct batch *b, enum stmt lock)
{
    struct params slot = params_in(&b->arena);
    struct params p = params_in(&b->arena);
    conn_send(b->conn, STMT_BEGIN, NULL);
    param_number(&slot, b->conn->slot);
    param_number(&slot, b->conn->commit_id);
    param_number(&slot, b->conn->commit_id + 1);
    conn_send(b->conn, STMT_SLOT_SET, &slot);
    param_bytes(&p, b->partition);
    param_number(&p, b->stamp);
    param_number(&p, (int64_t)b->count);
    param_number(&p, b->bucket);
    param_bool(&p, b->logged);
    if (lock == STMT_LOCK_AT)
        param_number(&p, b->used ? b->known_at : -1);
    conn_send(b->conn, lock, &p);
}

/* Takes the results of batch_send_begin. */
static void began(struct batch *b)
{
    enum { LOCK_RESULT = 2 };
    int64_t stamp = result_number(b->conn, LOCK_RESULT, 0, 0);
    int64_t before = result_number(b->conn, LOCK_RESULT, 0, 1);
    cluster_saw_xmin(b->engine, b->shard, result_number(b->conn, LOCK_RESULT, 0, 2));
    b->begun = true;
    b->moved = stamp != b->stamp;
    b->stamp = stamp;
    if (b->known_at >= 0 && b->known_at != before) { /* other gateways have written meanwhile */
        rowset_forget(b->set);
        b->memory->cool = MEMORY_COOL;
        b->moved |= b->used;
    }
    b->known_at = before;
}

/* Reads rows of other shards under the lock, so that they are not older than the rows it protects.
 */
static struct err fetch_remote(struct batch *b, unsigned shard)
{
    struct shard *s = &b->engine->shards.all[shard];
    struct conn *c;
    TRY(conn_pool_take(&s->views, b->deadline, &c));
    rowset_send(b->remotes[shard], c);
    struct err error = conn_exchange(c);
    if (!err_is(error))
        error = rowset_receive(b->remotes[shard], c);
    if (err_is(error)) {
        b->failed = true;
        b->fault = c->fault;
        b->error = error;
    }
    conn_pool_give(&s->views, c);
    return error;
}

static struct err fetch_remotes(struct batch *b)
{
    for (unsigned i = 0; i < b->engine->shards.count; i++)
        if (b->remotes[i] != NULL && rowset_wants(b->remotes[i]))
            TRY(fetch_remote(b, i));
    return OK;
}

struct rowset *batch_set_of(struct batch *b, struct str partition)
{
    unsigned shard = shards_route(&b->engine->shards, shard_bucket(partition)).shard;
    if (shard == b->shard->number)
        return &b->others;
    if (b->remotes[shard] == NULL) {
        b->remotes[shard] = MEM_NEW(struct rowset);
        rowset_init(b->remotes[shard], STR(""), -1);
    }
    return b->remotes[shard];
}

static void release_remotes(struct batch *b)
{
    for (unsigned i = 0; i < SHARDS_MAX; i++) {
        if (b->remotes[i] == NULL)
            continue;
        rowset_release(b->remotes[i]);
        free(b->remotes[i]);
        b->remotes[i] = NULL;
    }
}

struct err batch_fetch(struct batch *b)
{
    struct err error = batch_conn(b);
    bool first = !b->begun;
    while (!err_is(error) && (first || rowset_wants(b->set) || rowset_wants(&b->others))) {
        if (first)
            batch_send_begin(b, STMT_LOCK);
        rowset_send(b->set, b->conn);
        rowset_send(&b->others, b->conn);
        error = conn_exchange(b->conn);
        if (!err_is(error) && first)
            began(b);
        if (!err_is(error))
            error = rowset_receive(b->set, b->conn);
        if (!err_is(error))
            error = rowset_receive(&b->others, b->conn);
        first = false;
    }
    if (!err_is(error))
        error = fetch_remotes(b);
    if (err_is(error) && !b->failed) {
        b->failed = true;
        b->fault = b->conn->fault;
        b->error = error;
    }
    return error;
}

/* ---- running functions ---- */

static void put_kept(struct buf *kept)
{
    for (size_t i = 0; i < kept->n; i += sizeof(struct row *)) {
        struct row *row;
        memcpy(&row, kept->p + i, sizeof row);
        row_put(row);
    }
    buf_clear(kept);
}

/* Rolls back to the writes before function `i`. */
static void roll_back(struct batch *b, size_t i)
{
    tree_put(&b->written);
    b->written = tree_get(&b->before[i]);
    b->deltas.n = b->deltas_before[i];
}

static void forget_before(struct batch *b, size_t from)
{
    for (size_t i = from; i < b->count; i++) {
        tree_put(&b->before[i]);
        b->before[i].root = NULL;
    }
}

/* True if the function has completed. */
static bool run_one(struct batch *b, size_t i)
{
    struct update_txn t;
    struct update_node *node = b->nodes[i];
    b->before[i] = tree_get(&b->written);
    b->deltas_before[i] = b->deltas.n;
    update_txn_init(&t, b, b->stamp + (int64_t)i);
    node->result = node->update->fn(&t.base, node->update->arg);
    update_txn_release(&t);
    if (t.missed || err_is(node->result))
        roll_back(b, i);
    return !t.missed;
}

/* Runs the functions from `first` on; returns the first that has missed a row. */
static size_t run_from(struct batch *b, size_t first)
{
    size_t missed = b->count;
    for (size_t i = first; i < b->count; i++) {
        bool ended = run_one(b, i);
        if (!ended && missed == b->count)
            missed = i;
        if (b->failed || b->moved || (!ended && b->waits))
            break;
    }
    return missed;
}

/* True if the rows that the functions have seen are valid now, or the commit will check that. */
static bool is_confirmed(const struct batch *b)
{
    return b->begun || !b->used || b->written.root != NULL || b->deltas.n > 0;
}

/* Runs until all functions have completed, or the transaction fails. */
static struct err run_all(struct batch *b)
{
    size_t first = 0;
    for (unsigned rounds = 0;; rounds++) {
        b->waits = b->count == 1 || rounds >= ROUNDS_MAX;
        size_t missed = run_from(b, first);
        if (!b->failed && !b->moved && missed < b->count)
            (void)batch_fetch(b).code;
        if (b->failed)
            return b->error;
        if (!b->moved && missed == b->count && !is_confirmed(b))
            (void)batch_fetch(b).code; /* there are no writes, but the lock is needed */
        if (b->failed)
            return b->error;
        if (!b->moved && missed == b->count)
            return OK;
        first = b->moved ? 0 : missed;
        roll_back(b, first);
        forget_before(b, first);
        b->moved = false;
    }
}

/* ---- one attempt ---- */

static void attempt_begin(struct batch *b)
{
    if (!b->keeps) {
        rowset_reset(b->set);
        b->known_at = -1;
    }
    rowset_reset(&b->others);
    release_remotes(b);
    b->version = atomic_load(&b->engine->shards.version);
    struct bucket_route route = shards_route(&b->engine->shards, b->bucket);
    b->shard = &b->engine->shards.all[route.shard];
    b->logged = route.logged;
    b->pin = pins_take(&b->engine->pins);
    b->keeps = b->used = b->committed = false;
    tree_put(&b->written);
    b->written.root = NULL;
    put_kept(&b->kept);
    b->deltas.n = 0;
    b->begun = b->moved = b->failed = b->in_commit = false;
    b->fault = FAULT_NONE;
    b->now = cluster_now(b->engine);
    int64_t last = atomic_load(&b->engine->last_stamp);
    b->stamp = b->now > last ? b->now : last + 1;
}

static void note_stamps(struct batch *b)
{
    int64_t mine = b->stamp + (int64_t)b->count - 1;
    int64_t last = atomic_load(&b->engine->last_stamp);
    while (last < mine && !atomic_compare_exchange_weak(&b->engine->last_stamp, &last, mine)) {
    }
}

/* Returns the connection without waiting for the end of its transaction. */
static void attempt_end(struct batch *b)
{
    forget_before(b, 0);
    (void)pins_drop(&b->engine->pins, b->pin); /* the next heartbeat does it */
    if (b->conn == NULL)
        return;
    if (b->conn->fault != FAULT_LOST && (b->begun || b->failed)) {
        conn_send(b->conn, STMT_ROLLBACK, NULL);
        conn_leave(b->conn);
    }
    conn_pool_give(&b->shard->updates, b->conn);
    b->conn = NULL;
}

enum attempt {
    ATTEMPT_DONE,
    ATTEMPT_AGAIN,
    ATTEMPT_MOVED,
    ATTEMPT_FAILED,
    ATTEMPT_ALONE,
    ATTEMPT_UNWRITTEN, /* the extents of some are not written yet, or cannot be */
};

/* Handles a failure while functions ran, or in the commit. */
static enum attempt judge(struct batch *b, struct err error)
{
    enum { SLOT_STATEMENT = 1, LOCK_STATEMENT = 2 };
    unsigned failed = b->conn == NULL ? 0 : b->conn->failed;
    b->error = error;
    switch (b->fault) {
    case FAULT_RETRY:
    case FAULT_LOST:
        return ATTEMPT_AGAIN;
    case FAULT_MOVED:
        return ATTEMPT_MOVED;
    case FAULT_REQUIRE:
        if (!b->begun && failed == LOCK_STATEMENT) { /* another gateway has later stamps */
            b->blind = false;
            b->memory->cool = MEMORY_COOL;
            return ATTEMPT_AGAIN;
        }
        if (!b->begun && failed == SLOT_STATEMENT) { /* this gateway was declared dead */
            b->conn->fault = FAULT_LOST;
            return ATTEMPT_AGAIN;
        }
        return b->count > 1 ? ATTEMPT_ALONE : ATTEMPT_FAILED;
    case FAULT_NONE: /* an extent */
        return error.code == ERR_WOULD_BLOCK ? ATTEMPT_UNWRITTEN
               : b->count > 1                ? ATTEMPT_ALONE
                                             : ATTEMPT_FAILED;
    case FAULT_LATE:
    case FAULT_SPACE:
    case FAULT_OTHER:
        break;
    }
    return ATTEMPT_FAILED;
}

/* The connection was lost in COMMIT. */
static enum attempt find_out(struct batch *b, int64_t slot, int64_t commit_id)
{
    bool committed = false;
    b->error = batch_resolve(b, slot, commit_id, &committed);
    if (err_is(b->error))
        return ATTEMPT_FAILED;
    b->known_at = -1;
    if (committed)
        batch_committed(b);
    return committed ? ATTEMPT_DONE : ATTEMPT_AGAIN;
}

/* Parks the updates whose extents are being written, so that the others need not wait for RADOS,
 * and ends those whose extents cannot be. True if there were any. */
static bool sort_out(struct batch *b)
{
    bool any = false;
    for (size_t i = 0; i < b->count; i++) {
        struct update_node *node = b->nodes[i];
        size_t end = i + 1 < b->count ? b->deltas_before[i + 1] : b->deltas.n;
        struct str own = str_from(str_head(buf_str(&b->deltas), end), b->deltas_before[i]);
        struct err error = OK;
        enum flight_state state = extents_state(&b->engine->extents, own, &error);
        if (state == FLIGHT_DONE)
            continue;
        any = true;
        node->parked = state == FLIGHT_UNDER_WAY;
        node->over = !node->parked;
        if (node->parked)
            buf_put(&node->adopts, own);
        else
            node->result = error;
    }
    return any;
}

static enum attempt try_batch(struct batch *b)
{
    attempt_begin(b);
    struct err error = b->blind ? OK : batch_fetch(b);
    b->moved = false; /* no function has read the stamps yet */
    if (!err_is(error))
        error = run_all(b);
    if (!err_is(error))
        error = batch_commit(b);
    note_stamps(b);
    enum attempt outcome = err_is(error) ? judge(b, error) : ATTEMPT_DONE;
    bool unknown = b->in_commit && b->fault == FAULT_LOST;
    int64_t slot = b->conn == NULL ? 0 : b->conn->slot;
    int64_t commit_id = b->conn == NULL ? 0 : b->conn->commit_id + 1;
    attempt_end(b);
    if (unknown)
        outcome = find_out(b, slot, commit_id);
    if (outcome == ATTEMPT_UNWRITTEN && !sort_out(b)) {
        b->keeps = true; /* all are written by now */
        outcome = ATTEMPT_AGAIN;
    }
    return outcome;
}

static void settle_results(struct batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        if (!err_is(b->nodes[i]->result))
            b->nodes[i]->result = b->error;
}

static void pause_for(long ns)
{
    struct timespec pause = {.tv_nsec = ns};
    (void)nanosleep(&pause, NULL);
}

/* This bucket, or another one that functions read, is in another shard or being moved. */
static enum attempt follow(struct batch *b)
{
    if (clock_mono_ms() >= b->deadline) {
        b->error = err_new(ERR_SERVER_BUSY);
        return ATTEMPT_FAILED;
    }
    if (!shards_refresh(&b->engine->shards, b->version, b->bucket) || b->moves++ > 0)
        pause_for(MOVED_PAUSE_NS);
    return ATTEMPT_AGAIN;
}

static enum attempt run_until_over(struct batch *b)
{
    enum attempt outcome = ATTEMPT_AGAIN;
    for (unsigned i = 0; outcome == ATTEMPT_AGAIN; i++) {
        if (i > 0 && b->fault == FAULT_RETRY)
            pause_for((long)i * PAUSE_NS);
        outcome = try_batch(b);
        if (outcome == ATTEMPT_MOVED) {
            outcome = follow(b);
            i = 0;
            continue;
        }
        if (outcome == ATTEMPT_AGAIN && (i >= ATTEMPTS_MAX || clock_mono_ms() >= b->deadline)) {
            b->error = err_new(ERR_SERVER_BUSY);
            outcome = ATTEMPT_FAILED;
        }
    }
    return outcome;
}

static void note_row(void *arg, struct row *row)
{
    struct row *known = row_get(row);
    known->hot = true; /* with its body */
    rowset_note(arg, known);
}

/* Keeps the rows known at the end, with the stamp of the partition. */
static void remember(struct batch *b, enum attempt outcome)
{
    struct part_memory *m = b->memory;
    bool valid = outcome == ATTEMPT_DONE || outcome == ATTEMPT_UNWRITTEN;
    m->stamp = valid ? b->known_at : -1;
    if (outcome == ATTEMPT_DONE && b->committed) {
        tree_each(&b->written, note_row, &m->set);
        m->stamp = b->stamp + (int64_t)b->count - 1;
    }
    memory_give(&b->engine->memories, m);
}

static void batch_init(struct batch *b, struct cluster_engine *e, struct str partition)
{
    b->engine = e;
    b->partition = partition;
    b->bucket = shard_bucket(partition);
    b->memory = memory_take(&e->memories, partition);
    b->set = &b->memory->set;
    b->known_at = b->memory->stamp;
    b->keeps = b->known_at >= 0;
    /* If other gateways write to the partition too, they probably have done so again. */
    b->blind = b->memory->cool == 0;
    b->memory->cool -= b->memory->cool > 0;
    b->written.random = BATCH_SEED;
    b->kept = buf_heap();
    b->deltas = buf_heap();
    arena_init(&b->arena, TXN_ARENA_LIMIT);
    rowset_init(&b->others, partition, -1);
}

static void batch_release(struct batch *b)
{
    tree_put(&b->written);
    put_kept(&b->kept);
    buf_release(&b->kept);
    buf_release(&b->deltas);
    rowset_release(&b->others);
    release_remotes(b);
    arena_release(&b->arena);
    free(b);
}

/* Runs those again that were neither parked nor ended. */
static void run_others(struct cluster_engine *e, struct str partition, struct update_node **nodes,
                       size_t count)
{
    struct update_node *others[CLUSTER_BATCH];
    size_t left = 0;
    for (size_t i = 0; i < count; i++)
        if (!nodes[i]->parked && !nodes[i]->over)
            others[left++] = nodes[i];
    if (left > 0)
        cluster_run_batch(e, partition, others, left);
}

void cluster_run_batch(struct cluster_engine *e, struct str partition, struct update_node **nodes,
                       size_t count)
{
    assert(count > 0 && count <= CLUSTER_BATCH);
    struct batch *b = MEM_NEW(struct batch);
    b->nodes = nodes;
    b->count = count;
    b->deadline = nodes[0]->deadline;
    batch_init(b, e, partition);
    enum attempt outcome = run_until_over(b);
    if (outcome == ATTEMPT_FAILED)
        settle_results(b);
    remember(b, outcome);
    batch_release(b);
    if (outcome == ATTEMPT_UNWRITTEN)
        run_others(e, partition, nodes, count);
    for (size_t i = 0; outcome == ATTEMPT_ALONE && i < count; i++)
        cluster_run_batch(e, partition, nodes + i, 1);
}
