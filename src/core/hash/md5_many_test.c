/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hash/md5_many.h"

#include "core/test.h"

enum { TEXTS_MAX = 40, TEXT_MAX = 9000 };

static void check_lengths(enum md5_way way, const char *bytes, size_t count, size_t first,
                          size_t step)
{
    struct md5_job jobs[TEXTS_MAX] = {{{NULL, 0}, NULL}};
    unsigned char got[TEXTS_MAX][MD5_BYTES];
    for (size_t i = 0; i < count; i++) {
        size_t length = (first + i * step) % TEXT_MAX;
        jobs[i] = (struct md5_job){{bytes + TEXT_MAX - length, length}, got[i]};
    }
    md5_many_by(way, jobs, count);
    for (size_t i = 0; i < count; i++) {
        unsigned char want[MD5_BYTES];
        struct md5 state;
        md5_init(&state);
        md5_update(&state, jobs[i].bytes);
        md5_final(&state, want);
        CHECK(memcmp(got[i], want, MD5_BYTES) == 0);
    }
}

static void fill(char *bytes)
{
    uint32_t random = 1;
    for (size_t i = 0; i < TEXT_MAX; i++) {
        random = random * 1664525 + 1013904223;
        bytes[i] = (char)(random >> 24);
    }
}

/* All implementations that this processor supports. */
void test_md5_many_of_any_count(void)
{
    char bytes[TEXT_MAX];
    fill(bytes);
    for (int way = MD5_ONE_BY_ONE; way <= (int)md5_best_way(); way++)
        for (size_t count = 0; count <= TEXTS_MAX; count++)
            check_lengths((enum md5_way)way, bytes, count, 4096, 0);
}

void test_md5_many_of_any_length(void)
{
    char bytes[TEXT_MAX];
    fill(bytes);
    for (int way = MD5_ONE_BY_ONE; way <= (int)md5_best_way(); way++) {
        for (size_t first = 0; first < 300; first++)
            check_lengths((enum md5_way)way, bytes, 17, first, 1);
        for (size_t step = 1; step < 2000; step += 37)
            check_lengths((enum md5_way)way, bytes, TEXTS_MAX, step, step);
    }
}

/* RFC 1321, A.5, so that OpenSSL is not the only reference; sixteen of them, one in each lane.
 */
void test_md5_many_known_texts(void)
{
    static const struct {
        const char *text, *md5;
    } KNOWN[] = {
        {"", "\xd4\x1d\x8c\xd9\x8f\x00\xb2\x04\xe9\x80\x09\x98\xec\xf8\x42\x7e"},
        {"abc", "\x90\x01\x50\x98\x3c\xd2\x4f\xb0\xd6\x96\x3f\x7d\x28\xe1\x7f\x72"},
        {"message digest", "\xf9\x6b\x69\x7d\x7c\xb7\x93\x8d\x52\x5a\x2f\x31\xaa\xf1\x61\xd0"},
        {"1234567890123456789012345678901234567890123456789012345678901234567890123456789"
         "0",
         "\x57\xed\xf4\xa2\x2b\xe3\xc9\x55\xac\x49\xda\x2e\x21\x07\xb6\x7a"},
    };
    enum { KNOWN_COUNT = sizeof KNOWN / sizeof KNOWN[0] };
    for (int way = MD5_ONE_BY_ONE; way <= (int)md5_best_way(); way++) {
        struct md5_job jobs[MD5_LANES_MAX];
        unsigned char got[MD5_LANES_MAX][MD5_BYTES];
        for (size_t i = 0; i < MD5_LANES_MAX; i++)
            jobs[i] = (struct md5_job){str_of(KNOWN[i % KNOWN_COUNT].text), got[i]};
        md5_many_by((enum md5_way)way, jobs, MD5_LANES_MAX);
        for (size_t i = 0; i < MD5_LANES_MAX; i++)
            CHECK(memcmp(got[i], KNOWN[i % KNOWN_COUNT].md5, MD5_BYTES) == 0);
    }
}

/* Each text is fed in pieces of different lengths, together with the others; the result is that of
 * one text alone. */
static void check_feeds(enum md5_way way, const char *bytes, size_t count, size_t first,
                        size_t step)
{
    struct md5 states[TEXTS_MAX];
    size_t fed[TEXTS_MAX] = {0};
    for (size_t i = 0; i < count; i++)
        md5_init(&states[i]);
    for (size_t round = 0; round < 4; round++) {
        struct md5_feed feeds[TEXTS_MAX] = {{NULL, {NULL, 0}}};
        for (size_t i = 0; i < count; i++) {
            size_t length = (first + i * step + round * 64) % (TEXT_MAX / 4);
            feeds[i] = (struct md5_feed){&states[i], {bytes + fed[i], length}};
            fed[i] += length;
        }
        md5_many_update_by(way, feeds, count);
    }
    for (size_t i = 0; i < count; i++) {
        unsigned char got[MD5_BYTES], want[MD5_BYTES];
        struct md5 state;
        md5_init(&state);
        md5_update(&state, (struct str){bytes, fed[i]});
        md5_final(&state, want);
        md5_final(&states[i], got);
        CHECK(memcmp(got, want, MD5_BYTES) == 0);
    }
}

void test_md5_many_update(void)
{
    char bytes[TEXT_MAX];
    fill(bytes);
    for (int i = MD5_ONE_BY_ONE; i <= (int)md5_best_way(); i++) {
        enum md5_way way = (enum md5_way)i;
        for (size_t count = 0; count <= TEXTS_MAX; count++)
            check_feeds(way, bytes, count, 1024, 0);
        for (size_t count = 2; count <= 18; count++)
            for (size_t first = 0; first < 200; first += 3)
                check_feeds(way, bytes, count, first, 64);
        for (size_t step = 1; step < 200; step += 7)
            check_feeds(way, bytes, 17, 64, step);
    }
}

/* Implementations differ by processor; this one may support several. Begins with arbitrary
 * states. */
void test_md5_lanes_by_each_way(void)
{
    char bytes[TEXT_MAX];
    const char *from[MD5_LANES_MAX];
    struct md5_lanes first, want;
    fill(bytes);
    CHECK_INT(md5_lanes_for(MD5_ONE_BY_ONE, 16), 0);
    CHECK_INT(md5_lanes_for(MD5_BY_AVX2, 16), 8);
    CHECK_INT(md5_lanes_for(MD5_BY_AVX512, 8), 8);
    CHECK_INT(md5_lanes_for(MD5_BY_AVX512, 9), 16);
    for (size_t i = 0; i < MD5_LANES_MAX; i++) {
        from[i] = bytes + 7 * i;
        for (size_t w = 0; w < MD5_WORDS; w++)
            first.words[w][i] = (uint32_t)(w * 0x9E3779B9U + i);
    }
    want = first;
    if (md5_best_way() >= MD5_BY_AVX2)
        md5_add_blocks(MD5_BY_AVX2, &want, from, 8, 100);
    for (int way = MD5_BY_AVX512; way <= (int)md5_best_way(); way++)
        for (size_t lanes = 8; lanes <= MD5_LANES_MAX; lanes += 8) {
            struct md5_lanes got = first;
            md5_add_blocks((enum md5_way)way, &got, from, lanes, 100);
            for (size_t w = 0; w < MD5_WORDS; w++)
                CHECK(memcmp(got.words[w], want.words[w], 8 * sizeof(uint32_t)) == 0);
        }
}
