/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/checksum_cache.h"

#include "core/clock.h"
#include "core/test.h"

/* Consecutive extents in segments: 10 GiB of them. */
static struct extent extent_number(uint32_t i)
{
    enum { IN_SEGMENT = 255, LENGTH = 4 << 20, ROOM = LENGTH + 4096 };
    return (struct extent){.segment = 1 + i / IN_SEGMENT,
                           .offset = (uint64_t)(i % IN_SEGMENT) * ROOM,
                           .length = LENGTH,
                           .check = i};
}

void test_checksum_cache_extents_do_not_take_each_others_place(void)
{
    enum { EXTENTS = 2560 };
    struct checksum_cache *v = checksum_cache_new();
    int64_t begun_ms = clock_mono_ms();
    for (uint32_t i = 0; i < EXTENTS; i++) {
        struct extent x = extent_number(i);
        checksum_cache_add(v, &x, 1);
        checksum_cache_add(v, &x, 1ULL << (i % 64));
    }
    unsigned known = 0;
    for (uint32_t i = 0; i < EXTENTS; i++) {
        struct extent x = extent_number(i);
        uint64_t chunks = checksum_cache_chunks(v, &x);
        known += chunks == (1 | 1ULL << (i % 64));
        x.check++; /* another one in the same place is not known by it */
        CHECK_INT(checksum_cache_chunks(v, &x), 0);
    }
    /* A machine that stood still has forgotten all of them, as it should. */
    CHECK(known >= EXTENTS * 99 / 100 || clock_mono_ms() - begun_ms >= CHECKSUM_CACHE_MS);
    checksum_cache_free(v);
}
