/* SPDX-License-Identifier: Apache-2.0 */
/* The head of an HTTP/1.1 response from another server, parsed as strictly as requests: ambiguous
 * input is refused. */
#ifndef HTTP_ANSWER_H
#define HTTP_ANSWER_H

#include "http/parse.h"

enum { HTTP_ANSWER_HEADERS_MAX = 512 }; /* the metadata of a blob, one each */

struct http_answer {
    int status; /* 200 to 599 */
    struct http_header *headers;
    size_t header_count;
    int64_t content_length; /* -1: not given */
    bool chunked;
};

/* Parses a whole head, as found by http_scan_head, into *out. Its slices point into `head`, its
 * headers are stored in headers[HTTP_ANSWER_HEADERS_MAX]. Also parses interim answers (1xx).
 * ERR_BAD_REQUEST, ERR_HEADERS_TOO_LARGE, ERR_HTTP_VERSION. */
struct err http_parse_answer(struct str head, struct http_header *headers, struct http_answer *out);

/* The value of the first header of that name (any case); absent if there is none. */
struct str http_answer_header(const struct http_answer *answer, struct str name);

#endif
