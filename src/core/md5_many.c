/* SPDX-License-Identifier: Apache-2.0 */
#include "core/md5_many.h"

enum {
    BLOCK_BYTES = 64,
    BLOCK_WORDS = 16,
    LANES = 8, /* of a register */
    FEW = 2,   /* up to so many are faster one after the other */
};

static void md5_one(const struct md5_job *job)
{
    struct md5 state;
    md5_init(&state);
    md5_update(&state, job->bytes);
    md5_final(&state, job->out);
}

#if defined(__x86_64__)
#include <immintrin.h>

typedef uint32_t lanes __attribute__((vector_size(LANES * sizeof(uint32_t))));

/* One text on its way: its whole blocks, then the one or two that end it (RFC 1321, 3.1 and 3.2).
 */
struct lane {
    const char *bytes;
    size_t whole;
    size_t blocks;
    char end[2 * BLOCK_BYTES];
};

static void lane_init(struct lane *l, struct str bytes)
{
    size_t rest = bytes.n % BLOCK_BYTES;
    size_t ends = rest + 1 + sizeof(uint64_t) <= BLOCK_BYTES ? 1 : 2;
    uint64_t bits = (uint64_t)bytes.n * 8;
    l->bytes = bytes.p;
    l->whole = bytes.n / BLOCK_BYTES;
    l->blocks = l->whole + ends;
    memset(l->end, 0, sizeof l->end);
    if (rest > 0)
        memcpy(l->end, bytes.p + bytes.n - rest, rest);
    l->end[rest] = (char)0x80;
    memcpy(l->end + ends * BLOCK_BYTES - sizeof bits, &bits, sizeof bits);
}

/* A lane that is done goes on with what is at hand: its outcome has been taken. */
static const char *lane_block(const struct lane *l, size_t block)
{
    if (block < l->whole)
        return l->bytes + block * BLOCK_BYTES;
    return l->end + (block < l->blocks ? block - l->whole : 0) * BLOCK_BYTES;
}

#define F1(x, y, z) ((z) ^ ((x) & ((y) ^ (z))))
#define F2(x, y, z) ((y) ^ ((z) & ((x) ^ (y))))
#define F3(x, y, z) ((x) ^ (y) ^ (z))
#define F4(x, y, z) ((y) ^ ((x) | ~(z)))

#define STEP(f, a, b, c, d, word, constant, shift) \
    sum = (a) + f(b, c, d) + m[word] + (constant); \
    (a) = (b) + (sum << (shift) | sum >> (32 - (shift)));
#define STEPS(f, w0, w1, w2, w3, k0, k1, k2, k3, s0, s1, s2, s3) \
    STEP(f, a, b, c, d, w0, k0, s0)                              \
    STEP(f, d, a, b, c, w1, k1, s1)                              \
    STEP(f, c, d, a, b, w2, k2, s2)                              \
    STEP(f, b, c, d, a, w3, k3, s3)
#define ROUND1(...) STEPS(F1, __VA_ARGS__, 7, 12, 17, 22)
#define ROUND2(...) STEPS(F2, __VA_ARGS__, 5, 9, 14, 20)
#define ROUND3(...) STEPS(F3, __VA_ARGS__, 4, 11, 16, 23)
#define ROUND4(...) STEPS(F4, __VA_ARGS__, 6, 10, 15, 21)

/* The constants are the sines of RFC 1321, 3.4; test_md5_many_* holds the whole against OpenSSL. */
__attribute__((target("avx2"))) static void add_block(lanes state[4], lanes m[BLOCK_WORDS])
{
    lanes a = state[0], b = state[1], c = state[2], d = state[3];
    lanes sum;
    // clang-format off
    ROUND1(0, 1, 2, 3,     0xd76aa478U, 0xe8c7b756U, 0x242070dbU, 0xc1bdceeeU)
    ROUND1(4, 5, 6, 7,     0xf57c0fafU, 0x4787c62aU, 0xa8304613U, 0xfd469501U)
    ROUND1(8, 9, 10, 11,   0x698098d8U, 0x8b44f7afU, 0xffff5bb1U, 0x895cd7beU)
    ROUND1(12, 13, 14, 15, 0x6b901122U, 0xfd987193U, 0xa679438eU, 0x49b40821U)
    ROUND2(1, 6, 11, 0,    0xf61e2562U, 0xc040b340U, 0x265e5a51U, 0xe9b6c7aaU)
    ROUND2(5, 10, 15, 4,   0xd62f105dU, 0x02441453U, 0xd8a1e681U, 0xe7d3fbc8U)
    ROUND2(9, 14, 3, 8,    0x21e1cde6U, 0xc33707d6U, 0xf4d50d87U, 0x455a14edU)
    ROUND2(13, 2, 7, 12,   0xa9e3e905U, 0xfcefa3f8U, 0x676f02d9U, 0x8d2a4c8aU)
    ROUND3(5, 8, 11, 14,   0xfffa3942U, 0x8771f681U, 0x6d9d6122U, 0xfde5380cU)
    ROUND3(1, 4, 7, 10,    0xa4beea44U, 0x4bdecfa9U, 0xf6bb4b60U, 0xbebfbc70U)
    ROUND3(13, 0, 3, 6,    0x289b7ec6U, 0xeaa127faU, 0xd4ef3085U, 0x04881d05U)
    ROUND3(9, 12, 15, 2,   0xd9d4d039U, 0xe6db99e5U, 0x1fa27cf8U, 0xc4ac5665U)
    ROUND4(0, 7, 14, 5,    0xf4292244U, 0x432aff97U, 0xab9423a7U, 0xfc93a039U)
    ROUND4(12, 3, 10, 1,   0x655b59c3U, 0x8f0ccc92U, 0xffeff47dU, 0x85845dd1U)
    ROUND4(8, 15, 6, 13,   0x6fa87e4fU, 0xfe2ce6e0U, 0xa3014314U, 0x4e0811a1U)
    ROUND4(4, 11, 2, 9,    0xf7537e82U, 0xbd3af235U, 0x2ad7d2bbU, 0xeb86d391U)
    // clang-format on
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

/* Eight words each of eight lanes: rows become columns, by pairs, by fours, by halves. */
__attribute__((target("avx2"))) static void turn(const char *const from[LANES], size_t at,
                                                 lanes *to)
{
    __m256i row[LANES], pair[LANES], four[LANES];
    for (int i = 0; i < LANES; i++)
        row[i] = _mm256_loadu_si256((const __m256i *)(const void *)(from[i] + at));
    for (int i = 0; i < LANES; i += 2) {
        pair[i] = _mm256_unpacklo_epi32(row[i], row[i + 1]);
        pair[i + 1] = _mm256_unpackhi_epi32(row[i], row[i + 1]);
    }
    for (int i = 0; i < LANES; i += 4) {
        four[i] = _mm256_unpacklo_epi64(pair[i], pair[i + 2]);
        four[i + 1] = _mm256_unpackhi_epi64(pair[i], pair[i + 2]);
        four[i + 2] = _mm256_unpacklo_epi64(pair[i + 1], pair[i + 3]);
        four[i + 3] = _mm256_unpackhi_epi64(pair[i + 1], pair[i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        to[i] = (lanes)_mm256_permute2x128_si256(four[i], four[i + 4], 0x20);
        to[i + 4] = (lanes)_mm256_permute2x128_si256(four[i], four[i + 4], 0x31);
    }
}

/* Word w of all lanes comes to m[w]. */
static void lay_out(const struct lane *l, size_t block, lanes m[BLOCK_WORDS])
{
    const char *from[LANES];
    for (size_t i = 0; i < LANES; i++)
        from[i] = lane_block(&l[i], block);
    turn(from, 0, m);
    turn(from, BLOCK_BYTES / 2, m + LANES);
}

static void take_outcome(const lanes state[4], size_t lane, unsigned char *out)
{
    for (size_t w = 0; w < 4; w++) {
        uint32_t word = state[w][lane];
        memcpy(out + w * sizeof word, &word, sizeof word);
    }
}

static void md5_side_by_side(const struct md5_job *jobs, size_t count)
{
    struct lane l[LANES];
    lanes state[4] = {(lanes){0} + 0x67452301U, (lanes){0} + 0xefcdab89U, (lanes){0} + 0x98badcfeU,
                      (lanes){0} + 0x10325476U};
    lanes m[BLOCK_WORDS];
    size_t blocks = 0;
    for (size_t i = 0; i < LANES; i++) {
        lane_init(&l[i], i < count ? jobs[i].bytes : STR(""));
        blocks = l[i].blocks > blocks ? l[i].blocks : blocks;
    }
    for (size_t block = 0; block < blocks; block++) {
        lay_out(l, block, m);
        add_block(state, m);
        for (size_t i = 0; i < count; i++)
            if (l[i].blocks == block + 1)
                take_outcome(state, i, jobs[i].out);
    }
}

/* Whole blocks of up to LANES texts, as many as the shortest has. Returns the bytes taken of each;
 * 0 when a state holds a part of a block. */
static size_t feed_side_by_side(const struct md5_feed *feeds, size_t count)
{
    uint32_t words[LANES][4];
    struct lane l[LANES];
    lanes state[4];
    lanes m[BLOCK_WORDS];
    size_t blocks = SIZE_MAX;
    for (size_t i = 0; i < LANES; i++) {
        const struct md5_feed *feed = &feeds[i < count ? i : 0];
        if (!md5_words(feed->state, words[i]))
            return 0;
        l[i] = (struct lane){.bytes = feed->bytes.p, .whole = feed->bytes.n / BLOCK_BYTES};
        blocks = l[i].whole < blocks ? l[i].whole : blocks;
        for (size_t w = 0; w < 4; w++)
            state[w][i] = words[i][w];
    }
    for (size_t block = 0; block < blocks; block++) {
        lay_out(l, block, m);
        add_block(state, m);
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t w = 0; w < 4; w++)
            words[i][w] = state[w][i];
        md5_set_words(feeds[i].state, words[i], blocks * BLOCK_BYTES);
    }
    return blocks * BLOCK_BYTES;
}

void md5_many_update(const struct md5_feed *feeds, size_t count)
{
    while (count > 0) {
        size_t part = count < LANES ? count : LANES;
        size_t taken =
            part > FEW && __builtin_cpu_supports("avx2") ? feed_side_by_side(feeds, part) : 0;
        for (size_t i = 0; i < part; i++)
            md5_update(feeds[i].state, str_from(feeds[i].bytes, taken));
        feeds += part;
        count -= part;
    }
}

void md5_many(const struct md5_job *jobs, size_t count)
{
    while (count > FEW && __builtin_cpu_supports("avx2")) {
        size_t part = count < LANES ? count : LANES;
        md5_side_by_side(jobs, part);
        jobs += part;
        count -= part;
    }
    for (size_t i = 0; i < count; i++)
        md5_one(&jobs[i]);
}

#else

void md5_many_update(const struct md5_feed *feeds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        md5_update(feeds[i].state, feeds[i].bytes);
}

void md5_many(const struct md5_job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        md5_one(&jobs[i]);
}

#endif
