/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hash/md5_lanes.h"

#include <assert.h>

#if defined(__x86_64__)
#include <immintrin.h>

enum { BLOCK_WORDS = 16, EIGHT = 8, SIXTEEN = 16 };

/* The sines of RFC 1321, 3.4. */
// clang-format off
static const uint32_t SINES[64] = {
    0xd76aa478U, 0xe8c7b756U, 0x242070dbU, 0xc1bdceeeU, 0xf57c0fafU, 0x4787c62aU, 0xa8304613U, 0xfd469501U,
    0x698098d8U, 0x8b44f7afU, 0xffff5bb1U, 0x895cd7beU, 0x6b901122U, 0xfd987193U, 0xa679438eU, 0x49b40821U,
    0xf61e2562U, 0xc040b340U, 0x265e5a51U, 0xe9b6c7aaU, 0xd62f105dU, 0x02441453U, 0xd8a1e681U, 0xe7d3fbc8U,
    0x21e1cde6U, 0xc33707d6U, 0xf4d50d87U, 0x455a14edU, 0xa9e3e905U, 0xfcefa3f8U, 0x676f02d9U, 0x8d2a4c8aU,
    0xfffa3942U, 0x8771f681U, 0x6d9d6122U, 0xfde5380cU, 0xa4beea44U, 0x4bdecfa9U, 0xf6bb4b60U, 0xbebfbc70U,
    0x289b7ec6U, 0xeaa127faU, 0xd4ef3085U, 0x04881d05U, 0xd9d4d039U, 0xe6db99e5U, 0x1fa27cf8U, 0xc4ac5665U,
    0xf4292244U, 0x432aff97U, 0xab9423a7U, 0xfc93a039U, 0x655b59c3U, 0x8f0ccc92U, 0xffeff47dU, 0x85845dd1U,
    0x6fa87e4fU, 0xfe2ce6e0U, 0xa3014314U, 0x4e0811a1U, 0xf7537e82U, 0xbd3af235U, 0x2ad7d2bbU, 0xeb86d391U,
};
// clang-format on

/* Eight words each of eight lanes: rows become columns, by pairs, by fours, by halves. */
__attribute__((target("avx2"), always_inline)) static inline void
turn(const char *const from[EIGHT], size_t at, __m256i to[EIGHT])
{
    __m256i row[EIGHT], pair[EIGHT], four[EIGHT];
#pragma GCC unroll 8
    for (int i = 0; i < EIGHT; i++)
        row[i] = _mm256_loadu_si256((const __m256i *)(const void *)(from[i] + at));
#pragma GCC unroll 4
    for (int i = 0; i < EIGHT; i += 2) {
        pair[i] = _mm256_unpacklo_epi32(row[i], row[i + 1]);
        pair[i + 1] = _mm256_unpackhi_epi32(row[i], row[i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < EIGHT; i += 4) {
        four[i] = _mm256_unpacklo_epi64(pair[i], pair[i + 2]);
        four[i + 1] = _mm256_unpackhi_epi64(pair[i], pair[i + 2]);
        four[i + 2] = _mm256_unpacklo_epi64(pair[i + 1], pair[i + 3]);
        four[i + 3] = _mm256_unpackhi_epi64(pair[i + 1], pair[i + 3]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        to[i] = _mm256_permute2x128_si256(four[i], four[i + 4], 0x20);
        to[i + 4] = _mm256_permute2x128_si256(four[i], four[i + 4], 0x31);
    }
}

/* One step, with the vector F1 to F4, ADD, ROTATE and ALL (a word in all lanes). The terms that do
 * not depend on the previous step are added separately: compilers would mix them and lengthen the
 * dependency chain. */
#define STEP(f, a, b, c, d, at, word, shift)         \
    sum = ADD(a, ADD(m[word], ALL((int)sines[at]))); \
    __asm__("" : "+v"(sum));                         \
    sum = ADD(sum, f(b, c, d));                      \
    (a) = ADD(b, ROTATE(sum, shift));
#define STEPS(f, at, w0, w1, w2, w3, s0, s1, s2, s3) \
    STEP(f, a, b, c, d, at, w0, s0)                  \
    STEP(f, d, a, b, c, (at) + 1, w1, s1)            \
    STEP(f, c, d, a, b, (at) + 2, w2, s2)            \
    STEP(f, b, c, d, a, (at) + 3, w3, s3)
#define ROUND1(...) STEPS(F1, __VA_ARGS__, 7, 12, 17, 22)
#define ROUND2(...) STEPS(F2, __VA_ARGS__, 5, 9, 14, 20)
#define ROUND3(...) STEPS(F3, __VA_ARGS__, 4, 11, 16, 23)
#define ROUND4(...) STEPS(F4, __VA_ARGS__, 6, 10, 15, 21)
#define ROUNDS                 \
    ROUND1(0, 0, 1, 2, 3)      \
    ROUND1(4, 4, 5, 6, 7)      \
    ROUND1(8, 8, 9, 10, 11)    \
    ROUND1(12, 12, 13, 14, 15) \
    ROUND2(16, 1, 6, 11, 0)    \
    ROUND2(20, 5, 10, 15, 4)   \
    ROUND2(24, 9, 14, 3, 8)    \
    ROUND2(28, 13, 2, 7, 12)   \
    ROUND3(32, 5, 8, 11, 14)   \
    ROUND3(36, 1, 4, 7, 10)    \
    ROUND3(40, 13, 0, 3, 6)    \
    ROUND3(44, 9, 12, 15, 2)   \
    ROUND4(48, 0, 7, 14, 5)    \
    ROUND4(52, 12, 3, 10, 1)   \
    ROUND4(56, 8, 15, 6, 13)   \
    ROUND4(60, 4, 11, 2, 9)

/* The body of the functions below. test_md5_many_* holds it against OpenSSL. */
#define ADD_BLOCKS                                                              \
    VECTOR words[MD5_WORDS], m[BLOCK_WORDS], sum;                               \
    const uint32_t *sines = SINES;                                              \
    __asm__("" : "+r"(sines)); /* read: to build each of them takes longer */   \
    for (int w = 0; w < MD5_WORDS; w++)                                         \
        words[w] = LOAD(state->words[w]);                                       \
    for (size_t at = 0; at < blocks * MD5_BLOCK_BYTES; at += MD5_BLOCK_BYTES) { \
        VECTOR a = words[0], b = words[1], c = words[2], d = words[3];          \
        TURN ROUNDS words[0] = ADD(words[0], a);                                \
        words[1] = ADD(words[1], b);                                            \
        words[2] = ADD(words[2], c);                                            \
        words[3] = ADD(words[3], d);                                            \
    }                                                                           \
    for (int w = 0; w < MD5_WORDS; w++)                                         \
        STORE(state->words[w], words[w]);

/* ---- eight lanes ---- */

#define VECTOR      __m256i
#define LOAD(p)     _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define STORE(p, x) _mm256_storeu_si256((__m256i *)(void *)(p), x)
#define ALL(word)   _mm256_set1_epi32(word)
#define ADD(x, y)   _mm256_add_epi32(x, y)
#define TURN           \
    turn(from, at, m); \
    turn(from, at + MD5_BLOCK_BYTES / 2, m + EIGHT);

#define XOR(x, y)   _mm256_xor_si256(x, y)
#define F1(x, y, z) XOR(z, _mm256_and_si256(x, XOR(y, z)))
#define F2(x, y, z) XOR(y, _mm256_and_si256(z, XOR(x, y)))
#define F3(x, y, z) XOR(XOR(y, z), x)
#define F4(x, y, z) XOR(y, _mm256_or_si256(x, XOR(z, _mm256_set1_epi32(-1))))
#define ROTATE(x, shift) \
    _mm256_or_si256(_mm256_slli_epi32(x, shift), _mm256_srli_epi32(x, 32 - (shift)))

__attribute__((target("avx2"))) static void
eight_by_avx2(struct md5_lanes *state, const char *const from[EIGHT], size_t blocks)
{
    ADD_BLOCKS
}

#undef F1
#undef F2
#undef F3
#undef F4
#undef ROTATE

/* Here any function of three words is one instruction, and so is a rotation. */
#define F1(x, y, z)      _mm256_ternarylogic_epi32(x, y, z, 0xca)
#define F2(x, y, z)      _mm256_ternarylogic_epi32(x, y, z, 0xe4)
#define F3(x, y, z)      _mm256_ternarylogic_epi32(x, y, z, 0x96)
#define F4(x, y, z)      _mm256_ternarylogic_epi32(x, y, z, 0x39)
#define ROTATE(x, shift) _mm256_rol_epi32(x, shift)

__attribute__((target("avx2,avx512f,avx512vl"))) static void
eight_by_avx512(struct md5_lanes *state, const char *const from[EIGHT], size_t blocks)
{
    ADD_BLOCKS
}

#undef VECTOR
#undef LOAD
#undef STORE
#undef ALL
#undef ADD
#undef TURN
#undef F1
#undef F2
#undef F3
#undef F4
#undef ROTATE

/* ---- sixteen lanes ---- */

/* Sixteen words of sixteen lanes: by pairs, by fours, then the quarters of registers. */
__attribute__((target("avx512f"), always_inline)) static inline void
turn_wide(const char *const from[SIXTEEN], size_t at, __m512i to[SIXTEEN])
{
    __m512i row[SIXTEEN], pair[SIXTEEN];
#pragma GCC unroll 16
    for (int i = 0; i < SIXTEEN; i++)
        row[i] = _mm512_loadu_si512(from[i] + at);
#pragma GCC unroll 8
    for (int i = 0; i < SIXTEEN; i += 2) {
        pair[i] = _mm512_unpacklo_epi32(row[i], row[i + 1]);
        pair[i + 1] = _mm512_unpackhi_epi32(row[i], row[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < SIXTEEN; i += 4) {
        row[i] = _mm512_unpacklo_epi64(pair[i], pair[i + 2]);
        row[i + 1] = _mm512_unpackhi_epi64(pair[i], pair[i + 2]);
        row[i + 2] = _mm512_unpacklo_epi64(pair[i + 1], pair[i + 3]);
        row[i + 3] = _mm512_unpackhi_epi64(pair[i + 1], pair[i + 3]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        __m512i even = _mm512_shuffle_i32x4(row[i], row[i + 4], 0x88);
        __m512i odd = _mm512_shuffle_i32x4(row[i], row[i + 4], 0xdd);
        __m512i even_too = _mm512_shuffle_i32x4(row[i + 8], row[i + 12], 0x88);
        __m512i odd_too = _mm512_shuffle_i32x4(row[i + 8], row[i + 12], 0xdd);
        to[i] = _mm512_shuffle_i32x4(even, even_too, 0x88);
        to[i + 4] = _mm512_shuffle_i32x4(odd, odd_too, 0x88);
        to[i + 8] = _mm512_shuffle_i32x4(even, even_too, 0xdd);
        to[i + 12] = _mm512_shuffle_i32x4(odd, odd_too, 0xdd);
    }
}

#define VECTOR           __m512i
#define LOAD(p)          _mm512_loadu_si512(p)
#define STORE(p, x)      _mm512_storeu_si512(p, x)
#define ALL(word)        _mm512_set1_epi32(word)
#define ADD(x, y)        _mm512_add_epi32(x, y)
#define TURN             turn_wide(from, at, m);
#define F1(x, y, z)      _mm512_ternarylogic_epi32(x, y, z, 0xca)
#define F2(x, y, z)      _mm512_ternarylogic_epi32(x, y, z, 0xe4)
#define F3(x, y, z)      _mm512_ternarylogic_epi32(x, y, z, 0x96)
#define F4(x, y, z)      _mm512_ternarylogic_epi32(x, y, z, 0x39)
#define ROTATE(x, shift) _mm512_rol_epi32(x, shift)

__attribute__((target("avx512f"))) static void
sixteen_by_avx512(struct md5_lanes *state, const char *const from[SIXTEEN], size_t blocks)
{
    ADD_BLOCKS
}

/* ---- the choice ---- */

enum md5_way md5_best_way(void)
{
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
        return MD5_BY_AVX512;
    return __builtin_cpu_supports("avx2") ? MD5_BY_AVX2 : MD5_ONE_BY_ONE;
}

void md5_add_blocks(enum md5_way way, struct md5_lanes *state, const char *const from[],
                    size_t lanes, size_t blocks)
{
    assert(way <= md5_best_way() && lanes > 0 && lanes == md5_lanes_for(way, lanes));
    if (lanes == SIXTEEN)
        sixteen_by_avx512(state, from, blocks);
    else if (way == MD5_BY_AVX512)
        eight_by_avx512(state, from, blocks);
    else
        eight_by_avx2(state, from, blocks);
}

#else

enum { EIGHT = 8, SIXTEEN = 16 };

enum md5_way md5_best_way(void)
{
    return MD5_ONE_BY_ONE;
}

void md5_add_blocks(enum md5_way way, struct md5_lanes *state, const char *const from[],
                    size_t lanes, size_t blocks)
{
    (void)way;
    (void)state;
    (void)from;
    (void)lanes;
    (void)blocks;
    assert(false);
}

#endif

/* Eight of sixteen lanes take as long as all. */
size_t md5_lanes_for(enum md5_way way, size_t count)
{
    return way == MD5_ONE_BY_ONE ? 0 : way == MD5_BY_AVX512 && count > EIGHT ? SIXTEEN : EIGHT;
}
