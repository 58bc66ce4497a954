/* SPDX-License-Identifier: Apache-2.0 */
/* What `lazuli check` has found damaged, and whose it is: rows are gathered by partition, so that
 * the services, who know what rows mean, go through a partition once for many of them. */
#ifndef ENGINE_LOCAL_DAMAGE_H
#define ENGINE_LOCAL_DAMAGE_H

#include "engine/local/local.h"

struct damaged_row;

struct damage {
    struct engine *engine;
    struct engine_check *check;
    struct extent *extents; /* in the order of their places */
    size_t extent_count;
    size_t extent_capacity;
    struct str *unread; /* physical keys of rows that cannot be read, on the heap */
    size_t unread_count;
    size_t unread_capacity;
    /* Rows of one partition whose owners are asked for next. */
    struct buf partition;
    struct damaged_row *rows;
    size_t row_count;
};

/* For qsort and bsearch: by segment and offset. */
int extent_place_order(const void *a, const void *b);

void damage_init(struct damage *d, struct engine *e, struct engine_check *check);
void damage_release(struct damage *d);

/* In the order of their places. */
void damage_add_extent(struct damage *d, const struct extent *x);
void damage_add_row(struct damage *d, struct str physical);

/* Whether a look through all rows is needed to tell whose the extents are; then each is handed in,
 * in the order of their keys, and the last told with damage_end. */
bool damage_wants_rows(const struct damage *d);
void damage_look(struct damage *d, struct str partition, struct str key, struct str value);
/* Tells what is left, and whose the rows are that could not be read. */
void damage_end(struct damage *d);

#endif
