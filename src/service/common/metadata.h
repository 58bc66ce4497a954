/* SPDX-License-Identifier: Apache-2.0 */
/* The metadata that clients attach to containers, blobs, queues, shares and files. */
#ifndef SERVICE_COMMON_METADATA_H
#define SERVICE_COMMON_METADATA_H

#include "core/err.h"
#include "service/common/pairs.h"

enum { METADATA_BYTES_MAX = 8 << 10 };

/* Names are C# identifiers, taken without regard to case (so two that differ in case alone are a
 * repetition) but kept as sent; values are what a header can carry in ASCII.
 * ERR_EMPTY_METADATA_KEY, ERR_INVALID_METADATA, ERR_METADATA_TOO_LARGE (names and values). */
struct err metadata_check(const struct pairs *metadata);

#endif
