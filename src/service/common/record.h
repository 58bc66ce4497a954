/* SPDX-License-Identifier: Apache-2.0 */
/* How rows hold their fields: a list of (number, value), each value a number or bytes, in any
 * order. A field that is zero or absent is not written, and a reader passes over numbers it does
 * not know: so a row gets new fields without a new format. */
#ifndef SERVICE_COMMON_RECORD_H
#define SERVICE_COMMON_RECORD_H

#include "core/buf.h"
#include "core/wire.h"

/* Nothing when the value is 0. */
void record_put(struct buf *b, unsigned field, uint64_t value);
/* Nothing when the slice is absent; an empty one is written and read back as empty. */
void record_put_bytes(struct buf *b, unsigned field, struct str bytes);

struct record_field {
    unsigned number;
    uint64_t value;   /* 0 for bytes */
    struct str bytes; /* absent for a number; borrowed from the row */
};

/* The next field; false at the end or when the record is broken, which reader_ok then tells. */
bool record_next(struct reader *r, struct record_field *out);

#endif
