/* SPDX-License-Identifier: Apache-2.0 */
/* How a value is stored: a byte that says which, then the value itself or its place in the
 * journal. */
#ifndef ENGINE_LOCAL_VALUE_H
#define ENGINE_LOCAL_VALUE_H

#include "engine/local/journal.h"

enum value_kind { VALUE_HERE = 0, VALUE_IN_JOURNAL = 1 };

/* A row of the overlay with the value in it. */
struct row *value_row(struct str key, struct str value);

/* The value itself when it is stored here. False when it is elsewhere, or nothing sensible. */
static inline bool value_is_here(struct str stored, struct str *value)
{
    if (stored.n == 0 || stored.p[0] != VALUE_HERE)
        return false;
    *value = (struct str){stored.p + 1, stored.n - 1};
    return true;
}

/* The place, when it is elsewhere. */
bool value_is_elsewhere(struct str stored, struct value_place *place);

/* The value, wherever it is: borrowed from `stored`, or read into the buffer anew. ERR_WOULD_BLOCK,
 * ERR_CORRUPT, ERR_IO. */
struct err value_load(struct journal *j, struct str stored, enum engine_wait wait, struct buf *into,
                      struct str *value);

#endif
