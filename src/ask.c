/* SPDX-License-Identifier: Apache-2.0 */
#include "ask.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/hash/hmac.h"
#include "core/text/base64.h"
#include "core/text/uri.h"
#include "core/time.h"
#include "http/answer.h"

#define VERSION "2025-11-05"

/* ---- signing ---- */

static int by_name(struct str a, struct str b)
{
    return str_cmp(str_head(a, str_find(a, '=', 0)), str_head(b, str_find(b, '=', 0)));
}

/* "name:value" of each parameter, decoded, in the order of their names; commands repeat none. */
static void put_canonical_query(struct buf *text, struct arena *arena, struct str query)
{
    enum { PARAMETERS_MAX = 16 };
    struct str sorted[PARAMETERS_MAX];
    size_t count = 0;
    while (str_given(query) && count < PARAMETERS_MAX) {
        struct str part = str_cut(&query, '&');
        size_t at = count++;
        for (; at > 0 && by_name(part, sorted[at - 1]) < 0; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = part;
    }
    for (size_t i = 0; i < count; i++) {
        struct str value = sorted[i];
        struct str name = str_cut(&value, '=');
        buf_putc(text, '\n');
        buf_put(text, uri_decode_loose(arena, name));
        buf_putc(text, ':');
        if (str_given(value))
            buf_put(text, uri_decode_loose(arena, value));
    }
}

static struct str header_of(const struct ask *what, struct str name)
{
    for (size_t i = 0; i < what->header_count; i++)
        if (str_ieq(what->headers[i].name, name))
            return what->headers[i].value;
    return STR("");
}

/* x-ms-* headers in the order of their names; every request has these two. */
static void put_canonical_headers(struct buf *text, const struct ask *what, struct str date)
{
    enum { HEADERS_MAX = 16 };
    struct ask_header sorted[HEADERS_MAX + 2];
    const struct ask_header own[2] = {{STR("x-ms-date"), date},
                                      {STR("x-ms-version"), STR(VERSION)}};
    size_t count = 0;
    for (size_t i = 0; i < what->header_count + 2 && count < HEADERS_MAX; i++) {
        struct ask_header h = i < 2 ? own[i] : what->headers[i - 2];
        if (!str_istarts(h.name, STR("x-ms-")))
            continue;
        size_t at = count++;
        for (; at > 0 && str_cmp(h.name, sorted[at - 1].name) < 0; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = h;
    }
    for (size_t i = 0; i < count; i++)
        buf_printf(text, "%.*s:%.*s\n", STR_ARG(sorted[i].name), STR_ARG(sorted[i].value));
}

static struct str text_to_sign(struct arena *arena, const struct ask *what, struct str date)
{
    struct buf text = buf_in(arena);
    struct str query = what->path, type = header_of(what, STR("Content-Type"));
    struct str path = str_cut(&query, '?');
    if (what->table) {
        buf_printf(&text, "%s\n\n%.*s\n%.*s\n/%.*s%.*s", what->method, STR_ARG(type), STR_ARG(date),
                   STR_ARG(what->account), STR_ARG(path));
        return buf_str(&text);
    }
    buf_printf(&text, "%s\n\n\n", what->method);
    if (what->body.n > 0)
        buf_put_u64(&text, what->body.n);
    buf_printf(&text, "\n\n%.*s\n\n\n\n\n\n\n", STR_ARG(type));
    put_canonical_headers(&text, what, date);
    buf_printf(&text, "/%.*s%.*s", STR_ARG(what->account), STR_ARG(path));
    put_canonical_query(&text, arena, query);
    return buf_str(&text);
}

static struct err put_signature(struct buf *request, struct arena *arena, const struct ask *what)
{
    struct clock clock;
    struct str secret;
    struct hmac_key key;
    unsigned char mac[SHA256_BYTES];
    char now[TIME_RFC1123_BYTES];
    struct str date = {now, sizeof now};
    if (!base64_decode(arena, what->key, &secret))
        return err_detail(ERR_INVALID_INPUT, "the account's key is not base64");
    clock_init_system(&clock);
    time_rfc1123(clock_now(&clock), now);
    hmac_key_init(&key, secret);
    hmac_sign(&key, text_to_sign(arena, what, date), mac);
    hmac_key_wipe(&key);
    buf_printf(request,
               "x-ms-date: %.*s\r\nx-ms-version: " VERSION "\r\nAuthorization: SharedKey %.*s:",
               STR_ARG(date), STR_ARG(what->account));
    base64_put(request, (struct str){(const char *)mac, sizeof mac});
    buf_put(request, STR("\r\n"));
    return OK;
}

/* ---- the exchange ---- */

static struct err connect_to(struct arena *arena, const struct uri *uri, int *out)
{
    char port[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    struct timeval patience = {ASK_SECONDS, 0};
    (void)snprintf(port, sizeof port, "%u", uri->port);
    if (getaddrinfo(arena_cstr(arena, uri->host), port, &hints, &found) != 0)
        return err_cause(ERR_IO, ENOENT);
    int fd = -1, cause = ENOENT;
    for (struct addrinfo *a = found; a != NULL && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
            cause = errno;
            (void)close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    if (fd < 0)
        return err_cause(ERR_IO, cause);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    *out = fd;
    return OK;
}

static struct err send_all(int fd, struct str bytes)
{
    while (bytes.n > 0) {
        ssize_t sent = send(fd, bytes.p, bytes.n, MSG_NOSIGNAL);
        if (sent <= 0)
            return err_cause(ERR_IO, errno);
        bytes = str_from(bytes, (size_t)sent);
    }
    return OK;
}

static struct err make_request(struct arena *arena, const struct ask *what, const struct uri *uri,
                               struct buf *request)
{
    bool six = str_find(uri->host, ':', 0) < uri->host.n;
    buf_printf(request, "%s %.*s HTTP/1.1\r\nHost: %s%.*s%s:%u\r\nConnection: close\r\n",
               what->method, STR_ARG(what->path), six ? "[" : "", STR_ARG(uri->host),
               six ? "]" : "", uri->port);
    if (str_given(what->body))
        buf_printf(request, "Content-Length: %zu\r\n", what->body.n);
    for (size_t i = 0; i < what->header_count; i++)
        buf_printf(request, "%.*s: %.*s\r\n", STR_ARG(what->headers[i].name),
                   STR_ARG(what->headers[i].value));
    if (str_given(what->account))
        TRY(put_signature(request, arena, what));
    buf_put(request, STR("\r\n"));
    return OK;
}

/* Reads until the server closes the connection, as the request asks. */
static struct err read_all(int fd, struct buf *in)
{
    for (;;) {
        ssize_t got = recv(fd, buf_reserve(in, 64 << 10), 64 << 10, 0);
        if (got < 0)
            return err_cause(ERR_IO, errno);
        if (got == 0)
            return OK;
        in->n += (size_t)got;
        if (in->n > ASK_ANSWER_BYTES_MAX)
            return err_new(ERR_REQUEST_BODY_TOO_LARGE);
    }
}

static struct err read_answer(struct arena *arena, struct str in, struct answered *out)
{
    struct http_answer answer;
    size_t scanned = 0, length;
    struct http_header *headers = ARENA_ARRAY(arena, struct http_header, HTTP_HEADERS_MAX);
    TRY(http_scan_head(in, &scanned, &length));
    if (length == 0)
        return err_new(ERR_BAD_REQUEST);
    TRY(http_parse_answer(str_head(in, length), headers, &answer));
    out->status = answer.status;
    out->body = str_from(in, length);
    bool short_of = answer.content_length >= 0 && (uint64_t)answer.content_length != out->body.n;
    if (answer.chunked || short_of)
        return err_cause(ERR_IO, EPIPE);
    return OK;
}

struct err ask(struct arena *arena, const struct ask *what, struct answered *out)
{
    struct uri uri;
    struct buf request = buf_in(arena), in = buf_in(arena);
    int fd = -1;
    if (!uri_parse(what->url, &uri) || !str_ieq(uri.scheme, STR("http")))
        return err_detail(ERR_INVALID_INPUT, "not a URL of the form http://HOST:PORT");
    TRY(make_request(arena, what, &uri, &request));
    TRY(connect_to(arena, &uri, &fd));
    struct err error = send_all(fd, buf_str(&request));
    if (!err_is(error) && str_given(what->body))
        error = send_all(fd, what->body);
    if (!err_is(error))
        error = read_all(fd, &in);
    (void)close(fd);
    return err_is(error) ? error : read_answer(arena, buf_str(&in), out);
}
