/* SPDX-License-Identifier: Apache-2.0 */
#include "core/text/uri.h"

#include "core/test.h"

void test_uri_decode(void)
{
    struct arena a;
    arena_init(&a, 1 << 16);
    struct str plain = STR("a+b");
    struct str out = STR_NONE;
    CHECK(uri_decode(&a, plain, &out) && out.p == plain.p);
    CHECK(uri_decode(&a, STR("%41%2f%C3%a4+%25"), &out));
    CHECK_STR(out, STR("A/\xC3\xA4+%"));
    CHECK(uri_decode(&a, STR("x%00y"), &out));
    CHECK_STR(out, STR("x\0y"));
    CHECK(uri_decode(&a, STR_NONE, &out) && !str_given(out));
    CHECK(uri_decode(&a, STR(""), &out) && str_given(out) && out.n == 0);
    CHECK(!uri_decode(&a, STR("%"), &out) && !uri_decode(&a, STR("a%4"), &out));
    CHECK(!uri_decode(&a, STR("%4g"), &out) && !uri_decode(&a, STR("%%41"), &out));
    CHECK_STR(uri_decode_loose(&a, STR("100%,%41%4")), STR("100%,A%4"));
    arena_release(&a);
}

/* Each byte at each place. */
void test_uri_is_plain(void)
{
    char text[20];
    for (size_t n = 1; n <= sizeof text; n++) {
        memset(text, '~', sizeof text);
        CHECK(uri_is_plain((struct str){text, n}));
        for (size_t at = 0; at < n; at++) {
            for (int c = 0; c < 256; c++) {
                text[at] = (char)c;
                CHECK_INT(uri_is_plain((struct str){text, n}), c != 0 && c != '%' && c < 0x80);
            }
            text[at] = '~';
        }
    }
    CHECK(uri_is_plain(STR_NONE));
}

void test_uri_encode(void)
{
    struct buf out = buf_heap();
    uri_encode(&out, STR("a b/c+d~\xC3\xA4?#%"), URI_KEEP_NONE);
    CHECK_STR(buf_str(&out), STR("a%20b%2Fc%2Bd~%C3%A4%3F%23%25"));
    buf_clear(&out);
    uri_encode(&out, STR("/a b/c+d?\0"), URI_KEEP_PATH);
    CHECK_STR(buf_str(&out), STR("/a%20b/c+d%3F%00"));
    buf_release(&out);
}

void test_uri_query(void)
{
    struct arena a;
    arena_init(&a, 1 << 16);
    struct uri_query q = uri_query_of(STR("comp=list&&pre%66ix=a%20b+c&flag&sig=a=b%3D&empty="));
    struct uri_param p;
    CHECK(uri_query_next(&q, &a, &p));
    CHECK_STR(p.name, STR("comp"));
    CHECK_STR(p.value, STR("list"));
    CHECK(uri_query_next(&q, &a, &p));
    CHECK_STR(p.name, STR("prefix"));
    CHECK_STR(p.raw, STR("a%20b+c"));
    CHECK_STR(p.value, STR("a b+c"));
    CHECK(uri_query_next(&q, &a, &p));
    CHECK_STR(p.name, STR("flag"));
    CHECK(p.value.n == 0 && str_given(p.value));
    CHECK(uri_query_next(&q, &a, &p));
    CHECK_STR(p.value, STR("a=b="));
    CHECK(uri_query_next(&q, &a, &p));
    CHECK(p.value.n == 0 && str_given(p.value));
    CHECK(!uri_query_next(&q, &a, &p) && !q.malformed);
    CHECK_INT(q.parts, 6); /* with the empty one */
    q = uri_query_of(STR("a=%zz&b=1"));
    CHECK(uri_query_next(&q, &a, &p) && q.malformed);
    CHECK_STR(p.value, STR("%zz"));
    CHECK(uri_query_next(&q, &a, &p));
    CHECK_STR(p.name, STR("b"));
    q = uri_query_of(STR_NONE);
    CHECK(!uri_query_next(&q, &a, &p));
    q = uri_query_of(STR(""));
    CHECK(!uri_query_next(&q, &a, &p));
    arena_release(&a);
}

void test_uri_parse(void)
{
    struct uri u;
    CHECK(uri_parse(STR("http://127.0.0.1:10000/acc/c/b%20x?snapshot=1&sig=a#frag"), &u));
    CHECK_STR(u.host, STR("127.0.0.1"));
    CHECK_INT(u.port, 10000);
    CHECK_STR(u.path, STR("/acc/c/b%20x"));
    CHECK_STR(u.query, STR("snapshot=1&sig=a"));
    CHECK(uri_parse(STR("HTTPS://acc.blob.core.windows.net"), &u));
    CHECK_INT(u.port, 443);
    CHECK(!u.port_given && !str_given(u.query));
    CHECK_STR(u.path, STR("/"));
    CHECK(uri_parse(STR("http://[::1]:8080?x=1"), &u));
    CHECK_STR(u.host, STR("::1"));
    CHECK_INT(u.port, 8080);
    CHECK_STR(u.path, STR("/"));
    CHECK_STR(u.query, STR("x=1"));
    CHECK(uri_parse(STR("http://h:/"), &u) && u.port == 80);
}

void test_uri_parse_refuses(void)
{
    static const struct str BAD[] = {
        STR_INIT(""),
        STR_INIT("/relative"),
        STR_INIT("ftp://h/"),
        STR_INIT("http:/h/"),
        STR_INIT("http://"),
        STR_INIT("http:///path"),
        STR_INIT("http://:80/"),
        STR_INIT("http://h:0/"),
        STR_INIT("http://h:65536/"),
        STR_INIT("http://h:8x/"),
        STR_INIT("http://user@h/"),
        STR_INIT("http://[::1/"),
        STR_INIT("http://[::1]x/"),
        STR_INIT("http://h/a b"),
        STR_INIT("http://h/a\r\nb"),
    };
    struct uri u;
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        CHECK(!uri_parse(BAD[i], &u));
}

void test_uri_query_with_plus_as_space(void)
{
    struct arena a;
    arena_init(&a, 1 << 16);
    struct uri_query walk = uri_query_of(STR("a+b=c+d%2Be&sig=x+y&%53ig=+&f=g"));
    struct uri_param p;
    walk.plus_is_space = true;
    walk.verbatim = STR("sig");
    CHECK(uri_query_next(&walk, &a, &p));
    CHECK_STR(p.name, STR("a b"));
    CHECK_STR(p.value, STR("c d+e"));
    CHECK_STR(p.raw, STR("c+d%2Be"));
    CHECK(uri_query_next(&walk, &a, &p));
    CHECK_STR(p.value, STR("x+y"));
    CHECK(uri_query_next(&walk, &a, &p));
    CHECK_STR(p.name, STR("Sig"));
    CHECK_STR(p.value, STR("+"));
    CHECK(uri_query_next(&walk, &a, &p));
    CHECK(p.plain);
    walk = uri_query_of(STR("=+&+"));
    walk.plus_is_space = true;
    CHECK(uri_query_next(&walk, &a, &p));
    CHECK_STR(p.name, STR(""));
    CHECK_STR(p.value, STR(" "));
    CHECK(uri_query_next(&walk, &a, &p));
    CHECK_STR(p.name, STR(" "));
    CHECK_STR(p.value, STR(""));
    walk = uri_query_of(STR("a+b=c+d"));
    CHECK(uri_query_next(&walk, &a, &p));
    CHECK_STR(p.name, STR("a+b"));
    CHECK_STR(p.value, STR("c+d"));
    arena_release(&a);
}
