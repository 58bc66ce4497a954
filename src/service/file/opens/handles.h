/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the handles of the open-file table that a path names. */
#ifndef SERVICE_FILE_OPENS_HANDLES_H
#define SERVICE_FILE_OPENS_HANDLES_H

#include "service/file/access.h"

enum { FILE_HANDLES_MAX = 5000 };

struct file_handles_args {
    struct file_request request; /* first */
    bool recursive;
    uint64_t after;
    /* out; the path is in the arena */
    struct opens_select select;
};
/* Also of what is pending delete. */
engine_fn file_select_handles;

#endif
