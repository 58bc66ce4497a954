/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of engine.h: checks that hold for every engine, then the engine's own function. */
#include "engine/engine.h"

#include <assert.h>

#include "engine/engine_internal.h"
#include "engine/rowkey.h"

/* ---- transactions ---- */

struct err engine_view(struct engine *e, struct str partition, enum engine_wait wait, engine_fn *fn,
                       void *arg)
{
    assert(fn != NULL);
    assert(partition.n <= ENGINE_PARTITION_MAX);
    return e->ops->view(e, partition, wait, fn, arg);
}

struct err engine_view_run(struct engine *e, struct engine_view_job *job)
{
    assert(job->fn != NULL && job->ready != NULL);
    assert(job->partition.n <= ENGINE_PARTITION_MAX);
    job->waits = false;
    return e->ops->view_run == NULL
               ? e->ops->view(e, job->partition, ENGINE_NOWAIT, job->fn, job->arg)
               : e->ops->view_run(e, job);
}

void engine_view_drop(struct engine *e, struct engine_view_job *job)
{
    assert(job->waits);
    e->ops->view_drop(e, job);
}

void engine_views_end(struct engine *e)
{
    if (e->ops->views_end != NULL)
        e->ops->views_end(e);
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

struct err engine_flush(struct engine *e)
{
    return e->ops->flush(e);
}

/* ---- inside a transaction ---- */

/* No row has a longer key. */
static bool key_fits(const struct engine_read *r)
{
    assert(r->partition.n <= ENGINE_PARTITION_MAX);
    return r->key.n <= ENGINE_KEY_MAX;
}

/* Asks the engine only for keys that rows may have. */
static COLD struct err get_fitting(struct txn *t, struct engine_read *reads, size_t count)
{
    for (size_t i = 0, end; i < count; i = end + 1) {
        for (end = i; end < count && key_fits(&reads[end]);)
            end++;
        if (end > i)
            TRY(t->ops->get_many(t, &reads[i], end - i));
    }
    return OK;
}

struct err txn_get_many(struct txn *t, struct engine_read *reads, size_t count)
{
    bool fit = true;
    for (size_t i = 0; i < count; i++) {
        struct engine_read *r = &reads[i];
        assert(r->loan == NULL || (r->with_body && !t->writable));
        fit = key_fits(r) && fit;
        if (r->loan != NULL)
            engine_loan_end(r->loan);
        r->value = r->body = STR_NONE;
    }
    if (!fit)
        return get_fitting(t, reads, count);
    return count == 0 ? OK : t->ops->get_many(t, reads, count);
}

struct err txn_get(struct txn *t, struct str key, struct str *value)
{
    struct engine_read read = {.key = key};
    struct err e = key_fits(&read) ? t->ops->get_many(t, &read, 1) : OK;
    *value = read.value;
    return e;
}

static void check_row(const struct txn *t, const struct engine_row *row)
{
    assert(t->writable);
    assert(row->key.n <= ENGINE_KEY_MAX && row->body.n <= ENGINE_VALUE_MAX &&
           row->value.n <= ENGINE_VALUE_MAX - row->body.n);
    assert(str_given(row->value));
    assert(!row->keeps_body || row->body.n == 0);
    (void)t;
    (void)row;
}

/* Tells the recorder that the row is about to change. */
static inline struct err record(struct txn *t, struct str key)
{
    return t->recorder == NULL ? OK : t->recorder->changing(t->recorder, t, t->partition, key);
}

static struct err put_keeping(struct txn *t, const struct engine_row *row)
{
    if (t->ops->put_keeping != NULL)
        return t->ops->put_keeping(t, row);
    struct engine_read before = {.key = row->key, .with_body = true};
    TRY(t->ops->get_many(t, &before, 1));
    assert(str_given(before.value));
    struct engine_row whole = *row;
    whole.body = before.body;
    whole.keeps_body = false;
    return t->ops->put(t, &whole);
}

struct err txn_put_row(struct txn *t, const struct engine_row *row)
{
    check_row(t, row);
    TRY(record(t, row->key));
    return row->keeps_body ? put_keeping(t, row) : t->ops->put(t, row);
}

struct err txn_put_beside(struct txn *t, struct str partition, const struct engine_row *row)
{
    check_row(t, row);
    assert(partition.n <= ENGINE_PARTITION_MAX);
    return t->ops->put_beside == NULL ? err_new(ERR_NOT_IMPLEMENTED)
                                      : t->ops->put_beside(t, partition, row);
}

struct err txn_del_beside(struct txn *t, struct str partition, struct str key)
{
    struct engine_row gone = {.key = key, .value = STR_NONE};
    assert(t->writable && partition.n <= ENGINE_PARTITION_MAX && key.n <= ENGINE_KEY_MAX);
    return t->ops->put_beside == NULL ? err_new(ERR_NOT_IMPLEMENTED)
                                      : t->ops->put_beside(t, partition, &gone);
}

struct err engine_record(struct engine *e, struct engine_recorder *recorder)
{
    if (!e->ops->records)
        return err_new(ERR_NOT_IMPLEMENTED);
    e->recorder = recorder;
    return OK;
}

struct err txn_run_update(struct txn *t, struct engine *e, const struct engine_update *u)
{
    assert(u->fn != NULL);
    if (e->recorder == NULL)
        return u->fn(t, u->arg);
    t->recorder = e->recorder;
    t->partition = u->partition;
    t->drops_end = &t->drops;
    TRY(u->fn(t, u->arg));
    for (const struct late_drop *d = t->drops; d != NULL; d = d->next)
        TRY(t->ops->extent(t, EXTENT_DROP, &d->extent));
    return OK;
}

struct err txn_put(struct txn *t, struct str key, struct str value)
{
    struct engine_row row = {.key = key, .value = str_given(value) ? value : STR("")};
    return txn_put_row(t, &row);
}

struct err txn_insert(struct txn *t, const struct engine_row *row)
{
    check_row(t, row);
    assert(!row->keeps_body);
    TRY(record(t, row->key));
    return t->ops->insert(t, row);
}

void engine_loan_end(struct engine_loan *loan)
{
    if (loan->end != NULL)
        loan->end(loan->thing);
    *loan = (struct engine_loan){0};
}

struct err txn_append(struct txn *t, struct str key, struct str bytes, unsigned hints)
{
    assert(t->writable && key.n <= ENGINE_KEY_MAX);
    TRY(record(t, key));
    if (t->ops->append != NULL)
        return t->ops->append(t, key, bytes, hints);
    struct engine_read before = {.key = key, .hints = hints};
    TRY(t->ops->get_many(t, &before, 1));
    assert(str_given(before.value));
    struct buf value = buf_in(t->arena);
    (void)buf_reserve(&value, before.value.n + bytes.n);
    buf_put(&value, before.value);
    buf_put(&value, bytes);
    return txn_put_row(t,
                       &(struct engine_row){.key = key, .value = buf_str(&value), .hints = hints});
}

struct err txn_del(struct txn *t, struct str key)
{
    assert(t->writable);
    assert(key.n <= ENGINE_KEY_MAX);
    TRY(record(t, key));
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

bool txn_may_wait(const struct txn *t)
{
    return t->writable || t->wait == ENGINE_WAIT;
}

void txn_hint(struct txn *t, unsigned hints)
{
    assert((hints & ~(unsigned)HINT_ONCE) == 0);
    t->hints = hints;
}

/* ---- cursors ---- */

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
    assert(out != NULL);
    char *past = arena_bytes(t->arena, prefix.n + 1);
    if (prefix.n > 0)
        memcpy(past, prefix.p, prefix.n);
    size_t past_n = rowkey_past_prefix(past, prefix.n);
    struct str to = past_n == 0 ? STR_NONE : (struct str){past, past_n};
    return cursor_opened(t, t->ops->cursor_open(t, prefix, to, out), out);
}

struct err cursor_open_range(struct txn *t, struct str from, struct str to, struct cursor **out)
{
    assert(str_cmp(from, to) <= 0 || to.n == 0);
    return cursor_opened(t, t->ops->cursor_open(t, from, to, out), out);
}

struct err cursor_open_across(struct txn *t, struct str prefix, struct str partition,
                              struct str key, struct cursor **out)
{
    assert(!t->writable);
    struct cursor *c;
    TRY(t->ops->cursor_open_across(t, prefix, &c));
    struct err error = c->ops->seek_across(c, partition, key);
    if (err_is(error)) {
        c->ops->close(c);
        return error;
    }
    *out = c;
    return cursor_opened(t, OK, out);
}

/* Clients choose this position (prefixes, continuations), so it may be one that no key can have. */
struct err cursor_seek(struct cursor *c, struct str key)
{
    return c->ops->seek(c, key);
}

struct err cursor_seek_across(struct cursor *c, struct str partition, struct str key)
{
    return c->ops->seek_across(c, partition, key);
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

void cursor_close(struct cursor *c)
{
    if (c == NULL)
        return;
    *c->open_link = c->next_open;
    if (c->next_open != NULL)
        c->next_open->open_link = c->open_link;
    c->ops->close(c);
}

struct err engine_partitions(struct engine *e, struct str prefix, struct str after, struct str key,
                             partition_visit *visit, void *arg)
{
    assert(prefix.n <= ENGINE_PARTITION_MAX && key.n <= ENGINE_KEY_MAX);
    struct partition_walk walk = {prefix, after, key, visit, arg};
    return e->ops->partitions(e, &walk);
}

/* ---- extents ---- */

struct err extent_begin(struct engine *e, uint32_t size_max, unsigned hints,
                        struct extent_writer **out)
{
    assert(size_max > 0 && size_max <= EXTENT_BYTES_MAX);
    return e->ops->extent_begin(e, size_max, hints, out);
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
    assert(x->length > 0);
    e->ops->extent_discard(e, x);
}

struct err txn_extent(struct txn *t, enum extent_change change, const struct extent *x)
{
    assert(x->length > 0);
    assert(t->writable);
    if (t->recorder == NULL || change != EXTENT_DROP)
        return t->ops->extent(t, change, x);
    struct late_drop *late = ARENA_NEW(t->arena, struct late_drop);
    late->extent = *x;
    *t->drops_end = late;
    t->drops_end = &late->next;
    return OK;
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

/* The descriptor comes from a row, so a range outside the extent is a programming error. */
static struct extent_part extent_part(const struct extent *x, uint32_t offset, uint32_t length,
                                      enum engine_wait wait)
{
    assert(offset <= x->length && length <= x->length - offset && length > 0);
    return (struct extent_part){offset, length, wait};
}

struct err extent_locate(struct engine *e, const struct extent *x, uint32_t offset, uint32_t length,
                         enum engine_wait wait, struct extent_span *out)
{
    assert(out != NULL);
    struct extent_part part = extent_part(x, offset, length, wait);
    return e->ops->extent_locate(e, x, &part, out);
}

struct err extent_read(struct engine *e, const struct extent *x, uint32_t offset, uint32_t length,
                       enum engine_wait wait, char *to)
{
    struct extent_part part = extent_part(x, offset, length, wait);
    if (to != NULL)
        return e->ops->extent_read(e, x, &part, to);
    if (e->ops->extent_prefetch != NULL)
        e->ops->extent_prefetch(e, x, &part);
    return OK;
}

/* ---- life ---- */

void engine_usage(struct engine *e, struct engine_usage *out)
{
    assert(out != NULL);
    *out = (struct engine_usage){0};
    e->ops->usage(e, out);
}

void engine_stats(struct engine *e, struct engine_stats *out)
{
    assert(out != NULL);
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
