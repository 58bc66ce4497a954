/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/wrap.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/mem.h"

static struct wrap_engine *wrap_of(struct engine *e)
{
    return (struct wrap_engine *)(void *)e;
}

static struct err before(struct wrap_engine *w, enum wrap_call call)
{
    return w->hooks->before == NULL ? OK : w->hooks->before(w, call);
}

static bool must_wait(const struct wrap_engine *w, enum engine_wait wait)
{
    return w->hooks->remote && wait == ENGINE_NOWAIT;
}

static unsigned hints_of(const struct wrap_engine *w, unsigned hints)
{
    return w->hooks->no_hints ? 0 : hints;
}

/* ---- cursors ---- */

static struct wrap_cursor *wrap_cursor_of(struct cursor *c)
{
    return (struct wrap_cursor *)(void *)c;
}

static struct err cursor_stand(struct wrap_cursor *c, bool backward)
{
    const struct wrap_hooks *hooks = c->txn->engine->hooks;
    c->base.valid = c->inner->valid;
    c->base.partition = c->inner->partition;
    c->base.key = c->inner->key;
    c->base.value = c->inner->value;
    if (hooks->moved != NULL)
        hooks->moved(c, backward);
    return OK;
}

static struct err wrap_cursor_seek(struct cursor *cursor, struct str key)
{
    struct wrap_cursor *c = wrap_cursor_of(cursor);
    TRY(before(c->txn->engine, WRAP_OTHER));
    TRY(cursor_seek(c->inner, key));
    return cursor_stand(c, false);
}

static struct err wrap_cursor_seek_across(struct cursor *cursor, struct str partition,
                                          struct str key)
{
    struct wrap_cursor *c = wrap_cursor_of(cursor);
    TRY(before(c->txn->engine, WRAP_OTHER));
    TRY(cursor_seek_across(c->inner, partition, key));
    return cursor_stand(c, false);
}

static struct err wrap_cursor_next(struct cursor *cursor)
{
    struct wrap_cursor *c = wrap_cursor_of(cursor);
    TRY(before(c->txn->engine, WRAP_OTHER));
    TRY(cursor_next(c->inner));
    return cursor_stand(c, false);
}

static struct err wrap_cursor_skip(struct cursor *cursor, struct str skip)
{
    struct wrap_cursor *c = wrap_cursor_of(cursor);
    TRY(before(c->txn->engine, WRAP_OTHER));
    TRY(cursor_skip(c->inner, skip));
    return cursor_stand(c, false);
}

static struct err wrap_cursor_seek_before(struct cursor *cursor, struct str key)
{
    struct wrap_cursor *c = wrap_cursor_of(cursor);
    TRY(before(c->txn->engine, WRAP_OTHER));
    TRY(cursor_seek_before(c->inner, key));
    return cursor_stand(c, true);
}

static void wrap_cursor_close(struct cursor *cursor)
{
    struct wrap_cursor *c = wrap_cursor_of(cursor);
    cursor_close(c->inner);
    free(c);
}

static const struct cursor_ops WRAP_CURSOR_OPS = {
    .seek = wrap_cursor_seek,
    .seek_across = wrap_cursor_seek_across,
    .next = wrap_cursor_next,
    .skip = wrap_cursor_skip,
    .seek_before = wrap_cursor_seek_before,
    .close = wrap_cursor_close,
};

/* ---- transactions ---- */

static struct wrap_txn *wrap_txn_of(struct txn *t)
{
    return (struct wrap_txn *)(void *)t;
}

static struct err wrap_get_many(struct txn *txn, struct engine_read *reads, size_t count)
{
    struct wrap_txn *t = wrap_txn_of(txn);
    TRY(before(t->engine, WRAP_OTHER));
    unsigned *hints = ARENA_ARRAY(txn->arena, unsigned, count);
    for (size_t i = 0; i < count; i++) {
        hints[i] = reads[i].hints;
        reads[i].hints = hints_of(t->engine, hints[i]);
    }
    TRY(txn_get_many(t->inner, reads, count));
    for (size_t i = 0; i < count; i++)
        reads[i].hints = hints[i];
    if (t->engine->hooks->read != NULL)
        t->engine->hooks->read(t, reads, count);
    return OK;
}

static struct err wrap_wrote(struct wrap_txn *t, struct str key, unsigned hints)
{
    t->wrote = true;
    if (t->engine->hooks->wrote != NULL)
        t->engine->hooks->wrote(t, key, hints);
    return OK;
}

static struct err wrap_put(struct txn *txn, const struct engine_row *row)
{
    struct wrap_txn *t = wrap_txn_of(txn);
    struct engine_row inner = *row;
    inner.hints = hints_of(t->engine, row->hints);
    TRY(before(t->engine, WRAP_OTHER));
    TRY(txn_put_row(t->inner, &inner));
    return wrap_wrote(t, row->key, row->hints);
}

/* Checks the promise of txn_insert, whatever the inner engine does. */
static struct err wrap_insert(struct txn *txn, const struct engine_row *row)
{
    struct wrap_txn *t = wrap_txn_of(txn);
    struct engine_row inner = *row;
    struct str there;
    inner.hints = hints_of(t->engine, row->hints);
    TRY(before(t->engine, WRAP_OTHER));
    TRY(txn_get(t->inner, row->key, &there));
    assert(!str_given(there));
    TRY(txn_insert(t->inner, &inner));
    return wrap_wrote(t, row->key, row->hints);
}

static struct err wrap_append(struct txn *txn, struct str key, struct str bytes, unsigned hints)
{
    struct wrap_txn *t = wrap_txn_of(txn);
    TRY(before(t->engine, WRAP_OTHER));
    TRY(txn_append(t->inner, key, bytes, hints_of(t->engine, hints)));
    return wrap_wrote(t, key, hints);
}

static struct err wrap_del(struct txn *txn, struct str key)
{
    struct wrap_txn *t = wrap_txn_of(txn);
    TRY(before(t->engine, WRAP_OTHER));
    TRY(txn_del(t->inner, key));
    return wrap_wrote(t, key, 0);
}

static struct wrap_cursor *cursor_new(struct wrap_txn *t)
{
    struct wrap_cursor *c = MEM_NEW(struct wrap_cursor);
    c->base.ops = &WRAP_CURSOR_OPS;
    c->txn = t;
    return c;
}

static struct err wrap_cursor_open(struct txn *txn, struct str from, struct str to,
                                   struct cursor **out)
{
    struct wrap_txn *t = wrap_txn_of(txn);
    struct cursor *inner;
    TRY(before(t->engine, WRAP_OTHER));
    txn_hint(t->inner, hints_of(t->engine, txn->hints));
    TRY(cursor_open_range(t->inner, from, to, &inner));
    struct wrap_cursor *c = cursor_new(t);
    c->inner = inner;
    c->to = arena_copy(txn->arena, to);
    *out = &c->base;
    return cursor_stand(c, false);
}

/* The inner cursor stands at its first row until the seek that follows. */
static struct err wrap_cursor_open_across(struct txn *txn, struct str prefix, struct cursor **out)
{
    struct wrap_txn *t = wrap_txn_of(txn);
    struct cursor *inner;
    TRY(before(t->engine, WRAP_OTHER));
    TRY(cursor_open_across(t->inner, prefix, STR(""), STR(""), &inner));
    struct wrap_cursor *c = cursor_new(t);
    c->inner = inner;
    c->prefix = arena_copy(txn->arena, prefix);
    *out = &c->base;
    return OK;
}

static struct err wrap_extent(struct txn *txn, enum extent_change change, const struct extent *x)
{
    struct wrap_txn *t = wrap_txn_of(txn);
    TRY(before(t->engine, WRAP_OTHER));
    t->wrote = true;
    return txn_extent(t->inner, change, x);
}

static void wrap_keep_state(struct txn *t, struct engine_state **kept)
{
    txn_keep_state(wrap_txn_of(t)->inner, kept);
}

static const struct txn_ops WRAP_TXN_OPS = {
    .get_many = wrap_get_many,
    .put = wrap_put,
    .insert = wrap_insert,
    .append = wrap_append,
    .del = wrap_del,
    .cursor_open = wrap_cursor_open,
    .cursor_open_across = wrap_cursor_open_across,
    .keep_state = wrap_keep_state,
    .extent = wrap_extent,
};

/* A function's run, and whose. */
struct wrap_run {
    struct wrap_engine *engine;
    struct str partition;
    engine_fn *fn;
    void *arg;
};

static struct err run_once(const struct wrap_run *r, struct txn *inner)
{
    struct wrap_txn t = {
        .base = *inner, .inner = inner, .engine = r->engine, .partition = r->partition};
    t.base.ops = &WRAP_TXN_OPS;
    t.base.cursors = NULL;
    t.base.recorder = NULL; /* the inner one has it */
    struct err result = r->fn(&t.base, r->arg);
    txn_close_cursors(&t.base);
    if (r->engine->hooks->ended != NULL)
        r->engine->hooks->ended(&t, result);
    return result;
}

static struct err run_view(struct txn *inner, void *arg)
{
    const struct wrap_run *r = arg;
    if (r->engine->hooks->twice)
        (void)run_once(r, inner);
    return run_once(r, inner);
}

static struct err wrap_view(struct engine *e, struct str partition, enum engine_wait wait,
                            engine_fn *fn, void *arg)
{
    struct wrap_run r = {wrap_of(e), partition, fn, arg};
    TRY(before(r.engine, WRAP_OTHER));
    if (must_wait(r.engine, wait))
        return err_new(ERR_WOULD_BLOCK);
    return engine_view(r.engine->inner, partition, wait, run_view, &r);
}

static struct err wrap_view_state(struct engine *e, struct engine_state *state,
                                  struct str partition, engine_fn *fn, void *arg)
{
    struct wrap_run r = {wrap_of(e), partition, fn, arg};
    TRY(before(r.engine, WRAP_OTHER));
    return engine_view_state(r.engine->inner, state, partition, run_view, &r);
}

static void wrap_state_release(struct engine *e, struct engine_state *state)
{
    engine_state_release(wrap_of(e)->inner, state);
}

/* ---- updates ---- */

struct wrap_update {
    struct engine_update inner; /* first: done gets its address */
    struct engine_update *outer;
    struct wrap_run run;
    bool rehearsed;
};

/* An update may fail before its function runs (the engine is stopping) or after it (the commit
 * could not be written). */
static struct err run_update(struct txn *inner, void *arg)
{
    struct wrap_update *u = arg;
    TRY(before(u->run.engine, WRAP_OTHER));
    TRY(run_once(&u->run, inner));
    return before(u->run.engine, WRAP_OTHER);
}

static struct err rehearse_update(struct txn *inner, void *arg)
{
    struct wrap_update *u = arg;
    (void)run_once(&u->run, inner);
    return err_new(ERR_INVALID_INPUT); /* rolls it back */
}

static void wrap_update_done(struct engine_update *inner)
{
    struct wrap_update *u = (struct wrap_update *)(void *)inner;
    struct engine_update *outer = u->outer;
    if (!u->rehearsed) {
        u->rehearsed = true;
        u->inner.fn = run_update;
        engine_submit(u->run.engine->inner, &u->inner);
        return;
    }
    outer->result = inner->result;
    free(u);
    outer->done(outer);
}

static void wrap_submit(struct engine *e, struct engine_update *outer)
{
    struct wrap_update *u = MEM_NEW(struct wrap_update);
    u->outer = outer;
    u->run = (struct wrap_run){wrap_of(e), outer->partition, outer->fn, outer->arg};
    u->rehearsed = !u->run.engine->hooks->twice;
    u->inner = (struct engine_update){.partition = outer->partition,
                                      .fn = u->rehearsed ? run_update : rehearse_update,
                                      .arg = u,
                                      .ack = outer->ack,
                                      .hints = hints_of(u->run.engine, outer->hints),
                                      .done = wrap_update_done};
    engine_submit(u->run.engine->inner, &u->inner);
}

static struct err wrap_flush(struct engine *e)
{
    TRY(before(wrap_of(e), WRAP_OTHER));
    return engine_flush(wrap_of(e)->inner);
}

static struct err wrap_partitions(struct engine *e, const struct partition_walk *walk)
{
    TRY(before(wrap_of(e), WRAP_PARTITIONS));
    return engine_partitions(wrap_of(e)->inner, walk->prefix, walk->after, walk->key, walk->visit,
                             walk->arg);
}

/* ---- extents ---- */

struct wrap_writer {
    struct extent_writer base;
    struct extent_writer *inner;
    struct wrap_engine *engine;
};

static struct wrap_writer *wrap_writer_of(struct extent_writer *w)
{
    return (struct wrap_writer *)(void *)w;
}

static struct err wrap_writer_append(struct extent_writer *base, struct str bytes)
{
    struct wrap_writer *w = wrap_writer_of(base);
    TRY(before(w->engine, WRAP_OTHER));
    TRY(extent_append(w->inner, bytes));
    base->length = w->inner->length;
    return OK;
}

static void wrap_writer_abandon(struct extent_writer *base)
{
    struct wrap_writer *w = wrap_writer_of(base);
    extent_abandon(w->inner);
    free(w);
}

static struct err wrap_writer_finish(struct extent_writer *base, struct extent *out)
{
    struct wrap_writer *w = wrap_writer_of(base);
    struct err e = before(w->engine, WRAP_EXTENT_FINISH);
    if (err_is(e)) {
        wrap_writer_abandon(base);
        return e;
    }
    e = extent_finish(w->inner, out);
    free(w);
    return e;
}

static const struct extent_writer_ops WRAP_WRITER_OPS = {
    .append = wrap_writer_append,
    .finish = wrap_writer_finish,
    .abandon = wrap_writer_abandon,
};

static struct err wrap_extent_begin(struct engine *e, uint32_t size_max, unsigned hints,
                                    struct extent_writer **out)
{
    struct extent_writer *inner;
    TRY(before(wrap_of(e), WRAP_OTHER));
    TRY(extent_begin(wrap_of(e)->inner, size_max, hints_of(wrap_of(e), hints), &inner));
    struct wrap_writer *w = MEM_NEW(struct wrap_writer);
    w->base = (struct extent_writer){.ops = &WRAP_WRITER_OPS, .size_max = size_max};
    w->inner = inner;
    w->engine = wrap_of(e);
    *out = &w->base;
    return OK;
}

static void wrap_extent_discard(struct engine *e, const struct extent *x)
{
    extent_discard(wrap_of(e)->inner, x);
}

struct lent_part {
    _Atomic uint64_t *lent;
    char bytes[];
};

static void end_part(void *thing)
{
    struct lent_part *part = thing;
    atomic_fetch_sub(part->lent, 1);
    free(part);
}

static struct err wrap_extent_locate(struct engine *e, const struct extent *x,
                                     const struct extent_part *part, struct extent_span *out)
{
    struct wrap_engine *w = wrap_of(e);
    if (must_wait(w, part->wait))
        return err_new(ERR_WOULD_BLOCK);
    TRY(before(w, WRAP_EXTENT_READ));
    if (!w->hooks->remote)
        return extent_locate(w->inner, x, part->offset, part->length, part->wait, out);
    struct lent_part *lent = mem_alloc(sizeof *lent + part->length);
    struct err error =
        extent_read(w->inner, x, part->offset, part->length, ENGINE_WAIT, lent->bytes);
    if (err_is(error)) {
        free(lent);
        return error;
    }
    lent->lent = w->lent;
    atomic_fetch_add(w->lent, 1);
    *out = (struct extent_span){
        .memory = lent->bytes, .fd = -1, .length = part->length, .loan = {end_part, lent}};
    return OK;
}

static struct err wrap_extent_read(struct engine *e, const struct extent *x,
                                   const struct extent_part *part, char *to)
{
    if (must_wait(wrap_of(e), part->wait))
        return err_new(ERR_WOULD_BLOCK);
    TRY(before(wrap_of(e), WRAP_EXTENT_READ));
    return extent_read(wrap_of(e)->inner, x, part->offset, part->length, part->wait, to);
}

/* ---- what cannot fail ---- */

static struct engine_pin *wrap_pin(struct engine *e)
{
    return engine_pin(wrap_of(e)->inner);
}

static void wrap_unpin(struct engine *e, struct engine_pin *pin)
{
    engine_unpin(wrap_of(e)->inner, pin);
}

static void wrap_usage(struct engine *e, struct engine_usage *out)
{
    engine_usage(wrap_of(e)->inner, out);
}

static void wrap_stats(struct engine *e, struct engine_stats *out)
{
    engine_stats(wrap_of(e)->inner, out);
}

static void wrap_close(struct engine *e)
{
    engine_close(wrap_of(e)->inner);
    if (wrap_of(e)->hooks->close != NULL)
        wrap_of(e)->hooks->close(wrap_of(e));
    free(wrap_of(e));
}

static const struct engine_ops WRAP_OPS = {
    .view = wrap_view,
    .view_state = wrap_view_state,
    .state_release = wrap_state_release,
    .submit = wrap_submit,
    .flush = wrap_flush,
    .partitions = wrap_partitions,
    .extent_begin = wrap_extent_begin,
    .extent_discard = wrap_extent_discard,
    .extent_locate = wrap_extent_locate,
    .extent_read = wrap_extent_read,
    .pin = wrap_pin,
    .unpin = wrap_unpin,
    .usage = wrap_usage,
    .stats = wrap_stats,
    .close = wrap_close,
};

struct engine *wrap_engine_init(struct wrap_engine *w, struct engine *inner,
                                const struct wrap_hooks *hooks)
{
    assert(inner != NULL);
    assert(hooks != NULL);
    w->base.ops = &WRAP_OPS;
    w->inner = inner;
    w->hooks = hooks;
    return &w->base;
}
