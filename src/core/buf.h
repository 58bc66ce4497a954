/* SPDX-License-Identifier: Apache-2.0 */
/* A byte buffer that grows, in an arena or on the heap; and the little-endian, big-endian and
 * varint writers that rows and wire formats use. The reader for them is wire.h. */
#ifndef CORE_BUF_H
#define CORE_BUF_H

#include "core/arena.h"

struct buf {
    char *p;
    size_t n;
    size_t capacity;
    struct arena *arena; /* NULL: on the heap, to be released */
};

/* In an arena: no release needed. */
struct buf buf_in(struct arena *a);
/* On the heap. */
struct buf buf_heap(void);
void buf_release(struct buf *b);
void buf_clear(struct buf *b);

static inline struct str buf_str(const struct buf *b)
{
    return (struct str){b->p == NULL ? "" : b->p, b->n};
}

/* buf_reserve's, when there is no room. */
__attribute__((cold)) char *buf_grow(struct buf *b, size_t more);
/* Reserves room for `more` further bytes and returns its address. After writing, add the number of
 * bytes to b->n. Always inline: the compiler's limits would make it a call in large functions, and
 * the call costs more than the test. */
__attribute__((always_inline)) static inline char *buf_reserve(struct buf *b, size_t more)
{
    return more <= b->capacity - b->n && b->p != NULL ? b->p + b->n : buf_grow(b, more);
}
/* Inline because most arguments are constants, whose copy then takes a few instructions. */
static inline void buf_put(struct buf *b, struct str s)
{
    if (s.n == 0)
        return;
    memcpy(buf_reserve(b, s.n), s.p, s.n);
    b->n += s.n;
}
static inline void buf_putc(struct buf *b, char c)
{
    *buf_reserve(b, 1) = c;
    b->n++;
}
enum { BUF_U64_BYTES_MAX = 20 };
/* Decimal. */
void buf_put_u64(struct buf *b, uint64_t value);
void buf_put_i64(struct buf *b, int64_t value);
/* Lower-case hex of a byte string. */
void buf_put_hex(struct buf *b, struct str bytes);
/* A code point up to U+10FFFF, as UTF-8. */
void buf_put_utf8(struct buf *b, uint32_t c);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

void buf_put_u8(struct buf *b, uint8_t value);
void buf_put_le16(struct buf *b, uint16_t value);
void buf_put_le32(struct buf *b, uint32_t value);
void buf_put_le64(struct buf *b, uint64_t value);
void buf_put_be16(struct buf *b, uint16_t value);
void buf_put_be32(struct buf *b, uint32_t value);
/* Big-endian: byte order is number order, for keys. */
void buf_put_be64(struct buf *b, uint64_t value);
/* 1 to 10 bytes, 7 bits each, low first. */
void buf_put_long_varint(struct buf *b, uint64_t value);
static inline void buf_put_varint(struct buf *b, uint64_t value)
{
    if (value < 0x80)
        buf_putc(b, (char)value);
    else
        buf_put_long_varint(b, value);
}
/* A varint length, then the bytes. An absent slice is written as an empty one. */
void buf_put_bytes(struct buf *b, struct str s);

#endif
