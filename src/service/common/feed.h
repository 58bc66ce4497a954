/* SPDX-License-Identifier: Apache-2.0 */
/* Passes the bytes of pieces on in portions, for callers that need bytes (a checksum, or a
 * content with other piece boundaries). Waits for the disk, so never on an event loop. */
#ifndef SERVICE_COMMON_FEED_H
#define SERVICE_COMMON_FEED_H

#include "service/common/content/content.h"

enum { FEED_BYTES = 256 << 10 };

/* Borrowed for the call; at most FEED_BYTES. An error ends the feed. */
typedef struct err feed_sink(void *arg, struct str bytes);

/* The caller holds a pin that is older than the view that found the pieces. ERR_CORRUPT, ERR_IO,
 * and the sink's errors. */
struct err feed_pieces(struct engine *e, const struct pieces *pieces, feed_sink *sink, void *arg);

#endif
