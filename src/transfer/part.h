/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of a queue or the entities of a table are too many for one item. They are divided
 * into numbered parts, each a JSON array of limited length. */
#ifndef TRANSFER_PART_H
#define TRANSFER_PART_H

#include "core/text/json.h"
#include "transfer/source.h"

enum { PART_OBJECTS_MAX = 1000, PART_BYTES_MAX = 1 << 20 };

struct part {
    struct walk *walk;
    enum item_kind kind;  /* of the items that parts become */
    const char *name;     /* the parts' names begin with it */
    struct str container; /* the queue or table */
    struct json_writer w; /* write each object to it, then call part_added */
    /* Inside. */
    struct arena arena;
    struct buf text;
    size_t count;
    uint64_t before; /* objects in the parts before this one */
    unsigned number;
};

/* Starts the first part; the four members at the top are set. part_end must follow. */
void part_begin(struct part *p);
/* An object was written. Hands the part to the walk when it is full, and starts the next. */
struct err part_added(struct part *p);
/* Hands over the last part unless it is empty or there is an error; returns the first error. */
struct err part_end(struct part *p, struct err error);

#endif
