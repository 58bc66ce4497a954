/* SPDX-License-Identifier: Apache-2.0 */
#include "http/range.h"

#include "core/test.h"

void test_http_range_parse(void)
{
    struct http_range r;
    CHECK(http_range_parse(STR("bytes=0-511"), &r) && r.first == 0 && r.last == 511);
    CHECK(http_range_parse(STR("Bytes=7-7"), &r) && r.first == 7 && r.last == 7);
    CHECK(http_range_parse(STR("bytes=512-"), &r) && r.first == 512);
    CHECK(r.last == HTTP_RANGE_TO_END);
    CHECK(http_range_parse(STR("bytes=0-18446744073709551615"), &r) && r.last == HTTP_RANGE_TO_END);
    static const struct str refused[] = {
        STR_INIT(""),
        STR_INIT("bytes"),
        STR_INIT("bytes="),
        STR_INIT("bytes=-"),
        STR_INIT("bytes=-5"),
        STR_INIT("bytes=5"),
        STR_INIT("bytes=5-4"),
        STR_INIT("bytes=1-2,4-5"),
        STR_INIT("bytes=a-b"),
        STR_INIT("items=0-1"),
        STR_INIT("bytes=0x1-2"),
        STR_INIT("bytes= 1-2"),
        STR_INIT("bytes=1-2 "),
        STR_INIT("bytes=1--2"),
        STR_INIT("bytes=+1-2"),
        STR_INIT("bytes=18446744073709551616-"),
        STR_INIT("bytes=0-18446744073709551616"),
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (http_range_parse(refused[i], &r))
            test_fail(__FILE__, __LINE__, "taken: %.*s", STR_ARG(refused[i]));
}

void test_http_range_clip(void)
{
    uint64_t offset;
    uint64_t length;
    CHECK(http_range_clip((struct http_range){2, 5}, 10, &offset, &length));
    CHECK(offset == 2 && length == 4);
    CHECK(http_range_clip((struct http_range){2, 50}, 10, &offset, &length));
    CHECK(offset == 2 && length == 8);
    CHECK(http_range_clip((struct http_range){9, HTTP_RANGE_TO_END}, 10, &offset, &length));
    CHECK(offset == 9 && length == 1);
    CHECK(!http_range_clip((struct http_range){10, HTTP_RANGE_TO_END}, 10, &offset, &length));
    CHECK(!http_range_clip((struct http_range){0, 5}, 0, &offset, &length));
}
