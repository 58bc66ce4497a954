/* SPDX-License-Identifier: Apache-2.0 */
/* The damage that `lazuli check` has found, and its owners. Rows are grouped by partition,
 * because the services know what rows mean and scan a partition once for many of them. */
#ifndef ENGINE_LOCAL_DAMAGE_H
#define ENGINE_LOCAL_DAMAGE_H

#include "engine/local/local.h"

struct damaged_row;

struct damage {
    struct engine *engine;
    struct engine_check *check;
    struct extent *extents; /* ordered by segment and offset */
    size_t extent_count;
    size_t extent_capacity;
    struct str *unread; /* physical keys of rows that cannot be read, on the heap */
    size_t unread_count;
    size_t unread_capacity;
    /* Rows of one partition whose owners are looked up next. */
    struct buf partition;
    struct damaged_row *rows;
    size_t row_count;
};

/* For qsort and bsearch: by segment and offset. */
int damage_extent_order(const void *a, const void *b);

void damage_init(struct damage *d, struct engine *e, struct engine_check *check);
void damage_release(struct damage *d);

/* Call in order of segment and offset. */
void damage_add_extent(struct damage *d, const struct extent *x);
void damage_add_row(struct damage *d, struct str physical);

/* True if all rows must be scanned to find the owners of the extents. Then pass each row in key
 * order to damage_look, and call damage_end at the end. */
bool damage_wants_rows(const struct damage *d);
void damage_look(struct damage *d, struct str partition, struct str key, struct str value);
/* Reports the remaining owners and the unreadable rows. */
void damage_end(struct damage *d);

#endif
