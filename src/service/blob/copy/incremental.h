/* SPDX-License-Identifier: Apache-2.0 */
/* Incremental Copy Blob: a page blob that follows the snapshots of another one. Each copy writes
 * the changes since the last one into the same content and then takes a snapshot; so the
 * differences between these snapshots equal the source's. */
#ifndef SERVICE_BLOB_INCREMENTAL_H
#define SERVICE_BLOB_INCREMENTAL_H

#include "service/blob/copy/copy_job.h"

/* A part of the source, holes included. */
struct blob_patch {
    uint64_t offset;
    struct pieces pieces;
};

struct blob_incremental_args {
    struct blob_request request;
    struct guid id;
    struct str url; /* the URL of the source's snapshot, as the copy state shows it */
    struct blob_source source;
    /* Made by blob_incremental_find. */
    int64_t since; /* the source's snapshot that the blob was last copied from; 0: none */
    struct blob_patch *patches;
    size_t patch_count;
    bool whole; /* the patches complete the copy */
    /* out */
    struct blob_head head;
    enum blob_copy_status status;
    uint64_t incarnation, job; /* when it is pending */
};

/* Finds the changes to copy; waits for the engine. ERR_INCREMENTAL_COPY_SOURCE_MUST_BE_SNAPSHOT,
 * ERR_INVALID_SOURCE_BLOB_TYPE, and the errors of blob_read_source. */
struct err blob_incremental_find(struct store *store, struct str partition,
                                 struct blob_incremental_args *args);
/* ERR_INCREMENTAL_COPY_BLOB_MISMATCH, ERR_INCREMENTAL_COPY_OF_EARLIER_SNAPSHOT_NOT_ALLOWED,
 * ERR_INVALID_BLOB_TYPE, ERR_SOURCE_CONDITION_NOT_MET. */
engine_fn blob_incremental_copy_blob;

#endif
