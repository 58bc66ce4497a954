/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/queue.h"

#include <time.h>

/* What a taker expects to come back of those it has answered: all of them at best, a quarter at
 * least. It learns: after a wait in vain it expects no more than came, and then a little more with
 * every time that as many came as it had expected. */
enum {
    RETURN_WHOLE = 1024,
    RETURN_FIRST = 768,
    RETURN_LEAST = 256,
    RETURN_STEPS = 32,
};

void update_queue_init(struct update_queue *q)
{
    *q = (struct update_queue){0};
    q->tail = &q->head;
    q->wanted = 1;
    q->share = RETURN_FIRST;
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

static void learn_share(struct update_queue *q, size_t came, size_t answered, bool late)
{
    if (late)
        q->share = (unsigned)(came * RETURN_WHOLE / answered);
    else
        q->share += (RETURN_WHOLE - q->share) / RETURN_STEPS + 1;
    q->share = q->share < RETURN_LEAST   ? RETURN_LEAST
               : q->share > RETURN_WHOLE ? RETURN_WHOLE
                                         : q->share;
}

void update_queue_gather(struct update_queue *q, size_t answered, int64_t patience_us)
{
    struct timespec until = time_after_us(patience_us);
    bool late = false;
    pthread_mutex_lock(&q->lock);
    size_t before = q->count;
    q->wanted = before + (answered * q->share + RETURN_WHOLE / 2) / RETURN_WHOLE;
    while (q->count < q->wanted && !q->closed && !late) {
        q->taker_waits = true;
        late = pthread_cond_clockwait(&q->filled, &q->lock, CLOCK_MONOTONIC, &until) != 0;
    }
    q->taker_waits = false;
    q->wanted = 1;
    learn_share(q, q->count - before, answered, late);
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
