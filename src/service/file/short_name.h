/* SPDX-License-Identifier: Apache-2.0 */
/* Names of eight letters, a dot and three, for clients that cannot use longer ones. They are not
 * stored: each is computed from the long name, so a name has the same one in every directory, and
 * finding a file by its short name computes those of its neighbours. A short name has the form
 * "P~HHHHHH.EXT": the first letter of the name, a hash of all of it, and as much of its extension
 * as fits. A long name of that form takes precedence. Two names of one hash (31 bits) in a
 * directory have one short name, which finds the first of them. */
#ifndef SERVICE_FILE_SHORT_NAME_H
#define SERVICE_FILE_SHORT_NAME_H

#include "service/file/by_id.h"

enum { SHORT_NAME_BYTES_MAX = 12 };

/* Returns true if a name needs none: it is short enough and has no special letters. */
bool short_name_fits(struct str name);
/* The short name of a name in key form (folded) that does not fit; in `out`. */
struct str short_name_of(struct str key, char out[SHORT_NAME_BYTES_MAX]);
/* Returns true if short_name_of could make this name; ignores case. */
bool short_name_like(struct str name);
/* Returns true if a path contains such a name. */
bool short_name_in_path(struct str path);
/* The common prefix of the keys of all names with that short name; in `out`, may be empty. */
struct str short_name_prefix(struct str name, char out[1]);
/* Returns true if the name, in key form, has that short name. */
bool short_name_is_of(struct str short_name, struct str key);

struct file_long_path_args {
    struct file_at at;
    struct str path;
    /* out, in the arena: short names replaced by long ones */
    struct str long_path;
    bool exists;
};
/* Scans whole directories, up to SHORT_NAME_SCAN_MAX entries with the same prefix. The last name
 * need not exist. ERR_PARENT_NOT_FOUND, the errors of names. */
enum { SHORT_NAME_SCAN_MAX = 1 << 20 };
engine_fn file_long_path;

#endif
