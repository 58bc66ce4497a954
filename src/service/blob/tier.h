/* SPDX-License-Identifier: Apache-2.0 */
/* Set Blob Tier. A tier changes nothing about where content lies here; what a client sees of it is
 * as it would be: archived content is out of reach, and comes back only after a while. Page blobs
 * have tiers of their own, by size. */
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
 * ERR_CANNOT_CHANGE_TO_LOWER_TIER, ERR_BLOB_TIER_INADEQUATE_FOR_CONTENT_LENGTH. No write of the
 * blob: its ETag and time stay. */
engine_fn blob_set_blob_tier;

/* For all operations that set a page blob's size or tier. */
struct err blob_check_tier_size(const struct blob_head *head);

#endif
