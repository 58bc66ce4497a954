/* SPDX-License-Identifier: Apache-2.0 */
#include "net/dial.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/mem.h"

enum { HOST_MAX = 256, LOOK_UP_MS = 250 }; /* how often a wait checks for cancellation */

struct dialer {
    struct reach reach;
    SSL_CTX *context;
    atomic_bool stopping;
};

struct dialed {
    const struct dialer *dialer;
    int fd;
    SSL *ssl; /* NULL: plain */
};

static struct err failed(int cause)
{
    return err_cause(ERR_IO, cause);
}

/* ---- the dialer ---- */

struct err dialer_new(const struct reach *reach, struct dialer **out)
{
    assert(reach != NULL);
    struct dialer *d = MEM_NEW(struct dialer);
    d->reach = *reach;
    d->context = SSL_CTX_new(TLS_client_method());
    if (d->context == NULL || SSL_CTX_set_default_verify_paths(d->context) != 1 ||
        SSL_CTX_set_min_proto_version(d->context, TLS1_2_VERSION) != 1) {
        dialer_free(d);
        return failed(EPROTO);
    }
    SSL_CTX_set_verify(d->context, SSL_VERIFY_PEER, NULL);
    (void)SSL_CTX_set_options(d->context, SSL_OP_NO_RENEGOTIATION);
    (void)SSL_CTX_set_mode(d->context, SSL_MODE_ENABLE_PARTIAL_WRITE);
    *out = d;
    return OK;
}

void dialer_stop(struct dialer *d)
{
    atomic_store(&d->stopping, true);
}

void dialer_free(struct dialer *d)
{
    if (d == NULL)
        return;
    SSL_CTX_free(d->context);
    free(d);
}

/* ---- waiting ---- */

static struct err wait_for(const struct dialed *c, short events, int64_t deadline_ms)
{
    for (;;) {
        struct pollfd poll_fd = {.fd = c->fd, .events = events};
        int64_t left = deadline_ms - clock_mono_ms();
        if (atomic_load(&c->dialer->stopping))
            return failed(ECANCELED);
        if (left <= 0)
            return failed(ETIMEDOUT);
        int ready = poll(&poll_fd, 1, left > LOOK_UP_MS ? LOOK_UP_MS : (int)left);
        if (ready > 0)
            return OK;
        if (ready < 0 && errno != EINTR)
            return failed(errno);
    }
}

/* Waits until a TLS call that returned `result` can continue; an error if it cannot. */
static struct err wait_for_tls(struct dialed *c, int result, int64_t deadline_ms)
{
    switch (SSL_get_error(c->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        return wait_for(c, POLLIN, deadline_ms);
    case SSL_ERROR_WANT_WRITE:
        return wait_for(c, POLLOUT, deadline_ms);
    default:
        return failed(EPROTO);
    }
}

/* ---- connecting ---- */

static struct err connect_to(struct dialed *c, const struct addrinfo *address, int64_t deadline_ms)
{
    int error = 0;
    socklen_t size = sizeof error;
    c->fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd < 0)
        return failed(errno);
    /* A head and its body are two writes; the second must not wait for the ACK of the first. */
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    if (connect(c->fd, address->ai_addr, address->ai_addrlen) == 0)
        return OK;
    if (errno != EINPROGRESS)
        return failed(errno);
    TRY(wait_for(c, POLLOUT, deadline_ms));
    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        error = errno;
    return error == 0 ? OK : failed(error);
}

static void close_socket(struct dialed *c)
{
    if (c->fd >= 0)
        (void)close(c->fd);
    c->fd = -1;
}

/* Connects to the first allowed address that answers. */
static struct err connect_any(struct dialed *c, struct str host, const struct addrinfo *list,
                              int64_t deadline_ms)
{
    struct err result = failed(EACCES);
    for (const struct addrinfo *at = list; at != NULL; at = at->ai_next) {
        if (!reach_allows(&c->dialer->reach, host, at->ai_addr))
            continue;
        result = connect_to(c, at, deadline_ms);
        if (!err_is(result))
            break;
        close_socket(c);
    }
    return result;
}

/* OpenSSL's macro for this casts const away. */
static bool name_host(SSL *ssl, const char *host)
{
    return SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                    (void *)(uintptr_t)host) == 1;
}

static struct err shake_hands(struct dialed *c, const char *host, int64_t deadline_ms)
{
    c->ssl = SSL_new(c->dialer->context);
    if (c->ssl == NULL || SSL_set_fd(c->ssl, c->fd) != 1 || !name_host(c->ssl, host) ||
        SSL_set1_host(c->ssl, host) != 1)
        return failed(EPROTO);
    for (;;) {
        ERR_clear_error();
        int result = SSL_connect(c->ssl);
        if (result == 1)
            return OK;
        TRY(wait_for_tls(c, result, deadline_ms));
    }
}

static struct err open_with(struct dialed *c, const struct dial_target *target, const char *host,
                            int64_t deadline_ms)
{
    char port[8];
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    (void)snprintf(port, sizeof port, "%u", target->port);
    if (getaddrinfo(host, port, &hints, &list) != 0)
        return failed(ENOENT);
    struct err error = connect_any(c, target->host, list, deadline_ms);
    freeaddrinfo(list);
    TRY(error);
    return target->secure ? shake_hands(c, host, deadline_ms) : OK;
}

struct err dial(struct dialer *d, const struct dial_target *target, int64_t deadline_ms,
                struct dialed **out)
{
    assert(target != NULL && out != NULL);
    char host[HOST_MAX];
    if (target->host.n == 0 || target->host.n >= sizeof host)
        return failed(ENOENT);
    /* If no server is allowed, do not even resolve names. */
    if (d->reach.count == 0)
        return failed(EACCES);
    memcpy(host, target->host.p, target->host.n);
    host[target->host.n] = 0;
    struct dialed *c = MEM_NEW(struct dialed);
    c->dialer = d;
    c->fd = -1;
    struct err error = open_with(c, target, host, deadline_ms);
    if (err_is(error)) {
        dialed_close(c);
        return error;
    }
    *out = c;
    return OK;
}

/* ---- bytes ---- */

static struct err write_some(struct dialed *c, struct str bytes, int64_t deadline_ms, size_t *n)
{
    *n = 0;
    if (c->ssl != NULL) {
        ERR_clear_error();
        int result = SSL_write_ex(c->ssl, bytes.p, bytes.n, n);
        return result == 1 ? OK : wait_for_tls(c, result, deadline_ms);
    }
    ssize_t sent = send(c->fd, bytes.p, bytes.n, MSG_NOSIGNAL);
    if (sent >= 0) {
        *n = (size_t)sent;
        return OK;
    }
    if (errno == EINTR)
        return OK;
    return errno == EAGAIN ? wait_for(c, POLLOUT, deadline_ms) : failed(errno);
}

struct err dialed_write(struct dialed *c, struct str bytes, int64_t deadline_ms)
{
    while (bytes.n > 0) {
        size_t n;
        TRY(write_some(c, bytes, deadline_ms, &n));
        bytes = str_from(bytes, n);
    }
    return OK;
}

static struct err read_tls(struct dialed *c, char *into, size_t size, int64_t deadline_ms,
                           size_t *n)
{
    for (;;) {
        ERR_clear_error();
        int result = SSL_read_ex(c->ssl, into, size, n);
        if (result == 1)
            return OK;
        *n = 0;
        if (SSL_get_error(c->ssl, result) == SSL_ERROR_ZERO_RETURN)
            return OK;
        TRY(wait_for_tls(c, result, deadline_ms));
    }
}

struct err dialed_read(struct dialed *c, char *into, size_t size, int64_t deadline_ms, size_t *n)
{
    if (c->ssl != NULL)
        return read_tls(c, into, size, deadline_ms, n);
    for (;;) {
        ssize_t got = recv(c->fd, into, size, 0);
        if (got >= 0) {
            *n = (size_t)got;
            return OK;
        }
        if (errno == EAGAIN)
            TRY(wait_for(c, POLLIN, deadline_ms));
        else if (errno != EINTR)
            return failed(errno);
    }
}

bool dialed_is_quiet(const struct dialed *c)
{
    struct pollfd poll_fd = {.fd = c->fd, .events = POLLIN};
    return (c->ssl == NULL || SSL_pending(c->ssl) == 0) && poll(&poll_fd, 1, 0) == 0;
}

void dialed_close(struct dialed *c)
{
    if (c == NULL)
        return;
    SSL_free(c->ssl);
    close_socket(c);
    free(c);
}
