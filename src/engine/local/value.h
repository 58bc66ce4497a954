/* SPDX-License-Identifier: Apache-2.0 */
/* The stored form of a row's value and body: a type byte, then the bytes themselves or a
 * reference into the journal. A value beside a body is always inline, because it is read without
 * the body. */
#ifndef ENGINE_LOCAL_VALUE_H
#define ENGINE_LOCAL_VALUE_H

#include "engine/local/journal.h"

enum value_kind {
    VALUE_HERE = 0,           /* the value, inline */
    VALUE_IN_JOURNAL = 1,     /* a reference to the value */
    VALUE_BODY_HERE = 2,      /* the value's length in four bytes, the value, the body */
    VALUE_BODY_IN_JOURNAL = 3 /* a reference to the body, then the value */
};

enum { VALUE_IN_JOURNAL_BYTES = 1 + VALUE_REF_BYTES };

/* Makes a row of the overlay with an inline value, or with value and body. */
struct row *value_row(struct str key, struct str value);
struct row *value_row_with_body(struct str key, struct str value, struct str body);
/* Makes a row of a value in two parts, with as much spare capacity for appends. */
struct row *value_row_roomy(struct str key, struct str value, struct str more);
/* Makes a row whose value is in the journal; if a value is given, its body is. */
struct row *value_row_in_journal(struct str key, const struct value_ref *ref, struct str value);
/* Writes the head of such a row; the value, if any, follows. */
void value_in_journal_write(char to[VALUE_IN_JOURNAL_BYTES], const struct value_ref *ref,
                            bool with_value);

/* Splits an inline value and body. False if the row has another form. */
bool value_and_body_here(struct str stored, struct str *value, struct str *body);
/* Returns the value of a row that has a body. */
bool value_beside_body(struct str stored, struct str *value);

/* Returns an inline value. False if it is elsewhere, or the bytes are invalid. */
static inline bool value_is_here(struct str stored, struct str *value)
{
    if (stored.n == 0)
        return false;
    if (stored.p[0] != VALUE_HERE)
        return value_beside_body(stored, value);
    *value = (struct str){stored.p + 1, stored.n - 1};
    return true;
}

/* Returns the reference if the value or the body is in the journal. */
bool value_is_elsewhere(struct str stored, struct value_ref *ref);

/* Returns where the complete row lies, if its value or body is in the journal with a lead. */
bool value_row_is_whole(struct str key, struct str stored, struct row_location *location);

/* Returns the value, wherever it is: borrowed from `stored`, or read into the buffer.
 * ERR_WOULD_BLOCK, ERR_CORRUPT, ERR_IO. */
struct err value_load(struct journal *j, struct str stored, enum engine_wait wait, struct buf *into,
                      struct str *value);
/* The same with the body, absent if there is none. */
struct err value_load_with_body(struct journal *j, struct str stored, enum engine_wait wait,
                                struct buf *into, struct str *value, struct str *body);
/* Size and bytes of the row with everything inline, reading the part that is in the journal. The
 * same errors. */
size_t value_gathered_bytes(struct str stored, const struct value_ref *ref);
struct err value_gather(struct journal *j, struct str stored, enum engine_wait wait, char *to);

#endif
