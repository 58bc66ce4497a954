/* SPDX-License-Identifier: Apache-2.0 */
/* A request as authentication sees it, made of the input's lines: the target, then headers. No
 * input authenticates without a key or a signature, and authentication always terminates. */
#include <assert.h>
#include <netinet/in.h>

#include "auth/auth.h"
#include "auth/oauth.h"
#include "core/text/uri.h"
#include "core/time.h"

enum { PAIRS_MAX = 64 };

struct request {
    struct auth_pair headers[PAIRS_MAX], query[PAIRS_MAX], query_plus[PAIRS_MAX];
    struct auth_input input;
};

static size_t read_query(struct auth_pair *to, struct arena *a, struct str query,
                         bool plus_is_space)
{
    struct uri_query walk = uri_query_of(str_given(query) ? query : STR(""));
    struct uri_param param;
    size_t count = 0;
    walk.plus_is_space = plus_is_space;
    walk.verbatim = STR("sig");
    while (count < PAIRS_MAX && uri_query_next(&walk, a, &param)) {
        to[count++] = (struct auth_pair){param.name, param.value};
        assert(!str_ieq(param.name, STR("sig")) || param.value.n <= param.raw.n);
    }
    return count;
}

static void read_target(struct request *r, struct arena *a, struct str target)
{
    struct str rest = target;
    struct str path = str_cut(&rest, '?');
    r->input.path = path;
    r->input.raw_query = rest;
    r->input.query_count = read_query(r->query, a, rest, true);
    size_t count = read_query(r->query_plus, a, rest, false);
    assert(count == r->input.query_count);
    if (str_given(rest) && str_find(rest, '+', 0) < rest.n)
        r->input.query_plus = r->query_plus;
    path = str_from(path, 1);
    (void)str_cut(&path, '/');
    if (str_given(path) && path.n > 0) {
        r->input.container = uri_decode_loose(a, str_cut(&path, '/'));
        r->input.object = str_given(path) ? uri_decode_loose(a, path) : STR_NONE;
    }
}

static void read_request(struct request *r, struct arena *a, struct str text)
{
    *r = (struct request){.input = {.headers = r->headers, .query = r->query}};
    read_target(r, a, str_cut(&text, '\n'));
    while (str_given(text) && r->input.header_count < PAIRS_MAX) {
        struct str value = str_cut(&text, '\n');
        struct str name = str_cut(&value, ':');
        r->headers[r->input.header_count++] =
            (struct auth_pair){name, str_given(value) ? str_trim(value) : STR("")};
    }
}

static void try_service(struct auth_server *server, struct request *r, struct arena *a,
                        enum service_kind service)
{
    static const struct sockaddr_storage peer = {.ss_family = AF_INET};
    struct auth_demand demand = {
        .operation = "Fuzz", .account_sas = "r", .account_sas_type = 'o', .service_sas = "r"};
    struct auth_result result;
    struct str challenge;
    r->input.service = service;
    r->input.method = STR("GET");
    r->input.account = STR(ACCOUNT_WELL_KNOWN_NAME);
    r->input.peer = &peer;
    r->input.secure = true;
    r->input.version = 20251105;
    r->input.content_length = -1;
    struct err error = auth_check(server, &r->input, &demand, a, &result, &challenge);
    assert(err_is(error));
    assert(err_http_status(error.code) >= 400 && err_http_status(error.code) < 500);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a;
    struct clock clock;
    struct request r;
    struct accounts *accounts = accounts_new();
    /* Not the well-known key, which the fuzzer might be told. */
    struct err error = accounts_put(accounts, STR(ACCOUNT_WELL_KNOWN_NAME),
                                    STR("c29tZSBrZXkgdGhhdCBub2JvZHkga25vd3M="), STR_NONE);
    assert(!err_is(error));
    arena_init(&a, 1 << 24);
    clock_init_manual(&clock, 784111777LL * TICKS_PER_SECOND);
    struct auth_server server = {.accounts = accounts, .clock = &clock};
    read_request(&r, &a, (struct str){(const char *)data, size});
    for (int service = 0; service < SERVICE_KIND_COUNT; service++)
        try_service(&server, &r, &a, (enum service_kind)service);
    arena_release(&a);
    accounts_free(accounts);
    return 0;
}
