/* SPDX-License-Identifier: Apache-2.0 */
/* One HTTP exchange as its handler sees it: a request's head, its body in pieces, one reply.
 *
 * All on one loop's thread. The order of calls to a handler is
 *     on_head, on_body*, on_end, …, on_done
 * and on_done is called exactly once, last. The handler calls http_reply exactly once, at any time
 * from on_head on; after an early reply on_body and on_end are not called (the connection drains a
 * small rest of the body or closes). If the client disconnects before on_end, on_done is called at
 * once, and no reply is expected. If it disconnects later, on_gone is called once, if the handler
 * has it, and the exchange continues until the handler calls http_reply or http_abort, which leads
 * to on_done: so work in progress can finish. The next request on the same connection is not
 * processed before on_done. */
#ifndef HTTP_EXCHANGE_H
#define HTTP_EXCHANGE_H

#include <sys/socket.h>

#include "core/arena.h"
#include "core/buf.h"
#include "core/err.h"
#include "net/loop.h"
#include "net/stream.h"

enum http_method {
    HTTP_GET,
    HTTP_HEAD,
    HTTP_PUT,
    HTTP_POST,
    HTTP_DELETE,
    HTTP_OPTIONS,
    HTTP_MERGE,
    HTTP_PATCH,
    HTTP_METHOD_OTHER,
};

enum {
    HTTP_HEADERS_MAX = 128,
    HTTP_HEAD_BYTES_MAX = 64 << 10,
    HTTP_TARGET_BYTES_MAX = 32 << 10,
    HTTP_PIECE_BYTES_MAX = 256 << 10, /* of a body, per on_body */
    HTTP_ARENA_BYTES_MAX = 64 << 20,  /* see over_limit in arena.h */
};

struct http_header {
    struct str name;  /* as sent */
    struct str value; /* trimmed */
};

struct http_request {
    enum http_method method;
    struct str method_text;
    struct str target; /* as sent: origin form, or absolute form (see authority) */
    struct str path;   /* as sent, still percent-encoded, begins with '/' */
    struct str query;  /* as sent, without '?'; absent when there is no '?' */
    struct str host;   /* the Host header, or the authority of an absolute target */
    struct http_header *headers;
    size_t header_count;
    uint64_t names;         /* the marks of all their names; 0: not known */
    int64_t content_length; /* -1: not given */
    bool chunked;
    bool expect_continue;
    bool keep_alive;   /* the client wants to keep the connection */
    int version_minor; /* HTTP/1.x */
};

/* One of 64 bits, by the name's length and last letter in any case: most headers that are looked up
 * are absent, and this usually shows it. */
static inline uint64_t http_name_mark(struct str name)
{
    unsigned last = name.n == 0 ? 0 : (unsigned char)name.p[name.n - 1] | 0x20U;
    return 1ULL << ((name.n * 5 + last) & 63);
}
/* Returns the value of the first header of that name (any case); absent if there is none. An empty
 * header counts as absent, as in the cloud: clients send one for a value that they omit. */
struct str http_find_header(const struct http_request *request, struct str name);
static inline struct str http_header_get(const struct http_request *request, struct str name)
{
    bool wanting = request->names != 0 && (request->names & http_name_mark(name)) == 0;
    return wanting ? STR_NONE : http_find_header(request, name);
}
/* Returns how many headers of that name have a value. */
size_t http_header_count(const struct http_request *request, struct str name);
struct str http_method_name(enum http_method method);

/* A part of a response body: memory (fd < 0) or a range of a file. */
struct http_span {
    const char *memory;
    int fd;
    int64_t file_offset;
    size_t length;
};

enum http_pull {
    HTTP_PULL_SPAN, /* *out is the next part; it stays valid until the next pull or on_done */
    HTTP_PULL_END,
    HTTP_PULL_WAIT, /* nothing yet: the source calls http_source_ready on the loop's thread later */
    HTTP_PULL_FAIL, /* cut the connection: the client must notice that the body is incomplete */
};

/* A response body produced while it is sent. */
struct http_source {
    enum http_pull (*pull)(struct http_source *source, struct http_span *out);
};

struct http_exchange;

struct http_handler {
    void (*on_head)(struct http_exchange *x);
    void (*on_body)(struct http_exchange *x, struct str bytes);
    void (*on_end)(struct http_exchange *x);
    void (*on_done)(struct http_exchange *x);
    /* May be NULL. The client has gone, after on_end and before the reply. `wholly`: the connection
     * is dead; otherwise the client has only ended its sending side, which most clients do when
     * they close and some before they read the reply. The handler may call http_reply or http_abort
     * from here. */
    void (*on_gone)(struct http_exchange *x, bool wholly);
    /* May be NULL. A request that got no exchange (a malformed head, too many connections, a body
     * that stalled) is answered with the error's HTTP status and the contents of the two buffers
     * (header lines as in http_response); without this, with a line of text. Then the connection is
     * closed. */
    void (*on_bad)(struct err error, struct buf *headers, struct buf *body);
    /* Both may be NULL. They create and free the handler's state for each loop, together with the
     * server. */
    void *(*loop_memory_new)(void);
    void (*loop_memory_free)(void *memory);
};

struct http_exchange {
    struct http_request request;
    /* The handler of the next calls; at first the server's. A handler that passes the exchange on
     * sets this in its on_head and calls the other's on_head. */
    const struct http_handler *handler;
    struct arena *arena; /* the request's; reset after on_done */
    struct loop *loop;
    const struct sockaddr_storage *peer;
    bool secure;            /* over TLS */
    bool relayed;           /* another gateway has passed the connection on */
    uint64_t connection;    /* a number for the log */
    void *listener_context; /* given when the listener was opened */
    void *loop_memory;      /* the handler's state for the loop; NULL: none */
    void *user;             /* the handler's */
    /* Header lines that are added to every reply to this request; absent: none. For a handler that
     * passes the exchange on and adds headers that the other does not know. */
    struct str reply_headers;
    int64_t started_us;  /* when the head's first byte arrived */
    uint64_t body_bytes; /* received so far */
    uint64_t sent_bytes; /* of the response body, so far */
};

struct http_response {
    int status;
    /* Header lines without the final empty line, each "Name: value\r\n", made with http_put_header.
     * Content-Length, Transfer-Encoding and Connection are added by http_reply; Date too. */
    struct str headers;
    struct str body; /* in memory: for small bodies, or when source is NULL */
    /* Content-Length to announce: for source, or for HEAD when there is none to send. -1: the
     * length of body, or chunked when there is a source. */
    int64_t content_length;
    struct http_source *source;
    bool close; /* close the connection after the reply */
};

/* Appends a header line. Control characters in the value are replaced: no response splitting. */
void http_put_header(struct buf *headers, struct str name, struct str value);
/* The same without a check of the value, for values made by the program (a number, a date). Never
 * for input. */
void http_put_own_header(struct buf *headers, struct str name, struct str value);

/* Everything that the response refers to must live until on_done; *response itself need not. HEAD,
 * 204 and 304 send no body, whatever the response has. When called from on_head, on_body or on_end,
 * it returns before on_done; when called at another time, on_done may run inside it, so do not
 * touch x afterwards. */
void http_reply(struct http_exchange *x, const struct http_response *response);
/* Cuts the connection instead of replying, so that the client gets no answer. Otherwise like
 * http_reply. */
void http_abort(struct http_exchange *x);
/* If the connection is cut, the client sees an orderly end (FIN), not a reset. */
void http_end_in_order(struct http_exchange *x);
/* A connection that http/ no longer owns. */
struct http_handed {
    struct stream stream; /* not watched */
    struct sockaddr_storage peer;
    bool secure;
    struct buf
        bytes; /* the request from its first byte, and the bytes read after it; on the heap */
};
/* Takes the connection away instead of replying, with the request as received. `body` is what the
 * handler has received of the body: nothing, or all of it. on_done follows as after http_abort. */
void http_hand_over(struct http_exchange *x, struct str body, struct http_handed *out);
/* See HTTP_PULL_WAIT. As with http_reply, do not touch x afterwards. */
void http_source_ready(struct http_exchange *x);

/* Tells for which container of which account the connection's requests are. When many connections
 * are ready, those of one client and container take one place in the order: see crowd.h. Do not
 * call it for an exchange that a handler has made from a part of a body. */
void http_belongs_to(struct http_exchange *x, struct str account, struct str container);

/* Stops reading the body: no on_body or on_end until http_body_resume. For back-pressure. Nothing
 * is read from the client meanwhile, so its disconnection is not noticed either. */
void http_body_pause(struct http_exchange *x);
void http_body_resume(struct http_exchange *x);

/* Lets another thread receive the body, directly to its destination. `lend` is called on the loop
 * when there is something to receive, instead of on_body; bytes that arrived with the head still go
 * to on_body. From then on the body is paused and the connection is lent: one other thread may call
 * the functions below, and the handler does not reply, until the loop calls http_body_back and then
 * http_body_resume. False if this body cannot be lent, because it is chunked. */
bool http_body_lend(struct http_exchange *x, void (*lend)(struct http_exchange *x));
/* Receives up to `most` bytes of the body. 0 or less: nothing now, or the end. */
ssize_t http_lent_receive(struct http_exchange *x, char *into, size_t most);
/* Returns how much of the body has not been received. */
uint64_t http_lent_left(const struct http_exchange *x);
/* Returns true if http_lent_receive may find more at once. */
bool http_lent_has_more(const struct http_exchange *x);
/* On the loop: the other thread is done with the body. */
void http_body_back(struct http_exchange *x);

#endif
