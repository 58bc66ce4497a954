/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <stdio.h>
#include <unistd.h>

#include "core/str.h"

enum { CACHE_PART = 32, CACHE_MIB_MIN = 64, CACHE_MIB_MAX = 512 };

/* The memory limit of the control group; UINT64_MAX if there is none. */
static uint64_t group_limit(void)
{
    char text[32];
    uint64_t limit = UINT64_MAX;
    FILE *file = fopen("/sys/fs/cgroup/memory.max", "re");
    if (file == NULL)
        return limit;
    struct str line = {text, fread(text, 1, sizeof text, file)};
    (void)fclose(file);
    return str_to_u64(str_cut(&line, '\n'), &limit) ? limit : UINT64_MAX; /* or it says "max" */
}

uint64_t memory_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGE_SIZE);
    uint64_t machine = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
    uint64_t group = group_limit();
    return group < machine ? group : machine;
}

uint64_t memory_cache_mib(uint64_t memory)
{
    uint64_t mib = (memory >> 20) / CACHE_PART;
    return mib < CACHE_MIB_MIN ? CACHE_MIB_MIN : mib > CACHE_MIB_MAX ? CACHE_MIB_MAX : mib;
}
