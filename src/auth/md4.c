/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/md4.h"

static uint32_t rotate(uint32_t x, unsigned by)
{
    return x << by | x >> (32 - by);
}

static uint32_t load(const unsigned char *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* RFC 1320: three rounds of sixteen steps over one 64-byte block. */
static void md4_block(uint32_t state[4], const unsigned char *block)
{
    static const unsigned char order[3][16] = {
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
        {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15},
        {0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15},
    };
    static const unsigned char shifts[3][4] = {{3, 7, 11, 19}, {3, 5, 9, 13}, {3, 9, 11, 15}};
    static const uint32_t constants[3] = {0, 0x5A827999, 0x6ED9EBA1};
    uint32_t a = state[0];
    uint32_t b = state[1];
    uint32_t c = state[2];
    uint32_t d = state[3];
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned step = 0; step < 16; step++) {
            uint32_t f = round == 0   ? (b & c) | (~b & d)
                         : round == 1 ? (b & c) | (b & d) | (c & d)
                                      : b ^ c ^ d;
            uint32_t sum = a + f + load(block + order[round][step] * 4U) + constants[round];
            a = d;
            d = c;
            c = b;
            b = rotate(sum, shifts[round][step % 4]);
        }
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

void md4(struct str bytes, unsigned char out[MD4_BYTES])
{
    uint32_t state[4] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476};
    unsigned char tail[128] = {0};
    size_t whole = bytes.n / 64 * 64;
    size_t rest = bytes.n - whole;
    size_t padded = rest < 56 ? 64 : 128;
    for (size_t i = 0; i < whole; i += 64)
        md4_block(state, (const unsigned char *)bytes.p + i);
    if (rest > 0)
        memcpy(tail, bytes.p + whole, rest);
    tail[rest] = 0x80;
    for (unsigned i = 0; i < 8; i++)
        tail[padded - 8 + i] = (unsigned char)((uint64_t)bytes.n * 8 >> (8 * i));
    for (size_t i = 0; i < padded; i += 64)
        md4_block(state, tail + i);
    for (unsigned i = 0; i < MD4_BYTES; i++)
        out[i] = (unsigned char)(state[i / 4] >> (8 * (i % 4)));
}

void rc4_init(struct rc4 *c, struct str key)
{
    unsigned char j = 0;
    *c = (struct rc4){.i = 0, .j = 0};
    for (unsigned i = 0; i < 256; i++)
        c->state[i] = (unsigned char)i;
    for (unsigned i = 0; i < 256; i++) {
        unsigned char held = c->state[i];
        j = (unsigned char)(j + held + (unsigned char)key.p[i % key.n]);
        c->state[i] = c->state[j];
        c->state[j] = held;
    }
}

void rc4_apply(struct rc4 *c, unsigned char *bytes, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        c->i++;
        unsigned char held = c->state[c->i];
        c->j = (unsigned char)(c->j + held);
        c->state[c->i] = c->state[c->j];
        c->state[c->j] = held;
        bytes[k] ^= c->state[(unsigned char)(c->state[c->i] + held)];
    }
}
