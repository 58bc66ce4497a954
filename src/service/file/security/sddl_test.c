/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/security/sddl.h"

#include "core/test.h"

static void check_round_trip(const char *text, const char *want)
{
    struct arena a;
    struct sd sd, again;
    arena_init(&a, SIZE_MAX);
    CHECK_OK(sddl_parse(&a, str_of(text), &sd));
    struct str bytes = sd_encode(&a, &sd);
    CHECK_OK(sd_decode(&a, bytes, &again));
    struct buf b = buf_in(&a);
    sddl_put(&b, &again);
    CHECK_STR(buf_str(&b), str_of(want));
    CHECK_STR(sd_encode(&a, &again), bytes);
    arena_release(&a);
}

#define USER "S-1-5-21-2127521184-1604012920-1887927527"
#define LONG_TEXT                                                    \
    "O:" USER "-21560751G:" USER "-513D:AI(A;;FA;;;SY)(A;;FA;;;BA)"  \
    "(A;;0x1200a9;;;S-1-5-21-397955417-626881126-188441444-3053964)" \
    "S:NO_ACCESS_CONTROL"
#define ROOT_TEXT                                                  \
    "O:SYG:SYD:(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;;0x1200a9;;;BU)" \
    "(A;OICIIO;GXGR;;;BU)(A;OICI;0x1301bf;;;AU)(A;OICIIO;GA;;;CO)"

void test_sddl_round_trips(void)
{
    static const char *const TEXTS[] = {
        "O:BAG:SYD:(A;OICI;FA;;;BA)",
        LONG_TEXT,
        "D:PAI(D;OICIIO;GA;;;WD)(A;;CCDCLCSWRPWPDTLOCRSDRCWDWO;;;AU)",
        ROOT_TEXT,
        "D:NO_ACCESS_CONTROL",
        "D:",
        "G:BA",
        "D:(A;;FR;;;WD)S:AI(AU;SAFA;FA;;;WD)(ML;;NWNR;;;HI)",
        "O:S-1-15-3-1-2-3D:ARAI(A;ID;FX;;;OW)",
    };
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++)
        check_round_trip(TEXTS[i], TEXTS[i]);
    check_round_trip("d:(a;oici;fa;;;S-1-5-32-544) o:ba", "O:BAD:(A;OICI;FA;;;BA)");
    check_round_trip("D:(A;;0x1F01FF;;;S-1-0x5-18)", "D:(A;;FA;;;SY)");
    check_round_trip("D:(A;;2032127;;;SY)", "D:(A;;FA;;;SY)");
}

void test_sddl_refuses(void)
{
    static const char *const TEXTS[] = {
        "",
        "inherit",
        "O:",
        "O:XX",
        "O:DA",
        "O:BAO:BA",
        "D:(A;;FA)",
        "D:(A;;FA;;;BA",
        "D:(A;;ZZ;;;BA)",
        "D:(Q;;FA;;;BA)",
        "D:(A;XX;FA;;;BA)",
        "D:(A;;FA;guid;;BA)",
        "D:(A;;FA;;;BA;more)",
        "D:Z(A;;FA;;;BA)",
        "D:(A;;FA;;;S-2-5-18)",
        "D:(A;;FA;;;S-1-5)",
        "D:(A;;FA;;;S-1-5-)",
        "D:(A;;FA;;;S-1-5-4294967296)",
        "D:(A;;0x1FFFFFFFF;;;BA)",
        "D:(A;;FAF;;;BA)",
        "D:D:",
        "D:NO_ACCESS_CONTROL(A;;FA;;;BA)",
        "X:BA",
        "O:BA)",
        "D:)(",
        "O:S-1-5-1-2-3-4-5-6-7-8-9-10-11-12-13-14-15-16",
    };
    struct arena a;
    struct sd sd;
    arena_init(&a, SIZE_MAX);
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++)
        if (!err_is(sddl_parse(&a, str_of(TEXTS[i]), &sd)))
            test_fail(__FILE__, __LINE__, "was taken: %s", TEXTS[i]);
    arena_release(&a);
}

/* Every prefix and every single changed byte of a descriptor is read or refused, in bounds. */
void test_sd_broken_bytes(void)
{
    struct arena a;
    struct sd sd;
    arena_init(&a, SIZE_MAX);
    CHECK_OK(sddl_parse(&a, STR("O:BAG:SYD:(A;OICI;FA;;;BA)(A;;FR;;;WD)S:(AU;SA;FA;;;WD)"), &sd));
    struct str good = sd_encode(&a, &sd);
    for (size_t n = 0; n < good.n; n++)
        CHECK_ERR(sd_decode(&a, arena_copy(&a, str_head(good, n)), &sd),
                  ERR_INVALID_FILE_PERMISSION);
    for (size_t i = 0; i < good.n; i++) {
        char *changed = arena_cstr(&a, good);
        changed[i] = (char)(changed[i] ^ 0xFF);
        struct err e = sd_decode(&a, (struct str){changed, good.n}, &sd);
        CHECK(e.code == ERR_OK || e.code == ERR_INVALID_FILE_PERMISSION);
    }
    arena_release(&a);
}

static void check_inherit(const char *parent, bool directory, const char *want)
{
    struct arena a;
    struct sd sd;
    arena_init(&a, SIZE_MAX);
    CHECK_OK(sddl_parse(&a, str_of(parent), &sd));
    sd = sd_inherit(&a, &sd, directory);
    struct buf b = buf_in(&a);
    sddl_put(&b, &sd);
    CHECK_STR(buf_str(&b), str_of(want));
    arena_release(&a);
}

void test_sd_inherit(void)
{
    check_inherit("O:BAG:SYD:AI(A;OICI;FA;;;BA)(A;;FR;;;WD)", true,
                  "O:BAG:SYD:AI(A;OICIID;FA;;;BA)");
    check_inherit("O:BAG:SYD:AI(A;OICI;FA;;;BA)(A;;FR;;;WD)", false, "O:BAG:SYD:AI(A;ID;FA;;;BA)");
    check_inherit("O:BAD:AI(A;OI;FA;;;SY)(A;CI;FR;;;SY)", false, "O:BAD:AI(A;ID;FA;;;SY)");
    check_inherit("O:BAD:AI(A;OI;FA;;;SY)", true, "O:BAD:AI(A;OIIOID;FA;;;SY)");
    check_inherit("O:BAD:AI(A;OICIIO;GA;;;CO)", true, "O:BAD:AI(A;ID;FA;;;BA)(A;OICIIOID;GA;;;CO)");
    check_inherit("O:BAD:AI(A;OICINP;FA;;;SY)", true, "O:BAD:AI(A;ID;FA;;;SY)");
    check_inherit("O:BAD:(A;OICI;FA;;;SY)", false, "O:BAD:(A;;FA;;;SY)");
    check_inherit("O:BAD:(A;;FA;;;WD)", false, "O:BAD:(A;;FA;;;BA)(A;;FA;;;SY)");
    check_inherit("O:SYD:AI(A;;FA;;;WD)", true, "O:SYD:(A;;FA;;;SY)");
}

/* Entries for the creator become longer when inherited: a list that would be too long is refused
 * before anything is stored. */
void test_sd_fits(void)
{
    struct arena a;
    struct sd sd;
    arena_init(&a, SIZE_MAX);
    struct buf b = buf_in(&a);
    buf_put(&b, STR("O:S-1-5-1-2-3-4-5-6-7-8-9-10-11-12-13-14-15D:"));
    for (int i = 0; i < 300; i++)
        buf_put(&b, STR("(A;OICI;FA;;;CO)"));
    CHECK_OK(sddl_parse(&a, buf_str(&b), &sd));
    CHECK(sd_fits(&a, &sd));
    for (int i = 0; i < 200; i++)
        buf_put(&b, STR("(A;OICI;FA;;;CO)"));
    CHECK_OK(sddl_parse(&a, buf_str(&b), &sd));
    CHECK(!sd_fits(&a, &sd));
    arena_release(&a);
}
