/* SPDX-License-Identifier: Apache-2.0 */
/* Rows with a body beside their value. */
#include <stdio.h>

#include "engine/local/local.h"
#include "engine/stats.h"
#include "engine/wait.h"
#include "subject.h"

enum { SMALL_BODY = 100, LARGE_BODY = 5000, HUGE_BODY = 300000 };

struct bodied {
    struct str key;
    struct str value;
    struct str body;
    struct arena *arena;
};

static struct err put_bodied(struct txn *t, void *arg)
{
    const struct bodied *b = arg;
    return txn_put_row(t, &(struct engine_row){.key = b->key, .value = b->value, .body = b->body});
}

static struct err get_bodied(struct txn *t, void *arg)
{
    struct bodied *b = arg;
    struct str value;
    struct str body;
    TRY(get_with_body(t, b->key, &value, &body));
    b->value = arena_copy(b->arena, value);
    b->body = arena_copy(b->arena, body);
    return OK;
}

/* Row "key number" of partition "b"; its body is drawn from the seed. */
static struct bodied bodied_of(struct subject *s, uint32_t number, size_t bytes, uint32_t seed)
{
    struct buf key = buf_in(&s->arena);
    struct buf value = buf_in(&s->arena);
    buf_printf(&key, "key %u", number);
    buf_printf(&value, "value %u of %u", seed, number);
    char *body = arena_bytes(&s->arena, bytes);
    fill_bytes(body, bytes, seed);
    return (struct bodied){buf_str(&key), buf_str(&value), {body, bytes}, &s->arena};
}

static void put_body(struct subject *s, uint32_t number, size_t bytes, uint32_t seed)
{
    struct bodied b = bodied_of(s, number, bytes, seed);
    update_ok(s, STR("b"), put_bodied, &b);
}

static void check_body(struct subject *s, uint32_t number, size_t bytes, uint32_t seed)
{
    struct bodied b = bodied_of(s, number, bytes, seed);
    for (int i = 0; i < 4; i++) { /* from below, and then from the cache */
        struct bodied got = {.key = b.key, .arena = &s->arena};
        view_ok(s, STR("b"), get_bodied, &got);
        CHECK_STR(got.value, b.value);
        CHECK_STR(got.body, b.body);
        CHECK_STR(get_row(s, STR("b"), b.key), b.value);
    }
    arena_reset(&s->arena);
}

static const size_t SIZES[] = {1, SMALL_BODY, 511, 512, 1024, LARGE_BODY, HUGE_BODY};
enum { SIZE_COUNT = sizeof SIZES / sizeof SIZES[0] };

ENGINE_CASE(body_is_beside_the_value)
{
    for (uint32_t i = 0; i < SIZE_COUNT; i++)
        put_body(s, i, SIZES[i], 10 + i);
    for (uint32_t i = 0; i < SIZE_COUNT; i++)
        check_body(s, i, SIZES[i], 10 + i);
    for (uint32_t i = 0; i < SIZE_COUNT; i++) /* rows that were read are replaced */
        put_body(s, i, SIZES[SIZE_COUNT - 1 - i], 20 + i);
    for (uint32_t i = 0; i < SIZE_COUNT; i++)
        check_body(s, i, SIZES[SIZE_COUNT - 1 - i], 20 + i);
    subject_reopen(s);
    for (uint32_t i = 0; s->kind->persistent && i < SIZE_COUNT; i++)
        check_body(s, i, SIZES[SIZE_COUNT - 1 - i], 20 + i);
}

ENGINE_CASE(body_goes_with_a_put_and_a_delete)
{
    struct bodied got = {.key = STR("key 1"), .arena = &s->arena};
    put_body(s, 1, LARGE_BODY, 1);
    put_row(s, STR("b"), STR("key 1"), STR("plain"));
    view_ok(s, STR("b"), get_bodied, &got);
    CHECK_STR(got.value, STR("plain"));
    CHECK(!str_given(got.body));
    put_body(s, 1, SMALL_BODY, 2);
    check_body(s, 1, SMALL_BODY, 2);
    del_row(s, STR("b"), STR("key 1"));
    view_ok(s, STR("b"), get_bodied, &got);
    CHECK(!str_given(got.value) && !str_given(got.body));
    struct bodied empty = {STR("key 2"), STR(""), STR("x"), &s->arena};
    update_ok(s, STR("b"), put_bodied, &empty);
    got.key = STR("key 2");
    view_ok(s, STR("b"), get_bodied, &got);
    CHECK(str_given(got.value) && got.value.n == 0);
    CHECK_STR(got.body, STR("x"));
    empty.body = STR("");
    update_ok(s, STR("b"), put_bodied, &empty);
    view_ok(s, STR("b"), get_bodied, &got);
    CHECK(str_given(got.value) && !str_given(got.body));
}

/* An update sees its own writes, and a cursor returns only values. */
static struct err write_and_look(struct txn *t, void *arg)
{
    struct subject *s = arg;
    struct bodied b = bodied_of(s, 1, LARGE_BODY, 7);
    struct str value;
    struct str body;
    struct cursor *c;
    TRY(txn_put_row(t, &(struct engine_row){.key = b.key, .value = b.value, .body = b.body}));
    TRY(get_with_body(t, b.key, &value, &body));
    CHECK_STR(value, b.value);
    CHECK_STR(body, b.body);
    TRY(txn_get(t, b.key, &value));
    CHECK_STR(value, b.value);
    TRY(cursor_open(t, STR(""), &c));
    for (uint32_t n = 0; n < 3; n++) {
        CHECK(c->valid);
        CHECK(str_starts(c->value, STR("value ")));
        TRY(cursor_next(c));
    }
    CHECK(!c->valid);
    cursor_close(c);
    return err_new(ERR_BLOB_NOT_FOUND);
}

static struct err look(struct txn *t, void *arg)
{
    (void)arg;
    struct cursor *c;
    struct cursor *scan;
    int seen = 0;
    TRY(cursor_open(t, STR(""), &c));
    for (; c->valid; seen++) {
        CHECK(str_starts(c->value, STR("value ")));
        TRY(cursor_next(c));
    }
    cursor_close(c);
    TRY(cursor_open_across(t, STR("b"), STR(""), STR(""), &scan));
    for (; scan->valid; seen++) {
        CHECK(str_starts(scan->value, STR("value ")));
        TRY(cursor_next(scan));
    }
    cursor_close(scan);
    CHECK_INT(seen, 6);
    return OK;
}

ENGINE_CASE(body_in_transactions_and_cursors)
{
    put_body(s, 0, LARGE_BODY, 1);
    put_body(s, 1, SMALL_BODY, 2);
    put_body(s, 2, LARGE_BODY, 3);
    CHECK_ERR(engine_update_wait(s->engine, STR("b"), write_and_look, s), ERR_BLOB_NOT_FOUND);
    check_body(s, 1, SMALL_BODY, 2);
    view_ok(s, STR("b"), look, NULL);
}

/* ---- rows that keep their bodies ---- */

static struct err keep_body(struct txn *t, void *arg)
{
    const struct bodied *b = arg;
    struct str before;
    TRY(txn_get(t, b->key, &before));
    CHECK(str_given(before));
    return txn_put_row(t,
                       &(struct engine_row){.key = b->key, .value = b->value, .keeps_body = true});
}

/* The same to a row that the update itself has written, and twice. */
static struct err put_and_keep(struct txn *t, void *arg)
{
    struct bodied *b = arg;
    struct str value;
    struct str body;
    struct engine_row row = {.key = b->key, .value = STR("of the first put"), .body = b->body};
    TRY(txn_put_row(t, &row));
    row = (struct engine_row){.key = b->key, .value = STR("kept once"), .keeps_body = true};
    TRY(txn_put_row(t, &row));
    row.value = b->value;
    TRY(txn_put_row(t, &row));
    TRY(get_with_body(t, b->key, &value, &body));
    CHECK_STR(value, b->value);
    CHECK_STR(body, b->body);
    return OK;
}

static struct err keep_and_fail(struct txn *t, void *arg)
{
    TRY(keep_body(t, arg));
    return err_new(ERR_BLOB_NOT_FOUND);
}

/* The value changes, and the body is still that of the seed. */
static void check_kept(struct subject *s, uint32_t number, struct str value, uint32_t seed)
{
    struct bodied b = bodied_of(s, number, SIZES[number % SIZE_COUNT], seed);
    for (int i = 0; i < 4; i++) { /* from below, and then from the cache */
        struct bodied got = {.key = b.key, .arena = &s->arena};
        view_ok(s, STR("b"), get_bodied, &got);
        CHECK_STR(got.value, value);
        CHECK_STR(got.body, b.body);
        CHECK_STR(get_row(s, STR("b"), b.key), value);
    }
}

static void keep(struct subject *s, uint32_t number, struct str value)
{
    struct bodied b = bodied_of(s, number, 1, 0);
    b.value = value;
    update_ok(s, STR("b"), keep_body, &b);
}

ENGINE_CASE(body_is_kept_by_a_put)
{
    for (uint32_t i = 0; i < SIZE_COUNT; i++)
        put_body(s, i, SIZES[i], 10 + i);
    for (uint32_t i = 0; i < SIZE_COUNT; i++) {
        if (i % 2 == 0)
            check_body(s, i, SIZES[i], 10 + i); /* those are cached whole */
        keep(s, i, STR("a new value"));
        check_kept(s, i, STR("a new value"), 10 + i);
        struct bodied b = bodied_of(s, i, 1, 0);
        CHECK_ERR(engine_update_wait(s->engine, STR("b"), keep_and_fail, &b), ERR_BLOB_NOT_FOUND);
        keep(s, i, STR(""));
        check_kept(s, i, STR(""), 10 + i);
    }
    subject_reopen(s);
    for (uint32_t i = 0; s->kind->persistent && i < SIZE_COUNT; i++) {
        check_kept(s, i, STR(""), 10 + i);
        keep(s, i, STR("of the second run"));
        check_kept(s, i, STR("of the second run"), 10 + i);
    }
    put_row(s, STR("b"), STR("key 1"), STR("plain")); /* and there is none any more */
    keep(s, 1, STR("still plain"));
    struct bodied got = {.key = STR("key 1"), .arena = &s->arena};
    view_ok(s, STR("b"), get_bodied, &got);
    CHECK_STR(got.value, STR("still plain"));
    CHECK(!str_given(got.body) || got.body.n == 0);
}

ENGINE_CASE(body_is_kept_within_an_update)
{
    for (uint32_t i = 0; i < SIZE_COUNT; i++) {
        struct bodied b = bodied_of(s, i, SIZES[i], 30 + i);
        update_ok(s, STR("b"), put_and_keep, &b);
        check_body(s, i, SIZES[i], 30 + i);
    }
}

struct lent {
    struct str key;
    struct str body;
    struct engine_loan loan;
    bool stays;
};

static struct err lend_body(struct txn *t, void *arg)
{
    struct lent *l = arg;
    struct engine_read read = {.key = l->key, .with_body = true, .loan = &l->loan};
    TRY(txn_get_many(t, &read, 1));
    l->body = read.body;
    l->stays = l->loan.end != NULL;
    return OK;
}

/* Lent bytes do not change, whatever happens to their row. */
ENGINE_CASE(body_is_lent)
{
    struct lent lent = {.key = STR("key 1")};
    put_body(s, 1, LARGE_BODY, 1);
    check_body(s, 1, LARGE_BODY, 1);
    for (int i = 0; i < 2; i++) /* again, as a function that would have had to wait */
        view_ok(s, STR("b"), lend_body, &lent);
    put_body(s, 1, LARGE_BODY, 2);
    check_body(s, 1, LARGE_BODY, 2);
    del_row(s, STR("b"), STR("key 1"));
    CHECK(!lent.stays || str_eq(lent.body, bodied_of(s, 1, LARGE_BODY, 1).body));
    engine_loan_end(&lent.loan);
    engine_loan_end(&lent.loan);
}

/* ---- the local engine ---- */

static struct subject local_subject(void)
{
    struct subject s = {.kind = &SUBJECT_LOCAL};
    clock_init_manual(&s.clock, 20000 * TICKS_PER_DAY);
    arena_init(&s.arena, SIZE_MAX);
    return s;
}

static void write_bodies(struct subject *s)
{
    for (uint32_t i = 0; i < SIZE_COUNT; i++)
        put_body(s, i, SIZES[i], 10 + i);
}

static bool no_extents(struct str partition, struct str key, struct str value,
                       void (*named)(void *sink, const struct extent *x), void *sink)
{
    (void)partition;
    (void)key;
    (void)value;
    (void)named;
    (void)sink;
    return true;
}

static void count_problem(void *arg, const char *text)
{
    (void)text;
    ++*(int *)arg;
}

void test_local_lends_bodies_that_are_read_again(void)
{
    struct subject s = local_subject();
    struct lent lent = {.key = STR("key 1")};
    s.engine = s.kind->open(&s);
    put_body(&s, 1, LARGE_BODY, 1);
    check_body(&s, 1, LARGE_BODY, 1);
    view_ok(&s, STR("b"), lend_body, &lent);
    CHECK(lent.stays);
    engine_close(s.engine);
    CHECK_STR(lent.body, bodied_of(&s, 1, LARGE_BODY, 1).body);
    engine_loan_end(&lent.loan);
    arena_release(&s.arena);
}

static void write_and_keep(struct subject *s)
{
    write_bodies(s);
    for (uint32_t i = 0; i < SIZE_COUNT; i++)
        keep(s, i, STR("value kept"));
}

void test_local_kept_bodies_survive_crashes(void)
{
    struct subject s = local_subject();
    run_and_crash(&s, write_and_keep);
    for (int i = 0; i < 3; i++) {
        int problems = 0;
        struct engine_check check = {
            .refs = no_extents, .problem = count_problem, .arg = &problems};
        s.read_only = i == 0;
        s.engine = s.kind->open(&s);
        for (uint32_t n = 0; n < SIZE_COUNT && !s.read_only; n++)
            check_kept(&s, n, STR("value kept"), 10 + n);
        CHECK_OK(engine_local_check(s.engine, &check));
        CHECK_INT(problems, 0);
        CHECK_INT(check.rows, SIZE_COUNT);
        CHECK(check.bytes > HUGE_BODY + LARGE_BODY);
        engine_close(s.engine);
    }
    arena_release(&s.arena);
}

/* What is not written again needs no room in the journal. */
void test_local_kept_bodies_are_not_written_again(void)
{
    enum { TIMES = 100 };
    struct subject s = local_subject();
    struct engine_stats before;
    struct engine_stats after;
    s.engine = s.kind->open(&s);
    put_body(&s, 6, HUGE_BODY, 16);
    engine_stats(s.engine, &before);
    for (int i = 0; i < TIMES; i++)
        keep(&s, 6, STR("value kept"));
    engine_stats(s.engine, &after);
    CHECK(after.journal_bytes - before.journal_bytes < HUGE_BODY);
    check_kept(&s, 6, STR("value kept"), 16);
    engine_close(s.engine);
    arena_release(&s.arena);
}

void test_local_bodies_survive_crashes(void)
{
    struct subject s = local_subject();
    run_and_crash(&s, write_bodies);
    for (int i = 0; i < 3; i++) { /* applied to an overlay first, where nothing may be written */
        int problems = 0;
        struct engine_check check = {
            .refs = no_extents, .problem = count_problem, .arg = &problems};
        s.read_only = i == 0;
        s.engine = s.kind->open(&s);
        for (uint32_t n = 0; n < SIZE_COUNT && !s.read_only; n++)
            check_body(&s, n, SIZES[n], 10 + n);
        CHECK_OK(engine_local_check(s.engine, &check));
        CHECK_INT(problems, 0);
        CHECK_INT(check.rows, SIZE_COUNT);
        CHECK(check.bytes > HUGE_BODY + LARGE_BODY);
        engine_close(s.engine);
    }
    arena_release(&s.arena);
}

enum { FILE_BYTES = 1 << 20, KEYS = 50, BODY = 20000, ROUNDS = 12 };

static void overwrite_bodies(struct subject *s)
{
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t key = 0; key < KEYS; key++) {
            /* Some stay, so that they have to be moved. */
            if (round == 0 || key % 4 != 0)
                put_body(s, key, BODY, round * KEYS + key);
            /* And some of these get another value meanwhile. */
            if (key % 8 == 0)
                keep(s, key, STR("value kept"));
        }
        arena_reset(&s->arena);
    }
    char folder[300];
    (void)snprintf(folder, sizeof folder, "%s/journal", subject_folder());
    WAIT_UNTIL(folder_bytes(folder) <= 5 * FILE_BYTES);
}

void test_local_bodies_are_collected(void)
{
    struct subject s = local_subject();
    s.journal_file_bytes = FILE_BYTES;
    run_and_crash(&s, overwrite_bodies);
    s.engine = s.kind->open(&s);
    for (uint32_t key = 0; key < KEYS; key++) {
        uint32_t round = key % 4 == 0 ? 0 : ROUNDS - 1;
        struct bodied want = bodied_of(&s, key, BODY, round * KEYS + key);
        struct bodied got = {.key = want.key, .arena = &s.arena};
        view_ok(&s, STR("b"), get_bodied, &got);
        CHECK_STR(got.value, key % 8 == 0 ? STR("value kept") : want.value);
        CHECK_STR(got.body, want.body);
    }
    engine_close(s.engine);
    arena_release(&s.arena);
}
