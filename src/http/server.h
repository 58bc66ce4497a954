/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP server: listeners on every loop (SO_REUSEPORT), connections, limits and time-outs. */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include <stdatomic.h>

#include "core/clock.h"
#include "http/exchange.h"
#include "net/tls.h"

struct address_counts;
struct pool;

struct http_limits {
    unsigned connections_max;          /* per server, all loops */
    unsigned connections_per_address;  /* 0: no limit */
    struct address_counts *addresses;  /* counts them with other front ends; NULL: separately */
    int64_t idle_ms;                   /* between two requests */
    int64_t head_ms;                   /* from a head's first byte to its end */
    int64_t body_stall_ms;             /* without a byte of body, or of send buffer */
    int64_t body_bytes_per_second_min; /* averaged, after the first body_stall_ms */
};
extern const struct http_limits HTTP_LIMITS_DEFAULT;

struct http_server;

/* All listeners use the handler; the handler and the loops must outlive the server. limits may be
 * NULL. The caller runs the loops. SIGPIPE is ignored from then on. */
struct err http_server_new(struct loop **loops, size_t loop_count,
                           const struct http_handler *handler, const struct http_limits *limits,
                           struct http_server **out);
/* Sets the clock of the Date header; the default is the system's. Call before opening listeners. */
void http_server_use_clock(struct http_server *s, const struct clock *clock);
/* Every port then serves HTTPS beside HTTP, distinguished by a connection's first byte. Call before
 * opening listeners; tls must outlive the server. */
void http_server_use_tls(struct http_server *s, struct tls *tls);
/* Sets the threads that send the files of long replies; without them the loops do. Call before
 * opening listeners; their tasks must end before the server is freed. */
void http_server_use_senders(struct http_server *s, struct pool *senders);
struct http_relayed {
    const struct sockaddr_storage *peer;
    bool secure;
    void *listener_context;
};
/* One port for all loops. Port 0 picks a free one. ERR_IO with errno as cause (EADDRINUSE, …). */
struct err http_server_listen(struct http_server *s, const char *host, uint16_t port,
                              void *listener_context, uint16_t *port_out);
struct http_endpoint {
    const char *host;
    uint16_t port;
    /* The idle limit, which the caller may change at any time; NULL: the server's limit. */
    const atomic_int_fast64_t *idle_ms;
};
/* The same with more options for the listener. */
struct err http_server_listen_at(struct http_server *s, const struct http_endpoint *place,
                                 void *listener_context, uint16_t *port_out);
/* Takes a plain connection that another gateway has passed on, from a client at `peer`, which used
 * TLS there if `secure`. On the loop's thread. */
void http_server_take(struct http_server *s, const struct loop *loop, int fd,
                      const struct http_relayed *from);
/* Returns the handler's state for the i-th loop; NULL: none. Its owner defines which thread may
 * read it. */
void *http_server_loop_memory(const struct http_server *s, size_t i);
/* Sets limits for new connections. From any thread. */
void http_server_limit(struct http_server *s, unsigned connections_max,
                       unsigned connections_per_address);
/* For metrics; any thread. */
struct http_usage {
    unsigned connections; /* open now */
    uint64_t accepted;    /* since the start, including refused ones */
    uint64_t refused;     /* because of a limit */
};
struct http_usage http_server_usage(const struct http_server *s);
/* Stops accepting, closes idle connections, and gives exchanges grace_ms to finish; calls `drained`
 * on the first loop's thread when no connection is left. */
void http_server_drain(struct http_server *s, int64_t grace_ms, void (*drained)(void *arg),
                       void *arg);
/* Call after the loops have stopped. */
void http_server_free(struct http_server *s);

#endif
