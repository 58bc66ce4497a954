/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include "core/test.h"

void test_memory_cache_is_a_part_within_bounds(void)
{
    CHECK_INT(memory_cache_mib(0), 64);
    CHECK_INT(memory_cache_mib(1ULL << 30), 64);
    CHECK_INT(memory_cache_mib(8ULL << 30), 256);
    CHECK_INT(memory_cache_mib(1ULL << 40), 512);
    CHECK(memory_bytes() > 0);
}
