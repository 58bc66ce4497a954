/* SPDX-License-Identifier: Apache-2.0 */
/* One request to another server, and its answer. Blocks, with time limits, so never call it on an
 * event loop. Does not follow redirects. */
#ifndef HTTP_CLIENT_H
#define HTTP_CLIENT_H

#include "core/text/uri.h"
#include "http/answer.h"
#include "net/dial.h"

enum {
    HTTP_CLIENT_CONNECT_MS = 10000,
    HTTP_CLIENT_ANSWER_MS = 30000, /* from the request to the answer's head */
    HTTP_CLIENT_STALL_MS = 30000,  /* without a byte of body */
};

/* Returns the next bytes of a request's body, from `offset` on: at least one, at most `bytes_max`.
 * They stay valid until the next call. */
typedef struct err http_client_source(void *arg, uint64_t offset, uint64_t bytes_max,
                                      struct str *out);

/* A connection kept open to the server of the last request. Zeroed: none yet. */
struct http_kept {
    struct dialed *connection;
    char host[256];
    uint16_t port;
    bool secure;
};
void http_kept_close(struct http_kept *kept);

struct http_client_request {
    struct str method;
    struct uri uri;
    const struct http_header *headers; /* besides Host, Connection, User-Agent, Content-Length */
    size_t header_count;
    bool has_body;
    uint64_t body_bytes;
    http_client_source *source; /* of the body, if there is one */
    void *source_arg;
    struct http_kept *kept; /* NULL: the connection ends with the request */
};

struct http_client; /* an exchange under way */

/* Connects or uses the kept connection, sends the request, and reads the head of the answer into
 * the arena. ERR_IO with the causes of dial; ERR_BAD_REQUEST, ERR_HEADERS_TOO_LARGE and
 * ERR_HTTP_VERSION for an answer that is not HTTP. */
struct err http_client_ask(struct dialer *dialer, struct arena *arena,
                           const struct http_client_request *request, struct http_answer *answer,
                           struct http_client **out);

typedef struct err http_client_sink(void *arg, struct str bytes);
/* Passes the body to the sink in pieces, at most size_max bytes (ERR_REQUEST_BODY_TOO_LARGE). A
 * truncated body is ERR_IO with EPIPE; an error of the sink also ends it. */
struct err http_client_body(struct http_client *c, uint64_t size_max, http_client_sink *sink,
                            void *arg);
/* NULL is allowed. */
void http_client_end(struct http_client *c);

#endif
