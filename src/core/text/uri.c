/* SPDX-License-Identifier: Apache-2.0 */
#include "core/text/uri.h"

#include <assert.h>

#include "core/word.h"

/* The byte that the escape at s[at] stands for, -1 when it is malformed. */
static int escaped_byte(struct str s, size_t at)
{
    if (s.n - at < 3)
        return -1;
    int high = ascii_hex(s.p[at + 1]);
    int low = ascii_hex(s.p[at + 2]);
    return high < 0 || low < 0 ? -1 : high << 4 | low;
}

/* Decodes from the first '%' on; false when an escape was malformed (and kept as it stands). */
static bool decode_from(struct arena *a, struct str s, size_t first, struct str *out)
{
    char *to = arena_bytes(a, s.n);
    size_t n = first;
    bool good = true;
    memcpy(to, s.p, first);
    for (size_t i = first; i < s.n; i++) {
        if (s.p[i] != '%') {
            to[n++] = s.p[i];
            continue;
        }
        int byte = escaped_byte(s, i);
        good = good && byte >= 0;
        to[n++] = byte >= 0 ? (char)byte : '%';
        i += byte >= 0 ? 2 : 0;
    }
    *out = (struct str){to, n};
    return good;
}

static bool decode_any(struct arena *a, struct str s, struct str *out)
{
    size_t first = s.n == 0 ? 0 : str_find(s, '%', 0);
    if (first < s.n)
        return decode_from(a, s, first, out);
    *out = s;
    return true;
}

bool uri_decode(struct arena *a, struct str s, struct str *out)
{
    struct str decoded;
    if (!decode_any(a, s, &decoded))
        return false;
    *out = decoded;
    return true;
}

struct str uri_decode_loose(struct arena *a, struct str s)
{
    struct str decoded;
    (void)decode_any(a, s, &decoded);
    return decoded;
}

static bool word_is_plain(uint64_t word)
{
    uint64_t escape = (word ^ word_all('%')) - word_all(1);
    uint64_t nul = word - word_all(1);
    return ((word | escape | nul) & word_all(0x80)) == 0;
}

bool uri_is_plain(struct str s)
{
    if (s.n < WORD_BYTES)
        return s.n == 0 || word_is_plain(word_of_few(s.p, s.n));
    for (size_t i = 0; i + WORD_BYTES < s.n; i += WORD_BYTES)
        if (!word_is_plain(word_load(s.p + i)))
            return false;
    return word_is_plain(word_load(s.p + s.n - WORD_BYTES));
}

static bool kept(char c, enum uri_keep keep)
{
    if (ascii_alpha(c) || ascii_digit(c) || c == '-' || c == '.' || c == '_' || c == '~')
        return true;
    return keep == URI_KEEP_PATH && c != '\0' && strchr("/:@!$&'()*+,;=", c) != NULL;
}

void uri_encode(struct buf *out, struct str s, enum uri_keep keep)
{
    static const char digits[] = "0123456789ABCDEF";
    char *start = buf_reserve(out, s.n * 3);
    char *to = start;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (kept(s.p[i], keep)) {
            *to++ = s.p[i];
        } else {
            *to++ = '%';
            *to++ = digits[c >> 4];
            *to++ = digits[c & 15];
        }
    }
    out->n += (size_t)(to - start);
}

struct uri_query uri_query_of(struct str query)
{
    return (struct uri_query){.rest = query};
}

/* Replaces '+' by a space; copies the text if there is one. */
static struct str with_spaces(struct arena *a, struct str s)
{
    if (s.n == 0 || memchr(s.p, '+', s.n) == NULL)
        return s;
    char *copy = arena_bytes(a, s.n);
    for (size_t i = 0; i < s.n; i++)
        copy[i] = s.p[i] == '+' ? ' ' : s.p[i];
    return (struct str){copy, s.n};
}

static void decode_param(struct uri_query *q, struct arena *a, bool spaces, struct uri_param *out)
{
    struct str name = spaces ? with_spaces(a, out->name) : out->name;
    if (!decode_any(a, name, &out->name))
        q->malformed = true;
    spaces = spaces && (q->verbatim.n == 0 || !str_ieq(out->name, q->verbatim));
    if (!decode_any(a, spaces ? with_spaces(a, out->raw) : out->raw, &out->value))
        q->malformed = true;
}

bool uri_query_next(struct uri_query *q, struct arena *a, struct uri_param *out)
{
    struct str part = STR_NONE;
    while (part.n == 0) {
        if (!str_given(q->rest))
            return false;
        part = str_cut(&q->rest, '&');
        q->parts++;
    }
    size_t name = 0; /* short, so inline instead of a call */
    while (name < part.n && part.p[name] != '=')
        name++;
    out->name = str_head(part, name);
    out->value = out->raw = name < part.n ? str_from(part, name + 1) : STR("");
    bool spaces = q->plus_is_space && memchr(part.p, '+', part.n) != NULL;
    out->plain = !spaces && uri_is_plain(part);
    if (!out->plain)
        decode_param(q, a, spaces, out);
    return true;
}

static bool has_forbidden(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7F)
            return true;
    return false;
}

/* "host", "host:port", "[v6]" or "[v6]:port". */
static bool parse_authority(struct str authority, struct uri *out)
{
    struct str port = STR_NONE;
    if (authority.n > 0 && authority.p[0] == '[') {
        size_t close = str_find(authority, ']', 0);
        if (close == authority.n)
            return false;
        out->host = (struct str){authority.p + 1, close - 1};
        struct str after = str_from(authority, close + 1);
        if (after.n > 0 && after.p[0] != ':')
            return false;
        port = after.n > 0 ? str_from(after, 1) : STR_NONE;
    } else {
        port = authority;
        out->host = str_cut(&port, ':');
    }
    uint64_t number = 0;
    out->port_given = port.n > 0;
    if (out->port_given && (!str_to_u64(port, &number) || number == 0 || number > UINT16_MAX))
        return false;
    if (out->port_given)
        out->port = (uint16_t)number;
    return out->host.n > 0;
}

bool uri_parse(struct str url, struct uri *out)
{
    struct uri parsed = {0};
    size_t colon = str_find_str(url, STR("://"));
    parsed.scheme = str_head(url, colon);
    bool secure = str_ieq(parsed.scheme, STR("https"));
    if (has_forbidden(url) || (!secure && !str_ieq(parsed.scheme, STR("http"))))
        return false;
    parsed.port = secure ? 443 : 80;
    struct str rest = str_from(url, colon + 3);
    rest = str_head(rest, str_find(rest, '#', 0));
    size_t end = 0;
    while (end < rest.n && rest.p[end] != '/' && rest.p[end] != '?')
        end++;
    struct str authority = str_head(rest, end);
    if (str_find(authority, '@', 0) < authority.n || !parse_authority(authority, &parsed))
        return false;
    parsed.query = str_from(rest, end);
    parsed.path = str_cut(&parsed.query, '?');
    if (parsed.path.n == 0)
        parsed.path = STR("/");
    assert(parsed.path.p[0] == '/');
    *out = parsed;
    return true;
}
