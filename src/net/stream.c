/* SPDX-License-Identifier: Apache-2.0 */
#include "net/stream.h"

#include <assert.h>
#include <errno.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/tls.h"

enum { TLS_FIRST_BYTE = 0x16 }; /* a handshake record; no HTTP method begins with it */

void stream_init(struct stream *s, int fd, struct tls *tls)
{
    assert(fd >= 0);
    *s = (struct stream){.fd = fd, .offered = tls, .may_recv = true, .may_send = true};
}

bool stream_init_secure(struct stream *s, int fd, struct tls *tls)
{
    stream_init(s, fd, NULL);
    s->session = tls_session_connect(tls, fd);
    return s->session != NULL;
}

bool stream_in_handshake(const struct stream *s)
{
    return s->session != NULL && tls_session_is_new(s->session);
}

void stream_note(struct stream *s, uint32_t events)
{
    bool in = events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR);
    bool out = events & (EPOLLOUT | EPOLLHUP | EPOLLERR);
    s->may_recv = s->may_recv || in || (out && s->recv_waits_for_send);
    s->may_send = s->may_send || out || (in && s->send_waits_for_recv);
    if (in)
        s->send_waits_for_recv = false;
    if (out)
        s->recv_waits_for_send = false;
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        s->hung_up = true;
}

static ssize_t socket_recv(struct stream *s, char *into, size_t size, int flags)
{
    ssize_t got;
    do
        got = recv(s->fd, into, size, flags);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        s->may_recv = false;
        return errno == EAGAIN || errno == EWOULDBLOCK ? STREAM_AGAIN : STREAM_FAILED;
    }
    return got;
}

/* Peeks at the first byte to detect TLS. Returns 1 once that is known, else like stream_recv. */
static ssize_t stream_settle(struct stream *s)
{
    char first;
    ssize_t got = socket_recv(s, &first, 1, MSG_PEEK);
    if (got <= 0)
        return got;
    if (first == TLS_FIRST_BYTE) {
        s->session = tls_session_new(s->offered, s->fd);
        if (s->session == NULL)
            return STREAM_FAILED;
    }
    s->offered = NULL;
    return 1;
}

ssize_t stream_recv(struct stream *s, char *into, size_t size)
{
    assert(s->fd >= 0 && size > 0);
    if (s->offered != NULL) {
        ssize_t settled = stream_settle(s);
        if (settled != 1)
            return settled;
    }
    if (s->session != NULL)
        return tls_recv(s, into, size);
    ssize_t got = socket_recv(s, into, size, 0);
    if (got < 0)
        return got;
    /* Fewer bytes than requested: the socket is empty, and new data will cause an edge. Exception:
     * the end of the stream was part of an edge already consumed. */
    if ((size_t)got < size && !s->hung_up)
        s->may_recv = false;
    return got;
}

static ssize_t stream_sent(struct stream *s, ssize_t sent)
{
    if (sent >= 0)
        return sent;
    s->may_send = false;
    return errno == EAGAIN || errno == EWOULDBLOCK ? STREAM_AGAIN : STREAM_FAILED;
}

ssize_t stream_send(struct stream *s, const struct iovec *parts, size_t count, bool more)
{
    assert(s->fd >= 0 && count > 0);
    if (s->session != NULL)
        return tls_send(s, parts, count);
    /* sendmsg does not change the data; iovec's type lacks const. */
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = count};
    int flags = MSG_NOSIGNAL | (more ? MSG_MORE : 0);
    ssize_t sent;
    do /* for one part, send saves the kernel a copy of the message header */
        sent = count == 1 ? send(s->fd, parts[0].iov_base, parts[0].iov_len, flags)
                          : sendmsg(s->fd, &message, flags);
    while (sent < 0 && errno == EINTR);
    return stream_sent(s, sent);
}

ssize_t stream_send_file(struct stream *s, int fd, int64_t offset, size_t length)
{
    assert(s->fd >= 0 && fd >= 0 && offset >= 0);
    if (s->session != NULL)
        return tls_send_file(s, fd, offset, length);
    off_t at = offset;
    ssize_t sent;
    do
        sent = sendfile(s->fd, fd, &at, length);
    while (sent < 0 && errno == EINTR);
    return sent == 0 && length > 0 ? STREAM_FAILED : stream_sent(s, sent);
}

void stream_finish(struct stream *s)
{
    if (s->session != NULL)
        tls_session_finish(s->session);
    (void)shutdown(s->fd, SHUT_WR);
}

void stream_close(struct stream *s, bool abort)
{
    if (s->fd < 0)
        return;
    if (s->session != NULL && !abort)
        tls_session_finish(s->session);
    tls_session_free(s->session);
    s->session = NULL;
    if (abort) {
        struct linger reset = {.l_onoff = 1, .l_linger = 0};
        (void)setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    }
    (void)close(s->fd);
    s->fd = -1;
}
