/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/mem/mem.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "core/mem.h"
#include "engine/mem/mem_internal.h"
#include "engine/partition_walk.h"
#include "engine/wait.h"

/* Any number but 0: it only balances the tree. */
#define MEM_TREE_SEED 0x9E3779B97F4A7C15ULL

static struct mem_engine *mem_engine_of(struct engine *e)
{
    return (struct mem_engine *)(void *)e;
}

static struct tree mem_published(struct mem_engine *m)
{
    pthread_mutex_lock(&m->publish_lock);
    struct tree state = tree_get(&m->published);
    pthread_mutex_unlock(&m->publish_lock);
    return state;
}

static struct err mem_run_view(struct mem_txn *t, engine_fn *fn, void *arg)
{
    struct err result = fn(&t->base, arg);
    mem_txn_release(t);
    return result;
}

static struct err mem_view(struct engine *e, struct str partition, enum engine_wait wait,
                           engine_fn *fn, void *arg)
{
    struct mem_engine *m = mem_engine_of(e);
    struct tree state = mem_published(m);
    struct mem_txn t;
    mem_txn_init(&t, m, &state, partition);
    t.base.wait = wait; /* memory never waits */
    struct err result = mem_run_view(&t, fn, arg);
    tree_put(&state);
    return result;
}

static struct err mem_view_state(struct engine *e, struct engine_state *state, struct str partition,
                                 engine_fn *fn, void *arg)
{
    struct mem_txn t;
    mem_txn_init(&t, mem_engine_of(e), &state->tree, partition);
    return mem_run_view(&t, fn, arg);
}

static void mem_state_release(struct engine *e, struct engine_state *state)
{
    (void)e;
    tree_put(&state->tree);
    free(state);
}

/* ---- partitions ---- */

struct mem_source {
    struct walk_source base;
    struct tree state;
};

static struct err mem_source_seek(struct walk_source *s, struct str at, struct str *found)
{
    struct row *row = tree_at_or_after(&((struct mem_source *)(void *)s)->state, at);
    *found = row == NULL ? STR_NONE : row_key(row);
    return OK;
}

static struct err mem_source_get(struct walk_source *s, struct str key, struct str *value)
{
    struct row *row = tree_find(&((struct mem_source *)(void *)s)->state, key);
    *value = row == NULL ? STR_NONE : row_value(row);
    return OK;
}

static struct err mem_partitions(struct engine *e, const struct partition_walk *walk)
{
    struct mem_source source = {{mem_source_seek, mem_source_get}, mem_published(mem_engine_of(e))};
    struct err result = walk_partitions(&source.base, walk);
    tree_put(&source.state);
    return result;
}

/* ---- the committer ---- */

void engine_mem_limit(struct engine *e, uint64_t bytes)
{
    mem_engine_of(e)->limit = bytes;
}

bool mem_has_room(struct mem_engine *m, uint64_t more, bool slack)
{
    if (m->limit == 0)
        return true;
    pthread_mutex_lock(&m->extents.lock);
    uint64_t used = m->extents.total_bytes + m->extents.coming_bytes;
    pthread_mutex_unlock(&m->extents.lock);
    return used + atomic_load(&m->row_bytes) + more <= m->limit + (slack ? m->limit / 16 : 0);
}

static bool mem_may_grow(struct mem_engine *m, const struct engine_update *u, int64_t grown)
{
    enum { SMALL_GROWTH = 512 };
    bool small = grown <= SMALL_GROWTH || (u->hints & HINT_SMALL) != 0;
    return grown <= 0 || mem_has_room(m, (uint64_t)grown, small);
}

/* Runs one update on the newest state; an error leaves the state unchanged. */
static void mem_run_update(struct mem_engine *m, struct tree *newest, struct engine_update *u)
{
    struct tree before = tree_get(newest);
    struct mem_txn t;
    mem_txn_init(&t, m, newest, u->partition);
    m->last_stamp = t.base.now > m->last_stamp ? t.base.now : m->last_stamp + 1;
    t.base.stamp = m->last_stamp;
    t.base.writable = true;
    u->result = txn_run_update(&t.base, &m->base, u);
    if (!err_is(u->result) && !mem_may_grow(m, u, t.grown))
        u->result = err_cause(ERR_NO_SPACE, ENOSPC);
    if (err_is(u->result)) {
        tree_put(newest);
        *newest = before;
    } else {
        tree_put(&before);
        mem_extents_settle(&m->extents, t.settle, m->commit + 1);
        atomic_fetch_add(&m->row_bytes, (uint64_t)t.grown);
        atomic_fetch_add(&m->updates, 1);
    }
    mem_txn_release(&t);
}

static void mem_publish(struct mem_engine *m, struct tree newest)
{
    pthread_mutex_lock(&m->publish_lock);
    struct tree old = m->published;
    m->published = newest;
    pthread_mutex_unlock(&m->publish_lock);
    tree_put(&old);
    m->commit++;
    atomic_fetch_add(&m->commits, 1);
    pins_advance(&m->pins, m->commit);
    mem_extents_reclaim(&m->extents, pins_safe_commit(&m->pins));
}

static void mem_commit(struct mem_engine *m, struct engine_update *batch)
{
    struct tree newest = mem_published(m);
    uint64_t count = 0;
    int64_t began_us = clock_mono_us();
    int64_t began_cpu_us = clock_thread_us();
    atomic_store_explicit(&m->turn_began_us, began_us, memory_order_relaxed);
    for (struct engine_update *u = batch; u != NULL; u = u->next)
        mem_run_update(m, &newest, u);
    mem_publish(m, newest);
    for (struct engine_update *u = batch, *next; u != NULL; u = next) {
        next = u->next; /* done may free u */
        u->done(u);
        count++;
    }
    histogram_add(&m->commit_updates, HISTOGRAM_COUNTS, count);
    histogram_add(&m->turn_us, HISTOGRAM_TIMES_US, (uint64_t)(clock_mono_us() - began_us));
    histogram_add(&m->turn_cpu_us, HISTOGRAM_TIMES_US,
                  (uint64_t)(clock_thread_us() - began_cpu_us));
    atomic_store_explicit(&m->turn_began_us, 0, memory_order_relaxed);
}

static void *mem_commit_loop(void *arg)
{
    struct mem_engine *m = arg;
    struct engine_update *batch;
    while ((batch = update_queue_take(&m->queue)) != NULL)
        mem_commit(m, batch);
    return NULL;
}

static void mem_submit(struct engine *e, struct engine_update *u)
{
    update_queue_submit(&mem_engine_of(e)->queue, u);
}

static struct err mem_nothing(struct txn *t, void *arg)
{
    (void)t;
    (void)arg;
    return OK;
}

/* Visible updates count as durable here, so it only waits for submitted ones. */
static struct err mem_flush(struct engine *e)
{
    return engine_update_wait(e, STR(""), mem_nothing, NULL);
}

/* ---- pins and life ---- */

static struct engine_pin *mem_pin(struct engine *e)
{
    return pins_take(&mem_engine_of(e)->pins);
}

static void mem_unpin(struct engine *e, struct engine_pin *pin)
{
    struct mem_engine *m = mem_engine_of(e);
    if (pins_drop(&m->pins, pin))
        mem_extents_reclaim(&m->extents, pins_safe_commit(&m->pins));
}

static void mem_usage(struct engine *e, struct engine_usage *out)
{
    struct mem_engine *m = mem_engine_of(e);
    pthread_mutex_lock(&m->extents.lock);
    out->segments = m->extents.count;
    out->segment_bytes = m->extents.total_bytes;
    pthread_mutex_unlock(&m->extents.lock);
    out->updates = atomic_load(&m->updates);
    out->commits = atomic_load(&m->commits);
}

static void mem_stats(struct engine *e, struct engine_stats *out)
{
    struct mem_engine *m = mem_engine_of(e);
    int64_t began_us = atomic_load_explicit(&m->turn_began_us, memory_order_relaxed);
    out->commit_updates = &m->commit_updates;
    out->turn_us = &m->turn_us;
    out->turn_cpu_us = &m->turn_cpu_us;
    out->held_us = began_us == 0 ? 0 : clock_mono_us() - began_us;
    out->queued = update_queue_length(&m->queue);
}

static void mem_close(struct engine *e)
{
    struct mem_engine *m = mem_engine_of(e);
    update_queue_close(&m->queue);
    pthread_join(m->committer, NULL);
    tree_put(&m->published);
    mem_extents_release(&m->extents);
    pins_release(&m->pins);
    update_queue_release(&m->queue);
    pthread_mutex_destroy(&m->publish_lock);
    free(m);
}

static const struct engine_ops MEM_OPS = {
    .view = mem_view,
    .view_state = mem_view_state,
    .state_release = mem_state_release,
    .submit = mem_submit,
    .flush = mem_flush,
    .partitions = mem_partitions,
    .extent_begin = mem_extent_begin,
    .extent_discard = mem_extent_discard,
    .extent_locate = mem_extent_locate,
    .extent_read = mem_extent_read,
    .pin = mem_pin,
    .unpin = mem_unpin,
    .usage = mem_usage,
    .stats = mem_stats,
    .close = mem_close,
    .records = true,
};

struct engine *engine_mem_new(const struct clock *clock)
{
    struct mem_engine *m = MEM_NEW(struct mem_engine);
    m->base.ops = &MEM_OPS;
    m->clock = clock;
    m->published.random = MEM_TREE_SEED;
    pthread_mutex_init(&m->publish_lock, NULL);
    update_queue_init(&m->queue);
    pins_init(&m->pins);
    mem_extents_init(&m->extents);
    int failed = pthread_create(&m->committer, NULL, mem_commit_loop, m);
    assert(failed == 0);
    (void)failed;
    return &m->base;
}
