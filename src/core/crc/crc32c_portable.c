/* SPDX-License-Identifier: Apache-2.0 */
/* For builds without ISA-L: Debian has it only as a shared library, on which a portable program
 * cannot depend. */
#include "core/crc/crc32c.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

enum { POLYNOMIAL_BITS = 8 };
#define POLYNOMIAL 0x82F63B78U

static uint32_t one_byte(uint32_t sum)
{
    for (unsigned bit = 0; bit < POLYNOMIAL_BITS; bit++)
        sum = (sum >> 1) ^ ((sum & 1) != 0 ? POLYNOMIAL : 0);
    return sum;
}

uint32_t crc32c_by_table(uint32_t sum, struct str bytes)
{
    uint32_t table[256];
    for (uint32_t i = 0; i < 256; i++)
        table[i] = one_byte(i);
    for (size_t i = 0; i < bytes.n; i++)
        sum = (sum >> 8) ^ table[(sum ^ (unsigned char)bytes.p[i]) & 0xFF];
    return sum;
}

#if defined(__x86_64__)

enum { WORD_BYTES = 8 };

static __attribute__((target("sse4.2"))) uint32_t words(uint32_t sum, const char *p, size_t count)
{
    uint64_t wide = sum;
    for (size_t i = 0; i < count; i++) {
        uint64_t word;
        memcpy(&word, p + i * WORD_BYTES, sizeof word);
        wide = _mm_crc32_u64(wide, word);
    }
    return (uint32_t)wide;
}

static __attribute__((target("sse4.2"))) uint32_t by_instruction(uint32_t sum, struct str bytes)
{
    const char *p = bytes.p;
    size_t n = bytes.n;
    sum = words(sum, p, n / WORD_BYTES);
    p += n / WORD_BYTES * WORD_BYTES;
    for (size_t i = 0; i < n % WORD_BYTES; i++)
        sum = _mm_crc32_u8(sum, (unsigned char)p[i]);
    return sum;
}

#endif

uint32_t crc32c_portable(uint32_t sum, struct str bytes)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2"))
        return by_instruction(sum, bytes);
#endif
    return crc32c_by_table(sum, bytes);
}
