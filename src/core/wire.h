/* SPDX-License-Identifier: Apache-2.0 */
/* The only bounds-checked reader of binary formats. A read past the end returns zero and sets `bad`
 * permanently, so a decoder reads all its fields and calls reader_ok once. */
#ifndef CORE_WIRE_H
#define CORE_WIRE_H

#include "core/str.h"

struct reader {
    const char *p;
    size_t n;
    bool bad;
};

static inline struct reader reader_of(struct str s)
{
    return (struct reader){s.p, s.n, false};
}

static inline bool reader_ok(const struct reader *r)
{
    return !r->bad;
}

/* Everything was read, without an error. */
static inline bool reader_done(const struct reader *r)
{
    return !r->bad && r->n == 0;
}

/* The next n bytes, borrowed; empty when there are fewer. */
struct str read_past_end(struct reader *r);
static inline struct str read_raw(struct reader *r, size_t n)
{
    if (n > r->n)
        return read_past_end(r);
    struct str bytes = {r->p, n};
    r->p += n;
    r->n -= n;
    return bytes;
}
uint8_t read_u8(struct reader *r);
uint16_t read_le16(struct reader *r);
uint32_t read_le32(struct reader *r);
uint64_t read_le64(struct reader *r);
uint16_t read_be16(struct reader *r);
uint32_t read_be32(struct reader *r);
uint64_t read_be64(struct reader *r);
uint64_t read_long_varint(struct reader *r);
/* Most are of one byte: the numbers of fields, lengths. */
static inline uint64_t read_varint(struct reader *r)
{
    if (r->n == 0 || ((unsigned char)*r->p & 0x80) != 0)
        return read_long_varint(r);
    r->n--;
    return (unsigned char)*r->p++;
}
/* Reads what buf_put_bytes wrote; borrowed. */
static inline struct str read_bytes(struct reader *r)
{
    uint64_t n = read_varint(r);
    return read_raw(r, n);
}

#endif
