/* SPDX-License-Identifier: Apache-2.0 */
#include "http/parse.h"

#include "core/test.h"

static struct http_header headers[HTTP_HEADERS_MAX];

/* Finds the end of the head in portions of `step` bytes, then parses it. */
static struct err parse_in_steps(struct str text, size_t step, struct http_request *out)
{
    size_t scanned = 0;
    size_t length = 0;
    for (size_t n = step; length == 0; n += step) {
        TRY(http_scan_head(str_head(text, n), &scanned, &length));
        if (length == 0 && n >= text.n)
            return err_new(ERR_CLIENT_GONE);
    }
    return http_parse_head(str_head(text, length), headers, out);
}

static struct err parse(struct str text, struct http_request *out)
{
    return parse_in_steps(text, text.n, out);
}

void test_parse_head(void)
{
    struct str text = STR("PUT /a/b%20c?x=1&y=2?z HTTP/1.1\r\nHost: h.example:10000\r\n"
                          "Content-Length: 12\r\nx-ms-meta-A:\t padded \t\r\nEmpty:\r\n\r\nbody");
    for (size_t step = 1; step <= text.n; step++) {
        struct http_request r;
        CHECK_OK(parse_in_steps(text, step, &r));
        CHECK_INT(r.method, HTTP_PUT);
        CHECK_STR(r.method_text, STR("PUT"));
        CHECK_STR(r.target, STR("/a/b%20c?x=1&y=2?z"));
        CHECK_STR(r.path, STR("/a/b%20c"));
        CHECK_STR(r.query, STR("x=1&y=2?z"));
        CHECK_STR(r.host, STR("h.example:10000"));
        CHECK_INT(r.content_length, 12);
        CHECK_INT(r.header_count, 4);
        CHECK_INT(r.version_minor, 1);
        CHECK(!r.chunked && !r.expect_continue && r.keep_alive);
        CHECK_STR(http_header_get(&r, STR("X-MS-Meta-a")), STR("padded"));
        CHECK(!str_given(http_header_get(&r, STR("empty"))));
        CHECK(!str_given(http_header_get(&r, STR("absent"))));
        CHECK_INT(http_header_count(&r, STR("HOST")), 1);
    }
}

void test_parse_framing_headers(void)
{
    struct http_request r;
    CHECK_OK(parse(STR("GET / HTTP/1.1\r\nhost: a\r\n\r\n"), &r));
    CHECK_INT(r.content_length, -1);
    CHECK(!str_given(r.query));
    CHECK_OK(parse(STR("GET /? HTTP/1.1\r\nhost: a\r\n\r\n"), &r));
    CHECK(str_given(r.query) && r.query.n == 0);
    CHECK_OK(parse(STR("PUT / HTTP/1.1\r\nHost: a\r\ntransfer-encoding: Chunked\r\n\r\n"), &r));
    CHECK(r.chunked);
    CHECK_OK(parse(STR("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\n\r\n"), &r));
    CHECK(r.expect_continue);
    CHECK_OK(parse(STR("PUT / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n"), &r));
    CHECK(!r.keep_alive);
    CHECK_OK(
        parse(STR("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775807\r\n\r\n"), &r));
    CHECK_INT(r.content_length, INT64_MAX);
}

void test_parse_http_1_0(void)
{
    struct http_request r;
    CHECK_OK(parse(STR("GET / HTTP/1.0\r\n\r\n"), &r));
    CHECK(!r.keep_alive && r.version_minor == 0 && !str_given(r.host));
    CHECK_OK(
        parse(STR("GET / HTTP/1.0\r\nConnection: keep-alive\r\nExpect: 100-continue\r\n\r\n"), &r));
    CHECK(!r.keep_alive && !r.expect_continue);
}

void test_parse_targets(void)
{
    struct http_request r;
    CHECK_OK(parse(STR("GET http://b.example/p?q HTTP/1.1\r\nHost: a\r\n\r\n"), &r));
    CHECK_STR(r.host, STR("b.example"));
    CHECK_STR(r.path, STR("/p"));
    CHECK_STR(r.query, STR("q"));
    CHECK_OK(parse(STR("GET HTTPS://b.example:1?q HTTP/1.1\r\nHost: a\r\n\r\n"), &r));
    CHECK_STR(r.host, STR("b.example:1"));
    CHECK_STR(r.path, STR("/"));
    CHECK_STR(r.query, STR("q"));
    CHECK_OK(parse(STR("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"), &r));
    CHECK_STR(r.path, STR("/"));
    CHECK_OK(parse(STR("GET //double HTTP/1.1\r\nHost: [::1]:10000\r\n\r\n"), &r));
    CHECK_STR(r.path, STR("//double"));
    CHECK_STR(r.host, STR("[::1]:10000"));
}

void test_parse_methods(void)
{
    for (int m = HTTP_GET; m < HTTP_METHOD_OTHER; m++) {
        struct buf text = buf_heap();
        struct http_request r;
        buf_put(&text, http_method_name((enum http_method)m));
        buf_put(&text, STR(" / HTTP/1.1\r\nHost: a\r\n\r\n"));
        CHECK_OK(parse(buf_str(&text), &r));
        CHECK_INT(r.method, m);
        buf_release(&text);
    }
    struct http_request r;
    CHECK_OK(parse(STR("BREW / HTTP/1.1\r\nHost: a\r\n\r\n"), &r));
    CHECK_INT(r.method, HTTP_METHOD_OTHER);
    CHECK_STR(r.method_text, STR("BREW"));
    CHECK_OK(parse(STR("get / HTTP/1.1\r\nHost: a\r\n\r\n"), &r));
    CHECK_INT(r.method, HTTP_METHOD_OTHER);
}

/* Tries each byte at each position of a target. */
void test_parse_targets_are_visible(void)
{
    for (size_t n = 1; n <= 20; n++) {
        for (size_t at = 1; at < n; at++) {
            for (int c = 0; c < 256; c++) {
                char target[20];
                struct buf text = buf_heap();
                struct http_request r;
                memset(target, 'x', sizeof target);
                target[0] = '/';
                target[at] = (char)c;
                buf_put(&text, STR("GET "));
                buf_put(&text, (struct str){target, n});
                buf_put(&text, STR(" HTTP/1.1\r\nHost: a\r\n\r\n"));
                bool fine = c > ' ' && c < 0x7F && c != '#';
                CHECK_INT(parse(buf_str(&text), &r).code == ERR_OK, fine);
                buf_release(&text);
            }
        }
    }
}

void test_parse_refuses_request_lines(void)
{
    static const struct str refused[] = {
        STR_INIT("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        STR_INIT(" GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        STR_INIT("GET  / HTTP/1.1\r\nHost: a\r\n\r\n"),
        STR_INIT("GET /  HTTP/1.1\r\nHost: a\r\n\r\n"),
        STR_INIT("GET / HTTP/1.1 \r\nHost: a\r\n\r\n"),
        STR_INIT("GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        STR_INIT("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"),
        STR_INIT("GET /\r\nHost: a\r\n\r\n"),
        STR_INIT("GET\r\nHost: a\r\n\r\n"),
        STR_INIT("G(T / HTTP/1.1\r\nHost: a\r\n\r\n"),
        STR_INIT("GET / http/1.1\r\nHost: a\r\n\r\n"),
        STR_INIT("GET / HTTP/1.10\r\nHost: a\r\n\r\n"),
        STR_INIT("GET / HTTP/11\r\nHost: a\r\n\r\n"),
        STR_INIT("GET / HTTP/1.\r\nHost: a\r\n\r\n"),
        STR_INIT("GET / HTTPS/1.1\r\nHost: a\r\n\r\n"),
        STR_INIT("GET / HTTP/1.1\nHost: a\r\n\r\n"),
        STR_INIT("GET /\r HTTP/1.1\r\nHost: a\r\n\r\n"),
        STR_INIT("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n"),
        STR_INIT("GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n"),
        STR_INIT("GET /\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n"),
        STR_INIT("GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n"),
        STR_INIT("GET a HTTP/1.1\r\nHost: a\r\n\r\n"),
        STR_INIT("GET * HTTP/1.1\r\nHost: a\r\n\r\n"),
        STR_INIT("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        STR_INIT("GET http:/a HTTP/1.1\r\nHost: a\r\n\r\n"),
        STR_INIT("GET http:///a HTTP/1.1\r\nHost: a\r\n\r\n"),
        STR_INIT("GET http://u@h/a HTTP/1.1\r\nHost: a\r\n\r\n"),
        STR_INIT("CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n"),
        STR_INIT("\x16\x03\x01\x02\x00\x01"),
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct http_request r;
        struct err error = parse(refused[i], &r);
        if (error.code != ERR_BAD_REQUEST)
            test_fail(__FILE__, __LINE__, "case %zu is not refused", i);
    }
    struct http_request r;
    CHECK_ERR(parse(STR("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), &r), ERR_HTTP_VERSION);
    CHECK_ERR(parse(STR("GET / HTTP/1.2\r\nHost: a\r\n\r\n"), &r), ERR_HTTP_VERSION);
    CHECK_ERR(parse(STR("GET / HTTP/0.9\r\nHost: a\r\n\r\n"), &r), ERR_HTTP_VERSION);
}

void test_parse_refuses_headers(void)
{
    static const struct str refused[] = {
        STR_INIT("A: b\r\n"),                  /* no Host */
        STR_INIT("Host: a\r\nHost: a\r\n"),    /* two of them */
        STR_INIT("Host: a\r\nHOST: b\r\n"),    /* likewise */
        STR_INIT("Host:\r\n"),                 /* an empty one */
        STR_INIT("Host: a b\r\n"),             /* a bad one */
        STR_INIT("Host: a/b\r\n"),             /* likewise */
        STR_INIT("Host: u@a\r\n"),             /* likewise */
        STR_INIT("Host: a\r\nA : b\r\n"),      /* a space before the colon */
        STR_INIT("Host: a\r\nA\t: b\r\n"),     /* a tab before it */
        STR_INIT("Host: a\r\n A: b\r\n"),      /* folded */
        STR_INIT("Host: a\r\n\tA: b\r\n"),     /* folded */
        STR_INIT("Host: a\r\nA: b\r\n c\r\n"), /* folded */
        STR_INIT("Host: a\r\n: b\r\n"),        /* no name */
        STR_INIT("Host: a\r\nA\r\n"),          /* no colon */
        STR_INIT("Host: a\r\nA(: b\r\n"),      /* not a token */
        STR_INIT("Host: a\r\nA\x80: b\r\n"),   /* not a token */
        STR_INIT("Host: a\r\nA\0: b\r\n"),     /* NUL in a name */
        STR_INIT("Host: a\r\nA: b\0c\r\n"),    /* NUL in a value */
        STR_INIT("Host: a\r\nA: b\x01\r\n"),   /* another control character */
        STR_INIT("Host: a\r\nA: b\x7f\r\n"),   /* DEL */
        STR_INIT("Host: a\r\nA: b\rc: d\r\n"), /* CR alone */
        STR_INIT("Host: a\r\nA: b\nc: d\r\n"), /* LF alone */
        STR_INIT("Host: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n"),
        STR_INIT("Host: a\r\nContent-Length: 1\r\ncontent-length: 2\r\n"),
        STR_INIT("Host: a\r\nContent-Length: 1, 1\r\n"),
        STR_INIT("Host: a\r\nContent-Length: -1\r\n"),
        STR_INIT("Host: a\r\nContent-Length: +1\r\n"),
        STR_INIT("Host: a\r\nContent-Length: 0x1\r\n"),
        STR_INIT("Host: a\r\nContent-Length: 1.0\r\n"),
        STR_INIT("Host: a\r\nContent-Length: 1 1\r\n"),
        STR_INIT("Host: a\r\nContent-Length:\r\n"),
        STR_INIT("Host: a\r\nContent-Length: 9223372036854775808\r\n"),
        STR_INIT("Host: a\r\nContent-Length: 18446744073709551617\r\n"),
        STR_INIT("Host: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
        STR_INIT("Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n"),
        STR_INIT("Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
        STR_INIT("Host: a\r\nTransfer-Encoding: chunked, chunked\r\n"),
        STR_INIT("Host: a\r\nTransfer-Encoding: gzip, chunked\r\n"),
        STR_INIT("Host: a\r\nTransfer-Encoding: identity\r\n"),
        STR_INIT("Host: a\r\nTransfer-Encoding: xchunked\r\n"),
        STR_INIT("Host: a\r\nTransfer-Encoding: chunked;q=1\r\n"),
        STR_INIT("Host: a\r\nTransfer-Encoding:\r\n"),
        STR_INIT("Host: a\r\nTransfer-Encoding: \x0b"
                 "chunked\r\n"),
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct buf text = buf_heap();
        struct http_request r;
        buf_put(&text, STR("POST / HTTP/1.1\r\n"));
        buf_put(&text, refused[i]);
        buf_put(&text, STR("\r\n"));
        struct err error = parse(buf_str(&text), &r);
        if (error.code != ERR_BAD_REQUEST)
            test_fail(__FILE__, __LINE__, "case %zu is not refused", i);
        buf_release(&text);
    }
    struct http_request r;
    CHECK_ERR(parse(STR("PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), &r),
              ERR_BAD_REQUEST);
}

static enum err_code parse_sized(size_t target, size_t header_bytes, size_t header_count)
{
    struct buf text = buf_heap();
    buf_put(&text, STR("GET /"));
    for (size_t i = 1; i < target; i++)
        buf_putc(&text, 'x');
    buf_put(&text, STR(" HTTP/1.1\r\nHost: a\r\n"));
    for (size_t i = 1; i < header_count; i++) {
        buf_put(&text, STR("A:"));
        for (size_t j = 0; j < header_bytes; j++)
            buf_putc(&text, 'y');
        buf_put(&text, STR("\r\n"));
    }
    buf_put(&text, STR("\r\n"));
    struct http_request r;
    struct err error = parse_in_steps(buf_str(&text), 1024, &r);
    buf_release(&text);
    return error.code;
}

void test_parse_bounds(void)
{
    CHECK_INT(parse_sized(HTTP_TARGET_BYTES_MAX, 0, 1), ERR_OK);
    CHECK_INT(parse_sized(HTTP_TARGET_BYTES_MAX + 1, 0, 1), ERR_URI_TOO_LONG);
    CHECK_INT(parse_sized(HTTP_HEAD_BYTES_MAX, 0, 1), ERR_URI_TOO_LONG);
    CHECK_INT(parse_sized(1, 0, HTTP_HEADERS_MAX), ERR_OK);
    CHECK_INT(parse_sized(1, 0, HTTP_HEADERS_MAX + 1), ERR_HEADERS_TOO_LARGE);
    CHECK_INT(parse_sized(1, HTTP_HEAD_BYTES_MAX - 100, 2), ERR_OK);
    CHECK_INT(parse_sized(1, HTTP_HEAD_BYTES_MAX, 2), ERR_HEADERS_TOO_LARGE);
    CHECK_INT(parse_sized(1, 1000, 100), ERR_HEADERS_TOO_LARGE);
}

void test_put_header_is_harmless(void)
{
    struct buf b = buf_heap();
    http_put_header(&b, STR("A"), STR("x\r\nSet-Cookie: y\0\x7f\t."));
    CHECK_STR(buf_str(&b), STR("A: x??Set-Cookie: y??\t.\r\n"));
    buf_release(&b);
}

/* An empty header counts as absent, also next to one with a value. */
void test_parse_empty_headers_are_absent(void)
{
    struct http_request r;
    CHECK_OK(parse(STR("PUT / HTTP/1.1\r\nHost: h\r\nIf-Match:\r\nx-ms-lease-id: \t \r\n"
                       "Range:\r\nrange: bytes=0-1\r\n\r\n"),
                   &r));
    CHECK_INT(r.header_count, 5);
    CHECK(!str_given(http_header_get(&r, STR("If-Match"))));
    CHECK(!str_given(http_header_get(&r, STR("x-ms-lease-id"))));
    CHECK_INT(http_header_count(&r, STR("If-Match")), 0);
    CHECK_STR(http_header_get(&r, STR("Range")), STR("bytes=0-1"));
    CHECK_INT(http_header_count(&r, STR("Range")), 1);
}
