/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory the program may think of as its own. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdint.h>

/* The machine's memory, or what its control group leaves it of that. */
uint64_t memory_bytes(void);
/* What is good for the cache of rows when nobody has said: a 32nd of it, within bounds. */
uint64_t memory_cache_mib(uint64_t memory);

#endif
