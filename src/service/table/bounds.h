/* SPDX-License-Identifier: Apache-2.0 */
/* Where entities that pass a filter can be: a list of boxes, each a span of PartitionKeys and a
 * span of RowKeys. A scan seeks the next position in any of them. Keys are in key form (see
 * names.h), so their order is that of their bytes. */
#ifndef SERVICE_TABLE_BOUNDS_H
#define SERVICE_TABLE_BOUNDS_H

#include "core/buf.h"

enum { BOUNDS_BOXES_MAX = 64 };

/* from <= key < to. Keys have no NUL, so the first string past s is s with a NUL added; so every
 * kind of bound can be expressed. */
struct key_span {
    struct str from; /* empty: from the first */
    struct str to;   /* absent: no end */
};

struct key_box {
    struct key_span pk;
    struct key_span rk;
};

/* No boxes: nothing passes. */
struct bounds {
    struct key_box *boxes;
    size_t count;
};

struct key_position {
    struct str pk;
    struct str rk;
};

extern const struct key_span KEY_SPAN_ALL;

/* s with a NUL added: the first key after it. */
struct str key_after(struct arena *a, struct str s);
bool key_span_holds(const struct key_span *span, struct str key);
bool key_box_holds(const struct key_box *box, const struct key_position *at);
/* -1, 0, 1 by PartitionKey, then RowKey. */
int key_position_cmp(const struct key_position *a, const struct key_position *b);

struct bounds bounds_all(struct arena *a);
struct bounds bounds_box(struct arena *a, struct key_box box);
/* The intersection; the union. The result is wider than that only past BOUNDS_BOXES_MAX. */
struct bounds bounds_and(struct arena *a, struct bounds x, struct bounds y);
struct bounds bounds_or(struct arena *a, struct bounds x, struct bounds y);

/* Finds the first position from `at` on that is in a box, and that box; false if there is none. The
 * result borrows from the bounds, from `at` and from scratch, which is overwritten. */
bool bounds_next(const struct bounds *b, struct buf *scratch, const struct key_position *at,
                 struct key_position *out, const struct key_box **box);

#endif
