/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the unit tests of auth: a server with one account and a fixed clock, and a request
 * built line by line. */
#ifndef AUTH_AUTH_FIXTURE_H
#define AUTH_AUTH_FIXTURE_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "auth/auth_internal.h"
#include "core/test.h"
#include "core/text/base64.h"
#include "core/text/uri.h"
#include "core/time.h"

#define FIXTURE_DATE  "Sun, 06 Nov 1994 08:49:37 GMT"
#define FIXTURE_KEY_2 "c2Vjb25kIGtleSBvZiB0aGUgYWNjb3VudA=="

struct auth_fixture {
    struct accounts *accounts;
    struct clock clock;
    struct auth_server server;
    struct arena arena;
    struct auth_pair headers[64];
    struct auth_pair query[64];
    struct sockaddr_storage peer;
    struct auth_input input;
    struct auth_demand demand;
    struct auth_result result;
    struct str challenge;
};

static inline void fixture_init(struct auth_fixture *f)
{
    *f = (struct auth_fixture){0};
    int64_t now;
    CHECK(time_parse_http(STR(FIXTURE_DATE), &now));
    clock_init_manual(&f->clock, now);
    f->accounts = accounts_new();
    CHECK_OK(accounts_put(f->accounts, STR(ACCOUNT_WELL_KNOWN_NAME), STR(ACCOUNT_WELL_KNOWN_KEY),
                          STR(FIXTURE_KEY_2)));
    arena_init(&f->arena, 1 << 20);
    f->server = (struct auth_server){.accounts = f->accounts, .clock = &f->clock};
    f->demand = (struct auth_demand){.operation = "GetBlob",
                                     .service_sas = "r",
                                     .account_sas = "r",
                                     .account_sas_type = 'o',
                                     .anonymous = AUTH_ANONYMOUS_BLOB};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&f->peer;
    v4->sin_family = AF_INET;
    v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    f->input = (struct auth_input){.service = SERVICE_BLOB,
                                   .method = STR("GET"),
                                   .account = STR(ACCOUNT_WELL_KNOWN_NAME),
                                   .headers = f->headers,
                                   .query = f->query,
                                   .peer = &f->peer,
                                   .content_length = -1,
                                   .version = 20210806};
}

static inline void fixture_release(struct auth_fixture *f)
{
    arena_release(&f->arena);
    accounts_free(f->accounts);
}

static inline void fixture_header(struct auth_fixture *f, const char *name, const char *value)
{
    CHECK(f->input.header_count < sizeof f->headers / sizeof f->headers[0]);
    f->headers[f->input.header_count++] = (struct auth_pair){str_of(name), str_of(value)};
}

static inline void fixture_query(struct auth_fixture *f, struct str query)
{
    struct uri_query walk = uri_query_of(query);
    struct uri_param param;
    while (str_given(query) && uri_query_next(&walk, &f->arena, &param)) {
        CHECK(f->input.query_count < sizeof f->query / sizeof f->query[0]);
        f->query[f->input.query_count++] = (struct auth_pair){param.name, param.value};
    }
}

/* "/account/container/blob?query", path-style. */
static inline void fixture_target(struct auth_fixture *f, const char *method, const char *target)
{
    f->input.method = str_of(method);
    struct str rest = str_of(target);
    f->input.path = str_cut(&rest, '?');
    f->input.raw_query = rest;
    f->input.query_count = 0;
    fixture_query(f, rest);
    struct str path = str_from(f->input.path, 1);
    str_cut(&path, '/');
    f->input.container = path.n == 0 ? STR_NONE : uri_decode_loose(&f->arena, str_cut(&path, '/'));
    f->input.object = path.n == 0 ? STR_NONE : uri_decode_loose(&f->arena, path);
}

/* Adds "&sig=" with the text's signature by the account's first key. */
static inline void fixture_sign(struct auth_fixture *f, struct buf *query, struct str text)
{
    unsigned char mac[SHA256_BYTES];
    struct account *account = accounts_get(f->accounts, f->input.account);
    hmac_sign(&account->keys[0], text, mac);
    account_put(account);
    struct str sig = base64_encode(&f->arena, (struct str){(const char *)mac, sizeof mac});
    buf_put(query, STR("&sig="));
    uri_encode(query, sig, URI_KEEP_NONE);
}

static inline struct err fixture_check(struct auth_fixture *f)
{
    return auth_check(&f->server, &f->input, &f->demand, &f->arena, &f->result, &f->challenge);
}

#endif
