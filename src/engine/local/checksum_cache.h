/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers which chunks of which extents had their checksum computed or verified recently, so
 * that a new or popular extent is not checksummed for every reader.
 *
 * An entry expires after CHECKSUM_CACHE_MS: damage that appears on the disk after the last check is
 * found at the latest after that time. The cache holds CHECKSUM_CACHE_SLOTS extents and is set
 * associative. With one way and a quarter of the slots, nearly half of the extents of a 10 GiB file
 * evicted each other, and each random read checksummed a chunk again. */
#ifndef ENGINE_LOCAL_CHECKSUM_CACHE_H
#define ENGINE_LOCAL_CHECKSUM_CACHE_H

#include <pthread.h>

#include "engine/engine.h"

enum {
    CHECKSUM_CACHE_SLOTS = 16384,
    CHECKSUM_CACHE_WAYS = 4, /* slots that an extent may use */
    CHECKSUM_CACHE_SETS = CHECKSUM_CACHE_SLOTS / CHECKSUM_CACHE_WAYS,
    CHECKSUM_CACHE_LOCKS = 32,
    CHECKSUM_CACHE_MS = 30000,
};

struct checksum_cache_slot {
    struct extent extent;
    uint64_t chunks; /* one bit each */
    int64_t at_ms;   /* of the first of them */
};

struct checksum_cache {
    pthread_mutex_t locks[CHECKSUM_CACHE_LOCKS];
    struct checksum_cache_slot sets[CHECKSUM_CACHE_SETS][CHECKSUM_CACHE_WAYS];
};

struct checksum_cache *checksum_cache_new(void);
void checksum_cache_free(struct checksum_cache *v);
/* Returns the chunks of the extent that were checked recently enough. */
uint64_t checksum_cache_chunks(struct checksum_cache *v, const struct extent *x);
void checksum_cache_add(struct checksum_cache *v, const struct extent *x, uint64_t chunks);

#endif
