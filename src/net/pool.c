/* SPDX-License-Identifier: Apache-2.0 */
#include "net/pool.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "core/mem.h"
#include "core/thread.h"

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t posted;
    struct loop_task *first;
    struct loop_task **last;
    size_t waiting;
    bool stopping;
    int niceness;
    unsigned thread_count;
    pthread_t threads[];
};

/* Waits for the next task; NULL if there is none and the pool stops. */
static struct loop_task *pool_take(struct pool *p)
{
    (void)pthread_mutex_lock(&p->lock);
    while (p->first == NULL && !p->stopping)
        (void)pthread_cond_wait(&p->posted, &p->lock);
    struct loop_task *task = p->first;
    if (task != NULL) {
        p->waiting--;
        p->first = task->next;
        if (p->first == NULL)
            p->last = &p->first;
    }
    (void)pthread_mutex_unlock(&p->lock);
    return task;
}

static void *pool_thread(void *arg)
{
    struct pool *p = arg;
    /* On Linux this affects only this thread, and adds to the niceness of the process. */
    if (p->niceness != 0)
        (void)setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + p->niceness);
    for (struct loop_task *task; (task = pool_take(p)) != NULL;)
        task->run(task);
    return NULL;
}

struct err pool_new(unsigned threads, struct pool **out)
{
    return pool_new_nice(threads, 0, out);
}

struct err pool_new_nice(unsigned threads, int niceness, struct pool **out)
{
    assert(threads > 0);
    struct pool *p = mem_calloc(1, sizeof *p + sizeof(pthread_t) * threads);
    (void)pthread_mutex_init(&p->lock, NULL);
    (void)pthread_cond_init(&p->posted, NULL);
    p->last = &p->first;
    p->niceness = niceness;
    while (p->thread_count < threads) {
        int failed = thread_start(&p->threads[p->thread_count], pool_thread, p);
        if (failed != 0) {
            pool_free(p);
            return err_cause(ERR_IO, failed);
        }
        p->thread_count++;
    }
    *out = p;
    return OK;
}

void pool_post(struct pool *p, struct loop_task *task)
{
    assert(task->run != NULL);
    task->next = NULL;
    (void)pthread_mutex_lock(&p->lock);
    assert(!p->stopping);
    *p->last = task;
    p->last = &task->next;
    p->waiting++;
    (void)pthread_cond_signal(&p->posted);
    (void)pthread_mutex_unlock(&p->lock);
}

size_t pool_waiting(struct pool *p)
{
    assert(p != NULL);
    (void)pthread_mutex_lock(&p->lock);
    size_t waiting = p->waiting;
    (void)pthread_mutex_unlock(&p->lock);
    return waiting;
}

void pool_free(struct pool *p)
{
    if (p == NULL)
        return;
    (void)pthread_mutex_lock(&p->lock);
    p->stopping = true;
    (void)pthread_cond_broadcast(&p->posted);
    (void)pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->thread_count; i++)
        (void)pthread_join(p->threads[i], NULL);
    (void)pthread_cond_destroy(&p->posted);
    (void)pthread_mutex_destroy(&p->lock);
    free(p);
}
