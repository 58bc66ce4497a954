/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/queue.h"

#include <time.h>

void update_queue_init(struct update_queue *q)
{
    *q = (struct update_queue){0};
    q->tail = &q->head;
    q->wanted = 1;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->filled, NULL);
}

void update_queue_release(struct update_queue *q)
{
    pthread_cond_destroy(&q->filled);
    pthread_mutex_destroy(&q->lock);
}

bool update_queue_push(struct update_queue *q, struct engine_update *u)
{
    u->next = NULL;
    pthread_mutex_lock(&q->lock);
    bool open = !q->closed;
    if (open) {
        *q->tail = u;
        q->tail = &u->next;
        q->count++;
    }
    /* A committer that is busy looks again by itself: no system call for those who queue up. */
    bool wake = open && q->taker_waits && !q->stepped_in && q->count >= q->wanted;
    if (wake)
        q->taker_waits = false;
    pthread_mutex_unlock(&q->lock);
    if (wake)
        pthread_cond_signal(&q->filled);
    return open;
}

struct engine_update *update_queue_take(struct update_queue *q)
{
    pthread_mutex_lock(&q->lock);
    while (q->stepped_in || (q->head == NULL && !q->closed)) {
        q->taker_waits = true;
        pthread_cond_wait(&q->filled, &q->lock);
    }
    q->taker_waits = false;
    struct engine_update *all = q->head;
    q->head = NULL;
    q->tail = &q->head;
    q->count = 0;
    pthread_mutex_unlock(&q->lock);
    return all;
}

static struct timespec time_after_us(int64_t us)
{
    enum { US = 1000000, NS_PER_US = 1000 };
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    int64_t ns = at.tv_nsec + us % US * NS_PER_US;
    at.tv_sec += us / US + ns / (US * NS_PER_US);
    at.tv_nsec = ns % (US * NS_PER_US);
    return at;
}

void update_queue_gather(struct update_queue *q, size_t answered, int64_t patience_us)
{
    struct timespec until = time_after_us(patience_us);
    bool late = false;
    pthread_mutex_lock(&q->lock);
    q->wanted = (q->count + answered + 1) * 3 / 4;
    while (q->count < q->wanted && !q->closed && !late) {
        q->taker_waits = true;
        late = pthread_cond_clockwait(&q->filled, &q->lock, CLOCK_MONOTONIC, &until) != 0;
    }
    q->taker_waits = false;
    q->wanted = 1;
    pthread_mutex_unlock(&q->lock);
}

void update_queue_close(struct update_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->closed = true;
    pthread_mutex_unlock(&q->lock);
    pthread_cond_signal(&q->filled);
}

bool update_queue_step_in(struct update_queue *q)
{
    pthread_mutex_lock(&q->lock);
    bool free_to = q->taker_waits && q->head == NULL && !q->stepped_in && !q->closed;
    if (free_to)
        q->stepped_in = true;
    pthread_mutex_unlock(&q->lock);
    return free_to;
}

void update_queue_step_out(struct update_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->stepped_in = false;
    bool wake = q->taker_waits && (q->head != NULL || q->closed);
    if (wake)
        q->taker_waits = false;
    pthread_mutex_unlock(&q->lock);
    if (wake)
        pthread_cond_signal(&q->filled);
}

void update_queue_submit(struct update_queue *q, struct engine_update *u)
{
    if (update_queue_push(q, u))
        return;
    u->result = err_new(ERR_STOPPING);
    u->done(u);
}
