/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory the program may use. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdint.h>

/* The machine's memory, or the limit of the control group if that is lower. */
uint64_t memory_bytes(void);
/* Default size of the row cache: a 32nd of it, within bounds. */
uint64_t memory_cache_mib(uint64_t memory);

#endif
