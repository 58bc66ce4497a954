/* SPDX-License-Identifier: Apache-2.0 */
/* Byte slices: borrowed, const, not NUL-terminated, passed by value. */
#ifndef CORE_STR_H
#define CORE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
    const char *p;
    size_t n;
};

#define STR(literal)                   \
    (struct str)                       \
    {                                  \
        (literal), sizeof(literal) - 1 \
    }
/* For static initialisers, where a compound literal is not a constant. */
#define STR_INIT(literal)              \
    {                                  \
        (literal), sizeof(literal) - 1 \
    }
#define STR_NONE ((struct str){NULL, 0})
/* For printf("%.*s"). */
#define STR_ARG(s) (int)(s).n, (s).p

static inline struct str str_of(const char *z)
{
    return (struct str){z, z == NULL ? 0 : strlen(z)};
}

/* The pointer distinguishes absent from empty: a header that was not sent has p == NULL. */
static inline bool str_given(struct str s)
{
    return s.p != NULL;
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool str_starts(struct str s, struct str prefix)
{
    return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

/* The part from `from` on; empty (not absent) when from is past the end. */
static inline struct str str_from(struct str s, size_t from)
{
    if (from > s.n)
        from = s.n;
    /* Even adding zero to a null pointer is undefined. */
    return from == 0 ? s : (struct str){s.p + from, s.n - from};
}

static inline struct str str_head(struct str s, size_t n)
{
    return (struct str){s.p, n < s.n ? n : s.n};
}

static inline char ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static inline bool ascii_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool ascii_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Value of a hex digit, -1 for another character. */
static inline int ascii_hex(char c)
{
    unsigned digit = (unsigned char)c - (unsigned)'0';
    unsigned letter = ((unsigned char)c | 0x20U) - (unsigned)'a';
    return digit < 10 ? (int)digit : letter < 6 ? (int)letter + 10 : -1;
}

/* ASCII case-insensitive. */
bool str_istarts(struct str s, struct str prefix);
/* Most that are compared differ in length. */
static inline bool str_ieq(struct str a, struct str b)
{
    return a.n == b.n && str_istarts(a, b);
}
/* Writes s.n bytes: s with its ASCII letters in lower case. */
void str_lower(struct str s, char *to);
/* Returns true if any byte is below 0x20 (a tab is) or is 0x7F. */
bool str_has_control(struct str s);
/* memcmp order, the shorter first. */
int str_cmp(struct str a, struct str b);
bool str_ends(struct str s, struct str suffix);
/* Index of the first c at or after `from`; s.n if there is none. */
size_t str_find(struct str s, char c, size_t from);
/* Index of the first occurrence of needle; s.n if there is none. */
size_t str_find_str(struct str s, struct str needle);
/* Without spaces and tabs at either end. */
struct str str_trim(struct str s);
/* Splits *rest at the first sep: returns the part before it and leaves the part after it (absent if
 * there was no sep). */
struct str str_cut(struct str *rest, char sep);

/* Decimal digits only, the whole slice, no sign, no overflow. */
bool str_to_u64(struct str s, uint64_t *out);
/* As above with an optional leading '-'. */
bool str_to_i64(struct str s, int64_t *out);
/* "true"/"false" in any case. */
bool str_to_bool(struct str s, bool *out);
/* Well-formed UTF-8: no overlong forms, surrogates, or values past U+10FFFF. */
bool str_is_utf8(struct str s);
/* Length of the well-formed sequence at the start of a non-empty s; 0 if there is none. */
size_t str_utf8_length(struct str s);
/* Length in UTF-16 code units of well-formed UTF-8. */
size_t str_utf16_units(struct str s);

#endif
