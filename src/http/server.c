/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server.h"

#include <assert.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/container.h"
#include "core/log.h"
#include "core/mem.h"
#include "http/conn.h"
#include "net/address_count.h"

enum { REFUSED_MAX = 64 /* refused connections that may be answered at the same time */ };

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
    struct pool *senders;
    atomic_uint connections_max;
    atomic_uint connections_per_address;
    atomic_uint connection_count;
    atomic_uint refused_count;
    _Atomic uint64_t refused_total;
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

struct pool *http_server_senders(const struct http_server *s)
{
    return s->senders;
}

void http_server_use_senders(struct http_server *s, struct pool *senders)
{
    s->senders = senders;
}

void http_server_use_clock(struct http_server *s, const struct clock *clock)
{
    s->clock = clock;
}

void *http_server_loop_memory(const struct http_server *s, size_t i)
{
    assert(i < s->worker_count);
    return s->workers[i].handler_memory;
}

void http_server_limit(struct http_server *s, unsigned connections_max,
                       unsigned connections_per_address)
{
    atomic_store(&s->connections_max, connections_max);
    atomic_store(&s->connections_per_address, connections_per_address);
}

struct http_usage http_server_usage(const struct http_server *s)
{
    return (struct http_usage){
        .connections = atomic_load(&s->connection_count),
        .accepted = atomic_load(&s->last_number),
        .refused = atomic_load(&s->refused_total),
    };
}

/* ---- opening and closing connections ---- */

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

/* Returns true, and counts the connection, if it is within the limits. */
static bool server_admit(struct http_server *s, const struct sockaddr_storage *peer)
{
    if (atomic_fetch_add(&s->connection_count, 1) >= atomic_load(&s->connections_max)) {
        (void)atomic_fetch_sub(&s->connection_count, 1);
        return false;
    }
    if (!address_counts_add(s->addresses, peer, atomic_load(&s->connections_per_address))) {
        (void)atomic_fetch_sub(&s->connection_count, 1);
        return false;
    }
    return true;
}

static void server_take(struct http_listener *listener, int fd, const struct sockaddr_storage *peer)
{
    struct http_server *s = listener->worker->server;
    bool refused = !server_admit(s, peer);
    if (refused)
        (void)atomic_fetch_add(&s->refused_total, 1);
    /* Answering a refused connection needs a connection too, so that is limited as well. */
    if (refused && atomic_fetch_add(&s->refused_count, 1) >= REFUSED_MAX) {
        (void)atomic_fetch_sub(&s->refused_count, 1);
        (void)close(fd);
        return;
    }
    http_conn_open(listener, fd, peer, refused);
}

void http_server_take(struct http_server *s, const struct loop *loop, int fd,
                      const struct http_relayed *from)
{
    size_t i = 0;
    while (s->workers[i].loop != loop) {
        i++;
        assert(i < s->worker_count);
    }
    struct http_listener place = {.worker = &s->workers[i],
                                  .context = from->listener_context,
                                  .relayed = true,
                                  .secure = from->secure};
    server_take(&place, fd, from->peer);
}

/* ---- listening ---- */

static void listener_take(struct listener *base, int fd, const struct sockaddr_storage *peer)
{
    server_take((struct http_listener *)base, fd, peer);
}

struct err http_server_listen(struct http_server *s, const char *host, uint16_t port,
                              void *listener_context, uint16_t *port_out)
{
    return http_server_listen_at(s, &(struct http_endpoint){.host = host, .port = port},
                                 listener_context, port_out);
}

struct err http_server_listen_at(struct http_server *s, const struct http_endpoint *wanted,
                                 void *listener_context, uint16_t *port_out)
{
    struct listener_address place;
    TRY(listener_resolve(wanted->host, wanted->port, &place));
    for (size_t i = 0; i < s->worker_count; i++) {
        struct http_worker *w = &s->workers[i];
        struct http_listener *listener = MEM_NEW(struct http_listener);
        listener->base = (struct listener){.loop = w->loop, .take = listener_take};
        listener->worker = w;
        listener->context = listener_context;
        listener->idle_ms = wanted->idle_ms;
        struct err error = listener_open(&listener->base, i == 0, &place);
        if (err_is(error)) {
            free(listener);
            return error;
        }
        listener->next = w->listeners;
        w->listeners = listener;
    }
    if (port_out != NULL)
        *port_out = listener_port(&place);
    return OK;
}

static void worker_close_listeners(struct http_worker *w)
{
    while (w->listeners != NULL) {
        struct http_listener *listener = w->listeners;
        w->listeners = listener->next;
        listener_close(&listener->base);
        free(listener);
    }
}

/* ---- draining ---- */

static void server_drained(struct loop_task *task)
{
    struct http_server *s = CONTAINER_OF(task, struct http_server, drained_task);
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
    struct http_worker *w = CONTAINER_OF(timer, struct http_worker, grace);
    worker_wind_up(w, true);
}

static void worker_drain(struct loop_task *task)
{
    struct http_worker *w = CONTAINER_OF(task, struct http_worker, drain_task);
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
    http_server_limit(s, s->limits.connections_max, s->limits.connections_per_address);
    clock_init_system(&s->system_clock);
    s->clock = &s->system_clock;
    s->addresses = s->limits.addresses != NULL ? s->limits.addresses : address_counts_new();
    s->worker_count = loop_count;
    for (size_t i = 0; i < loop_count; i++) {
        s->workers[i].server = s;
        s->workers[i].crowd_task.run = http_serve_crowd;
        s->workers[i].loop = loops[i];
        s->workers[i].buffer = mem_alloc(HTTP_BUFFER_BYTES);
        s->workers[i].prefetch = mem_alloc(HTTP_BUFFER_BYTES);
        if (handler->loop_memory_new != NULL)
            s->workers[i].handler_memory = handler->loop_memory_new();
    }
    /* sendfile to a closed connection raises SIGPIPE; no flag prevents it. */
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
    if (w->handler_memory != NULL)
        http_server_handler(w->server)->loop_memory_free(w->handler_memory);
    free(w->buffer);
    free(w->prefetch);
}

void http_server_free(struct http_server *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->worker_count; i++)
        worker_release(&s->workers[i]);
    if (s->limits.addresses == NULL)
        address_counts_free(s->addresses);
    free(s);
}
