/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of engine.h: checks that hold for every engine, then the engine's own function. */
#include "engine/engine.h"

#include <assert.h>
#include <pthread.h>

#include "engine/engine_internal.h"
#include "engine/rowkey.h"

/* ---- transactions ---- */

struct err engine_view(struct engine *e, struct str partition, enum engine_wait wait, engine_fn *fn,
                       void *arg)
{
    assert(partition.n <= ENGINE_PARTITION_MAX);
    return e->ops->view(e, partition, wait, fn, arg);
}

void txn_keep_state(struct txn *t, struct engine_state **kept)
{
    assert(!t->writable);
    t->ops->keep_state(t, kept);
}

struct err engine_view_state(struct engine *e, struct engine_state *state, struct str partition,
                             engine_fn *fn, void *arg)
{
    assert(partition.n <= ENGINE_PARTITION_MAX);
    return e->ops->view_state(e, state, partition, fn, arg);
}

void engine_state_release(struct engine *e, struct engine_state *state)
{
    e->ops->state_release(e, state);
}

void engine_submit(struct engine *e, struct engine_update *u)
{
    assert(u->partition.n <= ENGINE_PARTITION_MAX);
    assert(u->fn != NULL && u->done != NULL);
    u->next = NULL;
    u->result = OK;
    e->ops->submit(e, u);
}

struct update_group {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    size_t left;
};

static void grouped_update_done(struct engine_update *u)
{
    struct update_group *g = ((struct grouped_update *)(void *)u)->group;
    pthread_mutex_lock(&g->lock);
    /* Signalled with the lock held: the waiter frees g as soon as it can take the lock. */
    if (--g->left == 0)
        pthread_cond_signal(&g->ended);
    pthread_mutex_unlock(&g->lock);
}

void engine_updates_wait(struct engine *e, struct grouped_update **updates, size_t count)
{
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
    struct grouped_update one = {.update = {.partition = partition, .fn = fn, .arg = arg}};
    engine_updates_wait(e, &(struct grouped_update *){&one}, 1);
    return one.update.result;
}

struct err engine_flush(struct engine *e)
{
    return e->ops->flush(e);
}

/* ---- inside a transaction ---- */

struct err txn_get(struct txn *t, struct str key, struct str *value)
{
    assert(key.n <= ENGINE_KEY_MAX);
    return t->ops->get(t, key, value);
}

struct err txn_get_hot(struct txn *t, struct str key, struct str *value)
{
    assert(key.n <= ENGINE_KEY_MAX);
    return t->ops->get_hot(t, key, value);
}

void txn_expect(struct txn *t, struct str from, struct str to)
{
    assert(from.n <= ENGINE_KEY_MAX && to.n <= ENGINE_KEY_MAX && str_cmp(from, to) <= 0);
    if (t->writable && t->ops->expect != NULL)
        t->ops->expect(t, from, to);
}

struct err txn_peek(struct txn *t, struct str partition, struct str key, struct str *value)
{
    assert(partition.n <= ENGINE_PARTITION_MAX && key.n <= ENGINE_KEY_MAX);
    return t->ops->peek(t, partition, key, value);
}

struct err txn_none_between(struct txn *t, struct str from, struct str to, bool *none)
{
    assert(from.n <= ENGINE_KEY_MAX && to.n <= ENGINE_KEY_MAX && str_cmp(from, to) <= 0);
    return t->ops->none_between(t, from, to, none);
}

struct err txn_put(struct txn *t, struct str key, struct str value)
{
    assert(t->writable);
    assert(key.n <= ENGINE_KEY_MAX && value.n <= ENGINE_VALUE_MAX);
    if (!str_given(value))
        value = STR("");
    return t->ops->put(t, key, value);
}

struct err txn_get_with_body(struct txn *t, struct str key, struct str *value, struct str *body)
{
    assert(key.n <= ENGINE_KEY_MAX);
    return t->ops->get_with_body(t, key, value, body);
}

struct err txn_put_with_body(struct txn *t, struct str key, struct str value, struct str body)
{
    assert(t->writable);
    assert(key.n <= ENGINE_KEY_MAX && body.n <= ENGINE_VALUE_MAX &&
           value.n <= ENGINE_VALUE_MAX - body.n);
    if (!str_given(value))
        value = STR("");
    return body.n == 0 ? t->ops->put(t, key, value) : t->ops->put_with_body(t, key, value, body);
}

bool txn_lend(struct txn *t, struct str bytes, struct engine_loan *loan)
{
    assert(!t->writable);
    engine_loan_end(loan);
    return t->ops->lend != NULL && t->ops->lend(t, bytes, loan);
}

void engine_loan_end(struct engine_loan *loan)
{
    if (loan->end != NULL)
        loan->end(loan->thing);
    *loan = (struct engine_loan){0};
}

struct err txn_put_hinted(struct txn *t, struct str key, struct str value, unsigned hints)
{
    assert(t->writable);
    assert(key.n <= ENGINE_KEY_MAX && value.n <= ENGINE_VALUE_MAX && str_given(value));
    return t->ops->put_hinted(t, key, value, hints);
}

struct err txn_append(struct txn *t, struct str key, struct str bytes, unsigned hints)
{
    assert(t->writable && key.n <= ENGINE_KEY_MAX);
    if (t->ops->append != NULL)
        return t->ops->append(t, key, bytes, hints);
    struct str before;
    TRY(t->ops->get_hot(t, key, &before));
    assert(str_given(before));
    struct buf value = buf_in(t->arena);
    (void)buf_reserve(&value, before.n + bytes.n);
    buf_put(&value, before);
    buf_put(&value, bytes);
    return txn_put_hinted(t, key, buf_str(&value), hints);
}

struct err txn_del(struct txn *t, struct str key)
{
    assert(t->writable);
    assert(key.n <= ENGINE_KEY_MAX);
    return t->ops->del(t, key);
}

int64_t txn_now(const struct txn *t)
{
    return t->now;
}

int64_t txn_stamp(const struct txn *t)
{
    assert(t->writable);
    return t->stamp;
}

struct arena *txn_arena(struct txn *t)
{
    return t->arena;
}

bool txn_writable(const struct txn *t)
{
    return t->writable;
}

static struct err cursor_opened(struct txn *t, struct err e, struct cursor **out)
{
    if (err_is(e))
        return e;
    struct cursor *c = *out;
    c->next_open = t->cursors;
    if (c->next_open != NULL)
        c->next_open->open_link = &c->next_open;
    c->open_link = &t->cursors;
    t->cursors = c;
    return OK;
}

void txn_close_cursors(struct txn *t)
{
    while (t->cursors != NULL)
        cursor_close(t->cursors);
}

struct err cursor_open(struct txn *t, struct str prefix, struct cursor **out)
{
    char *past = arena_bytes(t->arena, prefix.n + 1);
    if (prefix.n > 0)
        memcpy(past, prefix.p, prefix.n);
    size_t past_n = rowkey_past_prefix(past, prefix.n);
    struct str to = past_n == 0 ? STR_NONE : (struct str){past, past_n};
    return cursor_opened(t, t->ops->cursor_open(t, prefix, to, out), out);
}

struct err cursor_open_range(struct txn *t, struct str from, struct str to, struct cursor **out)
{
    return cursor_opened(t, t->ops->cursor_open(t, from, to, out), out);
}

void txn_pass_by(struct txn *t)
{
    t->passing = true;
}

struct err cursor_seek(struct cursor *c, struct str key)
{
    return c->ops->seek(c, key);
}

struct err cursor_next(struct cursor *c)
{
    assert(c->valid);
    return c->ops->next(c);
}

struct err cursor_skip(struct cursor *c, struct str skip)
{
    return c->ops->skip(c, skip);
}

struct err cursor_seek_before(struct cursor *c, struct str key)
{
    return c->ops->seek_before(c, key);
}

bool cursor_valid(const struct cursor *c)
{
    return c->valid;
}

struct str cursor_key(const struct cursor *c)
{
    assert(c->valid);
    return c->key;
}

struct str cursor_value(const struct cursor *c)
{
    assert(c->valid);
    return c->value;
}

void cursor_close(struct cursor *c)
{
    if (c == NULL)
        return;
    *c->open_link = c->next_open;
    if (c->next_open != NULL)
        c->next_open->open_link = c->open_link;
    c->ops->close(c);
}

/* ---- scans ---- */

struct err scan_open(struct txn *t, struct str prefix, struct scan **out)
{
    return scan_open_at(t, prefix, STR(""), STR(""), out);
}

struct err scan_open_at(struct txn *t, struct str prefix, struct str partition, struct str key,
                        struct scan **out)
{
    assert(!t->writable);
    struct scan *s;
    TRY(t->ops->scan_open(t, prefix, &s));
    struct err error = s->ops->seek(s, partition, key);
    if (err_is(error)) {
        s->ops->close(s);
        return error;
    }
    *out = s;
    return OK;
}

struct err scan_seek(struct scan *s, struct str partition, struct str key)
{
    return s->ops->seek(s, partition, key);
}

struct err scan_next(struct scan *s)
{
    assert(s->valid);
    return s->ops->next(s);
}

bool scan_valid(const struct scan *s)
{
    return s->valid;
}

struct str scan_partition(const struct scan *s)
{
    assert(s->valid);
    return s->partition;
}

struct str scan_key(const struct scan *s)
{
    assert(s->valid);
    return s->key;
}

struct str scan_value(const struct scan *s)
{
    assert(s->valid);
    return s->value;
}

void scan_close(struct scan *s)
{
    if (s != NULL)
        s->ops->close(s);
}

struct err engine_partitions(struct engine *e, struct str prefix, struct str after, struct str key,
                             engine_visit *visit, void *arg)
{
    assert(prefix.n <= ENGINE_PARTITION_MAX && key.n <= ENGINE_KEY_MAX);
    struct partition_walk walk = {prefix, after, key, visit, arg};
    return e->ops->partitions(e, &walk);
}

/* ---- extents ---- */

void extent_encode(struct buf *b, const struct extent *x)
{
    buf_put_le64(b, x->segment);
    buf_put_le64(b, x->offset);
    buf_put_le32(b, x->length);
    buf_put_le32(b, x->check);
}

struct extent extent_decode(struct reader *r)
{
    struct extent x;
    x.segment = read_le64(r);
    x.offset = read_le64(r);
    x.length = read_le32(r);
    x.check = read_le32(r);
    return x;
}

struct err extent_begin(struct engine *e, uint32_t size_max, struct extent_writer **out)
{
    assert(size_max > 0 && size_max <= EXTENT_BYTES_MAX);
    return e->ops->extent_begin(e, size_max, out);
}

void extent_unhurried(struct extent_writer *w)
{
    w->unhurried = true;
}

struct err extent_append(struct extent_writer *w, struct str bytes)
{
    assert(bytes.n <= w->size_max - w->length);
    return bytes.n == 0 ? OK : w->ops->append(w, bytes);
}

struct err extent_finish(struct extent_writer *w, struct extent *out)
{
    assert(w->length > 0);
    return w->ops->finish(w, out);
}

void extent_abandon(struct extent_writer *w)
{
    if (w != NULL)
        w->ops->abandon(w);
}

void extent_discard(struct engine *e, const struct extent *x)
{
    e->ops->extent_discard(e, x);
}

struct err txn_extent_adopt(struct txn *t, const struct extent *x)
{
    assert(t->writable);
    return t->ops->extent_adopt(t, x);
}

struct err txn_extent_hold(struct txn *t, const struct extent *x)
{
    assert(t->writable);
    return t->ops->extent_hold(t, x);
}

struct err txn_extent_drop(struct txn *t, const struct extent *x)
{
    assert(t->writable);
    return t->ops->extent_drop(t, x);
}

struct engine_pin *engine_pin(struct engine *e)
{
    return e->ops->pin(e);
}

void engine_unpin(struct engine *e, struct engine_pin *pin)
{
    if (pin != NULL)
        e->ops->unpin(e, pin);
}

/* The descriptor comes from a row, so a part outside of it is a mistake of the caller's. */
static struct extent_part extent_part(const struct extent *x, uint32_t offset, uint32_t length,
                                      enum engine_wait wait)
{
    assert(offset <= x->length && length <= x->length - offset && length > 0);
    return (struct extent_part){offset, length, wait};
}

struct err extent_locate(struct engine *e, const struct extent *x, uint32_t offset, uint32_t length,
                         enum engine_wait wait, struct extent_span *out)
{
    struct extent_part part = extent_part(x, offset, length, wait);
    return e->ops->extent_locate(e, x, &part, out);
}

struct err extent_read(struct engine *e, const struct extent *x, uint32_t offset, uint32_t length,
                       char *to)
{
    struct extent_part part = extent_part(x, offset, length, ENGINE_WAIT);
    return e->ops->extent_read(e, x, &part, to);
}

struct err extent_read_now(struct engine *e, const struct extent *x, uint32_t offset,
                           uint32_t length, char *to)
{
    struct extent_part part = extent_part(x, offset, length, ENGINE_NOWAIT);
    return e->ops->extent_read(e, x, &part, to);
}

/* ---- life ---- */

void engine_usage(struct engine *e, struct engine_usage *out)
{
    *out = (struct engine_usage){0};
    e->ops->usage(e, out);
}

void engine_stats(struct engine *e, struct engine_stats *out)
{
    struct engine_usage usage;
    engine_usage(e, &usage);
    *out = (struct engine_stats){
        .updates = usage.updates,
        .commits = usage.commits,
        .segments = usage.segments,
        .segment_bytes = usage.segment_bytes,
    };
    if (e->ops->stats != NULL)
        e->ops->stats(e, out);
}

void engine_close(struct engine *e)
{
    if (e != NULL)
        e->ops->close(e);
}
