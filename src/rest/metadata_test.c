/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/metadata.h"

#include "core/test.h"

void test_metadata_headers_both_ways(void)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct http_header headers[] = {
        {STR("Host"), STR("h")},
        {STR("x-ms-meta-Color"), STR("blue & green")},
        {STR("X-MS-META-size"), STR("")},
    };
    struct http_exchange x = {.request = {.headers = headers, .header_count = 3}};
    struct rest_call call = {.x = &x, .arena = &arena, .headers = buf_in(&arena)};
    struct str encoded;
    CHECK_OK(rest_metadata_from_headers(&call, &encoded));
    CHECK_STR(pairs_find(encoded, STR("Color")), STR("blue & green"));
    rest_metadata_put_headers(&call, encoded);
    CHECK_STR(buf_str(&call.headers), STR("x-ms-meta-Color: blue & green\r\nx-ms-meta-size: \r\n"));
    struct buf out = buf_in(&arena);
    rest_metadata_put_xml(&out, encoded);
    CHECK_STR(buf_str(&out), STR("<Metadata><Color>blue &amp; green</Color><size /></Metadata>"));

    headers[2].name = STR("x-ms-meta-");
    CHECK_ERR(rest_metadata_from_headers(&call, &encoded), ERR_EMPTY_METADATA_KEY);
    headers[2].name = STR("x-ms-meta-color");
    CHECK_ERR(rest_metadata_from_headers(&call, &encoded), ERR_INVALID_METADATA);
    x.request.header_count = 1;
    CHECK_OK(rest_metadata_from_headers(&call, &encoded));
    CHECK(!str_given(encoded));
    arena_release(&arena);
}
