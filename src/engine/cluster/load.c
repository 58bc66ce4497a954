/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cluster/load.h"

#include <dlfcn.h>
#include <string.h>

struct err load_library(const char *file, const struct load_symbol *symbols, size_t count,
                        void *table, const char *missing)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return err_detail(ERR_IO, missing);
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (symbol == NULL)
            return err_detail(ERR_IO, missing);
        memcpy((char *)table + symbols[i].at, &symbol, sizeof symbol);
    }
    return OK;
}
