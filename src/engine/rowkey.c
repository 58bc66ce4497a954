/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/rowkey.h"

enum { ROWKEY_ESCAPE = 0x00, ROWKEY_ZERO = 0xFF, ROWKEY_PAST = 0x02 };

void rowkey_put_prefix(struct buf *b, struct str prefix)
{
    buf_put_u8(b, SPACE_ROWS);
    size_t from = 0;
    while (from < prefix.n) {
        size_t zero = str_find(prefix, '\0', from);
        buf_put(b, (struct str){prefix.p + from, zero - from});
        if (zero < prefix.n) {
            buf_put_u8(b, ROWKEY_ESCAPE);
            buf_put_u8(b, ROWKEY_ZERO);
        }
        from = zero + 1;
    }
}

void rowkey_put_partition(struct buf *b, struct str partition)
{
    rowkey_put_prefix(b, partition);
    buf_put_u8(b, ROWKEY_ESCAPE);
    buf_put_u8(b, ROWKEY_END);
}

void rowkey_put_past(struct buf *b, struct str partition)
{
    rowkey_put_prefix(b, partition);
    buf_put_u8(b, ROWKEY_ESCAPE);
    buf_put_u8(b, ROWKEY_PAST);
}

bool rowkey_split(struct str physical, struct buf *partition, struct str *key)
{
    if (physical.n == 0 || physical.p[0] != SPACE_ROWS)
        return false;
    size_t from = 1;
    for (;;) {
        size_t zero = str_find(physical, '\0', from);
        if (zero + 1 >= physical.n)
            return false;
        buf_put(partition, (struct str){physical.p + from, zero - from});
        unsigned char mark = (unsigned char)physical.p[zero + 1];
        from = zero + 2;
        if (mark == ROWKEY_END)
            break;
        if (mark != ROWKEY_ZERO)
            return false;
        buf_putc(partition, '\0');
    }
    *key = str_from(physical, from);
    return true;
}

bool rowkey_divide(struct str physical, struct buf *scratch, struct str *partition, struct str *key)
{
    size_t zero = str_find(physical, '\0', 0);
    if (zero + 1 < physical.n && physical.p[zero + 1] == ROWKEY_END && zero > 0 &&
        physical.p[0] == SPACE_ROWS) {
        *partition = (struct str){physical.p + 1, zero - 1};
        *key = (struct str){physical.p + zero + 2, physical.n - zero - 2};
        return true;
    }
    buf_clear(scratch);
    if (!rowkey_split(physical, scratch, key))
        return false;
    *partition = buf_str(scratch);
    return true;
}

size_t rowkey_past_prefix(char *p, size_t n)
{
    while (n > 0 && (unsigned char)p[n - 1] == 0xFF)
        n--;
    if (n > 0)
        p[n - 1] = (char)((unsigned char)p[n - 1] + 1);
    return n;
}

void rowkey_grow(struct rowkey *k, size_t capacity)
{
    char *p = arena_bytes(k->arena, capacity);
    memcpy(p, k->p, k->partition_n);
    k->p = p;
    k->capacity = capacity;
}

void rowkey_init(struct rowkey *k, struct arena *arena, struct str partition)
{
    k->arena = arena;
    k->p = k->small;
    k->capacity = sizeof k->small;
    k->partition_n = 0;
    /* Names usually contain no zero byte and are short: copy those directly. */
    size_t plain_n = partition.n + 3;
    if (plain_n <= sizeof k->small &&
        (partition.n == 0 || memchr(partition.p, '\0', partition.n) == NULL)) {
        k->p[0] = SPACE_ROWS;
        if (partition.n > 0)
            memcpy(k->p + 1, partition.p, partition.n);
        k->p[plain_n - 2] = ROWKEY_ESCAPE;
        k->p[plain_n - 1] = ROWKEY_END;
        k->partition_n = plain_n;
        return;
    }
    struct buf b = buf_in(arena);
    rowkey_put_partition(&b, partition);
    k->p = b.p;
    k->partition_n = b.n;
    k->capacity = b.capacity;
}

struct str rowkey_past(struct rowkey *k, struct str prefix)
{
    struct str s = rowkey_of(k, prefix);
    return (struct str){k->p, rowkey_past_prefix(k->p, s.n)};
}
