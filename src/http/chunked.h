/* SPDX-License-Identifier: Apache-2.0 */
/* A chunked request body, parsed strictly and incrementally: sizes are only hex digits, every line
 * ends in CR LF; extensions and trailers are bounded, checked and discarded. */
#ifndef HTTP_CHUNKED_H
#define HTTP_CHUNKED_H

#include "core/err.h"
#include "core/str.h"

enum {
    CHUNK_EXTENSION_BYTES_MAX = 256,
    CHUNK_TRAILER_BYTES_MAX = 8192,
    CHUNK_SIZE_DIGITS_MAX = 15
};

struct http_chunked {
    uint8_t state;
    uint8_t digits;
    uint16_t line_bytes; /* of the extension or the trailers seen so far */
    uint64_t left;       /* of the current chunk */
};

/* Prepares for a body's first byte. */
void http_chunked_init(struct http_chunked *c);
/* Consumes the front of *input. On return *data is the next run of body bytes (a part of the
 * input). If it is empty, all of *input was consumed, unless the body has ended.
 * ERR_BAD_REQUEST. */
struct err http_chunked_next(struct http_chunked *c, struct str *input, struct str *data);
/* Returns true after the last chunk and the trailers. */
bool http_chunked_ended(const struct http_chunked *c);

#endif
