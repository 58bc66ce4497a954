/* SPDX-License-Identifier: Apache-2.0 */
/* The background sweep: deletes expired messages and the rows of old incarnations. */
#include <assert.h>

#include "engine/wait.h"
#include "service/queue/page.h"

enum {
    SWEEP_QUEUES_MAX = 500, /* queues examined by one call */
    SWEEP_BUSY_MAX = 16,    /* queues worked on by one call */
    SWEEP_ROWS_MAX = 1000,  /* rows deleted by one call in all */
};

/* As with visibility: the next search for expired messages starts no sooner. */
#define SWEEP_AHEAD TICKS_PER_SECOND

/* ---- one queue, one transaction ---- */

struct sweep_one {
    struct grouped_update group; /* of all queues that are worked on together */
    unsigned rows_max;
    unsigned removed;
};

/* Deletes the expired messages of a page. */
static struct err sweep_page(struct txn *t, struct queue_state *s, uint64_t id, unsigned *removed)
{
    struct page page;
    bool found;
    TRY(queue_page_load(t, s, id, &page, &found));
    if (!found)
        return err_new(ERR_CORRUPT);
    for (unsigned i = 0; i < page.count; i++) {
        if (page.slots[i].gone || page.slots[i].expires > txn_now(t))
            continue;
        TRY(queue_page_remove(t, s, &page, i));
        (*removed)++;
    }
    TRY(queue_page_set_expiry(t, s, &page));
    return queue_page_finish(t, s, &page);
}

static struct err sweep_expired_rows(struct txn *t, struct queue_state *s, struct cursor *c,
                                     unsigned *left)
{
    while (c->valid && *left > 0 && s->count > 0) {
        int64_t time;
        uint64_t id;
        unsigned removed = 0;
        TRY(queue_key_read(c->key, &time, &id));
        s->expires_from = time;
        if (time > txn_now(t))
            return OK;
        TRY(sweep_page(t, s, id, &removed));
        TRY(cursor_next(c));
        /* A page without expired messages counts as work, too. */
        *left -= removed + 1 < *left ? removed + 1 : *left;
    }
    if (!c->valid && s->count > 0)
        s->expires_from = txn_now(t) + SWEEP_AHEAD;
    return OK;
}

static struct err sweep_expired(struct txn *t, struct queue_state *s, unsigned *left)
{
    if (!s->exists || s->expires_from > txn_now(t))
        return OK;
    struct queue_key from = queue_key_timed(s, KEY_EXPIRES, s->expires_from, 0);
    struct queue_key to = queue_key_timed(s, KEY_EXPIRES, txn_now(t) + SWEEP_AHEAD, 0);
    struct cursor *c = NULL;
    struct err error = cursor_open_range(t, queue_key_str(&from), queue_key_str(&to), &c);
    if (!err_is(error))
        error = sweep_expired_rows(t, s, c, left);
    cursor_close(c);
    return error;
}

static struct err sweep_dead_rows(struct txn *t, struct queue_state *s, struct cursor *c,
                                  unsigned *left)
{
    for (; c->valid && *left > 0; (*left)--) {
        s->dead_from = arena_copy(txn_arena(t), c->key);
        TRY(txn_del(t, s->dead_from));
        TRY(cursor_next(c));
    }
    if (!c->valid)
        s->dead_from = STR_NONE;
    return OK;
}

static struct err sweep_dead(struct txn *t, struct queue_state *s, unsigned *left)
{
    if (!str_given(s->dead_from))
        return OK;
    struct queue_key living = queue_key_incarnation(s->incarnation);
    struct str to = s->exists ? queue_key_str(&living) : QUEUE_KEY_PAST_DATA;
    struct cursor *c = NULL;
    struct err error = cursor_open_range(t, s->dead_from, to, &c);
    if (!err_is(error))
        error = sweep_dead_rows(t, s, c, left);
    cursor_close(c);
    return error;
}

static struct err sweep_one(struct txn *t, void *arg)
{
    struct sweep_one *one = arg;
    struct queue_state s;
    unsigned left = one->rows_max;
    TRY(queue_state_read(t, &s));
    TRY(sweep_expired(t, &s, &left));
    TRY(sweep_dead(t, &s, &left));
    if (s.blocked_until <= txn_now(t))
        s.blocked_until = 0;
    one->removed = one->rows_max - left;
    return queue_state_save(t, &s);
}

/* ---- all queues, a few at a time ---- */

struct sweep_visit {
    struct arena *arena;
    int64_t now;
    unsigned looked;
    struct str last;
    struct str busy[SWEEP_BUSY_MAX];
    unsigned busy_count;
    struct err error;
};

static bool sweep_visit(struct str partition, struct str value, void *arg)
{
    struct sweep_visit *v = arg;
    struct queue_state s;
    v->error = queue_state_decode(value, &s);
    if (err_is(v->error))
        return false;
    v->last = arena_copy(v->arena, partition);
    bool unblocks = s.blocked_until != 0 && s.blocked_until <= v->now;
    if (str_given(s.dead_from) || (s.exists && s.expires_from <= v->now) || unblocks)
        v->busy[v->busy_count++] = v->last;
    return ++v->looked < SWEEP_QUEUES_MAX && v->busy_count < SWEEP_BUSY_MAX;
}

/* Submits all updates together so that they share a commit: after thousands of queues were
 * deleted, a flush for each would take longer than the deletes did. They also share one limit on
 * deleted rows, so that other requests wait no longer for many queues than for one. */
static struct err sweep_busy(struct store *store, const struct sweep_visit *v, bool *unfinished,
                             struct sweep_report *report)
{
    struct sweep_one *ones = ARENA_ARRAY(v->arena, struct sweep_one, SWEEP_BUSY_MAX);
    struct grouped_update *group[SWEEP_BUSY_MAX];
    for (unsigned i = 0; i < v->busy_count; i++) {
        ones[i] = (struct sweep_one){
            .group.update = {.partition = v->busy[i], .fn = sweep_one, .arg = &ones[i]},
            .rows_max = SWEEP_ROWS_MAX / v->busy_count,
        };
        group[i] = &ones[i].group;
    }
    engine_updates_wait(store->engine, group, v->busy_count);
    for (unsigned i = 0; i < v->busy_count; i++) {
        TRY(ones[i].group.update.result);
        /* A long job takes turns with the short jobs of other queues. */
        *unfinished = *unfinished || ones[i].removed == ones[i].rows_max;
        report->removed += ones[i].removed;
    }
    return OK;
}

static struct err sweep_some(struct store *store, struct queue_sweep *sweep, struct arena *arena,
                             struct sweep_report *report)
{
    struct sweep_visit v = {.arena = arena, .now = store_now(store), .error = OK};
    struct str after = sweep->after_n == 0 ? STR_NONE : (struct str){sweep->after, sweep->after_n};
    TRY(engine_partitions(store->engine, STR("q/"), after, QUEUE_KEY_STATE, sweep_visit, &v));
    TRY(v.error);
    TRY(sweep_busy(store, &v, &sweep->unfinished, report));
    bool round_over = v.looked < SWEEP_QUEUES_MAX && v.busy_count < SWEEP_BUSY_MAX;
    report->more = !round_over || sweep->unfinished;
    if (round_over) {
        *sweep = (struct queue_sweep){.after_n = 0};
        return OK;
    }
    assert(v.last.n <= sizeof sweep->after);
    memcpy(sweep->after, v.last.p, v.last.n);
    sweep->after_n = v.last.n;
    return OK;
}

struct err queue_sweep(struct store *store, void *context, struct sweep_report *report)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct err error = sweep_some(store, context, &arena, report);
    arena_release(&arena);
    return error;
}
