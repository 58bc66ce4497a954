/* SPDX-License-Identifier: Apache-2.0 */
/* $filter: compiled once per request to a small program that runs over stored rows, and to the
 * bounds on the keys that follow from it.
 *
 * The grammar: `or`, `and`, `not`, parentheses; `eq ne gt ge lt le` between a property and a
 * literal, in either order; a property or literal of type Boolean alone. Literals are 'text' ('' is
 * a quote), 12, 12L, 1.5, true, false, datetime'…', guid'…', X'…' and binary'…', NaN, INF, -INF.
 *
 * A comparison is false if the entity has no such property or its value is of another kind than the
 * literal: also with `ne` (docs/protocol/facts.md §5.4). So `not (a eq 1)` finds entities that `a
 * ne 1` does not. */
#ifndef SERVICE_TABLE_FILTER_H
#define SERVICE_TABLE_FILTER_H

#include "core/arena.h"
#include "core/err.h"
#include "service/table/bounds.h"
#include "service/table/edm.h"

enum {
    FILTER_TERMS_MAX = 1024,    /* comparisons; the documented limit is 15 */
    FILTER_DEPTH_MAX = 64,      /* parentheses and nots inside each other */
    FILTER_PROPERTIES_MAX = 32, /* different ones */
};

struct filter;

/* The filter is in the arena and borrows from the text. ERR_INVALID_INPUT if it is not in the
 * grammar, ERR_NOT_IMPLEMENTED for OData features that the service does not have: functions,
 * arithmetic, comparing two properties. An empty text is a filter that all entities pass. */
struct err filter_compile(struct arena *a, struct str text, struct filter **out);

/* The entity to test; keys in key form. */
struct filter_row {
    struct str pk;
    struct str rk;
    struct str record;
};

/* ERR_CORRUPT if the row is malformed. */
struct err filter_match(const struct filter *f, const struct filter_row *row, bool *out);

/* No entity outside of these bounds passes. */
const struct bounds *filter_bounds(const struct filter *f);

#endif
