/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of several MD5s side by side, in the lanes of wide registers. For md5_many.c. */
#ifndef CORE_HASH_MD5_LANES_H
#define CORE_HASH_MD5_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MD5_BLOCK_BYTES = 64, MD5_WORDS = 4, MD5_LANES_MAX = 16 };

/* How a processor computes them. Each way needs what the way before it needs. */
enum md5_way {
    MD5_ONE_BY_ONE,
    MD5_BY_AVX2,   /* eight lanes */
    MD5_BY_AVX512, /* eight or sixteen */
};

/* The states, word by word, so that a word of all lanes is one register. */
struct md5_lanes {
    uint32_t words[MD5_WORDS][MD5_LANES_MAX];
};

/* Returns the best way that this processor knows. */
enum md5_way md5_best_way(void);
/* Returns how many lanes are computed for `count` texts: at most MD5_LANES_MAX, and fewer than
 * `count` if the way has no more. 0: none. */
size_t md5_lanes_for(enum md5_way way, size_t count);
/* Adds `blocks` blocks of each text; from[i] is where those of lane i begin. `lanes` is what
 * md5_lanes_for has returned, not 0. */
void md5_add_blocks(enum md5_way way, struct md5_lanes *state, const char *const from[],
                    size_t lanes, size_t blocks);

#endif
