/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/jwks.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "auth/token_fixture.h"

#define CLAIMS "{\"iss\":\"i\",\"aud\":\"a\",\"nbf\":1,\"exp\":2,\"iat\":1}"

struct keys {
    struct arena arena;
    EVP_PKEY *rsa, *ec;
    struct jwks *set;
};

static void keys_init(struct keys *k)
{
    arena_init(&k->arena, 1 << 20);
    k->rsa = EVP_RSA_gen(2048);
    k->ec = EVP_EC_gen("P-256");
    CHECK(k->rsa != NULL && k->ec != NULL);
    struct buf json = buf_in(&k->arena);
    buf_put(&json, STR("{\"extra\":[1,{}],\"keys\":["));
    put_rsa_key(&k->arena, &json, k->rsa, "one");
    buf_put(&json, STR(",{\"kty\":\"oct\",\"k\":\"AAAA\"},"));
    put_ec_key(&k->arena, &json, k->ec, "two");
    buf_put(&json, STR("]}"));
    CHECK_OK(jwks_parse(buf_str(&json), &k->set));
    CHECK_INT(jwks_count(k->set), 2);
}

static void keys_release(struct keys *k)
{
    jwks_free(k->set);
    EVP_PKEY_free(k->rsa);
    EVP_PKEY_free(k->ec);
    arena_release(&k->arena);
}

static enum jwks_answer check(struct keys *k, struct str token)
{
    struct jwt jwt;
    CHECK(jwt_parse(&k->arena, token, &jwt));
    return jwks_verify(k->set, &jwt);
}

void test_jwks_verifies_rs256_and_es256(void)
{
    struct keys k;
    keys_init(&k);
    struct arena *a = &k.arena;
    CHECK_INT(check(&k, make_token(a, k.rsa, "{\"alg\":\"RS256\",\"kid\":\"one\"}", CLAIMS)),
              JWKS_GOOD);
    CHECK_INT(check(&k, make_token(a, k.rsa, "{\"alg\":\"RS256\"}", CLAIMS)), JWKS_GOOD);
    CHECK_INT(check(&k, make_token(a, k.ec, "{\"alg\":\"ES256\",\"kid\":\"two\"}", CLAIMS)),
              JWKS_GOOD);
    /* The algorithm decides which key is used, never the other way round. */
    CHECK_INT(check(&k, make_token(a, k.ec, "{\"alg\":\"RS256\",\"kid\":\"one\"}", CLAIMS)),
              JWKS_BAD);
    CHECK_INT(check(&k, make_token(a, k.rsa, "{\"alg\":\"ES256\",\"kid\":\"two\"}", CLAIMS)),
              JWKS_BAD);
    CHECK_INT(check(&k, make_token(a, k.ec, "{\"alg\":\"ES256\",\"kid\":\"one\"}", CLAIMS)),
              JWKS_UNKNOWN_KEY);
    CHECK_INT(check(&k, make_token(a, k.rsa, "{\"alg\":\"RS256\",\"kid\":\"three\"}", CLAIMS)),
              JWKS_UNKNOWN_KEY);
    keys_release(&k);
}

void test_jwks_refuses_what_is_not_signed(void)
{
    static const char *const HEADERS[] = {
        "{\"alg\":\"none\",\"kid\":\"one\"}",
        "{\"alg\":\"HS256\",\"kid\":\"one\"}",
        "{\"alg\":\"rs256\",\"kid\":\"one\"}",
        "{\"kid\":\"one\"}",
        "{\"alg\":\"RS256\",\"kid\":\"one\",\"crit\":[\"x\"]}",
    };
    struct keys k;
    keys_init(&k);
    for (size_t i = 0; i < sizeof HEADERS / sizeof HEADERS[0]; i++)
        CHECK_INT(check(&k, make_token(&k.arena, k.rsa, HEADERS[i], CLAIMS)), JWKS_BAD);
    CHECK_INT(check(&k, make_token(&k.arena, NULL, "{\"alg\":\"RS256\",\"kid\":\"one\"}", CLAIMS)),
              JWKS_BAD);
    CHECK_INT(check(&k, make_token(&k.arena, NULL, "{\"alg\":\"ES256\",\"kid\":\"two\"}", CLAIMS)),
              JWKS_BAD);

    /* Another payload under the same signature. */
    struct str token = make_token(&k.arena, k.rsa, "{\"alg\":\"RS256\",\"kid\":\"one\"}", CLAIMS);
    struct str other =
        make_token(&k.arena, NULL, "{\"alg\":\"RS256\",\"kid\":\"one\"}", "{\"iss\":\"x\"}");
    size_t last = token.n;
    while (token.p[last - 1] != '.')
        last--;
    struct str forged =
        arena_printf(&k.arena, "%.*s%.*s", STR_ARG(other), STR_ARG(str_from(token, last)));
    CHECK_INT(check(&k, forged), JWKS_BAD);
    keys_release(&k);
}

void test_jwks_refuses_bad_sets(void)
{
    static const char *const SETS[] = {
        "",
        "{}",
        "[]",
        "{\"keys\":{}}",
        "{\"keys\":[]}",
        "{\"keys\":[1]}",
        "{\"keys\":[{}]}",
        "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}]}", /* 17 bits */
        "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"!\",\"e\":\"AQAB\"}]}",
        "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AAAA\",\"y\":\"AAAA\"}]}",
        /* Not a point of the curve. */
        ("{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\","
         "\"x\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE\","
         "\"y\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE\"}]}"),
    };
    for (size_t i = 0; i < sizeof SETS / sizeof SETS[0]; i++) {
        struct jwks *set = NULL;
        CHECK_ERR(jwks_parse(str_of(SETS[i]), &set), ERR_INVALID_INPUT);
        CHECK(set == NULL);
    }
}

/* ---- fetching ---- */

static void *answer_once(void *arg)
{
    static const char REPLY[] = "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    char request[4096];
    int connection = accept(*(int *)arg, NULL, NULL);
    CHECK(connection >= 0);
    CHECK(read(connection, request, sizeof request) > 0);
    CHECK(write(connection, REPLY, sizeof REPLY - 1) == (ssize_t)sizeof REPLY - 1);
    CHECK(close(connection) == 0);
    return NULL;
}

void test_jwks_fetch_by_http(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(bind(listener, (struct sockaddr *)&address, n) == 0 && listen(listener, 1) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &n) == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, answer_once, &listener) == 0);
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/keys", ntohs(address.sin_port));
    char *text = NULL;
    size_t size = 0;
    CHECK_OK(jwks_fetch(url, &text, &size));
    CHECK_STR(((struct str){text, size}), STR("hello"));
    free(text);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(close(listener) == 0);
    CHECK(err_is(jwks_fetch(url, &text, &size)));
}

void test_jwks_fetch_refuses(void)
{
    char *text = NULL;
    size_t n = 0;
    CHECK_ERR(jwks_fetch("http://example.org/keys", &text, &n), ERR_INVALID_INPUT);
    CHECK_ERR(jwks_fetch("https://", &text, &n), ERR_INVALID_INPUT);
    CHECK_ERR(jwks_fetch("/nowhere/at/all", &text, &n), ERR_IO);
}
