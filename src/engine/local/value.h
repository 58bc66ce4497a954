/* SPDX-License-Identifier: Apache-2.0 */
/* How a row's value and body are stored: a byte that says which, then the bytes themselves or their
 * place in the journal. A value beside a body is always there itself: it is what is read without
 * the body. */
#ifndef ENGINE_LOCAL_VALUE_H
#define ENGINE_LOCAL_VALUE_H

#include "engine/local/journal.h"

enum value_kind {
    VALUE_HERE = 0,           /* the value */
    VALUE_IN_JOURNAL = 1,     /* its place */
    VALUE_BODY_HERE = 2,      /* the value's length in four bytes, the value, the body */
    VALUE_BODY_IN_JOURNAL = 3 /* the body's place, the value */
};

enum { VALUE_PLACED_BYTES = 1 + VALUE_PLACE_BYTES };

/* A row of the overlay with the value in it, and with both. */
struct row *value_row(struct str key, struct str value);
struct row *value_row_with_body(struct str key, struct str value, struct str body);
/* The value in two parts, and as much room again, so that more can be added. */
struct row *value_row_roomy(struct str key, struct str value, struct str more);
/* One whose value is at that place; with a value, it is the body that is. */
struct row *value_row_placed(struct str key, const struct value_place *place, struct str value);
/* What such a row begins with; the value, if there is one, follows. */
void value_placed_write(char to[VALUE_PLACED_BYTES], const struct value_place *place,
                        bool with_value);

/* Takes apart what is stored with its body here. False when it is something else. */
bool value_and_body_here(struct str stored, struct str *value, struct str *body);
/* The value of a row that has a body. */
bool value_beside_body(struct str stored, struct str *value);

/* The value itself when it is stored here. False when it is elsewhere, or nothing sensible. */
static inline bool value_is_here(struct str stored, struct str *value)
{
    if (stored.n == 0)
        return false;
    if (stored.p[0] != VALUE_HERE)
        return value_beside_body(stored, value);
    *value = (struct str){stored.p + 1, stored.n - 1};
    return true;
}

/* The place, when the value or the body is elsewhere. */
bool value_is_elsewhere(struct str stored, struct value_place *place);

/* Where the row lies whole, when its value or body is elsewhere and the rest stands before it. */
bool value_row_is_whole(struct str key, struct str stored, struct row_place *place);

/* The value, wherever it is: borrowed from `stored`, or read into the buffer anew. ERR_WOULD_BLOCK,
 * ERR_CORRUPT, ERR_IO. */
struct err value_load(struct journal *j, struct str stored, enum engine_wait wait, struct buf *into,
                      struct str *value);
/* The same with the body, absent when there is none. */
struct err value_load_with_body(struct journal *j, struct str stored, enum engine_wait wait,
                                struct buf *into, struct str *value, struct str *body);
/* What is elsewhere, at that place, as it is stored with all of it here: how long that is, and the
 * bytes. The same errors. */
size_t value_gathered_bytes(struct str stored, const struct value_place *place);
struct err value_gather(struct journal *j, struct str stored, enum engine_wait wait, char *to);

#endif
