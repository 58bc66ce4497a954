/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of eight MD5s side by side, in the lanes of wide registers. For md5_many.c. */
#ifndef CORE_MD5_LANES_H
#define CORE_MD5_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MD5_BLOCK_BYTES = 64, MD5_WORDS = 4, MD5_LANES = 8 };

/* Eight states, word by word, so that a word of all lanes is one register. */
struct md5_lanes {
    uint32_t words[MD5_WORDS][MD5_LANES];
};

/* Returns true if this processor has such registers. */
bool md5_has_lanes(void);
/* Adds `blocks` blocks of each text; from[i] is where those of lane i begin. Only with lanes. */
void md5_add_blocks(struct md5_lanes *state, const char *const from[MD5_LANES], size_t blocks);
/* The same on every processor with lanes, for tests. */
void md5_add_blocks_avx2(struct md5_lanes *state, const char *const from[MD5_LANES], size_t blocks);

#endif
