/* SPDX-License-Identifier: Apache-2.0 */
#include "http/client.h"

#include <errno.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/mem.h"
#include "http/chunked.h"

enum { READ_BYTES = 64 << 10 };

struct http_client {
    struct dialed *connection;
    struct http_kept *kept;
    bool may_keep; /* the answer allows further requests */
    bool whole;    /* the answer was read to its end */
    char buffer[HTTP_HEAD_BYTES_MAX];
    size_t first, end; /* of the bytes read and not used */
    int64_t content_length;
    bool chunked;
    bool bodiless;
};

/* ---- the request ---- */

static void put_line(struct buf *b, struct str name, struct str value)
{
    buf_put(b, name);
    buf_put(b, STR(": "));
    buf_put(b, value);
    buf_put(b, STR("\r\n"));
}

static struct str request_text(struct arena *a, const struct http_client_request *r)
{
    struct buf b = buf_in(a);
    bool v6 = str_find(r->uri.host, ':', 0) < r->uri.host.n;
    buf_put(&b, r->method);
    buf_putc(&b, ' ');
    buf_put(&b, r->uri.path);
    if (str_given(r->uri.query)) {
        buf_putc(&b, '?');
        buf_put(&b, r->uri.query);
    }
    buf_put(&b, STR(" HTTP/1.1\r\nHost: "));
    buf_put(&b, v6 ? STR("[") : STR(""));
    buf_put(&b, r->uri.host);
    buf_put(&b, v6 ? STR("]") : STR(""));
    if (r->uri.port_given)
        buf_printf(&b, ":%u", r->uri.port);
    buf_put(&b, STR("\r\nUser-Agent: Lazuli\r\n"));
    if (r->kept == NULL)
        buf_put(&b, STR("Connection: close\r\n"));
    if (r->has_body)
        buf_printf(&b, "Content-Length: %llu\r\n", (unsigned long long)r->body_bytes);
    for (size_t i = 0; i < r->header_count; i++)
        put_line(&b, r->headers[i].name, r->headers[i].value);
    buf_put(&b, STR("\r\n"));
    return buf_str(&b);
}

/* Reads a head to the buffer's front and returns its length. */
static struct err read_head(struct http_client *c, int64_t deadline_ms, size_t *length)
{
    size_t scanned = 0;
    for (;;) {
        struct str input = {c->buffer + c->first, c->end - c->first};
        size_t n;
        TRY(http_scan_head(input, &scanned, length));
        if (*length > 0)
            return OK;
        if (c->end == sizeof c->buffer)
            return err_new(ERR_HEADERS_TOO_LARGE);
        TRY(dialed_read(c->connection, c->buffer + c->end, sizeof c->buffer - c->end, deadline_ms,
                        &n));
        if (n == 0)
            return err_cause(ERR_IO, EPIPE);
        c->end += n;
    }
}

/* Reads the answer and skips interim answers (1xx). */
static struct err read_answer(struct http_client *c, struct arena *a, struct http_answer *out)
{
    struct http_header *headers = ARENA_ARRAY(a, struct http_header, HTTP_ANSWER_HEADERS_MAX);
    int64_t deadline_ms = clock_mono_ms() + HTTP_CLIENT_ANSWER_MS;
    do {
        size_t length = 0;
        TRY(read_head(c, deadline_ms, &length));
        struct str head = arena_copy(a, (struct str){c->buffer + c->first, length});
        TRY(http_parse_answer(head, headers, out));
        c->first += length;
    } while (out->status < 200);
    return OK;
}

void http_kept_close(struct http_kept *kept)
{
    dialed_close(kept->connection);
    *kept = (struct http_kept){.connection = NULL};
}

/* A server may have closed an idle connection, so one with input is not used. */
static bool take_kept(struct http_client *c, struct http_kept *kept,
                      const struct dial_target *target)
{
    bool same = kept->connection != NULL && kept->port == target->port &&
                kept->secure == target->secure && str_eq(str_of(kept->host), target->host) &&
                dialed_is_quiet(kept->connection);
    if (!same) {
        http_kept_close(kept);
        return false;
    }
    c->connection = kept->connection;
    kept->connection = NULL;
    return true;
}

static struct err connect_for(struct http_client *c, struct dialer *dialer,
                              const struct http_client_request *r)
{
    struct dial_target target = {
        .host = r->uri.host, .port = r->uri.port, .secure = str_ieq(r->uri.scheme, STR("https"))};
    c->kept = target.host.n < sizeof r->kept->host ? r->kept : NULL;
    if (c->kept != NULL && take_kept(c, c->kept, &target))
        return OK;
    TRY(dial(dialer, &target, clock_mono_ms() + HTTP_CLIENT_CONNECT_MS, &c->connection));
    if (c->kept != NULL) {
        *c->kept = (struct http_kept){.port = target.port, .secure = target.secure};
        memcpy(c->kept->host, target.host.p, target.host.n);
    }
    return OK;
}

static struct err send_request(struct http_client *c, struct arena *a,
                               const struct http_client_request *r)
{
    TRY(dialed_write(c->connection, request_text(a, r), clock_mono_ms() + HTTP_CLIENT_ANSWER_MS));
    for (uint64_t sent = 0; r->has_body && sent < r->body_bytes;) {
        struct str piece;
        TRY(r->source(r->source_arg, sent, r->body_bytes - sent, &piece));
        TRY(dialed_write(c->connection, piece, clock_mono_ms() + HTTP_CLIENT_STALL_MS));
        sent += piece.n;
    }
    return OK;
}

static struct err ask(struct http_client *c, struct dialer *dialer, struct arena *a,
                      const struct http_client_request *r, struct http_answer *out)
{
    TRY(connect_for(c, dialer, r));
    struct err sent = send_request(c, a, r);
    /* A server that refuses a request need not read its body; its answer has the reason. */
    if (err_is(sent) && sent.code != ERR_IO)
        return sent;
    struct err answered = read_answer(c, a, out);
    if (err_is(answered))
        return err_is(sent) ? sent : answered;
    c->content_length = out->content_length;
    c->chunked = out->chunked;
    c->bodiless = str_eq(r->method, STR("HEAD")) || out->status == 204 || out->status == 304;
    c->may_keep = c->kept != NULL && !err_is(sent) &&
                  !str_ieq(http_answer_header(out, STR("Connection")), STR("close")) &&
                  (c->bodiless || c->chunked || c->content_length >= 0);
    c->whole = c->bodiless || c->content_length == 0;
    return OK;
}

struct err http_client_ask(struct dialer *dialer, struct arena *arena,
                           const struct http_client_request *request, struct http_answer *answer,
                           struct http_client **out)
{
    struct http_client *c = MEM_NEW(struct http_client);
    struct err error = ask(c, dialer, arena, request, answer);
    if (err_is(error))
        http_client_end(c);
    else
        *out = c;
    return error;
}

/* ---- the body ---- */

struct body {
    http_client_sink *sink;
    void *arg;
    uint64_t size_max;
    uint64_t done;
};

static struct err give(struct body *b, struct str bytes)
{
    if (bytes.n > b->size_max - b->done)
        return err_new(ERR_REQUEST_BODY_TOO_LARGE);
    b->done += bytes.n;
    return b->sink(b->arg, bytes);
}

/* Returns buffered bytes, or the next that arrive; empty at the end. */
static struct err next_bytes(struct http_client *c, struct str *out)
{
    if (c->first == c->end) {
        size_t n;
        TRY(dialed_read(c->connection, c->buffer, READ_BYTES,
                        clock_mono_ms() + HTTP_CLIENT_STALL_MS, &n));
        c->first = 0;
        c->end = n;
    }
    *out = (struct str){c->buffer + c->first, c->end - c->first};
    c->first = c->end;
    return OK;
}

static struct err read_chunks(struct http_client *c, struct body *b)
{
    struct http_chunked state;
    http_chunked_init(&state);
    while (!http_chunked_ended(&state)) {
        struct str input, data;
        TRY(next_bytes(c, &input));
        if (input.n == 0)
            return err_cause(ERR_IO, EPIPE);
        do {
            TRY(http_chunked_next(&state, &input, &data));
            if (data.n > 0)
                TRY(give(b, data));
        } while (data.n > 0 && !http_chunked_ended(&state));
    }
    return OK;
}

/* Reads an announced length, or to the end of the connection. */
static struct err read_plain(struct http_client *c, struct body *b)
{
    uint64_t left = c->content_length < 0 ? UINT64_MAX : (uint64_t)c->content_length;
    while (left > 0) {
        struct str input;
        TRY(next_bytes(c, &input));
        if (input.n == 0)
            return c->content_length < 0 ? OK : err_cause(ERR_IO, EPIPE);
        input = str_head(input, left < SIZE_MAX ? (size_t)left : SIZE_MAX);
        left -= input.n;
        TRY(give(b, input));
    }
    return OK;
}

struct err http_client_body(struct http_client *c, uint64_t size_max, http_client_sink *sink,
                            void *arg)
{
    struct body b = {.sink = sink, .arg = arg, .size_max = size_max};
    if (c->bodiless)
        return OK;
    if (c->content_length > 0 && (uint64_t)c->content_length > size_max)
        return err_new(ERR_REQUEST_BODY_TOO_LARGE);
    TRY(c->chunked ? read_chunks(c, &b) : read_plain(c, &b));
    c->whole = true;
    return OK;
}

void http_client_end(struct http_client *c)
{
    if (c == NULL)
        return;
    if (c->may_keep && c->whole && c->first == c->end)
        c->kept->connection = c->connection;
    else
        dialed_close(c->connection);
    free(c);
}
