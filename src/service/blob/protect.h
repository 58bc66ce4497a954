/* SPDX-License-Identifier: Apache-2.0 */
/* Protection of a blob from changes and deletion (immutability policies, legal holds), and its
 * automatic removal (expiry). docs/protocol/facts.md §4.11.
 *
 * Two indexes over the heads keep both cheap: one search tells if a container has anything
 * protected (then it must not be deleted), and the sweeper finds expired blobs without reading the
 * others. */
#ifndef SERVICE_BLOB_PROTECT_H
#define SERVICE_BLOB_PROTECT_H

#include "service/blob/access.h"

/* ERR_BLOB_IMMUTABLE_DUE_TO_LEGAL_HOLD, ERR_BLOB_IMMUTABLE_DUE_TO_POLICY. */
struct err blob_check_mutable(const struct blob_head *head, int64_t now);
/* Returns true if it has expired: it is invisible, though the sweeper may not have removed it yet.
 * A protected blob does not expire before the protection ends. */
bool blob_is_expired(const struct blob_head *head, int64_t now);

/* For access.c: updates the indexes for the head; NULL: it is removed. */
struct err blob_index_times(struct txn *t, struct blob *blob, const struct blob_head *head);
/* ERR_BLOB_IMMUTABLE_DUE_TO_POLICY when a blob of the container, or a snapshot, is protected. */
struct err blob_check_container_mutable(struct txn *t, uint64_t incarnation);

/* For the sweeper: removes expired blobs, at most `max` in all; in a view only counts. Adds to
 * *count. */
struct err blob_remove_expired(struct txn *t, const struct container *container, unsigned max,
                               unsigned *count);

/* ---- operations ---- */

struct blob_protect_args {
    struct blob_request request;
    struct blob_protection protection; /* of the policy: until and locked; of the hold: hold */
    /* out */
    struct blob_head head;
};
/* ERR_BLOB_IMMUTABLE_DUE_TO_POLICY: a locked policy can only be extended, not removed. */
engine_fn blob_set_blob_immutability_policy;
engine_fn blob_delete_blob_immutability_policy;
engine_fn blob_set_blob_legal_hold;

/* Milliseconds; with these the year still has four digits. */
#define BLOB_EXPIRY_MS_MAX ((uint64_t)INT64_MAX / (TICKS_PER_SECOND / 1000) / 4)
enum blob_expiry_option {
    BLOB_EXPIRY_NEVER,
    BLOB_EXPIRY_FROM_CREATION,
    BLOB_EXPIRY_FROM_NOW,
    BLOB_EXPIRY_AT,
};

struct blob_expiry_args {
    struct blob_request request;
    enum blob_expiry_option option;
    int64_t ticks; /* how long, or when */
    /* out */
    struct blob_head head;
};
/* ERR_INVALID_HEADER_VALUE for a time in the past. */
engine_fn blob_set_blob_expiry;

#endif
