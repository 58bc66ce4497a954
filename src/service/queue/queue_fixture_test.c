/* SPDX-License-Identifier: Apache-2.0 */
#include "service/queue/queue_fixture.h"

#include "engine/fault.h"
#include "engine/mem/mem.h"
#include "engine/repeat.h"
#include "engine/wait.h"

static void fixture_init_with(struct fixture *f, bool fault)
{
    clock_init_manual(&f->clock, FIXTURE_NOW);
    arena_init(&f->arena, SIZE_MAX);
    struct engine *e = engine_mem_new(&f->clock);
    f->store = (struct store){.engine = fault ? engine_fault_new(e) : engine_repeat_new(e),
                              .clock = &f->clock};
    f->partition = queue_partition(&f->arena, STR("a"), STR("q"));
    struct queue_create create = {STR_NONE, true};
    CHECK_OK(fixture_update(f, queue_create, &create));
    CHECK(!create.existed);
}

void fixture_init(struct fixture *f)
{
    fixture_init_with(f, false);
}

void fixture_init_fault(struct fixture *f)
{
    fixture_init_with(f, true);
}

void fixture_release(struct fixture *f)
{
    engine_close(f->store.engine);
    arena_release(&f->arena);
}

void fixture_seconds(struct fixture *f, int64_t seconds)
{
    clock_advance(&f->clock, seconds * TICKS_PER_SECOND);
}

struct err fixture_update(struct fixture *f, engine_fn *fn, void *arg)
{
    return engine_update_wait(f->store.engine, f->partition, fn, arg);
}

struct err fixture_view(struct fixture *f, engine_fn *fn, void *arg)
{
    return engine_view(f->store.engine, f->partition, ENGINE_WAIT, fn, arg);
}

struct queue_message fixture_put_for(struct fixture *f, const char *text, uint32_t visibility_s,
                                     int64_t ttl_s)
{
    struct queue_put_message put = {
        .text = str_of(text), .visibility_s = visibility_s, .ttl_s = ttl_s};
    CHECK_OK(fixture_update(f, queue_put_message, &put));
    return put.message;
}

struct queue_message fixture_put(struct fixture *f, const char *text)
{
    return fixture_put_for(f, text, 0, QUEUE_TTL_DEFAULT_S);
}

struct queue_get_messages *fixture_get(struct fixture *f, unsigned count, uint32_t visibility_s)
{
    struct queue_get_messages *get = ARENA_NEW(&f->arena, struct queue_get_messages);
    get->arena = &f->arena;
    get->count_max = count;
    get->visibility_s = visibility_s;
    CHECK_OK(fixture_view(f, queue_poll_messages, get));
    if (get->nothing)
        return get;
    do {
        CHECK_OK(fixture_update(f, queue_get_messages, get));
    } while (get->again);
    return get;
}

struct queue_get_messages *fixture_peek(struct fixture *f, unsigned count)
{
    struct queue_get_messages *get = ARENA_NEW(&f->arena, struct queue_get_messages);
    get->arena = &f->arena;
    get->count_max = count;
    CHECK_OK(fixture_view(f, queue_peek_messages, get));
    return get;
}

uint64_t fixture_count(struct fixture *f)
{
    struct queue_properties p = {.arena = &f->arena};
    CHECK_OK(fixture_view(f, queue_get_metadata, &p));
    return p.count;
}

struct err fixture_delete(struct fixture *f, const struct queue_message *m)
{
    struct queue_change_message change = {.id = m->id, .receipt = m->receipt};
    return fixture_update(f, queue_delete_message, &change);
}

void fixture_sweep(struct fixture *f)
{
    struct queue_sweep sweep = {.after_n = 0};
    struct sweep_report report;
    do {
        report = (struct sweep_report){0};
        CHECK_OK(queue_sweep(&f->store, &sweep, &report));
    } while (report.more);
}

static struct err count_rows(struct txn *t, void *arg)
{
    size_t *n = arg;
    struct cursor *c;
    *n = 0;
    TRY(cursor_open(t, STR(""), &c));
    for (; c->valid; (*n)++)
        TRY(cursor_next(c));
    cursor_close(c);
    return OK;
}

size_t fixture_rows(struct fixture *f)
{
    size_t n;
    CHECK_OK(fixture_view(f, count_rows, &n));
    return n;
}

struct str fixture_texts(struct fixture *f, const struct queue_get_messages *get)
{
    struct buf b = buf_in(&f->arena);
    for (unsigned i = 0; i < get->count; i++) {
        buf_put(&b, get->messages[i].text);
        buf_putc(&b, ' ');
    }
    return buf_str(&b);
}
