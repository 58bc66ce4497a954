/* SPDX-License-Identifier: Apache-2.0 */
/* Every operation with every engine call failing in turn: a failed operation changes nothing, and
 * the same operation succeeds when the fault is gone. */
#include "service/queue/queue_fixture.h"

#include "engine/fault.h"

struct dump {
    struct arena *arena;
    struct buf out;
};

static struct err dump_rows(struct txn *t, void *arg)
{
    struct dump *d = arg;
    struct cursor *c;
    d->out = buf_in(d->arena);
    TRY(cursor_open(t, STR(""), &c));
    while (c->valid) {
        buf_put_bytes(&d->out, c->key);
        buf_put_bytes(&d->out, c->value);
        TRY(cursor_next(c));
    }
    cursor_close(c);
    return OK;
}

static struct str all_rows(struct fixture *f)
{
    struct dump d = {.arena = &f->arena};
    CHECK_OK(fixture_view(f, dump_rows, &d));
    return buf_str(&d.out);
}

/* A queue with a message in each state: waiting, waiting with a long text, got, delayed, expired in
 * the log and expired while invisible. */
static struct queue_message furnish(struct fixture *f)
{
    fixture_init_fault(f);
    char *big = arena_bytes(&f->arena, 5001);
    memset(big, 'b', 5000);
    big[5000] = '\0';
    (void)fixture_put_for(f, "gone while got", 0, 3);
    (void)fixture_put(f, "got");
    struct queue_message got = fixture_get(f, 2, 2)->messages[1];
    (void)fixture_put_for(f, "gone", 0, 3);
    (void)fixture_put(f, big);
    (void)fixture_put_for(f, "delayed", 100, 200);
    (void)fixture_put(f, "waiting");
    fixture_seconds(f, 4);
    return got;
}

/* Runs the operation with the n-th call failing for n = 1, 2, … until it succeeds. */
static void fail_each_call(struct fixture *f, engine_fn *fn, void *arg, bool view)
{
    struct str before = all_rows(f);
    uint64_t n = 0;
    struct err error;
    do {
        engine_fault_arm(f->store.engine, ++n, err_new(ERR_IO));
        error = view ? fixture_view(f, fn, arg) : fixture_update(f, fn, arg);
        bool fired = engine_fault_fired(f->store.engine);
        engine_fault_arm(f->store.engine, 0, OK);
        CHECK(err_is(error) == fired);
        if (fired) {
            CHECK_ERR(error, ERR_IO);
            CHECK_STR(all_rows(f), before);
        }
    } while (err_is(error));
    CHECK(n > 1);
    fixture_release(f);
}

void test_queue_faults_put(void)
{
    struct fixture f;
    (void)furnish(&f);
    struct queue_put_message put = {.text = STR("new"), .visibility_s = 5, .ttl_s = 10};
    fail_each_call(&f, queue_put_message, &put, false);
}

void test_queue_faults_get(void)
{
    struct fixture f;
    (void)furnish(&f);
    struct queue_get_messages get = {.arena = &f.arena, .count_max = 32, .visibility_s = 5};
    fail_each_call(&f, queue_get_messages, &get, false);
    CHECK_INT(get.count, 3);
}

void test_queue_faults_peek(void)
{
    struct fixture f;
    (void)furnish(&f);
    struct queue_get_messages get = {.arena = &f.arena, .count_max = 32};
    fail_each_call(&f, queue_peek_messages, &get, true);
    CHECK_INT(get.count, 3);
}

void test_queue_faults_update(void)
{
    struct fixture f;
    struct queue_message m = furnish(&f);
    struct queue_change_message change = {
        .id = m.id, .receipt = m.receipt, .text = STR("changed"), .visibility_s = 9};
    fail_each_call(&f, queue_update_message, &change, false);
}

void test_queue_faults_delete_message(void)
{
    struct fixture f;
    struct queue_message m = furnish(&f);
    struct queue_change_message change = {.id = m.id, .receipt = m.receipt};
    fail_each_call(&f, queue_delete_message, &change, false);
}

void test_queue_faults_clear(void)
{
    struct fixture f;
    (void)furnish(&f);
    fail_each_call(&f, queue_clear_messages, NULL, false);
}

void test_queue_faults_delete_queue(void)
{
    struct fixture f;
    (void)furnish(&f);
    fail_each_call(&f, queue_delete, NULL, false);
}

void test_queue_faults_create(void)
{
    struct fixture f;
    (void)furnish(&f);
    CHECK_OK(fixture_update(&f, queue_delete, NULL));
    struct queue_create create = {STR_NONE, false};
    fail_each_call(&f, queue_create, &create, false);
    CHECK(!create.existed);
}

void test_queue_faults_get_metadata(void)
{
    struct fixture f;
    (void)furnish(&f);
    struct queue_properties p = {.arena = &f.arena};
    fail_each_call(&f, queue_get_metadata, &p, true);
    CHECK_INT(p.count, 4);
}

/* A sweep is several transactions: checks that it can be called again after a failure, with the
 * same result. */
void test_queue_faults_sweep(void)
{
    struct fixture f;
    (void)furnish(&f);
    CHECK_OK(fixture_update(&f, queue_clear_messages, NULL));
    (void)fixture_put_for(&f, "gone", 0, 1);
    fixture_seconds(&f, 1);
    struct queue_sweep sweep = {.after_n = 0};
    uint64_t n = 0;
    struct err error;
    do {
        struct sweep_report report = {0};
        engine_fault_arm(f.store.engine, ++n, err_new(ERR_IO));
        error = queue_sweep(&f.store, &sweep, &report);
        engine_fault_arm(f.store.engine, 0, OK);
    } while (err_is(error));
    CHECK_INT(fixture_rows(&f), 2);
    CHECK_INT(fixture_count(&f), 0);
    fixture_release(&f);
}
