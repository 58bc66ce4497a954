/* SPDX-License-Identifier: Apache-2.0 */
#include "http/chunked.h"

#include "core/buf.h"
#include "core/test.h"

/* Parses `text` in portions of `step` bytes. The body goes to *body, the unused input to *rest. */
static struct err read_all(struct str text, size_t step, struct buf *body, struct str *rest)
{
    struct http_chunked c;
    http_chunked_init(&c);
    size_t at = 0;
    while (at < text.n && !http_chunked_ended(&c)) {
        struct str portion = str_head(str_from(text, at), step);
        at += portion.n;
        while (portion.n > 0 && !http_chunked_ended(&c)) {
            struct str data;
            TRY(http_chunked_next(&c, &portion, &data));
            buf_put(body, data);
        }
        at -= portion.n;
    }
    *rest = str_from(text, at);
    return http_chunked_ended(&c) ? OK : err_new(ERR_CLIENT_GONE);
}

void test_chunked_body_in_any_portions(void)
{
    struct str text = STR("5\r\nhello\r\n1;name=\"v\"\r\n \r\n00B\r\nwide world!\r\n0\r\n"
                          "X-Trailer: 1\r\nY: 2\r\n\r\nGET / HTTP/1.1\r\n");
    for (size_t step = 1; step <= text.n; step++) {
        struct buf body = buf_heap();
        struct str rest;
        CHECK_OK(read_all(text, step, &body, &rest));
        CHECK_STR(buf_str(&body), STR("hello wide world!"));
        CHECK_STR(rest, STR("GET / HTTP/1.1\r\n"));
        buf_release(&body);
    }
}

void test_chunked_refuses(void)
{
    static const struct str refused[] = {
        STR_INIT("\r\n"),                      /* no size */
        STR_INIT(";x\r\n"),                    /* the same */
        STR_INIT("g\r\n"),                     /* not hex */
        STR_INIT("0x5\r\nhello\r\n"),          /* a prefix */
        STR_INIT("-5\r\n"),                    /* a sign */
        STR_INIT("+5\r\n"),                    /* a sign */
        STR_INIT(" 5\r\n"),                    /* a space before */
        STR_INIT("5 \r\nhello\r\n"),           /* a space after */
        STR_INIT("5\nhello\r\n"),              /* LF alone */
        STR_INIT("5\rhello\r\n"),              /* CR alone */
        STR_INIT("5\r\nhello0\r\n\r\n"),       /* no CR LF after the data */
        STR_INIT("5\r\nhello\n0\r\n\r\n"),     /* LF alone after it */
        STR_INIT("5\r\nhello\r0\r\n\r\n"),     /* CR alone after it */
        STR_INIT("5;a\nb\r\nhello\r\n"),       /* LF within an extension */
        STR_INIT("5;\0\r\nhello\r\n"),         /* NUL within it */
        STR_INIT("0000000000000001\r\na\r\n"), /* too many digits */
        STR_INIT("ffffffffffffffff\r\n"),      /* the same */
        STR_INIT("0\r\nX: 1\n\r\n"),           /* LF alone in the trailers */
        STR_INIT("0\r\n X: 1\r\n\r\n"),        /* a folded trailer */
        STR_INIT("0\r\n: 1\r\n\r\n"),          /* a trailer without a name */
        STR_INIT("0\r\nX: \x01\r\n\r\n"),      /* a control character in one */
        STR_INIT("0\r\n\rX"),                  /* not the end */
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct buf body = buf_heap();
        struct str rest;
        struct err error = read_all(refused[i], 3, &body, &rest);
        if (error.code != ERR_BAD_REQUEST)
            test_fail(__FILE__, __LINE__, "case %zu is not refused", i);
        buf_release(&body);
    }
}

static enum err_code read_with_filler(const char *before, size_t filler, const char *after)
{
    struct buf text = buf_heap();
    struct buf body = buf_heap();
    buf_put(&text, str_of(before));
    for (size_t i = 0; i < filler; i++)
        buf_putc(&text, 'x');
    buf_put(&text, str_of(after));
    struct str rest;
    struct err error = read_all(buf_str(&text), 4096, &body, &rest);
    buf_release(&text);
    buf_release(&body);
    return error.code;
}

void test_chunked_bounds(void)
{
    const char *end = "\r\na\r\n0\r\n\r\n";
    CHECK_INT(read_with_filler("1;", CHUNK_EXTENSION_BYTES_MAX, end), ERR_OK);
    CHECK_INT(read_with_filler("1;", CHUNK_EXTENSION_BYTES_MAX + 1, end), ERR_BAD_REQUEST);
    CHECK_INT(read_with_filler("0\r\nT:", CHUNK_TRAILER_BYTES_MAX - 2, "\r\n\r\n"), ERR_OK);
    CHECK_INT(read_with_filler("0\r\nT:", CHUNK_TRAILER_BYTES_MAX - 1, "\r\n\r\n"),
              ERR_BAD_REQUEST);
}
