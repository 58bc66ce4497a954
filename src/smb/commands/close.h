/* SPDX-License-Identifier: Apache-2.0 */
/* CLOSE, and the deletion of files whose last handle was closed. */
#ifndef SMB_COMMANDS_CLOSE_H
#define SMB_COMMANDS_CLOSE_H

#include "smb/open.h"

void smb_close(struct smb_request *q);

#endif
