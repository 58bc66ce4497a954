/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a shared library and fills a table of function pointers from it. */
#ifndef ENGINE_CLUSTER_LOAD_H
#define ENGINE_CLUSTER_LOAD_H

#include <stddef.h>

#include "core/err.h"

struct load_symbol {
    const char *name;
    size_t at; /* of the pointer in the table */
};

/* The library is never unloaded. ERR_IO with `missing` as its sentence. */
struct err load_library(const char *file, const struct load_symbol *symbols, size_t count,
                        void *table, const char *missing);

#endif
