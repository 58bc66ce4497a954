/* SPDX-License-Identifier: Apache-2.0 */
#include "core/str.h"

#include "core/buf.h"
#include "core/test.h"

void test_str_numbers(void)
{
    uint64_t u = 0;
    int64_t i = 0;
    CHECK(str_to_u64(STR("18446744073709551615"), &u) && u == UINT64_MAX);
    CHECK(!str_to_u64(STR("18446744073709551616"), &u));
    CHECK(!str_to_u64(STR(""), &u) && !str_to_u64(STR("+1"), &u) && !str_to_u64(STR("1 "), &u));
    CHECK(str_to_i64(STR("-9223372036854775808"), &i) && i == INT64_MIN);
    CHECK(!str_to_i64(STR("9223372036854775808"), &i) && !str_to_i64(STR("-"), &i));
}

void test_str_cut(void)
{
    struct str rest = STR("a,b,");
    CHECK_STR(str_cut(&rest, ','), STR("a"));
    CHECK_STR(str_cut(&rest, ','), STR("b"));
    CHECK(str_given(rest) && rest.n == 0);
    CHECK_STR(str_cut(&rest, ','), STR(""));
    CHECK(!str_given(rest));
}

void test_str_utf8(void)
{
    CHECK(str_is_utf8(STR("a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80")));
    CHECK(!str_is_utf8(STR("\xC0\x80")));
    CHECK(!str_is_utf8(STR("\xED\xA0\x80")));
    CHECK(!str_is_utf8(STR("\xF4\x90\x80\x80")));
    CHECK(!str_is_utf8(STR("\xE2\x82")));
    CHECK_INT(str_utf16_units(STR("a\xC3\xA4\xF0\x9F\x98\x80")), 4);
}

/* Compared with one byte at a time, for every byte at every position of short and long names. */
void test_str_istarts(void)
{
    char a[24];
    char b[24];
    for (size_t n = 0; n <= sizeof a; n++) {
        for (size_t at = 0; at < n; at++) {
            for (int c = 0; c < 256; c++) {
                memset(a, 'x', sizeof a);
                memset(b, 'X', sizeof b);
                a[at] = (char)c;
                b[at] = (char)(c ^ 0x20);
                bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
                CHECK(str_istarts((struct str){a, n}, (struct str){b, n}) == letter);
                CHECK(str_istarts((struct str){a, n}, (struct str){b, at}));
                b[at] = (char)c;
                CHECK(str_ieq((struct str){a, n}, (struct str){b, n}));
            }
        }
        CHECK(!str_ieq((struct str){a, n}, (struct str){b, n + 1}));
    }
}

static bool has_control_by_bytes(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7F)
            return true;
    return false;
}

/* Every byte at every position of texts of every length up to three words. */
void test_str_has_control(void)
{
    char text[24];
    for (size_t n = 0; n <= sizeof text; n++) {
        for (size_t at = 0; at < n; at++) {
            for (unsigned c = 0; c < 256; c++) {
                memset(text, '~', sizeof text);
                text[at] = (char)c;
                struct str s = {text, n};
                CHECK_INT(str_has_control(s), has_control_by_bytes(s));
            }
        }
    }
    CHECK(!str_has_control(STR("")));
    CHECK(!str_has_control(STR_NONE));
}

static void check_decimal(uint64_t value, struct str want)
{
    struct buf b = buf_heap();
    buf_put_u64(&b, value);
    CHECK_STR(buf_str(&b), want);
    buf_release(&b);
}

void test_buf_put_u64(void)
{
    check_decimal(0, STR("0"));
    check_decimal(9, STR("9"));
    check_decimal(10, STR("10"));
    check_decimal(99, STR("99"));
    check_decimal(100, STR("100"));
    check_decimal(101, STR("101"));
    check_decimal(1009, STR("1009"));
    check_decimal(10000, STR("10000"));
    check_decimal(UINT64_MAX, STR("18446744073709551615"));
    check_decimal(9999999999999999999U, STR("9999999999999999999"));
}
