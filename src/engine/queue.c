/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/queue.h"

#include <assert.h>

#include "core/hash/fnv.h"

/* How many of the clients just answered the taker expects to return: at most all, at least a
 * quarter. It adapts: after a wait that timed out it expects as many as came; each time the
 * expectation is met, it raises it a little. If the processor was idle meanwhile, it lowers it a
 * little, down to half: then two groups alternate, and one is served while the disk writes the
 * other. More flushes cost more than they gain only where the processor is busy. (Queue
 * messages, 64 connections, one core each for server and client: 17,100 a second with one group
 * and 20,100 with two if the client takes 13 µs per request; if it takes 9 µs and keeps the
 * server busy, 21,200 and 21,100, with 39.5 and 41.3 µs of CPU each.) */
enum {
    RETURN_WHOLE = 1024,
    RETURN_FIRST = 768,
    RETURN_IDLE = 512,
    RETURN_LEAST = 256,
    RETURN_STEPS = 32,
    IDLE_STEPS = 16,
    IDLE_SHARE = 16, /* less than this part of the time counts as no idle time */
};

void update_queue_init(struct update_queue *q)
{
    *q = (struct update_queue){0};
    q->tail = &q->head;
    q->share = RETURN_FIRST;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->filled, NULL);
}

void update_queue_release(struct update_queue *q)
{
    assert(q->head == NULL);
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
        q->pushed++;
    }
    /* A busy committer checks the queue by itself, so pushing needs no system call then. */
    bool wake = open && q->taker_waits && !q->stepped_in && q->pushed >= q->wanted;
    if (wake)
        q->taker_waits = false;
    pthread_mutex_unlock(&q->lock);
    if (wake)
        pthread_cond_signal(&q->filled);
    return open;
}

/* Caller holds the lock. */
static struct engine_update *take_all(struct update_queue *q)
{
    struct engine_update *all = q->head;
    q->head = NULL;
    q->tail = &q->head;
    q->taken = q->pushed;
    return all;
}

/* ---- shares ---- */

enum {
    TURN_UPDATES = 64, /* a turn that several partitions share: about 1 ms */
    TURN_SHARE_MIN = 4,
    BUCKETS = 1024,     /* partitions are distinguished by this many hash values */
    CROWDED_TAKES = 32, /* takes for which answered clients that have not returned yet still count
                           as competitors */
};

static unsigned bucket_of(const struct engine_update *u)
{
    return fnv_of(u->partition) % BUCKETS;
}

/* Returns how many partitions have waiting updates. Returns 0 if a flush waits, which belongs to no
 * partition: it is done after all updates before it, so none of them may stay behind. The lock is
 * held. */
static unsigned count_partitions(const struct update_queue *q)
{
    bool seen[BUCKETS] = {false};
    unsigned count = 0;
    for (const struct engine_update *u = q->head; u != NULL; u = u->next) {
        if (u->partition.n == 0)
            return 0;
        unsigned bucket = bucket_of(u);
        count += seen[bucket] ? 0 : 1;
        seen[bucket] = true;
    }
    return count;
}

/* Takes the first updates of each partition, and leaves the others in their order. The lock is
 * held. */
static struct engine_update *take_shares(struct update_queue *q, unsigned partitions)
{
    assert(partitions > 0);
    unsigned share = TURN_UPDATES / partitions;
    unsigned counts[BUCKETS] = {0};
    struct engine_update *taken = NULL;
    struct engine_update **last = &taken;
    struct engine_update **rest = &q->head;
    if (share < TURN_SHARE_MIN)
        share = TURN_SHARE_MIN;
    for (struct engine_update *u = q->head, *next; u != NULL; u = next) {
        next = u->next;
        bool now = counts[bucket_of(u)]++ < share;
        *(now ? last : rest) = u;
        if (now)
            last = &u->next;
        else
            rest = &u->next;
        q->taken += now ? 1 : 0;
    }
    *last = NULL;
    *rest = NULL;
    q->tail = rest;
    return taken;
}

/* The lock is held. */
static struct engine_update *take_fairly(struct update_queue *q)
{
    if (q->pushed - q->taken <= TURN_UPDATES)
        return take_all(q);
    unsigned partitions = count_partitions(q);
    if (partitions > 1)
        q->crowded = CROWDED_TAKES;
    else if (q->crowded > 0)
        q->crowded--;
    return q->crowded == 0 || partitions == 0 ? take_all(q) : take_shares(q, partitions);
}

bool update_queue_is_crowded(struct update_queue *q)
{
    pthread_mutex_lock(&q->lock);
    bool crowded = q->crowded > 0;
    pthread_mutex_unlock(&q->lock);
    return crowded;
}

bool update_queue_has_rest(struct update_queue *q)
{
    pthread_mutex_lock(&q->lock);
    bool rest = q->pushed - q->taken > TURN_UPDATES;
    pthread_mutex_unlock(&q->lock);
    return rest;
}

struct engine_update *update_queue_take(struct update_queue *q)
{
    pthread_mutex_lock(&q->lock);
    while (q->stepped_in || (q->head == NULL && !q->closed)) {
        q->taker_waits = true;
        pthread_cond_wait(&q->filled, &q->lock);
    }
    q->taker_waits = false;
    struct engine_update *batch = take_fairly(q);
    pthread_mutex_unlock(&q->lock);
    return batch;
}

uint64_t update_queue_length(struct update_queue *q)
{
    uint64_t count = 0;
    pthread_mutex_lock(&q->lock);
    for (const struct engine_update *u = q->head; u != NULL; u = u->next)
        count++;
    pthread_mutex_unlock(&q->lock);
    return count;
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

/* Returns the CPU time used by all threads so far. */
static int64_t process_us(void)
{
    struct timespec used;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return used.tv_sec * 1000000 + used.tv_nsec / 1000;
}

struct update_return update_queue_expect(struct update_queue *q, size_t answered,
                                         int64_t patience_us)
{
    struct update_return r = {.answered = answered,
                              .until = time_after_us(patience_us),
                              .begun_us = clock_mono_us(),
                              .begun_used_us = process_us()};
    pthread_mutex_lock(&q->lock);
    r.from = q->pushed;
    r.all = q->pushed + (answered * q->share + RETURN_WHOLE / 2) / RETURN_WHOLE;
    pthread_mutex_unlock(&q->lock);
    return r;
}

void update_queue_await(struct update_queue *q, struct update_return *r)
{
    pthread_mutex_lock(&q->lock);
    q->wanted = r->all;
    while (q->pushed < r->all && !q->closed && !r->late) {
        q->taker_waits = true;
        r->late = pthread_cond_clockwait(&q->filled, &q->lock, CLOCK_MONOTONIC, &r->until) != 0;
    }
    q->taker_waits = false;
    q->wanted = 0;
    pthread_mutex_unlock(&q->lock);
}

void update_queue_came(struct update_return *r)
{
    int64_t waited_us = clock_mono_us() - r->begun_us;
    int64_t used_us = process_us() - r->begun_used_us;
    r->idle = used_us < waited_us - waited_us / IDLE_SHARE;
}

static unsigned less_for_idle(unsigned share)
{
    unsigned less = share - share / IDLE_STEPS;
    return share <= RETURN_IDLE ? share : less < RETURN_IDLE ? RETURN_IDLE : less;
}

void update_queue_adapt(struct update_queue *q, const struct update_return *r)
{
    assert(q->share <= RETURN_WHOLE);
    pthread_mutex_lock(&q->lock);
    unsigned share = q->share;
    if (r->late)
        share = (unsigned)((q->pushed - r->from) * RETURN_WHOLE / r->answered);
    else if (r->idle)
        share = less_for_idle(share);
    else
        share += (RETURN_WHOLE - share) / RETURN_STEPS + 1;
    q->share = share < RETURN_LEAST ? RETURN_LEAST : share > RETURN_WHOLE ? RETURN_WHOLE : share;
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
    assert(q->stepped_in);
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
