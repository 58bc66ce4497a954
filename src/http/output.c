/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>

#include "core/clock.h"
#include "core/time.h"
#include "http/conn.h"
#include "http/message.h"

/* ---- the reply's head ---- */

/* The line "Date: …\r\n", formatted once a second; reads the clock at most once per turn. */
static struct str date_line(struct http_worker *w)
{
    struct str line = {w->date_line, 6 + TIME_RFC1123_BYTES + 2};
    int64_t now_ms = loop_now_ms(w->loop);
    if (now_ms == w->date_ms)
        return line;
    w->date_ms = now_ms;
    int64_t second = http_server_now(w->server) / TICKS_PER_SECOND;
    if (second != w->date_second) {
        w->date_second = second;
        memcpy(w->date_line, "Date: ", 6);
        time_rfc1123(second * TICKS_PER_SECOND, w->date_line + 6);
        memcpy(w->date_line + 6 + TIME_RFC1123_BYTES, "\r\n", 2);
    }
    return line;
}

static bool status_has_no_body(int status)
{
    return status == 204 || status == 304 || status < 200;
}

static void out_clear(struct http_out *out)
{
    out->at = out->count = out->body_spans = 0;
}

static void out_add(struct http_out *out, struct str memory)
{
    assert(out->count < sizeof out->spans / sizeof out->spans[0]);
    if (memory.n > 0)
        out->spans[out->count++] =
            (struct http_span){.memory = memory.p, .fd = -1, .length = memory.n};
}

static void out_add_body(struct http_out *out, const struct http_span *span)
{
    assert(out->count < sizeof out->spans / sizeof out->spans[0]);
    if (span->length == 0)
        return;
    out->body_spans |= 1U << out->count;
    out->spans[out->count++] = *span;
}

/* Returns true if the connection must close after this reply. */
static bool call_must_close(const struct http_call *call, const struct http_response *response)
{
    const struct http_conn *c = call->conn;
    const struct http_request *request = &call->x.request;
    if (response->close || !request->keep_alive || c->worker->draining)
        return true;
    /* The rest of the body precedes the next request. A client that got no 100 Continue may
     * send it or not, so the start of the next request is unknown. */
    if (c->body_left > 0 && request->expect_continue && call->x.body_bytes == 0)
        return true;
    return !c->body_chunked && c->body_left > HTTP_DISCARD_BYTES_MAX;
}

/* Returns the Content-Length, or -1 for none. A body in memory determines it, whatever the handler
 * set: a wrong length would make the client read part of this reply as the next one. */
static int64_t announced_length(const struct http_call *call, const struct http_response *response)
{
    bool bodiless = call->x.request.method == HTTP_HEAD || status_has_no_body(response->status);
    if (response->source == NULL && !bodiless)
        return (int64_t)response->body.n;
    if (response->content_length >= 0 || response->source != NULL || response->status == 304)
        return response->content_length;
    return (int64_t)response->body.n;
}

/* Chooses how the client finds the end of the body: a length, chunks, or the end of the connection.
 */
static void put_framing(struct http_call *call, const struct http_response *response,
                        struct buf *head)
{
    struct http_out *out = &call->out;
    int64_t length = announced_length(call, response);
    out->chunked = false;
    out->left = length;
    if (response->status == 204 || response->status < 200)
        return;
    if (length >= 0) {
        buf_put(head, STR("Content-Length: "));
        buf_put_u64(head, (uint64_t)length);
        buf_put(head, STR("\r\n"));
    } else if (response->source != NULL && call->x.request.version_minor > 0) {
        out->chunked = true;
        buf_put(head, STR("Transfer-Encoding: chunked\r\n"));
    } else if (response->source != NULL) {
        out->close = true;
    }
}

static struct str render_head(struct http_call *call, const struct http_response *response)
{
    enum { REST_BYTES_MAX = 256 };
    size_t most = response->headers.n + call->x.reply_headers.n + REST_BYTES_MAX;
    struct buf head = {.p = call->reply_head, .capacity = sizeof call->reply_head};
    head.arena = &call->arena;
    if (most > head.capacity)
        head = buf_in(&call->arena);
    (void)buf_reserve(&head, most);
    http_put_status_line(&head, response->status);
    buf_put(&head, response->headers);
    buf_put(&head, call->x.reply_headers);
    buf_put(&head, date_line(call->conn->worker));
    call->out.close = call_must_close(call, response);
    put_framing(call, response, &head);
    if (call->out.close)
        buf_put(&head, STR("Connection: close\r\n"));
    buf_put(&head, STR("\r\n"));
    return buf_str(&head);
}

/* Returns the address to send an in-memory body from. A small one is copied after its head, so
 * that one buffer has both, which is cheaper for the kernel. */
static struct str body_beside_head(struct http_call *call, struct str head, struct str body)
{
    if (head.p != call->reply_head || body.n > sizeof call->reply_head - head.n || body.n == 0)
        return body;
    char *end = call->reply_head + head.n;
    memcpy(end, body.p, body.n);
    return (struct str){end, body.n};
}

void http_out_begin(struct http_call *call, const struct http_response *response)
{
    struct http_out *out = &call->out;
    bool bodiless = call->x.request.method == HTTP_HEAD || status_has_no_body(response->status);
    out_clear(out);
    out->waiting = false;
    out->fresh = out->may_wait = true;
    out_add(out, call->interim);
    struct str head = render_head(call, response);
    out_add(out, head);
    out->source = bodiless ? NULL : response->source;
    out->large = out->source != NULL && (out->left < 0 || out->left > HTTP_AWAY_BYTES_MIN);
    if (bodiless || response->source != NULL)
        return;
    struct str body = body_beside_head(call, head, response->body);
    out_add_body(out, &(struct http_span){.memory = body.p, .fd = -1, .length = body.n});
}

void http_reply(struct http_exchange *x, const struct http_response *response)
{
    assert(response->status >= 200 && response->status <= 599);
    struct http_call *call = (struct http_call *)x;
    assert(!call->replied);
    http_out_begin(call, response);
    call->replied = true;
    http_conn_drive(call->conn);
}

void http_abort(struct http_exchange *x)
{
    struct http_call *call = (struct http_call *)x;
    assert(!call->replied);
    http_out_begin(call, &(struct http_response){.status = 204, .content_length = -1});
    call->replied = true;
    call->conn->gone = true; /* nothing is sent to a client that has gone */
    http_conn_drive(call->conn);
}

void http_end_in_order(struct http_exchange *x)
{
    ((struct http_call *)x)->conn->in_order = true;
}

void http_source_ready(struct http_exchange *x)
{
    struct http_call *call = (struct http_call *)x;
    if (!call->out.waiting)
        return;
    call->out.waiting = false;
    http_conn_set_state(call->conn,
                        CONN_SEND); /* its time starts now: the client did not cause the wait */
    http_conn_drive(call->conn);
}

/* ---- 100 Continue ---- */

void http_send_interim(struct http_conn *c)
{
    struct http_call *call = c->call;
    struct iovec part = {(void *)(uintptr_t)call->interim.p, call->interim.n};
    ssize_t sent = c->stream.may_send ? stream_send(&c->stream, &part, 1, false) : STREAM_AGAIN;
    if (sent > 0)
        call->interim = str_from(call->interim, (size_t)sent);
}

void http_send_continue(struct http_conn *c)
{
    c->call->interim = STR("HTTP/1.1 100 Continue\r\n\r\n");
    http_send_interim(c);
}

/* ---- sending ---- */

enum sent { SENT_ALL, SENT_SOME, SENT_BLOCKED, SENT_WAITING, SENT_FAILED };

static void out_add_chunk(struct http_out *out, const struct http_span *span)
{
    int n = snprintf(out->chunk_line, sizeof out->chunk_line, "%zx\r\n", span->length);
    out_add(out, (struct str){out->chunk_line, (size_t)n});
    out_add_body(out, span);
    out_add(out, STR("\r\n"));
}

/* The source has ended; it must have produced the announced length. */
static enum sent out_end_source(struct http_out *out)
{
    if (out->left > 0)
        return SENT_FAILED;
    if (out->chunked)
        out_add(out, STR("0\r\n\r\n"));
    out->source = NULL;
    return SENT_SOME;
}

/* Asks the source for the next part. SENT_SOME if there is something to send, or nothing more. */
static enum sent out_pull(struct http_out *out)
{
    struct http_span span = {.fd = -1};
    if (out->left == 0)
        return out_end_source(out);
    switch (out->source->pull(out->source, &span)) {
    case HTTP_PULL_SPAN:
        if (span.length == 0)
            return SENT_SOME;
        if (out->left >= 0 && span.length > (uint64_t)out->left)
            return SENT_FAILED; /* more than announced would be read as the next reply */
        if (out->chunked)
            out_add_chunk(out, &span);
        else
            out_add_body(out, &span);
        if (out->left > 0)
            out->left -= (int64_t)span.length;
        return SENT_SOME;
    case HTTP_PULL_END:
        return out_end_source(out);
    case HTTP_PULL_WAIT:
        out->waiting = true;
        return SENT_WAITING;
    case HTTP_PULL_FAIL:
        break;
    }
    return SENT_FAILED;
}

/* Removes n bytes from the front; returns how many of them belong to the body. */
static size_t out_consume(struct http_out *out, size_t n)
{
    size_t body = 0;
    while (n > 0) {
        struct http_span *span = &out->spans[out->at];
        size_t part = n < span->length ? n : span->length;
        if (span->fd < 0)
            span->memory += part;
        span->file_offset += (int64_t)part;
        span->length -= part;
        n -= part;
        if (out->body_spans & (1U << out->at))
            body += part;
        if (span->length == 0)
            out->at++;
    }
    return body;
}

static bool follows(const struct iovec *part, const struct http_span *span)
{
    return (const char *)part->iov_base + part->iov_len == span->memory;
}

static ssize_t out_send_memory(struct http_conn *c, struct http_out *out)
{
    struct iovec parts[sizeof out->spans / sizeof out->spans[0]];
    size_t count = 0;
    unsigned i = out->at;
    for (; i < out->count && out->spans[i].fd < 0; i++) {
        const struct http_span *span = &out->spans[i];
        if (count > 0 && follows(&parts[count - 1], span))
            parts[count - 1].iov_len += span->length;
        else
            parts[count++] = (struct iovec){(void *)(uintptr_t)span->memory, span->length};
    }
    /* The last part must not be held back for more: the kernel would keep it for 200 ms. */
    bool more = i < out->count || (out->source != NULL && out->left != 0);
    return stream_send(&c->stream, parts, count, more && !out->waiting);
}

static enum sent out_note(struct http_conn *c, ssize_t sent)
{
    if (sent < 0)
        return sent == STREAM_AGAIN ? SENT_BLOCKED : SENT_FAILED;
    c->active_ms = loop_now_ms(c->worker->loop);
    c->moved += (size_t)sent;
    c->call->x.sent_bytes += out_consume(&c->call->out, (size_t)sent);
    return SENT_SOME;
}

void http_out_sent(struct http_conn *c, ssize_t sent)
{
    if (out_note(c, sent) == SENT_FAILED)
        c->gone = true; /* the next step sees it */
}

/* Sends some of the prepared spans. */
static enum sent out_send(struct http_conn *c, struct http_out *out)
{
    const struct http_span *span = &out->spans[out->at];
    size_t turn = c->worker->turn_left;
    if (!c->stream.may_send)
        return SENT_BLOCKED;
    if (span->fd >= 0 && http_send_away(c))
        return SENT_WAITING;
    ssize_t sent = span->fd < 0 ? out_send_memory(c, out)
                                : stream_send_file(&c->stream, span->fd, span->file_offset,
                                                   span->length < turn ? span->length : turn);
    if (sent > 0)
        c->worker->turn_left -= (size_t)sent < turn ? (size_t)sent : turn;
    return out_note(c, sent);
}

/* Sends at most once; the head waits for the body's first part, so that one system call sends
 * both. */
static enum sent out_advance(struct http_conn *c, struct http_out *out)
{
    if (out->at == out->count)
        out_clear(out);
    if (out->source != NULL && !out->waiting && (out->count == 0 || out->fresh)) {
        out->fresh = false;
        enum sent pulled = out_pull(out);
        if (pulled == SENT_FAILED || (pulled == SENT_WAITING && out->count == 0))
            return pulled;
    }
    if (out->at < out->count)
        return out_send(c, out);
    return out->source == NULL ? SENT_ALL : out->waiting ? SENT_WAITING : SENT_SOME;
}

/* ---- after the reply ---- */

static bool end_of_reply(struct http_conn *c)
{
    bool close = c->call->out.close;
    http_conn_end_call(c);
    if (!close) {
        http_conn_set_state(c, c->body_left > 0 ? CONN_DISCARD : CONN_HEAD);
        return true;
    }
    if (c->body_left > 0 || c->in.n > 0) {
        http_conn_linger(c);
        return true;
    }
    http_conn_set_state(c, CONN_CLOSED);
    return false;
}

bool http_step_send(struct http_conn *c)
{
    assert(c->call != NULL && c->state == CONN_SEND);
    struct http_call *call = c->call;
    switch (c->gone && !call->out.waiting ? SENT_FAILED : out_advance(c, &call->out)) {
    case SENT_ALL:
        return end_of_reply(c);
    case SENT_SOME:
        return true;
    case SENT_BLOCKED:
    case SENT_WAITING:
        return false;
    case SENT_FAILED:
        break;
    }
    c->gone = true;
    http_conn_cut(c);
    return false;
}
