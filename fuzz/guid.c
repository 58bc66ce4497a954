/* SPDX-License-Identifier: Apache-2.0 */
/* A parsed GUID has a canonical text that parses to the same value. */
#include <assert.h>

#include "core/guid.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct guid g;
    struct guid again;
    char text[GUID_TEXT_BYTES];
    if (guid_parse((struct str){(const char *)data, size}, &g)) {
        guid_text(&g, text);
        assert(guid_parse((struct str){text, sizeof text}, &again) && guid_eq(&g, &again));
    }
    return 0;
}
