/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/name.h"

#include "core/buf.h"

struct err name_check(struct str name)
{
    if (name.n < NAME_BYTES_MIN || name.n > NAME_BYTES_MAX)
        return err_new(ERR_RESOURCE_NAME_LENGTH);
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if ((c >= 'a' && c <= 'z') || ascii_digit(c))
            continue;
        bool edge = i == 0 || i + 1 == name.n;
        if (c != '-' || edge || name.p[i - 1] == '-')
            return err_new(ERR_INVALID_RESOURCE_NAME);
    }
    return OK;
}

bool name_is_system(struct str name)
{
    return str_eq(name, STR("$root")) || str_eq(name, STR("$web")) || str_eq(name, STR("$logs")) ||
           str_eq(name, STR("$blobchangefeed"));
}

struct err name_check_container(struct str name)
{
    return name_is_system(name) ? OK : name_check(name);
}

/* Control characters of ASCII, and U+0081, which the naming page refuses by name. */
static bool has_refused_character(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];
        if (c < 0x20 || c == 0x7F)
            return true;
        if (c == 0xC2 && i + 1 < name.n && (unsigned char)name.p[i + 1] == 0x81)
            return true;
    }
    return false;
}

struct err name_check_blob(struct str name)
{
    if (!str_is_utf8(name) || has_refused_character(name))
        return err_new(ERR_INVALID_RESOURCE_NAME);
    if (name.n == 0 || str_utf16_units(name) > BLOB_NAME_UNITS_MAX)
        return err_new(ERR_INVALID_URI);
    size_t segments = 1;
    for (size_t i = 0; i < name.n; i++)
        segments += name.p[i] == '/';
    return segments > BLOB_NAME_SEGMENTS_MAX ? err_new(ERR_INVALID_URI) : OK;
}

/* ---- keys ---- */

static size_t find_four_byte_character(struct str s)
{
    size_t i = 0;
    while (i < s.n && (unsigned char)s.p[i] < 0xF0)
        i++;
    return i;
}

static void put_three_bytes(struct buf *b, uint32_t unit)
{
    buf_putc(b, (char)(0xE0 | (unit >> 12)));
    buf_putc(b, (char)(0x80 | ((unit >> 6) & 0x3F)));
    buf_putc(b, (char)(0x80 | (unit & 0x3F)));
}

static uint32_t low_bits(struct str s, size_t i)
{
    return (uint32_t)((unsigned char)s.p[i] & 0x3F);
}

struct str name_to_key(struct arena *a, struct str name)
{
    size_t plain = find_four_byte_character(name);
    if (plain == name.n)
        return name;
    struct buf b = buf_in(a);
    for (struct str rest = name; rest.n > 0; plain = find_four_byte_character(rest)) {
        buf_put(&b, str_head(rest, plain));
        rest = str_from(rest, plain);
        if (rest.n < 4)
            break;
        uint32_t point = ((uint32_t)((unsigned char)rest.p[0] & 7) << 18) |
                         (low_bits(rest, 1) << 12) | (low_bits(rest, 2) << 6) | low_bits(rest, 3);
        point -= 0x10000;
        put_three_bytes(&b, 0xD800 | (point >> 10));
        put_three_bytes(&b, 0xDC00 | (point & 0x3FF));
        rest = str_from(rest, 4);
    }
    return buf_str(&b);
}

/* ED A0..AF starts a high surrogate. UTF-8 never contains it, so it is a pair that name_to_key
 * wrote. */
static size_t find_surrogates(struct str s)
{
    for (size_t i = str_find(s, (char)0xED, 0); i < s.n; i = str_find(s, (char)0xED, i + 1))
        if (i + 6 <= s.n && (unsigned char)s.p[i + 1] >= 0xA0)
            return i;
    return s.n;
}

struct str name_from_key(struct arena *a, struct str key)
{
    size_t plain = find_surrogates(key);
    if (plain == key.n)
        return key;
    struct buf b = buf_in(a);
    for (struct str rest = key; rest.n > 0; plain = find_surrogates(rest)) {
        buf_put(&b, str_head(rest, plain));
        rest = str_from(rest, plain);
        if (rest.n < 6)
            break;
        uint32_t high = ((low_bits(rest, 1) & 0x0F) << 6) | low_bits(rest, 2);
        uint32_t low = ((low_bits(rest, 4) & 0x0F) << 6) | low_bits(rest, 5);
        uint32_t point = 0x10000 + ((high << 10) | low);
        buf_putc(&b, (char)(0xF0 | (point >> 18)));
        buf_putc(&b, (char)(0x80 | ((point >> 12) & 0x3F)));
        buf_putc(&b, (char)(0x80 | ((point >> 6) & 0x3F)));
        buf_putc(&b, (char)(0x80 | (point & 0x3F)));
        rest = str_from(rest, 6);
    }
    return buf_str(&b);
}
