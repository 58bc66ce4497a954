/* SPDX-License-Identifier: Apache-2.0 */
/* Inside http/: one connection, the call it has under way, and the worker (one per loop) that all
 * connections of a loop share. */
#ifndef HTTP_CONN_H
#define HTTP_CONN_H

#include "http/chunked.h"
#include "http/server.h"
#include "net/listener.h"
#include "net/stream.h"

enum {
    HTTP_BUFFER_BYTES = HTTP_PIECE_BYTES_MAX, /* of a worker: what one recv can bring of a body */
    HTTP_READ_BYTES = 16 << 10,               /* what one recv brings while a head is awaited */
    HTTP_DISCARD_BYTES_MAX = 64 << 10,        /* of a body nobody wants, to keep its connection */
    HTTP_TURN_BYTES_MAX = 256 << 10,          /* moved for one connection before the others' turn */
    HTTP_AWAY_BYTES_MIN = 1 << 20,            /* longer replies from files are sent by senders */
    HTTP_AWAY_BYTES_MAX = 512 << 10,          /* in one go, before the senders' next task */
    HTTP_TURN_STEPS_MAX = 512,                /* likewise: for a deep pipeline of small requests */
    HTTP_CALLS_KEPT_MAX = 256,                /* unused calls a worker keeps */
    HTTP_REPLIES_HELD_MAX = 32,               /* replies that wait for the end of a loop's turn */
    HTTP_LINGER_MS = 5000,                    /* without a byte, while closing */
    HTTP_LINGER_MS_MAX = 30000,               /* in all */
};

/* What is still to be sent of a reply. */
struct http_out {
    struct http_span spans[5]; /* those from `at` to `count` */
    unsigned at;
    unsigned count;
    unsigned body_spans;        /* bit i: spans[i] is of the body, not of its framing */
    bool fresh;                 /* nothing has been sent yet */
    bool may_wait;              /* may be delayed to the end of the turn; asked once */
    struct http_source *source; /* where more comes from; NULL when nothing does */
    int64_t left;               /* bytes that the source must still produce; -1: until it ends */
    bool chunked;
    bool waiting; /* source said HTTP_PULL_WAIT */
    bool large;   /* its files are sent by senders: see away.c */
    bool close;
    char chunk_line[24];
};

/* A request under way. Taken from the worker's pool when a head is whole, given back after on_done,
 * so that an idle connection holds none. */
struct http_call {
    struct http_exchange x; /* first: what handlers see */
    struct http_conn *conn;
    struct http_call *next; /* in the pool */
    struct arena arena;
    bool handed;  /* the handler has seen it: it gets an on_done */
    bool replied; /* http_reply was called */
    bool paused;
    int64_t paused_ms;                     /* since when */
    void (*lend)(struct http_exchange *x); /* see http_body_lend; NULL: the loop receives */
    uint64_t lent_bytes;                   /* received while it was lent */
    bool lent_ended;                       /* the client's stream has */
    struct str raw_head;                   /* as it was received */
    struct str interim;                    /* what is still to be sent of a 100 Continue */
    struct http_out out;
    struct http_header headers[HTTP_HEADERS_MAX];
    char head[4096];       /* the request's head, when it fits; else it is in the arena */
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
    struct http_call *call; /* from a whole head to on_done */
    struct http_conn *previous;
    struct http_conn *next;
    struct loop_timer timer; /* set for the deadline or earlier: see conn_arm */
    struct loop_task again;
    struct loop_task sending; /* at the end of the turn: see conn_holds_reply */
    struct loop_task away;    /* a sender sends for it: see away.c */
    uint32_t missed;          /* events that came while it was away */
    int64_t away_sent;        /* what stream_send_file said */
    enum http_conn_state state;
    bool again_posted;
    bool sending_set;
    bool is_away;  /* its stream is another thread's: see away.c */
    bool in_order; /* cut it with FIN, not with a reset */
    bool gone;     /* the client is: nothing is sent to it any more */
    bool cut;      /* see http_conn_wind_up */
    bool secure;   /* its client came over TLS, to another gateway */
    bool relayed;
    bool counted;    /* among the server's connections, against the limits */
    bool in_is_held; /* `in` points into held */
    bool is_ahead;   /* the bytes in `in` wait for their turn: see http_input_ahead */
    bool body_chunked;
    struct http_chunked chunked;
    uint64_t body_left; /* still to be read; for a chunked body 1 until it has ended */
    uint64_t discarded; /* of this body */
    struct str in;      /* read, and not yet looked at: in a worker's buffer or in held */
    struct buf held;    /* the input that had to be kept between two turns */
    size_t scanned;     /* of the head in `in` */
    int64_t active_ms;  /* when a byte last moved */
    int64_t since_ms;   /* when the head, the body, the reply or the end began */
    uint64_t moved;     /* bytes since then */
    int64_t started_us; /* when the head's first byte came; 0: not yet */
    uint64_t number;
    void *listener_context;
    const atomic_int_fast64_t *idle_ms; /* the listener's; NULL: as the limits have it */
    struct sockaddr_storage peer;
};

struct http_listener {
    struct listener base; /* first: it is handed back */
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
    char *ahead;             /* input of several connections, one after the other */
    size_t ahead_used;       /* of HTTP_BUFFER_BYTES */
    size_t ahead_count;      /* connections whose input is there */
    size_t turn_left;        /* of the connection being driven */
    struct http_call *calls; /* the pool */
    size_t call_count;
    size_t held_count;   /* replies that wait for the end of the turn */
    int64_t date_ms;     /* the loop's time when date_line was last looked at */
    int64_t date_second; /* the one that date_line tells */
    char date_line[40];
    bool draining;
    bool drained;
    struct loop_task drain_task;
    struct loop_timer grace;
};

/* ---- conn.c ---- */
/* A connection just accepted; `refused` when it is one too many: it gets a 503 and no more. */
void http_conn_open(const struct http_listener *listener, int fd,
                    const struct sockaddr_storage *peer, bool refused);
/* Does all that can be done now. From anywhere on the loop's thread. */
void http_conn_drive(struct http_conn *c);
/* Closes what can be closed now; a handler at work is left to finish. */
void http_conn_cut(struct http_conn *c);
/* When the server drains: closes it when it is idle, or at any rate (`cut`), a little later. */
void http_conn_wind_up(struct http_conn *c, bool cut);
/* When the loop has stopped: frees it, without a word to the handler if that is still at work. */
void http_conn_abandon(struct http_conn *c);
/* Sends nothing more; reads and discards the client's input until it ends. */
void http_conn_linger(struct http_conn *c);
void http_conn_set_state(struct http_conn *c, enum http_conn_state state);
/* Ends the call: on_done, and the call goes back to the pool. */
void http_conn_end_call(struct http_conn *c);
/* Answers a request that gets no exchange, and closes. */
void http_conn_refuse(struct http_conn *c, struct err error);
struct http_call *http_call_take(struct http_conn *c);

/* ---- input.c: the steps of reading; true when there is more to do at once ---- */
bool http_step_head(struct http_conn *c);
bool http_step_body(struct http_conn *c);
bool http_step_discard(struct http_conn *c);
bool http_step_linger(struct http_conn *c);
/* First all that are ready are read, then their requests are looked at: the kernel's code for the
 * one and ours for the other do not push each other out of the processor's cache for each request.
 * True when something was read, of a connection that waits for a head; its turn comes when the
 * others have been read too. */
bool http_input_ahead(struct http_conn *c);
/* Its turn has come. */
void http_input_ahead_ends(struct http_conn *c);
/* Saves the rest of the input before another connection uses the worker's buffer. */
void http_input_keep(struct http_conn *c);

/* ---- away.c: long bodies are received and sent by other threads ---- */
/* Lends the connection, for its body to be received. */
void http_body_lend_now(struct http_conn *c);
/* Has a sender send from the reply's next span, a file. False when there is none: the loop sends
 * itself. Else the connection's stream is not to be touched until http_out_sent is called. */
bool http_send_away(struct http_conn *c);
/* In place of closing it now: ends what the sender is at; the rest follows when it is back. */
void http_away_hurry(struct http_conn *c);

/* ---- output.c ---- */
/* Takes note of what was sent of the reply's first span, or not (STREAM_AGAIN, STREAM_FAILED). */
void http_out_sent(struct http_conn *c, ssize_t sent);
bool http_step_send(struct http_conn *c);
/* Lays the reply out, ready for http_step_send. */
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
