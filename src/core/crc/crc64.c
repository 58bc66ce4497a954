/* SPDX-License-Identifier: Apache-2.0 */
#include "core/crc/crc64.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { SLICES = 8 };

/* A table entry is the sum of one constant per bit of the byte, so 64 constants make the whole
 * table. They, the powers and the folding constants below were computed from the polynomial;
 * test_crc64_* holds them against a bit-by-bit implementation. */
#define BIT(i, n, c) (((i) >> (n)&1) * (c))
#define ENTRY(i, a, b, c, d, e, f, g, h)                                                      \
    BIT(i, 0, a) ^ BIT(i, 1, b) ^ BIT(i, 2, c) ^ BIT(i, 3, d) ^ BIT(i, 4, e) ^ BIT(i, 5, f) ^ \
        BIT(i, 6, g) ^ BIT(i, 7, h)
#define ENTRY4(i, ...)                                                           \
    ENTRY(i, __VA_ARGS__), ENTRY(i + 1, __VA_ARGS__), ENTRY(i + 2, __VA_ARGS__), \
        ENTRY(i + 3, __VA_ARGS__)
#define ENTRY16(i, ...)                                                             \
    ENTRY4(i, __VA_ARGS__), ENTRY4(i + 4, __VA_ARGS__), ENTRY4(i + 8, __VA_ARGS__), \
        ENTRY4(i + 12, __VA_ARGS__)
#define ENTRY64(i, ...)                                                                  \
    ENTRY16(i, __VA_ARGS__), ENTRY16(i + 16, __VA_ARGS__), ENTRY16(i + 32, __VA_ARGS__), \
        ENTRY16(i + 48, __VA_ARGS__)
#define SLICE(...)                                                                    \
    {                                                                                 \
        ENTRY64(0, __VA_ARGS__), ENTRY64(64, __VA_ARGS__), ENTRY64(128, __VA_ARGS__), \
            ENTRY64(192, __VA_ARGS__)                                                 \
    }

/* TABLE[k][b] is byte b's part of the remainder with k zero bytes after it. */
static const uint64_t TABLE[SLICES][256] = {
    SLICE(0x7F6EF0C830358979U, 0xFEDDE190606B12F2U, 0xC962E5739841B68FU, 0xA61CECB46814FE75U,
          0x78E0FF3B88BE6F81U, 0xF1C1FE77117CDF02U, 0xD75ADABD7A6E2D6FU, 0x9A6C9329AC4BC9B5U),
    SLICE(0x8776A97D73BDDF69U, 0x3A3474A9BFEC2DB9U, 0x7468E9537FD85B72U, 0xE8D1D2A6FFB0B6E4U,
          0xE57A831EA7F6FEA3U, 0xFE2C206E177A6E2DU, 0xC881668F76634F31U, 0xA5DBEB4DB4510D09U),
    SLICE(0xFF6E4E1F4E4038BEU, 0xCA05BA6DC417E217U, 0xA0D25288D0B85745U, 0x757D8342F9E73DE1U,
          0xEAFB0685F3CE7BC2U, 0xE12F2B58BF0B64EFU, 0xF68770E226815AB5U, 0xD9D7C79715952601U),
    SLICE(0x8211147CBAF96306U, 0x30FB0EAA2D655567U, 0x61F61D545ACAAACEU, 0xC3EC3AA8B595559CU,
          0xB301530233BD3853U, 0x52DB80573FEDE3CDU, 0xA5B700AE7FDBC79AU, 0x7FB7270FA7201C5FU),
    SLICE(0x373D15F784905D1EU, 0x6E7A2BEF0920BA3CU, 0xDCF457DE12417478U, 0x8D3189EF7C157B9BU,
          0x2EBA358DA0BD645DU, 0x5D746B1B417AC8BAU, 0xBAE8D63682F59174U, 0x41088A3E5D7CB183U),
    SLICE(0xE9742A79EF04A5D4U, 0xE63172A0869ED8C3U, 0xF8BBC31255AA22EDU, 0xC5AEA077F3C3D6B1U,
          0xBF8466BCBF103E09U, 0x4BD1EB2A26B7EF79U, 0x97A3D6544D6FDEF2U, 0x1B9E8AFBC2482E8FU),
    SLICE(0xFC5D27F6BF353971U, 0xCC6369BE26FDE189U, 0xAC1FF52F156C5079U, 0x6CE6CC0D724F3399U,
          0xD9CD981AE49E6732U, 0x8742166691AB5D0FU, 0x3A5D0A9E7BC12975U, 0x74BA153CF78252EAU),
    SLICE(0x21E9761E252621ACU, 0x43D2EC3C4A4C4358U, 0x87A5D878949886B0U, 0x3B9296A271A69E0BU,
          0x77252D44E34D3C16U, 0xEE4A5A89C69A782CU, 0xE84D9340D5A36333U, 0xE44200D2F3D1550DU),
};

/* x to the power of 8 * 2^k, modulo the polynomial: what appending 2^k bytes multiplies by. */
static const uint64_t APPEND_POWER[61] = {
    0x0080000000000000U, 0x0000800000000000U, 0x0000000080000000U, 0x9A6C9329AC4BC9B5U,
    0x10F4BB0F129310D6U, 0x70F05DCEA2EBD226U, 0x311211205672822DU, 0x2FC297DB0F46C96EU,
    0xCA4D536FABF7DA84U, 0xFB4CDC3B379EE6EDU, 0xEA261148DF25140AU, 0x59CCB2C07AA6C9B4U,
    0x20B3674A839AF27AU, 0x2D8E1986DA94D583U, 0x42CDF4C20337635DU, 0x1D78724BF0F26839U,
    0xB96C84E0AFB34BD5U, 0x5D2E1FCD2DF0A3EAU, 0xCD9506572332BE42U, 0x23BDA2427F7D690FU,
    0x347A953232374F07U, 0x1C2A807AC2A8CEEAU, 0x9B92AD0E14FE1460U, 0x2574114889F670B2U,
    0x4A84A6C45E3BF520U, 0x915BBAC21CD1C7FFU, 0xB0290EC579F291F5U, 0xCF2548505C624E6EU,
    0xB154F27BF08A8207U, 0xCE4E92344BAF7D35U, 0x51DA8D7E057C5EB3U, 0x9FB10823F5BE15DFU,
    0x73B825B3FF1F71CFU, 0x5DB436C5406EBB74U, 0xFA7ED8F3EC3F2BCAU, 0xC4D58EFDC61B9EF6U,
    0xA7E39E61E855BD45U, 0x97AD46F9DD1BF2F1U, 0x1A0ABB01F853EE6BU, 0x3F0827C3348F8215U,
    0x4EB68C4506134607U, 0x4A46F6DE5DF34E0AU, 0x2D855D6A1C57A8DDU, 0x8688DA58E1115812U,
    0x5232F417FC7C7300U, 0xA4080FB2E767D8DAU, 0xD515A7E17693E562U, 0x1181F7C862E94226U,
    0x9E23CD058204CA91U, 0x9B8992C57A0AED82U, 0xB2C0AFB84609B6FFU, 0x2F7160553A5EA018U,
    0x3CD378B5C99F2722U, 0x814054AD61A3B058U, 0xBF766189FCE806D8U, 0x85A5E898AC49F86FU,
    0x34830D11BC84F346U, 0x9644D95B173C8C1CU, 0x150401AC9AC759B1U, 0xEBE1F7F46FB00EBAU,
    0x8EE4CE0C2E2BD662U,
};

static uint64_t load_le64(const char *p)
{
    uint64_t value;
    memcpy(&value, p, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

/* On the raw remainder, without the ones in and out. */
static uint64_t remainder_by_table(uint64_t r, const char *p, size_t n)
{
    for (; n >= 8; p += 8, n -= 8) {
        r ^= load_le64(p);
        r = TABLE[7][r & 255] ^ TABLE[6][r >> 8 & 255] ^ TABLE[5][r >> 16 & 255] ^
            TABLE[4][r >> 24 & 255] ^ TABLE[3][r >> 32 & 255] ^ TABLE[2][r >> 40 & 255] ^
            TABLE[1][r >> 48 & 255] ^ TABLE[0][r >> 56];
    }
    for (; n > 0; p++, n--)
        r = r >> 8 ^ TABLE[0][(r ^ (unsigned char)*p) & 255];
    return r;
}

uint64_t crc64_by_table(uint64_t before, struct str bytes)
{
    return ~remainder_by_table(~before, bytes.p, bytes.n);
}

#if defined(__x86_64__)

#define CLMUL_TARGET __attribute__((target("pclmul,sse4.1")))

enum { FOLD_BYTES = 128, FOLD_LANES = FOLD_BYTES / 16, CLMUL_BYTES_MIN = 2 * FOLD_BYTES };

/* Moves a lane forward over the message by the distance that its two constants represent: x to the
 * power of (distance + 63) and (distance - 1), modulo the polynomial, both reflected. */
CLMUL_TARGET static inline __m128i fold(__m128i lane, __m128i by, __m128i next)
{
    __m128i low = _mm_clmulepi64_si128(lane, by, 0x00);
    __m128i high = _mm_clmulepi64_si128(lane, by, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

CLMUL_TARGET static inline __m128i load_lane(const char *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* Lanes of 16 bytes each are a message with the same remainder. They and the rest of the message
 * are folded into one lane, which the table finishes: cheaper to read than a Barrett reduction, and
 * the difference is lost in 256 bytes. */
CLMUL_TARGET static uint64_t remainder_of_lanes(const char *lanes, size_t count, const char *p,
                                                size_t n)
{
    const __m128i by_128 =
        _mm_set_epi64x((long long)0x21E9761E252621AC, (long long)0xEADC41FD2BA3D420);
    char folded[16];
    __m128i one = load_lane(lanes);
    for (size_t i = 1; i < count; i++)
        one = fold(one, by_128, load_lane(lanes + 16 * i));
    for (; n >= 16; p += 16, n -= 16)
        one = fold(one, by_128, load_lane(p));
    _mm_storeu_si128((__m128i *)(void *)folded, one);
    return remainder_by_table(remainder_by_table(0, folded, sizeof folded), p, n);
}

/* Eight lanes move over the message, 128 bytes a turn. n >= CLMUL_BYTES_MIN. */
CLMUL_TARGET static uint64_t remainder_by_clmul(uint64_t r, const char *p, size_t n)
{
    const __m128i by_1024 =
        _mm_set_epi64x((long long)0x5F852FB61E8D92DC, (long long)0xA1CA681E733F9C40);
    __m128i lanes[FOLD_LANES];
#pragma GCC unroll 8
    for (size_t i = 0; i < FOLD_LANES; i++)
        lanes[i] = load_lane(p + 16 * i);
    lanes[0] = _mm_xor_si128(lanes[0], _mm_set_epi64x(0, (long long)r));
    for (p += FOLD_BYTES, n -= FOLD_BYTES; n >= FOLD_BYTES; p += FOLD_BYTES, n -= FOLD_BYTES)
#pragma GCC unroll 8
        for (size_t i = 0; i < FOLD_LANES; i++)
            lanes[i] = fold(lanes[i], by_1024, load_lane(p + 16 * i));
    char moved[FOLD_BYTES];
#pragma GCC unroll 8
    for (size_t i = 0; i < FOLD_LANES; i++)
        _mm_storeu_si128((__m128i *)(void *)(moved + 16 * i), lanes[i]);
    return remainder_of_lanes(moved, FOLD_LANES, p, n);
}

#define WIDE_TARGET __attribute__((target("vpclmulqdq,avx512f")))

enum { WIDE_BYTES = 256, WIDE_REGISTERS = WIDE_BYTES / 64, WIDE_BYTES_MIN = 2 * WIDE_BYTES };

/* The same with four lanes in each of four registers, 256 bytes per iteration. n >= WIDE_BYTES_MIN.
 */
WIDE_TARGET static uint64_t remainder_by_wide_clmul(uint64_t r, const char *p, size_t n)
{
    const __m512i by_2048 = _mm512_broadcast_i32x4(
        _mm_set_epi64x((long long)0xA043808C0F782663, (long long)0x37CCD3E14069CABC));
    __m512i lanes[WIDE_REGISTERS];
#pragma GCC unroll 4
    for (size_t i = 0; i < WIDE_REGISTERS; i++)
        lanes[i] = _mm512_loadu_si512(p + 64 * i);
    lanes[0] = _mm512_xor_si512(lanes[0], _mm512_zextsi128_si512(_mm_set_epi64x(0, (long long)r)));
    for (p += WIDE_BYTES, n -= WIDE_BYTES; n >= WIDE_BYTES; p += WIDE_BYTES, n -= WIDE_BYTES)
#pragma GCC unroll 4
        for (size_t i = 0; i < WIDE_REGISTERS; i++)
            lanes[i] = _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(lanes[i], by_2048, 0x00),
                                                 _mm512_clmulepi64_epi128(lanes[i], by_2048, 0x11),
                                                 _mm512_loadu_si512(p + 64 * i), 0x96);
    char moved[WIDE_BYTES];
#pragma GCC unroll 4
    for (size_t i = 0; i < WIDE_REGISTERS; i++)
        _mm512_storeu_si512(moved + 64 * i, lanes[i]);
    return remainder_of_lanes(moved, WIDE_BYTES / 16, p, n);
}

static bool has_wide_clmul(void)
{
    return __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512f");
}

uint64_t crc64(uint64_t before, struct str bytes)
{
    if (bytes.n >= WIDE_BYTES_MIN && has_wide_clmul())
        return ~remainder_by_wide_clmul(~before, bytes.p, bytes.n);
    if (bytes.n >= CLMUL_BYTES_MIN && __builtin_cpu_supports("pclmul"))
        return ~remainder_by_clmul(~before, bytes.p, bytes.n);
    return crc64_by_table(before, bytes);
}

#else

uint64_t crc64(uint64_t before, struct str bytes)
{
    return crc64_by_table(before, bytes);
}

#endif

/* Product of two reflected polynomials modulo the polynomial. */
static uint64_t multiply(uint64_t a, uint64_t b)
{
    uint64_t product = 0;
    for (; a != 0; a <<= 1) {
        product ^= b & (0 - (a >> 63));
        b = b >> 1 ^ (0x9A6C9329AC4BC9B5U & (0 - (b & 1)));
    }
    return product;
}

/* The inversions at the beginning and at the end cancel out: joining is linear in the finished
 * checksums. */
uint64_t crc64_join(uint64_t first, uint64_t second, uint64_t second_length)
{
    for (unsigned k = 0; second_length != 0; k++, second_length >>= 1)
        if ((second_length & 1) != 0)
            first = multiply(first, APPEND_POWER[k]);
    return first ^ second;
}
