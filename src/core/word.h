/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on eight bytes at a time, for code that examines every byte of every request. */
#ifndef CORE_WORD_H
#define CORE_WORD_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { WORD_BYTES = sizeof(uint64_t) };

/* This byte in each of the eight places. */
static inline uint64_t word_all(unsigned char c)
{
    return 0x0101010101010101ULL * c;
}

static inline uint64_t word_load(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* Loads one to eight bytes as a word; the missing ones repeat others or are spaces. */
static inline uint64_t word_of_few(const char *p, size_t n)
{
    uint32_t first;
    uint32_t last;
    if (n == WORD_BYTES)
        return word_load(p);
    if (n < sizeof first)
        return 0x2020202020000000ULL | (uint64_t)(unsigned char)p[0] << 16 |
               (uint64_t)(unsigned char)p[n / 2] << 8 | (unsigned char)p[n - 1];
    memcpy(&first, p, sizeof first);
    memcpy(&last, p + n - sizeof last, sizeof last);
    return (uint64_t)first << 32 | last;
}

/* The top bit of each byte that is zero; maybe also of a byte above such a one. */
static inline uint64_t word_zeros(uint64_t word)
{
    return (word - word_all(1)) & ~word & word_all(0x80);
}

/* Converts eight bytes to lower case; bytes that are no ASCII letter stay. */
static inline uint64_t word_lower(uint64_t word)
{
    uint64_t low = word & word_all(0x7F);
    uint64_t from_a = low + word_all(0x80 - 'A');
    uint64_t past_z = low + word_all(0x7F - 'Z');
    uint64_t capital = (from_a ^ past_z) & ~word & word_all(0x80);
    return word | capital >> 2;
}

/* Formats four bytes as eight hexadecimal digits, whose letters begin with 'a' or 'A'. */
static inline uint64_t word_hex(const void *bytes, char ten)
{
    uint32_t four;
    memcpy(&four, bytes, sizeof four);
    uint64_t spread = le32toh(four);
    spread = (spread | spread << 16) & 0x0000FFFF0000FFFFULL;
    spread = (spread | spread << 8) & 0x00FF00FF00FF00FFULL;
    uint64_t halves = (spread >> 4 & word_all(0x0F)) | (spread & word_all(0x0F)) << 8;
    uint64_t letters = (halves + word_all(6)) >> 4 & word_all(1);
    return htole64(halves + word_all('0') + letters * (uint64_t)(ten - '0' - 10));
}

#endif
