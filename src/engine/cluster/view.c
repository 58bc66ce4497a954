/* SPDX-License-Identifier: Apache-2.0 */
/* Views: read-only REPEATABLE READ transactions, one in each shard that is read. Most views make
 * only one read, which needs no transaction (gather.h). The next read starts one in the same round
 * trip, and reads the earlier rows again there; if they have changed, the function is run again.
 * The end of a transaction is sent without waiting for the result. */
#include <assert.h>
#include <stdlib.h>
#include <time.h>

#include "core/mem.h"
#include "engine/cluster/cluster_internal.h"

enum { MOVED_PAUSE_NS = 10000000 };

/* Connections whose transactions stay open, by shard. */
struct engine_state {
    pthread_mutex_t lock;
    bool kept; /* false: it could not be */
    struct conn *conns[SHARDS_MAX];
    bool *reads[SHARDS_MAX]; /* see view_leg */
};

static struct view *view_of(struct txn *t)
{
    return (struct view *)(void *)t;
}

/* ---- reading ---- */

static void leg_init(struct view *v, struct view_leg *leg, unsigned shard)
{
    memset(leg, 0, offsetof(struct view_leg, set)); /* the set is large */
    leg->shard = &v->engine->shards.all[shard];
    rowset_init(&leg->set, v->partition, -1);
    v->legs[shard] = leg;
}

struct view_leg *view_leg_at(struct view *v, unsigned shard)
{
    if (v->legs[shard] == NULL)
        leg_init(v, ARENA_NEW(&v->arena, struct view_leg), shard);
    return v->legs[shard];
}

/* Confirms rows of a single statement in the transaction that begins. */
static void doubt(struct view *v, struct view_leg *leg)
{
    if (leg->alone)
        rowset_doubt(&leg->set, &v->guessed);
    leg->alone = false;
    leg->whole = true;
}

struct err view_ready(struct view *v, struct view_leg *leg)
{
    if (leg->conn == NULL)
        TRY(conn_pool_take(&leg->shard->views, v->deadline, &leg->conn));
    doubt(v, leg);
    if (!leg->begun)
        conn_send(leg->conn, STMT_BEGIN_VIEW, NULL);
    leg->sent = rowset_wants(&leg->set);
    if (leg->sent)
        rowset_send(&leg->set, leg->conn);
    return OK;
}

struct guess_check {
    struct view *view;
    const struct view_leg *leg;
};

static void check_guess(void *arg, struct row *guessed)
{
    const struct guess_check *g = arg;
    const struct row *row = rowset_find(&g->leg->set, row_key(guessed), false);
    if (row == NULL || row == guessed)
        return;
    bool body = guessed->hot && row->hot; /* compares both with their bodies, if they have any */
    g->view->wrong |= row->deleted != guessed->deleted ||
                      !str_eq(row_value(row), row_value(guessed)) ||
                      (body && !str_eq(row_body(row), row_body(guessed)));
}

static void check_guesses(struct view *v, const struct view_leg *leg)
{
    tree_each(&v->guessed, check_guess, &(struct guess_check){v, leg});
}

struct err view_exchange(struct view *v, struct view_leg *leg)
{
    assert(leg->conn != NULL);
    struct err error = conn_exchange(leg->conn);
    leg->begun = true;
    v->lost |= leg->conn->fault == FAULT_LOST;
    v->moved |= leg->conn->fault == FAULT_MOVED;
    if (!err_is(error) && leg->sent) {
        error = rowset_receive(&leg->set, leg->conn);
        check_guesses(v, leg);
    }
    leg->sent = false;
    if (!err_is(error) && v->wrong)
        error = err_new(ERR_WOULD_BLOCK);
    return error;
}

static struct err fetch_legs(struct view *v)
{
    struct view_leg *asked[SHARDS_MAX];
    unsigned count = 0;
    struct err error = OK;
    for (unsigned i = 0; i < v->engine->shards.count && !err_is(error); i++) {
        if (v->legs[i] == NULL || !rowset_wants(&v->legs[i]->set))
            continue;
        error = view_ready(v, v->legs[i]);
        if (!err_is(error))
            asked[count++] = v->legs[i];
    }
    for (unsigned i = 0; i < count && count > 1; i++)
        conn_start(asked[i]->conn);
    for (unsigned i = 0; i < count; i++) {
        struct err got = view_exchange(v, asked[i]);
        error = err_is(error) ? error : got;
    }
    return error;
}

/* The first read of all: without a transaction. */
static struct err fetch_alone(struct view *v, struct view_leg *leg)
{
    assert(leg->conn == NULL && !leg->alone);
    enum conn_fault fault;
    struct err error = gather_fetch(&leg->shard->gather, &leg->set, v->deadline, &fault);
    v->lost |= fault == FAULT_LOST;
    v->moved |= fault == FAULT_MOVED;
    leg->alone = true;
    if (!err_is(error))
        check_guesses(v, leg);
    return !err_is(error) && v->wrong ? err_new(ERR_WOULD_BLOCK) : error;
}

/* Makes one round trip to all shards that have wanted rows. */
static struct err fetch_once(struct view *v, bool *wanted)
{
    struct view_leg *only = NULL;
    unsigned wanting = 0;
    for (unsigned i = 0; i < v->engine->shards.count; i++) {
        if (v->legs[i] == NULL || !rowset_wants(&v->legs[i]->set))
            continue;
        only = v->legs[i];
        wanting++;
    }
    *wanted = wanting > 0;
    if (wanting == 1 && only->conn == NULL && !only->alone && !only->whole)
        return fetch_alone(v, only);
    return fetch_legs(v);
}

struct err view_refuse(struct view *v)
{
    v->refused = true;
    return err_new(ERR_WOULD_BLOCK);
}

/* What is wanted in the sets. */
static struct err view_fetch(struct view *v)
{
    if (v->puts_off)
        return err_new(ERR_WOULD_BLOCK);
    for (bool wanted = true; wanted;)
        TRY(fetch_once(v, &wanted));
    return OK;
}

/* The row's name, and the part of the view that reads it. */
static struct str name_of(struct view *v, const struct engine_read *r, struct buf *other,
                          struct view_leg **leg)
{
    *leg = v->home;
    if (!str_given(r->partition))
        return rowkey_of(&v->name, r->key);
    if (v->engine->shards.count > 1)
        *leg = view_leg_at(v, shards_route(&v->engine->shards, shard_bucket(r->partition)).shard);
    buf_clear(other);
    rowkey_put_partition(other, r->partition);
    buf_put(other, r->key);
    return buf_str(other);
}

static void end_row_loan(void *row)
{
    row_put(row);
}

static void give(struct engine_read *r, struct row *row)
{
    if (row == NULL || row->deleted)
        return;
    r->value = row_value(row);
    r->body = r->with_body ? row_body(row) : STR_NONE;
    if (r->loan != NULL && str_given(r->body))
        *r->loan = (struct engine_loan){end_row_loan, row_get(row)};
}

/* Returns a cached row, which is confirmed together with the next read. */
static bool guess(struct view *v, struct view_leg *leg, const struct engine_read *r,
                  struct str name)
{
    if (v->sure || (r->hints & HINT_SOON) == 0 || r->with_body)
        return false;
    if (tree_find(&v->guessed, name) != NULL)
        return true;
    struct row *row = hot_find(&v->engine->hot, name);
    if (row == NULL)
        return false;
    tree_insert(&v->guessed, row);
    rowset_want(&leg->set, name, false);
    return true;
}

static void give_known(struct view *v, struct view_leg *leg, struct engine_read *r, struct str name)
{
    struct row *row = rowset_find(&leg->set, name, r->with_body);
    if (row != NULL && (r->hints & HINT_SOON) != 0)
        hot_put(&v->engine->hot, row);
    give(r, row != NULL ? row : tree_find(&v->guessed, name));
}

static struct err view_get_many(struct txn *t, struct engine_read *reads, size_t count)
{
    struct view *v = view_of(t);
    struct buf other = buf_in(&v->arena);
    struct view_leg *leg;
    bool missing = false;
    for (size_t i = 0; i < count; i++) {
        struct str name = name_of(v, &reads[i], &other, &leg);
        if (rowset_find(&leg->set, name, reads[i].with_body) != NULL ||
            guess(v, leg, &reads[i], name))
            continue;
        rowset_want(&leg->set, name, reads[i].with_body);
        missing = true;
    }
    if (missing)
        TRY(view_fetch(v));
    for (size_t i = 0; i < count; i++) {
        struct str name = name_of(v, &reads[i], &other, &leg);
        give_known(v, leg, &reads[i], name);
    }
    return OK;
}

/* ---- kept states ---- */

static void drop_kept(struct cluster_engine *e, struct engine_state *state)
{
    for (unsigned i = 0; i < SHARDS_MAX; i++) {
        if (state->conns[i] != NULL)
            conn_close(state->conns[i]);
        free(state->reads[i]);
        state->conns[i] = NULL;
        state->reads[i] = NULL;
    }
    if (state->kept)
        atomic_fetch_sub(&e->kept, 1);
    state->kept = false;
}

static void view_keep_state(struct txn *t, struct engine_state **kept)
{
    struct view *v = view_of(t);
    if (v->puts_off) {
        (void)view_refuse(v).code;
        return;
    }
    if (*kept == NULL) {
        *kept = MEM_NEW(struct engine_state);
        pthread_mutex_init(&(*kept)->lock, NULL);
    }
    v->keeps = *kept;
    drop_kept(v->engine, *kept);
}

static struct err keep_leg(struct view *v, struct engine_state *state, unsigned shard)
{
    assert(state->conns[shard] == NULL);
    struct view_leg *leg = v->legs[shard];
    TRY(view_ready(v, leg));
    conn_send(leg->conn, STMT_KEEP, NULL);
    TRY(view_exchange(v, leg));
    state->conns[shard] = leg->conn;
    leg->conn = NULL;
    conn_pool_detach(&leg->shard->views);
    if (leg->reads != NULL)
        state->reads[shard] = memcpy(mem_alloc(BUCKETS), leg->reads, BUCKETS);
    return OK;
}

/* The function has ended: the kept state takes over the connections with their transactions. */
static void hand_over(struct view *v)
{
    assert(v->keeps != NULL);
    struct engine_state *state = v->keeps;
    v->keeps = NULL;
    if (atomic_fetch_add(&v->engine->kept, 1) >= CLUSTER_KEPT) {
        atomic_fetch_sub(&v->engine->kept, 1);
        return;
    }
    state->kept = true;
    for (unsigned i = 0; i < v->engine->shards.count; i++) {
        if (v->legs[i] != NULL && err_is(keep_leg(v, state, i))) {
            drop_kept(v->engine, state);
            return;
        }
    }
}

void cluster_state_release(struct engine *e, struct engine_state *state)
{
    drop_kept(cluster_of(e), state);
    pthread_mutex_destroy(&state->lock);
    free(state);
}

/* ---- running ---- */

static const struct txn_ops VIEW_OPS = {
    .get_many = view_get_many,
    .cursor_open = view_cursor_open,
    .cursor_open_across = view_cursor_open_across,
    .keep_state = view_keep_state,
};

void view_init(struct view *v, struct cluster_engine *e, struct str partition)
{
    memset(v, 0, offsetof(struct view, room));
    v->engine = e;
    v->partition = partition;
    v->bucket = shard_bucket(partition);
    v->version = atomic_load(&e->shards.version);
    v->deadline = clock_mono_ms() + CLUSTER_VIEW_MS;
    arena_init(&v->arena, TXN_ARENA_LIMIT);
    v->base = (struct txn){
        .ops = &VIEW_OPS, .arena = &v->arena, .now = cluster_now(e), .wait = ENGINE_WAIT};
    leg_init(v, &v->room, shards_route(&e->shards, v->bucket).shard);
    v->home = &v->room;
    rowkey_init(&v->name, &v->arena, partition);
    v->guessed.random = 1;
}

static void leg_release(struct view_leg *leg)
{
    if (leg->conn != NULL) {
        if (leg->begun) {
            conn_send(leg->conn, STMT_COMMIT, NULL);
            conn_leave(leg->conn);
        }
        conn_pool_give(&leg->shard->views, leg->conn);
    }
    rowset_release(&leg->set);
}

void view_release(struct view *v)
{
    for (unsigned i = 0; i < v->engine->shards.count; i++)
        if (v->legs[i] != NULL)
            leg_release(v->legs[i]);
    tree_put(&v->guessed);
    arena_release(&v->arena);
}

/* A bucket that the view has read is in another shard now. */
void view_follow(struct view *v)
{
    if (shards_refresh(&v->engine->shards, v->version, v->bucket) && !v->spread)
        return;
    struct timespec pause = {.tv_nsec = MOVED_PAUSE_NS};
    (void)nanosleep(&pause, NULL);
}

/* Runs the function once and confirms all its reads, or finds that one was wrong. */
static struct err run_through(struct view *v, engine_fn *fn, void *arg)
{
    struct err error = fn(&v->base, arg);
    txn_close_cursors(&v->base);
    for (unsigned i = 0; i < v->engine->shards.count && v->keeps != NULL; i++)
        if (v->legs[i] != NULL)
            doubt(v, v->legs[i]); /* a kept state needs a transaction */
    struct err confirmed = v->wrong || v->lost || v->moved ? OK : view_fetch(v);
    return err_is(confirmed) ? confirmed : error;
}

static struct err run_once(struct cluster_engine *e, struct str partition, engine_fn *fn, void *arg,
                           bool *again)
{
    struct view v;
    view_init(&v, e, partition);
    struct err error = run_through(&v, fn, arg);
    /* The second run uses the rows read since, the third one transaction. */
    for (unsigned i = 0; i < 2 && v.wrong && !v.lost && !v.moved; i++) {
        v.wrong = false;
        v.sure = true;
        tree_put(&v.guessed);
        v.guessed.root = NULL;
        error = run_through(&v, fn, arg);
    }
    *again = v.moved || v.wrong || (v.lost && err_is(error));
    if (v.keeps != NULL && !*again)
        hand_over(&v);
    bool moved = v.moved;
    view_release(&v);
    if (moved)
        view_follow(&v);
    return error;
}

struct err cluster_view(struct engine *e, struct str partition, enum engine_wait wait,
                        engine_fn *fn, void *arg)
{
    int64_t deadline = clock_mono_ms() + CLUSTER_VIEW_MS;
    bool again = true;
    struct err error = OK;
    if (wait == ENGINE_NOWAIT)
        return err_new(ERR_WOULD_BLOCK);
    while (again) {
        error = run_once(cluster_of(e), partition, fn, arg, &again);
        if (again && clock_mono_ms() >= deadline)
            return err_new(ERR_SERVER_BUSY);
    }
    return error;
}

static void take_kept(struct view *v, const struct engine_state *state)
{
    for (unsigned i = 0; i < v->engine->shards.count; i++) {
        if (state->conns[i] == NULL)
            continue;
        struct view_leg *leg = view_leg_at(v, i);
        leg->conn = state->conns[i];
        leg->reads = state->reads[i];
        leg->begun = true;
        v->spread |= leg->reads != NULL;
        /* The partition was there when the state was kept. */
        if (leg->reads == NULL || leg->reads[v->bucket])
            v->home = leg;
    }
}

struct err cluster_view_state(struct engine *e, struct engine_state *state, struct str partition,
                              engine_fn *fn, void *arg)
{
    struct view v;
    pthread_mutex_lock(&state->lock);
    if (!state->kept) {
        pthread_mutex_unlock(&state->lock);
        return err_new(ERR_SERVER_BUSY);
    }
    view_init(&v, cluster_of(e), partition);
    take_kept(&v, state);
    v.sure = true;
    struct err error = fn(&v.base, arg);
    txn_close_cursors(&v.base);
    for (unsigned i = 0; i < v.engine->shards.count; i++)
        if (v.legs[i] != NULL && v.legs[i]->conn == state->conns[i])
            v.legs[i]->conn = NULL; /* it stays the state's */
    if (v.lost || v.moved)
        drop_kept(v.engine, state);
    view_release(&v);
    pthread_mutex_unlock(&state->lock);
    return error;
}
