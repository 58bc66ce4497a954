/* SPDX-License-Identifier: Apache-2.0 */
/* Cursors: bounds, moves, own writes, and a comparison with a plain sorted list. */
#include <stdio.h>
#include <stdlib.h>

#include "engine/wait.h"
#include "subject.h"

/* Checks a cursor's position: "key=value", or not valid if want is NULL. */
static void stands(const struct cursor *c, const char *want)
{
    if (want == NULL) {
        CHECK(!c->valid);
        return;
    }
    CHECK(c->valid);
    char text[256];
    (void)snprintf(text, sizeof text, "%.*s=%.*s", STR_ARG(c->key), STR_ARG(c->value));
    CHECK_STR(str_of(text), str_of(want));
}

static struct err bounded_moves(struct txn *t, void *arg)
{
    (void)arg;
    struct cursor *c;
    TRY(cursor_open(t, STR("b/"), &c));
    stands(c, "b/1=x");
    TRY(cursor_next(c));
    stands(c, "b/2/a=x");
    TRY(cursor_skip(c, STR("b/2/")));
    stands(c, "b/3=x");
    TRY(cursor_next(c));
    stands(c, NULL);
    TRY(cursor_seek(c, STR("a")));
    stands(c, "b/1=x");
    TRY(cursor_seek(c, STR("b/2/b")));
    stands(c, "b/2/b=x");
    TRY(cursor_seek(c, STR("b/2/bb")));
    stands(c, "b/3=x");
    TRY(cursor_seek(c, STR("c")));
    stands(c, NULL);
    TRY(cursor_skip(c, STR("b/")));
    stands(c, NULL);
    TRY(cursor_skip(c, STR("")));
    stands(c, NULL);
    TRY(cursor_seek_before(c, STR_NONE));
    stands(c, "b/3=x");
    TRY(cursor_seek_before(c, STR("b/3")));
    stands(c, "b/2/b=x");
    TRY(cursor_next(c));
    stands(c, "b/3=x");
    TRY(cursor_seek_before(c, STR("zzz")));
    stands(c, "b/3=x");
    TRY(cursor_seek_before(c, STR("b/1")));
    stands(c, NULL);
    TRY(cursor_seek_before(c, STR("a")));
    stands(c, NULL);
    cursor_close(c);
    TRY(cursor_open(t, STR("d"), &c));
    stands(c, NULL);
    cursor_close(c);
    return OK;
}

static void put_moves(struct subject *s)
{
    put_row(s, STR("o"), STR("b/0"), STR("elsewhere"));
    put_row(s, STR("q"), STR("b/9"), STR("elsewhere"));
    const char *keys[] = {"a", "b", "b/1", "b/2/a", "b/2/b", "b/3", "b0", "c"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        put_row(s, STR("p"), str_of(keys[i]), STR("x"));
}

ENGINE_CASE(cursor_moves_within_its_prefix)
{
    put_moves(s);
    view_ok(s, STR("p"), bounded_moves, NULL);
    update_ok(s, STR("p"), bounded_moves, NULL);
    subject_reopen(s);
    if (s->kind->persistent)
        view_ok(s, STR("p"), bounded_moves, NULL);
}

static struct err range_moves(struct txn *t, void *arg)
{
    (void)arg;
    struct cursor *c;
    TRY(cursor_open_range(t, STR("b"), STR("b/2/b"), &c));
    stands(c, "b=x");
    TRY(cursor_seek(c, STR("a")));
    stands(c, "b=x");
    TRY(cursor_seek(c, STR("b/2")));
    stands(c, "b/2/a=x");
    TRY(cursor_next(c));
    stands(c, NULL);
    TRY(cursor_seek_before(c, STR_NONE));
    stands(c, "b/2/a=x");
    TRY(cursor_seek_before(c, STR("c")));
    stands(c, "b/2/a=x");
    TRY(cursor_seek_before(c, STR("b")));
    stands(c, NULL);
    TRY(cursor_skip(c, STR("b/2/a")));
    stands(c, NULL);
    cursor_close(c);
    TRY(cursor_open_range(t, STR("b0"), STR_NONE, &c));
    stands(c, "b0=x");
    TRY(cursor_seek_before(c, STR_NONE));
    stands(c, "c=x");
    TRY(cursor_next(c));
    stands(c, NULL);
    cursor_close(c);
    TRY(cursor_open_range(t, STR("b/4"), STR("b/9"), &c));
    stands(c, NULL);
    TRY(cursor_seek_before(c, STR_NONE));
    stands(c, NULL);
    cursor_close(c);
    return OK;
}

ENGINE_CASE(cursor_moves_within_its_range)
{
    put_moves(s);
    view_ok(s, STR("p"), range_moves, NULL);
    update_ok(s, STR("p"), range_moves, NULL);
}

static struct err whole_partition(struct txn *t, void *arg)
{
    (void)arg;
    struct cursor *c;
    TRY(cursor_open(t, STR(""), &c));
    stands(c, "=first");
    TRY(cursor_next(c));
    stands(c, "\xFF=one");
    TRY(cursor_next(c));
    stands(c, "\xFF\xFF=two");
    TRY(cursor_next(c));
    stands(c, NULL);
    TRY(cursor_skip(c, STR("\xFF")));
    stands(c, NULL);
    TRY(cursor_seek_before(c, STR_NONE));
    stands(c, "\xFF\xFF=two");
    cursor_close(c);
    TRY(cursor_open(t, STR("\xFF"), &c));
    stands(c, "\xFF=one");
    TRY(cursor_seek_before(c, STR_NONE));
    stands(c, "\xFF\xFF=two");
    cursor_close(c);
    return OK;
}

ENGINE_CASE(cursor_prefixes_of_all_ones)
{
    put_row(s, STR("p"), STR(""), STR("first"));
    put_row(s, STR("p"), STR("\xFF"), STR("one"));
    put_row(s, STR("p"), STR("\xFF\xFF"), STR("two"));
    put_row(s, STR("p\0"), STR(""), STR("elsewhere"));
    put_row(s, STR("o"), STR("\xFF"), STR("elsewhere"));
    view_ok(s, STR("p"), whole_partition, NULL);
    update_ok(s, STR("p"), whole_partition, NULL);
}

static struct err moves_among_own_writes(struct txn *t, void *arg)
{
    (void)arg;
    struct cursor *c;
    TRY(txn_del(t, STR("b")));
    TRY(txn_put(t, STR("c"), STR("own")));
    TRY(cursor_open(t, STR(""), &c));
    stands(c, "a=x");
    TRY(cursor_next(c));
    stands(c, "c=own");
    TRY(cursor_next(c));
    stands(c, "d=x");
    /* A cursor's next move sees rows written after it was positioned. */
    TRY(txn_put(t, STR("dd"), STR("late")));
    TRY(txn_del(t, STR("e")));
    TRY(txn_del(t, STR("d")));
    stands(c, "d=x");
    TRY(cursor_next(c));
    stands(c, "dd=late");
    TRY(txn_put(t, STR("dd"), STR("later")));
    TRY(cursor_seek(c, STR("d")));
    stands(c, "dd=later");
    TRY(cursor_next(c));
    stands(c, "f=x");
    TRY(cursor_next(c));
    stands(c, NULL);
    TRY(cursor_seek_before(c, STR("dd")));
    stands(c, "c=own");
    TRY(txn_put(t, STR("z"), STR("last")));
    TRY(cursor_seek_before(c, STR_NONE));
    stands(c, "z=last");
    TRY(txn_del(t, STR("z")));
    TRY(cursor_seek_before(c, STR_NONE));
    stands(c, "f=x");
    cursor_close(c);
    return OK;
}

ENGINE_CASE(cursor_sees_own_writes)
{
    const char *keys[] = {"a", "b", "d", "e", "f"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        put_row(s, STR("p"), str_of(keys[i]), STR("x"));
    update_ok(s, STR("p"), moves_among_own_writes, NULL);
    CHECK_STR(get_row(s, STR("p"), STR("dd")), STR("later"));
}

/* How loops delete all rows under a prefix. */
static struct err delete_while_moving(struct txn *t, void *arg)
{
    (void)arg;
    struct cursor *c;
    TRY(cursor_open(t, STR("k"), &c));
    while (c->valid) {
        TRY(txn_del(t, c->key));
        TRY(cursor_next(c));
    }
    cursor_close(c);
    TRY(cursor_open(t, STR("k"), &c));
    CHECK(!c->valid);
    cursor_close(c);
    return OK;
}

ENGINE_CASE(cursor_deletes_as_it_goes)
{
    for (int i = 0; i < 50; i++) {
        char key[2] = {'k', (char)('0' + i)};
        put_row(s, STR("p"), (struct str){key, sizeof key}, STR("x"));
    }
    put_row(s, STR("p"), STR("l"), STR("stays"));
    update_ok(s, STR("p"), delete_while_moving, NULL);
    CHECK_STR(get_row(s, STR("p"), STR("l")), STR("stays"));
    CHECK(!str_given(get_row(s, STR("p"), STR("k5"))));
}

/* ---- scans ---- */

/* "partition/key=value", or not valid when want is NULL. */
static void scans(const struct cursor *s, const char *want)
{
    CHECK_INT(s->valid, want != NULL);
    if (want == NULL)
        return;
    char text[256];
    (void)snprintf(text, sizeof text, "%.*s/%.*s=%.*s", STR_ARG(s->partition), STR_ARG(s->key),
                   STR_ARG(s->value));
    CHECK_STR(str_of(text), str_of(want));
}

static struct err scan_moves(struct txn *t, void *arg)
{
    (void)arg;
    struct cursor *s;
    TRY(cursor_open_across(t, STR("b"), STR(""), STR(""), &s));
    static const char *const all[] = {"b/1=x", "b/2=x", "b!/1=x", "ba/3=x", NULL};
    for (size_t i = 0;; i++) {
        scans(s, all[i]);
        if (all[i] == NULL)
            break;
        TRY(cursor_next(s));
    }
    TRY(cursor_seek_across(s, STR("b"), STR("11")));
    scans(s, "b/2=x");
    TRY(cursor_seek_across(s, STR("b"), STR("9")));
    scans(s, "b!/1=x");
    TRY(cursor_seek_across(s, STR("a"), STR("9")));
    scans(s, "b/1=x");
    TRY(cursor_seek_across(s, STR("b\xFF"), STR("")));
    scans(s, NULL);
    cursor_close(s);
    TRY(cursor_open_across(t, STR("z"), STR(""), STR(""), &s));
    scans(s, NULL);
    TRY(cursor_open_across(t, STR("n"), STR(""), STR(""), &s));
    CHECK_STR(s->partition, STR("n\0l"));
    CHECK_STR(s->key, STR("\0"));
    return OK; /* two are left open */
}

ENGINE_CASE(scan_reads_on_over_partitions)
{
    put_row(s, STR("a"), STR("1"), STR("x"));
    put_row(s, STR("b"), STR("1"), STR("x"));
    put_row(s, STR("b"), STR("2"), STR("x"));
    put_row(s, STR("b!"), STR("1"), STR("x"));
    put_row(s, STR("ba"), STR("3"), STR("x"));
    put_row(s, STR("c"), STR("1"), STR("x"));
    put_row(s, STR("n\0l"), STR("\0"), STR("x"));
    view_ok(s, STR("p"), scan_moves, NULL);
    subject_reopen(s);
    if (s->kind->persistent)
        view_ok(s, STR("q"), scan_moves, NULL);
}

static struct err leave_open(struct txn *t, void *arg)
{
    (void)arg;
    struct cursor *first;
    struct cursor *second;
    struct cursor *third;
    TRY(cursor_open(t, STR("a"), &first));
    TRY(cursor_open(t, STR("b"), &second));
    TRY(cursor_open(t, STR("c"), &third));
    cursor_close(second);
    return err_new(ERR_CONDITION_NOT_MET);
}

ENGINE_CASE(cursor_left_open_is_closed)
{
    CHECK_ERR(engine_view(s->engine, STR("p"), ENGINE_WAIT, leave_open, NULL),
              ERR_CONDITION_NOT_MET);
    CHECK_ERR(engine_update_wait(s->engine, STR("p"), leave_open, NULL), ERR_CONDITION_NOT_MET);
}

/* ---- against a model ---- */

enum { MODEL_KEYS = 256, MODEL_ROUNDS = 40, MODEL_MOVES = 200 };

/* Keys are one or two letters, so that seeks often fall on, before and after them. */
struct model {
    uint32_t random;
    int values[MODEL_KEYS]; /* -1: absent */
};

static uint32_t model_random(struct model *m, uint32_t below)
{
    m->random = m->random * 1664525 + 1013904223;
    return (m->random >> 8) % below;
}

static struct str model_key(char text[4], uint32_t number)
{
    text[0] = (char)('a' + number / 16);
    text[1] = (char)('a' + number % 16);
    return (struct str){text, number % 16 == 0 ? 1 : 2};
}

/* The index of the first (step 1) or last (step -1) present key from a position on; -1 or
 * MODEL_KEYS if there is none. */
static int model_walk(const struct model *m, int from, int step)
{
    while (from >= 0 && from < MODEL_KEYS && m->values[from] < 0)
        from += step;
    return from;
}

static void model_check(const struct model *m, const struct cursor *c, int at)
{
    bool there = at >= 0 && at < MODEL_KEYS;
    CHECK_INT(c->valid, there);
    if (!there)
        return;
    char text[4];
    CHECK_STR(c->key, model_key(text, (uint32_t)at));
    CHECK_INT((unsigned char)c->value.p[0], m->values[at]);
}

static struct err model_change(struct model *m, struct txn *t)
{
    uint32_t number = model_random(m, MODEL_KEYS);
    char text[4];
    struct str key = model_key(text, number);
    if (model_random(m, 5) < 2) {
        m->values[number] = -1;
        return txn_del(t, key);
    }
    m->values[number] = (int)model_random(m, 256);
    char value = (char)m->values[number];
    struct str before;
    TRY(txn_get(t, key, &before));
    struct engine_row row = {.key = key, .value = {&value, 1}};
    return str_given(before) ? txn_put_row(t, &row) : txn_insert(t, &row);
}

static struct err model_moves(struct txn *t, void *arg)
{
    struct model *m = arg;
    struct cursor *c;
    TRY(cursor_open(t, STR(""), &c));
    int at = model_walk(m, 0, 1);
    model_check(m, c, at);
    for (int i = 0; i < MODEL_MOVES; i++) {
        int number = (int)model_random(m, MODEL_KEYS);
        char text[4];
        struct str key = model_key(text, (uint32_t)number);
        uint32_t move = model_random(m, 6);
        if (move == 0) {
            TRY(cursor_seek(c, key));
            at = model_walk(m, number, 1);
        } else if (move == 1) {
            TRY(cursor_seek_before(c, key));
            at = model_walk(m, number - 1, -1);
        } else if (move == 2) {
            TRY(cursor_skip(c, key));
            at = model_walk(m, number % 16 == 0 ? number + 16 : number + 1, 1);
        } else if (move == 3 && txn_writable(t)) {
            TRY(model_change(m, t));
            continue;
        } else if (c->valid) {
            TRY(cursor_next(c));
            at = model_walk(m, at + 1, 1);
        } else {
            continue;
        }
        model_check(m, c, at);
    }
    cursor_close(c);
    return OK;
}

ENGINE_CASE(cursor_like_a_sorted_list)
{
    struct model m = {.random = 99};
    for (int i = 0; i < MODEL_KEYS; i++)
        m.values[i] = -1;
    put_row(s, STR("o"), STR("zz"), STR("elsewhere"));
    put_row(s, STR("q"), STR("aa"), STR("elsewhere"));
    for (int round = 0; round < MODEL_ROUNDS; round++) {
        update_ok(s, STR("p"), model_moves, &m);
        view_ok(s, STR("p"), model_moves, &m);
    }
}
