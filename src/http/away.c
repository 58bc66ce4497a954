/* SPDX-License-Identifier: Apache-2.0 */
/* Receives long bodies, and sends the files of long replies, on other threads. A megabyte takes a
 * loop a tenth of a millisecond and, over TLS, half of one; with several such replies the loop
 * would rarely sleep, and the kernel would let small requests wait for its next time slice.
 * Senders are threads with lower priority than the loops; the handler chooses which thread
 * receives. Meanwhile that thread owns the connection's stream: the loop only collects the
 * stream's events. */
#include <assert.h>
#include <sys/socket.h>

#include "core/container.h"
#include "http/conn.h"
#include "net/pool.h"

/* ---- receiving ---- */

bool http_body_lend(struct http_exchange *x, void (*lend)(struct http_exchange *x))
{
    struct http_call *call = (struct http_call *)x;
    if (call->conn->body_chunked)
        return false;
    call->lend = lend;
    return true;
}

void http_body_lend_now(struct http_conn *c)
{
    struct http_call *call = c->call;
    assert(!c->is_away && !call->paused && c->in.n == 0);
    c->is_away = true;
    c->missed = 0;
    call->lent_bytes = 0;
    call->lent_ended = false;
    http_body_pause(&call->x);
    call->lend(&call->x);
}

uint64_t http_lent_left(const struct http_exchange *x)
{
    const struct http_call *call = (const struct http_call *)x;
    return call->conn->body_left - call->lent_bytes;
}

bool http_lent_has_more(const struct http_exchange *x)
{
    const struct http_call *call = (const struct http_call *)x;
    return http_lent_left(x) > 0 && call->conn->stream.may_recv && !call->lent_ended;
}

ssize_t http_lent_receive(struct http_exchange *x, char *into, size_t most)
{
    struct http_call *call = (struct http_call *)x;
    uint64_t left = http_lent_left(x);
    if (!http_lent_has_more(x))
        return STREAM_AGAIN;
    ssize_t got = stream_recv(&call->conn->stream, into, left < most ? (size_t)left : most);
    if (got > 0)
        call->lent_bytes += (uint64_t)got;
    else if (got != STREAM_AGAIN)
        call->lent_ended = true;
    return got;
}

void http_body_back(struct http_exchange *x)
{
    struct http_call *call = (struct http_call *)x;
    struct http_conn *c = call->conn;
    assert(c->is_away && call->lent_bytes <= c->body_left);
    c->is_away = false;
    stream_note(&c->stream, c->missed);
    c->body_left -= call->lent_bytes;
    x->body_bytes += call->lent_bytes;
    c->moved += call->lent_bytes;
    if (call->lent_bytes > 0)
        c->active_ms = call->paused_ms; /* the pause is added to it */
    if (call->lent_ended)
        c->gone = true; /* the next step sees it */
}

/* ---- sending ---- */

static void away_ends(struct loop_task *task)
{
    struct http_conn *c = CONTAINER_OF(task, struct http_conn, away);
    c->is_away = false;
    stream_note(&c->stream, c->missed);
    if (c->gone) {
        http_conn_cut(c);
        return;
    }
    http_out_sent(c, c->away_sent);
    http_conn_drive(c);
}

/* On a sender. Continues until the socket is full, to save a round trip to the loop. */
static void send_span(struct loop_task *task)
{
    struct http_conn *c = CONTAINER_OF(task, struct http_conn, away);
    const struct http_out *out = &c->call->out;
    const struct http_span *span = &out->spans[out->at];
    size_t most = span->length < HTTP_AWAY_BYTES_MAX ? span->length : HTTP_AWAY_BYTES_MAX;
    size_t total = 0;
    ssize_t sent = 0;
    while (total < most && sent >= 0) {
        sent = stream_send_file(&c->stream, span->fd, span->file_offset + (int64_t)total,
                                most - total);
        total += sent > 0 ? (size_t)sent : 0;
    }
    c->away_sent = total > 0 && sent != STREAM_FAILED ? (int64_t)total : sent;
    c->away.run = away_ends;
    loop_post(c->worker->loop, &c->away);
}

bool http_send_away(struct http_conn *c)
{
    struct pool *senders = http_server_senders(c->worker->server);
    if (senders == NULL || !c->call->out.large)
        return false;
    assert(!c->is_away);
    c->is_away = true;
    c->missed = 0;
    c->away.run = send_span;
    pool_post(senders, &c->away);
    return true;
}

void http_away_hurry(struct http_conn *c)
{
    (void)shutdown(c->stream.fd, SHUT_RDWR);
}
