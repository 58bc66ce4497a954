/* SPDX-License-Identifier: Apache-2.0 */
/* What was cleared in a page blob since its snapshots were taken, when, and how much of it is known
 * to this day. Get Page Ranges tells it among the differences: a page that was written after the
 * snapshot and cleared again is a ClearRange, though it holds nothing then and now (the live tests
 * of the service's SDKs see it so), and its row is gone and cannot tell.
 *
 * It is a short list in the head. What does not fit is forgotten, the oldest first: who applies the
 * differences to a copy of the snapshot then is not told to clear what is clear there anyway. Never
 * is more told than was cleared: only rows that have changed are looked into for what is written
 * again. */
#ifndef SERVICE_BLOB_PAGE_CLEARS_H
#define SERVICE_BLOB_PAGE_CLEARS_H

#include "core/buf.h"
#include "service/common/vrow.h"

enum { PAGE_CLEARS_MAX = 64 };

struct page_clear {
    uint64_t from, to;
    int64_t stamp; /* of the update */
};

struct page_clears {
    struct page_clear items[PAGE_CLEARS_MAX]; /* in order, apart */
    size_t count;
};

/* Adds [from, to), cleared by the scope's transaction, and forgets what no snapshot is older than.
 */
void page_clears_add(struct page_clears *list, const struct vrow_scope *rows, uint64_t from,
                     uint64_t to);

/* In whole pages. */
void page_clears_encode(struct buf *b, const struct page_clears *list);
/* Absent: an empty list. False when it cannot be read. */
bool page_clears_decode(struct str bytes, struct page_clears *out);

#endif
