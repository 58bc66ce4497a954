/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/trim.h"

#include <string.h>

#include "admin/process.h"
#include "core/mem.h"
#include "core/test.h"

void test_trim_waits_for_an_idle_server(void)
{
    struct memory_trim m = {0};
    CHECK(!memory_trim_idle(&m, 900000));
    CHECK(!memory_trim_idle(&m, 900000 + TRIM_IDLE_US));
    CHECK(memory_trim_idle(&m, 900000 + 2 * TRIM_IDLE_US - 1));
}

void test_trim_waits_for_growth(void)
{
    struct memory_trim m = {.resident_bytes = 40 << 20};
    CHECK(!memory_trim_pays(&m, (40 << 20) + TRIM_GROWTH_BYTES));
    CHECK(memory_trim_pays(&m, (40 << 20) + TRIM_GROWTH_BYTES + 1));
}

enum { PIECES = 4096, PIECE_BYTES = 16 << 10 };

/* Free memory between blocks in use is also returned, which the allocator does not do by itself. */
void test_trim_gives_memory_back(void)
{
#ifndef __SANITIZE_ADDRESS__
#ifndef __SANITIZE_THREAD__
    static char *pieces[PIECES];
    struct memory_trim m = {.resident_bytes = process_usage().resident_bytes};
    struct sweep_report report = {0};
    for (size_t i = 0; i < PIECES; i++)
        memset(pieces[i] = mem_alloc(PIECE_BYTES), 1, PIECE_BYTES);
    for (size_t i = 0; i < PIECES - 1; i++)
        free(pieces[i]);
    uint64_t before = process_usage().resident_bytes;
    CHECK(before > m.resident_bytes + TRIM_GROWTH_BYTES);
    CHECK_OK(memory_trim_sweep(NULL, &m, &report)); /* the look that sees the work */
    CHECK_OK(memory_trim_sweep(NULL, &m, &report));
    CHECK(process_usage().resident_bytes < before - TRIM_GROWTH_BYTES);
    free(pieces[PIECES - 1]);
#endif
#endif
}
