/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/multipart.h"

#include "core/test.h"
#include "rest/table/token.h"

void test_multipart_boundary(void)
{
    CHECK_STR(multipart_boundary(STR("multipart/mixed; boundary=b_1")), STR("b_1"));
    CHECK_STR(multipart_boundary(STR("Multipart/Mixed;charset=x; Boundary=\"b 1\" ")), STR("b 1"));
    CHECK(!str_given(multipart_boundary(STR("multipart/mixed"))));
    CHECK(!str_given(multipart_boundary(STR("multipart/mixed; boundary="))));
    CHECK(!str_given(multipart_boundary(STR("application/json; boundary=b"))));
    CHECK(!str_given(multipart_boundary(STR_NONE)));
}

/* Checks the parts, joined by '|', and that the end was seen or not. */
static void parts_are(const char *body, const char *want, bool ended)
{
    struct arena a;
    arena_init(&a, 1 << 20);
    struct multipart m = multipart_of(str_of(body), STR("b"));
    struct buf out = buf_in(&a);
    struct str part;
    while (multipart_next(&m, &part)) {
        buf_put(&out, part);
        buf_putc(&out, '|');
    }
    CHECK_STR(buf_str(&out), str_of(want));
    CHECK(m.ended == ended);
    arena_release(&a);
}

void test_multipart_parts(void)
{
    parts_are("--b\r\none\r\n--b\r\ntwo\r\n\r\n--b--\r\n", "one|two\r\n|", true);
    parts_are("before\r\n--b  \r\none\r\n--b--", "one|", true);
    parts_are("--b\none\n--b\ntwo\n--b--\nafter", "one|two|", true);
    parts_are("--b\r\n\r\n--b--\r\n", "|", true);
    parts_are("--b\r\n--b--\r\n", "|", true);
    parts_are("--b--\r\n", "", true);
    parts_are("--b\r\none", "", false);
    parts_are("--b\r\none\r\n--bb\r\n--b-\r\n--b--\r\n", "one\r\n--bb\r\n--b-|", true);
    parts_are("x--b\r\none\r\n--b--", "", true);
    parts_are("", "", false);
}

void test_multipart_request(void)
{
    struct multipart_request r;
    CHECK(multipart_request_of(STR("POST http://h/a b/t HTTP/1.1\r\nA: 1\r\nB:2 \r\n\r\n{}\r\n"),
                               &r));
    CHECK_STR(r.method, STR("POST"));
    CHECK_STR(r.address, STR("http://h/a b/t"));
    CHECK_STR(multipart_header(&r.headers, STR("b")), STR("2"));
    CHECK(!str_given(multipart_header(&r.headers, STR("c"))));
    CHECK_STR(r.body, STR("{}\r\n"));
    CHECK(multipart_request_of(STR("GET /x HTTP/1.1"), &r));
    CHECK_STR(r.body, STR(""));
    static const char *const bad[] = {"",
                                      "GET",
                                      "GET /x",
                                      "GET HTTP/1.1",
                                      " /x HTTP/1.1",
                                      "GET /x HTTP/2",
                                      "GET /x HTTP/1.1\r\nno colon\r\n\r\n",
                                      "GET /x HTTP/1.1\r\na b: c\r\n\r\n",
                                      "GET /x HTTP/1.1\r\n: c\r\n\r\n",
                                      "GET /x HTTP/1.1\r\na: b\rc: d\r\n\r\n",
                                      "GET /x HTTP/1.1\r\na: b\x01\r\n\r\n",
                                      "GET /x\ry HTTP/1.1\r\n\r\n",
                                      "G\rT /x HTTP/1.1\r\n\r\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (multipart_request_of(str_of(bad[i]), &r))
            test_fail(__FILE__, __LINE__, "%s", bad[i]);
}

void test_multipart_headers_are_bounded(void)
{
    struct arena a;
    struct multipart_headers headers;
    struct str body;
    arena_init(&a, 1 << 20);
    struct buf text = buf_in(&a);
    for (int i = 0; i < MULTIPART_HEADERS_MAX; i++)
        buf_put(&text, STR("A: b\r\n"));
    CHECK(multipart_split(buf_str(&text), &headers, &body));
    buf_put(&text, STR("A: b\r\n"));
    CHECK(!multipart_split(buf_str(&text), &headers, &body));
    arena_release(&a);
}

void test_table_tokens(void)
{
    struct arena a;
    arena_init(&a, 1 << 20);
    static const struct str keys[] = {STR_INIT(""), STR_INIT("mypk1"), STR_INIT("\xE2\x82\xAC?>>"),
                                      STR_INIT("it's %20")};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        struct buf token = buf_in(&a);
        struct str key;
        rest_token_put(&token, keys[i]);
        for (size_t k = 0; k < token.n; k++)
            CHECK(token.p[k] != '=' && token.p[k] != '/' && token.p[k] != '+');
        CHECK(rest_token_read(&a, buf_str(&token), &key));
        CHECK_STR(key, keys[i]);
    }
    struct buf look = buf_in(&a);
    rest_token_put(&look, STR("mypk1"));
    CHECK_STR(buf_str(&look), STR("1!8!bXlwazE-"));
    static const char *const bad[] = {"",        "x",       "1!8!", "1!4!bXlwazE-", "2!8!bXlwazE-",
                                      "1!3!abc", "1!4!_w--"};
    struct str key;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(!rest_token_read(&a, str_of(bad[i]), &key));
    arena_release(&a);
}
