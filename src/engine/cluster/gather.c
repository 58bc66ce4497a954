/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cluster/gather.h"

#include <assert.h>

/* A view that waits, on its thread's stack. */
struct gathered {
    struct rowset *set;
    struct gathered *next;
    pthread_cond_t changed;
    bool leads; /* it is to send what waits */
    bool done;
    struct err error;
    enum conn_fault fault;
};

void gather_init(struct gather *g)
{
    *g = (struct gather){.first = NULL};
    g->last = &g->first;
    pthread_mutex_init(&g->lock, NULL);
}

void gather_release(struct gather *g)
{
    assert(g->first == NULL && g->lanes == 0);
    pthread_mutex_destroy(&g->lock);
}

/* The lock is held. */
static size_t take_waiting(struct gather *g, struct gathered **taken)
{
    size_t count = 0;
    while (g->first != NULL && count < GATHER_MAX - 1) {
        taken[count++] = g->first;
        g->first = g->first->next;
    }
    if (g->first == NULL)
        g->last = &g->first;
    g->waiting -= (unsigned)count;
    return count;
}

/* One statement for all of them. Those that wait do not touch their sets. */
static void send_all(struct conn_pool *pool, struct gathered **all, size_t count, int64_t deadline)
{
    struct rowset *sets[GATHER_MAX];
    struct conn *c = NULL;
    struct err error = conn_pool_take(pool, deadline, &c);
    for (size_t i = 0; i < count; i++)
        sets[i] = all[i]->set;
    if (!err_is(error)) {
        rowset_send_together(sets, count, c);
        error = conn_exchange(c);
    }
    if (!err_is(error))
        error = rowset_receive_together(sets, count, c);
    for (size_t i = 0; i < count; i++) {
        all[i]->error = error;
        all[i]->fault = c == NULL ? FAULT_LATE : c->fault;
    }
    if (c != NULL)
        conn_pool_give(pool, c);
}

/* The lock is held. The lane goes to the one that has waited longest, or is free. */
static void pass_lane(struct gather *g)
{
    struct gathered *next = g->first;
    if (next == NULL) {
        g->lanes--;
        return;
    }
    g->first = next->next;
    if (g->first == NULL)
        g->last = &g->first;
    g->waiting--;
    next->leads = true;
    pthread_cond_signal(&next->changed);
}

/* The lock is held, and is let go while the statement is under way. */
static void lead(struct gather *g, struct conn_pool *pool, struct gathered *self, int64_t deadline)
{
    struct gathered *all[GATHER_MAX] = {self};
    size_t count = 1 + take_waiting(g, all + 1);
    pthread_mutex_unlock(&g->lock);
    send_all(pool, all, count, deadline);
    pthread_mutex_lock(&g->lock);
    pass_lane(g);
    for (size_t i = 1; i < count; i++) {
        all[i]->done = true;
        pthread_cond_signal(&all[i]->changed);
    }
}

/* The lock is held, and is let go while it waits. */
static void wait_in_line(struct gather *g, struct gathered *self)
{
    *g->last = self;
    g->last = &self->next;
    g->waiting++;
    while (!self->done && !self->leads)
        pthread_cond_wait(&self->changed, &g->lock);
}

struct err gather_fetch(struct gather *g, struct conn_pool *pool, struct rowset *set,
                        int64_t deadline, enum conn_fault *fault)
{
    struct gathered self = {.set = set};
    pthread_cond_init(&self.changed, NULL);
    pthread_mutex_lock(&g->lock);
    if (g->lanes < GATHER_LANES) {
        g->lanes++;
        self.leads = true;
    } else {
        wait_in_line(g, &self);
    }
    if (self.leads)
        lead(g, pool, &self, deadline);
    pthread_mutex_unlock(&g->lock);
    pthread_cond_destroy(&self.changed);
    *fault = self.fault;
    return self.error;
}
