/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/pool.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/mem.h"

/* What is in a pool may not be touched, and a sanitizer can only say so of what was freed. */
#if defined(__SANITIZE_ADDRESS__)
static const bool KEEPS = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
static const bool KEEPS = false;
#else
static const bool KEEPS = true;
#endif
#else
static const bool KEEPS = true;
#endif

static size_t class_bytes(size_t class)
{
    return class < POOL_SMALL_CLASSES ? (class + 1) * POOL_STEP
                                      : (size_t)POOL_SMALL_MAX << (class - POOL_SMALL_CLASSES + 1);
}

/* The first class whose blocks have so many bytes; POOL_CLASSES when there is none. */
static size_t class_for(size_t bytes)
{
    if (bytes <= POOL_SMALL_MAX)
        return bytes == 0 ? 0 : (bytes - 1) / POOL_STEP;
    size_t class = POOL_SMALL_CLASSES;
    while (class < POOL_CLASSES && class_bytes(class) < bytes)
        class ++;
    return class;
}

void *pool_take(struct pool *p, size_t *bytes)
{
    size_t class = p == NULL ? POOL_CLASSES : class_for(*bytes);
    if (class == POOL_CLASSES)
        return mem_alloc(*bytes);
    *bytes = class_bytes(class);
    struct pool_block *block = p->blocks[class];
    if (block == NULL)
        return mem_alloc(*bytes);
    p->blocks[class] = block->next;
    p->counts[class]--;
    return block;
}

void pool_give(struct pool *p, void *block, size_t bytes)
{
    if (p == NULL || !KEEPS || bytes < POOL_STEP || bytes > class_bytes(POOL_CLASSES - 1)) {
        free(block);
        return;
    }
    /* The last class whose blocks are not larger than this one. */
    size_t class = class_for(bytes);
    if (class_bytes(class) > bytes)
        class --;
    if (p->counts[class] >= POOL_CLASS_BYTES / class_bytes(class)) {
        free(block);
        return;
    }
    struct pool_block *kept = block;
    kept->next = p->blocks[class];
    p->blocks[class] = kept;
    p->counts[class]++;
}

void pool_release(struct pool *p)
{
    for (size_t class = 0; class < POOL_CLASSES; class ++) {
        while (p->blocks[class] != NULL) {
            struct pool_block *next = p->blocks[class]->next;
            free(p->blocks[class]);
            p->blocks[class] = next;
        }
        p->counts[class] = 0;
    }
}
