/* SPDX-License-Identifier: Apache-2.0 */
/* Heartbeats. Every second the gateway renews its row in the table of gateways with its oldest pin,
 * compares its clock with PostgreSQL's, and runs the garbage collector if it is elected.
 *
 * A mark is a number with the oldest running transaction of each shard, as last reported. A pin has
 * the number of the last mark when it was taken: a view under the pin cannot see extents that were
 * dropped by transactions before the mark's. The gateway reports the transaction of its oldest pin
 * to each shard. An extent is removed when the transaction that dropped it is older than those of
 * all gateways. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/log.h"
#include "core/mem.h"
#include "core/thread.h"
#include "engine/cluster/cluster_internal.h"

enum {
    BEAT_MS = 1000,
    BEAT_GAP_MS = 50, /* minimum time between two requested heartbeats */
    COLLECT_PAUSE_MS = 10000,
    COUNT_GAP_MS = 100,
    COUNT_SHARE = 50,    /* counting takes at most this fraction of the time */
    COUNT_QUICK_MS = 50, /* a count that takes less is made after every removal */
    MARKS_MAX = 1024,
};
#define OFFSET_TICKS (TICKS_PER_SECOND / 2) /* smaller clock differences are ignored */

/* ---- time ---- */

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

/* Several gateways compare the times of leases and messages, so a gateway whose clock is wrong uses
 * PostgreSQL's. */
static void note_time(struct cluster_engine *e, int64_t before, int64_t theirs)
{
    int64_t after = system_ticks();
    int64_t doubt = (after - before) / 2;
    int64_t offset = theirs - (before + doubt);
    int64_t old = atomic_load(&e->clock_offset);
    if (doubt > TICKS_PER_SECOND / 8 && llabs(offset - old) < OFFSET_TICKS + doubt)
        return; /* too coarse to say anything new */
    offset = offset > -OFFSET_TICKS && offset < OFFSET_TICKS ? 0 : offset;
    if (offset != 0 && old == 0)
        log_line(LOG_WARN, "rows: this machine's clock is %+lld ms off PostgreSQL's, which is used",
                 (long long)(-offset / TICKS_PER_MS));
    atomic_store(&e->clock_offset, offset);
}

/* ---- marks ---- */

/* While a pin is held for long, every second mark is dropped; the reported transaction is older
 * then, which is safe. */
static void thin_marks(struct cluster_engine *e)
{
    size_t kept = 0;
    for (size_t i = 0; i < e->mark_count; i += 2)
        e->marks[kept++] = e->marks[i];
    e->mark_count = kept;
}

/* The lock is held. Later pins get a new number. */
static void add_mark(struct cluster_engine *e)
{
    atomic_store(&e->marks_stale, false);
    if (e->marks == NULL)
        e->marks = mem_calloc(MARKS_MAX, sizeof *e->marks);
    uint64_t oldest = pins_safe_commit(&e->pins);
    size_t first = 0;
    while (first + 1 < e->mark_count && e->marks[first + 1].number <= oldest)
        first++;
    e->mark_count -= e->mark_count > 0 ? first : 0;
    memmove(e->marks, e->marks + first, e->mark_count * sizeof *e->marks);
    if (e->mark_count == MARKS_MAX)
        thin_marks(e);
    struct pin_mark *mark = &e->marks[e->mark_count++];
    mark->number = atomic_load(&e->pins.commit) + 1;
    for (unsigned i = 0; i < e->shards.count; i++)
        mark->xmins[i] = atomic_load(&e->shards.all[i].xmin);
    pins_advance(&e->pins, mark->number);
}

void cluster_saw_xmin(struct cluster_engine *e, struct shard *shard, int64_t xmin)
{
    int64_t had = atomic_load(&shard->xmin);
    while (had < xmin && !atomic_compare_exchange_weak(&shard->xmin, &had, xmin)) {
    }
    if (had < xmin)
        atomic_store(&e->marks_stale, true);
}

struct engine_pin *cluster_pin(struct engine *engine)
{
    struct cluster_engine *e = cluster_of(engine);
    pthread_mutex_lock(&e->mark_lock);
    if (atomic_load(&e->marks_stale))
        add_mark(e);
    struct engine_pin *pin = pins_take(&e->pins);
    pthread_mutex_unlock(&e->mark_lock);
    return pin;
}

/* After a failover, transaction numbers may go back; then no pin is trusted until they have passed
 * the newest one. */
static int64_t pin_to_tell(struct cluster_engine *e, const struct shard *shard)
{
    pthread_mutex_lock(&e->mark_lock);
    uint64_t oldest = pins_safe_commit(&e->pins);
    size_t at = 0;
    while (at + 1 < e->mark_count && e->marks[at + 1].number <= oldest)
        at++;
    int64_t pin = e->marks[at].xmins[shard->number];
    pthread_mutex_unlock(&e->mark_lock);
    return shard->pin_cap != 0 && shard->pin_cap < pin ? shard->pin_cap : pin;
}

static void note_xmin(struct cluster_engine *e, struct shard *shard, int64_t xmin)
{
    if (xmin >= atomic_load(&shard->xmin)) {
        shard->pin_cap = 0;
        cluster_saw_xmin(e, shard, xmin);
    } else if (shard->pin_cap == 0) {
        shard->pin_cap = xmin;
    }
}

static void new_mark(struct cluster_engine *e)
{
    pthread_mutex_lock(&e->mark_lock);
    add_mark(e);
    pthread_mutex_unlock(&e->mark_lock);
}

/* ---- the gateway's rows ---- */

static struct err register_at(struct cluster_engine *e, struct shard *shard, int64_t *id)
{
    int64_t before = system_ticks();
    char sql[320];
    char given[32] = "nextval('gateway_ids')";
    if (shard->number > 0)
        (void)snprintf(given, sizeof given, "%lld", (long long)*id);
    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO gateways (id, name, pin) SELECT %s, '%s', "
                   "pg_snapshot_xmin(pg_current_snapshot())::text::bigint RETURNING id, pin, "
                   "(extract(epoch FROM clock_timestamp()) * 10000000)::bigint",
                   given, e->name);
    conn_send_text(shard->beat_conn, sql);
    TRY(conn_exchange(shard->beat_conn));
    *id = result_number(shard->beat_conn, 0, 0, 0);
    if (shard->number == 0) /* before anything is served with a wrong time */
        note_time(e, before, result_number(shard->beat_conn, 0, 0, 2));
    note_xmin(e, shard, result_number(shard->beat_conn, 0, 0, 1));
    return OK;
}

/* Registers under one number in all shards, which the first shard assigns. */
struct err gateway_register(struct cluster_engine *e)
{
    int64_t id = 0;
    for (unsigned i = 0; i < e->shards.count; i++)
        TRY(register_at(e, &e->shards.all[i], &id));
    atomic_store(&e->gateway, id);
    extents_rename(&e->extents, (uint64_t)id);
    new_mark(e);
    return OK;
}

static bool beat_conn(struct cluster_engine *e, struct shard *shard)
{
    if (shard->beat_conn == NULL &&
        !err_is(conn_open(&shard->target, true, NULL, &shard->beat_conn))) {
        shard->beat_conn->quiet = true;
        e->collect_after = clock_mono_ms() + (e->beating ? COLLECT_PAUSE_MS : 0);
    }
    return shard->beat_conn != NULL;
}

static void lose_beat_conns(struct cluster_engine *e)
{
    for (unsigned i = 0; i < e->shards.count; i++) {
        struct shard *shard = &e->shards.all[i];
        if (shard->beat_conn == NULL || shard->beat_conn->fault != FAULT_LOST)
            continue;
        conn_close(shard->beat_conn);
        shard->beat_conn = NULL;
    }
}

static void send_beat(struct cluster_engine *e, struct shard *shard)
{
    char room[256];
    struct arena arena;
    arena_init_in(&arena, SIZE_MAX, room, sizeof room);
    struct params p = params_in(&arena);
    struct params lead = params_in(&arena);
    param_number(&p, atomic_load(&e->gateway));
    param_number(&p, pin_to_tell(e, shard));
    conn_send(shard->beat_conn, STMT_BEAT, &p);
    param_number(&lead, atomic_load(&e->gateway));
    if (shard->number == 0)
        conn_send(shard->beat_conn, STMT_LEAD, &lead);
    conn_start(shard->beat_conn);
    arena_release(&arena);
}

/* False if this shard does not know the gateway. */
static bool take_beat(struct cluster_engine *e, struct shard *shard, int64_t before, bool *leads)
{
    struct conn *c = shard->beat_conn;
    if (c == NULL || err_is(conn_exchange(c)))
        return true;
    if (shard->number == 0)
        *leads = result_rows(c, 1) == 1;
    if (result_rows(c, 0) != 1)
        return false;
    if (shard->number == 0)
        note_time(e, before, result_number(c, 0, 0, 0));
    note_xmin(e, shard, result_number(c, 0, 0, 1));
    return true;
}

static bool all_well(const struct cluster_engine *e)
{
    for (unsigned i = 0; i < e->shards.count; i++)
        if (e->shards.all[i].beat_conn == NULL || e->shards.all[i].beat_conn->fault != FAULT_NONE)
            return false;
    return true;
}

/* True if this gateway is the collector. */
static bool beat(struct cluster_engine *e)
{
    bool leads = false;
    bool known = true;
    int64_t before = system_ticks();
    if (atomic_load(&e->silent_since) == 0)
        atomic_store(&e->silent_since, clock_mono_ms());
    for (unsigned i = 0; i < e->shards.count; i++)
        if (beat_conn(e, &e->shards.all[i]))
            send_beat(e, &e->shards.all[i]);
    for (unsigned i = 0; i < e->shards.count; i++)
        known &= take_beat(e, &e->shards.all[i], before, &leads);
    if (all_well(e))
        atomic_store(&e->silent_since, 0);
    new_mark(e);
    if (!known) {
        log_line(LOG_WARN, "rows: this gateway was taken for dead; it registers anew");
        (void)gateway_register(e).code;
    }
    return leads && known;
}

/* ---- what there is ---- */

/* An extent that several buckets name is counted in each. False if a shard does not answer in time:
 * the table may be too large for that. */
static bool count_rows(struct cluster_engine *e)
{
    unsigned long long extents = atomic_exchange(&e->adopted_extents, 0);
    unsigned long long bytes = atomic_exchange(&e->adopted_bytes, 0);
    unsigned long long counted[2] = {0, 0};
    for (unsigned i = 0; i < e->shards.count; i++) {
        struct conn *c = e->shards.all[i].beat_conn;
        conn_send(c, STMT_USAGE, NULL);
        if (err_is(conn_exchange(c))) {
            atomic_fetch_add(&e->adopted_extents, extents);
            atomic_fetch_add(&e->adopted_bytes, bytes);
            return false;
        }
        counted[0] += (unsigned long long)result_number(c, 0, 0, 0);
        counted[1] += (unsigned long long)result_number(c, 0, 0, 1);
    }
    atomic_store(&e->counted_extents, counted[0]);
    atomic_store(&e->counted_bytes, counted[1]);
    return true;
}

static void count_extents(struct cluster_engine *e)
{
    int64_t began = clock_mono_ms();
    bool counted = count_rows(e);
    int64_t now = clock_mono_ms();
    e->count_quickly = counted && now - began < COUNT_QUICK_MS;
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
    bool leads = beat(e);
    bool removed = false;
    if (leads && all_well(e) && clock_mono_ms() >= e->collect_after)
        removed = collect_turn(e);
    if (all_well(e))
        retire_names(e, e->shards.all[0].beat_conn, false);
    if (all_well(e))
        extents_stock(&e->extents);
    if (all_well(e) && ((removed && e->count_quickly) || clock_mono_ms() >= e->count_after))
        count_extents(e);
    lose_beat_conns(e);
}

/* Waits for a request or the time limit. False if the engine closes. */
static bool wait_for_turn(struct cluster_engine *e, int64_t next)
{
    pthread_mutex_lock(&e->beat_lock);
    while (!e->stopping && !e->beat_now &&
           thread_wait_until(&e->beat_wanted, &e->beat_lock, next)) {
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
        int64_t now = clock_mono_ms();
        bool asked = take_beat_now(e);
        if (now < next && !(asked && now >= soonest)) {
            if (asked)
                next = soonest; /* soon, but not at once again */
            continue;
        }
        turn(e);
        /* A second turn collects extents that were dropped during this one. */
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

/* Removes the gateway's row, so that others need not wait for its silence. */
static void leave(struct cluster_engine *e, struct shard *shard)
{
    char sql[3][128];
    long long id = (long long)atomic_load(&e->gateway);
    if (id == 0 || !beat_conn(e, shard))
        return;
    struct conn *c = shard->beat_conn;
    if (shard->number == 0)
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
    bool registered = e->beating;
    if (e->beating) {
        pthread_mutex_lock(&e->beat_lock);
        e->stopping = true;
        pthread_cond_signal(&e->beat_wanted);
        pthread_mutex_unlock(&e->beat_lock);
        pthread_join(e->beater, NULL);
    }
    for (unsigned i = 0; i < e->shards.count; i++) {
        struct shard *shard = &e->shards.all[i];
        if (registered)
            leave(e, shard);
        if (shard->beat_conn != NULL)
            conn_close(shard->beat_conn);
        shard->beat_conn = NULL;
    }
}
