/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/record.h"

#include <limits.h>

/* A field's head is its number, shifted, with the low bit telling bytes from numbers. */

void record_put(struct buf *b, unsigned field, uint64_t value)
{
    if (value == 0)
        return;
    buf_put_varint(b, (uint64_t)field << 1);
    buf_put_varint(b, value);
}

void record_put_bytes(struct buf *b, unsigned field, struct str bytes)
{
    if (!str_given(bytes))
        return;
    buf_put_varint(b, ((uint64_t)field << 1) | 1);
    buf_put_bytes(b, bytes);
}

bool record_next(struct reader *r, struct record_field *out)
{
    if (r->n == 0 || r->bad)
        return false;
    uint64_t head = read_varint(r);
    if (head >> 1 > UINT_MAX)
        r->bad = true;
    *out = (struct record_field){.number = (unsigned)(head >> 1)};
    if ((head & 1) != 0)
        out->bytes = read_bytes(r);
    else
        out->value = read_varint(r);
    return !r->bad;
}
