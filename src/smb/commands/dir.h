/* SPDX-License-Identifier: Apache-2.0 */
/* QUERY_DIRECTORY. */
#ifndef SMB_COMMANDS_DIR_H
#define SMB_COMMANDS_DIR_H

#include "smb/transport/conn.h"

void smb_query_directory(struct smb_request *q);

#endif
