/* SPDX-License-Identifier: Apache-2.0 */
/* Renaming files and directories within a share: one small transaction, however much is below. */
#ifndef SERVICE_FILE_RENAME_H
#define SERVICE_FILE_RENAME_H

#include "service/file/access.h"

struct rename_args {
    struct file_request
        request; /* first; the path is the new one, the lease that of the replaced file */
    enum file_kind kind;
    struct str source; /* the old path */
    bool source_keep_dots;
    struct lease_id source_lease;
    bool replace;          /* a file that has the new name */
    bool ignore_read_only; /* of that file */
    struct file_settings settings;
    bool has_metadata;
    struct str metadata;
    bool has_content_type;
    struct str content_type;
    /* out */
    struct file_outcome outcome;
};

/* ERR_RESOURCE_NOT_FOUND (source), ERR_PARENT_NOT_FOUND, ERR_RESOURCE_ALREADY_EXISTS,
 * ERR_RESOURCE_TYPE_MISMATCH, ERR_READ_ONLY_TARGET, ERR_SHARING_VIOLATION (also for handles
 * below a directory), ERR_INVALID_INPUT for a directory into itself. */
engine_fn file_rename;

/* The move itself, for both front ends: `from` exists, `to` does not (or is the same entry in
 * another spelling), all checks are done. from->node is written. ERR_INVALID_INPUT as above. */
struct err file_move(struct file_scope *s, struct file_found *from, struct file_found *to);

#endif
