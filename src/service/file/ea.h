/* SPDX-License-Identifier: Apache-2.0 */
/* The extended attributes of a file or directory: names with small values, which only SMB clients
 * set and see. They are part of the file's node (node.h), so snapshots and renames keep them, and a
 * copy includes them. Names are ASCII and compared without case.
 *
 * A list of them is a run of entries: flags (one byte), length of the name (one byte), length of
 * the value (two), name, value. */
#ifndef SERVICE_FILE_EA_H
#define SERVICE_FILE_EA_H

#include "core/arena.h"
#include "core/buf.h"
#include "core/err.h"
#include "core/wire.h"

enum {
    EA_NEEDED = 0x80,          /* clients that do not understand it must not touch the file */
    EA_LIST_BYTES_MAX = 65535, /* Windows' limits; for one file, and for one change */
    EA_LIST_NAMES_MAX = 1000,  /* likewise: each is compared with each */
    EA_NAME_BYTES_MAX = 254,
};

struct ea {
    uint8_t flags;
    struct str name, value;
};

void ea_put(struct buf *list, const struct ea *e);
/* The next entry of a list, borrowed; false at its end or if it is malformed (reader_ok tells
 * which). */
bool ea_next(struct reader *list, struct ea *out);
/* Returns true if a list has an attribute of that name. */
bool ea_find(struct str list, struct str name, struct ea *out);
bool ea_name_is_good(struct str name);

/* Applies changes to a list: each replaces or adds the attribute of its name, or removes it if it
 * has no value. In the arena; absent if none are left. ERR_EXTENDED_ATTRIBUTES_TOO_LARGE. */
struct err ea_change(struct arena *a, struct str list, struct str changes, struct str *out);
size_t ea_count(struct str list);
/* The size that clients see; 0: there are none. */
uint32_t ea_size(struct str list);
/* Returns true if a client must understand them. */
bool ea_any_needed(struct str list);

#endif
