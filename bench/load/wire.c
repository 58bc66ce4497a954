/* SPDX-License-Identifier: Apache-2.0 */
#include "load/wire.h"

#include <errno.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

SSL_CTX *wire_context(const char *ciphers)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (context == NULL)
        return NULL;
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
    (void)SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    (void)SSL_CTX_set_mode(context,
                           SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (ciphers != NULL && SSL_CTX_set_ciphersuites(context, ciphers) != 1) {
        SSL_CTX_free(context);
        return NULL;
    }
    return context;
}

bool wire_begin(struct wire *w, int fd, SSL_CTX *context)
{
    *w = (struct wire){.fd = fd};
    if (context == NULL)
        return true;
    w->tls = SSL_new(context);
    return w->tls != NULL && SSL_set_fd(w->tls, fd) == 1 && SSL_connect(w->tls) == 1;
}

void wire_end(struct wire *w)
{
    SSL_free(w->tls);
    (void)close(w->fd);
    *w = (struct wire){.fd = -1};
}

static size_t tls_send(struct wire *w, struct str bytes)
{
    int n = bytes.n > INT_MAX ? INT_MAX : (int)bytes.n;
    int sent = SSL_write(w->tls, bytes.p, n);
    return sent > 0 ? (size_t)sent : 0;
}

size_t wire_send(struct wire *w, struct str head, struct str body)
{
    if (w->tls != NULL)
        return tls_send(w, head.n > 0 ? head : body);
    struct iovec parts[2] = {{(void *)(uintptr_t)head.p, head.n},
                             {(void *)(uintptr_t)body.p, body.n}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = body.n > 0 ? 2 : 1};
    ssize_t sent = sendmsg(w->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent > 0 ? (size_t)sent : 0;
}

static ssize_t received(ssize_t got)
{
    if (got > 0)
        return got;
    return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

ssize_t wire_receive(struct wire *w, char *to, size_t room)
{
    if (w->tls != NULL) {
        int got = SSL_read(w->tls, to, room > INT_MAX ? INT_MAX : (int)room);
        if (got > 0)
            return got;
        int why = SSL_get_error(w->tls, got);
        return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? 0 : -1;
    }
    return received(recv(w->fd, to, room, MSG_DONTWAIT));
}

ssize_t wire_drop(struct wire *w, size_t most)
{
    return received(recv(w->fd, NULL, most, MSG_DONTWAIT | MSG_TRUNC));
}
