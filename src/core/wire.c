/* SPDX-License-Identifier: Apache-2.0 */
#include "core/wire.h"

#include <endian.h>

enum { VARINT_BYTES_MAX = 10 }; /* seven bits in each, and one in the last */

struct str read_past_end(struct reader *r)
{
    r->bad = true;
    r->n = 0;
    return (struct str){"", 0};
}

/* Copies a fixed-size number in one move, because rows contain many of them. Leaves `to` unchanged
 * if too few bytes are left. */
static void read_word(struct reader *r, void *to, size_t n)
{
    struct str raw = read_raw(r, n);
    if (raw.n == n)
        memcpy(to, raw.p, n);
}

uint8_t read_u8(struct reader *r)
{
    uint8_t value = 0;
    read_word(r, &value, sizeof value);
    return value;
}

uint16_t read_le16(struct reader *r)
{
    uint16_t value = 0;
    read_word(r, &value, sizeof value);
    return le16toh(value);
}

uint32_t read_le32(struct reader *r)
{
    uint32_t value = 0;
    read_word(r, &value, sizeof value);
    return le32toh(value);
}

uint64_t read_le64(struct reader *r)
{
    uint64_t value = 0;
    read_word(r, &value, sizeof value);
    return le64toh(value);
}

uint16_t read_be16(struct reader *r)
{
    uint16_t value = 0;
    read_word(r, &value, sizeof value);
    return be16toh(value);
}

uint32_t read_be32(struct reader *r)
{
    uint32_t value = 0;
    read_word(r, &value, sizeof value);
    return be32toh(value);
}

uint64_t read_be64(struct reader *r)
{
    uint64_t value = 0;
    read_word(r, &value, sizeof value);
    return be64toh(value);
}

/* Joins eight groups of seven bits, each in its own byte. */
static uint64_t join_sevens(uint64_t word)
{
    word = (word & 0x007F007F007F007FULL) | (word & 0x7F007F007F007F00ULL) >> 1;
    word = (word & 0x00003FFF00003FFFULL) | (word & 0x3FFF00003FFF0000ULL) >> 2;
    return (word & 0x000000000FFFFFFFULL) | (word & 0x0FFFFFFF00000000ULL) >> 4;
}

/* Reads a number of up to nine bytes, if nine bytes are available. Times and stamps have eight
 * bytes, ids of directories nine, and rows contain many of them. */
static bool read_short_varint(struct reader *r, uint64_t *value)
{
    const uint64_t sevens = 0x7F7F7F7F7F7F7F7FULL;
    uint64_t word;
    size_t n = sizeof word + 1;
    if (r->n < sizeof word)
        return false;
    memcpy(&word, r->p, sizeof word);
    uint64_t last = ~le64toh(word) & ~sevens; /* the lowest bit tells where it ends */
    if (last != 0) {
        n = (size_t)__builtin_ctzll(last) / 8 + 1;
        *value = join_sevens(le64toh(word) & (last ^ (last - 1)) & sevens);
    } else if (r->n >= n && (r->p[n - 1] & 0x80) == 0) {
        *value = join_sevens(le64toh(word) & sevens) | (uint64_t)r->p[n - 1] << 56;
    } else {
        return false;
    }
    r->p += n;
    r->n -= n;
    return true;
}

uint64_t read_long_varint(struct reader *r)
{
    uint64_t value = 0;
    if (read_short_varint(r, &value))
        return value;
    for (size_t i = 0; i < r->n && i < VARINT_BYTES_MAX; i++) {
        uint64_t byte = (unsigned char)r->p[i];
        if (i == VARINT_BYTES_MAX - 1 && byte > 1)
            break;
        value |= (byte & 0x7F) << (7 * i);
        if ((byte & 0x80) == 0) {
            r->p += i + 1;
            r->n -= i + 1;
            return value;
        }
    }
    r->bad = true;
    r->n = 0;
    return 0;
}
