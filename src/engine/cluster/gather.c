/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cluster/gather.h"

#include <assert.h>

#include "core/container.h"
#include "core/thread.h"

void gather_init(struct gather *g, struct conn_pool *pool)
{
    *g = (struct gather){.pool = pool};
    g->last = &g->first;
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->work, NULL);
    pthread_cond_init(&g->idle, NULL);
}

/* The lock is held. True if one more statement is worth its round trip. */
static bool has_work(const struct gather *g)
{
    return g->waiting > 0 && (g->busy == 0 || g->waiting >= GATHER_MAX);
}

/* The lock is held. */
static size_t take_waiting(struct gather *g, struct gathered **taken)
{
    size_t count = 0;
    while (g->first != NULL && count < GATHER_MAX) {
        taken[count++] = g->first;
        g->first = g->first->next;
    }
    if (g->first == NULL)
        g->last = &g->first;
    assert(g->waiting >= count);
    g->waiting -= (unsigned)count;
    return count;
}

/* One statement for all of them. */
static void fetch_all(struct conn_pool *pool, struct gathered **all, size_t count)
{
    assert(count > 0 && count <= GATHER_MAX);
    struct rowset *sets[GATHER_MAX];
    struct conn *c = NULL;
    struct err error = conn_pool_take(pool, all[0]->deadline, &c);
    for (size_t i = 0; i < count; i++)
        sets[i] = all[i]->set;
    if (!err_is(error)) {
        rowset_send_together(sets, count, c);
        error = conn_exchange(c);
    }
    if (!err_is(error))
        error = rowset_receive_together(sets, count, c);
    enum conn_fault fault = c == NULL ? FAULT_LATE : c->fault;
    if (c != NULL)
        conn_pool_give(pool, c);
    for (size_t i = 0; i < count; i++) {
        all[i]->error = error;
        all[i]->fault = fault;
        all[i]->done(all[i]); /* may free it */
    }
}

static void *lane(void *arg)
{
    struct gather *g = arg;
    struct gathered *all[GATHER_MAX];
    pthread_mutex_lock(&g->lock);
    for (;;) {
        while (!has_work(g) && !g->stopping)
            pthread_cond_wait(&g->work, &g->lock);
        if (!has_work(g))
            break;
        size_t count = take_waiting(g, all);
        g->busy++;
        pthread_mutex_unlock(&g->lock);
        fetch_all(g->pool, all, count);
        pthread_mutex_lock(&g->lock);
        assert(g->busy > 0);
        g->busy--;
        if (g->busy == 0 && g->waiting == 0)
            pthread_cond_broadcast(&g->idle);
    }
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

struct err gather_start(struct gather *g)
{
    assert(g->lane_count == 0);
    for (; g->lane_count < GATHER_LANES; g->lane_count++)
        if (thread_start(&g->lanes[g->lane_count], lane, g) != 0)
            return err_detail(ERR_IO, "a thread cannot be made");
    return OK;
}

void gather_release(struct gather *g)
{
    pthread_mutex_lock(&g->lock);
    assert(g->first == NULL);
    g->stopping = true;
    pthread_cond_broadcast(&g->work);
    pthread_mutex_unlock(&g->lock);
    for (unsigned i = 0; i < g->lane_count; i++)
        pthread_join(g->lanes[i], NULL);
    pthread_cond_destroy(&g->idle);
    pthread_cond_destroy(&g->work);
    pthread_mutex_destroy(&g->lock);
}

void gather_submit(struct gather *g, struct gathered *one)
{
    assert(one->set != NULL && one->done != NULL);
    one->next = NULL;
    pthread_mutex_lock(&g->lock);
    assert(!g->stopping);
    *g->last = one;
    g->last = &one->next;
    g->waiting++;
    bool wakes = has_work(g);
    pthread_mutex_unlock(&g->lock);
    if (wakes)
        pthread_cond_signal(&g->work);
}

void gather_drain(struct gather *g)
{
    pthread_mutex_lock(&g->lock);
    while (g->busy > 0 || g->waiting > 0)
        pthread_cond_wait(&g->idle, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

/* ---- waiting for it ---- */

struct gather_wait {
    struct gathered one;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool ended;
};

static void wait_is_over(struct gathered *one)
{
    struct gather_wait *w = CONTAINER_OF(one, struct gather_wait, one);
    /* Signal with the lock held: the waiter's stack frame ends as soon as it gets the lock. */
    pthread_mutex_lock(&w->lock);
    w->ended = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

struct err gather_fetch(struct gather *g, struct rowset *set, int64_t deadline,
                        enum conn_fault *fault)
{
    struct gather_wait w = {.one = {.set = set, .deadline = deadline, .done = wait_is_over}};
    pthread_mutex_init(&w.lock, NULL);
    pthread_cond_init(&w.changed, NULL);
    gather_submit(g, &w.one);
    pthread_mutex_lock(&w.lock);
    while (!w.ended)
        pthread_cond_wait(&w.changed, &w.lock);
    pthread_mutex_unlock(&w.lock);
    pthread_cond_destroy(&w.changed);
    pthread_mutex_destroy(&w.lock);
    *fault = w.one.fault;
    return w.one.error;
}
