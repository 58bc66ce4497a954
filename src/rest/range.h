/* SPDX-License-Identifier: Apache-2.0 */
/* The range of bytes that a request asks for. */
#ifndef REST_RANGE_H
#define REST_RANGE_H

#include "rest/call.h"

/* x-ms-range, or else Range. A Range of another form (a suffix, several) is ignored, as HTTP
 * allows; an x-ms-range must be valid: ERR_INVALID_HEADER_VALUE. *length is UINT64_MAX for a range
 * without an end. */
struct err rest_range_read(struct rest_call *call, bool *given, uint64_t *offset, uint64_t *length);

/* The answer is that part of `size` bytes: 206 and Content-Range. */
void rest_range_put(struct rest_call *call, uint64_t offset, uint64_t length, uint64_t size);
/* The range is past the end: a 416 with the size. */
void rest_range_put_size(struct rest_call *call, uint64_t size);

#endif
