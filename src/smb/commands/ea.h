/* SPDX-License-Identifier: Apache-2.0 */
/* Extended attributes on the wire ([MS-FSCC] 2.4.16): in CREATE, SET_INFO and QUERY_INFO.
 * service/file/ea.h stores them. */
#ifndef SMB_COMMANDS_EA_H
#define SMB_COMMANDS_EA_H

#include "smb/commands/query.h"

/* Converts a client's list to the form of ea.h, in the arena. STATUS_EA_LIST_INCONSISTENT,
 * STATUS_INVALID_EA_NAME, STATUS_EA_TOO_LARGE. */
uint32_t smb_ea_read(struct arena *a, struct str wire, struct str *out);

/* Returns the requested attributes of the handle's file: by name, from an index on, or from where
 * the last answer ended. A status; STATUS_BUFFER_OVERFLOW when not all fit. */
uint32_t smb_query_eas(struct smb_query *query);

#endif
