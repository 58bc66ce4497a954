/* SPDX-License-Identifier: Apache-2.0 */
/* One connected, non-blocking byte stream for http/: a plain socket, or TLS over one. Registered
 * edge-triggered; the stream tracks the edges. */
#ifndef NET_STREAM_H
#define NET_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

enum {
    STREAM_AGAIN = -1,  /* not now: wait for the next edge */
    STREAM_FAILED = -2, /* the peer is gone, or violated the protocol */
};

struct tls;
struct tls_session;

struct stream {
    int fd;
    struct tls *offered;         /* for a client that begins with TLS; NULL: plain only */
    struct tls_session *session; /* once TLS began */
    /* True if a call may make progress: set by events, cleared by the calls below. */
    bool may_recv;
    bool may_send;
    bool hung_up; /* the peer has shut down its sending side: the end of the stream is still unread
                   */
    /* TLS may need to send in order to receive, and the reverse. */
    bool send_waits_for_recv;
    bool recv_waits_for_send;
};

/* Takes a connected socket. With `tls` (it must outlive the stream) the first byte decides whether
 * this is TLS; stream_recv then continues the handshake. */
void stream_init(struct stream *s, int fd, struct tls *tls);
/* Takes a socket that is connected, or connecting, to a TLS server. False: no memory. */
bool stream_init_secure(struct stream *s, int fd, struct tls *tls);
static inline bool stream_is_secure(const struct stream *s)
{
    return s->session != NULL;
}
/* Returns true during a TLS handshake. */
bool stream_in_handshake(const struct stream *s);
/* Records the events that epoll reported (EPOLLIN, EPOLLOUT, EPOLLRDHUP, EPOLLHUP, EPOLLERR). */
void stream_note(struct stream *s, uint32_t events);
/* Returns the bytes read, 0 at the end, or STREAM_AGAIN, STREAM_FAILED. */
ssize_t stream_recv(struct stream *s, char *into, size_t size);
/* Returns the number of bytes taken (maybe fewer than given), STREAM_AGAIN or STREAM_FAILED.
 * `more`: more data follows at once, so a partial packet may wait. */
ssize_t stream_send(struct stream *s, const struct iovec *parts, size_t count, bool more);
/* The same for a range of a file. A file that ends early gives STREAM_FAILED. */
ssize_t stream_send_file(struct stream *s, int fd, int64_t offset, size_t length);
/* Ends sending; receiving continues. */
void stream_finish(struct stream *s);
/* Closes the descriptor. `abort`: the peer sees a reset, not a clean end. */
void stream_close(struct stream *s, bool abort);

#endif
