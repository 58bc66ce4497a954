/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a $filter. */
#include <assert.h>
#include <math.h>

#include "core/text/uri.h"
#include "service/table/filter_internal.h"

static struct err lex_bad(void)
{
    return err_new(ERR_INVALID_INPUT);
}

static bool name_byte(char c, bool first)
{
    return ascii_alpha(c) || c == '_' || (unsigned char)c >= 0x80 || (!first && ascii_digit(c));
}

/* 'text' at the start of the rest, '' standing for a quote. Moves past it. */
static struct err take_quoted(struct filter_lexer *l, struct str *out)
{
    struct str s = l->rest;
    size_t end = 1;
    bool doubled = false;
    for (;;) {
        end = str_find(s, '\'', end);
        if (end == s.n)
            return lex_bad();
        if (end + 1 == s.n || s.p[end + 1] != '\'')
            break;
        doubled = true;
        end += 2;
    }
    l->rest = str_from(s, end + 1);
    *out = (struct str){s.p + 1, end - 1};
    if (!doubled)
        return OK;
    char *text = arena_bytes(l->arena, out->n);
    size_t n = 0;
    for (size_t i = 0; i < out->n; i++) {
        text[n++] = out->p[i];
        if (out->p[i] == '\'')
            i++;
    }
    *out = (struct str){text, n};
    return OK;
}

static struct err hex_value(struct filter_lexer *l, struct str text, struct edm_value *out)
{
    char *bytes = arena_bytes(l->arena, text.n / 2 + 1);
    for (size_t i = 0; i < text.n; i += 2) {
        int high = ascii_hex(text.p[i]);
        int low = i + 1 < text.n ? ascii_hex(text.p[i + 1]) : -1;
        if (high < 0 || low < 0)
            return lex_bad();
        bytes[i / 2] = (char)(high << 4 | low);
    }
    *out = (struct edm_value){EDM_BINARY, {bytes, text.n / 2}};
    return OK;
}

/* datetime'…', guid'…', X'…', binary'…': the prefix has been read. */
static struct err take_typed(struct filter_lexer *l, struct str prefix, struct edm_value *out)
{
    struct str text;
    int64_t ticks;
    TRY(take_quoted(l, &text));
    if (str_ieq(prefix, STR("datetime"))) {
        /* Dates before 1601 cannot be stored but may be compared with. */
        if (!edm_parse_datetime(text, &ticks))
            return lex_bad();
        *out = edm_from_int64(l->arena, EDM_DATETIME, ticks);
        return OK;
    }
    if (str_ieq(prefix, STR("guid")))
        return edm_parse(l->arena, EDM_GUID, text, out);
    if (str_ieq(prefix, STR("X")) || str_ieq(prefix, STR("binary")))
        return hex_value(l, text, out);
    return lex_bad();
}

/* The end of a number that begins at 0. */
static size_t number_length(struct str s, bool *real)
{
    size_t n = s.p[0] == '-' ? 1 : 0;
    *real = false;
    for (; n < s.n; n++) {
        char c = s.p[n];
        bool exponent = c == 'e' || c == 'E';
        bool signs = (c == '-' || c == '+') && (s.p[n - 1] == 'e' || s.p[n - 1] == 'E');
        if (!ascii_digit(c) && c != '.' && !exponent && !(n > 0 && signs))
            break;
        *real = *real || c == '.' || exponent;
    }
    return n;
}

/* 12 is Int32, or Int64 where it does not fit; 12L is Int64; 1.5, 1e3, 2.0f, 2d and 2m are
 * Double. */
static struct err take_number(struct filter_lexer *l, struct edm_value *out)
{
    bool real;
    size_t n = number_length(l->rest, &real);
    struct str text = str_head(l->rest, n);
    l->rest = str_from(l->rest, n);
    char suffix = l->rest.n > 0 ? ascii_lower(l->rest.p[0]) : '\0';
    bool as_long = suffix == 'l';
    bool as_double = suffix == 'd' || suffix == 'f' || suffix == 'm';
    if (as_long || as_double)
        l->rest = str_from(l->rest, 1);
    if (l->rest.n > 0 && name_byte(l->rest.p[0], false))
        return lex_bad();
    int64_t integer;
    double number;
    if (!real && !as_double) {
        if (!str_to_i64(text, &integer))
            return lex_bad();
        *out = as_long || integer < INT32_MIN || integer > INT32_MAX
                   ? edm_from_int64(l->arena, EDM_INT64, integer)
                   : edm_from_int32(l->arena, (int32_t)integer);
        return OK;
    }
    if (as_long || !edm_parse_double(text, &number))
        return lex_bad();
    *out = edm_from_double(l->arena, number);
    return OK;
}

/* The names that are literals. */
static bool named_literal(struct filter_lexer *l, struct str name, struct edm_value *out)
{
    bool truth;
    if (str_to_bool(name, &truth))
        *out = edm_from_boolean(l->arena, truth);
    else if (str_eq(name, STR("NaN")))
        *out = edm_from_double(l->arena, NAN);
    else if (str_eq(name, STR("INF")))
        *out = edm_from_double(l->arena, INFINITY);
    else
        return false;
    return true;
}

static struct err take_name(struct filter_lexer *l, struct filter_word *out)
{
    size_t n = 0;
    while (n < l->rest.n && name_byte(l->rest.p[n], n == 0))
        n++;
    out->text = str_head(l->rest, n);
    l->rest = str_from(l->rest, n);
    out->kind = WORD_LITERAL;
    if (l->rest.n > 0 && l->rest.p[0] == '\'')
        return take_typed(l, out->text, &out->value);
    if (named_literal(l, out->text, &out->value))
        return OK;
    out->kind = WORD_NAME;
    out->opens = l->rest.n > 0 && l->rest.p[0] == '(';
    return OK;
}

struct err filter_lex(struct filter_lexer *l, struct filter_word *out)
{
    assert(out != NULL);
    *out = (struct filter_word){.kind = WORD_END};
    while (l->rest.n > 0 && (l->rest.p[0] == ' ' || l->rest.p[0] == '\t'))
        l->rest = str_from(l->rest, 1);
    if (l->rest.n == 0)
        return OK;
    char c = l->rest.p[0];
    if (c == '(' || c == ')') {
        out->kind = c == '(' ? WORD_OPEN : WORD_CLOSE;
        l->rest = str_from(l->rest, 1);
        return OK;
    }
    if (name_byte(c, true))
        return take_name(l, out);
    out->kind = WORD_LITERAL;
    if (c == '\'') {
        out->value.type = EDM_STRING;
        return take_quoted(l, &out->value.bytes);
    }
    if (str_starts(l->rest, STR("-INF"))) {
        l->rest = str_from(l->rest, 4);
        out->value = edm_from_double(l->arena, -INFINITY);
        return OK;
    }
    return ascii_digit(c) || c == '-' ? take_number(l, &out->value) : lex_bad();
}
