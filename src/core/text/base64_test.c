/* SPDX-License-Identifier: Apache-2.0 */
#include "core/text/base64.h"

#include "core/test.h"

static void round_trip(struct str bytes, struct str text)
{
    struct arena a;
    arena_init(&a, 1 << 20);
    struct str back = STR_NONE;
    CHECK_STR(base64_encode(&a, bytes), text);
    CHECK(base64_decode(&a, text, &back) && str_given(back));
    CHECK_STR(back, bytes);
    arena_release(&a);
}

void test_base64_round_trip(void)
{
    round_trip(STR(""), STR(""));
    round_trip(STR("f"), STR("Zg=="));
    round_trip(STR("fo"), STR("Zm8="));
    round_trip(STR("foo"), STR("Zm9v"));
    round_trip(STR("foobar"), STR("Zm9vYmFy"));
    round_trip(STR("\x00\xFF\xFE\xFB"), STR("AP/++w=="));
}

void test_base64_every_byte(void)
{
    struct arena a;
    arena_init(&a, 1 << 20);
    char bytes[256];
    for (int i = 0; i < 256; i++)
        bytes[i] = (char)i;
    for (size_t n = 0; n <= sizeof bytes; n++) {
        struct str in = {bytes + sizeof bytes - n, n};
        struct str text = base64_encode(&a, in);
        struct str out;
        CHECK_INT(text.n, base64_length(n));
        CHECK(base64_decode(&a, text, &out));
        CHECK_STR(out, in);
    }
    arena_release(&a);
}

void test_base64_refuses(void)
{
    static const struct str BAD[] = {
        STR_INIT("Zg"),       STR_INIT("Zg="),      STR_INIT("Z==="),    STR_INIT("===="),
        STR_INIT("Zm9v "),    STR_INIT("Zm 9v==="), STR_INIT("Zm9v\n"),  STR_INIT("Zm-_"),
        STR_INIT("Zg==Zg=="), STR_INIT("Zm=v"),     STR_INIT("Zm9\xFF"), STR_INIT("="),
    };
    struct arena a;
    arena_init(&a, 1 << 20);
    struct str out = STR("same");
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        CHECK(!base64_decode(&a, BAD[i], &out));
    CHECK_STR(out, STR("same"));
    arena_release(&a);
}

void test_base64_loose_bits_are_fine(void)
{
    char one[1];
    CHECK(base64_decode_exact(STR("Zh=="), one, 1) && one[0] == 'f');
    CHECK(!base64_decode_exact(STR("Zm8="), one, 1));
}
