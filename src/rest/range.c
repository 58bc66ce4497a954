/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/range.h"

#include "http/range.h"

struct err rest_range_read(struct rest_call *call, bool *given, uint64_t *offset, uint64_t *length)
{
    const struct str own = STR("x-ms-range");
    struct str text = call_header(call, own);
    bool is_own = str_given(text);
    struct http_range range;
    if (!is_own)
        text = call_header(call, STR("Range"));
    *given = str_given(text) && http_range_parse(text, &range);
    if (!*given)
        return is_own ? call_bad_header(call, own) : OK;
    *offset = range.first;
    *length = range.last == HTTP_RANGE_TO_END ? UINT64_MAX : range.last - range.first + 1;
    return OK;
}

void rest_range_put(struct rest_call *call, uint64_t offset, uint64_t length, uint64_t size)
{
    call->status = 206;
    call_put(call, STR("Content-Range"),
             arena_printf(call->arena, "bytes %llu-%llu/%llu", (unsigned long long)offset,
                          (unsigned long long)(offset + length - 1), (unsigned long long)size));
}

void rest_range_put_size(struct rest_call *call, uint64_t size)
{
    http_put_header(&call->error_headers, STR("Content-Range"),
                    arena_printf(call->arena, "bytes */%llu", (unsigned long long)size));
}
