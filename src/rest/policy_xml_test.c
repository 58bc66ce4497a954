/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/policy_xml.h"

#include "core/test.h"

static struct err read_body(struct rest_call *call, const char *body, struct str *encoded)
{
    call->body = str_of(body);
    return policies_from_xml(call, STR("raup"), encoded);
}

#define IDENTIFIER(id) "<SignedIdentifier><Id>" id "</Id></SignedIdentifier>"
#define ALL(inside)    "<SignedIdentifiers>" inside "</SignedIdentifiers>"

void test_policy_xml_both_ways(void)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct rest_call call = {.arena = &arena};
    struct str encoded;
    struct policy p;
    CHECK_OK(read_body(&call,
                       ALL("<SignedIdentifier><Id>a&amp;b</Id><AccessPolicy>"
                           "<Start>2020-01-02</Start><Expiry>2020-01-03T04:05:06+01:00</Expiry>"
                           "<Permission>rp</Permission></AccessPolicy></SignedIdentifier>"
                           "<SignedIdentifier><Id>open</Id><AccessPolicy><Start/></AccessPolicy>"
                           "</SignedIdentifier>"),
                       &encoded));
    CHECK(policies_find(encoded, STR("a&b"), &p));
    CHECK_STR(p.start, STR("2020-01-02T00:00:00.0000000Z"));
    CHECK_STR(p.expiry, STR("2020-01-03T03:05:06.0000000Z"));
    CHECK_STR(p.permission, STR("rp"));
    CHECK(policies_find(encoded, STR("open"), &p));
    CHECK(!str_given(p.start) && !str_given(p.expiry) && !str_given(p.permission));
    CHECK(!policies_find(encoded, STR("other"), &p));
    struct buf out = buf_in(&arena);
    policies_put_xml(&out, encoded);
    CHECK_STR(buf_str(&out), STR(ALL("<SignedIdentifier><Id>a&amp;b</Id><AccessPolicy>"
                                     "<Start>2020-01-02T00:00:00.0000000Z</Start>"
                                     "<Expiry>2020-01-03T03:05:06.0000000Z</Expiry>"
                                     "<Permission>rp</Permission></AccessPolicy></SignedIdentifier>"
                                     "<SignedIdentifier><Id>open</Id>"
                                     "</SignedIdentifier>")));
    arena_release(&arena);
}

void test_policy_xml_refuses(void)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct rest_call call = {.arena = &arena};
    struct str encoded;
    CHECK_OK(read_body(&call, "", &encoded));
    CHECK(!str_given(encoded));
    CHECK_OK(read_body(&call, "<SignedIdentifiers />", &encoded));
    CHECK(!str_given(encoded));
    static const char *const bad[] = {
        "<Other />",
        ALL("<SignedIdentifier />"),
        ALL(IDENTIFIER("")),
        ALL("<Other><Id>a</Id></Other>"),
        ALL(IDENTIFIER("a") IDENTIFIER("a")),
        ALL(IDENTIFIER("a") IDENTIFIER("b") IDENTIFIER("c") IDENTIFIER("d") IDENTIFIER("e")
                IDENTIFIER("f")),
        ALL(IDENTIFIER("1234567890123456789012345678901234567890123456789012345678901234x")),
        ALL("<SignedIdentifier><Id>a</Id><AccessPolicy><Permission>rw</Permission></AccessPolicy>"
            "</SignedIdentifier>"),
        "<SignedIdentifiers>",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_ERR(read_body(&call, bad[i], &encoded), ERR_INVALID_XML_DOCUMENT);
    CHECK_ERR(read_body(&call,
                        ALL("<SignedIdentifier><Id>a</Id><AccessPolicy><Start>soon</Start>"
                            "</AccessPolicy></SignedIdentifier>"),
                        &encoded),
              ERR_INVALID_XML_NODE_VALUE);
    arena_release(&arena);
}
