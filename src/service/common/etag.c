/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/etag.h"

#include <assert.h>

#include "core/time.h"
#include "core/word.h"

size_t etag_text(int64_t stamp, char out[ETAG_TEXT_MAX])
{
    uint64_t value = (uint64_t)stamp + TIME_TICKS_YEAR_1;
    uint64_t bytes = htobe64(value);
    uint64_t text[2] = {word_hex(&bytes, 'A'), word_hex((const char *)&bytes + 4, 'A')};
    size_t zeros = (size_t)__builtin_clzll(value | 1) / 4; /* leading zeros are not written */
    out[0] = '0';
    out[1] = 'x';
    memcpy(out + 2, (const char *)text + zeros, sizeof text - zeros);
    return 2 + sizeof text - zeros;
}

void etag_put(struct buf *b, int64_t stamp)
{
    b->n += etag_text(stamp, buf_reserve(b, ETAG_TEXT_MAX));
}

void etag_put_quoted(struct buf *b, int64_t stamp)
{
    buf_putc(b, '"');
    etag_put(b, stamp);
    buf_putc(b, '"');
}

bool etag_list_next(struct str *rest, struct etag_entry *out)
{
    assert(out != NULL);
    struct str s = *rest;
    while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t' || s.p[0] == ','))
        s = str_from(s, 1);
    if (s.n == 0) {
        *rest = s;
        return false;
    }
    *out = (struct etag_entry){0};
    if (str_starts(s, STR("W/"))) {
        out->weak = true;
        s = str_from(s, 2);
    }
    bool quoted = s.n > 0 && s.p[0] == '"';
    size_t close = quoted ? str_find(s, '"', 1) : 0;
    size_t end = quoted && close < s.n ? close + 1 : str_find(s, ',', 0);
    /* Text after the closing quote: this is no ETag of ours. Return all of it; it matches
     * nothing. */
    if (str_trim(str_head(str_from(s, end), str_find(str_from(s, end), ',', 0))).n > 0)
        end += str_find(str_from(s, end), ',', 0);
    struct str text = str_trim(str_head(s, end));
    *rest = str_from(s, end);
    if (text.n >= 2 && text.p[0] == '"' && text.p[text.n - 1] == '"')
        text = (struct str){text.p + 1, text.n - 2};
    out->any = !quoted && !out->weak && str_eq(text, STR("*"));
    out->text = text;
    return true;
}

bool etag_entry_is(const struct etag_entry *entry, int64_t stamp, bool strong)
{
    if (entry->any)
        return true;
    if (entry->weak && strong)
        return false;
    char text[ETAG_TEXT_MAX];
    size_t n = etag_text(stamp, text);
    return str_ieq(entry->text, (struct str){text, n});
}
