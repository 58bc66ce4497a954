/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that are said to be read next, one after the other: they are what they are without the hint.
 */
#include <stdio.h>

#include "engine/local/local_internal.h"
#include "subject.h"

enum { ROWS = 300, SMALL = 60, LARGE = 2500, AHEAD_MAX = 128 };

static struct str key_at(char text[16], uint32_t number)
{
    return (struct str){text, (size_t)snprintf(text, 16, "%04u", number)};
}

/* Every third is large enough to stay in the journal. */
static struct str value_at(char bytes[LARGE], uint32_t number, uint32_t seed)
{
    size_t n = number % 3 == 0 ? LARGE : SMALL;
    fill_bytes(bytes, n, number * 7 + seed);
    return (struct str){bytes, n};
}

static struct err put_at(struct txn *t, uint32_t number, uint32_t seed)
{
    char text[16];
    char bytes[LARGE];
    return txn_put(t, key_at(text, number), value_at(bytes, number, seed));
}

static struct err put_all(struct txn *t, void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < ROWS; i++)
        TRY(put_at(t, i, 1));
    return OK;
}

static void expect_from(struct txn *t, uint32_t number)
{
    char from[16];
    char to[16];
    txn_expect(t, key_at(from, number), key_at(to, ROWS));
}

static struct err check_at(struct txn *t, uint32_t number, uint32_t seed)
{
    char text[16];
    char bytes[LARGE];
    struct str found;
    TRY(txn_get_hot(t, key_at(text, number), &found));
    CHECK(str_given(found));
    CHECK_STR(found, value_at(bytes, number, seed));
    return OK;
}

/* Takes one row away; writes another, further on, anew; and every fifth time takes all back. */
static struct err take_next(struct txn *t, void *arg)
{
    const struct step {
        uint32_t number;
        bool fails;
    } *step = arg;
    char text[16];
    uint32_t i = step->number;
    expect_from(t, i);
    TRY(check_at(t, i, i % 11 == 0 && i > 0 ? 2 : 1));
    if (i + 1 < ROWS)
        TRY(check_at(t, i + 1, (i + 1) % 11 == 0 ? 2 : 1));
    TRY(txn_del(t, key_at(text, i)));
    expect_from(t, i);
    struct str gone;
    TRY(txn_get_hot(t, key_at(text, i), &gone));
    CHECK(!str_given(gone));
    if (i % 11 == 0 && i + 11 < ROWS)
        TRY(put_at(t, i + 11, 2));
    return step->fails ? err_new(ERR_CONDITION_NOT_MET) : OK;
}

static void take_all(struct subject *s)
{
    struct step {
        uint32_t number;
        bool fails;
    } step;
    for (step.number = 0; step.number < ROWS; step.number++) {
        step.fails = true;
        if (step.number % 5 == 0)
            CHECK_ERR(engine_update_wait(s->engine, STR("p"), take_next, &step),
                      ERR_CONDITION_NOT_MET);
        step.fails = false;
        update_ok(s, STR("p"), take_next, &step);
    }
    CHECK(!str_given(get_row(s, STR("p"), STR("0000"))));
}

ENGINE_CASE(rows_expected_are_found)
{
    update_ok(s, STR("p"), put_all, NULL);
    take_all(s);
}

ENGINE_CASE(rows_expected_are_found_after_a_start)
{
    update_ok(s, STR("p"), put_all, NULL);
    subject_reopen(s);
    if (!s->kind->persistent)
        update_ok(s, STR("p"), put_all, NULL);
    take_all(s);
}

/* ---- the local engine ---- */

static struct err only_expect(struct txn *t, void *arg)
{
    expect_from(t, *(const uint32_t *)arg);
    return OK;
}

static struct err expect_and_take(struct txn *t, void *arg)
{
    char text[16];
    uint32_t number = *(const uint32_t *)arg;
    expect_from(t, number);
    TRY(check_at(t, number, 1));
    return txn_del(t, key_at(text, number));
}

static bool is_at_hand(struct subject *s, uint32_t number)
{
    struct local_engine *e = local_of(s->engine);
    char text[16];
    struct rowkey key;
    rowkey_init(&key, &s->arena, STR("p"));
    struct str physical = rowkey_of(&key, key_at(text, number));
    struct cached_row *row =
        row_cache_find(e->cache, physical, row_cache_hash(physical), UINT64_MAX);
    if (row != NULL)
        cached_row_put(row);
    return row != NULL;
}

static uint32_t count_at_hand(struct subject *s)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < ROWS; i++)
        count += is_at_hand(s, i) ? 1 : 0;
    return count;
}

/* One search brings some, and not all; a view, and what needs no search, bring none. */
static void expected_rows_come_together(struct subject *s)
{
    uint32_t number = 1;
    update_ok(s, STR("p"), put_all, NULL);
    subject_reopen(s);
    view_ok(s, STR("p"), only_expect, &number);
    CHECK_INT(count_at_hand(s), 0);
    update_ok(s, STR("p"), expect_and_take, &number);
    uint32_t some = count_at_hand(s);
    CHECK(some >= 16 && some <= AHEAD_MAX);
    for (number = 2; number < 2 + some; number++)
        CHECK(is_at_hand(s, number));
    CHECK(!is_at_hand(s, number));
    number = 2;
    update_ok(s, STR("p"), only_expect, &number);
    CHECK_INT(count_at_hand(s), some);
}

void test_local_expected_rows_come_together(void)
{
    subject_run(&SUBJECT_LOCAL, expected_rows_come_together);
}
