/* SPDX-License-Identifier: Apache-2.0 */
/* The fault-injecting wrapper, and the loop in which services use it. */
#include "engine/fault.h"

#include "engine/mem/mem.h"
#include "engine/wait.h"
#include "subject.h"

/* Makes every call that a transaction has. */
static struct err busy_update(struct txn *t, void *arg)
{
    const struct extent *held = arg;
    struct str value;
    struct cursor *c;
    TRY(txn_put(t, STR("a"), STR("changed")));
    TRY(txn_get(t, STR("a"), &value));
    TRY(get_hot(t, STR("b"), &value));
    TRY(get_in(t, STR("q"), STR("a"), &value));
    TRY(cursor_open(t, STR(""), &c));
    struct err e = cursor_seek(c, STR("b"));
    if (!err_is(e))
        e = cursor_next(c);
    if (!err_is(e))
        e = cursor_skip(c, STR("c"));
    if (!err_is(e))
        e = cursor_seek_before(c, STR_NONE);
    cursor_close(c);
    TRY(e);
    TRY(txn_extent(t, EXTENT_HOLD, held));
    TRY(txn_extent(t, EXTENT_DROP, held));
    TRY(txn_extent(t, EXTENT_HOLD, held));
    TRY(txn_del(t, STR("b")));
    return txn_put(t, STR("c"), STR("new"));
}

void test_fault_every_failure_changes_nothing(void)
{
    enum { CALLS = 16 };
    struct subject s = {.kind = &SUBJECT_FAULT};
    clock_init_manual(&s.clock, TICKS_PER_DAY);
    arena_init(&s.arena, SIZE_MAX);
    s.engine = SUBJECT_FAULT.open(&s);
    put_row(&s, STR("p"), STR("a"), STR("1"));
    put_row(&s, STR("p"), STR("b"), STR("2"));
    struct extent x = write_extent(s.engine, 100, 1);
    adopt_extent(&s, &x);
    uint64_t n = 1;
    for (;; n++) {
        engine_fault_arm(s.engine, n, err_cause(ERR_IO, (int)n));
        struct err e = engine_update_wait(s.engine, STR("p"), busy_update, &x);
        bool fired = engine_fault_fired(s.engine);
        engine_fault_arm(s.engine, 0, OK);
        if (!fired) {
            CHECK_OK(e);
            break;
        }
        CHECK_ERR(e, ERR_IO);
        CHECK_INT(e.cause, n);
        CHECK_STR(get_row(&s, STR("p"), STR("a")), STR("1"));
        CHECK_STR(get_row(&s, STR("p"), STR("b")), STR("2"));
        CHECK(!str_given(get_row(&s, STR("p"), STR("c"))));
    }
    CHECK(n > CALLS);
    CHECK_STR(get_row(&s, STR("p"), STR("c")), STR("new"));
    /* Held exactly once more, in spite of all the failures. */
    drop_extent(&s, &x);
    check_extent(s.engine, &x, 1);
    drop_extent(&s, &x);
    wait_for_bytes(s.engine, 0);
    engine_close(s.engine);
    arena_release(&s.arena);
}

static struct err write_some(struct engine *e, struct extent *x)
{
    struct extent_writer *w;
    TRY(extent_begin(e, 10, 0, &w));
    struct err result = extent_append(w, STR("abcde"));
    if (!err_is(result))
        return extent_finish(w, x);
    extent_abandon(w);
    return result;
}

void test_fault_extents_fail_and_free(void)
{
    struct clock clock;
    clock_init_system(&clock);
    struct engine *e = engine_fault_new(engine_mem_new(&clock));
    struct extent x;
    for (uint64_t n = 1; n <= 3; n++) {
        engine_fault_arm(e, n, err_new(ERR_NO_SPACE));
        CHECK_ERR(write_some(e, &x), ERR_NO_SPACE);
        CHECK(engine_fault_fired(e));
    }
    engine_fault_arm(e, 4, err_new(ERR_IO));
    CHECK_OK(write_some(e, &x));
    CHECK(!engine_fault_fired(e));
    char bytes[5];
    CHECK_ERR(extent_read(e, &x, 0, 5, ENGINE_WAIT, bytes), ERR_IO);
    CHECK_OK(extent_read(e, &x, 0, 5, ENGINE_WAIT, bytes));
    CHECK(memcmp(bytes, "abcde", 5) == 0);
    extent_discard(e, &x);
    engine_close(e);
}
