/* SPDX-License-Identifier: Apache-2.0 */
/* The heap, for what outlives a request. Out of memory stops the process: see arena.h. */
#ifndef CORE_MEM_H
#define CORE_MEM_H

#include <stddef.h>

/* Not zeroed. Free with free(). */
void *mem_alloc(size_t size);
/* Zeroed. */
void *mem_calloc(size_t count, size_t size);
void *mem_realloc(void *old, size_t size);

#define MEM_NEW(type) ((type *)mem_calloc(1, sizeof(type)))

#endif
