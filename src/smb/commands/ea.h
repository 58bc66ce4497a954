/* SPDX-License-Identifier: Apache-2.0 */
/* Extended attributes on the wire ([MS-FSCC] 2.4.16): in CREATE, SET_INFO and QUERY_INFO. What they
 * are is in service/file/ea.h. */
#ifndef SMB_COMMANDS_EA_H
#define SMB_COMMANDS_EA_H

#include "smb/commands/query.h"

/* A client's list as ea.h has it, in the arena. STATUS_EA_LIST_INCONSISTENT,
 * STATUS_INVALID_EA_NAME, STATUS_EA_TOO_LARGE. */
uint32_t smb_ea_read(struct arena *a, struct str wire, struct str *out);

/* Those of the handle's file that were asked for: by name, from a number on, or from where the last
 * answer ended. A status; STATUS_BUFFER_OVERFLOW when there are more than fit. */
uint32_t smb_query_eas(struct smb_query *query);

#endif
