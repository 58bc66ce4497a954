/* SPDX-License-Identifier: Apache-2.0 */
/* Storing a security descriptor in a share, and reading it by its key. */
#ifndef SERVICE_FILE_SECURITY_PERMISSION_OPS_H
#define SERVICE_FILE_SECURITY_PERMISSION_OPS_H

#include "service/file/security/permission.h"

struct permission_args {
    struct arena *arena;
    struct str sd; /* in or out, binary */
    struct permission_key key;
};
engine_fn file_create_permission; /* ERR_INVALID_FILE_PERMISSION */
engine_fn file_get_permission;    /* ERR_FILE_PERMISSION_NOT_FOUND */

#endif
