/* SPDX-License-Identifier: Apache-2.0 */
/* Names of eight letters, a dot and three, for clients that cannot do with longer ones. They are
 * not stored: each is computed from the long name, so a name has the same one wherever it is, and a
 * file is found by its short name only by computing those of its neighbours. A short name has the
 * form "P~HHHHHH.EXT": the first letter of the name, a hash of all of it, and of its extension what
 * there is room for. Who has a long name like that is found by it first, and two names of one hash
 * (31 bits) in a directory have one short name, which then finds the first of them. */
#ifndef SERVICE_FILE_SHORT_NAME_H
#define SERVICE_FILE_SHORT_NAME_H

#include "service/file/by_id.h"

enum { SHORT_NAME_BYTES_MAX = 12 };

/* Whether a name needs none, for it is short enough and has no strange letters. */
bool short_name_fits(struct str name);
/* The short name of a name as keys have it (folded), which does not fit; in `out`. */
struct str short_name_of(struct str key, char out[SHORT_NAME_BYTES_MAX]);
/* Whether a name could be one that short_name_of makes; case does not matter. */
bool short_name_like(struct str name);
/* Whether a path has such a name in it. */
bool short_name_in_path(struct str path);
/* What the keys of all names with that short name begin with; in `out`, may be empty. */
struct str short_name_prefix(struct str name, char out[1]);
/* Whether the name, as keys have it, has that short name. */
bool short_name_is_of(struct str short_name, struct str key);

struct file_long_path_args {
    struct file_at at;
    struct str path;
    /* out, in the arena: with long names for short ones */
    struct str long_path;
    bool exists;
};
/* Looks through whole directories, of up to SHORT_NAME_SCAN_MAX entries that begin alike. The last
 * name need not exist. ERR_PARENT_NOT_FOUND, the errors of names. */
enum { SHORT_NAME_SCAN_MAX = 1 << 20 };
engine_fn file_long_path;

#endif
