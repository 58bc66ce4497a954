/* SPDX-License-Identifier: Apache-2.0 */
/* The gateway among the others: its row in the table of gateways, renewed every second with the
 * oldest pin that it has; PostgreSQL's time; the turn of the collector; updates whose time is over.
 *
 * Pins are numbers of transactions. A pin notes the oldest transaction that was running when it was
 * taken, as the last answer of PostgreSQL told: whatever an older transaction dropped, a view under
 * the pin cannot see. An extent is removed when the transaction that dropped it is older than every
 * pin of every gateway. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/log.h"
#include "engine/cluster/cluster_internal.h"

enum {
    BEAT_MS = 1000,
    TICK_MS = 250,
    BEAT_GAP_MS = 50, /* between two beats that are asked for */
    COLLECT_PAUSE_MS = 10000,
    COUNT_GAP_MS = 100,
    COUNT_SHARE = 50, /* of the time, counting takes at most one part */
};
#define OFFSET_TICKS (TICKS_PER_SECOND / 2) /* smaller differences of clocks are left alone */

/* ---- time and transactions ---- */

int64_t cluster_now(const struct cluster_engine *e)
{
    return clock_now(e->clock) + atomic_load_explicit(&e->clock_offset, memory_order_relaxed);
}

static int64_t system_ticks(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * TICKS_PER_SECOND + now.tv_nsec / 100;
}

/* Leases and times of visibility are compared by many gateways: those whose clock is wrong go by
 * PostgreSQL's. */
static void learn_time(struct cluster_engine *e, int64_t before, int64_t theirs)
{
    int64_t after = system_ticks();
    int64_t offset = theirs - (before + (after - before) / 2);
    if (after - before > TICKS_PER_SECOND / 4)
        return; /* too coarse */
    int64_t old = atomic_load(&e->clock_offset);
    offset = offset > -OFFSET_TICKS && offset < OFFSET_TICKS ? 0 : offset;
    if (offset != 0 && old == 0)
        log_line(LOG_WARN, "rows: this machine's clock is %+lld ms off PostgreSQL's, which is used",
                 (long long)(-offset / TICKS_PER_MS));
    atomic_store(&e->clock_offset, offset);
}

void cluster_saw_xmin(struct cluster_engine *e, int64_t xmin)
{
    pthread_mutex_lock(&e->xmin_lock);
    if ((uint64_t)xmin > atomic_load(&e->pins.commit))
        pins_advance(&e->pins, (uint64_t)xmin);
    pthread_mutex_unlock(&e->xmin_lock);
}

/* ---- the gateway's row ---- */

struct err gateway_register(struct cluster_engine *e, struct conn *c)
{
    char sql[256];
    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO gateways (id, name, pin) SELECT nextval('gateway_ids'), '%s', "
                   "pg_snapshot_xmin(pg_current_snapshot())::text::bigint RETURNING id, pin",
                   e->name);
    conn_send_text(c, sql);
    TRY(conn_exchange(c));
    atomic_store(&e->gateway, result_number(c, 0, 0, 0));
    cluster_saw_xmin(e, result_number(c, 0, 0, 1));
    return OK;
}

static struct conn *beat_conn(struct cluster_engine *e)
{
    if (e->beat_conn == NULL && !err_is(conn_open(&e->target, true, NULL, &e->beat_conn))) {
        e->beat_conn->quiet = true;
        e->collect_after = clock_mono_ms() + (e->beating ? COLLECT_PAUSE_MS : 0);
    }
    return e->beat_conn;
}

static void lose_beat_conn(struct cluster_engine *e)
{
    if (e->beat_conn != NULL && e->beat_conn->fault == FAULT_LOST) {
        conn_close(e->beat_conn);
        e->beat_conn = NULL;
    }
}

/* After a failover numbers of transactions may go back; then no pin is trusted until they are past
 * the newest. */
static int64_t pin_to_tell(struct cluster_engine *e)
{
    int64_t pin = (int64_t)pins_safe_commit(&e->pins);
    return e->pin_cap != 0 && e->pin_cap < pin ? e->pin_cap : pin;
}

static void learn_xmin(struct cluster_engine *e, int64_t xmin)
{
    bool back = (uint64_t)xmin < atomic_load(&e->pins.commit);
    if (!back)
        e->pin_cap = 0;
    else if (e->pin_cap == 0)
        e->pin_cap = xmin;
    cluster_saw_xmin(e, xmin);
}

/* True when this gateway is the collector. */
static bool beat(struct cluster_engine *e, struct conn *c)
{
    char room[256];
    struct arena arena;
    arena_init_in(&arena, SIZE_MAX, room, sizeof room);
    struct params p = params_in(&arena);
    struct params lead = params_in(&arena);
    param_number(&p, atomic_load(&e->gateway));
    param_number(&p, pin_to_tell(e));
    param_number(&lead, atomic_load(&e->gateway));
    int64_t before = system_ticks();
    conn_send(c, STMT_BEAT, &p);
    conn_send(c, STMT_LEAD, &lead);
    bool leads = false;
    if (!err_is(conn_exchange(c))) {
        leads = result_rows(c, 1) == 1;
        if (result_rows(c, 0) == 1) {
            learn_time(e, before, result_number(c, 0, 0, 0));
            learn_xmin(e, result_number(c, 0, 0, 1));
        } else {
            log_line(LOG_WARN, "rows: this gateway was taken for dead; it registers anew");
            (void)gateway_register(e, c).code;
        }
    }
    arena_release(&arena);
    return leads;
}

/* ---- what there is ---- */

static void count_extents(struct cluster_engine *e, struct conn *c)
{
    int64_t began = clock_mono_ms();
    unsigned long long extents = atomic_exchange(&e->adopted_extents, 0);
    unsigned long long bytes = atomic_exchange(&e->adopted_bytes, 0);
    conn_send(c, STMT_USAGE, NULL);
    if (err_is(conn_exchange(c))) {
        atomic_fetch_add(&e->adopted_extents, extents);
        atomic_fetch_add(&e->adopted_bytes, bytes);
        return;
    }
    atomic_store(&e->counted_extents, (unsigned long long)result_number(c, 0, 0, 0));
    atomic_store(&e->counted_bytes, (unsigned long long)result_number(c, 0, 0, 1));
    int64_t now = clock_mono_ms();
    e->count_after = now + COUNT_GAP_MS + (now - began) * COUNT_SHARE;
}

void cluster_usage(struct engine *engine, struct engine_usage *out)
{
    struct cluster_engine *e = cluster_of(engine);
    pthread_mutex_lock(&e->extents.lock);
    out->segments = e->extents.flight_count;
    out->segment_bytes = e->extents.unnamed_bytes;
    pthread_mutex_unlock(&e->extents.lock);
    out->segments += atomic_load(&e->counted_extents) + atomic_load(&e->adopted_extents);
    out->segment_bytes += atomic_load(&e->counted_bytes) + atomic_load(&e->adopted_bytes);
    out->updates = atomic_load(&e->update_count);
    out->commits = atomic_load(&e->commit_count);
}

static void retire_names(struct cluster_engine *e, struct conn *c, bool closing)
{
    uint64_t gateway;
    uint64_t first;
    while (extents_retire(&e->extents, closing, &gateway, &first)) {
        char sql[128];
        (void)snprintf(sql, sizeof sql, "DELETE FROM intents WHERE gateway = %llu AND first = %llu",
                       (unsigned long long)gateway, (unsigned long long)first);
        conn_send_text(c, sql);
        if (err_is(conn_exchange(c)))
            return; /* the row stays until the gateway is gone */
    }
}

/* ---- the thread ---- */

static void turn(struct cluster_engine *e)
{
    struct conn *c = beat_conn(e);
    if (c == NULL)
        return;
    bool leads = beat(e, c);
    bool removed = false;
    if (leads && c->fault == FAULT_NONE && clock_mono_ms() >= e->collect_after)
        removed = collect_turn(e, c);
    if (c->fault == FAULT_NONE && (removed || clock_mono_ms() >= e->count_after))
        count_extents(e, c);
    if (c->fault == FAULT_NONE)
        retire_names(e, c, false);
    if (c->fault == FAULT_NONE)
        extents_stock(&e->extents);
    lose_beat_conn(e);
}

/* Until something is asked for or the time is over. False: the engine closes. */
static bool wait_for_turn(struct cluster_engine *e, int64_t next)
{
    int64_t wake = clock_mono_ms() + TICK_MS;
    wake = next < wake ? next : wake;
    struct timespec at = {.tv_sec = wake / 1000, .tv_nsec = wake % 1000 * 1000000};
    pthread_mutex_lock(&e->beat_lock);
    while (!e->stopping && !e->beat_now &&
           pthread_cond_clockwait(&e->beat_wanted, &e->beat_lock, CLOCK_MONOTONIC, &at) == 0) {
    }
    bool stopping = e->stopping;
    pthread_mutex_unlock(&e->beat_lock);
    return !stopping;
}

static bool take_beat_now(struct cluster_engine *e)
{
    pthread_mutex_lock(&e->beat_lock);
    bool now = e->beat_now;
    e->beat_now = false;
    pthread_mutex_unlock(&e->beat_lock);
    return now;
}

static void *beat_loop(void *arg)
{
    struct cluster_engine *e = arg;
    int64_t next = 0;
    int64_t soonest = 0;
    while (wait_for_turn(e, next)) {
        line_expire(e);
        int64_t now = clock_mono_ms();
        bool asked = take_beat_now(e);
        if (now < next && !(asked && now >= soonest)) {
            if (asked)
                next = soonest; /* soon, but not at once again */
            continue;
        }
        turn(e);
        /* What was dropped in this turn's shadow is collected by a second one. */
        soonest = clock_mono_ms() + BEAT_GAP_MS;
        next = clock_mono_ms() + (asked ? 2 * BEAT_GAP_MS : BEAT_MS);
    }
    return NULL;
}

void beat_soon(struct cluster_engine *e)
{
    pthread_mutex_lock(&e->beat_lock);
    e->beat_now = true;
    pthread_cond_signal(&e->beat_wanted);
    pthread_mutex_unlock(&e->beat_lock);
}

struct err beat_start(struct cluster_engine *e)
{
    if (pthread_create(&e->beater, NULL, beat_loop, e) != 0)
        return err_detail(ERR_IO, "a thread cannot be made");
    e->beating = true;
    return OK;
}

/* The gateway says that it is gone, so that nobody has to wait until it is silent for long. */
static void leave(struct cluster_engine *e)
{
    struct conn *c = beat_conn(e);
    char sql[3][128];
    long long id = (long long)atomic_load(&e->gateway);
    if (c == NULL || id == 0)
        return;
    retire_names(e, c, true);
    (void)snprintf(sql[0], sizeof sql[0], "DELETE FROM slots WHERE gateway = %lld", id);
    (void)snprintf(sql[1], sizeof sql[1], "DELETE FROM gateways WHERE id = %lld", id);
    (void)snprintf(sql[2], sizeof sql[2],
                   "UPDATE leases SET holder = 0, until = now() WHERE holder = %lld", id);
    for (unsigned i = 0; i < 3; i++)
        conn_send_text(c, sql[i]);
    (void)conn_exchange(c).code;
}

void beat_stop(struct cluster_engine *e)
{
    if (e->beating) {
        pthread_mutex_lock(&e->beat_lock);
        e->stopping = true;
        pthread_cond_signal(&e->beat_wanted);
        pthread_mutex_unlock(&e->beat_lock);
        pthread_join(e->beater, NULL);
        leave(e);
    }
    if (e->beat_conn != NULL)
        conn_close(e->beat_conn);
    e->beat_conn = NULL;
}
