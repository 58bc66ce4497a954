/* SPDX-License-Identifier: Apache-2.0 */
/* x-ms-properties: accepted input is written so that it reads back the same. */
#include <assert.h>

#include "rest/dfs/properties.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a;
    struct str properties, again;
    arena_init(&a, 1 << 26);
    if (!err_is(dfs_parse_properties(&a, (struct str){(const char *)data, size}, &properties))) {
        struct buf text = buf_in(&a);
        dfs_write_properties(&text, properties);
        assert(!err_is(dfs_parse_properties(&a, buf_str(&text), &again)));
        assert(str_eq(again, properties) || (properties.n == 0 && again.n == 0));
    }
    arena_release(&a);
    return 0;
}
