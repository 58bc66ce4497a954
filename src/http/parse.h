/* SPDX-License-Identifier: Apache-2.0 */
/* The head of an HTTP/1.1 request, parsed strictly: input that two parsers could read differently
 * is refused, so that no request can be smuggled past a proxy on either side. */
#ifndef HTTP_PARSE_H
#define HTTP_PARSE_H

#include "http/exchange.h"

/* Looks for the end of a head in `input`. Call it again with more of the same input until it finds
 * one: *scanned (0 at first) remembers the progress, so that the work is linear. Sets *length to
 * the head's length including its empty last line, or 0 while that has not arrived. ERR_BAD_REQUEST
 * for a line that does not end in CR LF or a first byte that starts no request, ERR_URI_TOO_LONG,
 * ERR_HEADERS_TOO_LARGE. */
struct err http_scan_head(struct str input, size_t *scanned, size_t *length);

/* Parses a whole head, as found by http_scan_head, into *out. Its slices point into `head`, its
 * headers are stored in headers[HTTP_HEADERS_MAX]. ERR_BAD_REQUEST, ERR_URI_TOO_LONG,
 * ERR_HEADERS_TOO_LARGE, ERR_HTTP_VERSION; the error's detail has the reason. */
struct err http_parse_head(struct str head, struct http_header *headers, struct http_request *out);

/* Takes the next line off a head, without its CR LF (the caller's check of the bytes finds a stray
 * CR), and splits a header line. ERR_BAD_REQUEST. */
struct str http_next_line(struct str *rest);
struct err http_parse_header(struct str line, struct http_header *out);

/* Returns true if a token list such as that of Connection contains the token, in any case. */
bool http_list_has(struct str list, struct str token);

/* Return true if all bytes are valid in a header's name, or in its value. */
bool http_is_token(struct str s);
bool http_is_field_value(struct str s);

#endif
