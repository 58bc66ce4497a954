/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/tag_expression.h"

#include "core/test.h"
#include "service/common/pairs.h"

static bool holds(const char *text)
{
    struct arena a;
    arena_init(&a, 1 << 20);
    struct pair items[] = {{STR("Status"), STR("done")},
                           {STR("n"), STR("05")},
                           {STR("a b"), STR("+-./:=_")},
                           {STR("empty"), STR("")}};
    struct pairs tags = {items, 4};
    const struct tag_expression *e = tag_expression_compile(&a, TAG_CONDITION, str_of(text), NULL);
    if (e == NULL)
        test_fail(__FILE__, __LINE__, "not taken: %s", text);
    bool outcome = tag_expression_holds(e, pairs_encode(&a, &tags), STR_NONE);
    arena_release(&a);
    return outcome;
}

void test_tag_expression_compares(void)
{
    CHECK(holds("Status = 'done'"));
    CHECK(holds("Status='done'"));
    CHECK(!holds("status = 'done'"));
    CHECK(!holds("Status <> 'done'") && holds("Status <> 'x'"));
    CHECK(holds("n > '04'") && !holds("n > '05'") && holds("n >= '05'"));
    CHECK(holds("n < '1'") && holds("n <= '05'") && !holds("n < '05'"));
    CHECK(holds("\"a b\" = '+-./:=_'"));
    CHECK(holds("empty = ''"));
    CHECK(!holds("missing = ''") && !holds("missing <> 'x'"));
}

void test_tag_expression_combines(void)
{
    CHECK(holds("Status = 'x' OR n = '05' AND Status = 'done'"));
    CHECK(holds("Status = 'done' OR n = 'x' AND Status = 'x'"));
    CHECK(!holds("(Status = 'done' OR n = 'x') AND Status = 'x'"));
    CHECK(holds("((Status = 'done')) and (n = '05' or n = '06')"));
}

static bool refused(enum tag_dialect dialect, const char *text)
{
    struct arena a;
    arena_init(&a, 1 << 20);
    bool null = tag_expression_compile(&a, dialect, str_of(text), NULL) == NULL;
    arena_release(&a);
    return null;
}

void test_tag_expression_refuses_what_is_none(void)
{
    static const char *const TEXTS[] = {"",
                                        "a",
                                        "a =",
                                        "a = b",
                                        "a = 'b",
                                        "= 'b'",
                                        "a = 'b' c",
                                        "(a = 'b'",
                                        "a = 'b')",
                                        "a == 'b'",
                                        "a = 'b' AND",
                                        "AND a = 'b'",
                                        "1a = 'b'",
                                        "\"\" = 'b'",
                                        "a = \"b\"",
                                        "@container = 'x'",
                                        "a--b = 'x'",
                                        "a = 'b' ANDb = 'c'"};
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++)
        if (!refused(TAG_CONDITION, TEXTS[i]))
            test_fail(__FILE__, __LINE__, "taken: %s", TEXTS[i]);
}

static bool chain_refused(unsigned logical)
{
    char text[16 << 10] = "a<>'1'";
    for (size_t n = strlen(text), i = 0; i < logical; i++, n += 11)
        memcpy(text + n, "and a<>'12'", sizeof "and a<>'12'");
    return refused(TAG_CONDITION, text);
}

void test_tag_expression_limits(void)
{
    CHECK(!refused(TAG_CONDITION,
                   "a='1' OR a='1' OR a='1' OR a='1' OR a='1' OR a='1' OR a='1' OR a='1' OR a='1' "
                   "OR a='1' OR a='1'"));
    CHECK(refused(TAG_WHERE, "a='1' AND a='1' AND a='1' AND a='1' AND a='1' AND a='1' AND a='1' "
                             "AND a='1' AND a='1' AND a='1' AND a='1' AND a='1'"));
    CHECK(!chain_refused(TAG_CONDITION_LOGICAL_MAX));
    CHECK(chain_refused(TAG_CONDITION_LOGICAL_MAX + 1));
    CHECK(refused(TAG_CONDITION, "(((((((((((((((((a='1')))))))))))))))))"));
}

void test_tag_expression_where_dialect(void)
{
    CHECK(!refused(TAG_WHERE, "@container = 'c' AND \"k\" >= 'v'"));
    CHECK(refused(TAG_WHERE, "a = '1' OR a = '2'"));
    CHECK(refused(TAG_WHERE, "a <> '1'"));
    CHECK(refused(TAG_WHERE, "a = '@'") && refused(TAG_CONDITION, "a = '@'"));
    CHECK(refused(TAG_CONDITION, "a = 'it''s'") && refused(TAG_CONDITION, "\"a'\" = 'b'"));
}
