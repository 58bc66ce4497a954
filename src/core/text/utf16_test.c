/* SPDX-License-Identifier: Apache-2.0 */
#include "core/text/utf16.h"

#include "core/test.h"

void test_utf16_round_trip(void)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct buf wide = buf_in(&arena);
    struct str text = STR("a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80z");
    struct str back;
    utf16_put(&wide, text);
    CHECK_INT(wide.n, 12);
    CHECK(utf16_decode(&arena, buf_str(&wide), &back));
    CHECK_STR(back, text);
    arena_release(&arena);
}

void test_utf16_refuses(void)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct str out;
    CHECK(!utf16_decode(&arena, STR("a"), &out));
    CHECK(!utf16_decode(&arena, STR("\x00\xD8"), &out));
    CHECK(!utf16_decode(&arena, STR("\x00\xD8\x61\x00"), &out));
    CHECK(!utf16_decode(&arena, STR("\x00\xDC"), &out));
    arena_release(&arena);
}
