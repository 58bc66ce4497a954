/* SPDX-License-Identifier: Apache-2.0 */
#include "core/text/casefold.h"

#include "core/buf.h"

/* The code points first, first + step, …, last move by delta. */
struct fold_run {
    uint32_t first;
    uint32_t last;
    uint32_t step;
    int32_t delta;
};

static const struct fold_run FOLD_RUNS[] = {
// clang-format off
#include "core/text/casefold_table.inc"
    // clang-format on
};

uint32_t casefold_char(uint32_t c)
{
    if (c < 0x80)
        return c >= 'A' && c <= 'Z' ? c + 32 : c;
    size_t low = 0;
    size_t high = sizeof FOLD_RUNS / sizeof FOLD_RUNS[0];
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct fold_run *run = &FOLD_RUNS[middle];
        if (c < run->first)
            high = middle;
        else if (c > run->last)
            low = middle + 1;
        else
            return (c - run->first) % run->step == 0 ? (uint32_t)((int32_t)c + run->delta) : c;
    }
    return c;
}

/* The code point of a well-formed sequence of n bytes. */
static uint32_t decode(const char *p, size_t n)
{
    unsigned char lead = (unsigned char)p[0];
    uint32_t c = n == 1 ? lead : lead & (0xFFU >> (n + 1));
    for (size_t i = 1; i < n; i++)
        c = c << 6 | ((unsigned char)p[i] & 0x3F);
    return c;
}

static size_t ascii_folded_length(struct str s)
{
    size_t i = 0;
    while (i < s.n && (unsigned char)s.p[i] < 0x80 && !(s.p[i] >= 'A' && s.p[i] <= 'Z'))
        i++;
    return i;
}

struct str casefold_utf8(struct arena *a, struct str name)
{
    size_t same = ascii_folded_length(name);
    if (same == name.n)
        return name;
    struct buf out = buf_in(a);
    (void)buf_reserve(&out, name.n + name.n / 2);
    buf_put(&out, str_head(name, same));
    struct str rest = str_from(name, same);
    while (rest.n > 0) {
        size_t n = str_utf8_length(rest);
        if (n == 0)
            buf_putc(&out, rest.p[0]);
        else
            buf_put_utf8(&out, casefold_char(decode(rest.p, n)));
        rest = str_from(rest, n == 0 ? 1 : n);
    }
    return buf_str(&out);
}
