/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the rows of a path and of everything below it, a page at a time, in one container and
 * writes them in another under new ids: for path_across.h. Nothing changes the source meanwhile. */
#ifndef SERVICE_BLOB_PATH_PATH_CARRY_H
#define SERVICE_BLOB_PATH_PATH_CARRY_H

#include "service/blob/access.h"

enum {
    CARRY_PAGE_ROWS = 512,      /* a page ends with the name that reaches so many */
    CARRY_PAGE_BYTES = 1 << 20, /* or so many bytes */
    CARRY_HOLDER = 0,           /* the number of the directory that holds the path itself */
};

/* The id in the destination for a number. Other ids are stamps, or stamps shifted by eight bits
 * (path_tree_new_id): both leave the highest bit unused until the year 2084. */
uint64_t carry_id(uint32_t move, uint32_t number);

struct carried_row;
struct carry_directory;

/* How far the reading has come. */
struct carry_position {
    bool begun;
    size_t read;      /* directories that are done */
    size_t found;     /* directories that are known */
    uint32_t numbers; /* given so far */
};

struct carry {
    uint64_t incarnation; /* the source's */
    struct str name;      /* "<id>/<last name>", as keys have it */
    struct carry_position at;
    struct carry_directory *directories;
    size_t capacity;
    struct buf after; /* the last name read in the current directory; empty: none */
    /* The page. */
    struct arena arena;
    struct carried_row *rows, **end;
    size_t row_count, bytes;
    struct carry_position next; /* where the page ends */
    struct str next_after;
    bool last; /* there is no page after it */
};

void carry_init(struct carry *c, uint64_t incarnation, struct str name);
void carry_release(struct carry *c);

/* In a view of the source's partition: reads the page, also if it runs again.
 * ERR_PENDING_COPY_OPERATION. */
engine_fn carry_read;
/* The page was written: the next carry_read reads the one after it. */
void carry_next(struct carry *c);
/* In an update of the destination's partition: writes the page's rows. */
struct err carry_write(struct txn *t, const struct carry *c, const struct container *container,
                       uint32_t move);

#endif
