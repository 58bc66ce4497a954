/* SPDX-License-Identifier: Apache-2.0 */
#include "core/guid.h"

#include "core/test.h"

static const struct str CANONICAL = STR_INIT("00112233-4455-6677-8899-aabbccddeeff");

static void check_form(struct str form)
{
    struct guid g;
    struct buf text = buf_heap();
    if (!guid_parse(form, &g))
        test_fail(__FILE__, __LINE__, "refused %.*s", STR_ARG(form));
    guid_put(&text, &g);
    CHECK_STR(buf_str(&text), CANONICAL);
    buf_release(&text);
}

void test_guid_parse_every_form(void)
{
    check_form(CANONICAL);
    check_form(STR("00112233445566778899AABBCCDDEEFF"));
    check_form(STR("00112233-4455-6677-8899-AAbbCCddEEff"));
    check_form(STR("{00112233-4455-6677-8899-aabbccddeeff}"));
    check_form(STR("(00112233-4455-6677-8899-aabbccddeeff)"));
    check_form(STR("  00112233-4455-6677-8899-aabbccddeeff "));
    check_form(STR("{0x00112233,0x4455,0x6677,{0x88,0x99,0xaa,0xbb,0xcc,0xdd,0xee,0xff}}"));
    check_form(STR("{0X112233, 0x4455, 0x6677, {0x88,0x99,0xAA,0xBB,0xCC,0xDD,0xEE,0xFF}}"));
}

void test_guid_parse_refuses(void)
{
    static const struct str BAD[] = {
        STR_INIT(""),
        STR_INIT("00112233-4455-6677-8899-aabbccddeef"),
        STR_INIT("00112233-4455-6677-8899-aabbccddeefg"),
        STR_INIT("00112233_4455_6677_8899_aabbccddeeff"),
        STR_INIT("{00112233-4455-6677-8899-aabbccddeeff)"),
        STR_INIT("{00112233445566778899aabbccddeeff}"),
        STR_INIT("{0x001122334,0x4455,0x6677,{0x88,0x99,0xaa,0xbb,0xcc,0xdd,0xee,0xff}}"),
        STR_INIT("{0x00112233,0x4455,0x6677,{0x88,0x99,0xaa,0xbb,0xcc,0xdd,0xee}}"),
        STR_INIT("{0x00112233,0x4455,0x6677,{0x88,0x99,0xaa,0xbb,0xcc,0xdd,0xee,0x}}"),
        STR_INIT("{"),
        STR_INIT("{}"),
    };
    struct guid g;
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        CHECK(!guid_parse(BAD[i], &g));
}

void test_guid_random(void)
{
    struct guid last = guid_random();
    for (int i = 0; i < 1000; i++) {
        struct guid g = guid_random();
        CHECK(!guid_eq(&g, &last));
        CHECK_INT(g.bytes[6] >> 4, 4);
        CHECK_INT(g.bytes[8] >> 6, 2);
        last = g;
    }
    unsigned char big[8192] = {0};
    unsigned seen = 0;
    random_bytes(big, sizeof big);
    for (size_t i = 0; i < sizeof big; i++)
        seen |= big[i];
    CHECK_INT(seen, 0xFF);
}
