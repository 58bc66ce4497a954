/* SPDX-License-Identifier: Apache-2.0 */
/* Symbolic and hard links, which only NFS shares have: elsewhere ERR_INVALID_OPERATION. */
#ifndef SERVICE_FILE_LINK_H
#define SERVICE_FILE_LINK_H

#include "service/file/access.h"

enum { LINK_TEXT_MAX = 4096, LINKS_MAX = 60000 };

struct link_args {
    struct file_request request; /* first */
    struct file_settings settings;
    struct str metadata;
    struct str target; /* the text of a symbolic link; the path of the file for a hard one */
    /* out */
    struct file_outcome outcome;
};

engine_fn file_create_symbolic_link; /* ERR_RESOURCE_ALREADY_EXISTS */
engine_fn file_get_symbolic_link;    /* ERR_INVALID_OPERATION if it is not one */
/* ERR_RESOURCE_ALREADY_EXISTS, ERR_RESOURCE_NOT_FOUND, ERR_RESOURCE_TYPE_MISMATCH. */
engine_fn file_create_hard_link;

#endif
