/* SPDX-License-Identifier: Apache-2.0 */
/* Requests over a real connection to a fault-injecting engine: whatever fails, even after the
 * answer was made, the client sees only the failure, and nothing has changed. */
#include <arpa/inet.h>
#include <pthread.h>
#include <unistd.h>

#include "core/hash/hmac.h"
#include "core/test.h"
#include "core/text/base64.h"
#include "core/text/uri.h"
#include "engine/fault.h"
#include "engine/mem/mem.h"
#include "rest/server.h"

enum { ANSWER_BYTES_MAX = 16 << 10 };

struct dispatch_fixture {
    struct arena arena;
    struct clock clock;
    struct store store;
    struct loop *loop;
    struct http_server *http;
    struct rest_server rest;
    struct rest_listener listener;
    pthread_t thread;
    struct str sas;
    int fd;
    char answer[ANSWER_BYTES_MAX];
};

static struct str make_sas(struct arena *a)
{
    struct hmac_key key;
    struct str secret;
    unsigned char digest[32];
    struct buf out = buf_in(a);
    CHECK(base64_decode(a, STR(ACCOUNT_WELL_KNOWN_KEY), &secret));
    hmac_key_init(&key, secret);
    hmac_sign(&key,
              STR(ACCOUNT_WELL_KNOWN_NAME "\nrwdlacup\nq\nsco\n\n2099-01-01\n\n\n2020-12-06\n\n"),
              digest);
    buf_put(&out, STR("sp=rwdlacup&ss=q&srt=sco&se=2099-01-01&sv=2020-12-06&sig="));
    uri_encode(&out, base64_encode(a, (struct str){(const char *)digest, sizeof digest}),
               URI_KEEP_NONE);
    return buf_str(&out);
}

static void *run_loop(void *arg)
{
    loop_run(arg);
    return NULL;
}

static void connect_to(struct dispatch_fixture *f, uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    f->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(f->fd >= 0 && connect(f->fd, (struct sockaddr *)&to, sizeof to) == 0);
}

static void begin(struct dispatch_fixture *f)
{
    uint16_t port;
    *f = (struct dispatch_fixture){0};
    arena_init(&f->arena, 1 << 20);
    clock_init_system(&f->clock);
    f->store =
        (struct store){.engine = engine_fault_new(engine_mem_new(&f->clock)), .clock = &f->clock};
    f->rest = (struct rest_server){
        .options = {.server_name = "test"},
        .store = &f->store,
        .auth = {.accounts = accounts_new(), .store = &f->store, .clock = &f->clock}};
    CHECK_OK(accounts_put(f->rest.auth.accounts, STR(ACCOUNT_WELL_KNOWN_NAME),
                          STR(ACCOUNT_WELL_KNOWN_KEY), STR_NONE));
    match_index_init(&f->rest.match[SERVICE_QUEUE], match_table(SERVICE_QUEUE));
    f->listener = (struct rest_listener){.server = &f->rest, .service = SERVICE_QUEUE};
    f->sas = make_sas(&f->arena);
    CHECK_OK(loop_new(&f->loop));
    CHECK_OK(http_server_new(&f->loop, 1, &REST_HANDLER, NULL, &f->http));
    CHECK_OK(http_server_listen(f->http, "127.0.0.1", 0, &f->listener, &port));
    CHECK(pthread_create(&f->thread, NULL, run_loop, f->loop) == 0);
    connect_to(f, port);
}

static void stop_loop(void *loop)
{
    loop_stop(loop);
}

static void end(struct dispatch_fixture *f)
{
    (void)close(f->fd);
    http_server_drain(f->http, 0, stop_loop, f->loop);
    (void)pthread_join(f->thread, NULL);
    http_server_free(f->http);
    engine_close(f->store.engine); /* first: its thread may still be on the way out of loop_post */
    loop_free(f->loop);
    accounts_free(f->rest.auth.accounts);
    arena_release(&f->arena);
}

static bool is_whole(struct str answer)
{
    size_t head = str_find_str(answer, STR("\r\n\r\n"));
    size_t at = str_find_str(str_head(answer, head), STR("Content-Length: "));
    struct str rest = str_from(str_head(answer, head), at + 16);
    uint64_t length = 0;
    (void)str_to_u64(str_cut(&rest, '\r'), &length);
    return head < answer.n && answer.n >= head + 4 + length;
}

static struct str ask(struct dispatch_fixture *f, const char *line, struct str body)
{
    struct str request =
        arena_printf(&f->arena, "%s%s%.*s HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n%.*s",
                     line, str_find(str_of(line), '?', 0) < strlen(line) ? "&" : "?",
                     STR_ARG(f->sas), body.n, STR_ARG(body));
    struct str answer = {f->answer, 0};
    CHECK(write(f->fd, request.p, request.n) == (ssize_t)request.n);
    while (!is_whole(answer)) {
        ssize_t n = read(f->fd, f->answer + answer.n, sizeof f->answer - answer.n);
        CHECK(n > 0);
        answer.n += (size_t)n;
    }
    return answer;
}

static size_t count_of(struct str text, struct str part)
{
    size_t count = 0;
    for (size_t at; (at = str_find_str(text, part)) < text.n; count++)
        text = str_from(text, at + part.n);
    return count;
}

static void check_failure(struct str answer, const char *success)
{
    CHECK(str_starts(answer, STR("HTTP/1.1 500 ")));
    CHECK_INT(count_of(answer, STR("x-ms-error-code: InternalError\r\n")), 1);
    CHECK_INT(count_of(answer, STR("x-ms-request-id: ")), 1);
    CHECK_INT(count_of(answer, STR("<?xml ")), 1);
    CHECK_INT(count_of(answer, STR("<Error>")), 1);
    CHECK_INT(count_of(answer, str_of(success)), 0);
}

/* Repeats the request until no call is left to fail; returns the final result. */
static struct str ask_failing(struct dispatch_fixture *f, const char *line, struct str body,
                              const char *success)
{
    for (uint64_t n = 1;; n++) {
        engine_fault_arm(f->store.engine, n, err_cause(ERR_IO, 5));
        struct str answer = ask(f, line, body);
        bool fired = engine_fault_fired(f->store.engine);
        engine_fault_arm(f->store.engine, 0, OK);
        if (!fired)
            return answer;
        check_failure(answer, success);
    }
}

void test_dispatch_failure_is_all_that_is_told(void)
{
    static const struct str put_body =
        STR_INIT("<QueueMessage><MessageText>one</MessageText></QueueMessage>");
    struct dispatch_fixture f;
    begin(&f);
    struct str answer =
        ask_failing(&f, "PUT /" ACCOUNT_WELL_KNOWN_NAME "/queue", STR(""), "Content-Length: 0");
    CHECK(str_starts(answer, STR("HTTP/1.1 201 ")));
    answer = ask_failing(&f, "POST /" ACCOUNT_WELL_KNOWN_NAME "/queue/messages", put_body,
                         "<QueueMessagesList>");
    CHECK(str_starts(answer, STR("HTTP/1.1 201 ")));
    CHECK_INT(count_of(answer, STR("x-ms-request-id: ")), 1);
    answer = ask_failing(&f, "GET /" ACCOUNT_WELL_KNOWN_NAME "/queue/messages?numofmessages=32",
                         STR(""), "<QueueMessagesList>");
    CHECK(str_starts(answer, STR("HTTP/1.1 200 ")));
    CHECK_INT(count_of(answer, STR("<MessageText>one</MessageText>")), 1);
    CHECK_INT(count_of(answer, STR("<DequeueCount>1</DequeueCount>")), 1);
    end(&f);
}
