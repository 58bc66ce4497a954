/* SPDX-License-Identifier: Apache-2.0 */
/* The head of an HTTP/1.1 response of another server, read as strictly as requests are: whatever
 * could be understood in two ways is refused. */
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

/* Reads a whole head, as http_scan_head finds it, into *out, whose slices point into `head` and
 * whose headers are put into headers[HTTP_ANSWER_HEADERS_MAX]. An interim answer (1xx) is one too.
 * ERR_BAD_REQUEST, ERR_HEADERS_TOO_LARGE, ERR_HTTP_VERSION. */
struct err http_parse_answer(struct str head, struct http_header *headers, struct http_answer *out);

/* The value of the first header of that name (any case); absent when there is none. */
struct str http_answer_header(const struct http_answer *answer, struct str name);

#endif
