/* SPDX-License-Identifier: Apache-2.0 */
/* Which chunks have had their checksum made or looked at lately, so that an extent that is new or
 * much read is not summed up for every reader. Bound: what it says holds for VERIFIED_MS; a fault
 * that comes up on the disk later than the last check is found after that time. It remembers
 * VERIFIED_SLOTS extents. Each may lie in one of VERIFIED_WAYS slots: with one way and a quarter of
 * the slots, nearly half of the extents of a file of 10 GiB took the place of others in turn, and
 * each random read of them summed up a chunk. */
#ifndef ENGINE_LOCAL_VERIFIED_H
#define ENGINE_LOCAL_VERIFIED_H

#include <pthread.h>

#include "engine/engine.h"

enum {
    VERIFIED_SLOTS = 16384,
    VERIFIED_WAYS = 4, /* places that an extent may be in */
    VERIFIED_SETS = VERIFIED_SLOTS / VERIFIED_WAYS,
    VERIFIED_LOCKS = 32,
    VERIFIED_MS = 30000,
};

struct verified_slot {
    struct extent extent;
    uint64_t chunks; /* one bit each */
    int64_t at_ms;   /* of the first of them */
};

struct verified {
    pthread_mutex_t locks[VERIFIED_LOCKS];
    struct verified_slot sets[VERIFIED_SETS][VERIFIED_WAYS];
};

struct verified *verified_new(void);
void verified_free(struct verified *v);
/* The chunks of the extent that need no look now. */
uint64_t verified_chunks(struct verified *v, const struct extent *x);
void verified_add(struct verified *v, const struct extent *x, uint64_t chunks);

#endif
