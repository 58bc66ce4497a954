/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/jwks.h"

#include <assert.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/text/json.h"

enum { KEY_ID_MAX = 256, COORDINATE_BYTES = 32 };

struct jwks_key {
    enum jwt_algorithm algorithm;
    struct str id; /* absent when it has none */
    char id_text[KEY_ID_MAX];
    EVP_PKEY *key;
};

struct jwks {
    size_t count;
    struct jwks_key keys[JWKS_KEYS_MAX];
};

void jwks_free(struct jwks *set)
{
    if (set == NULL)
        return;
    for (size_t i = 0; i < set->count; i++)
        EVP_PKEY_free(set->keys[i].key);
    free(set);
}

size_t jwks_count(const struct jwks *set)
{
    return set->count;
}

/* ---- reading ---- */

struct key_text {
    struct str type, use, algorithm, id, n, e, curve, x, y;
};

static EVP_PKEY *key_from(const char *type, OSSL_PARAM *params)
{
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    if (context != NULL && params != NULL && EVP_PKEY_fromdata_init(context) == 1)
        (void)EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, params);
    EVP_PKEY_CTX_free(context);
    return key;
}

static EVP_PKEY *rsa_key(struct arena *arena, const struct key_text *text)
{
    struct str n, e;
    if (!base64url_decode(arena, text->n, &n) || !base64url_decode(arena, text->e, &e) ||
        n.n > 1024 || e.n > 8)
        return NULL;
    BIGNUM *modulus = BN_bin2bn((const unsigned char *)n.p, (int)n.n, NULL);
    BIGNUM *exponent = BN_bin2bn((const unsigned char *)e.p, (int)e.n, NULL);
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    OSSL_PARAM *params = NULL;
    EVP_PKEY *key = NULL;
    if (modulus != NULL && exponent != NULL && builder != NULL &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, modulus) == 1 &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, exponent) == 1)
        params = OSSL_PARAM_BLD_to_param(builder);
    key = key_from("RSA", params);
    if (key != NULL && EVP_PKEY_get_bits(key) < JWKS_RSA_BITS_MIN) {
        EVP_PKEY_free(key);
        key = NULL;
    }
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(builder);
    BN_free(exponent);
    BN_free(modulus);
    return key;
}

static EVP_PKEY *ec_key(struct arena *arena, const struct key_text *text)
{
    struct str x, y;
    if (!str_eq(text->curve, STR("P-256")) || !base64url_decode(arena, text->x, &x) ||
        !base64url_decode(arena, text->y, &y) || x.n != COORDINATE_BYTES || y.n != COORDINATE_BYTES)
        return NULL;
    unsigned char point[1 + 2 * COORDINATE_BYTES] = {POINT_CONVERSION_UNCOMPRESSED};
    memcpy(point + 1, x.p, COORDINATE_BYTES);
    memcpy(point + 1 + COORDINATE_BYTES, y.p, COORDINATE_BYTES);
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    OSSL_PARAM *params = NULL;
    if (builder != NULL &&
        OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0) == 1 &&
        OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point) ==
            1)
        params = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY *key = key_from("EC", params);
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(builder);
    return key;
}

static void add_key(struct jwks *set, struct arena *arena, const struct key_text *text)
{
    if (set->count == JWKS_KEYS_MAX || text->id.n > KEY_ID_MAX ||
        (str_given(text->use) && !str_eq(text->use, STR("sig"))))
        return;
    bool rsa = str_eq(text->type, STR("RSA")), ec = str_eq(text->type, STR("EC"));
    EVP_PKEY *key = rsa ? rsa_key(arena, text) : ec ? ec_key(arena, text) : NULL;
    if (key == NULL)
        return;
    struct jwks_key *to = &set->keys[set->count++];
    to->algorithm = rsa ? JWT_RS256 : JWT_ES256;
    to->key = key;
    if (str_given(text->id)) {
        memcpy(to->id_text, text->id.p, text->id.n);
        to->id = (struct str){to->id_text, text->id.n};
    }
}

static void read_key(struct json_reader *r, struct json_value object, struct key_text *text)
{
    const struct {
        struct str name;
        struct str *to;
    } fields[] = {
        {STR("kty"), &text->type},  {STR("use"), &text->use}, {STR("alg"), &text->algorithm},
        {STR("kid"), &text->id},    {STR("n"), &text->n},     {STR("e"), &text->e},
        {STR("crv"), &text->curve}, {STR("x"), &text->x},     {STR("y"), &text->y},
    };
    struct str name;
    while (object.kind == JSON_OBJECT && json_member(r, &name)) {
        struct json_value value = json_value(r);
        for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
            if (value.kind == JSON_STRING && str_eq(name, fields[i].name))
                *fields[i].to = value.text;
        json_skip(r, value);
    }
}

static bool read_set(struct json_reader *r, struct arena *arena, struct jwks *set)
{
    struct json_value object = json_value(r);
    struct str name;
    while (object.kind == JSON_OBJECT && json_member(r, &name)) {
        struct json_value value = json_value(r);
        if (!str_eq(name, STR("keys")) || value.kind != JSON_ARRAY) {
            json_skip(r, value);
            continue;
        }
        while (json_element(r)) {
            struct key_text text = {0};
            struct json_value key = json_value(r);
            if (key.kind != JSON_OBJECT)
                return false;
            read_key(r, key, &text);
            add_key(set, arena, &text);
        }
    }
    return json_done(r) && set->count > 0;
}

struct err jwks_parse(struct str json, struct jwks **out)
{
    assert(out != NULL);
    struct arena arena;
    arena_init(&arena, JWKS_BYTES_MAX);
    struct jwks *set = MEM_NEW(struct jwks);
    struct json_reader reader = json_reader_of(&arena, json);
    bool good = json.n <= JWKS_BYTES_MAX && read_set(&reader, &arena, set);
    arena_release(&arena);
    if (!good) {
        jwks_free(set);
        return err_new(ERR_INVALID_INPUT);
    }
    *out = set;
    return OK;
}

/* ---- verifying ---- */

/* The token has r and s as raw numbers; OpenSSL expects DER. */
static unsigned char *der_of_ecdsa(struct str signature, int *n)
{
    unsigned char *der = NULL;
    ECDSA_SIG *pair = ECDSA_SIG_new();
    if (pair == NULL || signature.n != 2 * COORDINATE_BYTES) {
        ECDSA_SIG_free(pair);
        return NULL;
    }
    const unsigned char *bytes = (const unsigned char *)signature.p;
    BIGNUM *r = BN_bin2bn(bytes, COORDINATE_BYTES, NULL);
    BIGNUM *s = BN_bin2bn(bytes + COORDINATE_BYTES, COORDINATE_BYTES, NULL);
    if (r == NULL || s == NULL || ECDSA_SIG_set0(pair, r, s) != 1) {
        BN_free(r);
        BN_free(s);
    } else {
        *n = i2d_ECDSA_SIG(pair, &der);
    }
    ECDSA_SIG_free(pair);
    return der;
}

static bool verify(EVP_PKEY *key, struct str signature, struct str text)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool good = context != NULL &&
                EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
                EVP_DigestVerify(context, (const unsigned char *)signature.p, signature.n,
                                 (const unsigned char *)text.p, text.n) == 1;
    EVP_MD_CTX_free(context);
    return good;
}

static const struct jwks_key *find_key(const struct jwks *set, const struct jwt *token)
{
    const struct jwks_key *found = NULL;
    size_t of_kind = 0;
    for (size_t i = 0; i < set->count; i++) {
        const struct jwks_key *key = &set->keys[i];
        if (key->algorithm != token->algorithm)
            continue;
        if (str_given(token->key_id) && str_given(key->id) && str_eq(key->id, token->key_id))
            return key;
        found = key;
        of_kind++;
    }
    return !str_given(token->key_id) && of_kind == 1 ? found : NULL;
}

enum jwks_answer jwks_verify(const struct jwks *set, const struct jwt *token)
{
    if (token->algorithm == JWT_OTHER || token->critical)
        return JWKS_BAD;
    const struct jwks_key *key = find_key(set, token);
    if (key == NULL)
        return JWKS_UNKNOWN_KEY;
    if (token->algorithm == JWT_RS256)
        return verify(key->key, token->signature, token->signed_part) ? JWKS_GOOD : JWKS_BAD;
    int n = 0;
    unsigned char *der = der_of_ecdsa(token->signature, &n);
    bool good = der != NULL && n > 0 &&
                verify(key->key, (struct str){(const char *)der, (size_t)n}, token->signed_part);
    OPENSSL_free(der);
    return good ? JWKS_GOOD : JWKS_BAD;
}
