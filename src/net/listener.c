/* SPDX-License-Identifier: Apache-2.0 */
#include "net/listener.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/container.h"
#include "core/log.h"

enum {
    BACKLOG = 1024,
    ACCEPTS_PER_TURN_MAX = 64,
    ACCEPT_PAUSE_MS = 100, /* if the process has no descriptors left */
};

static void listener_watch(struct listener *l)
{
    struct err error = loop_watch_add(l->loop, &l->watch, EPOLLIN);
    if (err_is(error))
        log_line(LOG_ERROR, "a listener cannot be watched: errno %d", error.cause);
    l->watched = !err_is(error);
}

static void listener_resume(struct loop_timer *timer)
{
    assert(!CONTAINER_OF(timer, struct listener, pause)->watched);
    listener_watch(CONTAINER_OF(timer, struct listener, pause));
}

/* Out of descriptors or memory: the connection stays in the queue, and the loop must not spin. */
static void listener_pause(struct listener *l, int cause)
{
    log_line(LOG_WARN, "cannot accept connections: errno %d; trying again", cause);
    loop_watch_remove(l->loop, &l->watch);
    l->watched = false;
    loop_timer_set(l->loop, &l->pause, ACCEPT_PAUSE_MS);
}

static void listener_ready(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct listener *l = (struct listener *)watch;
    for (int i = 0; i < ACCEPTS_PER_TURN_MAX; i++) {
        struct sockaddr_storage peer = {0};
        socklen_t length = sizeof peer;
        int fd =
            accept4(watch->fd, (struct sockaddr *)&peer, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            l->take(l, fd, &peer);
            continue;
        }
        int cause = errno; /* logging changes it */
        if (cause == EMFILE || cause == ENFILE || cause == ENOBUFS || cause == ENOMEM)
            listener_pause(l, cause);
        if (cause != EINTR && cause != ECONNABORTED)
            return;
    }
}

static void set_option(int fd, int level, int name)
{
    int on = 1;
    if (setsockopt(fd, level, name, &on, sizeof on) != 0)
        log_line(LOG_WARN, "a socket option cannot be set: errno %d", errno);
}

/* The first socket of a port is bound without SO_REUSEPORT, which is set afterwards: so a port of
 * another process gives EADDRINUSE, even if that process shares it. The other sockets then join the
 * first. */
static struct err open_socket(const struct listener_address *local, bool first, int *fd_out)
{
    const struct sockaddr *address = (const struct sockaddr *)&local->address;
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_cause(ERR_IO, errno);
    set_option(fd, SOL_SOCKET, SO_REUSEADDR);
    set_option(fd, IPPROTO_TCP, TCP_NODELAY); /* accepted sockets inherit it */
    if (address->sa_family == AF_INET6)
        set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY);
    if (!first)
        set_option(fd, SOL_SOCKET, SO_REUSEPORT);
    bool bound = bind(fd, address, local->length) == 0;
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

struct err listener_resolve(const char *host, uint16_t port, struct listener_address *out)
{
    char service[8];
    (void)snprintf(service, sizeof service, "%u", port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    int failed = getaddrinfo(host, service, &hints, &found);
    if (failed != 0)
        return err_cause(ERR_IO, failed == EAI_SYSTEM ? errno : EADDRNOTAVAIL);
    memcpy(&out->address, found->ai_addr, found->ai_addrlen);
    out->length = found->ai_addrlen;
    freeaddrinfo(found);
    return OK;
}

struct err listener_open(struct listener *l, bool first, struct listener_address *local)
{
    assert(l->loop != NULL && l->take != NULL);
    l->watch.ready = listener_ready;
    l->pause.fire = listener_resume;
    TRY(open_socket(local, first, &l->watch.fd));
    /* The first socket picks the port, the others use the same. */
    local->length = sizeof local->address;
    if (getsockname(l->watch.fd, (struct sockaddr *)&local->address, &local->length) != 0) {
        struct err error = err_cause(ERR_IO, errno);
        (void)close(l->watch.fd);
        return error;
    }
    listener_watch(l);
    if (l->watched)
        return OK;
    (void)close(l->watch.fd);
    return err_new(ERR_IO);
}

void listener_close(struct listener *l)
{
    loop_timer_cancel(l->loop, &l->pause);
    if (l->watched)
        loop_watch_remove(l->loop, &l->watch);
    l->watched = false;
    (void)close(l->watch.fd);
}

uint16_t listener_port(const struct listener_address *local)
{
    const struct sockaddr_storage *a = &local->address;
    return ntohs(a->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)a)->sin6_port
                                          : ((const struct sockaddr_in *)a)->sin_port);
}
