/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a date, in both families of forms, and as a range: an accepted value must survive
 * writing and reading. */
#include <stdlib.h>

#include "core/time.h"
#include "http/range.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = {(const char *)data, size};
    char http[TIME_RFC1123_BYTES];
    char iso[TIME_ISO_BYTES];
    int64_t ticks;
    int64_t again;
    if (time_parse_http(input, &ticks)) {
        time_rfc1123(ticks, http);
        require(time_parse_http((struct str){http, sizeof http}, &again) && again == ticks);
    }
    if (time_parse_iso(input, &ticks)) {
        time_iso(ticks, iso);
        require(time_parse_iso((struct str){iso, sizeof iso}, &again) && again == ticks);
    }
    struct http_range range;
    uint64_t offset;
    uint64_t length;
    if (http_range_parse(input, &range) && http_range_clip(range, 1000, &offset, &length))
        require(offset + length <= 1000 && length > 0);
    return 0;
}
