/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/queue.h"

void update_queue_init(struct update_queue *q)
{
    *q = (struct update_queue){0};
    q->tail = &q->head;
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
    }
    /* A committer that is busy looks again by itself: no system call for those who queue up. */
    bool wake = open && q->taker_waits;
    q->taker_waits = false;
    pthread_mutex_unlock(&q->lock);
    if (wake)
        pthread_cond_signal(&q->filled);
    return open;
}

struct engine_update *update_queue_take(struct update_queue *q)
{
    pthread_mutex_lock(&q->lock);
    while (q->head == NULL && !q->closed) {
        q->taker_waits = true;
        pthread_cond_wait(&q->filled, &q->lock);
    }
    q->taker_waits = false;
    struct engine_update *all = q->head;
    q->head = NULL;
    q->tail = &q->head;
    pthread_mutex_unlock(&q->lock);
    return all;
}

void update_queue_close(struct update_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->closed = true;
    pthread_mutex_unlock(&q->lock);
    pthread_cond_signal(&q->filled);
}

void update_queue_submit(struct update_queue *q, struct engine_update *u)
{
    if (update_queue_push(q, u))
        return;
    u->result = err_new(ERR_STOPPING);
    u->done(u);
}
