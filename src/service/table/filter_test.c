/* SPDX-License-Identifier: Apache-2.0 */
#include "service/table/filter.h"

#include <stdio.h>

#include "core/test.h"
#include "core/time.h"
#include "service/table/entity.h"

static struct arena arena;

static void add(struct entity_builder *b, const char *name, enum edm_type type, const char *value)
{
    struct edm_value v;
    CHECK_OK(edm_parse(&arena, type, str_of(value), &v));
    CHECK_OK(entity_add(b, str_of(name), v));
}

static struct filter_row sample(void)
{
    struct entity_builder b;
    int64_t stamp;
    entity_begin(&b, &arena);
    add(&b, "test", EDM_STRING, "test");
    add(&b, "quote", EDM_STRING, "it's");
    add(&b, "empty", EDM_STRING, "");
    add(&b, "int32", EDM_INT32, "123");
    add(&b, "int64", EDM_INT64, "-1234");
    add(&b, "big", EDM_INT64, "9223372036854775807");
    add(&b, "double", EDM_DOUBLE, "-123.01");
    add(&b, "five", EDM_DOUBLE, "5");
    add(&b, "nan", EDM_DOUBLE, "NaN");
    add(&b, "inf", EDM_DOUBLE, "Infinity");
    add(&b, "yes", EDM_BOOLEAN, "true");
    add(&b, "no", EDM_BOOLEAN, "false");
    add(&b, "date", EDM_DATETIME, "2020-01-01T00:00:00Z");
    add(&b, "guid", EDM_GUID, "11111111-1111-1111-1111-111111111111");
    add(&b, "binary", EDM_BINARY, "YmluYXJ5RGF0YQ==");
    add(&b, "_foo", EDM_STRING, "bar");
    CHECK(time_parse_iso(STR("2023-05-29T15:30:00Z"), &stamp));
    entity_set_stamp(b.record.p, stamp);
    return (struct filter_row){STR("testPartition"), STR("testRow"), buf_str(&b.record)};
}

static void expect(const struct filter_row *row, const char *text, bool want)
{
    struct filter *f;
    bool got;
    struct err e = filter_compile(&arena, str_of(text), &f);
    if (err_is(e))
        test_fail(__FILE__, __LINE__, "%s: refused with %s", text, err_azure_code(e.code));
    CHECK_OK(filter_match(f, row, &got));
    if (got != want)
        test_fail(__FILE__, __LINE__, "%s: %s", text, got ? "passes" : "does not pass");
}

static void passes(const char *const *texts, size_t count, bool want)
{
    arena_init(&arena, 1 << 24);
    struct filter_row row = sample();
    for (size_t i = 0; i < count; i++)
        expect(&row, texts[i], want);
    arena_release(&arena);
}

void test_filter_passes(void)
{
    static const char *const texts[] = {
        "",
        "  PartitionKey   eq    'testPartition'  ",
        "'testPartition' eq PartitionKey",
        "RowKey gt 'testRoom' and RowKey lt 'testRoxy'",
        "(PartitionKey eq 'testPartition')and(int32 lt 124)and(int32 gt 122)",
        "not PartitionKey eq 'x'",
        "not(PartitionKey lt 'test')",
        "not not (yes)",
        "PartitionKey eq 'x' or PartitionKey eq 'testPartition' and RowKey eq 'testRow'",
        "(true and RowKey eq 'testRow') and ((false or PartitionKey eq 'testPartition'))",
        "test eq 'test'",
        "test ne 'other'",
        "quote eq 'it''s'",
        "empty eq ''",
        "test ne ''",
        "_foo eq 'bar'",
        "int32 eq 123",
        "int32 eq 123L",
        "int32 eq 123.0",
        "int32 ge 123 and int32 le 123",
        "124 gt int32",
        "int64 lt -1233L and int64 gt -1235L",
        "int64 eq -1234",
        "big eq 9223372036854775807",
        "big eq 9223372036854775807L",
        "big gt 9223372036854775806L",
        "double eq -123.01",
        "double lt -1.2301e2d or double gt -123.02",
        "five eq 5",
        "five gt 4 and five lt 6",
        "nan ne 1",
        "nan ne NaN",
        "inf eq INF",
        "inf gt -INF",
        "yes",
        "yes eq true",
        "yes eq TRuE",
        "not no",
        "no eq false",
        "no lt true",
        "date eq datetime'2020-01-01T00:00:00.000Z'",
        "date eq datetime'2020-01-01T00:00:00'",
        "date gt datetime'2019-12-31T23:59:59.999999Z'",
        "date gt datetime'0001-01-01T00:00:00Z'",
        "Timestamp lt datetime'2023-05-29T15:30:00.0000001Z'",
        "Timestamp eq datetime'2023-05-29T15:30:00Z'",
        "guid eq guid'11111111-1111-1111-1111-111111111111'",
        "guid ne guid'22222222-2222-2222-2222-222222222222'",
        "guid lt guid'22222222-2222-2222-2222-222222222222'",
        "binary eq binary'62696e61727944617461'",
        "binary eq X'62696E61727944617461'",
        "not (missing eq 'x')",
        "1 eq 1 and 1 lt 2.5 and 'a' lt 'b'",
    };
    passes(texts, sizeof texts / sizeof texts[0], true);
}

void test_filter_does_not_pass(void)
{
    static const char *const texts[] = {
        "false",
        "PartitionKey eq 'testPartition2'",
        "PartitionKey eq 5",
        "PartitionKey ne 5",
        "RowKey",
        "not PartitionKey eq 'testPartition' and RowKey eq 'testRow'",
        "test eq 'TEST'",
        "Test eq 'test'",
        "int32 eq '123'",
        "int32 ne '123'",
        "int32 ne true",
        "test eq 5",
        "test",
        "missing ne ''",
        "missing eq 'x' or missing ne 'x' or missing lt 'x' or missing ge 'x'",
        "missing ne datetime'2020-01-01T00:00:00Z'",
        "empty ne guid'22222222-2222-2222-2222-222222222222'",
        "empty lt datetime'2020-01-01T00:00:00Z'",
        "guid eq '11111111-1111-1111-1111-111111111111'",
        "nan eq NaN",
        "nan lt 1 or nan ge 1",
        "nan ne 'x'",
        "not yes",
        "yes and no",
        "binary eq X''",
        "big lt 9223372036854775807",
        "'a' eq 1",
    };
    passes(texts, sizeof texts / sizeof texts[0], false);
}

static void refusals(const char *const *texts, size_t count, enum err_code code)
{
    arena_init(&arena, 1 << 24);
    struct filter *f;
    for (size_t i = 0; i < count; i++) {
        struct err e = filter_compile(&arena, str_of(texts[i]), &f);
        if (e.code != code)
            test_fail(__FILE__, __LINE__, "%s: %d", texts[i], e.code);
    }
    arena_release(&arena);
}

void test_filter_invalid(void)
{
    static const char *const texts[] = {
        "(1 === 1)",
        "(1)",
        "(1 1 1)",
        "(\"a\" eq \"a\")",
        "PartitionKey eq 'x' eq 5.0",
        "PartitionKey eq eq 'x'",
        "PartitionKey eq 'x' and and a eq 5",
        "PartitionKey eq",
        "eq 'x'",
        "a eq 'x",
        "a eq 'x' b",
        "(a eq 'x'",
        "a eq 'x')",
        "a EQ 'x'",
        "a eq 1 AND b eq 2",
        "a eq null",
        "a eq 1x",
        "a eq 1.5L",
        "a eq 1.2.3",
        "a eq 99999999999999999999",
        "a eq -",
        "a eq datetime'no'",
        "a eq guid'no'",
        "a eq X'1'",
        "a eq X'zz'",
        "a eq time'PT1H'",
        "a.b eq 1",
        "a eq 1;",
        "not",
        "()",
        "and",
        "'x'",
        "a eq +1",
    };
    refusals(texts, sizeof texts / sizeof texts[0], ERR_INVALID_INPUT);
}

void test_filter_not_implemented(void)
{
    static const char *const texts[] = {
        "a eq b",       "startswith(a, 'x')", "startswith(a,'x') eq true",
        "a add 1 eq 2", "length(a) gt 5",     "1 eq length(a)",
    };
    refusals(texts, sizeof texts / sizeof texts[0], ERR_NOT_IMPLEMENTED);
}

void test_filter_limits(void)
{
    arena_init(&arena, 1 << 26);
    struct filter *f;
    struct buf text = buf_in(&arena);
    for (int i = 0; i < FILTER_TERMS_MAX; i++)
        buf_printf(&text, "%sa eq %d", i == 0 ? "" : i % 2 == 0 ? " or " : " and ", i);
    CHECK_OK(filter_compile(&arena, buf_str(&text), &f));
    buf_put(&text, STR(" or a eq 0"));
    CHECK_ERR(filter_compile(&arena, buf_str(&text), &f), ERR_INVALID_INPUT);
    buf_clear(&text);
    for (int i = 0; i < FILTER_PROPERTIES_MAX + 1; i++)
        buf_printf(&text, "%sa%d eq 1", i == 0 ? "" : " or ", i);
    CHECK_ERR(filter_compile(&arena, buf_str(&text), &f), ERR_INVALID_INPUT);
    buf_clear(&text);
    for (int i = 0; i < 10000; i++)
        buf_putc(&text, '(');
    CHECK_ERR(filter_compile(&arena, buf_str(&text), &f), ERR_INVALID_INPUT);
    buf_clear(&text);
    for (int i = 0; i < 10000; i++)
        buf_put(&text, STR("not "));
    CHECK_ERR(filter_compile(&arena, buf_str(&text), &f), ERR_INVALID_INPUT);
    arena_release(&arena);
}

/* ---- bounds ---- */

static void put_span(struct buf *out, const struct key_span *span)
{
    for (size_t i = 0; i < span->from.n; i++)
        buf_putc(out, span->from.p[i] == '\0' ? '+' : span->from.p[i]);
    buf_put(out, STR(".."));
    for (size_t i = 0; i < span->to.n; i++)
        buf_putc(out, span->to.p[i] == '\0' ? '+' : span->to.p[i]);
}

/* "a..a+/..": PartitionKey from a to before the first after a, any RowKey. */
static void bounds_are(const char *text, const char *want)
{
    struct filter *f;
    struct buf out = buf_in(&arena);
    CHECK_OK(filter_compile(&arena, str_of(text), &f));
    const struct bounds *b = filter_bounds(f);
    for (size_t i = 0; i < b->count; i++) {
        if (i > 0)
            buf_putc(&out, ' ');
        put_span(&out, &b->boxes[i].pk);
        buf_putc(&out, '/');
        put_span(&out, &b->boxes[i].rk);
    }
    CHECK_STR(buf_str(&out), str_of(want));
}

void test_filter_bounds(void)
{
    arena_init(&arena, 1 << 24);
    bounds_are("", "../..");
    bounds_are("a eq 1", "../..");
    bounds_are("PartitionKey eq 'a'", "a..a+/..");
    bounds_are("'a' eq PartitionKey and RowKey ge 'x' and RowKey lt 'y'", "a..a+/x..y");
    bounds_are("PartitionKey gt 'a' and PartitionKey le 'b' and foo eq 1", "a+..b+/..");
    bounds_are("RowKey ge 'x'", "../x..");
    bounds_are("PartitionKey eq 'a' or PartitionKey eq 'b'", "a..a+/.. b..b+/..");
    bounds_are("(PartitionKey eq 'a' or PartitionKey eq 'b') and RowKey eq 'r'",
               "a..a+/r..r+ b..b+/r..r+");
    bounds_are("PartitionKey eq 'a' or foo eq 1", "a..a+/.. ../..");
    bounds_are("PartitionKey eq 'a' and PartitionKey eq 'b'", "");
    bounds_are("PartitionKey ne 'a'", "..a/.. a+../..");
    bounds_are("not (PartitionKey lt 'b')", "b../..");
    bounds_are("not (PartitionKey lt 'b' or RowKey ge 'x')", "b../..x");
    bounds_are("not (not (PartitionKey eq 'a' and foo eq 1))", "a..a+/..");
    bounds_are("not (PartitionKey ne 'a')", "a..a+/..");
    bounds_are("PartitionKey eq 5", "");
    bounds_are("not (PartitionKey eq 5)", "../..");
    bounds_are("false and PartitionKey eq 'a'", "");
    bounds_are("PartitionKey lt ''", "");
    arena_release(&arena);
}

/* For any filter, a row that passes is within its bounds, and bounds_next never skips it.
 */
void test_filter_bounds_hold_what_passes(void)
{
    static const char *const terms[] = {"PartitionKey eq 'b'",
                                        "PartitionKey gt 'b'",
                                        "RowKey le 'c'",
                                        "RowKey ne 'b'",
                                        "foo eq 1",
                                        "true",
                                        "PartitionKey lt 'd'",
                                        "RowKey eq 'a'",
                                        "false"};
    enum { TERMS = sizeof terms / sizeof terms[0] };
    unsigned seed = 7;
    for (int round = 0; round < 400; round++) {
        arena_init(&arena, 1 << 24);
        struct buf text = buf_in(&arena);
        int open = 0;
        for (int i = 0; i < 6; i++) {
            seed = seed * 1103515245 + 12345;
            unsigned r = seed >> 16;
            if (i > 0)
                buf_put(&text, r % 2 == 0 ? STR(" and ") : STR(" or "));
            if (r % 3 == 0)
                buf_put(&text, STR("not "));
            if (r % 5 == 0) {
                buf_putc(&text, '(');
                open++;
            }
            buf_put(&text, str_of(terms[(r / 7) % TERMS]));
            if (open > 0 && r % 7 == 0) {
                buf_putc(&text, ')');
                open--;
            }
        }
        for (; open > 0; open--)
            buf_putc(&text, ')');
        struct filter *f;
        CHECK_OK(filter_compile(&arena, buf_str(&text), &f));
        struct entity_builder b;
        entity_begin(&b, &arena);
        add(&b, "foo", EDM_INT32, round % 2 == 0 ? "1" : "2");
        struct buf scratch = buf_in(&arena);
        for (char pk = 'a'; pk <= 'e'; pk++) {
            for (char rk = 'a'; rk <= 'e'; rk++) {
                struct filter_row row = {{&pk, 1}, {&rk, 1}, buf_str(&b.record)};
                struct key_position at = {row.pk, row.rk};
                struct key_position next;
                const struct key_box *box;
                bool passed;
                CHECK_OK(filter_match(f, &row, &passed));
                bool found = bounds_next(filter_bounds(f), &scratch, &at, &next, &box);
                if (passed && (!found || key_position_cmp(&next, &at) != 0))
                    test_fail(__FILE__, __LINE__, "%.*s leaves out %c/%c", STR_ARG(buf_str(&text)),
                              pk, rk);
                if (found)
                    CHECK(key_position_cmp(&next, &at) >= 0 && key_box_holds(box, &next));
            }
        }
        arena_release(&arena);
    }
}
