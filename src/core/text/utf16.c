/* SPDX-License-Identifier: Apache-2.0 */
#include "core/text/utf16.h"

#include <assert.h>

/* The code point at the start of well-formed UTF-8, and its length. */
static uint32_t utf8_take(struct str *s)
{
    static const unsigned char lead_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    unsigned char lead = (unsigned char)s->p[0];
    size_t n = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    uint32_t point = lead & lead_bits[n];
    assert(s->n >= n);
    for (size_t i = 1; i < n; i++)
        point = point << 6 | ((unsigned char)s->p[i] & 0x3F);
    *s = str_from(*s, n);
    return point;
}

static void utf8_put(struct buf *out, uint32_t point)
{
    if (point < 0x80) {
        buf_putc(out, (char)point);
        return;
    }
    unsigned more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    static const unsigned char leads[] = {0, 0xC0, 0xE0, 0xF0};
    buf_putc(out, (char)(leads[more] | point >> (6 * more)));
    for (unsigned i = more; i > 0; i--)
        buf_putc(out, (char)(0x80 | (point >> (6 * (i - 1)) & 0x3F)));
}

void utf16_put(struct buf *out, struct str utf8)
{
    while (utf8.n > 0) {
        uint32_t point = utf8_take(&utf8);
        if (point < 0x10000) {
            buf_put_le16(out, (uint16_t)point);
        } else {
            buf_put_le16(out, (uint16_t)(0xD800 + ((point - 0x10000) >> 10)));
            buf_put_le16(out, (uint16_t)(0xDC00 + ((point - 0x10000) & 0x3FF)));
        }
    }
}

static uint32_t unit_at(struct str s, size_t i)
{
    return (unsigned char)s.p[i] | (uint32_t)(unsigned char)s.p[i + 1] << 8;
}

bool utf16_decode(struct arena *a, struct str utf16, struct str *out)
{
    struct buf text = buf_in(a);
    if (utf16.n % 2 != 0)
        return false;
    for (size_t i = 0; i < utf16.n; i += 2) {
        uint32_t point = unit_at(utf16, i);
        if (point >= 0xD800 && point < 0xE000) {
            uint32_t low = i + 3 < utf16.n ? unit_at(utf16, i + 2) : 0;
            if (point >= 0xDC00 || low < 0xDC00 || low > 0xDFFF)
                return false;
            point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
            i += 2;
        }
        utf8_put(&text, point);
    }
    *out = buf_str(&text);
    return true;
}
