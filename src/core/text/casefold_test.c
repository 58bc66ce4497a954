/* SPDX-License-Identifier: Apache-2.0 */
#include "core/text/casefold.h"

#include "core/test.h"

static struct arena arena;

void test_casefold_chars(void)
{
    CHECK_INT(casefold_char('A'), 'a');
    CHECK_INT(casefold_char('['), '[');
    CHECK_INT(casefold_char(0xC4), 0xE4);
    CHECK_INT(casefold_char(0xD7), 0xD7);
    CHECK_INT(casefold_char(0xDF), 0xDF);
    CHECK_INT(casefold_char(0x130), 0x130);
    CHECK_INT(casefold_char(0x100), 0x101);
    CHECK_INT(casefold_char(0x101), 0x101);
    CHECK_INT(casefold_char(0x3A3), 0x3C3);
    CHECK_INT(casefold_char(0x3C2), 0x3C3);
    CHECK_INT(casefold_char(0x410), 0x430);
    CHECK_INT(casefold_char(0x1E9E), 0xDF);
    CHECK_INT(casefold_char(0x212A), 'k');
    CHECK_INT(casefold_char(0x10400), 0x10428);
    CHECK_INT(casefold_char(0x10FFFF), 0x10FFFF);
}

void test_casefold_is_idempotent(void)
{
    for (uint32_t c = 0; c <= 0x10FFFF; c++)
        if (casefold_char(casefold_char(c)) != casefold_char(c))
            test_fail(__FILE__, __LINE__, "U+%04X folds twice", c);
}

void test_casefold_utf8(void)
{
    arena_init(&arena, 1 << 16);
    struct str folded = STR("already-folded.txt");
    CHECK(casefold_utf8(&arena, folded).p == folded.p);
    CHECK_STR(casefold_utf8(&arena, STR("ReadMe.TXT")), STR("readme.txt"));
    CHECK_STR(casefold_utf8(&arena, STR("\xC3\x84pfel \xF0\x90\x90\x80")),
              STR("\xC3\xA4pfel \xF0\x90\x90\xA8"));
    CHECK_STR(casefold_utf8(&arena, STR("\xC8\xBA")), STR("\xE2\xB1\xA5"));
    CHECK_STR(casefold_utf8(&arena, STR("A\xFF\xC3"
                                        "B")),
              STR("a\xFF\xC3"
                  "b"));
    CHECK_STR(casefold_utf8(&arena, STR("")), STR(""));
    arena_release(&arena);
}
