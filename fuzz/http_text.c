/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a date, in both families of forms, and as a range: what is read must survive being
 * written and read again. */
#include <stdlib.h>

#include "http/date.h"
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
    char text[HTTP_DATE_BYTES];
    int64_t ticks;
    int64_t again;
    if (http_date_parse(input, &ticks)) {
        http_date_format(ticks, text);
        require(http_date_parse((struct str){text, HTTP_DATE_BYTES}, &again) && again == ticks);
    }
    if (iso_date_parse(input, &ticks)) {
        size_t n = iso_date_format(ticks, 7, text);
        require(n <= ISO_DATE_BYTES_MAX);
        require(iso_date_parse((struct str){text, n}, &again) && again == ticks);
    }
    struct http_range range;
    uint64_t offset;
    uint64_t length;
    if (http_range_parse(input, &range) && http_range_clip(range, 1000, &offset, &length))
        require(offset + length <= 1000 && length > 0);
    return 0;
}
