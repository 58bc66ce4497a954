/* SPDX-License-Identifier: Apache-2.0 */
/* A hash of several strings that takes eight bytes at a time, for what every request computes. Not
 * secure: clients can construct names with equal hashes. */
#ifndef CORE_HASH_MIX_H
#define CORE_HASH_MIX_H

#include "core/str.h"

/* The hash of what was added before, and of this string. All of its bits may be used. */
static inline uint64_t mix_add(uint64_t hash, struct str text)
{
    uint64_t word;
    hash = (hash ^ text.n) * 0x9E3779B97F4A7C15ULL;
    for (; text.n >= sizeof word; text = str_from(text, sizeof word)) {
        memcpy(&word, text.p, sizeof word);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
        hash ^= hash >> 29;
    }
    word = 0;
    if (text.n > 0)
        memcpy(&word, text.p, text.n);
    hash = (hash ^ word) * 0xBF58476D1CE4E5B9ULL;
    return hash ^ hash >> 32;
}

#endif
