/* SPDX-License-Identifier: Apache-2.0 */
#include "core/str.h"

#include "core/word.h"

/* Compares two words, ignoring case. Most are equal, or differ in more than case. */
static bool words_are_alike(uint64_t a, uint64_t b)
{
    uint64_t differ = a ^ b;
    if (differ == 0)
        return true;
    return (differ & ~word_all(0x20)) == 0 && word_lower(a) == word_lower(b);
}

/* Compares word by word; the last two words may overlap. The last word comes first, because many
 * names share a prefix. */
bool str_istarts(struct str s, struct str prefix)
{
    if (s.n < prefix.n)
        return false;
    if (prefix.n < WORD_BYTES)
        return prefix.n == 0 ||
               words_are_alike(word_of_few(s.p, prefix.n), word_of_few(prefix.p, prefix.n));
    size_t last = prefix.n - WORD_BYTES;
    if (!words_are_alike(word_load(s.p + last), word_load(prefix.p + last)))
        return false;
    for (size_t i = 0; i < last; i += WORD_BYTES)
        if (!words_are_alike(word_load(s.p + i), word_load(prefix.p + i)))
            return false;
    return true;
}

/* Works word by word; the last two words may overlap. */
void str_lower(struct str s, char *to)
{
    uint64_t word;
    if (s.n < WORD_BYTES) {
        for (size_t i = 0; i < s.n; i++)
            to[i] = ascii_lower(s.p[i]);
        return;
    }
    for (size_t i = 0; i + WORD_BYTES < s.n; i += WORD_BYTES) {
        word = word_lower(word_load(s.p + i));
        memcpy(to + i, &word, sizeof word);
    }
    word = word_lower(word_load(s.p + s.n - WORD_BYTES));
    memcpy(to + s.n - WORD_BYTES, &word, sizeof word);
}

/* Bytes from 0x80 on are none of these. */
static bool word_has_control(uint64_t word)
{
    uint64_t below = word - word_all(0x20);
    uint64_t delete = (word ^ word_all(0x7F)) - word_all(1);
    return ((below | delete) & ~word & word_all(0x80)) != 0;
}

/* Works word by word, the last two may overlap: it checks every value of every header. */
bool str_has_control(struct str s)
{
    if (s.n < WORD_BYTES)
        return s.n > 0 && word_has_control(word_of_few(s.p, s.n));
    for (size_t i = 0; i + WORD_BYTES < s.n; i += WORD_BYTES)
        if (word_has_control(word_load(s.p + i)))
            return true;
    return word_has_control(word_load(s.p + s.n - WORD_BYTES));
}

int str_cmp(struct str a, struct str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n == 0 ? 0 : memcmp(a.p, b.p, n);
    if (order != 0)
        return order;
    return (a.n > b.n) - (a.n < b.n);
}

bool str_ends(struct str s, struct str suffix)
{
    return s.n >= suffix.n && str_eq(str_from(s, s.n - suffix.n), suffix);
}

size_t str_find(struct str s, char c, size_t from)
{
    if (from >= s.n)
        return s.n;
    const char *at = memchr(s.p + from, c, s.n - from);
    return at == NULL ? s.n : (size_t)(at - s.p);
}

size_t str_find_str(struct str s, struct str needle)
{
    if (needle.n == 0)
        return 0;
    const char *at = s.n < needle.n ? NULL : memmem(s.p, s.n, needle.p, needle.n);
    return at == NULL ? s.n : (size_t)(at - s.p);
}

struct str str_trim(struct str s)
{
    while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t')) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

struct str str_cut(struct str *rest, char sep)
{
    struct str whole = *rest;
    const char *at = whole.n == 0 ? NULL : memchr(whole.p, sep, whole.n);
    if (at == NULL) {
        *rest = STR_NONE;
        return whole;
    }
    size_t head = (size_t)(at - whole.p);
    *rest = (struct str){at + 1, whole.n - head - 1};
    return (struct str){whole.p, head};
}

bool str_to_u64(struct str s, uint64_t *out)
{
    uint64_t value = 0;
    if (s.n == 0)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (!ascii_digit(s.p[i]))
            return false;
        if (__builtin_mul_overflow(value, 10U, &value) ||
            __builtin_add_overflow(value, (uint64_t)(s.p[i] - '0'), &value))
            return false;
    }
    *out = value;
    return true;
}

bool str_to_i64(struct str s, int64_t *out)
{
    bool negative = s.n > 0 && s.p[0] == '-';
    uint64_t magnitude;
    if (!str_to_u64(negative ? str_from(s, 1) : s, &magnitude))
        return false;
    if (magnitude > (uint64_t)INT64_MAX + (negative ? 1U : 0U))
        return false;
    *out = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

bool str_to_bool(struct str s, bool *out)
{
    if (!str_ieq(s, STR("true")) && !str_ieq(s, STR("false")))
        return false;
    *out = s.n == 4;
    return true;
}

size_t str_utf8_length(struct str s)
{
    unsigned char c = (unsigned char)s.p[0];
    size_t n = c < 0x80 ? 1 : c >= 0xC2 && c <= 0xDF ? 2 : (c & 0xF0) == 0xE0 ? 3 : 4;
    if (n == 1)
        return 1;
    if (c < 0xC2 || c > 0xF4 || s.n < n)
        return 0;
    unsigned char second = (unsigned char)s.p[1];
    unsigned char low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    unsigned char high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    if (second < low || second > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if (((unsigned char)s.p[i] & 0xC0) != 0x80)
            return 0;
    return n;
}

/* Length of the run of ASCII at the start of s, rounded down to whole words: most text is ASCII
 * only. */
static size_t ascii_words(struct str s)
{
    size_t n = 0;
    for (; s.n - n >= WORD_BYTES; n += WORD_BYTES)
        if ((word_load(s.p + n) & word_all(0x80)) != 0)
            return n;
    bool ends_so = n < s.n && (word_of_few(s.p + n, s.n - n) & word_all(0x80)) == 0;
    return ends_so ? s.n : n;
}

bool str_is_utf8(struct str s)
{
    s = str_from(s, ascii_words(s));
    while (s.n > 0) {
        size_t n = str_utf8_length(s);
        if (n == 0)
            return false;
        s = str_from(s, n);
    }
    return true;
}

size_t str_utf16_units(struct str s)
{
    size_t units = 0;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if ((c & 0xC0) != 0x80)
            units += c >= 0xF0 ? 2 : 1;
    }
    return units;
}
