/* SPDX-License-Identifier: Apache-2.0 */
/* LOCK: locks and unlocks byte ranges ([MS-SMB2] 3.3.5.14). */
#ifndef SMB_COMMANDS_LOCK_H
#define SMB_COMMANDS_LOCK_H

#include "smb/transport/conn.h"

enum { SMB_LOCKS_PER_REQUEST = 64, SMB_LOCK_SEQUENCES = 64 };

void smb_lock(struct smb_request *q);

#endif
