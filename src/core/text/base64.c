/* SPDX-License-Identifier: Apache-2.0 */
#include "core/text/base64.h"

static const char ALPHABET[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t base64_length(size_t n)
{
    return (n + 2) / 3 * 4;
}

static void put_group(char *out, uint32_t bits)
{
    out[0] = ALPHABET[bits >> 18 & 63];
    out[1] = ALPHABET[bits >> 12 & 63];
    out[2] = ALPHABET[bits >> 6 & 63];
    out[3] = ALPHABET[bits & 63];
}

void base64_put(struct buf *out, struct str bytes)
{
    const unsigned char *in = (const unsigned char *)bytes.p;
    char *to = buf_reserve(out, base64_length(bytes.n));
    size_t i = 0;
    for (; i + 3 <= bytes.n; i += 3, to += 4)
        put_group(to, (uint32_t)in[i] << 16 | (uint32_t)in[i + 1] << 8 | in[i + 2]);
    size_t left = bytes.n - i;
    if (left > 0) {
        uint32_t second = left == 2 ? in[i + 1] : 0;
        put_group(to, (uint32_t)in[i] << 16 | second << 8);
        to[3] = '=';
        if (left == 1)
            to[2] = '=';
    }
    out->n += base64_length(bytes.n);
}

struct str base64_encode(struct arena *a, struct str bytes)
{
    struct buf out = buf_in(a);
    base64_put(&out, bytes);
    return buf_str(&out);
}

/* The six bits of a character; 255 if it is not in the alphabet. */
#define SEXTET(c)                                               \
    (unsigned char)((c) >= 'A' && (c) <= 'Z'   ? (c) - 'A'      \
                    : (c) >= 'a' && (c) <= 'z' ? (c) - 'a' + 26 \
                    : (c) >= '0' && (c) <= '9' ? (c) - '0' + 52 \
                    : (c) == '+'               ? 62             \
                                               : ((c) == '/' ? 63 : 255))
#define SEXTETS4(c)  SEXTET(c), SEXTET((c) + 1), SEXTET((c) + 2), SEXTET((c) + 3)
#define SEXTETS16(c) SEXTETS4(c), SEXTETS4((c) + 4), SEXTETS4((c) + 8), SEXTETS4((c) + 12)
#define SEXTETS64(c) SEXTETS16(c), SEXTETS16((c) + 16), SEXTETS16((c) + 32), SEXTETS16((c) + 48)
static const unsigned char SEXTETS[256] = {
    SEXTETS64(0),
    SEXTETS64(64),
    SEXTETS64(128),
    SEXTETS64(192),
};

static uint32_t sextet(char c)
{
    return SEXTETS[(unsigned char)c];
}

/* Returns the decoded length, computed from the text's length and padding alone. */
static bool decoded_length(struct str text, size_t *n)
{
    if (text.n % 4 != 0)
        return false;
    size_t padding = 0;
    if (text.n > 0 && text.p[text.n - 1] == '=')
        padding = text.p[text.n - 2] == '=' ? 2 : 1;
    *n = text.n / 4 * 3 - padding;
    return true;
}

static bool decode_groups(struct str text, unsigned char *out, size_t n)
{
    const char *in = text.p;
    for (size_t whole = n / 3; whole > 0; whole--, in += 4, out += 3) {
        uint32_t a = sextet(in[0]), b = sextet(in[1]), c = sextet(in[2]), d = sextet(in[3]);
        if ((a | b | c | d) > 63)
            return false;
        uint32_t bits = a << 18 | b << 12 | c << 6 | d;
        out[0] = (unsigned char)(bits >> 16);
        out[1] = (unsigned char)(bits >> 8);
        out[2] = (unsigned char)bits;
    }
    size_t left = n % 3;
    if (left == 0)
        return true;
    uint32_t a = sextet(in[0]), b = sextet(in[1]), c = left == 2 ? sextet(in[2]) : 0;
    if ((a | b | c) > 63)
        return false;
    out[0] = (unsigned char)(a << 2 | b >> 4);
    if (left == 2)
        out[1] = (unsigned char)(b << 4 | c >> 2);
    return true;
}

bool base64_decode(struct arena *a, struct str text, struct str *out)
{
    size_t n;
    if (!decoded_length(text, &n))
        return false;
    char *bytes = arena_bytes(a, n + 1);
    if (!decode_groups(text, (unsigned char *)bytes, n))
        return false;
    *out = (struct str){bytes, n};
    return true;
}

bool base64_decode_exact(struct str text, void *out, size_t n)
{
    size_t length;
    return decoded_length(text, &length) && length == n && decode_groups(text, out, n);
}
