/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of a blob that is overwritten or deleted. Where the account has versions, the state
 * before becomes a previous version; else, where it soft-deletes, it becomes a soft-deleted
 * snapshot (overwritten) or is marked as deleted (deleted), until its retention is over; else it
 * goes. docs/blob-kinds.md has what each operation does to each kind. A head that moves takes its
 * content along; one that is copied shares it. */
#ifndef SERVICE_BLOB_KEEP_H
#define SERVICE_BLOB_KEEP_H

#include "service/blob/access.h"
#include "service/common/service_properties.h"

/* Every operation that gives a blob new content (Put Blob of each type, Put Block List, copies)
 * calls this before it says what the content is: what the blob was is put aside or goes, its
 * uncommitted blocks go, and the head is that of an empty blob of the type, with a version id when
 * the account has versions. It keeps only what outlives an overwrite: the time of creation, the
 * tier and the lease. Whatever a head may hold besides goes with the content it was said of.
 * ERR_INVALID_BLOB_TYPE when there are previous versions of another type. */
struct err blob_replace(struct txn *t, const struct blob_request *request, enum blob_type type,
                        struct blob *blob);
/* The same for what only makes a blob where there is none (Put Block). */
struct err blob_begin(struct txn *t, const struct blob_request *request, enum blob_type type,
                      struct blob *blob);
/* Before a change that makes a new version without new content (Set Blob Metadata): the blob as it
 * is stays as a previous version. Nothing where the blob has no versions. */
struct err blob_keep_version(struct txn *t, const struct blob_request *request, struct blob *blob);

/* The same before an overwrite that leaves the content as it is (a copy onto itself), which makes a
 * soft-deleted snapshot too. */
struct err blob_keep_overwritten(struct txn *t, const struct blob_request *request,
                                 struct blob *blob);

/* The account's retention of what is soft-deleted. */
struct err blob_find_retention(struct txn *t, const struct blob_request *request,
                               struct service_retention *out);
/* Delete Blob of one head, whichever it is. *kept: it is not gone for good. */
struct err blob_take_away(struct txn *t, const struct blob_request *request,
                          const struct service_retention *retention, struct blob *blob, bool *kept);
/* Goes for good. */
struct err blob_remove(struct txn *t, struct blob *blob);
/* One that is soft-deleted goes for good before its time. */
struct err blob_purge(struct txn *t, struct blob *blob);
/* What only the snapshots and versions that went had seen of a page blob's pages can go too. */
struct err blob_note_past_pages(struct txn *t, const struct blob *blob);

/* Undelete: the blob itself, which is buried; and its soft-deleted snapshots or versions, the
 * oldest `max` of them. *found: there were any. */
struct err blob_restore_base(struct txn *t, struct blob *blob);
struct err blob_restore_items(struct txn *t, const struct blob *blob, enum blob_item item,
                              size_t max, bool *found);
/* Whether the blob has snapshots or previous versions that are not soft-deleted. */
struct err blob_has_items(struct txn *t, const struct blob *blob, enum blob_item item, bool *found);

/* For the sweeper: what is soft-deleted and whose time is over, at most `max` in all; in a view
 * only counts. *count goes up by each. */
struct err blob_purge_due(struct txn *t, const struct container *container, unsigned max,
                          unsigned *count);

#endif
