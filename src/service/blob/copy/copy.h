/* SPDX-License-Identifier: Apache-2.0 */
/* Copy Blob and its variants. A copy that one transaction can do is done at once; a longer one is
 * left pending as a job (copy_job.h). */
#ifndef SERVICE_BLOB_COPY_H
#define SERVICE_BLOB_COPY_H

#include "service/blob/copy/copy_job.h"

/* Properties that the client sets instead of the source's. */
struct blob_copy_wishes {
    bool has_metadata;
    struct str metadata;
    struct str tags;         /* any metadata here replaces all of the source's */
    enum blob_tier tier;     /* NONE: the default */
    bool high_priority;      /* of the rehydration of an archived source's copy */
    int64_t rehydrate_ticks; /* how long one takes */
    bool has_seal, seal;     /* of an append blob; else as the source */
    struct blob_protection protection;
};

struct blob_copy_args {
    struct blob_request request; /* of the destination */
    struct blob_copy_wishes wishes;
    struct guid id;
    struct str url;                   /* of the source, for the blob's copy state */
    const struct blob_head *from;     /* what the source is */
    const struct blob_source *source; /* where it was found here; NULL: another server's */
    struct str remote_url;            /* of another server's, with its signature */
    struct str remote_etag;
    const struct pieces *pieces; /* the first of its content, or all; NULL: none yet */
    enum piece_claim claim;
    bool as_block_blob;        /* for any type of source */
    bool needs_infinite_lease; /* of a leased destination: an asynchronous copy may outlast a finite
                                  lease */
    /* out */
    struct blob_head head;
    enum blob_copy_status status;
    uint64_t incarnation, job; /* when it is pending */
};
/* ERR_INVALID_BLOB_TYPE, ERR_BLOB_ARCHIVED, ERR_INVALID_BLOB_TIER,
 * ERR_INFINITE_LEASE_DURATION_REQUIRED, ERR_SOURCE_CONDITION_NOT_MET when the source has changed
 * since it was found. */
engine_fn blob_copy_blob;

struct blob_abort_args {
    struct blob_request request;
    struct guid id;
};
/* ERR_NO_PENDING_COPY_OPERATION, ERR_COPY_ID_MISMATCH. Leaves an empty blob. */
engine_fn blob_abort_copy_blob;

#endif
