/* SPDX-License-Identifier: Apache-2.0 */
/* Keys, key sets and signed tokens for tests. */
#ifndef AUTH_TOKEN_FIXTURE_H
#define AUTH_TOKEN_FIXTURE_H

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include "auth/jwt.h"
#include "core/buf.h"
#include "core/test.h"
#include "core/text/base64.h"

static inline struct str base64url(struct arena *arena, struct str bytes)
{
    struct str text = base64_encode(arena, bytes);
    char *copy = arena_cstr(arena, text);
    size_t n = 0;
    for (size_t i = 0; i < text.n && copy[i] != '='; i++, n++)
        copy[i] = copy[i] == '+' ? '-' : copy[i] == '/' ? '_' : copy[i];
    return (struct str){copy, n};
}

static inline struct str number_of(struct arena *arena, EVP_PKEY *key, const char *name, int bytes)
{
    BIGNUM *number = NULL;
    CHECK(EVP_PKEY_get_bn_param(key, name, &number) == 1);
    int n = bytes > 0 ? bytes : BN_num_bytes(number);
    unsigned char *out = (unsigned char *)arena_bytes(arena, (size_t)n);
    CHECK(BN_bn2binpad(number, out, n) == n);
    BN_free(number);
    return base64url(arena, (struct str){(const char *)out, (size_t)n});
}

static inline void put_rsa_key(struct arena *arena, struct buf *out, EVP_PKEY *key, const char *id)
{
    struct str n = number_of(arena, key, OSSL_PKEY_PARAM_RSA_N, 0);
    struct str e = number_of(arena, key, OSSL_PKEY_PARAM_RSA_E, 0);
    buf_printf(out,
               "{\"kty\":\"RSA\",\"use\":\"sig\",\"kid\":\"%s\",\"n\":\"%.*s\",\"e\":\"%.*s\"}", id,
               STR_ARG(n), STR_ARG(e));
}

static inline void put_ec_key(struct arena *arena, struct buf *out, EVP_PKEY *key, const char *id)
{
    struct str x = number_of(arena, key, OSSL_PKEY_PARAM_EC_PUB_X, 32);
    struct str y = number_of(arena, key, OSSL_PKEY_PARAM_EC_PUB_Y, 32);
    buf_printf(out,
               "{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"%s\",\"x\":\"%.*s\",\"y\":\"%.*s\"}",
               id, STR_ARG(x), STR_ARG(y));
}

static inline struct str raw_of_der(struct arena *arena, const unsigned char *der, size_t n)
{
    ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &der, (long)n);
    unsigned char *raw = (unsigned char *)arena_bytes(arena, 64);
    CHECK(pair != NULL && BN_bn2binpad(ECDSA_SIG_get0_r(pair), raw, 32) == 32 &&
          BN_bn2binpad(ECDSA_SIG_get0_s(pair), raw + 32, 32) == 32);
    ECDSA_SIG_free(pair);
    return (struct str){(const char *)raw, 64};
}

static inline struct str sign_with(struct arena *arena, EVP_PKEY *key, struct str text)
{
    unsigned char signature[1024];
    size_t n = sizeof signature;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    CHECK(EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1);
    CHECK(EVP_DigestSign(context, signature, &n, (const unsigned char *)text.p, text.n) == 1);
    EVP_MD_CTX_free(context);
    if (EVP_PKEY_is_a(key, "EC"))
        return raw_of_der(arena, signature, n);
    return arena_copy(arena, (struct str){(const char *)signature, n});
}

/* key may be NULL: an empty signature. */
static inline struct str make_token(struct arena *arena, EVP_PKEY *key, const char *header,
                                    const char *claims)
{
    struct str first = base64url(arena, str_of(header));
    struct str second = base64url(arena, str_of(claims));
    struct str text = arena_printf(arena, "%.*s.%.*s", STR_ARG(first), STR_ARG(second));
    struct str signature = key == NULL ? STR("") : base64url(arena, sign_with(arena, key, text));
    return arena_printf(arena, "%.*s.%.*s", STR_ARG(text), STR_ARG(signature));
}

#endif
