/* SPDX-License-Identifier: Apache-2.0 */
/* Appending to a file by position, and flushing, which makes what was appended its content.
 *
 * Small appends to an empty file are the body of its row until they are its content. Others are
 * kept like uncommitted blocks (block.h), small ones in the row of the set, others in one row each
 * whose id is the position and the stamp of the append: so the sweeper takes abandoned ones away,
 * and what was appended later stands before what was appended at the same place earlier. A flush
 * that only lengthens the file adds to the content that is there; one that writes over a part of it
 * makes a new one. */
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
    bool retain;           /* appends beyond the position stay for a later flush */
    bool merged;           /* many appends were merged, as far as that goes (path_merge.h) */
    struct blob_http http; /* each that is given */
    enum path_lease_action lease_action;
    struct lease_request lease; /* of an acquire: the id proposed, and how long */
    /* out */
    struct blob_written written;
    bool lease_renewed;
};
/* Changes neither ETag nor time, unless it flushes. ERR_INVALID_FLUSH_OPERATION while there are
 * uncommitted blocks, ERR_PATH_CONFLICT for a directory, ERR_BLOCK_COUNT_EXCEEDS_LIMIT. */
engine_fn path_append;
/* Both with ERR_STAGE_STALE when many appends are to be flushed: merge them first (path_merge.h).
 * ERR_INVALID_FLUSH_POSITION unless the file with its contiguous appends ends there. */
engine_fn path_flush;

#endif
