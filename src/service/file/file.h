/* SPDX-License-Identifier: Apache-2.0 */
/* The transactions on files. Ranges are in range.h, renaming in rename.h, copying in copy.h. */
#ifndef SERVICE_FILE_FILE_H
#define SERVICE_FILE_FILE_H

#include "service/file/access.h"

struct file_args {
    struct file_request request; /* first, because the front end expects it there */
    struct file_settings settings;
    struct str metadata;
    bool has_size;
    uint64_t size;
    bool has_http;
    struct node_http http;
    struct lease_request lease;
    bool create_only;            /* the caller may create but not overwrite */
    const struct pieces *pieces; /* Create File: the initial content; NULL: none */
    /* out */
    struct file_outcome outcome;
    int lease_left_seconds;
};

/* Creates the file, or resets an existing one: its bytes, properties and metadata are replaced, its
 * id and lease are kept. ERR_RESOURCE_TYPE_MISMATCH, ERR_SHARE_SIZE_LIMIT_REACHED. */
engine_fn file_create_file;
/* Properties and metadata. */
engine_fn file_get_file_properties;
/* Sets all HTTP properties if any is given, and the size if it is given. */
engine_fn file_set_file_properties;
engine_fn file_set_file_metadata;
engine_fn file_delete_file;
engine_fn file_lease_file;

#endif
