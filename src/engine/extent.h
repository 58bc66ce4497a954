/* SPDX-License-Identifier: Apache-2.0 */
/* The name of an extent, and its form in rows, which is the same for every engine. */
#ifndef ENGINE_EXTENT_H
#define ENGINE_EXTENT_H

#include "core/buf.h"
#include "core/wire.h"

enum { EXTENT_BYTES_MAX = 4 << 20, EXTENT_ENCODED_BYTES = 24 };

/* An immutable run of bytes in a store. Only the engine that wrote it interprets the numbers. */
struct extent {
    uint64_t segment;
    uint64_t offset;
    uint32_t length;
    uint32_t check; /* the engine's checksum of the extent's checksums */
};

/* EXTENT_ENCODED_BYTES each. */
void extent_encode(struct buf *b, const struct extent *x);
struct extent extent_decode(struct reader *r);

/* Orders by segment and offset, as qsort does. The length and the checksum are not compared: no two
 * extents of a store begin at the same position. */
int extent_order(const struct extent *a, const struct extent *b);

#endif
