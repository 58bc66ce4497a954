/* SPDX-License-Identifier: Apache-2.0 */
/* Decoded text encodes to the same bytes again, and every byte string survives the round trip. */
#include <assert.h>

#include "core/text/base64.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a;
    struct str in = {(const char *)data, size};
    struct str bytes;
    struct str again;
    arena_init(&a, 1 << 24);
    if (base64_decode(&a, in, &bytes)) {
        struct str text = base64_encode(&a, bytes);
        assert(text.n == in.n && base64_decode(&a, text, &again) && str_eq(bytes, again));
    }
    assert(base64_decode(&a, base64_encode(&a, in), &again) && str_eq(in, again));
    arena_release(&a);
    return 0;
}
