/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the files of long replies away from the event loop. A megabyte takes a loop a tenth of a
 * millisecond and, over TLS, half of one; with several such replies it would hardly sleep, and the
 * kernel would let small requests wait for its next slice of time. Senders are threads that give
 * way to the loops. While one sends, the connection's stream belongs to it: the loop only collects
 * the stream's events. */
#include <assert.h>
#include <sys/socket.h>

#include "core/container.h"
#include "http/conn.h"
#include "net/pool.h"

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

/* On a sender. Goes on until the socket is full, which spares the way there and back. */
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
