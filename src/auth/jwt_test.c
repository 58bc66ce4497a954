/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/jwt.h"

#include "auth/token_fixture.h"

void test_jwt_parse(void)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct jwt jwt;
    struct str token = make_token(
        &arena, NULL, "{\"typ\":\"JWT\",\"alg\":\"RS256\",\"kid\":\"k\"}",
        "{\"iss\":\"i\",\"aud\":[\"a\",\"b\"],\"oid\":\"o\",\"tid\":\"t\",\"appid\":\"p\",\"sub\":\"s\","
        "\"groups\":[\"g1\",\"g2\"],\"other\":{\"x\":[1]},\"nbf\":10,\"exp\":20.5,\"iat\":9}");
    CHECK(jwt_parse(&arena, token, &jwt));
    CHECK_INT(jwt.algorithm, JWT_RS256);
    CHECK_STR(jwt.key_id, STR("k"));
    CHECK_STR(jwt.issuer, STR("i"));
    CHECK_INT(jwt.audience_count, 2);
    CHECK_STR(jwt.audiences[1], STR("b"));
    CHECK_STR(jwt.object_id, STR("o"));
    CHECK_STR(jwt.tenant_id, STR("t"));
    CHECK_STR(jwt.app_id, STR("p"));
    CHECK_STR(jwt.subject, STR("s"));
    CHECK_INT(jwt.group_count, 2);
    CHECK(jwt.timed);
    CHECK_INT(jwt.not_before, 10);
    CHECK_INT(jwt.expiry, 20);
    arena_release(&arena);
}

void test_jwt_malformed(void)
{
    static const char *const TOKENS[] = {
        "",          ".",         "..",       "a.b.c",    "e30.e30",  "e30.e30.e30.e30",
        "e30.e30.a", "e30=.e30.", "e30.e+0.", "W10.e30.", "e30.W10.", "e30.e30.e30.",
    };
    static const char *const CLAIMS[] = {
        "{\"iss\":\"a\",\"iss\":\"b\"}",
        "{\"aud\":1}",
        "{\"aud\":[1]}",
        "{\"aud\":\"a\",\"aud\":\"b\"}",
        "{\"exp\":\"1\"}",
        "{\"exp\":-1}",
        "{\"exp\":1,\"exp\":2}",
        "{\"exp\":99999999999999999999}",
        "{\"exp\":1e9}",
        "{\"iss\":null}",
        "{\"groups\":\"g\"}",
        "{",
        "{}{}",
        "\"text\"",
    };
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct jwt jwt;
    for (size_t i = 0; i < sizeof TOKENS / sizeof TOKENS[0]; i++)
        CHECK(!jwt_parse(&arena, str_of(TOKENS[i]), &jwt));
    for (size_t i = 0; i < sizeof CLAIMS / sizeof CLAIMS[0]; i++)
        CHECK(!jwt_parse(&arena, make_token(&arena, NULL, "{\"alg\":\"RS256\"}", CLAIMS[i]), &jwt));
    CHECK(jwt_parse(&arena, STR("e30.e30."), &jwt) && !jwt.timed);
    char *large = arena_bytes(&arena, JWT_BYTES_MAX + 1);
    memset(large, 'A', JWT_BYTES_MAX + 1);
    CHECK(!jwt_parse(&arena, (struct str){large, JWT_BYTES_MAX + 1}, &jwt));
    arena_release(&arena);
}
