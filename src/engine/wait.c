/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/wait.h"

#include <assert.h>
#include <pthread.h>

struct update_group {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    size_t left;
};

static void grouped_update_done(struct engine_update *u)
{
    struct update_group *g = ((struct grouped_update *)(void *)u)->group;
    pthread_mutex_lock(&g->lock);
    /* Signal with the lock held: the waiter frees g as soon as it gets the lock. */
    if (--g->left == 0)
        pthread_cond_signal(&g->ended);
    pthread_mutex_unlock(&g->lock);
}

void engine_updates_wait(struct engine *e, struct grouped_update **updates, size_t count)
{
    assert(updates != NULL || count == 0);
    struct update_group g = {.left = count};
    pthread_mutex_init(&g.lock, NULL);
    pthread_cond_init(&g.ended, NULL);
    for (size_t i = 0; i < count; i++) {
        updates[i]->group = &g;
        updates[i]->update.done = grouped_update_done;
        engine_submit(e, &updates[i]->update);
    }
    pthread_mutex_lock(&g.lock);
    while (g.left > 0)
        pthread_cond_wait(&g.ended, &g.lock);
    pthread_mutex_unlock(&g.lock);
    pthread_cond_destroy(&g.ended);
    pthread_mutex_destroy(&g.lock);
}

struct err engine_update_wait(struct engine *e, struct str partition, engine_fn *fn, void *arg)
{
    assert(fn != NULL);
    struct grouped_update one = {.update = {.partition = partition, .fn = fn, .arg = arg}};
    engine_updates_wait(e, &(struct grouped_update *){&one}, 1);
    return one.update.result;
}
