/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/fault.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/mem.h"
#include "engine/engine_internal.h"

struct fault_engine {
    struct engine base;
    struct engine *inner;
    atomic_uint_fast64_t calls_left; /* until the fault; 0: none is armed */
    atomic_bool fired;
    struct err error; /* set while nothing is armed */
};

static struct fault_engine *fault_of(struct engine *e)
{
    return (struct fault_engine *)(void *)e;
}

/* Stands before every call that may fail: the armed error when this is the one. */
static struct err fault_point(struct fault_engine *f)
{
    uint_fast64_t left = atomic_load(&f->calls_left);
    while (left > 0 && !atomic_compare_exchange_weak(&f->calls_left, &left, left - 1)) {
    }
    if (left != 1)
        return OK;
    atomic_store(&f->fired, true);
    return f->error;
}

/* ---- cursors ---- */

struct fault_cursor {
    struct cursor base;
    struct cursor *inner;
    struct fault_engine *fault;
};

static struct fault_cursor *fault_cursor_of(struct cursor *c)
{
    return (struct fault_cursor *)(void *)c;
}

static struct err fault_cursor_stand(struct fault_cursor *c)
{
    c->base.valid = c->inner->valid;
    c->base.key = c->inner->key;
    c->base.value = c->inner->value;
    return OK;
}

static struct err fault_cursor_seek(struct cursor *cursor, struct str key)
{
    struct fault_cursor *c = fault_cursor_of(cursor);
    TRY(fault_point(c->fault));
    TRY(cursor_seek(c->inner, key));
    return fault_cursor_stand(c);
}

static struct err fault_cursor_next(struct cursor *cursor)
{
    struct fault_cursor *c = fault_cursor_of(cursor);
    TRY(fault_point(c->fault));
    TRY(cursor_next(c->inner));
    return fault_cursor_stand(c);
}

static struct err fault_cursor_skip(struct cursor *cursor, struct str skip)
{
    struct fault_cursor *c = fault_cursor_of(cursor);
    TRY(fault_point(c->fault));
    TRY(cursor_skip(c->inner, skip));
    return fault_cursor_stand(c);
}

static struct err fault_cursor_seek_before(struct cursor *cursor, struct str key)
{
    struct fault_cursor *c = fault_cursor_of(cursor);
    TRY(fault_point(c->fault));
    TRY(cursor_seek_before(c->inner, key));
    return fault_cursor_stand(c);
}

static void fault_cursor_close(struct cursor *cursor)
{
    struct fault_cursor *c = fault_cursor_of(cursor);
    cursor_close(c->inner);
    free(c);
}

static const struct cursor_ops FAULT_CURSOR_OPS = {
    .seek = fault_cursor_seek,
    .next = fault_cursor_next,
    .skip = fault_cursor_skip,
    .seek_before = fault_cursor_seek_before,
    .close = fault_cursor_close,
};

/* ---- scans ---- */

struct fault_scan {
    struct scan base;
    struct scan *inner;
    struct fault_engine *fault;
};

static struct fault_scan *fault_scan_of(struct scan *s)
{
    return (struct fault_scan *)(void *)s;
}

static struct err fault_scan_stand(struct fault_scan *s)
{
    const struct scan_ops *ops = s->base.ops;
    s->base = *s->inner;
    s->base.ops = ops;
    return OK;
}

static struct err fault_scan_seek(struct scan *scan, struct str partition, struct str key)
{
    struct fault_scan *s = fault_scan_of(scan);
    TRY(fault_point(s->fault));
    TRY(scan_seek(s->inner, partition, key));
    return fault_scan_stand(s);
}

static struct err fault_scan_next(struct scan *scan)
{
    struct fault_scan *s = fault_scan_of(scan);
    TRY(fault_point(s->fault));
    TRY(scan_next(s->inner));
    return fault_scan_stand(s);
}

static void fault_scan_close(struct scan *scan)
{
    scan_close(fault_scan_of(scan)->inner);
}

static const struct scan_ops FAULT_SCAN_OPS = {
    .seek = fault_scan_seek,
    .next = fault_scan_next,
    .close = fault_scan_close,
};

/* ---- transactions ---- */

struct fault_txn {
    struct txn base;
    struct txn *inner;
    struct fault_engine *fault;
};

static struct fault_txn *fault_txn_of(struct txn *t)
{
    return (struct fault_txn *)(void *)t;
}

static struct err fault_get(struct txn *t, struct str key, struct str *value)
{
    TRY(fault_point(fault_txn_of(t)->fault));
    return txn_get(fault_txn_of(t)->inner, key, value);
}

static struct err fault_get_hot(struct txn *t, struct str key, struct str *value)
{
    TRY(fault_point(fault_txn_of(t)->fault));
    return txn_get_hot(fault_txn_of(t)->inner, key, value);
}

static void fault_expect(struct txn *t, struct str from, struct str to)
{
    txn_expect(fault_txn_of(t)->inner, from, to);
}

static struct err fault_peek(struct txn *t, struct str partition, struct str key, struct str *value)
{
    TRY(fault_point(fault_txn_of(t)->fault));
    return txn_peek(fault_txn_of(t)->inner, partition, key, value);
}

static struct err fault_none_between(struct txn *t, struct str from, struct str to, bool *none)
{
    TRY(fault_point(fault_txn_of(t)->fault));
    return txn_none_between(fault_txn_of(t)->inner, from, to, none);
}

static struct err fault_put(struct txn *t, struct str key, struct str value)
{
    TRY(fault_point(fault_txn_of(t)->fault));
    return txn_put(fault_txn_of(t)->inner, key, value);
}

static struct err fault_get_with_body(struct txn *t, struct str key, struct str *value,
                                      struct str *body)
{
    TRY(fault_point(fault_txn_of(t)->fault));
    return txn_get_with_body(fault_txn_of(t)->inner, key, value, body);
}

static struct err fault_put_with_body(struct txn *t, struct str key, struct str value,
                                      struct str body)
{
    TRY(fault_point(fault_txn_of(t)->fault));
    return txn_put_with_body(fault_txn_of(t)->inner, key, value, body);
}

static struct err fault_put_hinted(struct txn *t, struct str key, struct str value, unsigned hints)
{
    TRY(fault_point(fault_txn_of(t)->fault));
    return txn_put_hinted(fault_txn_of(t)->inner, key, value, hints);
}

static struct err fault_del(struct txn *t, struct str key)
{
    TRY(fault_point(fault_txn_of(t)->fault));
    return txn_del(fault_txn_of(t)->inner, key);
}

static struct err fault_cursor_open(struct txn *t, struct str from, struct str to,
                                    struct cursor **out)
{
    struct fault_engine *f = fault_txn_of(t)->fault;
    struct cursor *inner;
    TRY(fault_point(f));
    fault_txn_of(t)->inner->passing = t->passing;
    TRY(cursor_open_range(fault_txn_of(t)->inner, from, to, &inner));
    struct fault_cursor *c = MEM_NEW(struct fault_cursor);
    c->base.ops = &FAULT_CURSOR_OPS;
    c->inner = inner;
    c->fault = f;
    *out = &c->base;
    return fault_cursor_stand(c);
}

static struct err fault_scan_open(struct txn *t, struct str prefix, struct scan **out)
{
    struct fault_engine *f = fault_txn_of(t)->fault;
    struct scan *inner;
    TRY(fault_point(f));
    TRY(fault_txn_of(t)->inner->ops->scan_open(fault_txn_of(t)->inner, prefix, &inner));
    struct fault_scan *s = ARENA_NEW(t->arena, struct fault_scan);
    s->base.ops = &FAULT_SCAN_OPS;
    s->inner = inner;
    s->fault = f;
    *out = &s->base;
    return fault_scan_stand(s);
}

static struct err fault_extent_adopt(struct txn *t, const struct extent *x)
{
    TRY(fault_point(fault_txn_of(t)->fault));
    return txn_extent_adopt(fault_txn_of(t)->inner, x);
}

static struct err fault_extent_hold(struct txn *t, const struct extent *x)
{
    TRY(fault_point(fault_txn_of(t)->fault));
    return txn_extent_hold(fault_txn_of(t)->inner, x);
}

static struct err fault_extent_drop(struct txn *t, const struct extent *x)
{
    TRY(fault_point(fault_txn_of(t)->fault));
    return txn_extent_drop(fault_txn_of(t)->inner, x);
}

static bool fault_lend(struct txn *t, struct str bytes, struct engine_loan *loan)
{
    return txn_lend(fault_txn_of(t)->inner, bytes, loan);
}

static void fault_keep_state(struct txn *t, struct engine_state **kept)
{
    txn_keep_state(fault_txn_of(t)->inner, kept);
}

static const struct txn_ops FAULT_TXN_OPS = {
    .get = fault_get,
    .get_hot = fault_get_hot,
    .expect = fault_expect,
    .peek = fault_peek,
    .none_between = fault_none_between,
    .put = fault_put,
    .get_with_body = fault_get_with_body,
    .put_with_body = fault_put_with_body,
    .lend = fault_lend,
    .put_hinted = fault_put_hinted,
    .del = fault_del,
    .cursor_open = fault_cursor_open,
    .scan_open = fault_scan_open,
    .keep_state = fault_keep_state,
    .extent_adopt = fault_extent_adopt,
    .extent_hold = fault_extent_hold,
    .extent_drop = fault_extent_drop,
};

static struct err fault_call(struct fault_engine *f, struct txn *inner, engine_fn *fn, void *arg)
{
    struct fault_txn t = {.base = *inner, .inner = inner, .fault = f};
    t.base.ops = &FAULT_TXN_OPS;
    t.base.cursors = NULL;
    struct err result = fn(&t.base, arg);
    txn_close_cursors(&t.base);
    return result;
}

struct fault_view {
    struct fault_engine *fault;
    engine_fn *fn;
    void *arg;
};

static struct err fault_view_run(struct txn *inner, void *arg)
{
    struct fault_view *v = arg;
    return fault_call(v->fault, inner, v->fn, v->arg);
}

static struct err fault_view(struct engine *e, struct str partition, enum engine_wait wait,
                             engine_fn *fn, void *arg)
{
    struct fault_view v = {fault_of(e), fn, arg};
    TRY(fault_point(v.fault));
    return engine_view(v.fault->inner, partition, wait, fault_view_run, &v);
}

static struct err fault_view_state(struct engine *e, struct engine_state *state,
                                   struct str partition, engine_fn *fn, void *arg)
{
    struct fault_view v = {fault_of(e), fn, arg};
    TRY(fault_point(v.fault));
    return engine_view_state(v.fault->inner, state, partition, fault_view_run, &v);
}

static void fault_state_release(struct engine *e, struct engine_state *state)
{
    engine_state_release(fault_of(e)->inner, state);
}

struct fault_update {
    struct engine_update inner; /* first: done gets its address */
    struct engine_update *outer;
    struct fault_engine *fault;
};

/* An update may fail before its function runs (the engine is stopping), and after it has done all
 * its work and is settled (the commit could not be written). */
static struct err fault_update_run(struct txn *inner, void *arg)
{
    struct fault_update *u = arg;
    TRY(fault_point(u->fault));
    TRY(fault_call(u->fault, inner, u->outer->fn, u->outer->arg));
    if (u->outer->settled != NULL)
        u->outer->settled(u->outer);
    return fault_point(u->fault);
}

static void fault_update_done(struct engine_update *inner)
{
    struct fault_update *u = (struct fault_update *)(void *)inner;
    struct engine_update *outer = u->outer;
    outer->result = inner->result;
    free(u);
    outer->done(outer);
}

static void fault_submit(struct engine *e, struct engine_update *outer)
{
    struct fault_update *u = MEM_NEW(struct fault_update);
    u->outer = outer;
    u->fault = fault_of(e);
    u->inner = (struct engine_update){.partition = outer->partition,
                                      .fn = fault_update_run,
                                      .arg = u,
                                      .ack = outer->ack,
                                      .makes_way = outer->makes_way,
                                      .done = fault_update_done};
    engine_submit(u->fault->inner, &u->inner);
}

static struct err fault_flush(struct engine *e)
{
    TRY(fault_point(fault_of(e)));
    return engine_flush(fault_of(e)->inner);
}

static struct err fault_partitions(struct engine *e, const struct partition_walk *walk)
{
    TRY(fault_point(fault_of(e)));
    return engine_partitions(fault_of(e)->inner, walk->prefix, walk->after, walk->key, walk->visit,
                             walk->arg);
}

/* ---- extents ---- */

struct fault_writer {
    struct extent_writer base;
    struct extent_writer *inner;
    struct fault_engine *fault;
};

static struct fault_writer *fault_writer_of(struct extent_writer *w)
{
    return (struct fault_writer *)(void *)w;
}

static struct err fault_writer_append(struct extent_writer *base, struct str bytes)
{
    struct fault_writer *w = fault_writer_of(base);
    TRY(fault_point(w->fault));
    TRY(extent_append(w->inner, bytes));
    base->length = w->inner->length;
    return OK;
}

static void fault_writer_abandon(struct extent_writer *base)
{
    struct fault_writer *w = fault_writer_of(base);
    extent_abandon(w->inner);
    free(w);
}

static struct err fault_writer_finish(struct extent_writer *base, struct extent *out)
{
    struct fault_writer *w = fault_writer_of(base);
    struct err e = fault_point(w->fault);
    if (err_is(e)) {
        fault_writer_abandon(base);
        return e;
    }
    e = extent_finish(w->inner, out);
    free(w);
    return e;
}

static const struct extent_writer_ops FAULT_WRITER_OPS = {
    .append = fault_writer_append,
    .finish = fault_writer_finish,
    .abandon = fault_writer_abandon,
};

static struct err fault_extent_begin(struct engine *e, uint32_t size_max,
                                     struct extent_writer **out)
{
    struct extent_writer *inner;
    TRY(fault_point(fault_of(e)));
    TRY(extent_begin(fault_of(e)->inner, size_max, &inner));
    struct fault_writer *w = MEM_NEW(struct fault_writer);
    w->base = (struct extent_writer){.ops = &FAULT_WRITER_OPS, .size_max = size_max};
    w->inner = inner;
    w->fault = fault_of(e);
    *out = &w->base;
    return OK;
}

static void fault_extent_discard(struct engine *e, const struct extent *x)
{
    extent_discard(fault_of(e)->inner, x);
}

static struct err fault_extent_locate(struct engine *e, const struct extent *x,
                                      const struct extent_part *part, struct extent_span *out)
{
    TRY(fault_point(fault_of(e)));
    return extent_locate(fault_of(e)->inner, x, part->offset, part->length, part->wait, out);
}

static struct err fault_extent_read(struct engine *e, const struct extent *x,
                                    const struct extent_part *part, char *to)
{
    TRY(fault_point(fault_of(e)));
    struct engine *inner = fault_of(e)->inner;
    return inner->ops->extent_read(inner, x, part, to);
}

/* ---- what cannot fail ---- */

static struct engine_pin *fault_pin(struct engine *e)
{
    return engine_pin(fault_of(e)->inner);
}

static void fault_unpin(struct engine *e, struct engine_pin *pin)
{
    engine_unpin(fault_of(e)->inner, pin);
}

static void fault_usage(struct engine *e, struct engine_usage *out)
{
    engine_usage(fault_of(e)->inner, out);
}

static void fault_stats(struct engine *e, struct engine_stats *out)
{
    engine_stats(fault_of(e)->inner, out);
}

static void fault_close(struct engine *e)
{
    engine_close(fault_of(e)->inner);
    free(fault_of(e));
}

static const struct engine_ops FAULT_OPS = {
    .view = fault_view,
    .view_state = fault_view_state,
    .state_release = fault_state_release,
    .submit = fault_submit,
    .flush = fault_flush,
    .partitions = fault_partitions,
    .extent_begin = fault_extent_begin,
    .extent_discard = fault_extent_discard,
    .extent_locate = fault_extent_locate,
    .extent_read = fault_extent_read,
    .pin = fault_pin,
    .unpin = fault_unpin,
    .usage = fault_usage,
    .stats = fault_stats,
    .close = fault_close,
};

struct engine *engine_fault_new(struct engine *inner)
{
    struct fault_engine *f = MEM_NEW(struct fault_engine);
    f->base.ops = &FAULT_OPS;
    f->inner = inner;
    return &f->base;
}

void engine_fault_arm(struct engine *fault, uint64_t n, struct err error)
{
    struct fault_engine *f = fault_of(fault);
    atomic_store(&f->calls_left, 0);
    atomic_store(&f->fired, false);
    f->error = error;
    atomic_store(&f->calls_left, n);
}

bool engine_fault_fired(const struct engine *fault)
{
    return atomic_load(&((const struct fault_engine *)(const void *)fault)->fired);
}
