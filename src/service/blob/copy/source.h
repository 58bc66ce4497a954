/* SPDX-License-Identifier: Apache-2.0 */
/* A source blob on this server. A view of its partition finds it; the update in the destination's
 * partition then checks that it has not changed, and may name the same extents: only references are
 * copied. */
#ifndef SERVICE_BLOB_SOURCE_H
#define SERVICE_BLOB_SOURCE_H

#include "service/blob/blob.h"
#include "service/blob/copy/copy_state.h"
#include "service/common/content/interval_copy.h"

enum { BLOB_SOURCE_PIECES = 1024 }; /* that one transaction takes over */

struct blob_source {
    struct arena *arena; /* of all that is found */
    struct str partition;
    struct str name;
    struct blob_at at;
    struct conditions conditions; /* x-ms-source-if-* */
    bool archived_too;            /* the caller handles archived blobs */
    /* The part to find pieces of, clipped to the blob; none if length is 0. */
    uint64_t offset, length;
    size_t pieces_max;
    bool not_of_blocks; /* skip a block blob's pieces: its content is shared as a whole */
    /* out */
    bool found; /* a further read of the same content, without conditions */
    uint64_t incarnation;
    struct str key;
    struct blob_head head;
    struct pieces pieces;
    uint64_t until;              /* where the pieces end */
    struct interval_marks marks; /* of pages: what a fold must not have changed meanwhile */
};

/* In a view of the source's partition. ERR_SOURCE_CONDITION_NOT_MET, also if a found source has
 * changed; ERR_BLOB_ARCHIVED and ERR_BLOB_BEING_REHYDRATED; ERR_PENDING_COPY_OPERATION if it is the
 * destination of a copy; ERR_INVALID_RANGE if the part begins past its end. */
engine_fn blob_read_source;

/* In an update of any partition: checks that the source has not changed, so that its extents may be
 * held. ERR_SOURCE_CONDITION_NOT_MET. */
struct err blob_source_guard(struct txn *t, const struct blob_source *source);

/* Returns true if another content may name the pieces as they are: false for many small ones. */
bool blob_source_shareable(const struct blob_source *source, uint64_t inline_max);

#endif
