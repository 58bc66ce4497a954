/* SPDX-License-Identifier: Apache-2.0 */
/* Appending to a file by position, and flushing, which turns the appends into content.
 *
 * Small appends to an empty file are the body of its row until the flush. Others are stored like
 * uncommitted blocks (block.h): small ones in the row of the set, larger ones in one row each,
 * whose id is the position and the stamp of the append. So the sweeper removes abandoned ones, and
 * a later append wins over an earlier one at the same position. A flush that only lengthens the
 * file adds to its content; one that overwrites a part of it writes a new content. */
#ifndef SERVICE_BLOB_PATH_PATH_APPEND_H
#define SERVICE_BLOB_PATH_PATH_APPEND_H

#include "service/blob/blob.h"

enum path_lease_action {
    PATH_LEASE_NONE,
    PATH_LEASE_ACQUIRE,
    PATH_LEASE_AUTO_RENEW,
    PATH_LEASE_RELEASE,
    PATH_LEASE_ACQUIRE_RELEASE,
};

enum { PATH_APPEND_ID_BYTES = 16 }; /* of an append: its position and its stamp, big-endian */

struct path_write_args {
    struct blob_request request;
    uint64_t position;
    /* Append. */
    const struct pieces *pieces;
    uint64_t size;
    bool flush; /* at its end */
    /* Flush. */
    bool adds_only;        /* the caller may add to the file, not change what it has */
    bool retain;           /* appends beyond the position are kept for a later flush */
    bool merged;           /* many appends were merged as far as possible (path_merge.h) */
    struct blob_http http; /* each that is given */
    enum path_lease_action lease_action;
    struct lease_request lease; /* of an acquire: the proposed id and the duration */
    /* out */
    struct blob_written written;
    bool lease_renewed;
};
/* Changes neither ETag nor time, unless it flushes. ERR_INVALID_FLUSH_OPERATION while there are
 * uncommitted blocks, ERR_PATH_CONFLICT for a directory, ERR_BLOCK_COUNT_EXCEEDS_LIMIT. */
engine_fn path_append;
/* Both return ERR_STAGE_STALE if there are many appends to flush: merge them first (path_merge.h).
 * ERR_INVALID_FLUSH_POSITION unless the file with its contiguous appends ends there. */
engine_fn path_flush;

#endif
