/* SPDX-License-Identifier: Apache-2.0 */
#include "core/guid.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "core/word.h"

enum { POOL_BYTES = 2048 };

/* Per thread, so that it needs no lock. Bytes that were handed out are overwritten at once. */
struct random_pool {
    unsigned char bytes[POOL_BYTES];
    size_t left;
};

static _Thread_local struct random_pool thread_pool;

/* getrandom fails only where the system call is missing; there is nothing to fall back on that
 * would still be safe. */
static void fill_from_kernel(unsigned char *to, size_t n)
{
    while (n > 0) {
        ssize_t got = getrandom(to, n, 0);
        if (got < 0 && errno != EINTR)
            abort();
        if (got > 0) {
            to += got;
            n -= (size_t)got;
        }
    }
}

void random_bytes(void *out, size_t n)
{
    struct random_pool *pool = &thread_pool;
    if (n > POOL_BYTES / 4) {
        fill_from_kernel(out, n);
        return;
    }
    if (pool->left < n) {
        fill_from_kernel(pool->bytes, POOL_BYTES);
        pool->left = POOL_BYTES;
    }
    unsigned char *from = pool->bytes + pool->left - n;
    memcpy(out, from, n);
    memset(from, 0, n);
    pool->left -= n;
}

uint64_t random_u64(void)
{
    uint64_t value;
    random_bytes(&value, sizeof value);
    return value;
}

struct guid guid_random(void)
{
    struct guid g;
    random_bytes(g.bytes, sizeof g.bytes);
    g.bytes[6] = (unsigned char)((g.bytes[6] & 0x0F) | 0x40);
    g.bytes[8] = (unsigned char)((g.bytes[8] & 0x3F) | 0x80);
    return g;
}

/* Byte i of the 8-4-4-4-12 form starts at this offset of the text. */
static const unsigned char DASHED[GUID_BYTES] = {0,  2,  4,  6,  9,  11, 14, 16,
                                                 19, 21, 24, 26, 28, 30, 32, 34};

void guid_text(const struct guid *g, char out[GUID_TEXT_BYTES])
{
    uint64_t digits[GUID_BYTES / 4];
    for (size_t i = 0; i < GUID_BYTES / 4; i++)
        digits[i] = word_hex(g->bytes + i * 4, 'a');
    const char *text = (const char *)digits;
    memcpy(out, text, 8);
    memcpy(out + 9, text + 8, 4);
    memcpy(out + 14, text + 12, 4);
    memcpy(out + 19, text + 16, 4);
    memcpy(out + 24, text + 20, 12);
    out[8] = out[13] = out[18] = out[23] = '-';
}

void guid_put(struct buf *out, const struct guid *g)
{
    guid_text(g, buf_reserve(out, GUID_TEXT_BYTES));
    out->n += GUID_TEXT_BYTES;
}

static bool hex_byte(const char *at, unsigned char *out)
{
    int high = ascii_hex(at[0]);
    int low = ascii_hex(at[1]);
    *out = (unsigned char)((unsigned)high << 4 | (unsigned)low);
    return high >= 0 && low >= 0;
}

static bool parse_plain(struct str s, struct guid *g)
{
    bool good = s.n == (size_t)2 * GUID_BYTES;
    for (size_t i = 0; good && i < GUID_BYTES; i++)
        good = hex_byte(s.p + 2 * i, &g->bytes[i]);
    return good;
}

static bool parse_dashed(struct str s, struct guid *g)
{
    bool good = s.n == GUID_TEXT_BYTES && s.p[8] == '-' && s.p[13] == '-' && s.p[18] == '-' &&
                s.p[23] == '-';
    for (size_t i = 0; good && i < GUID_BYTES; i++)
        good = hex_byte(s.p + DASHED[i], &g->bytes[i]);
    return good;
}

static bool eat(struct str *s, char c)
{
    if (s->n == 0 || s->p[0] != c)
        return false;
    *s = str_from(*s, 1);
    return true;
}

/* "0x" and one to 2*bytes digits, right-aligned into that many bytes. */
static bool eat_hex(struct str *s, unsigned char *out, size_t bytes)
{
    if (!eat(s, '0') || !(eat(s, 'x') || eat(s, 'X')))
        return false;
    uint64_t value = 0;
    size_t digits = 0;
    while (s->n > 0 && ascii_hex(s->p[0]) >= 0) {
        value = value << 4 | (uint64_t)ascii_hex(s->p[0]);
        *s = str_from(*s, 1);
        if (++digits > 2 * bytes)
            return false;
    }
    for (size_t i = 0; i < bytes; i++)
        out[i] = (unsigned char)(value >> (8 * (bytes - 1 - i)));
    return digits > 0;
}

/* {0x12345678,0x1234,0x1234,{0x12,0x12,0x12,0x12,0x12,0x12,0x12,0x12}} */
static bool parse_structure(struct str s, struct guid *g)
{
    bool good = eat(&s, '{') && eat_hex(&s, g->bytes, 4) && eat(&s, ',') &&
                eat_hex(&s, g->bytes + 4, 2) && eat(&s, ',') && eat_hex(&s, g->bytes + 6, 2) &&
                eat(&s, ',') && eat(&s, '{');
    for (size_t i = 8; good && i < GUID_BYTES; i++)
        good = (i == 8 || eat(&s, ',')) && eat_hex(&s, g->bytes + i, 1);
    return good && eat(&s, '}') && eat(&s, '}') && s.n == 0;
}

/* .NET drops white space anywhere in the {0x…} form. */
static bool parse_spaced_structure(struct str s, struct guid *g)
{
    char packed[80];
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == ' ' || s.p[i] == '\t')
            continue;
        if (n == sizeof packed)
            return false;
        packed[n++] = s.p[i];
    }
    return parse_structure((struct str){packed, n}, g);
}

static struct str without_brackets(struct str s)
{
    if (s.n >= 2 &&
        ((s.p[0] == '{' && s.p[s.n - 1] == '}') || (s.p[0] == '(' && s.p[s.n - 1] == ')')))
        return (struct str){s.p + 1, s.n - 2};
    return s;
}

bool guid_parse(struct str text, struct guid *out)
{
    struct guid g;
    struct str s = str_trim(text);
    if (!parse_plain(s, &g) && !parse_dashed(without_brackets(s), &g) &&
        !parse_spaced_structure(s, &g))
        return false;
    *out = g;
    return true;
}
