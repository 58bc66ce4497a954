/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU time of authentication per request, in one thread: a 4 KiB PUT as the JavaScript SDK
 * sends it, with Shared Key, and the GET of a blob with each kind of SAS. Aims: Shared Key 3 µs,
 * SAS 4 µs. */
#include <assert.h>
#include <stdio.h>
#include <time.h>

#include "auth/auth.h"
#include "auth/sas.h"
#include "core/text/base64.h"
#include "core/text/uri.h"
#include "core/time.h"

enum { ROUNDS = 200000, PAIRS_MAX = 64 };
#define ACCOUNT ACCOUNT_WELL_KNOWN_NAME
#define DATE    "Sun, 06 Nov 1994 08:49:37 GMT"

struct bench {
    struct accounts *accounts;
    struct clock clock;
    struct auth_server server;
    struct arena kept;    /* what the request is made of */
    struct arena request; /* reset after each check, as a request's is */
    struct auth_pair headers[PAIRS_MAX], query[PAIRS_MAX];
    struct auth_input input;
    struct auth_demand demand;
};

static void add(struct auth_pair *pairs, size_t *count, const char *name, struct str value)
{
    assert(*count < PAIRS_MAX);
    pairs[(*count)++] = (struct auth_pair){str_of(name), value};
}

static void begin(struct bench *b)
{
    *b = (struct bench){0};
    int64_t now = 0;
    bool parsed = time_parse_http(STR(DATE), &now);
    assert(parsed);
    clock_init_manual(&b->clock, now);
    b->accounts = accounts_new();
    struct err error = accounts_put(b->accounts, STR(ACCOUNT), STR(ACCOUNT_WELL_KNOWN_KEY),
                                    STR(ACCOUNT_WELL_KNOWN_KEY));
    assert(!err_is(error));
    b->server = (struct auth_server){.accounts = b->accounts, .clock = &b->clock};
    arena_init(&b->kept, 1 << 20);
    arena_init(&b->request, 1 << 20);
    b->demand = (struct auth_demand){
        .operation = "Bench", .account_sas = "r", .account_sas_type = 'o', .service_sas = "r"};
    b->input = (struct auth_input){.service = SERVICE_BLOB,
                                   .method = STR("GET"),
                                   .path = STR("/" ACCOUNT "/container/some/blob.bin"),
                                   .query = b->query,
                                   .headers = b->headers,
                                   .content_length = -1,
                                   .account = STR(ACCOUNT),
                                   .container = STR("container"),
                                   .object = STR("some/blob.bin"),
                                   .version = 20251105};
    static const char *const COMMON[][2] = {
        {"Host", "127.0.0.1:10000"},
        {"User-Agent",
         "azsdk-js-azure-storage-blob/12.32.0 core-rest-pipeline/1.22.1 Node/20.20.2"},
        {"Accept", "application/xml"},
        {"Accept-Encoding", "gzip,deflate"},
        {"Connection", "keep-alive"},
        {"x-ms-version", "2025-11-05"},
        {"x-ms-client-request-id", "b2b04c7d-8d4e-4c0c-9a3b-2a1c1a7c2f10"},
        {"x-ms-date", DATE},
    };
    for (size_t i = 0; i < sizeof COMMON / sizeof COMMON[0]; i++)
        add(b->headers, &b->input.header_count, COMMON[i][0], str_of(COMMON[i][1]));
}

static void end(struct bench *b)
{
    arena_release(&b->kept);
    arena_release(&b->request);
    accounts_free(b->accounts);
}

static struct err check(struct bench *b)
{
    struct auth_result result;
    struct str challenge;
    return auth_check(&b->server, &b->input, &b->demand, &b->request, &result, &challenge);
}

static double cpu_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void report(struct bench *b, const char *name, double aim_us)
{
    struct err error = check(b);
    assert(!err_is(error));
    arena_reset(&b->request);
    double start = cpu_seconds();
    for (int i = 0; i < ROUNDS; i++) {
        error = check(b);
        assert(!err_is(error));
        arena_reset(&b->request);
    }
    double us = (cpu_seconds() - start) / ROUNDS * 1e6;
    printf("| %-28s | %8.2f | %6.1f | %s |\n", name, us, aim_us, us <= aim_us ? "yes" : "NO");
}

static struct str sign(struct bench *b, struct str text)
{
    unsigned char mac[SHA256_BYTES];
    struct account *account = accounts_get(b->accounts, STR(ACCOUNT));
    hmac_sign(&account->keys[0], text, mac);
    account_put(account);
    return base64_encode(&b->kept, (struct str){(const char *)mac, sizeof mac});
}

static void shared_key(void)
{
    struct bench b;
    begin(&b);
    b.input.method = STR("PUT");
    b.input.content_length = 4096;
    add(b.headers, &b.input.header_count, "Content-Length", STR("4096"));
    add(b.headers, &b.input.header_count, "Content-Type", STR("application/octet-stream"));
    add(b.headers, &b.input.header_count, "x-ms-blob-type", STR("BlockBlob"));
    struct str signature =
        sign(&b, STR("PUT\n\n\n4096\n\napplication/octet-stream\n\n\n\n\n\n\n"
                     "x-ms-blob-type:BlockBlob\n"
                     "x-ms-client-request-id:b2b04c7d-8d4e-4c0c-9a3b-2a1c1a7c2f10\n"
                     "x-ms-date:" DATE "\nx-ms-version:2025-11-05\n"
                     "/" ACCOUNT "/" ACCOUNT "/container/some/blob.bin"));
    add(b.headers, &b.input.header_count, "Authorization",
        arena_printf(&b.kept, "SharedKey " ACCOUNT ":%.*s", STR_ARG(signature)));
    report(&b, "Shared Key", 3.0);
    end(&b);
}

struct sas_case {
    const char *name;
    const char *extra[12][2];
};

static const struct sas_case SAS_CASES[] = {
    {"service SAS (blob)", {{"sr", "b"}, {"spr", "https,http"}}},
    {"service SAS (container)", {{"sr", "c"}, {"sip", "0.0.0.0-255.255.255.255"}}},
    {"account SAS", {{"ss", "bqtf"}, {"srt", "sco"}, {"spr", "https,http"}}},
    {"user delegation SAS",
     {{"sr", "b"},
      {"skoid", "oid"},
      {"sktid", "tid"},
      {"skt", "1994-11-06"},
      {"ske", "1994-11-07"},
      {"sks", "b"},
      {"skv", "2025-11-05"}}},
};

static struct str sas_signature(struct bench *b)
{
    struct sas sas;
    struct str text, value, secret;
    bool good = sas_read(&sas, &b->input, &b->kept);
    assert(good);
    if (sas.kind != AUTH_ACCOUNT_SAS) {
        struct err error = sas_name_resource(&sas);
        assert(!err_is(error));
    }
    good = sas_text(&sas, 0, &text);
    assert(good);
    if (sas.kind != AUTH_DELEGATION_SAS)
        return sign(b, text);
    struct delegation d = {STR("oid"), STR("tid"),        STR("1994-11-06"), STR("1994-11-07"),
                           STR("b"),   STR("2025-11-05"), STR_NONE};
    struct err error = auth_delegate(&b->server, STR(ACCOUNT), &d, &b->kept, &value);
    assert(!err_is(error));
    good = base64_decode(&b->kept, value, &secret);
    assert(good);
    struct hmac_key key;
    unsigned char mac[SHA256_BYTES];
    hmac_key_init(&key, secret);
    hmac_sign(&key, text, mac);
    return base64_encode(&b->kept, (struct str){(const char *)mac, sizeof mac});
}

static void by_sas(const struct sas_case *c)
{
    struct bench b;
    struct sockaddr_storage peer = {.ss_family = AF_INET};
    begin(&b);
    b.input.peer = &peer;
    add(b.query, &b.input.query_count, "sv", STR("2025-11-05"));
    add(b.query, &b.input.query_count, "sp", STR("r"));
    add(b.query, &b.input.query_count, "st", STR("1994-11-06T08:00:00Z"));
    add(b.query, &b.input.query_count, "se", STR("1994-11-06T09:00:00Z"));
    for (size_t i = 0; c->extra[i][0] != NULL; i++)
        add(b.query, &b.input.query_count, c->extra[i][0], str_of(c->extra[i][1]));
    add(b.query, &b.input.query_count, "sig", sas_signature(&b));
    report(&b, c->name, 4.0);
    end(&b);
}

int main(void)
{
    puts("| by                           | CPU µs   | aim    | met |");
    puts("|------------------------------|----------|--------|-----|");
    shared_key();
    for (size_t i = 0; i < sizeof SAS_CASES / sizeof SAS_CASES[0]; i++)
        by_sas(&SAS_CASES[i]);
    return 0;
}
