/* SPDX-License-Identifier: Apache-2.0 */
/* Bearer tokens, key sets and role files: no input breaks their parsers, and an unsigned token is
 * never accepted. The input's first byte selects the parser. */
#include <assert.h>

#include "auth/jwks.h"
#include "auth/roles.h"

/* The key of RFC 7517's example A.1 (P-256). */
static const char KEYS[] = "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"1\","
                           "\"x\":\"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4\","
                           "\"y\":\"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM\"}]}";

static void try_token(struct arena *a, struct str text)
{
    struct jwt token;
    struct jwks *keys = NULL;
    struct err error = jwks_parse(STR(KEYS), &keys);
    assert(!err_is(error));
    if (jwt_parse(a, text, &token))
        assert(jwks_verify(keys, &token) != JWKS_GOOD);
    jwks_free(keys);
}

static void try_keys(struct str text)
{
    struct jwks *keys = NULL;
    if (!err_is(jwks_parse(text, &keys)))
        assert(jwks_count(keys) > 0 && jwks_count(keys) <= JWKS_KEYS_MAX);
    jwks_free(keys);
}

static void try_roles(struct str text)
{
    struct roles *roles = NULL;
    struct str nobody = STR_NONE;
    struct role_request request = {&nobody, 1, STR("account"), STR("container"), NEED_WRITE};
    if (err_is(roles_parse(text, &roles)))
        return;
    /* An identity without any claim may get rights only from a line for "*". */
    if (str_find(text, '*', 0) == text.n)
        assert(!roles_permit(roles, &request));
    roles_free(roles);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a;
    if (size == 0)
        return 0;
    struct str text = {(const char *)data + 1, size - 1};
    arena_init(&a, 1 << 24);
    if (data[0] % 3 == 0)
        try_token(&a, text);
    else if (data[0] % 3 == 1)
        try_keys(text);
    else
        try_roles(text);
    arena_release(&a);
    return 0;
}
