/* SPDX-License-Identifier: Apache-2.0 */
/* Append blobs: created empty, extended block by block, finally sealed. Each block is a chunk of
 * the content's map at its offset; a snapshot shares the content and sees as much of it as its own
 * size. */
#ifndef SERVICE_BLOB_APPEND_H
#define SERVICE_BLOB_APPEND_H

#include "service/blob/blob.h"

enum { BLOB_APPEND_BLOCKS_MAX = 50000 };

struct blob_create_append_args {
    struct blob_request request;
    struct blob_properties properties;
    /* out */
    struct blob_head head;
};
/* Put Blob of an append blob. ERR_INVALID_BLOB_TYPE. */
engine_fn blob_create_append_blob;

struct blob_append_args {
    struct blob_request request;
    const struct pieces *pieces; /* of a finished upload, or of a source; not for Seal */
    struct blob_claim claim;
    uint64_t size;
    bool has_position, has_size_max;
    uint64_t position; /* where the client expects the blob's end */
    uint64_t size_max; /* the largest size after the append */
    /* out */
    struct blob_head head;
    uint64_t offset; /* where the block begins */
};
/* ERR_INVALID_BLOB_TYPE, ERR_BLOB_IS_SEALED, ERR_APPEND_POSITION_CONDITION_NOT_MET,
 * ERR_MAX_BLOB_SIZE_CONDITION_NOT_MET, ERR_BLOCK_COUNT_EXCEEDS_LIMIT. */
engine_fn blob_append_block;
engine_fn blob_seal_append_blob;
/* For path_append.c: appends the pieces to an open append blob. ERR_BLOB_IS_SEALED,
 * ERR_BLOCK_COUNT_EXCEEDS_LIMIT. */
struct err blob_write_at_end(struct txn *t, const struct blob_append_args *args, struct blob *blob);

#endif
