/* SPDX-License-Identifier: Apache-2.0 */
/* Retention of blobs that are overwritten or deleted. With versioning, the previous state becomes a
 * previous version; otherwise, with soft delete, it becomes a soft-deleted snapshot (overwritten)
 * or is marked as deleted (deleted) until its retention ends; otherwise it is removed.
 * docs/blob-kinds.md lists what each operation does to each kind. A moved head keeps its content; a
 * copied one shares it. */
#ifndef SERVICE_BLOB_KEEP_H
#define SERVICE_BLOB_KEEP_H

#include "service/blob/access.h"
#include "service/common/service_properties.h"

/* Every operation that gives a blob new content (Put Blob of each type, Put Block List, copies)
 * calls this before it sets the content. It retains or removes the old state, removes uncommitted
 * blocks, and makes the head that of an empty blob of the type, with a version id if the account
 * has versions. It keeps only what survives an overwrite: creation time, tier and lease.
 * ERR_INVALID_BLOB_TYPE if there are previous versions of another type. */
struct err blob_replace(struct txn *t, const struct blob_request *request, enum blob_type type,
                        struct blob *blob);
/* The same for an operation that only creates a missing blob (Put Block). */
struct err blob_begin(struct txn *t, const struct blob_request *request, enum blob_type type,
                      struct blob *blob);
/* Before a change that makes a new version without new content (Set Blob Metadata): keeps the
 * current state as a previous version. Does nothing if the blob has no versions. */
struct err blob_keep_version(struct txn *t, const struct blob_request *request, struct blob *blob);

/* The same before an overwrite that keeps the content (a copy onto itself), which also makes a
 * soft-deleted snapshot. */
struct err blob_keep_overwritten(struct txn *t, const struct blob_request *request,
                                 struct blob *blob);

/* The account's retention of soft-deleted blobs. */
struct err blob_find_retention(struct txn *t, const struct blob_request *request,
                               struct service_retention *out);
/* Delete Blob of one head of any kind. *kept: it was retained. */
struct err blob_take_away(struct txn *t, const struct blob_request *request,
                          const struct service_retention *retention, struct blob *blob, bool *kept);
/* Deletes it permanently. */
struct err blob_remove(struct txn *t, struct blob *blob);
/* Deletes a soft-deleted one permanently before its retention ends. */
struct err blob_purge(struct txn *t, struct blob *blob);
/* Pages that only removed snapshots and versions could see may be removed too. */
struct err blob_note_past_pages(struct txn *t, const struct blob *blob);

/* Undelete: restores the blob itself, which is soft-deleted; and its soft-deleted snapshots or
 * versions, the oldest `max` of them. *found: there were any. */
struct err blob_restore_base(struct txn *t, struct blob *blob);
struct err blob_restore_items(struct txn *t, const struct blob *blob, enum blob_item item,
                              size_t max, bool *found);
/* Returns true if the blob has snapshots or previous versions that are not soft-deleted. */
struct err blob_has_items(struct txn *t, const struct blob *blob, enum blob_item item, bool *found);

/* For the sweeper: removes soft-deleted items whose retention has ended, at most `max` in all; in a
 * view only counts. Adds to *count. */
struct err blob_purge_due(struct txn *t, const struct container *container, unsigned max,
                          unsigned *count);

#endif
