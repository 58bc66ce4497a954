/* SPDX-License-Identifier: Apache-2.0 */
#include "http/answer.h"

#include "core/test.h"

static struct err parse(const char *text, struct http_answer *out)
{
    static struct http_header headers[HTTP_ANSWER_HEADERS_MAX];
    return http_parse_answer(str_of(text), headers, out);
}

void test_answer_head(void)
{
    struct http_answer a;
    CHECK_OK(
        parse("HTTP/1.1 206 Partial Content\r\nContent-Length: 12\r\nETag: \"x\"\r\n\r\n", &a));
    CHECK_INT(a.status, 206);
    CHECK_INT(a.content_length, 12);
    CHECK(!a.chunked);
    CHECK_STR(http_answer_header(&a, STR("etag")), STR("\"x\""));
    CHECK(!str_given(http_answer_header(&a, STR("none"))));
    CHECK_OK(parse("HTTP/1.0 200\r\n\r\n", &a));
    CHECK_INT(a.content_length, -1);
    CHECK_OK(parse("HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n", &a));
    CHECK(a.chunked);
    CHECK_OK(parse("HTTP/1.1 100 Continue\r\n\r\n", &a));
    CHECK_INT(a.status, 100);
}

void test_answer_refuses(void)
{
    static const char *const bad[] = {
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1  200 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n",
        "HTTP/1.1 600 OK\r\n\r\n",
        "HTTP/1.2 200 OK\r\n\r\n",
        "HTTPS 200 OK\r\n\r\n",
        "200 OK\r\n\r\n",
        "HTTP/1.1 200 O\x01K\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\n folded\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nName : x\r\n\r\n",
    };
    struct http_answer a;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (parse(bad[i], &a).code != ERR_BAD_REQUEST)
            test_fail(__FILE__, __LINE__, "%s is taken", bad[i]);
    CHECK_ERR(parse("HTTP/2 200\r\n\r\n", &a), ERR_HTTP_VERSION);
}
