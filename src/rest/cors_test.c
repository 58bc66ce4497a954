/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/cors.h"

#include "core/test.h"

static const struct cors_rules RULES = {
    3,
    {
        {STR_INIT("https://a.test, https://*.b.test"), STR_INIT("GET,put"),
         STR_INIT("x-ms-date,x-ms-meta-*"), STR_INIT("x-ms-request-id, x-ms-meta-*"), 60},
        {STR_INIT("https://a.test"), STR_INIT("DELETE"), STR_INIT("*"), STR_INIT("*"), 5},
        {STR_INIT("*"), STR_INIT("POST"), STR_INIT(""), STR_INIT(""), 0},
    },
};

static int rule_for(const char *origin, const char *method)
{
    const struct cors_rule *rule = cors_match(&RULES, str_of(origin), str_of(method));
    return rule == NULL ? -1 : (int)(rule - RULES.rules);
}

void test_preflight_matches_origin_and_method(void)
{
    CHECK_INT(rule_for("https://a.test", "GET"), 0);
    CHECK_INT(rule_for("https://a.test", "PUT"), 0);
    CHECK_INT(rule_for("https://a.test", "DELETE"), 1);
    CHECK_INT(rule_for("https://a.test", "MERGE"), -1);
    CHECK_INT(rule_for("https://A.test", "GET"), -1); /* origins are compared with case */
    CHECK_INT(rule_for("http://a.test", "GET"), -1);
    CHECK_INT(rule_for("https://a.test.evil", "GET"), -1);
    CHECK_INT(rule_for("https://x.b.test", "GET"), 0);
    CHECK_INT(rule_for("https://x.y.b.test", "GET"), 0);
    CHECK_INT(rule_for("https://.b.test", "GET"), -1);
    CHECK_INT(rule_for("https://b.test", "GET"), -1);
    CHECK_INT(rule_for("https://xb.test", "GET"), -1);
    CHECK_INT(rule_for("null", "POST"), 2);
}

void test_preflight_matches_headers(void)
{
    const struct cors_rule *rules = RULES.rules;
    CHECK(cors_allows_headers(&rules[0], STR_NONE));
    CHECK(cors_allows_headers(&rules[0], STR("X-MS-Date , x-ms-meta-a")));
    CHECK(!cors_allows_headers(&rules[0], STR("x-ms-date,x-ms-version")));
    CHECK(cors_allows_headers(&rules[1], STR("anything,at-all")));
    CHECK(!cors_allows_headers(&rules[2], STR("anything")));
}

void test_cors_exposes_headers(void)
{
    struct arena arena;
    arena_init(&arena, 4096);
    struct buf out = buf_in(&arena);
    struct str response =
        STR("ETag: \"1\"\r\nx-ms-meta-a: 1\r\nX-Ms-Meta-B: 2\r\nx-ms-request-id: 3\r\n");
    cors_put_exposed(&out, &RULES.rules[0], response);
    CHECK_STR(buf_str(&out), STR("x-ms-request-id,x-ms-meta-a,X-Ms-Meta-B"));
    buf_clear(&out);
    cors_put_exposed(&out, &RULES.rules[1], response);
    CHECK_STR(buf_str(&out), STR("ETag,x-ms-meta-a,X-Ms-Meta-B,x-ms-request-id"));
    buf_clear(&out);
    cors_put_exposed(&out, &RULES.rules[2], response);
    CHECK_INT(out.n, 0);
    arena_release(&arena);
}
