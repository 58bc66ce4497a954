/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/extent.h"

void extent_encode(struct buf *b, const struct extent *x)
{
    buf_put_le64(b, x->segment);
    buf_put_le64(b, x->offset);
    buf_put_le32(b, x->length);
    buf_put_le32(b, x->check);
}

struct extent extent_decode(struct reader *r)
{
    struct extent x;
    x.segment = read_le64(r);
    x.offset = read_le64(r);
    x.length = read_le32(r);
    x.check = read_le32(r);
    return x;
}

int extent_order(const struct extent *a, const struct extent *b)
{
    if (a->segment != b->segment)
        return a->segment < b->segment ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset ? 1 : 0;
}
