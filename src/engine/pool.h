/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that its owner has no more use for, and will have soon: to take a block and to give it
 * back takes a few instructions, malloc and free of one take two hundred, and more when they come
 * in heaps, as a commit's rows do. The blocks are malloc's own, so one that has come into other
 * hands is freed there as any other.
 *
 * One thread uses a pool at a time. */
#ifndef ENGINE_POOL_H
#define ENGINE_POOL_H

#include <stddef.h>
#include <stdint.h>

enum {
    POOL_STEP = 32, /* between the sizes of small blocks */
    POOL_SMALL_MAX = 1024,
    POOL_SMALL_CLASSES = POOL_SMALL_MAX / POOL_STEP,
    POOL_LARGE_CLASSES = 4, /* each twice as large as the one before */
    POOL_CLASSES = POOL_SMALL_CLASSES + POOL_LARGE_CLASSES,
    /* What is kept of each: what some hundred updates take. More is freed. */
    POOL_CLASS_BYTES = 128 << 10,
};

struct pool_block {
    struct pool_block *next;
};

struct pool {
    struct pool_block *blocks[POOL_CLASSES];
    uint32_t counts[POOL_CLASSES];
};

/* At least *bytes of them, not zeroed; says how many. Without a pool (NULL) it is malloc's. */
void *pool_take(struct pool *p, size_t *bytes);
/* A block of that many bytes at least, from any pool or from malloc. */
void pool_give(struct pool *p, void *block, size_t bytes);
/* Frees all that is in it. */
void pool_release(struct pool *p);

#endif
