/* SPDX-License-Identifier: Apache-2.0 */
/* Extents: writing, reading, reference counts, and freed space. */
#include <unistd.h>

#include "engine/wait.h"
#include "subject.h"

/* The bytes of a located span, read the way a front end sends them. */
static void check_span(const struct extent_span *span, const char *want)
{
    char got[4096];
    CHECK(span->length <= sizeof got);
    if (span->fd < 0)
        memcpy(got, span->memory, span->length);
    else
        CHECK(pread(span->fd, got, span->length, span->file_offset) == (ssize_t)span->length);
    CHECK(memcmp(got, want, span->length) == 0);
}

ENGINE_CASE(extent_write_and_read_sizes)
{
    static const uint32_t sizes[] = {1,     100,   4095,    4096,    65535,
                                     65536, 65537, 1000000, 4194303, EXTENT_BYTES_MAX};
    enum { COUNT = sizeof sizes / sizeof sizes[0] };
    struct extent x[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        x[i] = write_extent(s->engine, sizes[i], i);
        check_extent(s->engine, &x[i], i); /* readable before it is adopted */
        adopt_extent(s, &x[i]);
    }
    for (uint32_t i = 0; i < COUNT; i++)
        check_extent(s->engine, &x[i], i);
    subject_reopen(s);
    for (uint32_t i = 0; i < COUNT && s->kind->persistent; i++)
        check_extent(s->engine, &x[i], i);
}

ENGINE_CASE(extent_parts_are_located)
{
    enum { SIZE = 200000 };
    static char want[SIZE];
    fill_bytes(want, SIZE, 5);
    struct extent x = write_extent(s->engine, SIZE, 5);
    adopt_extent(s, &x);
    static const uint32_t offsets[] = {0, 1, 4096, 65535, 65536, 131071, SIZE - 1};
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        for (uint32_t length = 1; length <= 4096; length = length * 3 + 1) {
            if (offsets[i] + length > SIZE)
                continue;
            struct engine_pin *pin = engine_pin(s->engine);
            struct extent_span span;
            CHECK_OK(extent_locate(s->engine, &x, offsets[i], length, ENGINE_WAIT, &span));
            CHECK_INT(span.length, length);
            check_span(&span, want + offsets[i]);
            engine_loan_end(&span.loan);
            /* It was just read, so it is in memory. */
            CHECK_OK(extent_locate(s->engine, &x, offsets[i], length, ENGINE_NOWAIT, &span));
            check_span(&span, want + offsets[i]);
            engine_loan_end(&span.loan);
            char *copy = arena_bytes(&s->arena, length);
            CHECK_OK(extent_read(s->engine, &x, offsets[i], length, ENGINE_NOWAIT, copy));
            CHECK(memcmp(copy, want + offsets[i], length) == 0);
            engine_unpin(s->engine, pin);
        }
    }
}

/* Reads parts for the first time, then again. */
ENGINE_CASE(extent_parts_are_read_at_once)
{
    enum { SIZE = 200000, FROM = 65000, LENGTH = 70000 };
    static char want[SIZE];
    fill_bytes(want, SIZE, 5);
    struct extent x = write_extent(s->engine, SIZE, 5);
    adopt_extent(s, &x);
    char *copy = arena_bytes(&s->arena, LENGTH);
    for (unsigned i = 0; i < 3; i++) {
        memset(copy, 0, LENGTH);
        CHECK_OK(extent_read(s->engine, &x, FROM, LENGTH, ENGINE_NOWAIT, copy));
        CHECK(memcmp(copy, want + FROM, LENGTH) == 0);
    }
}

ENGINE_CASE(extent_may_be_shorter_than_asked)
{
    struct extent_writer *w;
    struct extent x;
    CHECK_OK(extent_begin(s->engine, EXTENT_BYTES_MAX, 0, &w));
    CHECK_OK(extent_append(w, STR("short")));
    CHECK_OK(extent_append(w, STR("")));
    CHECK_OK(extent_finish(w, &x));
    CHECK_INT(x.length, 5);
    adopt_extent(s, &x);
    char bytes[5];
    CHECK_OK(extent_read(s->engine, &x, 0, 5, ENGINE_WAIT, bytes));
    CHECK(memcmp(bytes, "short", 5) == 0);
}

ENGINE_CASE(extent_descriptor_round_trip)
{
    struct extent x = write_extent(s->engine, 12345, 3);
    struct buf b = buf_in(&s->arena);
    extent_encode(&b, &x);
    CHECK_INT(b.n, EXTENT_ENCODED_BYTES);
    struct reader r = reader_of(buf_str(&b));
    struct extent y = extent_decode(&r);
    CHECK(reader_done(&r));
    check_extent(s->engine, &y, 3);
    extent_discard(s->engine, &y);
    wait_for_bytes(s->engine, 0);
}

ENGINE_CASE(extent_wrong_descriptor_is_corrupt)
{
    struct extent x = write_extent(s->engine, 5000, 3);
    adopt_extent(s, &x);
    char byte;
    struct extent wrong = x;
    wrong.check ^= 1;
    CHECK_ERR(extent_read(s->engine, &wrong, 0, 1, ENGINE_WAIT, &byte), ERR_CORRUPT);
    wrong = x;
    wrong.length -= 1;
    CHECK_ERR(extent_read(s->engine, &wrong, 0, 1, ENGINE_WAIT, &byte), ERR_CORRUPT);
    wrong = x;
    wrong.segment += 1000;
    CHECK_ERR(extent_read(s->engine, &wrong, 0, 1, ENGINE_WAIT, &byte), ERR_CORRUPT);
    struct extent_span span;
    CHECK_ERR(extent_locate(s->engine, &wrong, 0, 1, ENGINE_WAIT, &span), ERR_CORRUPT);
    check_extent(s->engine, &x, 3);
}

ENGINE_CASE(extent_counts)
{
    enum { SIZE = 300000 };
    struct extent x = write_extent(s->engine, SIZE, 8);
    adopt_extent(s, &x);
    hold_extent(s, &x);
    hold_extent(s, &x);
    drop_extent(s, &x);
    subject_reopen(s);
    if (!s->kind->persistent)
        check_extent(s->engine, &x, 8);
    drop_extent(s, &x);
    check_extent(s->engine, &x, 8);
    drop_extent(s, &x);
    wait_for_bytes(s->engine, 0);
}

static struct err adopt_then_fail(struct txn *t, void *arg)
{
    TRY(txn_extent(t, EXTENT_ADOPT, arg));
    return err_new(ERR_CONDITION_NOT_MET);
}

static struct err drop_then_fail(struct txn *t, void *arg)
{
    TRY(txn_extent(t, EXTENT_DROP, arg));
    return err_new(ERR_CONDITION_NOT_MET);
}

ENGINE_CASE(extent_rolled_back_adoption_stays_the_callers)
{
    struct extent x = write_extent(s->engine, 70000, 4);
    CHECK_ERR(engine_update_wait(s->engine, STR("x"), adopt_then_fail, &x), ERR_CONDITION_NOT_MET);
    check_extent(s->engine, &x, 4);
    adopt_extent(s, &x);
    CHECK_ERR(engine_update_wait(s->engine, STR("x"), drop_then_fail, &x), ERR_CONDITION_NOT_MET);
    check_extent(s->engine, &x, 4);
    drop_extent(s, &x);
    struct extent y = write_extent(s->engine, 70000, 5);
    CHECK_ERR(engine_update_wait(s->engine, STR("x"), adopt_then_fail, &y), ERR_CONDITION_NOT_MET);
    extent_discard(s->engine, &y);
    wait_for_bytes(s->engine, 0);
}

static struct err adopt_and_drop(struct txn *t, void *arg)
{
    TRY(txn_extent(t, EXTENT_ADOPT, arg));
    TRY(txn_extent(t, EXTENT_HOLD, arg));
    TRY(txn_extent(t, EXTENT_DROP, arg));
    return txn_extent(t, EXTENT_DROP, arg);
}

ENGINE_CASE(extent_adopted_and_dropped_at_once)
{
    struct extent x = write_extent(s->engine, 70000, 4);
    update_ok(s, STR("x"), adopt_and_drop, &x);
    wait_for_bytes(s->engine, 0);
}

static struct err hold_fn(struct txn *t, void *arg)
{
    return txn_extent(t, EXTENT_HOLD, arg);
}

ENGINE_CASE(extent_hold_of_nothing_is_an_error)
{
    struct extent x = write_extent(s->engine, 10, 4);
    CHECK_ERR(engine_update_wait(s->engine, STR("x"), hold_fn, &x), ERR_CORRUPT);
    adopt_extent(s, &x);
    struct extent wrong = x;
    wrong.check ^= 1;
    CHECK_ERR(engine_update_wait(s->engine, STR("x"), hold_fn, &wrong), ERR_CORRUPT);
    drop_extent(s, &x);
}

ENGINE_CASE(extent_pin_keeps_the_dropped)
{
    struct extent x = write_extent(s->engine, 100000, 6);
    adopt_extent(s, &x);
    struct engine_pin *first = engine_pin(s->engine);
    struct engine_pin *second = engine_pin(s->engine);
    /* Adopted after the pin was taken, and dropped: kept as well, for a view may have seen it. */
    struct extent later = write_extent(s->engine, 100000, 7);
    adopt_extent(s, &later);
    drop_extent(s, &x);
    drop_extent(s, &later);
    put_row(s, STR("p"), STR("k"), STR("another commit"));
    check_extent(s->engine, &x, 6);
    engine_unpin(s->engine, first);
    /* A gateway learns about transactions of other shards from its heartbeats. */
    for (unsigned naps = 0; s->kind == &SUBJECT_CLUSTER && naps < 200; naps++)
        test_nap(__FILE__, __LINE__, "beats", naps);
    struct engine_pin *third = engine_pin(s->engine);
    put_row(s, STR("p"), STR("k"), STR("one more"));
    check_extent(s->engine, &x, 6);
    check_extent(s->engine, &later, 7);
    engine_unpin(s->engine, second);
    wait_for_bytes(s->engine, 0);
    engine_unpin(s->engine, third);
}

ENGINE_CASE(extent_abandoned_space_returns)
{
    struct extent_writer *w;
    static char bytes[1 << 20];
    for (int i = 0; i < 20; i++) {
        CHECK_OK(extent_begin(s->engine, 2 << 20, 0, &w));
        CHECK_OK(extent_append(w, (struct str){bytes, sizeof bytes}));
        extent_abandon(w);
    }
    CHECK_OK(extent_begin(s->engine, 100, 0, &w));
    extent_abandon(w);
    wait_for_bytes(s->engine, 0);
}

ENGINE_CASE(extent_many_in_turns)
{
    enum { LIVE = 16, ROUNDS = 200 };
    struct extent live[LIVE];
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t slot = round % LIVE;
        if (round >= LIVE) {
            check_extent(s->engine, &live[slot], round - LIVE);
            drop_extent(s, &live[slot]);
        }
        live[slot] = write_extent(s->engine, 1 + round * 977, round);
        adopt_extent(s, &live[slot]);
    }
    for (uint32_t slot = 0; slot < LIVE; slot++)
        drop_extent(s, &live[slot]);
    wait_for_bytes(s->engine, 0);
}

/* Prefetched parts read the same as others, whether they are read or not and however many are
 * prefetched. */
ENGINE_CASE(what_is_fetched_ahead_is_what_is_read)
{
    enum { COUNT = 40, LENGTH = 300000 };
    struct extent x[COUNT];
    static char part[LENGTH];
    for (uint32_t i = 0; i < COUNT; i++) {
        x[i] = write_extent(s->engine, LENGTH, i + 1);
        adopt_extent(s, &x[i]);
    }
    subject_reopen(s); /* so that nothing is in memory */
    for (uint32_t i = 0; i < COUNT; i++) {
        CHECK_OK(
            extent_read(s->engine, &x[i], i % 2 == 0 ? 0 : 70000, 100000, ENGINE_NOWAIT, NULL));
        CHECK_OK(
            extent_read(s->engine, &x[i], i % 2 == 0 ? 0 : 70000, 100000, ENGINE_NOWAIT, NULL));
    }
    for (uint32_t i = 0; i < COUNT; i += 3)
        CHECK_OK(extent_read(s->engine, &x[i], i % 2 == 0 ? 0 : 70000, 100000, ENGINE_WAIT, part));
    for (uint32_t i = 0; i < COUNT; i += 2)
        check_extent(s->engine, &x[i], i + 1);
    struct extent gone = write_extent(s->engine, LENGTH, 99);
    extent_discard(s->engine, &gone);
    CHECK_OK(extent_read(s->engine, &x[1], 0, LENGTH, ENGINE_NOWAIT, NULL));
}
