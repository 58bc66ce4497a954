/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/verified.h"

#include "core/clock.h"
#include "core/test.h"

/* Extents as they lie in segments one after the other: 10 GiB of them. */
static struct extent extent_number(uint32_t i)
{
    enum { IN_SEGMENT = 255, LENGTH = 4 << 20, ROOM = LENGTH + 4096 };
    return (struct extent){.segment = 1 + i / IN_SEGMENT,
                           .offset = (uint64_t)(i % IN_SEGMENT) * ROOM,
                           .length = LENGTH,
                           .check = i};
}

void test_verified_extents_do_not_take_each_others_place(void)
{
    enum { EXTENTS = 2560 };
    struct verified *v = verified_new();
    int64_t begun_ms = clock_mono_ms();
    for (uint32_t i = 0; i < EXTENTS; i++) {
        struct extent x = extent_number(i);
        verified_add(v, &x, 1);
        verified_add(v, &x, 1ULL << (i % 64));
    }
    unsigned known = 0;
    for (uint32_t i = 0; i < EXTENTS; i++) {
        struct extent x = extent_number(i);
        uint64_t chunks = verified_chunks(v, &x);
        known += chunks == (1 | 1ULL << (i % 64));
        x.check++; /* another one in the same place is not known by it */
        CHECK_INT(verified_chunks(v, &x), 0);
    }
    /* A machine that stood still has forgotten all of them, as it should. */
    CHECK(known >= EXTENTS * 99 / 100 || clock_mono_ms() - begun_ms >= VERIFIED_MS);
    verified_free(v);
}
