/* SPDX-License-Identifier: Apache-2.0 */
/* How rows store their fields: a list of (number, value) in any order; a value is a number or
 * bytes. A field that is zero or absent is not written, and a reader skips unknown numbers. So a
 * row gets new fields without a new format. */
#ifndef SERVICE_COMMON_RECORD_H
#define SERVICE_COMMON_RECORD_H

#include "core/buf.h"
#include "core/wire.h"

/* Writes nothing if the value is 0. */
void record_put(struct buf *b, unsigned field, uint64_t value);
/* Writes nothing if the slice is absent; an empty slice is written and read back as empty. */
void record_put_bytes(struct buf *b, unsigned field, struct str bytes);

struct record_field {
    unsigned number;
    uint64_t value;   /* 0 for bytes */
    struct str bytes; /* absent for a number; borrowed from the row */
};

/* Returns the next field; false at the end or if the record is malformed; reader_ok tells which. */
bool record_next(struct reader *r, struct record_field *out);

#endif
