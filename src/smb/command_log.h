/* SPDX-License-Identifier: Apache-2.0 */
/* One line in the access log per command, as REST has one per request (rest/watch/access_log.h):
 * time, smb, command, account and share, status, bytes in and out, microseconds, session and
 * message id, the client's address, and how it was authenticated. At level debug also the reason of
 * each refusal. */
#ifndef SMB_COMMAND_LOG_H
#define SMB_COMMAND_LOG_H

#include "smb/transport/conn.h"

/* The request is about to be answered with q->status. */
void smb_command_log(const struct smb_request *q);

#endif
