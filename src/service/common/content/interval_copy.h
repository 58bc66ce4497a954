/* SPDX-License-Identifier: Apache-2.0 */
/* Copies a content by reference: the copy's rows name the same extents. A view lists the rows of
 * the source; updates of the copy's partition take them over, a bounded number at a time. Each
 * update reads the listed rows again, so the extents certainly exist. */
#ifndef SERVICE_COMMON_CONTENT_INTERVAL_COPY_H
#define SERVICE_COMMON_CONTENT_INTERVAL_COPY_H

#include "service/common/content/interval.h"

struct interval_copy_row {
    struct str rest; /* the key after the content's prefix */
    struct str key;  /* where the value is: current or historic */
    int64_t stamp;
};

struct interval_copy_rows {
    struct interval_copy_row *items;
    size_t count;
    struct str next; /* the first `rest` not listed; absent at the end */
};

/* The rows from `from` (absent: the first) on, at most max, without those in voids; in the arena.
 */
struct err interval_copy_list(const struct interval_map *source, struct str from, size_t max,
                              struct arena *a, struct interval_copy_rows *out);
/* Takes one row over. Sets *gone if the source has changed since it was listed. */
struct err interval_copy_take(struct interval_map *to, struct str source_partition,
                              const struct interval_copy_row *row, bool *gone);

/* The rows that name the extents of pieces that were read. A fold may replace the extents
 * without changing the content. So a later update that wants to hold the extents first checks
 * that the rows are still the same. */
struct interval_mark {
    struct str key;
    int64_t stamp;
};
struct interval_marks {
    struct interval_mark *items;
    size_t count;
};
/* For pieces of a current map as interval_read returned them, from an offset on; in the arena. */
struct err interval_marks_take(const struct interval_map *m, uint64_t offset,
                               const struct pieces *pieces, struct arena *a,
                               struct interval_marks *out);
struct err interval_marks_check(struct txn *t, struct str partition,
                                const struct interval_marks *marks, bool *same);

#endif
