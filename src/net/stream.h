/* SPDX-License-Identifier: Apache-2.0 */
/* One connected, non-blocking byte stream: what http/ reads and writes, whether it is a plain
 * socket or TLS over one. Registered edge-triggered; the stream keeps count of the edges. */
#ifndef NET_STREAM_H
#define NET_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

enum {
    STREAM_AGAIN = -1,  /* not now: wait for the next edge */
    STREAM_FAILED = -2, /* the other side is gone, or broke the protocol */
};

struct tls;
struct tls_session;

struct stream {
    int fd;
    struct tls *offered;         /* for a client that begins with TLS; NULL: plain only */
    struct tls_session *session; /* once it has */
    /* Whether a call may get anywhere: set from events, cleared by the calls below. */
    bool may_recv;
    bool may_send;
    bool hung_up; /* the other side has shut down its sending side: an end is to be read */
    /* TLS can need the one to go on with the other. */
    bool send_waits_for_recv;
    bool recv_waits_for_send;
};

/* A connected socket. With `tls` (it must outlive the stream) the first byte decides whether this
 * is TLS; the handshake then goes on within stream_recv. */
void stream_init(struct stream *s, int fd, struct tls *tls);
static inline bool stream_is_secure(const struct stream *s)
{
    return s->session != NULL;
}
/* Whether a TLS handshake has begun and not ended. */
bool stream_in_handshake(const struct stream *s);
/* Takes note of what epoll reported (EPOLLIN, EPOLLOUT, EPOLLRDHUP, EPOLLHUP, EPOLLERR). */
void stream_note(struct stream *s, uint32_t events);
/* Bytes read, 0 at the end, or STREAM_AGAIN, STREAM_FAILED. */
ssize_t stream_recv(struct stream *s, char *into, size_t size);
/* Bytes taken (maybe fewer than given), or STREAM_AGAIN, STREAM_FAILED. `more`: something follows
 * at once, so a half-full packet can wait for it. */
ssize_t stream_send(struct stream *s, const struct iovec *parts, size_t count, bool more);
/* The same for a range of a file. A file that ends early gives STREAM_FAILED. */
ssize_t stream_send_file(struct stream *s, int fd, int64_t offset, size_t length);
/* No more will be sent; receiving goes on. */
void stream_finish(struct stream *s);
/* Closes the descriptor. `abort`: the other side sees a reset, not a clean end. */
void stream_close(struct stream *s, bool abort);

#endif
