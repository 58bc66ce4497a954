/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "core/clock.h"
#include "http/conn.h"
#include "http/parse.h"

/* ---- the input ----
 * Bytes are read into one of the worker's buffers and processed there. The rest is copied to the
 * heap if the connection has to wait (half a head, a pipelined request); idle connections hold
 * nothing. */

void http_input_keep(struct http_conn *c)
{
    if (c->in.n == 0) {
        if (c->held.p != NULL)
            buf_release(&c->held);
    } else if (c->in_is_held) {
        memmove(c->held.p, c->in.p, c->in.n);
        c->held.n = c->in.n;
    } else {
        buf_clear(&c->held);
        buf_put(&c->held, c->in);
    }
    c->in = buf_str(&c->held);
    c->in_is_held = c->in.n > 0;
}

static void input_skip(struct http_conn *c, size_t n)
{
    assert(n <= c->in.n);
    c->in = str_from(c->in, n);
}

/* The client has ended, or broken, its stream: no further request follows. */
static void input_ended(struct http_conn *c)
{
    c->gone = true;
    if (c->call != NULL)
        http_conn_end_call(c);
    http_conn_set_state(c, CONN_CLOSED);
}

/* Receives up to `most` bytes; empty if there are none now, or at the end. */
static struct str input_receive(struct http_conn *c, char *into, size_t most)
{
    ssize_t got = stream_recv(&c->stream, into, most);
    if (got == STREAM_AGAIN)
        return STR_NONE;
    if (got <= 0) {
        input_ended(c);
        return STR_NONE;
    }
    c->active_ms = loop_now_ms(c->worker->loop);
    c->moved += (size_t)got;
    return (struct str){into, (size_t)got};
}

/* Only for plain connections: TLS has more states, and gains nothing from this. */
bool http_input_prefetch(struct http_conn *c)
{
    struct http_worker *w = c->worker;
    bool plain = c->stream.offered == NULL && c->stream.session == NULL;
    if (c->state != CONN_HEAD || c->in.n > 0 || !plain || !c->stream.may_recv ||
        HTTP_BUFFER_BYTES - w->prefetch_used < HTTP_READ_BYTES)
        return false;
    c->in = input_receive(c, w->prefetch + w->prefetch_used, HTTP_READ_BYTES);
    if (c->in.n == 0)
        return false;
    w->prefetch_used += c->in.n;
    w->prefetch_count++;
    c->is_prefetched = true;
    c->in_is_held = false;
    return true;
}

void http_input_prefetch_ends(struct http_conn *c)
{
    struct http_worker *w = c->worker;
    if (!c->is_prefetched)
        return;
    c->is_prefetched = false;
    if (--w->prefetch_count == 0)
        w->prefetch_used = 0;
}

/* Reads up to `most` more bytes; false if there are none now. */
static bool input_fill(struct http_conn *c, size_t most)
{
    struct http_worker *w = c->worker;
    if (!c->stream.may_recv)
        return false;
    if (c->in.n > 0)
        http_input_keep(c);
    struct str bytes = input_receive(c, w->buffer, most);
    if (bytes.n == 0)
        return false;
    w->turn_left -= bytes.n < w->turn_left ? bytes.n : w->turn_left;
    if (c->in.n > 0) {
        buf_put(&c->held, bytes);
        c->in = buf_str(&c->held);
    } else {
        c->in = bytes;
        c->in_is_held = false;
    }
    return true;
}

/* ---- heads ---- */

/* Heads of usual size are copied to the call, longer ones to its arena: they must live until
 * on_done, longer than the worker's buffer. */
static struct str call_keep_head(struct http_call *call, struct str head)
{
    if (head.n > sizeof call->head)
        return arena_copy(&call->arena, head);
    memcpy(call->head, head.p, head.n);
    return (struct str){call->head, head.n};
}

static bool begin_call(struct http_conn *c, size_t head_length)
{
    assert(c->call == NULL && head_length <= c->in.n);
    struct http_call *call = http_call_take(c);
    struct http_request *request = &call->x.request;
    struct str head = call_keep_head(call, str_head(c->in, head_length));
    call->raw_head = head;
    input_skip(c, head_length);
    c->scanned = 0;
    c->started_us = 0;
    struct err error = http_parse_head(head, call->headers, request);
    if (err_is(error)) {
        http_conn_end_call(c);
        http_conn_refuse(c, error);
        return true;
    }
    c->body_chunked = request->chunked;
    c->body_left = request->chunked              ? 1
                   : request->content_length > 0 ? (uint64_t)request->content_length
                                                 : 0;
    http_chunked_init(&c->chunked);
    c->discarded = 0;
    http_conn_set_state(c, CONN_BODY);
    call->handed = true;
    call->x.handler->on_head(&call->x);
    if (request->expect_continue && !call->replied && c->body_left > 0 && c->in.n == 0)
        http_send_continue(c);
    return true;
}

/* RFC 9112 2.2: ignore an empty line before a request line; at most one here. */
static void skip_empty_line(struct http_conn *c)
{
    if (c->scanned == 0 && c->in.n >= 2 && c->in.p[0] == '\r' && c->in.p[1] == '\n')
        input_skip(c, 2);
}

bool http_step_head(struct http_conn *c)
{
    if (c->in.n == 0 && !input_fill(c, HTTP_READ_BYTES))
        return false;
    if (c->started_us == 0) {
        c->started_us = loop_now_us(c->worker->loop);
        c->since_ms = loop_now_ms(c->worker->loop);
        skip_empty_line(c);
        if (c->in.n == 0)
            return true;
    }
    size_t length;
    struct err error = http_scan_head(c->in, &c->scanned, &length);
    if (err_is(error)) {
        http_conn_refuse(c, error);
        return true;
    }
    return length > 0 ? begin_call(c, length) : input_fill(c, HTTP_READ_BYTES);
}

/* ---- bodies ---- */

/* Takes the next piece of the body from the input; it is empty if there is only framing. */
static struct err body_take(struct http_conn *c, struct str *piece)
{
    if (c->body_chunked) {
        TRY(http_chunked_next(&c->chunked, &c->in, piece));
        c->body_left = http_chunked_ended(&c->chunked) ? 0 : 1;
        return OK;
    }
    *piece = str_head(c->in, c->body_left < c->in.n ? (size_t)c->body_left : c->in.n);
    input_skip(c, piece->n);
    c->body_left -= piece->n;
    return OK;
}

/* Returns how much to read at once: as much of the body as fits, but little beyond it, because the
 * rest must be saved. */
static size_t body_appetite(const struct http_conn *c)
{
    uint64_t most = c->body_left + HTTP_READ_BYTES;
    return c->body_chunked || most > HTTP_BUFFER_BYTES ? HTTP_BUFFER_BYTES : (size_t)most;
}

bool http_step_body(struct http_conn *c)
{
    assert(c->call != NULL && c->state == CONN_BODY);
    struct http_call *call = c->call;
    if (call->replied) {
        http_conn_set_state(c, CONN_SEND);
        return true;
    }
    if (call->paused)
        return false;
    if (c->gone) {
        input_ended(c);
        return false;
    }
    if (c->body_left == 0) {
        http_conn_set_state(c, CONN_WORK);
        call->x.handler->on_end(&call->x);
        return true;
    }
    if (call->interim.n > 0)
        http_send_interim(c);
    if (c->in.n == 0 && call->lend != NULL && call->interim.n == 0) {
        if (c->stream.may_recv)
            http_body_lend_now(c);
        return false;
    }
    if (c->in.n == 0 && !input_fill(c, body_appetite(c)))
        return false;
    struct str piece;
    struct err error = body_take(c, &piece);
    if (err_is(error)) {
        http_conn_end_call(c);
        http_conn_refuse(c, error);
        return true;
    }
    call->x.body_bytes += piece.n;
    if (piece.n > 0)
        call->x.handler->on_body(&call->x, piece);
    return true;
}

void http_body_pause(struct http_exchange *x)
{
    struct http_call *call = (struct http_call *)x;
    call->paused = true;
    call->paused_ms = loop_now_ms(x->loop);
}

void http_body_resume(struct http_exchange *x)
{
    struct http_call *call = (struct http_call *)x;
    if (!call->paused)
        return;
    call->paused = false;
    /* The pause was not the client's fault. */
    call->conn->since_ms += loop_now_ms(x->loop) - call->paused_ms;
    call->conn->active_ms += loop_now_ms(x->loop) - call->paused_ms;
    http_conn_drive(call->conn);
}

void http_hand_over(struct http_exchange *x, struct str body, struct http_handed *out)
{
    struct http_call *call = (struct http_call *)x;
    struct http_conn *c = call->conn;
    *out = (struct http_handed){.peer = c->peer, .secure = x->secure, .bytes = buf_heap()};
    buf_put(&out->bytes, call->raw_head);
    bool rechunk = c->body_chunked && c->body_left == 0;
    if (rechunk && body.n > 0)
        buf_printf(&out->bytes, "%zx\r\n", body.n);
    buf_put(&out->bytes, body);
    if (rechunk)
        buf_put(&out->bytes, body.n > 0 ? STR("\r\n0\r\n\r\n") : STR("0\r\n\r\n"));
    buf_put(&out->bytes, c->in);
    c->in = STR("");
    if (c->stream.fd >= 0)
        loop_watch_remove(c->worker->loop, &c->watch);
    out->stream = c->stream;
    c->stream = (struct stream){.fd = -1};
    http_abort(x);
}

bool http_step_discard(struct http_conn *c)
{
    assert(c->call == NULL);
    if (c->body_left == 0) {
        http_conn_set_state(c, CONN_HEAD);
        return true;
    }
    if (c->in.n == 0 && !input_fill(c, HTTP_READ_BYTES))
        return false;
    size_t before = c->in.n;
    struct str piece;
    struct err error = body_take(c, &piece);
    c->discarded += before - c->in.n;
    if (err_is(error) || c->discarded > HTTP_DISCARD_BYTES_MAX)
        http_conn_linger(c);
    return true;
}

/* Closing with unread input would make the kernel send a reset, which can overtake the reply. */
bool http_step_linger(struct http_conn *c)
{
    input_skip(c, c->in.n);
    return input_fill(c, HTTP_BUFFER_BYTES);
}
