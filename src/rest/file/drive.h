/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on files and directories: their transactions pass the open-file table. The call's
 * arguments begin with a struct file_request; its row's `run` is the transaction. */
#ifndef REST_FILE_DRIVE_H
#define REST_FILE_DRIVE_H

#include "rest/around.h"

/* For `start`: an update, or a view. */
struct err rest_file_start_write(struct rest_call *call);
struct err rest_file_start_read(struct rest_call *call);
/* The same, with work around it. */
struct err rest_file_drive(struct rest_call *call, struct around around);

#endif
