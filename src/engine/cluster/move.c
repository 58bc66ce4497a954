/* SPDX-License-Identifier: Apache-2.0 */
/* `lazuli cluster rebalance` and `drain`: moves buckets between shards while gateways serve.
 * shards.h says how, and why it may be killed at any point. */
#include "engine/cluster/move.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/mem.h"

enum {
    NAP_NS = 2000000,
    BARRIER_MS = 5000,
    TRIES_MAX = 100,
    CHANGE_ROUNDS = 1000,
    LOGGED_EACH = 32
};

static void nap(long ns)
{
    struct timespec pause = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    (void)nanosleep(&pause, NULL);
}

static struct conn *first(const struct mover *m)
{
    return m->session->conns[0];
}

/* ---- the lease ---- */

static struct err try_lease(struct mover *m, bool *taken)
{
    char sql[256];
    (void)snprintf(sql, sizeof sql,
                   "UPDATE leases SET holder = %lld, until = now() + interval '%d s' WHERE name = "
                   "'mover' AND (holder = %lld OR until < now()) RETURNING 1",
                   (long long)m->holder, MOVE_LEASE_S, (long long)m->holder);
    TRY(conn_run(first(m), sql));
    *taken = result_rows(first(m), 0) == 1;
    if (*taken)
        m->renewed = clock_mono_ms();
    return OK;
}

static struct err lost_lease(struct mover *m)
{
    buf_clear(&m->session->text);
    buf_put(&m->session->text, STR("another `lazuli cluster rebalance` or `drain` is running"));
    return err_new(ERR_SERVER_BUSY);
}

static struct err take_lease(struct mover *m)
{
    bool taken;
    TRY(try_lease(m, &taken));
    return taken ? OK : lost_lease(m);
}

/* A killed mover still holds the lease for a while. */
static struct err await_lease(struct mover *m)
{
    int64_t deadline = clock_mono_ms() + (MOVE_LEASE_S + 1) * 1000;
    for (bool taken = false; !taken;) {
        TRY(try_lease(m, &taken));
        if (!taken && clock_mono_ms() >= deadline)
            return lost_lease(m);
        if (!taken)
            nap(NAP_NS * 100L);
    }
    return OK;
}

struct err mover_renew(struct mover *m)
{
    enum { RENEW_MS = 2000 };
    return clock_mono_ms() - m->renewed < RENEW_MS ? OK : take_lease(m);
}

struct err mover_must(struct mover *m, unsigned shard, const char *sql)
{
    struct conn *c = m->session->conns[shard];
    TRY(conn_run(c, sql));
    return result_rows(c, 0) == 1 ? OK : err_new(ERR_CONDITION_NOT_MET);
}

/* ---- one bucket ---- */

/* Returns when all transactions of the source that are running now have ended: those that began
 * before a change of the bucket's row may not have seen the change. A new transaction's number is
 * above theirs; the snapshot's xmax is not, because it is one above the last that has ended.
 * ERR_OPERATION_TIMED_OUT if that takes longer than wait_ms (-1: no limit). */
static struct err barrier(struct mover *m, int64_t wait_ms)
{
    struct conn *c = m->session->conns[m->from];
    int64_t deadline = wait_ms < 0 ? INT64_MAX : clock_mono_ms() + wait_ms;
    TRY(conn_run(c, "SELECT pg_current_xact_id()::text::bigint"));
    int64_t all = result_number(c, 0, 0, 0);
    for (;;) {
        TRY(conn_run(c, "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint"));
        if (result_number(c, 0, 0, 0) >= all)
            return OK;
        if (clock_mono_ms() >= deadline)
            return err_new(ERR_OPERATION_TIMED_OUT);
        nap(NAP_NS);
        TRY(mover_renew(m));
    }
}

static struct err read_state(struct mover *m, unsigned shard, int64_t *state, int64_t *attempt)
{
    struct conn *c = m->session->conns[shard];
    char sql[96];
    (void)snprintf(sql, sizeof sql, "SELECT state, attempt FROM buckets WHERE bucket = %u",
                   m->bucket);
    TRY(mover_must(m, shard, sql));
    *state = result_number(c, 0, 0, 0);
    *attempt = result_number(c, 0, 0, 1);
    return OK;
}

static struct err forget_position(struct mover *m)
{
    char sql[128];
    (void)snprintf(
        sql, sizeof sql,
        "UPDATE placement SET part = NULL, key = NULL, copied = 0 WHERE bucket = %u AND part IS "
        "NOT NULL",
        m->bucket);
    return conn_run(first(m), sql);
}

/* Writes the number of this attempt to both shards, which fences off all earlier attempts. */
static struct err claim(struct mover *m, int64_t states[2])
{
    char sql[256];
    int64_t attempts[2];
    TRY(read_state(m, m->from, &states[0], &attempts[0]));
    TRY(read_state(m, m->to, &states[1], &attempts[1]));
    if (bucket_is_here(states[1]))
        return OK;                  /* the copy is complete; only the cleanup is left */
    if (states[1] == BUCKET_GONE) { /* the target's state is not ARRIVES: its copy is stale */
        TRY(move_clean(m, m->to));
        TRY(forget_position(m));
    }
    m->attempt = (attempts[0] > attempts[1] ? attempts[0] : attempts[1]) + 1;
    (void)snprintf(sql, sizeof sql,
                   "UPDATE buckets SET attempt = %lld WHERE bucket = %u AND attempt = %lld AND "
                   "state = %lld RETURNING 1",
                   (long long)m->attempt, m->bucket, (long long)attempts[0], (long long)states[0]);
    TRY(mover_must(m, m->from, sql));
    (void)snprintf(sql, sizeof sql,
                   "UPDATE buckets SET attempt = %lld, state = 12 WHERE bucket = %u AND attempt < "
                   "%lld AND state > 10 RETURNING 1",
                   (long long)m->attempt, m->bucket, (long long)m->attempt);
    return mover_must(m, m->to, sql);
}

static struct err set_source(struct mover *m, enum bucket_state from, enum bucket_state to)
{
    char sql[256];
    (void)snprintf(
        sql, sizeof sql,
        "UPDATE buckets SET state = %d, target = %u WHERE bucket = %u AND attempt = %lld "
        "AND state = %d RETURNING 1",
        (int)to, m->to, m->bucket, (long long)m->attempt, (int)from);
    return mover_must(m, m->from, sql);
}

/* Repeats until fewer changes are left than one step copies. */
static struct err catch_up(struct mover *m)
{
    bool left = true;
    for (unsigned i = 0; left && i < CHANGE_ROUNDS; i++)
        TRY(move_copy_changes(m, &left));
    return OK;
}

/* No gateway writes now: copies the last changes, and then the target owns the bucket. */
static struct err switch_over(struct mover *m)
{
    char sql[256];
    for (bool left = true; left;)
        TRY(move_copy_changes(m, &left));
    (void)snprintf(sql, sizeof sql,
                   "UPDATE buckets SET state = 1 WHERE bucket = %u AND attempt = %lld AND state = "
                   "12 RETURNING 1",
                   m->bucket, (long long)m->attempt);
    return mover_must(m, m->to, sql);
}

/* The lease is at most two seconds old; while it is valid, nobody thaws the bucket. */
static struct err freeze_and_switch(struct mover *m)
{
    TRY(mover_renew(m));
    TRY(set_source(m, BUCKET_LOGGED, BUCKET_GONE));
    struct err error = barrier(m, BARRIER_MS);
    if (error.code != ERR_OPERATION_TIMED_OUT)
        return err_is(error) ? error : switch_over(m);
    /* A transaction takes long, and others would wait for it: retry later. */
    TRY(set_source(m, BUCKET_GONE, BUCKET_LOGGED));
    return error;
}

/* The map, and what is left in the source. */
static struct err finish(struct mover *m)
{
    char sql[160];
    (void)snprintf(
        sql, sizeof sql,
        "UPDATE placement SET shard = %u, target = NULL, part = NULL, key = NULL, copied "
        "= 0 WHERE bucket = %u",
        m->to, m->bucket);
    TRY(conn_run(first(m), sql));
    return move_clean(m, m->from);
}

static struct err move_once(struct mover *m)
{
    int64_t states[2];
    TRY(claim(m, states));
    if (bucket_is_here(states[1]))
        return finish(m);
    if (states[0] == BUCKET_HERE) { /* a gateway or another mover has reverted it */
        TRY(set_source(m, BUCKET_HERE, BUCKET_LOGGED));
        TRY(barrier(m, -1));
    }
    if (states[0] != BUCKET_GONE) {
        TRY(move_copy_all(m));
        TRY(catch_up(m));
        TRY(freeze_and_switch(m));
    } else {
        /* An earlier mover was killed after it had copied all and frozen the source. */
        TRY(barrier(m, -1));
        TRY(switch_over(m));
    }
    return finish(m);
}

/* Retries if a gateway has thawed the bucket or a transaction took too long. */
static struct err move_bucket(struct mover *m)
{
    struct err error = err_new(ERR_OPERATION_TIMED_OUT);
    for (unsigned i = 0; i < TRIES_MAX && (error.code == ERR_OPERATION_TIMED_OUT ||
                                           error.code == ERR_CONDITION_NOT_MET || i == 0);
         i++) {
        if (i > 0)
            nap((long)NAP_NS * 50);
        TRY(mover_renew(m));
        error = move_once(m);
    }
    if (err_is(error) && m->session->text.n == 0)
        buf_printf(&m->session->text, "bucket %u cannot be moved now; run the same again to go on",
                   m->bucket);
    return error;
}

/* ---- the plan ---- */

/* Every live gateway must know every shard. */
static struct err check_gateways(struct mover *m)
{
    struct cluster_session *s = m->session;
    struct buf sql = buf_heap();
    struct err error =
        conn_run(first(m), "SELECT id, name FROM gateways WHERE beat > now() - interval '30s'");
    buf_put(&sql, STR("SELECT id FROM gateways WHERE id IN (-1"));
    int count = err_is(error) ? 0 : result_rows(first(m), 0);
    for (int i = 0; i < count; i++)
        buf_printf(&sql, ",%lld", (long long)result_number(first(m), 0, i, 0));
    buf_put(&sql, STR(")"));
    buf_putc(&sql, '\0');
    for (unsigned i = 1; i < s->count && !err_is(error); i++) {
        error = conn_run(s->conns[i], sql.p);
        if (err_is(error) || result_rows(s->conns[i], 0) >= count)
            continue;
        buf_printf(&s->text,
                   "%d of %d gateways do not know shard %u: restart each with every "
                   "--rows first",
                   count - result_rows(s->conns[i], 0), count, i + 1);
        error = err_new(ERR_CONDITION_NOT_MET);
    }
    buf_release(&sql);
    return error;
}

struct plan {
    int64_t shard[BUCKETS];
    int64_t target[BUCKETS]; /* -1: none */
};

static struct err read_plan(struct mover *m, struct plan *plan)
{
    struct conn *c = first(m);
    TRY(conn_run(c, "SELECT bucket, shard, coalesce(target, -1) FROM placement ORDER BY bucket"));
    for (int i = 0; i < result_rows(c, 0) && i < BUCKETS; i++) {
        plan->shard[i] = result_number(c, 0, i, 1);
        plan->target[i] = result_number(c, 0, i, 2);
    }
    return OK;
}

/* True if an earlier plan has buckets for shards that must become empty. */
static bool fills_past(const struct plan *plan, unsigned shards)
{
    for (unsigned b = 0; b < BUCKETS; b++)
        if (plan->target[b] >= (int64_t)shards)
            return true;
    return false;
}

/* Assigns buckets of shards that have too many to shards that have too few. The first `shards` get
 * buckets, the others none. */
static void divide(struct plan *plan, unsigned shards)
{
    int64_t has[SHARDS_MAX] = {0};
    for (unsigned b = 0; b < BUCKETS; b++)
        has[plan->target[b] >= 0 ? plan->target[b] : plan->shard[b]]++;
    for (unsigned b = 0; b < BUCKETS; b++) {
        unsigned few = 0;
        for (unsigned i = 1; i < shards; i++)
            few = has[i] < has[few] ? i : few;
        bool leaves = plan->shard[b] >= (int64_t)shards || has[plan->shard[b]] - has[few] >= 2;
        if (plan->target[b] >= 0 || !leaves)
            continue;
        plan->target[b] = few;
        has[plan->shard[b]]--;
        has[few]++;
    }
}

static struct err write_plan(struct mover *m, const struct plan *plan)
{
    struct buf sql = buf_heap();
    buf_put(&sql, STR("UPDATE placement p SET target = v.t FROM (VALUES (-1, -1)"));
    m->total = 0;
    for (unsigned b = 0; b < BUCKETS; b++) {
        if (plan->target[b] < 0)
            continue;
        m->total++;
        buf_printf(&sql, ",(%u, %lld)", b, (long long)plan->target[b]);
    }
    buf_put(&sql, STR(") AS v (b, t) WHERE p.bucket = v.b AND p.target IS NULL"));
    buf_putc(&sql, '\0');
    struct err error = conn_run(first(m), sql.p);
    buf_release(&sql);
    return error;
}

/* Starts to log every change of the next buckets, several at a time, because each start waits for
 * all running transactions. */
static struct err log_next(struct mover *m, const struct plan *plan, unsigned *until)
{
    struct buf lists[SHARDS_MAX];
    struct err error = OK;
    unsigned count = 0;
    for (unsigned i = 0; i < m->session->count; i++)
        lists[i] = buf_heap();
    for (; *until < BUCKETS && count < LOGGED_EACH; (*until)++) {
        if (plan->target[*until] < 0)
            continue;
        buf_printf(&lists[plan->shard[*until]], ",%u", *until);
        count++;
    }
    for (unsigned i = 0; i < m->session->count; i++) {
        struct buf sql = buf_heap();
        buf_printf(&sql, "UPDATE buckets SET state = 2 WHERE bucket IN (-1%.*s) AND state = 1",
                   STR_ARG(buf_str(&lists[i])));
        buf_putc(&sql, '\0');
        m->from = i;
        if (!err_is(error) && lists[i].n > 0)
            error = conn_run(m->session->conns[i], sql.p);
        if (!err_is(error) && lists[i].n > 0)
            error = barrier(m, -1);
        buf_release(&sql);
        buf_release(&lists[i]);
    }
    return error;
}

static struct err move_planned(struct mover *m, const struct plan *plan)
{
    unsigned logged = 0;
    for (unsigned b = 0; b < BUCKETS; b++) {
        if (plan->target[b] < 0)
            continue;
        if (b >= logged)
            TRY(log_next(m, plan, &logged));
        m->bucket = b;
        m->from = (unsigned)plan->shard[b];
        m->to = (unsigned)plan->target[b];
        m->copied = 0;
        TRY(move_bucket(m));
        m->moved++;
        if (m->progress != NULL)
            m->progress(m->progress_arg, "moving", m->moved, m->total);
    }
    return OK;
}

/* ---- what killed movers have left ---- */

/* Deletes copies of buckets that another shard owns for good, according to the map. */
static struct err clean_leftovers(struct mover *m, const struct plan *plan)
{
    for (unsigned i = 0; i < m->session->count; i++) {
        struct conn *c = m->session->conns[i];
        bool stale[BUCKETS] = {false};
        TRY(conn_run(c, "SELECT DISTINCT p.bucket FROM partitions p JOIN buckets b ON b.bucket = "
                        "p.bucket WHERE b.state = 11"));
        for (int row = 0; row < result_rows(c, 0); row++)
            stale[(uint64_t)result_number(c, 0, row, 0) % BUCKETS] = true;
        for (unsigned b = 0; b < BUCKETS; b++) {
            if (!stale[b] || plan->target[b] >= 0 || plan->shard[b] == i)
                continue;
            m->bucket = b;
            TRY(move_clean(m, i));
        }
    }
    return OK;
}

/* First completes earlier moves into a shard that must become empty, because their copies have
 * begun. */
static struct err spread(struct mover *m, struct plan *plan, unsigned shards)
{
    TRY(read_plan(m, plan));
    TRY(clean_leftovers(m, plan));
    if (fills_past(plan, shards)) {
        TRY(write_plan(m, plan));
        TRY(move_planned(m, plan));
        TRY(read_plan(m, plan));
    }
    divide(plan, shards);
    TRY(write_plan(m, plan));
    m->moved = 0;
    return move_planned(m, plan);
}

static void give_lease_back(struct mover *m)
{
    char sql[128];
    (void)snprintf(sql, sizeof sql,
                   "UPDATE leases SET until = now() WHERE name = 'mover' AND holder = %lld",
                   (long long)m->holder);
    (void)conn_run(first(m), sql).code;
}

/* Moves until the first shards have the same number of buckets, and the last `spared` have none. */
static struct err move_all(const struct engine_cluster_options *options, unsigned spared,
                           cluster_progress *progress, void *arg)
{
    struct cluster_session s = {0};
    struct err error = cluster_session_open(&s, options);
    struct mover m = {.session = &s, .progress = progress, .progress_arg = arg};
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    m.holder = now.tv_sec * 1000000000LL + now.tv_nsec;
    arena_init(&m.arena, SIZE_MAX);
    if (!err_is(error))
        error = cluster_check_shards(&s);
    if (!err_is(error) && s.count <= spared) {
        buf_put(&s.text, STR("the last --rows is emptied into the others, and there is but one"));
        error = err_new(ERR_INVALID_INPUT);
    }
    if (!err_is(error))
        error = check_gateways(&m);
    if (!err_is(error))
        error = await_lease(&m);
    if (!err_is(error)) {
        struct plan *plan = MEM_NEW(struct plan);
        error = spread(&m, plan, s.count - spared);
        give_lease_back(&m);
        free(plan);
    }
    arena_release(&m.arena);
    return cluster_session_close(&s, options, error);
}

struct err engine_cluster_rebalance(const struct engine_cluster_options *options,
                                    cluster_progress *progress, void *arg)
{
    return move_all(options, 0, progress, arg);
}

struct err engine_cluster_drain(const struct engine_cluster_options *options,
                                cluster_progress *progress, void *arg)
{
    return move_all(options, 1, progress, arg);
}
