/* SPDX-License-Identifier: Apache-2.0 */
#include "core/crc/crc32c.h"

#include <stdlib.h>

#include "core/mem.h"
#include "core/test.h"

/* The check value of the catalogue of CRCs, and one of RFC 3720. */
void test_crc32c_known(void)
{
    char zeros[32] = {0};
    CHECK_INT(~crc32c(~0U, STR("123456789")), (long long)(uint32_t)0xE3069283U);
    CHECK_INT(~crc32c(~0U, (struct str){zeros, sizeof zeros}), (long long)(uint32_t)0x8A9136AAU);
    CHECK_INT(crc32c(7, STR("")), 7);
}

/* A store written by one build can be read by the other. */
void test_crc32c_builds_agree(void)
{
    enum { BYTES = 200000 };
    char *bytes = mem_alloc(BYTES);
    uint32_t state = 1;
    for (size_t i = 0; i < BYTES; i++) {
        state = state * 1664525 + 1013904223;
        bytes[i] = (char)(state >> 24);
    }
    for (size_t n = 0; n < BYTES; n = n * 3 / 2 + 1) {
        for (size_t at = 0; at < 9; at++) {
            struct str part = {bytes + at, n < BYTES - at ? n : BYTES - at};
            uint32_t want = crc32c_by_table((uint32_t)n, part);
            CHECK_INT(crc32c((uint32_t)n, part), want);
            CHECK_INT(crc32c_portable((uint32_t)n, part), want);
        }
    }
    free(bytes);
}
