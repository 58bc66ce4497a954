/* SPDX-License-Identifier: Apache-2.0 */
/* Connections to PostgreSQL that are cut during COMMIT, by a proxy in this process that recognises
 * a COMMIT. */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/cluster/cluster.h"
#include "engine/cluster/sql.h"
#include "engine/wait.h"
#include "subject.h"

enum cut { CUT_NEVER, CUT_BEFORE, CUT_AFTER };

struct proxy {
    int listener;
    uint16_t port;
    uint16_t to;
    atomic_int armed; /* enum cut: what happens to the next COMMIT */
    atomic_uint cuts;
    atomic_bool stopping;
    pthread_t thread;
};

struct proxied {
    struct proxy *proxy;
    int client;
    int server;
};

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* A Bind message that names the prepared COMMIT. */
static bool has_commit(struct str bytes)
{
    char text[16] = {0};
    int n = snprintf(text + 1, sizeof text - 1, "s%d", STMT_COMMIT);
    return str_find_str(bytes, (struct str){text, (size_t)n + 2}) < bytes.n;
}

static bool receive(int from, char *bytes, size_t size, size_t *n)
{
    ssize_t got = read(from, bytes, size);
    *n = got > 0 ? (size_t)got : 0;
    return got > 0;
}

/* False if the connection must be cut. */
static bool pass_to_server(struct proxied *p)
{
    char bytes[65536];
    size_t n;
    if (!receive(p->client, bytes, sizeof bytes, &n))
        return false;
    enum cut cut = CUT_NEVER;
    if (has_commit((struct str){bytes, n}))
        cut = (enum cut)atomic_exchange(&p->proxy->armed, CUT_NEVER);
    if (cut != CUT_NEVER)
        atomic_fetch_add(&p->proxy->cuts, 1);
    if (cut != CUT_BEFORE && write(p->server, bytes, n) != (ssize_t)n)
        return false;
    if (cut == CUT_AFTER) { /* after the server's answer, which the client does not receive */
        struct pollfd answer = {.fd = p->server, .events = POLLIN};
        (void)poll(&answer, 1, 2000);
    }
    return cut == CUT_NEVER;
}

static bool pass_to_client(struct proxied *p)
{
    char bytes[65536];
    size_t n;
    return receive(p->server, bytes, sizeof bytes, &n) && write(p->client, bytes, n) == (ssize_t)n;
}

static void *run_proxied(void *arg)
{
    struct proxied *p = arg;
    bool goes_on = true;
    while (goes_on && !atomic_load(&p->proxy->stopping)) {
        struct pollfd fds[2] = {{.fd = p->client, .events = POLLIN},
                                {.fd = p->server, .events = POLLIN}};
        (void)poll(fds, 2, 100);
        if (fds[0].revents != 0)
            goes_on = pass_to_server(p);
        if (goes_on && fds[1].revents != 0)
            goes_on = pass_to_client(p);
    }
    (void)close(p->client);
    (void)close(p->server);
    free(p);
    return NULL;
}

static void *run_proxy(void *arg)
{
    struct proxy *proxy = arg;
    int client;
    while ((client = accept(proxy->listener, NULL, NULL)) >= 0) {
        struct sockaddr_in to = loopback(proxy->to);
        struct proxied *p = malloc(sizeof *p);
        pthread_t thread;
        CHECK(p != NULL);
        *p = (struct proxied){proxy, client, socket(AF_INET, SOCK_STREAM, 0)};
        CHECK_INT(connect(p->server, (struct sockaddr *)&to, sizeof to), 0);
        CHECK_INT(pthread_create(&thread, NULL, run_proxied, p), 0);
        CHECK_INT(pthread_detach(thread), 0);
    }
    return NULL;
}

static void proxy_start(struct proxy *p, uint16_t to)
{
    struct sockaddr_in at = loopback(0);
    socklen_t n = sizeof at;
    *p = (struct proxy){.listener = socket(AF_INET, SOCK_STREAM, 0), .to = to};
    CHECK_INT(bind(p->listener, (struct sockaddr *)&at, sizeof at), 0);
    CHECK_INT(listen(p->listener, 64), 0);
    CHECK_INT(getsockname(p->listener, (struct sockaddr *)&at, &n), 0);
    p->port = ntohs(at.sin_port);
    CHECK_INT(pthread_create(&p->thread, NULL, run_proxy, p), 0);
}

static void proxy_stop(struct proxy *p)
{
    atomic_store(&p->stopping, true);
    (void)shutdown(p->listener, SHUT_RDWR);
    pthread_join(p->thread, NULL);
    (void)close(p->listener);
}

/* "postgresql://USER@HOST:PORT[,…]/DATABASE[?…]", with the proxy in the place of the hosts: before
 * the one at `index`. False: there are fewer. */
static bool put_between(struct proxy *p, const char *rows, unsigned index)
{
    char uri[512];
    struct str rest = str_from(str_of(rows), strlen("postgresql://"));
    struct str user = str_cut(&rest, '@');
    struct str hosts = str_cut(&rest, '/');
    struct str database = str_cut(&rest, '?');
    struct str host = str_cut(&hosts, ',');
    for (; index > 0 && str_given(hosts); index--)
        host = str_cut(&hosts, ',');
    uint64_t port;
    (void)str_cut(&host, ':');
    if (index > 0 || !str_to_u64(host, &port))
        return false;
    proxy_start(p, (uint16_t)port);
    (void)snprintf(uri, sizeof uri, "postgresql://%.*s@127.0.0.1:%u/%.*s?sslmode=disable",
                   STR_ARG(user), p->port, STR_ARG(database));
    CHECK_INT(setenv("LAZULI_TEST_ROWS", uri, 1), 0);
    return true;
}

/* Any of the hosts may be the one that accepts writes. */
static void put_before_primary(struct proxy *p)
{
    char rows[512];
    char text[512];
    (void)snprintf(rows, sizeof rows, "%s", getenv("LAZULI_TEST_ROWS"));
    for (unsigned i = 0; put_between(p, rows, i); i++) {
        struct buf status = buf_heap();
        struct engine_cluster_options options = {
            .rows = getenv("LAZULI_TEST_ROWS"), .text = text, .text_size = sizeof text};
        struct err error = engine_cluster_status(&options, &status);
        buf_release(&status);
        /* Its tables may be missing, but it must accept connections. */
        if (!err_is(error) || str_find_str(str_of(text), STR("read-only")) == strlen(text))
            return;
        proxy_stop(p);
    }
    test_fail(__FILE__, __LINE__, "none of the hosts takes writes: %s", text);
}

static struct err count_up(struct txn *t, void *arg)
{
    struct str value;
    int64_t number = 0;
    char text[24];
    (void)arg;
    TRY(txn_get(t, STR("count"), &value));
    if (str_given(value))
        CHECK(str_to_i64(value, &number));
    int n = snprintf(text, sizeof text, "%lld", (long long)number + 1);
    return txn_put(t, STR("count"), (struct str){text, (size_t)n});
}

/* A transaction that begins together with its commit. */
static struct err put_blindly(struct txn *t, void *arg)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%lld", (long long)txn_stamp(t));
    *(int64_t *)arg = txn_stamp(t);
    return txn_put(t, (struct str){text, (size_t)n}, STR("x"));
}

static struct err count_rows(struct txn *t, void *arg)
{
    struct cursor *c;
    TRY(cursor_open(t, STR(""), &c));
    for (*(int *)arg = 0; c->valid; ++*(int *)arg)
        TRY(cursor_next(c));
    cursor_close(c);
    return OK;
}

/* Each update is acknowledged and done exactly once, whether its COMMIT arrived or not. */
void test_on_cluster_commits_that_are_cut_are_found_out(void)
{
    enum { UPDATES = 60 };
    struct proxy proxy;
    struct subject s = {.kind = &SUBJECT_CLUSTER};
    clock_init_system(&s.clock);
    arena_init(&s.arena, SIZE_MAX);
    put_before_primary(&proxy);
    s.engine = s.kind->open(&s);
    int64_t stamp = 0;
    for (int i = 0; i < UPDATES; i++) {
        atomic_store(&proxy.armed, i % 3);
        CHECK_OK(engine_update_wait(s.engine, STR("p"), count_up, NULL));
        atomic_store(&proxy.armed, (i + 1) % 3);
        CHECK_OK(engine_update_wait(s.engine, STR("q"), put_blindly, &stamp));
    }
    atomic_store(&proxy.armed, CUT_NEVER);
    CHECK(atomic_load(&proxy.cuts) >= UPDATES);
    CHECK_STR(get_row(&s, STR("p"), STR("count")), STR("60"));
    int rows = 0;
    view_ok(&s, STR("q"), count_rows, &rows);
    CHECK_INT(rows, UPDATES);
    engine_close(s.engine);
    s.kind->end();
    proxy_stop(&proxy);
    arena_release(&s.arena);
}
