/* SPDX-License-Identifier: Apache-2.0 */
/* Which pages of a page blob were cleared since its snapshots were taken, and when. Get Page Ranges
 * reports them among the differences: a page that was written after the snapshot and cleared again
 * is a ClearRange, although it is empty both then and now (the live tests of the service's SDKs
 * show it), and its row is gone.
 *
 * The list is short and part of the head. If it is full, the oldest entries are dropped: applying
 * the differences to a copy of the snapshot is still correct, because the dropped ranges are clear
 * there anyway. The differences never report more than was cleared: pages that were written again
 * are found by reading the changed rows. */
#ifndef SERVICE_BLOB_PAGE_PAGE_CLEARS_H
#define SERVICE_BLOB_PAGE_PAGE_CLEARS_H

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

/* Adds [from, to), cleared by the scope's transaction, and drops entries that are older than all
 * snapshots. */
void page_clears_add(struct page_clears *list, const struct vrow_scope *rows, uint64_t from,
                     uint64_t to);

/* In whole pages. */
void page_clears_encode(struct buf *b, const struct page_clears *list);
/* Absent: an empty list. False if it cannot be decoded. */
bool page_clears_decode(struct str bytes, struct page_clears *out);

#endif
