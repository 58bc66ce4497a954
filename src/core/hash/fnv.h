/* SPDX-License-Identifier: Apache-2.0 */
/* FNV-1a, a short hash for small tables inside the server. Clients can find keys that collide, so a
 * collision must cost only the client that made it. */
#ifndef CORE_HASH_FNV_H
#define CORE_HASH_FNV_H

#include "core/str.h"

#define FNV_BEGIN 14695981039346656037ULL

static inline uint64_t fnv_add(uint64_t hash, struct str bytes)
{
    for (size_t i = 0; i < bytes.n; i++)
        hash = (hash ^ (unsigned char)bytes.p[i]) * 1099511628211ULL;
    return hash;
}

/* A last multiplication spreads the last byte, which has changed only a few bits, over all bits
 * that are returned: "key1" and "key2" shall not share a slot of a small table. */
static inline uint32_t fnv_of(struct str bytes)
{
    return (uint32_t)((fnv_add(FNV_BEGIN, bytes) * 0x9E3779B97F4A7C15ULL) >> 32);
}

#endif
