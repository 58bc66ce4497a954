/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of pieces, handed over in portions: for those who need them as bytes (a checksum, a
 * content that is cut otherwise). Waits for the disk, so never on an event loop. */
#ifndef SERVICE_COMMON_FEED_H
#define SERVICE_COMMON_FEED_H

#include "service/common/content.h"

enum { FEED_BYTES = 256 << 10 };

/* Borrowed for the call; at most FEED_BYTES. An error ends it. */
typedef struct err feed_sink(void *arg, struct str bytes);

/* A pin must be held that is older than the view that found the pieces. ERR_CORRUPT, ERR_IO, and
 * the sink's. */
struct err feed_pieces(struct engine *e, const struct pieces *pieces, feed_sink *sink, void *arg);

#endif
