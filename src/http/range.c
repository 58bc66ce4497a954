/* SPDX-License-Identifier: Apache-2.0 */
#include "http/range.h"

bool http_range_parse(struct str text, struct http_range *out)
{
    if (!str_istarts(text, STR("bytes=")))
        return false;
    struct str last = str_from(text, sizeof "bytes=" - 1);
    struct str first = str_cut(&last, '-');
    if (!str_given(last) || !str_to_u64(first, &out->first))
        return false;
    if (last.n == 0) {
        out->last = HTTP_RANGE_TO_END;
        return true;
    }
    return str_to_u64(last, &out->last) && out->last >= out->first;
}

bool http_range_clip(struct http_range range, uint64_t size, uint64_t *offset, uint64_t *length)
{
    if (range.first >= size)
        return false;
    uint64_t last = range.last < size - 1 ? range.last : size - 1;
    *offset = range.first;
    *length = last - range.first + 1;
    return true;
}
