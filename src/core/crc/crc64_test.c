/* SPDX-License-Identifier: Apache-2.0 */
#include "core/crc/crc64.h"

#include "core/test.h"

static uint64_t crc64_by_bit(struct str bytes)
{
    uint64_t r = UINT64_MAX;
    for (size_t i = 0; i < bytes.n; i++) {
        r ^= (unsigned char)bytes.p[i];
        for (int bit = 0; bit < 8; bit++)
            r = r >> 1 ^ ((r & 1) != 0 ? 0x9A6C9329AC4BC9B5U : 0);
    }
    return ~r;
}

static struct str sample(char *memory, size_t n)
{
    uint32_t seed = 12345;
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        memory[i] = (char)(seed >> 24);
    }
    return (struct str){memory, n};
}

void test_crc64_known(void)
{
    CHECK(crc64(0, STR("123456789")) == 0xAE8B14860A799888U);
    CHECK(crc64(0, STR_NONE) == 0);
    CHECK(crc64_by_table(0, STR("123456789")) == 0xAE8B14860A799888U);
}

void test_crc64_every_length(void)
{
    static char memory[1200];
    struct str all = sample(memory, sizeof memory);
    for (size_t n = 0; n < all.n; n++) {
        struct str part = str_from(all, all.n - n);
        uint64_t want = crc64_by_bit(part);
        CHECK(crc64_by_table(0, part) == want);
        CHECK(crc64(0, part) == want);
    }
}

void test_crc64_in_steps(void)
{
    static char memory[4000];
    struct str all = sample(memory, sizeof memory);
    uint64_t want = crc64_by_bit(all);
    for (size_t step = 1; step < 1000; step += 7) {
        uint64_t sum = 0;
        for (size_t at = 0; at < all.n; at += step)
            sum = crc64(sum, str_head(str_from(all, at), step));
        CHECK(sum == want);
    }
}

void test_crc64_join(void)
{
    static char memory[3000];
    struct str all = sample(memory, sizeof memory);
    uint64_t want = crc64(0, all);
    for (size_t at = 0; at <= all.n; at += 13) {
        uint64_t first = crc64(0, str_head(all, at));
        uint64_t second = crc64(0, str_from(all, at));
        CHECK(crc64_join(first, second, all.n - at) == want);
    }
    CHECK(crc64_join(want, 0, 0) == want);
}

/* Lengths whose high bits matter: 2^40 zero bytes made by doubling. */
void test_crc64_join_long(void)
{
    uint64_t zeros = crc64(0, (struct str){"", 1});
    for (unsigned k = 0; k < 40; k++)
        zeros = crc64_join(zeros, zeros, (uint64_t)1 << k);
    uint64_t again = crc64(0, (struct str){"", 1});
    uint64_t length = 1;
    uint64_t sum = again;
    while (length < (uint64_t)1 << 40) {
        sum = crc64_join(sum, again, length);
        length *= 2;
        again = sum;
    }
    CHECK(sum == zeros);
}
