/* SPDX-License-Identifier: Apache-2.0 */
#include "core/md5_many.h"

#include "core/md5_lanes.h"
#include "core/test.h"

enum { TEXTS_MAX = 40, TEXT_MAX = 9000 };

static void check_lengths(const char *bytes, size_t count, size_t first, size_t step)
{
    struct md5_job jobs[TEXTS_MAX] = {{{NULL, 0}, NULL}};
    unsigned char got[TEXTS_MAX][MD5_BYTES];
    for (size_t i = 0; i < count; i++) {
        size_t length = (first + i * step) % TEXT_MAX;
        jobs[i] = (struct md5_job){{bytes + TEXT_MAX - length, length}, got[i]};
    }
    md5_many(jobs, count);
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

void test_md5_many_of_any_count(void)
{
    char bytes[TEXT_MAX];
    fill(bytes);
    for (size_t count = 0; count <= TEXTS_MAX; count++)
        check_lengths(bytes, count, 4096, 0);
}

void test_md5_many_of_any_length(void)
{
    char bytes[TEXT_MAX];
    fill(bytes);
    for (size_t first = 0; first < 300; first++)
        check_lengths(bytes, 17, first, 1);
    for (size_t step = 1; step < 2000; step += 37)
        check_lengths(bytes, TEXTS_MAX, step, step);
}

/* Each text is fed in pieces of its own lengths, beside the others; the outcome is that of one text
 * alone. */
static void check_feeds(const char *bytes, size_t count, size_t first, size_t step)
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
        md5_many_update(feeds, count);
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
    for (size_t count = 0; count <= TEXTS_MAX; count++)
        check_feeds(bytes, count, 1024, 0);
    for (size_t count = 3; count <= 9; count++)
        for (size_t first = 0; first < 200; first += 3)
            check_feeds(bytes, count, first, 64);
    for (size_t step = 1; step < 200; step += 7)
        check_feeds(bytes, 17, 64, step);
}

/* Processors differ in how they compute it; this one may know both ways. */
void test_md5_many_by_each_way(void)
{
    char bytes[TEXT_MAX];
    const char *from[MD5_LANES];
    struct md5_lanes one, other;
    fill(bytes);
    if (!md5_has_lanes())
        return;
    for (size_t i = 0; i < MD5_LANES; i++) {
        from[i] = bytes + 7 * i;
        for (size_t w = 0; w < MD5_WORDS; w++)
            one.words[w][i] = other.words[w][i] = (uint32_t)(w * 0x9E3779B9U + i);
    }
    md5_add_blocks(&one, from, 100);
    md5_add_blocks_avx2(&other, from, 100);
    CHECK(memcmp(&one, &other, sizeof one) == 0);
}
