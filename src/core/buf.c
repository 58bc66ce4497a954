/* SPDX-License-Identifier: Apache-2.0 */
#include "core/buf.h"

#include <assert.h>
#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/mem.h"

enum { BUF_FIRST_BYTES = 256 };

struct buf buf_in(struct arena *a)
{
    return (struct buf){.arena = a};
}

struct buf buf_heap(void)
{
    return (struct buf){0};
}

void buf_release(struct buf *b)
{
    assert(b->arena == NULL);
    free(b->p);
    *b = buf_heap();
}

void buf_clear(struct buf *b)
{
    b->n = 0;
}

char *buf_grow(struct buf *b, size_t more)
{
    assert(b->n <= b->capacity);
    size_t need = b->n + more;
    assert(need >= more);
    size_t capacity = b->capacity == 0 ? BUF_FIRST_BYTES : b->capacity * 2;
    if (capacity < need)
        capacity = need;
    if (b->arena == NULL) {
        b->p = mem_realloc(b->p, capacity);
    } else {
        char *grown = arena_bytes(b->arena, capacity);
        if (b->p != NULL)
            memcpy(grown, b->p, b->n);
        b->p = grown;
    }
    b->capacity = capacity;
    return b->p + b->n;
}

void buf_put_u64(struct buf *b, uint64_t value)
{
    char digits[BUF_U64_BYTES_MAX];
    size_t at = sizeof digits;
    for (; value >= 100; value /= 100) {
        unsigned two = (unsigned)(value % 100);
        digits[--at] = (char)('0' + two % 10);
        digits[--at] = (char)('0' + two / 10);
    }
    digits[--at] = (char)('0' + value % 10);
    if (value >= 10)
        digits[--at] = (char)('0' + value / 10);
    buf_put(b, (struct str){digits + at, sizeof digits - at});
}

void buf_put_i64(struct buf *b, int64_t value)
{
    if (value < 0)
        buf_putc(b, '-');
    buf_put_u64(b, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void buf_put_hex(struct buf *b, struct str bytes)
{
    assert(bytes.n <= SIZE_MAX / 2);
    static const char digits[] = "0123456789abcdef";
    char *out = buf_reserve(b, bytes.n * 2);
    for (size_t i = 0; i < bytes.n; i++) {
        unsigned char c = (unsigned char)bytes.p[i];
        out[2 * i] = digits[c >> 4];
        out[2 * i + 1] = digits[c & 15];
    }
    b->n += bytes.n * 2;
}

void buf_put_utf8(struct buf *b, uint32_t c)
{
    assert(c <= 0x10FFFF);
    if (c < 0x80) {
        buf_putc(b, (char)c);
        return;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    char *out = buf_reserve(b, n);
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3F));
    /* The lead byte: n ones, a zero, the bits that are left. */
    out[0] = (char)((0xF00U >> n & 0xFF) | c);
    b->n += n;
}

void buf_printf(struct buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    assert(length >= 0);
    (void)vsnprintf(buf_reserve(b, (size_t)length + 1), (size_t)length + 1, format, again);
    va_end(again);
    b->n += (size_t)length;
}

static void buf_put_word(struct buf *b, const void *word, size_t n)
{
    memcpy(buf_reserve(b, n), word, n);
    b->n += n;
}

void buf_put_u8(struct buf *b, uint8_t value)
{
    buf_putc(b, (char)value);
}

void buf_put_le16(struct buf *b, uint16_t value)
{
    uint16_t word = htole16(value);
    buf_put_word(b, &word, sizeof word);
}

void buf_put_le32(struct buf *b, uint32_t value)
{
    uint32_t word = htole32(value);
    buf_put_word(b, &word, sizeof word);
}

void buf_put_le64(struct buf *b, uint64_t value)
{
    uint64_t word = htole64(value);
    buf_put_word(b, &word, sizeof word);
}

void buf_put_be16(struct buf *b, uint16_t value)
{
    uint16_t word = htobe16(value);
    buf_put_word(b, &word, sizeof word);
}

void buf_put_be32(struct buf *b, uint32_t value)
{
    uint32_t word = htobe32(value);
    buf_put_word(b, &word, sizeof word);
}

void buf_put_be64(struct buf *b, uint64_t value)
{
    uint64_t word = htobe64(value);
    buf_put_word(b, &word, sizeof word);
}

/* Eight groups of seven bits, each moved into a byte of its own. */
static uint64_t spread_sevens(uint64_t value)
{
    value = (value & 0x000000000FFFFFFFULL) | (value & 0x00FFFFFFF0000000ULL) << 4;
    value = (value & 0x00003FFF00003FFFULL) | (value & 0x0FFFC0000FFFC000ULL) << 2;
    return (value & 0x007F007F007F007FULL) | (value & 0x3F803F803F803F80ULL) << 1;
}

/* Writes a number of up to eight bytes as one word, if there is space for a word: times and stamps
 * have eight bytes, and rows contain many of them. */
void buf_put_long_varint(struct buf *b, uint64_t value)
{
    size_t n = (70 - (size_t)__builtin_clzll(value | 1)) / 7;
    char *out = buf_reserve(b, n);
    if (n <= sizeof value && b->capacity - b->n >= sizeof value) {
        uint64_t more = 0x8080808080808080ULL >> 8 * (sizeof value - n) >> 8;
        uint64_t word = htole64(spread_sevens(value) | more);
        memcpy(out, &word, sizeof word);
    } else {
        for (size_t i = 0; i + 1 < n; i++, value >>= 7)
            out[i] = (char)(0x80 | (value & 0x7F));
        out[n - 1] = (char)value;
    }
    b->n += n;
}

void buf_put_bytes(struct buf *b, struct str s)
{
    buf_put_varint(b, s.n);
    buf_put(b, s);
}
