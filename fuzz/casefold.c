/* SPDX-License-Identifier: Apache-2.0 */
/* Folding is idempotent and keeps well-formed text well-formed. */
#include <assert.h>

#include "core/text/casefold.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a;
    struct str in = {(const char *)data, size};
    arena_init(&a, 1 << 24);
    struct str folded = casefold_utf8(&a, in);
    assert(str_eq(casefold_utf8(&a, folded), folded));
    assert(str_is_utf8(in) == str_is_utf8(folded));
    arena_release(&a);
    return 0;
}
