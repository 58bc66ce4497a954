/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/trim.h"

#include <malloc.h>
#include <time.h>

#include "admin/process.h"

bool memory_trim_idle(struct memory_trim *m, uint64_t cpu_us)
{
    uint64_t used = cpu_us - m->cpu_us;
    m->cpu_us = cpu_us;
    return used < TRIM_IDLE_US;
}

bool memory_trim_pays(const struct memory_trim *m, uint64_t resident_bytes)
{
    return resident_bytes > m->resident_bytes + TRIM_GROWTH_BYTES;
}

static uint64_t cpu_us_now(void)
{
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

struct err memory_trim_sweep(struct store *store, void *context, struct sweep_report *report)
{
    (void)store;
    (void)report;
    struct memory_trim *m = context;
    /* Only an idle server: a trim holds the allocator's locks for some 100 ms a GiB. */
    if (!memory_trim_idle(m, cpu_us_now()) || !memory_trim_pays(m, process_usage().resident_bytes))
        return OK;
    (void)malloc_trim(0);
    m->resident_bytes = process_usage().resident_bytes;
    return OK;
}
