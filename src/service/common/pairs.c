/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/pairs.h"

#include <assert.h>

void pairs_put(struct buf *b, struct str name, struct str value)
{
    buf_put_bytes(b, name);
    buf_put_bytes(b, value);
}

struct str pairs_encode(struct arena *a, const struct pairs *pairs)
{
    if (pairs->count == 0)
        return STR_NONE;
    struct buf b = buf_in(a);
    for (size_t i = 0; i < pairs->count; i++)
        pairs_put(&b, pairs->items[i].name, pairs->items[i].value);
    return buf_str(&b);
}

bool pairs_next(struct reader *r, struct pair *out)
{
    assert(out != NULL);
    if (r->n == 0 || r->bad)
        return false;
    out->name = read_bytes(r);
    out->value = read_bytes(r);
    return reader_ok(r);
}

struct str pairs_find(struct str encoded, struct str name)
{
    struct reader r = reader_of(encoded);
    struct pair pair;
    while (pairs_next(&r, &pair))
        if (str_eq(pair.name, name))
            return pair.value;
    return STR_NONE;
}

size_t pairs_count(struct str encoded)
{
    struct reader r = reader_of(encoded);
    struct pair pair;
    size_t count = 0;
    while (pairs_next(&r, &pair))
        count++;
    return count;
}
