/* SPDX-License-Identifier: Apache-2.0 */
/* Valid names of files and directories. */
#ifndef SERVICE_FILE_PATH_H
#define SERVICE_FILE_PATH_H

#include "core/arena.h"
#include "core/err.h"

enum { PATH_NAME_UNITS_MAX = 255, PATH_UNITS_MAX = 2048, PATH_DEPTH_MAX = 250 };

/* One name, of well-formed UTF-8: 1 to 255 UTF-16 units, none of "\/:|<>*? and no control
 * characters (ERR_INVALID_RESOURCE_NAME); not . or .. and no device (CON, LPT1, …)
 * (ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME). */
struct err file_path_check_name(struct str name);

struct path_rules {
    bool posix;     /* of an NFS share: anything except '/' and NUL */
    bool keep_dots; /* dots at the end of a name are significant; otherwise they are dropped */
};
/* Checks "a/b/c" (empty: the root) and returns it without trailing dots of names, where they are
 * ignored; in the arena if anything was dropped. Too long or too deep:
 * ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME. */
struct err file_path_check(struct arena *a, struct str path, const struct path_rules *rules,
                           struct str *out);

/* The last name of a path. */
struct str path_last(struct str path);

#endif
