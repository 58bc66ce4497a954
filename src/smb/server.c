/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/server.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/log.h"
#include "core/mem.h"
#include "smb/conn.h"
#include "smb/session.h"

enum { BACKLOG = 512, CONNECTIONS_MAX = 4096 };

/* One loop's part of the server. */
struct smb_worker {
    struct loop_watch watch; /* the listener; first: the loop hands it back */
    struct smb_server *server;
    struct loop *loop;
    struct smb_conn *conns;
    bool listening;
    struct loop_task drain;
};

struct smb_server {
    struct smb_world world;
    struct smb_options options;
    struct guid guid;
    int64_t started;
    atomic_uint_fast64_t last_session;
    atomic_uint connection_count;
    atomic_size_t undrained;
    void (*drained)(void *arg);
    void *drained_arg;
    struct loop_task drained_task;
    struct smb_worker workers[];
};

struct err smb_server_new(const struct smb_world *world, const struct smb_options *options,
                          struct smb_server **out)
{
    struct smb_server *s = mem_calloc(1, sizeof *s + world->loop_count * sizeof(struct smb_worker));
    s->world = *world;
    s->options = *options;
    if (s->options.connections_max == 0)
        s->options.connections_max = CONNECTIONS_MAX;
    s->guid = guid_random();
    s->started = store_now(world->store);
    /* Ids of an earlier run of the server must not be met again. */
    atomic_init(&s->last_session, (uint64_t)s->started & ~0xFFFULL);
    for (size_t i = 0; i < world->loop_count; i++) {
        s->workers[i].server = s;
        s->workers[i].loop = world->loops[i];
    }
    *out = s;
    return OK;
}

void smb_server_free(struct smb_server *s)
{
    for (size_t i = 0; i < s->world.loop_count; i++) {
        while (s->workers[i].conns != NULL)
            smb_conn_close(s->workers[i].conns);
        if (s->workers[i].listening)
            (void)close(s->workers[i].watch.fd);
    }
    free(s);
}

const struct smb_options *smb_server_options(const struct smb_server *s)
{
    return &s->options;
}

const struct smb_world *smb_server_world(const struct smb_server *s)
{
    return &s->world;
}

const struct guid *smb_server_guid(const struct smb_server *s)
{
    return &s->guid;
}

int64_t smb_server_started(const struct smb_server *s)
{
    return s->started;
}

int64_t smb_server_now(const struct smb_server *s)
{
    return store_now(s->world.store);
}

uint64_t smb_server_next_session(struct smb_server *s)
{
    return atomic_fetch_add(&s->last_session, 1) + 1;
}

/* ---- connections ---- */

static struct smb_worker *worker_of(struct smb_server *s, const struct loop *loop)
{
    for (size_t i = 0; i < s->world.loop_count; i++)
        if (s->workers[i].loop == loop)
            return &s->workers[i];
    return NULL;
}

void smb_server_remember(struct smb_server *s, struct smb_conn *c)
{
    struct smb_worker *w = worker_of(s, c->loop);
    c->next = w->conns;
    if (w->conns != NULL)
        w->conns->previous = c;
    w->conns = c;
    (void)atomic_fetch_add(&s->connection_count, 1);
}

void smb_server_forget(struct smb_server *s, struct smb_conn *c)
{
    struct smb_worker *w = worker_of(s, c->loop);
    if (c->previous != NULL)
        c->previous->next = c->next;
    else
        w->conns = c->next;
    if (c->next != NULL)
        c->next->previous = c->previous;
    (void)atomic_fetch_sub(&s->connection_count, 1);
}

/* A session may be on any loop: each looks among its own. */
struct end_session {
    struct loop_task task;
    struct smb_worker *worker;
    uint64_t id;
    char account[ACCOUNT_NAME_MAX + 1];
};

static void end_session_here(struct loop_task *task)
{
    struct end_session *e = (struct end_session *)task;
    for (struct smb_conn *c = e->worker->conns; c != NULL; c = c->next) {
        struct smb_session *session = smb_session_find(c, e->id);
        if (session != NULL && strcmp(session->account, e->account) == 0) {
            smb_conn_close(c); /* the client has left this connection */
            break;
        }
    }
    free(e);
}

void smb_server_end_session(struct smb_server *s, uint64_t id, const char *account)
{
    for (size_t i = 0; i < s->world.loop_count; i++) {
        struct end_session *e = MEM_NEW(struct end_session);
        e->task.run = end_session_here;
        e->worker = &s->workers[i];
        e->id = id;
        (void)snprintf(e->account, sizeof e->account, "%s", account);
        loop_post(s->workers[i].loop, &e->task);
    }
}

/* ---- listening ---- */

static void listener_ready(struct loop_watch *watch, uint32_t events)
{
    struct smb_worker *w = (struct smb_worker *)watch;
    struct sockaddr_storage peer;
    socklen_t length = sizeof peer;
    (void)events;
    int fd = accept4(watch->fd, (struct sockaddr *)&peer, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return; /* level-triggered: it comes again */
    if (atomic_load(&w->server->connection_count) >= w->server->options.connections_max) {
        (void)close(fd);
        return;
    }
    smb_conn_open(w->server, w->loop, fd, &peer);
}

static int open_listener(const struct addrinfo *at, bool shared)
{
    int yes = 1;
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    /* The first bind is exclusive, so that a port in use is noticed; the others share it. */
    if (shared)
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
    if (bind(fd, at->ai_addr, at->ai_addrlen) == 0) {
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
        if (listen(fd, BACKLOG) == 0)
            return fd;
    }
    int cause = errno;
    (void)close(fd);
    errno = cause;
    return -1;
}

static struct err resolve(const char *host, uint16_t port, struct addrinfo **out)
{
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    char service[8];
    (void)snprintf(service, sizeof service, "%u", port);
    int failed = getaddrinfo(host, service, &hints, out);
    return failed == 0 ? OK : err_cause(ERR_IO, failed == EAI_SYSTEM ? errno : EADDRNOTAVAIL);
}

static uint16_t port_of(int fd, struct addrinfo *at)
{
    socklen_t length = at->ai_addrlen;
    char service[8] = "0";
    uint64_t port = 0;
    (void)getsockname(fd, at->ai_addr, &length);
    (void)getnameinfo(at->ai_addr, length, NULL, 0, service, sizeof service, NI_NUMERICSERV);
    (void)str_to_u64(str_of(service), &port);
    return (uint16_t)port;
}

struct err smb_server_listen(struct smb_server *s, const char *host, uint16_t port,
                             uint16_t *port_out)
{
    struct addrinfo *at = NULL;
    struct err error = OK;
    TRY(resolve(host, port, &at));
    for (size_t i = 0; i < s->world.loop_count && !err_is(error); i++) {
        struct smb_worker *w = &s->workers[i];
        w->watch = (struct loop_watch){.ready = listener_ready, .fd = open_listener(at, i > 0)};
        if (w->watch.fd < 0) {
            error = err_cause(ERR_IO, errno);
            break;
        }
        w->listening = true;
        if (i == 0)
            *port_out = port_of(w->watch.fd, at);
        error = loop_watch_add(w->loop, &w->watch, EPOLLIN);
    }
    freeaddrinfo(at);
    return error;
}

/* ---- the end ---- */

static void tell_drained(struct loop_task *task)
{
    struct smb_server *s =
        (struct smb_server *)((char *)task - offsetof(struct smb_server, drained_task));
    s->drained(s->drained_arg);
}

static void drain_here(struct loop_task *task)
{
    struct smb_worker *w = (struct smb_worker *)((char *)task - offsetof(struct smb_worker, drain));
    struct smb_server *s = w->server;
    if (w->listening) {
        loop_watch_remove(w->loop, &w->watch);
        (void)close(w->watch.fd);
        w->listening = false;
    }
    while (w->conns != NULL)
        smb_conn_close(w->conns);
    if (atomic_fetch_sub(&s->undrained, 1) == 1) {
        s->drained_task.run = tell_drained;
        loop_post(s->world.loops[0], &s->drained_task);
    }
}

void smb_server_drain(struct smb_server *s, void (*drained)(void *arg), void *arg)
{
    s->drained = drained;
    s->drained_arg = arg;
    atomic_store(&s->undrained, s->world.loop_count);
    for (size_t i = 0; i < s->world.loop_count; i++) {
        s->workers[i].drain.run = drain_here;
        loop_post(s->workers[i].loop, &s->workers[i].drain);
    }
}
