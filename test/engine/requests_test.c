/* SPDX-License-Identifier: Apache-2.0 */
#include "requests.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/test.h"
#include "core/text/base64.h"
#include "core/text/uri.h"
#include "core/time.h"
#include "rest/copy/copier.h"
#include "rest/head/match.h"
#include "service/file/opens/opens.h"

enum { HEADERS_MAX = 16 };

#define ACCOUNT ACCOUNT_WELL_KNOWN_NAME
#define LAKE    "lake"

void requests_init(struct requests_fixture *f)
{
    *f = (struct requests_fixture){0};
    arena_init(&f->arena, SIZE_MAX);
    clock_init_system(&f->clock);
}

/* ---- the server ---- */

static void *run_loop(void *arg)
{
    loop_run(arg);
    return NULL;
}

void requests_connect(struct requests_fixture *f, enum service_kind service)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(f->rest.ports[service])};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    f->fds[service] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(f->fds[service] >= 0 && connect(f->fds[service], (struct sockaddr *)&to, sizeof to) == 0);
}

static void start_copies(struct requests_fixture *f)
{
    struct reach reach;
    CHECK_OK(reach_parse("127.0.0.1", &reach));
    CHECK_OK(dialer_new(&reach, &f->dialer));
    CHECK_OK(pool_new(1, &f->pool));
    CHECK_OK(pool_new(1, &f->fetch_pool));
    CHECK_OK(copier_start(&f->store, f->dialer, &f->copier));
    f->rest.pool = f->pool;
    f->rest.fetch_pool = f->fetch_pool;
    f->rest.dialer = f->dialer;
    f->rest.copier = f->copier;
}

/* Takes ownership of the engine, which was made with the fixture's clock. */
void requests_begin(struct requests_fixture *f, struct engine *engine)
{
    struct str secret;
    f->store = (struct store){.engine = engine, .clock = &f->clock, .opens = opens_new()};
    f->rest = (struct rest_server){
        .options = {.server_name = "test"},
        .store = &f->store,
        .auth = {.accounts = accounts_new(), .store = &f->store, .clock = &f->clock}};
    CHECK_OK(
        accounts_put(f->rest.auth.accounts, STR(ACCOUNT), STR(ACCOUNT_WELL_KNOWN_KEY), STR_NONE));
    CHECK_OK(accounts_put(f->rest.auth.accounts, STR(LAKE), STR(ACCOUNT_WELL_KNOWN_KEY), STR_NONE));
    CHECK_OK(accounts_make_hierarchical(f->rest.auth.accounts, STR(LAKE)));
    CHECK(base64_decode(&f->arena, STR(ACCOUNT_WELL_KNOWN_KEY), &secret));
    hmac_key_init(&f->key, secret);
    start_copies(f);
    CHECK_OK(loop_new(&f->loop));
    /* On a busy machine one service's operations take minutes; the others' connections wait. */
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    limits.idle_ms = INT64_C(3600000);
    CHECK_OK(http_server_new(&f->loop, 1, &REST_HANDLER, &limits, &f->http));
    match_index_init(&f->rest.match_dfs, &OPS_DFS);
    for (int i = 0; i < SERVICE_KIND_COUNT; i++) {
        enum service_kind service = (enum service_kind)i;
        match_index_init(&f->rest.match[i], match_table(service));
        f->listeners[i] = (struct rest_listener){.server = &f->rest, .service = service};
        CHECK_OK(http_server_listen(f->http, "127.0.0.1", 0, &f->listeners[i], &f->rest.ports[i]));
    }
    CHECK(pthread_create(&f->thread, NULL, run_loop, f->loop) == 0);
    for (int i = 0; i < SERVICE_KIND_COUNT; i++)
        requests_connect(f, (enum service_kind)i);
    WAIT_UNTIL(http_server_usage(f->http).connections == SERVICE_KIND_COUNT);
}

static void stop_loop(void *loop)
{
    loop_stop(loop);
}

void requests_end(struct requests_fixture *f)
{
    for (int i = 0; i < SERVICE_KIND_COUNT; i++)
        (void)close(f->fds[i]);
    http_server_drain(f->http, 0, stop_loop, f->loop);
    (void)pthread_join(f->thread, NULL);
    dialer_stop(f->dialer);
    copier_stop(f->copier);
    pool_free(f->fetch_pool);
    pool_free(f->pool);
    dialer_free(f->dialer);
    http_server_free(f->http);
    engine_close(f->store.engine);
    loop_free(f->loop);
    opens_free(f->store.opens);
    accounts_free(f->rest.auth.accounts);
    arena_release(&f->arena);
}

/* ---- requests ---- */

/* Of the account, for a copy's source and the parts of a batch. */
static void put_sas(struct requests_fixture *f, struct buf *out)
{
    unsigned char digest[32];
    hmac_sign(&f->key, STR(ACCOUNT "\nrd\nbf\no\n\n2099-01-01\n\n\n2020-12-06\n\n"), digest);
    buf_put(out, STR("sp=rd&ss=bf&srt=o&se=2099-01-01&sv=2020-12-06&sig="));
    uri_encode(out, base64_encode(&f->arena, (struct str){(const char *)digest, sizeof digest}),
               URI_KEEP_NONE);
}

/* Replaces "@0" to "@3" with parts of earlier answers, "@b" and "@f" with a service's address, and
 * "@s" with a SAS. */
static struct str fill_in(struct requests_fixture *f, const char *text, bool encoded)
{
    struct buf out = buf_in(&f->arena);
    for (; *text != '\0'; text++) {
        if (*text != '@') {
            buf_put_u8(&out, (uint8_t)*text);
            continue;
        }
        text++;
        if (*text == 's')
            put_sas(f, &out);
        else if (*text == 'b' || *text == 'f')
            buf_printf(&out, "http://127.0.0.1:%u/" ACCOUNT,
                       f->rest.ports[*text == 'b' ? SERVICE_BLOB : SERVICE_FILE]);
        else if (encoded)
            uri_encode(&out, f->captured[*text - '0'], URI_KEEP_NONE);
        else
            buf_put(&out, f->captured[*text - '0']);
    }
    return buf_str(&out);
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static const char *account_of(const struct budget *b)
{
    return b->lake ? LAKE : ACCOUNT;
}

/* Shared Key Lite: the x-ms headers, sorted, and the path with `comp`. */
static struct str signature(struct requests_fixture *f, const struct budget *b, struct str target,
                            struct str headers)
{
    struct str lines[HEADERS_MAX];
    struct str type = STR("");
    struct str date = STR("");
    size_t count = 0;
    for (struct str rest = headers; rest.n > 0;) {
        struct str line = str_cut(&rest, '\n');
        line = str_head(line, line.n - 1);
        struct str value = line;
        struct str name = str_cut(&value, ':');
        if (str_eq(name, STR("Content-Type")))
            type = str_trim(value);
        if (str_eq(name, STR("x-ms-date")))
            date = str_trim(value);
        if (str_starts(name, STR("x-ms-")))
            lines[count++] =
                arena_printf(&f->arena, "%.*s:%.*s\n", STR_ARG(name), STR_ARG(str_trim(value)));
    }
    qsort(lines, count, sizeof lines[0], by_name);
    struct buf text = buf_in(&f->arena);
    struct str path = target;
    struct str query = path;
    path = str_cut(&query, '?');
    if (b->service == SERVICE_TABLE) {
        buf_put(&text, date);
        buf_put(&text, STR("\n"));
    } else {
        buf_printf(&text, "%s\n\n%.*s\n\n", b->method, STR_ARG(type));
        for (size_t i = 0; i < count; i++)
            buf_put(&text, lines[i]);
    }
    buf_printf(&text, "/%s%.*s", account_of(b), STR_ARG(path));
    while (str_given(query) && query.n > 0) {
        struct str parameter = str_cut(&query, '&');
        if (str_starts(parameter, STR("comp=")))
            buf_printf(&text, "?%.*s", STR_ARG(parameter));
    }
    unsigned char digest[32];
    hmac_sign(&f->key, buf_str(&text), digest);
    return base64_encode(&f->arena, (struct str){(const char *)digest, sizeof digest});
}

static bool is_whole(const struct budget *b, struct str answer)
{
    size_t head = str_find_str(answer, STR("\r\n\r\n"));
    if (head == answer.n)
        return false;
    struct str before = str_head(answer, head);
    size_t at = str_find_str(before, STR("Content-Length: "));
    if (at == before.n) /* chunked, or none at all */
        return str_find_str(before, STR("chunked")) == before.n ||
               str_find_str(answer, STR("\r\n0\r\n\r\n")) < answer.n;
    struct str rest = str_from(before, at + 16);
    uint64_t length = 0;
    (void)str_to_u64(str_cut(&rest, '\r'), &length);
    return str_eq(str_of(b->method), STR("HEAD")) || answer.n >= head + 4 + length;
}

/* A change set that inserts or replaces so many entities. */
static struct str change_set(struct arena *a, unsigned entities)
{
    struct buf body = buf_in(a);
    buf_printf(&body, "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n");
    for (unsigned i = 0; i < entities; i++)
        buf_printf(&body,
                   "--c\r\nContent-Type: application/http\r\n"
                   "Content-Transfer-Encoding: binary\r\n\r\n"
                   "PUT http://127.0.0.1/" ACCOUNT "/tab(PartitionKey='p',RowKey='%u') HTTP/1.1\r\n"
                   "Content-Type: application/json\r\n\r\n{\"a\":2}\r\n",
                   i);
    buf_printf(&body, "--c--\r\n--b--\r\n");
    return buf_str(&body);
}

static struct str body_of(struct requests_fixture *f, const struct budget *b)
{
    if (b->body_entities > 0)
        return change_set(&f->arena, b->body_entities);
    if (b->body_bytes > 0)
        return (struct str){arena_bytes(&f->arena, b->body_bytes), b->body_bytes};
    return b->body == NULL ? STR("") : fill_in(f, b->body, false);
}

void requests_send(struct requests_fixture *f, const struct budget *b)
{
    struct str target = fill_in(f, b->target, true);
    struct str body = body_of(f, b);
    struct buf date = buf_in(&f->arena);
    time_put_rfc1123(&date, clock_now(&f->clock));
    struct str headers = arena_printf(
        &f->arena, "x-ms-date: %.*s\r\nx-ms-version: 2025-05-05\r\n%.*s", STR_ARG(buf_str(&date)),
        STR_ARG(b->headers == NULL ? STR("") : fill_in(f, b->headers, false)));
    target = arena_printf(&f->arena, "/%s%.*s", account_of(b), STR_ARG(target));
    struct str head =
        arena_printf(&f->arena,
                     "%s %.*s HTTP/1.1\r\nHost: 127.0.0.1\r\n%.*sAuthorization: SharedKeyLite "
                     "%s:%.*s\r\nContent-Length: %zu\r\n\r\n",
                     b->method, STR_ARG(target), STR_ARG(headers), account_of(b),
                     STR_ARG(signature(f, b, target, headers)), body.n);
    int fd = f->fds[b->service];
    CHECK(write(fd, head.p, head.n) == (ssize_t)head.n);
    CHECK(body.n == 0 || write(fd, body.p, body.n) == (ssize_t)body.n);
}

struct str requests_answer(struct requests_fixture *f, const struct budget *b)
{
    struct str answer = {f->answer, 0};
    int fd = f->fds[b->service];
    while (!is_whole(b, answer)) {
        ssize_t n = read(fd, f->answer + answer.n, sizeof f->answer - answer.n);
        CHECK(n > 0);
        answer.n += (size_t)n;
    }
    return answer;
}

bool requests_capture(struct requests_fixture *f, const struct budget *b, struct str answer)
{
    for (size_t i = 0; i < sizeof b->capture / sizeof b->capture[0]; i++) {
        const struct budget_capture *c = &b->capture[i];
        if (c->after == NULL)
            continue;
        size_t at = str_find_str(answer, str_of(c->after));
        if (at == answer.n)
            return false;
        struct str rest = str_from(answer, at + strlen(c->after));
        size_t end_at = 0;
        while (end_at < rest.n && strchr("<\r\"", rest.p[end_at]) == NULL)
            end_at++;
        f->captured[c->to] = arena_copy(&f->arena, str_head(rest, end_at));
    }
    return true;
}

unsigned requests_status(struct str answer)
{
    uint64_t status = 0;
    (void)str_to_u64(str_head(str_from(answer, strlen("HTTP/1.1 ")), 3), &status);
    return (unsigned)status;
}
