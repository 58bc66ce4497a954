/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/body/bulk.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "core/container.h"
#include "core/mem.h"
#include "core/thread.h"

enum {
    SIDE_BY_SIDE = 16, /* pieces that a thread takes at once */
    BLOCK_BYTES =
        64, /* of MD5: pieces end at a block border, so that several can be hashed in parallel */
    /* A buffer has room for a whole receive after a nearly full piece. */
    BUFFER_BYTES = BULK_PIECE_BYTES + HTTP_PIECE_BYTES_MAX,
    /* Bulk threads run at lower priority than the event loops. */
    NICENESS = 5,
    BUFFERS_KEPT_MAX = 16, /* kept for the next bodies, because fresh memory costs page faults */
};

struct slot {
    char *bytes; /* NULL: not allocated */
    bool used;
};

struct bulk {
    pthread_mutex_t lock;
    pthread_cond_t posted;
    struct bulk_body *first;
    struct bulk_body **last;
    struct slot slots[BULK_BUFFERS_MAX];
    unsigned kept; /* slots with unused memory */
    bool stopping;
    unsigned thread_count;
    pthread_t threads[];
};

/* ---- threads ---- */

/* Waits for pieces; 0 if there will be none. */
static size_t take_pieces(struct bulk *k, struct bulk_body *taken[SIDE_BY_SIDE])
{
    size_t count = 0;
    (void)pthread_mutex_lock(&k->lock);
    while (k->first == NULL && !k->stopping)
        (void)pthread_cond_wait(&k->posted, &k->lock);
    for (; k->first != NULL && count < SIDE_BY_SIDE; count++) {
        taken[count] = k->first;
        k->first = taken[count]->next;
    }
    if (k->first == NULL)
        k->last = &k->first;
    (void)pthread_mutex_unlock(&k->lock);
    return count;
}

static struct str piece_of(const struct bulk_body *b)
{
    return (struct str){b->buffer, b->posted};
}

/* Updates the MD5 states of the sinks that have one; sets `summed` for those. */
static void sum_up(struct bulk_body *const bodies[], size_t count, bool summed[])
{
    struct md5_feed feeds[SIDE_BY_SIDE];
    size_t feed_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct rest_sink *sink = bodies[i]->sink;
        bool hashes = sink->md5 != NULL && bodies[i]->posted > 0;
        struct md5 *state = hashes ? sink->md5(sink) : NULL;
        summed[i] = state != NULL;
        if (state != NULL)
            feeds[feed_count++] = (struct md5_feed){state, piece_of(bodies[i])};
    }
    md5_many_update(feeds, feed_count);
}

/* Receives until a piece is full, or the body is whole, or there is nothing now. */
static void receive(struct bulk_body *b)
{
    ssize_t got = 1;
    while (got > 0 && b->filled < BULK_PIECE_BYTES) {
        got = http_lent_receive(b->x, b->buffer + b->filled, BULK_PIECE_BYTES - b->filled);
        b->filled += got > 0 ? (size_t)got : 0;
    }
    bool full = b->filled == BULK_PIECE_BYTES || http_lent_left(b->x) == 0;
    b->posted = full ? b->filled : 0;
}

static struct err store(struct bulk_body *b, bool summed)
{
    struct rest_sink *sink = b->sink;
    if (b->posted == 0)
        return OK;
    return summed ? sink->take_summed(sink, piece_of(b)) : sink->take(sink, piece_of(b));
}

static void put_last(struct bulk *k, struct bulk_body *b)
{
    b->next = NULL;
    *k->last = b;
    k->last = &b->next;
}

/* Queues the body again behind the others if it has more pieces; else returns it to its loop. */
static void pass_on(struct bulk *k, struct bulk_body *b)
{
    bool again = false;
    if (b->lent && !err_is(b->error) && http_lent_has_more(b->x)) {
        b->filled -= b->posted;
        b->posted = 0;
        assert(b->filled == 0);
        (void)pthread_mutex_lock(&k->lock);
        again = !k->stopping;
        if (again)
            put_last(k, b);
        (void)pthread_mutex_unlock(&k->lock);
    }
    if (!again)
        loop_post(b->x->loop, &b->task);
}

static void *bulk_thread(void *arg)
{
    struct bulk *k = arg;
    struct bulk_body *bodies[SIDE_BY_SIDE];
    bool summed[SIDE_BY_SIDE];
    /* Sets the priority of this thread only (on Linux), relative to the process's. */
    (void)setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + NICENESS);
    for (size_t count; (count = take_pieces(k, bodies)) > 0;) {
        for (size_t i = 0; i < count; i++)
            if (bodies[i]->lent)
                receive(bodies[i]);
        sum_up(bodies, count, summed);
        for (size_t i = 0; i < count; i++) {
            bodies[i]->error = store(bodies[i], summed[i]);
            pass_on(k, bodies[i]);
        }
    }
    return NULL;
}

struct err bulk_new(unsigned threads, struct bulk **out)
{
    assert(threads > 0);
    struct bulk *k = mem_calloc(1, sizeof *k + sizeof(pthread_t) * threads);
    (void)pthread_mutex_init(&k->lock, NULL);
    (void)pthread_cond_init(&k->posted, NULL);
    k->last = &k->first;
    while (k->thread_count < threads) {
        int failed = thread_start(&k->threads[k->thread_count], bulk_thread, k);
        if (failed != 0) {
            bulk_free(k);
            return err_cause(ERR_IO, failed);
        }
        k->thread_count++;
    }
    *out = k;
    return OK;
}

void bulk_stop(struct bulk *k)
{
    (void)pthread_mutex_lock(&k->lock);
    k->stopping = true;
    (void)pthread_cond_broadcast(&k->posted);
    (void)pthread_mutex_unlock(&k->lock);
    for (unsigned i = 0; i < k->thread_count; i++)
        (void)pthread_join(k->threads[i], NULL);
    k->thread_count = 0;
    assert(k->first == NULL);
}

void bulk_free(struct bulk *k)
{
    if (k == NULL)
        return;
    bulk_stop(k);
    for (size_t i = 0; i < BULK_BUFFERS_MAX; i++)
        free(k->slots[i].bytes);
    (void)pthread_cond_destroy(&k->posted);
    (void)pthread_mutex_destroy(&k->lock);
    free(k);
}

/* ---- bodies, on their loop ---- */

/* The first slot that is free, one with memory if there is any. BULK_BUFFERS_MAX: none is. */
static unsigned find_slot(const struct bulk *k)
{
    unsigned found = BULK_BUFFERS_MAX;
    for (unsigned i = 0; i < BULK_BUFFERS_MAX; i++) {
        if (k->slots[i].used)
            continue;
        if (k->slots[i].bytes != NULL)
            return i;
        if (found == BULK_BUFFERS_MAX)
            found = i;
    }
    return found;
}

static bool take_buffer(struct bulk *k, struct bulk_body *b)
{
    (void)pthread_mutex_lock(&k->lock);
    b->slot = find_slot(k);
    bool found = b->slot < BULK_BUFFERS_MAX;
    if (found) {
        struct slot *slot = &k->slots[b->slot];
        slot->used = true;
        if (slot->bytes != NULL)
            k->kept--;
        else
            slot->bytes = mem_alloc(BUFFER_BYTES);
        b->buffer = slot->bytes;
    }
    (void)pthread_mutex_unlock(&k->lock);
    return found;
}

bool bulk_begin(struct bulk *k, struct bulk_body *b, int64_t expected)
{
    b->bulk = NULL;
    if (k == NULL || (expected >= 0 && expected < BULK_BODY_BYTES_MIN) || !take_buffer(k, b))
        return false;
    b->bulk = k;
    b->filled = b->posted = 0;
    b->lent = false;
    return true;
}

static void piece_stored(struct loop_task *task)
{
    struct bulk_body *b = CONTAINER_OF(task, struct bulk_body, task);
    b->filled -= b->posted;
    memmove(b->buffer, b->buffer + b->posted, b->filled);
    b->posted = 0;
    if (b->lent) {
        b->lent = false;
        http_body_back(b->x);
    }
    b->stored(b);
}

/* With `bytes` from the buffer to store; 0: the thread receives them. */
static void post(struct bulk_body *b, size_t bytes)
{
    struct bulk *k = b->bulk;
    assert(b->posted == 0 && !b->lent && bytes <= b->filled);
    b->posted = bytes;
    b->lent = bytes == 0;
    b->task.run = piece_stored;
    (void)pthread_mutex_lock(&k->lock);
    put_last(k, b);
    (void)pthread_cond_signal(&k->posted);
    (void)pthread_mutex_unlock(&k->lock);
}

void bulk_receive(struct bulk_body *b)
{
    post(b, 0);
}

bool bulk_add(struct bulk_body *b, struct str bytes)
{
    assert(b->posted == 0 && bytes.n <= BUFFER_BYTES - b->filled);
    memcpy(b->buffer + b->filled, bytes.p, bytes.n);
    b->filled += bytes.n;
    if (b->filled < BULK_PIECE_BYTES)
        return false;
    post(b, b->filled - b->filled % BLOCK_BYTES);
    return true;
}

bool bulk_end(struct bulk_body *b)
{
    if (b->filled == 0)
        return false;
    post(b, b->filled);
    return true;
}

void bulk_drop(struct bulk_body *b)
{
    struct bulk *k = b->bulk;
    if (k == NULL)
        return;
    assert(b->posted == 0 && !b->lent);
    b->bulk = NULL;
    (void)pthread_mutex_lock(&k->lock);
    struct slot *slot = &k->slots[b->slot];
    slot->used = false;
    if (k->kept < BUFFERS_KEPT_MAX) {
        k->kept++;
    } else {
        free(slot->bytes);
        slot->bytes = NULL;
    }
    (void)pthread_mutex_unlock(&k->lock);
}
