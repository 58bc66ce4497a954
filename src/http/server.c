/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/mem.h"
#include "http/address_count.h"
#include "http/conn.h"

enum {
    BACKLOG = 1024,
    ACCEPTS_PER_TURN_MAX = 64,
    ACCEPT_PAUSE_MS = 100, /* when the process has no descriptors left */
    REFUSED_MAX = 64,      /* connections past the limit that are told so at one time */
};

const struct http_limits HTTP_LIMITS_DEFAULT = {
    .connections_max = 10000,
    .connections_per_address = 0,
    .idle_ms = 120000,
    .head_ms = 30000,
    .body_stall_ms = 60000,
    .body_bytes_per_second_min = 256,
};

struct http_server {
    const struct http_handler *handler;
    struct http_limits limits;
    const struct clock *clock;
    struct clock system_clock;
    struct tls *tls;
    atomic_uint connection_count;
    atomic_uint refused_count;
    atomic_uint_fast64_t last_number;
    struct address_counts *addresses;
    int64_t grace_ms;
    void (*drained)(void *arg);
    void *drained_arg;
    struct loop_task drained_task;
    atomic_size_t undrained;
    size_t worker_count;
    struct http_worker workers[];
};

const struct http_limits *http_server_limits(const struct http_server *s)
{
    return &s->limits;
}

const struct http_handler *http_server_handler(const struct http_server *s)
{
    return s->handler;
}

int64_t http_server_now(const struct http_server *s)
{
    return clock_now(s->clock);
}

struct tls *http_server_tls(const struct http_server *s)
{
    return s->tls;
}

void http_server_use_tls(struct http_server *s, struct tls *tls)
{
    s->tls = tls;
}

void http_server_use_clock(struct http_server *s, const struct clock *clock)
{
    s->clock = clock;
}

/* ---- connections come and go ---- */

static void worker_check_drained(struct http_worker *w);

void http_server_remember(struct http_conn *c)
{
    struct http_worker *w = c->worker;
    c->number = atomic_fetch_add(&w->server->last_number, 1) + 1;
    c->next = w->conns;
    if (c->next != NULL)
        c->next->previous = c;
    w->conns = c;
}

void http_server_forget(struct http_conn *c)
{
    struct http_worker *w = c->worker;
    struct http_server *s = w->server;
    if (c->previous != NULL)
        c->previous->next = c->next;
    else
        w->conns = c->next;
    if (c->next != NULL)
        c->next->previous = c->previous;
    if (c->counted) {
        address_counts_drop(s->addresses, &c->peer);
        (void)atomic_fetch_sub(&s->connection_count, 1);
    } else {
        (void)atomic_fetch_sub(&s->refused_count, 1);
    }
    worker_check_drained(w);
}

/* Whether the connection is within the limits; then it is counted. */
static bool server_admit(struct http_server *s, const struct sockaddr_storage *peer)
{
    if (atomic_fetch_add(&s->connection_count, 1) >= s->limits.connections_max) {
        (void)atomic_fetch_sub(&s->connection_count, 1);
        return false;
    }
    if (!address_counts_add(s->addresses, peer, s->limits.connections_per_address)) {
        (void)atomic_fetch_sub(&s->connection_count, 1);
        return false;
    }
    return true;
}

static void server_take(struct http_listener *listener, int fd, const struct sockaddr_storage *peer)
{
    struct http_server *s = listener->worker->server;
    bool refused = !server_admit(s, peer);
    /* To be told politely takes a connection too, so there is a limit on that as well. */
    if (refused && atomic_fetch_add(&s->refused_count, 1) >= REFUSED_MAX) {
        (void)atomic_fetch_sub(&s->refused_count, 1);
        (void)close(fd);
        return;
    }
    http_conn_open(listener->worker, fd, peer, listener->context, refused);
}

/* ---- listening ---- */

static void listener_watch(struct http_listener *listener)
{
    struct err error = loop_watch_add(listener->worker->loop, &listener->watch, EPOLLIN);
    if (err_is(error))
        log_line(LOG_ERROR, "a listener cannot be watched: errno %d", error.cause);
    listener->watched = !err_is(error);
}

static void listener_resume(struct loop_timer *timer)
{
    listener_watch((struct http_listener *)((char *)timer - offsetof(struct http_listener, pause)));
}

/* Out of descriptors or memory: the connection stays in the queue, and the loop must not spin. */
static void listener_pause(struct http_listener *listener, int cause)
{
    log_line(LOG_WARN, "cannot accept connections: errno %d; trying again", cause);
    loop_watch_remove(listener->worker->loop, &listener->watch);
    listener->watched = false;
    loop_timer_set(listener->worker->loop, &listener->pause, ACCEPT_PAUSE_MS);
}

static void listener_ready(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct http_listener *listener = (struct http_listener *)watch;
    for (int i = 0; i < ACCEPTS_PER_TURN_MAX; i++) {
        struct sockaddr_storage peer = {0};
        socklen_t length = sizeof peer;
        int fd =
            accept4(watch->fd, (struct sockaddr *)&peer, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            server_take(listener, fd, &peer);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            listener_pause(listener, errno);
        if (errno != EINTR && errno != ECONNABORTED)
            return;
    }
}

static void set_option(int fd, int level, int name)
{
    int on = 1;
    if (setsockopt(fd, level, name, &on, sizeof on) != 0)
        log_line(LOG_WARN, "a socket option cannot be set: errno %d", errno);
}

/* The first socket of a port is bound without SO_REUSEPORT, which it gets afterwards: so a port
 * that another process has, even one that shares it, gives EADDRINUSE. The others then join it. */
static struct err open_socket(const struct sockaddr *address, socklen_t length, bool first,
                              int *fd_out)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_cause(ERR_IO, errno);
    set_option(fd, SOL_SOCKET, SO_REUSEADDR);
    set_option(fd, IPPROTO_TCP, TCP_NODELAY); /* what is accepted from it has it too */
    if (address->sa_family == AF_INET6)
        set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY);
    if (!first)
        set_option(fd, SOL_SOCKET, SO_REUSEPORT);
    bool bound = bind(fd, address, length) == 0;
    if (bound && first)
        set_option(fd, SOL_SOCKET, SO_REUSEPORT);
    if (!bound || listen(fd, BACKLOG) != 0) {
        struct err error = err_cause(ERR_IO, errno);
        (void)close(fd);
        return error;
    }
    *fd_out = fd;
    return OK;
}

static struct err resolve(const char *host, uint16_t port, struct sockaddr_storage *out,
                          socklen_t *length)
{
    char service[8];
    (void)snprintf(service, sizeof service, "%u", port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    int failed = getaddrinfo(host, service, &hints, &found);
    if (failed != 0)
        return err_cause(ERR_IO, failed == EAI_SYSTEM ? errno : EADDRNOTAVAIL);
    memcpy(out, found->ai_addr, found->ai_addrlen);
    *length = found->ai_addrlen;
    freeaddrinfo(found);
    return OK;
}

static struct err worker_listen(struct http_worker *w, const struct sockaddr_storage *address,
                                socklen_t length, void *context)
{
    struct http_listener *listener = MEM_NEW(struct http_listener);
    listener->watch.ready = listener_ready;
    listener->pause.fire = listener_resume;
    listener->worker = w;
    listener->context = context;
    struct err error = open_socket((const struct sockaddr *)address, length,
                                   w == w->server->workers, &listener->watch.fd);
    if (err_is(error)) {
        free(listener);
        return error;
    }
    listener->next = w->listeners;
    w->listeners = listener;
    listener_watch(listener);
    return listener->watched ? OK : err_new(ERR_IO);
}

static uint16_t port_of(const struct sockaddr_storage *address)
{
    return ntohs(address->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)address)->sin6_port
                                                : ((const struct sockaddr_in *)address)->sin_port);
}

struct err http_server_listen(struct http_server *s, const char *host, uint16_t port,
                              void *listener_context, uint16_t *port_out)
{
    struct sockaddr_storage address;
    socklen_t length;
    TRY(resolve(host, port, &address, &length));
    for (size_t i = 0; i < s->worker_count; i++) {
        struct http_worker *w = &s->workers[i];
        TRY(worker_listen(w, &address, length, listener_context));
        /* The first picks the port, the others take the same. */
        length = sizeof address;
        if (getsockname(w->listeners->watch.fd, (struct sockaddr *)&address, &length) != 0)
            return err_cause(ERR_IO, errno);
    }
    if (port_out != NULL)
        *port_out = port_of(&address);
    return OK;
}

static void listener_free(struct http_listener *listener)
{
    loop_timer_cancel(listener->worker->loop, &listener->pause);
    if (listener->watched)
        loop_watch_remove(listener->worker->loop, &listener->watch);
    (void)close(listener->watch.fd);
    free(listener);
}

static void worker_close_listeners(struct http_worker *w)
{
    while (w->listeners != NULL) {
        struct http_listener *listener = w->listeners;
        w->listeners = listener->next;
        listener_free(listener);
    }
}

/* ---- draining ---- */

static void server_drained(struct loop_task *task)
{
    struct http_server *s =
        (struct http_server *)((char *)task - offsetof(struct http_server, drained_task));
    s->drained(s->drained_arg);
}

static void worker_check_drained(struct http_worker *w)
{
    struct http_server *s = w->server;
    if (!w->draining || w->drained || w->conns != NULL)
        return;
    w->drained = true;
    loop_timer_cancel(w->loop, &w->grace);
    if (atomic_fetch_sub(&s->undrained, 1) == 1)
        loop_post(s->workers[0].loop, &s->drained_task);
}

static void worker_wind_up(struct http_worker *w, bool cut)
{
    for (struct http_conn *c = w->conns; c != NULL; c = c->next)
        http_conn_wind_up(c, cut);
}

static void worker_grace_over(struct loop_timer *timer)
{
    struct http_worker *w =
        (struct http_worker *)((char *)timer - offsetof(struct http_worker, grace));
    worker_wind_up(w, true);
}

static void worker_drain(struct loop_task *task)
{
    struct http_worker *w =
        (struct http_worker *)((char *)task - offsetof(struct http_worker, drain_task));
    w->draining = true;
    worker_close_listeners(w);
    worker_wind_up(w, false);
    w->grace.fire = worker_grace_over;
    loop_timer_set(w->loop, &w->grace, w->server->grace_ms);
    worker_check_drained(w);
}

void http_server_drain(struct http_server *s, int64_t grace_ms, void (*drained)(void *arg),
                       void *arg)
{
    assert(s->drained == NULL);
    s->grace_ms = grace_ms;
    s->drained = drained;
    s->drained_arg = arg;
    s->drained_task.run = server_drained;
    atomic_store(&s->undrained, s->worker_count);
    for (size_t i = 0; i < s->worker_count; i++) {
        s->workers[i].drain_task.run = worker_drain;
        loop_post(s->workers[i].loop, &s->workers[i].drain_task);
    }
}

/* ---- the server ---- */

struct err http_server_new(struct loop **loops, size_t loop_count,
                           const struct http_handler *handler, const struct http_limits *limits,
                           struct http_server **out)
{
    assert(loop_count > 0);
    struct http_server *s = mem_calloc(1, sizeof *s + sizeof(struct http_worker) * loop_count);
    s->handler = handler;
    s->limits = limits != NULL ? *limits : HTTP_LIMITS_DEFAULT;
    clock_init_system(&s->system_clock);
    s->clock = &s->system_clock;
    s->addresses = address_counts_new();
    s->worker_count = loop_count;
    for (size_t i = 0; i < loop_count; i++) {
        s->workers[i].server = s;
        s->workers[i].loop = loops[i];
        s->workers[i].buffer = mem_alloc(HTTP_BUFFER_BYTES);
    }
    /* sendfile to a client that is gone has no other way to be told not to raise it. */
    (void)signal(SIGPIPE, SIG_IGN);
    *out = s;
    return OK;
}

static void worker_release(struct http_worker *w)
{
    worker_close_listeners(w);
    while (w->conns != NULL)
        http_conn_abandon(w->conns);
    loop_timer_cancel(w->loop, &w->grace);
    while (w->calls != NULL) {
        struct http_call *call = w->calls;
        w->calls = call->next;
        arena_release(&call->arena);
        free(call);
    }
    free(w->buffer);
}

void http_server_free(struct http_server *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->worker_count; i++)
        worker_release(&s->workers[i]);
    address_counts_free(s->addresses);
    free(s);
}
