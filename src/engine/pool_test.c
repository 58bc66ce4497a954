/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/pool.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/test.h"

/* Whatever is given, what is taken has room for what was asked for. */
void test_pool_gives_blocks_that_are_large_enough(void)
{
    struct pool p = {0};
    enum { LARGEST = 40000, STEP = 37 };
    for (size_t n = 1; n < LARGEST; n += STEP)
        pool_give(&p, mem_alloc(n), n);
    for (size_t n = 1; n < LARGEST; n += STEP) {
        size_t bytes = n;
        char *block = pool_take(&p, &bytes);
        CHECK(bytes >= n);
        memset(block, 'x', bytes);
        if (n % 2 == 0)
            free(block);
        else
            pool_give(&p, block, bytes);
    }
    pool_release(&p);
}

void test_pool_keeps_a_bounded_number(void)
{
    struct pool p = {0};
    enum { BYTES = 64, CLASS = 1, KEPT = POOL_CLASS_BYTES / BYTES };
    for (int i = 0; i < 2 * KEPT; i++)
        pool_give(&p, mem_alloc(BYTES), BYTES);
    CHECK(p.counts[CLASS] <= KEPT);
    pool_release(&p);
    CHECK(p.blocks[CLASS] == NULL && p.counts[CLASS] == 0);
}

/* It would count for a small one, and be held by whoever needs little. */
void test_pool_keeps_nothing_that_is_too_large(void)
{
    struct pool p = {0};
    enum { LARGEST = POOL_SMALL_MAX << POOL_LARGE_CLASSES };
    pool_give(&p, mem_alloc(LARGEST + 1), LARGEST + 1);
    pool_give(&p, mem_alloc(1 << 20), 1 << 20);
    for (size_t class = 0; class < POOL_CLASSES; class ++)
        CHECK_INT(p.counts[class], 0);
    pool_release(&p);
}

void test_no_pool_is_malloc(void)
{
    size_t bytes = 100;
    void *block = pool_take(NULL, &bytes);
    CHECK_INT(bytes, 100);
    pool_give(NULL, block, bytes);
}
