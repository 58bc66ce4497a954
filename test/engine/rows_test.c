/* SPDX-License-Identifier: Apache-2.0 */
/* Rows, rollback, stamps: what one transaction at a time sees. */
#include <stdio.h>
#include <stdlib.h>

#include "core/mem.h"
#include "engine/wait.h"
#include "subject.h"

ENGINE_CASE(rows_put_get_del)
{
    CHECK(!str_given(get_row(s, STR("p"), STR("k"))));
    put_row(s, STR("p"), STR("k"), STR("one"));
    put_row(s, STR("q"), STR("k"), STR("other"));
    CHECK_STR(get_row(s, STR("p"), STR("k")), STR("one"));
    put_row(s, STR("p"), STR("k"), STR("two"));
    CHECK_STR(get_row(s, STR("p"), STR("k")), STR("two"));
    CHECK_STR(get_row(s, STR("q"), STR("k")), STR("other"));
    del_row(s, STR("p"), STR("k"));
    del_row(s, STR("p"), STR("never there"));
    CHECK(!str_given(get_row(s, STR("p"), STR("k"))));
    subject_reopen(s);
    CHECK(!str_given(get_row(s, STR("p"), STR("k"))) || !s->kind->persistent);
    if (s->kind->persistent)
        CHECK_STR(get_row(s, STR("q"), STR("k")), STR("other"));
}

ENGINE_CASE(rows_empty_and_binary)
{
    put_row(s, STR(""), STR(""), STR(""));
    struct str empty = get_row(s, STR(""), STR(""));
    CHECK(str_given(empty) && empty.n == 0);
    put_row(s, STR("\0"), STR("\0\xFF"), STR("a\0b"));
    put_row(s, STR("\0\0"), STR("\xFF"), STR("c"));
    CHECK_STR(get_row(s, STR("\0"), STR("\0\xFF")), STR("a\0b"));
    CHECK_STR(get_row(s, STR("\0\0"), STR("\xFF")), STR("c"));
    CHECK(!str_given(get_row(s, STR("\0"), STR("\xFF"))));
}

struct kept_rows {
    struct engine_state *state;
    struct arena *arena;
    struct str small, large, gone;
};

static struct err keep_state(struct txn *t, void *arg)
{
    struct kept_rows *k = arg;
    txn_keep_state(t, &k->state);
    return OK;
}

static struct err read_kept(struct txn *t, void *arg)
{
    struct kept_rows *k = arg;
    TRY(txn_get(t, STR("small"), &k->small));
    TRY(get_hot(t, STR("large"), &k->large));
    TRY(txn_get(t, STR("gone"), &k->gone));
    k->small = arena_copy(k->arena, k->small);
    k->large = arena_copy(k->arena, k->large);
    k->gone = arena_copy(k->arena, k->gone);
    return OK;
}

/* ---- several rows together ---- */

enum { MANY = 12 };

struct many {
    char keys[MANY][4];
    struct engine_read reads[MANY];
    char found[MANY + 1]; /* what was found of each: '-', or the value's first byte */
};

/* Keys k0, k1, ... of the partition itself, unless others are set. */
static void many_init(struct many *m)
{
    *m = (struct many){0};
    for (unsigned i = 0; i < MANY; i++)
        m->reads[i].key =
            (struct str){m->keys[i], (size_t)snprintf(m->keys[i], sizeof m->keys[i], "k%u", i)};
}

static struct err read_many(struct txn *t, void *arg)
{
    struct many *m = arg;
    TRY(txn_get_many(t, m->reads, 0));
    TRY(txn_get_many(t, m->reads, MANY));
    for (unsigned i = 0; i < MANY; i++)
        m->found[i] = str_given(m->reads[i].value) ? m->reads[i].value.p[0] : '-';
    return OK;
}

static struct err write_and_read_many(struct txn *t, void *arg)
{
    TRY(txn_put(t, STR("k3"), STR("new")));
    TRY(txn_del(t, STR("k5")));
    return read_many(t, arg);
}

static void check_many(struct subject *s, struct many *m, const char *found)
{
    view_ok(s, STR("p"), read_many, m);
    CHECK_STR(str_of(m->found), str_of(found));
    update_ok(s, STR("p"), read_many, m);
    CHECK_STR(str_of(m->found), str_of(found));
}

ENGINE_CASE(rows_many_are_read_together)
{
    struct many m;
    many_init(&m);
    put_row(s, STR("o"), STR("k1"), STR("another partition's"));
    put_row(s, STR("q"), STR("k1"), STR("another partition's"));
    check_many(s, &m, "------------");
    put_row(s, STR("p"), STR("k5"), STR("5"));
    check_many(s, &m, "-----5------");
    put_row(s, STR("p"), STR("k11"), STR("b"));
    check_many(s, &m, "-----5-----b");
    update_ok(s, STR("p"), write_and_read_many, &m);
    CHECK_STR(str_of(m.found), STR("---n-------b"));
    m.reads[0].partition = STR("q");
    m.reads[0].key = STR("k1");
    m.reads[1].partition = STR("none");
    m.reads[2].hints = HINT_SOON;
    m.reads[4].key = m.reads[3].key; /* one key twice */
    check_many(s, &m, "a--nn------b");
}

struct bodies {
    struct engine_read reads[3];
    struct str bodies[3];
};

static struct err put_and_insert(struct txn *t, void *arg)
{
    (void)arg;
    TRY(txn_put_row(
        t, &(struct engine_row){.key = STR("a"), .value = STR("1"), .body = STR("body of a")}));
    TRY(txn_insert(t, &(struct engine_row){.key = STR("b"), .value = STR("2"), .body = STR("b")}));
    TRY(txn_insert(t, &(struct engine_row){.key = STR("c"), .value = STR("")}));
    TRY(txn_del(t, STR("c")));
    return txn_insert(t, &(struct engine_row){.key = STR("c"), .value = STR("3")});
}

static struct err read_bodies(struct txn *t, void *arg)
{
    struct bodies *b = arg;
    TRY(txn_get_many(t, b->reads, 3));
    CHECK_STR(b->reads[0].body, STR("body of a"));
    CHECK(!str_given(b->reads[1].body)); /* not asked for */
    CHECK_STR(b->reads[1].value, STR("2"));
    CHECK(b->reads[2].body.n == 0);
    CHECK_STR(b->reads[2].value, STR("3"));
    return OK;
}

ENGINE_CASE(rows_many_with_and_without_bodies)
{
    struct bodies b = {.reads = {{.key = STR("a"), .with_body = true},
                                 {.key = STR("b")},
                                 {.key = STR("c"), .with_body = true}}};
    update_ok(s, STR("p"), put_and_insert, NULL);
    view_ok(s, STR("p"), read_bodies, &b);
    subject_reopen(s);
    view_ok(s, STR("p"), read_bodies, &b);
    update_ok(s, STR("p"), read_bodies, &b);
}

/* A kept state does not change with later commits; keeping it again gives the newer state. */
ENGINE_CASE(rows_of_a_kept_state)
{
    enum { LARGE = 100000 };
    char *bytes = arena_bytes(&s->arena, LARGE);
    struct kept_rows k = {.arena = &s->arena};
    fill_bytes(bytes, LARGE, 1);
    struct str before = arena_copy(&s->arena, (struct str){bytes, LARGE});
    put_row(s, STR("p"), STR("small"), STR("one"));
    put_row(s, STR("p"), STR("large"), before);
    put_row(s, STR("p"), STR("gone"), STR("here"));
    CHECK_OK(engine_view(s->engine, STR("p"), ENGINE_WAIT, keep_state, &k));
    del_row(s, STR("p"), STR("gone"));
    for (uint32_t i = 0; i < 50; i++) {
        fill_bytes(bytes, LARGE, i + 2);
        put_row(s, STR("p"), STR("small"), (struct str){bytes, 10});
        put_row(s, STR("p"), STR("large"), (struct str){bytes, LARGE});
    }
    CHECK_OK(engine_flush(s->engine));
    CHECK_OK(engine_view_state(s->engine, k.state, STR("p"), read_kept, &k));
    CHECK_STR(k.small, STR("one"));
    CHECK_STR(k.large, before);
    CHECK_STR(k.gone, STR("here"));
    CHECK_OK(engine_view(s->engine, STR("p"), ENGINE_WAIT, keep_state, &k));
    CHECK_OK(engine_view_state(s->engine, k.state, STR("p"), read_kept, &k));
    CHECK_STR(k.large, ((struct str){bytes, LARGE}));
    CHECK(!str_given(k.gone));
    engine_state_release(s->engine, k.state);
}

ENGINE_CASE(rows_of_the_largest_sizes)
{
    char *bytes = mem_alloc(ENGINE_VALUE_MAX);
    fill_bytes(bytes, ENGINE_VALUE_MAX, 1);
    memset(bytes, 0, 16); /* zeros are written as two bytes in keys */
    struct str partition = {bytes, ENGINE_PARTITION_MAX};
    struct str key = {bytes, ENGINE_KEY_MAX};
    struct str value = {bytes, ENGINE_VALUE_MAX};
    put_row(s, partition, key, value);
    put_row(s, partition, STR("small"), STR("v"));
    CHECK_STR(get_row(s, partition, key), value);
    subject_reopen(s);
    if (s->kind->persistent)
        CHECK_STR(get_row(s, partition, key), value);
    free(bytes);
}

static struct err reads_own_writes(struct txn *t, void *arg)
{
    (void)arg;
    CHECK(txn_writable(t));
    struct str before;
    struct str value;
    TRY(txn_get(t, STR("old"), &before));
    CHECK_STR(before, STR("from before"));
    TRY(txn_put(t, STR("old"), STR("changed")));
    TRY(txn_get(t, STR("old"), &value));
    CHECK_STR(value, STR("changed"));
    TRY(txn_put(t, STR("old"), STR("again")));
    /* A returned value stays valid although the row was replaced twice. */
    CHECK_STR(before, STR("from before"));
    CHECK_STR(value, STR("changed"));
    TRY(txn_del(t, STR("old")));
    TRY(txn_get(t, STR("old"), &value));
    CHECK(!str_given(value));
    TRY(get_hot(t, STR("old"), &value));
    CHECK(!str_given(value));
    TRY(txn_put(t, STR("old"), STR("back")));
    TRY(get_hot(t, STR("old"), &value));
    CHECK_STR(value, STR("back"));
    TRY(get_in(t, STR("p"), STR("old"), &value));
    CHECK_STR(value, STR("back"));
    TRY(get_in(t, STR("q"), STR("k"), &value));
    CHECK_STR(value, STR("next door"));
    return OK;
}

ENGINE_CASE(rows_update_reads_own_writes)
{
    put_row(s, STR("p"), STR("old"), STR("from before"));
    put_row(s, STR("q"), STR("k"), STR("next door"));
    update_ok(s, STR("p"), reads_own_writes, NULL);
    CHECK_STR(get_row(s, STR("p"), STR("old")), STR("back"));
}

static struct err writes_then_fails(struct txn *t, void *arg)
{
    (void)arg;
    TRY(txn_put(t, STR("a"), STR("new")));
    TRY(txn_put(t, STR("b"), STR("new")));
    TRY(txn_del(t, STR("c")));
    return err_cause(ERR_CONDITION_NOT_MET, 7);
}

ENGINE_CASE(rows_error_rolls_back)
{
    put_row(s, STR("p"), STR("a"), STR("old"));
    put_row(s, STR("p"), STR("c"), STR("old"));
    struct err e = engine_update_wait(s->engine, STR("p"), writes_then_fails, NULL);
    CHECK_ERR(e, ERR_CONDITION_NOT_MET);
    CHECK_INT(e.cause, 7);
    CHECK_STR(get_row(s, STR("p"), STR("a")), STR("old"));
    CHECK(!str_given(get_row(s, STR("p"), STR("b"))));
    CHECK_STR(get_row(s, STR("p"), STR("c")), STR("old"));
    subject_reopen(s);
    if (s->kind->persistent)
        CHECK_STR(get_row(s, STR("p"), STR("c")), STR("old"));
}

/* ---- rows that grow ---- */

enum { APPENDS = 64, APPENDED_BYTES = 40, APPENDS_FAIL_EVERY = 4 };

struct append {
    struct engine_update update; /* first */
    char letter;
};

static void append_done(struct engine_update *u)
{
    (void)u; /* an update that is waited for comes after it */
}

static struct err append_letters(struct txn *t, void *arg)
{
    const struct append *a = arg;
    char bytes[APPENDED_BYTES];
    struct str before;
    struct str after;
    memset(bytes, a->letter, sizeof bytes);
    TRY(txn_get(t, STR("grows"), &before));
    TRY(txn_append(t, STR("grows"), (struct str){bytes, 1}, 0));
    TRY(txn_append(t, STR("grows"), (struct str){bytes, sizeof bytes - 1}, HINT_SOON));
    TRY(txn_get(t, STR("grows"), &after));
    CHECK_INT(after.n, before.n + sizeof bytes);
    CHECK_STR(str_head(after, before.n), before);
    return a->letter == 'x' ? err_new(ERR_CONDITION_NOT_MET) : OK;
}

/* Many updates at a time, some of which fail: each sees the effects of those before it. */
ENGINE_CASE(rows_grow_by_what_is_appended)
{
    static struct append appends[APPENDS];
    char want[1 + APPENDS * APPENDED_BYTES];
    size_t want_n = 1;
    want[0] = '=';
    put_row(s, STR("p"), STR("grows"), STR("="));
    for (int i = 0; i < APPENDS; i++) {
        struct append *a = &appends[i];
        a->letter = (char)(i % APPENDS_FAIL_EVERY == 0 ? 'x' : 'a' + i % 20);
        a->update = (struct engine_update){
            .partition = STR("p"), .fn = append_letters, .arg = a, .done = append_done};
        engine_submit(s->engine, &a->update);
        if (a->letter == 'x')
            continue;
        memset(want + want_n, a->letter, APPENDED_BYTES);
        want_n += APPENDED_BYTES;
    }
    put_row(s, STR("p"), STR("last"), STR(""));
    CHECK_STR(get_row(s, STR("p"), STR("grows")), ((struct str){want, want_n}));
    subject_reopen(s);
    if (s->kind->persistent)
        CHECK_STR(get_row(s, STR("p"), STR("grows")), ((struct str){want, want_n}));
}

static struct err view_fails(struct txn *t, void *arg)
{
    (void)arg;
    CHECK(!txn_writable(t));
    return err_new(ERR_BLOB_NOT_FOUND);
}

ENGINE_CASE(rows_view_hands_back_its_error)
{
    CHECK_ERR(engine_view(s->engine, STR("p"), ENGINE_WAIT, view_fails, NULL), ERR_BLOB_NOT_FOUND);
}

struct hot_want {
    struct str key;
    struct str value;
    bool misled; /* the last run has found other rows; only the last run counts */
};

static struct err hot_in_view(struct txn *t, void *arg)
{
    struct hot_want *want = arg;
    struct str value;
    want->misled = false;
    TRY(get_hot(t, want->key, &value));
    want->misled = str_given(value) != str_given(want->value) || !str_eq(value, want->value);
    return OK;
}

static void check_hot(struct subject *s, struct str value)
{
    struct hot_want want = {STR("hot"), value, false};
    for (int i = 0; i < 2; i++) {
        view_ok(s, STR("p"), hot_in_view, &want);
        CHECK(!want.misled);
    }
}

ENGINE_CASE(rows_hot_rows_follow_updates)
{
    for (int round = 0; round < 3; round++) {
        del_row(s, STR("p"), STR("hot"));
        check_hot(s, STR_NONE);
        put_row(s, STR("p"), STR("hot"), STR("1"));
        check_hot(s, STR("1"));
        put_row(s, STR("p"), STR("hot"), STR("22"));
        check_hot(s, STR("22"));
        CHECK_ERR(engine_update_wait(s->engine, STR("p"), writes_then_fails, NULL),
                  ERR_CONDITION_NOT_MET);
        check_hot(s, STR("22"));
    }
}

/* Rows of several sizes, each read often enough for an engine to cache it. */
ENGINE_CASE(rows_read_often_follow_updates)
{
    static const size_t sizes[] = {100, 1023, 1024, 1025, 5000, 12 << 10, 20 << 10};
    for (uint32_t round = 1; round <= 4; round++) {
        for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            put_number(s, i, sizes[i], round);
            for (int again = 0; again < 5; again++)
                check_number(s, i, sizes[i], round);
        }
    }
    put_row(s, STR("p"), STR("k"), STR("v"));
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        check_number(s, i, sizes[i], 4);
}

/* ---- stamps ---- */

static struct err take_stamp(struct txn *t, void *arg)
{
    int64_t *stamp = arg;
    *stamp = txn_stamp(t);
    CHECK_INT(txn_stamp(t), *stamp);
    return txn_put(t, STR("stamp"), STR("taken"));
}

ENGINE_CASE(stamps_follow_the_clock_and_never_repeat)
{
    int64_t stamp = 0;
    int64_t last = 0;
    update_ok(s, STR("p"), take_stamp, &stamp);
    CHECK_INT(stamp, clock_now(&s->clock));
    for (int i = 0; i < 10; i++) {
        last = stamp;
        update_ok(s, STR("p"), take_stamp, &stamp);
        CHECK(stamp > last);
    }
    clock_advance(&s->clock, TICKS_PER_SECOND);
    update_ok(s, STR("q"), take_stamp, &stamp);
    CHECK_INT(stamp, clock_now(&s->clock));
    clock_advance(&s->clock, -TICKS_PER_DAY);
    last = stamp;
    update_ok(s, STR("p"), take_stamp, &stamp);
    CHECK(stamp > last);
    if (s->kind->persistent) {
        last = stamp;
        subject_reopen(s);
        update_ok(s, STR("p"), take_stamp, &stamp);
        CHECK(stamp > last);
    }
}

static struct err take_now(struct txn *t, void *arg)
{
    *(int64_t *)arg = txn_now(t);
    return OK;
}

ENGINE_CASE(now_is_the_clocks)
{
    int64_t now = 0;
    view_ok(s, STR("p"), take_now, &now);
    CHECK_INT(now, clock_now(&s->clock));
    clock_advance(&s->clock, 12345);
    update_ok(s, STR("p"), take_now, &now);
    CHECK_INT(now, clock_now(&s->clock));
}

struct grouped_put {
    struct grouped_update group;
    char key[16];
    size_t key_n;
    bool fails;
};

static struct err put_grouped(struct txn *t, void *arg)
{
    const struct grouped_put *p = arg;
    struct str key = {p->key, p->key_n};
    TRY(txn_put(t, key, key));
    return p->fails ? err_new(ERR_CONDITION_NOT_MET) : OK;
}

/* Each has a separate outcome, and all have ended when the call returns. */
ENGINE_CASE(rows_updates_in_a_group)
{
    enum { PUTS = 40 };
    struct grouped_put puts[PUTS];
    struct grouped_update *group[PUTS];
    engine_updates_wait(s->engine, group, 0);
    for (unsigned i = 0; i < PUTS; i++) {
        puts[i] = (struct grouped_put){
            .group.update = {.partition = STR("p"), .fn = put_grouped, .arg = &puts[i]},
            .fails = i % 3 == 1};
        puts[i].key_n = number_key(puts[i].key, i).n;
        group[i] = &puts[i].group;
    }
    engine_updates_wait(s->engine, group, PUTS);
    for (unsigned i = 0; i < PUTS; i++) {
        struct str key = {puts[i].key, puts[i].key_n};
        CHECK_INT(puts[i].group.update.result.code, puts[i].fails ? ERR_CONDITION_NOT_MET : ERR_OK);
        CHECK(str_given(get_row(s, STR("p"), key)) == !puts[i].fails);
    }
}
