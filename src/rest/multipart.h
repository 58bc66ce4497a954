/* SPDX-License-Identifier: Apache-2.0 */
/* Parses multipart/mixed bodies and the HTTP requests in them. All slices borrow from the body, and
 * nothing reads past it. Lines end with CRLF; a bare LF is accepted too, because clients that write
 * bodies by hand send it. */
#ifndef REST_MULTIPART_H
#define REST_MULTIPART_H

#include "http/exchange.h"

enum { MULTIPART_BOUNDARY_MAX = 200, MULTIPART_HEADERS_MAX = 32 };

/* The boundary of a multipart/mixed Content-Type, without quotes; absent for another type. */
struct str multipart_boundary(struct str content_type);

/* Walks the parts between "--boundary" lines, up to "--boundary--". */
struct multipart {
    struct str rest;
    struct str boundary;
    bool ended; /* the closing line was seen */
};

struct multipart multipart_of(struct str body, struct str boundary);
/* The next part, without the line end that belongs to the delimiter. False at the end, and if there
 * is no further delimiter: `ended` tells which. */
bool multipart_next(struct multipart *m, struct str *part);

/* Header lines, up to MULTIPART_HEADERS_MAX, then an empty line, then the rest. False if
 * malformed. */
struct multipart_headers {
    struct http_header items[MULTIPART_HEADERS_MAX];
    size_t count;
};
bool multipart_split(struct str part, struct multipart_headers *headers, struct str *body);
/* Absent if there is no header of that name. */
struct str multipart_header(const struct multipart_headers *headers, struct str name);

/* "METHOD address HTTP/1.1", headers, body. */
struct multipart_request {
    struct str method;
    struct str address;
    struct multipart_headers headers;
    struct str body;
};
bool multipart_request_of(struct str text, struct multipart_request *out);

#endif
