/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cluster/param.h"

#include <assert.h>

#include "core/wire.h"
#include "engine/cluster/sql.h"

struct params params_in(struct arena *arena)
{
    return (struct params){.arena = arena};
}

void param_bytes(struct params *p, struct str bytes)
{
    assert(p->count < PARAMS_MAX && bytes.n <= INT32_MAX);
    p->values[p->count] = bytes.n == 0 ? "" : bytes.p; /* NULL would be SQL's */
    p->lengths[p->count++] = (int)bytes.n;
}

void param_number(struct params *p, int64_t number)
{
    struct buf b = buf_in(p->arena);
    buf_put_be64(&b, (uint64_t)number);
    param_bytes(p, buf_str(&b));
}

void param_bool(struct params *p, bool value)
{
    param_bytes(p, value ? STR("\1") : STR("\0"));
}

struct array array_begin(struct arena *arena, enum array_kind kind)
{
    struct array a = {.bytes = buf_in(arena)};
    buf_put_be32(&a.bytes, 1); /* dimensions */
    buf_put_be32(&a.bytes, 1); /* may hold NULL */
    buf_put_be32(&a.bytes, (uint32_t)kind);
    buf_put_be32(&a.bytes, 0); /* the count, see param_array */
    buf_put_be32(&a.bytes, 1); /* the first index */
    return a;
}

void array_bytes(struct array *a, struct str bytes)
{
    assert(bytes.n <= INT32_MAX);
    buf_put_be32(&a->bytes, str_given(bytes) ? (uint32_t)bytes.n : UINT32_MAX);
    buf_put(&a->bytes, bytes);
    a->count++;
}

void array_number(struct array *a, int64_t number)
{
    buf_put_be32(&a->bytes, 8);
    buf_put_be64(&a->bytes, (uint64_t)number);
    a->count++;
}

void param_array(struct params *p, struct array *a)
{
    enum { COUNT_AT = 12 };
    for (unsigned i = 0; i < 4; i++)
        a->bytes.p[COUNT_AT + i] = (char)(a->count >> (24 - 8 * i));
    param_bytes(p, buf_str(&a->bytes));
}

struct str largest_head(struct arena *arena)
{
    char *bytes = arena_bytes(arena, SQL_KEY_HEAD);
    memset(bytes, 0xFF, SQL_KEY_HEAD);
    return (struct str){bytes, SQL_KEY_HEAD};
}

int64_t number_of(struct str field)
{
    struct reader r = reader_of(field);
    return (int64_t)read_be64(&r);
}
