/* SPDX-License-Identifier: Apache-2.0 */
#include "net/stream.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

void stream_init(struct stream *s, int fd)
{
    *s = (struct stream){.fd = fd, .may_recv = true, .may_send = true};
}

void stream_note(struct stream *s, uint32_t events)
{
    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        s->may_recv = true;
    if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
        s->may_send = true;
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        s->hung_up = true;
}

ssize_t stream_recv(struct stream *s, char *into, size_t size)
{
    ssize_t got;
    do
        got = recv(s->fd, into, size, 0);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        s->may_recv = false;
        return errno == EAGAIN || errno == EWOULDBLOCK ? STREAM_AGAIN : STREAM_FAILED;
    }
    /* Fewer bytes than asked for: the socket is empty, and more will be an edge. Unless the end was
     * part of an edge that is already spent. */
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
    /* sendmsg does not change what the iovec points to; its type just cannot say so. */
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = count};
    ssize_t sent;
    do
        sent = sendmsg(s->fd, &message, MSG_NOSIGNAL | (more ? MSG_MORE : 0));
    while (sent < 0 && errno == EINTR);
    return stream_sent(s, sent);
}

ssize_t stream_send_file(struct stream *s, int fd, int64_t offset, size_t length)
{
    off_t at = offset;
    ssize_t sent;
    do
        sent = sendfile(s->fd, fd, &at, length);
    while (sent < 0 && errno == EINTR);
    return sent == 0 && length > 0 ? STREAM_FAILED : stream_sent(s, sent);
}

void stream_finish(struct stream *s)
{
    (void)shutdown(s->fd, SHUT_WR);
}

void stream_close(struct stream *s, bool abort)
{
    if (s->fd < 0)
        return;
    if (abort) {
        struct linger reset = {.l_onoff = 1, .l_linger = 0};
        (void)setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    }
    (void)close(s->fd);
    s->fd = -1;
}
