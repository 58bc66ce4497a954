/* SPDX-License-Identifier: Apache-2.0 */
/* Which names containers, shares, queues and blobs may have. */
#ifndef SERVICE_COMMON_NAME_H
#define SERVICE_COMMON_NAME_H

#include "core/arena.h"
#include "core/err.h"
#include "core/str.h"

enum {
    NAME_BYTES_MIN = 3,
    NAME_BYTES_MAX = 63,
    BLOB_NAME_UNITS_MAX = 1024,                 /* UTF-16 units */
    BLOB_NAME_SEGMENTS_MAX = 254,               /* between slashes */
    BLOB_NAME_KEY_MAX = 3 * BLOB_NAME_UNITS_MAX /* bytes of a name in key form: name_to_key */
};

/* Containers, shares and queues: 3 to 63 lower-case letters, digits and single dashes, a letter or
 * digit at both ends. ERR_RESOURCE_NAME_LENGTH for the length, ERR_INVALID_RESOURCE_NAME else. */
struct err name_check(struct str name);
/* The same, but also accepts the system containers $root, $web, $logs and $blobchangefeed. */
struct err name_check_container(struct str name);
bool name_is_system(struct str name);

/* 1 to 1024 UTF-16 units of UTF-8, at most 254 segments, no control characters.
 * ERR_INVALID_URI for the length or the segments, ERR_INVALID_RESOURCE_NAME else. */
struct err name_check_blob(struct str name);

/* Keys order names by UTF-16 units, as the service does, but our bytes are UTF-8. The two orders
 * differ only for characters past U+FFFF (surrogate pairs sort below U+E000). So keys encode
 * those as two surrogates of three bytes each; every other name is its own key. No character's
 * encoding is part of another's, so prefixes stay prefixes. Returns the name itself if nothing
 * differs, else a copy in the arena. */
struct str name_to_key(struct arena *a, struct str name);
struct str name_from_key(struct arena *a, struct str key);

#endif
