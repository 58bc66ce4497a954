/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/reclaim.h"

#include <assert.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/mem.h"
#include "core/thread.h"
#include "engine/local/local_internal.h"
#include "engine/local/recover.h"

enum {
    RECLAIM_TURN_MAX = 256, /* ranges per step */
    /* When updates that are only visible are made durable: after this time if no more arrive, or
     * after the longer one if they do. A flush delays writers, so a busy engine flushes less
     * often. */
    VISIBLE_MS_QUIET = 1000,
    VISIBLE_MS_MAX = 10000,
    IDLE_MS = 10000, /* idle time before clean-up work starts */
};

/* ---- the queues; the lock is held ---- */

static void waste_push(struct waste_queue *q, const struct waste *waste)
{
    if (q->count == q->capacity) {
        size_t capacity = q->capacity == 0 ? 256 : q->capacity * 2;
        struct waste *ring = mem_alloc(capacity * sizeof *ring);
        for (size_t i = 0; i < q->count; i++)
            ring[i] = q->ring[(q->first + i) & (q->capacity - 1)];
        free(q->ring);
        *q = (struct waste_queue){.ring = ring, .count = q->count, .capacity = capacity};
    }
    assert(q->count < q->capacity);
    q->ring[(q->first + q->count) & (q->capacity - 1)] = *waste;
    q->count++;
}

static struct waste waste_pop(struct waste_queue *q)
{
    assert(q->count > 0);
    struct waste waste = q->ring[q->first];
    q->first = (q->first + 1) & (q->capacity - 1);
    q->count--;
    return waste;
}

/* Returns the newest commit whose drops are durable and whose dropped extents nobody reads. */
static uint64_t reclaim_safe_commit(struct local_engine *e)
{
    uint64_t unread = pins_safe_commit(&e->pins);
    uint64_t durable = atomic_load(&e->durable_commit);
    return unread < durable ? unread : durable;
}

static void note_first(struct reclaimer *r)
{
    atomic_store(&r->first,
                 r->dropped.count == 0 ? UINT64_MAX : r->dropped.ring[r->dropped.first].commit);
}

static size_t reclaim_take(struct local_engine *e, struct waste *out)
{
    struct reclaimer *r = &e->reclaimer;
    uint64_t safe = reclaim_safe_commit(e);
    size_t n = 0;
    while (n < RECLAIM_TURN_MAX && r->discarded.count > 0)
        out[n++] = waste_pop(&r->discarded);
    while (n < RECLAIM_TURN_MAX && r->dropped.count > 0 &&
           r->dropped.ring[r->dropped.first].commit <= safe)
        out[n++] = waste_pop(&r->dropped);
    note_first(r);
    return n;
}

/* True if the first dropped range can be freed. Takes no lock. */
static bool something_to_reclaim(struct local_engine *e)
{
    uint64_t first = atomic_load(&e->reclaimer.first);
    return first != UINT64_MAX && first <= reclaim_safe_commit(e);
}

/* ---- giving back ---- */

static int waste_order(const void *a, const void *b)
{
    const struct waste *x = a;
    const struct waste *y = b;
    if (x->segment != y->segment)
        return x->segment < y->segment ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset ? 1 : 0;
}

/* Punches adjacent ranges together. Returns how many. */
static size_t punch_neighbours(struct local_engine *e, const struct waste *waste, size_t n)
{
    assert(n > 0);
    uint64_t end = waste->offset + segment_align(waste->bytes);
    size_t together = 1;
    while (together < n && waste[together].segment == waste->segment &&
           waste[together].offset == end) {
        end += segment_align(waste[together].bytes);
        together++;
    }
    struct segment *segment;
    if (!err_is(segments_use(&e->segments, waste->segment, 0, &segment))) {
        (void)segment_punch(segment, waste->offset, end - waste->offset);
        segment_put(&e->segments, segment);
    }
    return together;
}

/* The ranges must be sorted. */
static bool settle_segments(struct local_engine *e, const struct waste *waste, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if ((i == 0 || waste[i].segment != waste[i - 1].segment) &&
            !segments_settle(&e->segments, waste[i].segment))
            return false;
    }
    return true;
}

static struct err forget_garbage(struct local_engine *e, const struct waste *waste, size_t n)
{
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    for (size_t i = 0; i < n; i++) {
        char key[EXTENT_KEY_BYTES];
        extent_key_write(key, SPACE_GARBAGE, waste[i].segment, waste[i].offset);
        if (waste[i].counted)
            rocksdb_writebatch_delete(batch, key, sizeof key);
    }
    /* Not in the journal: if this is lost, the next run punches the holes again. */
    struct err error = rocksdb_writebatch_count(batch) > 0 ? rows_write(&e->rows, batch) : OK;
    rocksdb_writebatch_destroy(batch);
    return error;
}

void reclaim_unlink_if_empty(struct local_engine *e, uint64_t segment)
{
    struct segment_look look = segments_look(&e->segments, segment);
    if (!look.idle)
        return;
    char first[EXTENT_KEY_BYTES];
    char past[EXTENT_KEY_BYTES];
    extent_key_write(first, SPACE_EXTENTS, segment, 0);
    extent_key_write(past, SPACE_EXTENTS, segment + 1, 0);
    struct state *state = local_state(e);
    struct walk walk;
    struct str key;
    walk_init(&walk, state, ENGINE_WAIT, (struct str){first, sizeof first},
              (struct str){past, sizeof past});
    walk_seek_first(&walk);
    struct err error = walk_key(&walk, &key);
    walk_release(&walk);
    state_put(state);
    if (!err_is(error) && !str_given(key))
        segments_unlink(&e->segments, &look);
}

void reclaim_waste(struct local_engine *e, struct waste *waste, size_t n)
{
    qsort(waste, n, sizeof *waste, waste_order);
    for (size_t i = 0; i < n;)
        i += punch_neighbours(e, waste + i, n - i);
    /* The garbage rows must not be deleted before the holes are durable. Otherwise a power cut
     * could leave bytes that no row refers to. */
    if (!settle_segments(e, waste, n) || err_is(forget_garbage(e, waste, n)))
        return; /* logged; the next start finds the rows again */
    for (size_t i = 0; i < n; i++)
        segments_punched(&e->segments, waste[i].segment, !waste[i].counted);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || waste[i].segment != waste[i - 1].segment)
            reclaim_unlink_if_empty(e, waste[i].segment);
    }
    segments_close_idle(&e->segments, pins_safe_commit(&e->pins));
}

/* ---- the thread ---- */

static bool something_only_visible(struct local_engine *e)
{
    return atomic_load(&e->durable_commit) < atomic_load(&e->commits);
}

/* Work of the thread besides freeing ranges. */
struct chores {
    bool flush;        /* updates have been only visible for long enough */
    bool collect;      /* the journal */
    bool collect_idle; /* the same, because the engine is idle */
};

/* A commit that is only visible wakes the thread unless its timer is already running. */
static bool begin_counting(struct local_engine *e)
{
    struct reclaimer *r = &e->reclaimer;
    atomic_store(&r->counting, false); /* before the check: a commit after it wakes the thread */
    bool visible = something_only_visible(e);
    atomic_store(&r->counting, visible);
    if (!visible)
        r->visible_since_ms = 0;
    else if (r->visible_since_ms == 0)
        r->visible_since_ms = clock_mono_ms();
    return visible;
}

/* Waits until there is work or a chore is due. */
static struct chores reclaim_wait(struct local_engine *e)
{
    struct reclaimer *r = &e->reclaimer;
    struct chores due = {.collect = collect_due(e)};
    if (due.collect)
        return due;
    bool visible = begin_counting(e);
    if (!visible && !collect_due_when_idle(e)) {
        atomic_store(&r->resting, true);
        pthread_cond_wait(&r->work, &r->lock);
        atomic_store(&r->resting, false);
        return due;
    }
    uint64_t commits = atomic_load(&e->commits);
    int64_t until = clock_mono_ms() + (visible ? VISIBLE_MS_QUIET : IDLE_MS);
    bool over = !thread_wait_until(&r->work, &r->lock, until);
    bool quiet = over && atomic_load(&e->commits) == commits;
    due.flush = visible && (quiet || clock_mono_ms() - r->visible_since_ms >= VISIBLE_MS_MAX);
    due.collect_idle = !visible && quiet;
    if (due.flush)
        r->visible_since_ms = 0;
    return due;
}

/* Waits one second, or until the thread must stop or has other work. */
static void pause_a_second(struct reclaimer *r)
{
    int64_t until = clock_mono_ms() + 1000;
    pthread_mutex_lock(&r->lock);
    if (!atomic_load(&r->stopping))
        (void)thread_wait_until(&r->work, &r->lock, until);
    pthread_mutex_unlock(&r->lock);
}

static void do_chores(struct local_engine *e, struct chores due)
{
    if (due.flush && err_is(local_flush(&e->base)))
        pause_a_second(&e->reclaimer); /* logged; tries again */
    if (due.collect || due.collect_idle)
        collect_some(e, due.collect_idle);
}

static void *reclaim_loop(void *arg)
{
    struct local_engine *e = arg;
    struct reclaimer *r = &e->reclaimer;
    struct waste *waste = mem_alloc(RECLAIM_TURN_MAX * sizeof *waste);
    pthread_mutex_lock(&r->lock);
    while (!atomic_load(&r->stopping)) {
        size_t n = reclaim_take(e, waste);
        bool recovering = r->begin != NULL;
        bool warming = warmup_wanted(&e->warmup);
        struct chores due = {0};
        if (n == 0 && !recovering && !warming)
            due = reclaim_wait(e);
        pthread_mutex_unlock(&r->lock);
        if (n > 0)
            reclaim_waste(e, waste, n);
        if (recovering)
            recover_some(e);
        if (warming)
            warmup_some(e);
        do_chores(e, due);
        pthread_mutex_lock(&r->lock);
    }
    pthread_mutex_unlock(&r->lock);
    free(waste);
    return NULL;
}

/* ---- life ---- */

void reclaim_init(struct reclaimer *r)
{
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->work, NULL);
    note_first(r);
}

struct err reclaim_start(struct local_engine *e, uint64_t recover_next, uint64_t recover_past)
{
    assert(!e->reclaimer.started && e->reclaimer.begin == NULL);
    struct reclaimer *r = &e->reclaimer;
    r->begin = local_state(e);
    r->recover_next = recover_next;
    r->recover_past = recover_past;
    r->sweeping = true;
    extent_key_write(r->sweep_from, SPACE_GARBAGE, 0, 0);
    int failed = pthread_create(&r->thread, NULL, reclaim_loop, e);
    if (failed != 0)
        return err_cause(ERR_IO, failed);
    r->started = true;
    return OK;
}

void reclaim_stop(struct local_engine *e)
{
    struct reclaimer *r = &e->reclaimer;
    pthread_mutex_lock(&r->lock);
    atomic_store(&r->stopping, true);
    pthread_cond_signal(&r->work);
    pthread_mutex_unlock(&r->lock);
    if (r->started)
        pthread_join(r->thread, NULL);
    if (r->begin != NULL)
        state_put(r->begin);
    r->begin = NULL;
}

void reclaim_release(struct reclaimer *r)
{
    free(r->dropped.ring);
    free(r->discarded.ring);
    pthread_cond_destroy(&r->work);
    pthread_mutex_destroy(&r->lock);
}

void reclaim_add(struct local_engine *e, const struct waste *waste)
{
    struct reclaimer *r = &e->reclaimer;
    pthread_mutex_lock(&r->lock);
    waste_push(waste->counted ? &r->dropped : &r->discarded, waste);
    note_first(r);
    if (!waste->counted)
        pthread_cond_signal(&r->work);
    pthread_mutex_unlock(&r->lock);
}

static void reclaim_signal(struct reclaimer *r)
{
    pthread_mutex_lock(&r->lock);
    pthread_cond_signal(&r->work);
    pthread_mutex_unlock(&r->lock);
}

void reclaim_wake(struct local_engine *e)
{
    struct reclaimer *r = &e->reclaimer;
    bool uncounted = something_only_visible(e) && !atomic_load(&r->counting);
    if (uncounted || atomic_load(&r->resting) || something_to_reclaim(e) || collect_due(e))
        reclaim_signal(r);
}

void reclaim_warmup(struct local_engine *e)
{
    reclaim_signal(&e->reclaimer);
}

void reclaim_unpinned(struct local_engine *e)
{
    struct reclaimer *r = &e->reclaimer;
    if (something_to_reclaim(e) || collect_due(e))
        reclaim_signal(r);
}
