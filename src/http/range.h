/* SPDX-License-Identifier: Apache-2.0 */
/* The ranges of Range and x-ms-range: "bytes=a-b" and "bytes=a-". */
#ifndef HTTP_RANGE_H
#define HTTP_RANGE_H

#include "core/str.h"

#define HTTP_RANGE_TO_END UINT64_MAX

struct http_range {
    uint64_t first;
    uint64_t last; /* inclusive; HTTP_RANGE_TO_END if it was omitted or is that number: no object
                      has so many bytes */
};

/* False for an unsupported form: another unit, several ranges, a suffix ("bytes=-5"), an end before
 * the beginning, or no range. The operation decides what that means. */
bool http_range_parse(struct str text, struct http_range *out);
/* Clips the range to an object of `size` bytes. False if nothing is left. */
bool http_range_clip(struct http_range range, uint64_t size, uint64_t *offset, uint64_t *length);

#endif
