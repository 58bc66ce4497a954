/* SPDX-License-Identifier: Apache-2.0 */
/* A server for the tests of http/: replies in every way a handler can.
 *
 *   http_echo [name=value]…      loops, port, connections, per_address, idle_ms, head_ms, stall_ms,
 *                                rate, grace_ms
 *   http_echo certificate CERT KEY      writes a certificate of its own and ends
 *
 * It prints "listening PORT" and serves until SIGTERM, which drains it. With TLS_CERT (and TLS_KEY,
 * TLS_PASSWORD) in the environment it serves TLS too, and reads the files again at SIGHUP. Paths:
 *   /hello            "hello" at once, from on_head (so with a request body it is an early reply)
 *   /late             the same from on_end
 *   /slow?MS          the same MS milliseconds after on_end
 *   /echo             the request's body, up to 1 MiB
 *   /count            how many bytes the body had, and a sum of them
 *   /held             as /count, but the body is held back a millisecond after each piece
 *   /lent             as /count, but another thread receives the body, and takes its time
 *   /memory?N         N bytes from memory
 *   /source?N         N bytes from a source, with their length announced
 *   /chunked?N        the same, not announced
 *   /wait?N           as /chunked, with a pause before each part
 *   /file?N           N bytes of a file
 *   /short /long /fail   a source that gives less or more than announced, or fails
 *   /empty            204 with a body that must not be sent
 *   /head             what the head said
 *   /secure           "yes" over TLS, else "no" */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/mem.h"
#include "http/server.h"
#include "net/cert.h"
#include "net/pool.h"

enum { PART_BYTES = 16 << 10, ECHO_BYTES_MAX = 1 << 20, MEMORY_BYTES_MAX = 8 << 20, LOOPS_MAX = 8 };

struct echo {
    struct http_exchange *x;
    struct http_source source;
    struct loop_timer timer;
    struct loop_task lent;
    struct buf body;
    struct str path;
    uint64_t argument;
    uint64_t sum;
    uint64_t to_give;
    bool waits;
    bool waited;
    bool fails;
    bool from_file;
};

/* Read-only after main has set them. */
static char *memory;
static int file;
static struct pool *receivers;

#define FROM(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

static void reply(struct echo *e, struct http_response response)
{
    struct buf headers = buf_in(e->x->arena);
    http_put_header(&headers, STR("Content-Type"), STR("text/plain"));
    http_put_header(&headers, STR("X-Connection"),
                    arena_printf(e->x->arena, "%llu", (unsigned long long)e->x->connection));
    response.headers = buf_str(&headers);
    if (response.status == 0)
        response.status = 200;
    if (response.content_length == 0)
        response.content_length = -1;
    http_reply(e->x, &response);
}

static void reply_text(struct echo *e, struct str text)
{
    reply(e, (struct http_response){.body = text});
}

static void reply_late(struct loop_timer *timer)
{
    reply_text(FROM(timer, struct echo, timer), STR("slow"));
}

/* ---- sources ---- */

static void source_timer(struct loop_timer *timer)
{
    http_source_ready(FROM(timer, struct echo, timer)->x);
}

static enum http_pull pull(struct http_source *source, struct http_span *out)
{
    struct echo *e = FROM(source, struct echo, source);
    if (e->waits && !e->waited) {
        e->waited = true;
        e->timer.fire = source_timer;
        loop_timer_set(e->x->loop, &e->timer, 1);
        return HTTP_PULL_WAIT;
    }
    e->waited = false;
    if (e->to_give == 0)
        return e->fails ? HTTP_PULL_FAIL : HTTP_PULL_END;
    size_t part = e->to_give < PART_BYTES ? (size_t)e->to_give : PART_BYTES;
    if (e->from_file)
        part = (size_t)e->to_give;
    *out = (struct http_span){.memory = memory, .fd = e->from_file ? file : -1, .length = part};
    e->to_give -= part;
    return HTTP_PULL_SPAN;
}

static void reply_source(struct echo *e, uint64_t gives, int64_t announced)
{
    e->source.pull = pull;
    e->to_give = gives;
    reply(e, (struct http_response){.source = &e->source, .content_length = announced});
}

static bool reply_with_source(struct echo *e)
{
    int64_t n = (int64_t)e->argument;
    if (str_eq(e->path, STR("/source")))
        reply_source(e, e->argument, n);
    else if (str_eq(e->path, STR("/short")))
        reply_source(e, 1000, 2000);
    else if (str_eq(e->path, STR("/long")))
        reply_source(e, 2000, 1000);
    else if (str_eq(e->path, STR("/chunked")))
        reply_source(e, e->argument, -1);
    else if ((e->waits = str_eq(e->path, STR("/wait"))))
        reply_source(e, e->argument, -1);
    else if ((e->fails = str_eq(e->path, STR("/fail"))))
        reply_source(e, 1000, -1);
    else if ((e->from_file = str_eq(e->path, STR("/file"))))
        reply_source(e, e->argument, n);
    else
        return false;
    return true;
}

/* ---- the handler ---- */

static void reply_head(struct echo *e)
{
    const struct http_request *r = &e->x->request;
    struct buf text = buf_in(e->x->arena);
    buf_printf(&text, "%.*s|%.*s|%.*s|%.*s|%lld|%d\n", STR_ARG(r->method_text), STR_ARG(r->path),
               STR_ARG(r->query), STR_ARG(r->host), (long long)r->content_length, r->chunked);
    for (size_t i = 0; i < r->header_count; i++)
        buf_printf(&text, "%.*s=%.*s\n", STR_ARG(r->headers[i].name), STR_ARG(r->headers[i].value));
    reply_text(e, buf_str(&text));
}

static void add_to_sum(struct echo *e, struct str bytes)
{
    for (size_t i = 0; i < bytes.n; i++)
        e->sum += (unsigned char)bytes.p[i];
}

/* ---- a body that another thread receives ---- */

static void lent_back(struct loop_task *task)
{
    struct echo *e = FROM(task, struct echo, lent);
    http_body_back(e->x);
    http_body_resume(e->x);
}

static void receive_lent(struct loop_task *task)
{
    struct echo *e = FROM(task, struct echo, lent);
    char bytes[PART_BYTES];
    for (ssize_t got; (got = http_lent_receive(e->x, bytes, sizeof bytes)) > 0;)
        add_to_sum(e, (struct str){bytes, (size_t)got});
    (void)usleep(1000);
    e->lent.run = lent_back;
    loop_post(e->x->loop, &e->lent);
}

static void lend(struct http_exchange *x)
{
    struct echo *e = x->user;
    e->lent.run = receive_lent;
    pool_post(receivers, &e->lent);
}

static void on_head(struct http_exchange *x)
{
    struct echo *e = ARENA_NEW(x->arena, struct echo);
    x->user = e;
    e->x = x;
    e->path = x->request.path;
    e->body = buf_in(x->arena);
    if (!str_to_u64(x->request.query, &e->argument))
        e->argument = 0;
    if (str_eq(e->path, STR("/hello")))
        reply_text(e, STR("hello"));
    else if (str_eq(e->path, STR("/lent")))
        (void)http_body_lend(x, lend);
}

static void held_timer(struct loop_timer *timer)
{
    http_body_resume(FROM(timer, struct echo, timer)->x);
}

static void on_body(struct http_exchange *x, struct str bytes)
{
    struct echo *e = x->user;
    if (str_eq(e->path, STR("/echo")) && e->body.n + bytes.n <= ECHO_BYTES_MAX)
        buf_put(&e->body, bytes);
    add_to_sum(e, bytes);
    if (str_eq(e->path, STR("/held"))) {
        e->timer.fire = held_timer;
        http_body_pause(x);
        loop_timer_set(x->loop, &e->timer, 1);
    }
}

static void on_end(struct http_exchange *x)
{
    struct echo *e = x->user;
    if (str_eq(e->path, STR("/late"))) {
        reply_text(e, STR("late"));
    } else if (str_eq(e->path, STR("/slow"))) {
        e->timer.fire = reply_late;
        loop_timer_set(x->loop, &e->timer, (int64_t)e->argument);
    } else if (str_eq(e->path, STR("/echo"))) {
        reply_text(e, buf_str(&e->body));
    } else if (str_eq(e->path, STR("/count")) || str_eq(e->path, STR("/held")) ||
               str_eq(e->path, STR("/lent"))) {
        reply_text(e, arena_printf(x->arena, "%llu %llu", (unsigned long long)x->body_bytes,
                                   (unsigned long long)e->sum));
    } else if (str_eq(e->path, STR("/memory")) && e->argument <= MEMORY_BYTES_MAX) {
        reply_text(e, (struct str){memory, (size_t)e->argument});
    } else if (str_eq(e->path, STR("/empty"))) {
        reply(e, (struct http_response){.status = 204, .body = STR("not to be sent")});
    } else if (str_eq(e->path, STR("/head"))) {
        reply_head(e);
    } else if (str_eq(e->path, STR("/secure"))) {
        reply_text(e, x->secure ? STR("yes") : STR("no"));
    } else if (!reply_with_source(e)) {
        reply(e, (struct http_response){.status = 404, .body = STR("no such path")});
    }
}

static void on_done(struct http_exchange *x)
{
    (void)x;
}

static const struct http_handler HANDLER = {
    .on_head = on_head, .on_body = on_body, .on_end = on_end, .on_done = on_done};

/* ---- the program ---- */

static void *run_loop(void *arg)
{
    loop_run(arg);
    return NULL;
}

static void stop(const char *why)
{
    (void)fprintf(stderr, "http_echo: %s\n", why);
    exit(1);
}

static int64_t option(int argc, char **argv, const char *name, int64_t otherwise)
{
    int64_t value = otherwise;
    for (int i = 1; i < argc; i++) {
        struct str given = str_of(argv[i]);
        if (str_eq(str_cut(&given, '='), str_of(name)) && !str_to_i64(given, &value))
            stop("an option is not a number");
    }
    return value;
}

static struct http_limits limits_of(int argc, char **argv)
{
    const struct http_limits *d = &HTTP_LIMITS_DEFAULT;
    return (struct http_limits){
        .connections_max = (unsigned)option(argc, argv, "connections", d->connections_max),
        .connections_per_address = (unsigned)option(argc, argv, "per_address", 0),
        .idle_ms = option(argc, argv, "idle_ms", d->idle_ms),
        .head_ms = option(argc, argv, "head_ms", d->head_ms),
        .body_stall_ms = option(argc, argv, "stall_ms", d->body_stall_ms),
        .body_bytes_per_second_min = option(argc, argv, "rate", d->body_bytes_per_second_min),
    };
}

struct main_wait {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool drained;
};

static void drained(void *arg)
{
    struct main_wait *wait = arg;
    (void)pthread_mutex_lock(&wait->lock);
    wait->drained = true;
    (void)pthread_cond_signal(&wait->changed);
    (void)pthread_mutex_unlock(&wait->lock);
}

static void make_content(void)
{
    memory = mem_alloc(MEMORY_BYTES_MAX);
    for (size_t i = 0; i < MEMORY_BYTES_MAX; i++)
        memory[i] = (char)('a' + i % 26);
    file = memfd_create("http_echo", MFD_CLOEXEC);
    for (int i = 0; i < 8; i++)
        if (file < 0 || write(file, memory, MEMORY_BYTES_MAX) != MEMORY_BYTES_MAX)
            stop("no file to send");
}

static struct tls *load_tls(void)
{
    struct tls_files files = {getenv("TLS_CERT"), getenv("TLS_KEY"), getenv("TLS_PASSWORD")};
    struct tls *tls = NULL;
    if (files.certificate != NULL && err_is(tls_new(&files, &tls)))
        stop("the certificate cannot be used");
    return tls;
}

static sigset_t handled_signals(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGHUP);
    return set;
}

static void serve(struct http_server *server, struct tls *tls, int64_t grace_ms)
{
    sigset_t set = handled_signals();
    int signal;
    while (sigwait(&set, &signal) == 0 && signal == SIGHUP) {
        puts(err_is(tls_reload(tls)) ? "not reloaded" : "reloaded");
        (void)fflush(stdout);
    }
    struct main_wait wait = {.lock = PTHREAD_MUTEX_INITIALIZER,
                             .changed = PTHREAD_COND_INITIALIZER};
    http_server_drain(server, grace_ms, drained, &wait);
    (void)pthread_mutex_lock(&wait.lock);
    while (!wait.drained)
        (void)pthread_cond_wait(&wait.changed, &wait.lock);
    (void)pthread_mutex_unlock(&wait.lock);
    puts("drained");
}

/* Separate threads send long replies from files, unless senders=0. */
static struct pool *start_senders(int argc, char **argv)
{
    unsigned threads = (unsigned)option(argc, argv, "senders", 2);
    struct pool *senders = NULL;
    if (threads > 0 && err_is(pool_new_nice(threads, 1, &senders)))
        stop("no senders");
    return senders;
}

static struct http_server *listen_on(struct loop **loops, size_t count, struct tls *tls,
                                     struct pool *senders, int argc, char **argv)
{
    struct http_limits limits = limits_of(argc, argv);
    struct http_server *server;
    uint16_t port = (uint16_t)option(argc, argv, "port", 0);
    if (err_is(http_server_new(loops, count, &HANDLER, &limits, &server)))
        stop("no server");
    http_server_use_tls(server, tls);
    http_server_use_senders(server, senders);
    if (err_is(http_server_listen(server, "127.0.0.1", port, NULL, &port)))
        stop("cannot listen");
    printf("listening %u\n", port);
    (void)fflush(stdout);
    return server;
}

int main(int argc, char **argv)
{
    if (argc == 4 && str_eq(str_of(argv[1]), STR("certificate")))
        return err_is(cert_make_self_signed(argv[2], argv[3])) ? 1 : 0;
    struct loop *loops[LOOPS_MAX];
    pthread_t threads[LOOPS_MAX];
    size_t count = (size_t)option(argc, argv, "loops", 1);
    sigset_t set = handled_signals();
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    make_content();
    struct tls *tls = load_tls();
    for (size_t i = 0; i < count; i++)
        if (err_is(loop_new(&loops[i])))
            stop("no loop");
    struct pool *senders = start_senders(argc, argv);
    if (err_is(pool_new(2, &receivers)))
        stop("no receivers");
    struct http_server *server = listen_on(loops, count, tls, senders, argc, argv);
    for (size_t i = 0; i < count; i++)
        (void)pthread_create(&threads[i], NULL, run_loop, loops[i]);
    serve(server, tls, option(argc, argv, "grace_ms", 5000));
    for (size_t i = 0; i < count; i++) {
        loop_stop(loops[i]);
        (void)pthread_join(threads[i], NULL);
    }
    pool_free(senders);
    pool_free(receivers);
    http_server_free(server);
    tls_free(tls);
    for (size_t i = 0; i < count; i++)
        loop_free(loops[i]);
    (void)close(file);
    free(memory);
    return 0;
}
