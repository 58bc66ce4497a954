/* SPDX-License-Identifier: Apache-2.0 */
#include "core/text/json.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

_Static_assert(JSON_DEPTH_MAX <= 64, "in_object has a bit per level");

struct json_reader json_reader_of(struct arena *a, struct str text)
{
    if (str_starts(text, STR("\xEF\xBB\xBF")))
        text = str_from(text, 3);
    if (!str_given(text))
        text = STR("");
    return (struct json_reader){.at = text.p, .end = text.p + text.n, .arena = a};
}

static struct json_value fail(struct json_reader *r)
{
    r->bad = true;
    r->at = r->end;
    return (struct json_value){.kind = JSON_NONE};
}

static void skip_space(struct json_reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t'))
        r->at++;
}

/* The next character; NUL at the end, which JSON contains only inside strings. */
static char peek(const struct json_reader *r)
{
    return r->at < r->end ? *r->at : '\0';
}

static bool eat(struct json_reader *r, char c)
{
    if (peek(r) != c || r->at == r->end)
        return false;
    r->at++;
    return true;
}

static bool eat_word(struct json_reader *r, struct str word)
{
    if (!str_starts((struct str){r->at, (size_t)(r->end - r->at)}, word))
        return false;
    r->at += word.n;
    return true;
}

static bool eat_digits(struct json_reader *r)
{
    const char *start = r->at;
    while (r->at < r->end && ascii_digit(*r->at))
        r->at++;
    return r->at > start;
}

static struct json_value read_number(struct json_reader *r)
{
    const char *start = r->at;
    enum json_kind kind = JSON_INTEGER;
    (void)eat(r, '-');
    if (!eat(r, '0') && !eat_digits(r))
        return fail(r);
    if (eat(r, '.')) {
        kind = JSON_REAL;
        if (!eat_digits(r))
            return fail(r);
    }
    if (eat(r, 'e') || eat(r, 'E')) {
        kind = JSON_REAL;
        if (!eat(r, '+'))
            (void)eat(r, '-');
        if (!eat_digits(r))
            return fail(r);
    }
    return (struct json_value){.kind = kind, .text = {start, (size_t)(r->at - start)}};
}

/* True when one of the eight bytes is a quote, a backslash or a control character: each test sets
 * the high bit of the bytes it finds. Bytes past ASCII may be reported too, which costs only time:
 * the caller looks at each byte then. */
static bool word_is_special(uint64_t word)
{
    const uint64_t ones = 0x0101010101010101U;
    const uint64_t highs = 0x8080808080808080U;
    uint64_t quote = word ^ (ones * '"');
    uint64_t backslash = word ^ (ones * '\\');
    return ((quote - ones) | (backslash - ones) | (word - ones * 0x20)) & highs ? true : false;
}

/* The next byte at or after p that ends a plain run: quote, backslash or control character. */
static const char *plain_end(const char *p, const char *end)
{
    uint64_t word;
    while (end - p >= (ptrdiff_t)sizeof word) {
        memcpy(&word, p, sizeof word);
        if (word_is_special(word))
            break;
        p += sizeof word;
    }
    while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20)
        p++;
    return p;
}

static bool read_hex4(struct json_reader *r, uint32_t *out)
{
    if (r->end - r->at < 4)
        return false;
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = ascii_hex(r->at[i]);
        if (digit < 0)
            return false;
        value = value << 4 | (uint32_t)digit;
    }
    r->at += 4;
    *out = value;
    return true;
}

/* Decodes what follows "\u": one unit, or a high surrogate and its low one. A lone surrogate is no
 * character and cannot be stored as UTF-8. */
static bool read_unicode_escape(struct json_reader *r, struct buf *out)
{
    uint32_t c;
    uint32_t low;
    if (!read_hex4(r, &c) || (c >= 0xDC00 && c <= 0xDFFF))
        return false;
    if (c >= 0xD800 && c <= 0xDBFF) {
        if (!eat(r, '\\') || !eat(r, 'u') || !read_hex4(r, &low) || low < 0xDC00 || low > 0xDFFF)
            return false;
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    }
    buf_put_utf8(out, c);
    return true;
}

/* Undoes the escape after a backslash; false when it is none. */
static bool read_escape(struct json_reader *r, struct buf *out)
{
    static const char FROM[] = "\"\\/bfnrt";
    static const char TO[] = "\"\\/\b\f\n\r\t";
    char c = peek(r);
    if (c == '\0')
        return false;
    r->at++;
    if (c == 'u')
        return read_unicode_escape(r, out);
    const char *known = strchr(FROM, c);
    if (known != NULL)
        buf_putc(out, TO[known - FROM]);
    return known != NULL;
}

/* Decodes the rest of a string from its first escape on. The decoded text is never longer than the
 * encoded one, so the input up to the closing quote bounds it. */
static bool read_escaped(struct json_reader *r, const char *start, struct str *out)
{
    const char *quote = r->at;
    while (quote < r->end && *quote != '"')
        quote += *quote == '\\' && r->end - quote > 1 ? 2 : 1;
    struct buf text = buf_in(r->arena);
    (void)buf_reserve(&text, (size_t)(quote - start));
    buf_put(&text, (struct str){start, (size_t)(r->at - start)});
    while (!eat(r, '"')) {
        const char *run = r->at;
        r->at = plain_end(run, r->end);
        buf_put(&text, (struct str){run, (size_t)(r->at - run)});
        if (eat(r, '\\')) {
            if (!read_escape(r, &text))
                return false;
        } else if (peek(r) != '"') {
            return false;
        }
    }
    *out = buf_str(&text);
    return true;
}

/* After the opening quote. */
static bool read_string(struct json_reader *r, struct str *out)
{
    const char *start = r->at;
    r->at = plain_end(start, r->end);
    *out = (struct str){start, (size_t)(r->at - start)};
    if (!eat(r, '"') && (peek(r) != '\\' || !read_escaped(r, start, out)))
        return false;
    return str_is_utf8(*out);
}

static struct json_value open_container(struct json_reader *r, enum json_kind kind)
{
    r->at++;
    if (r->depth == JSON_DEPTH_MAX)
        return fail(r);
    uint64_t bit = (uint64_t)1 << r->depth;
    r->in_object = kind == JSON_OBJECT ? r->in_object | bit : r->in_object & ~bit;
    r->depth++;
    r->first = true;
    return (struct json_value){.kind = kind};
}

static struct json_value read_literal(struct json_reader *r)
{
    if (eat_word(r, STR("true")))
        return (struct json_value){.kind = JSON_BOOL, .boolean = true};
    if (eat_word(r, STR("false")))
        return (struct json_value){.kind = JSON_BOOL};
    if (eat_word(r, STR("null")))
        return (struct json_value){.kind = JSON_NULL};
    return fail(r);
}

struct json_value json_value(struct json_reader *r)
{
    skip_space(r);
    char c = peek(r);
    if (c == '"') {
        struct json_value v = {.kind = JSON_STRING};
        r->at++;
        return read_string(r, &v.text) ? v : fail(r);
    }
    if (c == '{')
        return open_container(r, JSON_OBJECT);
    if (c == '[')
        return open_container(r, JSON_ARRAY);
    if (c == '-' || ascii_digit(c))
        return read_number(r);
    return read_literal(r);
}

/* Returns true if the innermost container has another element; otherwise closes it, or fails. */
static bool next_in(struct json_reader *r, char close)
{
    if (r->bad)
        return false;
    assert(r->depth > 0 && (r->in_object >> (r->depth - 1) & 1) == (close == '}'));
    skip_space(r);
    bool first = r->first;
    r->first = false;
    if (eat(r, close)) {
        r->depth--;
        return false;
    }
    if (!first && !eat(r, ',')) {
        (void)fail(r);
        return false;
    }
    return true;
}

bool json_member(struct json_reader *r, struct str *name)
{
    if (!next_in(r, '}'))
        return false;
    skip_space(r);
    if (eat(r, '"') && read_string(r, name)) {
        skip_space(r);
        if (eat(r, ':'))
            return true;
    }
    (void)fail(r);
    return false;
}

bool json_element(struct json_reader *r)
{
    return next_in(r, ']');
}

void json_skip(struct json_reader *r, struct json_value v)
{
    if (v.kind != JSON_OBJECT && v.kind != JSON_ARRAY)
        return;
    uint32_t outside = r->depth - 1;
    struct str name;
    while (!r->bad && r->depth > outside) {
        bool object = (r->in_object >> (r->depth - 1) & 1) != 0;
        if (object ? json_member(r, &name) : json_element(r))
            (void)json_value(r);
    }
}

bool json_done(struct json_reader *r)
{
    skip_space(r);
    return !r->bad && r->depth == 0 && r->at == r->end;
}

struct json_writer json_writer_of(struct buf *out)
{
    return (struct json_writer){out, false};
}

static void before_value(struct json_writer *w)
{
    if (w->comma)
        buf_putc(w->out, ',');
    w->comma = true;
}

void json_open(struct json_writer *w, char bracket)
{
    assert(bracket == '{' || bracket == '[');
    before_value(w);
    buf_putc(w->out, bracket);
    w->comma = false;
}

void json_close(struct json_writer *w, char bracket)
{
    assert(bracket == '}' || bracket == ']');
    buf_putc(w->out, bracket);
    w->comma = true;
}

static void put_escape(struct buf *out, char c)
{
    static const char FROM[] = "\"\\\b\f\n\r\t";
    static const char TO[] = "\"\\bfnrt";
    const char *known = c == '\0' ? NULL : strchr(FROM, c);
    if (known == NULL) {
        buf_printf(out, "\\u%04x", (unsigned)(unsigned char)c);
        return;
    }
    buf_putc(out, '\\');
    buf_putc(out, TO[known - FROM]);
}

static void put_quoted(struct buf *out, struct str text)
{
    const char *p = text.n == 0 ? "" : text.p;
    const char *end = p + text.n;
    buf_putc(out, '"');
    while (p < end) {
        const char *stop = plain_end(p, end);
        buf_put(out, (struct str){p, (size_t)(stop - p)});
        if (stop < end)
            put_escape(out, *stop++);
        p = stop;
    }
    buf_putc(out, '"');
}

void json_name(struct json_writer *w, struct str name)
{
    before_value(w);
    put_quoted(w->out, name);
    buf_putc(w->out, ':');
    w->comma = false;
}

void json_string(struct json_writer *w, struct str text)
{
    before_value(w);
    put_quoted(w->out, text);
}

void json_raw(struct json_writer *w, struct str text)
{
    before_value(w);
    buf_put(w->out, text);
}

void json_bool(struct json_writer *w, bool value)
{
    json_raw(w, value ? STR("true") : STR("false"));
}

void json_i64(struct json_writer *w, int64_t value)
{
    before_value(w);
    buf_put_i64(w->out, value);
}

/* Most numbers have few decimals: an integer divided by a small power of ten, both exact. Dividing
 * two exact numbers is rounded like parsing the text, so the text reads back as the same number;
 * with at most 15 digits it is the shortest such text. */
static bool put_few_decimals(struct json_writer *w, double value)
{
    static const double powers[] = {1, 10, 100, 1000, 10000};
    static const int64_t units[] = {1, 10, 100, 1000, 10000};
    if (value == 0 || fabs(value) >= 1e10)
        return false; /* -0.0 keeps its sign */
    for (unsigned k = 0; k < sizeof powers / sizeof powers[0]; k++) {
        int64_t scaled = llround(value * powers[k]);
        if ((double)scaled / powers[k] != value)
            continue;
        uint64_t size = scaled < 0 ? 0 - (uint64_t)scaled : (uint64_t)scaled;
        json_raw(w, scaled < 0 ? STR("-") : STR(""));
        buf_put_u64(w->out, size / (uint64_t)units[k]);
        buf_putc(w->out, '.');
        uint64_t rest = size % (uint64_t)units[k];
        for (int64_t unit = units[k] / 10; unit > 0; unit /= 10)
            buf_putc(w->out, (char)('0' + rest / (uint64_t)unit % 10));
        if (k == 0)
            buf_putc(w->out, '0');
        return true;
    }
    return false;
}

void json_double(struct json_writer *w, double value)
{
    char text[40];
    assert(isfinite(value));
    if (put_few_decimals(w, value))
        return;
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    json_raw(w, str_of(text));
    if (strpbrk(text, ".e") == NULL)
        buf_put(w->out, STR(".0"));
}
