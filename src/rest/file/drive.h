/* SPDX-License-Identifier: Apache-2.0 */
/* Drives the operations on files and directories: their transactions pass the open-file table, and
 * may have to wait there for SMB clients to give up what they cache (service/file/opens/pass.h).
 * The call's arguments begin with a struct file_request; its row's `run` is the transaction. */
#ifndef REST_FILE_DRIVE_H
#define REST_FILE_DRIVE_H

#include "rest/call.h"

typedef struct err file_pool_fn(struct rest_call *call);

/* What is done around the transaction, in the pool, because it waits; each may be NULL. */
struct file_around {
    file_pool_fn *before, *after;
    struct pool *pool; /* NULL: the server's */
    /* On the loop, when the transaction has failed for certain: gives back what `before` made. */
    void (*failed)(struct rest_call *call);
    bool in_pool; /* a view that may take long: it goes there at once */
};

/* For `start`: an update, or a view. */
struct err file_start_write(struct rest_call *call);
struct err file_start_read(struct rest_call *call);
struct err file_drive_write(struct rest_call *call, struct file_around around);
struct err file_drive_read(struct rest_call *call, struct file_around around);

#endif
