/* SPDX-License-Identifier: Apache-2.0 */
/* Security descriptors: accepted input, text or binary, is written so that it reads back the
 * same. */
#include <assert.h>

#include "service/file/security/sddl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The text cannot express defaulted parts, nor the flags of an absent list. */
static struct sd as_text_can_say(struct sd sd)
{
    unsigned dacl = SD_DACL_AUTO_REQ | SD_DACL_AUTO | SD_DACL_PROTECTED;
    unsigned sacl = SD_SACL_AUTO_REQ | SD_SACL_AUTO | SD_SACL_PROTECTED;
    unsigned lost = SD_OWNER_DEFAULTED | SD_GROUP_DEFAULTED | SD_DACL_DEFAULTED | SD_SACL_DEFAULTED;
    if ((sd.control & SD_DACL_PRESENT) == 0)
        lost |= dacl;
    if ((sd.control & SD_SACL_PRESENT) == 0)
        lost |= sacl;
    sd.control = (uint16_t)(sd.control & ~lost);
    return sd;
}

/* The binary form survives a round trip, and one through text as far as text can express it. */
static void round_trips(struct arena *a, const struct sd *sd)
{
    struct str binary = sd_encode(a, sd);
    struct sd again;
    struct buf text = buf_in(a);
    assert(!err_is(sd_decode(a, binary, &again)));
    assert(str_eq(sd_encode(a, &again), binary));
    sddl_put(&text, sd);
    /* One that says nothing at all has no text. */
    if (text.n == 0)
        return;
    assert(!err_is(sddl_parse(a, buf_str(&text), &again)));
    struct sd said = as_text_can_say(*sd);
    assert(str_eq(sd_encode(a, &again), sd_encode(a, &said)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a;
    struct str in = {(const char *)data, size};
    struct sd sd;
    arena_init(&a, 1 << 26);
    if (!err_is(sddl_parse(&a, in, &sd)) || !err_is(sd_decode(&a, in, &sd))) {
        round_trips(&a, &sd);
        for (int directory = 0; directory < 2; directory++) {
            struct sd handed_down = sd_inherit(&a, &sd, directory != 0);
            round_trips(&a, &handed_down);
        }
    }
    arena_release(&a);
    return 0;
}
