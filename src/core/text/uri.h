/* SPDX-License-Identifier: Apache-2.0 */
/* Percent-encoding, query strings, and absolute URLs (for copy sources).
 *
 * '+' is an ordinary character, except in a query that is parsed like a form: there it means a
 * space. */
#ifndef CORE_TEXT_URI_H
#define CORE_TEXT_URI_H

#include "core/buf.h"

/* Undoes every %XX. False for a '%' without two hex digits; *out is then untouched. The result may
 * be any bytes: the caller checks for UTF-8 (str_is_utf8) and for NUL. When there is nothing to
 * decode it is the input itself, else it lives in the arena; never absent unless the input is. */
bool uri_decode(struct arena *a, struct str s, struct str *out);
/* The same, but leaves a malformed '%' as it is. */
struct str uri_decode_loose(struct arena *a, struct str s);

/* Returns true if the text is ASCII without '%' and NUL: then decoding does not change it, and it
 * is UTF-8. */
bool uri_is_plain(struct str s);

/* The characters that stay unescaped besides letters, digits and "-._~". */
enum uri_keep {
    URI_KEEP_NONE, /* for a query value or one path segment */
    URI_KEEP_PATH, /* '/' and the characters that a path may have: for a whole path */
};
void uri_encode(struct buf *out, struct str s, enum uri_keep keep);

/* One name=value of a query string. */
struct uri_param {
    struct str name;  /* decoded */
    struct str raw;   /* the value as sent; empty when there is no '=' */
    struct str value; /* decoded; may be any bytes */
    bool plain;       /* name and value are as sent, and ASCII without NUL */
};

/* Iterates over a query string (without its '?'). Empty parts ("&&") are skipped. */
struct uri_query {
    struct str rest;
    size_t parts;   /* number so far, including empty ones */
    bool malformed; /* a name or a value had a bad escape; it was decoded loosely */
    /* Set by the caller: decode '+' as a space, in names and in all values except that of the
     * parameter `verbatim` (any case). */
    bool plus_is_space;
    struct str verbatim;
};

struct uri_query uri_query_of(struct str query);
/* Returns false at the end. Decoded text lives as long as uri_decode says. */
bool uri_query_next(struct uri_query *q, struct arena *a, struct uri_param *out);

/* An absolute http or https URL; all parts are as sent and borrow from it. */
struct uri {
    struct str scheme;
    struct str host; /* without the brackets of an IPv6 address */
    uint16_t port;   /* the scheme's when none is given */
    bool port_given;
    struct str path;  /* begins with '/'; "/" if there is none */
    struct str query; /* absent when there is no '?' */
};

/* False if it is not "http://…" or "https://…" (any case), has no host, has user info, a control
 * character or a space, or has a bad port. A fragment is dropped. */
bool uri_parse(struct str url, struct uri *out);

#endif
