/* SPDX-License-Identifier: Apache-2.0 */
#include "ask.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/base64.h"
#include "core/clock.h"
#include "core/hmac.h"
#include "core/time.h"
#include "core/uri.h"
#include "http/answer.h"

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

static struct err put_signature(struct buf *request, struct arena *arena, const struct ask *what)
{
    struct buf text = buf_in(arena);
    struct clock clock;
    struct str secret, query = what->path;
    struct hmac_key key;
    unsigned char mac[SHA256_BYTES];
    char date[TIME_RFC1123_BYTES];
    if (!base64_decode(arena, what->key, &secret))
        return err_detail(ERR_INVALID_INPUT, "the account's key is not base64");
    clock_init_system(&clock);
    time_rfc1123(clock_now(&clock), date);
    struct str path = str_cut(&query, '?');
    buf_printf(&text, "%s\n\n\n", what->method);
    if (what->body.n > 0)
        buf_put_u64(&text, what->body.n);
    buf_printf(&text, "\n\n\n\n\n\n\n\n\nx-ms-date:%.*s\n/%.*s%.*s", TIME_RFC1123_BYTES, date,
               STR_ARG(what->account), STR_ARG(path));
    put_canonical_query(&text, arena, query);
    hmac_key_init(&key, secret);
    hmac_sign(&key, buf_str(&text), mac);
    hmac_key_wipe(&key);
    buf_printf(request, "x-ms-date: %.*s\r\nAuthorization: SharedKey %.*s:", TIME_RFC1123_BYTES,
               date, STR_ARG(what->account));
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
    if (str_given(what->headers))
        buf_put(request, what->headers);
    if (str_given(what->account))
        TRY(put_signature(request, arena, what));
    buf_put(request, STR("\r\n"));
    return OK;
}

/* Until the server closes, as it was asked to. */
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
    if (answer.chunked || (uint64_t)answer.content_length != out->body.n)
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
