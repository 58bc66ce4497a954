/* SPDX-License-Identifier: Apache-2.0 */
#include "core/wire.h"

enum { VARINT_BYTES_MAX = 10 }; /* seven bits in each, and one in the last */

struct str read_raw(struct reader *r, size_t n)
{
    if (n > r->n) {
        r->bad = true;
        r->n = 0;
        return (struct str){"", 0};
    }
    struct str bytes = {r->p, n};
    r->p += n;
    r->n -= n;
    return bytes;
}

static uint64_t read_low_first(struct reader *r, size_t bytes)
{
    struct str raw = read_raw(r, bytes);
    uint64_t value = 0;
    for (size_t i = raw.n; i > 0; i--)
        value = value << 8 | (unsigned char)raw.p[i - 1];
    return value;
}

static uint64_t read_high_first(struct reader *r, size_t bytes)
{
    struct str raw = read_raw(r, bytes);
    uint64_t value = 0;
    for (size_t i = 0; i < raw.n; i++)
        value = value << 8 | (unsigned char)raw.p[i];
    return value;
}

uint8_t read_u8(struct reader *r)
{
    return (uint8_t)read_low_first(r, 1);
}

uint16_t read_le16(struct reader *r)
{
    return (uint16_t)read_low_first(r, 2);
}

uint32_t read_le32(struct reader *r)
{
    return (uint32_t)read_low_first(r, 4);
}

uint64_t read_le64(struct reader *r)
{
    return read_low_first(r, 8);
}

uint16_t read_be16(struct reader *r)
{
    return (uint16_t)read_high_first(r, 2);
}

uint32_t read_be32(struct reader *r)
{
    return (uint32_t)read_high_first(r, 4);
}

uint64_t read_be64(struct reader *r)
{
    return read_high_first(r, 8);
}

uint64_t read_varint(struct reader *r)
{
    uint64_t value = 0;
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

struct str read_bytes(struct reader *r)
{
    uint64_t n = read_varint(r);
    return read_raw(r, n);
}
