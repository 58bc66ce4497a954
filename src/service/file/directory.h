/* SPDX-License-Identifier: Apache-2.0 */
/* The transactions on directories. Listing is in list.h, renaming in rename.h. */
#ifndef SERVICE_FILE_DIRECTORY_H
#define SERVICE_FILE_DIRECTORY_H

#include "service/file/access.h"

struct directory_args {
    struct file_request request; /* first, because the front end expects it there */
    struct file_settings settings;
    struct str metadata;
    /* out */
    struct file_outcome outcome;
};

/* ERR_RESOURCE_ALREADY_EXISTS, ERR_RESOURCE_TYPE_MISMATCH if a file has the name. */
engine_fn file_create_directory;
/* Properties and metadata; also of the root. */
engine_fn file_get_directory;
engine_fn file_set_directory_properties;
engine_fn file_set_directory_metadata;
/* ERR_DIRECTORY_NOT_EMPTY. The root cannot be deleted. */
engine_fn file_delete_directory;

#endif
