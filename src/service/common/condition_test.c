/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/condition.h"

#include "core/clock.h"
#include "core/test.h"
#include "service/common/etag.h"
#include "service/common/pairs.h"

/* Half a second past a whole one: dates are compared without the fraction. */
static const int64_t MODIFIED = 1000000 * TICKS_PER_SECOND + TICKS_PER_SECOND / 2;
static const int64_t STAMP = 17000000000000000;
static const struct condition_target THERE = {
    .exists = true, .etag = 17000000000000000, .last_modified = 10000005000000};
static const struct condition_target ABSENT = {0};

static struct str etag_of(struct arena *a, int64_t stamp)
{
    struct buf b = buf_in(a);
    etag_put_quoted(&b, stamp);
    return buf_str(&b);
}

enum given { NOT_GIVEN, HOLDS, FAILS };

/* Conditions, each of which is absent, true for THERE, or false for it. */
static struct conditions conditions_of(struct arena *a, const enum given g[4])
{
    struct conditions c = {0};
    if (g[0] != NOT_GIVEN)
        c.if_match = etag_of(a, g[0] == HOLDS ? STAMP : STAMP + 1);
    if (g[1] != NOT_GIVEN)
        c.if_none_match = etag_of(a, g[1] == HOLDS ? STAMP + 1 : STAMP);
    c.has_modified_since = g[2] != NOT_GIVEN;
    c.modified_since = MODIFIED - TICKS_PER_SECOND / 2 - (g[2] == HOLDS ? TICKS_PER_SECOND : 0);
    c.has_unmodified_since = g[3] != NOT_GIVEN;
    c.unmodified_since = MODIFIED - TICKS_PER_SECOND / 2 - (g[3] == HOLDS ? 0 : TICKS_PER_SECOND);
    return c;
}

/* Facts §1.2 literally: M && U && (N || S), 412 for M and U, else 304. */
static enum err_code read_outcome(const enum given g[4])
{
    if (g[0] == FAILS || g[3] == FAILS)
        return ERR_CONDITION_NOT_MET;
    if (g[1] == HOLDS || g[2] == HOLDS || (g[1] == NOT_GIVEN && g[2] == NOT_GIVEN))
        return ERR_OK;
    return ERR_NOT_MODIFIED;
}

/* One alone, N+S (N decides) or M+U (M decides); else 400. */
static enum err_code write_outcome(const enum given g[4])
{
    unsigned set = 0;
    for (unsigned i = 0; i < 4; i++)
        set |= g[i] != NOT_GIVEN ? 1U << i : 0;
    enum given decides = NOT_GIVEN;
    switch (set) {
    case 0:
        break;
    case 1:
    case 9:
        decides = g[0];
        break;
    case 2:
    case 6:
        decides = g[1];
        break;
    case 4:
        decides = g[2];
        break;
    case 8:
        decides = g[3];
        break;
    default:
        return ERR_MULTIPLE_CONDITION_HEADERS_NOT_SUPPORTED;
    }
    return decides == FAILS ? ERR_CONDITION_NOT_MET : ERR_OK;
}

static void check_all_combinations(enum condition_use use, int version,
                                   enum err_code (*outcome)(const enum given g[4]))
{
    struct arena a;
    arena_init(&a, 1 << 20);
    for (int i = 0; i < 81; i++) {
        enum given g[4] = {(enum given)(i % 3), (enum given)(i / 3 % 3), (enum given)(i / 9 % 3),
                           (enum given)(i / 27)};
        struct conditions c = conditions_of(&a, g);
        c.version = version;
        struct err got = conditions_check(&c, use, &THERE);
        if (got.code != outcome(g))
            test_fail(__FILE__, __LINE__, "M%d N%d S%d U%d: got %d, want %d", g[0], g[1], g[2],
                      g[3], got.code, outcome(g));
    }
    arena_release(&a);
}

void test_rule_B3_every_combination_on_reads(void)
{
    check_all_combinations(CONDITION_READ, 0, read_outcome);
    check_all_combinations(CONDITION_READ, 20130815, read_outcome);
}

void test_rule_B3_every_combination_on_writes(void)
{
    check_all_combinations(CONDITION_WRITE, 0, write_outcome);
    check_all_combinations(CONDITION_WRITE, 20210812, write_outcome);
}

void test_rule_B3_every_combination_on_creating_writes(void)
{
    check_all_combinations(CONDITION_CREATE, 0, write_outcome);
}

/* Reads before 2013-08-15 accept the combinations of writes; a failure is still 304 or 412. */
static enum err_code old_read_outcome(const enum given g[4])
{
    if (write_outcome(g) == ERR_MULTIPLE_CONDITION_HEADERS_NOT_SUPPORTED)
        return ERR_MULTIPLE_CONDITION_HEADERS_NOT_SUPPORTED;
    return read_outcome(g);
}

void test_condition_reads_of_old_versions(void)
{
    check_all_combinations(CONDITION_READ, 20120212, old_read_outcome);
}

static enum err_code check(struct conditions c, enum condition_use use, bool there)
{
    return conditions_check(&c, use, there ? &THERE : &ABSENT).code;
}

void test_condition_stars(void)
{
    struct conditions match = {.if_match = STR("*")}, none = {.if_none_match = STR("*")};
    CHECK_INT(check(match, CONDITION_READ, true), ERR_OK);
    CHECK_INT(check(match, CONDITION_WRITE, true), ERR_OK);
    CHECK_INT(check(match, CONDITION_CREATE, true), ERR_OK);
    CHECK_INT(check(match, CONDITION_READ, false), ERR_CONDITION_NOT_MET);
    CHECK_INT(check(match, CONDITION_WRITE, false), ERR_CONDITION_NOT_MET);
    CHECK_INT(check(match, CONDITION_CREATE, false), ERR_CONDITION_NOT_MET);
    CHECK_INT(check(none, CONDITION_READ, true), ERR_UNSATISFIABLE_CONDITION);
    CHECK_INT(check(none, CONDITION_READ, false), ERR_UNSATISFIABLE_CONDITION);
    CHECK_INT(check(none, CONDITION_WRITE, true), ERR_CONDITION_NOT_MET);
    CHECK_INT(check(none, CONDITION_WRITE, false), ERR_OK);
    CHECK_INT(check(none, CONDITION_CREATE, true), ERR_BLOB_ALREADY_EXISTS);
    CHECK_INT(check(none, CONDITION_CREATE, false), ERR_OK);
}

void test_condition_on_an_absent_object(void)
{
    struct conditions match = {.if_match = STR("\"0x8D0\"")};
    struct conditions none = {.if_none_match = STR("\"0x8D0\"")};
    struct conditions since = {.has_modified_since = true, .modified_since = MODIFIED};
    struct conditions until = {.has_unmodified_since = true, .unmodified_since = 0};
    for (int use = CONDITION_READ; use <= CONDITION_CREATE; use++) {
        CHECK_INT(check(match, (enum condition_use)use, false), ERR_CONDITION_NOT_MET);
        CHECK_INT(check(none, (enum condition_use)use, false), ERR_OK);
        CHECK_INT(check(since, (enum condition_use)use, false), ERR_OK);
        CHECK_INT(check(until, (enum condition_use)use, false), ERR_OK);
    }
}

void test_condition_lists_of_etags(void)
{
    struct arena a;
    arena_init(&a, 1 << 20);
    struct str tag = etag_of(&a, STAMP);
    struct str with = arena_printf(&a, "\"0x1\", %.*s ,\"0x2\"", STR_ARG(tag));
    struct str unquoted = arena_printf(&a, "0x1,%.*s", (int)tag.n - 2, tag.p + 1);
    struct conditions c = {.if_match = with};
    CHECK_INT(check(c, CONDITION_READ, true), ERR_OK);
    CHECK_INT(check(c, CONDITION_WRITE, true), ERR_MULTIPLE_CONDITION_HEADERS_NOT_SUPPORTED);
    c.if_match = unquoted;
    CHECK_INT(check(c, CONDITION_READ, true), ERR_OK);
    c.if_match = STR("\"0x1\",\"0x2\"");
    CHECK_INT(check(c, CONDITION_READ, true), ERR_CONDITION_NOT_MET);
    c = (struct conditions){.if_none_match = with};
    CHECK_INT(check(c, CONDITION_READ, true), ERR_NOT_MODIFIED);
    c.if_none_match = STR("\"0x1\",\"0x2\"");
    CHECK_INT(check(c, CONDITION_READ, true), ERR_OK);
    arena_release(&a);
}

void test_condition_weak_etags(void)
{
    struct arena a;
    arena_init(&a, 1 << 20);
    struct str weak = arena_printf(&a, "W/%.*s", STR_ARG(etag_of(&a, STAMP)));
    CHECK_INT(check((struct conditions){.if_match = weak}, CONDITION_WRITE, true),
              ERR_CONDITION_NOT_MET);
    CHECK_INT(check((struct conditions){.if_none_match = weak}, CONDITION_READ, true),
              ERR_NOT_MODIFIED);
    arena_release(&a);
}

void test_condition_tags(void)
{
    struct arena a;
    arena_init(&a, 1 << 20);
    struct pair items[] = {{STR("state"), STR("open")}};
    struct pairs tags = {items, 1};
    struct condition_target t = THERE;
    t.tags = pairs_encode(&a, &tags);
    struct conditions c = {
        .if_tags = tag_expression_compile(&a, TAG_CONDITION, STR("state = 'open'"), NULL)};
    for (int use = CONDITION_READ; use <= CONDITION_CREATE; use++) {
        CHECK_OK(conditions_check(&c, (enum condition_use)use, &t));
        CHECK_ERR(conditions_check(&c, (enum condition_use)use, &THERE), ERR_CONDITION_NOT_MET);
    }
    CHECK_INT(check(c, CONDITION_READ, false), ERR_OK);
    CHECK_INT(check(c, CONDITION_WRITE, false), ERR_OK);
    CHECK_INT(check(c, CONDITION_CREATE, false), ERR_CONDITION_NOT_MET);
    arena_release(&a);
}

void test_etag_text(void)
{
    struct arena a;
    arena_init(&a, 1 << 20);
    CHECK_STR(etag_of(&a, 0), STR("\"0x89F7FF5F7B58000\""));
    CHECK(str_starts(etag_of(&a, 17000000000000000), STR("\"0x8D")));
    CHECK(!str_eq(etag_of(&a, STAMP), etag_of(&a, STAMP + 1)));
    arena_release(&a);
}
