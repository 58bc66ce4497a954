/* SPDX-License-Identifier: Apache-2.0 */
/* Set Blob Tier. A tier does not affect where content is stored here, but clients see the same
 * behaviour: archived content cannot be read until it is rehydrated, which takes a while. Page
 * blobs have separate tiers, by size. */
#ifndef SERVICE_BLOB_TIER_H
#define SERVICE_BLOB_TIER_H

#include "service/blob/access.h"

struct blob_tier_args {
    struct blob_request request;
    enum blob_tier tier;     /* not NONE */
    bool high_priority;      /* of a rehydration */
    int64_t rehydrate_ticks; /* how long one takes */
    /* out */
    bool rehydrates; /* the blob leaves the archive, now or later */
};
/* ERR_INVALID_BLOB_TYPE, ERR_INVALID_BLOB_TIER, ERR_BLOB_BEING_REHYDRATED,
 * ERR_CANNOT_CHANGE_TO_LOWER_TIER, ERR_BLOB_TIER_INADEQUATE_FOR_CONTENT_LENGTH. Not a write of the
 * blob: its ETag and time do not change. */
engine_fn blob_set_blob_tier;

/* For all operations that set a page blob's size or tier. */
struct err blob_check_tier_size(const struct blob_head *head);

#endif
