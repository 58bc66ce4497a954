/* SPDX-License-Identifier: Apache-2.0 */
/* Inside http/: one connection, its current call, and the worker (one per loop) that all
 * connections of a loop share. */
#ifndef HTTP_CONN_H
#define HTTP_CONN_H

#include "http/chunked.h"
#include "http/crowd.h"
#include "http/server.h"
#include "net/listener.h"
#include "net/stream.h"

enum {
    HTTP_BUFFER_BYTES = HTTP_PIECE_BYTES_MAX, /* the largest recv of a body, of a worker */
    HTTP_READ_BYTES = 16 << 10,               /* the largest recv while a head is awaited */
    HTTP_DISCARD_BYTES_MAX = 64 << 10,        /* of an unwanted body, to keep its connection */
    HTTP_TURN_BYTES_MAX = 256 << 10,          /* per connection, before it yields to the others */
    HTTP_AWAY_BYTES_MIN = 1 << 20,            /* longer replies from files are sent by senders */
    HTTP_AWAY_BYTES_MAX = 512 << 10,          /* per task of a sender */
    HTTP_TURN_STEPS_MAX = 512,                /* the same for a deep pipeline of small requests */
    HTTP_CALLS_KEPT_MAX = 256,                /* unused calls a worker keeps */
    HTTP_REPLIES_HELD_MAX = 32,               /* replies that wait for the end of a loop's turn */
    HTTP_LINGER_MS = 5000,                    /* without a byte, while closing */
    HTTP_LINGER_MS_MAX = 30000,               /* in all */
};

/* The unsent part of a reply. */
struct http_out {
    struct http_span spans[5]; /* those from `at` to `count` */
    unsigned at;
    unsigned count;
    unsigned body_spans;        /* bit i: spans[i] is of the body, not of its framing */
    bool fresh;                 /* nothing has been sent yet */
    bool may_wait;              /* may be delayed to the end of the turn; asked once */
    struct http_source *source; /* of more data; NULL: none */
    int64_t left;               /* bytes that the source must still produce; -1: until it ends */
    bool chunked;
    bool waiting; /* source returned HTTP_PULL_WAIT */
    bool large;   /* its files are sent by senders: see away.c */
    bool close;
    char chunk_line[24];
};

/* A request in progress. Taken from the worker's pool when a head is complete and returned after
 * on_done, so that an idle connection has none. */
struct http_call {
    struct http_exchange x; /* first: the part that handlers see */
    struct http_conn *conn;
    struct http_call *next; /* in the pool */
    struct arena arena;
    bool handed;  /* the handler has seen it: it gets an on_done */
    bool replied; /* http_reply was called */
    bool paused;
    int64_t paused_ms;                     /* since when */
    void (*lend)(struct http_exchange *x); /* see http_body_lend; NULL: the loop receives */
    uint64_t lent_bytes;                   /* received while it was lent */
    bool lent_ended;                       /* the client's stream has ended */
    struct str raw_head;                   /* as it was received */
    struct str interim;                    /* the unsent part of a 100 Continue */
    struct http_out out;
    struct http_header headers[HTTP_HEADERS_MAX];
    char head[4096];       /* the request's head, if it fits; else it is in the arena */
    char reply_head[2048]; /* likewise */
};

enum http_conn_state {
    CONN_HEAD,    /* waits for a head, or the rest of one */
    CONN_BODY,    /* hands the body to the handler */
    CONN_WORK,    /* has the whole request, waits for http_reply */
    CONN_SEND,    /* sends the reply */
    CONN_DISCARD, /* discards the rest of an unwanted body, to keep the connection */
    CONN_LINGER,  /* has sent its last byte; reads until the client has seen it */
    CONN_CLOSED,
};

struct http_conn {
    struct loop_watch watch;
    struct stream stream;
    struct http_worker *worker;
    struct http_call *call; /* from a complete head to on_done */
    struct http_conn *previous;
    struct http_conn *next;
    struct loop_timer timer; /* set for the deadline or earlier: see conn_arm */
    struct loop_task again;
    struct crowd_item waiting; /* in the worker's crowd; again_posted is set meanwhile */
    uint32_t peer_hash;
    uint8_t group;            /* of the crowd */
    struct loop_task sending; /* at the end of the turn: see conn_holds_reply */
    struct loop_task away;    /* a sender sends for it: see away.c */
    uint32_t missed;          /* events that arrived while it was away */
    int64_t away_sent;        /* the result of stream_send_file */
    enum http_conn_state state;
    bool again_posted;
    bool sending_set;
    bool is_away;  /* another thread owns its stream: see away.c */
    bool in_order; /* cut it with FIN, not with a reset */
    bool gone;     /* the client has gone: nothing more is sent to it */
    bool cut;      /* see http_conn_wind_up */
    bool secure;   /* its client used TLS, to another gateway */
    bool relayed;
    bool counted;       /* in the server's connections, for the limits */
    bool in_is_held;    /* `in` points into held */
    bool is_prefetched; /* the bytes in `in` wait for their turn: see http_input_prefetch */
    bool body_chunked;
    struct http_chunked chunked;
    uint64_t body_left; /* unread bytes; for a chunked body 1 until it has ended */
    uint64_t discarded; /* of this body */
    struct str in;      /* read but not processed: in a worker's buffer or in held */
    struct buf held;    /* input that had to be kept between two turns */
    size_t scanned;     /* of the head in `in` */
    int64_t active_ms;  /* when a byte was last transferred */
    int64_t since_ms;   /* start of the head, the body, the reply or the closing */
    uint64_t moved;     /* bytes since then */
    int64_t started_us; /* when the head's first byte arrived; 0: not yet */
    uint64_t number;
    void *listener_context;
    const atomic_int_fast64_t *idle_ms; /* the listener's; NULL: the server's limit */
    struct sockaddr_storage peer;
};

struct http_listener {
    struct listener base; /* first, because it is passed back */
    struct http_worker *worker;
    struct http_listener *next;
    void *context;
    const atomic_int_fast64_t *idle_ms;
    bool relayed; /* see http_server_take */
    bool secure;
};

/* One per loop. */
struct http_worker {
    struct http_server *server;
    struct loop *loop;
    struct http_listener *listeners;
    struct http_conn *conns;
    struct http_conn *driving; /* whose input may be in the buffer */
    void *handler_memory;      /* see http_handler */
    char *buffer;
    char *prefetch;          /* input of several connections, one after the other */
    size_t prefetch_used;    /* bytes, of HTTP_BUFFER_BYTES */
    size_t prefetch_count;   /* connections whose input is there */
    size_t turn_left;        /* of the connection being driven */
    struct http_call *calls; /* the pool */
    size_t call_count;
    struct crowd crowd; /* ready connections, when there are many */
    bool crowd_posted;  /* crowd_task will run */
    struct loop_task crowd_task;
    size_t held_count;   /* replies that wait for the end of the turn */
    int64_t date_ms;     /* the loop's time when date_line was last checked */
    int64_t date_second; /* the second in date_line */
    char date_line[40];
    bool draining;
    bool drained;
    struct loop_task drain_task;
    struct loop_timer grace;
};

/* ---- conn.c ---- */
/* Opens an accepted connection; `refused` if it exceeds a limit: it gets only a 503. */
void http_conn_open(const struct http_listener *listener, int fd,
                    const struct sockaddr_storage *peer, bool refused);
/* Does all steps that can be done now. From anywhere on the loop's thread. */
void http_conn_drive(struct http_conn *c);
/* Serves some of the connections in the worker's crowd. */
void http_serve_crowd(struct loop_task *task);
/* Closes what can be closed now; a handler at work may finish. */
void http_conn_cut(struct http_conn *c);
/* Called when the server drains: closes an idle connection, or any with `cut`, a little later. */
void http_conn_wind_up(struct http_conn *c, bool cut);
/* Called when the loop has stopped: frees it, without a call to a handler that is still at work. */
void http_conn_abandon(struct http_conn *c);
/* Sends nothing more; reads and discards the client's input until its end. */
void http_conn_linger(struct http_conn *c);
void http_conn_set_state(struct http_conn *c, enum http_conn_state state);
/* Ends the call: calls on_done and returns the call to the pool. */
void http_conn_end_call(struct http_conn *c);
/* Answers a request that gets no exchange, and closes. */
void http_conn_refuse(struct http_conn *c, struct err error);
struct http_call *http_call_take(struct http_conn *c);

/* ---- input.c: the steps of reading; true when there is more to do at once ---- */
bool http_step_head(struct http_conn *c);
bool http_step_body(struct http_conn *c);
bool http_step_discard(struct http_conn *c);
bool http_step_linger(struct http_conn *c);
/* First all ready connections are read, then their requests are processed: so the kernel's code and
 * ours do not evict each other from the processor's cache for each request. True if input was read
 * for a connection that waits for a head; it is processed after the others have been read too. */
bool http_input_prefetch(struct http_conn *c);
/* Called when that input is about to be processed. */
void http_input_prefetch_ends(struct http_conn *c);
/* Saves the rest of the input before another connection uses the worker's buffer. */
void http_input_keep(struct http_conn *c);

/* ---- away.c: long bodies are received and sent by other threads ---- */
/* Lends the connection, so that its body can be received. */
void http_body_lend_now(struct http_conn *c);
/* Lets a sender send from the reply's next span, a file. False if there is no sender: the loop must
 * send. Else do not touch the connection's stream until http_out_sent is called. */
bool http_send_away(struct http_conn *c);
/* Used instead of closing: makes the sender stop; the connection is closed when it is back. */
void http_away_hurry(struct http_conn *c);

/* ---- output.c ---- */
/* Records the bytes sent of the reply's first span, or the failure (STREAM_AGAIN,
 * STREAM_FAILED). */
void http_out_sent(struct http_conn *c, ssize_t sent);
bool http_step_send(struct http_conn *c);
/* Prepares the reply for http_step_send. */
void http_out_begin(struct http_call *call, const struct http_response *response);
/* "HTTP/1.1 100 Continue". */
void http_send_continue(struct http_conn *c);
void http_send_interim(struct http_conn *c);

/* ---- server.c ---- */
const struct http_limits *http_server_limits(const struct http_server *s);
const struct http_handler *http_server_handler(const struct http_server *s);
struct tls *http_server_tls(const struct http_server *s);
struct pool *http_server_senders(const struct http_server *s);
int64_t http_server_now(const struct http_server *s);
/* Counts a connection that was opened, or closed. */
void http_server_remember(struct http_conn *c);
void http_server_forget(struct http_conn *c);

#endif
