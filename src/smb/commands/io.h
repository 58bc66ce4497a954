/* SPDX-License-Identifier: Apache-2.0 */
/* READ and FLUSH, and code that other commands share. */
#ifndef SMB_COMMANDS_IO_H
#define SMB_COMMANDS_IO_H

#include "service/file/by_id.h"
#include "smb/open.h"

enum {
    SMB_CREDIT_BYTES = 65536,
    SMB_ON_LOOP_MAX = 1 << 20, /* longer reads and writes run in the pool */
};

void smb_read(struct smb_request *q);
void smb_flush(struct smb_request *q);

/* The location of the handle's file. */
struct file_at smb_at(struct smb_request *q);
/* Returns true if the request's credit charge covers this many bytes. */
bool smb_charge_covers(const struct smb_request *q, uint64_t bytes);

#endif
