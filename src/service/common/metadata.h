/* SPDX-License-Identifier: Apache-2.0 */
/* The metadata that clients attach to containers, blobs, queues, shares and files. */
#ifndef SERVICE_COMMON_METADATA_H
#define SERVICE_COMMON_METADATA_H

#include "core/err.h"
#include "service/common/pairs.h"

enum { METADATA_BYTES_MAX = 8 << 10 };

/* Names are C# identifiers. They are compared without case (two that differ only in case are
 * duplicates) but stored as sent; values are ASCII text that a header can have.
 * ERR_EMPTY_METADATA_KEY, ERR_INVALID_METADATA, ERR_METADATA_TOO_LARGE (names and values). */
struct err metadata_check(const struct pairs *metadata);

#endif
