/* SPDX-License-Identifier: Apache-2.0 */
/* Copying a content by reference: the copy's rows name the same extents. Rows are listed in a view
 * of the source and taken over in updates of the copy's partition, a bounded number at a time; an
 * update reads each listed row once more, so what it names is certain to be there. */
#ifndef SERVICE_COMMON_INTERVAL_COPY_H
#define SERVICE_COMMON_INTERVAL_COPY_H

#include "service/common/interval.h"

struct interval_copy_row {
    struct str rest; /* the key after the content's prefix */
    struct str key;  /* where the value lies: live, or past */
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
/* Takes one over. *gone when the source has changed since it was listed. */
struct err interval_copy_take(struct interval_map *to, struct str source_partition,
                              const struct interval_copy_row *row, bool *gone);

/* The rows that name the extents of pieces that were read. A fold may put others in their place
 * without the content changing, so whoever wants to hold the extents in a later update makes sure
 * that the rows are still those. */
struct interval_mark {
    struct str key;
    int64_t stamp;
};
struct interval_marks {
    struct interval_mark *items;
    size_t count;
};
/* For pieces as interval_read gave them, from an offset on, of a live map; in the arena. */
struct err interval_marks_take(const struct interval_map *m, uint64_t offset,
                               const struct pieces *pieces, struct arena *a,
                               struct interval_marks *out);
struct err interval_marks_check(struct txn *t, struct str partition,
                                const struct interval_marks *marks, bool *same);

#endif
