/* SPDX-License-Identifier: Apache-2.0 */
#include "core/mem.h"

#include <stdlib.h>
#include <unistd.h>

static void *mem_or_stop(void *p)
{
    if (p == NULL) {
        static const char said[] = "lazuli: out of memory\n";
        if (write(STDERR_FILENO, said, sizeof said - 1) < 0)
            abort();
        abort();
    }
    return p;
}

void *mem_alloc(size_t size)
{
    return mem_or_stop(malloc(size == 0 ? 1 : size));
}

void *mem_calloc(size_t count, size_t size)
{
    return mem_or_stop(calloc(count == 0 ? 1 : count, size == 0 ? 1 : size));
}

void *mem_realloc(void *old, size_t size)
{
    return mem_or_stop(realloc(old, size == 0 ? 1 : size));
}
